//! Frames of local memory: how many there may be, how many are kept free, and those that wait beside the far space.

pub mod reserve;
pub mod room;
pub mod sheet_set;
pub mod sheets;
