//! Shared cells: references that any client may change.
//!
//! A shared cell is a word of `detect` whose value says which objects it refers to, in a way that its user knows. It
//! has one of the references that each of them counts. A client makes the new objects, which its roots have; then it
//! changes the cell; then the roots are cleared, and what the cell had is put into the client's list of unlinked
//! objects: all by one change, whose other parts are absolute values in the client's holding. So recovery writes them
//! once more.
//!
//! What was taken out of a cell is not released at once. Readers may look at it, and count it. When none does any more,
//! and its count was never changed, nobody else can know it: then it is freed without an atomic instruction. Objects
//! age together: those that a reader may look at are in a second list, with one era, until the client looks at them
//! again.

use super::header::Count;
use super::holder::{Holder, Memory, OF_REFS, Then};
use crate::PoolError;
use crate::crash::crash_point;
use crate::detect::{Change, Marked};
use crate::flaw::flawed;
use crate::sync::{own, put};

/// What belongs to the change of a shared cell.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Swap {
    /// Roots of the client whose references the cell gets; 0: none.
    pub roots: [u64; 2],
    /// Objects whose references the cell had; 0: none.
    pub olds: [u64; 2],
    /// How many references the first of them begins with, which are released with it: it takes over those that the
    /// cell had through it. 0: others count them from now on.
    pub inner: u64,
    /// Two words of the client that count what is in all cells of a user, and what they are to have. 0: none.
    pub tally: u64,
    pub counts: [u64; 2],
}

impl<M: Memory> Holder<'_, M> {
    /// Changes a shared cell from what was seen. `Err` has what it has instead: then nothing has changed. New objects
    /// are open. Lock-free: one compare-and-swap.
    #[inline]
    pub(super) fn swap(
        &self,
        at: u64,
        seen: Marked,
        value: u64,
        swap: &Swap,
    ) -> Result<Result<(), Marked>, PoolError> {
        let holding = self.holding;
        for n in 0..2 {
            put(&holding.roots[n], swap.roots[n]);
            put(&holding.olds[n], swap.olds[n]);
            put(&holding.counts[n], swap.counts[n]);
        }
        put(&holding.rest, own(&holding.unlinked));
        put(&holding.inner, swap.inner);
        put(&holding.tally, swap.tally);
        crash_point!("shared.aimed");
        let change = Change { target: at | OF_REFS, operation: Then::Swap.operation() };
        let detector = &self.table.detector;
        match detector.exchange(self.id, self.memory.word(at)?, seen, value, &change)? {
            Ok(era) => {
                if flawed!(self.table, EarlySwap) {
                    detector.acknowledge(self.id, era);
                }
                self.finish_swap()?;
                detector.acknowledge(self.id, era);
                Ok(Ok(()))
            }
            Err(other) => Ok(Err(other)),
        }
    }

    /// The cell was changed. May be repeated: all values are absolute.
    pub(super) fn finish_swap(&self) -> Result<(), PoolError> {
        let holding = self.holding;
        for root in &holding.roots {
            let root = own(root);
            if root != 0 && !flawed!(self.table, NoRootClear) {
                put(self.memory.cell(root)?, 0);
                crash_point!("shared.placed");
            }
        }
        let (first, second) = (own(&holding.olds[0]), own(&holding.olds[1]));
        let inner = own(&holding.inner);
        if first != 0 && inner != 0 {
            // Nobody counts the object by itself, so nobody else writes its word.
            self.memory.header(first)?.word.reset(Count::open(inner as u32).bits());
            crash_point!("shared.embraced");
        }
        if first != 0 {
            let is_relative = flawed!(self.table, RelativeList);
            let rest = own(if is_relative { &holding.unlinked } else { &holding.rest });
            if second != 0 {
                put(&self.memory.header(second)?.next, rest);
                crash_point!("shared.linked");
            }
            let next = if second != 0 { second } else { rest };
            put(&self.memory.header(first)?.next, next);
            crash_point!("shared.linked");
            put(&holding.unlinked, first);
            crash_point!("shared.kept");
        }
        let tally = own(&holding.tally);
        if tally != 0 {
            put(self.memory.cell(tally)?, own(&holding.counts[0]));
            crash_point!("shared.tallied");
            put(self.memory.cell(tally + 8)?, own(&holding.counts[1]));
            crash_point!("shared.counted");
        }
        Ok(())
    }
}

#[cfg(not(loom))]
mod in_pool {
    use super::super::client::RefClient;
    use super::super::header::{Count, HEADER_BYTES};
    use super::super::holder::Memory;
    use super::super::reference::Ref;
    use super::Swap;
    use crate::PoolError;
    use crate::alloc::small_class;
    use crate::detect::Marked;
    use crate::flaw::flawed;
    use crate::sync::{own, put};

    /// Bytes of unlinked blocks that count as one.
    const WEIGHT: u64 = 4096;

    /// Tests look at unlinked objects often.
    const FEWEST: u64 = if cfg!(test) { 8 } else { 1 };

    /// How many unlinked objects the client remembers, about.
    const RECENT: usize = 256;

    impl RefClient<'_> {
        /// An object for shared cells.
        #[inline]
        pub(crate) fn alloc_open(&self, bytes: u64, embedded: u32) -> Result<Ref<'_>, PoolError> {
            if flawed!(self.holder().table, PrivateEntry) {
                return self.alloc(bytes, embedded);
            }
            if embedded == 0
                && let Some(class) = small_class((bytes + HEADER_BYTES).next_multiple_of(16))
            {
                self.settled()?;
                let (root, birth) = (self.take_root()?, self.holder().era()?);
                if let Some(object) = self.holder().take_spare(class, root, birth)? {
                    return Ok(Ref::new(self, root, object, 0));
                }
                self.give_root(root);
            }
            self.alloc_of(bytes, embedded, |embedded, _| Count::open(embedded))
        }

        /// Changes the shared cell at an offset from what was seen. It gets the references to the new objects, which
        /// are open and have no copies, and loses those to `olds`. `Err` has what it has instead; then the new
        /// objects are still the caller's. The client looked at the old objects by a reader that it still has.
        #[inline]
        pub(crate) fn swap(
            &self,
            (at, seen, value): (u64, Marked, u64),
            new: &mut [Option<Ref>; 2],
            olds: [u64; 2],
            tally: (u64, [u64; 2]),
        ) -> Result<Result<(), Marked>, PoolError> {
            self.swap_all((at, seen, value), new, (olds, 0), tally)
        }

        /// The same, but the first old object begins with references of the cell, as many as `inner`: it has them from
        /// now on, and they are released with it. Nobody counts that object by itself. It needs no memory.
        #[inline]
        pub(crate) fn swap_all(
            &self,
            (at, seen, value): (u64, Marked, u64),
            new: &mut [Option<Ref>; 2],
            (olds, inner): ([u64; 2], u64),
            (tally, counts): (u64, [u64; 2]),
        ) -> Result<Result<(), Marked>, PoolError> {
            self.settled()?;
            let root = |new: &Option<Ref>| if let Some(new) = new { new.root() } else { 0 };
            let roots = [root(&new[0]), root(&new[1])];
            let swap = Swap { roots, olds, inner, tally, counts };
            let swapped = self.holder().swap(at, seen, value, &swap)?;
            if swapped.is_ok() {
                let mut recent = self.recent.borrow_mut();
                for old in olds {
                    if old != 0 && recent[0].len() < RECENT {
                        recent[0].push(old);
                    }
                }
                drop(recent);
                for new in new {
                    if let Some(new) = new.take() {
                        self.give_root(new.into_root().0);
                    }
                }
            }
            Ok(swapped)
        }

        /// Objects of this many bytes were taken out of shared cells: some may be freed now.
        #[inline]
        pub(crate) fn unlinked(&self, bytes: u64) -> Result<(), PoolError> {
            self.count_kept(FEWEST + bytes / WEIGHT)
        }

        /// Bytes of the objects that the client keeps, as readers may look at them. [`RefClient::reclaim`] has seen
        /// before that the lists end.
        pub(crate) fn kept_bytes(&self) -> Result<u64, PoolError> {
            let (holding, mut bytes) = (self.holder().holding, 0);
            for list in [&holding.kept, &holding.aged, &holding.unlinked] {
                let mut object = own(list);
                while object != 0 {
                    bytes += self.heap().block_bytes(object).unwrap_or(0);
                    object = own(&self.holder().memory.header(object)?.next);
                }
            }
            Ok(bytes)
        }

        /// A number that no client of the pool gets again.
        #[inline]
        pub(crate) fn next_serial(&self) -> u64 {
            let serial = &self.holder().holding.serial;
            let next = own(serial) + 1;
            put(serial, next);
            next << 10 | u64::from(self.id())
        }
    }
}
