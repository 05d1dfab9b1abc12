//! `-Xlog:startuptime`: how long the steps take in which a VM is made.

use crate::options::Log;
use gc::object::log::{LogLevel, LogLine};
use std::time::Instant;

/// The clock of steps that follow each other.
pub struct StartTimes<'a> {
    log: &'a Log,
    since: Instant,
}

impl<'a> StartTimes<'a> {
    pub fn begin(log: &'a Log) -> StartTimes<'a> {
        StartTimes::since(log, Instant::now())
    }

    pub fn since(log: &'a Log, since: Instant) -> StartTimes<'a> {
        StartTimes { log, since }
    }

    /// Logs a step that ends. The next one begins.
    pub fn end(&mut self, step: &str) {
        let now = Instant::now();
        let seconds = (now - self.since).as_secs_f64();
        let message = format!("{step}, {seconds:.7} secs");
        self.log.line(LogLine { level: LogLevel::Info, tags: "startuptime", message: &message });
        self.since = now;
    }
}
