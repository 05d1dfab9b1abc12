//! `-Xlog`: which lines are printed, and where.

use gc::object::log::{LogLevel, LogLine};
use parking_lot::Mutex;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

/// One `-Xlog:what:output`.
#[derive(Clone, Debug)]
pub struct LogOption {
    selections: Vec<Selection>,
    output: Output,
}

#[derive(Clone, Debug)]
struct Selection {
    /// Sorted.
    tags: Vec<String>,
    /// `gc*`: other tags may be present too.
    and_more: bool,
    level: LogLevel,
    /// `=off`, `=warning`, `=error`: nothing of ours.
    is_off: bool,
}

#[derive(Clone, Debug)]
enum Output {
    Stdout,
    Stderr,
    File(Arc<Mutex<File>>),
}

impl LogOption {
    /// Reads the text behind `-Xlog` (`:gc*=debug:file=gc.log:uptime`). Decorations are always those of
    /// `java`'s default. The error is the line to print.
    pub fn parse(text: &str) -> Result<LogOption, String> {
        let text = text.strip_prefix(':').unwrap_or(text);
        let (what, rest) = text.split_once(':').unwrap_or((text, ""));
        let rest = rest
            .strip_prefix("file=\"")
            .map_or(rest.to_string(), |quoted| format!("file={}", quoted.replacen('"', "", 1)));
        let output = rest.split(':').next().unwrap_or("");
        let invalid = || format!("Invalid -Xlog option '-Xlog:{text}'");
        let output = match output {
            "" | "stdout" => Output::Stdout,
            "stderr" => Output::Stderr,
            file => {
                let path = file.strip_prefix("file=").unwrap_or(file);
                let path = path.replace("%p", &std::process::id().to_string());
                let file = File::create(&path)
                    .map_err(|e| format!("Error opening log file '{path}': {e}"))?;
                Output::File(Arc::new(Mutex::new(file)))
            }
        };
        let what = if what.is_empty() { "all=warning" } else { what };
        if what == "disable" {
            return Ok(LogOption { selections: Vec::new(), output });
        }
        let selections = what.split(',').map(|s| Selection::parse(s).ok_or_else(invalid));
        Ok(LogOption { selections: selections.collect::<Result<_, _>>()?, output })
    }

    /// Whether lines with these tags (`gc,heap`) at this level are printed.
    pub fn wants(&self, tags: &str, level: LogLevel) -> bool {
        let mut own: Vec<&str> = tags.split(',').collect();
        own.sort_unstable();
        let found = self.selections.iter().rev().find(|s| s.matches(&own));
        found.is_some_and(|s| !s.is_off && level >= s.level)
    }

    fn is_stdout(&self) -> bool {
        matches!(self.output, Output::Stdout)
    }

    fn write(&self, text: &str) {
        match &self.output {
            Output::Stdout => base::print(format_args!("{text}")),
            Output::Stderr => base::say(format_args!("{text}")),
            // A log that cannot be written must not stop the program.
            Output::File(file) => _ = writeln!(file.lock(), "{text}"),
        }
    }
}

impl Selection {
    fn parse(text: &str) -> Option<Selection> {
        let (tags, level) = text.split_once('=').unwrap_or((text, "info"));
        let (level, is_off) = match level {
            "trace" | "debug" => (LogLevel::Debug, false),
            "info" => (LogLevel::Info, false),
            "warning" | "error" | "off" => (LogLevel::Info, true),
            _ => return None,
        };
        let (tags, and_more) = match tags {
            "all" => ("", true),
            _ => tags.strip_suffix('*').map_or((tags, false), |tags| (tags, true)),
        };
        let mut tags: Vec<String> =
            tags.split('+').filter(|tag| !tag.is_empty()).map(String::from).collect();
        let is_word = |tag: &String| tag.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        if (tags.is_empty() && !and_more) || !tags.iter().all(is_word) {
            return None;
        }
        tags.sort_unstable();
        Some(Selection { tags, and_more, level, is_off })
    }

    fn matches(&self, own: &[&str]) -> bool {
        let has = |tag: &String| own.contains(&tag.as_str());
        self.tags.iter().all(has) && (self.and_more || self.tags.len() == own.len())
    }
}

/// All log options of a VM, and the switches that beans have set since.
#[derive(Debug)]
pub struct Log {
    options: Vec<LogOption>,
    started: Instant,
    /// By [`Topic`]: 0 as the options say, else `ON` or `OFF`. Beans write, logging threads read; relaxed.
    switches: [AtomicU8; 2],
    /// Some option wants loaded classes.
    wants_classes: bool,
}

/// The topics that can be switched while the VM runs (`setVerbose` of beans), for standard output.
#[derive(Clone, Copy, Debug)]
pub enum Topic {
    Gc,
    Classes,
}

impl Log {
    pub fn new(options: Vec<LogOption>, started: Instant) -> Log {
        let wants_classes = options.iter().any(|o| o.wants(CLASSES, LogLevel::Info));
        Log { options, started, switches: Default::default(), wants_classes }
    }

    /// Prints a line where options and switches want it, decorated as `java` does by default.
    pub fn line(&self, line: LogLine<'_>) {
        let level = match line.level {
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
        };
        let print = |option: &LogOption| {
            let seconds = self.started.elapsed().as_secs_f64();
            option.write(&format!("[{seconds:.3}s][{level}][{}] {}", line.tags, line.message));
        };
        let switch = match line.tags {
            "gc" => self.switch(Topic::Gc),
            CLASSES => self.switch(Topic::Classes),
            _ => AS_OPTIONS,
        };
        let has_switch = switch != AS_OPTIONS;
        if switch == ON && line.level == LogLevel::Info {
            print(&LogOption { selections: Vec::new(), output: Output::Stdout });
        }
        let wants = |option: &&LogOption| {
            option.wants(line.tags, line.level) && !(has_switch && option.is_stdout())
        };
        self.options.iter().filter(wants).for_each(print);
    }

    /// Whether an option asks for lines of this level with these tags.
    pub fn wants(&self, tags: &str, level: LogLevel) -> bool {
        self.options.iter().any(|option| option.wants(tags, level))
    }

    /// Whether loaded classes are logged.
    #[inline]
    pub fn wants_classes(&self) -> bool {
        self.wants_classes || self.switch(Topic::Classes) == ON
    }

    /// Whether a topic is logged to standard output. As HotSpot has it, an option must name the topic with a
    /// star for classes, of whose tags there are longer lists.
    pub fn is_verbose(&self, topic: Topic) -> bool {
        match (self.switch(topic), topic) {
            (ON, _) => true,
            (OFF, _) => false,
            (_, Topic::Gc) => self.is_on_stdout("gc"),
            (_, Topic::Classes) => {
                self.is_on_stdout(CLASSES) && self.is_on_stdout("class,load,cause")
            }
        }
    }

    pub fn set_verbose(&self, topic: Topic, is_on: bool) {
        self.switches[topic as usize].store(if is_on { ON } else { OFF }, Ordering::Relaxed);
    }

    fn switch(&self, topic: Topic) -> u8 {
        self.switches[topic as usize].load(Ordering::Relaxed)
    }

    fn is_on_stdout(&self, tags: &str) -> bool {
        self.options.iter().any(|o| o.is_stdout() && o.wants(tags, LogLevel::Info))
    }
}

const CLASSES: &str = "class,load";
const AS_OPTIONS: u8 = 0;
const ON: u8 = 1;
const OFF: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selects_by_tags_and_level() {
        let option = LogOption::parse(":gc*,safepoint=debug:stdout:uptime").unwrap();
        assert!(option.wants("gc,heap", LogLevel::Info));
        assert!(!option.wants("gc,heap", LogLevel::Debug));
        assert!(option.wants("safepoint", LogLevel::Debug));
        assert!(!option.wants("safepoint,stats", LogLevel::Info));
        let option = LogOption::parse(":gc").unwrap();
        assert!(option.wants("gc", LogLevel::Info) && !option.wants("gc,heap", LogLevel::Info));
        assert!(!LogOption::parse("").unwrap().wants("gc", LogLevel::Info));
        assert!(!LogOption::parse(":disable").unwrap().wants("gc", LogLevel::Info));
        assert!(LogOption::parse(":gc=loud").is_err());
        assert!(LogOption::parse(":").is_ok());
    }

    #[test]
    fn beans_switch_what_goes_to_stdout() {
        let log = |text: &str| Log::new(vec![LogOption::parse(text).unwrap()], Instant::now());
        assert!(log(":gc").is_verbose(Topic::Gc) && !log(":gc:stderr").is_verbose(Topic::Gc));
        assert!(!log(":class+load").is_verbose(Topic::Classes));
        let star = log(":class+load*");
        assert!(star.is_verbose(Topic::Classes) && star.wants_classes());
        star.set_verbose(Topic::Classes, false);
        assert!(!star.is_verbose(Topic::Classes) && !star.is_verbose(Topic::Gc));
        let none = Log::new(Vec::new(), Instant::now());
        assert!(!none.wants_classes());
        none.set_verbose(Topic::Classes, true);
        assert!(none.wants_classes() && none.is_verbose(Topic::Classes));
    }
}
