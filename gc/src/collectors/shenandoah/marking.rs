//! Concurrent marking of the objects that were reachable when the cycle began (the snapshot).
//!
//! Only objects below the tops that regions had then are *traced*. Objects that are allocated later are alive for this
//! cycle and need not be looked at: all their referents were in the snapshot or are new themselves. Mutators log
//! references that they remove from the snapshot first, and those that they read from weak places too.
//!
//! A worker asks for the mark of each object that it meets, and for each object that it is about to scan, some rounds
//! before it needs them ([`Ahead`]).
//!
//! Under MemLiner ([`lined`](super::lined)) workers beside the program ask an [`Aligner`] how to treat an
//! object that was met, and roots and logged objects begin as postponed ones: unmarked, so that threads can still bring
//! them forward. A worker is done when its aligner is empty too; one that is interrupted returns all its objects to
//! the queue, where the next worker, perhaps in a pause and without an aligner, finds them.

use super::lined::Lined;
use super::pacer::Pacer;
use super::workers;
use crate::collectors::memliner::{AddressCodec, Aligner, Marks, Waiting, stamp_of};
use crate::core::heap_core::HeapCore;
use crate::memory::mark_bitmap::MarkBitmap;
use crate::object::codec::{Concurrent, SlotCodec};
use crate::object::geometry::RegionId;
use crate::object::layout::ReferenceKind;
use crate::object::prefetch::{self, Ahead};
use crate::object::{OBJECT_BYTES_MIN, ObjectRef};
use crate::tracing::holders::Holders;
use crate::tracing::mark_stack::{MarkStack, Zones};
use crate::tracing::references::{Discovered, References, Referent};
use crate::tracing::scan::{for_each_slot, reference_kind};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The marks of a cycle. Between cycles no bit of the bitmap is set.
pub struct Marking {
    core: Arc<HeapCore>,
    codec: AddressCodec,
    pacer: Arc<Pacer>,
    /// First words of objects. Relaxed: pauses order the bits by which they decide.
    pub bitmap: MarkBitmap,
    /// By region: the address up to which it was in use when the cycle began. Written in the pause that begins it;
    /// relaxed.
    limits: Box<[AtomicUsize]>,
    /// By region: bytes of marked objects. Relaxed, for the pause that ends marking.
    live: Box<[AtomicUsize]>,
    zones: Zones,
    queue: Queue,
    /// Of the running cycle.
    references: Mutex<Option<References>>,
    /// Of the classes in use, of the running cycle. Changes when one begins.
    holders: Mutex<Arc<Holders>>,
    /// Where tracing is aligned with the program.
    pub lined: Option<Lined>,
}

/// How a closure is completed.
pub struct Run<'s> {
    pub threads: usize,
    /// The program runs meanwhile, and tracing may follow it.
    pub is_beside_program: bool,
    /// Whether to leave the rest for another time. Once true, it stays true.
    pub stop: &'s (dyn Fn() -> bool + Sync),
}

impl Run<'static> {
    /// In a pause, to the end.
    pub fn in_pause(threads: usize) -> Run<'static> {
        Run { threads, is_beside_program: false, stop: &|| false }
    }
}

/// Objects that are marked and not scanned, shared by the workers.
struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
    /// Workers that have nothing to do. Written with the lock held; relaxed, a hint.
    hungry: AtomicUsize,
}

struct QueueState {
    stack: MarkStack,
    /// Under MemLiner: unmarked objects that wait.
    waiting: Vec<Waiting>,
    /// No worker has anything left, or the run was interrupted.
    is_over: bool,
}

/// The objects that a worker has taken from the queue, and their results.
struct Batch<'a> {
    /// The zone that it is in.
    home: usize,
    /// Marked objects of that zone.
    here: Vec<ObjectRef>,
    /// Marked objects of other zones.
    elsewhere: Vec<ObjectRef>,
    /// Objects that were met, and whose marks are being prefetched.
    met: Ahead<ObjectRef, MET_AHEAD>,
    /// Marked objects that are being prefetched.
    coming: Ahead<ObjectRef, SCANS_AHEAD>,
    /// Bytes of the objects scanned, by region.
    live: Vec<usize>,
    /// No other thread marks.
    is_alone: bool,
    /// Taken from the queue, and not assigned yet.
    waiting: Vec<Waiting>,
    /// Where tracing is aligned with the program.
    aligner: Option<Aligner<'a>>,
    /// Of the classes of the objects scanned.
    holders: &'a Holders,
}

impl<'a> Batch<'a> {
    fn new(
        regions: usize,
        is_alone: bool,
        aligner: Option<Aligner<'a>>,
        holders: &'a Holders,
    ) -> Batch<'a> {
        Batch {
            home: 0,
            here: Vec::new(),
            elsewhere: Vec::new(),
            met: Ahead::default(),
            coming: Ahead::default(),
            live: vec![0; regions],
            is_alone,
            waiting: Vec::new(),
            aligner,
            holders,
        }
    }
}

impl Marking {
    /// How much memory the mark bits take now. Slow, for figures.
    pub fn bits_bytes(&self) -> usize {
        let waiting = self.lined.as_ref().map_or(0, Lined::bits_bytes);
        self.bitmap.resident_bytes() + waiting
    }

    /// `is_lined`: tracing is aligned with the program.
    pub fn new(core: Arc<HeapCore>, pacer: Arc<Pacer>, is_lined: bool) -> Marking {
        let geometry = &core.geometry;
        let zones = core.zones();
        let state = QueueState { stack: MarkStack::new(zones), waiting: Vec::new(), is_over: true };
        Marking {
            bitmap: MarkBitmap::new(geometry),
            limits: geometry.all_regions().map(|_| AtomicUsize::new(0)).collect(),
            live: geometry.all_regions().map(|_| AtomicUsize::new(0)).collect(),
            zones,
            queue: Queue {
                state: Mutex::new(state),
                changed: Condvar::new(),
                hungry: AtomicUsize::new(0),
            },
            references: Mutex::new(None),
            holders: Mutex::new(Arc::new(Holders::all())),
            lined: is_lined.then(|| Lined::new(&core)),
            codec: AddressCodec::new(core.slot_width, 0),
            core,
            pacer,
        }
    }

    /// Takes the snapshot's extent. World stopped, nothing marked.
    pub fn begin(&self, references: References, holders: Arc<Holders>) {
        for (id, region) in self.core.regions.iter() {
            let limit = self.core.geometry.region_start(id) + region.top();
            self.limits[id.index()].store(limit, Ordering::Relaxed);
            self.live[id.index()].store(0, Ordering::Relaxed);
        }
        *self.references.lock() = Some(references);
        *self.holders.lock() = holders;
        if let Some(lined) = &self.lined {
            assert!(lined.memliner.is_clear(), "objects reported outside of a marking");
            assert!(self.queue.state.lock().waiting.is_empty(), "a cycle left objects waiting");
            if self.core.options.verify_heap {
                lined.check(self.core.geometry.all_regions());
            }
        }
    }

    /// Discards the objects that threads have touched: objects are about to move. World stopped.
    pub fn forget_touched(&self) {
        self.lined.as_ref().inspect(|lined| lined.memliner.clear());
    }

    /// Bytes of a region that were in use when the cycle began.
    pub fn traced_bytes(&self, region: RegionId) -> usize {
        let limit = self.limits[region.index()].load(Ordering::Relaxed);
        limit - self.core.geometry.region_start(region)
    }

    /// A region in which nothing lives is about to be free: objects that are allocated in it from now on are new.
    pub fn forget(&self, region: RegionId) {
        let start = self.core.geometry.region_start(region);
        self.limits[region.index()].store(start, Ordering::Relaxed);
    }

    #[inline]
    fn is_traced(&self, object: ObjectRef) -> bool {
        let region = self.core.geometry.region_of(object);
        object.address() < self.limits[region.index()].load(Ordering::Relaxed)
    }

    pub fn live_bytes(&self, region: RegionId) -> usize {
        self.live[region.index()].load(Ordering::Relaxed)
    }

    /// Whether an object is alive as far as this cycle knows. Null is: there is nothing to clear.
    #[inline]
    pub fn is_live(&self, object: ObjectRef) -> bool {
        object.is_null() || !self.is_traced(object) || self.bitmap.is_marked(object)
    }

    /// Marks an object; true if it must be scanned.
    #[inline]
    fn mark(&self, object: ObjectRef) -> bool {
        !object.is_null()
            && self.is_traced(object)
            && !self.bitmap.is_marked(object)
            && self.bitmap.mark(object)
    }

    /// Makes objects grey; they are scanned by [`close`](Self::close).
    pub fn mark_all(&self, objects: impl IntoIterator<Item = ObjectRef>) {
        let mut state = self.queue.state.lock();
        let Some(lined) = &self.lined else {
            return state.stack.push_all(objects.into_iter().filter(|object| self.mark(*object)));
        };
        let white = objects.into_iter().filter(|object| self.is_white(*object));
        let taken = white.filter(|object| lined.postpone(*object));
        // Where references to roots are from says nothing of when these were used.
        state.waiting.extend(taken.map(|object| Waiting::new(object, 0)));
    }

    /// Completes the closure of grey objects, unless `stop` says not to; the rest then stays for the next time.
    /// True if it is complete.
    pub fn close(&self, run: &Run<'_>) -> bool {
        let Run { threads, is_beside_program, stop } = *run;
        let lined = self.lined.as_ref().filter(|_| is_beside_program);
        let _tracing = swap::during(swap::Activity::Tracing);
        self.queue.begin();
        let holders = &*self.holders();
        workers::run(threads, || {
            let faults = swap::thread_fetch_faults();
            let aligner = lined.map(|lined| Aligner::new(&lined.memliner));
            let regions = self.core.geometry.regions;
            let mut batch = Batch::new(regions, threads == 1, aligner, holders);
            while !stop() && self.take(&mut batch, threads) {
                self.scan_batch(&mut batch, stop);
            }
            self.queue.end();
            if let Some(mut aligner) = batch.aligner.take() {
                // Nothing, unless the run was interrupted.
                if stop() {
                    self.take_back(&mut aligner);
                }
                aligner.finish(false);
            }
            let faults = swap::thread_fetch_faults() - faults;
            self.core.stats.count("marking_fetch_faults", faults);
            for (live, more) in self.live.iter().zip(&batch.live).filter(|(_, more)| **more > 0) {
                live.fetch_add(*more, Ordering::Relaxed);
            }
        });
        !stop()
    }

    /// The same, and up to `rounds` times with what the holders of classes hold that were found by it.
    pub fn close_held(&self, run: &Run<'_>, rounds: usize) -> bool {
        let holders = self.holders();
        for _ in 0..rounds {
            if !self.close(run) {
                return false;
            }
            let mut held = Vec::new();
            self.core.visit_found_holders(&holders, &mut |slot| {
                held.push(self.codec.read_root(slot));
            });
            if held.is_empty() {
                return true;
            }
            self.mark_all(held);
        }
        self.close(run)
    }

    pub fn holders(&self) -> Arc<Holders> {
        self.holders.lock().clone()
    }

    /// Gets something to scan: from the queue, from the objects that the worker has put off itself, or from another
    /// worker. False when the run is over.
    fn take(&self, batch: &mut Batch, workers: usize) -> bool {
        if batch.aligner.as_ref().is_some_and(|aligner| !aligner.is_empty()) {
            let is_taken = self.queue.take_now(batch, self.zones);
            if is_taken || self.take_postponed(batch) {
                self.receive(batch);
                return true;
            }
        }
        let is_taken = self.queue.take(batch, workers, self.zones);
        self.receive(batch);
        is_taken
    }

    /// Objects whose turn it is of those that the worker has put off.
    fn take_postponed(&self, batch: &mut Batch) -> bool {
        let Some(aligner) = &mut batch.aligner else { return false };
        let any = aligner.next_postponed(self, &mut batch.here);
        batch.home = batch.here.last().map_or(batch.home, |object| self.zones.of(*object));
        any
    }

    /// Distributes the objects taken from the queue.
    fn receive(&self, batch: &mut Batch) {
        while let Some(one) = batch.waiting.pop() {
            let is_claimed = match &mut batch.aligner {
                Some(aligner) => aligner.wait(self, one),
                None => self.claim(one.object()),
            };
            if is_claimed {
                self.push(one.object(), batch);
            }
        }
    }

    /// The run is interrupted: waiting objects are returned to the queue for the next worker.
    fn take_back(&self, aligner: &mut Aligner) {
        let (explored, waiting) = aligner.give_up();
        self.core.stats.count("memliner_taken_back", waiting.len() as u64);
        self.queue.give(explored.into_iter());
        self.queue.give_waiting(waiting);
    }

    /// Processes references, by strength; the closure is complete before and after. World stopped.
    pub fn process_references(&self, threads: usize) {
        let mut references = self.references.lock().take().expect("a cycle is on");
        let codec = self.codec;
        let keeps = |found: Discovered| self.is_live(codec.read(found.reference, found.at));
        references.clear_dead(&codec, ReferenceKind::Soft, keeps);
        references.clear_dead(&codec, ReferenceKind::Weak, keeps);
        let revived = references.revive_final(&codec, keeps);
        // From now on it traces the referents of the references that it finds.
        *self.references.lock() = Some(references);
        self.mark_all(revived.iter().map(|found| codec.read(found.reference, found.at)));
        self.close_held(&Run::in_pause(threads), usize::MAX);
        let mut references = self.references.lock().take().expect("put there above");
        references.clear_dead(&codec, ReferenceKind::Phantom, keeps);
        references.enqueue(&codec, self.core.binding().pending_list(), |_, _, _| ());
        for (name, count) in COUNTERS.iter().zip(references.counts) {
            self.core.stats.count(name, count);
        }
    }

    /// Removes all marks. They are not read any more.
    pub fn end(&self) {
        for id in self.core.geometry.all_regions().filter(|id| self.traced_bytes(*id) > 0) {
            self.bitmap.clear_region(id);
            self.lined.as_ref().inspect(|lined| lined.clear_region(id));
        }
    }

    /// Scans the objects of the batch and those reachable from them in its zone, or in all memory where it is local.
    fn scan_batch(&self, batch: &mut Batch, stop: &(dyn Fn() -> bool + Sync)) {
        match self.codec {
            AddressCodec::Narrow(codec) => self.scan_batch_as(Concurrent(codec), batch, stop),
            AddressCodec::Wide(codec) => self.scan_batch_as(Concurrent(codec), batch, stop),
        }
    }

    fn scan_batch_as<C: SlotCodec>(
        &self,
        slots: Concurrent<C>,
        batch: &mut Batch,
        stop: &(dyn Fn() -> bool + Sync),
    ) {
        loop {
            let mut scanned = 0;
            let mut is_empty = false;
            for _ in 0..SCANS {
                let Some(object) = self.next(batch) else {
                    is_empty = true;
                    break;
                };
                scanned += self.scan(slots, object, batch);
            }
            self.pacer.progress(scanned);
            let is_stopped = stop();
            if batch.elsewhere.len() >= GIVEN_MIN || is_stopped {
                self.queue.give(batch.elsewhere.drain(..));
            }
            if is_stopped {
                return self.give_all(batch);
            } else if batch.here.len() >= GIVEN_MIN && self.queue.is_hungry() {
                let half = batch.here.len() / 2;
                self.queue.give(batch.here.drain(..half));
            }
            if let Some(aligner) = &mut batch.aligner
                && aligner.waiting() >= GIVEN_MIN
                && self.queue.is_hungry()
            {
                let half = aligner.split();
                self.core.stats.count("memliner_shared", half.len() as u64);
                self.queue.give_waiting(half);
            }
            if is_empty {
                break;
            }
        }
        self.queue.give(batch.elsewhere.drain(..));
    }

    /// The next object to scan, which was prefetched before; `None` when nothing of the zone is left.
    #[inline]
    fn next(&self, batch: &mut Batch) -> Option<ObjectRef> {
        loop {
            if let Some(aligner) = &mut batch.aligner
                && let Some(object) = aligner.next_touched(self)
            {
                return Some(object);
            }
            let Some(object) = batch.here.pop() else {
                while let Some(met) = batch.met.pop() {
                    self.reach(met, batch);
                }
                if batch.here.is_empty() {
                    return batch.coming.pop();
                }
                continue;
            };
            prefetch::object(object);
            if let Some(oldest) = batch.coming.exchange(object) {
                return Some(oldest);
            }
        }
    }

    /// Returns everything to the queue for the next worker.
    fn give_all(&self, batch: &mut Batch) {
        while let Some(met) = batch.met.pop() {
            self.reach(met, batch);
        }
        batch.here.extend(std::iter::from_fn(|| batch.coming.pop()));
        self.queue.give(batch.here.drain(..));
        self.queue.give(batch.elsewhere.drain(..));
    }

    /// Meets the referents of an object; returns the object's size.
    #[inline]
    fn scan<C: SlotCodec>(
        &self,
        slots: Concurrent<C>,
        object: ObjectRef,
        batch: &mut Batch,
    ) -> usize {
        let layout = batch.holders.scans(&self.core.layouts, object);
        let bytes = layout.object_bytes(object, slots.slot_bytes());
        assert!(bytes >= OBJECT_BYTES_MIN, "{object:?} of {:?} has {bytes} bytes", object.klass());
        batch.live[self.core.geometry.region_of(object).index()] += bytes;
        if let Some(aligner) = &mut batch.aligner {
            aligner.scans(layout.slot_count(object));
        }
        for_each_slot(layout, object, slots.slot_bytes(), |offset| {
            self.meet(slots, slots.word(object, offset), batch);
        });
        let kind = reference_kind(layout);
        if kind != ReferenceKind::Strong {
            self.scan_reference(slots, object, kind, batch);
        }
        bytes
    }

    #[inline]
    fn meet<C: SlotCodec>(&self, slots: Concurrent<C>, word: u64, batch: &mut Batch) {
        let object = slots.decode(word);
        if object.is_null() || !self.is_traced(object) {
            return;
        }
        if let Some(aligner) = &mut batch.aligner
            && !aligner.can_wait()
        {
            if aligner.meet(self, object, stamp_of(word)) {
                self.push(object, batch);
            }
        } else {
            self.bitmap.prefetch(object);
            if let Some(oldest) = batch.met.exchange(object) {
                self.reach(oldest, batch);
            }
        }
    }

    /// Marks an object that was met, and has it scanned if it was not marked before.
    #[inline]
    fn reach(&self, object: ObjectRef, batch: &mut Batch) {
        let is_new = match &mut batch.aligner {
            Some(aligner) => aligner.meet_late(self, object),
            None if self.bitmap.is_marked(object) => false,
            None if batch.is_alone => self.bitmap.mark_alone(object),
            None => self.bitmap.mark(object),
        };
        if is_new {
            self.push(object, batch);
        }
    }

    #[inline]
    fn push(&self, object: ObjectRef, batch: &mut Batch) {
        let is_here = self.zones.of(object) == batch.home;
        let list = if is_here { &mut batch.here } else { &mut batch.elsewhere };
        list.push(object);
    }

    fn scan_reference<C: SlotCodec>(
        &self,
        slots: Concurrent<C>,
        reference: ObjectRef,
        kind: ReferenceKind,
        batch: &mut Batch,
    ) {
        let mut references = self.references.lock();
        let references = references.as_mut().expect("a cycle is on");
        let fields = *references.fields();
        let is_live = |object| self.is_live(object);
        let found = references.found(&slots, reference, kind, is_live);
        self.meet(slots, slots.word(reference, fields.discovered as usize), batch);
        if found == Referent::Strong {
            self.meet(slots, slots.word(reference, fields.referent as usize), batch);
        }
    }
}

impl Queue {
    fn begin(&self) {
        self.state.lock().is_over = false;
        self.hungry.store(0, Ordering::Relaxed);
    }

    fn give(&self, objects: impl ExactSizeIterator<Item = ObjectRef>) {
        if objects.len() > 0 {
            self.state.lock().stack.push_all(objects);
            self.changed.notify_one();
        }
    }

    fn give_waiting(&self, objects: Vec<Waiting>) {
        if !objects.is_empty() {
            self.state.lock().waiting.extend(objects);
            self.changed.notify_one();
        }
    }

    /// As [`take`](Self::take), but only objects that are in the queue now, by a worker that has work of its own. The
    /// worker itself may just have put them there, for workers that have none.
    fn take_now(&self, batch: &mut Batch, zones: Zones) -> bool {
        let takes_waiting = !self.is_hungry();
        self.state.lock().take(batch, zones, takes_waiting)
    }

    /// Objects of one zone, or such that wait, when there are any; false when the run is over.
    fn take(&self, batch: &mut Batch, workers: usize, zones: Zones) -> bool {
        let mut state = self.state.lock();
        while !state.is_over {
            if state.take(batch, zones, true) {
                return true;
            }
            let hungry = self.hungry.fetch_add(1, Ordering::Relaxed) + 1;
            if hungry == workers {
                break;
            }
            self.changed.wait(&mut state);
            self.hungry.fetch_sub(1, Ordering::Relaxed);
        }
        false
    }

    /// Ends the run for the other workers too: nothing is left, or a worker was interrupted.
    fn end(&self) {
        self.state.lock().is_over = true;
        self.changed.notify_all();
    }

    fn is_hungry(&self) -> bool {
        self.hungry.load(Ordering::Relaxed) > 0
    }
}

impl QueueState {
    fn take(&mut self, batch: &mut Batch, zones: Zones, takes_waiting: bool) -> bool {
        if self.stack.pop_batch(BATCH, &mut batch.here) {
            batch.home = batch.here.last().map_or(0, |object| zones.of(*object));
            return true;
        }
        if !takes_waiting {
            return false;
        }
        let rest = self.waiting.len().saturating_sub(BATCH);
        batch.waiting.extend(self.waiting.drain(rest..));
        !batch.waiting.is_empty()
    }
}

/// Objects between meeting one and marking it, and between choosing one and scanning it.
const MET_AHEAD: usize = 16;
const SCANS_AHEAD: usize = 8;
/// Objects that a worker takes at a time.
const BATCH: usize = 512;
/// Objects that are scanned before a worker looks up.
const SCANS: usize = 128;
/// The number of objects for which taking a lock pays.
const GIVEN_MIN: usize = 256;
const COUNTERS: [&str; 4] = ["soft_cleared", "weak_cleared", "final_revived", "phantom_cleared"];

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::heap::Heap;
    use crate::object::layout::KlassLayout;
    use crate::options::{CollectorKind, HeapOptions};
    use crate::threads::mutator::Mutator;

    /// A binary tree, its root first, in a heap that is never collected.
    fn tree(m: &Mutator) -> (Arc<Heap>, Vec<ObjectRef>) {
        let options = HeapOptions {
            region_bytes: Some(64 << 10),
            ..HeapOptions::new(CollectorKind::Epsilon, 1 << 20)
        };
        let heap = Heap::new(&options).unwrap();
        let (refs, kind) = (Box::new([16, 24]), ReferenceKind::Strong);
        let klass = heap.layouts().register(KlassLayout::Instance { bytes: 32, refs, kind });
        heap.attach(m);
        let nodes: Vec<_> =
            (0..NODES).map(|_| heap.allocate(m, klass, 32, None).unwrap()).collect();
        for (i, node) in nodes.iter().enumerate().skip(1) {
            let slot = if i % 2 == 1 { 16 } else { 24 };
            heap.barriers().store_initial(m, nodes[(i - 1) / 2], slot, *node);
        }
        (heap, nodes)
    }

    /// As over far memory, where objects of other zones wait apart, or not; aligned with a program, or not.
    fn marking(core: &Arc<HeapCore>, is_far: bool, is_lined: bool) -> Marking {
        let pacer = Arc::new(Pacer::new(&core.options.shenandoah));
        let mut marking = Marking::new(core.clone(), pacer, is_lined);
        if is_far {
            marking.zones = Zones::new(core.geometry);
            marking.queue.state.get_mut().stack = MarkStack::new(marking.zones);
        }
        marking
    }

    #[test]
    fn marking_that_is_interrupted_loses_nothing_of_what_its_workers_hold() {
        let m = Mutator::new();
        let (heap, nodes) = tree(&m);
        let core = heap.core();
        for (is_far, is_beside_program, threads, looks) in [
            (false, false, 1, 3),
            (false, false, 1, 5),
            (true, false, 1, 3),
            (true, false, 2, 5),
            (false, true, 1, 3),
            (true, true, 2, 5),
        ] {
            let marking = marking(core, is_far, is_beside_program);
            marking.begin(core.references(0, false), Arc::new(Holders::all()));
            marking.mark_all([nodes[0]]);
            let mut interruptions = 0;
            loop {
                // A run that finds nothing to do looks once for each worker, and then at its end.
                let looked = AtomicUsize::new(0);
                let stop = || looked.fetch_add(1, Ordering::Relaxed) >= looks;
                if marking.close(&Run { threads, is_beside_program, stop: &stop }) {
                    break;
                }
                interruptions += 1;
                assert!(interruptions < NODES, "no end");
            }
            assert!(interruptions > 3, "{interruptions} interruptions");
            let missed = nodes.iter().filter(|node| !marking.is_live(**node)).count();
            assert_eq!(missed, 0, "of {NODES} objects, after {interruptions} interruptions");
            let live_bytes: usize =
                core.geometry.all_regions().map(|id| marking.live_bytes(id)).sum();
            assert_eq!(live_bytes, NODES * 32, "an object was scanned twice, or not at all");
        }
        heap.detach(&m);
    }

    const NODES: usize = 10_000;
}
