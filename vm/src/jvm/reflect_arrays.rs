//! `java.lang.reflect.Array`.

use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jclass, jint, jintArray, jobject, jvalue};
use crate::loading::{allocate, arrays, boxes, errors};
use crate::machine::JavaThread;
use crate::runtime::headers::array_base;
use crate::runtime::{JResult, KlassKind, KlassRef, Throw, object};
use classfile::BasicType;
use gc::object::ObjectRef;

#[unsafe(no_mangle)]
extern "C" fn JVM_GetArrayLength(env: Env, array: jobject) -> jint {
    env.enter(|t| Ok(array_of(t, array)?.array_length() as jint))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetArrayElement(env: Env, array: jobject, index: jint) -> jobject {
    env.enter(|t| {
        let array = array_of(t, array)?;
        let index = checked(t, array, index)?;
        match element_type(t, array) {
            None => Ok(t.load_element(array, index)),
            Some(ty) => boxes::wrap(t, ty, read(array, index, ty)),
        }
    })
}

/// The element as the C type `code` asks for (`BasicType` numbers), widened.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetPrimitiveArrayElement(
    env: Env,
    array: jobject,
    index: jint,
    code: jint,
) -> jvalue {
    let word: u64 = env.enter(|t| {
        let array = array_of(t, array)?;
        let Some(ty) = element_type(t, array) else {
            return errors::fail(t, ILLEGAL_ARGUMENT, "Argument is not an array of primitive type");
        };
        let index = checked(t, array, index)?;
        let wanted = BasicType::from_newarray(code as u8).expect("libjava passes a primitive type");
        match boxes::widen(ty, wanted, read(array, index, ty)) {
            Some(word) => Ok(word),
            None => errors::fail(t, ILLEGAL_ARGUMENT, MISMATCH),
        }
    });
    // Narrow types are read from the low bytes.
    jvalue { j: word as i64 }
}

#[unsafe(no_mangle)]
extern "C" fn JVM_SetArrayElement(env: Env, array: jobject, index: jint, value: jobject) {
    env.enter(|t| {
        let array = array_of(t, array)?;
        let value = entry::resolve(t, value);
        match element_type(t, array) {
            None => {
                let index = checked(t, array, index)?;
                let wanted = component(t, array);
                if !value.is_null() && !t.klass_of(value).is_subtype_of(wanted) {
                    return errors::fail(t, ILLEGAL_ARGUMENT, "array element type mismatch");
                }
                t.store_element(array, index, value);
            }
            Some(ty) => {
                if value.is_null() {
                    return Err(illegal_argument(t));
                }
                let Some((from, word)) = boxes::unwrap(t, value) else {
                    return errors::fail(t, ILLEGAL_ARGUMENT, MISMATCH);
                };
                let index = checked(t, array, index)?;
                let Some(word) = boxes::widen(from, ty, word) else {
                    return errors::fail(t, ILLEGAL_ARGUMENT, MISMATCH);
                };
                write(array, index, ty, word);
            }
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_SetPrimitiveArrayElement(
    env: Env,
    array: jobject,
    index: jint,
    value: jvalue,
    code: u8,
) {
    env.enter(|t| {
        let array = array_of(t, array)?;
        let Some(ty) = element_type(t, array) else {
            return errors::fail(t, ILLEGAL_ARGUMENT, "Argument is not an array of primitive type");
        };
        let given = BasicType::from_newarray(code).expect("libjava passes a primitive type");
        // SAFETY: every bit pattern of the union is an i64.
        let bits = unsafe { value.j };
        let word = match given {
            BasicType::Boolean => u64::from(bits as u8 != 0),
            BasicType::Byte => bits as i8 as i64 as u64,
            BasicType::Char => u64::from(bits as u16),
            BasicType::Short => bits as i16 as i64 as u64,
            BasicType::Int => bits as i32 as i64 as u64,
            BasicType::Float => u64::from(bits as u32),
            _ => bits as u64,
        };
        let index = checked(t, array, index)?;
        let Some(word) = boxes::widen(given, ty, word) else {
            return errors::fail(t, ILLEGAL_ARGUMENT, MISMATCH);
        };
        write(array, index, ty, word);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_NewArray(env: Env, class: jclass, length: jint) -> jobject {
    env.enter(|t| {
        let element = element_class(t, class)?;
        let klass = array_class(t, element, 1)?;
        allocate::new_array(t, klass, length)
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_NewMultiArray(env: Env, class: jclass, lengths: jintArray) -> jobject {
    env.enter(|t| {
        let element = element_class(t, class)?;
        let lengths = entry::resolve(t, lengths);
        if lengths.is_null() {
            return Err(errors::null_pointer(t));
        }
        let lengths: Vec<i32> =
            (0..lengths.array_length()).map(|i| object::element(lengths, i)).collect();
        if lengths.is_empty() {
            return Err(illegal_argument(t));
        }
        let klass = array_class(t, element, lengths.len())?;
        allocate::new_multi_array(t, klass, &lengths)
    })
}

fn element_class(t: &JavaThread, class: jclass) -> JResult<KlassRef> {
    let klass = entry::klass(t, class)?;
    match klass.kind {
        KlassKind::Primitive(BasicType::Void) => Err(illegal_argument(t)),
        _ => Ok(klass),
    }
}

/// The class of arrays with `more` more dimensions; 255 in all at most (JVMS 4.4.1).
fn array_class(t: &JavaThread, element: KlassRef, more: usize) -> JResult<KlassRef> {
    let own = element.name.bytes().iter().take_while(|byte| **byte == b'[').count();
    if own + more > DIMENSIONS_MAX {
        return Err(illegal_argument(t));
    }
    (0..more).try_fold(element, |klass, _| arrays::array_class(t, klass))
}

fn array_of(t: &JavaThread, array: jobject) -> JResult<ObjectRef> {
    let array = entry::resolve(t, array);
    if array.is_null() {
        return Err(errors::null_pointer(t));
    }
    match t.klass_of(array).is_array() {
        true => Ok(array),
        false => errors::fail(t, ILLEGAL_ARGUMENT, "Argument is not an array"),
    }
}

fn checked(t: &JavaThread, array: ObjectRef, index: jint) -> JResult<usize> {
    let length = array.array_length();
    match usize::try_from(index) {
        Ok(index) if index < length => Ok(index),
        // Without a message, unlike the bytecodes.
        _ => Err(errors::throw_new(t, "java/lang/ArrayIndexOutOfBoundsException", None)),
    }
}

fn illegal_argument(t: &JavaThread) -> Throw {
    errors::throw_new(t, ILLEGAL_ARGUMENT, None)
}

fn element_type(t: &JavaThread, array: ObjectRef) -> Option<BasicType> {
    match t.klass_of(array).kind {
        KlassKind::PrimitiveArray { element } => Some(element),
        _ => None,
    }
}

fn component(t: &JavaThread, array: ObjectRef) -> KlassRef {
    t.klass_of(array).component().expect("an array of references has a component class")
}

fn read(array: ObjectRef, index: usize, ty: BasicType) -> u64 {
    let bytes = ty.bytes().expect("a primitive element");
    let at = array_base(bytes) + index * bytes;
    match ty {
        BasicType::Boolean | BasicType::Byte => object::get::<i8>(array, at) as i64 as u64,
        BasicType::Char => u64::from(object::get::<u16>(array, at)),
        BasicType::Short => object::get::<i16>(array, at) as i64 as u64,
        BasicType::Int => object::get::<i32>(array, at) as i64 as u64,
        BasicType::Float => u64::from(object::get::<i32>(array, at) as u32),
        _ => object::get::<u64>(array, at),
    }
}

fn write(array: ObjectRef, index: usize, ty: BasicType, word: u64) {
    let bytes = ty.bytes().expect("a primitive element");
    let at = array_base(bytes) + index * bytes;
    match bytes {
        1 => object::put(array, at, word as i8),
        2 => object::put(array, at, word as i16),
        4 => object::put(array, at, word as i32),
        _ => object::put(array, at, word as i64),
    }
}

const ILLEGAL_ARGUMENT: &str = "java/lang/IllegalArgumentException";
const MISMATCH: &str = "argument type mismatch";
const DIMENSIONS_MAX: usize = 255;
