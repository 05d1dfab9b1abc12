//! Log lines of the collectors, in the shape of the unified logging of `java`.

use std::sync::Arc;

/// How important a line is, from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    Trace,
    Debug,
    Info,
    Warning,
    Error,
}

/// One line: `[uptime][level][tags] message`. The receiver adds the decorations.
#[derive(Clone, Copy, Debug)]
pub struct LogLine<'a> {
    pub level: LogLevel,
    /// Comma-separated, `gc` first: the tags by which `-Xlog:` selects.
    pub tags: &'static str,
    pub message: &'a str,
}

/// Receives the lines; called on any thread, also with the world stopped: it must not touch the managed heap.
pub type LogSink = Arc<dyn Fn(LogLine<'_>) + Send + Sync>;

/// The sink, if logging is on.
#[derive(Clone, Default)]
pub struct GcLog(Option<LogSink>);

impl GcLog {
    pub fn to(sink: LogSink) -> GcLog {
        GcLog(Some(sink))
    }

    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Hands a line to the sink; `message` is only made when there is a sink.
    pub fn line<M: AsRef<str>>(
        &self,
        level: LogLevel,
        tags: &'static str,
        message: impl FnOnce() -> M,
    ) {
        if let Some(sink) = &self.0 {
            sink(LogLine { level, tags, message: message().as_ref() });
        }
    }
}

impl std::fmt::Debug for GcLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GcLog({})", if self.is_on() { "on" } else { "off" })
    }
}
