//! Bringing pages along with one that was faulted on: what the prefetcher foresees, as far as it is allowed and easy.

use crate::far_space::FarSpace;
use crate::page_state::PageState;
use crate::prefetch::Ahead;
use crate::stats::Touch;
use crate::work_area::RUN_PAGES;
use crate::{Page, PageRange};

/// What should come with a page.
#[derive(Clone, Copy)]
pub struct Forecast {
    /// What the prefetcher said.
    ahead: Ahead,
    /// How many pages of that are to be brought: all, or those before a probe.
    pages: usize,
}

impl Forecast {
    /// The run before `page`, if a walk in order has passed it, and goes on with another whole one.
    pub fn whole_run_passed(self, page: Page) -> Option<PageRange> {
        let is_whole = self.pages == RUN_PAGES - 1 && self.ahead.behind == RUN_PAGES;
        is_whole.then(|| PageRange::new(Page(page.0 - RUN_PAGES), RUN_PAGES))
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
    fn probe(&self, page: Page, ahead: Ahead) -> Option<usize> {
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
    /// both are easy to have; `has_room`: there is room for all of them. Returns the length of the run, `page`
    /// included.
    pub fn lock_run(
        &self,
        page: Page,
        state: PageState,
        forecast: Option<Forecast>,
        has_room: bool,
    ) -> usize {
        let most = match forecast {
            Some(forecast) if forecast.pages > 0 && forecast.ahead.stride == 1 => {
                let after = (self.options.run_after)(page);
                after.min(forecast.pages).min(self.pages() - page.0 - 1)
            }
            _ => 0,
        };
        let mut count = 1;
        while count <= most {
            if self.lock_ahead(Page(page.0 + count), state, has_room) != Locking::Done {
                break;
            }
            count += 1;
        }
        // Whoever takes pages out of what may be read ahead says so before he locks them.
        while count > 1 && (self.options.run_after)(page) < count - 1 {
            count -= 1;
            self.release(usize::from(!has_room));
            self.unlock(Page(page.0 + count), state);
        }
        count
    }

    /// Brings those foreseen pages that are not in one run with `page`, for reading, and tells the prefetcher how far
    /// that went in all; `run` have come already.
    pub fn bring_rest(&self, page: Page, state: PageState, run: usize, forecast: Option<Forecast>) {
        let Some(Forecast { ahead, pages }) = forecast else { return };
        let mut reached = run;
        let mut came = 0;
        if ahead.stride != 1 && state == PageState::Remote {
            for n in 1..=pages {
                let Some(next) = ahead.page(page, n, self.pages()) else { break };
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
        }
        if let Some(prefetcher) = &self.prefetcher {
            prefetcher.brought(page, ahead, reached);
        }
    }

    /// May the page be brought ahead of time? As `PagerOptions::run_after` says of the page before it.
    fn may_bring(&self, page: Page) -> bool {
        page.0 > 0 && (self.options.run_after)(Page(page.0 - 1)) > 0
    }

    /// Locks a page that is `state`, with room for it that the evictor need not keep.
    fn lock_ahead(&self, page: Page, state: PageState, has_room: bool) -> Locking {
        let word = self.word(page);
        let seen = word.look();
        if seen.state() != state || seen.is_locked() {
            return Locking::NotSo;
        }
        // The evictor begins to make room when there is twice as much: else a walk would wait for it.
        if !has_room && !self.try_take_room(self.reserve.pages() / 2) {
            return Locking::NoRoom;
        }
        if !word.try_lock(seen) {
            self.release(usize::from(!has_room));
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
