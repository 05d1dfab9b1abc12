//! New objects. Every function here is a safepoint.

use crate::runtime::{JResult, JavaThread, KlassRef};
use gc::object::ObjectRef;

/// A zeroed instance of an initialized, instantiable class. Registers finalizers? No: `Object.<init>` does.
pub fn new_instance(_t: &JavaThread, klass: KlassRef) -> JResult<ObjectRef> {
    panic!("new_instance({klass:?})")
}

/// A zeroed array of an array class; negative length throws `NegativeArraySizeException`.
pub fn new_array(_t: &JavaThread, array_klass: KlassRef, _length: i32) -> JResult<ObjectRef> {
    panic!("new_array({array_klass:?})")
}

/// `multianewarray`: `lengths` outermost first; at least one.
pub fn new_multi_array(
    _t: &JavaThread,
    array_klass: KlassRef,
    _lengths: &[i32],
) -> JResult<ObjectRef> {
    panic!("new_multi_array({array_klass:?})")
}

/// `Object.clone` of an array or a `Cloneable` (the caller checked).
pub fn clone(_t: &JavaThread, _original: ObjectRef) -> JResult<ObjectRef> {
    panic!("clone")
}
