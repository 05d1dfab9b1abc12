//! Pages that can go at once, found ahead of need.
//!
//! A round of the replacement meets pages that are written all the time and stay, dirty ones that have to be written
//! first, and those that may go: in some stretches of memory hardly any. If the evictor only began to look when room is
//! short, faults would outrun it there. So it goes through the round ahead of need: pages that it finds clean and
//! without credit are *ready*, and dirty ones are written back on the way, which was to come anyway. When room is
//! short, ready pages are dropped at once, hundreds of them with one system call, and without a copy.
//!
//! Where the kernel notes writes (`noted`), dirty pages need not be written back to be ready: they are protected on the
//! way instead, so that it is known who is written again, and are written when they go.
//!
//! Being ready is only a hint, a page number in a ring (`ready_ring`): the page stays as it is, mapped and unlocked.
//! Whoever takes it out looks whether it still is clean and without credit, and leaves it alone if not: so a page
//! that was written after it was found stays.
//!
//! **Pages that were just written back** stay for one more round, unless few are ready: then they are so at once. Else
//! the evictor would have to write all of local memory before it found a page to drop, whenever all of it is dirty and
//! equally old. Such pages have the time that it takes until it is their turn: those that are written all the time are
//! written again before that, and stay.
//!
//! A fault that finds no room although the evictor was called, because that did not get a CPU in time,
//! exchanges: it takes the frame of a page that is ready (`frame_reuse`). It waits for nobody, and writes nothing back
//! but that page if it is dirty.

use crate::Page;
use crate::engine::clock::{CREDIT_MAX, HAND_STEP};
use crate::engine::far_space::{FarSpace, Outcome};
use crate::page::page_state::PageState;
use crate::transfer::work_area::{Locked, WorkArea};

impl FarSpace {
    /// Goes on with the round of the replacement until enough pages are ready, a batch at a time. Returns at how many
    /// pages it looked; 0: enough are ready. By the evictor.
    pub(crate) fn find_ready(&self, area: &mut WorkArea) -> usize {
        if !self.options.clean_ahead || self.ready.count() >= self.wanted_ready() {
            return 0;
        }
        let looked_at = self.look_for_ready(area);
        if self.tracker.is_some() {
            self.watch(area);
            return looked_at;
        }
        self.move_out(area, Outcome::WrittenBack);
        for one in area.locked() {
            self.unlock(one.page, PageState::Clean);
            if !one.stays || self.are_few_ready() {
                self.ready.put(one.page);
            }
        }
        area.locked_count = 0;
        looked_at
    }

    /// Ready pages that the evictor finds ahead of need: as many as it evicts at a time.
    fn wanted_ready(&self) -> usize {
        (2 * self.reserve.pages()).min(self.ready.room())
    }

    /// Are so few ready that even pages which have just lost their last credit are?
    pub(crate) fn are_few_ready(&self) -> bool {
        self.ready.count() < self.wanted_ready() / 2
    }

    /// Pages that an idle round may look at before it is over.
    pub(crate) fn looks_max(&self) -> usize {
        self.used.pages() * (CREDIT_MAX + 1)
    }

    /// Looks at some pages: spends their credit, notes those that are ready, and locks dirty ones that have spent it
    /// all. Of these, those `stay` for one more round that had some left.
    fn look_for_ready(&self, area: &mut WorkArea) -> usize {
        let mut looked_at = 0;
        while looked_at < LOOK_PAGES && self.ready.count() < self.wanted_ready() {
            looked_at += HAND_STEP;
            let is_on = self.look_on(area, |area, page, word, seen| {
                let is_dirty = seen.state() == PageState::Dirty;
                let (left, stays) = match word.spend_credit(seen) {
                    None if !is_dirty || self.tracker.is_some() => {
                        self.ready.put(page);
                        return;
                    }
                    None => (seen, false),
                    Some(left) => (left, true),
                };
                let is_last = is_dirty && !left.is_watched() && left.credit() == 0;
                if is_last && word.try_lock(left) {
                    area.push(Locked { page, was: PageState::Dirty, stays });
                }
            });
            if !is_on || area.locked().len() + HAND_STEP > LOCKED_MAX {
                break;
            }
        }
        looked_at
    }

    /// Drops up to `most` ready pages. Returns how many; 0: none was.
    pub(crate) fn evict_ready(&self, area: &mut WorkArea, most: usize) -> usize {
        while area.locked_count < most && !area.is_full() {
            let Some((page, was)) = self.lock_next_ready() else { break };
            area.push(Locked { page, was, stays: false });
        }
        if self.tracker.is_some() {
            self.spare_written(area);
        }
        let evicted = area.locked_count;
        if evicted > 0 {
            let clean = area.going().filter(|one| one.was == PageState::Clean).count();
            self.counters.evicted(evicted, clean);
            self.move_out(area, Outcome::Evicted);
            let lap = self.lap();
            for one in area.locked() {
                let word = self.word(one.page);
                self.wake_if(word, word.unlock_evicted(lap));
            }
            area.locked_count = 0;
        }
        evicted
    }

    /// Locks the next page that was ready and still is. Dirty ones may go where the kernel notes writes.
    pub(crate) fn lock_next_ready(&self) -> Option<(Page, PageState)> {
        let try_lock = |page: Page| {
            let was = self.word(page).try_lock_ready(self.tracker.is_some())?;
            Some((page, was))
        };
        std::iter::from_fn(|| self.ready.take()).find_map(try_lock)
    }
}

/// Room in the ring: as many as the largest reserves need.
pub(crate) const SLOTS: usize = 8192;
/// Pages that are looked at before room is looked at again.
const LOOK_PAGES: usize = 4096;
/// Pages that are written at once: who writes to one of them waits for all.
const LOCKED_MAX: usize = 128;

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
        let at = space.address(Page(page)) + PAGE_BYTES - 8;
        // SAFETY: aligned, in the far space, and brought just now; nobody evicts meanwhile.
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
        assert!(space.ready.count() >= 2 * space.reserve.pages());
        assert_eq!((space.free_pages(), space.resident_pages()), (0, BUDGET));
        // The first ready page is written now, so it stays.
        write(&space, 0, 70);
        (0..10).for_each(|n| write(&space, 300 + n, 300));
        assert!((310..320).all(|page| word(&space, page, false).load(Ordering::Relaxed) == 0));
        assert!(space.word(Page(0)).look().state() == PageState::Dirty);
        assert!((1..21).all(|page| space.word(Page(page)).look().state() == PageState::Remote));
        // What comes back is what had gone.
        (1..9).for_each(|n| assert_eq!(word(&space, n, false).load(Ordering::Relaxed), n as u64));
        assert!((1..9).all(|page| space.word(Page(page)).look().state() == PageState::Clean));
        let stats = space.counters.read(space.resident_pages());
        assert_eq!((stats.exchanged_pages, stats.self_evictions), (28, [0, 0]));
        // Where the kernel notes writes they were watched, and are written as they go.
        let clean = if space.tracker.is_some() { 0 } else { 28 };
        assert_eq!((stats.evicted_pages, stats.evicted_clean_pages), (28, clean));
        assert_eq!(stats.resident_pages, BUDGET as u64);
    }

    #[test]
    fn ready_pages_are_dropped_without_a_write() {
        let Some((space, mut area)) = full(false) else { return };
        while space.find_ready(&mut area) > 0 {}
        let written = space.counters.read(0).written_bytes;
        assert_eq!(space.evict_ready(&mut area, 20), 20);
        assert_eq!((space.free_pages(), space.counters.read(0).written_bytes), (20, written));
        (0..20).for_each(|n| assert_eq!(word(&space, n, false).load(Ordering::Relaxed), n as u64));
    }

    #[test]
    fn ready_pages_that_the_kernel_watches_are_written_when_they_go() {
        let Some((space, mut area)) = full(true) else { return };
        if space.tracker.is_none() {
            return;
        }
        while space.find_ready(&mut area) > 0 {}
        assert_eq!(space.counters.read(0).written_bytes, 0);
        // Ready, and written now: it stays.
        write(&space, 3, 33);
        assert_eq!(space.evict_ready(&mut area, 20), 19);
        let written = space.counters.read(0).written_bytes as usize;
        assert_eq!((space.free_pages(), written), (19, 19 * PAGE_BYTES));
        let value = |n| word(&space, n, false).load(Ordering::Relaxed);
        (0..20).for_each(|n| assert_eq!(value(n), if n == 3 { 33 } else { n as u64 }));
        // What came back is clean, and goes without being written; what was written goes with it.
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
        area.locked().iter().for_each(|one| space.unlock(one.page, PageState::Remote));
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
