//! Marking: pending objects are kept in local memory, see [`MarkStack`].

use crate::core::heap_core::HeapCore;
use crate::memory::mark_bitmap::MarkBitmap;
use crate::object::codec::SlotCodec;
use crate::object::layout::ReferenceKind;
use crate::object::prefetch::{self, Ahead};
use crate::object::{OBJECT_BYTES_MIN, ObjectRef};
use crate::tracing::holders::Holders;
use crate::tracing::mark_stack::MarkStack;
use crate::tracing::references::{Discovered, References, Referent};
use crate::tracing::scan::{for_each_slot, reference_kind};

/// One marking, world stopped.
pub(super) struct Marker<'a, C> {
    core: &'a HeapCore,
    codec: C,
    bitmap: &'a MarkBitmap,
    /// Marked objects whose slots were not scanned yet.
    stack: MarkStack,
    /// Objects that were met, and whose marks are being prefetched; marked objects that are being prefetched.
    met: Ahead<ObjectRef, 16>,
    coming: Ahead<ObjectRef, 8>,
    pub references: References,
    pub holders: Holders,
}

impl<'a, C: SlotCodec> Marker<'a, C> {
    pub fn new(
        core: &'a HeapCore,
        codec: C,
        bitmap: &'a MarkBitmap,
        references: References,
        holders: Holders,
    ) -> Self {
        let stack = MarkStack::new(core.zones());
        let (met, coming) = (Ahead::default(), Ahead::default());
        Marker { core, codec, bitmap, stack, met, coming, references, holders }
    }

    /// Marks an object, or nothing for null; its slots are scanned by [`drain`](Self::drain).
    #[inline]
    pub fn mark(&mut self, object: ObjectRef) {
        if !object.is_null() && self.bitmap.mark_alone(object) {
            self.stack.push(object);
        }
    }

    /// Completes the closure of marked objects, and of what holders hold that are found alive.
    pub fn drain(&mut self) {
        loop {
            while let Some(object) = self.next() {
                self.scan(object);
            }
            let (core, codec) = (self.core, self.codec);
            let mut held = Vec::new();
            core.visit_found_holders(&self.holders, &mut |slot| held.push(codec.read_root(slot)));
            if held.is_empty() {
                return;
            }
            held.into_iter().for_each(|object| self.mark(object));
        }
    }

    /// The next object to scan, which was prefetched before.
    #[inline]
    fn next(&mut self) -> Option<ObjectRef> {
        loop {
            let Some(object) = self.stack.pop() else {
                let mut any = false;
                while let Some(met) = self.met.pop() {
                    self.mark(met);
                    any = true;
                }
                if !any {
                    return self.coming.pop();
                }
                continue;
            };
            prefetch::object(object);
            if let Some(oldest) = self.coming.exchange(object) {
                return Some(oldest);
            }
        }
    }

    #[inline]
    fn meet(&mut self, object: ObjectRef) {
        if !object.is_null() {
            self.bitmap.prefetch(object);
            if let Some(oldest) = self.met.exchange(object) {
                self.mark(oldest);
            }
        }
    }

    /// Processes references in the order of their strength; the closure is complete before and after.
    pub fn process_references(&mut self) {
        let (bitmap, codec) = (self.bitmap, self.codec);
        let keeps = |d: Discovered| bitmap.is_marked(codec.read(d.reference, d.at));
        self.references.clear_dead(&codec, ReferenceKind::Soft, keeps);
        self.references.clear_dead(&codec, ReferenceKind::Weak, keeps);
        for d in self.references.revive_final(&codec, keeps) {
            self.mark(codec.read(d.reference, d.at));
        }
        self.drain();
        self.references.clear_dead(&codec, ReferenceKind::Phantom, keeps);
    }

    fn scan(&mut self, object: ObjectRef) {
        let codec = self.codec;
        let layout = self.holders.scans(&self.core.layouts, object);
        let bytes = layout.object_bytes(object, self.codec.slot_bytes());
        assert!(bytes >= OBJECT_BYTES_MIN, "{object:?} of {:?} has {bytes} bytes", object.klass());
        // Of a humongous object the first region says that it lives.
        let marked_bytes = bytes.min(self.core.geometry.region_bytes());
        self.bitmap.mark_range(object.address(), marked_bytes);
        for_each_slot(layout, object, self.codec.slot_bytes(), |offset| {
            self.meet(codec.read(object, offset));
        });
        let kind = reference_kind(layout);
        if kind != ReferenceKind::Strong {
            self.scan_reference(object, kind);
        }
    }

    fn scan_reference(&mut self, reference: ObjectRef, kind: ReferenceKind) {
        let fields = *self.references.fields();
        let (bitmap, codec) = (self.bitmap, self.codec);
        self.mark(codec.read(reference, fields.discovered as usize));
        let is_marked = |object| bitmap.is_marked(object);
        if self.references.found(&codec, reference, kind, is_marked) == Referent::Strong {
            self.mark(codec.read(reference, fields.referent as usize));
        }
    }
}
