//! One-sided access to a server's memory.

use crate::RdmaError;

/// The memory of one server, as seen from any process: READ and WRITE without the server's CPU.
///
/// Offsets are offsets in the far space. Everything is in words of 8 bytes, aligned; a word never tears.
/// `read`, `write`, `write_batch` and `fence` are async-signal-safe: they take no lock and allocate nothing, since
/// page faults are served from a signal handler.
pub trait Segment: Send + Sync {
    /// Length in bytes = length of the whole far space.
    fn bytes(&self) -> u64;

    /// READ: copies words from `offset` (bytes) on.
    fn read(&self, offset: u64, into: &mut [u64]) -> Result<(), RdmaError>;

    /// WRITE: copies words to `offset` (bytes) on.
    fn write(&self, offset: u64, from: &[u64]) -> Result<(), RdmaError> {
        // SAFETY: a live slice is readable for its whole length.
        unsafe { self.write_from(offset, from.as_ptr(), from.len()) }
    }

    /// WRITE from memory that other threads may be writing: each word is loaded once, atomically.
    ///
    /// # Safety
    /// `from` is aligned and valid for reads of `words` words during the call.
    unsafe fn write_from(
        &self,
        offset: u64,
        from: *const u64,
        words: usize,
    ) -> Result<(), RdmaError>;

    /// Makes a range (whole pages) zero and gives its memory back to the server. Not signal-safe.
    fn punch(&self, offset: u64, bytes: u64) -> Result<(), RdmaError>;

    /// Starts a batch of operations that travel together: an injected latency is paid once. Advice only.
    fn batch(&self, _operations: usize, _bytes: usize) {}

    /// False once the server was found dead; every operation then fails.
    fn is_alive(&self) -> bool;
}

/// A segment in memory that this process maps: a memfd made by the server.
pub struct ShmSegment {}

impl ShmSegment {
    /// Address of offset 0 in this process. Agents read and write their own memory through it.
    pub fn base(&self) -> *mut u8 {
        unimplemented!("ShmSegment::base")
    }

    /// Loads one word (relaxed, atomic). `offset` in bytes, aligned and inside, or it panics.
    pub fn load(&self, _offset: u64) -> u64 {
        unimplemented!("ShmSegment::load")
    }

    /// Stores one word (relaxed, atomic). `offset` in bytes, aligned and inside, or it panics.
    pub fn store(&self, _offset: u64, _word: u64) {
        unimplemented!("ShmSegment::store")
    }
}
