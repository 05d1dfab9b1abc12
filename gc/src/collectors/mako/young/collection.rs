//! A minor collection, world stopped: the young objects that something refers to are copied or promoted.
//!
//! ```text
//! worker 0           threads, off-heap slots --+
//! every worker       remembered slots, some at a time ---+---> deque of slots ---> copy, scan the copy
//!                              +-------------------------+          ^                     |
//!                                                                   +---------------------+
//! ```
//!
//! A worker without slots takes remembered ones, then steals slots, until no worker has any ([`Stealing`]). The
//! following steps are done by one worker: references, weak slots, early entries.
//!
//! No entry is read, so it does not matter which tablets are at agents, and which objects are about to move: slots of
//! old objects that name other old objects are left alone.

use super::evacuator::Evacuator;
use super::nursery::{self, Nursery};
use super::table::{YoungCodec, YoungTable, is_name};
use crate::collectors::g1::header::Header;
use crate::collectors::mako::allocation::{self, Allocator};
use crate::collectors::mako::thread::MakoThread;
use crate::collectors::mako::{Mako, SLOT_BYTES, Shared};
use crate::core::outcome::CollectCause;
use crate::core::verify;
use crate::object::codec::SlotCodec;
use crate::object::geometry::RegionId;
use crate::object::layout::ReferenceKind;
use crate::object::log::LogLevel;
use crate::object::{ObjectRef, RootSlot};
use crate::threads::mutator::{Mutator, WorldStopped};
use crate::threads::stealing::Stealing;
use crate::threads::thread_data::ThreadData;
use crate::tracing::references::{COUNTERS, Discovered, References};
use crossbeam_deque::Worker as Deque;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use swap::{Activity, ThreadClass, during, set_thread_class};

/// The parameters of a minor collection.
pub struct Order {
    /// Nothing stays young that can be promoted: an old cycle is at a point where that is needed.
    pub promotes_all: bool,
    /// Objects that have survived this many collections become old.
    pub tenuring_age: u32,
}

/// The result of a minor collection.
#[derive(Default)]
pub struct Outcome {
    pub survived_bytes: usize,
    pub promoted_bytes: usize,
    /// Bytes of survivors by age.
    pub ages: [usize; AGES],
    /// Objects left where they were.
    pub left: Vec<ObjectRef>,
    /// Slots of old objects that refer to young ones.
    pub remembered: Vec<usize>,
    /// Strings that are candidates for deduplication.
    pub strings: Vec<ObjectRef>,
    /// Cleared or revived, by kind: soft, weak, final, phantom.
    pub references: [u64; 4],
}

/// Ages that an object's header can hold.
pub const AGES: usize = 16;

/// The state that the workers share.
pub struct Collection<'a> {
    pub shared: &'a Shared,
    pub table: &'a YoungTable,
    pub allocator: &'a Allocator,
    pub survivors: &'a Survivors<'a>,
    pub order: Order,
    nursery: &'a Nursery,
    codec: YoungCodec<'a>,
    remembered: Vec<usize>,
    /// The first remembered slot that no worker has taken.
    next: AtomicUsize,
    stealing: Stealing<usize>,
    results: Mutex<(Outcome, References)>,
}

/// Where survivors are copied to.
pub struct Survivors<'a> {
    shared: &'a Shared,
    current: Mutex<Option<RegionId>>,
}

impl Survivors<'_> {
    /// Memory for at least `least` bytes, better `wish`: address and length. `None` when no region is free.
    pub fn chunk(&self, least: usize, wish: usize) -> Option<(usize, usize)> {
        let core = &self.shared.core;
        let mut current = self.current.lock();
        let room = |id| allocation::room(self.shared, id);
        if current.is_none_or(|id| room(id) < least) {
            *current = Some(nursery::take(self.shared, true)?);
        }
        let id = current.expect("chosen above");
        let region = core.regions.region(id);
        let (top, length) = (region.top(), wish.clamp(least, room(id)));
        region.set_top(top + length);
        Some((core.geometry.region_start(id) + top, length))
    }
}

impl Mako {
    /// Stops the world for a minor collection, if `wanted` still says so then. Returns the result of `wanted`. `m` is
    /// the calling mutator, running; a safepoint for it.
    pub(in crate::collectors::mako) fn collect_minor(
        &self,
        m: Option<&Mutator>,
        cause: CollectCause,
        wanted: &dyn Fn() -> bool,
    ) -> bool {
        let class = set_thread_class(ThreadClass::Gc);
        let fetched = self.core.pages_fetched();
        let collect = |world: &WorldStopped| {
            let is_wanted = wanted();
            if is_wanted {
                self.collect_young(world, Some(cause));
            }
            is_wanted
        };
        let (is_done, times) = self.core.safepoints.stop_world(m, collect);
        set_thread_class(class);
        if is_done {
            let fetched = self.core.pages_fetched() - fetched;
            self.core.record_pause(("Pause Young", "MakoCollectYoung"), times, fetched);
        }
        is_done
    }

    /// A minor collection, of all young objects if it has no `cause` of its own but belongs to an old cycle. Returns
    /// the objects that are still young after one of an old cycle, empty without a nursery.
    pub(in crate::collectors::mako) fn collect_young(
        &self,
        world: &WorldStopped,
        cause: Option<CollectCause>,
    ) -> Vec<ObjectRef> {
        let Some(nursery) = &self.nursery else { return Vec::new() };
        let _minor = during(Activity::MinorCollection);
        let (core, table) = (&*self.core, nursery.table());
        let start = Instant::now();
        let used_before = core.regions.used_bytes();
        let classes_before = core.binding().class_bytes();
        for m in world.mutators() {
            nursery.allocator.retire(m);
            table.hand_over(&MakoThread::of(m).remembered);
        }
        let from = table.begin_collection();
        let young_bytes = from.iter().map(|id| core.regions.region(*id).top()).sum();
        let order = Order {
            promotes_all: cause.is_none(),
            tenuring_age: nursery.policy.lock().tenuring_age,
        };
        let survivors = Survivors { shared: &self.shared, current: Mutex::new(None) };
        let collection = Collection::new(nursery, &self.shared, &self.allocator, &survivors, order);
        let slots = collection.remembered.len();
        let mut outcome = collection.run(world);
        table.keep(std::mem::take(&mut outcome.remembered));
        let kept: BTreeSet<_> =
            outcome.left.iter().map(|left| core.geometry.region_of(*left)).collect();
        for object in &outcome.left {
            Header::of(*object).untagged().write(*object);
        }
        let emptied = from.into_iter().filter(|region| !kept.contains(region)).collect();
        let renewed = nursery.free(emptied, cause.is_some());
        if cause.is_some() {
            nursery.learn(start.elapsed(), young_bytes, &outcome.ages, outcome.promoted_bytes);
        }
        nursery.begin_eden(renewed);
        nursery.collections.fetch_add(1, Ordering::Relaxed);
        let used = core.regions.used_bytes();
        nursery.free_bytes.store(core.geometry.heap_bytes() - used, Ordering::Relaxed);
        self.count_minor(&outcome, slots);
        let number = nursery.collections.load(Ordering::Relaxed);
        let is_checked = core.options.verify_heap && number.is_multiple_of(VERIFY_PERIOD);
        if is_checked && !self.is_running.load(Ordering::SeqCst) {
            self.verify_young();
            verify::verify(core, world, self, SLOT_BYTES, "after the minor collection");
        }
        if let Some(cause) = cause {
            core.end_cycle();
            core.binding().cycle_finished();
            let time = start.elapsed();
            let number = core.stats.record_cycle(
                1,
                cause.title(),
                time,
                (used_before, used),
                Default::default(),
            );
            core.log_classes(number, classes_before);
            core.options.log.line(LogLevel::Info, "gc", || {
                let (before, after) = (used_before >> 20, used >> 20);
                let all = core.geometry.heap_bytes() >> 20;
                let ms = start.elapsed().as_secs_f64() * 1e3;
                let title = cause.title();
                format!("GC({number}) Pause Young ({title}) {before}M->{after}M({all}M) {ms:.3}ms")
            });
        }
        outcome.left
    }

    fn count_minor(&self, outcome: &Outcome, slots: usize) {
        let count = |name, amount| self.core.stats.count(name, amount);
        count("minor_collections", 1);
        count("remembered_slots", slots as u64);
        count("survived_bytes", outcome.survived_bytes as u64);
        count("promoted_bytes", outcome.promoted_bytes as u64);
        count("objects_left_in_place", outcome.left.len() as u64);
        COUNTERS.into_iter().zip(outcome.references).for_each(|(name, n)| count(name, n));
    }
}

impl<'a> Collection<'a> {
    fn new(
        nursery: &'a Nursery,
        shared: &'a Shared,
        allocator: &'a Allocator,
        survivors: &'a Survivors<'a>,
        order: Order,
    ) -> Collection<'a> {
        let table = nursery.table();
        let free_bytes = nursery.free_bytes.load(Ordering::Relaxed);
        let references = shared.core.references(free_bytes, false);
        Collection {
            shared,
            table,
            allocator,
            survivors,
            order,
            nursery,
            codec: YoungCodec(table),
            remembered: table.take_remembered(),
            next: AtomicUsize::new(0),
            stealing: Stealing::new(&[]),
            results: Mutex::new((Outcome::default(), references)),
        }
    }

    /// The references that a worker discovers.
    pub fn references(&self) -> References {
        let free_bytes = self.nursery.free_bytes.load(Ordering::Relaxed);
        self.shared.core.references(free_bytes, false)
    }

    /// Does everything; afterwards only objects that were left are in the regions that move.
    fn run(mut self, world: &WorldStopped) -> Outcome {
        let workers = &self.nursery.workers;
        let deques: Vec<_> = (0..workers.count()).map(|_| Deque::new_lifo()).collect();
        self.stealing = Stealing::new(&deques);
        let deques: Vec<_> = deques.into_iter().map(|deque| Mutex::new(Some(deque))).collect();
        let this = &self;
        let roots = Mutex::new(Some(Roots(world)));
        workers.run(&|id| {
            let deque = deques[id].lock().take().expect("each worker takes its own");
            let mut evacuator = Evacuator::new(this, deque);
            if id == 0 {
                let roots = roots.lock().take().expect("one worker visits roots");
                this.visit_roots(roots.0, &mut evacuator);
            }
            this.work(&mut evacuator);
            this.finish(evacuator);
        });
        let mut evacuator = Evacuator::new(this, Deque::new_lifo());
        this.process_references(&mut evacuator);
        this.empty_weak_slots(world);
        this.finish(evacuator);
        let place = |object| this.place(object);
        this.table.early.lock().follow(this.shared, this.table, this.allocator, place);
        let (mut outcome, mut references) = self.results.into_inner();
        let (core, table, codec) = (&self.shared.core, self.table, self.codec);
        let remembered = &mut outcome.remembered;
        references.enqueue(&codec, core.binding().pending_list(), |reference, at, head| {
            let slot = reference.address() + at;
            if table.must_remember(slot, codec.encode(head)) {
                remembered.push(slot);
            }
        });
        outcome.references = references.counts;
        let strings = std::mem::take(&mut outcome.strings);
        core.strings.add(strings.into_iter().map(|string| codec.new_root(string)));
        outcome
    }

    fn visit_roots(&self, world: &WorldStopped, evacuator: &mut Evacuator<'_>) {
        let binding = self.shared.core.binding();
        binding.visit_thread_roots(world, &mut |root| *root = evacuator.root(*root));
        let mut slot = |slot: &RootSlot| {
            let object = self.codec.read_root(slot);
            let new = evacuator.root(object);
            if new != object {
                self.codec.write_root(slot, new);
            }
        };
        binding.visit_strong_slots(world, &mut slot);
        slot(binding.pending_list());
    }

    /// Until no worker has anything left to do.
    fn work(&self, evacuator: &mut Evacuator<'_>) {
        loop {
            evacuator.drain();
            let first = self.next.fetch_add(SLOTS_TOGETHER, Ordering::Relaxed);
            if let Some(rest) = self.remembered.get(first..).filter(|rest| !rest.is_empty()) {
                for i in 0..rest.len().min(SLOTS_TOGETHER) {
                    evacuator.look_ahead(rest, i);
                    evacuator.update(rest[i]);
                    evacuator.drain();
                }
            } else if let Some(slot) = self.stealing.steal() {
                evacuator.update(slot);
            } else if self.stealing.is_over() {
                return;
            }
        }
    }

    fn finish(&self, evacuator: Evacuator<'_>) {
        let (part, references) = evacuator.finish();
        let (outcome, all) = &mut *self.results.lock();
        outcome.survived_bytes += part.survived_bytes;
        outcome.promoted_bytes += part.promoted_bytes;
        outcome.left.extend(part.left);
        outcome.remembered.extend(part.remembered);
        outcome.strings.extend(part.strings);
        outcome.ages.iter_mut().zip(part.ages).for_each(|(sum, bytes)| *sum += bytes);
        all.absorb(references);
    }

    /// In the order of their strength, as `java.lang.ref` wants it. All objects are copied that are strongly
    /// reachable. References and referents here are young, or were before.
    fn process_references(&self, evacuator: &mut Evacuator<'_>) {
        let (outcome, references) = &mut *self.results.lock();
        let mut keeps = |d: Discovered| {
            let referent = self.codec.read(d.reference, d.at);
            let Some(place) = self.place(referent) else { return false };
            if place != referent {
                self.codec.write(d.reference, d.at, place);
            }
            let slot = d.reference.address() + d.at;
            if self.table.must_remember(slot, self.codec.encode(place)) {
                outcome.remembered.push(slot);
            }
            true
        };
        references.clear_dead(&self.codec, ReferenceKind::Soft, &mut keeps);
        references.clear_dead(&self.codec, ReferenceKind::Weak, &mut keeps);
        let revived = references.revive_final(&self.codec, &mut keeps);
        evacuator.discover_no_more();
        for d in revived {
            evacuator.push(d.reference.address() + d.at);
        }
        evacuator.drain();
        references.clear_dead(&self.codec, ReferenceKind::Phantom, &mut keeps);
    }

    fn empty_weak_slots(&self, world: &WorldStopped) {
        self.shared.core.binding().visit_weak_slots(world, &mut |slot| {
            let object = self.codec.read_root(slot);
            if object.is_null() {
                return;
            }
            let place = self.place(object).unwrap_or(ObjectRef::NULL);
            if place != object {
                self.codec.write_root(slot, place);
            }
        });
    }

    /// Where an object is now, `None` if it is dead.
    pub fn place(&self, object: ObjectRef) -> Option<ObjectRef> {
        if is_name(object) || !self.table.moves(self.shared.core.geometry.region_of(object)) {
            return Some(object);
        }
        Header::of(object).place(object)
    }
}

/// Carried to the worker that visits them.
struct Roots<'a>(&'a WorldStopped);

// SAFETY: the world stays stopped for the length of the pause, and one worker uses it.
unsafe impl Send for Roots<'_> {}

/// The whole heap is checked after one minor collection in this many; and before every old cycle.
const VERIFY_PERIOD: usize = 16;
/// Remembered slots that a worker takes at a time.
const SLOTS_TOGETHER: usize = 64;
