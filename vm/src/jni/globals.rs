//! Global and weak global references.
//!
//! A `jobject` is tagged in its low bits: 0 local (address of a [`Handle`](crate::runtime::Handle) word),
//! 1 weak global, 2 global (address of a [`RootSlot`] plus the tag). Slots never move; deleted ones are
//! recycled. The collector empties weak slots whose object died; they stay taken until they are deleted.

use super::entry::{TAG_GLOBAL, TAG_MASK, TAG_WEAK};
use super::invoke::JavaVm;
use super::types::jobject;
use crate::runtime::JavaThread;
use gc::object::{ObjectRef, RootSlot};
use parking_lot::Mutex;
use std::sync::OnceLock;

/// The global references of one VM.
#[derive(Default)]
pub struct GlobalRefs {
    strong: Mutex<Slots>,
    weak: Mutex<Slots>,
    /// What native code gets as `JavaVM *`.
    pub(super) java_vm: OnceLock<Box<JavaVm>>,
}

#[derive(Default)]
struct Slots {
    chunks: Vec<Box<[RootSlot; CHUNK]>>,
    /// Addresses of slots that were taken before and are free.
    free: Vec<usize>,
    /// Slots of the last chunk that were never taken.
    untouched: usize,
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

    fn make(t: &JavaThread, slots: &Mutex<Slots>, object: ObjectRef, tag: usize) -> jobject {
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
        let Some(slot) = slots.lock().own(at) else { return };
        t.store_root(slot, ObjectRef::NULL);
        slots.lock().free.push(at);
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

impl Slots {
    fn take(&mut self) -> &'static RootSlot {
        let address = self.free.pop().unwrap_or_else(|| {
            if self.untouched == 0 {
                self.chunks.push(Box::new([const { RootSlot::null() }; CHUNK]));
                self.untouched = CHUNK;
            }
            self.untouched -= 1;
            let chunk = self.chunks.last().expect("there is one now");
            std::ptr::from_ref(&chunk[self.untouched]) as usize
        });
        // SAFETY: the address of a slot in a chunk, which is boxed and kept as long as the VM.
        unsafe { &*(address as *const RootSlot) }
    }

    /// The slot at an address, if it is one of these.
    fn own(&self, address: usize) -> Option<&'static RootSlot> {
        #[allow(clippy::borrowed_box)] // The type of the list's own elements.
        let holds = |chunk: &&Box<[RootSlot; CHUNK]>| {
            chunk.as_ptr_range().contains(&(address as *const RootSlot))
        };
        self.chunks.iter().find(holds)?;
        // SAFETY: as in `take`.
        Some(unsafe { &*(address as *const RootSlot) })
    }

    fn visit(&self, visit: &mut dyn FnMut(&RootSlot)) {
        let slots = self.chunks.iter().flat_map(|chunk| chunk.iter());
        slots.filter(|slot| !slot.is_null()).for_each(visit);
    }
}

const CHUNK: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn slots_are_recycled_and_stay_in_place() {
        let mut slots = Slots::default();
        let taken: Vec<&RootSlot> = (0..CHUNK + 5).map(|_| slots.take()).collect();
        taken.iter().for_each(|slot| slot.word().store(8, Ordering::Relaxed));
        let mut seen = 0;
        slots.visit(&mut |_| seen += 1);
        assert_eq!((seen, slots.chunks.len()), (CHUNK + 5, 2));
        let address = std::ptr::from_ref(taken[3]) as usize;
        assert!(slots.own(address).is_some() && slots.own(address ^ (1 << 40)).is_none());
        slots.free.push(address);
        assert_eq!(std::ptr::from_ref(slots.take()) as usize, address);
    }
}
