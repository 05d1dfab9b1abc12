//! Mako.

mod allocation;
mod barriers;
mod control;
mod cycle;
mod entries;
mod evacuation;
mod policy;
mod references;
mod remote;
mod snapshot;
mod thread;

use crate::barrier_asm::Evaluated;
use crate::collector::{AllocRequest, Collector, CollectorParts, CollectorPlan};
use crate::geometry::{Geometry, RegionId};
use crate::heap::{AllocFailure, CollectCause, HeapError};
use crate::heap_core::HeapCore;
use crate::hit::{EntryIndex, HitGeometry};
use crate::mutator::Mutator;
use crate::object::ObjectRef;
use allocation::Allocator;
use barriers::MakoBarriers;
use control::{Control, Order};
use entries::Entries;
use evacuation::Evacuations;
use parking_lot::Mutex;
use remote::{Agents, Inbox};
use snapshot::Snapshot;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use swap::Page;
use thread::Logged;

/// What Mako needs: entries and bitmaps behind the object space, agents, each server its share of everything.
pub struct Plan {
    geometry: Result<HitGeometry, String>,
    object_bytes: usize,
    inbox: Arc<Inbox>,
}

impl Plan {
    pub fn new(geometry: &Geometry, servers: usize) -> Plan {
        Plan {
            geometry: HitGeometry::new(geometry.regions, geometry.region_shift, servers),
            object_bytes: geometry.heap_bytes(),
            inbox: Arc::default(),
        }
    }
}

impl CollectorPlan for Plan {
    fn side_bytes(&self) -> usize {
        self.geometry.as_ref().map_or(0, |g| g.far_bytes() - self.object_bytes)
    }

    fn service(&self) -> Option<Arc<dyn rdma::Service>> {
        Some(self.inbox.clone())
    }

    fn owner(&self, _: &Geometry, _: usize) -> Box<dyn Fn(Page) -> usize + Send + Sync> {
        match &self.geometry {
            Ok(geometry) => {
                let geometry = *geometry;
                Box::new(move |page| geometry.page_server(page))
            }
            // `build` reports it.
            Err(_) => Box::new(|_| 0),
        }
    }

    fn build(self: Box<Self>, core: Arc<HeapCore>) -> Result<CollectorParts, HeapError> {
        let Plan { geometry, inbox, .. } = *self;
        let geometry = geometry.map_err(HeapError::Options)?;
        let shared = Arc::new(Shared {
            entries: Entries::new(geometry, core.geometry.base),
            logged: Logged::default(),
            evacuations: Evacuations::new(geometry.regions(), geometry.tablets()),
            phase: AtomicU64::new(0),
            core: core.clone(),
        });
        let collector = Arc::new_cyclic(|me: &Weak<Mako>| Mako {
            allocator: Allocator::new(shared.clone()),
            agents: Agents::new(core.clone(), geometry, inbox.clone()),
            control: Control::new(),
            last_snapshot: Mutex::new(None),
            thread: Mutex::new(None),
            me: me.clone(),
            shared: shared.clone(),
            core,
        });
        let barriers = Box::new(Evaluated(MakoBarriers::new(shared)));
        Ok(CollectorParts { barriers, collector })
    }
}

/// What barriers and cycle share.
struct Shared {
    core: Arc<HeapCore>,
    entries: Entries,
    logged: Logged,
    evacuations: Evacuations,
    /// The phase of threads that attach now. Written by the cycle before it changes the threads' own; attaching
    /// waits for pauses and handshakes, whose lock orders.
    phase: AtomicU64,
}

/// The collector.
struct Mako {
    core: Arc<HeapCore>,
    shared: Arc<Shared>,
    allocator: Allocator,
    agents: Agents,
    control: Control,
    /// Of the cycle before: its tablets must be overwritten on the servers even if they are free now.
    last_snapshot: Mutex<Option<Snapshot>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    me: Weak<Mako>,
}

impl Mako {
    /// Runs a cycle that begins now; `m` waits for it in the safe state.
    fn collect_and_wait(&self, m: Option<&Mutator>, order: Order) {
        if let Some(m) = m {
            self.core.safepoints.enter_safe(m);
        }
        self.control.wait(self.control.ask(order));
        if let Some(m) = m {
            self.core.safepoints.leave_safe(m);
        }
    }
}

impl Collector for Mako {
    fn start(&self) {
        let me = self.me.upgrade().expect("the heap holds the collector");
        let run = move || {
            swap::set_thread_class(swap::ThreadClass::Gc);
            while let Some(order) = me.control.next() {
                me.run(order);
                me.control.done();
            }
        };
        let spawned = std::thread::Builder::new().name("Mako".into()).spawn(run);
        *self.thread.lock() = Some(spawned.expect("a thread for the collector"));
    }

    fn stop(&self) {
        self.control.stop();
        if let Some(thread) = self.thread.lock().take() {
            thread.join().expect("the collector's thread ends by itself");
        }
    }

    fn attached(&self, m: &Mutator) {
        thread::attach(m, self.shared.phase.load(Ordering::SeqCst));
    }

    fn detached(&self, m: &Mutator) {
        self.shared.logged.hand_over(m);
        self.allocator.retire(m);
        thread::detach(m);
    }

    fn allocate(&self, m: &Mutator, request: AllocRequest) -> Result<ObjectRef, AllocFailure> {
        let allocate = || {
            let object = self.allocator.allocate(m, request);
            if self.allocator.is_low.load(Ordering::Relaxed) {
                self.allocator.is_low.store(false, Ordering::Relaxed);
                self.control.suggest(CollectCause::AllocationFailure);
            }
            object
        };
        if let Some(object) = allocate() {
            return Ok(object);
        }
        if request.bytes.div_ceil(self.core.geometry.region_bytes()) > self.core.geometry.regions {
            return Err(AllocFailure::HeapFull);
        }
        // A cycle that is on when memory runs out knows nothing of the last garbage, hence the second one.
        let concurrent = Order { cause: CollectCause::AllocationFailure, is_full: false };
        let full = Order { cause: CollectCause::LastDitch, is_full: true };
        for order in [concurrent, concurrent, full] {
            self.collect_and_wait(Some(m), order);
            if let Some(object) = allocate() {
                return Ok(object);
            }
        }
        Err(AllocFailure::HeapFull)
    }

    fn collect(&self, m: Option<&Mutator>, cause: CollectCause) {
        let is_full = cause == CollectCause::LastDitch;
        self.collect_and_wait(m, Order { cause, is_full });
    }

    fn decode(&self, word: u64) -> ObjectRef {
        match EntryIndex(word as u32) {
            EntryIndex::NULL => ObjectRef::NULL,
            entry => self.shared.entries.object(entry),
        }
    }

    fn pin(&self, object: ObjectRef) {
        self.core.region_of(object).pin();
    }

    fn unpin(&self, object: ObjectRef) {
        self.core.region_of(object).unpin();
    }

    /// Dead objects lie between the living, and buffers are given up where they are.
    fn is_walkable(&self, _region: RegionId) -> bool {
        false
    }

    fn beans(&self) -> &'static [&'static str] {
        &["Mako"]
    }

    fn title(&self) -> &'static str {
        "Mako"
    }
}

/// Slots hold entry indices.
const SLOT_BYTES: usize = 4;
