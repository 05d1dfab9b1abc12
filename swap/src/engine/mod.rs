//! The engine of a far pager: everything that a fault needs, async-signal-safe throughout.
//!
//! [`FarSpace`] is composed of five parts, each of which has its own state to itself: the page table, the kernel's
//! interface, the frames, the transfer from and to servers, and the replacement. Code that uses several of them is
//! in this module. The fault handler, the evictor's thread and the pager's methods all move pages by the same steps:
//! lock, move, unlock (see `page_state`). A thread that holds locks or a work area never waits for a lock.

mod chase;
pub mod eviction;
pub mod evictor;
pub mod fault;
mod frame_reuse;
pub mod ranges;
mod readahead;

use std::ptr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base::{die, now_ns};
use rdma::Segment;

use crate::frames::Frames;
use crate::frames::frame_cache::FrameCache;
use crate::kernel::interface::KernelInterface;
use crate::kernel::reservation::Reservation;
use crate::page::page_state::{PageState, PageWord, Seen};
use crate::page::page_table::PageTable;
use crate::range::RUN_PAGES;
use crate::replacement::Replacement;
use crate::replacement::chase::Chase;
use crate::replacement::forecast::{Forecast, Forecaster};
use crate::stats::fault_profile::{FaultObserver, FaultSampler, Interrupted};
use crate::stats::fault_trace::{FaultSamples, FaultTrace};
use crate::stats::{Counters, FaultCause, Touch};
use crate::transfer::Transfer;
use crate::transfer::work_area::BATCH_PAGES;
use crate::{
    Activity, PAGE_BYTES, Page, PageRange, PagerOptions, PagerStats, SwapError, ThreadClass,
    activity,
};

/// One far space with its pages' states.
pub struct FarSpace {
    pages: PageTable,
    kernel: KernelInterface,
    frames: Frames,
    transfer: Transfer,
    replacement: Replacement,
    /// Knows which words lead to other pages, if any do.
    chase: Option<Arc<dyn Chase>>,
    /// The evictor looks for ready pages ahead of need.
    cleans_ahead: bool,
    /// Pages that tracing fetches arrive as those that a walk passes.
    traced_pass: bool,
    /// Pages may have to be evicted: not all fit, or the budget may change.
    may_evict: bool,
    budget_changes: bool,
    counters: Counters,
    trace: Option<FaultTrace>,
    /// Set once, if a profile is asked for.
    sampler: OnceLock<FaultSampler>,
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
        let range = match (options.at, &options.within) {
            (Some(base), _) => Reservation::adopt(base, options.far_bytes),
            (None, within) if options.commits => {
                Reservation::uncommitted(within.as_ref(), options.far_bytes, 1 << 30)?
            }
            (None, Some(within)) => Reservation::within(within, options.far_bytes, 1 << 30)?,
            (None, None) => Reservation::new(options.far_bytes, 1 << 30)?,
        };
        let kernel = KernelInterface::new(range, options.kernel_notes_writes, BATCH_PAGES)?;
        let budget_pages = (options.budget_bytes / PAGE_BYTES).min(pages);
        let may_evict = budget_pages < pages || options.budget_changes;
        let cached = budget_pages * options.frame_cache_percent.min(100) as usize / 100;
        let cache = FrameCache::new(options.recycle_frames && may_evict, cached, kernel.uffd())?;
        let prefetcher = options.prefetcher.make();
        let forecaster = Forecaster::new(prefetcher, options.probe_one_in, options.run_after);
        let samples = options.trace_samples;
        Ok(FarSpace {
            pages: PageTable::new(pages, options.replacement_rounds)?,
            kernel,
            frames: Frames::new(budget_pages, pages, options.reserve_permille, cache),
            transfer: Transfer::new(pages, stores, options.owner),
            replacement: Replacement::new(pages, options.epoch_percent, forecaster),
            chase: options.chase,
            cleans_ahead: options.clean_ahead,
            traced_pass: options.traced_pages_pass,
            may_evict,
            budget_changes: options.budget_changes,
            counters: Counters::default(),
            trace: (samples > 0).then(|| FaultTrace::new(samples, now_ns())),
            sampler: OnceLock::new(),
        })
    }

    /// Where the far space begins.
    pub fn base(&self) -> usize {
        self.kernel.base()
    }

    /// Its length.
    pub fn bytes(&self) -> usize {
        self.kernel.bytes()
    }

    /// Commits a part of the range.
    pub fn commit(&self, range: PageRange) -> Result<(), SwapError> {
        self.kernel.commit(range)
    }

    /// May pages have to be evicted, so that an evictor is needed?
    pub fn may_evict(&self) -> bool {
        self.may_evict
    }

    /// May the budget be changed?
    pub fn budget_changes(&self) -> bool {
        self.budget_changes
    }

    /// The frames, for their numbers.
    pub fn frames(&self) -> &Frames {
        &self.frames
    }

    /// Does the kernel note writes?
    pub fn kernel_notes_writes(&self) -> bool {
        self.kernel.notes_writes()
    }

    /// The server that has a page.
    pub fn owner(&self, page: Page) -> usize {
        self.transfer.owner(page)
    }

    /// Bytes of memory that the words of pages take. Slow.
    pub fn table_bytes(&self) -> usize {
        self.pages.resident_bytes()
    }

    /// The number of the epoch.
    pub fn epoch(&self) -> u64 {
        self.replacement.epoch()
    }

    /// The counters.
    pub fn stats(&self) -> PagerStats {
        self.counters.read(self.frames.resident_pages())
    }

    /// Faults of threads of a class that fetched a page.
    pub fn fetch_faults(&self, class: ThreadClass) -> u64 {
        self.counters.fetch_faults(class)
    }

    /// The sample of faults, if one is kept.
    pub fn fault_samples(&self) -> Option<FaultSamples> {
        self.trace.as_ref().map(FaultTrace::read)
    }

    /// Shows one in `one_in` of the faults that fetch a page to an observer from now on. Once.
    pub fn observe_faults(&self, one_in: u32, observer: Arc<dyn FaultObserver>) {
        let is_first = self.sampler.set(FaultSampler::new(one_in, observer)).is_ok();
        assert!(is_first, "faults of a far space have one observer");
    }

    /// The word of a page.
    #[inline]
    pub fn word(&self, page: Page) -> &PageWord {
        self.pages.word(page)
    }

    /// The fault handler's body, for an access at an offset of the range: as [`touch`](Self::touch), with the page
    /// that the word there leads to, and measures the time.
    pub fn fault(&self, offset: usize, write: bool, interrupted: Interrupted) {
        let began = now_ns();
        let page = Page::of_offset(offset);
        let cause = self.touch(page, write, Touch::Fault);
        if cause == FaultCause::Fetch && !write {
            self.chase_word(offset);
        }
        self.counters.took(cause, now_ns().saturating_sub(began));
        if cause != FaultCause::Fetch {
            return;
        }
        if let Some(trace) = &self.trace {
            trace.note(page, write, began);
        }
        if let Some(sampler) = self.sampler.get() {
            sampler.note(interrupted);
        }
    }

    /// Makes a page accessible, for writing if `write`. Returns as soon as it was, without a
    /// promise that it still is, and reports the cause that was handled.
    pub fn touch(&self, page: Page, write: bool, touch: Touch) -> FaultCause {
        let word = self.word(page);
        let mut waited = false;
        let cause = loop {
            let seen = word.look();
            if seen.is_locked() {
                waited = true;
                self.pages.wait_unlocked(word);
                continue;
            }
            match seen.state() {
                PageState::Dirty => break FaultCause::Wait,
                PageState::Clean if !write => break FaultCause::Wait,
                // The kernel lets it write. A caller that pins it may have it written past the kernel.
                PageState::Clean if self.kernel.notes_writes() && touch == Touch::Fault => {
                    break FaultCause::Wait;
                }
                PageState::Clean => {
                    if word.try_lock(seen) {
                        self.kernel.protect(page, 1, false);
                        self.pages.unlock_written(page);
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

    /// Brings a page that the caller locked, and unlocks it. A fault also brings the foreseen pages.
    fn bring(&self, page: Page, seen: Seen, write: bool, touch: Touch) {
        let state = seen.state();
        // Its server cannot be asked for it afterwards.
        let write = write || state == PageState::Blank;
        let forecast = match touch {
            Touch::Fault => self.foresee(page, state),
            Touch::Call => None,
        };
        if self.bring_recycled(page, state, write, forecast) {
            return;
        }
        if !self.try_take_frame(0) {
            if touch == Touch::Fault && self.bring_exchanged(page, state, write) {
                return self.bring_rest(page, state, 0, false, forecast);
            }
            self.make_room(touch);
        }
        let count = self.lock_run(page, state, forecast, false);
        // A thread that writes one fresh page will write the next one, and so will a thread that
        // writes page after page; a read of one page predicts no writes.
        let walks = state.is_zero() || count >= WALK_PAGES;
        let written = if write && walks { count } else { usize::from(write) };
        if state == PageState::Remote {
            self.fetch(page, count, written, count > 1);
            self.counters.fetched(touch, count);
        } else {
            self.kernel.map(page, self.kernel.zeros(), count, !write);
            self.counters.zero_fault(touch);
        }
        // Pages that a walk passes are seldom wanted again.
        let is_wanted = count == 1 || state.is_zero();
        let passes = !is_wanted && self.passes(forecast);
        for n in 0..count {
            let came_as = if n < written { PageState::Dirty } else { PageState::Clean };
            let page = Page(page.0 + n);
            match passes {
                true => self.pages.unlock_passing(page, came_as),
                false => self.unlock_arrived(page, came_as, is_wanted),
            }
        }
        self.bring_rest(page, state, count - 1, written > 1, forecast);
    }

    /// Maps up to [`BATCH_PAGES`] pages from `page` on that are zero, writable, and returns how many there
    /// were in a row that no other thread has locked.
    pub fn populate_run(&self, page: Page, most: usize) -> usize {
        let state = match self.word(page).look().state() {
            PageState::Blank => PageState::Blank,
            _ => PageState::Zero,
        };
        let count = self.lock_for_call(page, most.min(BATCH_PAGES), state);
        let done = self.frames.populate(&self.kernel, page, count);
        self.counters.used_cached(done);
        if count > done {
            self.kernel.map(Page(page.0 + done), self.kernel.zeros(), count - done, false);
        }
        for n in 0..count {
            self.unlock_arrived(Page(page.0 + n), PageState::Dirty, true);
        }
        count
    }

    /// Brings up to [`RUN_PAGES`] remote pages of one server from `page` on, for reading, and returns how
    /// many there were in a row that no other thread has locked.
    pub fn fetch_run(&self, page: Page, most: usize) -> usize {
        let count = self.lock_for_call(page, most.min(RUN_PAGES), PageState::Remote);
        if count > 0 {
            self.fetch(page, count, 0, false);
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
                // A thread that waits for room must not hold any, or all room could be held by waiting threads.
                self.pages.unlock(next, state);
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
            if self.frames.empty_cached() > 0 {
                continue;
            }
            self.frames.fell_short(SELF_PAGES);
            self.counters.self_eviction(touch);
            let mut area = self.transfer.claim_area();
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
                    self.frames.budget_pages()
                ));
            }
            pause(Duration::from_micros(100));
        }
    }

    /// Takes a frame for one page if more than `spare` are free.
    #[inline]
    fn try_take_frame(&self, spare: usize) -> bool {
        let Some(taken) = self.frames.take(spare) else { return false };
        self.counters.took_frame(taken);
        self.replacement.came(1, taken.resident);
        true
    }

    /// The pages that should come with a page that is `state` and was faulted on.
    #[inline]
    fn foresee(&self, page: Page, state: PageState) -> Option<Forecast> {
        let probed = |shown| self.counters.probed(shown);
        self.replacement.foresee(&self.pages, page, state, probed)
    }

    /// Fetches a run of locked pages of one server; those after the first `written` are mapped for
    /// reading only. `is_still` is as [`Transfer::read`] has it.
    #[inline]
    fn fetch(&self, page: Page, count: usize, written: usize, is_still: bool) {
        let map = |from| self.kernel.map_run(page, from, count, written);
        self.transfer.read(page, count, is_still, map);
    }

    #[inline]
    fn unlock_arrived(&self, page: Page, state: PageState, is_wanted: bool) {
        if self.traced_pass && activity() == Activity::Tracing {
            return self.pages.unlock_traced(page, state);
        }
        self.pages.unlock_arrived(page, state, self.replacement.quarter(), is_wanted);
    }
}

fn pause(time: Duration) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() };
    // SAFETY: the kernel reads one timespec.
    unsafe { libc::nanosleep(&time, ptr::null_mut()) };
}

/// A fault that brings this many pages continues a walk that was foreseen twice.
const WALK_PAGES: usize = 4;
/// Pages that are evicted by a fault that finds no room: few, since it waits for them.
const SELF_PAGES: usize = 16;
/// With pauses of 100 us: ten seconds.
const ROOM_TRIES: usize = 100_000;
