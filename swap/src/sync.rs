//! Atomics of the state machines that are model-checked. The model in `tests/loom_page_state.rs`
//! compiles those files against a module of the same name that has loom's.

pub(crate) use std::sync::atomic::{AtomicU32, Ordering};
