//! Start-up: the class image, the order of initialization, the entry points that make a VM.
pub mod image;
