//! Walks through memory in order.
//!
//! A trap into the fault handler costs about as much as several pages. So when a fault comes
//! exactly where an earlier one predicted it, the pages behind it are brought along, twice as many
//! each time.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::{Ahead, Prefetcher};
use crate::Page;
use crate::work_area::RUN_PAGES;

/// The walks that were seen last. Races only cost a prediction.
#[derive(Default)]
pub struct Sequential {
    /// Each: the page of the next fault << 16 | pages that came last, right before it << 8 | pages to bring along then.
    /// 0 = free. Any fault reads and writes them, relaxed: they are only hints.
    expected: [AtomicU64; WALKS],
    /// Where the next new walk goes.
    next: AtomicUsize,
}

impl Prefetcher for Sequential {
    fn predict(&self, page: Page) -> Ahead {
        let found = self.expected.iter().find(|one| one.load(Relaxed) >> 16 == page.0 as u64);
        let Some(walk) = found.filter(|_| page.0 > 0) else { return Ahead::NOTHING };
        let walk = walk.swap(0, Relaxed) as usize;
        Ahead { stride: 1, pages: walk & 0xff, behind: walk >> 8 & 0xff }
    }

    /// The walk, if it is one, is going to fault behind what was brought.
    fn brought(&self, page: Page, ahead: Ahead, pages: usize) {
        let window = (ahead.pages * 2 + 1).min(RUN_PAGES - 1) as u64;
        let next = (page.0 + pages + 1) as u64;
        let free = self.expected.iter().find(|one| one.load(Relaxed) == 0);
        let oldest = || &self.expected[self.next.fetch_add(1, Relaxed) % WALKS];
        let walk = next << 16 | (pages as u64 + 1) << 8 | window;
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
        for jump in 0..8 {
            let other = Page(jump * 10_000 + 4);
            let ahead = walks.predict(other);
            assert_eq!(ahead, Ahead::NOTHING);
            walks.brought(other, ahead, 0);
            let ahead = walks.predict(Page(page));
            windows.push(ahead.pages);
            walks.brought(Page(page), ahead, ahead.pages);
            page += ahead.pages + 1;
        }
        assert_eq!(windows, [0, 1, 3, 7, 15, 31, 63, 63]);
    }
}
