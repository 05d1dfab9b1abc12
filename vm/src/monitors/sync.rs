//! Atomics and locks of the state machines that are model-checked: `std` and `parking_lot`, or loom's with
//! `--cfg loom`. Only those state machines import from here.

#[cfg(not(loom))]
pub(super) use parking_lot::{Condvar, Mutex};
#[cfg(not(loom))]
pub(super) use std::sync::atomic::{AtomicU32, Ordering};

#[cfg(loom)]
pub(super) use loom::sync::atomic::{AtomicU32, Ordering, fence};
#[cfg(loom)]
pub(super) use model::{Condvar, Mutex};

/// Loom's lock and condition variable with the interface of `parking_lot`'s.
#[cfg(loom)]
mod model {
    use loom::sync::MutexGuard;
    use std::time::Instant;

    #[derive(Default)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().expect("no model thread panics with the lock held")
        }
    }

    #[derive(Default)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    /// Whether a timed wait ended by its timeout.
    pub(crate) struct TimedOut(bool);

    impl TimedOut {
        pub(crate) fn timed_out(&self) -> bool {
            self.0
        }
    }

    impl Condvar {
        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        /// Waits with the guard's lock released, as `parking_lot` does.
        pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            // SAFETY: the guard is moved out and, before any code can see the hole, a guard of the same
            // lock is written back; loom's wait does not unwind in between (a failing model aborts the
            // run).
            unsafe {
                let taken = std::ptr::read(guard);
                let returned = self.0.wait(taken).expect("no model thread panics in a wait");
                std::ptr::write(guard, returned);
            }
        }

        /// Time stands still in a model: the deadline has always passed.
        pub(crate) fn wait_until<T>(&self, _: &mut MutexGuard<'_, T>, _: Instant) -> TimedOut {
            TimedOut(true)
        }
    }
}
