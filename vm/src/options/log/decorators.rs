//! What stands before the text of a log line: `[0.014s][info][gc]`.

use base::since_epoch;
use gc::object::log::LogLevel;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// One decorator, in the order in which they are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decorator {
    Time,
    UtcTime,
    Uptime,
    TimeMillis,
    UptimeMillis,
    TimeNanos,
    UptimeNanos,
    HostName,
    Pid,
    Tid,
    Level,
    Tags,
}

/// Decorators with their names and short names.
pub const ALL: [(Decorator, &str, &str); COUNT] = [
    (Decorator::Time, "time", "t"),
    (Decorator::UtcTime, "utctime", "utc"),
    (Decorator::Uptime, "uptime", "u"),
    (Decorator::TimeMillis, "timemillis", "tm"),
    (Decorator::UptimeMillis, "uptimemillis", "um"),
    (Decorator::TimeNanos, "timenanos", "tn"),
    (Decorator::UptimeNanos, "uptimenanos", "un"),
    (Decorator::HostName, "hostname", "hn"),
    (Decorator::Pid, "pid", "p"),
    (Decorator::Tid, "tid", "ti"),
    (Decorator::Level, "level", "l"),
    (Decorator::Tags, "tags", "tg"),
];

pub const COUNT: usize = 12;

/// The decorators of an output, sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decorators(Vec<Decorator>);

impl Default for Decorators {
    fn default() -> Decorators {
        Decorators(vec![Decorator::Uptime, Decorator::Level, Decorator::Tags])
    }
}

/// What decorators say about a line.
pub struct Facts<'a> {
    pub started: Instant,
    pub level: LogLevel,
    /// Separated by commas.
    pub tags: &'a str,
}

impl Decorators {
    /// Reads `uptime,tid` or `none`; empty: the default ones. The error is the reason as HotSpot logs it.
    pub fn parse(text: &str) -> Result<Decorators, String> {
        match text {
            "" => return Ok(Decorators::default()),
            "none" => return Ok(Decorators(Vec::new())),
            _ => (),
        }
        let find = |word: &str| {
            let found = ALL.iter().find(|(_, name, short)| *name == word || *short == word);
            found.map(|(decorator, ..)| *decorator).ok_or(format!("Invalid decorator '{word}'."))
        };
        let mut all = text.split(',').map(find).collect::<Result<Vec<_>, _>>()?;
        all.sort_unstable();
        all.dedup();
        Ok(Decorators(all))
    }

    /// Writes them in brackets, and a space behind the last one. Each is as wide as the widest one so far, which
    /// `widths` keeps.
    pub fn write(&self, facts: &Facts<'_>, widths: &mut [usize; COUNT], out: &mut String) {
        for decorator in &self.0 {
            let text = decorator.text(facts);
            let width = &mut widths[*decorator as usize];
            *width = text.chars().count().max(*width);
            let _ = write!(out, "[{text:<0$}]", *width);
        }
        if !self.0.is_empty() {
            out.push(' ');
        }
    }
}

impl Decorator {
    fn text(self, facts: &Facts<'_>) -> String {
        let uptime = || facts.started.elapsed();
        match self {
            Decorator::Time => date(since_epoch(), false),
            Decorator::UtcTime => date(since_epoch(), true),
            Decorator::Uptime => format!("{:.3}s", uptime().as_secs_f64()),
            Decorator::TimeMillis => format!("{}ms", since_epoch().as_millis()),
            Decorator::UptimeMillis => format!("{}ms", uptime().as_millis()),
            Decorator::TimeNanos => format!("{}ns", monotonic().as_nanos()),
            Decorator::UptimeNanos => format!("{}ns", uptime().as_nanos()),
            Decorator::HostName => host_name(),
            Decorator::Pid => std::process::id().to_string(),
            // SAFETY: it has no preconditions.
            Decorator::Tid => unsafe { libc::gettid() }.to_string(),
            Decorator::Level => level_name(facts.level).into(),
            Decorator::Tags => facts.tags.into(),
        }
    }
}

fn level_name(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Trace => "trace",
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warning => "warning",
        LogLevel::Error => "error",
    }
}

/// The clock of `System.nanoTime`.
fn monotonic() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is the caller's.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// `2026-11-28T15:09:03.005+0000`
fn date(since_epoch: Duration, is_utc: bool) -> String {
    let seconds = since_epoch.as_secs() as libc::time_t;
    let day = formatted(seconds, is_utc, c"%Y-%m-%dT%H:%M:%S");
    let zone = formatted(seconds, is_utc, c"%z");
    format!("{day}.{:03}{zone}", since_epoch.subsec_millis())
}

/// A time in a form of `strftime`.
pub fn formatted(seconds: libc::time_t, is_utc: bool, form: &std::ffi::CStr) -> String {
    let mut text = [0u8; 64];
    // SAFETY: all-zero is a valid `tm`; the buffer is valid for its length, and the form is a C string.
    let length = unsafe {
        let mut parts = std::mem::zeroed::<libc::tm>();
        match is_utc {
            true => libc::gmtime_r(&seconds, &mut parts),
            false => libc::localtime_r(&seconds, &mut parts),
        };
        libc::strftime(text.as_mut_ptr().cast(), text.len(), form.as_ptr(), &parts)
    };
    String::from_utf8_lossy(&text[..length]).into_owned()
}

fn host_name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the buffer is valid for one byte more than the length.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let length = name.iter().position(|byte| *byte == 0).unwrap_or(0);
    String::from_utf8_lossy(&name[..length]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(decorators: &str) -> String {
        let facts = Facts { started: Instant::now(), level: LogLevel::Info, tags: "gc,heap" };
        let mut out = String::new();
        Decorators::parse(decorators).unwrap().write(&facts, &mut [0; COUNT], &mut out);
        out
    }

    #[test]
    fn decorators_have_the_forms_of_java() {
        assert_eq!((written("none"), written("tg,l")), ("".into(), "[info][gc,heap] ".into()));
        assert_eq!(written(""), "[0.000s][info][gc,heap] ");
        assert_eq!(written("p"), format!("[{}] ", std::process::id()));
        let all = written("t,utc,u,tm,um,tn,un,hn,p,ti,l,tg");
        assert_eq!(all.matches('[').count(), COUNT, "{all}");
        assert!(all.contains("ms][0ms][") && all.ends_with("][info][gc,heap] "), "{all}");
        let day = date(Duration::from_millis(86_400_000 + 7), true);
        assert_eq!(day, "1970-01-02T00:00:00.007+0000");
        let wrong = "Invalid decorator 'foo'.".to_string();
        assert_eq!(Decorators::parse("u,foo"), Err(wrong));
    }

    #[test]
    fn columns_are_as_wide_as_the_widest_entry_so_far() {
        let (mut widths, mut out) = ([0; COUNT], String::new());
        for level in [LogLevel::Info, LogLevel::Warning, LogLevel::Info] {
            let facts = Facts { started: Instant::now(), level, tags: "gc" };
            Decorators::parse("l").unwrap().write(&facts, &mut widths, &mut out);
        }
        assert_eq!(out, "[info] [warning] [info   ] ");
    }
}
