//! The heap's record of a class: how large its objects are and where their references lie.
//!
//! The VM registers one layout per class, once, before the first object of it exists; agents on memory
//! servers receive the same records by id. Layouts never change after registration, with one exception that
//! is not visible here: the offsets of `java.lang.ref.Reference` are set once with [`ReferenceFields`].

use crate::object::{KLASS_ID_MAX, KlassId, ObjectRef, align_object};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// The shape of the objects of one class.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KlassLayout {
    /// Ordinary objects: `bytes` is the aligned size of each, `refs` the byte offsets of reference slots, ascending.
    Instance { bytes: u32, refs: Box<[u32]>, kind: ReferenceKind },
    /// `java.lang.Class` objects, which hold the static fields of the class that they stand for. `refs` are the
    /// slots of every mirror; at `statics_start` begin the mirror's own static reference slots, as many as the
    /// i32 at `static_refs_at` says; the aligned size in bytes is the i32 at `bytes_at`. The i32 at `klass_id_at` is
    /// the id of the class that the mirror stands for, which lives as long as the mirror; 0 while that is not known.
    Mirror {
        refs: Box<[u32]>,
        statics_start: u32,
        static_refs_at: u32,
        bytes_at: u32,
        klass_id_at: u32,
    },
    /// Arrays of references; elements have the codec's slot width. The first is at offset `base`, a multiple of that.
    ObjectArray { base: u32 },
    /// Arrays of primitives of `1 << log2_bytes` bytes, from offset `base` on, a multiple of that.
    PrimitiveArray { base: u32, log2_bytes: u8 },
}

/// What keeps a class: the unit in which the VM unloads classes. Any number that the VM chooses; those of
/// [`HolderId::PERMANENT`] never go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HolderId(pub u32);

impl HolderId {
    pub const PERMANENT: HolderId = HolderId(0);
}

/// How a class descends from `java.lang.ref.Reference` (JDK `java.lang.ref`, package documentation).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReferenceKind {
    Strong,
    Soft,
    Weak,
    Final,
    Phantom,
}

/// Byte offsets of the fields of `java.lang.ref.Reference` (and of the timestamps of soft ones) that the
/// collector reads or writes. `referent` and `discovered` are not among the `refs` of a reference class:
/// the collector treats them by [`ReferenceKind`]. `next` and `queue` are ordinary fields and are in `refs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReferenceFields {
    pub referent: u32,
    pub discovered: u32,
    /// Null while the reference is active (not yet cleared and enqueued).
    pub next: u32,
    /// `long SoftReference.timestamp`, in the unit of the static `SoftReference.clock`.
    pub soft_timestamp: u32,
}

impl KlassLayout {
    /// How many references `object`, whose layout this is, has room for. Statics of a mirror are not counted.
    #[inline]
    pub fn slot_count(&self, object: ObjectRef) -> usize {
        match self {
            KlassLayout::Instance { refs, .. } | KlassLayout::Mirror { refs, .. } => refs.len(),
            KlassLayout::ObjectArray { .. } => object.array_length(),
            KlassLayout::PrimitiveArray { .. } => 0,
        }
    }

    /// Whether objects of this layout may refer to others.
    #[inline]
    pub fn has_slots(&self) -> bool {
        match self {
            KlassLayout::Instance { refs, kind, .. } => {
                !refs.is_empty() || *kind != ReferenceKind::Strong
            }
            KlassLayout::Mirror { .. } | KlassLayout::ObjectArray { .. } => true,
            KlassLayout::PrimitiveArray { .. } => false,
        }
    }

    /// Aligned size in bytes of `object`, whose layout this is. `slot_bytes` is the codec's.
    #[inline]
    pub fn object_bytes(&self, object: ObjectRef, slot_bytes: usize) -> usize {
        match self {
            KlassLayout::Instance { bytes, .. } => *bytes as usize,
            KlassLayout::Mirror { bytes_at, .. } => {
                // SAFETY: the object is a mirror, whose i32 at `bytes_at` the VM wrote before publishing it.
                unsafe { *((object.address() + *bytes_at as usize) as *const i32) as usize }
            }
            KlassLayout::ObjectArray { base } => {
                array_bytes(*base as usize, object.array_length(), slot_bytes)
            }
            KlassLayout::PrimitiveArray { base, log2_bytes } => {
                array_bytes(*base as usize, object.array_length(), 1 << log2_bytes)
            }
        }
    }
}

/// Aligned size in bytes of an array of `length` elements, of which the first is at offset `base`.
#[inline]
pub fn array_bytes(base: usize, length: usize, element_bytes: usize) -> usize {
    align_object(base + length * element_bytes)
}

/// The layouts of all classes, by id. Reading takes no lock, any thread.
///
/// The layout of an id never changes. An unloaded class may leave dead objects behind, for as long as their region is
/// not reclaimed, and walks over the heap need their sizes: so only a class with the same layout gets its id.
pub struct LayoutTable {
    chunks: Box<[AtomicPtr<Chunk>]>,
    ids: Mutex<Ids>,
}

struct Ids {
    /// The first that was never given out.
    next: u32,
    /// Of unloaded classes, by layout.
    released: HashMap<KlassLayout, Vec<KlassId>>,
}

impl LayoutTable {
    pub fn new() -> LayoutTable {
        let chunks = (0..CHUNKS).map(|_| AtomicPtr::new(std::ptr::null_mut())).collect();
        // Id 0 is never used: a zeroed header must not look like an object's.
        let ids = Ids { next: 1, released: HashMap::new() };
        LayoutTable { chunks, ids: Mutex::new(ids) }
    }

    /// As [`register_of`](Self::register_of), of a class that never goes.
    pub fn register(&self, layout: KlassLayout) -> KlassId {
        self.register_of(HolderId::PERMANENT, layout)
    }

    /// Registers a layout and returns its id. Panics when there is no [`room`](Self::room).
    pub fn register_of(&self, holder: HolderId, layout: KlassLayout) -> KlassId {
        let mut ids = self.ids.lock();
        if holder != HolderId::PERMANENT
            && let Some(id) = ids.released.get_mut(&layout).and_then(Vec::pop)
        {
            let record = self.record(id).expect("it was registered before");
            record.holder.store(holder.0, Ordering::Relaxed);
            record.is_retired.store(false, Ordering::Relaxed);
            return id;
        }
        let id = ids.next;
        assert!(id <= KLASS_ID_MAX, "more than {KLASS_ID_MAX} classes");
        let slot = &self.chunks[id as usize / CHUNK_LAYOUTS];
        if slot.load(Ordering::Relaxed).is_null() {
            let chunk: Box<Chunk> = Box::new(std::array::from_fn(|_| OnceLock::new()));
            slot.store(Box::into_raw(chunk), Ordering::Release);
        }
        // SAFETY: the chunk was made above or earlier and is freed only when the table is dropped.
        let chunk = unsafe { &*slot.load(Ordering::Relaxed) };
        let holder = AtomicU32::new(holder.0);
        let record = Record { layout, holder, is_retired: AtomicBool::new(false) };
        assert!(chunk[id as usize % CHUNK_LAYOUTS].set(record).is_ok(), "layout {id} set twice");
        ids.next = id + 1;
        KlassId(id)
    }

    /// The layout of a registered class. Panics on an id that was never registered.
    #[inline]
    pub fn layout(&self, klass: KlassId) -> &KlassLayout {
        self.find(klass).unwrap_or_else(|| panic!("no layout for {klass:?}"))
    }

    /// As [`layout`](Self::layout), for ids that may be wrong (heap verification, peers).
    #[inline]
    pub fn find(&self, klass: KlassId) -> Option<&KlassLayout> {
        self.record(klass).map(|record| &record.layout)
    }

    /// What holds a registered class. Panics on an id that was never registered.
    #[inline]
    pub fn holder(&self, klass: KlassId) -> HolderId {
        self.layout_and_holder(klass).1
    }

    /// Both of a registered class. Panics on an id that was never registered.
    #[inline]
    pub fn layout_and_holder(&self, klass: KlassId) -> (&KlassLayout, HolderId) {
        let record = self.record(klass).unwrap_or_else(|| panic!("no holder for {klass:?}"));
        (&record.layout, HolderId(record.holder.load(Ordering::Relaxed)))
    }

    /// The class is unloaded. Dead objects of it may remain, so its layout does too; verification accepts no live one.
    pub fn retire(&self, klass: KlassId) {
        let record = self.record(klass).unwrap_or_else(|| panic!("{klass:?} is not registered"));
        record.is_retired.store(true, Ordering::Relaxed);
    }

    /// The VM has nothing left that names an unloaded class: another one may get its id.
    pub fn release(&self, klass: KlassId) {
        let layout = self.layout(klass).clone();
        self.ids.lock().released.entry(layout).or_default().push(klass);
    }

    /// How many more classes there may be at least.
    pub fn room(&self) -> usize {
        (KLASS_ID_MAX + 1 - self.ids.lock().next) as usize
    }

    /// Whether the class is unloaded.
    pub fn is_retired(&self, klass: KlassId) -> bool {
        self.record(klass).is_some_and(|record| record.is_retired.load(Ordering::Relaxed))
    }

    #[inline]
    fn record(&self, klass: KlassId) -> Option<&Record> {
        let chunk = self.chunks.get(klass.0 as usize / CHUNK_LAYOUTS)?.load(Ordering::Acquire);
        if chunk.is_null() {
            return None;
        }
        // SAFETY: as in `register`.
        let chunk = unsafe { &*chunk };
        chunk[klass.0 as usize % CHUNK_LAYOUTS].get()
    }

    /// Number of ids in use, plus one: ids are `1..count`.
    pub fn count(&self) -> u32 {
        self.ids.lock().next
    }
}

impl Default for LayoutTable {
    fn default() -> Self {
        LayoutTable::new()
    }
}

impl Drop for LayoutTable {
    fn drop(&mut self) {
        for slot in &self.chunks {
            let chunk = slot.load(Ordering::Relaxed);
            if !chunk.is_null() {
                // SAFETY: made by Box::into_raw in `register`; `&mut self` says that no thread reads it.
                drop(unsafe { Box::from_raw(chunk) });
            }
        }
    }
}

const CHUNK_LAYOUTS: usize = 4096;
const CHUNKS: usize = (KLASS_ID_MAX as usize + 1) / CHUNK_LAYOUTS;

type Chunk = [OnceLock<Record>; CHUNK_LAYOUTS];

struct Record {
    layout: KlassLayout,
    /// A [`HolderId`]. Relaxed: an object of the class is made after it is set.
    holder: AtomicU32,
    /// Written in a pause, read in pauses; relaxed.
    is_retired: AtomicBool,
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_an_unloaded_class_goes_to_one_with_the_same_layout() {
        let table = LayoutTable::new();
        let array = |log2_bytes| KlassLayout::PrimitiveArray { base: 16, log2_bytes };
        let (one, other) = (HolderId(1), HolderId(2));
        let bytes = table.register_of(one, array(0));
        table.retire(bytes);
        assert!(table.is_retired(bytes) && table.holder(bytes) == one);
        // Not released yet.
        assert_ne!(table.register_of(other, array(0)), bytes);
        table.release(bytes);
        assert_ne!(table.register_of(other, array(3)), bytes);
        // A permanent class has an id that is permanent.
        assert_ne!(table.register(array(0)), bytes);
        assert_eq!(table.register_of(other, array(0)), bytes);
        assert!(!table.is_retired(bytes) && table.holder(bytes) == other);
        assert_ne!(table.register_of(other, array(0)), bytes);
        assert_eq!(table.count(), 6);
    }
}
