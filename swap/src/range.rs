//! Page numbers and ranges of them.

/// Bytes of a page.
pub const PAGE_BYTES: usize = 4096;

/// The most pages that one fault brings. With twice as many, they would leave the CPU's second-level cache before
/// the program gets to them.
pub const RUN_PAGES: usize = 128;

/// Number of a page in the far space.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Page(pub usize);

impl Page {
    /// The page that holds this byte of the far space.
    pub fn of_offset(offset: usize) -> Page {
        Page(offset / PAGE_BYTES)
    }

    /// Where it begins in the far space, in bytes.
    pub fn offset(self) -> usize {
        self.0 * PAGE_BYTES
    }
}

/// Consecutive pages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PageRange {
    /// The first one.
    pub start: Page,
    /// How many.
    pub count: usize,
}

impl PageRange {
    /// `count` pages from `start` on.
    pub fn new(start: Page, count: usize) -> PageRange {
        PageRange { start, count }
    }

    /// All pages that hold any byte of `offset .. offset + bytes` of the far space.
    pub fn of_bytes(offset: usize, bytes: usize) -> PageRange {
        if bytes == 0 {
            return PageRange { start: Page::of_offset(offset), count: 0 };
        }
        let start = Page::of_offset(offset);
        let last = Page::of_offset(offset + bytes - 1);
        PageRange { start, count: last.0 - start.0 + 1 }
    }

    /// The pages, in order.
    pub fn pages(self) -> impl DoubleEndedIterator<Item = Page> + ExactSizeIterator {
        (self.start.0..self.start.0 + self.count).map(Page)
    }

    /// One past the last page.
    pub fn end(self) -> Page {
        Page(self.start.0 + self.count)
    }

    /// Length in bytes.
    pub fn bytes(self) -> usize {
        self.count * PAGE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_every_byte() {
        assert_eq!(PageRange::of_bytes(0, 1), PageRange::new(Page(0), 1));
        assert_eq!(PageRange::of_bytes(4095, 2), PageRange::new(Page(0), 2));
        assert_eq!(PageRange::of_bytes(8192, 4096), PageRange::new(Page(2), 1));
        assert_eq!(PageRange::of_bytes(8192, 0).count, 0);
    }
}
