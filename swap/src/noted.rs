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
use std::sync::atomic::{AtomicU64, Ordering};

use rdma::{Write, die};

use crate::departure::{Leaving, leave};
use crate::far_space::{FarSpace, HAND_STEP, Outcome};
use crate::page_state::{PageState, PageWord};
use crate::sheets::{STOCKED_PAGES, Sheet};
use crate::work_area::{Locked, PAGE_WORDS, WorkArea};
use crate::write_tracker::{HELD_PAGES, WriteTracker};
use crate::{PAGE_BYTES, Page};

/// Which of [`HAND_STEP`] pages the kernel has noted.
#[derive(Clone, Copy, Default)]
pub(crate) struct Noted {
    /// The first that was asked about, and how many.
    first: usize,
    count: usize,
    bits: u64,
}

impl Noted {
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
    pub(crate) fn noted(&self, first: Page, count: usize) -> Noted {
        let mut noted = Noted { first: first.0, count, bits: 0 };
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

    /// What is known of `page`, or is asked now, together with those behind it before `end`.
    pub(crate) fn noted_about(&self, noted: Noted, page: Page, end: Page) -> Noted {
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

    fn spare_noted(&self, page: Page, noted: Noted) -> bool {
        let word = self.word(page);
        let is_spared = noted.has(page) && word.look().is_noted();
        if is_spared {
            self.wake_if(word, word.unlock_used(PageState::Dirty));
        }
        is_spared
    }

    /// Leaves those pages of a batch alone that have been written lately: they are dirty, and stay.
    pub(crate) fn spare_written(&self, area: &mut WorkArea) {
        let pages = area.locked_count;
        let mut left = 0;
        let mut noted = Noted::default();
        for n in 0..pages {
            let one = area.locked[n];
            if !noted.is_about(one.page) {
                let first = Page(one.page.0 / HAND_STEP * HAND_STEP);
                noted = self.noted(first, HAND_STEP.min(self.pages() - first.0));
            }
            if !self.spare_noted(one.page, noted) {
                area.locked[left] = one;
                left += 1;
            }
        }
        area.locked_count = left;
    }

    /// Protects the dirty pages of a batch and unlocks them: the kernel notes who writes to them again.
    pub(crate) fn watch(&self, area: &mut WorkArea) {
        self.protect_dirty(area.locked(), Outcome::WrittenBack);
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

    /// Makes the pages of a batch leave that do not stay, except unlocking them. Returns how many were written to their
    /// servers.
    pub(crate) fn leave(&self, tracker: &WriteTracker, area: &mut WorkArea) -> usize {
        let (mut written, mut next) = (0, 0);
        while next < area.locked_count {
            let (copies, contents) = area.bounce.split_at_mut(HELD_PAGES * PAGE_WORDS);
            let mut group = Group {
                space: self,
                tracker,
                pages: [Page(0); HELD_PAGES],
                count: 0,
                dirty: 0,
                saved: 0,
                copies,
                contents,
                sheet: None,
                moved: 0,
            };
            while next < area.locked_count && group.count < HELD_PAGES {
                let one = area.locked[next];
                if one.was.is_resident() && !one.stays {
                    group.add(one);
                }
                next += 1;
            }
            let count = group.count;
            if count > 0 {
                leave(&mut group, count);
                written += group.write_saved(&mut area.writes);
                self.release(count - group.keep());
            }
        }
        written
    }

    /// Moves the frames of up to [`RUN_PAGES`](crate::work_area::RUN_PAGES) locked pages from `start` on to `to`, in a
    /// sheet, and writes what is dirty, or somebody wrote to meanwhile, to their servers. Returns how many went: those
    /// before the first clean one that had been written already, and that the kernel moves.
    pub(crate) fn move_noted(
        &self,
        tracker: &WriteTracker,
        to: usize,
        start: Page,
        pages: usize,
    ) -> usize {
        let mut area = self.areas.claim();
        let area = &mut *area;
        let copies = &mut area.bounce[..pages * PAGE_WORDS];
        let page_at = |n| Page(start.0 + n);
        copies.chunks_exact_mut(PAGE_WORDS).enumerate().for_each(|(n, copy)| {
            self.copy_page(page_at(n), copy);
        });
        let mut clean = pages;
        let is_dirty = |n| self.word(page_at(n)).look().state() == PageState::Dirty;
        tracker.written(self.address(start), pages, false, |first, count| {
            let written = (first..first + count).find(|n| !is_dirty(*n));
            clean = clean.min(written.unwrap_or(clean));
        });
        let moved = self.uffd.move_pages(to, self.address(start), clean);
        for (n, copy) in copies.chunks_exact(PAGE_WORDS).take(moved).enumerate() {
            let contents: *const u64 = ptr::with_exposed_provenance(to + n * PAGE_BYTES);
            // SAFETY: a page of a sheet that the caller has taken, where a frame was just moved.
            if is_dirty(n) || unsafe { std::slice::from_raw_parts(contents, PAGE_WORDS) } != copy {
                self.save(self.owner(page_at(n)), &[write_of(page_at(n), contents)]);
            }
        }
        moved
    }

    /// Copies a locked, mapped page that somebody may be writing.
    fn copy_page(&self, page: Page, copy: &mut [u64]) {
        let words: *mut u64 = ptr::with_exposed_provenance_mut(self.address(page));
        for (n, word) in copy.iter_mut().enumerate() {
            // SAFETY: a word of a page that is mapped while the caller holds its lock.
            *word = unsafe { AtomicU64::from_ptr(words.add(n)) }.load(Ordering::Relaxed);
        }
    }

    /// Writes pages that have left, to their server.
    fn save(&self, server: usize, writes: &[Write]) {
        // SAFETY: they name memory of the caller's that nobody writes to.
        if let Err(error) = unsafe { self.store(server).write_batch(writes) } {
            die(format_args!("{} pages cannot be written: {error}", writes.len()));
        }
        self.counters.written(writes.len());
    }
}

/// Pages that leave together.
struct Group<'a> {
    space: &'a FarSpace,
    tracker: &'a WriteTracker,
    pages: [Page; HELD_PAGES],
    count: usize,
    /// The n-th bit stands for the n-th page.
    dirty: u64,
    /// Those to be written to their servers.
    saved: u64,
    /// What was in clean pages before.
    copies: &'a mut [u64],
    /// What was in pages in the end, but for those that were moved.
    contents: &'a mut [u64],
    /// Where the frames of the first pages were moved to, and how many.
    sheet: Option<Sheet<'a>>,
    moved: usize,
}

impl Group<'_> {
    fn add(&mut self, one: Locked) {
        self.pages[self.count] = one.page;
        self.dirty |= u64::from(one.was == PageState::Dirty) << self.count;
        self.count += 1;
    }

    /// What was in the n-th page in the end.
    fn content(&self, n: usize) -> *const u64 {
        match &self.sheet {
            Some(sheet) if n < self.moved => {
                ptr::with_exposed_provenance(sheet.address() + n * PAGE_BYTES)
            }
            _ => self.contents[range(n)].as_ptr(),
        }
    }

    /// Moves frames to the stock (`stock`) if it takes this run. Returns how many.
    fn move_to_stock(&mut self) -> usize {
        let is_run = self.count == STOCKED_PAGES
            && (1..self.count).all(|n| self.pages[n].0 == self.pages[0].0 + n);
        if !is_run || self.space.is_room_short() || !self.space.sheets.may_keep() {
            return 0;
        }
        let Some(sheet) = self.space.sheets.take() else { return 0 };
        let from = self.space.address(self.pages[0]);
        let moved = self.space.uffd.move_pages(sheet.address(), from, STOCKED_PAGES);
        if moved < STOCKED_PAGES {
            self.space.sheets.refuse();
        }
        self.sheet = Some(sheet);
        moved
    }

    /// What was in frames that were moved is not needed any more. Returns how many are in the stock now.
    fn keep(&mut self) -> usize {
        match self.sheet.take() {
            Some(sheet) if self.moved == STOCKED_PAGES => {
                sheet.keep();
                self.space.counters.stocked(STOCKED_PAGES);
                STOCKED_PAGES
            }
            Some(sheet) => {
                sheet.empty(self.moved);
                0
            }
            None => 0,
        }
    }

    /// Writes those that are to be saved to their servers. Returns how many.
    fn write_saved(&self, writes: &mut [Write]) -> usize {
        for server in 0..self.space.stores() {
            let mut count = 0;
            for n in (0..self.count).filter(|n| self.saved >> n & 1 != 0) {
                if self.space.owner(self.pages[n]) == server {
                    writes[count] = write_of(self.pages[n], self.content(n));
                    count += 1;
                }
            }
            if count > 0 {
                self.space.save(server, &writes[..count]);
            }
        }
        self.saved.count_ones() as usize
    }
}

impl Leaving for Group<'_> {
    fn is_dirty(&self, n: usize) -> bool {
        self.dirty >> n & 1 != 0
    }

    fn copy(&mut self, n: usize) {
        self.space.copy_page(self.pages[n], &mut self.copies[range(n)]);
    }

    fn ask(&mut self) {
        let mut n = 0;
        while n < self.count {
            if self.is_dirty(n) {
                n += 1;
                continue;
            }
            // One call for all that are in order and close to each other.
            let (first, mut end) = (self.pages[n], n + 1);
            while end < self.count && (first.0..first.0 + ASKED_PAGES).contains(&self.pages[end].0)
            {
                end += 1;
            }
            let asked = &self.pages[n..end];
            let last = asked.iter().map(|page| page.0).max().expect("there is the first");
            let mut written = 0;
            let address = self.space.address(first);
            self.tracker.written(address, last - first.0 + 1, false, |start, pages| {
                let run = first.0 + start..first.0 + start + pages;
                for (at, page) in asked.iter().enumerate() {
                    written |= u64::from(run.contains(&page.0)) << at;
                }
            });
            self.dirty |= written << n;
            n = end;
        }
    }

    fn take_away(&mut self) {
        self.moved = self.move_to_stock();
        if self.moved == self.count {
            return;
        }
        let mut runs = [NO_RUN; HELD_PAGES];
        let mut count = 0;
        for page in &self.pages[self.moved..self.count] {
            let start = self.space.address(*page);
            if count > 0 && runs[count - 1].iov_base.addr() + runs[count - 1].iov_len == start {
                runs[count - 1].iov_len += PAGE_BYTES;
                continue;
            }
            let iov_base = ptr::with_exposed_provenance_mut(start);
            runs[count] = libc::iovec { iov_base, iov_len: PAGE_BYTES };
            count += 1;
        }
        let pipe = self.tracker.claim();
        let pages = self.count - self.moved;
        // SAFETY: the pages are locked and resident, so they are mapped.
        unsafe { pipe.hold(&runs[..count], pages) };
        self.space.drop_runs(&runs[..count], pages);
        pipe.take(&mut self.contents[self.moved * PAGE_WORDS..self.count * PAGE_WORDS]);
    }

    fn is_as_copied(&self, n: usize) -> bool {
        // SAFETY: a page of ours that was read, or in a sheet that was taken, where nobody writes.
        let content = unsafe { std::slice::from_raw_parts(self.content(n), PAGE_WORDS) };
        self.copies[range(n)] == *content
    }

    fn save(&mut self, n: usize) {
        self.saved |= 1 << n;
    }
}

/// The words of the n-th page of several.
fn range(n: usize) -> std::ops::Range<usize> {
    n * PAGE_WORDS..(n + 1) * PAGE_WORDS
}

fn write_of(page: Page, from: *const u64) -> Write {
    Write { offset: page.offset() as u64, from: from.cast(), words: PAGE_WORDS }
}

/// The `count` lowest bits.
fn ones(count: usize) -> u64 {
    u64::MAX >> (u64::BITS as usize - count)
}

const NO_RUN: libc::iovec = libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 };
/// From the first to the last page that the kernel is asked about in one call: the entries of one table.
const ASKED_PAGES: usize = 512;

const _: () = assert!(HELD_PAGES <= 64 && HAND_STEP <= 64, "groups of pages are sets of bits");
const _: () =
    assert!(2 * HELD_PAGES <= crate::work_area::RUN_PAGES, "there is room for copy and contents");
