//! A bit for each page of a range.

use std::sync::atomic::{AtomicU64, Ordering};

use swap::PageRange;

/// Bits that any thread may read and change; the fault handler reads them too.
pub struct PageBits {
    /// Changed by the thread that changes the state of the pages. Sequentially consistent: the change of a bit stands
    /// before or after the operation on the pages that it announces.
    words: Box<[AtomicU64]>,
}

impl PageBits {
    /// All clear.
    pub fn new(pages: usize) -> PageBits {
        PageBits { words: (0..pages.div_ceil(64)).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Sets or clears the bits of a range.
    pub fn fill(&self, range: PageRange, value: bool) {
        let mut page = range.start.0;
        while page < range.end().0 {
            let count = (64 - page % 64).min(range.end().0 - page);
            let mask = (u64::MAX >> (64 - count)) << (page % 64);
            match value {
                true => self.words[page / 64].fetch_or(mask, Ordering::SeqCst),
                false => self.words[page / 64].fetch_and(!mask, Ordering::SeqCst),
            };
            page += count;
        }
    }

    /// Is it set? Pages outside have none.
    pub fn is_set(&self, page: usize) -> bool {
        let word = self.words.get(page / 64).map_or(0, |word| word.load(Ordering::SeqCst));
        word >> (page % 64) & 1 != 0
    }

    /// How many bits are set in a row from `page` on, at most `most`.
    pub fn run(&self, page: usize, most: usize) -> usize {
        (0..most).find(|n| !self.is_set(page + n)).unwrap_or(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swap::Page;

    #[test]
    fn ranges_across_words() {
        let bits = PageBits::new(300);
        bits.fill(PageRange::new(Page(60), 140), true);
        assert!(!bits.is_set(59) && bits.is_set(60) && bits.is_set(199) && !bits.is_set(200));
        assert_eq!(bits.run(60, 1000), 140);
        assert_eq!(bits.run(60, 5), 5);
        bits.fill(PageRange::new(Page(64), 64), false);
        assert_eq!(bits.run(60, 1000), 4);
        assert_eq!((bits.run(128, 1000), bits.run(299, 10), bits.run(5000, 3)), (72, 0, 0));
        bits.fill(PageRange::new(Page(7), 0), true);
        assert!(!bits.is_set(7));
    }
}
