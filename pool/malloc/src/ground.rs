//! The pool of the process.

use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use pool::{Allocator, Backing, Heap, Pool, PoolError};

/// Identities: as many as a pool can have.
pub const CLIENTS: usize = 1023;

/// A client writes each new block into a cell of its own; each has a cache line.
const CELL_BYTES: u64 = 64;
const RESERVED: u64 = CELL_BYTES * (CLIENTS as u64 + 1);

static HEAP: OnceLock<Heap<'static>> = OnceLock::new();

/// Where the pool is. Zeros until the start, so that no pointer is in it. Written once, by one thread, before `HEAP`;
/// a thread that has a block of the pool sees both.
static BASE: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// Makes the pool. All that is read afterwards is in memory for good.
pub fn start(bytes: usize) -> Result<(), PoolError> {
    let bytes = (bytes as u64).next_multiple_of(Heap::GRANULE_BYTES);
    let pool: &'static Pool =
        Box::leak(Box::new(Pool::create(&Backing::Private { bytes }, CLIENTS)?));
    let heap = Heap::new(pool, RESERVED)?;
    BASE.store(pool.segment().base().as_ptr() as usize, Ordering::Relaxed);
    BYTES.store(bytes as usize, Ordering::Release);
    assert!(HEAP.set(heap).is_ok(), "the library starts once");
    Ok(())
}

/// The heap. `None` before the start, and if there is no pool.
#[inline(always)]
pub fn heap() -> Option<&'static Heap<'static>> {
    HEAP.get()
}

/// Bytes of the small block at an offset.
#[inline(always)]
pub fn small_block_bytes(offset: u64) -> Option<u64> {
    heap()?.small_block_bytes(offset)
}

/// A new client, and its cell.
pub fn join() -> Option<(Allocator<'static>, u64)> {
    let heap = heap()?;
    let client = heap.join().ok()?;
    let cell = heap.pool().data() + u64::from(client.id()) * CELL_BYTES;
    Some((client, cell))
}

/// Where a block is.
#[inline(always)]
pub fn pointer(offset: u64) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(BASE.load(Ordering::Relaxed) + offset as usize)
}

/// The offset of a pointer. `None`: it is not of the pool.
#[inline(always)]
pub fn offset(pointer: *mut c_void) -> Option<u64> {
    let offset = pointer.addr().wrapping_sub(BASE.load(Ordering::Relaxed));
    (offset < BYTES.load(Ordering::Relaxed)).then_some(offset as u64)
}

/// Bytes that were given back to the system until now.
pub fn given_back() -> u64 {
    heap().map_or(0, |heap| heap.pool().segment().given_back())
}
