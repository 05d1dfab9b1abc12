//! Requests of other threads to a thread.

use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The requests to one thread. Any thread may make them.
#[derive(Default)]
pub struct Requests {
    /// A global reference to the exception that it shall throw, or 0. Swapped in by any thread, out by
    /// the thread itself.
    thrown: AtomicUsize,
    /// Compiled code has touched memory behind the end of a mapped file. Set by the thread's signal
    /// handler.
    has_faulted: AtomicBool,
    /// The thread is to print its stack. Set by any thread, cleared by the thread itself.
    shows_stack: AtomicBool,
    is_suspended: Mutex<bool>,
    resumed: Condvar,
}

impl Requests {
    /// Forgets everything; the reference that was to be thrown, or 0.
    pub fn clear(&self) -> usize {
        self.has_faulted.store(false, Ordering::Relaxed);
        self.shows_stack.store(false, Ordering::Relaxed);
        *self.is_suspended.lock() = false;
        self.thrown.swap(0, Ordering::AcqRel)
    }

    /// Whether the thread has something to throw.
    pub fn has_thrown(&self) -> bool {
        self.thrown.load(Ordering::Acquire) != 0 || self.has_faulted.load(Ordering::Relaxed)
    }

    /// The previous reference, or 0.
    pub fn replace_thrown(&self, reference: usize) -> usize {
        self.thrown.swap(reference, Ordering::AcqRel)
    }

    /// Async-signal-safe.
    pub fn note_fault(&self) {
        self.has_faulted.store(true, Ordering::Relaxed);
    }

    pub fn take_fault(&self) -> bool {
        self.has_faulted.swap(false, Ordering::Relaxed)
    }

    pub fn show_stack(&self) {
        self.shows_stack.store(true, Ordering::Release);
    }

    pub fn take_show_stack(&self) -> bool {
        self.shows_stack.swap(false, Ordering::Acquire)
    }

    pub fn suspend(&self) {
        *self.is_suspended.lock() = true;
    }

    pub fn resume(&self) {
        *self.is_suspended.lock() = false;
        self.resumed.notify_all();
    }

    pub fn is_suspended(&self) -> bool {
        *self.is_suspended.lock()
    }

    /// Blocks; the thread is in the safe state.
    pub fn wait_until_resumed(&self) {
        let mut is_suspended = self.is_suspended.lock();
        while *is_suspended {
            self.resumed.wait(&mut is_suspended);
        }
    }
}
