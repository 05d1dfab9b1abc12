//! The interface of collectors to the rest of the crate.
//!
//! A heap is made in three steps: the [`CollectorPlan`] states the needs of the collector, the heap reserves it,
//! the plan builds barriers and collector over the [`HeapCore`].

use crate::barrier::BarrierSet;
use crate::core::heap_core::HeapCore;
use crate::core::inspection::HeapSnapshot;
use crate::core::outcome::{AllocFailure, CollectCause};
use crate::core::stats::YoungBytes;
use crate::memory::error::HeapError;
use crate::memory::space::SpaceNeeds;
use crate::object::geometry::{Geometry, RegionId, server_of_region};
use crate::object::{KlassId, ObjectRef};
use crate::options::HeapOptions;
use crate::threads::mutator::{Mutator, WorldStopped};
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use swap::{Chase, PAGE_BYTES, Page};

/// The requirements of a collector on the heap that is about to be made.
pub trait CollectorPlan {
    /// Bytes of far memory that the collector wants behind the object space.
    fn side_bytes(&self) -> usize {
        0
    }

    /// Bytes at the end of that which are not paged: tables of agents, of which each memory server has its own.
    fn tables_bytes(&self) -> usize {
        0
    }

    /// Where the heap should lie if it can, or at least before its end: a collector may encode some addresses more
    /// cheaply.
    fn within(&self) -> Option<Range<usize>> {
        None
    }

    /// The handler of the agents' messages; `None` when the collector has no agents. With a service, memory servers
    /// are started even when all memory is local.
    fn service(&self) -> Option<Arc<dyn rdma::Service>> {
        None
    }

    /// Which server a page lives on: region by region in turn, the collector's own part on server 0.
    /// Called in fault handlers: async-signal-safe, always the same answer.
    fn owner(
        &self,
        geometry: &Geometry,
        servers: usize,
    ) -> Box<dyn Fn(Page) -> usize + Send + Sync> {
        let (shift, regions) = (geometry.region_shift, geometry.regions);
        Box::new(move |page| match page.offset() >> shift {
            region if region < regions => server_of_region(RegionId(region as u32), servers),
            _ => 0,
        })
    }

    /// How many pages after one may be fetched with it, as [`swap::PagerOptions::run_after`] asks: up to the end of
    /// its region. A collector whose agents write objects says less.
    fn run_after(&self, geometry: &Geometry) -> Box<dyn Fn(Page) -> usize + Send + Sync> {
        let heap_pages = geometry.heap_bytes() / PAGE_BYTES;
        let region_pages = geometry.region_bytes() / PAGE_BYTES;
        Box::new(move |page| match page.0 < heap_pages {
            true => region_pages - 1 - page.0 % region_pages,
            false => 0,
        })
    }

    /// Which words of the far space lead to pages that should come with theirs.
    fn chase(&self, _: &HeapOptions) -> Option<Arc<dyn Chase>> {
        None
    }

    /// All that is asked of the space.
    fn needs(&self, options: &HeapOptions, geometry: &Geometry) -> SpaceNeeds {
        SpaceNeeds {
            side_bytes: self.side_bytes(),
            tables_bytes: self.tables_bytes(),
            within: self.within(),
            service: self.service(),
            owner: self.owner(geometry, options.stores()),
            run_after: self.run_after(geometry),
            chase: self.chase(options),
        }
    }

    /// Makes the collector. Agents, if any, are running and know nothing yet.
    fn build(self: Box<Self>, core: Arc<HeapCore>) -> Result<CollectorParts, HeapError>;
}

/// The two faces of a collector; they share their state behind an `Arc` of their own.
pub struct CollectorParts {
    pub barriers: Box<dyn BarrierSet>,
    pub collector: Arc<dyn Collector>,
}

/// One object to be made.
#[derive(Clone, Copy, Debug)]
pub struct AllocRequest {
    pub klass: KlassId,
    /// Aligned size.
    pub bytes: usize,
    /// Of an array.
    pub length: Option<u32>,
}

/// The control plane of a collector. One per heap.
pub trait Collector: Send + Sync {
    /// Called once, after the VM is bound and before the first mutator attaches: starts collector threads.
    fn start(&self) {}

    /// Called once, when the heap is dropped or the VM exits; no mutator is attached any more or none will touch
    /// the heap again. Ends collector threads.
    fn stop(&self) {}

    /// Prepares a thread block. On the thread itself, while no pause or handshake is on; must not block.
    fn attached(&self, _m: &Mutator) {}

    /// Undoes it: gives buffers back. As `attached`, the thread holds no plain address any more.
    fn detached(&self, _m: &Mutator) {}

    /// Allocates where the inline path (the thread's buffer) could not. The object is zeroed, its header filled.
    /// May collect, that is, reach safepoints.
    fn allocate(&self, m: &Mutator, request: AllocRequest) -> Result<ObjectRef, AllocFailure>;

    /// Runs a full cycle, begun after the call, and returns when it is done. `m` is the calling mutator, running.
    /// The end of the cycle serves those who wait to inspect the heap, see [`crate::core::inspection`].
    fn collect(&self, m: Option<&Mutator>, cause: CollectCause);

    /// A snapshot of the objects that are reachable now, and the contents of pages that change meanwhile go to `file`.
    /// World stopped, at the end of a cycle. `None`: they can be shown in the pause only.
    fn snapshot(&self, _world: &WorldStopped, _file: File) -> Option<Box<dyn HeapSnapshot>> {
        None
    }

    /// The plain address that an encoded word means, without barrier effects: for verification, world stopped.
    fn decode(&self, word: u64) -> ObjectRef;

    /// The entry of an object whose header has none, where headers have entries. By a running mutator; no safepoint.
    fn entry(&self, object: ObjectRef) -> u32 {
        unreachable!("{object:?} has no entry")
    }

    /// Keeps the object in place until `unpin`. By a running mutator.
    fn pin(&self, object: ObjectRef);

    fn unpin(&self, object: ObjectRef);

    /// The card of the slot at an address, where the collector keeps cards: 0 when it need not be looked at. For tests.
    fn card(&self, _address: usize) -> Option<&AtomicU8> {
        None
    }

    /// The ordinary memory of the collector's tables now, by name, bytes; those on memory servers not included. Parts
    /// of the same name add up. Slow, for figures. Any thread, also beside a cycle.
    fn metadata(&self) -> Vec<(&'static str, usize)> {
        Vec::new()
    }

    /// The same of the tables on memory servers, as their agents said when tracing was last over.
    fn server_metadata(&self) -> Vec<(&'static str, usize)> {
        Vec::new()
    }

    /// Whether the objects of a region lie one after the other up to its top, for verification.
    fn is_walkable(&self, _region: RegionId) -> bool {
        true
    }

    /// Whether the collector has found an object dead and will not follow its slots, for verification.
    fn is_known_dead(&self, _object: ObjectRef) -> bool {
        false
    }

    /// Whether an object is not young. By a running mutator; without generations all objects are old.
    fn is_old(&self, _object: ObjectRef) -> bool {
        true
    }

    /// Whether a marking runs that a collection of young objects has begun. Any thread.
    fn is_marking(&self) -> bool {
        false
    }

    /// Names of the collector's `GarbageCollectorMXBean`s; `StatsRecorder::record_cycle` counts by index.
    fn beans(&self) -> &'static [&'static str];

    /// Name of the `MemoryPoolMXBean` of the heap, or of its old objects: one that dashboards know, where there is one.
    fn pool(&self) -> &'static str {
        self.title()
    }

    /// Names of the pools of young objects, of eden and of the survivors, where these have pools of their own.
    fn young_pools(&self) -> Option<[&'static str; 2]> {
        None
    }

    /// What these pools have. Any thread; without a pause the figures may be of different moments.
    fn young_bytes(&self) -> YoungBytes {
        YoungBytes::default()
    }

    /// The collector's name as its log line says it: `Using Serial`.
    fn title(&self) -> &'static str;
}
