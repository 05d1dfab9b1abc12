//! The memory that an agent works on, read and written with bounds checks.
//!
//! Pages may arrive while the agent reads (a page that the VM evicts is written one-sidedly), so
//! every access is one atomic load or store of a naturally aligned word; the meaning of a word is only
//! trusted where the snapshot's allocation bits vouch for it.

use crate::core::heap_core::HeapCore;
use crate::hit::{EntryIndex, EntryWidth, HitGeometry};
use crate::object::prefetch;
use rdma::{Segment, ShmSegment};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use swap::{PAGE_BYTES, Reservation, SwapError};

/// A memory server's memory, of which a part may lie in a pool; or, for an agent in the VM's process, the heap as the
/// program sees it, and ordinary memory for the tables behind it. Offsets are those of the far space.
#[derive(Clone)]
pub struct AgentMemory {
    owner: Owner,
    bytes: usize,
    /// Address of offset 0.
    base: usize,
    /// The first offset that lies in the other memory; `bytes` if none does.
    split: usize,
    /// Address of that offset.
    beyond: usize,
}

/// The owner of the memory.
#[derive(Clone)]
enum Owner {
    Segment(Arc<ShmSegment>),
    Heap { _core: Arc<HeapCore>, beyond: Arc<Reservation> },
}

impl AgentMemory {
    /// The segment of the server that the agent runs on.
    pub fn new(segment: Arc<ShmSegment>) -> AgentMemory {
        let (base, bytes) = (segment.base().expose_provenance(), segment.bytes() as usize);
        AgentMemory { owner: Owner::Segment(segment), bytes, base, split: bytes, beyond: 0 }
    }

    /// The first `paged` bytes of the far space as the VM has mapped them, and zeros from there to `bytes`, both whole
    /// pages; only touched pages of the zeros cost memory. A thread that reads or writes the first part may take a
    /// fault.
    pub fn of_heap(
        core: Arc<HeapCore>,
        paged: usize,
        bytes: usize,
    ) -> Result<AgentMemory, SwapError> {
        let beyond = Arc::new(Reservation::new(bytes - paged, PAGE_BYTES)?);
        let (base, address) = (core.space.base(), beyond.base());
        let owner = Owner::Heap { _core: core, beyond };
        Ok(AgentMemory { owner, bytes, base, split: paged, beyond: address })
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    #[inline]
    fn at(&self, offset: usize, bytes: usize) -> *mut u8 {
        assert!(
            offset.is_multiple_of(bytes) && offset < self.bytes && bytes <= self.bytes - offset,
            "{bytes} bytes at {offset:#x} of {:#x}",
            self.bytes
        );
        ptr::with_exposed_provenance_mut(self.address(offset))
    }

    /// Where an offset is, if it is in the memory.
    #[inline]
    fn address(&self, offset: usize) -> usize {
        match offset < self.split {
            true => self.base + offset,
            false => self.beyond.wrapping_add(offset - self.split),
        }
    }

    /// Prefetches the cache line of an offset, where there is memory; see [`prefetch`].
    #[inline]
    pub fn ask_for(&self, offset: usize) {
        prefetch::line(self.address(offset));
    }

    #[inline]
    pub fn u32(&self, offset: usize) -> u32 {
        // SAFETY: inside the memory and aligned (`at`), and the owner keeps it; it is only accessed atomically.
        unsafe { AtomicU32::from_ptr(self.at(offset, 4).cast()) }.load(Ordering::Acquire)
    }

    #[inline]
    pub fn set_u32(&self, offset: usize, value: u32) {
        // SAFETY: as in `u32`.
        unsafe { AtomicU32::from_ptr(self.at(offset, 4).cast()) }.store(value, Ordering::Release)
    }

    #[inline]
    pub fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: as in `u32`; the owner lives as long as `self`.
        unsafe { AtomicU64::from_ptr(self.at(offset, 8).cast()) }
    }

    /// The contents of an entry.
    #[inline]
    pub fn place(&self, geometry: &HitGeometry, entry: EntryIndex) -> u64 {
        let at = geometry.entry_offset(entry);
        match geometry.width() {
            EntryWidth::Narrow => self.u32(at).into(),
            EntryWidth::Wide => self.word(at).load(Ordering::Acquire),
        }
    }

    /// Has an entry hold this; the object must be written before.
    #[inline]
    pub fn set_place(&self, geometry: &HitGeometry, entry: EntryIndex, place: u64) {
        let at = geometry.entry_offset(entry);
        match geometry.width() {
            EntryWidth::Narrow => self.set_u32(at, place as u32),
            EntryWidth::Wide => self.word(at).store(place, Ordering::Release),
        }
    }

    /// `count` words of either part of the memory.
    fn words(&self, offset: usize, count: usize) -> &[AtomicU64] {
        if count == 0 {
            return &[];
        }
        let (first, last) = (self.at(offset, 8), self.at(offset + 8 * (count - 1), 8));
        let is_whole = last.addr().wrapping_sub(first.addr()) == 8 * (count - 1);
        assert!(is_whole, "{count} words at {offset:#x} are behind {:#x} too", self.split);
        // SAFETY: both ends are inside the memory and aligned (`at`), and so is all between them, for both are in
        // the same part; the owner lives as long as `self`, and all threads and processes access it atomically.
        unsafe { std::slice::from_raw_parts(first.cast::<AtomicU64>(), count) }
    }

    /// Copies a whole number of words between ranges that do not overlap.
    pub fn copy(&self, from: usize, to: usize, bytes: usize) {
        assert!(from.abs_diff(to) >= bytes, "copy of {bytes} bytes from {from:#x} to {to:#x}");
        let (from, to) = (self.words(from, bytes / 8), self.words(to, bytes / 8));
        for (from, to) in from.iter().zip(to) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Has the file system keep memory for a range that is about to be written, if it lies in a pool. At once if it
    /// does not; else it blocks on the file system. An error says why there is no memory.
    pub fn reserve(&self, offset: usize, bytes: usize) -> Result<(), String> {
        match &self.owner {
            Owner::Segment(segment) => {
                segment.reserve(offset as u64, bytes as u64).map_err(|error| error.to_string())
            }
            Owner::Heap { .. } => Ok(()),
        }
    }

    /// Zeroes a range.
    pub fn zero(&self, offset: usize, bytes: usize) {
        for i in 0..bytes {
            // SAFETY: as in `u32`.
            unsafe { AtomicU8::from_ptr(self.at(offset + i, 1)) }.store(0, Ordering::Relaxed);
        }
    }

    /// Bytes of a range of whole pages that take memory of their own: not those of the heap in the VM's process, whose
    /// memory the pager counts. Slow, for figures.
    pub fn taken_bytes(&self, offset: usize, bytes: usize) -> u64 {
        match &self.owner {
            Owner::Segment(segment) => segment.allocated_bytes(offset as u64, bytes as u64),
            Owner::Heap { .. } if offset < self.split => 0,
            Owner::Heap { .. } => swap::resident_bytes(self.address(offset), bytes) as u64,
        }
    }

    /// Zeroes whole pages by giving them back; in the VM's process only those behind the heap.
    pub fn punch(&self, offset: usize, bytes: usize) -> Result<(), String> {
        match &self.owner {
            Owner::Segment(segment) => {
                segment.punch(offset as u64, bytes as u64).map_err(|error| error.to_string())
            }
            Owner::Heap { beyond, .. } => {
                assert!(offset >= self.split, "{offset:#x} is in the heap");
                beyond.zero(offset - self.split, bytes).map_err(|error| error.to_string())
            }
        }
    }
}
