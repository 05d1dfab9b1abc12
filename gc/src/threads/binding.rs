//! The VM's duties to the collector.

use crate::object::layout::HolderId;
use crate::object::{ObjectRef, RootSlot};
use crate::threads::mutator::WorldStopped;

/// What the classes of a VM take, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassBytes {
    /// One description of fixed size for each class.
    pub descriptions: usize,
    /// Everything else: methods, constants, tables.
    pub others: usize,
}

/// Implemented by the VM. Called on any collector thread or on the thread that asked for a collection.
///
/// With a [`WorldStopped`] every mutator is parked or in the safe state, so its frames and handles do not
/// change. None of these may allocate in the heap, run Java code, or take a lock that a thread may hold
/// while it reaches a safepoint.
pub trait VmBinding: Send + Sync {
    /// Every word of every thread that holds a plain address: frames, local handles, pending exceptions.
    /// The visitor may overwrite each word with the object's new address.
    fn visit_thread_roots(&self, world: &WorldStopped, visit: &mut dyn FnMut(&mut ObjectRef));

    /// Every strong off-heap slot: class mirrors, resolved constants, global handles, VM singletons.
    fn visit_strong_slots(&self, world: &WorldStopped, visit: &mut dyn FnMut(&RootSlot));

    /// As `visit_strong_slots`, without those that [`visit_holder_slots`](Self::visit_holder_slots) visits: the roots
    /// of a marking that may find classes dead.
    fn visit_permanent_slots(&self, world: &WorldStopped, visit: &mut dyn FnMut(&RootSlot)) {
        self.visit_strong_slots(world, visit);
    }

    /// The slots of one holder of classes, which are strong while it is alive: mirrors, resolved constants, its loader.
    /// Also while the world is running: what a slot held when the marking began is still there, or null. A thread that
    /// empties one, or that reads one of a holder which no object in its hands keeps alive, reads it as a weak slot, so
    /// that the marking keeps the object.
    fn visit_holder_slots(&self, _holder: HolderId, _visit: &mut dyn FnMut(&RootSlot)) {}

    /// The ids of holders made from now on are not below it; ids of holders ascend. 0: none will be found dead.
    fn holder_limit(&self) -> u32 {
        0
    }

    /// The holders whose methods are on the stacks of threads, or which the VM needs for another reason.
    fn visit_holders_in_use(&self, _world: &WorldStopped, _visit: &mut dyn FnMut(HolderId)) {}

    /// Once at the end of a marking that began with `visit_permanent_slots`, after weak slots were emptied and before
    /// any object is freed or moved: the VM forgets the holders that are not alive, with their classes and slots. A
    /// holder that was made since the marking began is alive.
    fn unload(&self, _world: &WorldStopped, _is_alive: &dyn Fn(HolderId) -> bool) {}

    /// Every weak off-heap slot: interned strings, weak global handles, monitors. The collector empties
    /// (zeroes) those whose object died, after soft, weak and final references were processed.
    fn visit_weak_slots(&self, world: &WorldStopped, visit: &mut dyn FnMut(&RootSlot));

    /// The head of the list of cleared references that wait for the reference handler thread, linked by
    /// `Reference.discovered`. The collector prepends to it.
    fn pending_list(&self) -> &RootSlot;

    /// What classes take now, for the log; `None`: the VM does not count it. Any thread, the world running or stopped.
    fn class_bytes(&self) -> Option<ClassBytes> {
        None
    }

    /// At the end of a cycle, the world running or stopped: strings whose contents may be equal to those of others,
    /// if [`Strings::look_for`](crate::core::strings::Strings::look_for) was called. From now on the slots are the
    /// VM's weak slots. Must not block.
    fn strings_found(&self, _slots: Vec<RootSlot>) {}

    /// After a cycle, the world running or stopped: wake the reference handler if the list is not empty,
    /// drop emptied weak slots. Must not block.
    fn cycle_finished(&self);
}
