//! Objects without a reference: when they are freed, and what they refer to is released.

use super::header::{Count, EMBEDDED_MAX, is_private};
use super::holder::{Holder, Memory};
use super::holding::{CURRENT_AT, HOLDING_BYTES};
use crate::PoolError;
use crate::crash::crash_point;
use crate::detect::{ERA_MAX, Tag};
use crate::flaw::flawed;
use crate::sync::{Ordering, fence, own, put};

impl<M: Memory> Holder<'_, M> {
    /// Releases the reference of a root, and frees all objects that nothing refers to any more.
    #[inline]
    pub(super) fn release_root(&self, cell: u64, object: u64) -> Result<(), PoolError> {
        if self.memory.header(object)?.is_simple() {
            return self.memory.free_from(cell);
        }
        self.release_shared(cell, object)
    }

    #[cold]
    fn release_shared(&self, cell: u64, object: u64) -> Result<(), PoolError> {
        self.release(cell, object)?;
        self.drain().map(|_| ())
    }

    /// Frees the dying objects that no reader looks at, and those that die by it. Takes time in proportion to what is
    /// freed, and no memory. May be repeated. Returns how many others it has kept.
    pub(super) fn drain(&self) -> Result<u64, PoolError> {
        let mut kept = 0;
        while let Some(object) = self.next_dying()? {
            if self.is_protected(object)? {
                self.keep(object)?;
                kept += 1;
            } else {
                self.finish(object)?;
            }
        }
        Ok(kept)
    }

    /// Whether readers have kept objects from being freed.
    pub(super) fn has_kept(&self) -> bool {
        own(&self.holding.kept) != 0
    }

    /// Looks again at the objects that readers kept. A new era begins: readers that come later keep none of them.
    /// Returns how many are still kept.
    pub(super) fn revisit(&self) -> Result<u64, PoolError> {
        self.drain()?;
        if !self.has_kept() {
            return Ok(0);
        }
        self.check_kept()?;
        // The clock stops at its last era.
        self.era()?;
        self.table.clock.fetch_add(1, Ordering::AcqRel);
        put(&self.holding.dying, own(&self.holding.kept));
        crash_point!("refs.revisited");
        put(&self.holding.kept, 0);
        crash_point!("refs.unkept");
        self.drain()
    }

    /// An error if the list of kept objects has no end: they would be freed more than once.
    fn check_kept(&self) -> Result<(), PoolError> {
        let (mut object, mut earlier) = (own(&self.holding.kept), 0);
        // The earlier one is remembered for twice as many steps each time, so it is met again if the list comes back.
        let (mut steps, mut limit) = (0, 1);
        while object != 0 {
            if object == earlier {
                return Err(self.damaged("a list of kept objects", object));
            }
            if steps == limit {
                (earlier, steps, limit) = (object, 0, 2 * limit);
            }
            object = own(&self.memory.header(object)?.next);
            steps += 1;
        }
        Ok(())
    }

    /// Makes the first dying object the current one. `None`: there is none.
    fn next_dying(&self) -> Result<Option<u64>, PoolError> {
        let holding = self.holding;
        let [mut current, dying, kept] = [&holding.current, &holding.dying, &holding.kept].map(own);
        if dying != 0 && dying == kept {
            // A look at the kept ones has begun.
            put(&holding.kept, 0);
            crash_point!("refs.unkept");
        } else if current != 0 && current == kept {
            put(&holding.current, 0);
            crash_point!("refs.kept");
            current = 0;
        }
        if current == 0 {
            if dying == 0 {
                return Ok(None);
            }
            put(&holding.current, dying);
            crash_point!("refs.dying_popped");
            current = dying;
        }
        if current == dying {
            put(&holding.dying, own(&self.memory.header(current)?.next));
            crash_point!("refs.dying_taken");
        }
        Ok(Some(current))
    }

    /// Puts the current object aside: a reader looks at it, perhaps.
    fn keep(&self, object: u64) -> Result<(), PoolError> {
        let header = self.memory.header(object)?;
        header.retire(self.era()?);
        crash_point!("refs.retired");
        put(&header.next, own(&self.holding.kept));
        crash_point!("refs.keep_linked");
        put(&self.holding.kept, object);
        crash_point!("refs.keep_pushed");
        put(&self.holding.current, 0);
        crash_point!("refs.kept");
        Ok(())
    }

    /// Releases what the current object refers to, and frees it.
    fn finish(&self, object: u64) -> Result<(), PoolError> {
        let seen = self.memory.header(object)?.word.load();
        let count = Count::from_bits(seen.value);
        if count.embedded() > EMBEDDED_MAX.into() || count.count() != 0 && !is_private(seen) {
            return Err(self.damaged("a dying object", seen.value));
        }
        for n in 0..count.embedded() {
            let cell = self.memory.embedded(object, n);
            let other = own(self.memory.cell(cell)?);
            if other != 0 {
                self.release(cell, other)?;
            }
        }
        let at = self.table.holdings_at + u64::from(self.id) * HOLDING_BYTES;
        self.memory.free_from(at + CURRENT_AT)
    }

    /// The era of now, from 1 on. An error if no tag can have it.
    #[inline(always)]
    pub(super) fn era(&self) -> Result<u64, PoolError> {
        let clock = self.table.clock.load(Ordering::Acquire);
        if clock < ERA_MAX { Ok(clock + 1) } else { Err(self.damaged("the clock", clock)) }
    }

    /// Whether a client looks at objects of an era in which this one lived. No cell of an object has it any more.
    fn is_protected(&self, object: u64) -> Result<bool, PoolError> {
        let header = self.memory.header(object)?;
        if header.word.load().tag == Tag::default() || flawed!(self.table, NoHazard) {
            return Ok(false);
        }
        // The cells were cleared before a reader's eras are read: see `Holder::look`.
        fence(Ordering::SeqCst);
        let birth = header.birth.load(Ordering::Relaxed);
        let retired = header.retired().map_or_else(|| self.era(), Ok)?;
        let covers = |id: usize| {
            let Some(holding) = self.table.holdings.get(id) else { return false };
            // The order matters: a reader writes `upper` first.
            let lower = holding.lower.load(Ordering::Acquire);
            lower != 0 && lower <= retired && holding.upper.load(Ordering::Acquire) >= birth
        };
        for (n, word) in self.table.readers.iter().enumerate() {
            let mut bits = word.load(Ordering::Acquire);
            while bits != 0 {
                if covers(n * 64 + bits.trailing_zeros() as usize) {
                    return Ok(true);
                }
                bits &= bits - 1;
            }
        }
        Ok(false)
    }

    /// The client begins to look at objects that it does not count: what it loads by [`Holder::look`] is not freed
    /// before [`Holder::end_looking`].
    pub(super) fn begin_looking(&self) -> Result<(), PoolError> {
        let (word, bit) = (usize::from(self.id) / 64, 1 << (self.id % 64));
        if self.table.readers[word].load(Ordering::Relaxed) & bit == 0 {
            self.table.readers[word].fetch_or(bit, Ordering::AcqRel);
            crash_point!("refs.reader_listed");
        }
        let mut era = self.era()?;
        loop {
            put(&self.holding.upper, era);
            crash_point!("refs.upper");
            put(&self.holding.lower, era);
            crash_point!("refs.lower");
            fence(Ordering::SeqCst);
            let now = self.era()?;
            if now == era {
                return Ok(());
            }
            era = now;
        }
    }

    /// Loads a reference that other clients may change. Acquire: what was written to the object before is seen.
    ///
    /// The reader announces the era before it loads. If it loads the object, it did so before the cell was cleared, so
    /// the object died in this era or later; and it was born in this era at the latest, as the era is the same
    /// afterwards. A client that frees the object cleared the cell before it reads the announcement.
    #[inline]
    pub(super) fn look(&self, cell: u64) -> Result<u64, PoolError> {
        let cell = self.memory.cell(cell)?;
        loop {
            let object = cell.load(Ordering::Acquire);
            let era = self.era()?;
            if era == own(&self.holding.upper) {
                return Ok(object);
            }
            put(&self.holding.upper, era);
            fence(Ordering::SeqCst);
        }
    }

    /// The client looks at nothing that it loaded before. Without a fence in the same era.
    pub(super) fn renew_looking(&self) -> Result<(), PoolError> {
        let era = self.era()?;
        if era != own(&self.holding.lower) {
            put(&self.holding.upper, era);
            crash_point!("refs.upper");
            put(&self.holding.lower, era);
            crash_point!("refs.lower");
            fence(Ordering::SeqCst);
        }
        Ok(())
    }

    pub(super) fn end_looking(&self) {
        put(&self.holding.lower, 0);
        crash_point!("refs.looked");
    }

    /// The client never looks any more.
    pub(super) fn unlist_reader(&self) {
        self.end_looking();
        let (word, bit) = (usize::from(self.id) / 64, 1 << (self.id % 64));
        if self.table.readers[word].load(Ordering::Relaxed) & bit != 0 {
            self.table.readers[word].fetch_and(!bit, Ordering::AcqRel);
        }
        crash_point!("refs.reader_unlisted");
    }
}
