//! The far space: it serves faults and moves pages.

pub mod ahead;
pub mod clock;
pub mod evictor;
pub mod far_space;
pub mod fault;
pub mod follow;
pub mod noted;
pub mod protection;
pub mod ready;
pub mod recycle;
pub mod stock;
