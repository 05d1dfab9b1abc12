//! Stopping the world and handshakes, with their times. The protocol is in [`rendezvous`](crate::threads::rendezvous).

use crate::threads::blocked::{Blocked, BlockedTimes, WaitFor};
use crate::threads::mutator::{Mutator, WorldStopped};
use crate::threads::rendezvous::Rendezvous;
use std::time::{Duration, Instant};

/// All mutators of a heap, and the cost of stopping them.
pub struct Safepoints {
    rendezvous: Rendezvous<Mutator>,
    blocked: Blocked,
}

/// How long one pause took.
#[derive(Clone, Copy, Debug, Default)]
pub struct PauseTimes {
    /// From the request until the last mutator was stopped.
    pub to_safepoint: Duration,
    /// From the last mutator's stop until all were released.
    pub stopped: Duration,
}

impl Safepoints {
    pub(crate) fn new() -> Safepoints {
        Safepoints { rendezvous: Rendezvous::new(), blocked: Blocked::new() }
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
        if !self.rendezvous.try_leave_safe(m) {
            self.poll_slow(m);
        }
    }

    /// The slow path of a poll.
    #[cold]
    pub fn poll_slow(&self, m: &Mutator) {
        let start = Instant::now();
        if self.rendezvous.pass(m) {
            self.blocked.note(WaitFor::Pause, start);
        }
    }

    /// Runs `wait` (a wait inside a barrier) with handshakes passing on the thread's behalf and pauses held up.
    /// The time counts as blocked.
    pub fn wait_in_barrier<R>(
        &self,
        m: &Mutator,
        wait_for: WaitFor,
        wait: impl FnOnce() -> R,
    ) -> R {
        let start = Instant::now();
        self.rendezvous.enter_waiting(m);
        let result = wait();
        self.rendezvous.leave_waiting(m);
        self.blocked.note(wait_for, start);
        result
    }

    /// Runs `wait` with the running thread safe. The time counts as blocked: it is for the collector's sake.
    pub fn wait_safe<R>(&self, m: &Mutator, wait_for: WaitFor, wait: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        self.rendezvous.enter_safe(m);
        let result = wait();
        if !self.rendezvous.try_leave_safe(m) {
            self.rendezvous.pass(m);
        }
        self.blocked.note(wait_for, start);
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
            self.blocked.note(WaitFor::Cycle, start);
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
        self.blocked.times()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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
                if step.is_multiple_of(7) {
                    safepoints.enter_safe(&m);
                    safepoints.leave_safe(&m);
                }
                if step.is_multiple_of(101) {
                    safepoints.stop_world(Some(&m), |_| ());
                }
            }
            safepoints.detach(&m, |_| ());
        }
    }
}
