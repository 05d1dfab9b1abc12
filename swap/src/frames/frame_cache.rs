//! Runs of addresses beside the far space, in which frames wait for the page that they are for.
//!
//! A *run* has room for [`RUN_PAGES`] pages. It is empty (nothing is mapped in it), full ([`CACHED_PAGES`] frames
//! whose contents mean nothing are in its first places), or taken: by one thread, which moves frames through it and
//! leaves it empty or full. Frames in full runs are the *cache*. They are fewer than a run has room for, since runs
//! of [`CACHED_PAGES`] pages are more frequent, both those to take frames from and those to bring in.

use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use base::die;

use crate::frames::copy::copy_run;
use crate::frames::run_set::RunSet;
use crate::kernel::interface::KernelInterface;
use crate::kernel::reservation::Reservation;
use crate::kernel::uffd::Userfaultfd;
use crate::range::RUN_PAGES;
use crate::{PAGE_BYTES, Page, SwapError};

/// The runs of one far space. Any thread, async-signal-safe.
pub struct FrameCache {
    /// Where they are; `None` if there are none.
    range: Option<Reservation>,
    empty: RunSet,
    full: RunSet,
    /// Frames in full runs. Relaxed: grows before a run becomes full, shrinks after it was taken.
    cached: AtomicUsize,
    pages_max: usize,
    /// Moves that the kernel refused. Relaxed: a limit.
    refused: AtomicUsize,
    /// Runs so far. Relaxed: any one in [`KEPT_ONE_IN`] does.
    runs: AtomicUsize,
}

/// A run in use, empty or about to be; dropping gives it back as empty.
pub struct FrameRun<'a> {
    cache: &'a FrameCache,
    number: usize,
}

impl FrameCache {
    /// Runs that take pages of the range of `uffd`, as many as threads can use at once, and those for a cache of
    /// `cached` pages; none if they are not wanted, or nothing can be moved.
    pub fn new(
        are_wanted: bool,
        cached: usize,
        uffd: &Userfaultfd,
    ) -> Result<FrameCache, SwapError> {
        let mut count = 0;
        let range = match are_wanted && uffd.can_move() {
            true => {
                count = AT_ONCE + cached / CACHED_PAGES;
                let range = Reservation::new(count * RUN_PAGES * PAGE_BYTES, PAGE_BYTES)?;
                range.advise(libc::MADV_NOHUGEPAGE)?;
                range.advise(libc::MADV_DONTFORK)?;
                uffd.register(range.base(), range.bytes())?;
                Some(range)
            }
            false => None,
        };
        let (empty, full) = (RunSet::new(count), RunSet::new(count));
        (0..count).for_each(|number| empty.put(number));
        Ok(FrameCache {
            range,
            empty,
            full,
            cached: AtomicUsize::new(0),
            pages_max: count.saturating_sub(AT_ONCE) * CACHED_PAGES,
            refused: AtomicUsize::new(0),
            runs: AtomicUsize::new(0),
        })
    }

    /// Can frames be moved at all, as far as it is known?
    pub fn are_usable(&self) -> bool {
        self.range.is_some() && self.refused.load(Ordering::Relaxed) < REFUSED_MAX
    }

    /// An empty run.
    pub fn take(&self) -> Option<FrameRun<'_>> {
        if !self.are_usable() {
            return None;
        }
        self.empty.take().map(|number| FrameRun { cache: self, number })
    }

    /// A full run, out of the frame cache. Its frames count as resident from now on.
    pub fn take_full(&self) -> Option<FrameRun<'_>> {
        if self.pages() == 0 {
            return None;
        }
        let number = self.full.take()?;
        self.cached.fetch_sub(CACHED_PAGES, Ordering::Relaxed);
        Some(FrameRun { cache: self, number })
    }

    /// Frames in full runs.
    pub fn pages(&self) -> usize {
        self.cached.load(Ordering::Relaxed)
    }

    /// May one more run be filled and kept?
    pub fn may_keep(&self) -> bool {
        self.pages() + CACHED_PAGES <= self.pages_max && self.are_usable()
    }

    /// The kernel did not move all that it should.
    pub fn refuse(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Is the run that comes now one of those that stay for their round, though a walk passes them?
    pub fn is_kept(&self) -> bool {
        self.runs.fetch_add(1, Ordering::Relaxed).is_multiple_of(KEPT_ONE_IN)
    }
}

impl FrameRun<'_> {
    /// The address of its first page.
    pub fn address(&self) -> usize {
        let range = self.cache.range.as_ref().expect("a run was taken from somewhere");
        range.base() + self.number * RUN_PAGES * PAGE_BYTES
    }

    /// It is full of frames and belongs to the frame cache now; these do not count as resident any more.
    pub fn keep(self) {
        self.cache.cached.fetch_add(CACHED_PAGES, Ordering::Relaxed);
        self.cache.full.put(self.number);
        std::mem::forget(self);
    }

    /// Fills its first `count` frames from `from`, and moves them to the pages from `page` on, which are locked and
    /// missing. They arrive writable.
    pub fn lay(&self, kernel: &KernelInterface, page: Page, from: *const u8, count: usize) {
        // SAFETY: the run is taken, and `count` of its pages are mapped, writable and used by no other thread; the
        // source is mapped as long as its segment.
        unsafe { copy_run(from, ptr::with_exposed_provenance_mut(self.address()), count) };
        let moved = kernel.move_in(page, self.address(), count);
        if moved < count {
            self.cache.refuse();
            self.empty(count);
            let (page, from) = (Page(page.0 + moved), from.wrapping_add(moved * PAGE_BYTES));
            kernel.map(page, from, count - moved, false);
        }
    }

    /// Gives the frames of its first pages back to the kernel.
    pub fn empty(&self, pages: usize) {
        let start: *mut libc::c_void = ptr::with_exposed_provenance_mut(self.address());
        // SAFETY: pages of a run that is taken. The system call itself, as where pages are dropped.
        let rc = unsafe {
            libc::syscall(libc::SYS_madvise, start, pages * PAGE_BYTES, libc::MADV_DONTNEED)
        };
        if rc != 0 {
            die(format_args!("frames cannot be released: {}", std::io::Error::last_os_error()));
        }
    }
}

impl Drop for FrameRun<'_> {
    fn drop(&mut self) {
        self.cache.empty.put(self.number);
    }
}

/// Frames in a full run.
pub const CACHED_PAGES: usize = RUN_PAGES / 2;
/// Threads that can move frames at the same time; others copy.
const AT_ONCE: usize = 16;
/// One run in this many is treated like pages that no walk passes.
const KEPT_ONE_IN: usize = 32;
/// Moves that the kernel may refuse; a page that it holds for a moment is no reason to give up.
const REFUSED_MAX: usize = 64;
