//! Atomics of the protocols that are model-checked. Under `--cfg loom` they are loom's, and no type that has them can
//! lie in shared memory.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(not(any(loom, test)))]
pub(crate) use std::sync::atomic::AtomicU64;
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{Ordering, fence};
#[cfg(all(test, not(loom)))]
pub(crate) use watched::AtomicU64;

/// Stores that another process reads after this one was killed: each is after those before it.
#[inline(always)]
pub(crate) fn put(word: &AtomicU64, value: u64) {
    word.store(value, Ordering::Release);
}

/// A store, and then a fence: what is loaded afterwards is loaded after others can see the store.
#[inline(always)]
pub(crate) fn put_and_fence(word: &AtomicU64, value: u64) {
    #[cfg(loom)]
    {
        put(word, value);
        fence(Ordering::SeqCst);
    }
    // On the machine that there is a version for, the exchange orders all loads and stores, and takes half the time.
    #[cfg(not(loom))]
    word.swap(value, Ordering::SeqCst);
}

/// What no other client writes now.
#[inline(always)]
pub(crate) fn own(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

/// The standard library's word, whose uses are told to [`crate::private_caches`].
#[cfg(all(test, not(loom)))]
mod watched {
    use crate::private_caches;
    use std::ops::Deref;
    use std::sync::atomic::{self, Ordering};

    #[repr(transparent)]
    #[derive(Default, Debug)]
    pub struct AtomicU64(atomic::AtomicU64);

    impl AtomicU64 {
        pub(crate) const fn new(value: u64) -> AtomicU64 {
            AtomicU64(atomic::AtomicU64::new(value))
        }

        pub(crate) fn load(&self, order: Ordering) -> u64 {
            private_caches::load(self.0.as_ptr() as usize);
            self.0.load(order)
        }

        pub(crate) fn store(&self, value: u64, order: Ordering) {
            private_caches::store(self.0.as_ptr() as usize);
            self.0.store(value, order);
        }
    }

    /// All other uses are atomic changes.
    impl Deref for AtomicU64 {
        type Target = atomic::AtomicU64;

        fn deref(&self) -> &atomic::AtomicU64 {
            private_caches::change(self.0.as_ptr() as usize);
            &self.0
        }
    }
}
