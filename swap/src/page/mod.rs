//! Pages: their numbers, the word that holds the state of each, and how they come and leave.

pub mod arrival;
pub mod departure;
pub mod page_state;
pub mod range;
pub mod work_area;
