//! A barrier is written once, against the small assembler [`BarrierAsm`], and is both run and emitted.
//!
//! A collector implements [`Barriers`]. [`Evaluated`] makes a [`BarrierSet`] of it by running each operation with
//! [`Eval`], which inlines to the code one would write by hand; a compiler tier implements [`BarrierAsm`] by
//! emitting instructions. What compiled code never inlines (array copies, clones, roots) is plain Rust.
//!
//! Rules for the generic operations: no loops, no state outside values; constants of the heap (bases, shifts) may be
//! baked in, phases and epochs are read from the thread block with [`BarrierAsm::thread_word`]; whatever is rare goes
//! through [`BarrierAsm::when`] into a [`SlowPath`].

use crate::barrier::BarrierSet;
use crate::mutator::Mutator;
use crate::object::{ObjectRef, RootSlot};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The instructions of barriers. Values are 64 bits wide; addresses are plain.
pub trait BarrierAsm {
    type Value: Copy;

    fn constant(&mut self, value: u64) -> Self::Value;
    /// Word `index` of the collector's words in the calling thread's block.
    fn thread_word(&mut self, index: usize) -> Self::Value;

    /// Loads with acquire, zero-extended; stores with release.
    fn load32(&mut self, base: Self::Value, offset: Self::Value) -> Self::Value;
    fn load64(&mut self, base: Self::Value, offset: Self::Value) -> Self::Value;
    fn store32(&mut self, base: Self::Value, offset: Self::Value, value: Self::Value);
    fn store64(&mut self, base: Self::Value, offset: Self::Value, value: Self::Value);

    /// Sequentially consistent; the result is what the word held (compare-exchange: stored if that is `expected`).
    fn compare_exchange32(
        &mut self,
        base: Self::Value,
        offset: Self::Value,
        expected: Self::Value,
        new: Self::Value,
    ) -> Self::Value;
    fn compare_exchange64(
        &mut self,
        base: Self::Value,
        offset: Self::Value,
        expected: Self::Value,
        new: Self::Value,
    ) -> Self::Value;
    fn swap32(&mut self, base: Self::Value, offset: Self::Value, value: Self::Value)
    -> Self::Value;
    fn swap64(&mut self, base: Self::Value, offset: Self::Value, value: Self::Value)
    -> Self::Value;

    fn add(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    fn sub(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    fn and(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    fn or(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    fn shift_left(&mut self, a: Self::Value, bits: u8) -> Self::Value;
    fn shift_right(&mut self, a: Self::Value, bits: u8) -> Self::Value;

    /// `cold()` when the condition holds, else `usual`. The cold code is laid out of line.
    fn when(
        &mut self,
        condition: Condition<Self::Value>,
        usual: Self::Value,
        cold: impl FnOnce(&mut Self) -> Self::Value,
    ) -> Self::Value;

    /// `then()` when the condition holds, else `otherwise()`; neither is cold.
    fn select(
        &mut self,
        condition: Condition<Self::Value>,
        then: impl FnOnce(&mut Self) -> Self::Value,
        otherwise: impl FnOnce(&mut Self) -> Self::Value,
    ) -> Self::Value;

    /// Calls [`Barriers::slow_path`].
    fn call(&mut self, path: SlowPath, arguments: [Self::Value; 3]) -> Self::Value;
}

/// What a branch tests, unsigned.
#[derive(Clone, Copy, Debug)]
pub enum Condition<V> {
    Equal(V, V),
    NotEqual(V, V),
    Below(V, V),
}

/// Names a slow path of a collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowPath {
    /// Distinguishes the collector's slow paths.
    pub id: u8,
    /// Bounded and without waiting; otherwise it may wait as `BarrierSet` allows.
    pub is_leaf: bool,
}

/// The codec and the barriers of one collector. The contract of each operation is that of [`BarrierSet`].
pub trait Barriers: Send + Sync + Sized {
    const SLOT_BYTES: usize;

    fn load<A: BarrierAsm>(&self, a: &mut A, object: A::Value, offset: A::Value) -> A::Value;

    fn store<A: BarrierAsm>(&self, a: &mut A, object: A::Value, offset: A::Value, value: A::Value);

    fn store_initial<A: BarrierAsm>(
        &self,
        a: &mut A,
        object: A::Value,
        offset: A::Value,
        value: A::Value,
    );

    /// What the slot held; the exchange took place exactly if that is `expected`.
    fn compare_exchange<A: BarrierAsm>(
        &self,
        a: &mut A,
        object: A::Value,
        offset: A::Value,
        expected: A::Value,
        new: A::Value,
    ) -> A::Value;

    fn swap<A: BarrierAsm>(
        &self,
        a: &mut A,
        object: A::Value,
        offset: A::Value,
        value: A::Value,
    ) -> A::Value;

    fn load_referent<A: BarrierAsm>(
        &self,
        a: &mut A,
        reference: A::Value,
        offset: A::Value,
    ) -> A::Value;

    /// Carries out slow path `id`.
    fn slow_path(&self, m: &Mutator, id: u8, arguments: [u64; 3]) -> u64;

    fn referent_is(&self, m: &Mutator, r: ObjectRef, offset: usize, other: ObjectRef) -> bool;
    fn clear_referent(&self, m: &Mutator, reference: ObjectRef, offset: usize);
    fn copy_array(
        &self,
        m: &Mutator,
        from: ObjectRef,
        from_index: usize,
        to: ObjectRef,
        to_index: usize,
        length: usize,
    );
    fn clone_contents(&self, m: &Mutator, original: ObjectRef, copy: ObjectRef, bytes: usize);
    fn load_root(&self, m: &Mutator, slot: &RootSlot) -> ObjectRef;
    fn store_root(&self, m: &Mutator, slot: &RootSlot, value: ObjectRef);
    fn load_weak_root(&self, m: &Mutator, slot: &RootSlot) -> ObjectRef;
}

/// Runs the operations of `B` at once, on behalf of one thread.
pub struct Eval<'a, B> {
    pub barriers: &'a B,
    pub m: &'a Mutator,
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

impl<B: Barriers> BarrierAsm for Eval<'_, B> {
    type Value = u64;

    #[inline(always)]
    fn constant(&mut self, value: u64) -> u64 {
        value
    }

    #[inline(always)]
    fn thread_word(&mut self, index: usize) -> u64 {
        self.m.words[index].get()
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
    fn when(
        &mut self,
        condition: Condition<u64>,
        usual: u64,
        cold: impl FnOnce(&mut Self) -> u64,
    ) -> u64 {
        if condition.holds() { cold(self) } else { usual }
    }

    #[inline(always)]
    fn select(
        &mut self,
        condition: Condition<u64>,
        then: impl FnOnce(&mut Self) -> u64,
        otherwise: impl FnOnce(&mut Self) -> u64,
    ) -> u64 {
        if condition.holds() { then(self) } else { otherwise(self) }
    }

    #[inline(always)]
    fn call(&mut self, path: SlowPath, arguments: [u64; 3]) -> u64 {
        self.barriers.slow_path(self.m, path.id, arguments)
    }
}

impl Condition<u64> {
    #[inline(always)]
    fn holds(self) -> bool {
        match self {
            Condition::Equal(a, b) => a == b,
            Condition::NotEqual(a, b) => a != b,
            Condition::Below(a, b) => a < b,
        }
    }
}

/// The barrier set that runs `B`.
pub struct Evaluated<B>(pub B);

impl<B: Barriers> Evaluated<B> {
    #[inline(always)]
    fn on<'a>(&'a self, m: &'a Mutator, object: ObjectRef) -> Eval<'a, B> {
        debug_assert!(m.is_running() && !object.is_null(), "a barrier needs both");
        Eval { barriers: &self.0, m }
    }
}

#[inline(always)]
fn value(object: ObjectRef) -> u64 {
    object.address() as u64
}

#[inline(always)]
fn object(value: u64) -> ObjectRef {
    ObjectRef::from_address(value as usize)
}

impl<B: Barriers> BarrierSet for Evaluated<B> {
    fn slot_bytes(&self) -> usize {
        B::SLOT_BYTES
    }

    fn load(&self, m: &Mutator, o: ObjectRef, offset: usize) -> ObjectRef {
        object(self.0.load(&mut self.on(m, o), value(o), offset as u64))
    }

    fn store(&self, m: &Mutator, o: ObjectRef, offset: usize, v: ObjectRef) {
        self.0.store(&mut self.on(m, o), value(o), offset as u64, value(v))
    }

    fn store_initial(&self, m: &Mutator, o: ObjectRef, offset: usize, v: ObjectRef) {
        self.0.store_initial(&mut self.on(m, o), value(o), offset as u64, value(v))
    }

    fn compare_exchange(
        &self,
        m: &Mutator,
        o: ObjectRef,
        offset: usize,
        expected: ObjectRef,
        new: ObjectRef,
    ) -> Result<(), ObjectRef> {
        let (at, e, n) = (offset as u64, value(expected), value(new));
        let held = object(self.0.compare_exchange(&mut self.on(m, o), value(o), at, e, n));
        if held == expected { Ok(()) } else { Err(held) }
    }

    fn swap(&self, m: &Mutator, o: ObjectRef, offset: usize, v: ObjectRef) -> ObjectRef {
        object(self.0.swap(&mut self.on(m, o), value(o), offset as u64, value(v)))
    }

    fn load_referent(&self, m: &Mutator, r: ObjectRef, offset: usize) -> ObjectRef {
        object(self.0.load_referent(&mut self.on(m, r), value(r), offset as u64))
    }

    fn referent_is(&self, m: &Mutator, r: ObjectRef, offset: usize, other: ObjectRef) -> bool {
        self.0.referent_is(m, r, offset, other)
    }

    fn clear_referent(&self, m: &Mutator, reference: ObjectRef, offset: usize) {
        self.0.clear_referent(m, reference, offset)
    }

    fn copy_array(
        &self,
        m: &Mutator,
        from: ObjectRef,
        from_index: usize,
        to: ObjectRef,
        to_index: usize,
        length: usize,
    ) {
        debug_assert!(from_index + length <= from.array_length(), "copy from {from:?}");
        debug_assert!(to_index + length <= to.array_length(), "copy to {to:?}");
        self.0.copy_array(m, from, from_index, to, to_index, length)
    }

    fn clone_contents(&self, m: &Mutator, original: ObjectRef, copy: ObjectRef, bytes: usize) {
        self.0.clone_contents(m, original, copy, bytes)
    }

    fn load_root(&self, m: &Mutator, slot: &RootSlot) -> ObjectRef {
        self.0.load_root(m, slot)
    }

    fn store_root(&self, m: &Mutator, slot: &RootSlot, v: ObjectRef) {
        self.0.store_root(m, slot, v)
    }

    fn load_weak_root(&self, m: &Mutator, slot: &RootSlot) -> ObjectRef {
        self.0.load_weak_root(m, slot)
    }
}
