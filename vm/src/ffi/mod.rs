//! What native code is handed: environments and references, the way into the VM, the way out to native methods.

pub mod call;
pub mod entry;
pub mod env;
pub mod globals;
mod link;
pub mod natives;
pub mod registry;
pub mod types;
