//! Moving objects and forwarding slots.

use super::full::Placed;
use super::plan::Plan;
use crate::core::heap_core::HeapCore;
use crate::memory::region::RegionUse;
use crate::object::ObjectRef;
use crate::object::codec::SlotCodec;
use crate::object::geometry::RegionId;
use crate::object::layout::ReferenceFields;
use crate::tracing::scan::for_every_slot;

/// One compaction, world stopped; roots are forwarded by the caller.
pub(super) struct Compaction<'a, C, P> {
    core: &'a HeapCore,
    codec: C,
    plan: &'a Plan<'a>,
    placed: &'a mut P,
    fields: Option<&'a ReferenceFields>,
    pub moved_bytes: usize,
}

impl<'a, C: SlotCodec, P: Placed> Compaction<'a, C, P> {
    pub fn new(core: &'a HeapCore, codec: C, plan: &'a Plan<'a>, placed: &'a mut P) -> Self {
        Compaction { core, codec, plan, placed, fields: core.reference_fields(), moved_bytes: 0 }
    }

    /// Moves everything and forwards every slot.
    pub fn run(&mut self) {
        for (id, region) in self.core.regions.iter() {
            match region.usage() {
                RegionUse::Objects if self.plan.is_moving(id) => self.slide(id),
                RegionUse::Objects => self.keep(id),
                RegionUse::HumongousStart => {
                    let plan = self.plan;
                    plan.for_each_live(id, |object, bytes| {
                        let to = plan.forward(object);
                        self.placed.object(to.address(), bytes);
                        self.forward_slots(object, to);
                    });
                }
                RegionUse::HumongousRest | RegionUse::Free => {}
                RegionUse::Reserved | RegionUse::Young => {
                    unreachable!("{id:?} of serial is {:?}", region.usage())
                }
            }
        }
    }

    fn slide(&mut self, region: RegionId) {
        let (plan, mut moved) = (self.plan, 0);
        plan.for_each_live(region, |from, bytes| {
            let to = plan.forward(from);
            if to != from {
                // SAFETY: the target is inside a region that is ours, below everything that is still to
                // move (the induction of the essay) and not live any more; it may overlap the source.
                unsafe {
                    std::ptr::copy(from.address() as *const u8, to.address() as *mut u8, bytes)
                }
                moved += bytes;
            }
            self.placed.object(to.address(), bytes);
            self.forward_slots(to, to);
        });
        self.moved_bytes += moved;
    }

    /// Leaves the objects of a region where they are; dead objects between them become filler.
    fn keep(&mut self, id: RegionId) {
        let region = self.core.regions.region(id);
        let start = self.core.geometry.region_start(id);
        let mut end = start;
        let plan = self.plan;
        plan.for_each_live(id, |object, bytes| {
            self.bury(end, object.address());
            self.placed.object(object.address(), bytes);
            self.forward_slots(object, object);
            end = object.address() + bytes;
        });
        let top = start + region.top();
        if self.core.options.zeal() {
            self.core.poison(end, top - end);
        }
        region.set_top(end - start);
        region.set_clean(region.is_clean() && end == top);
    }

    fn bury(&mut self, from: usize, to: usize) {
        if from == to {
            return;
        }
        self.placed.object(from, to - from);
        if self.core.options.zeal() {
            self.core.poison(from, to - from);
        }
        self.core.fill(from, to - from);
    }

    /// Forwards the slots of an object that is at `object` now and will be at `place`.
    #[inline]
    fn forward_slots(&mut self, object: ObjectRef, place: ObjectRef) {
        self.core.strings.meet(object, || self.codec.new_root(place));
        let layout = self.core.layouts.layout(object.klass());
        for_every_slot(layout, object, self.codec.slot_bytes(), self.fields, |offset| {
            let old = self.codec.read(object, offset);
            if old.is_null() {
                return;
            }
            let new = self.plan.forward(old);
            self.placed.slot(place.address() + offset, new);
            // Writing only words that change keeps clean pages clean.
            if new != old {
                self.codec.write(object, offset, new);
            }
        });
    }
}
