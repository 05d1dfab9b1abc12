//! Epsilon: allocates and never collects (JEP 318). The barrier set is the plain one: slots hold addresses.

use crate::barrier::BarrierSet;
use crate::mutator::Mutator;
use crate::object::{ARRAY_BASE, HEADER_BYTES, ObjectRef, RootSlot};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Eight-byte slots that hold plain addresses, no bookkeeping.
pub struct PlainBarriers;

#[inline]
fn slot(object: ObjectRef, offset: usize) -> &'static AtomicUsize {
    debug_assert!(!object.is_null());
    // SAFETY: the caller names a slot inside a live object (contract of BarrierSet).
    unsafe { &*((object.address() + offset) as *const AtomicUsize) }
}

impl BarrierSet for PlainBarriers {
    fn slot_bytes(&self) -> usize {
        8
    }

    fn load(&self, _m: &Mutator, object: ObjectRef, offset: usize) -> ObjectRef {
        ObjectRef::from_address(slot(object, offset).load(Ordering::Acquire))
    }

    fn store(&self, _m: &Mutator, object: ObjectRef, offset: usize, value: ObjectRef) {
        slot(object, offset).store(value.address(), Ordering::Release)
    }

    fn store_initial(&self, m: &Mutator, object: ObjectRef, offset: usize, value: ObjectRef) {
        self.store(m, object, offset, value)
    }

    fn compare_exchange(
        &self,
        _m: &Mutator,
        object: ObjectRef,
        offset: usize,
        expected: ObjectRef,
        new: ObjectRef,
    ) -> Result<(), ObjectRef> {
        let order = (Ordering::SeqCst, Ordering::SeqCst);
        slot(object, offset)
            .compare_exchange(expected.address(), new.address(), order.0, order.1)
            .map(|_| ())
            .map_err(ObjectRef::from_address)
    }

    fn swap(&self, _m: &Mutator, object: ObjectRef, offset: usize, value: ObjectRef) -> ObjectRef {
        ObjectRef::from_address(slot(object, offset).swap(value.address(), Ordering::SeqCst))
    }

    fn load_referent(&self, m: &Mutator, reference: ObjectRef, offset: usize) -> ObjectRef {
        self.load(m, reference, offset)
    }

    fn referent_is(&self, m: &Mutator, r: ObjectRef, offset: usize, other: ObjectRef) -> bool {
        self.load(m, r, offset) == other
    }

    fn clear_referent(&self, m: &Mutator, reference: ObjectRef, offset: usize) {
        self.store(m, reference, offset, ObjectRef::NULL)
    }

    fn copy_array(
        &self,
        _m: &Mutator,
        from: ObjectRef,
        from_index: usize,
        to: ObjectRef,
        to_index: usize,
        length: usize,
    ) {
        let source = |i: usize| slot(from, ARRAY_BASE + 8 * (from_index + i));
        let target = |i: usize| slot(to, ARRAY_BASE + 8 * (to_index + i));
        let copy = |i: usize| target(i).store(source(i).load(Ordering::Acquire), Ordering::Release);
        if from == to && from_index < to_index {
            (0..length).rev().for_each(copy)
        } else {
            (0..length).for_each(copy)
        }
    }

    fn clone_contents(&self, _m: &Mutator, original: ObjectRef, copy: ObjectRef, bytes: usize) {
        let from = (original.address() + HEADER_BYTES) as *const u8;
        let to = (copy.address() + HEADER_BYTES) as *mut u8;
        // SAFETY: both objects are `bytes` long and distinct; the copy is unpublished.
        unsafe { std::ptr::copy_nonoverlapping(from, to, bytes - HEADER_BYTES) }
    }

    fn load_root(&self, _m: &Mutator, slot: &RootSlot) -> ObjectRef {
        ObjectRef::from_address(slot.word().load(Ordering::Acquire) as usize)
    }

    fn store_root(&self, _m: &Mutator, slot: &RootSlot, value: ObjectRef) {
        slot.word().store(value.address() as u64, Ordering::Release)
    }

    fn load_weak_root(&self, m: &Mutator, slot: &RootSlot) -> ObjectRef {
        self.load_root(m, slot)
    }
}
