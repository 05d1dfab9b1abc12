//! Global and weak global references.
//!
//! A `jobject` is tagged in its low bits: 0 local (address of a [`Handle`](crate::runtime::Handle) word),
//! 1 weak global, 2 global (address of a [`RootSlot`] plus the tag). Slots never move; deleted ones are
//! recycled. The collector empties weak slots whose object died; they stay taken until they are deleted.

use super::entry::{TAG_GLOBAL, TAG_MASK, TAG_WEAK};
use super::types::jobject;
use crate::machine::JavaThread;
use crate::runtime::root_table::RootTable;
use gc::object::{ObjectRef, RootSlot};
use parking_lot::Mutex;

/// The global references of one VM.
#[derive(Default)]
pub struct GlobalRefs {
    strong: Mutex<RootTable>,
    weak: Mutex<RootTable>,
}

impl GlobalRefs {
    /// A new global reference; null for null.
    pub fn new_strong(&self, t: &JavaThread, object: ObjectRef) -> jobject {
        GlobalRefs::make(t, &self.strong, object, TAG_GLOBAL)
    }

    /// A new weak one.
    pub fn new_weak(&self, t: &JavaThread, object: ObjectRef) -> jobject {
        GlobalRefs::make(t, &self.weak, object, TAG_WEAK)
    }

    fn make(t: &JavaThread, slots: &Mutex<RootTable>, object: ObjectRef, tag: usize) -> jobject {
        if object.is_null() {
            return std::ptr::null_mut();
        }
        let slot = slots.lock().take();
        t.store_root(slot, object);
        (std::ptr::from_ref(slot) as usize + tag) as jobject
    }

    /// Ends a global or weak global reference. References that were not made here (a native method's class)
    /// are left alone.
    pub fn delete(&self, t: &JavaThread, reference: jobject) {
        let address = reference as usize;
        let slots = match address & TAG_MASK {
            TAG_GLOBAL => &self.strong,
            TAG_WEAK => &self.weak,
            _ => return,
        };
        let at = address & !TAG_MASK;
        let Some(slot) = slots.lock().at(at) else { return };
        t.store_root(slot, ObjectRef::NULL);
        slots.lock().give_back(slot);
    }

    /// Strong global references, for the collector.
    pub fn visit_strong(&self, visit: &mut dyn FnMut(&RootSlot)) {
        self.strong.lock().visit(visit)
    }

    /// Weak global references, for the collector.
    pub fn visit_weak(&self, visit: &mut dyn FnMut(&RootSlot)) {
        self.weak.lock().visit(visit)
    }
}
