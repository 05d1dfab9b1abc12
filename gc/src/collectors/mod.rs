//! One folder per collector.

pub mod epsilon;
pub mod mako;
pub mod serial;
