//! Start-up: the class image, the order of initialization, the entry points that make a VM.
pub mod append;
mod classes;
pub mod entry;
pub mod image;
mod invocation;
pub mod patches;
mod phases;
mod start;
mod start_times;
mod vm_output;

pub use phases::construct;
