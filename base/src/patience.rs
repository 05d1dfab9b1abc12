//! The time that another process is waited for, counted only while this process itself runs.
//!
//! A process may be stopped (SIGSTOP, a debugger, a virtual machine that is moved) while it waits for another one,
//! and continue after the deadline, although the answer came in time. So deadlines are on a clock of their own, which
//! a waiting thread reads in steps: it advances by the time that has passed since the last read by any thread, but by
//! one step at most. On an overloaded machine this is more patient than the wall clock, which is right too. While no
//! thread waits it stands still, which is harmless.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::clock::now_ns;

/// The time of this process for deadlines, in nanoseconds: exact to about a millisecond, and right only for threads
/// that read it at least every 100 ms until their deadline. Never goes back. Async-signal-safe.
pub fn waiting_ns() -> u64 {
    CLOCK.at(now_ns())
}

/// The patience of one waiting thread. Async-signal-safe.
#[derive(Debug)]
pub struct Patience {
    /// On the clock of [`waiting_ns`].
    deadline_ns: u64,
}

impl Patience {
    /// Waits for `all` in total, from now on.
    pub fn new(all: Duration) -> Patience {
        Patience { deadline_ns: waiting_ns().saturating_add(all.as_nanos() as u64) }
    }

    /// Before each wait: how long that may be at most; `None` when it was long enough.
    pub fn step(&mut self) -> Option<Duration> {
        let left_ns = self.deadline_ns.saturating_sub(waiting_ns());
        (left_ns > 0).then(|| Duration::from_nanos(left_ns.min(STEP_NS)))
    }
}

/// A clock that advances by a step at most between two reads.
///
/// ```text
///  63                       24 23                    0
/// ┌───────────────────────────┬───────────────────────┐
/// │ time on it, in ticks      │ last read, in ticks   │
/// └───────────────────────────┴───────────────────────┘
/// ```
///
/// Both are one word, so that of several threads that read it after a pause none sees the clock with the pause in it.
struct Clock(
    /// Relaxed: nothing but this time depends on it.
    AtomicU64,
);

static CLOCK: Clock = Clock(AtomicU64::new(0));

impl Clock {
    /// The time, in nanoseconds, for a read at `now_ns`.
    fn at(&self, now_ns: u64) -> u64 {
        let now = now_ns >> TICK_SHIFT;
        let look = |word: u64| {
            let passed = now.wrapping_sub(word) & LOOK_MASK;
            let gone = (word >> LOOK_BITS) + passed.min(STEP_NS >> TICK_SHIFT);
            (passed <= LOOK_MASK - LATE_TICKS).then_some(gone << LOOK_BITS | now & LOOK_MASK)
        };
        let (Ok(word) | Err(word)) = self.0.fetch_update(Relaxed, Relaxed, look);
        look(word).unwrap_or(word) >> LOOK_BITS << TICK_SHIFT
    }
}

/// 1.05 ms.
const TICK_SHIFT: u32 = 20;
/// A last look is known for five hours, after which the time since then begins anew. That makes no difference, since no
/// more than a step of it counts.
const LOOK_BITS: u32 = 24;
const LOOK_MASK: u64 = (1 << LOOK_BITS) - 1;
/// Ten seconds: a thread that is late by less, since others read this clock between its read of the system's clock
/// and of this one, changes nothing.
const LATE_TICKS: u64 = 10_000_000_000 >> TICK_SHIFT;
const STEP_NS: u64 = 100_000_000;

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const MS: u64 = 1_000_000;
    const HOUR_MS: u64 = 3_600_000;
    const TICK_NS: u64 = 1 << TICK_SHIFT;

    #[test]
    fn time_in_which_the_process_stands_still_does_not_count() {
        let clock = Clock(AtomicU64::new(0));
        let begin_ns = 1_000_000 * MS;
        let began = clock.at(begin_ns);
        let passed = |now_ms: u64| clock.at(begin_ns + now_ms * MS) - began;
        assert!(passed(50).abs_diff(50 * MS) <= TICK_NS);
        // A minute, and some hours: less and more than the clock remembers.
        let (mut now_ms, mut counted_ms) = (50, 50);
        for pause_ms in [60_000, 3 * HOUR_MS, 4 * HOUR_MS, 7 * HOUR_MS, 100 * HOUR_MS] {
            now_ms += pause_ms;
            counted_ms += 100;
            assert!(passed(now_ms).abs_diff(counted_ms * MS) <= 10 * TICK_NS, "{pause_ms} ms");
        }
        let goes_on = |n: u64| passed(now_ms + n * 90).abs_diff((counted_ms + n * 90) * MS);
        assert!((1..100).all(|n| goes_on(n) <= 10 * TICK_NS));
    }

    #[test]
    fn one_who_looks_late_changes_nothing() {
        let clock = Clock(AtomicU64::new(0));
        let began = clock.at(5_000 * MS);
        assert_eq!(clock.at(4_000 * MS), began);
        assert!((clock.at(5_050 * MS) - began).abs_diff(50 * MS) <= TICK_NS);
    }

    /// Many threads read at once when the process continues: for all of them only a step has passed.
    #[test]
    fn of_those_who_go_on_together_none_sees_the_pause() {
        for _ in 0..2000 {
            let clock = Clock(AtomicU64::new(0));
            let began = clock.at(1_000 * MS);
            let look = || assert!(clock.at(9_000 * MS) - began <= 100 * MS);
            thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(look))));
        }
    }

    #[test]
    fn patience_ends() {
        assert_eq!(Patience::new(Duration::ZERO).step(), None);
        let mut patience = Patience::new(Duration::from_millis(250));
        let steps = std::iter::from_fn(|| patience.step().inspect(|step| thread::sleep(*step)));
        let steps: Vec<_> = steps.collect();
        assert!(
            (3..6).contains(&steps.len()) && steps[0].as_nanos() as u64 == STEP_NS,
            "{steps:?}"
        );
    }
}
