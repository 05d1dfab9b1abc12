//! Frames that move directly from pages that a walk has passed to those that it reaches.
//!
//! A walk through more memory than there is room for needs a frame for each page, and leaves one behind with each. To
//! have the kernel take one back and give out another takes longer than all the rest: two allocators, accounts, frames
//! that no cache knows, and, since one thread evicts what another one fetches, an interrupt of every CPU for
//! each batch. So when room is short, a fault that continues a walk in order moves the pages of the walk's last run
//! (`UFFDIO_MOVE`) to a run of the cache (`frame_cache`), copies the next pages over them, and moves them to the
//! place of those. No room is taken and none is given back.
//!
//! 1. The new run is locked, all of it remote.
//! 2. As many of the pages right before it are locked: clean, without credit and without pins. New pages without such
//!    an old page are not brought in.
//! 3. The old pages are moved to the run and unlocked as evicted ones. Their servers have their current contents.
//! 4. The run is filled from where the server's memory is mapped, and moved to its place.
//! 5. Pages arrive writable; the kernel cannot move them otherwise. If they are not being written, they are protected
//!    now, and compared with their source: a page that was written in that moment is dirty. Nothing else could detect
//!    that.
//!
//! Where frames are cached (`frame_cache`), a walk takes these instead, whether room is short or not.
//!
//! **Pages that a walk brings take the place of those that it has passed**, the youngest pages rather than the
//! oldest: so memory that is not part of the walk stays, and of a walk that repeatedly passes through too much memory
//! a part is resident each time. Lest this keep a walk through little memory out for ever, one run of several is
//! treated as other pages are ([`FrameCache::is_kept`](crate::frames::frame_cache::FrameCache::is_kept)): it gets
//! credit when it comes back soon, and with credit it is not recycled.
//!
//! **A single page** for which there is no room is handled the same way: it is brought into the frame of a page
//! that is ready for eviction (`ready`).
//!
//! Where the kernel (before 6.8) or the protection of the program's own mappings does not allow it, and after some
//! refusals for good, pages are copied in and dropped as ever.

use std::ptr;

use crate::engine::FarSpace;
use crate::frames::frame_cache::{CACHED_PAGES, FrameRun};
use crate::page::page_state::PageState;
use crate::range::RUN_PAGES;
use crate::replacement::forecast::Forecast;
use crate::stats::Touch;
use crate::transfer::arrival::{Arrived, settle};
use crate::{PAGE_BYTES, Page};

impl FarSpace {
    /// Brings a page that is `state`, which the caller locked, and the run behind it in cached frames or those of the
    /// run before it, and unlocks it, if a walk has come to it. The caller has no room for the page. False: nothing
    /// was done to the page.
    pub(super) fn bring_recycled(
        &self,
        page: Page,
        state: PageState,
        write: bool,
        forecast: Option<Forecast>,
    ) -> bool {
        let has_cached = self.frames.cache().pages() > 0;
        let run_max = if has_cached { CACHED_PAGES } else { RUN_PAGES };
        let forecast = forecast.map(|forecast| forecast.at_most(run_max));
        let wanted = forecast.and_then(Forecast::long_walk).unwrap_or(0);
        if wanted < RECYCLED_MIN || !self.frames.cache().are_usable() {
            return false;
        }
        let mapped;
        let from = match state {
            PageState::Zero | PageState::Blank => self.kernel.zeros(),
            _ => {
                let Some(there) = self.transfer.mapped(page, wanted) else { return false };
                mapped = there;
                mapped.at()
            }
        };
        let may_recycle = state == PageState::Remote && self.frames.are_short();
        if !may_recycle && !has_cached {
            return false;
        }
        let locked = self.lock_run(page, state, forecast, true);
        let cached = if locked == CACHED_PAGES { self.frames.cache().take_full() } else { None };
        let is_wanted = state.is_zero();
        let arrival = match cached {
            Some(_) => Arrival::AsEver { is_wanted },
            None if self.frames.cache().is_kept() => Arrival::AsEver { is_wanted },
            None => Arrival::Passing,
        };
        let (run, count) = match cached {
            Some(run) => {
                self.counters.used_cached(locked);
                (Some(run), locked)
            }
            None if may_recycle => self.take_passed(page, locked),
            None => (None, 0),
        };
        (count.max(1)..locked).for_each(|n| self.pages.unlock(Page(page.0 + n), state));
        let Some(run) = run else { return false };
        run.lay(&self.kernel, page, from, count);
        drop(run);
        match state {
            PageState::Zero | PageState::Blank => self.counters.zero_fault(Touch::Fault),
            _ => self.counters.fetched(Touch::Fault, count),
        }
        self.unlock_laid(page, count, from, write, arrival);
        self.bring_rest(page, state, count - 1, write, forecast);
        true
    }

    /// Does a run that a fault brings belong to a walk, and is to be evicted when that has passed?
    pub(super) fn passes(&self, forecast: Option<Forecast>) -> bool {
        let is_walk = forecast.is_some_and(|forecast| forecast.long_walk().is_some());
        is_walk
            && self.frames.cache().are_usable()
            && self.frames.are_short()
            && !self.frames.cache().is_kept()
    }

    /// Moves evictable pages right before `page` to a run, up to `most` of them, and unlocks them. Returns how
    /// many frames the run has.
    fn take_passed(&self, page: Page, most: usize) -> (Option<FrameRun<'_>>, usize) {
        let Some(run) = self.frames.cache().take() else { return (None, 0) };
        let first = page.0.saturating_sub(RUN_PAGES);
        let (mut locked, mut count) = (0_u128, 0);
        for n in 0..page.0 - first {
            if count < most && self.pages.word(Page(first + n)).try_lock_ready(false).is_some() {
                locked |= 1 << n;
                count += 1;
            }
        }
        let mut moved = 0;
        let mut goes = count >= RECYCLED_MIN;
        while locked != 0 {
            let start = locked.trailing_zeros() as usize;
            let pages = (locked >> start).trailing_ones() as usize;
            let to = run.address() + moved * PAGE_BYTES;
            let went = if goes { self.move_ready(to, Page(first + start), pages) } else { 0 };
            (went..pages)
                .for_each(|n| self.pages.unlock(Page(first + start + n), PageState::Clean));
            goes &= went == pages;
            moved += went;
            locked &= !(u128::MAX >> (u128::BITS as usize - pages) << start);
        }
        self.counters.recycled(moved);
        (if moved > 0 { Some(run) } else { None }, moved)
    }

    /// Moves locked pages, which may be evicted, to a run, and unlocks the moved ones as evicted. Returns how many.
    fn move_ready(&self, to: usize, start: Page, pages: usize) -> usize {
        let moved = match self.kernel.tracker() {
            Some(tracker) => {
                let left = self.departure(tracker).move_frames(to, start, pages);
                self.counters.written(left.written);
                left.gone
            }
            None => self.kernel.move_out(to, start, pages),
        };
        let quarter = self.replacement.left(moved, self.frames.resident_pages());
        let mut clean = 0;
        for page in (start.0..start.0 + moved).map(Page) {
            clean += usize::from(self.pages.word(page).look().state() == PageState::Clean);
            self.pages.unlock_evicted(page, quarter);
        }
        self.counters.evicted(moved, clean);
        if moved < pages {
            self.frames.cache().refuse();
        }
        moved
    }

    /// Brings a page that is `state`, which the caller locked, in the frame of one that is ready for eviction, and
    /// unlocks it. False: nothing was done to the page.
    pub(super) fn bring_exchanged(&self, page: Page, state: PageState, write: bool) -> bool {
        let Some(run) = self.frames.cache().take() else { return false };
        let next = || {
            std::iter::from_fn(|| self.lock_next_ready())
                .find(|(page, _)| !self.pages.spare(&self.kernel, *page))
        };
        let Some((ready, was)) = next() else { return false };
        if self.move_ready(run.address(), ready, 1) == 0 {
            self.pages.unlock(ready, was);
            return false;
        }
        self.counters.exchanged();
        self.frames.fell_short(1);
        let arrival = Arrival::AsEver { is_wanted: true };
        match state {
            PageState::Zero | PageState::Blank => {
                run.lay(&self.kernel, page, self.kernel.zeros(), 1);
                self.counters.zero_fault(Touch::Fault);
                self.unlock_laid(page, 1, self.kernel.zeros(), write, arrival);
            }
            _ => {
                self.transfer.read(page, 1, false, |from| {
                    run.lay(&self.kernel, page, from, 1);
                    self.counters.fetched(Touch::Fault, 1);
                    self.unlock_laid(page, 1, from, write, arrival);
                });
            }
        }
        true
    }

    /// Unlocks a run that arrived writable from `from`: dirty if it is being written, clean and protected if not.
    fn unlock_laid(&self, page: Page, count: usize, from: *const u8, write: bool, how: Arrival) {
        self.replacement.came(count, self.frames.resident_pages());
        settle(&Laid { space: self, page, from, how }, count, write);
    }
}

/// A run of locked pages that was laid.
struct Laid<'a> {
    space: &'a FarSpace,
    page: Page,
    /// The source of which the run is a copy.
    from: *const u8,
    how: Arrival,
}

impl Arrived for Laid<'_> {
    fn protect(&self, n: usize, count: usize, protect: bool) {
        self.space.kernel.protect(Page(self.page.0 + n), count, protect);
    }

    fn is_same(&self, n: usize) -> bool {
        let here = ptr::with_exposed_provenance(self.space.kernel.address(Page(self.page.0 + n)));
        let from = self.from.wrapping_add(n * PAGE_BYTES).cast();
        // SAFETY: whole pages, which stay mapped while the caller holds the lock of the one, and for the life of its
        // segment the other; no thread writes the first, and no agent is writing the second
        // (`PagerOptions::run_after`).
        unsafe { libc::memcmp(here, from, PAGE_BYTES) == 0 }
    }

    fn unlock(&self, n: usize, state: PageState) {
        let page = Page(self.page.0 + n);
        match self.how {
            Arrival::AsEver { is_wanted } => self.space.unlock_arrived(page, state, is_wanted),
            Arrival::Passing => self.space.pages.unlock_passing(page, state),
        }
    }
}

/// With how much credit a page arrives.
#[derive(Clone, Copy)]
enum Arrival {
    /// As other pages do.
    AsEver { is_wanted: bool },
    /// With no credit: it is to be evicted when the walk has passed.
    Passing,
}

/// For fewer pages than this the moves cost more than they save.
const RECYCLED_MIN: usize = 8;

const _: () = assert!(RUN_PAGES <= u128::BITS as usize, "the runs that go are a set of bits");
