//! How long somebody else is waited for, counted only while this process itself runs.
//!
//! A process may be stopped (SIGSTOP, a debugger, a virtual machine that is moved) while it waits for another one,
//! and go on after the deadline, with the answer before it that came in time. So time is counted in steps: who waits
//! does so for a step at most, and one that took longer counts as one. On a machine with too much to do this is more
//! patient than the clock, which is right too.

use std::time::Duration;

use crate::clock::now_ns;

/// The patience of one who waits. Async-signal-safe.
#[derive(Debug)]
pub struct Patience {
    left_ns: u64,
    /// When the last step began.
    since_ns: u64,
}

impl Patience {
    /// Waits for so long in all, from now on.
    pub fn new(all: Duration) -> Patience {
        Patience { left_ns: all.as_nanos() as u64, since_ns: now_ns() }
    }

    /// Before each wait: how long that may be at most; `None` when it was long enough.
    pub fn step(&mut self) -> Option<Duration> {
        self.step_at(now_ns())
    }

    fn step_at(&mut self, now_ns: u64) -> Option<Duration> {
        let passed = now_ns.saturating_sub(self.since_ns).min(STEP_NS);
        self.since_ns = now_ns;
        self.left_ns = self.left_ns.saturating_sub(passed);
        (self.left_ns > 0).then(|| Duration::from_nanos(self.left_ns.min(STEP_NS)))
    }
}

const STEP_NS: u64 = 100_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_which_the_process_stands_still_does_not_count() {
        let ms = |ms: u64| Duration::from_millis(ms);
        let mut patience = Patience { left_ns: 1_000_000_000, since_ns: 0 };
        assert_eq!(patience.step_at(0), Some(ms(100)));
        assert_eq!(patience.step_at(50_000_000), Some(ms(100)));
        // A minute.
        assert_eq!(patience.step_at(60_000_000_000), Some(ms(100)));
        assert_eq!(patience.left_ns, 850_000_000);
        let steps =
            (1..).take_while(|n| patience.step_at(60_000_000_000 + n * 100_000_000).is_some());
        assert_eq!(steps.count(), 8);
        assert_eq!(Patience::new(Duration::ZERO).step(), None);
    }
}
