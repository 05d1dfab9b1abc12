//! The parts that all collectors share, and their interface to the heap.

pub mod allocator;
mod class_log;
pub mod collector;
pub mod heap_core;
pub mod histogram;
pub mod inspection;
pub mod memory_use;
pub mod outcome;
pub mod stats;
pub mod strings;
pub mod unloading;
pub mod verify;
