//! Method handles, call sites, dynamic constants.

use crate::runtime::{JResult, JavaThread, KlassRef};
use gc::object::ObjectRef;

/// Resolves a MethodHandle, MethodType or Dynamic constant (JVMS 5.4.3.5, 5.4.3.6) and keeps the result in the
/// pool's object slot; primitives of dynamic constants come boxed. A safepoint.
pub fn resolve_constant(_t: &JavaThread, holder: KlassRef, index: u16) -> JResult<ObjectRef> {
    panic!("invoke::resolve_constant({holder:?}, {index}) is not there yet")
}
