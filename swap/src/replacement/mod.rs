//! The replacement: which pages are evicted, and which are brought in before they are needed.

pub mod chase;
pub mod clock;
pub mod epoch;
pub mod forecast;
pub mod prefetch;
pub mod ready;
pub mod ready_ring;

use crate::Page;
use crate::page::page_state::PageState;
use crate::page::page_table::PageTable;
use crate::replacement::clock::Clock;
use crate::replacement::epoch::Epochs;
use crate::replacement::forecast::{Forecast, Forecaster};
use crate::replacement::prefetch::Used;
use crate::replacement::ready_ring::ReadyRing;

/// The replacement of one far space. Any thread, async-signal-safe.
pub struct Replacement {
    clock: Clock,
    ready: ReadyRing,
    epochs: Epochs,
    /// Its quarters end with evictions: pages that are zero, or take free frames, displace none.
    quarters: Epochs,
    forecaster: Forecaster,
}

impl Replacement {
    /// For `pages` pages, with an epoch for each `epoch_percent` of changes.
    pub fn new(pages: usize, epoch_percent: u32, forecaster: Forecaster) -> Replacement {
        Replacement {
            clock: Clock::new(pages),
            ready: ReadyRing::new(ready::SLOTS),
            epochs: Epochs::new(epoch_percent),
            quarters: Epochs::new(25),
            forecaster,
        }
    }

    /// The round of the clock.
    #[inline]
    pub fn lap(&self) -> u32 {
        self.clock.lap()
    }

    /// The number of the epoch.
    pub fn epoch(&self) -> u64 {
        self.epochs.number()
    }

    /// Pages came; `resident_pages` are in local memory.
    #[inline]
    pub fn came(&self, pages: usize, resident_pages: usize) {
        self.epochs.changed(pages, resident_pages);
    }

    /// The quarter of the replacement: one is over when as many pages have left as a quarter of the resident ones.
    #[inline]
    pub fn quarter(&self) -> u32 {
        self.quarters.number() as u32
    }

    /// Pages left for lack of room; `resident_pages` are in local memory. Returns the quarter.
    pub fn left(&self, pages: usize, resident_pages: usize) -> u32 {
        self.quarters.changed(pages, resident_pages);
        self.quarter()
    }

    /// The pages that should come with a page that is `state` and was faulted on. `probed` gets the results of
    /// probes.
    #[inline]
    pub fn foresee(
        &self,
        pages: &PageTable,
        page: Page,
        state: PageState,
        probed: impl Fn(Used),
    ) -> Option<Forecast> {
        self.forecaster.foresee(pages, self.lap(), page, state, probed)
    }

    /// The forecaster, for the engine to ask how many pages it may bring, and to report how many it brought.
    #[inline]
    pub fn forecaster(&self) -> &Forecaster {
        &self.forecaster
    }
}
