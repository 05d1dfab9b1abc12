//! What all collectors share, and what they are to the heap.

pub mod allocator;
pub mod collector;
pub mod heap_core;
pub mod outcome;
pub mod stats;
pub mod verify;
