//! The memory of a server whose far space lies in a pool, all but its end.
//!
//! ```text
//!   far space     0                              end of the pool's part        its end
//!                 +------------------------------+-----------------------------+
//!   server 0      | the same memory: the pool    | its own memory              |
//!   server 1      |                              | its own memory              |
//!                 +------------------------------+-----------------------------+
//! ```
//!
//! So all servers, and the VM, see the same pages, and what each server has for itself at the end, such as the tables
//! of its agent, takes no room in the pool.

use std::sync::Arc;

use crate::memory::pool_segment::PoolSegment;
use crate::memory::segment::{Mapped, Read, Segment, ShmSegment, Write};
use crate::{RdmaError, WORD_BYTES};

/// A segment of which the beginning lies in a pool, and the rest in the memory of a server on this machine. A thread
/// that uses either once the pool's memory is being freed sleeps until the process ends.
pub struct SplitSegment {
    pool: Arc<PoolSegment>,
    server: Arc<ShmSegment>,
}

impl SplitSegment {
    /// The server's memory, which is as long as both, from the end of the pool's on.
    pub fn new(pool: Arc<PoolSegment>, server: Arc<ShmSegment>) -> SplitSegment {
        assert!(pool.bytes() <= server.bytes(), "the pool's part is the beginning");
        SplitSegment { pool, server }
    }

    /// How many of some words are in the pool.
    fn in_pool(&self, offset: u64, words: usize) -> usize {
        let left = self.pool.bytes().saturating_sub(offset) / WORD_BYTES as u64;
        words.min(usize::try_from(left).unwrap_or(usize::MAX))
    }
}

impl Segment for SplitSegment {
    fn bytes(&self) -> u64 {
        self.server.bytes()
    }

    unsafe fn read_batch(&self, reads: &[Read]) -> Result<(), RdmaError> {
        for read in reads {
            let first = self.in_pool(read.offset, read.words);
            if first > 0 {
                // SAFETY: a part of what the caller vouches for.
                unsafe { self.pool.read_batch(&[Read { words: first, ..*read }]) }?;
            }
            if first < read.words {
                // Never inside of the pool's gate twice.
                let _inside = self.pool.enter();
                let offset = read.offset + (first * WORD_BYTES) as u64;
                let (into, words) = (read.into.wrapping_add(first), read.words - first);
                // SAFETY: as above; `first` words are less than the target has.
                unsafe { self.server.read_batch(&[Read { offset, into, words }]) }?;
            }
        }
        Ok(())
    }

    unsafe fn write_batch(&self, writes: &[Write]) -> Result<(), RdmaError> {
        for write in writes {
            let first = self.in_pool(write.offset, write.words);
            if first > 0 {
                // SAFETY: a part of what the caller vouches for.
                unsafe { self.pool.write_batch(&[Write { words: first, ..*write }]) }?;
            }
            if first < write.words {
                let _inside = self.pool.enter();
                let offset = write.offset + (first * WORD_BYTES) as u64;
                let (from, words) = (write.from.wrapping_add(first), write.words - first);
                // SAFETY: as above; `first` words are less than the source has.
                unsafe { self.server.write_batch(&[Write { offset, from, words }]) }?;
            }
        }
        Ok(())
    }

    fn punch(&self, offset: u64, bytes: u64) -> Result<(), RdmaError> {
        let first = (self.in_pool(offset, bytes as usize / WORD_BYTES) * WORD_BYTES) as u64;
        if first > 0 {
            self.pool.punch(offset, first)?;
        }
        if first < bytes {
            let _inside = self.pool.enter();
            self.server.punch(offset + first, bytes - first)?;
        }
        Ok(())
    }

    /// Whether the server is: no page of the pool is lost with it.
    fn is_alive(&self) -> bool {
        self.server.is_alive()
    }

    fn mapped(&self, offset: u64, bytes: u64) -> Option<Mapped<'_>> {
        let words = bytes as usize / WORD_BYTES;
        match self.in_pool(offset, words) {
            0 => self.server.mapped(offset, bytes),
            first if first == words => self.pool.mapped(offset, bytes),
            _ => None,
        }
    }
}
