//! `jdk.internal.misc.Unsafe`: memory outside of the heap, and copying.

use crate::ffi::registry::{Arguments, Native, NativeTable, entry};
use crate::loading::errors;
use crate::machine::JavaThread;
use crate::runtime::{JResult, memory, object};
use crate::threads::guarded;

pub static MEMORY: NativeTable = NativeTable {
    class: "jdk/internal/misc/Unsafe",
    entries: &[
        entry("allocateMemory0", "", Native::Direct(allocate)),
        entry("reallocateMemory0", "", Native::Direct(reallocate)),
        entry("freeMemory0", "", Native::Direct(free)),
        entry("setMemory0", "", Native::Direct(set)),
        entry("copyMemory0", "", Native::Direct(copy)),
        entry("copySwapMemory0", "", Native::Direct(copy_swap)),
        entry("writeback0", "", Native::Direct(write_back)),
        entry("writebackPreSync0", "", Native::Direct(write_back)),
        entry("writebackPostSync0", "", Native::Direct(write_back)),
        entry("getLoadAverage0", "", Native::Direct(load_average)),
    ],
};

/// Null when there is no memory: the caller throws.
fn allocate(_t: &JavaThread, args: Arguments) -> JResult<u64> {
    // SAFETY: plain C allocation; the caller owns the block.
    Ok(unsafe { libc::malloc(args.long(1) as usize) } as u64)
}

fn reallocate(_t: &JavaThread, args: Arguments) -> JResult<u64> {
    // SAFETY: the address is null or came from `allocate`; that is the contract of Unsafe.
    Ok(unsafe { libc::realloc(args.long(1) as *mut libc::c_void, args.long(3) as usize) } as u64)
}

fn free(_t: &JavaThread, args: Arguments) -> JResult<u64> {
    // SAFETY: as in `reallocate`.
    unsafe { libc::free(args.long(1) as *mut libc::c_void) };
    Ok(0)
}

/// The address that an object slot and the offset behind it name; see `unsafe_access`.
fn address(args: Arguments, slot: usize) -> usize {
    args.object(slot).address().wrapping_add(args.long(slot + 1) as usize)
}

fn set(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let bytes = args.long(4) as usize;
    if args.object(1).is_null() {
        guarded::fill(t, address(args, 1), args.int(6) as u8, bytes)?;
        return Ok(0);
    }
    // SAFETY: the class library checked the range.
    unsafe { std::ptr::write_bytes(address(args, 1) as *mut u8, args.int(6) as u8, bytes) };
    Ok(0)
}

fn copy(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let (from, to, bytes) = (address(args, 1), address(args, 4), args.long(7) as usize);
    if args.object(1).is_null() || args.object(4).is_null() {
        guarded::copy(t, from, to, bytes)?;
        return Ok(0);
    }
    // SAFETY: the class library checked the ranges, which may overlap.
    unsafe { memory::copy(from as *const u8, to as *mut u8, bytes) };
    Ok(0)
}

fn copy_swap(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let (to, bytes) = (address(args, 4), args.long(7) as usize);
    let width = args.long(9) as usize;
    copy(t, args)?;
    for at in (to..to + bytes).step_by(width) {
        let element = guarded::load(t, at, width)?;
        guarded::store(t, at, width, element.swap_bytes() >> (64 - 8 * width))?;
    }
    Ok(0)
}

/// Never called: `UnsafeConstants.DATA_CACHE_LINE_FLUSH_SIZE` is 0, so write-back is switched off.
fn write_back(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    errors::fail(t, "java/lang/RuntimeException", "writeback not enabled!")
}

fn load_average(_t: &JavaThread, args: Arguments) -> JResult<u64> {
    let mut averages = [0f64; 3];
    // SAFETY: the array has three elements, and no more are asked for.
    let found = unsafe { libc::getloadavg(averages.as_mut_ptr(), args.int(2).clamp(0, 3)) };
    let array = args.object(1);
    for (i, average) in averages.iter().enumerate().take(found.max(0) as usize) {
        object::put_element(array, i, *average);
    }
    Ok(found as i64 as u64)
}
