//! The young regions: eden, which threads allocate from, and the survivors of the last minor collection.

use super::policy::{Collected, Policy};
use super::table::YoungTable;
use crate::collectors::mako::Shared;
use crate::collectors::mako::allocation::RESERVE;
use crate::core::allocator::RegionAllocator;
use crate::core::collector::AllocRequest;
use crate::memory::region::RegionUse;
use crate::object::ObjectRef;
use crate::object::geometry::RegionId;
use crate::threads::mutator::Mutator;
use crate::threads::workers::Workers;
use parking_lot::Mutex;
use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use swap::PAGE_BYTES;

/// See the module text.
pub struct Nursery {
    shared: Arc<Shared>,
    eden: Arc<Eden>,
    pub allocator: RegionAllocator,
    /// Of pauses; the first is the thread that asked.
    pub workers: Workers,
    pub policy: Mutex<Policy>,
    /// When the last minor collection ended. Only touched in pauses.
    last_end: Mutex<Instant>,
    /// Minor collections so far. Changes in pauses; relaxed.
    pub collections: AtomicUsize,
    /// Bytes that were free after the last one, for the soft reference policy. Relaxed.
    pub free_bytes: AtomicUsize,
}

/// How many regions eden has and may have. Relaxed: it is a limit.
#[derive(Default)]
struct Eden {
    taken: AtomicUsize,
    limit: AtomicUsize,
}

impl Nursery {
    pub fn new(shared: Arc<Shared>) -> Nursery {
        let core = &shared.core;
        let (eden, taking) = (Arc::<Eden>::default(), shared.clone());
        let limited = eden.clone();
        let take = move || {
            let (taken, limit) = (&limited.taken, limited.limit.load(Ordering::Relaxed));
            if taken.load(Ordering::Relaxed) >= limit {
                return None;
            }
            let region = take(&taking, false)?;
            taken.fetch_add(1, Ordering::Relaxed);
            Some(region)
        };
        let options = &core.options;
        let policy = Policy::new(
            &options.mako,
            options.g1.tenuring_age_max,
            local_bytes(&shared),
            core.geometry.region_bytes(),
        );
        let nursery = Nursery {
            allocator: RegionAllocator::taking(core.clone(), Box::new(take)),
            workers: Workers::new("Mako Young", options.parallel_threads()),
            policy: Mutex::new(policy),
            last_end: Mutex::new(Instant::now()),
            collections: AtomicUsize::new(0),
            free_bytes: AtomicUsize::new(core.geometry.heap_bytes()),
            eden,
            shared,
        };
        nursery.begin_eden(Vec::new());
        nursery
    }

    pub fn table(&self) -> &YoungTable {
        self.shared.young.as_ref().expect("a heap with a nursery has its table")
    }

    /// A young object, if eden has memory. Reaches no safepoint.
    pub fn allocate(&self, m: &Mutator, request: AllocRequest) -> Option<ObjectRef> {
        let object = self.allocator.allocate(m, request)?;
        object.value_word().store(self.table().word(object), Ordering::Relaxed);
        Some(object)
    }

    /// Limits the regions of eden anew. Any thread.
    pub fn limit_eden(&self) {
        let free = self.shared.takable_regions();
        let taken = self.eden.taken.load(Ordering::Relaxed);
        let survivors = self.table().count().saturating_sub(taken);
        let limit = self.policy.lock().eden(free + taken, survivors);
        self.eden.limit.store(limit, Ordering::Relaxed);
    }

    /// Whether eden has no region and may take none: nearly all of the heap is in use. Any thread.
    pub fn has_no_eden(&self) -> bool {
        let (taken, limit) = (&self.eden.taken, &self.eden.limit);
        taken.load(Ordering::Relaxed) == 0 && limit.load(Ordering::Relaxed) == 0
    }

    /// Sizes eden by a minor collection that was asked for since eden, `eden_bytes`, was full. World stopped.
    pub fn learn(&self, took: Duration, eden_bytes: usize, ages: &[usize], promoted_bytes: usize) {
        let since_last = self.last_end.lock().elapsed();
        let last = Collected { took, since_last, eden_bytes, ages, promoted_bytes };
        self.policy.lock().learn(&last);
    }

    /// Eden begins anew, with these regions, after a collection if it is not the first time. World stopped.
    pub fn begin_eden(&self, renewed: Vec<RegionId>) {
        *self.last_end.lock() = Instant::now();
        self.eden.taken.store(renewed.len(), Ordering::Relaxed);
        self.allocator.reset(renewed);
        self.limit_eden();
        let regions = self.eden.limit.load(Ordering::Relaxed);
        let bytes = self.policy.lock().eden_bytes(regions);
        self.allocator.limit_bytes(bytes);
        self.shared.core.stats.set("eden_bytes", bytes as u64);
    }

    /// Frees young regions in which nothing is left, but those that eden may have again with their memory, if it may
    /// have any (`renews`). Returns these. World stopped.
    pub fn free(&self, mut emptied: Vec<RegionId>, renews: bool) -> Vec<RegionId> {
        let (core, table) = (&self.shared.core, self.table());
        let survivors = table.count() - emptied.len();
        let free = self.shared.free_by_server();
        let policy = self.policy.lock();
        let regions = policy.eden(self.shared.takable_regions() + emptied.len(), survivors);
        let used = |region: &RegionId| core.regions.region(*region).top();
        let may_take = |region| free[self.shared.entries.geometry.region_server(region)] >= RESERVE;
        let mut left = match renews && core.options.mako.recycle_eden {
            true => policy.eden_bytes(regions).min(recycled_max(&self.shared)),
            false => 0,
        };
        emptied.sort_unstable_by_key(|region| Reverse(used(region)));
        let mut renewed = Vec::new();
        for region in emptied {
            let kept = used(&region).min(left);
            if kept == 0 || renewed.len() == regions || !may_take(region) {
                table.end(region);
                core.free_region(region);
            } else if core.renew_region(region, kept) {
                left -= kept;
                core.stats.count("eden_recycled_bytes", kept as u64);
                renewed.push(region);
            } else {
                table.end(region);
            }
        }
        renewed
    }
}

/// A free region for young objects, of the server that has most; `None` if only those are left that evacuation needs.
/// `is_to`: for the copies of a minor collection.
pub fn take(shared: &Shared, is_to: bool) -> Option<RegionId> {
    let free = shared.free_by_server();
    let (server, count) = free.iter().enumerate().max_by_key(|(_, count)| **count)?;
    if *count <= RESERVE {
        return None;
    }
    let geometry = &shared.entries.geometry;
    let on_server = |id| geometry.region_server(id) == server;
    let region = shared.core.regions.take_where(RegionUse::Young, on_server)?;
    shared.young.as_ref()?.begin(region, is_to);
    Some(region)
}

/// Bytes that eden may take of local memory: it should not be evicted to memory servers.
fn local_bytes(shared: &Shared) -> usize {
    let (core, pager) = (&shared.core, shared.pager());
    let bytes = core.geometry.heap_bytes() / 100 * HEAP_PERCENT;
    let budget = pager.budget_pages() * PAGE_BYTES;
    if budget >= pager.far_bytes() {
        return bytes;
    }
    bytes.min(budget / 100 * core.options.mako.local_eden_percent)
}

/// Bytes of eden whose memory may stay between collections. Where local memory is full they are not there for anything
/// else meanwhile.
fn recycled_max(shared: &Shared) -> usize {
    let budget = shared.pager().budget_pages() * PAGE_BYTES;
    if shared.core.has_spare_memory() { budget } else { budget / RECYCLED_SHARE }
}

/// Eden takes at most this part of the heap.
const HEAP_PERCENT: usize = 40;
/// Eden keeps at most this part of a full local memory between collections.
const RECYCLED_SHARE: usize = 32;
