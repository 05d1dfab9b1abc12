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

/// What no other client writes now.
#[inline(always)]
pub(crate) fn own(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}
