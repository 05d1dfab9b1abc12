//! The fast path of allocation, as barriers are written: run by the interpreter, emitted by a compiler tier.
//!
//! It takes from memory that the thread owns, so it needs no atomic operation, reaches no safepoint and can only fail
//! with "not enough in the buffer". Then the caller calls `Heap::allocate`, which is a safepoint.

use crate::barrier::barrier_asm::{BarrierAsm, Condition};
use crate::object::{ARRAY_LENGTH_OFFSET, KLASS_OFFSET, KlassId};
use crate::threads::mutator::ThreadField;

/// Takes `bytes` off the thread's buffer, lets `fill` make an object of them and yields its address; 0, and nothing
/// is done, if the buffer has less. Any `bytes` are right: a size that overflows the heap does not overflow here.
#[inline(always)]
pub fn bump<A: BarrierAsm + ?Sized>(
    a: &mut A,
    bytes: A::Value,
    fill: impl FnOnce(&mut A, A::Value),
) -> A::Value {
    let top = a.thread_field(ThreadField::TLAB_TOP);
    let end = a.thread_field(ThreadField::TLAB_END);
    let room = a.sub(end, top);
    let zero = a.constant(0);
    a.branch(
        Condition::Below(room, bytes),
        true,
        |_| zero,
        |a| {
            let next = a.add(top, bytes);
            a.set_thread_field(ThreadField::TLAB_TOP, next);
            fill(a, top);
            top
        },
    )
}

/// As `bump`, for an object that needs nothing but its header.
#[inline(always)]
pub fn allocate<A: BarrierAsm + ?Sized>(
    a: &mut A,
    klass: KlassId,
    bytes: A::Value,
    length: Option<A::Value>,
) -> A::Value {
    bump(a, bytes, |a, object| write_header(a, object, klass, length))
}

/// As `HeapCore::write_header`.
#[inline(always)]
pub fn write_header<A: BarrierAsm + ?Sized>(
    a: &mut A,
    object: A::Value,
    klass: KlassId,
    length: Option<A::Value>,
) {
    let (at, id) = (a.constant(KLASS_OFFSET as u64), a.constant(u64::from(klass.header())));
    a.store32(object, at, id);
    write_length(a, object, length);
}

/// Writes the length of an array.
#[inline(always)]
pub fn write_length<A: BarrierAsm + ?Sized>(a: &mut A, object: A::Value, length: Option<A::Value>) {
    if let Some(length) = length {
        let at = a.constant(ARRAY_LENGTH_OFFSET as u64);
        a.store32(object, at, length);
    }
}
