//! The barrier set of a collector, made of its [`Barriers`].

use crate::barrier::BarrierSet;
use crate::barrier::barrier_asm::Stub;
use crate::barrier::barriers::{Barriers, Slot};
use crate::barrier::emitter::{Emitter, Operand};
use crate::barrier::eval::Eval;
use crate::object::{KlassId, ObjectRef, RootSlot};
use crate::threads::mutator::Mutator;

/// The barrier set of `B`, run by [`Eval`] or emitted.
pub struct Evaluated<B>(pub B);

impl<B: Barriers> Evaluated<B> {
    #[inline(always)]
    fn eval<'a>(&'a self, m: &'a Mutator) -> Eval<'a, B> {
        debug_assert!(m.is_running(), "a barrier is for running threads");
        Eval { barriers: &self.0, m }
    }

    #[inline(always)]
    fn slot(&self, object: ObjectRef, offset: usize) -> Slot<u64> {
        debug_assert!(!object.is_null(), "a barrier needs an object");
        Slot::of::<B>(value(object), offset as u64)
    }

    #[inline(always)]
    fn root(&self, a: &mut Eval<'_, B>, slot: &RootSlot) -> Slot<u64> {
        Slot::root(a, (&raw const *slot) as u64)
    }

    #[inline(always)]
    fn operand(&self, object: Operand, offset: Operand) -> Slot<Operand> {
        Slot::of::<B>(object, offset)
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

    fn entry_max(&self) -> u32 {
        self.0.entry_max()
    }

    fn load(&self, m: &Mutator, o: ObjectRef, offset: usize) -> ObjectRef {
        object(self.0.load(&mut self.eval(m), self.slot(o, offset)))
    }

    fn store(&self, m: &Mutator, o: ObjectRef, offset: usize, v: ObjectRef) {
        self.0.store(&mut self.eval(m), self.slot(o, offset), value(v))
    }

    fn store_initial(&self, m: &Mutator, o: ObjectRef, offset: usize, v: ObjectRef) {
        self.0.store_initial(&mut self.eval(m), self.slot(o, offset), value(v))
    }

    fn compare_exchange(
        &self,
        m: &Mutator,
        o: ObjectRef,
        offset: usize,
        expected: ObjectRef,
        new: ObjectRef,
    ) -> Result<(), ObjectRef> {
        let (slot, e, n) = (self.slot(o, offset), value(expected), value(new));
        let held = object(self.0.compare_exchange(&mut self.eval(m), slot, e, n));
        if held == expected { Ok(()) } else { Err(held) }
    }

    fn swap(&self, m: &Mutator, o: ObjectRef, offset: usize, v: ObjectRef) -> ObjectRef {
        object(self.0.swap(&mut self.eval(m), self.slot(o, offset), value(v)))
    }

    fn load_referent(&self, m: &Mutator, r: ObjectRef, offset: usize) -> ObjectRef {
        object(self.0.load_weak(&mut self.eval(m), self.slot(r, offset)))
    }

    fn referent_is(&self, m: &Mutator, r: ObjectRef, offset: usize, other: ObjectRef) -> bool {
        self.0.refers_to(m, self.slot(r, offset), value(other))
    }

    fn clear_referent(&self, m: &Mutator, reference: ObjectRef, offset: usize) {
        self.slot(reference, offset).store(&mut self.eval(m), 0)
    }

    fn copy_array(
        &self,
        m: &Mutator,
        from: ObjectRef,
        from_offset: usize,
        to: ObjectRef,
        to_offset: usize,
        length: usize,
    ) {
        debug_assert!(length <= from.array_length(), "copy from {from:?}");
        debug_assert!(length <= to.array_length(), "copy to {to:?}");
        self.0.copy_array(m, (value(from), from_offset), (value(to), to_offset), length)
    }

    fn clone_contents(&self, m: &Mutator, original: ObjectRef, copy: ObjectRef, bytes: usize) {
        self.0.clone_contents(m, value(original), value(copy), bytes)
    }

    fn load_root(&self, m: &Mutator, slot: &RootSlot) -> ObjectRef {
        let a = &mut self.eval(m);
        let slot = self.root(a, slot);
        object(self.0.load(a, slot))
    }

    fn store_root(&self, m: &Mutator, slot: &RootSlot, v: ObjectRef) {
        let a = &mut self.eval(m);
        let slot = self.root(a, slot);
        self.0.store_root(a, slot, value(v))
    }

    fn load_weak_root(&self, m: &Mutator, slot: &RootSlot) -> ObjectRef {
        let a = &mut self.eval(m);
        let slot = self.root(a, slot);
        object(self.0.load_weak(a, slot))
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
        self.0.load(e, self.operand(object, offset))
    }

    fn emit_store(&self, e: &mut dyn Emitter, object: Operand, offset: Operand, value: Operand) {
        self.0.store(e, self.operand(object, offset), value)
    }

    fn emit_store_initial(
        &self,
        e: &mut dyn Emitter,
        object: Operand,
        offset: Operand,
        value: Operand,
    ) {
        self.0.store_initial(e, self.operand(object, offset), value)
    }

    fn emit_compare_exchange(
        &self,
        e: &mut dyn Emitter,
        object: Operand,
        offset: Operand,
        expected: Operand,
        new: Operand,
    ) -> Operand {
        self.0.compare_exchange(e, self.operand(object, offset), expected, new)
    }

    fn emit_swap(
        &self,
        e: &mut dyn Emitter,
        object: Operand,
        offset: Operand,
        value: Operand,
    ) -> Operand {
        self.0.swap(e, self.operand(object, offset), value)
    }

    fn emit_load_referent(
        &self,
        e: &mut dyn Emitter,
        reference: Operand,
        offset: Operand,
    ) -> Operand {
        self.0.load_weak(e, self.operand(reference, offset))
    }

    fn emit_load_root(&self, e: &mut dyn Emitter, slot: Operand) -> Operand {
        let slot = Slot::root(e, slot);
        self.0.load(e, slot)
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

    fn stubs(&self) -> u8 {
        1 + B::STUBS
    }

    fn emit_stub(&self, e: &mut dyn Emitter, stub: Stub, arguments: [Operand; 3]) -> Operand {
        self.0.run_stub(e, stub, arguments)
    }

    fn slow_path(&self, m: &Mutator, id: u8, arguments: [u64; 3]) -> u64 {
        self.0.slow_path(m, id, arguments)
    }
}
