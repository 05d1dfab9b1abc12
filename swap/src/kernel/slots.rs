//! A few things of one kind, each of which one thread uses at a time.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

/// A thread that has one of them never waits for a page lock, so that all come back.
pub struct Slots<T> {
    slots: Vec<Slot<T>>,
}

struct Slot<T> {
    /// Set by the thread that takes the slot, cleared by the same thread; acquire and release pair
    /// with each other.
    taken: AtomicBool,
    content: UnsafeCell<T>,
}

// SAFETY: a content is only reached through a Claim, of which the flag allows one at a time, so it moves from thread
// to thread, but is never shared.
unsafe impl<T: Send> Sync for Slots<T> {}

impl<T> FromIterator<T> for Slots<T> {
    fn from_iter<I: IntoIterator<Item = T>>(contents: I) -> Slots<T> {
        let slot =
            |content| Slot { taken: AtomicBool::new(false), content: UnsafeCell::new(content) };
        Slots { slots: contents.into_iter().map(slot).collect() }
    }
}

impl<T> Slots<T> {
    /// Takes a free one, waiting until there is one. Async-signal-safe.
    pub fn claim(&self) -> Claim<'_, T> {
        loop {
            for slot in &self.slots {
                if !slot.taken.load(Ordering::Relaxed) && !slot.taken.swap(true, Ordering::Acquire)
                {
                    return Claim { slot };
                }
            }
            // SAFETY: no memory is involved.
            unsafe { libc::sched_yield() };
        }
    }
}

/// One of them in use; dropping gives it back.
pub struct Claim<'a, T> {
    slot: &'a Slot<T>,
}

impl<T> Deref for Claim<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the flag makes this claim the only one of its slot.
        unsafe { &*self.slot.content.get() }
    }
}

impl<T> DerefMut for Claim<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the claim itself is borrowed mutably.
        unsafe { &mut *self.slot.content.get() }
    }
}

impl<T> Drop for Claim<'_, T> {
    fn drop(&mut self) {
        self.slot.taken.store(false, Ordering::Release);
    }
}
