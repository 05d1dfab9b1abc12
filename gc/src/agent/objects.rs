//! Objects as an agent sees them: headers, sizes and slots in the server's own memory.

use super::AgentMemory;
use crate::hit::{EntryIndex, HitGeometry};
use crate::layout::{KlassLayout, ReferenceFields, array_bytes};
use crate::object::{
    ARRAY_BASE, ARRAY_LENGTH_OFFSET, COLLECTOR_OFFSET, KLASS_ID_MASK, KLASS_OFFSET,
};
use std::sync::atomic::Ordering;

/// The memory of one server together with what is needed to understand it.
pub struct Objects {
    pub memory: AgentMemory,
    pub geometry: HitGeometry,
    pub fields: Option<ReferenceFields>,
    /// Which server this is.
    pub me: usize,
    /// Layouts by id; 0 is never used.
    layouts: Vec<KlassLayout>,
}

/// Mako's slots are entry indices.
pub const SLOT_BYTES: usize = 4;

impl Objects {
    pub fn new(memory: AgentMemory, geometry: HitGeometry, me: usize) -> Result<Objects, String> {
        if memory.bytes() < geometry.far_bytes() || me >= geometry.servers() {
            return Err(format!("{geometry:?} does not fit {} bytes, server {me}", memory.bytes()));
        }
        Ok(Objects { memory, geometry, fields: None, me, layouts: Vec::new() })
    }

    /// Adds layouts of the ids from `first` on.
    pub fn add_layouts(&mut self, first: u32, layouts: Vec<KlassLayout>) -> Result<(), String> {
        if first as usize != self.layouts.len() + 1 {
            return Err(format!("layouts from {first} on, after {}", self.layouts.len()));
        }
        self.layouts.extend(layouts);
        Ok(())
    }

    /// Where the object of an entry is, a heap offset on this server. The header must name the
    /// entry: both words come from different pages, so this is the check that snapshot and
    /// hand-over are right.
    pub fn locate(&self, entry: EntryIndex) -> Result<usize, String> {
        let offset = self.entry(entry)?;
        let back = self.memory.u32(offset + COLLECTOR_OFFSET);
        if back != entry.0 {
            return Err(format!("the object of {entry:?} at {offset:#x} names entry {back}"));
        }
        Ok(offset)
    }

    /// The heap offset that an entry names; it is on this server.
    pub fn entry(&self, entry: EntryIndex) -> Result<usize, String> {
        let word = self.memory.u32(self.geometry.entry_offset(entry));
        let is_mine = |offset: &usize| {
            *offset < self.geometry.heap_bytes()
                && self.geometry.region_server(self.geometry.region_of(*offset)) == self.me
        };
        let offset = self.geometry.offset_of(word).filter(is_mine);
        offset.ok_or_else(|| format!("{entry:?} holds {word:#x}"))
    }

    pub fn set_entry(&self, entry: EntryIndex, offset: usize) {
        let place = self.geometry.place(offset);
        self.memory.set_u32(self.geometry.entry_offset(entry), place);
    }

    pub fn layout(&self, offset: usize) -> Result<&KlassLayout, String> {
        let id = self.memory.u32(offset + KLASS_OFFSET) & KLASS_ID_MASK;
        let layout = (id as usize).checked_sub(1).and_then(|i| self.layouts.get(i));
        layout.ok_or_else(|| format!("the object at {offset:#x} has unknown class {id}"))
    }

    pub fn array_length(&self, offset: usize) -> usize {
        self.memory.u32(offset + ARRAY_LENGTH_OFFSET) as usize
    }

    /// Aligned size of an object; it ends inside the heap.
    pub fn bytes(&self, offset: usize, layout: &KlassLayout) -> Result<usize, String> {
        let bytes = match layout {
            KlassLayout::Instance { bytes, .. } => *bytes as usize,
            KlassLayout::Mirror { bytes_at, .. } => {
                self.memory.u32(offset + *bytes_at as usize) as usize
            }
            KlassLayout::ObjectArray => array_bytes(self.array_length(offset), SLOT_BYTES),
            KlassLayout::PrimitiveArray { log2_bytes } => {
                array_bytes(self.array_length(offset), 1 << log2_bytes)
            }
        };
        if bytes % 8 != 0 || bytes == 0 || bytes > self.geometry.heap_bytes() - offset {
            return Err(format!("the object at {offset:#x} has {bytes} bytes"));
        }
        Ok(bytes)
    }

    /// Calls `visit` with the far-space ranges `(first slot, end)` that hold ordinary references.
    pub fn slot_ranges(
        &self,
        offset: usize,
        layout: &KlassLayout,
        mut visit: impl FnMut(usize, usize),
    ) {
        let mut slots = |at: usize, count: usize| visit(at, at + count * SLOT_BYTES);
        match layout {
            KlassLayout::Instance { refs, .. } => {
                refs.iter().for_each(|r| slots(offset + *r as usize, 1));
            }
            KlassLayout::Mirror { refs, statics_start, static_refs_at, .. } => {
                refs.iter().for_each(|r| slots(offset + *r as usize, 1));
                let statics = self.memory.u32(offset + *static_refs_at as usize) as usize;
                slots(offset + *statics_start as usize, statics);
            }
            KlassLayout::ObjectArray => slots(offset + ARRAY_BASE, self.array_length(offset)),
            KlassLayout::PrimitiveArray { .. } => {}
        }
    }

    /// A field of type long.
    pub fn i64(&self, at: usize) -> i64 {
        self.memory.word(at).load(Ordering::Relaxed) as i64
    }

    pub fn slot(&self, at: usize) -> EntryIndex {
        EntryIndex(self.memory.u32(at))
    }
}
