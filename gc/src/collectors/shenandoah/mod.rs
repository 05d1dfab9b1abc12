//! Shenandoah: marks and evacuates in this process while the program runs; the baseline of the papers.
//!
//! After the collector of the same name of JDK 12 to 17: not generational, regions, SATB marking, concurrent
//! evacuation behind a load-reference barrier, concurrent update-references. All of it runs in the VM, over the
//! pager, so that the collector's accesses compete with the program's for local memory.
//!
//! # A cycle
//!
//! | step | world | what happens |
//! |---|---|---|
//! | *Init mark* | stopped | buffers are retired; the tops of regions are noted; roots are marked; phase := TRACING |
//! | Marking ([`marking`]) | running | the closure, region by region; overwritten references are logged |
//! | *Final mark* | stopped | references; choice ([`policy`]); objects held by threads copied; phase := FORWARDING |
//! | Freeing | running | regions in which nothing lives |
//! | Evacuation ([`evacuation`]) | running | the rest of the set is copied; barriers copy objects met first |
//! | *Init update refs* | stopped | buffers are retired; words outside the heap are updated; tops are noted |
//! | Update refs ([`update`]) | running | the set's memory is given back; slots that hold old addresses are updated |
//! | Release | handshake | phase := 0; the set's regions become free |
//!
//! If no region is sparse enough to be evacuated, the cycle ends after freeing.
//!
//! # Forwarding
//!
//! The new address of an object is not in its old header but in a table in ordinary memory, found by counting marks
//! ([`forwarding`]). A header would be a page fault for each look, and a dirty page for each object; so the table is
//! used, and the old pages can be given back as soon as everything is copied, before update-refs needs the room
//! (`-XX:ShenandoahForwarding=header` has it as in HotSpot). One compare-and-exchange decides which thread copies an
//! object ([`forward`], model-checked): the loser gives its copy back.
//!
//! # Invariants
//!
//! * *To-space.* No running mutator holds an address of an object that may still move. Final mark establishes it for
//!   threads, the load barrier keeps it. So no thread writes to an object that is not copied yet, and addresses can
//!   be compared as they are.
//! * *Slots* may hold old addresses while the phase is FORWARDING, and only old addresses that they held when it
//!   began, or that were copied with their object: mutators store new ones ([`mod@barriers`] on exchanges, array
//!   copies and clones). So a slot that was updated stays so.
//! * *Snapshot.* Objects that were reachable at init mark are alive for this cycle, and so are objects allocated
//!   since, which lie above the tops that regions had then. Only regions without such new objects are in the
//!   collection set.
//! * *Words outside the heap* behave like slots: barriers resolve the references that they read, init update refs
//!   updates them.
//! * The phase is the thread's own and changes at its safepoints only. Tables are freed, and old regions reused,
//!   after a handshake in which every thread has left the phase.
//!
//! # When memory runs out
//!
//! * *Pacing* ([`pacer`]): threads that allocate faster than the cycle proceeds wait for it, a little.
//! * *Degenerated cycle*: a thread that finds no memory asks the running cycle to hurry; the rest of the cycle is
//!   done in one pause, or a whole cycle if none was running, and the thread waits. If too little is free
//!   afterwards, or if it is the third in a row, a full cycle follows in the same pause.
//! * *Full cycle*: if that was not enough, all is compacted in a pause, by [`serial`]; then again, without soft
//!   references and with humongous objects moved; then the heap is full.
//! * *No memory for a copy*: to-space is as large as the live bytes of the set, and a fifth more. If it still runs
//!   out, the object stays where it is, which is its new address then, and its region is kept.
//!
//! Pinned regions are not in the collection set; humongous objects are freed when dead and moved by full cycles only.
//! Some free regions (5 % of all) are kept from mutators, so that there is always a to-space.
//!
//! # Zeal
//!
//! A thread that asks for a cycle by a zeal option waits only until it has reached one step or another, by turns, and
//! the concurrent steps begin with a short sleep: so barriers meet all phases even with one thread. Every
//! fourth cycle has half of the to-space that it needs, so that objects have to stay where they are.
//!
//! # Aligned with the program: `memliner-shenandoah`
//!
//! [`memliner`] is a layer on marking ([`lined`], [`marking`]), as on G1's, with these differences:
//!
//! * There is no young generation, so the program reports every object whose slot it accesses while marking; objects
//!   above the tops that regions had are dropped in the slow path.
//! * A cycle that does not end in time continues in a pause. Tracers hand back the objects that they have put off,
//!   and the pause traces them without an aligner: no thread touches anything then.
//! * Wide slots have 64 bits, of which addresses take 48, so stamps have room ([`AddressCodec`]); narrow ones have no
//!   stamps. Words outside the heap have them too; forwarding has not, since it holds places and no slots. Updating
//!   an old address to a new one keeps the stamp (array copies, update-references), loading a reference gives it the
//!   current one.
//! * [`evacuation`] has two phases: objects in local memory are copied before the rest.
//!
//! [`memliner`]: crate::collectors::memliner
//! [`serial`]: crate::collectors::serial

mod barriers;
mod check;
mod control;
mod copies;
mod cycle;
mod evacuation;
mod forward;
mod forwarding;
mod lined;
mod marking;
mod pacer;
mod policy;
mod report;
mod thread;
mod update;
mod workers;

pub use policy::region_bytes;

use crate::barrier::BarrierSet;
use crate::barrier::evaluated::Evaluated;
use crate::barrier::satb::{LOG_LENGTH, Logged};
use crate::barrier::slot_form::{NarrowForm, SlotForm, WideForm};
use crate::collectors::memliner::AddressCodec;
use crate::collectors::memliner::barrier::StampedForm;
use crate::collectors::serial::Serial;
use crate::core::allocator::RegionAllocator;
use crate::core::collector::{AllocRequest, Collector, CollectorParts, CollectorPlan};
use crate::core::heap_core::HeapCore;
use crate::core::outcome::{AllocFailure, CollectCause};
use crate::memory::error::HeapError;
use crate::memory::region::RegionUse;
use crate::object::ObjectRef;
use crate::object::codec::{SlotCodec, SlotWidth};
use crate::object::geometry::RegionId;
use crate::object::log::LogLevel;
use crate::options::ForwardingPlace;
use crate::threads::blocked::WaitFor;
use crate::threads::mutator::Mutator;
use crate::threads::thread_data::ThreadData;
use crate::threads::workers::AbortOnPanic;
use control::{Control, Order, Point};
use copies::ToSpace;
use forwarding::Forwarding;
use marking::Marking;
use pacer::Pacer;
use parking_lot::Mutex;
use policy::Trigger;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Instant;
use thread::ShenandoahThread;

/// Shenandoah needs nothing but regions.
pub struct Plan {
    /// It is aligned with the program ([`memliner`](crate::collectors::memliner)).
    pub is_lined: bool,
}

impl CollectorPlan for Plan {
    fn build(self: Box<Self>, core: Arc<HeapCore>) -> Result<CollectorParts, HeapError> {
        let is_large = core.geometry.heap_bytes() > forwarding::NARROW_HEAP_BYTES_MAX;
        let place = core.options.shenandoah.forwarding;
        if is_large && place == ForwardingPlace::Header {
            let name = core.options.collector.name();
            let message = format!(
                "{name} with -XX:ShenandoahForwarding=header supports heaps below 32 GB only"
            );
            return Err(HeapError::Options(message));
        }
        // An option that asks for wide slots implies all of the wide form.
        let is_wide = is_large || core.options.compressed_oops == Some(false);
        let pacer = Arc::new(Pacer::new(&core.options.shenandoah));
        let shared = Arc::new(Shared {
            codec: AddressCodec::new(core.slot_width, 0),
            marking: Marking::new(core.clone(), pacer.clone(), self.is_lined),
            forwarding: Forwarding::new(core.geometry, place, is_wide),
            to_space: ToSpace::new(core.clone()),
            logged: Logged::new(LOG_LENGTH),
            kept: core.geometry.all_regions().map(|_| AtomicBool::new(false)).collect(),
            phase: AtomicU64::new(0),
            pacer,
            core: core.clone(),
        });
        let title = if self.is_lined { "MemLiner-Shenandoah" } else { "Shenandoah" };
        let barriers = barriers(&shared);
        let collector = Arc::new_cyclic(|me: &Weak<Shenandoah>| {
            let heap_bytes = core.geometry.heap_bytes();
            let collector = Shenandoah {
                compactor: Serial::over(core.clone(), shared.codec, title),
                title,
                control: Control::new(),
                trigger: Trigger::new(core.options.shenandoah, heap_bytes),
                free_bytes: AtomicUsize::new(heap_bytes),
                used_bytes: AtomicUsize::new(0),
                copied_bytes: AtomicUsize::new(0),
                live_bytes: AtomicUsize::new(heap_bytes / 10),
                free_after_full: AtomicUsize::new(0),
                looked: AtomicU64::new(0),
                zeals: AtomicUsize::new(0),
                thread: Mutex::new(None),
                me: me.clone(),
                shared,
                core,
            };
            collector.allocator().set_limit(collector.limit_bytes());
            collector
        });
        Ok(CollectorParts { barriers, collector })
    }
}

/// Those of Shenandoah alone, or with MemLiner's additions.
fn barriers(shared: &Arc<Shared>) -> Box<dyn BarrierSet> {
    fn boxed<const TELLS: bool, F: SlotForm>(shared: &Arc<Shared>) -> Box<dyn BarrierSet> {
        Box::new(Evaluated(barriers::ShenandoahBarriers::<TELLS, F>::new(shared.clone())))
    }
    let lined = shared.marking.lined.as_ref();
    let stamps = lined.is_some_and(|lined| lined.memliner.stamps());
    let tells = lined.is_some() && shared.core.options.memliner.queue;
    match (tells, shared.core.slot_width) {
        (false, SlotWidth::Narrow) => boxed::<false, NarrowForm>(shared),
        (true, SlotWidth::Narrow) => boxed::<true, NarrowForm>(shared),
        (false, SlotWidth::Wide) if stamps => boxed::<false, StampedForm>(shared),
        (true, SlotWidth::Wide) if stamps => boxed::<true, StampedForm>(shared),
        (false, SlotWidth::Wide) => boxed::<false, WideForm>(shared),
        (true, SlotWidth::Wide) => boxed::<true, WideForm>(shared),
    }
}

/// The state that barriers and cycle share.
struct Shared {
    core: Arc<HeapCore>,
    /// How slots are read: under MemLiner references may have stamps. References that the collector writes itself
    /// have none.
    codec: AddressCodec,
    marking: Marking,
    forwarding: Forwarding,
    to_space: ToSpace,
    logged: Logged<ObjectRef>,
    pacer: Arc<Pacer>,
    /// By region of the collection set: an object stays in it, for want of memory. Relaxed; a pause orders.
    kept: Box<[AtomicBool]>,
    /// The phase of threads that attach now. Written by the cycle before it changes the threads' own; attaching waits
    /// for pauses and handshakes, whose lock orders.
    phase: AtomicU64,
}

impl Shared {
    /// `MemLiner::refresh`: on the thread itself, or in a pause or handshake on its behalf.
    fn refresh(&self, m: &Mutator) {
        if let Some(lined) = &self.marking.lined {
            lined.memliner.refresh(m, ShenandoahThread::of(m).touched.as_deref());
        }
    }

    fn keep(&self, region: RegionId) {
        self.kept[region.index()].store(true, Ordering::Relaxed);
    }

    fn is_kept(&self, region: RegionId) -> bool {
        self.kept[region.index()].load(Ordering::Relaxed)
    }
}

/// The collector.
struct Shenandoah {
    core: Arc<HeapCore>,
    shared: Arc<Shared>,
    /// Has the allocator, and does full cycles.
    compactor: Serial<AddressCodec>,
    /// Its name in the log.
    title: &'static str,
    control: Control,
    trigger: Trigger,
    /// The bytes that the last cycle left free and in use, and that it found alive; a guess before the first. The
    /// collector's thread only.
    free_bytes: AtomicUsize,
    used_bytes: AtomicUsize,
    /// Room for the copies of all objects that the last cycle would have evacuated. As above.
    copied_bytes: AtomicUsize,
    live_bytes: AtomicUsize,
    /// Bytes that mutators could have when the last full collection had ended, before any of them ran. Relaxed.
    free_after_full: AtomicUsize,
    /// How much had been allocated, in steps of `LOOK_BYTES`, when a thread last checked whether it is time for a
    /// cycle. Relaxed, a hint.
    looked: AtomicU64,
    /// Cycles asked for by zeal options.
    zeals: AtomicUsize,
    thread: Mutex<Option<JoinHandle<()>>>,
    me: Weak<Shenandoah>,
}

impl Shenandoah {
    fn allocator(&self) -> &RegionAllocator {
        self.compactor.allocator()
    }

    /// The bytes that mutators may use: some regions are left to evacuation.
    fn limit_bytes(&self) -> usize {
        let geometry = &self.core.geometry;
        (geometry.regions - self.reserved_regions()) * geometry.region_bytes()
    }

    fn reserved_regions(&self) -> usize {
        let wish = self.core.geometry.regions * self.core.options.shenandoah.reserve_percent / 100;
        wish.clamp(1, self.core.geometry.regions / 2)
    }

    /// Free memory that mutators may use: regions, and the memory behind the tops of others.
    fn available_bytes(&self) -> usize {
        self.allocator().available_bytes()
    }

    /// Regions with room behind their tops.
    fn open_regions(&self) -> impl Iterator<Item = RegionId> {
        let region_bytes = self.core.geometry.region_bytes();
        let regions = self.core.regions.iter().filter(move |(_, region)| {
            let room = region_bytes.saturating_sub(region.top());
            region.usage() == RegionUse::Objects && room >= region_bytes / OPEN_SHARE
        });
        regions.map(|(id, _)| id)
    }

    /// Allocates if there is memory. May wait, safe, so that the cycle keeps pace.
    fn try_allocate(&self, m: &Mutator, request: AllocRequest) -> Option<ObjectRef> {
        let pacer = &self.shared.pacer;
        self.shared.refresh(m);
        if pacer.is_overdrawn() {
            let bytes = m.tlab_bytes.get().max(request.bytes);
            self.core.safepoints.wait_safe(m, WaitFor::Pacer, || pacer.wait(bytes));
            self.core.stats.count("paced", 1);
        }
        self.allocate_now(m, request)
    }

    /// As `try_allocate`, without waiting: for a thread that has waited for a cycle.
    fn allocate_now(&self, m: &Mutator, request: AllocRequest) -> Option<ObjectRef> {
        let pacer = &self.shared.pacer;
        let before = m.tlab_start.get();
        let object = self.allocator().allocate(m, request);
        let taken = match m.tlab_start.get() == before {
            true => request.bytes,
            false => m.tlab_end.get() - m.tlab_start.get(),
        };
        pacer.pay(taken);
        let allocated = self.core.allocated_bytes.load(Ordering::Relaxed);
        let step = allocated / self.look_bytes();
        if self.looked.swap(step, Ordering::Relaxed) != step {
            self.look_ahead(allocated);
        }
        object
    }

    /// Begins a cycle if it is time.
    fn look_ahead(&self, allocated: u64) {
        if self.control.is_busy() {
            return;
        }
        let free = self.available_bytes();
        if let Some(reason) = self.trigger.reason(free, allocated, Instant::now()) {
            self.core.options.log.line(LogLevel::Info, "gc", || {
                format!("Trigger: {reason}; {}M are free", free >> 20)
            });
            // The collector's thread may not run at once.
            self.shared.pacer.hold_up(free);
            self.control.suggest(CollectCause::AllocationFailure);
        }
    }

    /// How often it is asked whether it is time for a cycle: looking takes a word of each region.
    fn look_bytes(&self) -> u64 {
        (self.core.geometry.heap_bytes() as u64 / LOOKS).max(LOOK_BYTES_MIN)
    }

    fn wait(&self, m: Option<&Mutator>, until: impl FnOnce()) {
        match m {
            Some(m) => self.core.safepoints.wait_safe(m, WaitFor::Cycle, until),
            None => until(),
        }
    }
}

impl Collector for Shenandoah {
    fn metadata(&self) -> Vec<(&'static str, usize)> {
        vec![
            ("mark_bits", self.shared.marking.bits_bytes()),
            ("forwarding_at_most", self.shared.forwarding.most_bytes()),
        ]
    }

    fn start(&self) {
        let me = self.me.upgrade().expect("the heap holds the collector");
        let run = move || {
            let _bomb = AbortOnPanic;
            swap::set_thread_class(swap::ThreadClass::Gc);
            while let Some(order) = me.control.next() {
                me.run(order);
                me.control.done();
            }
        };
        let spawned = std::thread::Builder::new().name(self.title.into()).spawn(run);
        *self.thread.lock() = Some(spawned.expect("a thread for the collector"));
    }

    fn stop(&self) {
        self.control.stop();
        if let Some(thread) = self.thread.lock().take() {
            thread.join().expect("the collector's thread ends by itself");
        }
    }

    fn attached(&self, m: &Mutator) {
        let lined = self.shared.marking.lined.as_ref();
        let touched = lined.map(|lined| lined.memliner.add_queue());
        thread::attach(m, self.shared.phase.load(Ordering::SeqCst), touched);
        self.shared.refresh(m);
    }

    fn detached(&self, m: &Mutator) {
        self.shared.logged.hand_over(&ShenandoahThread::of(m).logged);
        self.shared.to_space.retire(&ShenandoahThread::of(m).copies);
        self.allocator().retire(m);
        let queue = ShenandoahThread::detach(m).touched;
        if let (Some(lined), Some(queue)) = (&self.shared.marking.lined, queue) {
            lined.memliner.remove_queue(&queue);
        }
    }

    fn allocate(&self, m: &Mutator, request: AllocRequest) -> Result<ObjectRef, AllocFailure> {
        if let Some(object) = self.try_allocate(m, request) {
            return Ok(object);
        }
        let regions = self.core.geometry.regions;
        if request.bytes.div_ceil(self.core.geometry.region_bytes()) > regions {
            return Err(AllocFailure::HeapFull);
        }
        for _ in 0..HURRIES {
            let hurried = self.control.hurry(CollectCause::AllocationFailure);
            self.wait(Some(m), || self.control.wait(hurried));
            if let Some(object) = self.allocate_now(m, request) {
                return Ok(object);
            }
        }
        let causes = [CollectCause::AllocationFailure].into_iter();
        for cause in causes.chain([CollectCause::LastDitch; LAST_DITCHES]) {
            let full = self.control.ask(Order { cause, is_full: true });
            self.wait(Some(m), || self.control.wait(full));
            if let Some(object) = self.allocate_now(m, request) {
                return Ok(object);
            }
            // Others may have taken the memory that it freed before this thread ran again. Was it enough?
            let least = request.bytes + self.core.geometry.region_bytes();
            let is_last = cause == CollectCause::LastDitch;
            if is_last && self.free_after_full.load(Ordering::Relaxed) < least {
                break;
            }
        }
        Err(AllocFailure::HeapFull)
    }

    fn collect(&self, m: Option<&Mutator>, cause: CollectCause) {
        let is_full = cause.clears_soft_references();
        let cycle = self.control.ask(Order { cause, is_full });
        if cause == CollectCause::Zeal {
            let points = [Point::Marking, Point::Evacuating, Point::Updating];
            let turn = self.zeals.fetch_add(1, Ordering::Relaxed) % (points.len() + 1);
            if let Some(point) = points.get(turn) {
                return self.wait(m, || self.control.wait_point(cycle, *point));
            }
        }
        self.wait(m, || self.control.wait(cycle));
    }

    fn decode(&self, word: u64) -> ObjectRef {
        self.shared.codec.decode(word)
    }

    fn pin(&self, object: ObjectRef) {
        self.core.region_of(object).pin();
    }

    fn unpin(&self, object: ObjectRef) {
        self.core.region_of(object).unpin();
    }

    fn beans(&self) -> &'static [&'static str] {
        &["Shenandoah Cycles"]
    }

    fn pool(&self) -> &'static str {
        "Shenandoah"
    }

    fn title(&self) -> &'static str {
        self.title
    }
}

/// A region is allocated from again if one part in this many of it is free behind its top.
const OPEN_SHARE: usize = 16;
/// The number of checks whether it is time for a cycle while as many bytes as the heap has are allocated.
const LOOKS: u64 = 1024;
const LOOK_BYTES_MIN: u64 = 256 << 10;
/// Cycles in a pause that a thread asks for before it asks for a full one: others may have taken the memory that one
/// has freed.
const HURRIES: usize = 2;
/// Last full collections that it asks for, as long as each leaves enough and others take it.
const LAST_DITCHES: usize = 4;
