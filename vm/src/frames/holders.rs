//! Holders of classes that threads need for what is on their stacks.

use super::{activation, walk};
use crate::machine::Vm;
use gc::object::layout::HolderId;
use gc::threads::mutator::WorldStopped;

/// Visits the holders of the methods on all stacks, some of them several times, but not the permanent one. Of a
/// compiled frame these are all holders that its code names: it may become frames of any method that was inlined.
pub fn visit_holders_in_use(
    vm: &'static Vm,
    _world: &WorldStopped,
    visit: &mut dyn FnMut(HolderId),
) {
    vm.threads.for_each(&mut |thread| {
        for (frame, _) in walk::interpreted(thread) {
            let holder = frame.method.holder.holder;
            if !holder.is_permanent() {
                visit(holder.id);
            }
        }
        activation::for_each_frame(thread, &mut |frame| {
            frame.code.body.holders.iter().for_each(|holder| visit(holder.id));
        });
    });
}

/// All threads forget which methods were selected for which classes: some of these are dead.
pub fn forget_selections(vm: &'static Vm, _world: &WorldStopped) {
    vm.threads.for_each(&mut |thread| thread.java_stack.forget_selections());
}
