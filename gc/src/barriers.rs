//! What a collector writes, and the [`BarrierSet`] that is made of it.

use crate::barrier::BarrierSet;
use crate::barrier_asm::BarrierAsm;
use crate::emitter::{Emitter, Operand};
use crate::eval::Eval;
use crate::mutator::Mutator;
use crate::object::{KlassId, ObjectRef, RootSlot};

/// The codec and the barriers of one collector. The contract of each operation is that of [`BarrierSet`]; what is
/// generic over [`BarrierAsm`] must keep the rules of that module.
pub trait Barriers: Send + Sync + Sized {
    const SLOT_BYTES: usize;

    fn load<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        object: A::Value,
        offset: A::Value,
    ) -> A::Value;

    fn store<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        object: A::Value,
        offset: A::Value,
        value: A::Value,
    );

    fn store_initial<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        object: A::Value,
        offset: A::Value,
        value: A::Value,
    );

    /// What the slot held; the exchange took place exactly if that is `expected`.
    fn compare_exchange<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        object: A::Value,
        offset: A::Value,
        expected: A::Value,
        new: A::Value,
    ) -> A::Value;

    fn swap<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        object: A::Value,
        offset: A::Value,
        value: A::Value,
    ) -> A::Value;

    fn load_referent<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        reference: A::Value,
        offset: A::Value,
    ) -> A::Value;

    /// The reference in a [`RootSlot`] at this address.
    fn load_root<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: A::Value) -> A::Value;

    /// Makes an object of what the thread's buffers hold, 0 if they have too little; `None` when every allocation
    /// must go to the collector.
    fn allocate<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        klass: KlassId,
        bytes: A::Value,
        length: Option<A::Value>,
    ) -> Option<A::Value>;

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
    fn store_root(&self, m: &Mutator, slot: &RootSlot, value: ObjectRef);
    fn load_weak_root(&self, m: &Mutator, slot: &RootSlot) -> ObjectRef;
}

/// The barrier set of `B`, run by [`Eval`] or emitted.
pub struct Evaluated<B>(pub B);

impl<B: Barriers> Evaluated<B> {
    #[inline(always)]
    fn eval<'a>(&'a self, m: &'a Mutator) -> Eval<'a, B> {
        debug_assert!(m.is_running(), "a barrier is for running threads");
        Eval { barriers: &self.0, m }
    }

    #[inline(always)]
    fn on<'a>(&'a self, m: &'a Mutator, object: ObjectRef) -> Eval<'a, B> {
        debug_assert!(!object.is_null(), "a barrier needs an object");
        self.eval(m)
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
        object(self.0.load_root(&mut self.eval(m), (&raw const *slot) as u64))
    }

    fn store_root(&self, m: &Mutator, slot: &RootSlot, v: ObjectRef) {
        self.0.store_root(m, slot, v)
    }

    fn load_weak_root(&self, m: &Mutator, slot: &RootSlot) -> ObjectRef {
        self.0.load_weak_root(m, slot)
    }

    fn allocate(
        &self,
        m: &Mutator,
        klass: KlassId,
        bytes: usize,
        length: Option<u32>,
    ) -> ObjectRef {
        let (bytes, length) = (bytes as u64, length.map(u64::from));
        self.0.allocate(&mut self.eval(m), klass, bytes, length).map_or(ObjectRef::NULL, object)
    }

    fn emit_load(&self, e: &mut dyn Emitter, object: Operand, offset: Operand) -> Operand {
        self.0.load(e, object, offset)
    }

    fn emit_store(&self, e: &mut dyn Emitter, object: Operand, offset: Operand, value: Operand) {
        self.0.store(e, object, offset, value)
    }

    fn emit_store_initial(
        &self,
        e: &mut dyn Emitter,
        object: Operand,
        offset: Operand,
        value: Operand,
    ) {
        self.0.store_initial(e, object, offset, value)
    }

    fn emit_compare_exchange(
        &self,
        e: &mut dyn Emitter,
        object: Operand,
        offset: Operand,
        expected: Operand,
        new: Operand,
    ) -> Operand {
        self.0.compare_exchange(e, object, offset, expected, new)
    }

    fn emit_swap(
        &self,
        e: &mut dyn Emitter,
        object: Operand,
        offset: Operand,
        value: Operand,
    ) -> Operand {
        self.0.swap(e, object, offset, value)
    }

    fn emit_load_referent(
        &self,
        e: &mut dyn Emitter,
        reference: Operand,
        offset: Operand,
    ) -> Operand {
        self.0.load_referent(e, reference, offset)
    }

    fn emit_load_root(&self, e: &mut dyn Emitter, slot: Operand) -> Operand {
        self.0.load_root(e, slot)
    }

    fn emit_allocate(
        &self,
        e: &mut dyn Emitter,
        klass: KlassId,
        bytes: Operand,
        length: Option<Operand>,
    ) -> Option<Operand> {
        self.0.allocate(e, klass, bytes, length)
    }

    fn slow_path(&self, m: &Mutator, id: u8, arguments: [u64; 3]) -> u64 {
        self.0.slow_path(m, id, arguments)
    }
}
