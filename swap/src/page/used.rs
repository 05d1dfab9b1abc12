//! Which parts of the far space were ever used, so that the cost of a scan of all of it follows the used memory, not
//! the reserved.

use crate::sync::{AtomicU64, AtomicUsize, Ordering};
use crate::{Page, PageRange};

/// One bit for each block of [`BLOCK_PAGES`] pages: set before one of them leaves the state
/// [`Zero`](crate::page::page_state::PageState::Zero), and never cleared. Any thread, also in the fault handler.
///
/// Relaxed: a thread that must find a page that another thread has used is notified by other means, which order.
pub struct UsedBlocks {
    bits: Box<[AtomicU64]>,
    /// How many are set.
    count: AtomicUsize,
    pages: usize,
}

impl UsedBlocks {
    /// For `pages` pages, none of them used.
    pub fn new(pages: usize) -> UsedBlocks {
        let words = pages.div_ceil(BLOCK_PAGES).div_ceil(64);
        UsedBlocks {
            bits: (0..words).map(|_| AtomicU64::new(0)).collect(),
            count: AtomicUsize::new(0),
            pages,
        }
    }

    /// A page is used from now on.
    #[inline]
    pub fn note(&self, page: Page) {
        let (word, bit) = position(page.0 / BLOCK_PAGES);
        if self.bits[word].load(Ordering::Relaxed) & bit == 0
            && self.bits[word].fetch_or(bit, Ordering::Relaxed) & bit == 0
        {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The first page from `page` on that may be used; `None` if none is.
    #[inline]
    pub fn next(&self, page: Page) -> Option<Page> {
        let block = page.0 / BLOCK_PAGES;
        let (word, bit) = position(block);
        let from_bit = |bits: u64| bits & !(bit - 1);
        let here = from_bit(self.bits.get(word)?.load(Ordering::Relaxed));
        let found = match here {
            0 => {
                let rest = self.bits.iter().enumerate().skip(word + 1);
                let mut rest = rest.map(|(word, bits)| (word, bits.load(Ordering::Relaxed)));
                rest.find(|(_, bits)| *bits != 0)?
            }
            bits => (word, bits),
        };
        let block = found.0 * 64 + found.1.trailing_zeros() as usize;
        Some(Page(page.0.max(block * BLOCK_PAGES)))
    }

    /// The pages of a range that may be used, ascending.
    pub fn pages_in(&self, range: PageRange) -> impl Iterator<Item = Page> {
        let mut at = range.start;
        std::iter::from_fn(move || {
            if at.0.is_multiple_of(BLOCK_PAGES) || at == range.start {
                at = self.next(at)?;
            }
            let page = at;
            at = Page(at.0 + 1);
            (page.0 < range.end().0).then_some(page)
        })
    }

    /// How many pages may be used.
    pub fn pages(&self) -> usize {
        (self.count.load(Ordering::Relaxed) * BLOCK_PAGES).min(self.pages)
    }
}

fn position(block: usize) -> (usize, u64) {
    (block / 64, 1 << (block % 64))
}

/// Pages whose words fill a page.
const BLOCK_PAGES: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blocks_that_are_used_are_looked_at() {
        let used = UsedBlocks::new(200 * BLOCK_PAGES + 7);
        let all = PageRange::new(Page(0), 200 * BLOCK_PAGES + 7);
        assert_eq!((used.next(Page(0)), used.pages(), used.pages_in(all).count()), (None, 0, 0));
        for page in [3 * BLOCK_PAGES + 5, 3 * BLOCK_PAGES, 70 * BLOCK_PAGES - 1, 200 * BLOCK_PAGES]
        {
            used.note(Page(page));
        }
        assert_eq!(used.pages(), 3 * BLOCK_PAGES);
        let next = |page| used.next(Page(page)).map(|page| page.0 as f64 / BLOCK_PAGES as f64);
        assert_eq!(next(0), Some(3.0));
        assert_eq!(next(BLOCK_PAGES * 7 / 2), Some(3.5));
        assert_eq!(next(BLOCK_PAGES * 4), Some(69.0));
        assert_eq!(next(BLOCK_PAGES * 70), Some(200.0));
        assert_eq!(next(BLOCK_PAGES * 201), None);
        assert_eq!(used.pages_in(all).count(), 2 * BLOCK_PAGES + 7);
        let some = PageRange::new(Page(3 * BLOCK_PAGES + 10), 67 * BLOCK_PAGES);
        let found: Vec<Page> = used.pages_in(some).collect();
        assert_eq!(found.len(), BLOCK_PAGES - 10 + BLOCK_PAGES);
        assert!(found.is_sorted_by(|a, b| a < b) && found[0] == some.start);
    }
}
