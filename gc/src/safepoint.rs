//! Stopping the world and handshakes, with their times. The protocol is in [`rendezvous`](crate::rendezvous).

use crate::mutator::{Mutator, WorldStopped};
use crate::rendezvous::Rendezvous;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// All mutators of a heap, and what it cost to stop them.
pub struct Safepoints {
    rendezvous: Rendezvous<Mutator>,
    /// Times that mutators spent blocked at polls and transitions, nanoseconds; written by each thread after
    /// its wait, read for reports, relaxed.
    blocked_ns: AtomicU64,
    blocked_ns_max: AtomicU64,
    blocked_count: AtomicU64,
}

/// How long one pause took.
#[derive(Clone, Copy, Debug, Default)]
pub struct PauseTimes {
    /// From the request until the last mutator was stopped.
    pub to_safepoint: Duration,
    /// From the last mutator's stop until all were let go.
    pub stopped: Duration,
}

/// Waits of mutators for pauses, seen from the mutators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct BlockedTimes {
    pub count: u64,
    pub total_us: u64,
    pub max_us: u64,
}

impl Safepoints {
    pub(crate) fn new() -> Safepoints {
        Safepoints {
            rendezvous: Rendezvous::new(),
            blocked_ns: AtomicU64::new(0),
            blocked_ns_max: AtomicU64::new(0),
            blocked_count: AtomicU64::new(0),
        }
    }

    pub(crate) fn attach(&self, m: &Mutator, begin: impl FnOnce(&Mutator)) {
        self.rendezvous.attach(m, begin);
    }

    pub(crate) fn detach(&self, m: &Mutator, end: impl FnOnce(&Mutator)) {
        self.rendezvous.detach(m, end);
    }

    #[inline]
    pub fn enter_safe(&self, m: &Mutator) {
        self.rendezvous.enter_safe(m);
    }

    #[inline]
    pub fn leave_safe(&self, m: &Mutator) {
        // A thread that waits here might have waited in native code as well: not counted as blocked.
        self.rendezvous.leave_safe(m);
    }

    /// The slow path of a poll.
    #[cold]
    pub fn poll_slow(&self, m: &Mutator) {
        let start = Instant::now();
        if self.rendezvous.pass(m) {
            self.count_blocked(start.elapsed());
        }
    }

    /// Runs `wait` (a wait inside a barrier) with handshakes passing on the thread's behalf and pauses held up.
    /// The time counts as blocked.
    pub fn wait_in_barrier<R>(&self, m: &Mutator, wait: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        self.rendezvous.enter_waiting(m);
        let result = wait();
        self.rendezvous.leave_waiting(m);
        self.count_blocked(start.elapsed());
        result
    }

    /// Runs `f` with all mutators stopped. `me` is the caller if it is a running mutator; it counts as safe from
    /// the call on, so its frames must be walkable. Requests of several threads run one after the other.
    pub fn stop_world<R>(
        &self,
        me: Option<&Mutator>,
        f: impl FnOnce(&WorldStopped) -> R,
    ) -> (R, PauseTimes) {
        let start = Instant::now();
        let result = self.rendezvous.stop(me, |threads, asked| {
            let stopped_at = Instant::now();
            let result = f(&WorldStopped::new(threads));
            let times =
                PauseTimes { to_safepoint: stopped_at - asked, stopped: stopped_at.elapsed() };
            (result, times)
        });
        if me.is_some() {
            self.count_blocked(start.elapsed());
        }
        result
    }

    /// Carries out `action` once for each mutator: by itself at its next poll, or on its behalf while it is safe
    /// or waits in a barrier. `action` must be short and must not block. Returns the time it took.
    pub fn handshake(&self, me: Option<&Mutator>, action: &dyn Fn(&Mutator)) -> Duration {
        let start = Instant::now();
        self.rendezvous.handshake(me, action);
        start.elapsed()
    }

    /// Attached mutators (0 while the world is stopped).
    pub fn mutator_count(&self) -> usize {
        self.rendezvous.count()
    }

    pub fn blocked_times(&self) -> BlockedTimes {
        BlockedTimes {
            count: self.blocked_count.load(Ordering::Relaxed),
            total_us: self.blocked_ns.load(Ordering::Relaxed) / 1000,
            max_us: self.blocked_ns_max.load(Ordering::Relaxed) / 1000,
        }
    }

    fn count_blocked(&self, time: Duration) {
        let ns = time.as_nanos() as u64;
        self.blocked_count.fetch_add(1, Ordering::Relaxed);
        self.blocked_ns.fetch_add(ns, Ordering::Relaxed);
        self.blocked_ns_max.fetch_max(ns, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize};

    /// Threads attach, poll, go native and detach; a counter per heap is only touched by running threads, so it
    /// must not move during a pause.
    #[test]
    fn nobody_runs_during_a_pause() {
        let safepoints = Safepoints::new();
        let work = AtomicUsize::new(0);
        let ended = AtomicBool::new(false);
        let pauses = std::thread::scope(|scope| {
            for id in 0..3 {
                let (safepoints, work, ended) = (&safepoints, &work, &ended);
                scope.spawn(move || mutate(id, safepoints, work, ended));
            }
            let mut pauses = 0;
            for _ in 0..300 {
                safepoints.stop_world(None, |_| {
                    let before = work.load(Ordering::SeqCst);
                    std::thread::yield_now();
                    assert_eq!(before, work.load(Ordering::SeqCst));
                    pauses += 1;
                });
                let seen = AtomicUsize::new(0);
                safepoints.handshake(None, &|_| {
                    seen.fetch_add(1, Ordering::Relaxed);
                });
                assert!(seen.load(Ordering::Relaxed) <= 3);
            }
            ended.store(true, Ordering::Relaxed);
            pauses
        });
        assert_eq!(pauses, 300);
        assert_eq!(safepoints.mutator_count(), 0);
    }

    fn mutate(id: usize, safepoints: &Safepoints, work: &AtomicUsize, ended: &AtomicBool) {
        let m = Mutator::new();
        let mut step = id;
        while !ended.load(Ordering::Relaxed) {
            safepoints.attach(&m, |_| ());
            for _ in 0..200 {
                step += 1;
                work.fetch_add(1, Ordering::SeqCst);
                if m.poll_requested() {
                    safepoints.poll_slow(&m);
                }
                if step % 7 == 0 {
                    safepoints.enter_safe(&m);
                    safepoints.leave_safe(&m);
                }
                if step % 101 == 0 {
                    safepoints.stop_world(Some(&m), |_| ());
                }
            }
            safepoints.detach(&m, |_| ());
        }
    }
}
