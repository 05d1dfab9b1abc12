//! The durations of the parts of a pause, as lines of level debug: `-Xlog:gc+phases=debug`.

use crate::object::log::{GcLog, LogLevel};
use std::time::Instant;

/// A clock that is read at the end of each part.
pub struct Steps<'a> {
    log: &'a GcLog,
    pause: &'static str,
    since: Instant,
}

impl Steps<'_> {
    /// The first part begins.
    pub fn begin<'a>(log: &'a GcLog, pause: &'static str) -> Steps<'a> {
        Steps { log, pause, since: Instant::now() }
    }

    /// The part `name` has ended, and the next one begins.
    pub fn end(&mut self, name: &str) {
        let now = Instant::now();
        let time = now - std::mem::replace(&mut self.since, now);
        self.log.line(LogLevel::Debug, "gc,phases", || {
            format!("{}: {name} {:.3}ms", self.pause, time.as_secs_f64() * 1e3)
        });
    }
}
