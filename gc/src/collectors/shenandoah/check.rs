//! Checks marking: with `verify_heap`, in the pause that ends it.

use super::Shared;
use crate::memory::mark_bitmap::MarkBitmap;
use crate::object::ObjectRef;
use crate::object::codec::SlotCodec;
use crate::threads::mutator::WorldStopped;
use crate::tracing::scan::for_each_slot;

impl Shared {
    /// Walks everything that is strongly reachable now, and panics if marking missed any of it.
    pub fn check_marks(&self, world: &WorldStopped) {
        let (core, codec) = (&self.core, self.codec);
        let reached = MarkBitmap::new(&core.geometry);
        let mut stack: Vec<ObjectRef> = Vec::new();
        let reach = |object: ObjectRef, from: &str, stack: &mut Vec<ObjectRef>| {
            assert!(
                self.marking.is_live(object),
                "{object:?}, reachable from {from}, is not marked"
            );
            if !object.is_null() && reached.mark_alone(object) {
                stack.push(object);
            }
        };
        let binding = core.binding();
        binding.visit_thread_roots(world, &mut |root| reach(*root, "a thread", &mut stack));
        let (noted, found) = (self.marking.holders(), core.holders_beside_program());
        core.visit_marking_slots(world, &found, &mut |slot| {
            reach(codec.read_root(slot), "a strong slot", &mut stack);
        });
        loop {
            while let Some(object) = stack.pop() {
                let layout = found.scans(&core.layouts, object);
                for_each_slot(layout, object, codec.slot_bytes(), |offset| {
                    reach(codec.read(object, offset), "an object", &mut stack);
                });
            }
            for holder in found.take_found() {
                assert!(noted.is_alive(holder), "{holder:?}, which is in use, is not noted");
                binding.visit_holder_slots(holder, &mut |slot| {
                    reach(codec.read_root(slot), "a slot of a holder", &mut stack);
                });
            }
            if stack.is_empty() {
                return;
            }
        }
    }
}
