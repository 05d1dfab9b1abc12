//! Native methods: finding them, calling them, and those that the VM provides itself.

use crate::runtime::{JResult, JavaThread, MethodRef};

/// Loaded libraries and the VM's own natives.
#[derive(Default)]
pub struct Natives {}

/// Finds the C function of a native method (registered, VM-provided, or by its mangled name) or throws
/// `UnsatisfiedLinkError`.
pub fn link_native(_t: &JavaThread, method: MethodRef) -> JResult<*mut libc::c_void> {
    panic!("natives::link_native({method:?}) is not there yet")
}
