//! Eviction: for lack of room, of pages found ahead of need (`ready`) or by the clock, and in batches that callers
//! ask for.

use std::ptr;

use rdma::Write;

use crate::engine::FarSpace;
use crate::kernel::write_tracker::WriteTracker;
use crate::page::page_state::PageState;
use crate::page::written::Written;
use crate::transfer::leaving::Departure;
use crate::transfer::protection::protect_dirty;
use crate::transfer::work_area::{Locked, WorkArea};
use crate::{PAGE_BYTES, Page};

/// The outcome for the pages of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Dirty ones are written; all stay mapped.
    WrittenBack,
    /// Dirty ones are written, and stay so.
    WrittenThrough,
    /// Dirty ones are written; all are dropped but those that stay.
    Evicted,
    /// Dropped: the server's version counts.
    Invalidated,
    /// Dropped, and made zero on the server.
    Discarded,
    /// Dropped, and zero from now on regardless of the server's contents.
    Vacated,
    /// Pages that are zero regardless of the server's contents are made zero on the server.
    Settled,
}

impl Outcome {
    /// Are dirty pages written?
    fn writes(self) -> bool {
        matches!(self, Outcome::WrittenBack | Outcome::WrittenThrough | Outcome::Evicted)
    }

    /// Are pages evicted from local memory?
    fn drops(self) -> bool {
        use Outcome::{Discarded, Evicted, Invalidated, Vacated};
        matches!(self, Evicted | Invalidated | Discarded | Vacated)
    }
}

impl FarSpace {
    /// Evicts up to `most` pages that have no credit left, and writes back dirty ones that spend their last: so a new
    /// write to them is noticed, and gives them new credit, and the others are evicted without a write. Returns how
    /// many were evicted; 0 only after looking at every page as often as credit can last.
    pub(super) fn evict_some(&self, area: &mut WorkArea, most: usize) -> usize {
        let mut looked_at = 0;
        let mut evicted = 0;
        while evicted == 0 && looked_at < self.looks_max() {
            looked_at += self.replacement.lock_unused(&self.pages, &self.kernel, area, most);
            evicted = area.going().count();
            let clean = area.going().filter(|one| one.was == PageState::Clean).count();
            self.counters.evicted(evicted, clean);
            self.move_out(area, Outcome::Evicted);
            let quarter = self.replacement.left(evicted, self.frames.resident_pages());
            for one in area.locked() {
                match one.stays {
                    true => self.pages.unlock(one.page, PageState::Clean),
                    false => self.pages.unlock_evicted(one.page, quarter),
                }
            }
            area.locked_count = 0;
        }
        evicted
    }

    /// Continues the round of the replacement until enough pages are ready, a batch at a time. Returns at how many
    /// pages it looked; 0: enough are ready. By the evictor.
    pub(super) fn find_ready(&self, area: &mut WorkArea) -> usize {
        if !self.cleans_ahead || !self.replacement.wants_ready(&self.frames) {
            return 0;
        }
        let (pages, kernel, frames) = (&self.pages, &self.kernel, &self.frames);
        let looked_at = self.replacement.look_for_ready(pages, kernel, frames, area);
        if kernel.notes_writes() {
            self.watch(area);
            return looked_at;
        }
        self.move_out(area, Outcome::WrittenBack);
        for one in area.locked() {
            self.pages.unlock(one.page, PageState::Clean);
            if !one.stays || self.replacement.are_few_ready(&self.frames) {
                self.replacement.put_ready(one.page);
            }
        }
        area.locked_count = 0;
        looked_at
    }

    /// Pages that an idle round may look at before it is over.
    pub(super) fn looks_max(&self) -> usize {
        self.replacement.looks_max(&self.pages)
    }

    /// Drops up to `most` ready pages. Returns how many; 0: none was.
    pub(super) fn evict_ready(&self, area: &mut WorkArea, most: usize) -> usize {
        while area.locked_count < most && !area.is_full() {
            let Some((page, was)) = self.lock_next_ready() else { break };
            area.push(Locked { page, was, stays: false });
        }
        if self.kernel.notes_writes() {
            self.spare_written(area);
        }
        let evicted = area.locked_count;
        if evicted > 0 {
            let clean = area.going().filter(|one| one.was == PageState::Clean).count();
            self.counters.evicted(evicted, clean);
            self.move_out(area, Outcome::Evicted);
            let quarter = self.replacement.left(evicted, self.frames.resident_pages());
            for one in area.locked() {
                self.pages.unlock_evicted(one.page, quarter);
            }
            area.locked_count = 0;
        }
        evicted
    }

    /// Locks the next page that was ready and still is.
    pub(super) fn lock_next_ready(&self) -> Option<(Page, PageState)> {
        self.replacement.lock_next_ready(&self.pages, &self.kernel)
    }

    /// Leaves those pages of a batch alone that have been written lately: they are dirty, and stay.
    fn spare_written(&self, area: &mut WorkArea) {
        let mut left = 0;
        let mut written = Written::default();
        for n in 0..area.locked_count {
            let one = area.locked[n];
            written = self.pages.written_around(&self.kernel, written, one.page);
            if !self.pages.spare_if(written, one.page) {
                area.locked[left] = one;
                left += 1;
            }
        }
        area.locked_count = left;
    }

    /// Protects the dirty pages of a batch and unlocks them: the kernel notes which of them are written again.
    fn watch(&self, area: &mut WorkArea) {
        protect_dirty(&self.kernel, &self.pages, area.locked());
        for one in area.locked() {
            self.pages.unlock_watched(one.page);
            if self.replacement.are_few_ready(&self.frames) {
                self.replacement.put_ready(one.page);
            }
        }
        area.locked_count = 0;
    }

    /// Carries out `outcome` for the locked pages of a batch, except unlocking them. Returns how
    /// many were written.
    pub(super) fn move_out(&self, area: &mut WorkArea, outcome: Outcome) -> usize {
        if let (Some(tracker), Outcome::Evicted) = (self.kernel.tracker(), outcome) {
            let left = self.departure(tracker).leave(area);
            self.counters.written(left.written);
            self.counters.cached(left.kept);
            return left.written;
        }
        let mut written = 0;
        if matches!(outcome, Outcome::WrittenBack | Outcome::Evicted) {
            protect_dirty(&self.kernel, &self.pages, area.locked());
        }
        if outcome.writes() {
            let WorkArea { locked, locked_count, writes, .. } = area;
            let dirty = locked[..*locked_count].iter().filter(|one| one.was == PageState::Dirty);
            // SAFETY: the pages are locked and were dirty, so they are mapped and stay so.
            written =
                unsafe { self.transfer.write(writes, dirty.map(|one| self.in_place(one.page))) };
            self.counters.written(written);
        }
        if outcome.drops() {
            self.drop_pages(area);
        }
        written
    }

    /// A page with the address of its contents in the far space.
    fn in_place(&self, page: Page) -> (Page, *const u64) {
        (page, ptr::with_exposed_provenance(self.kernel.address(page)))
    }

    /// Writes a locked, dirty page without making it clean, and unlocks it: a pinned page must stay
    /// writable.
    pub(super) fn write_unprotected(&self, page: Page) {
        let mut write = [Write { offset: 0, from: ptr::null(), words: 0 }];
        // SAFETY: the page is locked and dirty, so it is mapped and stays so.
        let written =
            unsafe { self.transfer.write(&mut write, std::iter::once(self.in_place(page))) };
        self.counters.written(written);
        self.pages.unlock(page, PageState::Dirty);
    }

    /// Drops the resident ones of the locked pages from local memory.
    fn drop_pages(&self, area: &mut WorkArea) {
        let WorkArea { locked, locked_count, iovecs, .. } = area;
        let going =
            locked[..*locked_count].iter().filter(|one| one.was.is_resident() && !one.stays);
        let (runs, mut dropped) = self.kernel.gather_runs(iovecs, going.map(|one| one.page));
        let mut kept = 0;
        for run in &mut area.iovecs[..runs] {
            let start = Page::of_offset(run.iov_base.addr() - self.kernel.base());
            let pages = self.frames.keep(&self.kernel, start, run.iov_len / PAGE_BYTES);
            run.iov_base = run.iov_base.wrapping_byte_add(pages * PAGE_BYTES);
            run.iov_len -= pages * PAGE_BYTES;
            kept += pages;
        }
        self.counters.cached(kept);
        dropped -= kept;
        if dropped == 0 {
            return;
        }
        self.kernel.drop_runs(&area.iovecs[..runs], dropped);
        self.frames.release(dropped);
    }

    /// The context for evicting pages where the kernel notes writes.
    pub(super) fn departure<'a>(&'a self, tracker: &'a WriteTracker) -> Departure<'a> {
        let FarSpace { kernel, pages, frames, transfer, .. } = self;
        Departure { kernel, tracker, pages, frames, transfer }
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use rdma::{PeerId, ShmSegment};

    use super::*;
    use crate::stats::Touch;
    use crate::{PAGE_BYTES, PagerOptions, SwapError};

    const PAGES: usize = 1024;
    const BUDGET: usize = 256;

    /// A far space without an evictor, all of its room taken by the first pages, which have their numbers in them.
    fn full(kernel_notes_writes: bool) -> Option<(FarSpace, Box<WorkArea>)> {
        let bytes = PAGES * PAGE_BYTES;
        let segment = ShmSegment::create(PeerId::Server(0), bytes as u64).unwrap();
        let options = PagerOptions {
            far_bytes: bytes,
            budget_bytes: BUDGET * PAGE_BYTES,
            kernel_notes_writes,
            ..PagerOptions::default()
        };
        let space = match FarSpace::new(options, vec![Arc::new(segment)]) {
            Err(SwapError::Userfaultfd { .. }) => return None,
            space => space.unwrap(),
        };
        (0..BUDGET).for_each(|page| write(&space, page, page as u64));
        Some((space, WorkArea::boxed()))
    }

    fn word(space: &FarSpace, page: usize, write: bool) -> &AtomicU64 {
        space.touch(Page(page), write, Touch::Fault);
        let at = space.kernel.address(Page(page)) + PAGE_BYTES - 8;
        // SAFETY: aligned, in the far space, and brought just now; no thread evicts meanwhile.
        unsafe { AtomicU64::from_ptr(ptr::with_exposed_provenance_mut(at)) }
    }

    fn write(space: &FarSpace, page: usize, value: u64) {
        word(space, page, true).store(value, Ordering::Relaxed);
    }

    #[test]
    fn faults_without_room_take_frames_of_ready_pages() {
        exchanges(false);
        exchanges(true);
    }

    fn exchanges(kernel_notes_writes: bool) {
        let Some((space, mut area)) = full(kernel_notes_writes) else { return };
        while space.find_ready(&mut area) > 0 {}
        assert!(!space.replacement.wants_ready(&space.frames));
        assert_eq!((space.frames.free(), space.frames.resident_pages()), (0, BUDGET));
        // The first ready page is written now, so it stays.
        write(&space, 0, 70);
        (0..10).for_each(|n| write(&space, 300 + n, 300));
        assert!((310..320).all(|page| word(&space, page, false).load(Ordering::Relaxed) == 0));
        assert!(space.word(Page(0)).look().state() == PageState::Dirty);
        assert!((1..21).all(|page| space.word(Page(page)).look().state() == PageState::Remote));
        // Pages come back with the contents that were evicted.
        (1..9).for_each(|n| assert_eq!(word(&space, n, false).load(Ordering::Relaxed), n as u64));
        assert!((1..9).all(|page| space.word(Page(page)).look().state() == PageState::Clean));
        let stats = space.counters.read(space.frames.resident_pages());
        assert_eq!((stats.exchanged_pages, stats.self_evictions), (28, [0, 0]));
        // Where the kernel notes writes they were watched, and are written when they are evicted.
        let clean = if space.kernel.notes_writes() { 0 } else { 28 };
        assert_eq!((stats.evicted_pages, stats.evicted_clean_pages), (28, clean));
        assert_eq!(stats.resident_pages, BUDGET as u64);
    }

    #[test]
    fn ready_pages_are_dropped_without_a_write() {
        let Some((space, mut area)) = full(false) else { return };
        while space.find_ready(&mut area) > 0 {}
        let written = space.counters.read(0).written_bytes;
        assert_eq!(space.evict_ready(&mut area, 20), 20);
        assert_eq!((space.frames.free(), space.counters.read(0).written_bytes), (20, written));
        (0..20).for_each(|n| assert_eq!(word(&space, n, false).load(Ordering::Relaxed), n as u64));
    }

    #[test]
    fn ready_pages_that_the_kernel_watches_are_written_when_they_go() {
        let Some((space, mut area)) = full(true) else { return };
        if !space.kernel.notes_writes() {
            return;
        }
        while space.find_ready(&mut area) > 0 {}
        assert_eq!(space.counters.read(0).written_bytes, 0);
        // Ready, and written now: it stays.
        write(&space, 3, 33);
        assert_eq!(space.evict_ready(&mut area, 20), 19);
        let written = space.counters.read(0).written_bytes as usize;
        assert_eq!((space.frames.free(), written), (19, 19 * PAGE_BYTES));
        let value = |n| word(&space, n, false).load(Ordering::Relaxed);
        (0..20).for_each(|n| assert_eq!(value(n), if n == 3 { 33 } else { n as u64 }));
        // Pages that came back are clean, and are evicted without a write-back; the written ones are evicted with
        // them.
        write(&space, 5, 55);
        let mut all =
            (0..20).map(|page| Locked { page: Page(page), was: PageState::Zero, stays: false });
        area.locked_count = 0;
        for one in all.by_ref() {
            let word = space.word(one.page);
            let seen = word.look();
            assert!(word.try_lock(seen));
            area.push(Locked { was: seen.state(), ..one });
        }
        space.move_out(&mut area, Outcome::Evicted);
        area.locked().iter().for_each(|one| space.pages.unlock(one.page, PageState::Remote));
        let rewritten = space.counters.read(0).written_bytes as usize - written;
        assert_eq!(rewritten, 2 * PAGE_BYTES, "those of 3 and 5");
        (0..20).for_each(|n| {
            let expected = match n {
                3 => 33,
                5 => 55,
                _ => n as u64,
            };
            assert_eq!(value(n), expected);
        });
    }
}
