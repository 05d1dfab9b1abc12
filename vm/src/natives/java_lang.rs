//! Natives of `java.lang` that libjava has too, but that are called so often that the cost of a call
//! into C and back would be measurable. They take precedence, over `RegisterNatives` as well.

use super::object::hash;
use crate::ffi::registry::{Arguments, Native, NativeTable, entry};
use crate::java::array_copy;
use crate::jvm::system;
use crate::loading::{errors, strings};
use crate::machine::JavaThread;
use crate::runtime::JResult;

pub static THREAD: NativeTable = NativeTable {
    class: "java/lang/Thread",
    entries: &[entry("currentThread", "()Ljava/lang/Thread;", Native::Direct(current_thread))],
};

pub static SYSTEM: NativeTable = NativeTable {
    class: "java/lang/System",
    entries: &[
        entry("arraycopy", "(Ljava/lang/Object;ILjava/lang/Object;II)V", Native::Direct(copy)),
        entry("identityHashCode", "(Ljava/lang/Object;)I", Native::Direct(identity_hash_code)),
        entry("nanoTime", "()J", Native::Direct(nano_time)),
    ],
};

pub static CLASS: NativeTable = NativeTable {
    class: "java/lang/Class",
    entries: &[
        entry("isInstance", "(Ljava/lang/Object;)Z", Native::Direct(is_instance)),
        entry("isArray", "()Z", Native::Direct(is_array)),
        entry("isInterface", "()Z", Native::Direct(is_interface)),
        entry("isPrimitive", "()Z", Native::Direct(is_primitive)),
    ],
};

pub static STRING: NativeTable = NativeTable {
    class: "java/lang/String",
    entries: &[entry("intern", "()Ljava/lang/String;", Native::Direct(intern))],
};

pub static FLOAT: NativeTable = NativeTable {
    class: "java/lang/Float",
    entries: &[
        entry("floatToRawIntBits", "(F)I", Native::Direct(same_int)),
        entry("intBitsToFloat", "(I)F", Native::Direct(same_float)),
    ],
};

pub static DOUBLE: NativeTable = NativeTable {
    class: "java/lang/Double",
    entries: &[
        entry("doubleToRawLongBits", "(D)J", Native::Direct(same_long)),
        entry("longBitsToDouble", "(J)D", Native::Direct(same_long)),
    ],
};

fn current_thread(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    Ok(t.thread_object.get().address() as u64)
}

fn copy(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let (from, to) = (args.object(0), args.object(2));
    array_copy::copy(t, from, args.int(1), to, args.int(3), args.int(4))?;
    Ok(0)
}

fn identity_hash_code(t: &JavaThread, args: Arguments) -> JResult<u64> {
    Ok(hash(t, args.object(0)))
}

fn nano_time(_t: &JavaThread, _args: Arguments) -> JResult<u64> {
    Ok(system::nano_time() as u64)
}

fn is_instance(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let (mirror, object) = (args.object(0), args.object(1));
    if object.is_null() {
        return Ok(0);
    }
    Ok(u64::from(t.klass_of(object).is_subtype_of(t.klass_of_mirror(mirror))))
}

fn is_array(t: &JavaThread, args: Arguments) -> JResult<u64> {
    Ok(u64::from(t.klass_of_mirror(args.object(0)).is_array()))
}

fn is_interface(t: &JavaThread, args: Arguments) -> JResult<u64> {
    Ok(u64::from(t.klass_of_mirror(args.object(0)).is_interface()))
}

fn is_primitive(t: &JavaThread, args: Arguments) -> JResult<u64> {
    Ok(u64::from(t.klass_of_mirror(args.object(0)).is_primitive()))
}

fn intern(t: &JavaThread, args: Arguments) -> JResult<u64> {
    if args.object(0).is_null() {
        return Err(errors::null_pointer(t));
    }
    Ok(strings::intern(t, args.handle(0))?.address() as u64)
}

fn same_int(_t: &JavaThread, args: Arguments) -> JResult<u64> {
    Ok(args.int(0) as i64 as u64)
}

/// Only the low half of a float's slot counts.
fn same_float(_t: &JavaThread, args: Arguments) -> JResult<u64> {
    Ok(u64::from(args.int(0) as u32))
}

fn same_long(_t: &JavaThread, args: Arguments) -> JResult<u64> {
    Ok(args.word(0))
}
