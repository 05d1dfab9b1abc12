//! The eviction of pages where the kernel notes writes: `departure` with its system calls.

use std::ptr;

use base::die;
use rdma::{Write, copy_words};

use crate::frames::Frames;
use crate::frames::frame_cache::{CACHED_PAGES, FrameRun};
use crate::kernel::interface::KernelInterface;
use crate::kernel::residence;
use crate::kernel::write_tracker::{HELD_PAGES, WriteTracker};
use crate::page::page_state::PageState;
use crate::page::page_table::PageTable;
use crate::page::written::Written;
use crate::range::RUN_PAGES;
use crate::transfer::Transfer;
use crate::transfer::departure::{Leaving, leave};
use crate::transfer::work_area::{Locked, PAGE_WORDS, WorkArea};
use crate::{PAGE_BYTES, Page};

/// The context for evicting pages. Any thread, async-signal-safe.
pub struct Departure<'a> {
    pub kernel: &'a KernelInterface,
    pub tracker: &'a WriteTracker,
    pub pages: &'a PageTable,
    pub frames: &'a Frames,
    pub transfer: &'a Transfer,
}

/// The outcome of an eviction.
#[derive(Clone, Copy, Default)]
pub struct Left {
    /// Pages that are not in local memory any more.
    pub gone: usize,
    /// Of these, pages that were written to their servers.
    pub written: usize,
    /// Frames of these that are cached.
    pub kept: usize,
}

impl Departure<'_> {
    /// Evicts the pages of a batch, all of which are resident and none of which stays, except unlocking them, and
    /// releases the frames that are not kept.
    pub fn leave(&self, area: &mut WorkArea) -> Left {
        let WorkArea { bounce, locked, locked_count, writes, iovecs } = area;
        let (copies, contents) = bounce.split_at_mut(HELD_PAGES * PAGE_WORDS);
        let mut left = Left::default();
        for pages in locked[..*locked_count].chunks(HELD_PAGES) {
            let is_dirty = |(n, one): (usize, &Locked)| u64::from(one.was == PageState::Dirty) << n;
            let dirty = pages.iter().enumerate().map(is_dirty).sum();
            let (departure, run, saved) = (self, None, 0);
            let (copies, contents) = (&mut *copies, &mut *contents);
            let mut group = Group { departure, pages, dirty, saved, copies, contents, iovecs, run };
            leave(&mut group, pages.len());
            let saved = (0..pages.len()).filter(|n| group.saved >> n & 1 != 0);
            let contents = saved.map(|n| (pages[n].page, group.content(n).as_ptr()));
            // SAFETY: they are in the contents or in a run, both of which the group has.
            left.written += unsafe { self.transfer.write(writes, contents) };
            let kept = group.run.map_or(0, |(run, moved)| self.frames.keep_moved(run, moved));
            self.frames.release(pages.len() - kept);
            left.kept += kept;
            left.gone += pages.len();
        }
        left
    }

    /// Moves the frames of up to [`RUN_PAGES`] locked pages from `start` on to the address `to`, in a run of the frame
    /// cache, and writes pages that are dirty, or that another thread wrote to meanwhile, to their servers. Moved are
    /// those that are before the first clean one that had been written already, and that the kernel moves.
    pub fn move_frames(&self, to: usize, start: Page, pages: usize) -> Left {
        let mut area = self.transfer.claim_area();
        let WorkArea { bounce, writes, .. } = &mut **area;
        let mut run = Run { departure: self, start, to, pages, copies: bounce, writes, written: 0 };
        let gone = leave(&mut run, pages);
        Left { gone, written: run.written, kept: 0 }
    }

    /// Copies a locked, mapped page that another thread may be writing.
    fn copy_page(&self, page: Page, copy: &mut [u64]) {
        let from = ptr::with_exposed_provenance(self.kernel.address(page));
        // SAFETY: a page that is mapped while the caller holds its lock, and written by compiled code; and room for it.
        unsafe { copy_words(from, copy.as_mut_ptr(), copy.len()) };
    }
}

/// Pages that are evicted together.
struct Group<'a> {
    departure: &'a Departure<'a>,
    pages: &'a [Locked],
    /// The n-th bit stands for the n-th page.
    dirty: u64,
    /// Those to be written to their servers.
    saved: u64,
    /// The earlier contents of clean pages.
    copies: &'a mut [u64],
    /// The final contents of pages, except for those that were moved.
    contents: &'a mut [u64],
    iovecs: &'a mut [libc::iovec],
    /// Where the frames of the first pages were moved to for the frame cache, and how many.
    run: Option<(FrameRun<'a>, usize)>,
}

impl Group<'_> {
    /// The final contents of the n-th page.
    fn content(&self, n: usize) -> &[u64] {
        match &self.run {
            // SAFETY: a page that was moved to a run that this group has.
            Some((run, moved)) if n < *moved => unsafe { page_at(run.address() + n * PAGE_BYTES) },
            _ => &self.contents[range(n)],
        }
    }

    /// Moves frames to the frame cache (`frame_cache`) if it takes this run. Returns how many.
    fn move_to_cache(&mut self) -> usize {
        let is_next = |pair: &[Locked]| pair[0].page.0 + 1 == pair[1].page.0;
        if self.pages.len() == CACHED_PAGES && self.pages.windows(2).all(is_next) {
            self.run =
                self.departure.frames.move_to_cache(self.departure.kernel, self.pages[0].page);
        }
        self.run.as_ref().map_or(0, |(_, moved)| *moved)
    }
}

impl Leaving for Group<'_> {
    fn is_dirty(&self, n: usize) -> bool {
        self.dirty >> n & 1 != 0
    }

    fn copy(&mut self, n: usize) {
        self.departure.copy_page(self.pages[n].page, &mut self.copies[range(n)]);
    }

    fn ask(&mut self) {
        let Departure { kernel, pages, .. } = self.departure;
        let mut written = Written::default();
        for (n, one) in self.pages.iter().enumerate() {
            if !self.is_dirty(n) {
                written = pages.written_around(kernel, written, one.page);
                self.dirty |= u64::from(written.has(one.page)) << n;
            }
        }
    }

    fn take_away(&mut self) -> usize {
        let moved = self.move_to_cache();
        let rest = self.pages[moved..].iter().map(|one| one.page);
        let Departure { kernel, tracker, pages: table, .. } = self.departure;
        let (runs, pages) = kernel.gather_runs(self.iovecs, rest);
        if pages > 0 {
            let pipe = tracker.claim_pipe();
            // SAFETY: the pages are locked and resident, so they are mapped.
            if let Err((at, error)) = unsafe { pipe.hold(&self.iovecs[..runs]) } {
                let page = Page::of_offset(at - kernel.base());
                let seen = table.word(page).look();
                die(format_args!(
                    "page {} ({seen:?}, entry {:#x}) of {pages} cannot be moved to a pipe: {error}",
                    page.0,
                    residence::entry(at),
                ));
            }
            kernel.drop_runs(&self.iovecs[..runs], pages);
            pipe.take(&mut self.contents[moved * PAGE_WORDS..self.pages.len() * PAGE_WORDS]);
        }
        self.pages.len()
    }

    fn is_as_copied(&self, n: usize) -> bool {
        self.copies[range(n)] == *self.content(n)
    }

    fn save(&mut self, n: usize) {
        self.saved |= 1 << n;
    }
}

/// A run of pages whose frames are to be reused for others.
struct Run<'a> {
    departure: &'a Departure<'a>,
    start: Page,
    /// The target of the frames.
    to: usize,
    /// Those before the first clean one that was written already.
    pages: usize,
    copies: &'a mut [u64],
    writes: &'a mut [Write],
    /// Pages that were written to their servers.
    written: usize,
}

impl Run<'_> {
    fn page(&self, n: usize) -> Page {
        Page(self.start.0 + n)
    }
}

impl Leaving for Run<'_> {
    fn is_dirty(&self, n: usize) -> bool {
        self.departure.pages.word(self.page(n)).look().state() == PageState::Dirty
    }

    fn copy(&mut self, n: usize) {
        self.departure.copy_page(self.page(n), &mut self.copies[range(n)]);
    }

    fn ask(&mut self) {
        let mut clean = self.pages;
        let Departure { kernel, tracker, .. } = self.departure;
        tracker.written(kernel.address(self.start), self.pages, false, |first, count| {
            let written = (first..first + count).find(|n| !self.is_dirty(*n));
            clean = clean.min(written.unwrap_or(clean));
        });
        self.pages = clean;
    }

    fn take_away(&mut self) -> usize {
        self.departure.kernel.move_out(self.to, self.start, self.pages)
    }

    fn is_as_copied(&self, n: usize) -> bool {
        // SAFETY: a page of a run that the caller has taken, where a frame was just moved.
        self.copies[range(n)] == *unsafe { page_at(self.to + n * PAGE_BYTES) }
    }

    fn save(&mut self, n: usize) {
        let from = ptr::with_exposed_provenance(self.to + n * PAGE_BYTES);
        // SAFETY: as above.
        self.written += unsafe {
            self.departure.transfer.write(self.writes, std::iter::once((self.page(n), from)))
        };
    }
}

/// The words of a page that no other thread uses.
///
/// # Safety
/// It is mapped as long as the words are used, and no thread writes to it.
unsafe fn page_at<'a>(address: usize) -> &'a [u64] {
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts(ptr::with_exposed_provenance(address), PAGE_WORDS) }
}

/// The words of the n-th page of several.
fn range(n: usize) -> std::ops::Range<usize> {
    n * PAGE_WORDS..(n + 1) * PAGE_WORDS
}

const _: () = assert!(HELD_PAGES <= 64, "groups of pages are sets of bits");
const _: () = assert!(2 * HELD_PAGES <= RUN_PAGES, "there is room for copies and contents");
