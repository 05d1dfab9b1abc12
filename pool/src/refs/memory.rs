//! The memory of counted objects: the heap of a pool.

use super::header::{HEADER_BYTES, Header};
use super::holder::Memory;
use crate::PoolError;
use crate::alloc::Blocks;
use crate::detect::Word;
use crate::pool::Pool;
use crate::sync::AtomicU64;

/// A client's part of a heap, and the objects in it.
#[derive(Clone, Copy)]
pub(super) struct HeapMemory<'a> {
    pub blocks: Blocks<'a>,
    /// Whether spare objects are kept: by clients, not by those that recover them.
    pub keeps: bool,
}

impl Memory for HeapMemory<'_> {
    #[inline(always)]
    fn header(&self, object: u64) -> Result<&Header, PoolError> {
        count_read();
        header_at(self.blocks.heap().pool(), object)
    }

    #[inline(always)]
    fn word(&self, at: u64) -> Result<&Word, PoolError> {
        count_read();
        Ok(&self.blocks.heap().pool().words(at, 1)?[0])
    }

    #[inline(always)]
    fn cell(&self, at: u64) -> Result<&AtomicU64, PoolError> {
        count_read();
        self.blocks.cell(at).ok_or_else(|| out_of_range(at, 8))
    }

    #[inline(always)]
    fn embedded(&self, object: u64, n: u64) -> u64 {
        object + HEADER_BYTES + 8 * n
    }

    #[inline(always)]
    fn class_of(&self, object: u64) -> Option<usize> {
        self.keeps.then(|| self.blocks.class_of(object)).flatten()
    }

    #[inline(always)]
    fn free_from(&self, cell: u64) -> Result<(), PoolError> {
        self.blocks.free_from(cell).map(|_| ())
    }
}

#[cfg(test)]
thread_local! {
    /// Headers and cells that this thread has asked for.
    pub(super) static READS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// For tests.
#[inline(always)]
fn count_read() {
    #[cfg(test)]
    READS.set(READS.get() + 1);
}

/// The header of the object at an offset in the data of a pool.
#[inline(always)]
pub(super) fn header_at(pool: &Pool, object: u64) -> Result<&Header, PoolError> {
    if object < pool.data() {
        return Err(out_of_range(object, HEADER_BYTES));
    }
    Ok(&pool.segment().array(object, 1)?[0])
}

#[cold]
fn out_of_range(offset: u64, bytes: u64) -> PoolError {
    PoolError::Range { offset, bytes }
}
