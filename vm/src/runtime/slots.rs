//! Fields as slot values.

use super::object;
use crate::machine::JavaThread;
use classfile::BasicType;
use gc::object::ObjectRef;

/// A field's or static's slot value.
pub fn get(t: &JavaThread, object: ObjectRef, offset: usize, ty: BasicType) -> u64 {
    match ty {
        BasicType::Boolean | BasicType::Byte => {
            object::get::<i8>(object, offset) as i32 as u32 as u64
        }
        BasicType::Char => object::get::<u16>(object, offset) as u64,
        BasicType::Short => object::get::<i16>(object, offset) as i32 as u32 as u64,
        BasicType::Int | BasicType::Float => object::get::<i32>(object, offset) as u32 as u64,
        BasicType::Long | BasicType::Double => object::get::<u64>(object, offset),
        _ => t.load_ref(object, offset).address() as u64,
    }
}

/// Stores a slot value to a field or static.
pub fn put(t: &JavaThread, object: ObjectRef, offset: usize, ty: BasicType, value: u64) {
    match ty {
        BasicType::Boolean => object::put::<i8>(object, offset, value as i8 & 1),
        BasicType::Byte => object::put::<i8>(object, offset, value as i8),
        BasicType::Char | BasicType::Short => object::put::<i16>(object, offset, value as i16),
        BasicType::Int | BasicType::Float => object::put::<i32>(object, offset, value as i32),
        BasicType::Long | BasicType::Double => object::put::<u64>(object, offset, value),
        _ => t.store_ref(object, offset, ObjectRef::from_address(value as usize)),
    }
}
