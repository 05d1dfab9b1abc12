//! The state of one page, in one word.
//!
//! ```text
//!  31    19 18        17           12 11   9 8      4 3        2        1   0
//! ┌────────┬─────────┬──────────────┬──────┬────────┬────────┬────────┬───────┐
//! │ pins   │ watched │ quarter of   │ heat │ credit │ thread │ locked │ state │
//! │        │         │ the eviction │      │        │ waits  │        │       │
//! └────────┴─────────┴──────────────┴──────┴────────┴────────┴────────┴───────┘
//! ```
//!
//! *Heat* says how often a page has come back soon after its eviction, *credit* how many rounds of the replacement it
//! may still stay: with each return twice as many. The replacement's *quarters* count evictions: one is over when as
//! many pages have left as a quarter of the resident ones.
//!
//! A thread that changes where the page is (fetches it, protects it, writes it back, drops it)
//! locks it, does so, and unlocks it with the new state. A thread that holds a lock never waits for
//! another. A lock is only taken from the exact word that was looked at, so "not pinned" and
//! "locked for eviction" are one step.
//!
//! Invariants:
//! * Only the holder of the lock changes the mapping of the page, its protection, or its copy on
//!   the server.
//! * Unlocked and `Dirty`: mapped writable. Unlocked and `Clean`: mapped, write-protected, equal to
//!   the server's copy; where the kernel notes writes (`written`) it may have been written since, and it is not
//!   protected any more then. Otherwise: not mapped; the contents are the server's (`Remote`), zero both locally and
//!   on the server (`Zero`), or zero regardless of what the server holds (`Blank`, in bit 18): the thread that brings
//!   such a page in makes it dirty.
//! * `Dirty` and watched (only where the kernel notes writes): it was protected, so that the kernel notes the next
//!   write.
//! * A page with pins is not locked for eviction. Pins may be added while it is locked for
//!   anything.

use crate::sync::{AtomicU32, Ordering};

/// Where the current contents of a page are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum PageState {
    /// Never written since the last discard: zero everywhere, mapped nowhere.
    Zero = 0,
    /// On its server only.
    Remote = 1,
    /// Resident, and equal to the server's copy.
    Clean = 2,
    /// Resident, and newer than the server's copy.
    Dirty = 3,
    /// Zero, mapped nowhere; the server has anything.
    Blank = 1 << 18,
}

impl PageState {
    /// Is the page in local memory?
    pub fn is_resident(self) -> bool {
        matches!(self, PageState::Clean | PageState::Dirty)
    }

    /// Is it zero, and not in local memory?
    pub fn is_zero(self) -> bool {
        matches!(self, PageState::Zero | PageState::Blank)
    }
}

/// The word of one page, all zero at first: `Zero`, unlocked, unpinned.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct PageWord(
    /// Written by every thread that faults on, pins or moves the page. Taking the lock acquires,
    /// giving it back releases: the last holder's changes of the page happen before those of the
    /// next one.
    AtomicU32,
);

/// The value of the word at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen(u32);

impl Seen {
    /// Where the page is; while locked, where it was when it was locked, or the state found since.
    pub fn state(self) -> PageState {
        match self.0 & 3 {
            0 if self.0 & WATCHED != 0 => PageState::Blank,
            0 => PageState::Zero,
            1 => PageState::Remote,
            2 => PageState::Clean,
            _ => PageState::Dirty,
        }
    }

    /// Is a thread moving it?
    pub fn is_locked(self) -> bool {
        self.0 & LOCKED != 0
    }

    /// How many have pinned it.
    pub fn pins(self) -> u32 {
        self.0 >> PIN_SHIFT
    }

    /// Is it dirty, and does the kernel note the next write?
    pub fn is_watched(self) -> bool {
        self.state() == PageState::Dirty && self.0 & WATCHED != 0
    }

    /// Does only the kernel know whether it was written lately?
    pub fn is_noted(self) -> bool {
        self.state() == PageState::Clean || self.is_watched()
    }

    /// Rounds of the replacement that it may stay.
    pub fn credit(self) -> u32 {
        self.0 >> CREDIT_SHIFT & CREDIT_MASK
    }

    /// The raw word, for sleeping on it.
    pub fn bits(self) -> u32 {
        self.0
    }
}

impl PageWord {
    /// Looks.
    pub fn look(&self) -> Seen {
        Seen(self.0.load(Ordering::Acquire))
    }

    /// Locks the page if its word still is `seen`, which was not locked.
    pub fn try_lock(&self, seen: Seen) -> bool {
        debug_assert!(!seen.is_locked());
        self.swap(seen.0, seen.0 | LOCKED)
    }

    /// Locks the page if it may be evicted as it is: it is clean, or else `dirty_too`, and has neither credit nor
    /// pins. Returns its state.
    pub fn try_lock_ready(&self, dirty_too: bool) -> Option<PageState> {
        let seen = self.look();
        let state = seen.state();
        let may_go = state == PageState::Clean || dirty_too && state == PageState::Dirty;
        let is_wanted = seen.pins() > 0 || seen.credit() > 0;
        (!seen.is_locked() && may_go && !is_wanted && self.try_lock(seen)).then_some(state)
    }

    /// The caller holds the lock of a resident page, and has found that it was written.
    pub fn set_dirty(&self) {
        let before = Seen(self.0.fetch_or(PageState::Dirty as u32, Ordering::AcqRel));
        debug_assert!(before.is_locked() && before.state().is_resident(), "{before:?}");
    }

    /// Gives the lock back with a new state. True when a thread sleeps on the word and must be
    /// woken.
    #[must_use]
    pub fn unlock(&self, state: PageState) -> bool {
        self.unlock_with(|word| word & !STATE_MASK | state as u32)
    }

    /// Gives the lock back with a new state. The page has just been used again, so it gets new
    /// credit.
    #[must_use]
    pub fn unlock_used(&self, state: PageState) -> bool {
        self.unlock_with(|word| {
            let credit = rounds(word >> HEAT_SHIFT & HEAT_MASK) + 1;
            let word = word & !(STATE_MASK | CREDIT_MASK << CREDIT_SHIFT);
            word | state as u32 | credit << CREDIT_SHIFT
        })
    }

    /// Gives the lock back: the page is dirty, and was protected.
    #[must_use]
    pub fn unlock_watched(&self) -> bool {
        self.unlock_with(|word| word & !STATE_MASK | WATCHED | PageState::Dirty as u32)
    }

    /// Gives the lock back: the page is in local memory now. `quarter` is the replacement's current one, `heat_max` the
    /// most heat that a page gets. A page that comes with a walk, and may not be wanted again, gets one round less: so
    /// walks through much memory take the place of one another rather than of pages that are used all the time.
    #[must_use]
    pub fn unlock_arrived(
        &self,
        state: PageState,
        quarter: u32,
        heat_max: u32,
        is_wanted: bool,
    ) -> bool {
        debug_assert!(state.is_resident() && heat_max <= HEAT_MAX);
        self.unlock_with(|word| {
            let away = quarter.wrapping_sub(word >> QUARTER_SHIFT) & QUARTER_MASK;
            let heat = word >> HEAT_SHIFT & HEAT_MASK;
            let heat = match word & 3 {
                0 => 0,
                _ if away <= SOON => (heat + 1).min(heat_max),
                _ => heat.saturating_sub(1),
            };
            let cleared = STATE_MASK | HEAT_MASK << HEAT_SHIFT | CREDIT_MASK << CREDIT_SHIFT;
            let word = word & !cleared;
            let credit = rounds(heat) + u32::from(is_wanted);
            word | state as u32 | heat << HEAT_SHIFT | credit << CREDIT_SHIFT
        })
    }

    /// Gives the lock back: the page is in local memory now, and is to be evicted when the walk that brought it has
    /// passed.
    #[must_use]
    pub fn unlock_passing(&self, state: PageState) -> bool {
        debug_assert!(state.is_resident());
        self.unlock_with(|word| word & !(STATE_MASK | CREDIT_MASK << CREDIT_SHIFT) | state as u32)
    }

    /// Gives the lock back: the page is in local memory now because the collector traces it. It has no credit, and is
    /// colder, since the program did without it.
    #[must_use]
    pub fn unlock_traced(&self, state: PageState) -> bool {
        debug_assert!(state.is_resident());
        self.unlock_with(|word| {
            let heat = match word & 3 {
                0 => 0,
                _ => (word >> HEAT_SHIFT & HEAT_MASK).saturating_sub(1),
            };
            let cleared = STATE_MASK | HEAT_MASK << HEAT_SHIFT | CREDIT_MASK << CREDIT_SHIFT;
            word & !cleared | state as u32 | heat << HEAT_SHIFT
        })
    }

    /// Gives the lock back: the page was dropped for lack of room in a quarter of the replacement.
    #[must_use]
    pub fn unlock_evicted(&self, quarter: u32) -> bool {
        self.unlock_with(|word| {
            let word = word & !(STATE_MASK | QUARTER_MASK << QUARTER_SHIFT);
            word | PageState::Remote as u32 | (quarter & QUARTER_MASK) << QUARTER_SHIFT
        })
    }

    /// Announces that the caller will sleep until the page is unlocked. `None` when it is not
    /// locked any more; else the word to sleep on.
    pub fn announce_wait(&self) -> Option<Seen> {
        let seen = self.look();
        if !seen.is_locked() {
            return None;
        }
        let waiting = seen.0 | WAITED;
        (seen.0 == waiting || self.swap(seen.0, waiting)).then_some(Seen(waiting))
    }

    /// Adds a pin. Returns how many there were.
    pub fn pin(&self) -> u32 {
        let before = self.0.fetch_add(1 << PIN_SHIFT, Ordering::AcqRel) >> PIN_SHIFT;
        assert!(before < u32::MAX >> PIN_SHIFT, "page pinned {before} times");
        before
    }

    /// Removes a pin. Returns how many are left.
    pub fn unpin(&self) -> u32 {
        let before = self.0.fetch_sub(1 << PIN_SHIFT, Ordering::AcqRel) >> PIN_SHIFT;
        assert!(before > 0, "page unpinned more often than pinned");
        before - 1
    }

    /// The replacement passes: takes one credit if there is one, and returns the new value of the word. `None`: none
    /// was left, the page may be evicted.
    pub fn spend_credit(&self, seen: Seen) -> Option<Seen> {
        if seen.credit() == 0 {
            return None;
        }
        let left = Seen(seen.0 - (1 << CREDIT_SHIFT));
        // Lost races do not matter: another thread is using the page.
        self.swap(seen.0, left.0);
        Some(left)
    }

    /// The word itself, for sleeping on it.
    pub fn atomic(&self) -> &AtomicU32 {
        &self.0
    }

    fn unlock_with(&self, change: impl Fn(u32) -> u32) -> bool {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            debug_assert!(word & LOCKED != 0, "unlocking an unlocked page: {word:#x}");
            let new = change(word) & !(LOCKED | WAITED);
            let result = self.0.compare_exchange(word, new, Ordering::AcqRel, Ordering::Relaxed);
            match result {
                Ok(old) => return old & WAITED != 0,
                Err(now) => word = now,
            }
        }
    }

    fn swap(&self, old: u32, new: u32) -> bool {
        self.0.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

/// The bits that every new state replaces.
const STATE_MASK: u32 = 3 | WATCHED;
const LOCKED: u32 = 1 << 2;
const WAITED: u32 = 1 << 3;
const CREDIT_SHIFT: u32 = 4;
const CREDIT_MASK: u32 = 31;
const HEAT_SHIFT: u32 = 9;
const HEAT_MASK: u32 = 7;
/// The most heat.
pub const HEAT_MAX: u32 = 5;
/// The most credit that a page gets.
pub const CREDIT_MAX: u32 = rounds(HEAT_MAX) + 1;
/// Quarters in which a page that was evicted is back soon.
const SOON: u32 = 2;
const QUARTER_SHIFT: u32 = 12;
const QUARTER_MASK: u32 = 0x3f;
/// Of a dirty page; of one that is zero: [`PageState::Blank`].
const WATCHED: u32 = 1 << 18;
const PIN_SHIFT: u32 = 19;

/// Rounds that a page with this heat may stay longer than others.
const fn rounds(heat: u32) -> u32 {
    match heat {
        0 => 0,
        heat => 1 << (heat - 1),
    }
}

/// The heat with which a page stays at most `most` rounds longer.
pub fn heat_for(most: u32) -> u32 {
    (0..=HEAT_MAX).rev().find(|heat| rounds(*heat) <= most).unwrap_or(0)
}

const _: () = assert!(PageState::Blank as u32 == WATCHED);
const _: () = assert!(CREDIT_MAX <= CREDIT_MASK && HEAT_MAX <= HEAT_MASK);
const _: () = assert!(HEAT_SHIFT == CREDIT_SHIFT + 5 && QUARTER_SHIFT == HEAT_SHIFT + 3);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A page that is evicted and comes back in the same quarter, `returns` times; then its credit.
    fn credit_after(returns: u32, heat_max: u32) -> u32 {
        let word = PageWord::default();
        for quarter in 0..=returns {
            assert!(word.try_lock(word.look()));
            assert!(!word.unlock_arrived(PageState::Clean, quarter, heat_max, true));
            if quarter < returns {
                assert!(word.try_lock(word.look()));
                assert!(!word.unlock_evicted(quarter));
            }
        }
        word.look().credit()
    }

    #[test]
    fn a_page_that_comes_back_soon_stays_twice_as_long_each_time() {
        let credits = |most| (0..8).map(|n| credit_after(n, heat_for(most))).collect::<Vec<_>>();
        assert_eq!(credits(16), [1, 2, 3, 5, 9, 17, 17, 17]);
        assert_eq!(credits(2), [1, 2, 3, 3, 3, 3, 3, 3]);
        assert_eq!(credits(0), [1; 8]);
        assert_eq!([0, 1, 2, 3, 4, 15, 16, 99].map(heat_for), [0, 1, 2, 2, 3, 4, 5, 5]);
    }

    #[test]
    fn a_page_that_was_away_for_long_cools_down() {
        let word = PageWord::default();
        let come = |quarter| {
            assert!(word.try_lock(word.look()));
            assert!(!word.unlock_arrived(PageState::Clean, quarter, HEAT_MAX, false));
            let credit = word.look().credit();
            assert!(word.try_lock(word.look()));
            assert!(!word.unlock_evicted(quarter));
            credit
        };
        assert_eq!([0, 2, 4, 6, 8].map(come), [0, 1, 2, 4, 8]);
        assert_eq!([11, 14, 17, 20, 23].map(come), [4, 2, 1, 0, 0]);
        assert_eq!(come(25), 1);
        // Heat 1, 2; tracing takes one away, and so the return of the program gives 2 again.
        assert_eq!(come(26), 2);
        assert!(word.try_lock(word.look()));
        assert!(!word.unlock_traced(PageState::Clean));
        assert_eq!(word.look().credit(), 0);
        assert!(word.try_lock(word.look()));
        assert!(!word.unlock_evicted(27));
        assert_eq!(come(28), 2);
    }
}
