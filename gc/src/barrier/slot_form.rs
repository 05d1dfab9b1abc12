//! How barriers read and write slots that hold addresses: the rules of [`codec`](crate::object::codec) for the same
//! slots, written against [`BarrierAsm`]. Barriers are generic over it, so the form is not tested at run time.

use crate::barrier::barrier_asm::BarrierAsm;
use crate::object::codec::NARROW_SHIFT;

/// The form of the slots of one heap.
pub trait SlotForm: Send + Sync + 'static {
    /// Width of slots: 4 or 8.
    const SLOT_BYTES: usize;

    /// Whether references have MemLiner's stamps.
    const HAS_STAMPS: bool = false;

    /// The plain address in a word, 0 for 0.
    fn decode<A: BarrierAsm + ?Sized>(a: &mut A, word: A::Value) -> A::Value;

    /// The word of a plain address, 0 for 0.
    fn encode<A: BarrierAsm + ?Sized>(a: &mut A, object: A::Value) -> A::Value;
}

/// Eight bytes: the address.
pub struct WideForm;

impl SlotForm for WideForm {
    const SLOT_BYTES: usize = 8;

    #[inline(always)]
    fn decode<A: BarrierAsm + ?Sized>(_a: &mut A, word: A::Value) -> A::Value {
        word
    }

    #[inline(always)]
    fn encode<A: BarrierAsm + ?Sized>(_a: &mut A, object: A::Value) -> A::Value {
        object
    }
}

/// Four bytes: an eighth of the address.
pub struct NarrowForm;

impl SlotForm for NarrowForm {
    const SLOT_BYTES: usize = 4;

    #[inline(always)]
    fn decode<A: BarrierAsm + ?Sized>(a: &mut A, word: A::Value) -> A::Value {
        a.shift_left(word, NARROW_SHIFT)
    }

    #[inline(always)]
    fn encode<A: BarrierAsm + ?Sized>(a: &mut A, object: A::Value) -> A::Value {
        a.shift_right(object, NARROW_SHIFT)
    }
}
