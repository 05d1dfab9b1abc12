//! Which pages leave, and which come before they are needed.

pub mod chase;
pub mod epoch;
pub mod prefetch;
pub mod ready_ring;
