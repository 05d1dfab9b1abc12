//! Concurrent marking of what was reachable when the cycle began (the snapshot).
//!
//! Only what lay below the tops that regions had then is *traced*. What is allocated later is alive for this cycle and
//! need not be looked at: all that it refers to was in the snapshot or is new itself. What mutators remove from the
//! snapshot they log first, and what they read from weak places too.

use super::pacer::Pacer;
use super::workers;
use crate::codec::{PlainCodec, SlotCodec};
use crate::geometry::RegionId;
use crate::heap_core::HeapCore;
use crate::layout::ReferenceKind;
use crate::mark_bitmap::MarkBitmap;
use crate::mark_stack::MarkStack;
use crate::object::ObjectRef;
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

/// What a worker has taken from the queue.
#[derive(Default)]
struct Batch {
    /// Objects of `home`, or of anywhere if memory is local.
    here: Vec<ObjectRef>,
    /// Objects of other regions.
    elsewhere: Vec<ObjectRef>,
    home: Option<RegionId>,
    /// Bytes of objects scanned in `home` and not yet counted.
    live: usize,
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
            let mut batch = Batch::default();
            while !stop() && self.queue.take(&mut batch, threads, self.core.geometry) {
                self.scan_batch(&mut batch, stop);
            }
            self.queue.end();
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

    fn scan_batch(&self, batch: &mut Batch, stop: &(dyn Fn() -> bool + Sync)) {
        loop {
            let mut scanned = 0;
            for _ in 0..SCANS {
                let Some(object) = batch.here.pop() else { break };
                scanned += self.scan(object, batch);
            }
            self.pacer.progress(scanned);
            let is_stopped = stop();
            if batch.elsewhere.len() >= GIVEN_MIN || is_stopped {
                self.queue.give(batch.elsewhere.drain(..));
            }
            if is_stopped {
                self.queue.give(batch.here.drain(..));
            } else if batch.here.len() >= GIVEN_MIN && self.queue.is_hungry() {
                let half = batch.here.len() / 2;
                self.queue.give(batch.here.drain(..half));
            }
            if batch.here.is_empty() {
                break;
            }
        }
        self.queue.give(batch.elsewhere.drain(..));
        self.count_live(batch);
    }

    /// Marks what an object refers to; returns the object's size.
    #[inline]
    fn scan(&self, object: ObjectRef, batch: &mut Batch) -> usize {
        let layout = self.core.layouts.layout(object.klass());
        let bytes = layout.object_bytes(object, PlainCodec::SLOT_BYTES);
        assert!(bytes >= 16, "{object:?} of {:?} has {bytes} bytes", object.klass());
        let region = self.core.geometry.region_of(object);
        if batch.home != Some(region) {
            self.count_live(batch);
            batch.home = Some(region);
        }
        batch.live += bytes;
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
        if self.mark(object) {
            let is_here = self.core.space.pager().is_none()
                || batch.home == Some(self.core.geometry.region_of(object));
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

    fn count_live(&self, batch: &mut Batch) {
        if let Some(home) = batch.home {
            let live = std::mem::take(&mut batch.live);
            self.live[home.index()].fetch_add(live, Ordering::Relaxed);
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

    /// Objects of one region, when there are any; false when the run is over.
    fn take(&self, batch: &mut Batch, workers: usize, geometry: crate::geometry::Geometry) -> bool {
        let mut state = self.state.lock();
        while !state.is_over {
            if state.stack.pop_batch(BATCH, &mut batch.here) {
                batch.home = batch.here.last().map(|object| geometry.region_of(*object));
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

/// Objects that a worker takes at a time.
const BATCH: usize = 512;
/// Objects that are scanned before a worker looks up.
const SCANS: usize = 128;
/// So many objects are worth a lock.
const GIVEN_MIN: usize = 256;
const COUNTERS: [&str; 4] = ["soft_cleared", "weak_cleared", "final_revived", "phantom_cleared"];
