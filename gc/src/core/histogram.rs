//! Histograms: how many objects of each class are reachable, and how many bytes they have.
//!
//! 1. A thread asks, and runs a cycle ([`Heap::histogram`](crate::heap::Heap::histogram)).
//! 2. Each collector calls [`serve`] at the end of its cycles, in a pause, where it verifies the heap too: no object is
//!    being moved then. If a thread has asked, everything reachable is counted, the referents of reference objects
//!    included. Those that nothing else reaches have been cleared by the cycle, unless they are to be kept.
//! 3. The thread takes the result.
//!
//! Requests are numbered. A result serves all that were made before it, so threads that ask at the same time need not
//! wait for each other.

use crate::core::collector::Collector;
use crate::core::heap_core::HeapCore;
use crate::memory::mark_bitmap::MarkBitmap;
use crate::object::codec::read_word;
use crate::object::{KlassId, ObjectRef, RootSlot};
use crate::threads::mutator::{Mutator, WorldStopped};
use crate::tracing::mark_stack::MarkStack;
use crate::tracing::scan::for_every_slot;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use swap::{ThreadClass, set_thread_class};

/// The reachable objects of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassCount {
    pub klass: KlassId,
    pub objects: usize,
    pub bytes: usize,
}

/// The requests for histograms of one heap, and the last result.
#[derive(Default)]
pub struct Requests {
    /// The number of the last request. Written by running threads, each of which then asks for a cycle; read by that
    /// cycle, which begins later. The locks of the request and of the stop order the two, so relaxed.
    asked: AtomicU64,
    served: Mutex<Served>,
}

#[derive(Default)]
struct Served {
    /// The last request before the histogram.
    number: u64,
    counts: Vec<ClassCount>,
}

impl Requests {
    /// Asks; returns the argument of [`take`](Self::take). A cycle that begins after the call serves the request.
    pub fn ask(&self) -> u64 {
        self.asked.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Whether a request waits.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) > self.served.lock().number
    }

    /// The result, if the request has been served.
    pub fn take(&self, request: u64) -> Option<Vec<ClassCount>> {
        let served = self.served.lock();
        (served.number >= request).then(|| served.counts.clone())
    }
}

/// Serves the requests that wait, if any do. `slot_bytes` is the codec's.
pub fn serve(core: &HeapCore, world: &WorldStopped, collector: &dyn Collector, slot_bytes: usize) {
    let requests = &core.histograms;
    if !requests.is_asked() {
        return;
    }
    let number = requests.asked.load(Ordering::Relaxed);
    let counts = Walk::new(core, collector, slot_bytes).run(world);
    *requests.served.lock() = Served { number, counts };
}

/// The same for a collector without cycles, which moves nothing: stops the world. `m` is the calling mutator.
pub fn stop_and_serve(
    core: &HeapCore,
    m: Option<&Mutator>,
    collector: &dyn Collector,
    slot_bytes: usize,
) {
    let class = set_thread_class(ThreadClass::Gc);
    core.safepoints.stop_world(m, |world| serve(core, world, collector, slot_bytes));
    set_thread_class(class);
}

struct Walk<'a> {
    core: &'a HeapCore,
    collector: &'a dyn Collector,
    slot_bytes: usize,
    reached: MarkBitmap,
    stack: MarkStack,
}

impl<'a> Walk<'a> {
    fn new(core: &'a HeapCore, collector: &'a dyn Collector, slot_bytes: usize) -> Walk<'a> {
        let reached = MarkBitmap::new(&core.geometry);
        Walk { core, collector, slot_bytes, reached, stack: MarkStack::new(core.zones()) }
    }

    fn run(mut self, world: &WorldStopped) -> Vec<ClassCount> {
        let (core, slot_bytes) = (self.core, self.slot_bytes);
        self.visit_roots(world);
        let none = |id| ClassCount { klass: KlassId(id), objects: 0, bytes: 0 };
        let mut counts: Vec<_> = (0..core.layouts.count()).map(none).collect();
        while let Some(object) = self.stack.pop() {
            let layout = core.layout_of(object);
            let count = &mut counts[object.klass().0 as usize];
            count.objects += 1;
            count.bytes += layout.object_bytes(object, slot_bytes);
            for_every_slot(layout, object, slot_bytes, core.reference_fields(), |offset| {
                self.reach_word(read_word(object, offset, slot_bytes));
            });
        }
        counts.retain(|count| count.objects > 0);
        counts
    }

    fn visit_roots(&mut self, world: &WorldStopped) {
        let binding = self.core.binding();
        binding.visit_thread_roots(world, &mut |root| self.reach(*root));
        let mut slot = |slot: &RootSlot| self.reach_word(slot.word().load(Ordering::Relaxed));
        binding.visit_strong_slots(world, &mut slot);
        binding.visit_weak_slots(world, &mut slot);
        slot(binding.pending_list());
    }

    fn reach_word(&mut self, word: u64) {
        self.reach(self.collector.decode(word));
    }

    fn reach(&mut self, object: ObjectRef) {
        if !object.is_null() && self.reached.mark_alone(object) {
            self.stack.push(object);
        }
    }
}
