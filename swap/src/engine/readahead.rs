//! Readahead: bringing pages along with one that was faulted on, as foreseen (`forecast`), while it is cheap.

use crate::Page;
use crate::engine::FarSpace;
use crate::page::page_state::PageState;
use crate::replacement::forecast::Forecast;

impl FarSpace {
    /// Locks the pages right after `page` that are foreseen, and reserves room for them, while
    /// both are cheap; `has_frames`: there is room for all of them. Returns the length of the run, `page`
    /// included.
    pub(super) fn lock_run(
        &self,
        page: Page,
        state: PageState,
        forecast: Option<Forecast>,
        has_frames: bool,
    ) -> usize {
        match forecast {
            Some(forecast) if forecast.readahead.stride == 1 => {
                1 + self.lock_behind(page, 0, forecast.pages, state, has_frames)
            }
            _ => 1,
        }
    }

    /// As [`lock_run`](Self::lock_run): those behind the first `reached` pages after `page`, up to the `most`-th.
    /// Returns how many, which follow one another.
    fn lock_behind(
        &self,
        page: Page,
        reached: usize,
        most: usize,
        state: PageState,
        has_frames: bool,
    ) -> usize {
        if most <= reached {
            return 0;
        }
        let most = self
            .replacement
            .forecaster()
            .run_after(page)
            .min(most)
            .min(self.pages.pages() - page.0 - 1);
        let mut last = reached;
        while last < most
            && self.lock_ahead(Page(page.0 + last + 1), state, has_frames) == Locking::Done
        {
            last += 1;
        }
        // A thread that withdraws pages from readahead changes `run_after` before it locks them.
        while last > reached && self.replacement.forecaster().run_after(page) < last {
            self.frames.release(usize::from(!has_frames));
            self.pages.unlock(Page(page.0 + last), state);
            last -= 1;
        }
        last - reached
    }

    /// Brings those foreseen pages that are not in one run with `page`, writable if `write`, and reports to the
    /// prefetcher how far that reached in all; `run` have come already.
    pub(super) fn bring_rest(
        &self,
        page: Page,
        state: PageState,
        run: usize,
        write: bool,
        forecast: Option<Forecast>,
    ) {
        let Some(forecast) = forecast else { return };
        let (reached, present) = match forecast.readahead.stride {
            1 => self.bring_behind(page, state, run, write, forecast),
            _ if state == PageState::Remote => (self.bring_far_ahead(page, run, forecast), 0),
            _ => (run, 0),
        };
        self.replacement.forecaster().brought(page, forecast.readahead, reached, present);
    }

    /// Brings the foreseen pages behind resident ones. Returns how many consecutive pages after `page` are
    /// resident then, and how many of the last of these had been before.
    fn bring_behind(
        &self,
        page: Page,
        state: PageState,
        run: usize,
        write: bool,
        forecast: Forecast,
    ) -> (usize, usize) {
        let present_max =
            if forecast.readahead.continues { PRESENT_MAX } else { PRESENT_MAX_AT_FIRST };
        let (mut reached, mut present) = (run, 0);
        while page.0 + reached + 1 < self.pages.pages() && present < present_max {
            let next = Page(page.0 + reached + 1);
            let seen = self.pages.word(next).look();
            if seen.state().is_resident() || seen.is_locked() {
                (reached, present) = (reached + 1, present + 1);
                continue;
            }
            let count = match state {
                PageState::Remote => self.lock_behind(page, reached, forecast.pages, state, false),
                _ => 0,
            };
            if count == 0 {
                break;
            }
            let written = if write { count } else { 0 };
            self.fetch(next, count, written, true);
            let came_as = if write { PageState::Dirty } else { PageState::Clean };
            (0..count).for_each(|n| self.unlock_arrived(Page(next.0 + n), came_as, false));
            self.counters.ahead(count);
            (reached, present) = (reached + count, 0);
        }
        (reached, present)
    }

    /// Brings foreseen pages that do not follow one another, for reading. Returns how many are resident then.
    fn bring_far_ahead(&self, page: Page, run: usize, forecast: Forecast) -> usize {
        let mut reached = run;
        let mut came = 0;
        for n in 1..=forecast.pages {
            let Some(next) = forecast.readahead.page(page, n, self.pages.pages()) else { break };
            match self.lock_ahead(next, PageState::Remote, false) {
                Locking::NoRoom => break,
                Locking::NotSo => {}
                Locking::Done if self.replacement.forecaster().may_bring(next) => {
                    self.fetch(next, 1, 0, true);
                    self.unlock_arrived(next, PageState::Clean, false);
                    came += 1;
                }
                Locking::Done => {
                    self.frames.release(1);
                    self.pages.unlock(next, PageState::Remote);
                }
            }
            reached = n;
        }
        self.counters.ahead(came);
        reached
    }

    /// Brings one page for reading that is about to be used, if it is remote and that is cheap and allowed. True if
    /// so.
    pub(super) fn bring_alone(&self, page: Page) -> bool {
        if self.lock_ahead(page, PageState::Remote, false) != Locking::Done {
            return false;
        }
        let may = self.replacement.forecaster().may_bring(page);
        if may {
            self.fetch(page, 1, 0, true);
            self.unlock_arrived(page, PageState::Clean, true);
        } else {
            self.frames.release(1);
            self.pages.unlock(page, PageState::Remote);
        }
        may
    }

    /// Locks a page that is `state`, with room for it that the evictor need not keep.
    fn lock_ahead(&self, page: Page, state: PageState, has_frames: bool) -> Locking {
        let word = self.pages.word(page);
        let seen = word.look();
        if seen.state() != state || seen.is_locked() {
            return Locking::NotSo;
        }
        // The evictor begins to make room when there is twice as much: else a walk would wait for it.
        let spare = self.frames.reserve_pages() / 2;
        let takes_frame = || {
            self.try_take_frame(spare)
                || self.frames.empty_cached() > 0 && self.try_take_frame(spare)
        };
        if !has_frames && !takes_frame() {
            return Locking::NoRoom;
        }
        if !word.try_lock(seen) {
            self.frames.release(usize::from(!has_frames));
            return Locking::NotSo;
        }
        Locking::Done
    }
}

/// The result of an attempt to lock a page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Locking {
    Done,
    NoRoom,
    /// It is in another state, or another thread has locked it.
    NotSo,
}

/// Resident pages in a row, behind which a walk is still expected to continue: the most that `Sequential` can hold.
const PRESENT_MAX: usize = 255;
/// The same where it is not known yet whether there is a walk: looking takes time.
const PRESENT_MAX_AT_FIRST: usize = 16;
