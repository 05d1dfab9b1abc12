//! Random programs that find what the VM does differently from HotSpot.

pub mod body;
mod constants;
pub mod expressions;
pub mod judge;
pub mod plan;
pub mod program;
pub mod reduce;
pub mod rng;
pub mod statements;
pub mod tree;
pub mod types;
