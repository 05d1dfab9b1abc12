//! Atomics of the protocols that are model-checked. Under `--cfg loom` they are loom's, and no type that has them can
//! lie in shared memory.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU64, Ordering, fence};

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
