//! The functions that take the place of the C library's.

use std::ffi::c_void;
use std::ptr;

use libc::{c_int, size_t};
use pool::Heap;

use crate::cache::SMALL_MAX;
use crate::seats::{Held, enter_any, enter_own};
use crate::{below, ground};

const PAGE: usize = 4096;
/// Blocks above this are huge: zero when they are handed out.
const LARGE_MAX: usize = 512 << 10;
/// Blocks whose size is a multiple of an alignment up to this begin at a multiple of it.
const NATURAL_ALIGN: usize = Heap::GRANULE_BYTES as usize;

/// A block of at least this many bytes, at a multiple of 16.
///
/// # Safety
/// As the C library's; none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc(bytes: size_t) -> *mut c_void {
    allocate(bytes)
}

/// # Safety
/// As the C library's: a used block, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(block: *mut c_void) {
    let Some(offset) = ground::offset(block) else {
        if !block.is_null() {
            // SAFETY: it is not of the pool, so it is a block that the C library has handed out.
            unsafe { below::free(block) };
        }
        return;
    };
    if let Some(mut inside) = enter_own()
        && let Some(held) = inside.held()
        && let Some(bytes) = ground::small_block_bytes(offset)
    {
        return held.cache.keep_small(offset, bytes, &mut held.client);
    }
    free_slowly(offset);
}

/// # Safety
/// As the C library's; none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn calloc(count: size_t, bytes: size_t) -> *mut c_void {
    let Some(bytes) = count.checked_mul(bytes) else { return no_memory() };
    let Ok(block) = block_of(bytes) else { return no_memory() };
    match block {
        None => below::allocate_zeroed(bytes),
        Some(Block { offset, is_zero }) => {
            let block = ground::pointer(offset);
            if !is_zero {
                // SAFETY: the block has that many bytes, and is this call's alone.
                unsafe { ptr::write_bytes(block.cast::<u8>(), 0, bytes) };
            }
            block
        }
    }
}

/// # Safety
/// As the C library's: a used block, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(block: *mut c_void, bytes: size_t) -> *mut c_void {
    if block.is_null() {
        return allocate(bytes);
    }
    let Some(offset) = ground::offset(block) else {
        // SAFETY: it is not of the pool, so it is a block that the C library has handed out.
        return unsafe { below::reallocate(block, bytes) };
    };
    if bytes == 0 {
        // SAFETY: promised by the caller.
        unsafe { free(block) };
        return ptr::null_mut();
    }
    let usable = usable(offset);
    // It stays unless it would waste more than half of the block.
    if bytes <= usable && (bytes >= usable / 2 || usable <= 64) {
        return block;
    }
    let before = below::errno();
    let new = if bytes > usable { allocate_grown(offset, bytes) } else { allocate(bytes) };
    if new == block {
        return block;
    }
    if new.is_null() && bytes <= usable {
        // There is no smaller one to be had.
        below::set_errno(before);
        return block;
    }
    if !new.is_null() {
        // SAFETY: both blocks are used, so they do not overlap, and have that many bytes; both are the caller's.
        unsafe { ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast(), usable.min(bytes)) };
        // SAFETY: promised by the caller.
        unsafe { free(block) };
    }
    new
}

/// # Safety
/// As `realloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn reallocarray(
    block: *mut c_void,
    count: size_t,
    bytes: size_t,
) -> *mut c_void {
    match count.checked_mul(bytes) {
        // SAFETY: promised by the caller.
        Some(bytes) => unsafe { realloc(block, bytes) },
        None => no_memory(),
    }
}

/// # Safety
/// As the C library's; none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memalign(align: size_t, bytes: size_t) -> *mut c_void {
    // As in glibc, an alignment that is no power of two becomes the next one.
    match align.checked_next_power_of_two() {
        Some(align) => allocate_aligned(align, bytes),
        None => failed(libc::EINVAL),
    }
}

/// # Safety
/// As the C library's; none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aligned_alloc(align: size_t, bytes: size_t) -> *mut c_void {
    if !align.is_power_of_two() {
        return failed(libc::EINVAL);
    }
    allocate_aligned(align, bytes)
}

/// # Safety
/// As the C library's: `place` is where the block's address is to be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(
    place: *mut *mut c_void,
    align: size_t,
    bytes: size_t,
) -> c_int {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<*mut c_void>()) {
        return libc::EINVAL;
    }
    let before = below::errno();
    let block = allocate_aligned(align, bytes);
    below::set_errno(before);
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: promised by the caller.
    unsafe { *place = block };
    0
}

/// # Safety
/// As the C library's; none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn valloc(bytes: size_t) -> *mut c_void {
    allocate_aligned(PAGE, bytes)
}

/// # Safety
/// As the C library's; none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvalloc(bytes: size_t) -> *mut c_void {
    match bytes.max(1).checked_next_multiple_of(PAGE) {
        Some(bytes) => allocate_aligned(PAGE, bytes),
        None => no_memory(),
    }
}

/// # Safety
/// As the C library's: a used block, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> size_t {
    match ground::offset(block) {
        Some(offset) => usable(offset),
        None if block.is_null() => 0,
        // SAFETY: it is not of the pool, so it is a block that the C library has handed out.
        None => unsafe { below::usable(block) },
    }
}

/// Gives free memory of this thread to the heap, which gives back to the system what is above its limits; the pool
/// keeps nothing at its end, so `pad` has no meaning. 1: the system has got some.
///
/// # Safety
/// As the C library's; none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc_trim(_pad: size_t) -> c_int {
    let before = ground::given_back();
    if let Some(mut inside) = enter_own()
        && let Some(held) = inside.held()
    {
        held.trim();
    }
    c_int::from(ground::given_back() != before)
}

#[inline(always)]
fn allocate(bytes: usize) -> *mut c_void {
    match block_of(bytes) {
        Ok(Some(block)) => ground::pointer(block.offset),
        Ok(None) => below::allocate(bytes),
        Err(NoMemory) => no_memory(),
    }
}

/// A block of the pool.
struct Block {
    offset: u64,
    /// Whether its bytes are known to be zero.
    is_zero: bool,
}

/// The pool is used up, or the size impossible.
struct NoMemory;

/// A new block. `None`: the C library is to serve the caller.
#[inline(always)]
fn block_of(bytes: usize) -> Result<Option<Block>, NoMemory> {
    if bytes > isize::MAX as usize {
        return Err(NoMemory);
    }
    // Blocks of a multiple of 16 bytes begin at one.
    let bytes = (bytes.max(1) as u64 + 15) & !15;
    if bytes <= SMALL_MAX
        && let Some(mut inside) = enter_own()
        && let Some(held) = inside.held()
    {
        let kept = held.cache.take_small(bytes);
        let offset = kept.or_else(|| held.client.alloc_into(held.cell, bytes).ok());
        if let Some(offset) = offset {
            return Ok(Some(Block { offset, is_zero: false }));
        }
    }
    block_slowly(bytes)
}

#[inline(never)]
fn block_slowly(bytes: u64) -> Result<Option<Block>, NoMemory> {
    let Some(mut inside) = enter_own().or_else(enter_any) else { return Ok(None) };
    let Some(held) = inside.held() else { return Ok(None) };
    let is_zero = bytes > LARGE_MAX as u64;
    if is_zero && let Some(offset) = held.cache.take_huge(bytes) {
        return Ok(Some(Block { offset, is_zero: false }));
    }
    let offset = held.client.alloc_into(held.cell, bytes);
    let offset = offset.or_else(|_| {
        // What this seat keeps may be what is missing.
        held.trim();
        held.client.alloc_into(held.cell, bytes)
    });
    Ok(Some(Block { offset: offset.map_err(|_| NoMemory)?, is_zero }))
}

/// Frees a block that is not small, or for a thread that is not inside of its own seat.
#[inline(never)]
fn free_slowly(offset: u64) {
    let before = below::errno();
    // If all are busy for long, the block is lost.
    if let Some(mut inside) = enter_own().or_else(enter_any)
        && let Some(held) = inside.held()
    {
        free_by(held, offset);
    }
    below::set_errno(before);
}

fn free_by(held: &mut Held, offset: u64) {
    let Some(heap) = ground::heap() else { return };
    // A block that is aligned above what blocks are by themselves begins inside of a huge one.
    let offset = heap.huge_block_of(offset).unwrap_or(offset);
    let bytes = heap.block_bytes(offset).unwrap_or(0);
    if bytes > LARGE_MAX as u64 && held.cache.keep_huge(offset, bytes, &mut held.client) {
        return;
    }
    // What is no block stays as it is.
    let _ = held.client.free(offset);
}

/// A block for one at an offset that is to have more bytes: the same, or a new one. A huge one gets the granules that
/// follow if they are free. Else it is copied, and gets a quarter more than is asked for: so a block that grows step by
/// step is not copied each time.
fn allocate_grown(offset: u64, bytes: usize) -> *mut c_void {
    if bytes <= LARGE_MAX || bytes > isize::MAX as usize / 2 {
        return allocate(bytes);
    }
    if grow_in_place(offset, bytes) {
        return ground::pointer(offset);
    }
    match block_of(bytes + bytes / 4) {
        Ok(Some(block)) => ground::pointer(block.offset),
        _ => allocate(bytes),
    }
}

fn grow_in_place(offset: u64, bytes: usize) -> bool {
    let Some(begin) = ground::heap().and_then(|heap| heap.huge_block_of(offset)) else {
        return false;
    };
    let Some(mut inside) = enter_own().or_else(enter_any) else { return false };
    let Some(held) = inside.held() else { return false };
    held.client.grow_private(begin, bytes as u64 + (offset - begin)).unwrap_or(false)
}

/// `align` is a power of two.
fn allocate_aligned(align: usize, bytes: usize) -> *mut c_void {
    if align <= below::ALIGN {
        return allocate(bytes);
    }
    let least = bytes.max(align);
    if least > isize::MAX as usize / 2 {
        return no_memory();
    }
    let is_natural = |bytes: usize| Heap::size_of_block(bytes as u64).is_multiple_of(align as u64);
    let bytes = match () {
        () if align > NATURAL_ALIGN => least + align,
        () if is_natural(least) => least,
        () => least.next_power_of_two(),
    };
    match block_of(bytes) {
        Err(NoMemory) => no_memory(),
        Ok(None) => below::allocate_aligned(align, bytes),
        Ok(Some(Block { offset, .. })) => {
            let block = ground::pointer(offset);
            let before = block.addr().wrapping_neg() & (align - 1);
            assert!(before == 0 || align > NATURAL_ALIGN, "a block of {bytes} bytes at {block:p}");
            block.wrapping_byte_add(before)
        }
    }
}

/// Bytes from an offset to the end of its block. 0: there is none.
fn usable(offset: u64) -> usize {
    let Some(heap) = ground::heap() else { return 0 };
    if let Some(bytes) = heap.block_bytes(offset) {
        return bytes as usize;
    }
    let begin = heap.huge_block_of(offset);
    let all = begin.and_then(|begin| Some(heap.block_bytes(begin)? - (offset - begin)));
    all.unwrap_or(0) as usize
}

#[cold]
fn no_memory() -> *mut c_void {
    failed(libc::ENOMEM)
}

fn failed(error: c_int) -> *mut c_void {
    below::set_errno(error);
    ptr::null_mut()
}
