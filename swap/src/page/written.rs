//! Which pages were written, in far spaces where the kernel notes writes (`write_tracker`) instead of raising
//! signals.
//!
//! The states of pages mean the same, but for one thing: a page that is `Clean` may have been written since, and only
//! the kernel knows. Code that acts on the state asks it: the replacement, which gives credit to written pages; the
//! pager's methods that write pages back; and the eviction of pages (`departure`). They ask before they look at the
//! word: a thread that protects a page after that finds that it was written, and says so in the word. A page is
//! protected again only by a thread that holds its lock, and that learns in the same step whether it was written
//! before: so no note is lost.
//!
//! A page that is read and then written, or written back and then written again, costs a fault of 1 us in the
//! kernel instead of a signal of 4.5 to 16 us. Evicting a clean page costs a copy, its frame's way through a
//! pipe, and a comparison: about 1.3 us more. Dirty pages need not be protected and copied before eviction.

use crate::Page;
use crate::kernel::interface::KernelInterface;
use crate::page::page_state::PageWord;
use crate::page::page_table::PageTable;

/// Which of up to [`ASKED_PAGES`] pages the kernel says were written.
#[derive(Clone, Copy, Default)]
pub struct Written {
    /// The first that was asked about, and how many.
    first: usize,
    count: usize,
    bits: u64,
}

impl Written {
    /// Was this page written? Only of those that were asked about it is known.
    pub fn has(&self, page: Page) -> bool {
        self.is_about(page) && self.bits >> (page.0 - self.first) & 1 != 0
    }

    /// Is it one of those that were asked about?
    fn is_about(&self, page: Page) -> bool {
        page.0.wrapping_sub(self.first) < self.count
    }
}

impl PageTable {
    /// Asks which of up to [`ASKED_PAGES`] pages were written, if the kernel notes that and one of them counts as
    /// clean.
    pub fn written(&self, kernel: &KernelInterface, first: Page, count: usize) -> Written {
        let mut written = Written { first: first.0, count, bits: 0 };
        let is_noted = |word: &PageWord| word.look().is_noted();
        if let Some(tracker) = kernel.tracker()
            && self.words_from(first, count).iter().any(is_noted)
        {
            tracker.written(kernel.address(first), count, false, |start, pages| {
                written.bits |= ones(pages) << start;
            });
        }
        written
    }

    /// The notes known of `page`, or asked for now, together with those of the pages around it.
    pub fn written_around(&self, kernel: &KernelInterface, known: Written, page: Page) -> Written {
        let first = Page(page.0 / ASKED_PAGES * ASKED_PAGES);
        match known.is_about(page) {
            true => known,
            false => self.written(kernel, first, ASKED_PAGES.min(self.pages() - first.0)),
        }
    }

    /// The notes known of `page`, or asked for now, together with those of the pages behind it before `end`.
    pub fn written_before(
        &self,
        kernel: &KernelInterface,
        known: Written,
        page: Page,
        end: Page,
    ) -> Written {
        match known.is_about(page) {
            true => known,
            false => self.written(kernel, page, ASKED_PAGES.min(end.0 - page.0)),
        }
    }

    /// The kernel has noted that a page was written: it is dirty, and used. Nothing happens if another thread holds
    /// its lock.
    pub fn note_written(&self, page: Page) {
        let word = self.word(page);
        let seen = word.look();
        if !seen.is_locked() && seen.is_noted() && word.try_lock(seen) {
            self.unlock_written(page);
        }
    }

    /// Leaves a locked page alone if it has been written lately, as the kernel knows: it is dirty, and unlocked. True
    /// if so.
    pub fn spare(&self, kernel: &KernelInterface, page: Page) -> bool {
        self.spare_if(self.written(kernel, page, 1), page)
    }

    /// The same, with the notes that are known already.
    pub fn spare_if(&self, written: Written, page: Page) -> bool {
        let is_spared = written.has(page) && self.word(page).look().is_noted();
        if is_spared {
            self.unlock_written(page);
        }
        is_spared
    }
}

/// The `count` lowest bits.
fn ones(count: usize) -> u64 {
    u64::MAX >> (u64::BITS as usize - count)
}

/// Pages that the kernel is asked about at once.
pub const ASKED_PAGES: usize = 64;

const _: () = assert!(ASKED_PAGES <= 64, "groups of pages are sets of bits");
