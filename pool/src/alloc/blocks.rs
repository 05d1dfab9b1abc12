//! One client's part of a heap: blocks of any size.

use super::arena::Owner;
use super::class::{LARGE_MAX, MEDIUM_MAX, small_class, stepped_class};
use super::heap::{Heap, KINDS, SMALL_KIND, SMALL_SHAPE};
use super::huge::HugeOwner;
use crate::PoolError;
use crate::sync::{AtomicU64, Ordering};

/// The client with one identity in a heap. One thread at a time acts under an identity: its holder, or its recoverer
/// once the holder is dead.
#[derive(Clone, Copy)]
pub(crate) struct Blocks<'a> {
    pub(super) heap: &'a Heap<'a>,
    /// By kind.
    pub(super) owners: [Owner<'a>; KINDS],
    pub(super) huge: HugeOwner<'a>,
}

/// What a block comes from.
#[derive(Clone, Copy)]
pub(super) enum From<'h> {
    Slab(Owner<'h>),
    Huge(HugeOwner<'h>),
}

impl<'h> Blocks<'h> {
    /// Allocates a block of at least this many bytes, lets `init` write it, and writes its offset into the cell, whose
    /// only writer the client is. If the client dies meanwhile, the cell has the written block or there is none. The
    /// cell must be 0 or name a used block.
    #[inline]
    pub(crate) fn alloc_into(
        &self,
        cell: u64,
        bytes: u64,
        init: impl FnOnce(u64),
    ) -> Result<u64, PoolError> {
        if let Some(class) = small_class(self.heap.whole_lines(bytes))
            && let Some(word) = self.cell(cell)
            && let Some(offset) = self.owners[SMALL_KIND].alloc_of(SMALL_SHAPE, class, cell)
        {
            init(offset);
            self.owners[SMALL_KIND].store(word, offset);
            return Ok(offset);
        }
        self.alloc_slowly(cell, bytes, init)
    }

    #[cold]
    fn alloc_slowly(
        &self,
        cell: u64,
        bytes: u64,
        init: impl FnOnce(u64),
    ) -> Result<u64, PoolError> {
        let word = self.cell(cell).ok_or(PoolError::Range { offset: cell, bytes: 8 })?;
        let (from, offset) = self.get(bytes, cell)?;
        init(offset);
        from.store(word, offset);
        Ok(offset)
    }

    /// Frees the block whose offset the cell has, and clears the cell: both, or neither if the client dies before.
    /// Returns the offset.
    #[inline]
    pub(crate) fn free_from(&self, cell: u64) -> Result<u64, PoolError> {
        if let Some(word) = self.cell(cell) {
            let offset = word.load(Ordering::Acquire);
            if self.owners[SMALL_KIND].free_own(SMALL_SHAPE, offset, Some((cell, word))).is_some() {
                return Ok(offset);
            }
        }
        self.free_slowly(cell)
    }

    /// Frees a block that nobody else will free, also if this client dies now.
    #[inline]
    pub(super) fn free(&self, offset: u64) -> Result<(), PoolError> {
        if self.owners[SMALL_KIND].free_own(SMALL_SHAPE, offset, None).is_some() {
            return Ok(());
        }
        self.free_from_any(offset, None)
    }

    #[cold]
    fn free_from_any(&self, offset: u64, cell: Option<(u64, &AtomicU64)>) -> Result<(), PoolError> {
        match self.of(offset) {
            From::Slab(owner) => owner.free(offset, cell),
            From::Huge(owner) => owner.free(offset, cell),
        }
    }

    #[cold]
    fn free_slowly(&self, cell: u64) -> Result<u64, PoolError> {
        let word = self.cell(cell).ok_or(PoolError::Range { offset: cell, bytes: 8 })?;
        let offset = word.load(Ordering::Acquire);
        self.free_from_any(offset, Some((cell, word)))?;
        Ok(offset)
    }

    /// A block, as the open step of what it comes from.
    pub(super) fn get(&self, bytes: u64, cell: u64) -> Result<(From<'h>, u64), PoolError> {
        let no_memory = PoolError::NoMemory { bytes };
        let bytes = self.heap.whole_lines(bytes);
        let (kind, class) = match small_class(bytes) {
            Some(class) => (SMALL_KIND, class),
            None if bytes <= LARGE_MAX => {
                (SMALL_KIND + if bytes <= MEDIUM_MAX { 1 } else { 2 }, stepped_class(bytes))
            }
            None => {
                let offset = self.huge.alloc(bytes, cell)?.ok_or(no_memory)?;
                return Ok((From::Huge(self.huge), offset));
            }
        };
        let owner = self.owners[kind];
        if let Some(offset) = owner.alloc(class, cell) {
            return Ok((From::Slab(owner), offset));
        }
        let offset = owner.alloc_refilled(class, cell)?.ok_or(no_memory)?;
        Ok((From::Slab(owner), offset))
    }

    /// What the block at this offset comes from.
    pub(super) fn of(&self, offset: u64) -> From<'h> {
        if self.heap.huge().has(offset) {
            return From::Huge(self.huge);
        }
        let kind = self.heap.arenas().iter().position(|arena| arena.has(offset));
        From::Slab(self.owners[kind.unwrap_or(SMALL_KIND)])
    }

    /// A word in the data of the pool.
    #[inline(always)]
    pub(crate) fn cell(&self, offset: u64) -> Option<&'h AtomicU64> {
        self.heap.arenas()[SMALL_KIND].memory.word(offset)
    }

    /// The class of the small block at this offset. `None`: the slab there has none.
    #[inline]
    pub(crate) fn class_of(&self, offset: u64) -> Option<usize> {
        let arena = &self.heap.arenas()[SMALL_KIND];
        arena.has(offset).then(|| arena.class_of(offset)).flatten()
    }

    /// All words in the data of the pool, and the offset of the first one.
    #[inline(always)]
    pub(crate) fn words(&self) -> (&'h [AtomicU64], u64) {
        let memory = &self.heap.arenas()[SMALL_KIND].memory;
        (memory.words, memory.base)
    }

    /// The heap of the blocks.
    pub(crate) fn heap(&self) -> &'h Heap<'h> {
        self.heap
    }

    /// Gives all slabs to the heap.
    pub(super) fn trim(&self) -> Result<(), PoolError> {
        for owner in &self.owners {
            owner.settled()?;
            owner.release_all()?;
        }
        self.huge.settled()
    }

    /// Finishes what an error has left open.
    pub(super) fn settle(&self) -> Result<(), PoolError> {
        self.huge.settled()?;
        self.owners.iter().try_for_each(Owner::settled)
    }

    /// The same of a dead client, whose change is finished.
    pub(super) fn settle_all(&self) -> Result<(), PoolError> {
        self.owners.iter().try_for_each(Owner::settle)?;
        self.huge.settle()
    }

    /// Gives all slabs of a dead client to the heap.
    pub(super) fn reclaim(&self) -> Result<(), PoolError> {
        self.owners.iter().try_for_each(Owner::reclaim)?;
        self.huge.settle()?;
        self.depart();
        Ok(())
    }

    /// After the identity was leased.
    pub(super) fn arrive(&self) {
        self.owners.iter().for_each(Owner::refresh_holding);
        self.huge.flush_holding();
    }

    /// Before the identity is free.
    pub(super) fn depart(&self) {
        self.owners.iter().for_each(Owner::write_holding_back);
        self.huge.flush_holding();
    }

    /// For tests: finds all slabs that others have emptied.
    #[cfg(test)]
    pub(super) fn scavenge(&self) -> Result<(), PoolError> {
        self.owners.iter().try_for_each(|owner| owner.scavenge().map(|_| ()))
    }
}

impl From<'_> {
    pub(super) fn store(&self, word: &AtomicU64, offset: u64) {
        match self {
            From::Slab(owner) => owner.store(word, offset),
            From::Huge(owner) => owner.store(word, offset),
        }
    }

    pub(super) fn settled(&self) -> Result<(), PoolError> {
        match self {
            From::Slab(owner) => owner.settled(),
            From::Huge(owner) => owner.settled(),
        }
    }
}
