//! The memory of the heap: plain local memory, or a far space behind the pager.
//!
//! ```text
//! offset  0                      heap_bytes               heap_bytes + side_bytes
//!         +----------------------+------------------------+
//!         | objects, by region   | the collector's own    |   both are paged
//!         +----------------------+------------------------+
//! ```
//! Region tables, mark bitmaps and the like are ordinary memory and never paged.

use crate::memory::error::HeapError;
use crate::memory::far::{FarBytes, FarMemory};
use crate::object::codec::NARROW_LIMIT;
use crate::object::geometry::Geometry;
use crate::object::log::{GcLog, LogLevel};
use crate::options::HeapOptions;
use rdma::spawn::Fleet;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use swap::{
    Chase, Keeper, KeeperOptions, Loss, Membership, PAGE_BYTES, Page, PageRange, Pager,
    PagerOptions, PoolChange, PoolMember, PoolStatus, Reservation, SurvivalStats,
};

/// One reserved space, of which parts are committed before they are used: where the system does not overcommit memory,
/// what is committed counts. Dropping it unmaps the heap.
pub struct HeapSpace {
    base: usize,
    bytes: usize,
    /// The system has refused to commit a part. Set by any thread, once; relaxed.
    is_refused: AtomicBool,
    backing: Backing,
}

/// The needs of a collector on the space.
pub struct SpaceNeeds {
    /// Bytes of far memory behind the object space.
    pub side_bytes: usize,
    /// Bytes at the end of that which are not paged, and of which each memory server has its own.
    pub tables_bytes: usize,
    /// Where the space should lie if it can, or at least before its end.
    pub within: Option<Range<usize>>,
    /// The handler of the messages of agents on memory servers.
    pub service: Option<Arc<dyn rdma::Service>>,
    /// As [`PagerOptions::owner`].
    pub owner: Box<dyn Fn(Page) -> usize + Send + Sync>,
    /// As [`PagerOptions::run_after`].
    pub run_after: Box<dyn Fn(Page) -> usize + Send + Sync>,
    /// As [`PagerOptions::chase`].
    pub chase: Option<Arc<dyn Chase>>,
}

enum Backing {
    Local(Reservation),
    /// Dropped in this order: the keeper uses pager and servers, the pool of local memory takes the pager's frames back
    /// when that is dropped, and the pager needs its memory.
    Far {
        keeper: Option<Keeper>,
        pager: Arc<Pager>,
        pool: Option<Box<PoolMember>>,
        memory: FarMemory,
    },
}

impl HeapSpace {
    /// Reserves the space that `geometry` and `needs` ask for; starts memory servers, or opens a pool, if the options
    /// make memory remote or the collector needs agents.
    pub(crate) fn reserve(
        options: &HeapOptions,
        geometry: &Geometry,
        needs: SpaceNeeds,
    ) -> Result<HeapSpace, HeapError> {
        let bytes = (geometry.heap_bytes() + needs.side_bytes).next_multiple_of(PAGE_BYTES);
        let budget = options.local_memory.budget_bytes(geometry.heap_bytes());
        let narrow = options.wants_narrow(geometry).then_some(0..NARROW_LIMIT);
        let within = needs.within.or(narrow);
        let service = needs.service;
        let shared = options.local_memory_pool.as_ref();
        let has_pool = options.memory_pool.is_some() || options.memory_pool_bytes.is_some();
        if budget.is_none() && service.is_none() && shared.is_none() && !has_pool {
            if options.page_trace.is_some() {
                return Err(HeapError::Options(
                    "-XX:PageTrace requires memory servers (--local-memory)".into(),
                ));
            }
            return HeapSpace::local(bytes, within, geometry.region_bytes(), options.huge_pages);
        }
        if options.huge_pages {
            base::say(format_args!(
                "farheap: UseTransparentHugePages has no effect on memory that may be remote"
            ));
        }
        let far_bytes = FarBytes {
            all: bytes,
            // A page that has a part of both counts as a table.
            shared: (bytes - needs.tables_bytes) / PAGE_BYTES * PAGE_BYTES,
        };
        let memory = FarMemory::start(options, far_bytes, service)?;
        let most_bytes = budget.unwrap_or(bytes);
        let membership = shared.map(|pool| Membership::join(pool, most_bytes.min(bytes)));
        let membership = membership.transpose().map_err(HeapError::Pager)?;
        let pager_options = PagerOptions {
            far_bytes: bytes,
            budget_bytes: membership.as_ref().map_or(most_bytes, Membership::budget_bytes),
            budget_changes: membership.is_some(),
            owner: needs.owner,
            run_after: needs.run_after,
            chase: needs.chase,
            prefetcher: options.prefetcher,
            recycle_frames: options.recycle_frames,
            frame_cache_percent: options.frame_stock_percent,
            reserve_permille: options.reserve_permille,
            clean_ahead: options.clean_ahead,
            kernel_notes_writes: options.kernel_notes_writes,
            replacement_rounds: options.replacement_rounds,
            traced_pages_pass: options.traced_pages_pass,
            probe_one_in: options.prefetch_probe,
            trace_samples: options.fault_trace,
            epoch_percent: options.epoch_percent,
            commits: true,
            within,
            page_trace: options.page_trace.as_deref().map(open_trace).transpose()?,
            at: None,
        };
        let pager = Pager::new(pager_options, memory.stores(options)).map_err(HeapError::Pager)?;
        let base = pager.base() as usize;
        let log = options.log.clone();
        let report = Box::new(move |loss: Loss<'_>| report(&log, loss));
        let keeper_options = KeeperOptions { end_after: options.lost_server_timeout };
        let keeper = match memory.fleet() {
            Some(fleet) => Keeper::start(fleet.clone(), pager.clone(), keeper_options, report),
            None => Ok(None),
        };
        let keeper = keeper.map_err(HeapError::Pager)?;
        let log = options.log.clone();
        let report = Box::new(move |change| report_budget(&log, change));
        let serve = |membership: Membership| membership.serve(pager.clone(), report).map(Box::new);
        let pool = membership.map(serve).transpose().map_err(HeapError::Pager)?;
        Ok(HeapSpace {
            base,
            bytes,
            is_refused: AtomicBool::new(false),
            backing: Backing::Far { keeper, pager, pool, memory },
        })
    }

    fn local(
        bytes: usize,
        within: Option<Range<usize>>,
        region_bytes: usize,
        huge_pages: bool,
    ) -> Result<HeapSpace, HeapError> {
        let alignment = match within {
            // Few addresses are tried, and none is where null and an offset lead.
            Some(_) => region_bytes.max(LOW_ALIGNMENT),
            None => region_bytes.max(HUGE_PAGE_BYTES),
        };
        let range = Reservation::uncommitted(within.as_ref(), bytes, alignment);
        let range = range.map_err(|_| HeapError::Reserve { bytes })?;
        if huge_pages && let Err(error) = range.advise(libc::MADV_HUGEPAGE) {
            base::say(format_args!("farheap: UseTransparentHugePages has no effect: {error}"));
        }
        let is_refused = AtomicBool::new(false);
        Ok(HeapSpace { base: range.base(), bytes, is_refused, backing: Backing::Local(range) })
    }

    /// Populates the first `bytes`, as many as local memory takes without evicting any. They have not been written yet.
    /// Regions are taken from the beginning.
    pub fn pre_touch(&self, bytes: usize) {
        let bytes = bytes.next_multiple_of(PAGE_BYTES).min(self.bytes);
        match &self.backing {
            Backing::Local(range) => {
                // A kernel before 5.14 refuses, or there is less memory, and nothing is lost.
                let _ = self.commit(0, bytes)
                    && range.advise_first(bytes, libc::MADV_POPULATE_WRITE).is_ok();
            }
            Backing::Far { pager, .. } => {
                let (pages, budget) = (bytes / PAGE_BYTES, pager.budget_pages());
                // The evictor keeps some pages free.
                let count = if budget >= pages { pages } else { budget - budget / 8 };
                if self.commit(0, count * PAGE_BYTES) {
                    pager.populate(PageRange::of_bytes(0, count * PAGE_BYTES));
                }
            }
        }
    }

    /// Commits a part: threads may touch it from now on. At once where it is so already. False: the system has no
    /// memory left to promise, which the first failure says on standard error. Any thread; reaches no safepoint.
    pub fn commit(&self, offset: usize, bytes: usize) -> bool {
        let committed = match &self.backing {
            Backing::Local(range) => range.commit(offset, bytes),
            Backing::Far { pager, .. } => pager.commit(PageRange::of_bytes(offset, bytes)),
        };
        if let Err(error) = &committed
            && !self.is_refused.swap(true, Ordering::Relaxed)
        {
            let mib = bytes >> 20;
            base::say(format_args!("farheap: the heap cannot grow by {mib} MiB: {error}"));
        }
        committed.is_ok()
    }

    /// Address of the first byte.
    pub fn base(&self) -> usize {
        self.base
    }

    /// Bytes of objects and of the collector's own part.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Makes whole pages zero and gives their memory back. No thread may be using them.
    pub fn discard(&self, offset: usize, bytes: usize) {
        assert!(
            offset.is_multiple_of(PAGE_BYTES) && bytes.is_multiple_of(PAGE_BYTES),
            "discard {offset} {bytes}"
        );
        assert!(offset + bytes <= self.bytes, "discard outside the space");
        match &self.backing {
            Backing::Local(_) => {
                let start = (self.base + offset) as *mut libc::c_void;
                // SAFETY: the pages are ours and, says the caller, hold nothing that anyone uses.
                let result = unsafe { libc::madvise(start, bytes, libc::MADV_DONTNEED) };
                assert_eq!(result, 0, "madvise: {}", std::io::Error::last_os_error());
            }
            Backing::Far { pager, .. } => pager.discard(PageRange::of_bytes(offset, bytes)),
        }
    }

    /// As [`HeapSpace::discard`], but memory servers keep the memory, with anything in it. It must not be read
    /// before it is written again.
    pub fn vacate(&self, offset: usize, bytes: usize) {
        match &self.backing {
            Backing::Local(_) => self.discard(offset, bytes),
            Backing::Far { pager, .. } => pager.vacate(PageRange::of_bytes(offset, bytes)),
        }
    }

    /// The pager, when memory is remote.
    pub fn pager(&self) -> Option<&Arc<Pager>> {
        match &self.backing {
            Backing::Local(_) => None,
            Backing::Far { pager, .. } => Some(pager),
        }
    }

    /// The memory servers, when there are any.
    pub fn fleet(&self) -> Option<&Arc<Fleet>> {
        match &self.backing {
            Backing::Local(_) => None,
            Backing::Far { memory, .. } => memory.fleet(),
        }
    }

    /// The segment of a crash-safe pool that remote memory lies in, when it does.
    #[cfg(not(loom))]
    pub fn memory_pool(&self) -> Option<&Arc<rdma::PoolSegment>> {
        match &self.backing {
            Backing::Local(_) => None,
            Backing::Far { memory, .. } => memory.pool(),
        }
    }

    /// The process is about to end: frees memory in a pool that would outlive it. A thread that needs a remote page
    /// from now on sleeps until the end. Blocks on the file system.
    pub fn end(&self) {
        if let Backing::Far { memory, .. } = &self.backing {
            memory.end();
        }
    }

    /// The pool that local memory is shared by, when it is.
    pub fn pool(&self) -> Option<PoolStatus> {
        match &self.backing {
            Backing::Local(_) => None,
            Backing::Far { pool, .. } => pool.as_deref().map(PoolMember::status),
        }
    }

    /// The losses that were survived, where there are two copies of each page.
    pub fn survival(&self) -> Option<SurvivalStats> {
        match &self.backing {
            Backing::Local(_) => None,
            Backing::Far { keeper, .. } => keeper.as_ref().map(Keeper::stats),
        }
    }
}

/// Opens the file of a trace. What it holds stays until the trace begins.
fn open_trace(path: &Path) -> Result<File, HeapError> {
    let cannot = |error| HeapError::Options(format!("-XX:PageTrace={}: {error}", path.display()));
    File::options().write(true).create(true).truncate(false).open(path).map_err(cannot)
}

/// A warning for each server that is lost, and more while no other server takes its place; the rest is for users that
/// log.
fn report(log: &GcLog, loss: Loss<'_>) {
    match loss {
        Loss::Noticed { server } => {
            base::say(format_args!(
                "farheap: memory server {server} is lost; its pages are copied to another one"
            ));
        }
        Loss::Missing { server, time, why } => {
            base::say(format_args!(
                "farheap: no server has replaced memory server {server} for {} s; its pages have one copy: {why}",
                time.as_secs()
            ));
        }
        Loss::Replaced { server } => {
            log.line(LogLevel::Info, "gc,servers", || {
                format!("Server {server} is replaced, copying its pages")
            });
        }
        Loss::Repaired { server, bytes, time } => log.line(LogLevel::Info, "gc,servers", || {
            let (kib, ms) = (bytes >> 10, time.as_secs_f64() * 1e3);
            format!("Server {server} is repaired: {kib}K copied, {ms:.3}ms")
        }),
    }
}

/// Changes of this VM's part of a pool.
fn report_budget(log: &GcLog, change: PoolChange) {
    match change {
        PoolChange::Budget { pages, members } => log.line(LogLevel::Info, "gc,heap", || {
            format!("Local memory {}K, {members} members in its pool", (pages * PAGE_BYTES) >> 10)
        }),
        PoolChange::Trouble(why) => {
            base::say(format_args!(
                "farheap: the local memory pool failed, this VM's part of it no longer changes: {why}"
            ));
        }
    }
}
/// A heap of narrow slots begins at a multiple of this.
const LOW_ALIGNMENT: usize = 256 << 20;
/// Of the architectures that we run on.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;
