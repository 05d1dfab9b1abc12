//! The state of one page, in one word.
//!
//! ```text
//!  31          17 16        15           8 7    6 5      4 3        2        1   0
//! ┌──────────────┬─────────┬──────────────┬──────┬────────┬────────┬────────┬───────┐
//! │ pins         │ watched │ lap of the   │ heat │ credit │ thread │ locked │ state │
//! │              │         │ last eviction│      │        │ waits  │        │       │
//! └──────────────┴─────────┴──────────────┴──────┴────────┴────────┴────────┴───────┘
//! ```
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
//!   on the server (`Zero`), or zero regardless of what the server holds (`Blank`, in bit 16): the thread that brings
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
    Blank = 1 << 16,
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
        self.0 >> CREDIT_SHIFT & 3
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
            let heat = word >> HEAT_SHIFT & 3;
            let word = word & !(STATE_MASK | 3 << CREDIT_SHIFT);
            word | state as u32 | (heat + 1) << CREDIT_SHIFT
        })
    }

    /// Gives the lock back: the page is dirty, and was protected.
    #[must_use]
    pub fn unlock_watched(&self) -> bool {
        self.unlock_with(|word| word & !STATE_MASK | WATCHED | PageState::Dirty as u32)
    }

    /// Gives the lock back: the page is in local memory now. `lap` is the replacement's current
    /// round. A page that comes with a walk, and may not be wanted again, gets one round less: so
    /// walks through much memory take the place of one another rather than of pages that are used
    /// all the time.
    #[must_use]
    pub fn unlock_arrived(&self, state: PageState, lap: u32, is_wanted: bool) -> bool {
        debug_assert!(state.is_resident());
        self.unlock_with(|word| {
            let away = lap.wrapping_sub(word >> LAP_SHIFT) & LAP_MASK;
            let heat = word >> HEAT_SHIFT & 3;
            let heat = match word & 3 {
                0 => 0,
                _ if away <= 1 => (heat + 1).min(HEAT_MAX),
                _ => heat.saturating_sub(1),
            };
            let word = word & !(STATE_MASK | 3 << HEAT_SHIFT | 3 << CREDIT_SHIFT);
            let credit = heat + u32::from(is_wanted);
            word | state as u32 | heat << HEAT_SHIFT | credit << CREDIT_SHIFT
        })
    }

    /// Gives the lock back: the page is in local memory now, and is to be evicted when the walk that brought it has
    /// passed.
    #[must_use]
    pub fn unlock_passing(&self, state: PageState) -> bool {
        debug_assert!(state.is_resident());
        self.unlock_with(|word| word & !(STATE_MASK | 3 << CREDIT_SHIFT) | state as u32)
    }

    /// Gives the lock back: the page was dropped for lack of room in round `lap`.
    #[must_use]
    pub fn unlock_evicted(&self, lap: u32) -> bool {
        self.unlock_with(|word| {
            let word = word & !(STATE_MASK | LAP_MASK << LAP_SHIFT);
            word | PageState::Remote as u32 | (lap & LAP_MASK) << LAP_SHIFT
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
const HEAT_SHIFT: u32 = 6;
const HEAT_MAX: u32 = 2;
const LAP_SHIFT: u32 = 8;
const LAP_MASK: u32 = 0xff;
/// Of a dirty page; of one that is zero: [`PageState::Blank`].
const WATCHED: u32 = 1 << 16;
const PIN_SHIFT: u32 = 17;

const _: () = assert!(PageState::Blank as u32 == WATCHED);
const _: () = assert!(HEAT_MAX < 3, "credit is heat + 1 and has two bits");
