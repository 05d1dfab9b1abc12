//! Blocks above the largest class: runs of granules.
//!
//! A granule has one word, which says what it is:
//!
//! ```text
//!   63  62 61                                        0
//!   +-----+------------------------------------------+
//!   | 0   | 0                                        |  free
//!   | 1   | client                                   |  claimed by a client that looks for a run
//!   | 2   | granules of the run, 0 after the first   |  used
//!   | 3   | client                                   |  being freed by a client
//!   +-----+------------------------------------------+
//! ```
//!
//! 1. **Claim.** A client claims the granules of a run one by one, each by a compare-and-swap from free. If one is
//!    another client's, it frees those that it has, and looks further.
//! 2. **Hold.** When it has all, the step says so, and it marks them as used.
//! 3. **Free.** A client takes the first granule by a compare-and-swap, so a block is freed once. It marks the others
//!    as its own, too, and gives the pages back.
//! 4. **Drop.** When all have its mark, the step says so, and it frees them one by one. From there on others may have
//!    them: what is freed is what still has the mark.
//!
//! A word that has a client's number is changed by that client alone, or by its recoverer. So no change of a granule
//! has to be detectable: the words themselves say what took place. All four steps take time in proportion to the
//! granules.

use super::OF_HEAP;
use super::arena::Memory;
use super::caches::Caches;
use super::shared_lists::Then;
use crate::PoolError;
use crate::crash::crash_point;
use crate::detect::{Change, Detector, Marked, Word};
use crate::flaw::flawed;
use crate::sync::{AtomicU64, Ordering, own, put};

/// What a client does with runs, in a cache line of its own:
///
/// ```text
///   0        8       16      24              64
///   +--------+-------+-------+---------------+
///   | step   | cell  | hint  | unused        |
///   +--------+-------+-------+---------------+
/// ```
///
/// `hint` is where it looks first.
#[repr(C, align(64))]
#[derive(Default)]
pub(crate) struct HugeHolding {
    pub step: AtomicU64,
    pub cell: AtomicU64,
    hint: AtomicU64,
}

#[cfg(not(loom))]
const _: () = {
    assert!(size_of::<HugeHolding>() == 64 && std::mem::offset_of!(HugeHolding, cell) == 8);
};

// SAFETY: atomic words.
#[cfg(not(loom))]
unsafe impl crate::segment::Shared for HugeHolding {}

/// The parts of the heap for huge blocks. Any thread may have it.
pub(super) struct Huge<'a> {
    pub detector: Detector<'a>,
    pub memory: Memory<'a>,
    /// By identity; the first is unused.
    pub holdings: &'a [HugeHolding],
    pub granules: &'a [AtomicU64],
    /// One word: granules from this number on were never used.
    pub top: &'a AtomicU64,
    /// Names this heap in changes of its users' words.
    pub name: u64,
    /// Where the first granule begins.
    pub data_at: u64,
    pub granule_shift: u32,
    pub caches: Caches,
    #[cfg(test)]
    pub flaw: Option<crate::flaw::Flaw>,
}

/// A client in it. As for slabs, one thread at a time acts under an identity.
#[derive(Clone, Copy)]
pub(super) struct HugeOwner<'a> {
    pub huge: &'a Huge<'a>,
    pub holding: &'a HugeHolding,
    id: u16,
}

/// What a client does with the run of `count` granules from `first` on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum HugeStep {
    Idle,
    /// It claims them, and has perhaps some.
    Claim {
        first: u32,
        count: u32,
    },
    /// All are its own. Freed, unless the cell has the block.
    Hold {
        first: u32,
        count: u32,
    },
    /// It frees them, and clears the cell that has the block.
    Free {
        first: u32,
        count: u32,
    },
    /// All those that have its mark are to be free.
    Drop {
        first: u32,
        count: u32,
    },
}

const COUNT_MAX: u64 = (1 << 28) - 1;

impl HugeStep {
    fn bits(self) -> u64 {
        let pack = |kind: u64, first: u32, count: u32| {
            kind << 60 | u64::from(count) << 32 | u64::from(first)
        };
        match self {
            HugeStep::Idle => 0,
            HugeStep::Claim { first, count } => pack(1, first, count),
            HugeStep::Hold { first, count } => pack(2, first, count),
            HugeStep::Free { first, count } => pack(3, first, count),
            HugeStep::Drop { first, count } => pack(4, first, count),
        }
    }

    fn from_bits(bits: u64) -> Option<HugeStep> {
        let (first, count) = (bits as u32, (bits >> 32 & COUNT_MAX) as u32);
        let step = match bits >> 60 {
            0 => HugeStep::Idle,
            1 => HugeStep::Claim { first, count },
            2 => HugeStep::Hold { first, count },
            3 => HugeStep::Free { first, count },
            4 => HugeStep::Drop { first, count },
            _ => return None,
        };
        (step.bits() == bits).then_some(step)
    }
}

/// What a granule is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Granule {
    Free,
    Claimed(u16),
    /// With the granules of its run, or 0 after the first.
    Used(u32),
    Freeing(u16),
}

impl Granule {
    pub(super) fn of(bits: u64) -> Granule {
        match bits >> 62 {
            0 => Granule::Free,
            1 => Granule::Claimed(bits as u16),
            2 => Granule::Used(bits as u32),
            _ => Granule::Freeing(bits as u16),
        }
    }

    fn bits(self) -> u64 {
        match self {
            Granule::Free => 0,
            Granule::Claimed(client) => 1 << 62 | u64::from(client),
            Granule::Used(count) => 2 << 62 | u64::from(count),
            Granule::Freeing(client) => 3 << 62 | u64::from(client),
        }
    }
}

impl<'a> Huge<'a> {
    pub(super) fn owner(&'a self, id: u16) -> HugeOwner<'a> {
        HugeOwner { huge: self, holding: &self.holdings[usize::from(id)], id }
    }

    /// Whether a granule has the offset.
    pub(super) fn has(&self, offset: u64) -> bool {
        let distance = offset.checked_sub(self.data_at);
        distance.is_some_and(|distance| distance >> self.granule_shift < self.granules.len() as u64)
    }

    /// Bytes of the used run that begins at an offset.
    #[cfg(not(loom))]
    pub(super) fn block_bytes(&self, offset: u64) -> Option<u64> {
        let distance = offset.checked_sub(self.data_at)?;
        let word = self.granules.get((distance >> self.granule_shift) as usize)?;
        let is_begin = distance & ((1 << self.granule_shift) - 1) == 0;
        match Granule::of(word.load(Ordering::Acquire)) {
            Granule::Used(count) if is_begin && count > 0 => {
                Some(u64::from(count) << self.granule_shift)
            }
            _ => None,
        }
    }

    /// Where the used run begins that has the granule at an offset.
    #[cfg(not(loom))]
    pub(super) fn begin_of(&self, offset: u64) -> Option<u64> {
        let distance = offset.checked_sub(self.data_at)?;
        let mut number = (distance >> self.granule_shift) as usize;
        loop {
            match Granule::of(self.granules.get(number)?.load(Ordering::Acquire)) {
                Granule::Used(0) => number = number.checked_sub(1)?,
                Granule::Used(_) => return Some(self.offset(number as u32)),
                _ => return None,
            }
        }
    }

    /// How many granules are not free now.
    #[cfg(not(loom))]
    pub(super) fn used_granules(&self) -> u64 {
        let top = self.top.load(Ordering::Acquire).min(self.granules.len() as u64) as usize;
        let is_used = |word: &&AtomicU64| word.load(Ordering::Acquire) != 0;
        self.granules[..top].iter().filter(is_used).count() as u64
    }

    pub(super) fn offset(&self, first: u32) -> u64 {
        self.data_at + (u64::from(first) << self.granule_shift)
    }
}

impl HugeOwner<'_> {
    /// Gets a run of at least this many bytes for the cell. The step stays open. `None`: there is no memory.
    pub(super) fn alloc(&self, bytes: u64, cell: u64) -> Result<Option<u64>, PoolError> {
        self.settled()?;
        let count = bytes.div_ceil(1 << self.huge.granule_shift).max(1);
        let all = self.huge.granules.len() as u64;
        if count > all.min(COUNT_MAX) {
            return Ok(None);
        }
        put(&self.holding.cell, cell);
        let (hint, count) = (own(&self.holding.hint).min(all), count as u32);
        // What was free behind a search may be taken, and freed again: it looks twice.
        for (begin, end) in [(hint, all), (0, all)] {
            let mut at = begin;
            while let Some(first) = self.search(at, end, count) {
                match self.claim(first, count)? {
                    None => return self.hold(first, count).map(Some),
                    Some(taken) => at = taken + 1,
                }
            }
        }
        Ok(None)
    }

    /// The first run of free granules between these. Others may take some of it.
    fn search(&self, begin: u64, end: u64, count: u32) -> Option<u32> {
        let top = self.huge.top.load(Ordering::Acquire);
        let (mut first, mut at) = (begin, begin);
        while at < end && at - first < count.into() {
            if at >= top {
                // All that follows is free.
                return (first + u64::from(count) <= end).then_some(first as u32);
            }
            match Granule::of(self.huge.granules[at as usize].load(Ordering::Acquire)) {
                Granule::Free => at += 1,
                Granule::Used(run) => {
                    at += u64::from(run.max(1));
                    first = at;
                }
                Granule::Claimed(_) | Granule::Freeing(_) => {
                    at += 1;
                    first = at;
                }
            }
        }
        (at <= end && at - first >= count.into()).then_some(first as u32)
    }

    /// Claims a run, or none of it: then the granule that another client has is returned.
    fn claim(&self, first: u32, count: u32) -> Result<Option<u64>, PoolError> {
        put(&self.holding.step, HugeStep::Claim { first, count }.bits());
        crash_point!("huge.claim_begun");
        self.huge.top.fetch_max(u64::from(first) + u64::from(count), Ordering::AcqRel);
        let own_word = Granule::Claimed(self.id).bits();
        for (n, word) in self.run(first, count)?.iter().enumerate() {
            if !turn(word, 0, own_word) {
                self.unclaim(first, count)?;
                return Ok(Some(u64::from(first) + n as u64));
            }
            crash_point!("huge.claimed");
        }
        Ok(None)
    }

    /// Frees those granules of the run that the client has claimed. The step `Claim` is open.
    fn unclaim(&self, first: u32, count: u32) -> Result<(), PoolError> {
        self.clear(first, count, Granule::Claimed(self.id))?;
        self.close();
        Ok(())
    }

    /// Frees those granules of the run that are this.
    fn clear(&self, first: u32, count: u32, granule: Granule) -> Result<(), PoolError> {
        for word in self.run(first, count)? {
            if turn(word, granule.bits(), 0) {
                crash_point!("huge.cleared_granule");
            }
        }
        Ok(())
    }

    /// All granules of the run are claimed.
    fn hold(&self, first: u32, count: u32) -> Result<u64, PoolError> {
        if !flawed!(self.huge, NoHold) {
            put(&self.holding.step, HugeStep::Hold { first, count }.bits());
        }
        crash_point!("huge.held");
        for (n, word) in self.run(first, count)?.iter().enumerate() {
            put(word, Granule::Used(if n == 0 { count } else { 0 }).bits());
            crash_point!("huge.marked");
        }
        put(&self.holding.hint, u64::from(first) + u64::from(count));
        Ok(self.huge.offset(first))
    }

    /// Makes the block at this offset longer by the granules that follow, if they are free. No step says that the
    /// granules are the block's: if the client dies meanwhile, some are lost.
    #[cfg(not(loom))]
    pub(super) fn grow(&self, offset: u64, bytes: u64) -> Result<bool, PoolError> {
        self.settled()?;
        let (first, count) = self.find(offset)?;
        let wanted = bytes.div_ceil(1 << self.huge.granule_shift);
        let more = wanted.saturating_sub(count.into());
        let next = u64::from(first) + u64::from(count);
        if next + more > (self.huge.granules.len() as u64).min(COUNT_MAX) {
            return Ok(false);
        }
        let (end, next, more) = (next + more, next as u32, more as u32);
        if more == 0 {
            return Ok(true);
        }
        if self.search(next.into(), end, more) != Some(next) || self.claim(next, more)?.is_some() {
            return Ok(false);
        }
        for word in self.run(next, more)? {
            put(word, Granule::Used(0).bits());
        }
        put(&self.huge.granules[first as usize], Granule::Used(count + more).bits());
        put(&self.holding.hint, end);
        self.close();
        Ok(true)
    }

    /// Writes the block of the open step into the step's cell.
    pub(super) fn store(&self, cell: &AtomicU64, offset: u64) {
        put(cell, offset);
        crash_point!("huge.stored");
        self.close();
    }

    /// The same for a block whose step has no cell yet.
    pub(super) fn store_fresh(&self, (at, cell): (u64, &AtomicU64), offset: u64) {
        put(&self.holding.cell, at);
        crash_point!("huge.fresh_aimed");
        self.store(cell, offset);
    }

    /// Before the identity is free, and after it was leased.
    pub(super) fn flush_holding(&self) {
        self.huge.caches.flush_value(self.holding);
    }

    fn close(&self) {
        put(&self.holding.step, HugeStep::Idle.bits());
        crash_point!("huge.closed");
    }

    /// Frees the block at this offset, and clears the cell that has it, if there is one.
    pub(super) fn free(
        &self,
        offset: u64,
        cell: Option<(u64, &AtomicU64)>,
    ) -> Result<(), PoolError> {
        self.settled()?;
        let (first, count) = self.find(offset)?;
        put(&self.holding.cell, cell.map_or(0, |(at, _)| at));
        crash_point!("huge.free_aimed");
        put(&self.holding.step, HugeStep::Free { first, count }.bits());
        crash_point!("huge.free_begun");
        if let Some((_, cell)) = cell {
            put(cell, 0);
            crash_point!("huge.cleared");
        }
        self.finish_free(first, count)
    }

    /// The run of the used block that begins at an offset.
    fn find(&self, offset: u64) -> Result<(u32, u32), PoolError> {
        let no_block = PoolError::NotABlock { offset };
        let distance = offset.wrapping_sub(self.huge.data_at);
        let first = distance >> self.huge.granule_shift;
        let word = self.huge.granules.get(first as usize);
        let is_begin = distance & ((1 << self.huge.granule_shift) - 1) == 0;
        match word.map(|word| Granule::of(word.load(Ordering::Acquire))) {
            Some(Granule::Used(count)) if is_begin && count > 0 => Ok((first as u32, count)),
            _ => Err(no_block),
        }
    }

    /// The step `Free` is open, and the cell is clear.
    fn finish_free(&self, first: u32, count: u32) -> Result<(), PoolError> {
        let run = self.run(first, count)?;
        let [used, freeing] = [Granule::Used(count), Granule::Freeing(self.id)].map(Granule::bits);
        if run.is_empty() || (!turn(&run[0], used, freeing) && own(&run[0]) != freeing) {
            // Another client was faster: the block is freed twice.
            self.close();
            return Err(PoolError::NotABlock { offset: self.huge.offset(first) });
        }
        crash_point!("huge.freeing");
        self.discard(first, count)
    }

    /// All granules of the run are the client's own, and the step says so.
    fn discard(&self, first: u32, count: u32) -> Result<(), PoolError> {
        for word in self.run(first, count)? {
            put(word, Granule::Freeing(self.id).bits());
            crash_point!("huge.discarded");
        }
        let bytes = u64::from(count) << self.huge.granule_shift;
        self.huge.memory.punch(&self.huge.caches, self.huge.offset(first), bytes);
        if !flawed!(self.huge, NoDrop) {
            put(&self.holding.step, HugeStep::Drop { first, count }.bits());
        }
        crash_point!("huge.drop_begun");
        self.finish_drop(first, count)
    }

    /// The step `Drop` is open.
    fn finish_drop(&self, first: u32, count: u32) -> Result<(), PoolError> {
        self.clear(first, count, Granule::Freeing(self.id))?;
        self.close();
        Ok(())
    }

    /// Finishes the open step. May be repeated. The client's change is finished before.
    pub(super) fn settle(&self) -> Result<(), PoolError> {
        let bits = own(&self.holding.step);
        let step = HugeStep::from_bits(bits).ok_or_else(|| self.damaged("the step", bits))?;
        let cell = self.huge.memory.word(own(&self.holding.cell));
        let has = |first: u32| cell.filter(|cell| own(cell) == self.huge.offset(first));
        match step {
            HugeStep::Idle => Ok(()),
            HugeStep::Claim { first, count } => self.unclaim(first, count),
            HugeStep::Hold { first, .. } if has(first).is_some() => {
                self.close();
                Ok(())
            }
            HugeStep::Hold { first, count } => self.discard(first, count),
            HugeStep::Free { first, count } => {
                if let Some(cell) = has(first) {
                    put(cell, 0);
                    crash_point!("huge.settle_cleared");
                }
                match self.finish_free(first, count) {
                    Err(PoolError::NotABlock { .. }) => Ok(()),
                    end => end,
                }
            }
            HugeStep::Drop { first, count } => self.finish_drop(first, count),
        }
    }

    pub(super) fn settled(&self) -> Result<(), PoolError> {
        if own(&self.holding.step) == 0 { Ok(()) } else { self.settle() }
    }

    /// Puts the block of the open step into a word of the heap's users.
    pub(super) fn publish(
        &self,
        word: (&Word, u64),
        seen: Marked,
        offset: u64,
    ) -> Result<Result<(), Marked>, PoolError> {
        self.change(word, seen, offset, Then::Publish)
    }

    /// Takes the block that was seen in a word of the heap's users out of it, and frees it.
    pub(super) fn withdraw(
        &self,
        word: (&Word, u64),
        seen: Marked,
        value: u64,
    ) -> Result<Result<(), Marked>, PoolError> {
        self.settled()?;
        let (slab, block) = self.find(seen.value)?;
        match self.change(word, seen, value, Then::Withdraw { slab, block })? {
            Ok(()) => self.finish_free(slab, block).map(Ok),
            Err(other) => Ok(Err(other)),
        }
    }

    fn change(
        &self,
        (word, target): (&Word, u64),
        seen: Marked,
        value: u64,
        then: Then,
    ) -> Result<Result<(), Marked>, PoolError> {
        let [a, b, c, d] = then.operation();
        let operation = [a, b, c, d, self.huge.name];
        let change = Change { target: target | OF_HEAP, operation };
        let detector = &self.huge.detector;
        match detector.exchange(self.id, word, seen, value, &change)? {
            Ok(era) => {
                self.finish_change(then)?;
                detector.acknowledge(self.id, era);
                Ok(Ok(()))
            }
            Err(other) => Ok(Err(other)),
        }
    }

    fn finish_change(&self, then: Then) -> Result<(), PoolError> {
        match then {
            Then::Publish => self.close(),
            Then::Withdraw { slab, block } => {
                put(&self.holding.cell, 0);
                crash_point!("huge.withdrawn");
                put(&self.holding.step, HugeStep::Free { first: slab, count: block }.bits());
            }
            _ => return Err(self.damaged("the change", then.operation()[0])),
        }
        crash_point!("huge.change_finished");
        Ok(())
    }

    /// What belongs to a change that a dead client announced.
    pub(super) fn redo(&self, change: &Change, has_happened: bool) -> Result<(), PoolError> {
        let then = Then::of(&change.operation);
        let then = then.ok_or_else(|| self.damaged("the change", change.operation[0]))?;
        if has_happened { self.finish_change(then) } else { Ok(()) }
    }

    fn run(&self, first: u32, count: u32) -> Result<&[AtomicU64], PoolError> {
        let end = first as usize + count as usize;
        let run = self.huge.granules.get(first as usize..end);
        run.ok_or_else(|| self.damaged("the end of a run", end as u64))
    }

    fn damaged(&self, what: &'static str, found: u64) -> PoolError {
        PoolError::Damaged { what, client: self.id, found }
    }
}

/// Changes a granule's word. False: it has another value.
fn turn(word: &AtomicU64, from: u64, to: u64) -> bool {
    word.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn all_parts_come_back() {
        let (first, count) = (u32::MAX, COUNT_MAX as u32);
        for step in [
            HugeStep::Idle,
            HugeStep::Claim { first, count },
            HugeStep::Hold { first: 0, count: 1 },
            HugeStep::Free { first, count },
            HugeStep::Drop { first, count },
        ] {
            assert_eq!(HugeStep::from_bits(step.bits()), Some(step));
        }
        for wrong in [1, 5 << 60] {
            assert_eq!(HugeStep::from_bits(wrong), None);
        }
        for granule in [
            Granule::Free,
            Granule::Claimed(1023),
            Granule::Used(0),
            Granule::Used(count),
            Granule::Freeing(1),
        ] {
            assert_eq!(Granule::of(granule.bits()), granule);
        }
    }
}
