//! One folder per collector.

pub mod epsilon;
