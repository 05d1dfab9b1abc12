//! `jdk.internal.misc.Unsafe`: reading, writing and comparing fields, elements and raw memory.
//!
//! An address is an object and a byte offset from its header, or null and an absolute address: the sum is
//! right for both. Reference slots are accessed through the barriers. Absolute addresses may be those of a mapped
//! file that has been truncated, so they are read and written by [`guarded`].

use crate::ffi::registry::{Arguments, Native, NativeTable, entry};
use crate::java::references::is_referent;
use crate::loading::errors;
use crate::machine::JavaThread;
use crate::runtime::JResult;
use crate::threads::guarded;
use gc::object::ObjectRef;
use std::sync::atomic::{AtomicI32, AtomicI64, Ordering, fence};

pub static ACCESS: NativeTable = NativeTable {
    class: "jdk/internal/misc/Unsafe",
    entries: &[
        entry("getBoolean", "(Ljava/lang/Object;J)Z", Native::Direct(get_boolean)),
        entry("putBoolean", "(Ljava/lang/Object;JZ)V", Native::Direct(put_boolean)),
        entry("getByte", "(Ljava/lang/Object;J)B", Native::Direct(get_byte)),
        entry("putByte", "(Ljava/lang/Object;JB)V", Native::Direct(put_byte)),
        entry("getShort", "(Ljava/lang/Object;J)S", Native::Direct(get_short)),
        entry("putShort", "(Ljava/lang/Object;JS)V", Native::Direct(put_short)),
        entry("getChar", "(Ljava/lang/Object;J)C", Native::Direct(get_char)),
        entry("putChar", "(Ljava/lang/Object;JC)V", Native::Direct(put_short)),
        entry("getInt", "(Ljava/lang/Object;J)I", Native::Direct(get_int)),
        entry("putInt", "(Ljava/lang/Object;JI)V", Native::Direct(put_int)),
        entry("getLong", "(Ljava/lang/Object;J)J", Native::Direct(get_long)),
        entry("putLong", "(Ljava/lang/Object;JJ)V", Native::Direct(put_long)),
        // The result word of a float is its bits: an unsigned int.
        entry("getFloat", "(Ljava/lang/Object;J)F", Native::Direct(get_float)),
        entry("putFloat", "(Ljava/lang/Object;JF)V", Native::Direct(put_int)),
        entry("getDouble", "(Ljava/lang/Object;J)D", Native::Direct(get_long)),
        entry("putDouble", "(Ljava/lang/Object;JD)V", Native::Direct(put_long)),
        entry("getReference", "", Native::Direct(get_reference)),
        entry("putReference", "", Native::Direct(put_reference)),
        entry("getBooleanVolatile", "", Native::Direct(get_boolean_volatile)),
        entry("putBooleanVolatile", "", Native::Direct(put_boolean_volatile)),
        entry("getByteVolatile", "", Native::Direct(get_byte_volatile)),
        entry("putByteVolatile", "", Native::Direct(put_byte_volatile)),
        entry("getShortVolatile", "", Native::Direct(get_short_volatile)),
        entry("putShortVolatile", "", Native::Direct(put_short_volatile)),
        entry("getCharVolatile", "", Native::Direct(get_char_volatile)),
        entry("putCharVolatile", "", Native::Direct(put_short_volatile)),
        entry("getIntVolatile", "", Native::Direct(get_int_volatile)),
        entry("putIntVolatile", "", Native::Direct(put_int_volatile)),
        entry("getLongVolatile", "", Native::Direct(get_long_volatile)),
        entry("putLongVolatile", "", Native::Direct(put_long_volatile)),
        entry("getFloatVolatile", "", Native::Direct(get_float_volatile)),
        entry("putFloatVolatile", "", Native::Direct(put_int_volatile)),
        entry("getDoubleVolatile", "", Native::Direct(get_long_volatile)),
        entry("putDoubleVolatile", "", Native::Direct(put_long_volatile)),
        entry("getReferenceVolatile", "", Native::Direct(get_reference)),
        entry("putReferenceVolatile", "", Native::Direct(put_reference_volatile)),
        entry("getUncompressedObject", "", Native::Direct(get_uncompressed_object)),
        entry("compareAndSetInt", "", Native::Direct(compare_and_set_int)),
        entry("compareAndExchangeInt", "", Native::Direct(compare_and_exchange_int)),
        entry("compareAndSetLong", "", Native::Direct(compare_and_set_long)),
        entry("compareAndExchangeLong", "", Native::Direct(compare_and_exchange_long)),
        entry("compareAndSetReference", "", Native::Direct(compare_and_set_reference)),
        entry("compareAndExchangeReference", "", Native::Direct(compare_and_exchange_reference)),
        entry("loadFence", "", Native::Direct(load_fence)),
        entry("storeFence", "", Native::Direct(store_fence)),
        entry("fullFence", "", Native::Direct(full_fence)),
    ],
};

/// The address that the object in slot 1 and the offset in slot 2 name.
#[inline(always)]
fn address(args: Arguments) -> usize {
    args.object(1).address().wrapping_add(args.long(2) as usize)
}

/// Whether it is an absolute address.
#[inline(always)]
fn is_raw(args: Arguments) -> bool {
    args.object(1).is_null()
}

/// Plain and volatile access of one width. A plain one may be unaligned in raw memory.
macro_rules! accessors {
    ($ty:ty, $atomic:ty, $get:ident, $get_volatile:ident, $word:expr) => {
        fn $get(t: &JavaThread, args: Arguments) -> JResult<u64> {
            if is_raw(args) {
                let word = guarded::load(t, address(args), size_of::<$ty>())?;
                return Ok($word(word as $ty));
            }
            // SAFETY: the class library vouches for the address; that is the contract of Unsafe.
            let value = unsafe { (address(args) as *const $ty).read_unaligned() };
            Ok($word(value))
        }

        fn $get_volatile(t: &JavaThread, args: Arguments) -> JResult<u64> {
            if is_raw(args) {
                return $get(t, args);
            }
            // SAFETY: as above, and volatile accesses are aligned.
            let cell = unsafe { &*(address(args) as *const $atomic) };
            Ok($word(cell.load(Ordering::SeqCst)))
        }
    };
    ($ty:ty, $atomic:ty, $put:ident, $put_volatile:ident) => {
        fn $put(t: &JavaThread, args: Arguments) -> JResult<u64> {
            if is_raw(args) {
                guarded::store(t, address(args), size_of::<$ty>(), args.word(4))?;
                return Ok(0);
            }
            // SAFETY: as for reading.
            unsafe { (address(args) as *mut $ty).write_unaligned(args.word(4) as $ty) };
            Ok(0)
        }

        fn $put_volatile(t: &JavaThread, args: Arguments) -> JResult<u64> {
            if is_raw(args) {
                $put(t, args)?;
                fence(Ordering::SeqCst);
                return Ok(0);
            }
            // SAFETY: as for reading.
            let cell = unsafe { &*(address(args) as *const $atomic) };
            cell.store(args.word(4) as $ty, Ordering::SeqCst);
            Ok(0)
        }
    };
}

use std::sync::atomic::{AtomicI8, AtomicI16, AtomicU8, AtomicU16, AtomicU32};

accessors!(u8, AtomicU8, get_boolean, get_boolean_volatile, |v| u64::from(v != 0));
accessors!(i8, AtomicI8, get_byte, get_byte_volatile, |v| v as i64 as u64);
accessors!(i16, AtomicI16, get_short, get_short_volatile, |v| v as i64 as u64);
accessors!(u16, AtomicU16, get_char, get_char_volatile, u64::from);
accessors!(i32, AtomicI32, get_int, get_int_volatile, |v| v as i64 as u64);
accessors!(u32, AtomicU32, get_float, get_float_volatile, u64::from);
accessors!(i64, AtomicI64, get_long, get_long_volatile, |v| v as u64);
accessors!(i8, AtomicI8, put_byte, put_byte_volatile);
accessors!(i16, AtomicI16, put_short, put_short_volatile);
accessors!(i32, AtomicI32, put_int, put_int_volatile);
accessors!(i64, AtomicI64, put_long, put_long_volatile);

fn put_boolean(t: &JavaThread, args: Arguments) -> JResult<u64> {
    if is_raw(args) {
        guarded::store(t, address(args), 1, args.boolean(4) as u64)?;
        return Ok(0);
    }
    // SAFETY: as for the other accessors.
    unsafe { (address(args) as *mut u8).write(args.boolean(4) as u8) };
    Ok(0)
}

fn put_boolean_volatile(t: &JavaThread, args: Arguments) -> JResult<u64> {
    if is_raw(args) {
        put_boolean(t, args)?;
        fence(Ordering::SeqCst);
        return Ok(0);
    }
    // SAFETY: as for the other accessors.
    let cell = unsafe { &*(address(args) as *const AtomicU8) };
    cell.store(args.boolean(4) as u8, Ordering::SeqCst);
    Ok(0)
}

/// The object and offset of a reference access; there are no references outside of objects.
#[inline]
fn slot(t: &JavaThread, args: Arguments) -> JResult<(ObjectRef, usize)> {
    let object = args.object(1);
    if object.is_null() {
        return Err(errors::null_pointer(t));
    }
    Ok((object, args.long(2) as usize))
}

fn get_reference(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let (object, at) = slot(t, args)?;
    let value = if is_referent(t, object, at) {
        t.barriers().load_referent(&t.mutator, object, at)
    } else {
        t.load_ref(object, at)
    };
    Ok(value.address() as u64)
}

fn put_reference(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let (object, at) = slot(t, args)?;
    t.store_ref(object, at, args.object(4));
    Ok(0)
}

fn put_reference_volatile(t: &JavaThread, args: Arguments) -> JResult<u64> {
    put_reference(t, args)?;
    fence(Ordering::SeqCst);
    Ok(0)
}

fn get_uncompressed_object(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    errors::fail(t, "java/lang/UnsupportedOperationException", "getUncompressedObject")
}

fn compare_and_set_int(t: &JavaThread, args: Arguments) -> JResult<u64> {
    Ok((compare_and_exchange_int(t, args)? as i32 == args.int(4)) as u64)
}

fn compare_and_exchange_int(t: &JavaThread, args: Arguments) -> JResult<u64> {
    if is_raw(args) {
        let found = guarded::exchange_4(t, address(args), args.int(4), args.int(5))?;
        return Ok(found as i64 as u64);
    }
    // SAFETY: the class library vouches for the address and its alignment.
    let cell = unsafe { &*(address(args) as *const AtomicI32) };
    let result =
        cell.compare_exchange(args.int(4), args.int(5), Ordering::SeqCst, Ordering::SeqCst);
    Ok(result.unwrap_or_else(|found| found) as i64 as u64)
}

fn compare_and_set_long(t: &JavaThread, args: Arguments) -> JResult<u64> {
    Ok((compare_and_exchange_long(t, args)? as i64 == args.long(4)) as u64)
}

fn compare_and_exchange_long(t: &JavaThread, args: Arguments) -> JResult<u64> {
    if is_raw(args) {
        let found = guarded::exchange_8(t, address(args), args.long(4), args.long(6))?;
        return Ok(found as u64);
    }
    // SAFETY: as for ints.
    let cell = unsafe { &*(address(args) as *const AtomicI64) };
    let result =
        cell.compare_exchange(args.long(4), args.long(6), Ordering::SeqCst, Ordering::SeqCst);
    Ok(result.unwrap_or_else(|found| found) as u64)
}

fn compare_and_set_reference(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let (object, at) = slot(t, args)?;
    let (expected, new) = (args.object(4), args.object(5));
    let result = t.barriers().compare_exchange(&t.mutator, object, at, expected, new);
    Ok(result.is_ok() as u64)
}

fn compare_and_exchange_reference(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let (object, at) = slot(t, args)?;
    let (expected, new) = (args.object(4), args.object(5));
    Ok(match t.barriers().compare_exchange(&t.mutator, object, at, expected, new) {
        Ok(()) => expected,
        Err(found) => found,
    }
    .address() as u64)
}

fn load_fence(_t: &JavaThread, _args: Arguments) -> JResult<u64> {
    fence(Ordering::Acquire);
    Ok(0)
}

fn store_fence(_t: &JavaThread, _args: Arguments) -> JResult<u64> {
    fence(Ordering::Release);
    Ok(0)
}

fn full_fence(_t: &JavaThread, _args: Arguments) -> JResult<u64> {
    fence(Ordering::SeqCst);
    Ok(0)
}
