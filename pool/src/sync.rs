//! Atomics of the protocols that are model-checked. Under `--cfg loom` they are loom's, and no type that has them can
//! lie in shared memory.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU64, Ordering, fence};
