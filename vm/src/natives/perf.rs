//! `jdk.internal.perf.Perf`: counters in direct buffers. They live as long as the VM; no other process reads
//! them.

use crate::ffi::registry::{Arguments, Native, NativeTable, entry};
use crate::java::objects;
use crate::jvm::system::nano_time;
use crate::loading::{allocate, call, errors};
use crate::machine::JavaThread;
use crate::runtime::headers::array_base;
use crate::runtime::{JResult, object};

pub static PERF: NativeTable = NativeTable {
    class: "jdk/internal/perf/Perf",
    entries: &[
        entry("attach", "", Native::Direct(attach)),
        entry("detach", "", Native::Direct(|_, _| Ok(0))),
        entry("createLong", "", Native::Direct(create_long)),
        entry("createByteArray", "", Native::Direct(create_byte_array)),
        entry("highResCounter", "()J", Native::Direct(|_, _| Ok(nano_time() as u64))),
        entry("highResFrequency", "()J", Native::Direct(|_, _| Ok(1_000_000_000))),
    ],
};

/// Counters of other VMs are files of HotSpot's format, which this VM neither writes nor reads.
fn attach(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    errors::fail(t, "java/io/IOException", "performance counters of other VMs are not available")
}

/// `createLong(name, variability, units, value)`
fn create_long(t: &JavaThread, args: Arguments) -> JResult<u64> {
    buffer(t, args.long(4).to_ne_bytes().to_vec())
}

/// `createByteArray(name, variability, units, value, maxLength)`
fn create_byte_array(t: &JavaThread, args: Arguments) -> JResult<u64> {
    if args.object(4).is_null() {
        return Err(errors::null_pointer(t));
    }
    let length = args.int(5).max(0) as usize;
    let mut bytes = vec![0; args.object(4).array_length()];
    object::copy_out(args.object(4), array_base(1), &mut bytes);
    bytes.resize(length, 0);
    buffer(t, bytes)
}

fn buffer(t: &JavaThread, bytes: Vec<u8>) -> JResult<u64> {
    // Aligned like malloc's memory, for longs.
    let words = vec![0u64; bytes.len().div_ceil(8)].leak();
    for (word, chunk) in words.iter_mut().zip(bytes.chunks(8)) {
        let mut padded = [0; 8];
        padded[..chunk.len()].copy_from_slice(chunk);
        *word = u64::from_ne_bytes(padded);
    }
    let class = objects::boot_class(t, "java/nio/DirectByteBuffer")?;
    let constructor = call::find(class, "<init>", "(JI)V");
    let buffer = t.root(allocate::new_instance(t, class)?);
    let receiver = buffer.get().address() as u64;
    let arguments = [receiver, words.as_ptr() as u64, 0, bytes.len() as u64];
    t.call(constructor, &arguments)?;
    Ok(buffer.get().address() as u64)
}
