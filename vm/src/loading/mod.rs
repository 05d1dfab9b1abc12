//! From names to usable classes.
pub mod allocate;
pub mod arrays;
pub mod define;
pub mod errors;
pub mod initialize;
pub mod known;
pub mod link;
pub mod lookup;
pub mod mirror;
pub mod modules;
pub mod resolve;
pub mod strings;
