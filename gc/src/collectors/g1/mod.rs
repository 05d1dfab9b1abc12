//! G1: generations of regions, marking beside the program, stop-the-world evacuation by several workers. The
//! baseline of the papers, after HotSpot's collector of that name: it implements what that collector's documentation
//! describes, with the same options and defaults. The last section lists the differences.
//!
//! # The idea
//!
//! ```text
//!  eden --+                       +--> eden again (free)
//!         +-- young pause --> survivor --(age)--> old -- mixed pause --> old, denser
//!  survivor                                        ^ marking says which are sparse
//! ```
//!
//! * **Young pause.** When eden has its regions ([`policy`]), the world stops and every live object of
//!   young regions is copied out ([`evacuation`]): to survivor regions, or old ones when it has survived often
//!   enough. The regions are free then. Roots are threads, off-heap slots and old objects on dirty cards.
//! * **Marking.** When old regions take much of the heap, a young pause also begins a [`marking`]: beside the
//!   program, live objects of old and humongous regions are marked. A short pause ends it.
//! * **Mixed pauses.** Young pauses that evacuate old regions too, those that the marking found sparse, some
//!   in each pause. Their roots include the cards in their [remembered sets](remembered).
//! * **Full collection.** The last resort, `System.gc()` too: Serial's compaction
//!   ([`FullCollection`](crate::collectors::serial::full::FullCollection)), after which everything is old.
//!
//! # Where things are
//!
//! * *Forwarding and age*: in the header ([`header`]). In a pause the header of a copied object is its new address.
//! * *Cards* ([`cards`]): one byte for 512 bytes. A dirty card is the only record of references to young objects: no
//!   remembered set of young regions is needed, since they always move. Barriers write cards without fence or queue;
//!   see [`mod@barriers`].
//! * *Remembered sets* ([`remembered`]): of old and humongous regions, always complete, bounded to a sixteenth
//!   of the heap. Pauses fill them: with the references that they find on dirty cards, and with the slots of objects
//!   that they copy to old regions.
//! * *Starts* ([`starts`]): where to begin to walk when one card is to be looked at.
//! * *Marks*: two bitmaps, one of the running marking, one of the last, which says which objects are dead: the slots
//!   of dead objects are never followed, since their referents may have been freed.
//!
//! All of that is ordinary memory: over far memory no page is fetched for the collector's own tables.
//!
//! # Invariants
//!
//! * *Books.* Outside of pauses, for each slot of an old or humongous object that is not known to be dead, and
//!   that refers to another region: the card is dirty, or the region is old and its remembered set has the
//!   card. [`verify`] proves it before and after each pause.
//! * *Snapshot.* Everything that was alive when a marking began is marked when it ends, or young, or newer:
//!   references that threads overwrite are logged. Nothing of the snapshot moves before the end. Young objects are
//!   not traced through: at the beginning they are all copied, and their referents in the snapshot are grey at
//!   once, referents of references included.
//! * *Places.* A card holds objects of one pause and one worker only ([`destination`]), so clearing cards
//!   while other workers dirty them loses nothing.
//! * *Dead is never followed.* A region is freed only if the marking found all of it dead, or its live objects have
//!   moved.
//!
//! # When there is no memory to copy to
//!
//! The object is left where it is and marked so in its header; its region becomes old at the end of the pause
//! ([`retained`]). Pinned regions are treated alike. If the pause gained nothing, a full collection follows.
//!
//! # References
//!
//! Each kind of pause and the marking discover [`References`](crate::tracing::references::References) in the regions
//! that they collect, and clear those whose referents they find dead. A young pause takes old referents for
//! alive; the beginning of a marking keeps those that young references refer to. A reference that stays where it
//! is is strong in a pause: whether it lives is not known, and enqueueing it would bring it back to life unnoticed by
//! the running marking.
//!
//! # What differs from HotSpot
//!
//! * Cards are looked at in pauses only, never beside the program. Refinement threads would take from the
//!   program, on few cores and over far memory, what they save in the pause: a card that was written is in
//!   local memory when the pause comes. In return barriers need no fence, and no queue.
//! * Remembered sets are kept for all old regions, not rebuilt after a marking for those that will move: the
//!   second walk over the heap would fetch all of it again.
//! * Eden is at most half of local memory (`-XX:G1LocalEdenPercent`, [`policy`]): a nursery that is evicted to memory
//!   servers and fetched again is of no use.
//! * A marking is not begun again before old regions have grown: see [`policy`].
//! * Humongous objects are freed by a marking or a full collection only, not in young pauses; a full collection is
//!   one thread's work.

mod barriers;
mod cards;
mod collect;
mod destination;
pub(in crate::collectors) mod elsewhere;
mod evacuation;
mod evacuator;
pub(in crate::collectors) mod gate;
pub(in crate::collectors) mod header;
mod marking;
mod occupancy;
mod policy;
pub(in crate::collectors) mod remembered;
mod retained;
mod starts;
pub(in crate::collectors) mod tables;
mod thread;
mod tracer;
mod verify;

use crate::barrier::BarrierSet;
use crate::barrier::evaluated::Evaluated;
use crate::barrier::slot_form::{NarrowForm, SlotForm, WideForm};
use crate::collectors::memliner::barrier::StampedForm;
use crate::collectors::serial::plan::prefix_table;
use crate::core::allocator::RegionAllocator;
use crate::core::collector::{AllocRequest, Collector, CollectorParts, CollectorPlan};
use crate::core::heap_core::HeapCore;
use crate::core::outcome::{AllocFailure, CollectCause};
use crate::core::stats::YoungBytes;
use crate::memory::error::HeapError;
use crate::memory::region::RegionUse;
use crate::memory::zeroed::Zeroed;
use crate::object::ObjectRef;
use crate::object::codec::{SlotCodec, SlotWidth};
use crate::options::G1Options;
use crate::threads::mutator::Mutator;
use crate::threads::thread_data::ThreadData;
use crate::threads::workers::Workers;
use barriers::G1Barriers;
use collect::Scope;
use destination::Destination;
use elsewhere::Elsewhere;
use marking::Marking;
use parking_lot::Mutex;
use policy::Policy;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use tables::{Kind, Tables};
use thread::G1Thread;

/// G1 needs nothing but regions.
pub struct G1Plan {
    /// Its marking is aligned with the program ([`memliner`](crate::collectors::memliner)).
    pub is_lined: bool,
}

impl CollectorPlan for G1Plan {
    fn build(self: Box<Self>, core: Arc<HeapCore>) -> Result<CollectorParts, HeapError> {
        let variant = Variant {
            title: if self.is_lined { "MemLiner-G1" } else { "G1" },
            allocation_cause: match self.is_lined {
                true => "MemLiner-G1 Evacuation Pause",
                false => "G1 Evacuation Pause",
            },
            concurrent_title: "G1 Conc",
            beans: &["G1 Young Generation", "G1 Old Generation"],
            options: core.options.g1,
            growth_percent: GROWTH_PERCENT,
            is_lined: self.is_lined,
            elsewhere: None,
        };
        Ok(build(core, variant))
    }
}

/// The parts in which collectors with G1's generations and pauses differ.
pub(in crate::collectors) struct Variant {
    /// Its name in the log.
    pub title: &'static str,
    /// Why a young pause is run, when memory is short.
    pub allocation_cause: &'static str,
    /// Of the threads that mark beside the program.
    pub concurrent_title: &'static str,
    pub beans: &'static [&'static str],
    pub options: G1Options,
    /// Between two markings old regions grow by at least this percentage of the heap.
    pub growth_percent: usize,
    /// Whether markings are aligned with the program.
    pub is_lined: bool,
    /// The tracer of markings, if not this process.
    pub elsewhere: Option<Box<dyn Elsewhere>>,
}

/// Makes the collector of a heap.
pub(in crate::collectors) fn build(core: Arc<HeapCore>, mut variant: Variant) -> CollectorParts {
    let elsewhere = variant.elsewhere.take();
    let tables = Arc::new(Tables::new(core.clone(), elsewhere.is_some(), variant.is_lined));
    let taking = tables.clone();
    let take = move || {
        let region = taking.core.regions.take(RegionUse::Objects)?;
        taking.begin(region, Kind::Eden);
        Some(region)
    };
    let allocator = RegionAllocator::taking(core.clone(), Box::new(take));
    let barriers = barriers(&tables);
    let policy = Policy::new(&tables, variant.options, variant.growth_percent);
    let collector = Arc::new_cyclic(|me: &Weak<G1>| G1 {
        allocator,
        survivors: Destination::new(Kind::Survivor),
        olds: Destination::new(Kind::Old),
        workers: Workers::new(variant.title, core.options.parallel_threads()),
        marking: Marking::new(
            variant.concurrent_title,
            core.options.concurrent_threads(),
            elsewhere,
        ),
        prefix: Mutex::new(prefix_table(&core.geometry)),
        free_bytes: AtomicUsize::new(core.geometry.heap_bytes()),
        pauses: AtomicU64::new(0),
        policy: Mutex::new(policy),
        thread: Mutex::new(None),
        me: me.clone(),
        variant,
        tables,
        core,
    });
    collector.limit_eden(&collector.policy.lock());
    CollectorParts { barriers, collector }
}

/// The collector.
struct G1 {
    core: Arc<HeapCore>,
    variant: Variant,
    tables: Arc<Tables>,
    /// Of eden and humongous objects.
    allocator: RegionAllocator,
    survivors: Destination,
    olds: Destination,
    /// Of pauses; the first is the thread that asked.
    workers: Workers,
    marking: Marking,
    policy: Mutex<Policy>,
    /// Of full collections.
    prefix: Mutex<Zeroed<u32>>,
    /// The bytes that the last pause left free; for the soft reference policy. Relaxed.
    free_bytes: AtomicUsize,
    /// Pauses that have collected something. Changes in pauses; relaxed.
    pauses: AtomicU64,
    thread: Mutex<Option<JoinHandle<()>>>,
    me: Weak<G1>,
}

impl Collector for G1 {
    fn start(&self) {
        self.workers.start();
        self.marking.workers.start();
        let me = self.me.upgrade().expect("the heap holds the collector");
        let spawned = std::thread::Builder::new()
            .name(format!("{} Main Marker", self.variant.title))
            .spawn(move || me.run_markings());
        *self.thread.lock() = Some(spawned.expect("a thread for the collector"));
    }

    fn stop(&self) {
        self.marking.stop();
        if let Some(thread) = self.thread.lock().take() {
            thread.join().expect("the collector's thread ends by itself");
        }
        self.marking.workers.stop();
        self.workers.stop();
    }

    fn attached(&self, m: &Mutator) {
        let lined = self.tables.lined.as_ref();
        let touched = lined.map(|lined| lined.memliner.add_queue());
        thread::attach(m, self.tables.phase.load(Ordering::SeqCst), touched);
        self.tables.refresh(m);
    }

    fn detached(&self, m: &Mutator) {
        self.tables.logged.hand_over(&G1Thread::of(m).logged);
        self.allocator.retire(m);
        if let (Some(lined), Some(queue)) = (&self.tables.lined, G1Thread::detach(m).touched) {
            lined.memliner.remove_queue(&queue);
        }
    }

    fn allocate(&self, m: &Mutator, request: AllocRequest) -> Result<ObjectRef, AllocFailure> {
        use CollectCause::{AllocationFailure, LastDitch};
        let attempts = [
            (Scope::Young, AllocationFailure),
            (Scope::Full, AllocationFailure),
            (Scope::Full, LastDitch),
        ];
        self.tables.refresh(m);
        self.mark_before_large(m, request.bytes);
        for (scope, cause) in attempts {
            loop {
                let seen = self.pauses.load(Ordering::Relaxed);
                if let Some(object) = self.try_allocate(m, request, Reserve::Kept) {
                    return Ok(object);
                }
                // Another thread's pause may have made room; only one of ours says that there is none.
                if self
                    .pause(Some(m), cause, scope, &|| self.pauses.load(Ordering::Relaxed) == seen)
                {
                    break;
                }
            }
            let reserve = if scope == Scope::Full { Reserve::Used } else { Reserve::Kept };
            if let Some(object) = self.try_allocate(m, request, reserve) {
                return Ok(object);
            }
        }
        Err(AllocFailure::HeapFull)
    }

    fn collect(&self, m: Option<&Mutator>, cause: CollectCause) {
        let scope = match cause {
            CollectCause::Zeal
                if !self.pauses.load(Ordering::Relaxed).is_multiple_of(collect::ZEAL_PERIOD) =>
            {
                Scope::Young
            }
            // A marking begins with a young pause. If one is running, it will do.
            CollectCause::ClassMemory if self.marking.finds_dead_holders(&self.core.options) => {
                Scope::Young
            }
            CollectCause::WhiteBoxYoung | CollectCause::WhiteBoxMarking => Scope::Young,
            _ => Scope::Full,
        };
        self.pause(m, cause, scope, &|| true);
    }

    fn decode(&self, word: u64) -> ObjectRef {
        self.tables.codec().decode(word)
    }

    fn pin(&self, object: ObjectRef) {
        self.core.region_of(object).pin();
    }

    fn unpin(&self, object: ObjectRef) {
        self.core.region_of(object).unpin();
    }

    fn metadata(&self) -> Vec<(&'static str, usize)> {
        let mut all = self.tables.metadata();
        // A full collection has it while it lasts.
        all.extend(self.prefix.try_lock().map(|prefix| ("live_before", prefix.resident_bytes())));
        all
    }

    fn server_metadata(&self) -> Vec<(&'static str, usize)> {
        self.marking.server_table_bytes()
    }

    fn card(&self, address: usize) -> Option<&AtomicU8> {
        Some(self.tables.cards.card(address))
    }

    fn is_old(&self, object: ObjectRef) -> bool {
        !self.tables.kind(self.tables.region_of(object)).is_young()
    }

    fn is_marking(&self) -> bool {
        !self.marking.may_begin()
    }

    fn is_known_dead(&self, object: ObjectRef) -> bool {
        self.tables.is_dead(object)
    }

    fn beans(&self) -> &'static [&'static str] {
        self.variant.beans
    }

    fn pool(&self) -> &'static str {
        "G1 Old Gen"
    }

    fn young_pools(&self) -> Option<[&'static str; 2]> {
        Some(["G1 Eden Space", "G1 Survivor Space"])
    }

    fn young_bytes(&self) -> YoungBytes {
        self.tables.young_bytes()
    }

    fn title(&self) -> &'static str {
        self.variant.title
    }
}

/// Whether humongous objects may take the regions that pauses copy to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reserve {
    Kept,
    Used,
}

/// Those of G1 alone, or with MemLiner's additions.
fn barriers(tables: &Arc<Tables>) -> Box<dyn BarrierSet> {
    fn boxed<const TELLS: bool, F: SlotForm>(tables: &Arc<Tables>) -> Box<dyn BarrierSet> {
        Box::new(Evaluated(G1Barriers::<TELLS, F>::new(tables.clone())))
    }
    let stamps = tables.lined.as_ref().is_some_and(|lined| lined.memliner.stamps());
    let tells = tables.lined.is_some() && tables.core.options.memliner.queue;
    match (tells, tables.core.slot_width) {
        (false, SlotWidth::Narrow) => boxed::<false, NarrowForm>(tables),
        (true, SlotWidth::Narrow) => boxed::<true, NarrowForm>(tables),
        (false, SlotWidth::Wide) if stamps => boxed::<false, StampedForm>(tables),
        (true, SlotWidth::Wide) if stamps => boxed::<true, StampedForm>(tables),
        (false, SlotWidth::Wide) => boxed::<false, WideForm>(tables),
        (true, SlotWidth::Wide) => boxed::<true, WideForm>(tables),
    }
}

impl G1 {
    fn try_allocate(
        &self,
        m: &Mutator,
        request: AllocRequest,
        reserve: Reserve,
    ) -> Option<ObjectRef> {
        let geometry = &self.core.geometry;
        if request.bytes <= geometry.humongous_bytes() {
            return self.allocator.allocate(m, request);
        }
        let count = request.bytes.div_ceil(geometry.region_bytes());
        let spare = geometry.regions * self.variant.options.reserve_percent / 100;
        if reserve == Reserve::Kept && self.core.regions.free_count() < count + spare {
            return None;
        }
        // Humongous regions are not eden's.
        self.allocator.change_limit(count as isize);
        let allocated = self.allocator.allocate(m, request);
        match allocated {
            Some(object) => self.tables.begin_humongous(object, request.bytes),
            None => self.allocator.change_limit(-(count as isize)),
        }
        allocated
    }

    /// Large objects are allocated in old regions at once; if these get many, a marking begins, for which there must
    /// be a pause.
    fn mark_before_large(&self, m: &Mutator, bytes: usize) {
        let is_time =
            || self.marking.may_begin() && self.policy.lock().is_time_to_mark(&self.tables);
        if bytes > self.core.geometry.humongous_bytes() && is_time() {
            self.pause(Some(m), CollectCause::AllocationFailure, Scope::Young, &is_time);
        }
    }
}

/// Between two markings: objects that are still alive are not traced again and again.
const GROWTH_PERCENT: usize = 3;
