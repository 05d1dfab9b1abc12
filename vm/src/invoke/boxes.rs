//! Boxed primitive values.

use crate::classfile::BasicType;
use crate::interpreter::slots;
use crate::loading::{allocate, initialize};
use crate::runtime::{JResult, JavaThread, KlassRef};
use crate::symbol::Symbol;
use gc::object::ObjectRef;

/// The slot value of a box object (`java.lang.Integer`, ...) of this type. No safepoint.
pub fn unbox(t: &JavaThread, value: ObjectRef, ty: BasicType) -> u64 {
    slots::get(t, value, value_offset(t.klass_of(value), ty), ty)
}

/// A box object of a slot value. A safepoint.
pub fn new_box(t: &JavaThread, ty: BasicType, value: u64) -> JResult<ObjectRef> {
    let classes = &t.vm.known.classes;
    let klass = match ty {
        BasicType::Boolean => classes.boolean_box(),
        BasicType::Char => classes.character_box(),
        BasicType::Float => classes.float_box(),
        BasicType::Double => classes.double_box(),
        BasicType::Byte => classes.byte_box(),
        BasicType::Short => classes.short_box(),
        BasicType::Int => classes.integer_box(),
        BasicType::Long => classes.long_box(),
        _ => panic!("no box for {ty:?}"),
    };
    initialize::initialize(t, klass)?;
    let object = allocate::new_instance(t, klass)?;
    slots::put(t, object, value_offset(klass, ty), ty, value);
    Ok(object)
}

fn value_offset(klass: KlassRef, ty: BasicType) -> usize {
    let field = klass.declared_field(Symbol::of("value"), Symbol::intern(&[ty.letter()]));
    field.unwrap_or_else(|| panic!("{klass:?} is no box of {ty:?}")).offset as usize
}
