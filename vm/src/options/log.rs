//! `-Xlog`: which lines are printed, and where.

use gc::log::{LogLevel, LogLine};
use parking_lot::Mutex;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;
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
    /// `gc*`: other tags may be there too.
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
    /// Reads what follows `-Xlog` (`:gc*=debug:file=gc.log:uptime`). Decorations are always those of `java`'s
    /// default. The error is the line to print.
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

    fn write(&self, text: &str) {
        // A log that cannot be written must not stop the program.
        let _ = match &self.output {
            Output::Stdout => writeln!(std::io::stdout(), "{text}"),
            Output::Stderr => writeln!(std::io::stderr(), "{text}"),
            Output::File(file) => writeln!(file.lock(), "{text}"),
        };
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

/// A sink that hands each line to all options that want it, decorated as `java` does by default.
pub fn sink(options: Vec<LogOption>, started: Instant) -> gc::log::LogSink {
    Arc::new(move |line: LogLine<'_>| {
        let level = match line.level {
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
        };
        for option in options.iter().filter(|option| option.wants(line.tags, line.level)) {
            let seconds = started.elapsed().as_secs_f64();
            option.write(&format!("[{seconds:.3}s][{level}][{}] {}", line.tags, line.message));
        }
    })
}

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
}
