//! Resolution of constants (JVMS 5.4.3). Results and errors are kept in the class's `RuntimePool`. All are safepoints.

use crate::runtime::{FieldRef, JResult, JavaThread, KlassRef, MethodRef};
use gc::object::ObjectRef;

/// How a method reference is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invoke {
    Virtual,
    Special,
    Static,
    Interface,
}

/// A `Class` entry, access checked.
pub fn resolve_class(_t: &JavaThread, _holder: KlassRef, _index: u16) -> JResult<KlassRef> {
    panic!("resolve_class")
}

/// A `Fieldref` for `get*`/`put*`: checks access, static or not, and writes to finals. Does not initialize.
pub fn resolve_field(
    _t: &JavaThread,
    _holder: KlassRef,
    _index: u16,
    _is_static: bool,
    _writer: Option<MethodRef>,
) -> JResult<FieldRef> {
    panic!("resolve_field")
}

/// A `Methodref` or `InterfaceMethodref`: the resolved (not yet selected) method; for `Special` the method that
/// is called. Signature-polymorphic methods come back as declared, with `intrinsic` set. Does not initialize.
pub fn resolve_method(
    _t: &JavaThread,
    _holder: KlassRef,
    _index: u16,
    _kind: Invoke,
) -> JResult<MethodRef> {
    panic!("resolve_method")
}

/// An `ldc` of String, Class, MethodHandle, MethodType or dynamic constant of reference type.
pub fn resolve_object(_t: &JavaThread, _holder: KlassRef, _index: u16) -> JResult<ObjectRef> {
    panic!("resolve_object")
}

/// The method that `invokevirtual` of a resolved method selects in a receiver's class (JVMS 5.4.6).
pub fn select_virtual(resolved: MethodRef, _receiver: KlassRef) -> MethodRef {
    panic!("select_virtual({resolved:?})")
}

/// As `select_virtual` for `invokeinterface`; throws IncompatibleClassChangeError, AbstractMethodError, ...
pub fn select_interface(
    _t: &JavaThread,
    resolved: MethodRef,
    _receiver: KlassRef,
) -> JResult<MethodRef> {
    panic!("select_interface({resolved:?})")
}
