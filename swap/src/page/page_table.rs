//! The page table of one far space: the word of each page, and which pages were ever used.

use std::ptr;
use std::slice;
use std::time::Duration;

use base::futex;

use crate::kernel::reservation::Reservation;
use crate::page::page_state::{PageState, PageWord, heat_for};
use crate::page::used::UsedBlocks;
use crate::{PAGE_BYTES, Page, SwapError};

/// The page table. Any thread; all but `new` is async-signal-safe. A method that unlocks is called by the holder of
/// the page's lock, and wakes the threads that wait for it.
pub struct PageTable {
    /// One `PageWord` for each page.
    words: Reservation,
    used: UsedBlocks,
    pages: usize,
    heat_max: u32,
}

impl PageTable {
    /// For `pages` pages, all of which are zero and none of which was used. A page that comes back soon after its
    /// eviction stays at most `rounds_max` rounds longer than others.
    pub fn new(pages: usize, rounds_max: u32) -> Result<PageTable, SwapError> {
        let words = Reservation::new(pages * size_of::<PageWord>(), PAGE_BYTES)?;
        let used = UsedBlocks::new(pages);
        Ok(PageTable { words, used, pages, heat_max: heat_for(rounds_max) })
    }

    /// Pages of the far space.
    #[inline]
    pub fn pages(&self) -> usize {
        self.pages
    }

    /// Bytes of memory that the words take. Slow.
    pub fn resident_bytes(&self) -> usize {
        self.words.resident_bytes()
    }

    /// The word of a page.
    #[inline]
    pub fn word(&self, page: Page) -> &PageWord {
        self.words_from(page, 1).first().expect("one was asked for")
    }

    /// The words of `count` pages from `page` on.
    #[inline]
    pub fn words_from(&self, page: Page, count: usize) -> &[PageWord] {
        assert!(page.0 + count <= self.pages, "page {} of {}", page.0, self.pages);
        let words: *const PageWord = ptr::with_exposed_provenance(self.words.base());
        // SAFETY: inside the table by the assertion; all-zero is a valid word, and the table lives
        // as long as self.
        unsafe { slice::from_raw_parts(words.add(page.0), count) }
    }

    /// Which pages were ever used.
    #[inline]
    pub fn used(&self) -> &UsedBlocks {
        &self.used
    }

    /// Waits until no thread moves the page. The caller holds no lock and no work area.
    pub fn wait_unlocked(&self, word: &PageWord) {
        for _ in 0..WAIT_SPINS {
            if !word.look().is_locked() {
                return;
            }
            std::hint::spin_loop();
        }
        if let Some(seen) = word.announce_wait() {
            futex::wait(word.atomic(), seen.bits(), Duration::from_millis(100));
        }
    }

    /// Gives back the lock of a page.
    #[inline]
    pub fn unlock(&self, page: Page, state: PageState) {
        if state != PageState::Zero {
            self.used.note(page);
        }
        let word = self.word(page);
        wake_if(word, word.unlock(state));
    }

    /// Gives back the lock of a page that has come, in a quarter of the replacement. As
    /// [`PageWord::unlock_arrived`].
    #[inline]
    pub fn unlock_arrived(&self, page: Page, state: PageState, quarter: u32, is_wanted: bool) {
        self.used.note(page);
        let word = self.word(page);
        wake_if(word, word.unlock_arrived(state, quarter, self.heat_max, is_wanted));
    }

    /// Gives back the lock of a page that a walk has brought. As [`PageWord::unlock_passing`].
    #[inline]
    pub fn unlock_passing(&self, page: Page, state: PageState) {
        self.used.note(page);
        let word = self.word(page);
        wake_if(word, word.unlock_passing(state));
    }

    /// Gives back the lock of a page that tracing has brought. As [`PageWord::unlock_traced`].
    #[inline]
    pub fn unlock_traced(&self, page: Page, state: PageState) {
        self.used.note(page);
        let word = self.word(page);
        wake_if(word, word.unlock_traced(state));
    }

    /// Gives back the lock of a resident page that is being written: it is dirty, and has new credit.
    #[inline]
    pub fn unlock_written(&self, page: Page) {
        let word = self.word(page);
        wake_if(word, word.unlock_used(PageState::Dirty));
    }

    /// Gives back the lock of a dirty page that was protected, so that the kernel notes the next write.
    #[inline]
    pub fn unlock_watched(&self, page: Page) {
        let word = self.word(page);
        wake_if(word, word.unlock_watched());
    }

    /// Gives back the lock of a page that was dropped for lack of room, in a quarter of the replacement.
    #[inline]
    pub fn unlock_evicted(&self, page: Page, quarter: u32) {
        let word = self.word(page);
        wake_if(word, word.unlock_evicted(quarter));
    }
}

#[inline]
fn wake_if(word: &PageWord, waited: bool) {
    if waited {
        futex::wake_all(word.atomic());
    }
}

/// A fetch takes some five microseconds; sleeping and waking costs more.
const WAIT_SPINS: usize = 300;
