//! The emitter of the collectors' barriers for Cranelift's intermediate representation.

use super::constant;
use super::facts::Facts;
use super::links;
use super::unused::Finding;
use crate::jit::barrier_stubs::BarrierStubs;
use crate::jit::helpers;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, AtomicRmwOp, Block, Inst, InstBuilder, MemFlagsData, SigRef, Signature, Type, Value,
    types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::FunctionBuilder;
use gc::barrier::barrier_asm::{ARGUMENTS_MAX, Condition, Instructions, SlowPath, Stub};
use gc::barrier::emitter::{Emitter, Operand};
use gc::threads::mutator::ThreadField;
use rustc_hash::FxHashMap;

/// The emitter that a collector's barriers write to.
pub struct ClifEmitter<'a, 'f> {
    b: &'a mut FunctionBuilder<'f>,
    known: Known<'a>,
    /// Loads are not to be merged with others.
    is_volatile: bool,
    values: Vec<Value>,
    branches: Vec<OpenBranch>,
}

/// A branch whose sides are being emitted.
struct OpenBranch {
    inst: Inst,
    otherwise: Block,
    join: Block,
    /// The code being emitted is rarely executed: the side that is open, or all of the branch.
    is_cold: bool,
    /// The same of the code around the branch.
    is_cold_around: bool,
}

/// The context of an operation in its function.
pub struct Known<'a> {
    /// Signatures of calls of slow paths and stubs by the number of their arguments, once there was such a call.
    pub slow_path_signatures: &'a mut SlowPathSignatures,
    /// The address that is called for a slow path, with all registers preserved, by its id.
    pub slow_path_address: fn(u8) -> usize,
    pub stubs: &'a BarrierStubs,
    /// Of values.
    pub facts: &'a mut Facts,
    /// Branches that found addresses of references, by the block where their sides meet.
    pub branches: &'a mut FxHashMap<Block, Inst>,
    pub findings: &'a mut Vec<Finding>,
}

impl<'a, 'f> ClifEmitter<'a, 'f> {
    pub fn new(
        b: &'a mut FunctionBuilder<'f>,
        known: Known<'a>,
        is_volatile: bool,
    ) -> ClifEmitter<'a, 'f> {
        ClifEmitter { b, known, is_volatile, values: Vec::new(), branches: Vec::new() }
    }

    pub fn operand(&mut self, value: Value) -> Operand {
        self.values.push(value);
        Operand(self.values.len() as u32 - 1)
    }

    pub fn value(&self, operand: Operand) -> Value {
        self.values[operand.0 as usize]
    }

    /// In the pinned register.
    fn thread(&mut self) -> Value {
        self.b.ins().get_pinned_reg(types::I64)
    }

    /// Base and constant offset where there is one, else the sum.
    fn place(&mut self, base: Operand, offset: Operand) -> (Value, i32) {
        let (base, offset) = (self.value(base), self.value(offset));
        if let Some(constant) = constant(&self.b.func.dfg, offset)
            && let Ok(constant) = i32::try_from(constant as i64)
        {
            return (base, constant);
        }
        (self.b.ins().iadd(base, offset), 0)
    }

    fn address(&mut self, base: Operand, offset: Operand) -> Value {
        let (base, offset) = self.place(base, offset);
        if offset == 0 { base } else { self.b.ins().iadd_imm_s(base, offset as i64) }
    }

    fn load(&mut self, ty: Type, base: Operand, offset: Operand) -> Operand {
        let flags = MemFlagsData::trusted();
        if self.is_volatile {
            let at = self.address(base, offset);
            let value = self.b.ins().atomic_load(ty, flags, at);
            return self.widen(ty, value);
        }
        let (base, offset) = self.place(base, offset);
        let value = match ty {
            // Extending is part of the load; apart from it, it would be an instruction.
            types::I32 => self.b.ins().uload32(flags, base, offset),
            types::I8 => self.b.ins().uload8(types::I64, flags, base, offset),
            _ => self.b.ins().load(ty, flags, base, offset),
        };
        self.operand(value)
    }

    fn store(&mut self, ty: Type, base: Operand, offset: Operand, value: Operand) {
        let value = self.narrow(ty, value);
        let (base, offset) = self.place(base, offset);
        self.b.ins().store(MemFlagsData::trusted(), value, base, offset);
    }

    fn narrow(&mut self, ty: Type, value: Operand) -> Value {
        let value = self.value(value);
        if ty == types::I64 { value } else { self.b.ins().ireduce(ty, value) }
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
        let held = self.b.ins().atomic_cas(MemFlagsData::trusted(), address, expected, new);
        self.widen(ty, held)
    }

    fn swap(&mut self, ty: Type, base: Operand, offset: Operand, value: Operand) -> Operand {
        let address = self.address(base, offset);
        let value = self.narrow(ty, value);
        let flags = MemFlagsData::trusted();
        let held = self.b.ins().atomic_rmw(ty, flags, AtomicRmwOp::Xchg, address, value);
        self.widen(ty, held)
    }

    fn widen(&mut self, ty: Type, value: Value) -> Operand {
        let value = if ty == types::I64 { value } else { self.b.ins().uextend(types::I64, value) };
        self.operand(value)
    }
}

/// See [`Known`].
pub type SlowPathSignatures = [Option<SigRef>; 1 + ARGUMENTS_MAX];

/// Of slow paths and stubs with this many arguments. The result is in the thread's scratch word.
pub fn slow_path_signature(arguments: usize) -> Signature {
    let mut signature = Signature::new(CallConv::PreserveAll);
    signature.params.resize(arguments, AbiParam::new(types::I64));
    signature
}

impl Instructions for ClifEmitter<'_, '_> {
    type Value = Operand;

    fn constant(&mut self, value: u64) -> Operand {
        let value = self.b.ins().iconst(types::I64, value as i64);
        self.operand(value)
    }

    fn thread_field(&mut self, field: ThreadField) -> Operand {
        let thread = self.thread();
        let flags = MemFlagsData::trusted();
        let value = self.b.ins().load(types::I64, flags, thread, field.offset() as i32);
        self.operand(value)
    }

    fn set_thread_field(&mut self, field: ThreadField, value: Operand) {
        let (thread, value) = (self.thread(), self.value(value));
        self.b.ins().store(MemFlagsData::trusted(), value, thread, field.offset() as i32);
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

    fn load8(&mut self, base: Operand, offset: Operand) -> Operand {
        self.load(types::I8, base, offset)
    }

    fn store8(&mut self, base: Operand, offset: Operand, value: Operand) {
        self.store(types::I8, base, offset, value)
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
        let value = self.b.ins().iadd(self.values[a.0 as usize], self.values[b.0 as usize]);
        self.operand(value)
    }

    fn sub(&mut self, a: Operand, b: Operand) -> Operand {
        let value = self.b.ins().isub(self.values[a.0 as usize], self.values[b.0 as usize]);
        self.operand(value)
    }

    fn and(&mut self, a: Operand, b: Operand) -> Operand {
        let value = self.b.ins().band(self.values[a.0 as usize], self.values[b.0 as usize]);
        self.operand(value)
    }

    fn or(&mut self, a: Operand, b: Operand) -> Operand {
        let value = self.b.ins().bor(self.values[a.0 as usize], self.values[b.0 as usize]);
        self.operand(value)
    }

    fn shift_left(&mut self, a: Operand, bits: u8) -> Operand {
        let value = self.b.ins().ishl_imm_u(self.values[a.0 as usize], bits as i64);
        self.operand(value)
    }

    fn shift_right(&mut self, a: Operand, bits: u8) -> Operand {
        let value = self.b.ins().ushr_imm_u(self.values[a.0 as usize], bits as i64);
        self.operand(value)
    }

    fn note_word(&mut self, object: Operand, word: Operand) {
        let (object, word) = (self.value(object), self.value(word));
        self.known.facts.set_word(object, word);
        let finding = Finding::of(self.b.func, self.known.branches, object);
        self.known.findings.extend(finding);
    }

    fn noted_word(&mut self, object: Operand) -> Option<Operand> {
        let word = self.known.facts.word(self.value(object))?;
        Some(self.operand(word))
    }

    fn call(&mut self, path: SlowPath, arguments: &[Operand]) -> Operand {
        self.call_preserving((self.known.slow_path_address)(path.id), arguments)
    }

    fn call_stub(&mut self, stub: Stub, arguments: &[Operand]) -> Operand {
        self.call_preserving(self.known.stubs.address(stub), arguments)
    }
}

impl ClifEmitter<'_, '_> {
    /// Calls a slow path or a stub. Reaches no safepoint, so that nothing has to be saved for it.
    fn call_preserving(&mut self, address: usize, arguments: &[Operand]) -> Operand {
        let count = arguments.len();
        let arguments: Vec<Value> =
            arguments.iter().map(|argument| self.value(*argument)).collect();
        let signature = *self.known.slow_path_signatures[count]
            .get_or_insert_with(|| self.b.import_signature(slow_path_signature(count)));
        let function = links::declare(self.b.func, address, signature);
        self.b.ins().call(function, &arguments);
        let thread = self.thread();
        let (flags, at) = (MemFlagsData::trusted(), helpers::SCRATCH_OFFSET as i32);
        let value = self.b.ins().load(types::I64, flags, thread, at);
        self.operand(value)
    }
}

impl Emitter for ClifEmitter<'_, '_> {
    fn truth(&self, condition: Condition<Operand>) -> Option<bool> {
        let known = |operand| constant(&self.b.func.dfg, self.value(operand));
        let is_object = |operand| self.known.facts.is_not_null(self.value(operand));
        match condition {
            Condition::Equal(a, b) if is_object(a) && known(b) == Some(0) => Some(false),
            Condition::NotEqual(a, b) if is_object(a) && known(b) == Some(0) => Some(true),
            Condition::Equal(a, b) => Some(known(a)? == known(b)?),
            Condition::NotEqual(a, b) => Some(known(a)? != known(b)?),
            Condition::Below(a, b) => Some(known(a)? < known(b)?),
            Condition::Sign32(a) => Some((known(a)? as i32) < 0),
        }
    }

    fn branch(&mut self, condition: Condition<Operand>, then_is_cold: bool) {
        let (code, a, b) = match condition {
            Condition::Equal(a, b) => (IntCC::Equal, a, Some(b)),
            Condition::NotEqual(a, b) => (IntCC::NotEqual, a, Some(b)),
            Condition::Below(a, b) => (IntCC::UnsignedLessThan, a, Some(b)),
            Condition::Sign32(a) => (IntCC::SignedLessThan, a, None),
        };
        let a = self.values[a.0 as usize];
        let test = match b {
            Some(b) => self.b.ins().icmp(code, a, self.values[b.0 as usize]),
            None => {
                let half = self.b.ins().ireduce(types::I32, a);
                self.b.ins().icmp_imm_s(code, half, 0)
            }
        };
        let [then, otherwise, join] = [(); 3].map(|()| self.b.create_block());
        let is_cold_around = self.branches.last().is_some_and(|branch| branch.is_cold);
        if then_is_cold || is_cold_around {
            self.b.set_cold_block(then);
        }
        if is_cold_around {
            // Else it would lie between the blocks of the usual path.
            self.b.set_cold_block(otherwise);
            self.b.set_cold_block(join);
        }
        self.b.append_block_param(join, types::I64);
        let inst = self.b.ins().brif(test, then, &[], otherwise, &[]);
        self.b.switch_to_block(then);
        self.b.seal_block(then);
        let is_cold = then_is_cold || is_cold_around;
        self.branches.push(OpenBranch { inst, otherwise, join, is_cold, is_cold_around });
    }

    fn otherwise(&mut self, then_value: Operand) {
        let value = self.value(then_value);
        let branch = self.branches.last_mut().expect("a branch is open");
        branch.is_cold = branch.is_cold_around;
        let (otherwise, join) = (branch.otherwise, branch.join);
        self.b.ins().jump(join, &[value.into()]);
        self.b.switch_to_block(otherwise);
        self.b.seal_block(otherwise);
    }

    fn join(&mut self, else_value: Operand) -> Operand {
        let OpenBranch { inst, join, .. } = self.branches.pop().expect("a branch is open");
        self.known.branches.insert(join, inst);
        let value = self.value(else_value);
        self.b.ins().jump(join, &[value.into()]);
        self.b.switch_to_block(join);
        self.b.seal_block(join);
        let value = self.b.block_params(join)[0];
        self.operand(value)
    }
}
