//! Which faults continue a walk through memory in order.
//!
//! A trap into the fault handler costs about as much as several pages. So when a fault comes
//! exactly where an earlier one predicted it, the pages behind it are brought along, twice as many
//! each time.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::Page;
use crate::work_area::RUN_PAGES;

/// The walks that were seen last. Async-signal-safe; races only cost a prediction.
#[derive(Default)]
pub struct Streams {
    /// Each: the page of the next fault << 8 | pages to bring along then. 0 = free. Any fault reads
    /// and writes them, relaxed: they are only hints.
    expected: [AtomicU64; STREAMS],
    /// Where the next new walk goes.
    next: AtomicUsize,
}

impl Streams {
    /// How many pages after this one should come with it: 0 unless a walk has got here.
    pub fn window(&self, page: Page) -> usize {
        let found = self.expected.iter().find(|one| one.load(Relaxed) >> 8 == page.0 as u64);
        let Some(stream) = found.filter(|_| page.0 > 0) else { return 0 };
        (stream.swap(0, Relaxed) & 0xff) as usize
    }

    /// A fault was served: the walk, if it is one, is going to fault on `page` next. `window` is
    /// what [`Streams::window`] said before.
    pub fn expect(&self, page: Page, window: usize) {
        let window = (window * 2 + 1).min(RUN_PAGES - 1) as u64;
        let free = self.expected.iter().find(|one| one.load(Relaxed) == 0);
        let oldest = || &self.expected[self.next.fetch_add(1, Relaxed) % STREAMS];
        free.unwrap_or_else(oldest).store((page.0 as u64) << 8 | window, Relaxed);
    }
}

/// Several threads, and several walks each.
const STREAMS: usize = 32;

const _: () = assert!(RUN_PAGES <= 0xff);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_is_recognised_and_jumps_are_not() {
        let streams = Streams::default();
        let mut page = 1000;
        let mut windows = Vec::new();
        for jump in 0..8 {
            streams.expect(Page(jump * 10_000 + 5), streams.window(Page(jump * 10_000 + 4)));
            let window = streams.window(Page(page));
            windows.push(window);
            page += window + 1;
            streams.expect(Page(page), window);
        }
        assert_eq!(windows, [0, 1, 3, 7, 15, 31, 63, 63]);
    }
}
