//! Frames of local memory: how many there may be, how many are kept free, and those that are cached beside the far
//! space.
//!
//! # Frames that stay when the pages in them are evicted
//!
//! A frame that is given back to the kernel has to be had again from there: allocated, accounted, in no CPU cache, and
//! in a virtual machine that reports free memory to its host perhaps not even backed. So when the pages of a range
//! leave by [`Pager::evict`](crate::Pager::evict), [`discard`](crate::Pager::discard) or `invalidate`, as those of a
//! region that a collector has emptied, whole runs of them are moved to the frame cache (`UFFDIO_MOVE`: a third of
//! the time that giving them back takes), and the next walk through far memory or through fresh memory gets these
//! frames.
//!
//! Cached frames take room: pages and cached frames together never exceed the budget. So the cache only grows while
//! more frames are free than the evictor wants, and is the first to be freed when they get short.

pub mod budget;
mod copy;
pub mod frame_cache;
pub mod reserve;
pub mod run_set;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use base::futex;

use crate::Page;
use crate::frames::budget::{Budget, Taken};
use crate::frames::frame_cache::{CACHED_PAGES, FrameCache, FrameRun};
use crate::frames::reserve::Reserve;
use crate::kernel::interface::KernelInterface;

/// The frames of one far space. Any thread, async-signal-safe.
pub struct Frames {
    /// The budget, and how much of it is taken: by pages that are resident or being brought in, and by cached frames.
    budget: Budget,
    /// Frames that the evictor keeps free.
    reserve: Reserve,
    cache: FrameCache,
    /// Pages of the far space.
    pages: usize,
    /// Rung (set to 1) by a thread that finds too few free frames, cleared by the evictor.
    evictor_bell: AtomicU32,
}

impl Frames {
    /// `budget_pages` frames for `pages` pages, of which at least this many thousandths are kept free.
    pub fn new(
        budget_pages: usize,
        pages: usize,
        reserve_permille: u32,
        cache: FrameCache,
    ) -> Frames {
        Frames {
            budget: Budget::new(budget_pages),
            reserve: Reserve::new(budget_pages, pages, reserve_permille),
            cache,
            pages,
            evictor_bell: AtomicU32::new(0),
        }
    }

    /// The budget in frames.
    pub fn budget_pages(&self) -> usize {
        self.budget.goal()
    }

    /// The most pages that may be resident now: the budget, or more while it is becoming less.
    pub fn limit_pages(&self) -> usize {
        self.budget.limit()
    }

    /// Changes the budget; pages above it are evicted in the background.
    pub fn set_budget_pages(&self, pages: usize) {
        let pages = pages.min(self.pages);
        self.reserve.resize(pages, self.pages);
        self.budget.set_goal(pages);
        if self.shortage() > 0 {
            self.ring_evictor();
        }
    }

    /// Pages that are resident or being brought in.
    pub fn resident_pages(&self) -> usize {
        self.budget.resident().saturating_sub(self.cache.pages())
    }

    /// How many free frames the evictor should restore; 0 = enough are free.
    pub fn shortage(&self) -> usize {
        self.budget.shortage(2 * self.reserve.pages())
    }

    /// Frames that are free.
    pub fn free(&self) -> usize {
        self.budget.free()
    }

    /// Has the evictor to free frames, or will it have to soon?
    pub fn are_short(&self) -> bool {
        self.free() <= self.kept_free()
    }

    /// With fewer free frames than these they are short.
    pub fn kept_free(&self) -> usize {
        3 * self.reserve.pages()
    }

    /// Free frames at which the evictor is called.
    #[inline]
    pub fn reserve_pages(&self) -> usize {
        self.reserve.pages()
    }

    /// Takes a frame if more than `spare` are free, and calls the evictor if few are left. Cached frames are not
    /// resident.
    #[inline]
    pub fn take(&self, spare: usize) -> Option<Taken> {
        let Some(taken) = self.budget.take(spare) else {
            self.call_evictor();
            return None;
        };
        if taken.free < self.reserve.pages() {
            self.call_evictor();
        }
        Some(Taken { resident: taken.resident.saturating_sub(self.cache.pages()), ..taken })
    }

    /// Frames of pages were given back to the kernel, or were not needed after all.
    #[inline]
    pub fn release(&self, pages: usize) {
        self.budget.release(pages);
        if self.budget.limit() > self.budget.goal() {
            self.budget.tighten();
        }
    }

    /// Those that need these frames have to free them themselves. Async-signal-safe.
    pub fn fell_short(&self, frames: usize) {
        self.reserve.fell_short(frames);
    }

    fn call_evictor(&self) {
        if self.reserve.pages() > 0 {
            self.ring_evictor();
        }
    }

    /// Wakes the evictor.
    pub fn ring_evictor(&self) {
        if self.evictor_bell.swap(1, Ordering::AcqRel) == 0 {
            futex::wake_all(&self.evictor_bell);
        }
    }

    /// Sleeps until the evictor is woken. By the evictor.
    pub fn await_ring(&self) {
        while self.evictor_bell.swap(0, Ordering::AcqRel) == 0 {
            futex::wait(&self.evictor_bell, 0, Duration::from_secs(10));
        }
    }

    /// The reserve is restored: this many frames were freed for it. By the evictor.
    pub fn adapt(&self, freed: usize) {
        self.reserve.adapt(freed);
    }

    /// Runs of frames beside the far space.
    #[inline]
    pub fn cache(&self) -> &FrameCache {
        &self.cache
    }

    /// Moves the frames of mapped, locked pages from `start` on to the cache, in whole runs. Returns how many pages
    /// were moved; their frames still take room.
    pub fn keep(&self, kernel: &KernelInterface, start: Page, pages: usize) -> usize {
        let mut kept = 0;
        while pages - kept >= CACHED_PAGES {
            let Some((run, moved)) = self.move_to_cache(kernel, Page(start.0 + kept)) else {
                break;
            };
            let went = self.keep_moved(run, moved);
            kept += went;
            if went == 0 {
                break;
            }
        }
        kept
    }

    /// Moves the frames of [`CACHED_PAGES`] mapped, locked pages to a run, if the cache takes more. Returns how many
    /// the kernel moved.
    pub fn move_to_cache(
        &self,
        kernel: &KernelInterface,
        start: Page,
    ) -> Option<(FrameRun<'_>, usize)> {
        if self.are_short() || !self.cache.may_keep() {
            return None;
        }
        let run = self.cache.take()?;
        let moved = kernel.move_out(run.address(), start, CACHED_PAGES);
        if moved < CACHED_PAGES {
            self.cache.refuse();
        }
        Some((run, moved))
    }

    /// Keeps the frames that were moved to a run, or gives them back if they are no whole run. Returns how many are
    /// kept.
    pub fn keep_moved(&self, run: FrameRun<'_>, moved: usize) -> usize {
        if moved < CACHED_PAGES {
            run.empty(moved);
            return 0;
        }
        run.keep();
        CACHED_PAGES
    }

    /// Gives one cached run back to the kernel. Returns how many frames are free by that; 0: none is cached.
    pub fn empty_cached(&self) -> usize {
        let Some(run) = self.cache.take_full() else { return 0 };
        run.empty(CACHED_PAGES);
        drop(run);
        self.release(CACHED_PAGES);
        CACHED_PAGES
    }

    /// Maps as many of the fresh pages from `page` on as there are cached frames for, writable, and releases the frames
    /// that the caller took for them. The caller holds their locks. Returns how many there were, in whole runs.
    pub fn populate(&self, kernel: &KernelInterface, page: Page, count: usize) -> usize {
        let mut done = 0;
        while count - done >= CACHED_PAGES {
            let Some(run) = self.cache.take_full() else { break };
            run.lay(kernel, Page(page.0 + done), kernel.zeros(), CACHED_PAGES);
            drop(run);
            self.release(CACHED_PAGES);
            done += CACHED_PAGES;
        }
        done
    }
}
