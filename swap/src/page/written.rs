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
//! A note that a clean page was written may be too old to be true: frames that are moved to a page's place arrive
//! writable, and are protected there (`arrival`), and whoever asked in between looks at the word after that. So a page
//! becomes dirty by its note only when it is asked about again by a thread that holds its lock. Else it could be
//! written back, unchanged, over what an agent has written to it on its server meanwhile.
//!
//! A page that is read and then written, or written back and then written again, costs a fault of 1 us in the
//! kernel instead of a signal of 4.5 to 16 us. Evicting a clean page costs a copy, its frame's way through a
//! pipe, and a comparison: about 1.3 us more. Dirty pages need not be protected and copied before eviction.

use crate::Page;
use crate::kernel::interface::KernelInterface;
use crate::page::page_state::{PageWord, Seen};
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

    /// Asks again about those pages that were noted as written and count as clean or watched, with their locks held:
    /// they are dirty, and used, if they were. Returns them all, also those that other threads have locked meanwhile.
    pub fn note_written(&self, kernel: &KernelInterface, noted: Written) -> Written {
        let Written { first, count, bits } = noted;
        let page = |n: usize| Page(first + n);
        let (mut concerned, mut locked) = (0, 0);
        for n in ones_of(bits) {
            let word = self.word(page(n));
            let seen = word.look();
            if !seen.is_locked() && seen.is_noted() {
                concerned |= 1 << n;
                locked |= u64::from(word.try_lock(seen)) << n;
            }
        }
        if locked != 0 {
            let written = self.written(kernel, Page(first), count);
            ones_of(locked).for_each(|n| {
                if !self.spare_if(written, page(n)) {
                    self.unlock_unwritten(page(n));
                }
            });
        }
        Written { first, count, bits: concerned }
    }

    /// The same of one page, which is not locked if it still is as it was `seen`: was it written? `None`: it is not so
    /// any more.
    pub fn is_written(&self, kernel: &KernelInterface, page: Page, seen: Seen) -> Option<bool> {
        self.word(page).try_lock(seen).then(|| {
            let is_written = self.spare(kernel, page);
            if !is_written {
                self.unlock_unwritten(page);
            }
            is_written
        })
    }

    /// Gives back the lock of a page that stays as it was.
    fn unlock_unwritten(&self, page: Page) {
        match self.word(page).look() {
            seen if seen.is_watched() => self.unlock_watched(page),
            seen => self.unlock(page, seen.state()),
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

/// The places of the ones in `bits`, from the lowest on.
fn ones_of(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (bits != 0).then_some(bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        place
    })
}

/// The `count` lowest bits.
fn ones(count: usize) -> u64 {
    u64::MAX >> (u64::BITS as usize - count)
}

/// Pages that the kernel is asked about at once.
pub const ASKED_PAGES: usize = 64;

const _: () = assert!(ASKED_PAGES <= 64, "groups of pages are sets of bits");
