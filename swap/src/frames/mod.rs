//! Frames of local memory: how many there may be, how many are kept free, and those that wait beside the far space.

pub mod budget;
pub mod frame_cache;
pub mod reserve;
pub mod run_set;
