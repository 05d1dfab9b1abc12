//! A heap in a pool, and a client of it.

use super::OF_HEAP;
use super::arena::{Arena, Limits, Memory, PARTIAL, Root, SLABS_MAX, Shape};
use super::blocks::{Blocks, From};
use super::caches::{Caches, Coherence, Flushes, LINE_BYTES};
use super::class::{
    Class, GRANULE_SHIFT, LARGE, LARGE_SHIFT, MEDIUM, MEDIUM_SHIFT, SMALL, SMALL_SHIFT,
};
use super::holding::Holding;
use super::huge::{Huge, HugeHolding};
use super::slab::{Remote, Slab};
use crate::PoolError;
use crate::crash::is_dead;
use crate::detect::{Change, Marked, Word};
use crate::pool::{Client, Done, Mark, Pool};
use crate::recover::{Recovered, Redo};
use crate::segment::{PAGE_BYTES, Shared};
use crate::sync::{AtomicU64, Ordering};
use std::ops::Deref;

/// The data of a pool as a heap, but for what its user keeps at the beginning. Any thread may use it.
///
/// ```text
///   0           reserved                                                              end of the pool
///   +-----------+---------------------+----------------+--------+---------+--------+--------+
///   | the       | lists, words of     | slabs as their | small  | medium  | large  | huge   |
///   | user's    | slabs and granules, | owners know    | blocks | blocks  | blocks | blocks |
///   |           | of all clients      | them, clients  |        |         |        |        |
///   +-----------+---------------------+----------------+--------+---------+--------+--------+
///                                     coherent_bytes
/// ```
///
/// What lies before [`Heap::coherent_bytes`], the parts of the pool included, must be memory that is coherent between
/// all that use the pool. What follows has one user at a time, and may be memory that is not: then the heap is made by
/// [`Heap::of_limited_coherence`].
///
/// Huge and large blocks have a quarter of the space each, and medium blocks an eighth. A heap for huge blocks
/// ([`Heap::of_huge`]) has three quarters for these, an eighth for medium blocks, and no large ones.
pub struct Heap<'a> {
    pool: &'a Pool,
    /// Where the user's part ends.
    start: u64,
    /// By kind.
    arenas: [Arena<'a>; KINDS],
    huge: Huge<'a>,
    coherent_bytes: u64,
    /// All blocks are a multiple of one more than this.
    line_mask: u64,
}

/// A client with its part of a heap. Dropping it gives its slabs to the other clients. Nobody gets the client itself
/// to change it: exchanged for another one, it would act with the slabs of that one.
///
/// ```compile_fail
/// fn exchanged<'h>(one: &mut pool::Allocator<'h>, two: &mut pool::Allocator<'h>) {
///     std::mem::swap(one.client(), two.client());
/// }
/// ```
pub struct Allocator<'a> {
    blocks: Blocks<'a>,
    client: Client<'a>,
}

/// The huge blocks of a heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HugeUse {
    /// The space for them, in bytes.
    pub bytes: u64,
    /// Bytes of it that blocks have, or that are being allocated or freed.
    pub used: u64,
}

/// How the space of a heap is divided.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Division {
    Mixed,
    Huge,
}

impl Division {
    /// Bytes for huge and for large blocks.
    fn parts(self, space: u64) -> (u64, u64) {
        match self {
            Division::Mixed => (space / 4, space / 4),
            Division::Huge => (space / 4 * 3, 0),
        }
    }

    /// In the stamp of the heap.
    fn bits(self) -> u64 {
        match self {
            Division::Mixed => 0,
            Division::Huge => OF_HUGE,
        }
    }
}

/// Slabs of one size.
struct Kind {
    classes: &'static [Class],
    slab_shift: u32,
    limits: Limits,
}

pub(super) const SMALL_KIND: usize = 0;
pub(super) const SMALL_SHAPE: Shape = Shape { slab_shift: SMALL_SHIFT, classes: &SMALL };
pub(super) const KINDS: usize = 3;

static KIND: [Kind; KINDS] = [
    Kind {
        classes: &SMALL,
        slab_shift: SMALL_SHIFT,
        limits: Limits { empty: 64, sized: 16, resident: 256 },
    },
    Kind {
        classes: &MEDIUM,
        slab_shift: MEDIUM_SHIFT,
        limits: Limits { empty: 4, sized: 4, resident: 16 },
    },
    Kind {
        classes: &LARGE,
        slab_shift: LARGE_SHIFT,
        limits: Limits { empty: 1, sized: 2, resident: 2 },
    },
];

/// A block that nobody else knows yet. If its client dies, or drops it, it is free again.
#[must_use]
pub struct Fresh<'a, 'h> {
    allocator: &'a mut Allocator<'h>,
    from: From<'h>,
    offset: u64,
}

/// Where the parts of one heap of slabs lie.
struct Plan {
    roots_at: u64,
    remotes_at: u64,
    holdings_at: u64,
    slabs_at: u64,
}

impl Plan {
    /// Takes room for what all clients change, and for what has one user at a time.
    fn new(all: &mut u64, own: &mut u64, rows: usize, kind: &Kind, slabs: usize) -> Plan {
        let roots_at = take::<Root>(all, PARTIAL + kind.classes.len());
        let remotes_at = take::<Remote>(all, slabs);
        let holdings_at = take::<Holding>(own, rows);
        let slabs_at = take::<Slab>(own, slabs);
        Plan { roots_at, remotes_at, holdings_at, slabs_at }
    }

    fn arena<'a>(
        &self,
        pool: &'a Pool,
        kind: &'static Kind,
        data_at: u64,
        slabs: usize,
        caches: &Caches,
    ) -> Result<Arena<'a>, PoolError> {
        let words = (pool.segment().bytes() - pool.data()) / 8;
        let memory = Memory {
            words: pool.atomics(pool.data(), words as usize)?,
            base: pool.data(),
            segment: Some(pool.segment()),
        };
        fn part<T: Shared>(pool: &Pool, at: u64, count: usize) -> Result<&[T], PoolError> {
            pool.segment().array(at, count)
        }
        Ok(Arena {
            detector: pool.detector(),
            memory,
            roots: part(pool, self.roots_at, PARTIAL + kind.classes.len())?,
            holdings: part(pool, self.holdings_at, pool.clients() + 1)?,
            slabs: part(pool, self.slabs_at, slabs)?,
            remotes: part(pool, self.remotes_at, slabs)?,
            roots_at: self.roots_at,
            remotes_at: self.remotes_at,
            data_at,
            slab_shift: kind.slab_shift,
            classes: kind.classes,
            limits: kind.limits,
            caches: caches.clone(),
            #[cfg(test)]
            flaw: None,
        })
    }
}

impl<'a> Heap<'a> {
    /// A huge block has a whole number of granules of this size, bytes.
    pub const GRANULE_BYTES: u64 = 1 << GRANULE_SHIFT;

    /// The heap in the data of a pool, behind `reserved` bytes, which are the caller's. All processes name the same
    /// number. An error if the pool is too small, or has a heap that was made with another number.
    pub fn new(pool: &'a Pool, reserved: u64) -> Result<Heap<'a>, PoolError> {
        Heap::divided(pool, reserved, Division::Mixed, Coherence::Full)
    }

    /// The same for memory that is coherent in part only ([`Coherence::Limited`]). A block is a whole number of lines
    /// of 64 bytes. Who has written one writes it back by [`Allocator::flush`] before another client may use or free
    /// it, and who gets one from another client drops old copies by the same. A client stays on one host, and is
    /// recovered there. Counted objects and maps need coherent memory, and are refused.
    pub fn of_limited_coherence(pool: &'a Pool, reserved: u64) -> Result<Heap<'a>, PoolError> {
        Heap::divided(pool, reserved, Division::Mixed, Coherence::Limited)
    }

    /// The same as [`Heap::new`], with most of the space for huge blocks. An error also if the pool has a heap with
    /// another division.
    pub fn of_huge(pool: &'a Pool, reserved: u64) -> Result<Heap<'a>, PoolError> {
        Heap::divided(pool, reserved, Division::Huge, Coherence::Full)
    }

    /// The least length of a pool for this many clients, in bytes, whose heap by [`Heap::of_huge`] has room for `huge`
    /// bytes of huge blocks. An error if that is more than a file can have.
    pub fn bytes_of_huge(clients: usize, reserved: u64, huge: u64) -> Result<u64, PoolError> {
        let data = Pool::data_of(clients)?;
        let space = huge.checked_add(2 << GRANULE_SHIFT).and_then(|huge| (huge / 3).checked_mul(4));
        let space = space.map(|space| space.max(SPACE_MIN).next_multiple_of(PAGE_BYTES));
        let reserved = reserved.checked_next_multiple_of(PAGE_BYTES);
        let all = space.zip(reserved).and_then(|(space, reserved)| space.checked_add(reserved));
        let all = all.and_then(|all| all.checked_add(data));
        let is_possible = |all: &u64| *all <= i64::MAX as u64;
        all.filter(is_possible).ok_or(PoolError::NoMemory { bytes: huge })
    }

    fn divided(
        pool: &'a Pool,
        reserved: u64,
        division: Division,
        coherence: Coherence,
    ) -> Result<Heap<'a>, PoolError> {
        let bytes = pool.segment().bytes();
        let start = pool.data().checked_add(reserved).filter(|start| *start < bytes);
        let start = start.map(|start| start.next_multiple_of(PAGE_BYTES));
        let short = PoolError::Range { offset: pool.data(), bytes: reserved };
        let Some(space) = start.and_then(|start| bytes.checked_sub(start)) else {
            return Err(short);
        };
        let start = bytes - space;
        let count = |bytes: u64, kind: &Kind| (bytes >> kind.slab_shift).min(SLABS_MAX) as usize;
        let taken = |slabs: usize, kind: &Kind| (slabs as u64) << kind.slab_shift;
        let [small, medium, large] = &KIND;
        let (for_huge, for_large) = division.parts(space);
        let granules = (for_huge >> GRANULE_SHIFT).min(u32::MAX.into());
        let huge_at = bytes - (granules << GRANULE_SHIFT);
        let large_count = count(for_large, large);
        let large_at = huge_at - taken(large_count, large);
        let medium_count = count(space / 8, medium);
        let medium_at = large_at - taken(medium_count, medium);
        let rows = pool.clients() + 1;
        // What the structures take is missing at the end of the small slabs.
        let small_count = count(medium_at - start, small);
        let counts = [small_count, medium_count, large_count];
        let parts_from = |mut all: u64, mut own: u64| {
            let mut plan = |n: usize| Plan::new(&mut all, &mut own, rows, &KIND[n], counts[n]);
            let plans = [0, 1, 2].map(&mut plan);
            let top_at = take::<AtomicU64>(&mut all, 1);
            let granules_at = take::<AtomicU64>(&mut all, granules as usize);
            let holdings_at = take::<HugeHolding>(&mut own, rows);
            (plans, [top_at, granules_at, holdings_at], all, own)
        };
        // How long the first part is says where the second one begins.
        let (_, _, coherent_bytes, _) = parts_from(start, 0);
        let (plans, [top_at, granules_at, holdings_at], _, small_at) =
            parts_from(start, coherent_bytes);
        if small_at > medium_at {
            return Err(short);
        }
        let small_count = small_count.min(count(medium_at - small_at, small));
        let limited = if coherence == Coherence::Limited { OF_LIMITED } else { 0 };
        stamp(pool, Mark::Heap, start << 8 | division.bits() | limited | STRUCTURES)?;
        let caches = Caches::new(coherence);
        let arena =
            |n: usize, data_at, slabs| plans[n].arena(pool, &KIND[n], data_at, slabs, &caches);
        let arenas = [
            arena(SMALL_KIND, small_at, small_count)?,
            arena(SMALL_KIND + 1, medium_at, medium_count)?,
            arena(SMALL_KIND + 2, large_at, large_count)?,
        ];
        let huge = Huge {
            detector: pool.detector(),
            memory: arenas[SMALL_KIND].memory,
            holdings: pool.segment().array(holdings_at, rows)?,
            granules: pool.segment().array(granules_at, granules as usize)?,
            top: &pool.atomics(top_at, 1)?[0],
            name: top_at,
            data_at: huge_at,
            granule_shift: GRANULE_SHIFT,
            caches: caches.clone(),
            #[cfg(test)]
            flaw: None,
        };
        let line_mask = if caches.are_coherent() { 0 } else { LINE_BYTES - 1 };
        Ok(Heap { pool, start, arenas, huge, coherent_bytes, line_mask })
    }

    /// The heap that others have made in the pool. `None`: there is none.
    pub fn find(pool: &'a Pool) -> Result<Option<Heap<'a>>, PoolError> {
        let found = pool.mark(Mark::Heap).load(Ordering::Acquire);
        if found == 0 {
            return Ok(None);
        }
        // The stamp is compared with that of this program.
        let reserved = (found >> 8).saturating_sub(pool.data());
        let division = if found & OF_HUGE == 0 { Division::Mixed } else { Division::Huge };
        let coherence = if found & OF_LIMITED == 0 { Coherence::Full } else { Coherence::Limited };
        Heap::divided(pool, reserved, division, coherence).map(Some)
    }

    /// Leases an identity to the caller, and makes it a client of the heap. Does not block. An error if the last
    /// holders of all free identities left something that cannot be finished.
    pub fn join(&'a self) -> Result<Allocator<'a>, PoolError> {
        self.pool.join_first(|client| self.allocator(client))
    }

    pub(crate) fn allocator(&'a self, client: Client<'a>) -> Result<Allocator<'a>, PoolError> {
        let mut allocator = Allocator { blocks: self.blocks(client.id()), client };
        allocator.blocks.arrive();
        // A client that was recovered without the heap has perhaps left a step open.
        allocator.settle()?;
        Ok(allocator)
    }

    /// The pool that the heap is in.
    pub fn pool(&self) -> &'a Pool {
        self.pool
    }

    /// Says where the layer above the heap is. An error if others have it elsewhere, or if memory is coherent in part
    /// only: counts are in blocks.
    pub(crate) fn stamp_layer(&self, value: u64) -> Result<(), PoolError> {
        if !self.caches().are_coherent() {
            return Err(PoolError::Coherence);
        }
        stamp(self.pool, Mark::Refs, value)
    }

    /// What that layer has said. 0: nothing.
    pub(crate) fn layer(&self) -> u64 {
        self.pool.mark(Mark::Refs).load(Ordering::Acquire)
    }

    /// Which memory the heap takes for coherent.
    pub fn coherence(&self) -> Coherence {
        self.caches().coherence()
    }

    /// Bytes from the beginning of the pool on that must be coherent between all that use it, whatever the heap takes
    /// for coherent.
    pub fn coherent_bytes(&self) -> u64 {
        self.coherent_bytes
    }

    /// What this process has flushed by this value: nothing if all memory is coherent.
    pub fn flushes(&self) -> Flushes {
        self.caches().flushes()
    }

    /// The caches between the processes and the pool, which all parts of the heap share.
    fn caches(&self) -> &Caches {
        &self.arenas[SMALL_KIND].caches
    }

    /// The size of a block for this many bytes, before it is rounded up to a class.
    #[inline(always)]
    pub(super) fn whole_lines(&self, bytes: u64) -> u64 {
        bytes.max(1).saturating_add(self.line_mask) & !self.line_mask
    }

    /// Where the user's part of the pool ends.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// The part of the client with this identity. Only its holder may use it, or its recoverer.
    pub(crate) fn blocks(&'a self, client: u16) -> Blocks<'a> {
        let owners = self.arenas.each_ref().map(|arena| arena.owner(client));
        Blocks { heap: self, owners, huge: self.huge.owner(client) }
    }

    /// Gives all that the client has to the heap. Its user frees blocks under the same identity, which then has slabs
    /// again.
    pub(crate) fn reclaim(
        &'a self,
        client: u16,
        user: impl FnOnce() -> Result<(), PoolError>,
    ) -> Result<(), PoolError> {
        let blocks = self.blocks(client);
        blocks.settle_all()?;
        user()?;
        blocks.reclaim()
    }

    /// Bytes of the used block that begins at an offset. `None`: none does, or nothing of its slab was ever used. A
    /// free block of a slab looks like a used one. Constant time.
    pub fn block_bytes(&self, offset: u64) -> Option<u64> {
        if self.huge.has(offset) {
            return self.huge.block_bytes(offset);
        }
        let arena = self.arenas.iter().find(|arena| arena.has(offset))?;
        arena.block_bytes(offset)
    }

    /// The same of a small block. `None`: it is no small block.
    #[inline]
    pub fn small_block_bytes(&self, offset: u64) -> Option<u64> {
        let arena = &self.arenas[SMALL_KIND];
        if !arena.has(offset) {
            return None;
        }
        arena.block_bytes_of(SMALL_SHAPE, offset)
    }

    /// Where the huge block begins that has a granule at an offset. `None`: none has. It takes time in proportion to
    /// the granules before that one.
    pub fn huge_block_of(&self, offset: u64) -> Option<u64> {
        self.huge.begin_of(offset)
    }

    /// The size of the block that is handed out for this many bytes. All blocks of a size that is a multiple of a power
    /// of two, up to [`Heap::GRANULE_BYTES`], begin at a multiple of it, if the pool is a multiple of granules long;
    /// small ones up to a page. Where memory is coherent in part only, `bytes` counts as the next multiple of 64.
    #[inline]
    pub fn size_of_block(bytes: u64) -> u64 {
        super::size_of_block(bytes).1
    }

    /// How much of the space for huge blocks is used now. It takes time in proportion to the granules that were ever
    /// used.
    pub fn huge_use(&self) -> HugeUse {
        let bytes = (self.huge.granules.len() as u64) << GRANULE_SHIFT;
        HugeUse { bytes, used: self.huge.used_granules() << GRANULE_SHIFT }
    }

    pub(super) fn arenas(&self) -> &[Arena<'a>] {
        &self.arenas
    }

    pub(super) fn huge(&self) -> &Huge<'a> {
        &self.huge
    }
}

/// Says where a layer is. An error if others have it elsewhere.
fn stamp(pool: &Pool, layer: Mark, value: u64) -> Result<(), PoolError> {
    let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
    match pool.mark(layer).compare_exchange(0, value, success, failure) {
        Err(found) if found != value => Err(PoolError::Layout { found, supported: value }),
        _ => Ok(()),
    }
}

/// A number of the structures' sizes.
const STRUCTURES: u64 = (size_of::<Holding>() as u64) >> 6 ^ 2;

/// In the stamp of a heap for huge blocks.
const OF_HUGE: u64 = 1 << 7;

/// In the stamp of a heap whose memory is coherent in part.
const OF_LIMITED: u64 = 1 << 6;

const _: () = assert!(STRUCTURES < OF_LIMITED);

/// Takes room for some values of a type, at a multiple of a page, and moves the place behind it.
fn take<T>(at: &mut u64, count: usize) -> u64 {
    let begin = *at;
    *at = (begin + (count * size_of::<T>()) as u64).next_multiple_of(PAGE_BYTES);
    begin
}

/// Space of a heap for huge blocks at least: room for the structures, and for a medium slab of each of 16 clients.
const SPACE_MIN: u64 = 64 << 20;

impl<'h> Allocator<'h> {
    /// Allocates a block of at least this many bytes, and writes its offset into the cell, an aligned word in the data
    /// of the pool that no other client writes. If the client dies meanwhile, the cell has the block or there is none.
    /// What is in the block is undefined. Constant time, unless the memory is used up.
    #[inline]
    pub fn alloc_into(&mut self, cell: u64, bytes: u64) -> Result<u64, PoolError> {
        self.blocks.alloc_into(cell, bytes, |_| {})
    }

    /// Allocates a block that nobody knows yet.
    pub fn alloc(&mut self, bytes: u64) -> Result<Fresh<'_, 'h>, PoolError> {
        let (from, offset) = self.blocks.get(bytes, 0)?;
        Ok(Fresh { allocator: self, from, offset })
    }

    /// Frees the block whose offset the cell has, and clears the cell: both, or neither if the client dies before.
    /// Returns the offset.
    #[inline]
    pub fn free_from(&mut self, cell: u64) -> Result<u64, PoolError> {
        self.blocks.free_from(cell)
    }

    /// Frees a block. The caller has made sure that nobody else will, also if it dies now.
    #[inline]
    pub fn free(&mut self, offset: u64) -> Result<(), PoolError> {
        self.blocks.free(offset)
    }

    /// Changes the word at `target` from what was seen, whose value is the offset of a block, to `value`, and frees
    /// the block: both, or neither. `Err` has what the word has instead.
    pub fn withdraw(
        &mut self,
        target: u64,
        seen: Marked,
        value: u64,
    ) -> Result<Result<(), Marked>, PoolError> {
        let word = (self.word(target)?, target);
        match self.blocks.of(seen.value) {
            From::Slab(owner) => owner.withdraw(word, seen, value),
            From::Huge(owner) => owner.withdraw(word, seen, value),
        }
    }

    /// Makes a huge block of a private pool larger where it is: it has at least this many bytes afterwards, and the new
    /// ones are zero. False: it has the size that it had, as what follows is used, or the pool is not private: death in
    /// between is not provided for. Nobody else may free or grow the block meanwhile.
    pub fn grow_private(&mut self, offset: u64, bytes: u64) -> Result<bool, PoolError> {
        if !self.blocks.heap.pool.segment().is_private() {
            return Ok(false);
        }
        match self.blocks.of(offset) {
            From::Slab(_) => Ok(false),
            From::Huge(owner) => owner.grow(offset, bytes),
        }
    }

    /// Writes the lines of a range of blocks back, and drops them from this host's caches; nothing if all memory is
    /// coherent. Before other clients use or free what this one has written, and before this one reads what others have
    /// written back ([`Heap::of_limited_coherence`]). An error if the range is not in the data of the pool.
    pub fn flush(&self, offset: u64, bytes: u64) -> Result<(), PoolError> {
        let heap = self.blocks.heap;
        if !heap.caches().are_coherent() {
            let (begin, bytes) = (offset & !7, bytes.saturating_add(offset & 7));
            heap.pool.atomics(begin, bytes.div_ceil(8) as usize)?;
            heap.arenas[SMALL_KIND].memory.flush(heap.caches(), begin, bytes);
        }
        Ok(())
    }

    /// Gives all memory to the heap that no block of this client needs. It takes time in proportion to its slabs.
    pub fn trim(&mut self) -> Result<(), PoolError> {
        self.blocks.trim()
    }

    /// Finishes what an error, or a block that was forgotten, has left open. Other operations do that first, too.
    pub fn settle(&mut self) -> Result<(), PoolError> {
        self.blocks.settle()
    }

    /// For tests: finds all slabs that others have emptied.
    #[cfg(test)]
    pub(super) fn scavenge(&mut self) -> Result<(), PoolError> {
        self.settle()?;
        self.blocks.scavenge()
    }

    /// Recovers the clients that are dead now, in this heap and in what else `redo` knows. All that recover clients of
    /// a pool with a heap do it by this.
    pub fn recover(&self, redo: &impl Redo) -> Result<Recovered, PoolError> {
        self.client.recover(&HeapRedo { heap: self.blocks.heap, user: redo })
    }

    /// Changes a word, as [`Client::exchange`]. It must be finished before the next block is allocated or freed.
    pub fn exchange(
        &mut self,
        change: &Change,
        seen: Marked,
        value: u64,
    ) -> Result<Result<Done, Marked>, PoolError> {
        self.client.exchange(change, seen, value)
    }

    /// All that belongs to the change is written, as [`Client::finish`].
    pub fn finish(&mut self, done: Done) {
        self.client.finish(done);
    }

    fn word(&self, offset: u64) -> Result<&'h Word, PoolError> {
        Ok(&self.blocks.heap.pool.words(offset, 1)?[0])
    }
}

impl<'h> Deref for Allocator<'h> {
    type Target = Client<'h>;

    fn deref(&self) -> &Client<'h> {
        &self.client
    }
}

impl Drop for Allocator<'_> {
    fn drop(&mut self) {
        if !is_dead() {
            // If it fails, the next holder of the identity has the slabs.
            let _ = self.trim();
            self.blocks.depart();
        }
    }
}

impl<'h> Fresh<'_, 'h> {
    /// Where the block is.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Writes the offset into the cell: from now on the block is used.
    pub fn store(self, cell: u64) -> Result<u64, PoolError> {
        let word =
            self.allocator.blocks.cell(cell).ok_or(PoolError::Range { offset: cell, bytes: 8 })?;
        match &self.from {
            From::Slab(owner) => owner.store_fresh((cell, word), self.offset),
            From::Huge(owner) => owner.store_fresh((cell, word), self.offset),
        }
        Ok(self.offset)
    }

    /// Changes the word at `target` from what was seen to the block's offset: from then on the block is used. `Err`
    /// has what the word has instead, and the block.
    pub fn publish(
        self,
        target: u64,
        seen: Marked,
    ) -> Result<Result<(), (Self, Marked)>, PoolError> {
        let word = self.allocator.word(target)?;
        let published = match &self.from {
            From::Slab(owner) => owner.publish((word, target), seen, self.offset),
            From::Huge(owner) => owner.publish((word, target), seen, self.offset),
        };
        Ok(match published? {
            Ok(()) => Ok(()),
            Err(other) => Err((self, other)),
        })
    }
}

impl Drop for Fresh<'_, '_> {
    fn drop(&mut self) {
        // If it fails, the step stays open, and the next operation frees the block.
        let _ = self.from.settled();
    }
}

/// Recovery of a heap and of what its user has in the same pool.
pub(crate) struct HeapRedo<'a, R> {
    pub heap: &'a Heap<'a>,
    pub user: &'a R,
}

impl<R: Redo> Redo for HeapRedo<'_, R> {
    fn word(&self, target: u64) -> Result<&Word, PoolError> {
        if target & OF_HEAP == 0 {
            return self.user.word(target);
        }
        Ok(&self.heap.pool.words(target & !OF_HEAP, 1)?[0])
    }

    fn knows(&self, target: Option<u64>) -> bool {
        target.is_some_and(|target| target & OF_HEAP != 0) || self.user.knows(target)
    }

    fn can_reclaim(&self) -> Result<(), PoolError> {
        self.user.can_reclaim()
    }

    fn redo(&self, client: u16, change: &Change, has_happened: bool) -> Result<(), PoolError> {
        if change.target & OF_HEAP == 0 {
            return self.user.redo(client, change, has_happened);
        }
        let found = change.operation[4];
        let damaged = PoolError::Damaged { what: "the change", client, found };
        if self.heap.huge.name == found {
            return self.heap.huge.owner(client).redo(change, has_happened);
        }
        let arena = self.heap.arenas.iter().find(|arena| arena.roots_at == found);
        let arena = arena.ok_or(damaged)?;
        arena.owner(client).redo(change, has_happened)
    }

    fn reclaim(&self, client: u16) -> Result<(), PoolError> {
        self.heap.reclaim(client, || self.user.reclaim(client))
    }
}
