//! A client in the protocol of counts: attach, release, change, move.

use super::header::{Count, Header, is_private};
use super::holding::{Holding, IDLE, MOVE, RELEASE, TAKE};
use crate::PoolError;
use crate::crash::crash_point;
use crate::detect::{Change, Detector, Marked, Word};
use crate::flaw::flawed;
use crate::sync::{AtomicU64, own, put};

/// What the protocol reads, writes and frees: a pool with its heap, or a model of one. Offsets come out of shared
/// memory: impossible ones are errors.
pub(super) trait Memory {
    /// The header of the object at an offset.
    fn header(&self, object: u64) -> Result<&Header, PoolError>;
    /// The detectable word at an offset.
    fn word(&self, at: u64) -> Result<&Word, PoolError>;
    /// The word at an offset.
    fn cell(&self, at: u64) -> Result<&AtomicU64, PoolError>;
    /// Where the n-th embedded reference of an object is.
    fn embedded(&self, object: u64, n: u64) -> u64;
    /// The small class of the block of an object, if the client keeps spare objects.
    fn class_of(&self, object: u64) -> Option<usize>;
    /// Frees the block that the cell names, and clears the cell: both or neither if the client dies.
    fn free_from(&self, cell: u64) -> Result<(), PoolError>;
}

/// What all clients share of the layer.
#[derive(Clone, Copy)]
pub(super) struct RefTable<'a> {
    pub detector: Detector<'a>,
    /// Counts the eras of objects. Any client increments it.
    pub clock: &'a AtomicU64,
    /// A bit for each client that may look at objects without counting them, by identity.
    pub readers: &'a [AtomicU64],
    /// By identity; the first is unused.
    pub holdings: &'a [Holding],
    /// Where the first holding is.
    pub holdings_at: u64,
    #[cfg(test)]
    pub flaw: Option<crate::flaw::Flaw>,
}

/// The client with one identity. One thread at a time acts under an identity: its holder, or its recoverer once the
/// holder is dead.
#[derive(Clone, Copy)]
pub(super) struct Holder<'a, M> {
    pub table: RefTable<'a>,
    pub holding: &'a Holding,
    pub memory: M,
    pub id: u16,
}

/// Marks the targets of changes that are this layer's. No offset of a pool has it.
pub(super) const OF_REFS: u64 = 1 << 62;

/// What belongs to a change of a count, to be done when it has taken place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Then {
    /// The cell gets the object.
    Attach { cell: u64, object: u64 },
    /// The same, and the reference to the old object that the cell had is to be released.
    Change { cell: u64, object: u64, old: u64 },
    /// The open release is done. The last one leaves a dying object.
    Release { object: u64, is_last: bool },
    /// A shared cell was changed: the client's holding says what belongs to it.
    Swap,
}

impl Then {
    pub(super) fn operation(self) -> [u64; 5] {
        match self {
            Then::Attach { cell, object } => [1, cell, object, 0, 0],
            Then::Change { cell, object, old } => [2, cell, object, old, 0],
            Then::Release { object, is_last } => [3, 0, object, is_last.into(), 0],
            Then::Swap => [4, 0, 0, 0, 0],
        }
    }

    /// `None`: no client announces this.
    fn of(operation: &[u64; 5]) -> Option<Then> {
        let [kind, cell, object, last, _] = *operation;
        let then = match kind {
            1 => Then::Attach { cell, object },
            2 => Then::Change { cell, object, old: last },
            3 => Then::Release { object, is_last: last != 0 },
            4 => Then::Swap,
            _ => return None,
        };
        (then.operation() == *operation).then_some(then)
    }
}

impl<'a, M: Memory> Holder<'a, M> {
    pub(super) fn new(table: RefTable<'a>, memory: M, id: u16) -> Holder<'a, M> {
        Holder { table, holding: &table.holdings[usize::from(id)], memory, id }
    }

    /// Counts one more reference to the object, and writes it into the cell, whose only writer the client is, and which
    /// has none. False: the object is dying. Lock-free: one compare-and-swap, repeated if another client was faster.
    pub(super) fn attach(&self, object: u64, cell: u64) -> Result<bool, PoolError> {
        self.increment(object, Then::Attach { cell, object })
    }

    /// Makes the cell refer to another object than `old`: as if by one step for those that read it, and for recovery.
    /// The old object may be dying afterwards. False: the new one is dying.
    pub(super) fn change(&self, cell: u64, old: u64, object: u64) -> Result<bool, PoolError> {
        if flawed!(self.table, EarlyChange) {
            put(self.memory.cell(cell)?, object);
        }
        if !self.increment(object, Then::Change { cell, object, old })? {
            return Ok(false);
        }
        self.finish_release()?;
        Ok(true)
    }

    fn increment(&self, object: u64, then: Then) -> Result<bool, PoolError> {
        let header = self.memory.header(object)?;
        let mut seen = header.word.load();
        loop {
            let count = Count::from_bits(seen.value);
            if count.count() == 0 {
                return Ok(false);
            }
            let next = count.more().ok_or(PoolError::References { object })?;
            match self.exchange(object, header, seen, next, then)? {
                Ok(()) => return Ok(true),
                Err(other) => seen = other,
            }
        }
    }

    /// Releases the reference to the object in the cell, whose only writer the client is, and clears the cell.
    pub(super) fn release(&self, cell: u64, object: u64) -> Result<(), PoolError> {
        #[cfg(test)]
        if flawed!(self.table, EarlyRelease) && self.release_early(cell, object)? {
            return Ok(());
        }
        put(&self.holding.object, object);
        crash_point!("refs.release_aimed");
        put(&self.holding.from, cell);
        crash_point!("refs.release_placed");
        put(&self.holding.step, RELEASE);
        crash_point!("refs.release_begun");
        self.finish_release()
    }

    /// The mistake of that name. False: another one has the object, or nobody.
    #[cfg(test)]
    fn release_early(&self, cell: u64, object: u64) -> Result<bool, PoolError> {
        let word = &self.memory.header(object)?.word;
        let operation = Then::Attach { cell, object: 0 }.operation();
        let (seen, change) = (word.load(), Change { target: object | OF_REFS, operation });
        let less = Count::from_bits(seen.value).less().filter(|less| less.count() > 0);
        let Some(less) = less else { return Ok(false) };
        let done = self.table.detector.exchange(self.id, word, seen, less.bits(), &change)?;
        let Ok(era) = done else { return Ok(false) };
        self.table.detector.acknowledge(self.id, era);
        put(self.memory.cell(cell)?, 0);
        Ok(true)
    }

    /// The step `RELEASE` is open. The cell is cleared *before* the count: when the count is 0, no cell has the object
    /// any more, and no reader finds it.
    fn finish_release(&self) -> Result<(), PoolError> {
        let [object, cell] = [&self.holding.object, &self.holding.from].map(own);
        let is_late = flawed!(self.table, LateClear);
        if cell != 0 && !is_late {
            put(self.memory.cell(cell)?, 0);
            crash_point!("refs.cleared");
        }
        let header = self.memory.header(object)?;
        let mut seen = header.word.load();
        if is_private(seen) {
            // Nobody else can change the count.
            self.push_dying(object, header);
            self.close();
        } else {
            loop {
                let count = Count::from_bits(seen.value);
                let next = count.less().ok_or_else(|| self.damaged("a count", seen.value))?;
                let then = Then::Release { object, is_last: next.count() == 0 };
                match self.exchange(object, header, seen, next, then)? {
                    Ok(()) => break,
                    Err(other) => seen = other,
                }
            }
        }
        if cell != 0 && is_late {
            put(self.memory.cell(cell)?, 0);
        }
        Ok(())
    }

    /// Moves the reference to the object from one cell to another, whose only writer the client is, and then writes
    /// `value` into `place`, if that is not 0. No count changes.
    pub(super) fn transfer(
        &self,
        object: u64,
        [from, to]: [u64; 2],
        (place, value): (u64, u64),
    ) -> Result<(), PoolError> {
        let holding = self.holding;
        put(&holding.object, object);
        crash_point!("refs.move_aimed");
        put(&holding.from, from);
        put(&holding.to, to);
        put(&holding.place, place);
        put(&holding.value, value);
        crash_point!("refs.move_placed");
        if !flawed!(self.table, NoMoveStep) {
            put(&holding.step, MOVE);
        }
        crash_point!("refs.move_begun");
        self.finish_move()
    }

    /// The step `MOVE` is open. When `place` has its value, one of the cells is another client's.
    fn finish_move(&self) -> Result<(), PoolError> {
        let holding = self.holding;
        if own(&holding.place) != 0
            && own(self.memory.cell(own(&holding.place))?) == own(&holding.value)
            && !flawed!(self.table, LateMove)
        {
            self.close();
            return Ok(());
        }
        put(self.memory.cell(own(&holding.to))?, own(&holding.object));
        crash_point!("refs.moved");
        put(self.memory.cell(own(&holding.from))?, 0);
        crash_point!("refs.move_cleared");
        if own(&holding.place) != 0 {
            put(self.memory.cell(own(&holding.place))?, own(&holding.value));
            crash_point!("refs.move_counted");
        }
        self.close();
        Ok(())
    }

    /// Finishes the open step. May be repeated. The client's change is finished before.
    pub(super) fn settle(&self) -> Result<(), PoolError> {
        self.settle_spare();
        match own(&self.holding.step) {
            IDLE => Ok(()),
            RELEASE => self.finish_release(),
            MOVE => self.finish_move(),
            TAKE => self.finish_take(),
            other => Err(self.damaged("the step", other)),
        }
    }

    /// Finishes a change of the count that a dead client announced.
    pub(super) fn redo(&self, change: &Change, has_happened: bool) -> Result<(), PoolError> {
        let then = Then::of(&change.operation);
        let then = then.ok_or_else(|| self.damaged("the change", change.operation[0]))?;
        if has_happened { self.finish_change(then) } else { Ok(()) }
    }

    /// Changes a count, and does what belongs to it. `Err` has what the word has instead.
    fn exchange(
        &self,
        object: u64,
        header: &Header,
        seen: Marked,
        next: Count,
        then: Then,
    ) -> Result<Result<(), Marked>, PoolError> {
        let change = Change { target: object | OF_REFS, operation: then.operation() };
        let detector = &self.table.detector;
        match detector.exchange(self.id, &header.word, seen, next.bits(), &change)? {
            Ok(era) => {
                if flawed!(self.table, EarlyCount) {
                    detector.acknowledge(self.id, era);
                }
                self.finish_change(then)?;
                detector.acknowledge(self.id, era);
                Ok(Ok(()))
            }
            Err(other) => Ok(Err(other)),
        }
    }

    /// The count was changed. May be repeated.
    fn finish_change(&self, then: Then) -> Result<(), PoolError> {
        match then {
            Then::Attach { cell, object } => {
                put(self.memory.cell(cell)?, object);
                crash_point!("refs.attached");
            }
            Then::Change { cell, object, old } => {
                put(&self.holding.object, old);
                crash_point!("refs.change_aimed");
                put(&self.holding.from, 0);
                crash_point!("refs.change_placed");
                put(&self.holding.step, RELEASE);
                crash_point!("refs.change_begun");
                put(self.memory.cell(cell)?, object);
                crash_point!("refs.changed");
            }
            Then::Release { object, is_last } => {
                if is_last {
                    self.push_dying(object, self.memory.header(object)?);
                }
                self.close();
            }
            Then::Swap => self.finish_swap()?,
        }
        Ok(())
    }

    /// Puts an object into the list of dying ones. May be repeated while nothing else is put there.
    fn push_dying(&self, object: u64, header: &Header) {
        let first = own(&self.holding.dying);
        if first != object {
            put(&header.next, first);
            crash_point!("refs.dying_linked");
            put(&self.holding.dying, object);
            crash_point!("refs.dying_pushed");
        }
    }

    pub(super) fn close(&self) {
        put(&self.holding.step, IDLE);
        crash_point!("refs.closed");
    }

    #[cold]
    pub(super) fn damaged(&self, what: &'static str, found: u64) -> PoolError {
        PoolError::Damaged { what, client: self.id, found }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_a_change_comes_back() {
        for then in [
            Then::Attach { cell: 8, object: 16 },
            Then::Change { cell: 8, object: 16, old: 32 },
            Then::Release { object: 16, is_last: true },
            Then::Release { object: 16, is_last: false },
            Then::Swap,
        ] {
            assert_eq!(Then::of(&then.operation()), Some(then));
        }
        for wrong in [[0; 5], [5, 0, 0, 0, 0], [4, 8, 0, 0, 0], [1, 8, 16, 1, 0], [3, 0, 16, 2, 0]]
        {
            assert_eq!(Then::of(&wrong), None);
        }
    }
}
