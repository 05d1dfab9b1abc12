//! Bringing pages along with one that was faulted on: what the prefetcher foresees, as far as it is allowed and easy.

use crate::Page;
use crate::engine::far_space::FarSpace;
use crate::page::page_state::PageState;
use crate::replacement::prefetch::Readahead;
use crate::stats::Touch;
use crate::transfer::work_area::RUN_PAGES;

/// What should come with a page.
#[derive(Clone, Copy)]
pub struct Forecast {
    /// What the prefetcher said.
    ahead: Readahead,
    /// How many pages of that are to be brought: all, or those before a probe.
    pages: usize,
}

impl Forecast {
    /// Pages of the run that is to come, with the one that was faulted on, if a walk in order that is long enough to
    /// bring whole runs has come here.
    pub fn long_walk(self) -> Option<usize> {
        let is_long = self.ahead.continues && self.ahead.pages == RUN_PAGES - 1;
        is_long.then_some(self.pages + 1)
    }

    /// The same, but no more pages than so many, with the one that was faulted on.
    pub fn at_most(self, pages: usize) -> Forecast {
        Forecast { pages: self.pages.min(pages - 1), ..self }
    }
}

impl FarSpace {
    /// Asks the prefetcher what should come with a page that is `state` and is being touched.
    pub fn foresee(&self, page: Page, state: PageState, touch: Touch) -> Option<Forecast> {
        let prefetcher = self.prefetcher.as_ref().filter(|_| touch == Touch::Fault)?;
        if let Some(shown) = self.probes.faulted(page, self.lap()) {
            self.counters.probed(shown);
        }
        let ahead = prefetcher.predict(page);
        let probe = (state == PageState::Remote).then(|| self.probe(page, ahead)).flatten();
        Some(Forecast { ahead, pages: probe.map_or(ahead.pages, |n| n - 1) })
    }

    /// Makes one of the pages a probe, if it is time for one: its number, counted from 1.
    fn probe(&self, page: Page, ahead: Readahead) -> Option<usize> {
        let n = self.probes.choose(ahead.pages)?;
        let probe = ahead.page(page, n, self.pages())?;
        let would_come =
            self.word(probe).look().state() == PageState::Remote && self.may_bring(probe);
        would_come.then(|| {
            self.counters.probed(self.probes.set(probe, ahead.pages, self.lap()));
            n
        })
    }

    /// Locks the pages right after `page` that are foreseen, and reserves room for them, while
    /// both are easy to have; `has_frames`: there is room for all of them. Returns the length of the run, `page`
    /// included.
    pub fn lock_run(
        &self,
        page: Page,
        state: PageState,
        forecast: Option<Forecast>,
        has_frames: bool,
    ) -> usize {
        match forecast {
            Some(forecast) if forecast.ahead.stride == 1 => {
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
        let most = (self.options.run_after)(page).min(most).min(self.pages() - page.0 - 1);
        let mut last = reached;
        while last < most
            && self.lock_ahead(Page(page.0 + last + 1), state, has_frames) == Locking::Done
        {
            last += 1;
        }
        // Whoever takes pages out of what may be read ahead says so before he locks them.
        while last > reached && (self.options.run_after)(page) < last {
            self.release(usize::from(!has_frames));
            self.unlock(Page(page.0 + last), state);
            last -= 1;
        }
        last - reached
    }

    /// Brings those foreseen pages that are not in one run with `page`, writable if `write`, and tells the prefetcher
    /// how far that went in all; `run` have come already.
    pub fn bring_rest(
        &self,
        page: Page,
        state: PageState,
        run: usize,
        write: bool,
        forecast: Option<Forecast>,
    ) {
        let Some(forecast) = forecast else { return };
        let (reached, present) = match forecast.ahead.stride {
            1 => self.bring_behind(page, state, run, write, forecast),
            _ if state == PageState::Remote => (self.bring_far_ahead(page, run, forecast), 0),
            _ => (run, 0),
        };
        if let Some(prefetcher) = &self.prefetcher {
            prefetcher.brought(page, forecast.ahead, reached, present);
        }
    }

    /// Brings what is foreseen behind pages that are here. Returns how many pages after `page` are here then, one
    /// after the other, and how many of the last of these had been before.
    fn bring_behind(
        &self,
        page: Page,
        state: PageState,
        run: usize,
        write: bool,
        forecast: Forecast,
    ) -> (usize, usize) {
        let present_max = if forecast.ahead.continues { PRESENT_MAX } else { PRESENT_MAX_AT_FIRST };
        let (mut reached, mut present) = (run, 0);
        while page.0 + reached + 1 < self.pages() && present < present_max {
            let next = Page(page.0 + reached + 1);
            let seen = self.word(next).look();
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
            self.fetch_locked(next, count, written, true);
            let came_as = if write { PageState::Dirty } else { PageState::Clean };
            (0..count).for_each(|n| self.unlock_arrived(Page(next.0 + n), came_as, false));
            self.counters.ahead(count);
            (reached, present) = (reached + count, 0);
        }
        (reached, present)
    }

    /// Brings foreseen pages that do not follow one another, for reading. Returns how many are here then.
    fn bring_far_ahead(&self, page: Page, run: usize, forecast: Forecast) -> usize {
        let mut reached = run;
        let mut came = 0;
        for n in 1..=forecast.pages {
            let Some(next) = forecast.ahead.page(page, n, self.pages()) else { break };
            match self.lock_ahead(next, PageState::Remote, false) {
                Locking::NoRoom => break,
                Locking::NotSo => {}
                Locking::Done if self.may_bring(next) => {
                    self.fetch_locked(next, 1, 0, true);
                    self.unlock_arrived(next, PageState::Clean, false);
                    came += 1;
                }
                Locking::Done => {
                    self.release(1);
                    self.unlock(next, PageState::Remote);
                }
            }
            reached = n;
        }
        self.counters.ahead(came);
        reached
    }

    /// Brings one page for reading that is about to be used, if it is far and that is easy and allowed. True if so.
    pub fn bring_alone(&self, page: Page) -> bool {
        if self.lock_ahead(page, PageState::Remote, false) != Locking::Done {
            return false;
        }
        let may = self.may_bring(page);
        if may {
            self.fetch_locked(page, 1, 0, true);
            self.unlock_arrived(page, PageState::Clean, true);
        } else {
            self.release(1);
            self.unlock(page, PageState::Remote);
        }
        may
    }

    /// May the page be brought ahead of time? As `PagerOptions::run_after` says of the page before it.
    fn may_bring(&self, page: Page) -> bool {
        page.0 > 0 && (self.options.run_after)(Page(page.0 - 1)) > 0
    }

    /// Locks a page that is `state`, with room for it that the evictor need not keep.
    fn lock_ahead(&self, page: Page, state: PageState, has_frames: bool) -> Locking {
        let word = self.word(page);
        let seen = word.look();
        if seen.state() != state || seen.is_locked() {
            return Locking::NotSo;
        }
        // The evictor begins to make room when there is twice as much: else a walk would wait for it.
        let spare = self.reserve.pages() / 2;
        let takes_frame =
            || self.try_take_frame(spare) || self.empty_cached() && self.try_take_frame(spare);
        if !has_frames && !takes_frame() {
            return Locking::NoRoom;
        }
        if !word.try_lock(seen) {
            self.release(usize::from(!has_frames));
            return Locking::NotSo;
        }
        Locking::Done
    }
}

/// What became of the wish to lock a page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Locking {
    Done,
    NoRoom,
    /// It is in another state, or somebody else is busy with it.
    NotSo,
}

/// Pages in a row that are here, behind which a walk is still expected to go on: what `Sequential` can hold.
const PRESENT_MAX: usize = 255;
/// The same where it is not known yet whether there is a walk: looking takes time.
const PRESENT_MAX_AT_FIRST: usize = 16;
