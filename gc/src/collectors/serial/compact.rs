//! Moving objects and forwarding slots.

use super::plan::Plan;
use crate::codec::SlotCodec;
use crate::geometry::RegionId;
use crate::heap_core::HeapCore;
use crate::layout::ReferenceFields;
use crate::object::ObjectRef;
use crate::region::RegionUse;
use crate::scan::for_every_slot;

/// One compaction, world stopped; roots are forwarded by the caller.
pub(super) struct Compaction<'a, C> {
    core: &'a HeapCore,
    codec: C,
    plan: &'a Plan<'a>,
    fields: Option<&'a ReferenceFields>,
    pub moved_bytes: usize,
}

impl<'a, C: SlotCodec> Compaction<'a, C> {
    pub fn new(core: &'a HeapCore, codec: C, plan: &'a Plan<'a>) -> Self {
        Compaction { core, codec, plan, fields: core.reference_fields(), moved_bytes: 0 }
    }

    /// Moves everything and forwards every slot.
    pub fn run(&mut self) {
        for (id, region) in self.core.regions.iter() {
            match region.usage() {
                RegionUse::Objects if self.plan.is_moving(id) => self.slide(id),
                RegionUse::Objects => self.keep(id),
                RegionUse::HumongousStart => {
                    self.plan.for_each_live(id, |object, _| self.forward_slots(object));
                }
                RegionUse::HumongousRest | RegionUse::Free => {}
                RegionUse::Reserved => unreachable!("serial reserves no region"),
            }
        }
    }

    fn slide(&mut self, region: RegionId) {
        let mut moved = 0;
        self.plan.for_each_live(region, |from, bytes| {
            let to = self.plan.forward(from);
            if to != from {
                // SAFETY: the target is inside a region that is ours, below everything that is still to
                // move (the induction of the essay) and not live any more; it may overlap the source.
                unsafe {
                    std::ptr::copy(from.address() as *const u8, to.address() as *mut u8, bytes)
                }
                moved += bytes;
            }
            self.forward_slots(to);
        });
        self.moved_bytes += moved;
    }

    /// Leaves the objects of a region where they are; what died between them becomes filler.
    fn keep(&mut self, id: RegionId) {
        let region = self.core.regions.region(id);
        let start = self.core.geometry.region_start(id);
        let mut end = start;
        self.plan.for_each_live(id, |object, bytes| {
            self.bury(end, object.address());
            self.forward_slots(object);
            end = object.address() + bytes;
        });
        let top = start + region.top();
        if self.core.options.zeal() {
            self.core.poison(end, top - end);
        }
        region.set_top(end - start);
        region.set_clean(region.is_clean() && end == top);
    }

    fn bury(&self, from: usize, to: usize) {
        if self.core.options.zeal() {
            self.core.poison(from, to - from);
        }
        self.core.fill(from, to - from);
    }

    #[inline]
    fn forward_slots(&self, object: ObjectRef) {
        let layout = self.core.layouts.layout(object.klass());
        for_every_slot(layout, object, C::SLOT_BYTES, self.fields, |offset| {
            let old = self.codec.read(object, offset);
            if old.is_null() {
                return;
            }
            let new = self.plan.forward(old);
            // Writing only what changes keeps clean pages clean.
            if new != old {
                self.codec.write(object, offset, new);
            }
        });
    }
}
