//! Handing cleared references from the collector to the reference handler thread.

use crate::machine::JavaThread;
use crate::runtime::object;
use gc::object::ObjectRef;
use parking_lot::{Condvar, Mutex};

/// Wakes the reference handler after a collection.
#[derive(Default)]
pub struct PendingSignal {
    lock: Mutex<()>,
    changed: Condvar,
}

impl PendingSignal {
    /// The list may have become longer. Called by the collector; does not block for long.
    pub fn notify(&self) {
        drop(self.lock.lock());
        self.changed.notify_all();
    }
}

/// Waits until there are pending references (`Reference.waitForReferencePendingList`), or at most until the next
/// collection ends: the caller copes with an empty list. Sets the clock of soft references, by which the
/// collector judges their age. A safepoint.
pub fn wait(t: &JavaThread) {
    let pending = &t.vm.threads.pending;
    t.safely(|| {
        let mut guard = pending.lock.lock();
        if t.vm.pending_references.is_null() {
            pending.changed.wait(&mut guard);
        }
    });
    let known = &t.vm.known;
    let mirror = t.load_root(known.classes.soft_reference().mirror);
    let clock = t.vm.heap.soft_clock_ms() as i64;
    object::put(mirror, known.fields.soft_clock(), clock);
}

/// The list, which is empty afterwards (`Reference.getAndClearReferencePendingList`). The collector adds to it
/// with the world stopped only, so a running thread may take it in two steps. Only one thread takes.
pub fn take(t: &JavaThread) -> ObjectRef {
    let list = t.load_root(&t.vm.pending_references);
    t.store_root(&t.vm.pending_references, ObjectRef::NULL);
    list
}

pub fn has_pending(t: &JavaThread) -> bool {
    !t.vm.pending_references.is_null()
}
