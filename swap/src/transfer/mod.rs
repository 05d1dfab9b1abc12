//! How pages come from their servers and leave for them.

pub mod arrival;
pub mod departure;
pub mod work_area;
