//! Boxed primitive values.

use crate::classfile::BasicType;
use crate::interpreter::slots;
use crate::runtime::JavaThread;
use crate::symbol::Symbol;
use gc::object::ObjectRef;

/// The slot value of a box object (`java.lang.Integer`, ...) of this type.
pub fn unbox(t: &JavaThread, value: ObjectRef, ty: BasicType) -> u64 {
    let klass = t.klass_of(value);
    let descriptor = Symbol::intern(&[ty.letter()]);
    let field = klass
        .declared_field(Symbol::of("value"), descriptor)
        .unwrap_or_else(|| panic!("a {klass:?} where a boxed {ty:?} was checked"));
    slots::get(t, value, field.offset as usize, ty)
}
