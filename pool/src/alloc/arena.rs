//! One heap of slabs: its parts in memory, and what a client does with blocks of its own slabs.

use super::caches::Caches;
use super::class::Class;
use super::holding::{Holding, Link, List, Step};
use super::slab::{HEAD_BITS, Local, Remote, Shares, Slab};
use crate::PoolError;
use crate::crash::crash_point;
use crate::detect::{Detector, Word};
use crate::flaw::flawed;
#[cfg(not(loom))]
use crate::segment::Segment;
use crate::sync::{AtomicU64, Ordering, own, put};

/// Lists that all clients share, and the number of slabs that were ever used. Zeros are an empty heap.
///
/// ```text
///   0                  16             64
///   +------------------+--------------+
///   | word             | unused       |
///   +------------------+--------------+
/// ```
#[repr(C, align(64))]
#[derive(Default)]
pub(crate) struct Root {
    pub word: Word,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Root>() == 64);

// SAFETY: atomic words.
#[cfg(not(loom))]
unsafe impl crate::segment::Shared for Root {}

/// Roots of a heap: its length, the list of slabs without a class, and one list of partly used ones for each class.
pub(super) const LENGTH: usize = 0;
pub(super) const FREE: usize = 1;
pub(super) const PARTIAL: usize = 2;

/// The words that a heap reads and writes: blocks, and cells of its users.
#[derive(Clone, Copy)]
pub(super) struct Memory<'a> {
    pub words: &'a [AtomicU64],
    /// The offset of the first word.
    pub base: u64,
    #[cfg(not(loom))]
    pub segment: Option<&'a Segment>,
}

impl<'a> Memory<'a> {
    #[inline(always)]
    pub(super) fn word(&self, offset: u64) -> Option<&'a AtomicU64> {
        let distance = offset.wrapping_sub(self.base);
        if !distance.is_multiple_of(8) {
            return None;
        }
        self.words.get((distance / 8) as usize)
    }

    /// Gives the pages of a range back to the system. If it refuses, they stay: it is not needed for correctness.
    pub(super) fn punch(&self, _caches: &Caches, _offset: u64, _bytes: u64) {
        #[cfg(not(loom))]
        if let Some(segment) = self.segment {
            let _ = segment.punch(_offset, _bytes);
            if !_caches.are_coherent() && segment.is_device() {
                // They were written.
                self.flush(_caches, _offset, _bytes);
            }
        }
    }

    /// Writes a range back and drops it.
    pub(super) fn flush(&self, caches: &Caches, offset: u64, bytes: u64) {
        if let Some(word) = self.word(offset) {
            caches.flush(std::ptr::from_ref(word).cast(), bytes);
            caches.fence();
        }
    }
}

/// How slabs are cut into blocks.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Bytes of a slab, as a power of two.
    pub slab_shift: u32,
    pub classes: &'static [Class],
}

impl Shape {
    #[inline(always)]
    fn split(self, distance: u64) -> (usize, u64) {
        ((distance >> self.slab_shift) as usize, distance & ((1 << self.slab_shift) - 1))
    }

    #[inline(always)]
    fn offset(self, data_at: u64, slab: u32, block: u32) -> u64 {
        data_at + (u64::from(slab) << self.slab_shift) + 8 * u64::from(block)
    }
}

/// How long lists become before slabs leave them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Limits {
    /// Slabs without a class that a client keeps.
    pub empty: u32,
    /// Partly used slabs of one class that a client keeps.
    pub sized: u32,
    /// Slabs without a class in the heap's list that keep their pages.
    pub resident: u32,
}

/// The parts of one heap of slabs. Any thread may have it.
pub(super) struct Arena<'a> {
    pub detector: Detector<'a>,
    pub memory: Memory<'a>,
    /// Length, free slabs, and partly used ones by class.
    pub roots: &'a [Root],
    /// By identity; the first is unused.
    pub holdings: &'a [Holding],
    pub slabs: &'a [Slab],
    pub remotes: &'a [Remote],
    /// Where these parts are, for the words that clients announce to change.
    pub roots_at: u64,
    pub remotes_at: u64,
    /// Where the first slab begins.
    pub data_at: u64,
    pub slab_shift: u32,
    pub classes: &'static [Class],
    pub limits: Limits,
    pub caches: Caches,
    #[cfg(test)]
    pub flaw: Option<crate::flaw::Flaw>,
}

/// A client in a heap of slabs. Only one thread at a time acts under an identity: its holder, or its recoverer once
/// the holder is dead.
#[derive(Clone, Copy)]
pub(super) struct Owner<'a> {
    pub arena: &'a Arena<'a>,
    pub holding: &'a Holding,
    pub id: u16,
}

/// What a free block has in its first word: the slab, and the next free block of it. Any other value means that the
/// block was written after it was freed.
const FREED: u64 = 0xf5f5 << 48;

/// Slabs of a heap at most.
pub(super) const SLABS_MAX: u64 = 1 << (48 - HEAD_BITS);

#[inline(always)]
fn link_bits(slab: u32, next: Link) -> u64 {
    FREED | u64::from(slab) << HEAD_BITS | u64::from(next)
}

impl<'a> Arena<'a> {
    /// The client with this identity in this heap.
    pub(super) fn owner(&'a self, id: u16) -> Owner<'a> {
        Owner { arena: self, holding: &self.holdings[usize::from(id)], id }
    }

    /// Whether a slab of this heap has the offset.
    #[inline(always)]
    pub(super) fn has(&self, offset: u64) -> bool {
        offset >= self.data_at
            && (offset - self.data_at) >> self.slab_shift < self.slabs.len() as u64
    }

    /// Bytes of the block that begins at an offset, if its slab has blocks.
    #[cfg(not(loom))]
    pub(super) fn block_bytes(&self, offset: u64) -> Option<u64> {
        self.block_bytes_of(self.shape(), offset)
    }

    /// The same if the shape of the slabs is known at compile time.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(super) fn block_bytes_of(&self, shape: Shape, offset: u64) -> Option<u64> {
        let (number, within) = shape.split(offset.wrapping_sub(self.data_at));
        let class = self.remotes.get(number)?.class.load(Ordering::Acquire) as usize;
        let class = shape.classes.get(class.wrapping_sub(1))?;
        class.block_at(within).map(|_| class.bytes)
    }

    /// The class of the blocks around an offset.
    #[cfg(not(loom))]
    #[inline]
    pub(super) fn class_of(&self, offset: u64) -> Option<usize> {
        let class = self.remotes.get(self.split(offset).0)?.class.load(Ordering::Acquire);
        (class as usize).checked_sub(1)
    }

    #[inline(always)]
    fn shape(&self) -> Shape {
        Shape { slab_shift: self.slab_shift, classes: self.classes }
    }

    /// The number of the slab that has an offset, and the distance from its beginning.
    #[inline(always)]
    pub(super) fn split(&self, offset: u64) -> (usize, u64) {
        self.shape().split(offset.wrapping_sub(self.data_at))
    }

    /// Where the block at this place is.
    #[inline(always)]
    pub(super) fn offset(&self, slab: u32, block: u32) -> u64 {
        self.shape().offset(self.data_at, slab, block)
    }
}

impl<'a> Owner<'a> {
    /// Gets a block of a slab that is the client's own, for the cell. `None`: the first slab of the class has none, or
    /// a step is open. The step of this one stays open: see [`Owner::store`].
    #[inline(always)]
    pub(super) fn alloc(&self, class: usize, cell: u64) -> Option<u64> {
        self.alloc_of(self.arena.shape(), class, cell)
    }

    /// The same if the shape of the slabs is known at compile time.
    #[inline(always)]
    pub(super) fn alloc_of(&self, shape: Shape, class: usize, cell: u64) -> Option<u64> {
        let arena = self.arena;
        if own(&self.holding.step) != 0 {
            return None;
        }
        let first = List::from_bits(own(self.holding.sized.get(class)?)).first();
        let number = first.wrapping_sub(1);
        let slab = arena.slabs.get(number as usize)?;
        let local = Local::from_bits(own(&slab.local));
        let (block, offset, next) = if local.head() != 0 {
            let block = local.head() - 1;
            let offset = shape.offset(arena.data_at, number, block);
            (block, offset, local.popped(self.link(number, offset)?))
        } else {
            let of = shape.classes.get(class)?;
            if local.virgin() >= of.blocks {
                return None;
            }
            let block = local.virgin() * (of.bytes / 8) as u32;
            (block, shape.offset(arena.data_at, number, block), local.bumped())
        };
        put(&self.holding.cell, cell);
        crash_point!("alloc.aimed");
        if !flawed!(arena, NoStep) {
            put(&self.holding.step, Step::Alloc { slab: number, block }.bits());
        }
        crash_point!("alloc.begun");
        put(&slab.local, next.bits());
        crash_point!("alloc.taken");
        Some(offset)
    }

    /// The same when there was none: finds a slab that has one. `None`: there is no memory.
    #[cold]
    pub(super) fn alloc_refilled(&self, class: usize, cell: u64) -> Result<Option<u64>, PoolError> {
        self.settled()?;
        loop {
            if !self.refill(class)? {
                return Ok(None);
            }
            let block = self.alloc(class, cell);
            if block.is_some() {
                return Ok(block);
            }
        }
    }

    /// Errors, and blocks that nobody stored, leave a step open.
    pub(super) fn settled(&self) -> Result<(), PoolError> {
        if own(&self.holding.step) == 0 { Ok(()) } else { self.settle() }
    }

    /// Writes the block of the open step into the step's cell: from here on it is the caller's.
    #[inline(always)]
    pub(super) fn store(&self, cell: &AtomicU64, offset: u64) {
        put(cell, offset);
        crash_point!("alloc.stored");
        self.close();
    }

    /// The same for a block whose step has no cell yet.
    pub(super) fn store_fresh(&self, (at, cell): (u64, &AtomicU64), offset: u64) {
        put(&self.holding.cell, at);
        crash_point!("alloc.fresh_aimed");
        self.store(cell, offset);
    }

    /// The step is done.
    #[inline(always)]
    pub(super) fn close(&self) {
        put(&self.holding.step, Step::Idle.bits());
        crash_point!("alloc.closed");
    }

    /// Frees the block at this offset, and clears the cell that has it, if there is one. False, and nothing is done: a
    /// step is open, or the block is not a used one of a slab of the client's own.
    #[inline(always)]
    pub(super) fn free_own(
        &self,
        shape: Shape,
        offset: u64,
        cell: Option<(u64, &AtomicU64)>,
    ) -> Option<()> {
        let arena = self.arena;
        if own(&self.holding.step) != 0 {
            return None;
        }
        let (number, within) = shape.split(offset.wrapping_sub(arena.data_at));
        let (remote, slab) = (arena.remotes.get(number)?, arena.slabs.get(number)?);
        if !Shares::from_bits(remote.word.value()).is_owned_by(self.id) {
            return None;
        }
        let local = Local::from_bits(own(&slab.local));
        let block = (within / 8) as u32;
        let class = own(&remote.class) as usize;
        let class = shape.classes.get(class.wrapping_sub(1))?;
        if !local.may_free(class.block_at(within)?, block) {
            return None;
        }
        let word = arena.memory.word(offset)?;
        let number = number as u32;
        put(&self.holding.cell, cell.map_or(0, |(at, _)| at));
        crash_point!("alloc.free_aimed");
        put(&self.holding.step, Step::Free { slab: number, block }.bits());
        crash_point!("alloc.free_begun");
        if let Some((_, cell)) = cell {
            put(cell, 0);
            crash_point!("alloc.cleared");
        }
        put(word, link_bits(number, local.head()));
        crash_point!("alloc.linked");
        let next = local.pushed(block);
        put(&slab.local, next.bits());
        crash_point!("alloc.freed");
        if next.used() != 0 || !self.leaves(number, next) {
            self.close();
        }
        Some(())
    }

    /// The same for a block of any slab.
    #[cold]
    pub(super) fn free(
        &self,
        offset: u64,
        cell: Option<(u64, &AtomicU64)>,
    ) -> Result<(), PoolError> {
        self.settled()?;
        if self.free_own(self.arena.shape(), offset, cell).is_some() {
            // The block is free; what is left of the step waits until the caller's own change is finished.
            return match self.settled() {
                Err(PoolError::Unfinished { .. }) => Ok(()),
                settled => settled,
            };
        }
        let (slab, block) = self.find(offset)?;
        if self.arena.detector.open(self.id).is_some() {
            // Nothing has happened yet, and the caller may try again.
            return Err(PoolError::Unfinished { client: self.id });
        }
        put(&self.holding.cell, cell.map_or(0, |(at, _)| at));
        crash_point!("alloc.free_aimed");
        put(&self.holding.step, Step::Free { slab, block }.bits());
        crash_point!("alloc.free_begun");
        if let Some((_, cell)) = cell {
            put(cell, 0);
            crash_point!("alloc.cleared");
        }
        self.free_block(slab, block)
    }

    /// The slab and the place of the used block that begins at an offset of this heap.
    pub(super) fn find(&self, offset: u64) -> Result<(u32, u32), PoolError> {
        let found = || {
            let (number, within) = self.arena.split(offset);
            let remote = self.arena.remotes.get(number)?;
            let of_class = self.class_of(remote)?.block_at(within)?;
            let block = (within / 8) as u32;
            if Shares::from_bits(remote.word.value()).is_owned_by(self.id) {
                // Only the owner can tell.
                let local = Local::from_bits(own(&self.arena.slabs.get(number)?.local));
                return local.may_free(of_class, block).then_some((number as u32, block));
            }
            Some((number as u32, block))
        };
        found().ok_or(PoolError::NotABlock { offset })
    }

    /// The step `Free` is open, and the cell is clear.
    pub(super) fn free_block(&self, number: u32, block: u32) -> Result<(), PoolError> {
        let remote = self.remote(number)?;
        if !Shares::from_bits(remote.word.value()).is_owned_by(self.id) {
            return self.free_remote(number, block);
        }
        let local = self.free_local(number, block)?;
        if local.used() != 0 || !self.leaves(number, local) {
            self.close();
            return Ok(());
        }
        self.settle()
    }

    /// Puts the block of the open step into the list of its slab, which is the client's own. It may be there already.
    pub(super) fn free_local(&self, number: u32, block: u32) -> Result<Local, PoolError> {
        let slab = self.slab(number)?;
        let local = Local::from_bits(own(&slab.local));
        if local.head() == block + 1 {
            return Ok(local);
        }
        if local.used() == 0 {
            return Err(self.damaged("the count of a slab", local.bits()));
        }
        self.set_link(number, self.arena.offset(number, block), local.head())?;
        crash_point!("alloc.linked");
        let next = local.pushed(block);
        put(&slab.local, next.bits());
        crash_point!("alloc.freed");
        Ok(next)
    }

    /// Whether a slab without used blocks leaves the list of its class: then the step says so. The first one stays,
    /// as the next block comes of it.
    #[inline(always)]
    fn leaves(&self, number: u32, local: Local) -> bool {
        let list = self.holding.sized.get((local.class() as usize).wrapping_sub(1));
        if list.is_some_and(|list| List::from_bits(own(list)).first() == number + 1) {
            return false;
        }
        put(&self.holding.step, Step::Retire { slab: number }.bits());
        crash_point!("alloc.retire_begun");
        true
    }

    #[inline(always)]
    pub(super) fn class_of(&self, remote: &Remote) -> Option<&'a Class> {
        let class = remote.class.load(Ordering::Acquire) as usize;
        self.arena.classes.get(class.wrapping_sub(1))
    }

    /// The free block behind this one. `None`: it was written after it was freed.
    #[inline(always)]
    pub(super) fn link(&self, slab: u32, offset: u64) -> Option<Link> {
        let bits = self.arena.memory.word(offset)?.load(Ordering::Acquire);
        let next = (bits & ((1 << HEAD_BITS) - 1)) as Link;
        (link_bits(slab, next) == bits).then_some(next)
    }

    #[inline(always)]
    pub(super) fn set_link(&self, slab: u32, offset: u64, next: Link) -> Result<(), PoolError> {
        let word = self.arena.memory.word(offset);
        let word = word.ok_or_else(|| self.damaged("the place of a block", offset))?;
        put(word, link_bits(slab, next));
        Ok(())
    }

    #[inline(always)]
    pub(super) fn slab(&self, number: u32) -> Result<&'a Slab, PoolError> {
        let slab = self.arena.slabs.get(number as usize);
        slab.ok_or_else(|| self.damaged("the number of a slab", number.into()))
    }

    #[inline(always)]
    pub(super) fn remote(&self, number: u32) -> Result<&'a Remote, PoolError> {
        let remote = self.arena.remotes.get(number as usize);
        remote.ok_or_else(|| self.damaged("the number of a slab", number.into()))
    }

    #[cold]
    pub(super) fn damaged(&self, what: &'static str, found: u64) -> PoolError {
        PoolError::Damaged { what, client: self.id, found }
    }
}
