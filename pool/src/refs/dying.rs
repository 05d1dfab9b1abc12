//! Objects without a reference: when they are freed, and what they refer to is released.

use super::header::{Count, EMBEDDED_MAX, OBJECT, is_single};
use super::holder::{Holder, Memory};
use super::holding::{CURRENT_AT, HOLDING_BYTES};
use crate::PoolError;
use crate::crash::crash_point;
use crate::detect::{ERA_MAX, Tag};
use crate::flaw::flawed;
use crate::sync::{AtomicU64, Ordering, fence, own, put, put_and_fence};

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
        self.drain_of(None)
    }

    /// The same. Objects that shared cells had were unlinked in the era `retired` at the latest; `None`: in this one.
    fn drain_of(&self, retired: Option<u64>) -> Result<u64, PoolError> {
        let (mut kept, mut horizon) = (0, None);
        while let Some(object) = self.next_dying()? {
            let header = self.memory.header(object)?;
            let is_protected = if Count::from_bits(header.word.value()).is_unlinked() {
                let latest = match horizon {
                    Some(latest) => latest,
                    None => {
                        let retired = retired.map_or_else(|| self.era(), Ok)?;
                        *horizon.insert(self.latest_look(retired))
                    }
                };
                latest >= header.birth.load(Ordering::Relaxed)
            } else {
                self.is_protected(object)?
            };
            if is_protected {
                self.keep(object)?;
                kept += 1;
            } else {
                self.finish(object)?;
            }
        }
        Ok(kept)
    }

    /// Whether readers have kept objects from being freed, or shared cells had some.
    #[inline]
    pub(super) fn has_kept(&self) -> bool {
        self.holding.keeps()
    }

    /// Looks again at the objects that readers kept. A new era begins: readers that come later keep none of them.
    /// Returns how many of the others are still kept, and whether all that was unlinked since the last look is.
    pub(super) fn revisit(&self) -> Result<(u64, bool), PoolError> {
        self.drain()?;
        if !self.has_kept() {
            return Ok((0, false));
        }
        self.check_end(&self.holding.kept)?;
        self.check_end(&self.holding.aged)?;
        // The clock stops at its last era.
        let era = self.era()?;
        self.table.clock.fetch_add(1, Ordering::AcqRel);
        let holding = self.holding;
        let (mut kept, mut is_aged) = (0, false);
        if own(&holding.kept) != 0 {
            self.take_list(&holding.kept);
            kept += self.drain()?;
        }
        if own(&holding.aged) != 0 {
            self.take_list(&holding.aged);
            kept += self.drain_of(Some(own(&holding.retired)))?;
        }
        if own(&holding.unlinked) != 0 {
            if self.latest_look(era) == 0 {
                self.check_end(&holding.unlinked)?;
                self.take_list(&holding.unlinked);
                kept += self.drain_of(Some(era))?;
            } else {
                is_aged = true;
            }
            // If others look now, most of them would stay.
            put(&holding.retired, era);
            crash_point!("shared.retiring");
            put(&holding.aged, own(&holding.unlinked));
            crash_point!("shared.aged");
            put(&holding.unlinked, 0);
            crash_point!("shared.unlisted");
        }
        Ok((kept, is_aged))
    }

    /// All objects of a list are dying.
    fn take_list(&self, list: &AtomicU64) {
        put(&self.holding.dying, own(list));
        crash_point!("refs.revisited");
        put(list, 0);
        crash_point!("refs.unkept");
    }

    /// Lists of objects that may be looked at.
    fn lists(&self) -> [&AtomicU64; 3] {
        [&self.holding.kept, &self.holding.aged, &self.holding.unlinked]
    }

    /// An error if a list of kept objects has no end: they would be freed more than once.
    fn check_end(&self, list: &AtomicU64) -> Result<(), PoolError> {
        let (mut object, mut earlier) = (own(list), 0);
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
        let (mut current, dying) = (own(&holding.current), own(&holding.dying));
        for list in self.lists() {
            if dying != 0 && dying == own(list) {
                // A look at the list has begun.
                put(list, 0);
                crash_point!("refs.unkept");
            } else if current != 0 && current == own(list) {
                put(&holding.current, 0);
                crash_point!("refs.kept");
                current = 0;
            }
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
        let list = if Count::from_bits(header.word.value()).is_unlinked() {
            // Others may still change its count.
            &self.holding.unlinked
        } else {
            header.retire(self.era()?);
            crash_point!("refs.retired");
            &self.holding.kept
        };
        put(&header.next, own(list));
        crash_point!("refs.keep_linked");
        put(list, object);
        crash_point!("refs.keep_pushed");
        put(&self.holding.current, 0);
        crash_point!("refs.kept");
        Ok(())
    }

    /// Releases what the current object refers to, and frees it.
    fn finish(&self, object: u64) -> Result<(), PoolError> {
        let seen = self.memory.header(object)?.word.load();
        let count = Count::from_bits(seen.value);
        let at = self.table.holdings_at + u64::from(self.id) * HOLDING_BYTES;
        let is_last = count.count() == 0 || is_single(seen);
        if count.embedded() > EMBEDDED_MAX.into() || !is_last && !count.is_unlinked() {
            return Err(self.damaged("a dying object", seen.value));
        }
        if !is_last {
            // Others count it. Nobody finds it any more who does not.
            return self.release(at + CURRENT_AT, object);
        }
        for n in 0..count.embedded() {
            let cell = self.memory.embedded(object, n);
            let other = own(self.memory.cell(cell)?) & OBJECT;
            if other != 0 {
                self.release(cell, other)?;
            }
        }
        if count.is_unlinked() && count.embedded() == 0 && self.spare(object)? {
            return Ok(());
        }
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
        Ok(self.lookers().any(covers))
    }

    /// The last era in which a client looks that may have found what was unlinked from shared cells before, in the era
    /// `retired` at the latest. What was born later is looked at by nobody. 0: nobody looks.
    fn latest_look(&self, retired: u64) -> u64 {
        if flawed!(self.table, NoHazard) {
            return 0;
        }
        // The cells were changed before a reader's eras are read: see `Holder::look`.
        fence(Ordering::SeqCst);
        let mut latest = 0;
        for id in self.lookers() {
            let Some(holding) = self.table.holdings.get(id) else { continue };
            // The order matters: a reader writes `upper` first.
            let lower = holding.lower.load(Ordering::Acquire);
            if lower != 0 && lower <= retired {
                latest = latest.max(holding.upper.load(Ordering::Acquire));
            }
        }
        latest
    }

    /// The identities of clients that look at objects, perhaps.
    fn lookers(&self) -> impl Iterator<Item = usize> {
        self.table.readers.iter().enumerate().flat_map(|(n, word)| {
            let bits = word.load(Ordering::Acquire);
            let rest = |bits: &u64| Some(bits & bits.wrapping_sub(1));
            let bits = std::iter::successors(Some(bits), rest).take_while(|bits| *bits != 0);
            bits.map(move |bits| n * 64 + bits.trailing_zeros() as usize)
        })
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
            put_and_fence(&self.holding.lower, era);
            crash_point!("refs.lower");
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
        self.look_by(|| cell.load(Ordering::Acquire))
    }

    /// The same with a load of another kind.
    #[inline(always)]
    pub(super) fn look_by<T>(&self, load: impl Fn() -> T) -> Result<T, PoolError> {
        loop {
            let loaded = load();
            let era = self.era()?;
            if era == own(&self.holding.upper) {
                return Ok(loaded);
            }
            put_and_fence(&self.holding.upper, era);
        }
    }

    /// The client looks at nothing that it loaded before. Without a fence in the same era.
    pub(super) fn renew_looking(&self) -> Result<(), PoolError> {
        let era = self.era()?;
        if era != own(&self.holding.lower) {
            put(&self.holding.upper, era);
            crash_point!("refs.upper");
            put_and_fence(&self.holding.lower, era);
            crash_point!("refs.lower");
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
