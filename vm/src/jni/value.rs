//! How Java values of each type look to native code, in fields, arrays and result words.

use crate::ffi::entry::{self, ToNative};
use crate::ffi::types::jobject;
use crate::java::references;
use crate::machine::JavaThread;
use crate::runtime::{Field, object};
use classfile::BasicType;
use gc::object::ObjectRef;
use std::sync::atomic::{Ordering, fence};

/// A type that JNI functions take and return.
pub trait Value: Copy + 'static {
    /// The result type of a closure inside the VM for it.
    type Inside: ToNative<Native = Self>;
    /// From a result word of the interpreter.
    fn from_word(word: u64) -> Self::Inside;
}

/// A type of fields.
pub trait FieldValue: Value {
    fn load(t: &JavaThread, holder: ObjectRef, offset: usize) -> Self::Inside;
    fn store(self, t: &JavaThread, holder: ObjectRef, offset: usize);
}

/// A type of elements of primitive arrays.
pub trait Element: Copy + 'static {
    const TYPE: BasicType;
}

macro_rules! primitives {
    ($($native:ty, $stored:ty, $ty:ident, |$word:ident| $from_word:expr, |$value:ident| $clean:expr;)*) => {$(
        impl Value for $native {
            type Inside = $native;

            #[inline]
            fn from_word($word: u64) -> $native {
                $from_word
            }
        }

        impl FieldValue for $native {
            #[inline]
            fn load(_t: &JavaThread, holder: ObjectRef, offset: usize) -> $native {
                object::get::<$stored>(holder, offset) as $native
            }

            #[inline]
            fn store(self, _t: &JavaThread, holder: ObjectRef, offset: usize) {
                let $value = self;
                object::put::<$stored>(holder, offset, $clean as $stored)
            }
        }

        impl Element for $native {
            const TYPE: BasicType = BasicType::$ty;
        }
    )*};
}

primitives! {
    u8, i8, Boolean, |word| word as u8, |value| value & 1;
    i8, i8, Byte, |word| word as i8, |value| value;
    u16, u16, Char, |word| word as u16, |value| value;
    i16, i16, Short, |word| word as i16, |value| value;
    i32, i32, Int, |word| word as i32, |value| value;
    i64, i64, Long, |word| word as i64, |value| value;
    f32, f32, Float, |word| f32::from_bits(word as u32), |value| value;
    f64, f64, Double, |word| f64::from_bits(word), |value| value;
}

impl Value for () {
    type Inside = ();

    fn from_word(_word: u64) {}
}

impl Value for jobject {
    type Inside = ObjectRef;

    #[inline]
    fn from_word(word: u64) -> ObjectRef {
        ObjectRef::from_address(word as usize)
    }
}

impl FieldValue for jobject {
    #[inline]
    fn load(t: &JavaThread, holder: ObjectRef, offset: usize) -> ObjectRef {
        match references::is_referent(t, holder, offset) {
            true => t.barriers().load_referent(&t.mutator, holder, offset),
            false => t.load_ref(holder, offset),
        }
    }

    #[inline]
    fn store(self, t: &JavaThread, holder: ObjectRef, offset: usize) {
        t.store_ref(holder, offset, entry::resolve(t, self))
    }
}

/// Reads a field of `holder` (the mirror for static fields). No safepoint.
#[inline]
pub fn load_field<T: FieldValue>(t: &JavaThread, holder: ObjectRef, field: &Field) -> T::Inside {
    T::load(t, holder, field.offset as usize)
}

/// Writes one, with the fence of volatile stores.
#[inline]
pub fn store_field<T: FieldValue>(t: &JavaThread, holder: ObjectRef, field: &Field, value: T) {
    if field.is_volatile() {
        fence(Ordering::Release);
    }
    value.store(t, holder, field.offset as usize);
    if field.is_volatile() {
        fence(Ordering::SeqCst);
    }
}
