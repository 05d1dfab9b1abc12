//! The objects that a thread sleeps on: in `Object.wait` and `Thread.sleep` ([`Event`]), in `Unsafe.park`
//! ([`Parker`]).

use super::sync::{AtomicU32, Condvar, Mutex, Ordering};
use std::time::Instant;

/// Wakes one thread from waiting or sleeping. A wake-up may be spurious.
#[derive(Default)]
pub struct Event {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Event {
    /// Forgets earlier notifications. The owner calls it before it makes itself known to notifying threads,
    /// and before it checks whether it has been interrupted.
    pub fn reset(&self) {
        *self.is_set.lock() = false;
    }

    /// A notification, or an interrupt.
    pub fn notify(&self) {
        *self.is_set.lock() = true;
        self.changed.notify_one();
    }

    /// Sleeps until notified or the deadline. Whether it was notified. Blocks.
    pub fn wait(&self, deadline: Option<Instant>) -> bool {
        let mut is_set = self.is_set.lock();
        while !*is_set {
            match deadline {
                None => self.changed.wait(&mut is_set),
                Some(deadline) => {
                    if self.changed.wait_until(&mut is_set, deadline).timed_out() {
                        break;
                    }
                }
            }
        }
        *is_set
    }
}

/// One permit (`java.util.concurrent.locks.LockSupport`).
#[derive(Default)]
pub struct Parker {
    /// 1 when there is one. Set by any thread; taken by the owner with acquire, so that it sees all writes
    /// before `unpark`.
    permit: AtomicU32,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Parker {
    /// Takes the permit if there is one.
    #[inline]
    pub fn try_take(&self) -> bool {
        self.permit.swap(0, Ordering::SeqCst) != 0
    }

    /// Sleeps until there is a permit, and takes it, or until the deadline. Blocks.
    pub fn park(&self, deadline: Option<Instant>) {
        let mut guard = self.lock.lock();
        while !self.try_take() {
            match deadline {
                None => self.changed.wait(&mut guard),
                Some(deadline) => {
                    if self.changed.wait_until(&mut guard, deadline).timed_out() {
                        self.try_take();
                        return;
                    }
                }
            }
        }
    }

    pub fn unpark(&self) {
        if self.permit.swap(1, Ordering::SeqCst) == 0 {
            // The owner is before its test of the permit, or asleep.
            drop(self.lock.lock());
            self.changed.notify_one();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_permit_is_taken_once() {
        let parker = Parker::default();
        parker.unpark();
        parker.unpark();
        parker.park(None);
        let start = Instant::now();
        parker.park(Some(start + Duration::from_millis(10)));
        assert!(start.elapsed() >= Duration::from_millis(10));
    }

    #[test]
    fn parked_threads_are_woken() {
        let parkers = [Parker::default(), Parker::default()];
        std::thread::scope(|scope| {
            let [ping, pong] = &parkers;
            scope.spawn(move || {
                for _ in 0..10_000 {
                    ping.park(None);
                    pong.unpark();
                }
            });
            for _ in 0..10_000 {
                ping.unpark();
                pong.park(None);
            }
        });
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;

    /// A permit that is given is seen: the owner does not sleep for ever.
    #[test]
    fn no_permit_is_lost() {
        loom::model(|| {
            let parker = Arc::new(Parker::default());
            let other = parker.clone();
            let giver = loom::thread::spawn(move || other.unpark());
            parker.park(None);
            giver.join().unwrap();
            assert!(!parker.try_take());
        });
    }
}
