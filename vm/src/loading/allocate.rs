//! New objects. Every function here is a safepoint.

use super::{arrays, errors};
use crate::machine::JavaThread;
use crate::runtime::headers::array_base;
use crate::runtime::{Handle, JResult, KlassKind, KlassRef};
use gc::core::outcome::AllocFailure;
use gc::object::ObjectRef;
use gc::object::layout::array_bytes;

/// A zeroed instance of an initialized, instantiable class. It becomes finalizable when the constructor of `Object` has
/// ended ([`constructed`]).
#[inline]
pub fn new_instance(t: &JavaThread, klass: KlassRef) -> JResult<ObjectRef> {
    debug_assert!(klass.instance_bytes > 0, "instance of {klass:?}");
    match t.vm.heap.allocate(&t.mutator, klass.id, klass.instance_bytes as usize, None) {
        Ok(object) => Ok(object),
        Err(failure) => Err(errors::out_of_memory(t, failure)),
    }
}

/// A zeroed array of an array class; negative length throws `NegativeArraySizeException`.
#[inline]
pub fn new_array(t: &JavaThread, array_klass: KlassRef, length: i32) -> JResult<ObjectRef> {
    let element_bytes = match array_klass.kind {
        KlassKind::PrimitiveArray { element } => element.bytes().expect("elements have a size"),
        KlassKind::ObjectArray { .. } => t.vm.slot_bytes,
        _ => panic!("new_array of {array_klass:?}"),
    };
    if length < 0 {
        return errors::fail(t, "java/lang/NegativeArraySizeException", &length.to_string());
    }
    if length > MAX_LENGTH {
        return Err(errors::out_of_memory(t, AllocFailure::TooLarge));
    }
    let bytes = array_bytes(array_base(element_bytes), length as usize, element_bytes);
    let allocated = t.vm.heap.allocate(&t.mutator, array_klass.id, bytes, Some(length as u32));
    allocated.map_err(|failure| errors::out_of_memory(t, failure))
}

/// An `Object[]`-like array with this component type.
pub fn new_object_array(t: &JavaThread, component: KlassRef, length: i32) -> JResult<ObjectRef> {
    let klass = arrays::array_class(t, component)?;
    new_array(t, klass, length)
}

/// `multianewarray`: `lengths` outermost first; at least one. All lengths are checked before anything is made.
pub fn new_multi_array(
    t: &JavaThread,
    array_klass: KlassRef,
    lengths: &[i32],
) -> JResult<ObjectRef> {
    if let Some(negative) = lengths.iter().find(|length| **length < 0) {
        return errors::fail(t, "java/lang/NegativeArraySizeException", &negative.to_string());
    }
    let _scope = t.scope();
    Ok(fill_multi_array(t, array_klass, lengths)?.get())
}

fn fill_multi_array(t: &JavaThread, array_klass: KlassRef, lengths: &[i32]) -> JResult<Handle> {
    let array = new_array(t, array_klass, lengths[0])?;
    let array = t.root(array);
    if let [length, inner @ ..] = lengths
        && !inner.is_empty()
    {
        let component = match array_klass.kind {
            KlassKind::ObjectArray { component } => component,
            _ => panic!("{} dimensions of {array_klass:?}", lengths.len()),
        };
        for index in 0..*length as usize {
            let _scope = t.scope();
            let element = fill_multi_array(t, component, inner)?;
            t.store_element(array.get(), index, element.get());
        }
    }
    Ok(array)
}

/// `Object.clone` of an array or a `Cloneable` (the caller checked).
pub fn clone(t: &JavaThread, original: ObjectRef) -> JResult<ObjectRef> {
    let _scope = t.scope();
    let klass = t.klass_of(original);
    let original = t.root(original);
    let copy = match klass.is_array() {
        true => new_array(t, klass, original.get().array_length() as i32)?,
        false => {
            let bytes = klass.instance_bytes as usize;
            let allocated = t.vm.heap.allocate(&t.mutator, klass.id, bytes, None);
            allocated.map_err(|failure| errors::out_of_memory(t, failure))?
        }
    };
    let original = original.get();
    let layout = t.vm.heap.layouts().layout(klass.id);
    let bytes = layout.object_bytes(original, t.vm.slot_bytes);
    t.barriers().clone_contents(&t.mutator, original, copy, bytes);
    match klass.has_finalizer {
        true => register_finalizer(t, copy),
        false => Ok(copy),
    }
}

/// The constructor of `Object` has ended for this object: if its class has a finalizer, the object becomes finalizable
/// (JLS 12.6.1). The object, at the place where it is now.
#[inline]
pub fn constructed(t: &JavaThread, object: ObjectRef) -> JResult<ObjectRef> {
    match t.klass_of(object).has_finalizer {
        true => register_finalizer(t, object),
        false => Ok(object),
    }
}

#[cold]
fn register_finalizer(t: &JavaThread, object: ObjectRef) -> JResult<ObjectRef> {
    let _scope = t.scope();
    let object = t.root(object);
    let register =
        super::call::find(t.vm.known.classes.finalizer(), "register", "(Ljava/lang/Object;)V");
    t.call(register, &[object.get().address() as u64])?;
    Ok(object.get())
}

/// HotSpot's largest array; larger requests never succeed.
const MAX_LENGTH: i32 = i32::MAX - 2;
