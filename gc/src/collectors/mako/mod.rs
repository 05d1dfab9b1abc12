//! Mako: tracing and evacuation on the memory servers (chapter 3 of the paper; its section numbers
//! are used throughout this folder).
//!
//! # The idea
//!
//! The heap's pages live on memory servers, the VM caches some of them. A collector in the VM would move the whole
//! heap through that cache. So each server runs an [agent](crate::agent) that traces and moves the objects that it
//! holds, next to the memory, while the program runs. The heap indirection table ([HIT](crate::hit)) makes that
//! possible without coherent memory: a heap slot holds the index of an *entry*, the entry says where the object
//! is. To move an object is to change one word on the server that holds both; and to keep mutators away from a region
//! is to keep them away from a few pages of entries.
//!
//! ```text
//!  registers, frames, handles      heap slots, off-heap slots      entries (paged, 4 bytes)
//!  plain addresses  <--- load ---  entry indices, 4 bytes  ------> place: address / 8, if it fits
//!                   -- store --->  (index is in the header)
//! ```
//!
//! # A cycle
//!
//! 0. *Flush.* Dirty pages are written to the servers, beside the program.
//! 1. **PTP**, pre-tracing pause. Buffers are retired. The allocation bits of all tablets as they
//!    are now are the *snapshot*. Roots are collected, as entry indices.
//! 2. **CT**, concurrent tracing. The snapshot is copied and written to the servers; a thread that claims
//!    entries of a tablet before that saves its bits first ([`snapshot`]), so the pause takes no
//!    longer where there are more tablets. Pages that became dirty since the flush are written. Agents trace from the
//!    roots, send each other the references to each other's objects (ghost buffers), and mark entries. Mutators log
//!    references that they overwrite (SATB) and that they read from weak places. The VM polls four flags of each agent
//!    until two rounds are quiet ([`Termination`](crate::agent::Termination)).
//! 3. **PEP**, pre-evacuation pause. The last logged references are traced, and entries that were marked since the
//!    marks were read are added to them one by one; references are processed ([`references`]), and regions chosen
//!    ([`policy`]): those with nothing alive are freed, sparse ones put into *groups* that fit one to-region each.
//!    Objects of groups that threads hold are moved in this pause.
//! 4. **CE**, concurrent evacuation, by rounds of one group for each server ([`evacuation`] has the
//!    life of a group): write the from-regions back; the agent copies the rest; close the group's tablets; handshake;
//!    then, some tablets after the others: evict their pages; the agent has entries name its copies (or, if it has
//!    none, moves the rest, for all tablets at once); invalidate the pages that it wrote; release the tablets. Discard
//!    the from-regions. Threads wait from the departure of tablets to their release only, for a few writes to each
//!    page of entries; in the paper they wait for the copying too.
//! 5. *Reclamation.* Entries of dead objects become free, tablets without entries are returned to the pool,
//!    the free ends of regions are opened for allocation.
//!
//! A *full* cycle is the same with the world stopped, no soft reference kept, and every region that
//! is not full a candidate. It is the last resort before `OutOfMemoryError`.
//!
//! # Without the table
//!
//! `-XX:-UseHIT` omits the table and changes nothing else, so that its cost can be measured ([`direct`]): slots hold
//! compressed addresses, and a collection is Serial's, which stops the world, since only a table lets objects move
//! under running mutators. `-XX:-UseHITTranslation` lies in between ([`assigned`]): objects get their entries, which
//! are never read, and nothing is ever collected. The differences between the three are the cost of assigning entries
//! and the cost of translating through them, which the paper estimates apart (section 3.5.3).
//!
//! # Regions and tablets
//!
//! A tablet is a block of 4096 entries (four pages). It is not tied to a region: it belongs to a
//! server, and so do the objects that its entries name. Each region has a list of the tablets that
//! serve it ([`allocation`]). A to-region inherits the tablets of the objects that were moved to
//! it, and allocation in its free end uses their free entries first. A new region takes tablets
//! that are mostly free, and only then unused ones: entries never move, so without this the table
//! would spread, each page of it with a few living entries, and compete with objects for local
//! memory. The pages of the tablet that comes next are fetched ahead of need ([`preload`]). Which tablets serve which
//! regions is only a question of time waited: when a group is handed to an agent, all tablets of its regions are, also
//! those that serve other regions, and a mutator that meets one of them waits. Groups of one server are handed over
//! one after the other, so no tablet is at an agent twice.
//!
//! Objects move in the order in which tracing came by them, not in that of their addresses
//! (`agent/trace_order.rs`): objects that a program visits one after the other lie together then, as with a copying
//! collector. That alone justifies a move: regions within which tracing jumps to and fro are evacuated
//! even when hardly anything in them is garbage, and a cycle begins, though there is memory, when the program has
//! waited for remote memory ([`lookout`]). If it allocates nothing meanwhile, threads note for a while which objects
//! they touch, which are then moved apart from the rest ([`touches`]).
//!
//! A thread that holds or meets a large object of a from-region would wait until it is copied. So regions with large
//! objects are not put in order, and stay while a thread holds one, unless memory is short.
//!
//! Until the pre-evacuation pause a cycle frees nothing. So that memory lasts until then, threads that allocate faster
//! are slowed down ([`pacer`]).
//!
//! Everything of a region is on one server, and each server has a contiguous share of the regions,
//! so that a humongous array of references finds adjacent regions on one server. (One of primitives
//! may span servers.)
//!
//! # Invariants
//!
//! * *Heap and stack.* No running mutator holds a plain address into a from-region. PEP establishes
//!   it for objects that threads hold; the load barrier keeps it: in CE it moves the object of every index
//!   that it decodes ([`barriers`]).
//! * *Snapshot.* An object whose allocation bit is in the snapshot is on its server in the version
//!   of PTP or later; its header and entry do not change before CE. Agents trust nothing else.
//! * *Hand-over.* While a group is at an agent, no page of its tablets, of its from-regions or of
//!   the agent's part of the to-region is dirty in the VM, and no thread of the VM reads an entry of its
//!   tablets. Asserted when it is handed over.
//! * *One writer.* Entries of a tablet that will go to an agent in this cycle are not handed out
//!   (*closed*) from PEP to the end of the cycle.
//!
//! # The traps
//!
//! Questions that the paper leaves open, and their answers in this implementation:
//!
//! 1. *Between "tablet valid" and the use, evacuation may begin.* A handshake with all mutators
//!    lies between the closing of tablets and their departure ([`gate`], which is model-checked).
//!    No thread waits before that handshake is over, and the collector asks for no other pause or
//!    handshake until the tablets are back: threads that wait hold up pauses and may hold locks of
//!    the VM.
//! 2. *MOVE must test "already moved".* It is done under the group's lock, and the entry is read
//!    again under it. No copy is made in vain, so exactly the objects that were counted alive move, and the
//!    to-region cannot overflow.
//! 3. *A page has one writer.* The VM moves into the front of the to-region, until the handshake;
//!    the agent begins at the next page boundary. Grouping leaves a page for that. The pager reads no page of a
//!    to-region ahead ([`walks`]).
//! 4. *Evacuation must free regions.* Groups: n sparse regions become one, and n - 1 are free at
//!    once; a region on its own is evacuated if a quarter of it is garbage, and its free end is
//!    then allocated from. One free region per server is kept from mutators so that there is always
//!    a to-region. `a_fragmented_heap_shrinks` (tests) shows it.
//! 5. *Entries newer than PTP are garbage to the agent.* It ignores indices whose bit is not in the
//!    snapshot; the VM takes them for alive, and regions that were allocated in since PTP are
//!    neither freed nor evacuated in this cycle.
//! 6. *Write-through covers everything that is written.* The pager knows each dirty page, whatever kind of store made
//!    it so (headers, initialising stores, entries). Pages that are dirty after PTP are written before
//!    agents trace; a reference that is overwritten before its page is written is logged. The paper
//!    writes that in PTP.
//! 7. *A page may arrive while the agent reads.* Words never tear; each read is one word; see the
//!    snapshot invariant.
//! 8. *Four flags, two polls.* The agent answers a poll in one step of its state machine; flags are
//!    computed, not stored; a batch of ghosts counts until it is acknowledged. Model-checked beside
//!    `Termination`, and simulated with three agents, every delay and order (`agent/tests.rs`).
//! 9. *"Done" comes after objects and entries.* The notice is sent after all stores, and a message
//!    is received after the writes before it. Pages of tablets that are away are invalidated again
//!    before release, in case anything has fetched them.
//! 10. *Failures.* Evacuation cannot fail for want of memory (2, 4); groups that find no free region
//!     wait for regions that others free, and begin in a further pause. A mutator that finds no memory
//!     waits, safe, for a cycle, a second one, a full one, and then reports that the heap is full.
//!     A dead server, or one that does not answer for 30 seconds, ends the VM: one line, exit code 1. With two
//!     copies of the heap (`--replicas 2`) it does not: before the end of PEP the cycle is given up, and redone
//!     with another server in its place, or if there is none soon, in the VM's process ([`cycle`]); after it, the
//!     groups at that server's agent stay where they are, and the mutators that wait for them continue. The objects
//!     that an agent has moved are copied to the mirror before its group is released, so it is never lost later. An
//!     agent that finds a contradiction in the heap
//!     ends the VM in any case.
//! 11. *Waiting in a barrier is a pause.* It is counted as such (`wait_in_barrier`), and bounded by
//!     one group, that is by one to-region of live objects, whose entries change; and rarely, a thread that moves
//!     much itself waits until the agent has copied. Waiting for memory is counted too.
//! 12. *Humongous objects* are freed when dead and never evacuated; so are regions with pinned
//!     objects.
//! 13. *The pager as validity check* is not used: with it the barrier's fast path would save the
//!     phase test, but a fault cannot wait, hand out a moved address, or distinguish a busy tablet from a
//!     page that is merely evicted.

mod allocation;
mod assigned;
mod barriers;
mod control;
mod cycle;
mod direct;
mod entries;
mod entry_buffer;
mod evacuation;
mod gate;
mod group_table;
mod heap_snapshot;
mod held;
mod in_process;
mod leads;
mod lookout;
mod pacer;
mod policy;
mod preload;
mod references;
mod remote;
mod snapshot;
mod snapshot_roots;
mod thread;
mod to_region;
mod touches;
mod walks;
mod young;

use crate::barrier::BarrierSet;
use crate::barrier::evaluated::Evaluated;
use crate::barrier::satb::Logged;
use crate::core::collector::{AllocRequest, Collector, CollectorParts, CollectorPlan};
use crate::core::heap_core::HeapCore;
use crate::core::inspection::HeapSnapshot;
use crate::core::outcome::{AllocFailure, CollectCause};
use crate::hit::{ADDRESS_LIMIT, EntryIndex, EntryWidth, HitGeometry, TabletId, YOUNG_BASE};
use crate::memory::error::HeapError;
use crate::memory::region::RegionUse;
use crate::object::ObjectRef;
use crate::object::geometry::{Geometry, RegionId};
use crate::object::log::LogLevel;
use crate::options::{HeapOptions, TableUse};
use crate::threads::blocked::WaitFor;
use crate::threads::mutator::{Mutator, WorldStopped};
use crate::threads::thread_data::ThreadData;
use crate::threads::workers::AbortOnPanic;
use allocation::Allocator;
use barriers::MakoBarriers;
use control::{Control, Order};
use entries::Entries;
use evacuation::Evacuations;
use leads::Leads;
use lookout::{Lookout, Sight, Step, Waits};
use parking_lot::Mutex;
use preload::Preloader;
use remote::{Agents, Inbox};
use snapshot::Snapshot;
use std::fs::File;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use swap::{Chase, FaultCause, PAGE_BYTES, Page, Pager, ThreadClass};
use thread::{MakoThread, NOTING};
use touches::Touches;
use walks::Walks;
use young::barriers::YoungBarriers;
use young::{Nursery, YoungTable, early};

/// The needs of Mako: entries and bitmaps behind the object space, agents, each server its share of
/// everything.
pub struct Plan {
    geometry: Result<HitGeometry, String>,
    object_bytes: usize,
    table: TableUse,
    inbox: Arc<Inbox>,
    walks: Arc<Walks>,
    leads: Arc<Leads>,
}

impl Plan {
    /// With entries of eight bytes if `is_wide`.
    pub fn new(geometry: &Geometry, servers: usize, table: TableUse, is_wide: bool) -> Plan {
        let made = match (table, is_wide) {
            (TableUse::Translation, true) => Ok(EntryWidth::Wide),
            (_, false) => Ok(EntryWidth::Narrow),
            (_, true) => {
                Err("mako without translation (-XX:-UseHIT, -XX:-UseHITTranslation) has references of four bytes: \
                              it supports heaps up to 32 GB, and not -XX:-UseCompressedOops"
                    .to_string())
            }
        };
        let of_width =
            |width| HitGeometry::new(geometry.regions, geometry.region_shift, servers, width);
        Plan {
            geometry: made.and_then(of_width),
            object_bytes: geometry.heap_bytes(),
            table,
            inbox: Arc::default(),
            walks: Arc::new(Walks::new(geometry)),
            leads: Arc::default(),
        }
    }
}

impl CollectorPlan for Plan {
    fn side_bytes(&self) -> usize {
        self.geometry.as_ref().map_or(0, |g| g.far_bytes() - self.object_bytes)
    }

    fn tables_bytes(&self) -> usize {
        self.geometry.as_ref().map_or(0, |g| g.far_bytes() - g.paged_bytes())
    }

    fn within(&self) -> Option<Range<usize>> {
        let geometry = self.geometry.as_ref().ok()?;
        (geometry.width() == EntryWidth::Narrow).then_some(YOUNG_BASE..ADDRESS_LIMIT)
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

    fn run_after(&self, _: &Geometry) -> Box<dyn Fn(Page) -> usize + Send + Sync> {
        let walks = self.walks.clone();
        Box::new(move |page| walks.run_after(page))
    }

    fn chase(&self, options: &HeapOptions) -> Option<Arc<dyn Chase>> {
        let chases = self.table == TableUse::Translation && options.mako.follow_entries;
        chases.then(|| self.leads.clone() as Arc<dyn Chase>)
    }

    fn build(self: Box<Self>, core: Arc<HeapCore>) -> Result<CollectorParts, HeapError> {
        let Plan { geometry, inbox, table, walks, leads, .. } = *self;
        let geometry = geometry.map_err(HeapError::Options)?.based(core.geometry.base);
        leads.set(geometry);
        if table == TableUse::None {
            return Ok(direct::build(core, geometry));
        }
        // Null is translated as every reference is: by the entry of index 0, which no tablet is taken for.
        if !core.space.commit(geometry.entries_at(), PAGE_BYTES) {
            return Err(HeapError::Reserve { bytes: core.geometry.heap_bytes() });
        }
        let generational = core.options.has_nursery(&core.geometry);
        if generational && table != TableUse::Translation {
            let message =
                "-XX:+MakoGenerational needs the table (-XX:+UseHIT, -XX:+UseHITTranslation)";
            return Err(HeapError::Options(message.into()));
        }
        let young = generational.then(|| YoungTable::new(&core.geometry)).transpose();
        let shared = Arc::new(Shared {
            young: young.map_err(HeapError::Options)?,
            entries: Entries::new(geometry, core.geometry.base),
            logged: Logged::new(core.options.mako.satb_buffer),
            evacuations: Evacuations::new(geometry.regions(), geometry.tablets()),
            walks,
            preloader: Preloader::default(),
            touches: Touches::new(&geometry).map_err(HeapError::Pager)?,
            phase: AtomicU64::new(0),
            core: core.clone(),
        });
        if table == TableUse::AssignmentOnly {
            return Ok(assigned::build(shared));
        }
        let collector = Arc::new_cyclic(|me: &Weak<Mako>| Mako {
            allocator: Allocator::new(shared.clone()),
            agents: Agents::new(core.clone(), geometry, inbox.clone()),
            control: Control::new(),
            last_snapshot: Mutex::new(None),
            free_bytes: AtomicUsize::new(core.geometry.heap_bytes()),
            start: Instant::now(),
            lookout: Mutex::default(),
            free_after_full: AtomicUsize::default(),
            threads: Mutex::default(),
            is_running: AtomicBool::new(false),
            nursery: generational.then(|| Nursery::new(shared.clone())),
            me: me.clone(),
            shared: shared.clone(),
            core,
        });
        let barriers: Box<dyn BarrierSet> = match generational {
            true => Box::new(Evaluated(YoungBarriers::new(shared))),
            false => Box::new(Evaluated(MakoBarriers::new(shared))),
        };
        Ok(CollectorParts { barriers, collector })
    }
}

/// The state that barriers and cycle share.
struct Shared {
    core: Arc<HeapCore>,
    entries: Entries,
    logged: Logged<EntryIndex>,
    evacuations: Evacuations,
    walks: Arc<Walks>,
    preloader: Preloader,
    touches: Touches,
    /// The phase of threads that attach now. Written by the cycle before it changes the threads'
    /// own; attaching waits for pauses and handshakes, whose lock orders.
    phase: AtomicU64,
    /// Of a heap with a nursery.
    young: Option<YoungTable>,
}

impl Shared {
    /// Whether an object is young. False for null.
    fn is_young(&self, object: ObjectRef) -> bool {
        let table = self.young.as_ref().filter(|_| !object.is_null());
        table.is_some_and(|table| table.has(object.address()))
    }

    /// Whether a word that was read from a slot names a young object.
    fn names_young(&self, word: EntryIndex) -> bool {
        self.young.is_some() && word.is_young()
    }

    fn pager(&self) -> &Pager {
        self.core.space.pager().expect("Mako has memory servers")
    }

    /// How many regions of each server are free.
    fn free_by_server(&self) -> Vec<usize> {
        let geometry = &self.entries.geometry;
        let mut free = vec![0; geometry.servers()];
        for region in self.core.regions.free_regions() {
            free[geometry.region_server(region)] += 1;
        }
        free
    }

    /// How many free regions may be taken: the others are left to evacuation.
    fn takable_regions(&self) -> usize {
        self.free_by_server().iter().map(|count| count.saturating_sub(allocation::RESERVE)).sum()
    }

    /// Fetches the pages of a tablet that are not resident, since they will be needed one after the other: one
    /// transfer is cheaper than four faults. Returns how many came from its server; the others are new.
    fn bring(&self, tablet: TabletId) -> usize {
        let pages = self.entries.geometry.tablet_pages(tablet);
        let fetched = self.pager().fetch(pages);
        self.pager().populate(pages);
        fetched
    }

    /// Whether a page of a tablet is on its server only. May have changed when it returns.
    fn is_far(&self, tablet: TabletId) -> bool {
        let pages = self.entries.geometry.tablet_pages(tablet);
        pages.pages().any(|page| self.pager().is_remote(page))
    }
}

/// The collector.
struct Mako {
    core: Arc<HeapCore>,
    shared: Arc<Shared>,
    allocator: Allocator,
    agents: Agents,
    control: Control,
    /// Of the cycle before: its tablets must be overwritten on the servers even if they are free
    /// now.
    last_snapshot: Mutex<Option<Snapshot>>,
    /// The bytes that the last cycle left free. The collector's thread only.
    free_bytes: AtomicUsize,
    /// From when on [`Waits`] count.
    start: Instant,
    /// The collector's thread only.
    lookout: Mutex<Lookout>,
    /// Bytes that were free when the last full cycle had ended, before any other thread ran again. Relaxed, a figure.
    free_after_full: AtomicUsize,
    /// The collector's, and the one that fetches pages of entries.
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// A cycle is on. Written by the collector's thread.
    is_running: AtomicBool,
    /// With `-XX:+MakoGenerational`.
    nursery: Option<Nursery>,
    me: Weak<Mako>,
}

impl Mako {
    /// Takes the buffers from a thread, and what it has remembered. By the thread, or with the world stopped.
    fn retire(&self, m: &Mutator) {
        if let Some(nursery) = &self.nursery {
            nursery.allocator.retire(m);
            nursery.table().hand_over(&MakoThread::of(m).remembered);
        }
        self.allocator.retire(m);
    }

    /// An object, if there is memory: with a nursery perhaps after a minor collection, which is a safepoint.
    fn try_allocate(&self, m: &Mutator, request: AllocRequest) -> Option<ObjectRef> {
        let Some(nursery) = &self.nursery else { return self.allocator.allocate(m, request) };
        if request.bytes > self.core.geometry.humongous_bytes() {
            return self.allocator.allocate_old(m, request);
        }
        loop {
            let seen = nursery.collections.load(Ordering::Relaxed);
            if let Some(object) = nursery.allocate(m, request) {
                return Some(object);
            }
            if nursery.has_no_eden()
                && let Some(object) = self.allocator.allocate_old(m, request)
            {
                return Some(object);
            }
            // Another thread's collection may have made room; only one of ours says that there is none.
            let is_needed = || nursery.collections.load(Ordering::Relaxed) == seen;
            if self.collect_minor(Some(m), CollectCause::AllocationFailure, &is_needed) {
                let young = nursery.allocate(m, request);
                return young.or_else(|| self.allocator.allocate_old(m, request));
            }
        }
    }

    /// Runs a cycle that begins now; `m` waits for it in the safe state, which counts as blocked.
    fn collect_and_wait(&self, m: Option<&Mutator>, order: Order) {
        let wait = || self.control.wait(self.control.ask(order));
        match m {
            Some(m) => self.core.safepoints.wait_safe(m, WaitFor::Cycle, wait),
            None => wait(),
        }
    }

    /// The pages that the program has fetched so far, and its waits.
    fn waits(&self) -> Waits {
        let stats = self.shared.pager().stats();
        Waits {
            at: self.start.elapsed(),
            pages: stats.fetch_faults[ThreadClass::Mutator as usize],
            waited: Duration::from_nanos(stats.latencies[FaultCause::Fetch as usize].total_ns),
        }
    }

    /// The collector's thread, when nothing is to be done: whether a cycle that no thread has asked for would make the
    /// program faster. Before, threads note for a while which objects they touch, if that improves it.
    fn is_worth_it(&self) -> bool {
        let sight = Sight {
            now: self.waits(),
            is_noting: self.shared.touches.has_noted(),
            taken: self.allocator.lock().taken(),
            regions: self.core.geometry.regions,
            local: self.shared.pager().budget_pages(),
        };
        let mut lookout = self.lookout.lock();
        let step = lookout.look(&self.core.options.mako, &sight);
        if step == Step::Note {
            self.note_touches(lookout.since(sight.now));
        }
        step == Step::Cycle
    }

    /// From now on, to the beginning of the next cycle, threads note the objects that they touch.
    fn note_touches(&self, since: Waits) {
        self.shared.touches.begin();
        self.core.stats.count("touch_windows", 1);
        self.shared.phase.store(NOTING, Ordering::SeqCst);
        self.core.safepoints.handshake(None, &|m| thread::set_phase(m, NOTING));
        self.core.options.log.line(LogLevel::Info, "gc,touch", || {
            let Waits { at, pages, waited } = since;
            let (at, waited) = (at.as_secs_f64() * 1e3, waited.as_secs_f64() * 1e3);
            format!("Recording touched objects: waited {waited:.0} of {at:.0}ms for {pages} pages")
        });
    }

    /// Starts a thread of the collector.
    fn spawn(&self, name: &str, run: impl FnOnce(&Mako) + Send + 'static) {
        let me = self.me.upgrade().expect("the heap holds the collector");
        let run = move || {
            let _bomb = AbortOnPanic;
            swap::set_thread_class(swap::ThreadClass::Gc);
            run(&me);
        };
        let spawned = std::thread::Builder::new().name(name.into()).spawn(run);
        self.threads.lock().push(spawned.expect("a thread for the collector"));
    }
}

impl Collector for Mako {
    fn metadata(&self) -> Vec<(&'static str, usize)> {
        let mut all = vec![
            ("allocation_bits", self.shared.entries.bits_bytes()),
            ("touched_bits", self.shared.touches.resident_bytes()),
        ];
        // A cycle has it while it lasts.
        let last = self.last_snapshot.try_lock();
        all.extend(last.as_deref().and_then(Option::as_ref).map(|last| ("snapshot", last.bytes())));
        all.extend(self.agents.own_table_bytes());
        all
    }

    fn server_metadata(&self) -> Vec<(&'static str, usize)> {
        self.agents.server_table_bytes()
    }

    fn start(&self) {
        self.nursery.iter().for_each(|nursery| nursery.workers.start());
        self.spawn("Mako", |mako| {
            swap::take_small_slices();
            while let Some(order) = mako.control.next(|| mako.is_worth_it()) {
                mako.run(order);
                let was_asked_for = order.cause != CollectCause::Proactive;
                mako.lookout.lock().cycle_ended(mako.waits(), was_asked_for);
                mako.control.done();
            }
        });
        if self.core.options.mako.entry_preload {
            self.spawn("Mako entries", Mako::preload);
        }
    }

    fn stop(&self) {
        self.control.stop();
        self.shared.preloader.stop();
        for thread in self.threads.lock().drain(..) {
            thread.join().expect("the collector's threads end by themselves");
        }
        self.nursery.iter().for_each(|nursery| nursery.workers.stop());
    }

    fn attached(&self, m: &Mutator) {
        let table = self.shared.entries.base() as u64;
        let phase = self.shared.phase.load(Ordering::SeqCst);
        self.allocator.attach(m, phase, table);
    }

    fn detached(&self, m: &Mutator) {
        self.shared.logged.hand_over(&MakoThread::of(m).logged);
        self.retire(m);
        MakoThread::detach(m);
    }

    fn allocate(&self, m: &Mutator, request: AllocRequest) -> Result<ObjectRef, AllocFailure> {
        if self.allocator.needs_memory(m, request.bytes) && self.allocator.pacer.is_ahead() {
            let wait = || self.allocator.pacer.wait();
            self.core.safepoints.wait_safe(m, WaitFor::Pacer, wait);
        }
        let allocate = || {
            let object = self.try_allocate(m, request);
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
        let concurrent = Order { cause: CollectCause::AllocationFailure, is_full: false };
        let present = self.control.join(concurrent);
        loop {
            let wait = || self.control.wait_freed(present);
            let is_over = self.core.safepoints.wait_safe(m, WaitFor::Cycle, wait);
            if let Some(object) = allocate() {
                return Ok(object);
            }
            if is_over {
                break;
            }
        }
        // That cycle may have begun before the last garbage was made.
        let full = Order { cause: CollectCause::LastDitch, is_full: true };
        for order in [concurrent, full, full, full, full] {
            self.collect_and_wait(Some(m), order);
            if let Some(object) = allocate() {
                return Ok(object);
            }
            // Others may have taken the memory that a full cycle freed before this thread ran again. Was it enough?
            let regions = 1 + self.agents.count() * allocation::RESERVE;
            let least = request.bytes + regions * self.core.geometry.region_bytes();
            if order.is_full && self.free_after_full.load(Ordering::Relaxed) < least {
                break;
            }
        }
        Err(AllocFailure::HeapFull)
    }

    fn collect(&self, m: Option<&Mutator>, cause: CollectCause) {
        if let Some(nursery) = self.nursery.as_ref().filter(|_| cause == CollectCause::Zeal)
            && nursery.collections.load(Ordering::Relaxed) % ZEAL_PERIOD != 0
        {
            self.collect_minor(m, cause, &|| true);
            return;
        }
        if cause == CollectCause::WhiteBoxYoung && self.nursery.is_some() {
            self.collect_minor(m, cause, &|| true);
            return;
        }
        let is_full = cause.clears_soft_references();
        self.collect_and_wait(m, Order { cause, is_full });
    }

    fn is_old(&self, object: ObjectRef) -> bool {
        self.core.region_of(object).usage() != RegionUse::Young
    }

    fn entry(&self, object: ObjectRef) -> u32 {
        early::entry(&self.shared, &self.allocator, object).0
    }

    fn snapshot(&self, world: &WorldStopped, file: File) -> Option<Box<dyn HeapSnapshot>> {
        self.snapshot_heap(world, file)
    }

    fn decode(&self, word: u64) -> ObjectRef {
        match (EntryIndex(word as u32), &self.shared.young) {
            (EntryIndex::NULL, _) => ObjectRef::NULL,
            (young, Some(table)) if young.is_young() => table.object(young.0),
            (entry, _) => self.shared.entries.object(entry),
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
        match self.nursery {
            None => &["Mako"],
            Some(_) => &["Mako", "Mako Young Generation"],
        }
    }

    fn title(&self) -> &'static str {
        "Mako"
    }
}

/// Slots hold entry indices.
const SLOT_BYTES: usize = 4;
/// Under zeal, with a nursery, one collection in this many is an old cycle, which has several minor ones.
const ZEAL_PERIOD: usize = 8;
