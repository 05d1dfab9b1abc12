//! The replacement's clock: a hand that sweeps all pages that were ever used, spends their credit, and takes those
//! that have none.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Page;
use crate::kernel::interface::KernelInterface;
use crate::page::page_state::{CREDIT_MAX, PageState, PageWord, Seen};
use crate::page::page_table::PageTable;
use crate::page::used::UsedBlocks;
use crate::page::written::ASKED_PAGES;
use crate::replacement::Replacement;
use crate::transfer::work_area::{Locked, WorkArea};

/// Where the replacement looks next. Any thread.
pub struct Clock {
    /// In pages, counted on over all rounds. Relaxed: only a position.
    hand: AtomicUsize,
    pages: usize,
}

impl Clock {
    /// Before the first of `pages` pages.
    pub fn new(pages: usize) -> Clock {
        Clock { hand: AtomicUsize::new(0), pages }
    }

    /// Continues the round: the next pages to be looked at, where they begin and how many. Pages that were never
    /// used are skipped, unless none was used.
    pub fn advance(&self, used: &UsedBlocks) -> (usize, usize) {
        loop {
            let hand = self.hand.fetch_add(HAND_STEP, Ordering::Relaxed);
            let at = hand % self.pages;
            let step = HAND_STEP.min(self.pages - at);
            let next = used.next(Page(at)).map_or(self.pages, |next| next.0);
            if next < at + step || used.pages() == 0 {
                return (at, step);
            }
            // Another thread may have advanced the hand meanwhile, and skips the same.
            let (behind, ahead) = (hand + HAND_STEP, hand - at + next / HAND_STEP * HAND_STEP);
            if ahead > behind {
                let (set, fail) = (Ordering::Relaxed, Ordering::Relaxed);
                _ = self.hand.compare_exchange(behind, ahead, set, fail);
            }
        }
    }

    /// The round.
    pub fn lap(&self) -> u32 {
        (self.hand.load(Ordering::Relaxed) / self.pages) as u32
    }
}

impl Replacement {
    /// Continues the round of the replacement: locks up to `most` pages without credit, which are to be evicted, and
    /// dirty ones that spend their last, which are to be written and stay. Returns how many pages it looked at, at
    /// least one.
    pub fn lock_unused(
        &self,
        pages: &PageTable,
        kernel: &KernelInterface,
        area: &mut WorkArea,
        most: usize,
    ) -> usize {
        let (mut looked_at, mut going) = (0, 0);
        while looked_at < LOOK_PAGES.min(pages.pages()) && going < most && !area.is_full() {
            looked_at += HAND_STEP;
            let is_on = self.look_on(pages, kernel, area, |area, page, word, seen| {
                match word.spend_credit(seen) {
                    None if going < most && !area.is_full() && word.try_lock(seen) => {
                        area.push(Locked { page, was: seen.state(), stays: false });
                        going += 1;
                    }
                    Some(left)
                        if left.credit() == 0
                            && !kernel.notes_writes()
                            && seen.state() == PageState::Dirty
                            && !area.is_full()
                            && word.try_lock(left) =>
                    {
                        area.push(Locked { page, was: PageState::Dirty, stays: true });
                    }
                    _ => {}
                }
            });
            if !is_on {
                break;
            }
        }
        looked_at
    }

    /// The next step of the round: hands each page that may be evicted, and was not written lately, to `look`.
    /// False, and no page is looked at: a new round begins, and the pages of a batch are in ascending order.
    pub fn look_on(
        &self,
        pages: &PageTable,
        kernel: &KernelInterface,
        area: &mut WorkArea,
        mut look: impl FnMut(&mut WorkArea, Page, &PageWord, Seen),
    ) -> bool {
        let (at, step) = self.clock.advance(pages.used());
        if area.locked().last().is_some_and(|last| at < last.page.0) {
            return false;
        }
        let noted = pages.note_written(kernel, pages.written(kernel, Page(at), step));
        for (n, word) in pages.words_from(Page(at), step).iter().enumerate() {
            let (page, seen) = (Page(at + n), word.look());
            if seen.is_locked() || seen.pins() > 0 || !seen.state().is_resident() {
                continue;
            }
            if noted.has(page) {
                continue;
            }
            look(area, page, word, seen);
        }
        true
    }

    /// Pages that an idle round may look at before it is over: each as often as credit can last.
    pub fn looks_max(&self, pages: &PageTable) -> usize {
        pages.used().pages() * (CREDIT_MAX as usize + 1)
    }
}

/// Pages that the replacement looks at for one batch.
const LOOK_PAGES: usize = 4096;
/// Pages that the replacement looks at before others may look on.
pub const HAND_STEP: usize = ASKED_PAGES;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hand_passes_over_what_was_never_used() {
        let (clock, used) = (Clock::new(1 << 28), UsedBlocks::new(1 << 28));
        assert_eq!(clock.advance(&used), (0, HAND_STEP));
        used.note(Page(5 << 20));
        used.note(Page(200 << 20));
        for round in 0..3 {
            for start in [5 << 20, 200 << 20] {
                for step in 0..1024 / HAND_STEP {
                    assert_eq!(clock.advance(&used), (start + step * HAND_STEP, HAND_STEP));
                    assert_eq!(clock.lap(), round);
                }
            }
        }
    }
}
