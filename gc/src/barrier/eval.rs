//! Runs barriers: inlines to the code that one would write by hand.

use crate::barrier::barrier_asm::{
    ARGUMENTS_MAX, BarrierAsm, Condition, Instructions, SlowPath, Stub,
};
use crate::barrier::barriers::Barriers;
use crate::threads::mutator::{Mutator, ThreadField};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// Runs the operations of `B` at once, on behalf of one thread.
pub struct Eval<'a, B> {
    pub barriers: &'a B,
    pub m: &'a Mutator,
}

#[inline(always)]
fn byte(base: u64, offset: u64) -> &'static AtomicU8 {
    // SAFETY: barriers name bytes of tables that outlive the heap's use; such bytes are only accessed atomically.
    unsafe { &*(base.wrapping_add(offset) as usize as *const AtomicU8) }
}

#[inline(always)]
fn word32(base: u64, offset: u64) -> &'static AtomicU32 {
    let address = base.wrapping_add(offset) as usize;
    debug_assert!(base != 0 && address.is_multiple_of(4), "word at {base:#x} + {offset}");
    // SAFETY: barriers name words of live objects and of tables that outlive the heap's use (contract of
    // BarrierSet: the object is live and the offset is a slot's); such words are only accessed atomically.
    unsafe { &*(address as *const AtomicU32) }
}

#[inline(always)]
fn word64(base: u64, offset: u64) -> &'static AtomicU64 {
    let address = base.wrapping_add(offset) as usize;
    debug_assert!(base != 0 && address.is_multiple_of(8), "word at {base:#x} + {offset}");
    // SAFETY: as in `word32`.
    unsafe { &*(address as *const AtomicU64) }
}

impl<B: Barriers> Instructions for Eval<'_, B> {
    type Value = u64;

    #[inline(always)]
    fn constant(&mut self, value: u64) -> u64 {
        value
    }

    #[inline(always)]
    fn thread_field(&mut self, field: ThreadField) -> u64 {
        self.m.field(field).get()
    }

    #[inline(always)]
    fn set_thread_field(&mut self, field: ThreadField, value: u64) {
        self.m.field(field).set(value)
    }

    #[inline(always)]
    fn load32(&mut self, base: u64, offset: u64) -> u64 {
        u64::from(word32(base, offset).load(Ordering::Acquire))
    }

    #[inline(always)]
    fn load64(&mut self, base: u64, offset: u64) -> u64 {
        word64(base, offset).load(Ordering::Acquire)
    }

    #[inline(always)]
    fn store32(&mut self, base: u64, offset: u64, value: u64) {
        word32(base, offset).store(value as u32, Ordering::Release)
    }

    #[inline(always)]
    fn store64(&mut self, base: u64, offset: u64, value: u64) {
        word64(base, offset).store(value, Ordering::Release)
    }

    #[inline(always)]
    fn load8(&mut self, base: u64, offset: u64) -> u64 {
        u64::from(byte(base, offset).load(Ordering::Relaxed))
    }

    #[inline(always)]
    fn store8(&mut self, base: u64, offset: u64, value: u64) {
        byte(base, offset).store(value as u8, Ordering::Relaxed)
    }

    #[inline(always)]
    fn compare_exchange32(&mut self, base: u64, offset: u64, expected: u64, new: u64) -> u64 {
        let word = word32(base, offset);
        let (expected, new) = (expected as u32, new as u32);
        let (Ok(held) | Err(held)) =
            word.compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst);
        u64::from(held)
    }

    #[inline(always)]
    fn compare_exchange64(&mut self, base: u64, offset: u64, expected: u64, new: u64) -> u64 {
        let word = word64(base, offset);
        let (Ok(held) | Err(held)) =
            word.compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst);
        held
    }

    #[inline(always)]
    fn swap32(&mut self, base: u64, offset: u64, value: u64) -> u64 {
        u64::from(word32(base, offset).swap(value as u32, Ordering::SeqCst))
    }

    #[inline(always)]
    fn swap64(&mut self, base: u64, offset: u64, value: u64) -> u64 {
        word64(base, offset).swap(value, Ordering::SeqCst)
    }

    #[inline(always)]
    fn add(&mut self, a: u64, b: u64) -> u64 {
        a.wrapping_add(b)
    }

    #[inline(always)]
    fn sub(&mut self, a: u64, b: u64) -> u64 {
        a.wrapping_sub(b)
    }

    #[inline(always)]
    fn and(&mut self, a: u64, b: u64) -> u64 {
        a & b
    }

    #[inline(always)]
    fn or(&mut self, a: u64, b: u64) -> u64 {
        a | b
    }

    #[inline(always)]
    fn shift_left(&mut self, a: u64, bits: u8) -> u64 {
        a << bits
    }

    #[inline(always)]
    fn shift_right(&mut self, a: u64, bits: u8) -> u64 {
        a >> bits
    }

    #[inline(always)]
    fn call(&mut self, path: SlowPath, arguments: &[u64]) -> u64 {
        self.barriers.slow_path(self.m, path.id, all(arguments))
    }

    #[inline(always)]
    fn call_stub(&mut self, stub: Stub, arguments: &[u64]) -> u64 {
        self.barriers.run_stub(self, stub, all(arguments))
    }
}

/// With zeros for those that are not given.
#[inline(always)]
fn all(arguments: &[u64]) -> [u64; ARGUMENTS_MAX] {
    let mut all = [0; ARGUMENTS_MAX];
    all[..arguments.len()].copy_from_slice(arguments);
    all
}

impl<B: Barriers> BarrierAsm for Eval<'_, B> {
    #[inline(always)]
    fn branch(
        &mut self,
        condition: Condition<u64>,
        _then_is_cold: bool,
        then: impl FnOnce(&mut Self) -> u64,
        otherwise: impl FnOnce(&mut Self) -> u64,
    ) -> u64 {
        if condition.holds() { then(self) } else { otherwise(self) }
    }
}
