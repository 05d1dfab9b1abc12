//! `System.arraycopy`.

use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jclass, jint, jobject};
use crate::loading::errors;
use crate::machine::JavaThread;
use crate::runtime::headers::array_base;
use crate::runtime::{JResult, KlassKind, KlassRef, memory};
use classfile::BasicType;
use gc::object::ObjectRef;

#[unsafe(no_mangle)]
extern "C" fn JVM_ArrayCopy(
    env: Env,
    _class: jclass,
    from: jobject,
    from_index: jint,
    to: jobject,
    to_index: jint,
    length: jint,
) {
    env.enter(|t| {
        let (from, to) = (entry::resolve(t, from), entry::resolve(t, to));
        copy(t, from, from_index, to, to_index, length)
    })
}

/// Copies elements, as if through a temporary array. A safepoint if it throws, or if elements are checked one by one.
pub fn copy(
    t: &JavaThread,
    from: ObjectRef,
    from_index: i32,
    to: ObjectRef,
    to_index: i32,
    length: i32,
) -> JResult<()> {
    if try_copy(t, (from, from_index), (to, to_index), length) {
        return Ok(());
    }
    if from.is_null() || to.is_null() {
        return Err(errors::null_pointer(t));
    }
    let (source, target) = (t.klass_of(from), t.klass_of(to));
    check_types(t, source, target)?;
    let range = Range { from_index, to_index, length };
    range.check(t, source, from.array_length(), to.array_length())?;
    match (&source.kind, &target.kind) {
        (
            KlassKind::ObjectArray { component: source },
            KlassKind::ObjectArray { component: target },
        ) => match copy_checked(t, (from, from_index), (to, to_index), length, target) {
            true => Ok(()),
            false => element_error(t, source, target),
        },
        _ => unreachable!("a copy from {source:?} to {target:?} that was checked"),
    }
}

/// Copies elements as long as they fit, between two arrays. A safepoint every [`POLL_PERIOD`] elements: the class of
/// each element is read, and the element may be remote.
fn copy_checked(
    t: &JavaThread,
    (from, from_index): (ObjectRef, i32),
    (to, to_index): (ObjectRef, i32),
    length: i32,
    component: KlassRef,
) -> bool {
    let _scope = t.scope();
    let (from, to) = (t.root(from), t.root(to));
    (0..length as usize).all(|i| {
        if i % POLL_PERIOD == 0 {
            t.poll();
        }
        let at = |index: i32| index as usize + i;
        copy_element(t, (from.get(), at(from_index)), (to.get(), at(to_index)), component)
    })
}

/// Whether the element fits; then it was copied.
#[inline]
fn copy_element(
    t: &JavaThread,
    from: (ObjectRef, usize),
    to: (ObjectRef, usize),
    component: KlassRef,
) -> bool {
    let value = t.load_element(from.0, from.1);
    let fits = value.is_null() || t.klass_of(value).is_subtype_of(component);
    if fits {
        t.store_element(to.0, to.1, value);
    }
    fits
}

/// As `copy` where that succeeds. `false` where it throws, or where other threads wait for a safepoint and it would
/// take long: then nothing was done, or the first elements were copied, and `copy` begins again. No safepoint.
pub fn try_copy(
    t: &JavaThread,
    (from, from_index): (ObjectRef, i32),
    (to, to_index): (ObjectRef, i32),
    length: i32,
) -> bool {
    if from.is_null() || to.is_null() {
        return false;
    }
    let (source, target) = (t.klass_of(from), t.klass_of(to));
    if !source.is_array() || !target.is_array() {
        return false;
    }
    let fits = |index: i32, array: ObjectRef| {
        index >= 0 && index as i64 + length as i64 <= array.array_length() as i64
    };
    if length < 0 || !fits(from_index, from) || !fits(to_index, to) {
        return false;
    }
    let (from, to) = ((from, from_index as usize), (to, to_index as usize));
    match (&source.kind, &target.kind) {
        (KlassKind::PrimitiveArray { element }, _) if source == target => {
            copy_primitives(from, to, length as usize, *element);
            true
        }
        (KlassKind::ObjectArray { component: a }, KlassKind::ObjectArray { component: b })
            if source == target || a.is_subtype_of(b) =>
        {
            if length > 0 {
                let length = length as usize;
                let [first, target] = [from.1, to.1].map(|index| t.vm.element_offset(index));
                t.barriers().copy_array(&t.mutator, from.0, first, to.0, target, length);
            }
            true
        }
        (KlassKind::ObjectArray { .. }, KlassKind::ObjectArray { component }) => {
            (0..length as usize).all(|i| {
                let is_waited_for = i > 0 && i % POLL_PERIOD == 0 && t.mutator.poll_requested();
                !is_waited_for && copy_element(t, (from.0, from.1 + i), (to.0, to.1 + i), component)
            })
        }
        _ => false,
    }
}

/// Both ranges were checked.
fn copy_primitives(
    from: (ObjectRef, usize),
    to: (ObjectRef, usize),
    length: usize,
    element: BasicType,
) {
    let width = element.bytes().expect("elements of primitive arrays have a size");
    let at =
        |(array, index): (ObjectRef, usize)| array.address() + array_base(width) + index * width;
    // SAFETY: both ranges were checked; the arrays stay in place, for there is no safepoint here.
    unsafe { copy_words(at(from), at(to), length * width, width) }
}

/// Copies `bytes` bytes so that no element of `width` bytes tears, with any overlap.
///
/// # Safety
/// Both ranges are readable and writable, and aligned to `width`.
unsafe fn copy_words(from: usize, to: usize, bytes: usize, width: usize) {
    debug_assert!(from.is_multiple_of(width) && to.is_multiple_of(width));
    // SAFETY: the caller's promise.
    unsafe { memory::copy(from as *const u8, to as *mut u8, bytes) }
}

/// An element that is no instance of the target's element type has stopped the copy.
fn element_error<T>(t: &JavaThread, source: KlassRef, target: KlassRef) -> JResult<T> {
    let (source_name, target_name) = (source.java_name(), target.java_name());
    let message = if target.is_subtype_of(source) {
        format!(
            "arraycopy: element type mismatch: can not cast one of the elements of {source_name}[] to the type of \
             the destination array, {target_name}"
        )
    } else {
        format!("arraycopy: type mismatch: can not copy {source_name}[] into {target_name}[]")
    };
    store_error(t, &message)
}

/// Elements that are checked between two polls: the class of each is read, from an object that may be remote.
const POLL_PERIOD: usize = 64;

fn check_types(t: &JavaThread, source: KlassRef, target: KlassRef) -> JResult<()> {
    use KlassKind::{ObjectArray, PrimitiveArray};
    let message = match (&source.kind, &target.kind) {
        (ObjectArray { .. }, ObjectArray { .. }) => return Ok(()),
        (PrimitiveArray { element: a }, PrimitiveArray { element: b }) if a == b => return Ok(()),
        (
            ObjectArray { .. } | PrimitiveArray { .. },
            ObjectArray { .. } | PrimitiveArray { .. },
        ) => {
            format!(
                "arraycopy: type mismatch: can not copy {}[] into {}[]",
                element_text(source),
                element_text(target)
            )
        }
        (ObjectArray { .. } | PrimitiveArray { .. }, _) => {
            format!("arraycopy: destination type {} is not an array", target.java_name())
        }
        _ => format!("arraycopy: source type {} is not an array", source.java_name()),
    };
    store_error(t, &message)
}

/// `int`, or `object array` for references: the text before `[]` or `[length]` in messages.
fn element_text(array: KlassRef) -> &'static str {
    match array.kind {
        KlassKind::PrimitiveArray { element } => {
            element.java_name().expect("primitive types have a name")
        }
        _ => "object array",
    }
}

#[derive(Clone, Copy)]
struct Range {
    from_index: i32,
    to_index: i32,
    length: i32,
}

impl Range {
    fn check(
        self,
        t: &JavaThread,
        klass: KlassRef,
        from_length: usize,
        to_length: usize,
    ) -> JResult<()> {
        let Range { from_index, to_index, length } = self;
        let last = |index: i32| i64::from(index) + i64::from(length);
        let is_good = from_index >= 0
            && to_index >= 0
            && length >= 0
            && last(from_index) <= from_length as i64
            && last(to_index) <= to_length as i64;
        if is_good {
            return Ok(());
        }
        let of = element_text(klass);
        let bounds = |what: &str, index: i64, length: usize| {
            format!("arraycopy: {what} index {index} out of bounds for {of}[{length}]")
        };
        let message = if from_index < 0 {
            bounds("source", from_index.into(), from_length)
        } else if to_index < 0 {
            bounds("destination", to_index.into(), to_length)
        } else if length < 0 {
            format!("arraycopy: length {length} is negative")
        } else if last(from_index) > from_length as i64 {
            bounds("last source", last(from_index), from_length)
        } else {
            bounds("last destination", last(to_index), to_length)
        };
        errors::fail(t, "java/lang/ArrayIndexOutOfBoundsException", &message)
    }
}

fn store_error<T>(t: &JavaThread, message: &str) -> JResult<T> {
    errors::fail(t, "java/lang/ArrayStoreException", message)
}
