//! Method handles, dynamic call sites and dynamic constants (JVMS 5.4.3.5, 5.4.3.6, `java.lang.invoke`).

pub mod boxes;

use crate::runtime::method::Intrinsic;
use crate::runtime::{JResult, JavaThread, KlassRef, MethodRef};
use gc::object::ObjectRef;

/// Resolves a MethodHandle, MethodType or Dynamic constant (JVMS 5.4.3.5, 5.4.3.6) and keeps the result in the
/// pool's object slot; primitives of dynamic constants come boxed. A safepoint.
pub fn resolve_constant(_t: &JavaThread, holder: KlassRef, index: u16) -> JResult<ObjectRef> {
    panic!("invoke::resolve_constant({holder:?}, {index}) is not there yet")
}

/// Links a call of `MethodHandle.invokeExact`, `invoke` or a `VarHandle` accessor: returns the adapter, whose
/// appendix is then in the pool's object slot of `index`. A safepoint.
pub fn link_method(
    _t: &JavaThread,
    holder: KlassRef,
    index: u16,
    _resolved: MethodRef,
) -> JResult<MethodRef> {
    panic!("invoke::link_method({holder:?}, {index}) is not there yet")
}

/// Links a call site of a method's class. A safepoint.
pub fn link_call_site(_t: &JavaThread, method: MethodRef, number: u32) -> JResult<()> {
    panic!("invoke::link_call_site({method:?}, {number}) is not there yet")
}

/// The method to which `invokeBasic` of a method handle goes. No safepoint.
pub fn basic_target(_t: &JavaThread, _method_handle: ObjectRef) -> MethodRef {
    panic!("invoke::basic_target is not there yet")
}

/// The method to which `linkTo*` goes. No safepoint unless it throws.
pub fn link_target(
    _t: &JavaThread,
    _intrinsic: Intrinsic,
    _member: ObjectRef,
    _first: ObjectRef,
) -> JResult<MethodRef> {
    panic!("invoke::link_target is not there yet")
}
