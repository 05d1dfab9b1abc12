//! The steps of markings that find the holders of classes which are dead ([`Holders`]).

use crate::core::heap_core::HeapCore;
use crate::object::RootSlot;
use crate::object::layout::HolderId;
use crate::threads::mutator::WorldStopped;
use crate::tracing::holders::Holders;

impl HeapCore {
    /// The holders of a full collection that begins. World stopped.
    pub fn holders(&self) -> Holders {
        match self.options.class_unloading {
            true => Holders::new(self.binding().holder_limit()),
            false => Holders::all(),
        }
    }

    /// The same of a marking that runs beside the program; its beginning is in a pause.
    pub fn holders_beside_program(&self) -> Holders {
        match self.options.class_unloading_with_concurrent_mark {
            true => self.holders(),
            false => Holders::all(),
        }
    }

    /// The strong slots that a marking begins with. Notes the holders in use.
    pub fn visit_marking_slots(
        &self,
        world: &WorldStopped,
        holders: &Holders,
        visit: &mut dyn FnMut(&RootSlot),
    ) {
        if holders.may_die() {
            self.binding().visit_permanent_slots(world, visit);
            self.note_holders_in_use(world, holders);
        } else {
            self.binding().visit_strong_slots(world, visit);
        }
    }

    /// In the pause that begins a marking, and before the last tracing in the one that ends it.
    pub fn note_holders_in_use(&self, world: &WorldStopped, holders: &Holders) {
        if holders.may_die() {
            self.binding().visit_holders_in_use(world, &mut |holder| holders.note(holder));
        }
    }

    /// The slots of the holders that were found since the last time: further roots of the marking. No thread traces.
    pub fn visit_found_holders(&self, holders: &Holders, visit: &mut dyn FnMut(&RootSlot)) {
        for holder in holders.take_found() {
            self.binding().visit_holder_slots(holder, visit);
        }
    }

    /// The marking is complete, and weak slots are emptied: the VM forgets dead holders.
    pub fn unload(&self, world: &WorldStopped, holders: &Holders) {
        if holders.may_die() {
            let is_alive = |holder: HolderId| holders.is_alive(holder);
            self.binding().unload(world, &is_alive);
        }
    }
}
