//! One folder per collector.

pub mod epsilon;
pub mod serial;
