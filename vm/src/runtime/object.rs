//! Primitive fields and elements of heap objects. References are accessed through barriers: see `JavaThread`.

use super::headers::array_base;
use gc::object::ObjectRef;
use std::sync::atomic::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicU16, AtomicU64, Ordering,
};

/// A Java primitive type that lives in fields and arrays. Accesses are relaxed atomics: races in Java
/// programs are defined behaviour and words never tear (JLS 17.7; we give longs and doubles that too).
pub trait Primitive: Copy {
    /// Reads at a byte offset from the header.
    fn read(object: ObjectRef, offset: usize) -> Self;
    fn write(object: ObjectRef, offset: usize, value: Self);
}

macro_rules! primitive {
    ($ty:ty, $atomic:ty) => {
        impl Primitive for $ty {
            #[inline(always)]
            fn read(object: ObjectRef, offset: usize) -> $ty {
                debug_assert!(!object.is_null());
                // SAFETY: the caller names a field or element of this type inside a live object, aligned by layout.
                let cell = unsafe { &*((object.address() + offset) as *const $atomic) };
                cell.load(Ordering::Relaxed)
            }

            #[inline(always)]
            fn write(object: ObjectRef, offset: usize, value: $ty) {
                debug_assert!(!object.is_null());
                // SAFETY: as in `read`.
                let cell = unsafe { &*((object.address() + offset) as *const $atomic) };
                cell.store(value, Ordering::Relaxed)
            }
        }
    };
}

primitive!(i8, AtomicI8);
primitive!(i16, AtomicI16);
primitive!(u16, AtomicU16);
primitive!(i32, AtomicI32);
primitive!(i64, AtomicI64);
primitive!(u64, AtomicU64);

impl Primitive for f32 {
    #[inline(always)]
    fn read(object: ObjectRef, offset: usize) -> f32 {
        f32::from_bits(i32::read(object, offset) as u32)
    }

    #[inline(always)]
    fn write(object: ObjectRef, offset: usize, value: f32) {
        i32::write(object, offset, value.to_bits() as i32)
    }
}

impl Primitive for f64 {
    #[inline(always)]
    fn read(object: ObjectRef, offset: usize) -> f64 {
        f64::from_bits(u64::read(object, offset))
    }

    #[inline(always)]
    fn write(object: ObjectRef, offset: usize, value: f64) {
        u64::write(object, offset, value.to_bits())
    }
}

#[inline(always)]
pub fn get<T: Primitive>(object: ObjectRef, offset: usize) -> T {
    T::read(object, offset)
}

#[inline(always)]
pub fn put<T: Primitive>(object: ObjectRef, offset: usize, value: T) {
    T::write(object, offset, value)
}

/// Element of a primitive array; the index is in range.
#[inline(always)]
pub fn element<T: Primitive>(array: ObjectRef, index: usize) -> T {
    debug_assert!(index < array.array_length());
    T::read(array, array_base(size_of::<T>()) + index * size_of::<T>())
}

#[inline(always)]
pub fn put_element<T: Primitive>(array: ObjectRef, index: usize, value: T) {
    debug_assert!(index < array.array_length());
    T::write(array, array_base(size_of::<T>()) + index * size_of::<T>(), value)
}

/// Copies bytes out of a primitive array, from an offset from its header. Plain reads: for natives that copy.
pub fn copy_out(array: ObjectRef, offset: usize, out: &mut [u8]) {
    let from = (array.address() + offset) as *const u8;
    // SAFETY: the caller checked the range; `out` is not in the heap.
    unsafe { std::ptr::copy_nonoverlapping(from, out.as_mut_ptr(), out.len()) }
}

/// Copies bytes into a primitive array, to an offset from its header.
pub fn copy_in(array: ObjectRef, offset: usize, bytes: &[u8]) {
    let to = (array.address() + offset) as *mut u8;
    // SAFETY: as in `copy_out`.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) }
}
