//! The engine of a far pager: everything that a fault needs, async-signal-safe throughout.
//!
//! The fault handler, the evictor's thread and the pager's methods all move pages by the same
//! steps: lock, move, unlock (see `page_state`). Whoever holds locks or a work area never waits for
//! a lock.

use std::ptr;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use base::{die, futex, now_ns};
use rdma::{Segment, Write};

use crate::engine::clock::Clock;
use crate::engine::ready::SLOTS;
use crate::frames::budget::Budget;
use crate::frames::frame_cache::FrameCache;
use crate::frames::reserve::Reserve;
use crate::kernel::reservation::Reservation;
use crate::kernel::slots::Slots;
use crate::kernel::uffd::Userfaultfd;
use crate::kernel::write_tracker::WriteTracker;
use crate::page::page_state::{PageState, PageWord, Seen};
use crate::page::used::UsedBlocks;
use crate::replacement::epoch::Epochs;
use crate::replacement::prefetch::{Prefetcher, Probes};
use crate::replacement::ready_ring::ReadyRing;
use crate::stats::fault_trace::FaultTrace;
use crate::stats::{Counters, FaultCause, Touch};
use crate::transfer::work_area::{BATCH_PAGES, PAGE_WORDS, RUN_PAGES, WorkArea};
use crate::{PAGE_BYTES, Page, PagerOptions, SwapError};

/// One far space with its pages' states.
pub struct FarSpace {
    range: Reservation,
    /// One `PageWord` for each page.
    words: Reservation,
    pub(crate) used: UsedBlocks,
    /// [`BATCH_PAGES`] pages of zeros.
    pub(crate) zeros: Reservation,
    pub(crate) uffd: Userfaultfd,
    /// `None`: signals tell of writes.
    pub(crate) tracker: Option<WriteTracker>,
    stores: Vec<Arc<dyn Segment>>,
    pub(crate) options: PagerOptions,
    /// The budget, and how much of it is taken: by pages that are here or on their way in, and by cached frames.
    pub(crate) budget: Budget,
    /// Pages that the evictor keeps free.
    pub(crate) reserve: Reserve,
    pub(crate) clock: Clock,
    /// Rung (set to 1) by whoever finds too few free pages, cleared by the evictor.
    pub(crate) evictor_bell: AtomicU32,
    pub(crate) areas: Slots<Box<WorkArea>>,
    /// `None`: a fault brings its page only.
    pub(crate) prefetcher: Option<Box<dyn Prefetcher>>,
    pub(crate) probes: Probes,
    pub(crate) cache: FrameCache,
    pub(crate) ready: ReadyRing,
    pub(crate) epochs: Epochs,
    pub(crate) counters: Counters,
    pub(crate) trace: Option<FaultTrace>,
}

/// What becomes of the pages of a batch.
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
    /// Dropped, and zero from now on whatever the server has.
    Vacated,
    /// Those that are zero whatever the server has are made zero there.
    Settled,
}

impl Outcome {
    /// Are dirty pages written?
    fn writes(self) -> bool {
        matches!(self, Outcome::WrittenBack | Outcome::WrittenThrough | Outcome::Evicted)
    }

    /// Do pages leave local memory?
    fn drops(self) -> bool {
        use Outcome::{Discarded, Evicted, Invalidated, Vacated};
        matches!(self, Evicted | Invalidated | Discarded | Vacated)
    }
}

impl FarSpace {
    /// Reserves the range and takes over its faults; the caller registers it with the signal
    /// handler.
    pub fn new(
        options: PagerOptions,
        stores: Vec<Arc<dyn Segment>>,
    ) -> Result<FarSpace, SwapError> {
        options.check(&stores)?;
        let pages = options.far_bytes / PAGE_BYTES;
        let range = match (options.at, options.below) {
            (Some(base), _) => Reservation::adopt(base, options.far_bytes),
            (None, Some(limit)) => Reservation::below(limit, options.far_bytes, 1 << 30)?,
            (None, None) => Reservation::new(options.far_bytes, 1 << 30)?,
        };
        range.advise(libc::MADV_NOHUGEPAGE)?;
        // A forked child would inherit the addresses without their faults.
        range.advise(libc::MADV_DONTFORK)?;
        let words = Reservation::new(pages * size_of::<PageWord>(), PAGE_BYTES)?;
        let zeros = Reservation::new(BATCH_PAGES * PAGE_BYTES, PAGE_BYTES)?;
        let (uffd, tracker) = take_over(&range, options.kernel_notes_writes)?;
        let budget_pages = (options.budget_bytes / PAGE_BYTES).min(pages);
        let may_evict = budget_pages < pages || options.budget_changes;
        let cached = budget_pages * options.frame_cache_percent.min(100) as usize / 100;
        let cache = FrameCache::new(options.recycle_frames && may_evict, cached, &uffd)?;
        let reserve = Reserve::new(budget_pages, pages);
        let prefetcher = options.prefetcher.make();
        let probes = Probes::new(options.probe_one_in);
        let epochs = Epochs::new(options.epoch_percent);
        let trace =
            (options.trace_samples > 0).then(|| FaultTrace::new(options.trace_samples, now_ns()));
        Ok(FarSpace {
            range,
            words,
            used: UsedBlocks::new(pages),
            zeros,
            uffd,
            tracker,
            stores,
            options,
            budget: Budget::new(budget_pages),
            reserve,
            clock: Clock::new(pages),
            evictor_bell: AtomicU32::new(0),
            areas: (0..FAULTS_AT_ONCE).map(|_| WorkArea::boxed()).collect(),
            prefetcher,
            probes,
            cache,
            ready: ReadyRing::new(SLOTS),
            epochs,
            counters: Counters::default(),
            trace,
        })
    }

    pub fn base(&self) -> usize {
        self.range.base()
    }

    pub fn bytes(&self) -> usize {
        self.range.bytes()
    }

    /// Bytes of memory that the words of pages take.
    pub fn table_bytes(&self) -> usize {
        self.words.resident_bytes()
    }

    pub fn pages(&self) -> usize {
        self.range.bytes() / PAGE_BYTES
    }

    pub fn budget_pages(&self) -> usize {
        self.budget.goal()
    }

    /// Changes the budget; what is too much goes in the background.
    pub fn set_budget_pages(&self, pages: usize) {
        let pages = pages.min(self.pages());
        self.reserve.resize(pages, self.pages());
        self.budget.set_goal(pages);
        if self.shortage() > 0 {
            self.ring_evictor();
        }
    }

    pub fn resident_pages(&self) -> usize {
        self.budget.resident().saturating_sub(self.cache.pages())
    }

    /// How many free pages the evictor should restore; 0 = enough are free.
    pub fn shortage(&self) -> usize {
        self.budget.shortage(2 * self.reserve.pages())
    }

    /// Room for so many pages is left.
    pub fn free_pages(&self) -> usize {
        self.budget.free()
    }

    /// Has the evictor to make room, or will it have to soon?
    pub fn is_short(&self) -> bool {
        self.free_pages() <= self.pages_kept_free()
    }

    /// With fewer free pages than these room is short.
    pub fn pages_kept_free(&self) -> usize {
        3 * self.reserve.pages()
    }

    pub fn owner(&self, page: Page) -> usize {
        (self.options.owner)(page)
    }

    pub fn store(&self, server: usize) -> &Arc<dyn Segment> {
        &self.stores[server]
    }

    pub fn address(&self, page: Page) -> usize {
        self.base() + page.offset()
    }

    pub fn word(&self, page: Page) -> &PageWord {
        self.words_from(page, 1).first().expect("one was asked for")
    }

    pub(crate) fn words_from(&self, page: Page, count: usize) -> &[PageWord] {
        assert!(page.0 + count <= self.pages(), "page {} of {}", page.0, self.pages());
        let words: *const PageWord = ptr::with_exposed_provenance(self.words.base());
        // SAFETY: inside the table by the assertion; all-zero is a valid word, and the table lives
        // as long as self.
        unsafe { slice::from_raw_parts(words.add(page.0), count) }
    }

    /// The fault handler's body, for an access at an offset of the range: as [`touch`](Self::touch), with what the
    /// word there leads to, and takes the time.
    pub fn fault(&self, offset: usize, write: bool) {
        let began = now_ns();
        let page = Page::of_offset(offset);
        let cause = self.touch(page, write, Touch::Fault);
        if cause == FaultCause::Fetch && !write {
            self.chase(offset);
        }
        self.counters.took(cause, now_ns().saturating_sub(began));
        if let Some(trace) = &self.trace
            && cause == FaultCause::Fetch
        {
            trace.note(page, write, began);
        }
    }

    /// Makes a page accessible, for writing if `write`. Returns as soon as it was, without a
    /// promise that it still is, and says what had to be done.
    pub fn touch(&self, page: Page, write: bool, touch: Touch) -> FaultCause {
        let word = self.word(page);
        let mut waited = false;
        let cause = loop {
            let seen = word.look();
            if seen.is_locked() {
                waited = true;
                self.wait_unlocked(word);
                continue;
            }
            match seen.state() {
                PageState::Dirty => break FaultCause::Wait,
                PageState::Clean if !write => break FaultCause::Wait,
                // The kernel lets it write. Who pins it may have it written past the kernel.
                PageState::Clean if self.tracker.is_some() && touch == Touch::Fault => {
                    break FaultCause::Wait;
                }
                PageState::Clean => {
                    if word.try_lock(seen) {
                        self.protect(page, 1, false);
                        self.wake_if(word, word.unlock_used(PageState::Dirty));
                        self.counters.protect_fault(touch);
                        break FaultCause::Protect;
                    }
                }
                PageState::Zero | PageState::Blank | PageState::Remote => {
                    if word.try_lock(seen) {
                        self.bring(page, seen, write, touch);
                        break match seen.state() {
                            PageState::Remote => FaultCause::Fetch,
                            _ => FaultCause::Zero,
                        };
                    }
                }
            }
        };
        if waited {
            self.counters.waited();
        }
        cause
    }

    /// Brings a page that the caller locked, and unlocks it. A fault brings with it what is foreseen.
    fn bring(&self, page: Page, seen: Seen, write: bool, touch: Touch) {
        // Its server cannot be asked for it afterwards.
        let write = write || seen.state() == PageState::Blank;
        let forecast = self.foresee(page, seen.state(), touch);
        if self.bring_recycled(page, seen.state(), write, forecast) {
            return;
        }
        if !self.try_take_frame(0) {
            if touch == Touch::Fault && self.bring_exchanged(page, seen.state(), write) {
                return self.bring_rest(page, seen.state(), 0, false, forecast);
            }
            self.make_room(touch);
        }
        let count = self.lock_run(page, seen.state(), forecast, false);
        // Who writes one fresh page will write the next one, and so will who writes page after page;
        // who reads one is just looking.
        let walks = seen.state().is_zero() || count >= WALK_PAGES;
        let written = if write && walks { count } else { usize::from(write) };
        if seen.state() == PageState::Remote {
            self.fetch_locked(page, count, written, count > 1);
            self.counters.fetched(touch, count);
        } else {
            self.map(page, self.zero_pages(), count, !write);
            self.counters.zero_fault(touch);
        }
        // What a walk passes is seldom wanted again.
        let is_wanted = count == 1 || seen.state().is_zero();
        let passes = !is_wanted && self.passes(forecast);
        for n in 0..count {
            let state = if n < written { PageState::Dirty } else { PageState::Clean };
            let page = Page(page.0 + n);
            match passes {
                true => self.unlock_passing(page, state),
                false => self.unlock_arrived(page, state, is_wanted),
            }
        }
        self.bring_rest(page, seen.state(), count - 1, written > 1, forecast);
    }

    /// Maps up to [`BATCH_PAGES`] pages from `page` on that are zero, writable, and returns how many there
    /// were in a row that nobody else is busy with.
    pub fn populate_run(&self, page: Page, most: usize) -> usize {
        let state = match self.word(page).look().state() {
            PageState::Blank => PageState::Blank,
            _ => PageState::Zero,
        };
        let count = self.lock_for_call(page, most.min(BATCH_PAGES), state);
        let done = self.populate_from_cache(page, count);
        if count > done {
            self.map(Page(page.0 + done), self.zero_pages(), count - done, false);
        }
        for n in 0..count {
            self.unlock_arrived(Page(page.0 + n), PageState::Dirty, true);
        }
        count
    }

    /// Brings up to [`RUN_PAGES`] remote pages of one server from `page` on, for reading, and returns how
    /// many there were in a row that nobody else is busy with.
    pub fn fetch_run(&self, page: Page, most: usize) -> usize {
        let count = self.lock_for_call(page, most.min(RUN_PAGES), PageState::Remote);
        if count > 0 {
            self.fetch_locked(page, count, 0, false);
            self.counters.fetched(Touch::Call, count);
        }
        for n in 0..count {
            self.unlock_arrived(Page(page.0 + n), PageState::Clean, true);
        }
        count
    }

    /// Locks pages of one server in `state` from `page` on, with room reserved for each. Returns how many.
    fn lock_for_call(&self, page: Page, most: usize, state: PageState) -> usize {
        let owner = self.owner(page);
        let mut count = 0;
        while count < most {
            let next = Page(page.0 + count);
            let word = self.word(next);
            let seen = word.look();
            let fits = seen.state() == state && !seen.is_locked();
            if !fits || self.owner(next) != owner || !word.try_lock(seen) {
                break;
            }
            if count == 0 {
                self.make_room(Touch::Call);
            } else if !self.try_take_frame(0) {
                // Who waits for room must not hold any, or all room could be held by those who wait.
                self.unlock(next, state);
                break;
            }
            count += 1;
        }
        count
    }

    /// Takes room for one page, evicting others if there is none. The caller may hold page locks.
    fn make_room(&self, touch: Touch) {
        let mut failures = 0;
        while !self.try_take_frame(0) {
            self.reserve.fell_short();
            if self.empty_cached() {
                continue;
            }
            self.counters.self_eviction(touch);
            let mut area = self.areas.claim();
            let evicted = self.evict_ready(&mut area, SELF_PAGES) > 0
                || self.evict_some(&mut area, SELF_PAGES) > 0;
            drop(area);
            if evicted {
                continue;
            }
            // Everything is locked by others or pinned; locks are short, pins are limited.
            failures += 1;
            if failures > ROOM_TRIES {
                die(format_args!(
                    "no page of {} in local memory can be evicted; --local-memory is too small",
                    self.budget_pages()
                ));
            }
            pause(Duration::from_micros(100));
        }
    }

    /// Takes room for one page if more than `spare` pages are free.
    pub(crate) fn try_take_frame(&self, spare: usize) -> bool {
        let Some((used, free)) = self.budget.take(spare) else {
            self.call_evictor();
            return false;
        };
        let resident = used.saturating_sub(self.cache.pages());
        self.counters.resident(resident);
        self.epochs.came(1, resident);
        if free < self.reserve.pages() {
            self.call_evictor();
        }
        true
    }

    pub(crate) fn release(&self, pages: usize) {
        self.budget.release(pages);
        if self.budget.limit() > self.budget.goal() {
            self.budget.tighten();
        }
    }

    fn call_evictor(&self) {
        if self.reserve.pages() > 0 {
            self.ring_evictor();
        }
    }

    fn ring_evictor(&self) {
        if self.evictor_bell.swap(1, Ordering::AcqRel) == 0 {
            futex::wake_all(&self.evictor_bell);
        }
    }

    /// Does with the locked pages of a batch what `outcome` says, except unlocking them.
    /// Returns how many were written.
    pub fn move_out(&self, area: &mut WorkArea, outcome: Outcome) -> usize {
        if let (Some(tracker), Outcome::Evicted) = (&self.tracker, outcome) {
            return self.leave(tracker, area);
        }
        let mut written = 0;
        if matches!(outcome, Outcome::WrittenBack | Outcome::Evicted) {
            self.protect_dirty(area.locked());
        }
        if outcome.writes() {
            let WorkArea { locked, locked_count, writes, .. } = area;
            let dirty = locked[..*locked_count].iter().filter(|one| one.was == PageState::Dirty);
            // SAFETY: the pages are locked and were dirty, so they are mapped and stay so.
            written = unsafe { self.write_pages(writes, dirty.map(|one| self.in_place(one.page))) };
        }
        if outcome.drops() {
            self.drop_pages(area);
        }
        written
    }

    /// A page with what is in it where it belongs.
    fn in_place(&self, page: Page) -> (Page, *const u64) {
        (page, ptr::with_exposed_provenance(self.address(page)))
    }

    /// Writes pages, each with what is at an address, to their servers. Returns how many.
    ///
    /// # Safety
    /// What is there stays mapped meanwhile.
    pub(crate) unsafe fn write_pages(
        &self,
        writes: &mut [Write],
        pages: impl Iterator<Item = (Page, *const u64)> + Clone,
    ) -> usize {
        let mut written = 0;
        for (server, store) in self.stores.iter().enumerate() {
            let mut count = 0;
            for (page, from) in pages.clone().filter(|(page, _)| self.owner(*page) == server) {
                let offset = page.offset() as u64;
                writes[count] = Write { offset, from, words: PAGE_WORDS };
                count += 1;
            }
            if count == 0 {
                continue;
            }
            // SAFETY: promised by the caller.
            if let Err(error) = unsafe { store.write_batch(&writes[..count]) } {
                die(format_args!("{count} pages cannot be written: {error}"));
            }
            self.counters.written(count);
            written += count;
        }
        written
    }

    /// Writes a locked, dirty page without making it clean, and unlocks it: a pinned page must stay
    /// writable.
    pub fn write_unprotected(&self, page: Page) {
        let mut write = [Write { offset: 0, from: ptr::null(), words: 0 }];
        // SAFETY: the page is locked and dirty, so it is mapped and stays so.
        unsafe { self.write_pages(&mut write, std::iter::once(self.in_place(page))) };
        self.unlock(page, PageState::Dirty);
    }

    /// Drops the resident ones of the locked pages from local memory.
    fn drop_pages(&self, area: &mut WorkArea) {
        let WorkArea { locked, locked_count, iovecs, .. } = area;
        let going =
            locked[..*locked_count].iter().filter(|one| one.was.is_resident() && !one.stays);
        let (runs, mut dropped) = self.gather_runs(iovecs, going.map(|one| one.page));
        let mut kept = 0;
        for run in &mut area.iovecs[..runs] {
            let pages = self.keep_frames(run.iov_base.addr(), run.iov_len / PAGE_BYTES);
            run.iov_base = run.iov_base.wrapping_byte_add(pages * PAGE_BYTES);
            run.iov_len -= pages * PAGE_BYTES;
            kept += pages;
        }
        dropped -= kept;
        if dropped == 0 {
            return;
        }
        self.drop_runs(&area.iovecs[..runs], dropped);
        self.release(dropped);
    }

    /// Notes where pages are, those that follow one another as one run. Returns how many runs and pages there are.
    pub(crate) fn gather_runs(
        &self,
        runs: &mut [libc::iovec],
        pages: impl Iterator<Item = Page>,
    ) -> (usize, usize) {
        let (mut count, mut gathered) = (0, 0);
        for page in pages {
            gathered += 1;
            let start = self.address(page);
            if count > 0 {
                let last = &mut runs[count - 1];
                if last.iov_base.addr() + last.iov_len == start {
                    last.iov_len += PAGE_BYTES;
                    continue;
                }
            }
            let iov_base = ptr::with_exposed_provenance_mut(start);
            runs[count] = libc::iovec { iov_base, iov_len: PAGE_BYTES };
            count += 1;
        }
        (count, gathered)
    }

    /// Drops runs of locked pages, so many in all. Their frames still take room.
    pub(crate) fn drop_runs(&self, runs: &[libc::iovec], pages: usize) {
        if runs.len() >= 2 && drop_runs_at_once(runs, pages * PAGE_BYTES) {
            return;
        }
        for run in runs {
            // The system call itself: in a process under `far-run`, the C library's function
            // is the program's, for which the pager would discard the pages.
            let (start, bytes) = (run.iov_base, run.iov_len);
            // SAFETY: whole pages of our range, locked, and safe on their server, held or not wanted any more.
            let rc = unsafe { libc::syscall(libc::SYS_madvise, start, bytes, libc::MADV_DONTNEED) };
            if rc != 0 {
                let error = std::io::Error::last_os_error();
                die(format_args!("pages cannot be dropped: {error}"));
            }
        }
    }

    /// Fetches a run of locked pages of one server; those after the first `written` are mapped for
    /// reading only. `is_still`: nobody is writing them on their server, as it must be with pages that
    /// come along with others (`PagerOptions::run_after`). Then no word can tear, and the kernel copies
    /// them from where they are, if that is mapped here.
    pub(crate) fn fetch_locked(&self, page: Page, count: usize, written: usize, is_still: bool) {
        let store = &self.stores[self.owner(page)];
        let offset = page.offset() as u64;
        let bytes = (count * PAGE_BYTES) as u64;
        if let Some(from) = is_still.then(|| store.mapped(offset, bytes)).flatten() {
            return self.map_fetched(page, from, count, written);
        }
        let mut area = self.areas.claim();
        let words = &mut area.bounce[..count * PAGE_WORDS];
        self.read(page, words);
        self.map_fetched(page, words.as_ptr().cast(), count, written);
    }

    /// Reads pages of one server, from `page` on.
    pub(crate) fn read(&self, page: Page, words: &mut [u64]) {
        if let Err(error) = self.stores[self.owner(page)].read(page.offset() as u64, words) {
            die(format_args!("page {} cannot be fetched: {error}", page.0));
        }
    }

    fn map_fetched(&self, page: Page, from: *const u8, count: usize, written: usize) {
        if written > 0 {
            self.map(page, from, written, false);
        }
        if written < count {
            let rest = from.wrapping_add(written * PAGE_BYTES);
            self.map(Page(page.0 + written), rest, count - written, true);
        }
    }

    /// Waits until nobody moves the page. The caller holds no lock and no work area.
    pub fn wait_unlocked(&self, word: &PageWord) {
        for _ in 0..WAIT_SPINS {
            if !word.look().is_locked() {
                return;
            }
            std::hint::spin_loop();
        }
        if let Some(seen) = word.announce_wait() {
            futex::wait(word.atomic(), seen.bits(), Duration::from_millis(100));
        }
    }

    /// Gives back the lock of a page.
    pub fn unlock(&self, page: Page, state: PageState) {
        if state != PageState::Zero {
            self.used.note(page);
        }
        let word = self.word(page);
        self.wake_if(word, word.unlock(state));
    }

    pub(crate) fn unlock_arrived(&self, page: Page, state: PageState, is_wanted: bool) {
        self.used.note(page);
        let word = self.word(page);
        self.wake_if(word, word.unlock_arrived(state, self.lap(), is_wanted));
    }

    /// As [`PageWord::unlock_passing`].
    pub(crate) fn unlock_passing(&self, page: Page, state: PageState) {
        self.used.note(page);
        let word = self.word(page);
        self.wake_if(word, word.unlock_passing(state));
    }

    pub(crate) fn wake_if(&self, word: &PageWord, waited: bool) {
        if waited {
            futex::wake_all(word.atomic());
        }
    }

    pub(crate) fn map(&self, page: Page, from: *const u8, pages: usize, protect: bool) {
        if let Err(error) = self.uffd.copy(self.address(page), from, pages, protect) {
            die(format_args!("page {} cannot be mapped: {error}", page.0));
        }
    }

    /// Takes away or gives back the permission to write pages that the caller locked.
    pub fn protect(&self, page: Page, pages: usize, protect: bool) {
        if let Err(error) = self.uffd.protect(self.address(page), pages, protect) {
            die(format_args!("page {} cannot be protected: {error}", page.0));
        }
    }
}

/// Takes over the faults of a range; the kernel notes writes there if it is to, and can.
fn take_over(
    range: &Reservation,
    notes_writes: bool,
) -> Result<(Userfaultfd, Option<WriteTracker>), SwapError> {
    if notes_writes
        && let Ok(tracker) = WriteTracker::open()
        && let Ok(uffd) = Userfaultfd::new(range.base(), range.bytes(), true)
        && tracker.try_out(range.base()).is_ok()
    {
        return Ok((uffd, Some(tracker)));
    }
    Ok((Userfaultfd::new(range.base(), range.bytes(), false)?, None))
}

/// Drops many runs with one system call and one flush of the TLBs, where the kernel can (Linux 6.14
/// and newer).
fn drop_runs_at_once(runs: &[libc::iovec], bytes: usize) -> bool {
    // SAFETY: whole pages of our range, locked, and safe on their server or not wanted any more.
    let dropped = unsafe {
        libc::syscall(
            libc::SYS_process_madvise,
            PIDFD_SELF,
            runs.as_ptr(),
            runs.len(),
            libc::MADV_DONTNEED,
            0,
        )
    };
    // After a partial success the caller drops all of them once more, which is harmless: they are
    // locked.
    usize::try_from(dropped) == Ok(bytes)
}

fn pause(time: Duration) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() };
    // SAFETY: the kernel reads one timespec.
    unsafe { libc::nanosleep(&time, ptr::null_mut()) };
}

/// Threads that can be inside a fault without waiting for one another.
const FAULTS_AT_ONCE: usize = 64;
/// A fault that brings so many pages continues a walk that was foreseen twice.
const WALK_PAGES: usize = 4;
/// Pages that a fault evicts which finds no room: few, since it waits for them.
const SELF_PAGES: usize = 16;
/// A fetch takes some five microseconds; sleeping and waking costs more.
const WAIT_SPINS: usize = 300;
/// With pauses of 100 us: ten seconds.
const ROOM_TRIES: usize = 100_000;
/// A pidfd number that means the calling thread and its address space, since Linux 6.14.
const PIDFD_SELF: i32 = -10000;
