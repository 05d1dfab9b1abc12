//! The VM's interface for the collector: its roots and its weak references.

use super::unload;
use super::vm::Vm;
use gc::object::layout::HolderId;
use gc::object::{ObjectRef, RootSlot};
use gc::threads::binding::{ClassBytes, VmBinding};
use gc::threads::mutator::WorldStopped;

/// The VM as the collector sees it.
pub struct Binding(pub &'static Vm);

impl Binding {
    /// Strong roots that are not of classes.
    fn visit_others(&self, visit: &mut dyn FnMut(&RootSlot)) {
        let vm = self.0;
        vm.globals.visit_strong(visit);
        vm.modules.visit_strong(visit);
        let threads = &vm.threads;
        for slot in [&threads.system_group, &threads.main_group, &vm.spare_out_of_memory] {
            visit(slot);
        }
        visit(&vm.pending_references);
    }
}

impl VmBinding for Binding {
    fn visit_thread_roots(&self, _world: &WorldStopped, visit: &mut dyn FnMut(&mut ObjectRef)) {
        self.0.threads.for_each(&mut |thread| {
            for cell in [&thread.pending, &thread.wanted_monitor, &thread.thread_object] {
                let mut object = cell.get();
                if !object.is_null() {
                    visit(&mut object);
                    cell.set(object);
                }
            }
            thread.locks.visit(visit);
            thread.handles.visit(visit);
            crate::frames::roots::visit_roots(thread, visit);
        });
    }

    fn visit_strong_slots(&self, _world: &WorldStopped, visit: &mut dyn FnMut(&RootSlot)) {
        let vm = self.0;
        vm.holders.visit_permanent(false, visit);
        vm.holders.visit_settled(visit);
        self.visit_others(visit);
    }

    fn visit_permanent_slots(&self, _world: &WorldStopped, visit: &mut dyn FnMut(&RootSlot)) {
        self.0.holders.visit_permanent(true, visit);
        self.visit_others(visit);
    }

    fn visit_holder_slots(&self, holder: HolderId, visit: &mut dyn FnMut(&RootSlot)) {
        self.0.holders.visit_of(holder, visit);
    }

    fn holder_limit(&self) -> u32 {
        self.0.holders.next_id()
    }

    fn visit_holders_in_use(&self, world: &WorldStopped, visit: &mut dyn FnMut(HolderId)) {
        crate::frames::holders::visit_holders_in_use(self.0, world, visit);
    }

    fn unload(&self, world: &WorldStopped, is_alive: &dyn Fn(HolderId) -> bool) {
        unload::unload(self.0, world, is_alive);
    }

    fn visit_weak_slots(&self, _world: &WorldStopped, visit: &mut dyn FnMut(&RootSlot)) {
        self.0.strings.visit_weak(visit);
        self.0.holders.visit_weak(visit);
        self.0.globals.visit_weak(visit);
        self.0.threads.visit_monitors(visit);
        self.0.threads.deduplication.visit_weak(visit);
    }

    fn pending_list(&self) -> &RootSlot {
        &self.0.pending_references
    }

    fn class_bytes(&self) -> Option<ClassBytes> {
        Some(self.0.class_memory.of_all_loaders())
    }

    fn strings_found(&self, slots: Vec<RootSlot>) {
        self.0.threads.deduplication.add(slots);
    }

    fn cycle_finished(&self) {
        self.0.threads.deduplication.note_collection();
        self.0.strings.drop_emptied();
        self.0.threads.monitors.sweep();
        unload::after_collection(self.0);
        self.0.threads.pending.notify();
    }
}
