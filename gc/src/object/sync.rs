//! Atomics and locks of the state machines that are model-checked: `std` and `parking_lot`, or loom's with
//! `--cfg loom`. Only those state machines import from here.

#[cfg(not(loom))]
pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use std::thread::yield_now;

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
#[cfg(loom)]
pub(crate) use loom::thread::yield_now;
#[cfg(loom)]
pub(crate) use model::{Condvar, Mutex, MutexGuard};

/// Stores `value` and orders the store before every later load of this thread (the first half of a Dekker
/// hand-shake). One locked instruction on x86-64.
#[inline]
pub(crate) fn store_fenced(atomic: &AtomicU32, value: u32) {
    atomic.store(value, Ordering::SeqCst);
    // Loom treats sequentially consistent accesses as acquire and release only; its fences are exact.
    #[cfg(loom)]
    fence(Ordering::SeqCst);
}

/// Lets others run, in the `round`-th turn of a loop that waits for them: a thread that waits long should not take the
/// CPU from those that it waits for.
pub(crate) fn wait_a_little(_round: u32) {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(not(loom))]
    match _round {
        0..32 => std::thread::yield_now(),
        _ => std::thread::sleep(std::time::Duration::from_micros(20)),
    }
}

/// Loom's lock and condition variable with the interface of `parking_lot`'s.
#[cfg(loom)]
mod model {
    pub(crate) use loom::sync::MutexGuard;

    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Mutex<T> {
            Mutex(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().expect("no model thread panics with the lock held")
        }
    }

    pub(crate) struct Condvar(loom::sync::Condvar);

    impl Condvar {
        pub(crate) fn new() -> Condvar {
            Condvar(loom::sync::Condvar::new())
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }

        /// Waits with the guard's lock released, as `parking_lot` does.
        pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            // SAFETY: the guard is moved out and, before anyone can see the hole, a guard of the same lock
            // is written back; loom's wait does not unwind in between (a failing model aborts the run).
            unsafe {
                let taken = std::ptr::read(guard);
                let returned = self.0.wait(taken).expect("no model thread panics in a wait");
                std::ptr::write(guard, returned);
            }
        }
    }
}
