//! Finishing what a client began: after its death, and after an error.

use super::arena::Owner;
use super::holding::Step;
use super::shared_lists::Then;
use super::slab::Local;
use crate::PoolError;
use crate::crash::crash_point;
use crate::detect::Change;
use crate::flaw::flawed;
use crate::sync::{own, put};

impl Owner<'_> {
    /// Finishes the open step: an allocation is taken back unless its cell has the block, and all else is completed.
    /// May be repeated. The client's change is finished before.
    #[cold]
    pub(super) fn settle(&self) -> Result<(), PoolError> {
        match self.step()? {
            Step::Idle => Ok(()),
            Step::Alloc { slab, block } => self.take_back(slab, block),
            Step::Free { slab, block } => {
                let (offset, _) = self.offset_of(slab, block)?;
                let cell = self.arena.memory.word(own(&self.holding.cell));
                if let Some(cell) = cell.filter(|cell| own(cell) == offset) {
                    put(cell, 0);
                    crash_point!("alloc.settle_cleared");
                }
                self.free_block(slab, block)
            }
            Step::Hand { slab } => self.own_slab(slab),
            Step::Take { slab, class } => self.finish_take(slab, class as usize),
            Step::Retire { slab } => self.finish_retire(slab),
            Step::Release { slab } => self.finish_release(slab),
        }
    }

    fn take_back(&self, slab: u32, block: u32) -> Result<(), PoolError> {
        let local = Local::from_bits(own(&self.slab(slab)?.local));
        let (offset, number) = self.offset_of(slab, block)?;
        let is_taken = local.head() != block + 1 && number < local.virgin();
        let cell = self.arena.memory.word(own(&self.holding.cell));
        let is_stored = cell.is_some_and(|cell| own(cell) == offset);
        if !is_taken || is_stored || flawed!(self.arena, NoTakingBack) {
            self.close();
            return Ok(());
        }
        put(&self.holding.cell, 0);
        crash_point!("alloc.settle_aimed");
        put(&self.holding.step, Step::Free { slab, block }.bits());
        crash_point!("alloc.taken_back");
        self.free_block(slab, block)
    }

    /// Where the block of a step is, and its number in the slab.
    fn offset_of(&self, slab: u32, block: u32) -> Result<(u64, u32), PoolError> {
        let class = self.class_of(self.remote(slab)?);
        let number = class.and_then(|class| class.block_at(8 * u64::from(block)));
        let number = number.ok_or_else(|| self.damaged("the step", slab.into()))?;
        Ok((self.arena.offset(slab, block), number))
    }

    /// What belongs to a change that a dead client announced. `None` in `Then::of` is no change of this heap's.
    pub(super) fn redo(&self, change: &Change, has_happened: bool) -> Result<(), PoolError> {
        let then = Then::of(&change.operation);
        let then = then.ok_or_else(|| self.damaged("the change", change.operation[0]))?;
        if has_happened { self.finish_change(then) } else { Ok(()) }
    }

    /// Finishes the step of a dead client, and gives its slabs to the heap. May be repeated.
    pub(super) fn reclaim(&self) -> Result<(), PoolError> {
        self.settle()?;
        self.release_all()
    }
}
