//! The far space: it serves faults and moves pages.

pub mod chase;
pub mod clock;
pub mod evictor;
pub mod far_space;
pub mod fault;
pub mod frame_reuse;
pub mod noted;
pub mod protection;
pub mod readahead;
pub mod ready;
pub mod stock;
