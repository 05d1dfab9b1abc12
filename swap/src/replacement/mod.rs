//! Which pages leave, and which come before they are needed.

pub mod epoch;
pub mod leads;
pub mod prefetch;
pub mod ready_ring;
pub mod used;
