//! Frames that go straight from pages that a walk has passed to those that it comes to.
//!
//! A walk through more memory than there is room for needs a frame for each page, and leaves one behind with each. To
//! have the kernel take one back and give out another takes longer than all the rest: two allocators, accounts, frames
//! that no cache knows, and, since one thread evicts what another one fetches, an interrupt of every processor for
//! each batch. So when room is short, a fault that continues a walk in order moves the pages of the walk's last run
//! (`UFFDIO_MOVE`) to a *sheet*, a run of addresses beside the far space, copies what comes next over them, and moves
//! them to where that belongs. No room is taken and none is given back.
//!
//! 1. The old run is locked: all of it clean, without credit and without pins. Else nothing is done.
//! 2. The new run is locked, all of it remote.
//! 3. The old pages are moved to the sheet and unlocked as evicted ones. Their servers have all that was in them.
//! 4. The sheet is filled from where the server's memory is mapped, and moved to its place.
//! 5. Pages arrive writable; the kernel cannot move them otherwise. If they are not being written, they are protected
//!    now, and compared with their source: a page that was written in that moment is dirty. Nothing else could tell.
//!
//! **What a walk brings takes the place of what it has passed**, the youngest pages rather than the oldest: so memory
//! that is not part of the walk stays, and of a walk that goes round and round through too much memory a part is here
//! each time. Lest this keep a walk through little memory out for ever, one run in [`KEPT_ONE_IN`] is treated as other
//! pages are: it gets credit when it comes back soon, and with credit it is not recycled.
//!
//! Where the kernel (before 6.8) or the protection of the program's own mappings does not allow it, and after
//! [`REFUSED_MAX`] refusals for good, pages are copied in and dropped as ever.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rdma::die;

use crate::ahead::Forecast;
use crate::far_space::FarSpace;
use crate::page_state::PageState;
use crate::reservation::Reservation;
use crate::stats::Touch;
use crate::uffd::Userfaultfd;
use crate::work_area::RUN_PAGES;
use crate::{PAGE_BYTES, Page, PageRange, SwapError};

/// The sheets of one far space. Any thread, async-signal-safe.
pub struct Sheets {
    /// Where they are; `None` if there are none. Nothing is mapped in a sheet that is not taken.
    range: Option<Reservation>,
    /// Set by the thread that uses it, cleared by the same one; acquire and release pair with each other.
    taken: [AtomicBool; SHEETS],
    /// Moves that the kernel refused. Relaxed: a limit.
    refused: AtomicUsize,
    /// Runs so far. Relaxed: any one in [`KEPT_ONE_IN`] does.
    runs: AtomicUsize,
}

/// A sheet in use; dropping gives it back. Nothing is mapped in it then.
struct Sheet<'a> {
    taken: &'a AtomicBool,
    address: usize,
}

impl Sheets {
    /// Sheets that take pages of the range of `uffd`; none if they are not wanted, or nothing can be moved.
    pub fn new(are_wanted: bool, uffd: &Userfaultfd) -> Result<Sheets, SwapError> {
        let range = match are_wanted && uffd.can_move() {
            true => {
                let range = Reservation::new(SHEETS * RUN_PAGES * PAGE_BYTES, PAGE_BYTES)?;
                range.advise(libc::MADV_NOHUGEPAGE)?;
                range.advise(libc::MADV_DONTFORK)?;
                uffd.register(range.base(), range.bytes())?;
                Some(range)
            }
            false => None,
        };
        let taken = [const { AtomicBool::new(false) }; SHEETS];
        Ok(Sheets { range, taken, refused: AtomicUsize::new(0), runs: AtomicUsize::new(0) })
    }

    fn take(&self) -> Option<Sheet<'_>> {
        let range = self.range.as_ref()?;
        if self.refused.load(Ordering::Relaxed) >= REFUSED_MAX {
            return None;
        }
        let is_free = |n: &usize| {
            let taken = &self.taken[*n];
            !taken.load(Ordering::Relaxed) && !taken.swap(true, Ordering::Acquire)
        };
        let n = (0..SHEETS).find(is_free)?;
        Some(Sheet { taken: &self.taken[n], address: range.base() + n * RUN_PAGES * PAGE_BYTES })
    }

    fn refuse(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }
}

impl Sheet<'_> {
    /// Gives the frames of its first pages back to the kernel.
    fn empty(&self, pages: usize) {
        let start: *mut libc::c_void = ptr::with_exposed_provenance_mut(self.address);
        // SAFETY: pages of a sheet that is taken. The system call itself, as where pages are dropped.
        let rc = unsafe {
            libc::syscall(libc::SYS_madvise, start, pages * PAGE_BYTES, libc::MADV_DONTNEED)
        };
        if rc != 0 {
            die(format_args!("frames cannot be given back: {}", std::io::Error::last_os_error()));
        }
    }
}

impl Drop for Sheet<'_> {
    fn drop(&mut self) {
        self.taken.store(false, Ordering::Release);
    }
}

impl FarSpace {
    /// Brings a remote page that the caller locked and the run behind it in the frames of the run before it, and
    /// unlocks it, if a walk has come here and room is short. The caller has no room for the page. False: nothing was
    /// done to the page.
    pub fn bring_recycled(&self, page: Page, write: bool, forecast: Option<Forecast>) -> bool {
        let passed = forecast.and_then(|forecast| forecast.whole_run_passed(page));
        let (Some(passed), Some(forecast)) = (passed, forecast) else { return false };
        if !self.is_room_short() || self.sheets.range.is_none() {
            return false;
        }
        let store = self.store(self.owner(page));
        let bytes = (RUN_PAGES * PAGE_BYTES) as u64;
        let Some(from) = store.mapped(page.offset() as u64, bytes) else { return false };
        let Some(sheet) = self.sheets.take() else { return false };
        if !self.lock_passed(passed) {
            return false;
        }
        let count = self.lock_run(page, PageState::Remote, Some(forecast), true);
        if count < RUN_PAGES || !self.move_passed(passed, &sheet) {
            let others = (1..count).map(|n| (Page(page.0 + n), PageState::Remote));
            others.for_each(|(page, state)| self.unlock(page, state));
            if count < RUN_PAGES {
                passed.pages().for_each(|page| self.unlock(page, PageState::Clean));
            }
            return false;
        }
        self.lay(&sheet, page, from);
        drop(sheet);
        self.counters.fetched(Touch::Fault, RUN_PAGES);
        self.counters.recycled(RUN_PAGES);
        let is_kept = self.sheets.runs.fetch_add(1, Ordering::Relaxed).is_multiple_of(KEPT_ONE_IN);
        self.unlock_laid(page, from, write, is_kept);
        self.bring_rest(page, PageState::Remote, RUN_PAGES - 1, Some(forecast));
        true
    }

    /// Locks all pages of a run, which are clean and may go; or none.
    fn lock_passed(&self, passed: PageRange) -> bool {
        for (locked, page) in passed.pages().enumerate() {
            let word = self.word(page);
            let seen = word.look();
            let may_go = seen.state() == PageState::Clean && seen.pins() == 0 && seen.credit() == 0;
            if seen.is_locked() || !may_go || !word.try_lock(seen) {
                let others = passed.pages().take(locked);
                others.for_each(|page| self.unlock(page, PageState::Clean));
                return false;
            }
        }
        true
    }

    /// Moves the locked pages of a run to a sheet, and unlocks them. False when they did not all go; then
    /// those that went are dropped.
    fn move_passed(&self, passed: PageRange, sheet: &Sheet) -> bool {
        let moved = self.uffd.move_pages(sheet.address, self.address(passed.start), passed.count);
        let lap = self.lap();
        for (n, page) in passed.pages().enumerate() {
            let word = self.word(page);
            let waited = match n < moved {
                true => word.unlock_evicted(lap),
                false => word.unlock(PageState::Clean),
            };
            self.wake_if(word, waited);
        }
        self.counters.evicted(moved, moved);
        if moved < passed.count {
            self.sheets.refuse();
            if moved > 0 {
                sheet.empty(moved);
                self.release(moved);
            }
        }
        moved == passed.count
    }

    /// Fills a sheet that is full of frames from `from`, and moves it to the run at `page`, which is locked.
    fn lay(&self, sheet: &Sheet, page: Page, from: *const u8) {
        // SAFETY: the sheet is taken, and all its pages are mapped, writable and nobody else's; the source is mapped as
        // long as its segment.
        unsafe { copy_run(from, ptr::with_exposed_provenance_mut(sheet.address)) };
        let moved = self.uffd.move_pages(self.address(page), sheet.address, RUN_PAGES);
        if moved < RUN_PAGES {
            self.sheets.refuse();
            sheet.empty(RUN_PAGES);
            let (page, from) = (Page(page.0 + moved), from.wrapping_add(moved * PAGE_BYTES));
            self.map(page, from, RUN_PAGES - moved, false);
        }
    }

    /// Unlocks a run that arrived writable from `from`: dirty if it is being written, clean and protected if not.
    fn unlock_laid(&self, page: Page, from: *const u8, write: bool, is_kept: bool) {
        if !write {
            self.protect(page, RUN_PAGES, true);
        }
        let resident = self.resident_pages();
        for n in 0..RUN_PAGES {
            let page = Page(page.0 + n);
            let state = match write || !self.is_same(page, from.wrapping_add(n * PAGE_BYTES)) {
                true => PageState::Dirty,
                false => PageState::Clean,
            };
            if state == PageState::Dirty && !write {
                self.protect(page, 1, false);
            }
            self.epochs.came(resident);
            match is_kept {
                true => self.unlock_arrived(page, state, false),
                false => self.wake_if(self.word(page), self.word(page).unlock_passing(state)),
            }
        }
    }

    /// Is a page, which is locked, mapped and protected, the same as its source?
    fn is_same(&self, page: Page, from: *const u8) -> bool {
        let here = ptr::with_exposed_provenance(self.address(page));
        // SAFETY: whole pages, which stay mapped while the caller holds the lock of the one, and for the life of its
        // segment the other; nobody writes the first, and nobody is writing the second (`PagerOptions::run_after`).
        unsafe { libc::memcmp(here, from.cast(), PAGE_BYTES) == 0 }
    }
}

/// Copies a run of pages, past the processor's habit to foresee nothing beyond a page.
///
/// # Safety
/// [`RUN_PAGES`] pages can be read at `from` and written at `to`, both whole pages. Nobody else uses the target, and
/// nobody is writing the source.
unsafe fn copy_run(from: *const u8, to: *mut u8) {
    use std::arch::x86_64::{__m128i, _MM_HINT_T0, _mm_load_si128, _mm_prefetch, _mm_store_si128};
    let (from, to) = (from.cast::<__m128i>(), to.cast::<__m128i>());
    for line in (0..RUN_PAGES * PAGE_BYTES / size_of::<__m128i>()).step_by(4) {
        // SAFETY: inside the pages that the caller vouches for, and aligned; a prefetch may be of any address.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(from.add(line).cast::<i8>().wrapping_add(PREFETCH_BYTES));
            let first = (_mm_load_si128(from.add(line)), _mm_load_si128(from.add(line + 1)));
            let second = (_mm_load_si128(from.add(line + 2)), _mm_load_si128(from.add(line + 3)));
            _mm_store_si128(to.add(line), first.0);
            _mm_store_si128(to.add(line + 1), first.1);
            _mm_store_si128(to.add(line + 2), second.0);
            _mm_store_si128(to.add(line + 3), second.1);
        }
    }
}

/// Threads that can recycle at the same time; others copy.
const SHEETS: usize = 16;
/// A run in so many is treated as pages are that do not come by recycling.
const KEPT_ONE_IN: usize = 16;
/// Moves that the kernel may refuse; a page that it holds for a moment is no reason to give up.
const REFUSED_MAX: usize = 64;
/// Two pages.
const PREFETCH_BYTES: usize = 2 * PAGE_BYTES;
