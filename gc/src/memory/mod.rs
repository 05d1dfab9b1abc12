//! The heap's memory: reserved address space, its regions, and bitmaps over it.

pub mod error;
mod far;
pub mod mark_bitmap;
pub mod region;
pub mod space;
pub mod zeroed;
