//! The part of a thread that collectors and compiled code know.
//!
//! A thread is *running* (it may hold plain addresses and touch the heap) or *safe* (in native code, blocked,
//! parked: it touches no heap word, and the words that it holds are roots). A running thread polls; a pause
//! begins when every thread is safe or stopped at a poll, and a safe thread that wants to run again waits
//! until the pause ends.

use crate::threads::rendezvous::ThreadPoint;
use std::cell::Cell;
use std::mem::offset_of;

/// Proof that every mutator is stopped. Only the safepoint machinery makes one, for the length of a call.
pub struct WorldStopped {
    threads: *const [*const Mutator],
}

impl WorldStopped {
    /// `threads` must be all attached mutators, stopped for as long as the value lives.
    pub(crate) fn new(threads: &[*const Mutator]) -> WorldStopped {
        WorldStopped { threads }
    }

    /// Every attached mutator.
    pub fn mutators(&self) -> impl Iterator<Item = &Mutator> {
        // SAFETY: the list and the mutators stay in place while the world is stopped (see `new`).
        unsafe { (*self.threads).iter().map(|m| &**m) }
    }
}

/// One per attached thread; the VM embeds it first in its own thread structure and never moves it while it
/// is attached. `repr(C)`: compiled code reads fields by offset.
#[repr(C)]
pub struct Mutator {
    point: ThreadPoint,
    /// Next free byte and end of the thread-local allocation buffer; own thread, or any with the world stopped.
    /// Both 0 when the thread has none.
    pub(crate) tlab_top: Cell<usize>,
    pub(crate) tlab_end: Cell<usize>,
    pub(crate) tlab_start: Cell<usize>,
    /// Bytes allocated by this thread outside its present buffer.
    pub(crate) allocated_bytes: Cell<u64>,
    /// Wished size of the next buffer, bytes; grows with each refill of a cycle.
    pub(crate) tlab_bytes: Cell<usize>,
    /// The collector's own words, which its barriers read and compiled code may (phases, epochs, buffers).
    /// Own thread, or a handshake or pause on its behalf.
    pub(crate) words: [Cell<u64>; COLLECTOR_WORDS],
    /// The collector's own data of this thread, made in `Collector::attached`, dropped in `detached`.
    pub(crate) collector_data: Cell<*mut ()>,
}

/// Words that a collector has in each thread block.
pub const COLLECTOR_WORDS: usize = 16;

/// Offset in [`Mutator`] of the word that compiled code polls: 32 bits, not zero when `Heap::safepoint` must be
/// called.
pub const POLL_OFFSET: usize = offset_of!(Mutator, point);
#[cfg(not(loom))]
const _: () = assert!(POLL_OFFSET == 0 && ThreadField::TLAB_TOP.0 == 8);

/// A 64-bit word of the thread block that barriers and inline allocation read and write, own thread only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadField(usize);

impl ThreadField {
    pub const TLAB_TOP: ThreadField = ThreadField(offset_of!(Mutator, tlab_top));
    pub const TLAB_END: ThreadField = ThreadField(offset_of!(Mutator, tlab_end));

    /// Word `index` of the collector's words.
    #[inline(always)]
    pub const fn word(index: usize) -> ThreadField {
        assert!(index < COLLECTOR_WORDS);
        ThreadField(offset_of!(Mutator, words) + index * size_of::<u64>())
    }

    /// Bytes from the start of the [`Mutator`].
    #[inline(always)]
    pub const fn offset(self) -> usize {
        self.0
    }
}

// `Mutator::field` takes every field for a cell of 64 bits.
const _: () = assert!(size_of::<Cell<usize>>() == 8 && align_of::<Cell<usize>>() == 8);
const _: () = assert!(ThreadField::TLAB_TOP.0.is_multiple_of(8));
const _: () = assert!(ThreadField::TLAB_END.0 == ThreadField::TLAB_TOP.0 + 8);
const _: () = assert!(ThreadField::word(0).0.is_multiple_of(8));
const _: () = assert!(ThreadField::word(COLLECTOR_WORDS - 1).0 + 8 <= size_of::<Mutator>());

// SAFETY: the cells are touched by the owning thread, or by the collector while the thread is stopped or
// passes a handshake.
unsafe impl Sync for Mutator {}

// SAFETY: as above; a mutator that is not attached belongs to the thread that owns it.
unsafe impl Send for Mutator {}

impl Mutator {
    pub fn new() -> Mutator {
        Mutator {
            point: ThreadPoint::new(),
            tlab_top: Cell::new(0),
            tlab_end: Cell::new(0),
            tlab_start: Cell::new(0),
            allocated_bytes: Cell::new(0),
            tlab_bytes: Cell::new(0),
            words: std::array::from_fn(|_| Cell::new(0)),
            collector_data: Cell::new(std::ptr::null_mut()),
        }
    }

    /// Whether the thread must call `Heap::safepoint` now. The poll of interpreter and compiled code.
    #[inline]
    pub fn poll_requested(&self) -> bool {
        self.point.poll_requested()
    }

    /// Makes the polls of this thread take the slow path until it calls `clear_poll_request`: the VM asks something
    /// of it. Any thread, while this one is attached or about to be.
    pub fn request_poll(&self) {
        self.point.request();
    }

    /// Whether the VM asks something of this thread.
    #[inline]
    pub fn has_poll_request(&self) -> bool {
        self.point.has_request()
    }

    /// On the thread itself.
    pub fn clear_poll_request(&self) {
        self.point.clear_request();
    }

    /// Running, as opposed to safe. For assertions.
    #[inline]
    pub fn is_running(&self) -> bool {
        self.point.is_running()
    }

    /// Bytes that this thread has allocated since it was made (`ThreadMXBean.getThreadAllocatedBytes`).
    /// Exact on its own thread, approximate on another.
    pub fn allocated_bytes(&self) -> u64 {
        // Another thread may see the buffer half changed.
        let in_buffer = self.tlab_top.get().saturating_sub(self.tlab_start.get());
        self.allocated_bytes.get() + in_buffer as u64
    }

    /// Exchanges the allocation buffer, counting the bytes allocated from the old one. By the thread itself, or with
    /// the world stopped.
    pub(crate) fn set_buffer(&self, start: usize, end: usize) {
        self.allocated_bytes.set(self.allocated_bytes());
        self.tlab_top.set(start);
        self.tlab_start.set(start);
        self.tlab_end.set(end);
    }

    #[inline(always)]
    pub(crate) fn field(&self, field: ThreadField) -> &Cell<u64> {
        // SAFETY: the constructors of `ThreadField` name cells of 64 bits inside the block; a cell of `usize`
        // is one of `u64` on this target (asserted above).
        unsafe { &*(&raw const *self).byte_add(field.0).cast::<Cell<u64>>() }
    }

    pub(crate) fn point(&self) -> &ThreadPoint {
        &self.point
    }
}

impl AsRef<ThreadPoint> for Mutator {
    fn as_ref(&self) -> &ThreadPoint {
        &self.point
    }
}

impl Default for Mutator {
    fn default() -> Self {
        Mutator::new()
    }
}
