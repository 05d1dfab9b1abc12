//! The pager: the interface for its users.

use std::fs::File;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

use rdma::Segment;

use crate::engine::FarSpace;
use crate::engine::eviction::Outcome;
use crate::engine::evictor::Evictor;
use crate::engine::fault::{Registration, Served};
use crate::page::page_state::PageState;
use crate::page_trace::{PageAction, TraceWriter, TracedSpace};
use crate::snapshot::PageSnapshot;
use crate::stats::fault_profile::FaultObserver;
use crate::stats::fault_trace::FaultSamples;
use crate::stats::{ThreadClass, Touch};
use crate::{PAGE_BYTES, Page, PageRange, PagerOptions, PagerStats, SwapError};

/// One far space. Dropping the last reference unmaps it; no thread may touch its addresses then.
///
/// All methods may be called from any thread, not from signal handlers. Ranges must lie inside the
/// far space, or the method panics. In a pager that traces accesses ([`PagerOptions::page_trace`]) every page counts as
/// resident and clean, and operations on pages are written down.
pub struct Pager {
    memory: Memory,
}

enum Memory {
    Far(Far),
    Traced(Traced),
}

/// Fields are dropped in this order, as those of [`Far`].
struct Traced {
    _writer: TraceWriter,
    _registration: Registration,
    space: Arc<TracedSpace>,
}

/// Fields are dropped in this order: no thread and no handler uses the space when it is unmapped.
struct Far {
    _evictor: Option<Evictor>,
    _registration: Registration,
    space: Arc<FarSpace>,
    /// Pages with at least one pin. Sequentially consistent, as the budget is where both matter: of a thread that
    /// pins and a thread that reduces the budget, at least one sees the change of the other.
    pinned: AtomicUsize,
}

impl Pager {
    /// Reserves the far space and begins to serve its faults. `stores[i]` is the memory of server
    /// `i`.
    ///
    /// SIGBUS handlers that the process needs for other purposes must be installed before the first
    /// pager, which passes on signals that are not its own.
    pub fn new(
        mut options: PagerOptions,
        stores: Vec<Arc<dyn Segment>>,
    ) -> Result<Arc<Pager>, SwapError> {
        if let Some(file) = options.page_trace.take() {
            let space = Arc::new(TracedSpace::new(options, stores)?);
            let registration = Registration::new(Served::Traced(space.clone()))?;
            let writer = TraceWriter::start(space.clone(), file)?;
            let traced = Traced { _writer: writer, _registration: registration, space };
            return Ok(Arc::new(Pager { memory: Memory::Traced(traced) }));
        }
        let space = Arc::new(FarSpace::new(options, stores)?);
        let registration = Registration::new(Served::Paged(space.clone()))?;
        let evictor = match space.may_evict() {
            true => Some(Evictor::start(space.clone())?),
            false => None,
        };
        let pinned = AtomicUsize::new(0);
        let far = Far { _evictor: evictor, _registration: registration, space, pinned };
        Ok(Arc::new(Pager { memory: Memory::Far(far) }))
    }

    /// Address of the far space's first byte. Fixed for the life of the pager; aligned to 1 GiB unless
    /// [`PagerOptions::at`] says where it is.
    pub fn base(&self) -> *mut u8 {
        let base = match &self.memory {
            Memory::Far(far) => far.space.base(),
            Memory::Traced(traced) => traced.space.base(),
        };
        ptr::with_exposed_provenance_mut(base)
    }

    /// Length of the far space in bytes.
    pub fn far_bytes(&self) -> usize {
        match &self.memory {
            Memory::Far(far) => far.space.bytes(),
            Memory::Traced(traced) => traced.space.bytes(),
        }
    }

    /// Address of a page.
    pub fn address(&self, page: Page) -> *mut u8 {
        assert!(page.offset() < self.far_bytes(), "page {} is outside", page.0);
        self.base().wrapping_add(page.offset())
    }

    /// The page of an address, `None` when it is outside.
    pub fn page_of(&self, address: *const u8) -> Option<Page> {
        let offset = address.addr().wrapping_sub(self.base().addr());
        (offset < self.far_bytes()).then(|| Page::of_offset(offset))
    }

    /// Writes the dirty pages of the range to their servers and keeps them mapped, clean. Writers
    /// wait for single pages meanwhile, readers do not. Pinned pages are written too, but stay
    /// dirty. Returns how many pages were written.
    pub fn write_back(&self, range: PageRange) -> usize {
        self.write_back_all(&[range])
    }

    /// As [`Pager::write_back`], of several ranges: pages of all of them share system calls.
    pub fn write_back_all(&self, ranges: &[PageRange]) -> usize {
        self.move_out(ranges, Outcome::WrittenBack)
    }

    /// Writes the dirty pages of the range to their servers, which then have the contents of the time of the call, or
    /// newer ones. They stay dirty and mapped as they are: no thread waits. Returns how many there were.
    pub fn write_through(&self, range: PageRange) -> usize {
        self.write_through_all(&[range])
    }

    /// As [`Pager::write_through`], of several ranges: pages of all of them share system calls.
    pub fn write_through_all(&self, ranges: &[PageRange]) -> usize {
        self.move_out(ranges, Outcome::WrittenThrough)
    }

    /// Writes the dirty pages of the range and drops all of them from local memory. Panics on a
    /// pinned page. Returns how many pages were written.
    pub fn evict(&self, range: PageRange) -> usize {
        self.evict_all(&[range])
    }

    /// As [`Pager::evict`], of several ranges: pages of all of them share system calls.
    pub fn evict_all(&self, ranges: &[PageRange]) -> usize {
        self.move_out(ranges, Outcome::Evicted)
    }

    /// Writes the dirty pages of the ranges to their servers, and makes a snapshot of the ranges as they are then:
    /// others may go on to change pages, which are saved to `file`, open for reading and writing, before they are
    /// written. Meanwhile no thread changes pages of the ranges, and until the snapshot is dropped nobody changes them
    /// on the servers but this pager. `None`: there is a snapshot, or the pager traces accesses.
    pub fn snapshot(&self, ranges: &[PageRange], file: File) -> Option<PageSnapshot> {
        ranges.iter().for_each(|range| self.check(*range));
        match &self.memory {
            Memory::Far(far) if !far.space.has_snapshot() => {
                PageSnapshot::take(&far.space, ranges, file).ok()
            }
            _ => None,
        }
    }

    /// Makes the range zero, locally and on the servers, and frees its memory in both places. No
    /// thread may be using the range. Panics on a pinned page.
    pub fn discard(&self, range: PageRange) {
        self.discard_all(&[range]);
    }

    /// As [`Pager::discard`], of several ranges: pages of all of them share system calls.
    pub fn discard_all(&self, ranges: &[PageRange]) {
        self.move_out(ranges, Outcome::Discarded);
    }

    /// Makes the range zero, and frees its local memory; servers keep theirs, with anything in it, until pages are
    /// written again or [discarded](Pager::discard). That spares them giving memory back and taking it again, for 3
    /// us a page. No thread may be using the range. A reader that bypasses the pager sees arbitrary contents on the
    /// servers before a page was written, or [settled](Pager::settle). Panics on a pinned page.
    pub fn vacate(&self, range: PageRange) {
        self.move_out(&[range], Outcome::Vacated);
    }

    /// Makes servers' copies zero for those pages of the ranges that were [vacated](Pager::vacate) and not touched
    /// since. A thread that touches one before that makes it dirty: pages that are to be read on servers are
    /// settled, then written.
    pub fn settle(&self, ranges: &[PageRange]) {
        self.move_out(ranges, Outcome::Settled);
    }

    /// Drops the local copies without writing them: the server's version is the newer one. Pages
    /// that this process never touched count as remote afterwards, since an agent may have written
    /// them. Panics on a pinned page.
    pub fn invalidate(&self, range: PageRange) {
        self.invalidate_all(&[range]);
    }

    /// As [`Pager::invalidate`], of several ranges: pages of all of them share system calls.
    pub fn invalidate_all(&self, ranges: &[PageRange]) {
        self.move_out(ranges, Outcome::Invalidated);
    }

    /// Commits the range, and pages beside it: threads may touch it from now on. At once where it is so already, or the
    /// pager was not made with [`PagerOptions::commits`].
    ///
    /// # Errors
    /// The system has no memory left to promise.
    pub fn commit(&self, range: PageRange) -> Result<(), SwapError> {
        self.check(range);
        match &self.memory {
            Memory::Far(far) => far.space.commit(range),
            Memory::Traced(_) => Ok(()),
        }
    }

    /// Brings the range into local memory and keeps it there, writable, until as many
    /// [`Pager::unpin`]. System calls work on pinned pages. Fails when pins would take more than
    /// half of the budget.
    pub fn pin(&self, range: PageRange) -> Result<(), SwapError> {
        self.check(range);
        let far = match &self.memory {
            Memory::Far(far) => far,
            Memory::Traced(traced) => {
                traced.space.pin(range);
                return Ok(());
            }
        };
        for page in range.pages() {
            if far.space.word(page).pin() == 0 {
                let pinned = far.pinned.fetch_add(1, Ordering::SeqCst) + 1;
                fence(Ordering::SeqCst);
                if pinned > far.space.frames().budget_pages() / 2 {
                    self.unpin(PageRange::new(range.start, page.0 + 1 - range.start.0));
                    let budget_pages = far.space.frames().budget_pages();
                    return Err(SwapError::PinnedTooMuch { pinned, budget_pages });
                }
            }
            far.space.touch(page, true, Touch::Call);
        }
        Ok(())
    }

    /// Undoes one [`Pager::pin`] of the same range.
    pub fn unpin(&self, range: PageRange) {
        self.check(range);
        let far = match &self.memory {
            Memory::Far(far) => far,
            Memory::Traced(traced) => return traced.space.unpin(range),
        };
        for page in range.pages() {
            if far.space.word(page).unpin() == 0 {
                far.pinned.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }

    /// Brings remote pages of the range into local memory, for reading. A hint: pages that others
    /// are busy with are left out. Returns how many were fetched.
    pub fn fetch(&self, range: PageRange) -> usize {
        self.check(range);
        let far = match &self.memory {
            Memory::Far(far) => far,
            Memory::Traced(traced) => {
                traced.space.note(PageAction::Fetched, range);
                return 0;
            }
        };
        let mut fetched = 0;
        let mut page = range.start;
        while page < range.end() {
            let run = far.space.fetch_run(page, range.end().0 - page.0);
            fetched += run;
            page = Page(page.0 + run.max(1));
        }
        fetched
    }

    /// Maps never-written pages of the range, zero and dirty, without faults: for a new allocation
    /// buffer.
    pub fn populate(&self, range: PageRange) {
        self.check(range);
        let Memory::Far(far) = &self.memory else { return };
        let mut page = range.start;
        while page < range.end() {
            let populated = far.space.populate_run(page, range.end().0 - page.0);
            page = Page(page.0 + populated.max(1));
        }
    }

    /// As [`Pager::populate`], of a range that is about to be overwritten as a whole: remote pages are not fetched but
    /// become zero, with anything on the server, as [vacated](Pager::vacate) ones. Resident pages keep what is in
    /// them. No other thread may be using the range. Panics on a pinned page that is not resident.
    pub fn renew(&self, range: PageRange) {
        let mut remote: Vec<PageRange> = Vec::new();
        for page in range.pages().filter(|page| self.is_remote(*page)) {
            match remote.last_mut() {
                Some(run) if run.end() == page => run.count += 1,
                _ => remote.push(PageRange::new(page, 1)),
            }
        }
        if !remote.is_empty() {
            self.move_out(&remote, Outcome::Vacated);
        }
        self.populate(range);
    }

    /// Is the page in local memory? True now says nothing about later, unless it is pinned.
    pub fn is_resident(&self, page: Page) -> bool {
        self.state(page).is_resident()
    }

    /// Is the page on its server, and not in local memory? As `is_resident`, says nothing about later.
    pub fn is_remote(&self, page: Page) -> bool {
        self.state(page) == PageState::Remote
    }

    /// Is the page in local memory and newer than the server's?
    pub fn is_dirty(&self, page: Page) -> bool {
        match &self.memory {
            Memory::Far(far) => far.space.is_dirty(page),
            Memory::Traced(_) => false,
        }
    }

    /// The dirty pages of the range, in order.
    pub fn dirty_pages(&self, range: PageRange) -> Vec<Page> {
        self.check(range);
        let Memory::Far(far) = &self.memory else { return Vec::new() };
        far.space.dirty_pages(range)
    }

    /// How many pages are in local memory now.
    pub fn resident_pages(&self) -> usize {
        match &self.memory {
            Memory::Far(far) => far.space.frames().resident_pages(),
            Memory::Traced(traced) => traced.space.budget_pages(),
        }
    }

    /// The number of the epoch: grows by one each time that a share of the pages in local memory has changed
    /// ([`PagerOptions::epoch_percent`]); 0 for ever in a pager that traces accesses. Any thread.
    pub fn epoch(&self) -> u64 {
        match &self.memory {
            Memory::Far(far) => far.space.epoch(),
            Memory::Traced(_) => 0,
        }
    }

    /// How many pages may be brought in before others have to be evicted, or the evictor is woken. Any thread; true
    /// now only.
    pub fn spare_pages(&self) -> usize {
        let Memory::Far(far) = &self.memory else { return 0 };
        let taken = far.space.frames().resident_pages() + far.space.frames().kept_free();
        far.space.frames().budget_pages().saturating_sub(taken)
    }

    /// The budget in pages.
    pub fn budget_pages(&self) -> usize {
        match &self.memory {
            Memory::Far(far) => far.space.frames().budget_pages(),
            Memory::Traced(traced) => traced.space.budget_pages(),
        }
    }

    /// The most pages that may be in local memory now: the budget, or more while it is becoming less
    /// ([`Pager::set_budget`]). [`Pager::resident_pages`] is at no moment above it.
    pub fn limit_pages(&self) -> usize {
        match &self.memory {
            Memory::Far(far) => far.space.frames().limit_pages(),
            Memory::Traced(traced) => traced.space.budget_pages(),
        }
    }

    /// Changes the budget, and returns the new one: at least [`PagerOptions::BUDGET_BYTES_MIN`] and twice the
    /// pinned pages, at most the far space. A larger budget applies at once. For a smaller one pages are evicted in
    /// the background; [`Pager::limit_pages`] follows them down, and no page is brought in meanwhile that would
    /// exceed it.
    ///
    /// Any thread, one at a time; neither waits for pages nor reaches a safepoint. Panics if the pager was not made
    /// with [`PagerOptions::budget_changes`]. Nothing happens in a pager that traces accesses.
    pub fn set_budget(&self, pages: usize) -> usize {
        let Memory::Far(far) = &self.memory else { return self.budget_pages() };
        assert!(far.space.budget_changes(), "the budget of this pager does not change");
        let least = PagerOptions::BUDGET_BYTES_MIN / PAGE_BYTES;
        far.space.frames().set_budget_pages(pages.max(least));
        fence(Ordering::SeqCst);
        let pinned = far.pinned.load(Ordering::SeqCst);
        if 2 * pinned > far.space.frames().budget_pages() {
            // They were pinned within the old budget, so the limit is not below this yet.
            far.space.frames().set_budget_pages(2 * pinned);
        }
        self.budget_pages()
    }

    /// Does the kernel note which pages are written, as [`PagerOptions::kernel_notes_writes`] wants it? Otherwise
    /// each first write raises a signal. False in a pager that traces accesses.
    pub fn kernel_notes_writes(&self) -> bool {
        matches!(&self.memory, Memory::Far(far) if far.space.kernel_notes_writes())
    }

    /// The server that holds a page; 0 in a pager that traces accesses.
    pub fn owner(&self, page: Page) -> usize {
        match &self.memory {
            Memory::Far(far) => far.space.owner(page),
            Memory::Traced(_) => 0,
        }
    }

    /// Everything that write_back and evict wrote before is visible on the servers before any
    /// message sent later. Both return only then anyway; this is for a caller that has not called
    /// them itself.
    pub fn fence(&self) {
        fence(Ordering::SeqCst);
    }

    /// Copies to a memory server that took the place of a lost one the pages that it should hold
    /// (`rdma::Segment::repair`), concurrently with everything else. Returns how many bytes were written to it.
    /// Ends early when `go_on` says so.
    pub fn repair(&self, go_on: &dyn Fn() -> bool) -> u64 {
        match &self.memory {
            Memory::Far(far) => far.space.repair(go_on),
            Memory::Traced(_) => 0,
        }
    }

    /// Bytes of ordinary memory that the states of pages take now; 0 in a pager that traces accesses. Slow: for
    /// figures.
    pub fn table_bytes(&self) -> usize {
        match &self.memory {
            Memory::Far(far) => far.space.table_bytes(),
            Memory::Traced(_) => 0,
        }
    }

    /// The counters.
    pub fn stats(&self) -> PagerStats {
        match &self.memory {
            Memory::Far(far) => far.space.stats(),
            Memory::Traced(_) => PagerStats::default(),
        }
    }

    /// Faults so far that fetched a page, of threads of a class; 0 in a pager that traces accesses. Any thread.
    pub fn fetch_faults(&self, class: ThreadClass) -> u64 {
        match &self.memory {
            Memory::Far(far) => far.space.fetch_faults(class),
            Memory::Traced(_) => 0,
        }
    }

    /// The sample of faults that fetched a page; `None` in a pager that traces accesses, and where none was asked for
    /// ([`PagerOptions::trace_samples`]). Any thread.
    pub fn fault_samples(&self) -> Option<FaultSamples> {
        match &self.memory {
            Memory::Far(far) => far.space.fault_samples(),
            Memory::Traced(_) => None,
        }
    }

    /// Shows one in `one_in` of the faults that fetch a page to an observer from now on, in the fault handler. Once;
    /// returns whether any are shown: none of a pager that traces accesses.
    pub fn observe_faults(&self, one_in: u32, observer: Arc<dyn FaultObserver>) -> bool {
        match &self.memory {
            Memory::Far(far) => far.space.observe_faults(one_in, observer),
            Memory::Traced(_) => return false,
        }
        true
    }

    fn state(&self, page: Page) -> PageState {
        match &self.memory {
            Memory::Far(far) => far.space.word(page).look().state(),
            Memory::Traced(_) => PageState::Clean,
        }
    }

    fn move_out(&self, ranges: &[PageRange], outcome: Outcome) -> usize {
        ranges.iter().for_each(|range| self.check(*range));
        match &self.memory {
            Memory::Far(far) => far.space.move_ranges_out(ranges, outcome),
            Memory::Traced(Traced { space, .. }) => {
                for range in ranges {
                    match outcome {
                        Outcome::WrittenBack | Outcome::WrittenThrough => {
                            space.note(PageAction::WrittenBack, *range);
                        }
                        Outcome::Evicted => space.note(PageAction::Evicted, *range),
                        Outcome::Invalidated => space.note(PageAction::Invalidated, *range),
                        Outcome::Discarded | Outcome::Vacated => space.free(*range),
                        Outcome::Settled => {}
                    }
                }
                0
            }
        }
    }

    fn check(&self, range: PageRange) {
        let pages = self.far_bytes() / PAGE_BYTES;
        let inside = range.start.0 <= pages && range.count <= pages - range.start.0;
        assert!(inside, "{range:?} is outside a far space of {pages} pages");
    }
}
