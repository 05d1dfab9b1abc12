//! `jdk.internal.perf.Perf`: performance counters of the class library, and those of other VMs.

use crate::diagnostics::perf_data::{self, Units, Variability};
use crate::ffi::registry::{Arguments, Native, NativeTable, entry};
use crate::java::objects;
use crate::jvm::system::nano_time;
use crate::loading::{allocate, call, errors, strings};
use crate::machine::JavaThread;
use crate::runtime::JResult;
use gc::object::ObjectRef;

pub static PERF: NativeTable = NativeTable {
    class: "jdk/internal/perf/Perf",
    entries: &[
        entry("attach", "", Native::Direct(attach)),
        // The memory of another VM stays mapped.
        entry("detach", "", Native::Direct(|_, _| Ok(0))),
        entry("createLong", "", Native::Direct(create_long)),
        entry("createByteArray", "", Native::Direct(create_byte_array)),
        entry("highResCounter", "()J", Native::Direct(|_, _| Ok(nano_time() as u64))),
        entry("highResFrequency", "()J", Native::Direct(|_, _| Ok(1_000_000_000))),
    ],
};

/// `attach(user, process, mode)`: the counters of another VM, or with process 0 of this one.
fn attach(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let user = args.object(1);
    let user = (!user.is_null()).then(|| strings::to_text(t, user));
    let process = args.int(2) as u32;
    if process == 0 || process == std::process::id() {
        let (start, bytes) = t.vm.diagnostics.perf_data.region().memory();
        return buffer(t, start, bytes);
    }
    match t.safely(|| perf_data::map_of(user.as_deref(), process)) {
        Ok(map) => buffer(t, map.as_ptr(), map.len()),
        Err(error) => {
            let message = format!("no performance counters of process {process}: {error}");
            errors::fail(t, "java/lang/IllegalArgumentException", &message)
        }
    }
}

/// `createLong(name, variability, units, value)`
fn create_long(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let Described { name, variability, units } = described(t, args)?;
    let value = args.long(4);
    let own = t.vm.diagnostics.perf_data.region().long(&name, units, variability, value);
    let start = match own {
        Some(cell) => cell.as_ptr().cast::<u8>(),
        None => private(&value.to_ne_bytes()),
    };
    buffer(t, start, size_of::<i64>())
}

/// `createByteArray(name, variability, units, value, maxLength)`
fn create_byte_array(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let Described { name, variability, units } = described(t, args)?;
    if args.object(4).is_null() {
        return Err(errors::null_pointer(t));
    }
    let mut bytes = objects::bytes_of(args.object(4));
    if units == Units::Text && bytes.last() != Some(&0) {
        bytes.push(0);
    }
    bytes.resize(args.int(5).max(0) as usize, 0);
    let own = t.vm.diagnostics.perf_data.region().bytes(&name, units, variability, &bytes);
    let start = own.unwrap_or_else(|| private(&bytes));
    buffer(t, start, bytes.len())
}

struct Described {
    name: String,
    variability: Variability,
    units: Units,
}

fn described(t: &JavaThread, args: Arguments) -> JResult<Described> {
    if args.object(1).is_null() {
        return Err(errors::null_pointer(t));
    }
    let variability = match args.int(2) {
        1 => Variability::Constant,
        2 => Variability::Monotonic,
        3 => Variability::Variable,
        _ => return errors::fail(t, "java/lang/IllegalArgumentException", "unknown variability"),
    };
    let units = match args.int(3) {
        1 => Units::None,
        2 => Units::Bytes,
        3 => Units::Ticks,
        4 => Units::Events,
        5 => Units::Text,
        6 => Units::Hertz,
        _ => return errors::fail(t, "java/lang/IllegalArgumentException", "unknown units"),
    };
    Ok(Described { name: strings::to_text(t, args.object(1)), variability, units })
}

/// Memory that no other process sees, for a counter for which there is no room. Aligned like malloc's, for longs.
fn private(bytes: &[u8]) -> *mut u8 {
    let words = vec![0u64; bytes.len().div_ceil(8)].leak();
    for (word, chunk) in words.iter_mut().zip(bytes.chunks(8)) {
        let mut padded = [0; 8];
        padded[..chunk.len()].copy_from_slice(chunk);
        *word = u64::from_ne_bytes(padded);
    }
    words.as_mut_ptr().cast()
}

/// A direct buffer over memory that is never given back.
fn buffer(t: &JavaThread, start: *const u8, bytes: usize) -> JResult<u64> {
    let class = objects::boot_class(t, "java/nio/DirectByteBuffer")?;
    let constructor = call::find(class, "<init>", "(JI)V");
    let buffer = t.root(allocate::new_instance(t, class)?);
    let receiver: ObjectRef = buffer.get();
    let arguments = [receiver.address() as u64, start as u64, 0, bytes as u64];
    t.call(constructor, &arguments)?;
    Ok(buffer.get().address() as u64)
}
