//! Operations of the pager's methods on ranges of pages. Not in a fault: some of it allocates.

use crate::engine::FarSpace;
use crate::engine::eviction::Outcome;
use crate::page::page_state::PageState;
use crate::page::written::Written;
use crate::range::RUN_PAGES;
use crate::transfer::work_area::{Locked, WorkArea};
use crate::{Page, PageRange};

impl FarSpace {
    /// Takes the pages of ranges through `outcome`, in batches. Returns how many were written.
    pub fn move_ranges_out(&self, ranges: &[PageRange], outcome: Outcome) -> usize {
        let mut area = WorkArea::boxed();
        let mut written = 0;
        let writes_dirty = matches!(outcome, Outcome::WrittenBack | Outcome::WrittenThrough);
        let mut known = Written::default();
        // Memory that was never used is zero everywhere; but the server's contents of it may count from now on.
        let all = outcome == Outcome::Invalidated;
        let used = self.pages.used();
        let pages = ranges.iter().flat_map(|range| {
            let every = all.then(|| range.pages()).into_iter().flatten();
            let some = (!all).then(|| used.pages_in(*range)).into_iter().flatten();
            every.chain(some).map(|page| (page, range.end()))
        });
        for (page, end) in pages {
            if writes_dirty {
                known = self.pages.written_before(&self.kernel, known, page, end);
            }
            if area.locked().last().is_some_and(|last| page.0 <= last.page.0) {
                // A batch is in ascending order, though ranges need not be.
                written += self.finish(&mut area, outcome);
            }
            let word = self.pages.word(page);
            loop {
                let seen = word.look();
                if seen.is_locked() {
                    // A thread that holds locks does not wait for others.
                    written += self.finish(&mut area, outcome);
                    self.pages.wait_unlocked(word);
                    continue;
                }
                let state = seen.state();
                if writes_dirty && state == PageState::Clean && known.has(page) {
                    self.pages.note_written(page);
                    continue;
                }
                let concerned = match outcome {
                    Outcome::WrittenBack | Outcome::WrittenThrough => state == PageState::Dirty,
                    Outcome::Evicted => state.is_resident(),
                    Outcome::Vacated => !state.is_zero(),
                    Outcome::Settled => state == PageState::Blank,
                    Outcome::Invalidated | Outcome::Discarded => true,
                };
                if !concerned {
                    break;
                }
                let pinned = seen.pins() > 0 && outcome != Outcome::WrittenThrough;
                assert!(
                    !pinned || outcome == Outcome::WrittenBack,
                    "page {} is pinned and cannot be {outcome:?}",
                    page.0
                );
                if !word.try_lock(seen) {
                    continue;
                }
                if pinned {
                    self.write_unprotected(page);
                    written += 1;
                } else {
                    area.push(Locked { page, was: state, stays: false });
                }
                break;
            }
            if area.is_full() {
                written += self.finish(&mut area, outcome);
            }
        }
        written + self.finish(&mut area, outcome)
    }

    /// Is a page dirty, as far as its word and the kernel know?
    pub fn is_dirty(&self, page: Page) -> bool {
        self.is_dirty_if(page, self.pages.written(&self.kernel, page, 1))
    }

    /// The dirty pages of a range, in order.
    pub fn dirty_pages(&self, range: PageRange) -> Vec<Page> {
        let mut known = Written::default();
        let is_dirty = |page: &Page| {
            known = self.pages.written_before(&self.kernel, known, *page, range.end());
            self.is_dirty_if(*page, known)
        };
        range.pages().filter(is_dirty).collect()
    }

    /// As [`is_dirty`](Self::is_dirty), with the notes that the kernel has returned.
    fn is_dirty_if(&self, page: Page, known: Written) -> bool {
        match self.pages.word(page).look().state() {
            PageState::Dirty => true,
            PageState::Clean => known.has(page),
            _ => false,
        }
    }

    /// Moves and unlocks the pages of a batch.
    fn finish(&self, area: &mut WorkArea, outcome: Outcome) -> usize {
        if area.locked().is_empty() {
            return 0;
        }
        let written = self.move_out(area, outcome);
        let state = match outcome {
            Outcome::WrittenBack => PageState::Clean,
            Outcome::WrittenThrough => PageState::Dirty,
            Outcome::Evicted | Outcome::Invalidated => PageState::Remote,
            Outcome::Discarded | Outcome::Settled => {
                self.punch(area);
                PageState::Zero
            }
            Outcome::Vacated => PageState::Blank,
        };
        for one in area.locked() {
            self.pages.unlock(one.page, state);
        }
        area.locked_count = 0;
        written
    }

    /// Not in a fault. Copies to a memory server that took the place of a lost one the pages that it should hold.
    /// Returns how many bytes were written to it. Ends early when `go_on` says so.
    ///
    /// A page that was never written is zero in all copies. A write-back of it writes both copies, so only
    /// pages that are used by now must be copied.
    pub fn repair(&self, go_on: &dyn Fn() -> bool) -> u64 {
        let pages = &self.pages;
        let is_zero = |page| pages.word(page).look().state().is_zero();
        let owner = |page| self.transfer.owner(page);
        let mut bytes = 0;
        let mut page = 0;
        while let Some(used) = pages.used().next(Page(page)).filter(|_| go_on()) {
            page = used.0;
            if page >= pages.pages() {
                break;
            }
            let first = Page(page);
            page += 1;
            if is_zero(first) {
                continue;
            }
            let belongs = |next| !is_zero(Page(next)) && owner(Page(next)) == owner(first);
            while page < pages.pages() && page - first.0 < RUN_PAGES && belongs(page) {
                page += 1;
            }
            bytes += self.transfer.repair(first, page - first.0);
        }
        bytes
    }

    /// Makes the pages of a batch zero on their servers.
    fn punch(&self, area: &WorkArea) {
        let mut rest = area.locked();
        while let Some(first) = rest.first() {
            let owner = self.transfer.owner(first.page);
            let belongs = |n: usize| {
                rest[n].page.0 == first.page.0 + n && self.transfer.owner(rest[n].page) == owner
            };
            let count = (1..rest.len()).find(|n| !belongs(*n)).unwrap_or(rest.len());
            self.transfer.punch(first.page, count);
            rest = &rest[count..];
        }
    }
}
