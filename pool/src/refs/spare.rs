//! Objects of shared cells that nobody knows any more, for the next ones of the same size.
//!
//! A map that replaces a value needs a block, and has one to free a little later, of the same size mostly. A client
//! keeps some of these blocks as they are, in a list for each small size: they need no free, which may be a change of a
//! slab that others share, and their headers are in its cache. A spare object counts one reference, which its list has.

use super::holder::{Holder, Memory};
use super::holding::{CURRENT_AT, HOLDING_BYTES, TAKE};
use crate::PoolError;
use crate::crash::crash_point;
use crate::flaw::flawed;
use crate::sync::{AtomicU64, Ordering, own, put};

/// The beginning of a list of spare objects, as one word:
///
/// ```text
///   63          48 47                                                0
///   +-------------+--------------------------------------------------+
///   | count       | first                                            |
///   +-------------+--------------------------------------------------+
/// ```
#[derive(Clone, Copy)]
struct Spares(u64);

const FIRST_BITS: u32 = 48;

/// Spare objects of one size at most. Tests come to the limit soon.
const LIMIT: u64 = if cfg!(test) { 6 } else { 128 };

impl Spares {
    #[inline(always)]
    fn of(list: &AtomicU64) -> Spares {
        Spares(own(list))
    }

    #[inline(always)]
    fn first(self) -> u64 {
        self.0 & ((1 << FIRST_BITS) - 1)
    }

    #[inline(always)]
    fn count(self) -> u64 {
        self.0 >> FIRST_BITS
    }

    #[inline(always)]
    fn word(count: u64, first: u64) -> u64 {
        count << FIRST_BITS | first
    }
}

impl<M: Memory> Holder<'_, M> {
    /// Keeps the current object, which nobody else knows, as a spare one. False: there are enough, or it is none of the
    /// sizes that are kept.
    #[inline]
    pub(super) fn spare(&self, object: u64) -> Result<bool, PoolError> {
        let Some(class) = self.memory.class_of(object) else { return Ok(false) };
        let Some(list) = self.holding.spares.get(class) else { return Ok(false) };
        let spares = Spares::of(list);
        if spares.count() >= LIMIT || object >> FIRST_BITS != 0 {
            return Ok(false);
        }
        put(&self.memory.header(object)?.next, spares.first());
        crash_point!("shared.spare_linked");
        put(list, Spares::word(spares.count() + 1, object));
        crash_point!("shared.spared");
        put(&self.holding.current, 0);
        crash_point!("shared.spare_kept");
        Ok(true)
    }

    /// Moves a spare object of a class into an empty root. `None`: there is none.
    #[inline]
    pub(super) fn take_spare(
        &self,
        class: usize,
        root: u64,
        birth: u64,
    ) -> Result<Option<u64>, PoolError> {
        let Some(list) = self.holding.spares.get(class) else { return Ok(None) };
        let object = Spares::of(list).first();
        if object == 0 {
            return Ok(None);
        }
        let holding = self.holding;
        self.memory.header(object)?.birth.store(birth, Ordering::Relaxed);
        put(&holding.object, object);
        put(&holding.to, root);
        put(&holding.place, class as u64);
        crash_point!("shared.take_aimed");
        if !flawed!(self.table, NoTakeStep) {
            put(&holding.step, TAKE);
        }
        crash_point!("shared.take_begun");
        self.finish_take()?;
        Ok(Some(object))
    }

    /// The step `TAKE` is open.
    #[inline]
    pub(super) fn finish_take(&self) -> Result<(), PoolError> {
        let (object, class) = (own(&self.holding.object), own(&self.holding.place));
        let list = self.holding.spares.get(class as usize);
        let list = list.ok_or_else(|| self.damaged("a class of spare objects", class))?;
        let spares = Spares::of(list);
        if spares.first() == object {
            let next = own(&self.memory.header(object)?.next);
            put(list, Spares::word(spares.count().saturating_sub(1), next));
            crash_point!("shared.take_popped");
        }
        put(self.memory.cell(own(&self.holding.to))?, object);
        crash_point!("shared.taken");
        self.close();
        Ok(())
    }

    /// An object that is both current and spare is spare: it was about to become the one or the other.
    pub(super) fn settle_spare(&self) {
        let current = own(&self.holding.current);
        let is_spare = |list: &AtomicU64| current != 0 && Spares::of(list).first() == current;
        if self.holding.spares.iter().any(is_spare) {
            put(&self.holding.current, 0);
            crash_point!("shared.spare_kept");
        }
    }

    /// Whether there are spare objects.
    pub(super) fn has_spares(&self) -> bool {
        self.holding.spares.iter().any(|list| own(list) != 0)
    }

    /// Frees all spare objects. May be repeated. No object is dying.
    pub(super) fn free_spares(&self) -> Result<(), PoolError> {
        self.settle_spare();
        let current_at = self.table.holdings_at + u64::from(self.id) * HOLDING_BYTES + CURRENT_AT;
        for list in &self.holding.spares {
            loop {
                let spares = Spares::of(list);
                let object = spares.first();
                if object == 0 {
                    put(list, 0);
                    break;
                }
                put(&self.holding.current, object);
                crash_point!("shared.spare_aimed");
                let next = own(&self.memory.header(object)?.next);
                put(list, Spares::word(spares.count().saturating_sub(1), next));
                crash_point!("shared.spare_popped");
                self.memory.free_from(current_at)?;
            }
        }
        Ok(())
    }
}
