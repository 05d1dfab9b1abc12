//! Atomics and sleeping of the state machine that is model-checked (`rdma/tests/loom_grants.rs` brings its own). Only
//! that imports from here.

pub(crate) use base::futex;
pub(crate) use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
