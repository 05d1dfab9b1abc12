//! Frames that stay with the pager when the pages in them go.
//!
//! A frame that is given back to the kernel has to be had again from there: allocated, accounted, in no cache, and in a
//! virtual machine that tells its host about free memory perhaps not even there. So when the pages of a range go by
//! [`Pager::evict`](crate::Pager::evict), [`discard`](crate::Pager::discard) or `invalidate`, as those of a region that
//! a collector has emptied, whole runs of them are moved to runs of the cache (`UFFDIO_MOVE`: a third of the time that
//! giving them back takes), and the next walk through far memory or through fresh memory gets these frames.
//!
//! Frames in the stock take room: pages and stock together never exceed the budget. So the stock only grows while
//! there is more room than the evictor wants, and is the first to go when room gets short.

use std::ptr;

use crate::engine::far_space::FarSpace;
use crate::frames::frame_cache::{CACHED_PAGES, FrameRun};
use crate::{PAGE_BYTES, Page};

impl FarSpace {
    /// Moves the frames of mapped, locked pages from `start` on to the frame cache, in whole runs. Returns how many
    /// pages went; their frames still take room.
    pub(crate) fn keep_frames(&self, start: usize, pages: usize) -> usize {
        let mut kept = 0;
        while pages - kept >= CACHED_PAGES {
            let Some((run, moved)) = self.move_to_cache(start + kept * PAGE_BYTES) else { break };
            let went = self.keep_moved(run, moved);
            kept += went;
            if went == 0 {
                break;
            }
        }
        kept
    }

    /// Moves the frames of a run of [`CACHED_PAGES`] mapped, locked pages to a run, if the frame cache takes more.
    /// Returns how many the kernel moved.
    pub(crate) fn move_to_cache(&self, start: usize) -> Option<(FrameRun<'_>, usize)> {
        if self.is_short() || !self.cache.may_keep() {
            return None;
        }
        let run = self.cache.take()?;
        let moved = self.uffd.move_pages(run.address(), start, CACHED_PAGES);
        if moved < CACHED_PAGES {
            self.cache.refuse();
        }
        Some((run, moved))
    }

    /// Keeps the frames that were moved to a run, or gives them back if they are no whole run. Returns how many are
    /// kept.
    pub(crate) fn keep_moved(&self, run: FrameRun<'_>, moved: usize) -> usize {
        if moved < CACHED_PAGES {
            run.empty(moved);
            return 0;
        }
        run.keep();
        self.counters.cached(CACHED_PAGES);
        CACHED_PAGES
    }

    /// Gives one run of the frame cache back to the kernel: room for [`CACHED_PAGES`] pages. False: there is none.
    pub(crate) fn empty_cached(&self) -> bool {
        let Some(run) = self.cache.take_full() else { return false };
        run.empty(CACHED_PAGES);
        drop(run);
        self.release(CACHED_PAGES);
        true
    }

    /// Maps as many of the fresh pages from `page` on as the frame cache has frames for, writable, and gives back the
    /// room that the caller took for them. The caller holds their locks. Returns how many there were, in whole runs.
    pub(crate) fn populate_from_cache(&self, page: Page, count: usize) -> usize {
        let mut done = 0;
        while count - done >= CACHED_PAGES {
            let Some(run) = self.cache.take_full() else { break };
            let to = Page(page.0 + done);
            self.lay(&run, to, self.zero_pages(), CACHED_PAGES);
            drop(run);
            self.release(CACHED_PAGES);
            done += CACHED_PAGES;
        }
        self.counters.used_cached(done);
        done
    }

    /// [`CACHED_PAGES`] pages of zeros and more.
    pub(crate) fn zero_pages(&self) -> *const u8 {
        ptr::with_exposed_provenance(self.zeros.base())
    }
}
