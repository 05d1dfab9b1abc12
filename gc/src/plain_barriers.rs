//! Barriers of stop-the-world collectors: eight-byte slots that hold plain addresses, no bookkeeping.

use crate::barrier_asm::BarrierAsm;
use crate::barriers::Barriers;
use crate::bump;
use crate::mutator::Mutator;
use crate::object::{ARRAY_BASE, HEADER_BYTES, KlassId, ObjectRef, RootSlot};
use crate::options::HeapOptions;
use std::sync::atomic::{AtomicUsize, Ordering};

/// See the module text.
pub struct PlainBarriers {
    /// Threads have buffers.
    has_buffers: bool,
}

impl PlainBarriers {
    pub fn new(options: &HeapOptions) -> PlainBarriers {
        PlainBarriers { has_buffers: !options.zeal() }
    }
}

#[inline]
fn slot(object: ObjectRef, offset: usize) -> &'static AtomicUsize {
    debug_assert!(!object.is_null() && offset.is_multiple_of(8));
    // SAFETY: the caller names a slot inside a live object (contract of BarrierSet).
    unsafe { &*((object.address() + offset) as *const AtomicUsize) }
}

impl Barriers for PlainBarriers {
    const SLOT_BYTES: usize = 8;

    #[inline(always)]
    fn load<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        object: A::Value,
        offset: A::Value,
    ) -> A::Value {
        a.load64(object, offset)
    }

    #[inline(always)]
    fn store<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        object: A::Value,
        offset: A::Value,
        value: A::Value,
    ) {
        a.store64(object, offset, value)
    }

    #[inline(always)]
    fn store_initial<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        object: A::Value,
        offset: A::Value,
        value: A::Value,
    ) {
        a.store64(object, offset, value)
    }

    #[inline(always)]
    fn compare_exchange<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        object: A::Value,
        offset: A::Value,
        expected: A::Value,
        new: A::Value,
    ) -> A::Value {
        a.compare_exchange64(object, offset, expected, new)
    }

    #[inline(always)]
    fn swap<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        object: A::Value,
        offset: A::Value,
        value: A::Value,
    ) -> A::Value {
        a.swap64(object, offset, value)
    }

    #[inline(always)]
    fn load_referent<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        reference: A::Value,
        offset: A::Value,
    ) -> A::Value {
        a.load64(reference, offset)
    }

    #[inline(always)]
    fn load_root<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: A::Value) -> A::Value {
        let zero = a.constant(0);
        a.load64(slot, zero)
    }

    #[inline(always)]
    fn allocate<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        klass: KlassId,
        bytes: A::Value,
        length: Option<A::Value>,
    ) -> Option<A::Value> {
        let fill = |a: &mut A, object| bump::write_header(a, object, klass, length);
        self.has_buffers.then(|| bump::bump(a, bytes, fill))
    }

    fn slow_path(&self, _m: &Mutator, id: u8, _arguments: [u64; 3]) -> u64 {
        unreachable!("plain barriers have no slow path {id}")
    }

    fn referent_is(&self, _m: &Mutator, r: ObjectRef, offset: usize, other: ObjectRef) -> bool {
        slot(r, offset).load(Ordering::Acquire) == other.address()
    }

    fn clear_referent(&self, _m: &Mutator, reference: ObjectRef, offset: usize) {
        slot(reference, offset).store(0, Ordering::Release)
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
        // Bytes 12 to 16 are a field or the array length, which is the same already; from 16 on, whole words,
        // because other threads may be writing references of the original.
        let half = HEADER_BYTES;
        // SAFETY: both objects are at least 16 bytes long; the copy is unpublished.
        unsafe {
            let word = *((original.address() + half) as *const u32);
            *((copy.address() + half) as *mut u32) = word;
        }
        for offset in (half + 4..bytes).step_by(8) {
            let word = slot(original, offset).load(Ordering::Acquire);
            slot(copy, offset).store(word, Ordering::Relaxed);
        }
    }

    fn store_root(&self, _m: &Mutator, slot: &RootSlot, value: ObjectRef) {
        slot.word().store(value.address() as u64, Ordering::Release)
    }

    fn load_weak_root(&self, _m: &Mutator, slot: &RootSlot) -> ObjectRef {
        ObjectRef::from_address(slot.word().load(Ordering::Acquire) as usize)
    }
}
