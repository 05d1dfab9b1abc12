//! The pages that come along with one that was faulted on: those that the prefetcher foresees, as far as allowed.

use crate::Page;
use crate::page::page_state::PageState;
use crate::page::page_table::PageTable;
use crate::range::RUN_PAGES;
use crate::replacement::prefetch::{Prefetcher, Probes, Readahead, Used};

/// The pages that should come with a page.
#[derive(Clone, Copy)]
pub struct Forecast {
    /// The prefetcher's answer.
    pub readahead: Readahead,
    /// How many pages of that are to be brought: all, or those before a probe.
    pub pages: usize,
}

impl Forecast {
    /// Pages of the run that is to come, with the one that was faulted on, if a walk in order that is long enough to
    /// bring whole runs has come to this page.
    pub fn long_walk(self) -> Option<usize> {
        let is_long = self.readahead.continues && self.readahead.pages == RUN_PAGES - 1;
        is_long.then_some(self.pages + 1)
    }

    /// The same, but no more than `pages` pages, with the one that was faulted on.
    pub fn at_most(self, pages: usize) -> Forecast {
        Forecast { pages: self.pages.min(pages - 1), ..self }
    }
}

/// Makes forecasts. Any thread, async-signal-safe.
pub struct Forecaster {
    /// `None`: a fault brings its page only.
    prefetcher: Option<Box<dyn Prefetcher>>,
    probes: Probes,
    run_after: Box<dyn Fn(Page) -> usize + Send + Sync>,
}

impl Forecaster {
    /// One forecast in `probe_one_in` has a probe. `run_after` is as
    /// [`PagerOptions::run_after`](crate::PagerOptions::run_after).
    pub fn new(
        prefetcher: Option<Box<dyn Prefetcher>>,
        probe_one_in: u32,
        run_after: Box<dyn Fn(Page) -> usize + Send + Sync>,
    ) -> Forecaster {
        Forecaster { prefetcher, probes: Probes::new(probe_one_in), run_after }
    }

    /// As [`Replacement::foresee`](crate::replacement::Replacement::foresee), in the round `lap`.
    #[inline]
    pub fn foresee(
        &self,
        pages: &PageTable,
        lap: u32,
        page: Page,
        state: PageState,
        probed: impl Fn(Used),
    ) -> Option<Forecast> {
        let prefetcher = self.prefetcher.as_ref()?;
        if let Some(shown) = self.probes.faulted(page, lap) {
            probed(shown);
        }
        let readahead = prefetcher.predict(page);
        let probe = match state {
            PageState::Remote => self.probe(pages, lap, page, readahead, probed),
            _ => None,
        };
        Some(Forecast { readahead, pages: probe.map_or(readahead.pages, |n| n - 1) })
    }

    /// Makes one of the pages a probe, if it is time for one: its number, counted from 1.
    fn probe(
        &self,
        pages: &PageTable,
        lap: u32,
        page: Page,
        readahead: Readahead,
        probed: impl Fn(Used),
    ) -> Option<usize> {
        let n = self.probes.choose(readahead.pages)?;
        let probe = readahead.page(page, n, pages.pages())?;
        let would_come =
            pages.word(probe).look().state() == PageState::Remote && self.may_bring(probe);
        would_come.then(|| {
            probed(self.probes.set(probe, readahead.pages, lap));
            n
        })
    }

    /// How many pages after this one may be brought ahead of time.
    #[inline]
    pub fn run_after(&self, page: Page) -> usize {
        (self.run_after)(page)
    }

    /// May the page be brought ahead of time? As `run_after` says of the page before it.
    pub fn may_bring(&self, page: Page) -> bool {
        page.0 > 0 && self.run_after(Page(page.0 - 1)) > 0
    }

    /// Of the foreseen pages, `reached` came or were resident, the last `present` of which had been resident.
    pub fn brought(&self, page: Page, readahead: Readahead, reached: usize, present: usize) {
        if let Some(prefetcher) = &self.prefetcher {
            prefetcher.brought(page, readahead, reached, present);
        }
    }
}
