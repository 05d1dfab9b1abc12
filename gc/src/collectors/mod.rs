//! One folder per collector, and the parts that those with agents share.

pub(crate) mod choose;
pub mod epsilon;
pub mod g1;
pub mod mako;
pub mod memliner;
pub mod semeru;
pub mod serial;
mod sessions;
pub mod shenandoah;
