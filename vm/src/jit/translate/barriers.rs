//! References in the heap: the collector's barriers, emitted.

use super::Translator;
use crate::jit::helpers;
use crate::runtime::KlassRef;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AtomicRmwOp, Block, InstBuilder, MemFlagsData, Type, Value, types};
use gc::barrier_asm::{Condition, Instructions, SlowPath};
use gc::emitter::{Emitter, Operand};
use gc::mutator::ThreadField;
use gc::object::RootSlot;

impl Translator<'_> {
    pub(super) fn load_reference(&mut self, object: Value, offset: Value) -> Value {
        let barriers = self.vm.heap.barriers();
        self.emit(false, |e| {
            let (object, offset) = (e.operand(object), e.operand(offset));
            barriers.emit_load(e, object, offset)
        })
    }

    pub(super) fn load_reference_volatile(&mut self, object: Value, offset: Value) -> Value {
        let barriers = self.vm.heap.barriers();
        self.emit(true, |e| {
            let (object, offset) = (e.operand(object), e.operand(offset));
            barriers.emit_load(e, object, offset)
        })
    }

    pub(super) fn load_referent(&mut self, object: Value, offset: Value) -> Value {
        let barriers = self.vm.heap.barriers();
        self.emit(true, |e| {
            let (object, offset) = (e.operand(object), e.operand(offset));
            barriers.emit_load_referent(e, object, offset)
        })
    }

    pub(super) fn load_root(&mut self, slot: *const RootSlot) -> Value {
        let barriers = self.vm.heap.barriers();
        let slot = self.address(slot);
        self.emit(false, |e| {
            let slot = e.operand(slot);
            barriers.emit_load_root(e, slot)
        })
    }

    /// As `load_root`, of a slot whose address is computed.
    pub(super) fn load_root_at(&mut self, slot: Value) -> Value {
        let barriers = self.vm.heap.barriers();
        self.emit(false, |e| {
            let slot = e.operand(slot);
            barriers.emit_load_root(e, slot)
        })
    }

    pub(super) fn store_reference(&mut self, object: Value, offset: Value, value: Value) {
        let barriers = self.vm.heap.barriers();
        let mut e = ClifEmitter::new(self, false);
        let operands = [object, offset, value].map(|value| e.operand(value));
        let [object, offset, value] = operands;
        barriers.emit_store(&mut e, object, offset, value);
    }

    /// What the slot held.
    pub(super) fn compare_exchange_reference(
        &mut self,
        object: Value,
        offset: Value,
        expected: Value,
        new: Value,
    ) -> Value {
        let barriers = self.vm.heap.barriers();
        self.emit(true, |e| {
            let operands = [object, offset, expected, new].map(|value| e.operand(value));
            let [object, offset, expected, new] = operands;
            barriers.emit_compare_exchange(e, object, offset, expected, new)
        })
    }

    /// What the slot held before.
    pub(super) fn swap_reference(&mut self, object: Value, offset: Value, value: Value) -> Value {
        let barriers = self.vm.heap.barriers();
        self.emit(true, |e| {
            let [object, offset, value] = [object, offset, value].map(|value| e.operand(value));
            barriers.emit_swap(e, object, offset, value)
        })
    }

    /// A new object or array of so many bytes, its header written and all else zero; 0 where the thread's buffer is
    /// too small. `None`: the collector allows no allocation without a call.
    pub(super) fn allocate_inline(
        &mut self,
        klass: KlassRef,
        bytes: Value,
        length: Option<Value>,
    ) -> Option<Value> {
        let barriers = self.vm.heap.barriers();
        let mut e = ClifEmitter::new(self, false);
        let bytes = e.operand(bytes);
        let length = length.map(|length| e.operand(length));
        let object = barriers.emit_allocate(&mut e, klass.id, bytes, length)?;
        Some(e.value(object))
    }

    fn emit(
        &mut self,
        is_volatile: bool,
        operation: impl FnOnce(&mut ClifEmitter<'_, '_>) -> Operand,
    ) -> Value {
        let mut emitter = ClifEmitter::new(self, is_volatile);
        let result = operation(&mut emitter);
        emitter.value(result)
    }
}

/// Emits what a collector's barriers say.
struct ClifEmitter<'a, 'f> {
    t: &'a mut Translator<'f>,
    /// Loads are not to be merged with others.
    is_volatile: bool,
    values: Vec<Value>,
    /// Of branches that are open: the else block, the join.
    branches: Vec<(Block, Block)>,
}

impl<'a, 'f> ClifEmitter<'a, 'f> {
    fn new(t: &'a mut Translator<'f>, is_volatile: bool) -> ClifEmitter<'a, 'f> {
        ClifEmitter { t, is_volatile, values: Vec::new(), branches: Vec::new() }
    }

    fn operand(&mut self, value: Value) -> Operand {
        self.values.push(value);
        Operand(self.values.len() as u32 - 1)
    }

    fn value(&self, operand: Operand) -> Value {
        self.values[operand.0 as usize]
    }

    /// Base and constant offset where there is one, else the sum.
    fn place(&mut self, base: Operand, offset: Operand) -> (Value, i32) {
        let (base, offset) = (self.value(base), self.value(offset));
        if let Some(constant) = self.t.constant(offset)
            && let Ok(constant) = i32::try_from(constant as i64)
        {
            return (base, constant);
        }
        (self.t.b.ins().iadd(base, offset), 0)
    }

    fn address(&mut self, base: Operand, offset: Operand) -> Value {
        let (base, offset) = self.place(base, offset);
        if offset == 0 { base } else { self.t.b.ins().iadd_imm_s(base, offset as i64) }
    }

    fn load(&mut self, ty: Type, base: Operand, offset: Operand) -> Operand {
        let flags = MemFlagsData::trusted();
        let value = match self.is_volatile {
            true => {
                let at = self.address(base, offset);
                self.t.b.ins().atomic_load(ty, flags, at)
            }
            false => {
                let (base, offset) = self.place(base, offset);
                self.t.b.ins().load(ty, flags, base, offset)
            }
        };
        let value =
            if ty == types::I32 { self.t.b.ins().uextend(types::I64, value) } else { value };
        self.operand(value)
    }

    fn store(&mut self, ty: Type, base: Operand, offset: Operand, value: Operand) {
        let value = self.narrow(ty, value);
        let (base, offset) = self.place(base, offset);
        self.t.b.ins().store(MemFlagsData::trusted(), value, base, offset);
    }

    fn narrow(&mut self, ty: Type, value: Operand) -> Value {
        let value = self.value(value);
        if ty == types::I32 { self.t.b.ins().ireduce(types::I32, value) } else { value }
    }

    fn exchange(
        &mut self,
        ty: Type,
        at: (Operand, Operand),
        expected: Operand,
        new: Operand,
    ) -> Operand {
        let address = self.address(at.0, at.1);
        let (expected, new) = (self.narrow(ty, expected), self.narrow(ty, new));
        let held = self.t.b.ins().atomic_cas(MemFlagsData::trusted(), address, expected, new);
        self.widen(ty, held)
    }

    fn swap(&mut self, ty: Type, base: Operand, offset: Operand, value: Operand) -> Operand {
        let address = self.address(base, offset);
        let value = self.narrow(ty, value);
        let flags = MemFlagsData::trusted();
        let held = self.t.b.ins().atomic_rmw(ty, flags, AtomicRmwOp::Xchg, address, value);
        self.widen(ty, held)
    }

    fn widen(&mut self, ty: Type, value: Value) -> Operand {
        let value =
            if ty == types::I32 { self.t.b.ins().uextend(types::I64, value) } else { value };
        self.operand(value)
    }
}

impl Instructions for ClifEmitter<'_, '_> {
    type Value = Operand;

    fn constant(&mut self, value: u64) -> Operand {
        let value = self.t.b.ins().iconst(types::I64, value as i64);
        self.operand(value)
    }

    fn thread_field(&mut self, field: ThreadField) -> Operand {
        let thread = self.t.thread();
        let flags = MemFlagsData::trusted();
        let value = self.t.b.ins().load(types::I64, flags, thread, field.offset() as i32);
        self.operand(value)
    }

    fn set_thread_field(&mut self, field: ThreadField, value: Operand) {
        let (thread, value) = (self.t.thread(), self.value(value));
        self.t.b.ins().store(MemFlagsData::trusted(), value, thread, field.offset() as i32);
    }

    fn load32(&mut self, base: Operand, offset: Operand) -> Operand {
        self.load(types::I32, base, offset)
    }

    fn load64(&mut self, base: Operand, offset: Operand) -> Operand {
        self.load(types::I64, base, offset)
    }

    fn store32(&mut self, base: Operand, offset: Operand, value: Operand) {
        self.store(types::I32, base, offset, value)
    }

    fn store64(&mut self, base: Operand, offset: Operand, value: Operand) {
        self.store(types::I64, base, offset, value)
    }

    fn compare_exchange32(
        &mut self,
        base: Operand,
        offset: Operand,
        expected: Operand,
        new: Operand,
    ) -> Operand {
        self.exchange(types::I32, (base, offset), expected, new)
    }

    fn compare_exchange64(
        &mut self,
        base: Operand,
        offset: Operand,
        expected: Operand,
        new: Operand,
    ) -> Operand {
        self.exchange(types::I64, (base, offset), expected, new)
    }

    fn swap32(&mut self, base: Operand, offset: Operand, value: Operand) -> Operand {
        self.swap(types::I32, base, offset, value)
    }

    fn swap64(&mut self, base: Operand, offset: Operand, value: Operand) -> Operand {
        self.swap(types::I64, base, offset, value)
    }

    fn add(&mut self, a: Operand, b: Operand) -> Operand {
        let value = self.t.b.ins().iadd(self.values[a.0 as usize], self.values[b.0 as usize]);
        self.operand(value)
    }

    fn sub(&mut self, a: Operand, b: Operand) -> Operand {
        let value = self.t.b.ins().isub(self.values[a.0 as usize], self.values[b.0 as usize]);
        self.operand(value)
    }

    fn and(&mut self, a: Operand, b: Operand) -> Operand {
        let value = self.t.b.ins().band(self.values[a.0 as usize], self.values[b.0 as usize]);
        self.operand(value)
    }

    fn or(&mut self, a: Operand, b: Operand) -> Operand {
        let value = self.t.b.ins().bor(self.values[a.0 as usize], self.values[b.0 as usize]);
        self.operand(value)
    }

    fn shift_left(&mut self, a: Operand, bits: u8) -> Operand {
        let value = self.t.b.ins().ishl_imm_u(self.values[a.0 as usize], bits as i64);
        self.operand(value)
    }

    fn shift_right(&mut self, a: Operand, bits: u8) -> Operand {
        let value = self.t.b.ins().ushr_imm_u(self.values[a.0 as usize], bits as i64);
        self.operand(value)
    }

    fn trailing_zeros(&mut self, value: Operand) -> Operand {
        let value = self.t.b.ins().ctz(self.values[value.0 as usize]);
        self.operand(value)
    }

    /// Reaches no safepoint, so that nothing has to be saved for it.
    fn call(&mut self, path: SlowPath, arguments: [Operand; 3]) -> Operand {
        let thread = self.t.thread();
        let id = self.t.b.ins().iconst(types::I64, path.id as i64);
        let [a, b, c] = arguments.map(|argument| self.value(argument));
        self.t.call_preserving(helpers::barrier_address(), &[thread, id, a, b, c]);
        let thread = self.t.thread();
        let (flags, at) = (MemFlagsData::trusted(), helpers::SCRATCH_OFFSET as i32);
        let value = self.t.b.ins().load(types::I64, flags, thread, at);
        self.operand(value)
    }
}

impl Emitter for ClifEmitter<'_, '_> {
    fn branch(&mut self, condition: Condition<Operand>, then_is_cold: bool) {
        let (code, a, b) = match condition {
            Condition::Equal(a, b) => (IntCC::Equal, a, b),
            Condition::NotEqual(a, b) => (IntCC::NotEqual, a, b),
            Condition::Below(a, b) => (IntCC::UnsignedLessThan, a, b),
        };
        let test = self.t.b.ins().icmp(code, self.values[a.0 as usize], self.values[b.0 as usize]);
        let [then, otherwise, join] = [(); 3].map(|()| self.t.b.create_block());
        if then_is_cold {
            self.t.b.set_cold_block(then);
        }
        self.t.b.append_block_param(join, types::I64);
        self.t.b.ins().brif(test, then, &[], otherwise, &[]);
        self.t.b.switch_to_block(then);
        self.t.b.seal_block(then);
        self.branches.push((otherwise, join));
    }

    fn otherwise(&mut self, then_value: Operand) {
        let (otherwise, join) = *self.branches.last().expect("a branch is open");
        let value = self.value(then_value);
        self.t.b.ins().jump(join, &[value.into()]);
        self.t.b.switch_to_block(otherwise);
        self.t.b.seal_block(otherwise);
    }

    fn join(&mut self, else_value: Operand) -> Operand {
        let (_, join) = self.branches.pop().expect("a branch is open");
        let value = self.value(else_value);
        self.t.b.ins().jump(join, &[value.into()]);
        self.t.b.switch_to_block(join);
        self.t.b.seal_block(join);
        let value = self.t.b.block_params(join)[0];
        self.operand(value)
    }
}
