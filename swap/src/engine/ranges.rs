//! Operations of the pager's methods on ranges of pages. Not in a fault: some of it allocates.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use crate::engine::FarSpace;
use crate::engine::eviction::Outcome;
use crate::page::page_state::PageState;
use crate::page::written::Written;
use crate::range::RUN_PAGES;
use crate::transfer::work_area::{Locked, PAGE_WORDS, WorkArea};
use crate::{Page, PageRange, SwapError};

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
                    match self.pages.is_written(&self.kernel, page, seen) {
                        Some(false) => break,
                        Some(true) | None => continue,
                    }
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
        let word = self.pages.word(page);
        loop {
            let seen = word.look();
            match seen.state() {
                PageState::Dirty => return true,
                PageState::Clean if known.has(page) => (),
                _ => return false,
            }
            if seen.is_locked() {
                self.pages.wait_unlocked(word);
            } else if let Some(is_written) = self.pages.is_written(&self.kernel, page, seen) {
                return is_written;
            }
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

    /// Writes the dirty pages of the ranges, and begins a snapshot of the ranges with that: pages that threads write to
    /// their servers from then on are saved to `file` first. Meanwhile no thread writes to the ranges.
    pub fn begin_snapshot(&self, ranges: &[PageRange], file: &File) -> Result<(), SwapError> {
        self.move_ranges_out(ranges, Outcome::WrittenBack);
        let used = self.pages.used();
        let pages = ranges.iter().flat_map(|range| used.pages_in(*range)).filter(|page| {
            let word = self.pages.word(*page);
            // A page that is being evicted is clean now, and its server's contents count.
            !word.look().state().is_zero()
        });
        self.transfer.kept().begin(pages, file.as_raw_fd())
    }

    /// Reads a part of the snapshot, each page once.
    pub fn read_snapshot(&self, range: PageRange, into: &mut [u64]) -> io::Result<()> {
        assert_eq!(size_of_val(into), range.bytes());
        let mut done = 0;
        while done < range.count {
            let first = Page(range.start.0 + done);
            let most = RUN_PAGES.min(range.count - done);
            let is_next = |n: &usize| self.owner(Page(first.0 + n)) == self.owner(first);
            let count = 1 + (1..most).take_while(is_next).count();
            let into = &mut into[done * PAGE_WORDS..][..count * PAGE_WORDS];
            self.transfer.read_kept(first, into)?;
            done += count;
        }
        Ok(())
    }

    /// Ends the snapshot.
    pub fn end_snapshot(&self) -> Result<(), SwapError> {
        self.transfer.kept().end()
    }

    /// Is there a snapshot?
    pub fn has_snapshot(&self) -> bool {
        self.transfer.kept().is_taken()
    }

    /// The error of a page that could not be saved, if there was one.
    pub fn snapshot_error(&self) -> io::Result<()> {
        self.transfer.kept().error()
    }

    /// How many pages have been saved for snapshots so far.
    pub fn saved_pages(&self) -> usize {
        self.transfer.kept().saved()
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
