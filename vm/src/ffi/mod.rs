//! The interface to native code: environments and references, entries into the VM, calls of native methods.

pub mod call;
pub mod entry;
pub mod env;
pub mod globals;
mod link;
pub mod natives;
pub mod registry;
pub mod types;
