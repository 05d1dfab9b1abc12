//! One folder per collector.

pub mod epsilon;
pub mod g1;
pub mod mako;
pub mod semeru;
pub mod serial;
pub mod shenandoah;
