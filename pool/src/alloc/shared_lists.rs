//! Slabs between clients: each step is one detectable change, or a step of the client that is repeated.

use super::arena::{FREE, LENGTH, Owner, PARTIAL};
use super::holding::{Link, List, Step};
use super::slab::{Local, Place, Shares};
use crate::PoolError;
use crate::crash::crash_point;
use crate::detect::{Change, Marked, Word};
use crate::flaw::flawed;
use crate::sync::{Ordering, own, put};

/// What belongs to a change of a word, to be done when it has taken place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Then {
    /// The list of a slab's word became the owner's: the slab gets this local word.
    Collect { slab: u32, local: u64 },
    /// A slab without free blocks has no owner any more: it leaves the list of its class, which then begins with
    /// `next`.
    Detach { slab: u32, class: u64, next: Link },
    /// The client owns the slab: it comes into the list of its class.
    Own { slab: u32 },
    /// The block of the open step is in the list of the slab's word.
    Free,
    /// The slab is in no list of the heap any more.
    Pop { slab: u32 },
    /// The slab has no owner any more, and is about to come into a list of the heap.
    Disown,
    /// The slab is in a list of the heap.
    Push,
    /// A word of the heap's users has the block of the open step.
    Publish,
    /// A word of the heap's users has not this block any more: it is to be freed.
    Withdraw { slab: u32, block: u32 },
}

impl Then {
    pub(super) fn operation(self) -> [u64; 4] {
        match self {
            Then::Collect { slab, local } => [1, slab.into(), local, 0],
            Then::Detach { slab, class, next } => [2, slab.into(), class, next.into()],
            Then::Own { slab } => [3, slab.into(), 0, 0],
            Then::Free => [4, 0, 0, 0],
            Then::Pop { slab } => [5, slab.into(), 0, 0],
            Then::Disown => [6, 0, 0, 0],
            Then::Push => [7, 0, 0, 0],
            Then::Publish => [8, 0, 0, 0],
            Then::Withdraw { slab, block } => [9, slab.into(), block.into(), 0],
        }
    }

    /// `None`: no client announces this.
    pub(super) fn of(operation: &[u64]) -> Option<Then> {
        let slab = operation[1] as u32;
        let then = match operation[0] {
            1 => Then::Collect { slab, local: operation[2] },
            2 => Then::Detach { slab, class: operation[2], next: operation[3] as Link },
            3 => Then::Own { slab },
            4 => Then::Free,
            5 => Then::Pop { slab },
            6 => Then::Disown,
            7 => Then::Push,
            8 => Then::Publish,
            9 => Then::Withdraw { slab, block: operation[2] as u32 },
            _ => return None,
        };
        (then.operation() == operation[..4]).then_some(then)
    }
}

impl<'a> Owner<'a> {
    /// Changes a word, and does what belongs to it. `Err` has what the word has instead.
    pub(super) fn change(
        &self,
        (word, target): (&Word, u64),
        seen: Marked,
        value: u64,
        then: Then,
    ) -> Result<Result<(), Marked>, PoolError> {
        let [a, b, c, d] = then.operation();
        let change = Change {
            target: target | super::OF_HEAP,
            operation: [a, b, c, d, self.arena.roots_at],
        };
        let detector = &self.arena.detector;
        match detector.exchange(self.id, word, seen, value, &change)? {
            Ok(era) => {
                if then == Then::Free && flawed!(self.arena, EarlyAcknowledgement) {
                    detector.acknowledge(self.id, era);
                }
                self.finish_change(then)?;
                detector.acknowledge(self.id, era);
                Ok(Ok(()))
            }
            Err(other) => Ok(Err(other)),
        }
    }

    /// The word was changed. May be repeated.
    pub(super) fn finish_change(&self, then: Then) -> Result<(), PoolError> {
        match then {
            Then::Collect { slab: number, local } => {
                let slab = self.slab(number)?;
                let (before, after) = (Local::from_bits(own(&slab.local)), Local::from_bits(local));
                if after.head() == 0 {
                    self.note_links(number, before)?;
                }
                put(&slab.local, local);
                self.refresh_list(number, after)?;
            }
            Then::Detach { slab, class, next } => {
                // The slab may be another client's now.
                let list = self.list(class)?;
                let begin = List::from_bits(own(list));
                if begin.first() == slab + 1 {
                    if next != 0 {
                        put(&self.slab(next - 1)?.prev, 0);
                        crash_point!("alloc.detach_joined");
                    }
                    put(list, begin.popped(next).bits());
                }
            }
            Then::Own { slab } => {
                self.refresh_slab(slab)?;
                let local = Local::from_bits(own(&self.slab(slab)?.local));
                self.push(self.list(local.class())?, slab)?;
                crash_point!("alloc.owned");
                if self.step()? == (Step::Hand { slab }) {
                    self.close();
                }
            }
            Then::Pop { slab } => put(&self.holding.step, Step::Hand { slab }.bits()),
            Then::Disown => {}
            Then::Free | Then::Push | Then::Publish => self.close(),
            Then::Withdraw { slab, block } => {
                put(&self.holding.cell, 0);
                crash_point!("alloc.withdrawn");
                put(&self.holding.step, Step::Free { slab, block }.bits());
            }
        }
        crash_point!("alloc.change_finished");
        Ok(())
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
            Ok(()) => self.free_block(slab, block).map(Ok),
            Err(other) => Ok(Err(other)),
        }
    }

    /// What this client does.
    pub(super) fn step(&self) -> Result<Step, PoolError> {
        let bits = own(&self.holding.step);
        Step::from_bits(bits).ok_or_else(|| self.damaged("the step", bits))
    }

    /// Frees the block of the open step, whose slab is not the client's own.
    #[cold]
    pub(super) fn free_remote(&self, number: u32, block: u32) -> Result<(), PoolError> {
        let remote = self.remote(number)?;
        let offset = self.arena.offset(number, block);
        let mut seen = remote.word.load();
        loop {
            let shares = Shares::from_bits(seen.value);
            if shares.is_owned_by(self.id) {
                self.free_local(number, block)?;
                self.close();
                return self.limit(number);
            }
            let (next, then) = match shares.place() {
                Place::Detached => {
                    (shares.placed(Place::Owned, self.id), Then::Own { slab: number })
                }
                Place::Owned | Place::Listed => {
                    self.set_link(number, offset, shares.head())?;
                    self.write_link_back(offset);
                    crash_point!("alloc.remote_linked");
                    let owner = shares.owner();
                    let count = shares.count() + 1;
                    (Shares::new(shares.place(), owner, block + 1, count), Then::Free)
                }
                Place::Free => return Err(self.damaged("a slab", seen.value)),
            };
            match self.change(self.remote_word(number)?, seen, next.bits(), then)? {
                Ok(()) if then == Then::Free => return Ok(()),
                Ok(()) => seen = remote.word.load(),
                Err(other) => seen = other,
            }
        }
    }

    /// After this slab came in front of the list of its class: the client keeps neither a second empty one nor too
    /// many.
    fn limit(&self, number: u32) -> Result<(), PoolError> {
        let slab = self.slab(number)?;
        let list = self.list(Local::from_bits(own(&slab.local)).class())?;
        let second = own(&slab.next) as Link;
        if List::from_bits(own(list)).first() != number + 1 || second == 0 {
            return Ok(());
        }
        let local = Local::from_bits(own(&self.slab(second - 1)?.local));
        if local.used() == 0 {
            return self.retire(second - 1);
        }
        if List::from_bits(own(list)).count() > self.arena.limits.sized {
            return self.part_with(second - 1);
        }
        Ok(())
    }

    /// Retires a slab of the client's own without used blocks, and gives any other to the heap.
    pub(super) fn part_with(&self, number: u32) -> Result<(), PoolError> {
        let slab = self.slab(number)?;
        let seen = self.remote(number)?.word.load();
        let used = Local::from_bits(own(&slab.local)).used();
        if used != 0 && used == Shares::from_bits(seen.value).count() {
            self.collect(number, seen)?;
        }
        let local = Local::from_bits(own(&slab.local));
        if local.class() != 0 && local.used() == 0 {
            self.retire(number)
        } else {
            self.release(number)
        }
    }

    /// Takes the blocks that others have freed, as it was seen: all blocks of the slab are free then, or its own list
    /// is empty. Another client may have freed one more: then nothing happens.
    pub(super) fn collect(&self, number: u32, seen: Marked) -> Result<(), PoolError> {
        let local = Local::from_bits(own(&self.slab(number)?.local));
        let shares = Shares::from_bits(seen.value);
        let Some(used) = local.used().checked_sub(shares.count()) else {
            return Err(self.damaged("the count of a slab", seen.value));
        };
        let next = if used == 0 {
            // The lists may be in any order: none of them is needed.
            Local::of_class(local.class()).listed(local.is_listed())
        } else {
            local.with(shares.head(), used)
        };
        if flawed!(self.arena, EarlyCollection) {
            put(&self.slab(number)?.local, next.bits());
        }
        let none = Shares::new(Place::Owned, self.id, 0, 0);
        let then = Then::Collect { slab: number, local: next.bits() };
        self.change(self.remote_word(number)?, seen, none.bits(), then).map(|_| ())
    }

    /// Gives a slab without free blocks up: the next client that frees a block of it has it.
    fn detach(&self, number: u32, seen: Marked) -> Result<(), PoolError> {
        let slab = self.slab(number)?;
        let class = Local::from_bits(own(&slab.local)).class();
        let then = Then::Detach { slab: number, class, next: own(&slab.next) as Link };
        let next = Shares::new(Place::Detached, 0, 0, 0);
        self.write_slab_back(number)?;
        self.change(self.remote_word(number)?, seen, next.bits(), then).map(|_| ())
    }

    /// Makes the first slab of the class have a free block. False: there is no memory.
    #[cold]
    pub(super) fn refill(&self, class: usize) -> Result<bool, PoolError> {
        let list = self.list(class as u64 + 1)?;
        loop {
            let first = List::from_bits(own(list)).first();
            if first != 0 {
                let local = Local::from_bits(own(&self.slab(first - 1)?.local));
                if local.head() != 0 {
                    let offset = self.arena.offset(first - 1, local.head() - 1);
                    let link = self.link(first - 1, offset);
                    return link.map(|_| true).ok_or_else(|| self.damaged("a free block", offset));
                }
                if local.virgin() < self.arena.classes[class].blocks {
                    return Ok(true);
                }
                let seen = self.remote(first - 1)?.word.load();
                if Shares::from_bits(seen.value).count() != 0 {
                    self.collect(first - 1, seen)?;
                } else {
                    self.detach(first - 1, seen)?;
                }
                continue;
            }
            let empty = List::from_bits(own(&self.holding.empty)).first();
            if empty != 0 {
                self.take(empty - 1, class)?;
            } else if !self.pop(PARTIAL + class)?
                && !self.pop(FREE)?
                && !self.extend()?
                && !self.scavenge()?
            {
                return Ok(false);
            }
        }
    }

    /// Takes a slab out of a list of the heap, and owns it. False: there is none.
    pub(super) fn pop(&self, root: usize) -> Result<bool, PoolError> {
        let mut seen = self.arena.roots[root].word.load();
        loop {
            let begin = List::from_bits(seen.value);
            if begin.first() == 0 {
                return Ok(false);
            }
            let number = begin.first() - 1;
            // If it has left the list meanwhile, the word has another tag.
            let next = self.remote(number)?.next.load(Ordering::Acquire) as Link;
            let after = begin.popped(next).bits();
            match self.change(self.root_word(root), seen, after, Then::Pop { slab: number })? {
                Ok(()) => break self.own_slab(number).map(|()| true),
                Err(other) => seen = other,
            }
        }
    }

    /// Takes a slab that nobody ever had. False: there is none.
    fn extend(&self) -> Result<bool, PoolError> {
        let mut seen = self.arena.roots[LENGTH].word.load();
        while seen.value < self.arena.slabs.len() as u64 {
            let number = seen.value as u32;
            let then = Then::Pop { slab: number };
            match self.change(self.root_word(LENGTH), seen, seen.value + 1, then)? {
                Ok(()) => return self.own_slab(number).map(|()| true),
                Err(other) => seen = other,
            }
        }
        Ok(false)
    }

    /// The step `Hand` is open.
    pub(super) fn own_slab(&self, number: u32) -> Result<(), PoolError> {
        let mut seen = self.remote(number)?.word.load();
        loop {
            let next = Shares::from_bits(seen.value).placed(Place::Owned, self.id).bits();
            let then = Then::Own { slab: number };
            match self.change(self.remote_word(number)?, seen, next, then)? {
                Ok(()) => return Ok(()),
                Err(other) => seen = other,
            }
        }
    }

    /// Finds slabs all of whose blocks others have freed, when there is no other memory. Looks at all partly used
    /// slabs. False: there is none.
    pub(super) fn scavenge(&self) -> Result<bool, PoolError> {
        let mut has_found = false;
        for class in 0..self.arena.classes.len() {
            while self.pop(PARTIAL + class)? {}
            let list = self.list(class as u64 + 1)?;
            let mut next = List::from_bits(own(list)).first();
            while next != 0 {
                let number = next - 1;
                next = own(&self.slab(number)?.next) as Link;
                let local = Local::from_bits(own(&self.slab(number)?.local));
                let shares = Shares::from_bits(self.remote(number)?.word.value());
                if local.used() == shares.count() {
                    self.part_with(number)?;
                    has_found = true;
                }
            }
            while List::from_bits(own(list)).count() > self.arena.limits.sized.max(1) {
                let first = List::from_bits(own(list)).first();
                if first == 0 {
                    break;
                }
                self.release(first - 1)?;
            }
        }
        Ok(has_found)
    }

    /// Gives a slab of the client's own to the heap.
    pub(super) fn release(&self, number: u32) -> Result<(), PoolError> {
        put(&self.holding.step, Step::Release { slab: number }.bits());
        crash_point!("alloc.release_begun");
        self.finish_release(number)
    }

    /// The step `Release` is open.
    pub(super) fn finish_release(&self, number: u32) -> Result<(), PoolError> {
        let (slab, remote) = (self.slab(number)?, self.remote(number)?);
        let class = Local::from_bits(own(&slab.local)).class();
        let root = if class == 0 { FREE } else { PARTIAL + class as usize - 1 };
        if root >= self.arena.roots.len() {
            return Err(self.damaged("the class of a slab", class));
        }
        let mut seen = remote.word.load();
        while Shares::from_bits(seen.value).is_owned_by(self.id) {
            self.unlink(self.list(class)?, number)?;
            let place = if class == 0 { Place::Free } else { Place::Listed };
            self.note_links(number, Local::from_bits(own(&slab.local)))?;
            self.write_links_back(number)?;
            if class == 0 {
                self.vacate(number);
            }
            self.write_slab_back(number)?;
            let next = Shares::from_bits(seen.value).placed(place, 0).bits();
            match self.change(self.remote_word(number)?, seen, next, Then::Disown)? {
                Ok(()) => break,
                Err(other) => seen = other,
            }
        }
        let mut seen = self.arena.roots[root].word.load();
        loop {
            let begin = List::from_bits(seen.value);
            put(&remote.next, begin.first().into());
            crash_point!("alloc.release_linked");
            let after = begin.pushed(number).bits();
            match self.change(self.root_word(root), seen, after, Then::Push)? {
                Ok(()) => return Ok(()),
                Err(other) => seen = other,
            }
        }
    }

    /// Gives the pages of a slab back if the heap has many empty ones.
    fn vacate(&self, number: u32) {
        let free = List::from_bits(self.arena.roots[FREE].word.value());
        if free.count() >= self.arena.limits.resident {
            let at = self.arena.data_at + (u64::from(number) << self.arena.slab_shift);
            self.arena.memory.punch(&self.arena.caches, at, 1 << self.arena.slab_shift);
        }
    }

    /// Gives all slabs to the heap.
    pub(super) fn release_all(&self) -> Result<(), PoolError> {
        if flawed!(self.arena, NoRelease) {
            return Ok(());
        }
        for class in (0..=self.arena.classes.len() as u64).rev() {
            let list = self.list(class)?;
            loop {
                let first = List::from_bits(own(list)).first();
                if first == 0 {
                    break;
                }
                self.part_with(first - 1)?;
            }
        }
        Ok(())
    }

    pub(super) fn remote_word(&self, number: u32) -> Result<(&'a Word, u64), PoolError> {
        let at = u64::from(number) * size_of::<super::slab::Remote>() as u64;
        Ok((&self.remote(number)?.word, self.arena.remotes_at + at))
    }

    fn root_word(&self, root: usize) -> (&'a Word, u64) {
        let at = (root * size_of::<super::arena::Root>()) as u64;
        (&self.arena.roots[root].word, self.arena.roots_at + at)
    }
}
