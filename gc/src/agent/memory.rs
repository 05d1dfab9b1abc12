//! A memory server's own memory, read and written with bounds checks.
//!
//! Pages may arrive while the agent reads (a page that the VM evicts is written one-sidedly), so
//! every access is one atomic load or store of a naturally aligned word; what a word means is only
//! trusted where the snapshot's allocation bits vouch for it.

use rdma::{Segment, ShmSegment};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// The segment of the server that the agent runs on. Offsets are those of the far space.
#[derive(Clone)]
pub struct AgentMemory {
    segment: Arc<ShmSegment>,
    bytes: usize,
}

impl AgentMemory {
    pub fn new(segment: Arc<ShmSegment>) -> AgentMemory {
        let bytes = segment.bytes() as usize;
        AgentMemory { segment, bytes }
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
        // SAFETY: checked to be inside the segment.
        unsafe { self.segment.base().add(offset) }
    }

    #[inline]
    pub fn u32(&self, offset: usize) -> u32 {
        // SAFETY: inside the segment and aligned (`at`); shared memory is only accessed atomically.
        unsafe { AtomicU32::from_ptr(self.at(offset, 4).cast()) }.load(Ordering::Acquire)
    }

    #[inline]
    pub fn set_u32(&self, offset: usize, value: u32) {
        // SAFETY: as in `u32`.
        unsafe { AtomicU32::from_ptr(self.at(offset, 4).cast()) }.store(value, Ordering::Release)
    }

    #[inline]
    pub fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: as in `u32`; the segment lives as long as `self`.
        unsafe { AtomicU64::from_ptr(self.at(offset, 8).cast()) }
    }

    /// Copies a whole number of words between ranges that do not overlap.
    pub fn copy(&self, from: usize, to: usize, bytes: usize) {
        assert!(from.abs_diff(to) >= bytes, "copy of {bytes} bytes from {from:#x} to {to:#x}");
        for i in (0..bytes).step_by(8) {
            let word = self.word(from + i).load(Ordering::Relaxed);
            self.word(to + i).store(word, Ordering::Relaxed);
        }
    }

    /// Zeroes a range.
    pub fn zero(&self, offset: usize, bytes: usize) {
        for i in 0..bytes {
            // SAFETY: as in `u32`.
            unsafe { AtomicU8::from_ptr(self.at(offset + i, 1)) }.store(0, Ordering::Relaxed);
        }
    }

    /// Zeroes whole pages by giving them back.
    pub fn punch(&self, offset: usize, bytes: usize) -> Result<(), rdma::RdmaError> {
        self.segment.punch(offset as u64, bytes as u64)
    }
}
