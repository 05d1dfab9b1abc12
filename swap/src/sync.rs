//! Atomics of the state machines that are model-checked. The models in `tests/loom_*.rs`
//! compile those files against a module of the same name that has loom's.

pub(crate) use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
