//! Marking: what is pending lies in local memory, see [`MarkStack`].

use crate::codec::{PlainCodec, SlotCodec};
use crate::heap_core::HeapCore;
use crate::layout::ReferenceKind;
use crate::mark_bitmap::MarkBitmap;
use crate::mark_stack::MarkStack;
use crate::object::ObjectRef;
use crate::references::{References, Referent};
use crate::scan::{for_each_slot, reference_kind};

/// One marking, world stopped.
pub(super) struct Marker<'a> {
    core: &'a HeapCore,
    bitmap: &'a MarkBitmap,
    /// Marked objects whose slots were not scanned yet.
    stack: MarkStack,
    pub references: References,
}

impl<'a> Marker<'a> {
    pub fn new(core: &'a HeapCore, bitmap: &'a MarkBitmap, references: References) -> Self {
        let stack = MarkStack::new(core.geometry, core.space.pager().is_some());
        Marker { core, bitmap, stack, references }
    }

    /// Marks an object, or nothing for null; its slots are scanned by [`drain`](Self::drain).
    #[inline]
    pub fn mark(&mut self, object: ObjectRef) {
        if !object.is_null() && self.bitmap.mark_alone(object) {
            self.stack.push(object);
        }
    }

    /// Completes the closure of what is marked.
    pub fn drain(&mut self) {
        while let Some(object) = self.stack.pop() {
            self.scan(object);
        }
    }

    /// Processes references in the order of their strength; the closure is complete before and after.
    pub fn process_references(&mut self) {
        let bitmap = self.bitmap;
        let is_marked = |object| bitmap.is_marked(object);
        self.references.clear_dead(&PlainCodec, ReferenceKind::Soft, is_marked);
        self.references.clear_dead(&PlainCodec, ReferenceKind::Weak, is_marked);
        for object in self.references.revive_final(&PlainCodec, is_marked) {
            self.mark(object);
        }
        self.drain();
        self.references.clear_dead(&PlainCodec, ReferenceKind::Phantom, is_marked);
    }

    fn scan(&mut self, object: ObjectRef) {
        let layout = self.core.layouts.layout(object.klass());
        let bytes = layout.object_bytes(object, PlainCodec::SLOT_BYTES);
        assert!(bytes >= 16, "{object:?} of {:?} has {bytes} bytes", object.klass());
        self.bitmap.mark_range(object.address(), bytes);
        for_each_slot(layout, object, PlainCodec::SLOT_BYTES, |offset| {
            self.mark(PlainCodec.read(object, offset));
        });
        let kind = reference_kind(layout);
        if kind != ReferenceKind::Strong {
            self.scan_reference(object, kind);
        }
    }

    fn scan_reference(&mut self, reference: ObjectRef, kind: ReferenceKind) {
        let fields = *self.references.fields();
        self.mark(PlainCodec.read(reference, fields.discovered as usize));
        let bitmap = self.bitmap;
        let is_marked = |object| bitmap.is_marked(object);
        if self.references.found(&PlainCodec, reference, kind, is_marked) == Referent::Strong {
            self.mark(PlainCodec.read(reference, fields.referent as usize));
        }
    }
}
