//! A heap with a mutator and no VM, to run single operations on.

#![allow(dead_code)]

#[path = "programs.rs"]
mod programs;

use gc::barrier::BarrierSet;
use gc::heap::Heap;
use gc::object::layout::{KlassLayout, ReferenceFields, ReferenceKind};
use gc::object::{HEADER_BYTES, KlassId, ObjectRef, RootSlot, align_object};
use gc::options::HeapOptions;
use gc::threads::binding::VmBinding;
use gc::threads::mutator::{Mutator, WorldStopped};
use jvm::jit::single::BareThread;
use programs::program;
use std::sync::Arc;

/// Reference slots of a node.
pub const SLOTS: usize = 4;
/// Where the elements of `long[]` begin.
pub const LONGS_BASE: usize = 16;

/// One attached thread on a heap that has no roots.
pub struct BareHeap {
    pub thread: Box<BareThread>,
    pub heap: Arc<Heap>,
    /// An object with [`SLOTS`] references.
    pub node: KlassId,
    /// `long[]`
    pub longs: KlassId,
}

impl BareHeap {
    pub fn new(options: &HeapOptions) -> BareHeap {
        let mut options = options.clone();
        options.memory_server_program = Some(program("memory-server"));
        let heap = Heap::new(&options).expect("a heap for a test");
        heap.bind(Arc::new(NoRoots::default()));
        let slot_bytes = heap.barriers().slot_bytes();
        let slot = |i: usize| (HEADER_BYTES + i * slot_bytes) as u32;
        heap.set_reference_fields(ReferenceFields {
            referent: slot(0),
            discovered: slot(1),
            next: slot(2),
            soft_timestamp: slot(4),
        });
        let node = heap.layouts().register(KlassLayout::Instance {
            bytes: align_object(HEADER_BYTES + SLOTS * slot_bytes) as u32,
            refs: (0..SLOTS).map(slot).collect(),
            kind: ReferenceKind::Strong,
        });
        let longs = heap
            .layouts()
            .register(KlassLayout::PrimitiveArray { base: LONGS_BASE as u32, log2_bytes: 3 });
        BareHeap { thread: BareThread::attach(heap.clone()), heap, node, longs }
    }

    pub fn barriers(&self) -> &dyn BarrierSet {
        self.heap.barriers()
    }

    pub fn m(&self) -> &Mutator {
        &self.thread.mutator
    }

    /// Offset of a node's slot.
    pub fn slot(&self, i: usize) -> usize {
        HEADER_BYTES + i * self.barriers().slot_bytes()
    }

    pub fn node_bytes(&self) -> usize {
        align_object(HEADER_BYTES + SLOTS * self.barriers().slot_bytes())
    }

    pub fn new_node(&self) -> ObjectRef {
        let made = self.heap.allocate(self.m(), self.node, self.node_bytes(), None);
        made.expect("the heap is large enough")
    }
}

impl BareHeap {
    pub fn new_longs(&self, length: usize) -> ObjectRef {
        let bytes = align_object(LONGS_BASE + length * size_of::<i64>());
        let made = self.heap.allocate(self.m(), self.longs, bytes, Some(length as u32));
        made.expect("the heap is large enough")
    }
}

#[derive(Default)]
struct NoRoots {
    pending: RootSlot,
}

impl VmBinding for NoRoots {
    fn visit_thread_roots(&self, _: &WorldStopped, _: &mut dyn FnMut(&mut ObjectRef)) {}

    fn visit_strong_slots(&self, _: &WorldStopped, _: &mut dyn FnMut(&RootSlot)) {}

    fn visit_weak_slots(&self, _: &WorldStopped, _: &mut dyn FnMut(&RootSlot)) {}

    fn pending_list(&self) -> &RootSlot {
        &self.pending
    }

    fn cycle_finished(&self) {}
}
