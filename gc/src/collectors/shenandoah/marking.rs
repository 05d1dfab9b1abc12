//! Concurrent marking of what was reachable when the cycle began (the snapshot).
//!
//! Only what lay below the tops that regions had then is *traced*. What is allocated later is alive for this cycle and
//! need not be looked at: all that it refers to was in the snapshot or is new itself. What mutators remove from the
//! snapshot they log first, and what they read from weak places too.
//!
//! A worker asks for the mark of each object that it meets, and for each object that it is about to scan, some rounds
//! before it needs them ([`Ahead`]).

use super::pacer::Pacer;
use super::workers;
use crate::codec::{PlainCodec, SlotCodec};
use crate::geometry::RegionId;
use crate::heap_core::HeapCore;
use crate::layout::ReferenceKind;
use crate::mark_bitmap::MarkBitmap;
use crate::mark_stack::{MarkStack, Zones};
use crate::object::ObjectRef;
use crate::prefetch::{self, Ahead};
use crate::references::{Discovered, References, Referent};
use crate::scan::{for_each_slot, reference_kind};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The marks of a cycle. Between cycles no bit of the bitmap is set.
pub struct Marking {
    core: Arc<HeapCore>,
    pacer: Arc<Pacer>,
    /// First words of objects. Relaxed: pauses order what they decide by.
    pub bitmap: MarkBitmap,
    /// By region: the address up to which it was in use when the cycle began. Written in the pause that begins it;
    /// relaxed.
    limits: Box<[AtomicUsize]>,
    /// By region: bytes of marked objects. Relaxed, for the pause that ends marking.
    live: Box<[AtomicUsize]>,
    zones: Zones,
    queue: Queue,
    /// Of the cycle that is on.
    references: Mutex<Option<References>>,
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
    /// Nobody has anything left, or the run was interrupted.
    is_over: bool,
}

/// What a worker has taken from the queue, and what became of it.
struct Batch {
    /// The zone that it is in.
    home: usize,
    /// Marked objects of that zone.
    here: Vec<ObjectRef>,
    /// Marked objects of others.
    elsewhere: Vec<ObjectRef>,
    /// Objects that were met, and whose marks are on their way.
    met: Ahead<MET_AHEAD>,
    /// Marked objects that are on their way.
    coming: Ahead<SCANS_AHEAD>,
    /// Bytes of the objects scanned, by region.
    live: Vec<usize>,
    /// Nobody else marks.
    is_alone: bool,
}

impl Batch {
    fn new(regions: usize, is_alone: bool) -> Batch {
        Batch {
            home: 0,
            here: Vec::new(),
            elsewhere: Vec::new(),
            met: Ahead::default(),
            coming: Ahead::default(),
            live: vec![0; regions],
            is_alone,
        }
    }
}

impl Marking {
    pub fn new(core: Arc<HeapCore>, pacer: Arc<Pacer>) -> Marking {
        let geometry = &core.geometry;
        let is_far = core.space.pager().is_some();
        let state = QueueState { stack: MarkStack::new(*geometry, is_far), is_over: true };
        Marking {
            bitmap: MarkBitmap::new(geometry),
            limits: geometry.all_regions().map(|_| AtomicUsize::new(0)).collect(),
            live: geometry.all_regions().map(|_| AtomicUsize::new(0)).collect(),
            zones: Zones::new(*geometry, is_far),
            queue: Queue {
                state: Mutex::new(state),
                changed: Condvar::new(),
                hungry: AtomicUsize::new(0),
            },
            references: Mutex::new(None),
            core,
            pacer,
        }
    }

    /// Takes the snapshot's extent. World stopped, nothing marked.
    pub fn begin(&self, references: References) {
        for (id, region) in self.core.regions.iter() {
            let limit = self.core.geometry.region_start(id) + region.top();
            self.limits[id.index()].store(limit, Ordering::Relaxed);
            self.live[id.index()].store(0, Ordering::Relaxed);
        }
        *self.references.lock() = Some(references);
    }

    /// Bytes of a region that were in use when the cycle began.
    pub fn traced_bytes(&self, region: RegionId) -> usize {
        let limit = self.limits[region.index()].load(Ordering::Relaxed);
        limit - self.core.geometry.region_start(region)
    }

    /// A region in which nothing lives is about to be free: what is allocated there from now on is new.
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

    /// Marks objects; they are scanned by [`close`](Self::close).
    pub fn mark_all(&self, objects: impl IntoIterator<Item = ObjectRef>) {
        let objects = objects.into_iter().filter(|object| self.mark(*object));
        self.queue.state.lock().stack.push_all(objects);
    }

    /// Completes the closure of what is marked, unless `stop` says not to; what is left then stays for the next time.
    /// True if it is complete.
    pub fn close(&self, threads: usize, stop: &(dyn Fn() -> bool + Sync)) -> bool {
        self.queue.begin();
        workers::run(threads, || {
            let mut batch = Batch::new(self.core.geometry.regions, threads == 1);
            while !stop() && self.queue.take(&mut batch, threads, self.zones) {
                self.scan_batch(&mut batch, stop);
            }
            self.queue.end();
            for (live, more) in self.live.iter().zip(&batch.live).filter(|(_, more)| **more > 0) {
                live.fetch_add(*more, Ordering::Relaxed);
            }
        });
        !stop()
    }

    /// Processes references, by strength; the closure is complete before and after. World stopped.
    pub fn process_references(&self, threads: usize) {
        let mut references = self.references.lock().take().expect("a cycle is on");
        let codec = PlainCodec;
        let keeps = |found: Discovered| self.is_live(codec.read(found.reference, found.at));
        references.clear_dead(&codec, ReferenceKind::Soft, keeps);
        references.clear_dead(&codec, ReferenceKind::Weak, keeps);
        let revived = references.revive_final(&codec, keeps);
        // From now on it traces the referents of what it finds.
        *self.references.lock() = Some(references);
        self.mark_all(revived.iter().map(|found| codec.read(found.reference, found.at)));
        self.close(threads, &|| false);
        let mut references = self.references.lock().take().expect("put there above");
        references.clear_dead(&codec, ReferenceKind::Phantom, keeps);
        references.enqueue(&codec, self.core.binding().pending_list(), |_, _, _| ());
        for (name, count) in COUNTERS.iter().zip(references.counts) {
            self.core.stats.count(name, count);
        }
    }

    /// Removes all marks. Nobody asks for them any more.
    pub fn end(&self) {
        for id in self.core.geometry.all_regions().filter(|id| self.traced_bytes(*id) > 0) {
            self.bitmap.clear_region(id);
        }
    }

    /// Scans what the batch has and what that leads to in its zone, or all that memory has where it is local.
    fn scan_batch(&self, batch: &mut Batch, stop: &(dyn Fn() -> bool + Sync)) {
        loop {
            let mut scanned = 0;
            let mut is_empty = false;
            for _ in 0..SCANS {
                let Some(object) = self.next(batch) else {
                    is_empty = true;
                    break;
                };
                scanned += self.scan(object, batch);
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
            if is_empty {
                break;
            }
        }
        self.queue.give(batch.elsewhere.drain(..));
    }

    /// The next object to scan, which was asked for before; `None` when nothing of the zone is left.
    #[inline]
    fn next(&self, batch: &mut Batch) -> Option<ObjectRef> {
        loop {
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
            let oldest = batch.coming.exchange(object);
            if !oldest.is_null() {
                return Some(oldest);
            }
        }
    }

    /// Leaves everything to whoever goes on.
    fn give_all(&self, batch: &mut Batch) {
        while let Some(met) = batch.met.pop() {
            self.reach(met, batch);
        }
        batch.here.extend(std::iter::from_fn(|| batch.coming.pop()));
        self.queue.give(batch.here.drain(..));
        self.queue.give(batch.elsewhere.drain(..));
    }

    /// Meets what an object refers to; returns the object's size.
    #[inline]
    fn scan(&self, object: ObjectRef, batch: &mut Batch) -> usize {
        let layout = self.core.layouts.layout(object.klass());
        let bytes = layout.object_bytes(object, PlainCodec::SLOT_BYTES);
        assert!(bytes >= 16, "{object:?} of {:?} has {bytes} bytes", object.klass());
        batch.live[self.core.geometry.region_of(object).index()] += bytes;
        for_each_slot(layout, object, PlainCodec::SLOT_BYTES, |offset| {
            self.meet(ConcurrentCodec.read(object, offset), batch);
        });
        let kind = reference_kind(layout);
        if kind != ReferenceKind::Strong {
            self.scan_reference(object, kind, batch);
        }
        bytes
    }

    #[inline]
    fn meet(&self, object: ObjectRef, batch: &mut Batch) {
        if !object.is_null() && self.is_traced(object) {
            self.bitmap.prefetch(object);
            let oldest = batch.met.exchange(object);
            if !oldest.is_null() {
                self.reach(oldest, batch);
            }
        }
    }

    /// Marks an object that was met, and has it scanned if it was not marked before.
    #[inline]
    fn reach(&self, object: ObjectRef, batch: &mut Batch) {
        let is_new = !self.bitmap.is_marked(object)
            && match batch.is_alone {
                true => self.bitmap.mark_alone(object),
                false => self.bitmap.mark(object),
            };
        if is_new {
            let is_here = self.zones.of(object) == batch.home;
            let list = if is_here { &mut batch.here } else { &mut batch.elsewhere };
            list.push(object);
        }
    }

    fn scan_reference(&self, reference: ObjectRef, kind: ReferenceKind, batch: &mut Batch) {
        let mut references = self.references.lock();
        let references = references.as_mut().expect("a cycle is on");
        let fields = *references.fields();
        let is_live = |object| self.is_live(object);
        let found = references.found(&ConcurrentCodec, reference, kind, is_live);
        self.meet(ConcurrentCodec.read(reference, fields.discovered as usize), batch);
        if found == Referent::Strong {
            self.meet(ConcurrentCodec.read(reference, fields.referent as usize), batch);
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

    /// Objects of one zone, when there are any; false when the run is over.
    fn take(&self, batch: &mut Batch, workers: usize, zones: Zones) -> bool {
        let mut state = self.state.lock();
        while !state.is_over {
            if state.stack.pop_batch(BATCH, &mut batch.here) {
                batch.home = batch.here.last().map_or(0, |object| zones.of(*object));
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

    /// Ends the run for the others too: nothing is left, or a worker was interrupted.
    fn end(&self) {
        self.state.lock().is_over = true;
        self.changed.notify_all();
    }

    fn is_hungry(&self) -> bool {
        self.hungry.load(Ordering::Relaxed) > 0
    }
}

/// Plain addresses in slots that mutators may be writing.
#[derive(Clone, Copy)]
struct ConcurrentCodec;

impl SlotCodec for ConcurrentCodec {
    const SLOT_BYTES: usize = 8;

    #[inline]
    fn decode(&self, word: u64) -> ObjectRef {
        PlainCodec.decode(word)
    }

    #[inline]
    fn encode(&self, object: ObjectRef) -> u64 {
        PlainCodec.encode(object)
    }

    #[inline]
    fn read(&self, object: ObjectRef, offset: usize) -> ObjectRef {
        let address = object.address() + offset;
        // SAFETY: an aligned slot of a live object, which is only accessed atomically while mutators run.
        let slot = unsafe { AtomicU64::from_ptr(address as *mut u64) };
        self.decode(slot.load(Ordering::Acquire))
    }
}

/// Objects between meeting one and marking it, and between choosing one and scanning it.
const MET_AHEAD: usize = 16;
const SCANS_AHEAD: usize = 8;
/// Objects that a worker takes at a time.
const BATCH: usize = 512;
/// Objects that are scanned before a worker looks up.
const SCANS: usize = 128;
/// So many objects are worth a lock.
const GIVEN_MIN: usize = 256;
const COUNTERS: [&str; 4] = ["soft_cleared", "weak_cleared", "final_revived", "phantom_cleared"];
