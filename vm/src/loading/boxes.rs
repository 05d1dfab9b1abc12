//! Boxes of primitive values: `java.lang.Integer` and its kin.

use super::{allocate, errors};
use crate::machine::JavaThread;
use crate::runtime::{JResult, KlassRef, object};
use classfile::BasicType;
use classfile::symbol::Symbol;
use gc::object::ObjectRef;

/// The box of a value word as `interpreter::call` returns it; references pass as they are, void gives null.
/// Boxes are new: no caches. A safepoint.
pub fn wrap(t: &JavaThread, ty: BasicType, word: u64) -> JResult<ObjectRef> {
    if ty.is_reference() {
        return Ok(ObjectRef::from_address(word as usize));
    }
    if ty == BasicType::Void {
        return Ok(ObjectRef::NULL);
    }
    let klass = box_class(t, ty);
    super::initialize::initialize(t, klass)?;
    let made = allocate::new_instance(t, klass)?;
    let offset = value_offset(klass, ty);
    match ty {
        BasicType::Boolean => object::put(made, offset, i8::from(word as u8 != 0)),
        BasicType::Byte => object::put(made, offset, word as i8),
        BasicType::Char | BasicType::Short => object::put(made, offset, word as i16),
        BasicType::Int | BasicType::Float => object::put(made, offset, word as i32),
        _ => object::put(made, offset, word as i64),
    }
    Ok(made)
}

/// Type and value word of a box; `None` for other objects. No safepoint.
pub fn unwrap(t: &JavaThread, boxed: ObjectRef) -> Option<(BasicType, u64)> {
    let klass = t.klass_of(boxed);
    let ty = BOXED.into_iter().find(|ty| box_class(t, *ty) == klass)?;
    let offset = value_offset(klass, ty);
    let word = match ty {
        BasicType::Boolean | BasicType::Byte => object::get::<i8>(boxed, offset) as i64 as u64,
        BasicType::Char => u64::from(object::get::<u16>(boxed, offset)),
        BasicType::Short => object::get::<i16>(boxed, offset) as i64 as u64,
        BasicType::Int => object::get::<i32>(boxed, offset) as i64 as u64,
        BasicType::Float => u64::from(object::get::<i32>(boxed, offset) as u32),
        _ => object::get::<u64>(boxed, offset),
    };
    Some((ty, word))
}

/// The word of a value after widening primitive conversion (JLS 5.1.2), or `None` when there is none.
pub fn widen(from: BasicType, to: BasicType, word: u64) -> Option<u64> {
    use BasicType::*;
    if from == to {
        return Some(word);
    }
    let integer = word as i64;
    let from_float = |to: BasicType| match to {
        Double => Some((f32::from_bits(word as u32) as f64).to_bits()),
        _ => None,
    };
    match (from, to) {
        (Byte, Short | Int | Long) | (Short | Char, Int | Long) | (Int, Long) => Some(word),
        (Byte | Short | Char | Int | Long, Float) => Some(u64::from((integer as f32).to_bits())),
        (Byte | Short | Char | Int | Long, Double) => Some((integer as f64).to_bits()),
        (Float, to) => from_float(to),
        _ => None,
    }
}

/// The value word of a box for a primitive target type. `IllegalArgumentException` with this message when it
/// is no box or does not widen, without a message for null.
pub fn unwrap_for(
    t: &JavaThread,
    boxed: ObjectRef,
    target: BasicType,
    message: &str,
) -> JResult<u64> {
    if boxed.is_null() {
        return Err(errors::throw_new(t, "java/lang/IllegalArgumentException", None));
    }
    match unwrap(t, boxed).and_then(|(from, word)| widen(from, target, word)) {
        Some(word) => Ok(word),
        None => errors::fail(t, "java/lang/IllegalArgumentException", message),
    }
}

/// The class of boxes of a primitive type.
pub fn box_class(t: &JavaThread, ty: BasicType) -> KlassRef {
    let classes = &t.vm.known.classes;
    match ty {
        BasicType::Boolean => classes.boolean_box(),
        BasicType::Char => classes.character_box(),
        BasicType::Float => classes.float_box(),
        BasicType::Double => classes.double_box(),
        BasicType::Byte => classes.byte_box(),
        BasicType::Short => classes.short_box(),
        BasicType::Int => classes.integer_box(),
        BasicType::Long => classes.long_box(),
        _ => panic!("{ty:?} has no box"),
    }
}

fn value_offset(klass: KlassRef, ty: BasicType) -> usize {
    let descriptor = Symbol::intern(&[ty.letter()]);
    let field = klass.declared_field(Symbol::of("value"), descriptor);
    field.unwrap_or_else(|| panic!("{klass:?} has no value")).offset as usize
}

const BOXED: [BasicType; 8] = [
    BasicType::Int,
    BasicType::Long,
    BasicType::Boolean,
    BasicType::Char,
    BasicType::Double,
    BasicType::Float,
    BasicType::Byte,
    BasicType::Short,
];

#[cfg(test)]
mod tests {
    use super::*;
    use BasicType::*;

    #[test]
    fn widens_as_java_does() {
        assert_eq!(widen(Byte, Long, -1i64 as u64), Some(-1i64 as u64));
        assert_eq!(widen(Char, Int, 65535), Some(65535));
        assert_eq!(widen(Int, Double, -2i64 as u64), Some((-2f64).to_bits()));
        assert_eq!(widen(Float, Double, 1.5f32.to_bits().into()), Some(1.5f64.to_bits()));
        assert_eq!(widen(Long, Int, 1), None);
        assert_eq!(widen(Char, Short, 1), None);
        assert_eq!(widen(Boolean, Int, 1), None);
        assert_eq!(widen(Double, Float, 0), None);
    }
}
