//! Walks through memory in order.
//!
//! A trap into the fault handler costs about as much as several pages. So when a fault comes where an earlier one
//! predicted it, the pages behind it are brought along, twice as many each time. Where a walk comes to pages that are
//! resident already, it faults behind them, or on one of them that was evicted by then.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::{Prefetcher, Readahead};
use crate::Page;
use crate::range::RUN_PAGES;

/// The walks that were seen last. Races only cost a prediction.
#[derive(Default)]
pub struct Sequential {
    /// Each: the last page that the next fault may be on << 16 | how many before it will do as well << 8 | pages to
    /// bring along then. 0 = free. Any fault reads and writes them, relaxed: they are only hints.
    expected: [AtomicU64; WALKS],
    /// The place for the next new walk.
    next: AtomicUsize,
}

impl Prefetcher for Sequential {
    fn predict(&self, page: Page) -> Readahead {
        let expects = |walk: u64| {
            let before = (walk >> 16).wrapping_sub(page.0 as u64);
            walk != 0 && before <= walk >> 8 & 0xff
        };
        let Some(walk) = self.expected.iter().find(|one| expects(one.load(Relaxed))) else {
            return Readahead::NOTHING;
        };
        Readahead { stride: 1, pages: walk.swap(0, Relaxed) as usize & 0xff, continues: true }
    }

    /// The walk, if it is one, will fault behind the pages that were brought.
    fn brought(&self, page: Page, ahead: Readahead, pages: usize, present: usize) {
        let window = (ahead.pages * 2 + 1).min(RUN_PAGES - 1) as u64;
        let last = (page.0 + pages + 1) as u64;
        let free = self.expected.iter().find(|one| one.load(Relaxed) == 0);
        let oldest = || &self.expected[self.next.fetch_add(1, Relaxed) % WALKS];
        let walk = last << 16 | (present.min(0xff) as u64) << 8 | window;
        free.unwrap_or_else(oldest).store(walk, Relaxed);
    }
}

/// Several threads, and several walks each.
const WALKS: usize = 32;

const _: () = assert!(RUN_PAGES <= 0xff);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_is_recognised_and_jumps_are_not() {
        let walks = Sequential::default();
        let mut page = 1000;
        let mut windows = Vec::new();
        for jump in 0..9 {
            let other = Page(jump * 10_000 + 4);
            let ahead = walks.predict(other);
            assert_eq!(ahead, Readahead::NOTHING);
            walks.brought(other, ahead, 0, 0);
            let ahead = walks.predict(Page(page));
            windows.push(ahead.pages);
            assert_eq!(ahead.continues, jump > 0);
            walks.brought(Page(page), ahead, ahead.pages, 0);
            page += ahead.pages + 1;
        }
        assert_eq!(windows, [0, 1, 3, 7, 15, 31, 63, 127, 127]);
    }

    #[test]
    fn a_walk_goes_on_behind_pages_that_are_here() {
        let walks = Sequential::default();
        // Of the 20 pages behind page 100, the last 12 were resident: the next fault is on one of 109 to 121.
        for (page, is_expected) in
            [(108, false), (109, true), (115, true), (121, true), (122, false)]
        {
            walks.brought(Page(100), Readahead::NOTHING, 20, 12);
            assert_eq!(walks.predict(Page(page)).continues, is_expected, "{page}");
            walks.expected.iter().for_each(|walk| walk.store(0, Relaxed));
        }
        assert_eq!(walks.predict(Page(0)), Readahead::NOTHING);
    }
}
