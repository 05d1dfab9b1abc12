//! Native methods: finding them, calling them, and those that the VM provides itself.

pub mod registry;

use crate::runtime::{JResult, JavaThread, MethodRef};

/// Loaded libraries and the VM's own natives.
#[derive(Default)]
pub struct Natives {}

/// Finds the C function of a native method (registered, VM-provided, or by its mangled name) or throws
/// `UnsatisfiedLinkError`.
pub fn link_native(_t: &JavaThread, method: MethodRef) -> JResult<*mut libc::c_void> {
    panic!("natives::link_native({method:?}) is not there yet")
}

/// Calls a native method with the arguments in the interpreter's slots (receiver first; longs and doubles take
/// two, value in the first), linking it first if needed. The slots must be roots. Returns the result word as
/// `interpreter::call` does; an exception that the native left is `Err`. A safepoint.
pub fn call_native(_t: &JavaThread, method: MethodRef, _locals: *mut u64) -> JResult<u64> {
    panic!("natives::call_native({method:?}) is not there yet")
}
