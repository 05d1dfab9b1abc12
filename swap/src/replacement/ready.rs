//! Pages that can be evicted at once, found ahead of need.
//!
//! A round of the replacement meets pages that are written all the time and stay, dirty ones that have to be written
//! back first, and those that may be evicted: in some stretches of memory hardly any. If the evictor only began to
//! look when room is short, faults would outrun it there. So it runs the round ahead of need: pages that it finds
//! clean and without credit are *ready*, and dirty ones are written back on the way, which would have to be done
//! anyway. When room is short, ready pages are dropped at once, hundreds of them with one system call, and without a
//! copy.
//!
//! Where the kernel notes writes (`written`), dirty pages need not be written back to be ready: they are protected on
//! the way instead, so that it is known which are written again, and are written back when they are evicted.
//!
//! Being ready is only a hint, a page number in a ring (`ready_ring`): the page stays as it is, mapped and unlocked.
//! The thread that takes it out checks that it still is clean and without credit, and leaves it alone if not: so a
//! page that was written after it was found stays.
//!
//! **Pages that were just written back** stay for one more round, unless few are ready: then they are so at once. Else
//! the evictor would have to write all of local memory before it found a page to drop, whenever all of it is dirty and
//! equally old. Such pages have the time that it takes until it is their turn: those that are written all the time are
//! written again before that, and stay.
//!
//! A fault that finds no room although the evictor was woken, because it did not get a CPU in time, exchanges: it
//! takes the frame of a page that is ready (`frame_reuse`). It waits for no other thread, and writes nothing back
//! but that page if it is dirty.

use crate::Page;
use crate::frames::Frames;
use crate::kernel::interface::KernelInterface;
use crate::page::page_state::PageState;
use crate::page::page_table::PageTable;
use crate::replacement::Replacement;
use crate::replacement::clock::HAND_STEP;
use crate::transfer::work_area::{Locked, WorkArea};

impl Replacement {
    /// Is it time to look for ready pages?
    pub fn wants_ready(&self, frames: &Frames) -> bool {
        self.ready.count() < self.wanted_ready(frames)
    }

    /// Ready pages that the evictor finds ahead of need: as many as it evicts at a time, and as faults may take while
    /// it does not get a CPU. None where no frames have to be kept free.
    fn wanted_ready(&self, frames: &Frames) -> usize {
        let reserve = frames.reserve_pages();
        let ahead = if reserve == 0 { 0 } else { frames.budget_pages() / AHEAD_PART };
        (2 * reserve).max(ahead).min(self.ready.room())
    }

    /// Are so few ready that even pages which have just lost their last credit are?
    pub fn are_few_ready(&self, frames: &Frames) -> bool {
        self.ready.count() < self.wanted_ready(frames) / 2
    }

    /// A page is ready. By the evictor.
    pub fn put_ready(&self, page: Page) {
        self.ready.put(page);
    }

    /// Looks at some pages: spends their credit, notes those that are ready, and locks dirty ones that have spent it
    /// all. Of these, those `stay` for one more round that had some left. Returns at how many it looked. By the
    /// evictor.
    pub fn look_for_ready(
        &self,
        pages: &PageTable,
        kernel: &KernelInterface,
        frames: &Frames,
        area: &mut WorkArea,
    ) -> usize {
        let mut looked_at = 0;
        while looked_at < LOOK_PAGES && self.wants_ready(frames) {
            looked_at += HAND_STEP;
            let is_on = self.look_on(pages, kernel, area, |area, page, word, seen| {
                let is_dirty = seen.state() == PageState::Dirty;
                let (left, stays) = match word.spend_credit(seen) {
                    None if !is_dirty || kernel.notes_writes() => {
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

    /// Locks the next page that was ready and still is. Dirty ones may be evicted where the kernel notes writes.
    pub fn lock_next_ready(
        &self,
        pages: &PageTable,
        kernel: &KernelInterface,
    ) -> Option<(Page, PageState)> {
        let try_lock = |page: Page| {
            let was = pages.word(page).try_lock_ready(kernel.notes_writes())?;
            Some((page, was))
        };
        std::iter::from_fn(|| self.ready.take()).find_map(try_lock)
    }
}

/// Part of local memory that is ready at least. These pages are resident still.
const AHEAD_PART: usize = 32;
/// Room in the ring: as many as the largest reserves need.
pub const SLOTS: usize = 8192;
/// Pages that are looked at before room is looked at again.
const LOOK_PAGES: usize = 4096;
/// Pages that are written at once: a thread that writes to one of them waits for all.
const LOCKED_MAX: usize = 128;
