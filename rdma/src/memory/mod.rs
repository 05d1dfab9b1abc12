//! One-sided access to memory: the trait, and segments that this process maps.

pub mod atomic_words;
#[cfg_attr(loom, allow(dead_code))]
pub mod gate;
mod grant_requests;
pub mod grants;
pub mod mapping;
// Models have no pools: see the root of `pool`.
#[cfg(not(loom))]
mod pool_lease;
#[cfg(not(loom))]
pub mod pool_segment;
pub mod segment;
#[cfg(not(loom))]
pub mod split_segment;
