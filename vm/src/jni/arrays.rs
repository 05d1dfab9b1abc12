//! Arrays. Native code gets copies of primitive arrays, and their elements in critical sections.

use super::memory;
use super::value::Element;
use crate::ffi::entry::{self, Env};
use crate::ffi::types::{JNI_ABORT, JNI_COMMIT, jarray, jboolean, jclass, jint, jobject, jsize};
use crate::loading::{allocate, arrays, errors, names};
use crate::machine::JavaThread;
use crate::runtime::headers::array_base;
use crate::runtime::object::{copy_in, copy_out};
use crate::runtime::{Handle, JResult, KlassKind, KlassRef};
use gc::object::ObjectRef;
use libc::c_void;
use std::ops::Range;

pub extern "C" fn length(env: Env, array: jarray) -> jsize {
    env.enter(|t| Ok(entry::non_null(t, array)?.get().array_length() as jsize))
}

pub extern "C" fn new_objects(env: Env, length: jsize, class: jclass, initial: jobject) -> jobject {
    env.enter(|t| {
        let class = arrays::array_class(t, entry::klass(t, class)?)?;
        let array = allocate::new_array(t, class, length)?;
        let initial = entry::resolve(t, initial);
        if !initial.is_null() {
            (0..array.array_length()).for_each(|index| t.store_element(array, index, initial));
        }
        Ok(array)
    })
}

pub extern "C" fn object_element(env: Env, array: jarray, index: jsize) -> jobject {
    env.enter(|t| {
        let array = entry::non_null(t, array)?.get();
        Ok(t.load_element(array, check_index(t, array, index)?))
    })
}

pub extern "C" fn set_object_element(env: Env, array: jarray, index: jsize, value: jobject) {
    env.enter(|t| {
        let array = entry::non_null(t, array)?.get();
        let index = check_index(t, array, index)?;
        let value = entry::resolve(t, value);
        let component = t.klass_of(array).component().expect("an array of references");
        if !value.is_null() && !t.klass_of(value).is_subtype_of(component) {
            let value = t.klass_of(value).java_name();
            let name = names::type_name(&descriptor(component));
            let (element, brackets) = name.split_at(name.find('[').unwrap_or(name.len()));
            let message =
                format!("type mismatch: can not store {value} to {element}[{index}]{brackets}");
            return errors::fail(t, "java/lang/ArrayStoreException", &message);
        }
        t.store_element(array, index, value);
        Ok(())
    })
}

fn descriptor(klass: KlassRef) -> Vec<u8> {
    if klass.is_array() {
        return klass.name.bytes().to_vec();
    }
    format!("L{};", klass.name).into_bytes()
}

fn check_index(t: &JavaThread, array: ObjectRef, index: jsize) -> JResult<usize> {
    let length = array.array_length();
    match usize::try_from(index) {
        Ok(index) if index < length => Ok(index),
        _ => {
            let message = format!("Index {index} out of bounds for length {length}");
            errors::fail(t, "java/lang/ArrayIndexOutOfBoundsException", &message)
        }
    }
}

pub extern "C" fn new_primitives<T: Element>(env: Env, length: jsize) -> jarray {
    env.enter(|t| allocate::new_array(t, t.vm.known.primitive_array(T::TYPE), length))
}

pub extern "C" fn region<T: Element>(
    env: Env,
    array: jarray,
    start: jsize,
    length: jsize,
    out: *mut T,
) {
    env.enter(|t| {
        let array = entry::non_null(t, array)?.get();
        let range = check_region::<T>(t, array, start, length)?;
        if !range.is_empty() {
            // SAFETY: JNI callers pass room for `length` elements.
            let out = unsafe { std::slice::from_raw_parts_mut(out.cast::<u8>(), range.len()) };
            copy_out(array, array_base(size_of::<T>()) + range.start, out);
        }
        Ok(())
    })
}

pub extern "C" fn set_region<T: Element>(
    env: Env,
    array: jarray,
    start: jsize,
    length: jsize,
    from: *const T,
) {
    env.enter(|t| {
        let array = entry::non_null(t, array)?.get();
        let range = check_region::<T>(t, array, start, length)?;
        if !range.is_empty() {
            // SAFETY: JNI callers pass `length` elements.
            let from = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), range.len()) };
            copy_in(array, array_base(size_of::<T>()) + range.start, from);
        }
        Ok(())
    })
}

/// The bytes of a region, from the first element on.
fn check_region<T>(
    t: &JavaThread,
    array: ObjectRef,
    start: jsize,
    length: jsize,
) -> JResult<Range<usize>> {
    let available = array.array_length() as i64;
    let end = i64::from(start) + i64::from(length);
    if start < 0 || length < 0 || end > available {
        let message = format!("Array region {start}..{end} out of bounds for length {available}");
        return errors::fail(t, "java/lang/ArrayIndexOutOfBoundsException", &message);
    }
    Ok(start as usize * size_of::<T>()..end as usize * size_of::<T>())
}

pub extern "C" fn elements<T: Element>(env: Env, array: jarray, is_copy: *mut jboolean) -> *mut T {
    env.enter(|t| {
        let array = entry::non_null(t, array)?.get();
        Ok(copy_of(array, size_of::<T>(), is_copy).cast())
    })
}

pub extern "C" fn release_elements<T: Element>(env: Env, array: jarray, at: *mut T, mode: jint) {
    env.enter(|t| {
        release(entry::non_null(t, array)?, size_of::<T>(), at.cast(), mode);
        Ok(())
    })
}

/// `GetPrimitiveArrayCritical`: the elements themselves, pinned. If pages may be remote, a copy: system calls
/// cannot wait for a page to be fetched.
pub extern "C" fn critical(env: Env, array: jarray, is_copy: *mut jboolean) -> *mut c_void {
    env.enter(|t| {
        let array = entry::non_null(t, array)?.get();
        if !t.vm.heap.is_all_local() {
            return Ok(copy_of(array, element_bytes(t, array), is_copy).cast());
        }
        t.vm.heap.pin(array);
        set(is_copy, false);
        Ok(elements_of(array, element_bytes(t, array)).cast())
    })
}

pub extern "C" fn release_critical(env: Env, array: jarray, at: *mut c_void, mode: jint) {
    env.enter(|t| {
        let array = entry::non_null(t, array)?;
        let bytes = element_bytes(t, array.get());
        if at.cast() != elements_of(array.get(), bytes) {
            release(array, bytes, at.cast(), mode);
        } else if mode != JNI_COMMIT {
            t.vm.heap.unpin(array.get());
        }
        Ok(())
    })
}

fn elements_of(array: ObjectRef, element_bytes: usize) -> *mut u8 {
    (array.address() + array_base(element_bytes)) as *mut u8
}

fn element_bytes(t: &JavaThread, array: ObjectRef) -> usize {
    match t.klass_of(array).kind {
        KlassKind::PrimitiveArray { element } => element.bytes().expect("no array of void"),
        _ => panic!("{:?} is no array of primitives", t.klass_of(array)),
    }
}

fn copy_of(array: ObjectRef, element_bytes: usize, is_copy: *mut jboolean) -> *mut u8 {
    set(is_copy, true);
    let bytes = array.array_length() * element_bytes;
    // SAFETY: the elements of a live array; no safepoint before the copy is made.
    memory::copy(unsafe { std::slice::from_raw_parts(elements_of(array, element_bytes), bytes) }, 0)
}

fn set(is_copy: *mut jboolean, value: bool) {
    if !is_copy.is_null() {
        // SAFETY: JNI callers pass null or the address of a jboolean.
        unsafe { is_copy.write(value as jboolean) }
    }
}

fn release(array: Handle, element_bytes: usize, at: *mut u8, mode: jint) {
    if mode != JNI_ABORT {
        let bytes = array.get().array_length() * element_bytes;
        // SAFETY: `copy_of` made the buffer for this array, with as many bytes.
        let from = unsafe { std::slice::from_raw_parts(at, bytes) };
        copy_in(array.get(), array_base(element_bytes), from);
    }
    if mode != JNI_COMMIT {
        // SAFETY: the buffer came from `copy_of`, and the native code gives it back.
        unsafe { memory::free(at) }
    }
}
