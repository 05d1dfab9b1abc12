//! Objects as an agent sees them: headers, sizes and slots in the server's own memory.
//!
//! The VM may be broken or hostile. Layouts are checked when they come; of an object, nothing is read before it is
//! known to be inside the heap. So for anything that the VM sends or writes, an error is the worst result.

use super::AgentMemory;
use crate::hit::{EntryIndex, HitGeometry, TabletId};
use crate::object::layout::{HolderId, KlassLayout, ReferenceFields, ReferenceKind, array_bytes};
use crate::object::{
    ARRAY_BASE_MIN, ARRAY_LENGTH_OFFSET, KLASS_ID_MAX, KLASS_OFFSET, KLASS_SHIFT, KlassId,
    OBJECT_BYTES_MIN, VALUE_OFFSET,
};
use std::sync::atomic::Ordering;

/// The memory of one server together with the layouts and sizes that are needed to interpret it.
pub struct Objects<S = HitGeometry> {
    pub memory: AgentMemory,
    pub geometry: S,
    pub fields: Option<ReferenceFields>,
    /// Which server this is.
    pub me: usize,
    /// Layouts by id, and what holds the class; 0 is never used.
    layouts: Vec<(HolderId, KlassLayout)>,
}

/// The properties of all heaps that agents work on.
pub trait Shape: std::fmt::Debug {
    /// Bytes of a slot: 4 or 8.
    fn slot_bytes(&self) -> usize;

    fn heap_bytes(&self) -> usize;

    /// Bytes of the heap and of the other tables that a server holds.
    fn far_bytes(&self) -> usize;

    fn servers(&self) -> usize;
}

/// Mako's slots are entry indices.
pub const SLOT_BYTES: usize = 4;

impl Shape for HitGeometry {
    #[inline]
    fn slot_bytes(&self) -> usize {
        SLOT_BYTES
    }

    fn heap_bytes(&self) -> usize {
        self.heap_bytes()
    }

    fn far_bytes(&self) -> usize {
        self.far_bytes()
    }

    fn servers(&self) -> usize {
        self.servers()
    }
}

impl<S: Shape> Objects<S> {
    pub fn new(memory: AgentMemory, geometry: S, me: usize) -> Result<Objects<S>, String> {
        if memory.bytes() < geometry.far_bytes() || me >= geometry.servers() {
            return Err(format!("{geometry:?} does not fit {} bytes, server {me}", memory.bytes()));
        }
        Ok(Objects { memory, geometry, fields: None, me, layouts: Vec::new() })
    }

    /// Adds layouts of the ids from `first` on.
    pub fn add_layouts(
        &mut self,
        first: u32,
        layouts: Vec<(HolderId, KlassLayout)>,
    ) -> Result<(), String> {
        if first as usize != self.layouts.len() + 1 {
            return Err(format!("layouts from {first} on, after {}", self.layouts.len()));
        }
        if self.layouts.len() + layouts.len() > KLASS_ID_MAX as usize {
            return Err("more layouts than ids".into());
        }
        let slot_bytes = self.geometry.slot_bytes();
        if let Some(wrong) = layouts.iter().find(|(_, layout)| !is_sound(layout, slot_bytes)) {
            return Err(format!("no object is laid out like {wrong:?}"));
        }
        self.layouts.extend(layouts);
        Ok(())
    }

    #[inline]
    pub fn layout(&self, offset: usize) -> Result<&KlassLayout, String> {
        self.holder_and_layout(offset).map(|(_, layout)| layout)
    }

    /// The id in an object's header.
    #[inline]
    pub fn klass(&self, offset: usize) -> KlassId {
        KlassId(self.memory.u32(offset + KLASS_OFFSET) >> KLASS_SHIFT)
    }

    #[inline]
    pub fn holder_and_layout(&self, offset: usize) -> Result<&(HolderId, KlassLayout), String> {
        let KlassId(id) = self.klass(offset);
        let layout = (id as usize).checked_sub(1).and_then(|i| self.layouts.get(i));
        layout.ok_or_else(|| format!("the object at {offset:#x} has unknown class {id}"))
    }

    /// What held a class when its layout came; `None` if that has not come yet.
    pub fn holder(&self, klass: KlassId) -> Option<HolderId> {
        let place = (klass.0 as usize).checked_sub(1)?;
        self.layouts.get(place).map(|(holder, _)| *holder)
    }

    /// The class that a mirror stands for, `None` while that is not known. The mirror ends inside the heap.
    pub fn mirrored_klass(
        &self,
        offset: usize,
        klass_id_at: u32,
    ) -> Result<Option<KlassId>, String> {
        match self.memory.u32(offset + klass_id_at as usize) {
            0 => Ok(None),
            id if id <= KLASS_ID_MAX => Ok(Some(KlassId(id))),
            id => Err(format!("the mirror at {offset:#x} stands for class {id}")),
        }
    }

    #[inline]
    pub fn array_length(&self, offset: usize) -> usize {
        self.memory.u32(offset + ARRAY_LENGTH_OFFSET) as usize
    }

    /// Aligned size of an object; it ends inside the heap, and so does all that its layout names.
    #[inline]
    pub fn bytes(&self, offset: usize, layout: &KlassLayout) -> Result<usize, String> {
        let room = self.geometry.heap_bytes() - offset;
        let mut least = OBJECT_BYTES_MIN;
        let bytes = match layout {
            KlassLayout::Instance { bytes, .. } => *bytes as usize,
            KlassLayout::Mirror { bytes_at, static_refs_at, klass_id_at, .. } => {
                least = *bytes_at.max(static_refs_at).max(klass_id_at) as usize + 4;
                if least > room {
                    return Err(format!("the mirror at {offset:#x} ends outside of the heap"));
                }
                self.memory.u32(offset + *bytes_at as usize) as usize
            }
            KlassLayout::ObjectArray { base } => {
                let slot_bytes = self.geometry.slot_bytes();
                array_bytes(*base as usize, self.array_length(offset), slot_bytes)
            }
            KlassLayout::PrimitiveArray { base, log2_bytes } => {
                array_bytes(*base as usize, self.array_length(offset), 1 << log2_bytes)
            }
        };
        if !bytes.is_multiple_of(8) || bytes < least || bytes > room {
            return Err(format!("the object at {offset:#x} has {bytes} bytes"));
        }
        Ok(bytes)
    }

    /// Calls `visit` with the far-space ranges `(first slot, end)` that hold ordinary references.
    #[inline]
    pub fn slot_ranges(
        &self,
        offset: usize,
        layout: &KlassLayout,
        mut visit: impl FnMut(usize, usize),
    ) {
        let slot_bytes = self.geometry.slot_bytes();
        let mut slots = |at: usize, count: usize| visit(at, at + count * slot_bytes);
        match layout {
            KlassLayout::Instance { refs, .. } => {
                refs.iter().for_each(|r| slots(offset + *r as usize, 1));
            }
            KlassLayout::Mirror { refs, statics_start, static_refs_at, .. } => {
                refs.iter().for_each(|r| slots(offset + *r as usize, 1));
                let statics = self.memory.u32(offset + *static_refs_at as usize) as usize;
                slots(offset + *statics_start as usize, statics);
            }
            KlassLayout::ObjectArray { base } => {
                slots(offset + *base as usize, self.array_length(offset))
            }
            KlassLayout::PrimitiveArray { .. } => {}
        }
    }

    /// A field of type long, at a whole word.
    pub fn i64(&self, at: usize) -> i64 {
        self.memory.word(at).load(Ordering::Relaxed) as i64
    }

    /// The fields of a reference object of `bytes` bytes, if it has room for those that its kind has.
    pub fn reference_fields(
        &self,
        bytes: usize,
        kind: ReferenceKind,
    ) -> Result<ReferenceFields, String> {
        let fields = self.fields.ok_or("a reference object, and no reference fields are known")?;
        let ReferenceFields { referent, discovered, next, soft_timestamp } = fields;
        let fits = |at: u32, width: usize| {
            (at as usize).is_multiple_of(width) && at as usize + width <= bytes
        };
        let slot_bytes = self.geometry.slot_bytes();
        let has_slots = [referent, discovered, next].into_iter().all(|at| fits(at, slot_bytes));
        let has_timestamp = kind != ReferenceKind::Soft || fits(soft_timestamp, 8);
        if !has_slots || !has_timestamp {
            return Err(format!("an object of {bytes} bytes with {fields:?}"));
        }
        Ok(fields)
    }
}

impl Objects {
    /// Whether a tablet is this server's.
    #[inline]
    pub fn is_mine(&self, tablet: TabletId) -> bool {
        let count = self.geometry.tablets_per_server();
        (tablet.0 as usize).wrapping_sub(self.me * count) < count
    }

    /// Whether the header at this heap offset names the entry that led there: both words come from different pages,
    /// so this is the check that snapshot and hand-over are right.
    #[inline]
    pub fn check(&self, entry: EntryIndex, offset: usize) -> Result<(), String> {
        let back = self.memory.u32(offset + VALUE_OFFSET);
        match back == entry.0 {
            true => Ok(()),
            false => Err(format!("the object of {entry:?} at {offset:#x} names entry {back}")),
        }
    }

    /// The heap offset that an entry names; it is on this server.
    #[inline]
    pub fn entry(&self, entry: EntryIndex) -> Result<usize, String> {
        let word = self.memory.place(&self.geometry, entry);
        let is_mine = |offset: &usize| {
            *offset < self.geometry.heap_bytes() - OBJECT_BYTES_MIN
                && self.geometry.offsets_of(self.me).contains(offset)
        };
        let offset = self.geometry.offset_of(word).filter(is_mine);
        offset.ok_or_else(|| format!("{entry:?} holds {word:#x}"))
    }

    #[inline]
    pub fn slot(&self, at: usize) -> EntryIndex {
        EntryIndex(self.memory.u32(at))
    }
}

/// Whether objects can be laid out so.
fn is_sound(layout: &KlassLayout, slot_bytes: usize) -> bool {
    let slot_bytes = slot_bytes as u32;
    let are_slots = |refs: &[u32]| refs.iter().all(|at| at.is_multiple_of(slot_bytes));
    let is_base = |at: u32, element_bytes: u32| {
        (ARRAY_BASE_MIN..=ARRAY_BASE_MAX).contains(&(at as usize))
            && at.is_multiple_of(element_bytes)
    };
    let are_counts = |refs: [&u32; 3]| refs.into_iter().all(|at| at.is_multiple_of(4));
    match layout {
        KlassLayout::Instance { bytes, refs, .. } => {
            let is_inside = |at: &u32| at.saturating_add(slot_bytes) <= *bytes;
            bytes.is_multiple_of(8)
                && *bytes as usize >= OBJECT_BYTES_MIN
                && are_slots(refs)
                && refs.iter().all(is_inside)
        }
        KlassLayout::Mirror { refs, statics_start, static_refs_at, bytes_at, klass_id_at } => {
            are_slots(refs)
                && are_slots(&[*statics_start])
                && are_counts([static_refs_at, bytes_at, klass_id_at])
        }
        KlassLayout::ObjectArray { base } => is_base(*base, slot_bytes),
        KlassLayout::PrimitiveArray { base, log2_bytes } => is_base(*base, 1 << log2_bytes),
    }
}

/// No VM needs more in front of the first element of an array.
const ARRAY_BASE_MAX: usize = 64;
