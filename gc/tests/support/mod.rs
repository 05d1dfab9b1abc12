//! A small VM for tests of collectors: threads with root words, strong and weak slots, a few classes.

#![allow(dead_code)]

pub mod holders;

use gc::core::collector::CollectorPlan;
use gc::core::outcome::AllocFailure;
use gc::heap::Heap;
use gc::object::layout::{
    HolderId, KlassLayout, LayoutTable, ReferenceFields, ReferenceKind, array_bytes,
};
use gc::object::{ARRAY_BASE_MIN, HEADER_BYTES, KlassId, ObjectRef, RootSlot, align_object};
use gc::options::HeapOptions;
use gc::threads::binding::VmBinding;
use gc::threads::mutator::{Mutator, ThreadField, WorldStopped};
use holders::TestHolders;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// Whether all bindings panic at the end of a cycle, on the collector's thread.
pub static PANICS_AT_CYCLE_END: AtomicBool = AtomicBool::new(false);

/// Ends the process if its thread panics: threads of a collector would wait for ever, and the test too.
pub struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

/// A heap with its VM.
pub struct TestVm {
    pub heap: Arc<Heap>,
    pub binding: Arc<TestBinding>,
    pub classes: Classes,
}

/// The VM as the collector sees it.
#[derive(Default)]
pub struct TestBinding {
    threads: Mutex<Vec<ThreadPointer>>,
    pub strong: Vec<RootSlot>,
    pub weak: Vec<RootSlot>,
    pub pending: RootSlot,
    pub holders: TestHolders,
    layouts: OnceLock<LayoutsPointer>,
    /// Weak, too: what collectors have found.
    pub strings: Mutex<Vec<RootSlot>>,
    pub cycles: AtomicUsize,
    /// Held while a thread takes references off the pending list.
    draining: Mutex<()>,
}

struct ThreadPointer(*const TestThread);

/// The heap's. Its collector's threads use it, and end before it does.
struct LayoutsPointer(*const LayoutTable);

// SAFETY: the table is shared by all threads.
unsafe impl Send for LayoutsPointer {}
// SAFETY: as above.
unsafe impl Sync for LayoutsPointer {}

// SAFETY: threads stay in place while they are registered; the collector reads them in pauses.
unsafe impl Send for ThreadPointer {}

/// The classes of the test VM; offsets depend on the slot width. Nodes and reference objects have a number, behind the
/// header, and their slots where arrays have their elements.
#[derive(Clone)]
pub struct Classes {
    pub slot_bytes: usize,
    /// `nodes[n]` has `n` reference slots.
    pub nodes: Vec<KlassId>,
    pub refs: KlassId,
    pub bytes: KlassId,
    pub longs: KlassId,
    /// By `index` of soft, weak, final, phantom.
    pub references: [KlassId; 4],
    pub mirrors: KlassId,
    pub fields: ReferenceFields,
    pub reference_bytes: usize,
}

pub const KINDS: [ReferenceKind; 4] =
    [ReferenceKind::Soft, ReferenceKind::Weak, ReferenceKind::Final, ReferenceKind::Phantom];

impl Classes {
    fn register(heap: &Heap) -> Classes {
        let slot_bytes = heap.barriers().slot_bytes();
        let slot = |i: usize| array_base(slot_bytes) + (i * slot_bytes) as u32;
        let layouts = heap.layouts();
        let node = |n: usize| {
            let refs = (0..n).map(slot).collect();
            let bytes = align_object(slot(n) as usize) as u32;
            layouts.register(KlassLayout::Instance { bytes, refs, kind: ReferenceKind::Strong })
        };
        let reference_bytes = align_object(slot(4) as usize) + 8;
        let fields = ReferenceFields {
            referent: slot(0),
            discovered: slot(1),
            next: slot(2),
            soft_timestamp: reference_bytes as u32 - 8,
        };
        heap.set_reference_fields(fields);
        let reference = |kind| {
            let refs = Box::new([slot(2), slot(3)]);
            let bytes = reference_bytes as u32;
            layouts.register(KlassLayout::Instance { bytes, refs, kind })
        };
        Classes {
            slot_bytes,
            nodes: (0..=NODE_SLOTS_MAX).map(node).collect(),
            refs: layouts.register(KlassLayout::ObjectArray { base: array_base(slot_bytes) }),
            bytes: layouts
                .register(KlassLayout::PrimitiveArray { base: array_base(1), log2_bytes: 0 }),
            longs: layouts
                .register(KlassLayout::PrimitiveArray { base: array_base(8), log2_bytes: 3 }),
            references: KINDS.map(reference),
            mirrors: layouts.register(Classes::mirror_layout(slot_bytes)),
            fields,
            reference_bytes,
        }
    }

    /// Mirrors have one slot of their own, and one static one.
    fn mirror_layout(slot_bytes: usize) -> KlassLayout {
        let slot = |i: usize| array_base(slot_bytes) + (i * slot_bytes) as u32;
        let [static_refs_at, bytes_at, klass_id_at] = mirror_fields(slot_bytes).map(|at| at as u32);
        KlassLayout::Mirror {
            refs: [slot(0)].into(),
            statics_start: slot(1),
            static_refs_at,
            bytes_at,
            klass_id_at,
        }
    }

    /// Offsets of the number of static slots, of the size, and of the id of the class.
    pub fn mirror_fields(&self) -> [usize; 3] {
        mirror_fields(self.slot_bytes)
    }

    /// The class that a mirror stands for.
    pub fn mirrored(&self, mirror: ObjectRef) -> KlassId {
        KlassId(field(mirror, self.mirror_fields()[2]).load(Ordering::Relaxed))
    }

    pub fn mirror_bytes(&self) -> usize {
        align_object(self.mirror_fields()[2] + size_of::<u32>())
    }

    /// Offset of slot `i` of a node or reference array.
    pub fn slot(&self, i: usize) -> usize {
        array_base(self.slot_bytes) as usize + i * self.slot_bytes
    }

    pub fn node_bytes(&self, slots: usize) -> usize {
        align_object(self.slot(slots))
    }

    pub fn array_bytes(&self, klass: KlassId, length: usize) -> usize {
        let element = match klass {
            k if k == self.refs => self.slot_bytes,
            k if k == self.bytes => 1,
            k if k == self.longs => 8,
            other => panic!("{other:?} is no array class"),
        };
        array_bytes(array_base(element) as usize, length, element)
    }
}

fn mirror_fields(slot_bytes: usize) -> [usize; 3] {
    let first = array_base(slot_bytes) as usize + 2 * slot_bytes;
    [0, 1, 2].map(|i| first + i * size_of::<u32>())
}

/// The number of a node or a reference object; zero in a new one. It is no reference, so collectors only copy it.
/// Arrays have none: they have their length in its place.
pub fn number_of(object: ObjectRef) -> &'static AtomicU32 {
    field(object, NUMBER)
}

/// The number of an array of at least four bytes, in place of its first elements, which are not references.
pub fn array_number_of(array: ObjectRef) -> &'static AtomicU32 {
    field(array, array_base(1) as usize)
}

fn field(object: ObjectRef, offset: usize) -> &'static AtomicU32 {
    // SAFETY: an aligned field that every object of the callers' classes has, in a live object. It is only accessed
    // atomically by the threads that know the object, and no caller keeps it beyond its next safepoint.
    unsafe { AtomicU32::from_ptr((object.address() + offset) as *mut u32) }
}

/// Where the elements of an array begin: as early as they can.
pub const fn array_base(element_bytes: usize) -> u32 {
    ARRAY_BASE_MIN.next_multiple_of(element_bytes) as u32
}

const NUMBER: usize = HEADER_BYTES;
const _: () = assert!(NUMBER + size_of::<u32>() <= ARRAY_BASE_MIN);

pub const NODE_SLOTS_MAX: usize = 12;
const STRONG_SLOTS: usize = 8;
const WEAK_SLOTS: usize = 64;

impl TestVm {
    pub fn new(options: &HeapOptions) -> TestVm {
        TestVm::over(Heap::new(&with_server(options)).expect("a heap for a test"))
    }

    /// With a collector of the test's own.
    pub fn with_plan(options: &HeapOptions, plan: Box<dyn CollectorPlan>) -> TestVm {
        let heap = Heap::with_plan(&with_server(options), |_| plan);
        TestVm::over(heap.expect("a heap for a test"))
    }

    fn over(heap: Arc<Heap>) -> TestVm {
        let slots = |n| (0..n).map(|_| RootSlot::null()).collect();
        let binding = Arc::new(TestBinding {
            strong: slots(STRONG_SLOTS),
            weak: slots(WEAK_SLOTS),
            ..TestBinding::default()
        });
        assert!(binding.layouts.set(LayoutsPointer(heap.layouts())).is_ok());
        heap.bind(binding.clone());
        let classes = Classes::register(&heap);
        TestVm { heap, binding, classes }
    }

    /// Takes everything off the pending list; returns how many references were on it.
    pub fn drain_pending(&self, thread: &TestThread) -> usize {
        let _alone = self.binding.draining.lock().unwrap();
        let barriers = self.heap.barriers();
        let m = &thread.m;
        let mut reference = barriers.load_root(m, &self.binding.pending);
        barriers.store_root(m, &self.binding.pending, ObjectRef::NULL);
        let mut count = 0;
        while !reference.is_null() {
            let discovered = self.classes.fields.discovered as usize;
            let next = barriers.load(m, reference, discovered);
            barriers.store(m, reference, discovered, ObjectRef::NULL);
            reference = next;
            count += 1;
        }
        count
    }
}

/// The options, with the program for memory servers that was built beside the test.
fn with_server(options: &HeapOptions) -> HeapOptions {
    let mut options = options.clone();
    let program = env!("CARGO_BIN_EXE_memory-server").into();
    options.memory_server_program.get_or_insert(program);
    options
}

impl VmBinding for TestBinding {
    fn visit_thread_roots(&self, _world: &WorldStopped, visit: &mut dyn FnMut(&mut ObjectRef)) {
        for thread in self.threads.lock().unwrap().iter() {
            // SAFETY: registered threads stay in place and, the world being stopped, do not run.
            let thread = unsafe { &*thread.0 };
            for root in &thread.roots {
                // SAFETY: as above, so no other thread uses the cell.
                visit(unsafe { &mut *root.as_ptr() });
            }
        }
    }

    fn visit_strong_slots(&self, world: &WorldStopped, visit: &mut dyn FnMut(&RootSlot)) {
        self.visit_permanent_slots(world, visit);
        self.holders.visit_all(visit);
    }

    fn visit_permanent_slots(&self, _world: &WorldStopped, visit: &mut dyn FnMut(&RootSlot)) {
        self.strong.iter().for_each(visit);
    }

    fn visit_holder_slots(&self, holder: HolderId, visit: &mut dyn FnMut(&RootSlot)) {
        self.holders.get(holder).slots.iter().for_each(visit);
    }

    fn holder_limit(&self) -> u32 {
        self.holders.limit()
    }

    fn visit_holders_in_use(&self, _world: &WorldStopped, visit: &mut dyn FnMut(HolderId)) {
        self.holders.visit_in_use(visit);
    }

    fn unload(&self, _world: &WorldStopped, is_alive: &dyn Fn(HolderId) -> bool) {
        let layouts = self.layouts.get().expect("set before the heap is bound");
        // SAFETY: see there.
        self.holders.unload(unsafe { &*layouts.0 }, is_alive);
    }

    fn visit_weak_slots(&self, _world: &WorldStopped, visit: &mut dyn FnMut(&RootSlot)) {
        self.weak.iter().for_each(&mut *visit);
        self.strings.lock().unwrap().iter().for_each(visit);
    }

    fn pending_list(&self) -> &RootSlot {
        &self.pending
    }

    fn strings_found(&self, slots: Vec<RootSlot>) {
        self.strings.lock().unwrap().extend(slots);
    }

    fn cycle_finished(&self) {
        assert!(!PANICS_AT_CYCLE_END.load(Ordering::SeqCst), "at the end of a cycle");
        self.cycles.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whether the thread has been notified that a marking is on; on the thread itself. For collectors whose threads have
/// their phase in the first of the collector's words.
pub fn is_tracing(thread: &TestThread) -> bool {
    let field = (&raw const thread.m).expose_provenance() + ThreadField::word(0).offset();
    // SAFETY: a word of the thread's own block, which only the thread and pauses write.
    unsafe { AtomicU64::from_ptr(field as *mut u64) }.load(Ordering::Relaxed) & 1 != 0
}

/// One mutator with its frame. Boxed: it must not move while attached.
pub struct TestThread {
    pub m: Mutator,
    pub roots: Vec<Cell<ObjectRef>>,
}

impl TestThread {
    /// Attaches the calling thread with `roots` root words.
    pub fn attach(vm: &TestVm, roots: usize) -> Box<TestThread> {
        let roots = (0..roots).map(|_| Cell::new(ObjectRef::NULL)).collect();
        let thread = Box::new(TestThread { m: Mutator::new(), roots });
        vm.binding.threads.lock().unwrap().push(ThreadPointer(&raw const *thread));
        vm.heap.attach(&thread.m);
        thread
    }

    pub fn detach(self: Box<Self>, vm: &TestVm) {
        self.roots.iter().for_each(|root| root.set(ObjectRef::NULL));
        vm.heap.detach(&self.m);
        vm.binding.threads.lock().unwrap().retain(|t| !std::ptr::eq(t.0, &raw const *self));
    }

    pub fn poll(&self, vm: &TestVm) {
        if self.m.poll_requested() {
            vm.heap.safepoint(&self.m);
        }
    }

    pub fn new_node(&self, vm: &TestVm, slots: usize) -> Result<ObjectRef, AllocFailure> {
        let klass = vm.classes.nodes[slots];
        vm.heap.allocate(&self.m, klass, vm.classes.node_bytes(slots), None)
    }

    pub fn new_array(
        &self,
        vm: &TestVm,
        klass: KlassId,
        length: usize,
    ) -> Result<ObjectRef, AllocFailure> {
        let bytes = vm.classes.array_bytes(klass, length);
        vm.heap.allocate(&self.m, klass, bytes, Some(length as u32))
    }

    /// A reference object of `KINDS[kind]` to the object in root `referent`.
    pub fn new_reference(
        &self,
        vm: &TestVm,
        kind: usize,
        referent: usize,
    ) -> Result<ObjectRef, AllocFailure> {
        let classes = &vm.classes;
        let klass = classes.references[kind];
        let object = vm.heap.allocate(&self.m, klass, classes.reference_bytes, None)?;
        let at = classes.fields.referent as usize;
        let referent = self.roots[referent].get();
        vm.heap.barriers().store_initial(&self.m, object, at, referent);
        self.set_timestamp(vm, object, vm.heap.soft_clock_ms());
        Ok(object)
    }

    pub fn set_timestamp(&self, vm: &TestVm, reference: ObjectRef, ms: u64) {
        let address = reference.address() + vm.classes.fields.soft_timestamp as usize;
        // SAFETY: a long field of a reference object of the test VM.
        unsafe { *(address as *mut u64) = ms }
    }

    pub fn referent(&self, vm: &TestVm, reference: ObjectRef) -> ObjectRef {
        let at = vm.classes.fields.referent as usize;
        vm.heap.barriers().load_referent(&self.m, reference, at)
    }
}
