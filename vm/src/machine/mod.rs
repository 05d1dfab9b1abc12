//! The composition root: the VM and its threads own the parts of every floor, and every floor is handed them.

pub mod gc_binding;
pub mod thread;
pub mod unload;
pub mod vm;

pub use thread::JavaThread;
pub use vm::Vm;
