//! Inspections: something looks at every reachable object, in one pause.
//!
//! 1. A thread asks with an [`Inspector`], and runs a cycle ([`Heap::inspect`](crate::heap::Heap::inspect)).
//! 2. Each collector calls [`serve`] at the end of its cycles, in a pause, where it verifies the heap too: no object is
//!    being moved then. If threads have asked, everything reachable is walked once, the referents of reference objects
//!    included, and each inspector is shown every object. Referents that nothing else reaches have been cleared by the
//!    cycle, unless they are to be kept.
//! 3. The thread takes its inspector back.
//!
//! An inspector that has a file to spare ([`Inspector::snapshot_file`]) need not be shown the objects in the pause, if
//! the collector can make a [`HeapSnapshot`]: the thread shows it copies of them, while the program goes on.
//!
//! A walk serves all that have asked before it, so threads that ask at the same time need not wait for each other.

use crate::core::collector::Collector;
use crate::core::heap_core::HeapCore;
use crate::memory::mark_bitmap::MarkBitmap;
use crate::object::codec::read_word;
use crate::object::layout::KlassLayout;
use crate::object::{ObjectRef, RootSlot};
use crate::threads::mutator::{Mutator, WorldStopped};
use crate::tracing::mark_stack::MarkStack;
use crate::tracing::scan::for_every_slot;
use parking_lot::Mutex;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use swap::{ThreadClass, set_thread_class};

/// Is shown the reachable objects. Called in a pause, on a thread of the collector or the one that asked: it must not
/// allocate in the heap, run Java code, or take a lock that a thread may hold while it reaches a safepoint.
pub trait Inspector: Send {
    /// A file without a name, open for reading and writing, of an inspector that may be shown the objects after the
    /// pause, as they were in it. It needs their ids only, and follows no reference. Asked for once.
    fn snapshot_file(&mut self) -> Option<File> {
        None
    }

    /// Before the first object, in the pause.
    fn begin(&mut self, _heap: &StoppedHeap<'_>) {}

    /// An object: each once, in no particular order. After the pause it is a copy, which is gone when this returns, and
    /// this is called by the thread that asked, in the safe state.
    fn object(&mut self, objects: &Objects<'_>, object: ObjectRef);

    /// After the last object; the world is still stopped. Not called where objects are shown after the pause.
    fn end(&mut self, _heap: &StoppedHeap<'_>) {}

    /// Not all objects could be shown after the pause.
    fn failed(&mut self, _error: io::Error) {}
}

/// The objects of one moment, kept while the program changes them.
pub trait HeapSnapshot: Send {
    /// The width of a reference slot, in bytes.
    fn slot_bytes(&self) -> usize;

    /// Shows a copy of every object that was reachable, and perhaps of some that were not, each once. It is gone when
    /// `show` returns. Once. Blocks while servers or the disk answer; by a thread in the safe state.
    ///
    /// # Errors
    /// The disk is full, for example.
    fn show(&mut self, show: &mut dyn FnMut(ObjectRef)) -> io::Result<()>;
}

/// How objects are named to others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ids {
    /// By their addresses.
    Addresses,
    /// By their entries, which headers and slots have: copies have them too.
    Entries,
}

/// Reads objects that nobody changes: of a stopped heap, or copies.
pub struct Objects<'a> {
    core: &'a HeapCore,
    collector: &'a dyn Collector,
    slot_bytes: usize,
    ids: Ids,
}

/// A heap in which no object moves, while the world is stopped: plain addresses are good until the inspection ends.
pub struct StoppedHeap<'a> {
    objects: Objects<'a>,
    world: &'a WorldStopped,
}

impl<'a> Deref for StoppedHeap<'a> {
    type Target = Objects<'a>;

    fn deref(&self) -> &Objects<'a> {
        &self.objects
    }
}

impl<'a> StoppedHeap<'a> {
    /// The reference in a root; may be null.
    pub fn load_root(&self, slot: &RootSlot) -> ObjectRef {
        self.collector.decode(slot.word().load(Ordering::Relaxed))
    }

    pub fn world(&self) -> &'a WorldStopped {
        self.world
    }
}

impl<'a> Objects<'a> {
    /// Reads the copies that a [`HeapSnapshot`] shows.
    pub(crate) fn copies(
        core: &'a HeapCore,
        collector: &'a dyn Collector,
        slot_bytes: usize,
    ) -> Objects<'a> {
        Objects { core, collector, slot_bytes, ids: Ids::Entries }
    }

    /// The reference in a slot of an object, `offset` bytes from its header; may be null. Not of a copy.
    #[inline]
    pub fn load(&self, object: ObjectRef, offset: usize) -> ObjectRef {
        debug_assert_eq!(self.ids, Ids::Addresses);
        self.collector.decode(read_word(object, offset, self.slot_bytes))
    }

    /// A number that belongs to an object as long as the inspection lasts; 0 for null.
    #[inline]
    pub fn id(&self, object: ObjectRef) -> u64 {
        match self.ids {
            _ if object.is_null() => 0,
            Ids::Addresses => object.address() as u64,
            Ids::Entries => id_of_entry(object.value_word().load(Ordering::Relaxed).into()),
        }
    }

    /// The id of what a slot of an object names, `offset` bytes from its header.
    #[inline]
    pub fn id_at(&self, object: ObjectRef, offset: usize) -> u64 {
        let word = read_word(object, offset, self.slot_bytes);
        match self.ids {
            Ids::Addresses => self.collector.decode(word).address() as u64,
            Ids::Entries => id_of_entry(word),
        }
    }

    /// The size of an object, in bytes.
    #[inline]
    pub fn object_bytes(&self, object: ObjectRef) -> usize {
        self.core.layout_of(object).object_bytes(object, self.slot_bytes)
    }

    /// The width of a reference slot, in bytes.
    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    /// Number of class ids in use, plus one: ids are `1..klass_count`.
    pub fn klass_count(&self) -> u32 {
        self.core.layouts.count()
    }

    #[inline]
    fn for_every_slot(&self, layout: &KlassLayout, object: ObjectRef, slot: impl FnMut(usize)) {
        for_every_slot(layout, object, self.slot_bytes, self.core.reference_fields(), slot);
    }
}

/// An inspector that waits, or has been served.
pub(crate) struct Asked<I: ?Sized> {
    pub is_served: bool,
    /// Of an inspector that may be shown the objects after the pause.
    pub file: Option<File>,
    /// It has been served, but for the objects: the thread that asked shows it those of this.
    pub snapshot: Option<Box<dyn HeapSnapshot>>,
    pub inspector: I,
}

type Waiting = Arc<Mutex<Asked<dyn Inspector>>>;

/// The inspectors that wait for the next pause that can serve them.
#[derive(Default)]
pub(crate) struct Requests {
    waiting: Mutex<Vec<Waiting>>,
}

impl Requests {
    /// A cycle that begins after the call serves the request.
    pub fn ask(&self, asked: Waiting) {
        self.waiting.lock().push(asked);
    }

    /// Forgets a request that was not served.
    pub fn withdraw(&self, asked: &Waiting) {
        self.waiting.lock().retain(|other| !Arc::ptr_eq(other, asked));
    }

    /// Whether one waits that may be served by a [`HeapSnapshot`].
    pub fn wants_snapshot(&self) -> bool {
        self.waiting.lock().iter().any(|asked| asked.lock().file.is_some())
    }

    /// Whether a request waits.
    pub fn is_asked(&self) -> bool {
        !self.waiting.lock().is_empty()
    }
}

/// Serves the requests that wait, if any do. `slot_bytes` is the codec's.
pub fn serve(core: &HeapCore, world: &WorldStopped, collector: &dyn Collector, slot_bytes: usize) {
    let waiting = std::mem::take(&mut *core.inspections.waiting.lock());
    if waiting.is_empty() {
        return;
    }
    let stopped =
        |ids| StoppedHeap { objects: Objects { core, collector, slot_bytes, ids }, world };
    let mut asked: Vec<_> = waiting.iter().map(|asked| asked.lock()).collect();
    for asked in &mut asked {
        let file = asked.file.take();
        asked.snapshot = file.and_then(|file| collector.snapshot(world, file));
        if asked.snapshot.is_some() {
            asked.inspector.begin(&stopped(Ids::Entries));
            asked.is_served = true;
        }
    }
    asked.retain(|asked| !asked.is_served);
    if asked.is_empty() {
        return;
    }
    let heap = stopped(Ids::Addresses);
    asked.iter_mut().for_each(|asked| asked.inspector.begin(&heap));
    Walk::new(&heap).run(&mut |object| {
        asked.iter_mut().for_each(|asked| asked.inspector.object(&heap, object));
    });
    for asked in &mut asked {
        asked.inspector.end(&heap);
        asked.is_served = true;
    }
}

/// The same for a collector without cycles, which moves nothing: stops the world. `m` is the calling mutator.
pub fn stop_and_serve(
    core: &HeapCore,
    m: Option<&Mutator>,
    collector: &dyn Collector,
    slot_bytes: usize,
) {
    if !core.inspections.is_asked() {
        return;
    }
    let class = set_thread_class(ThreadClass::Gc);
    core.safepoints.stop_world(m, |world| serve(core, world, collector, slot_bytes));
    set_thread_class(class);
}

#[inline]
fn id_of_entry(entry: u64) -> u64 {
    entry << ENTRY_ID_SHIFT
}

/// Ids look like addresses, which readers of dumps expect: multiples of eight.
const ENTRY_ID_SHIFT: u32 = 3;

struct Walk<'a> {
    heap: &'a StoppedHeap<'a>,
    reached: MarkBitmap,
    stack: MarkStack,
}

impl<'a> Walk<'a> {
    fn new(heap: &'a StoppedHeap<'a>) -> Walk<'a> {
        let (core, reached) = (heap.core, MarkBitmap::new(&heap.core.geometry));
        Walk { heap, reached, stack: MarkStack::new(core.zones()) }
    }

    fn run(mut self, show: &mut dyn FnMut(ObjectRef)) {
        let heap = self.heap;
        self.visit_roots();
        while let Some(object) = self.stack.pop() {
            show(object);
            heap.for_every_slot(heap.core.layout_of(object), object, |offset| {
                self.reach(heap.load(object, offset));
            });
        }
    }

    fn visit_roots(&mut self) {
        let heap = self.heap;
        let binding = heap.core.binding();
        binding.visit_thread_roots(heap.world, &mut |root| self.reach(*root));
        let mut slot = |slot: &RootSlot| self.reach(heap.load_root(slot));
        binding.visit_strong_slots(heap.world, &mut slot);
        binding.visit_weak_slots(heap.world, &mut slot);
        slot(binding.pending_list());
    }

    fn reach(&mut self, object: ObjectRef) {
        if !object.is_null() && self.reached.mark_alone(object) {
            self.stack.push(object);
        }
    }
}
