//! One-sided access to memory: the trait, and segments that this process maps.

pub mod atomic_words;
mod grant_requests;
pub mod grants;
pub mod mapping;
pub mod segment;
