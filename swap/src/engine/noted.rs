//! Far spaces in which the kernel notes writes (`write_tracker`), instead of signals that tell of them.
//!
//! The states of pages mean the same, but for one thing: a page that is `Clean` may have been written since, and only
//! the kernel knows. Who acts on it asks: the replacement, which gives credit to what was written; whoever writes pages
//! back; and what makes pages leave (`departure`). They ask before they look at the word: who protects a page after
//! that, finds that it was written, and says so in the word. A page is protected again only by one who holds its lock,
//! and who learns in the same step whether it was written before: so no note is lost.
//!
//! What a page costs that is read and then written, or written back and then written again, is a fault of 1 us in the
//! kernel instead of a signal of 4.5 to 16 us. What it costs to let a clean page go is a copy, its frame's way through
//! a pipe, and a comparison: about 1.3 us more. Dirty ones need not be protected and copied before they go.

use std::ptr;

use base::die;
use rdma::{Write, copy_words};

use crate::engine::clock::HAND_STEP;
use crate::engine::far_space::FarSpace;
use crate::frames::frame_cache::{CACHED_PAGES, FrameRun};
use crate::kernel::write_tracker::{HELD_PAGES, WriteTracker};
use crate::page::page_state::{PageState, PageWord};
use crate::transfer::departure::{Leaving, leave};
use crate::transfer::work_area::{Locked, PAGE_WORDS, RUN_PAGES, WorkArea};
use crate::{PAGE_BYTES, Page};

/// Which of [`HAND_STEP`] pages the kernel has noted.
#[derive(Clone, Copy, Default)]
pub(crate) struct Written {
    /// The first that was asked about, and how many.
    first: usize,
    count: usize,
    bits: u64,
}

impl Written {
    /// Was this page written? Only of those that were asked about it is known.
    pub(crate) fn has(&self, page: Page) -> bool {
        self.is_about(page) && self.bits >> (page.0 - self.first) & 1 != 0
    }

    /// Is it one of those that were asked about?
    fn is_about(&self, page: Page) -> bool {
        page.0.wrapping_sub(self.first) < self.count
    }
}

impl FarSpace {
    /// Asks which of up to [`HAND_STEP`] pages were written, if the kernel notes that and one of them counts as clean.
    pub(crate) fn noted(&self, first: Page, count: usize) -> Written {
        let mut noted = Written { first: first.0, count, bits: 0 };
        let is_noted = |word: &PageWord| word.look().is_noted();
        if let Some(tracker) = &self.tracker
            && self.words_from(first, count).iter().any(is_noted)
        {
            tracker.written(self.address(first), count, false, |start, pages| {
                noted.bits |= ones(pages) << start;
            });
        }
        noted
    }

    /// What is known of `page`, or is asked now, together with those around it.
    fn noted_around(&self, noted: Written, page: Page) -> Written {
        let first = Page(page.0 / HAND_STEP * HAND_STEP);
        match noted.is_about(page) {
            true => noted,
            false => self.noted(first, HAND_STEP.min(self.pages() - first.0)),
        }
    }

    /// What is known of `page`, or is asked now, together with those behind it before `end`.
    pub(crate) fn noted_about(&self, noted: Written, page: Page, end: Page) -> Written {
        match noted.is_about(page) {
            true => noted,
            false => self.noted(page, HAND_STEP.min(end.0 - page.0)),
        }
    }

    /// The kernel has noted that a page was written: it is dirty, and used. Nothing happens if somebody else is busy
    /// with it.
    pub(crate) fn note_written(&self, page: Page) {
        let word = self.word(page);
        let seen = word.look();
        if !seen.is_locked() && seen.is_noted() && word.try_lock(seen) {
            self.wake_if(word, word.unlock_used(PageState::Dirty));
        }
    }

    /// Leaves a locked page alone if it has been written lately, as the kernel knows: it is dirty, and unlocked. True
    /// if so.
    pub(crate) fn spare(&self, page: Page) -> bool {
        let noted = self.noted(page, 1);
        self.spare_noted(page, noted)
    }

    fn spare_noted(&self, page: Page, noted: Written) -> bool {
        let word = self.word(page);
        let is_spared = noted.has(page) && word.look().is_noted();
        if is_spared {
            self.wake_if(word, word.unlock_used(PageState::Dirty));
        }
        is_spared
    }

    /// Leaves those pages of a batch alone that have been written lately: they are dirty, and stay.
    pub(crate) fn spare_written(&self, area: &mut WorkArea) {
        let mut left = 0;
        let mut noted = Written::default();
        for n in 0..area.locked_count {
            let one = area.locked[n];
            noted = self.noted_around(noted, one.page);
            if !self.spare_noted(one.page, noted) {
                area.locked[left] = one;
                left += 1;
            }
        }
        area.locked_count = left;
    }

    /// Protects the dirty pages of a batch and unlocks them: the kernel notes who writes to them again.
    pub(crate) fn watch(&self, area: &mut WorkArea) {
        self.protect_dirty(area.locked());
        for one in area.locked() {
            let word = self.word(one.page);
            self.wake_if(word, word.unlock_watched());
            if self.are_few_ready() {
                self.ready.put(one.page);
            }
        }
        area.locked_count = 0;
    }

    /// Protects pages that the caller has locked. Clean ones among them that were written are dirty from now on.
    pub(crate) fn protect_noted(&self, tracker: &WriteTracker, start: Page, count: usize) {
        tracker.written(self.address(start), count, true, |first, pages| {
            (first..first + pages).for_each(|n| self.word(Page(start.0 + n)).set_dirty());
        });
    }

    /// Makes the pages of a batch leave, all of which are here and none of which stays, except unlocking them. Returns
    /// how many were written to their servers.
    pub(crate) fn leave(&self, tracker: &WriteTracker, area: &mut WorkArea) -> usize {
        let WorkArea { bounce, locked, locked_count, writes, iovecs } = area;
        let (copies, contents) = bounce.split_at_mut(HELD_PAGES * PAGE_WORDS);
        let mut written = 0;
        for pages in locked[..*locked_count].chunks(HELD_PAGES) {
            let is_dirty = |(n, one): (usize, &Locked)| u64::from(one.was == PageState::Dirty) << n;
            let dirty = pages.iter().enumerate().map(is_dirty).sum();
            let (space, run, saved) = (self, None, 0);
            let (copies, contents) = (&mut *copies, &mut *contents);
            let mut group =
                Group { space, tracker, pages, dirty, saved, copies, contents, iovecs, run };
            leave(&mut group, pages.len());
            let saved = (0..pages.len()).filter(|n| group.saved >> n & 1 != 0);
            let contents = saved.map(|n| (pages[n].page, group.content(n).as_ptr()));
            // SAFETY: they are in the contents or in a run, both of which the group has.
            written += unsafe { self.write_pages(writes, contents) };
            let kept = group.run.map_or(0, |(run, moved)| self.keep_moved(run, moved));
            self.release(pages.len() - kept);
        }
        written
    }

    /// Moves the frames of up to [`RUN_PAGES`] locked pages from `start` on to `to`, in a
    /// run, and writes what is dirty, or somebody wrote to meanwhile, to their servers. Returns how many went: those
    /// before the first clean one that had been written already, and that the kernel moves.
    pub(crate) fn move_noted(
        &self,
        tracker: &WriteTracker,
        to: usize,
        start: Page,
        pages: usize,
    ) -> usize {
        let mut area = self.areas.claim();
        let WorkArea { bounce, writes, .. } = &mut **area;
        leave(&mut Run { space: self, tracker, start, to, pages, copies: bounce, writes }, pages)
    }

    /// Copies a locked, mapped page that somebody may be writing.
    fn copy_page(&self, page: Page, copy: &mut [u64]) {
        let from = ptr::with_exposed_provenance(self.address(page));
        // SAFETY: a page that is mapped while the caller holds its lock, and written by compiled code; and room for it.
        unsafe { copy_words(from, copy.as_mut_ptr(), copy.len()) };
    }
}

/// Pages that leave together.
struct Group<'a> {
    space: &'a FarSpace,
    tracker: &'a WriteTracker,
    pages: &'a [Locked],
    /// The n-th bit stands for the n-th page.
    dirty: u64,
    /// Those to be written to their servers.
    saved: u64,
    /// What was in clean pages before.
    copies: &'a mut [u64],
    /// What was in pages in the end, but for those that were moved.
    contents: &'a mut [u64],
    iovecs: &'a mut [libc::iovec],
    /// Where the frames of the first pages were moved to for the frame cache, and how many.
    run: Option<(FrameRun<'a>, usize)>,
}

impl Group<'_> {
    /// What was in the n-th page in the end.
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
            self.run = self.space.move_to_cache(self.space.address(self.pages[0].page));
        }
        self.run.as_ref().map_or(0, |(_, moved)| *moved)
    }
}

impl Leaving for Group<'_> {
    fn is_dirty(&self, n: usize) -> bool {
        self.dirty >> n & 1 != 0
    }

    fn copy(&mut self, n: usize) {
        self.space.copy_page(self.pages[n].page, &mut self.copies[range(n)]);
    }

    fn ask(&mut self) {
        let mut noted = Written::default();
        for (n, one) in self.pages.iter().enumerate() {
            if !self.is_dirty(n) {
                noted = self.space.noted_around(noted, one.page);
                self.dirty |= u64::from(noted.has(one.page)) << n;
            }
        }
    }

    fn take_away(&mut self) -> usize {
        let moved = self.move_to_cache();
        let rest = self.pages[moved..].iter().map(|one| one.page);
        let (runs, pages) = self.space.gather_runs(self.iovecs, rest);
        if pages > 0 {
            let pipe = self.tracker.pipes.claim();
            // SAFETY: the pages are locked and resident, so they are mapped.
            if let Err((at, error)) = unsafe { pipe.hold(&self.iovecs[..runs]) } {
                let page = Page::of_offset(at - self.space.base());
                let seen = self.space.word(page).look();
                die(format_args!("page {} ({seen:?}) of {pages} cannot be held: {error}", page.0));
            }
            self.space.drop_runs(&self.iovecs[..runs], pages);
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

/// A run of pages whose frames others are to come in.
struct Run<'a> {
    space: &'a FarSpace,
    tracker: &'a WriteTracker,
    start: Page,
    /// Where the frames go.
    to: usize,
    /// Those before the first clean one that was written already.
    pages: usize,
    copies: &'a mut [u64],
    writes: &'a mut [Write],
}

impl Run<'_> {
    fn page(&self, n: usize) -> Page {
        Page(self.start.0 + n)
    }
}

impl Leaving for Run<'_> {
    fn is_dirty(&self, n: usize) -> bool {
        self.space.word(self.page(n)).look().state() == PageState::Dirty
    }

    fn copy(&mut self, n: usize) {
        self.space.copy_page(self.page(n), &mut self.copies[range(n)]);
    }

    fn ask(&mut self) {
        let mut clean = self.pages;
        self.tracker.written(self.space.address(self.start), self.pages, false, |first, count| {
            let written = (first..first + count).find(|n| !self.is_dirty(*n));
            clean = clean.min(written.unwrap_or(clean));
        });
        self.pages = clean;
    }

    fn take_away(&mut self) -> usize {
        self.space.uffd.move_pages(self.to, self.space.address(self.start), self.pages)
    }

    fn is_as_copied(&self, n: usize) -> bool {
        // SAFETY: a page of a run that the caller has taken, where a frame was just moved.
        self.copies[range(n)] == *unsafe { page_at(self.to + n * PAGE_BYTES) }
    }

    fn save(&mut self, n: usize) {
        let from = ptr::with_exposed_provenance(self.to + n * PAGE_BYTES);
        // SAFETY: as above.
        unsafe { self.space.write_pages(self.writes, std::iter::once((self.page(n), from))) };
    }
}

/// The words of a page that is nobody else's.
///
/// # Safety
/// It is mapped as long as the words are used, and nobody writes to it.
unsafe fn page_at<'a>(address: usize) -> &'a [u64] {
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts(ptr::with_exposed_provenance(address), PAGE_WORDS) }
}

/// The words of the n-th page of several.
fn range(n: usize) -> std::ops::Range<usize> {
    n * PAGE_WORDS..(n + 1) * PAGE_WORDS
}

/// The `count` lowest bits.
fn ones(count: usize) -> u64 {
    u64::MAX >> (u64::BITS as usize - count)
}

const _: () = assert!(HELD_PAGES <= 64 && HAND_STEP <= 64, "groups of pages are sets of bits");
const _: () = assert!(2 * HELD_PAGES <= RUN_PAGES, "there is room for copies and contents");
