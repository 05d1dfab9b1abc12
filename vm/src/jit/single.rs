//! Single barrier operations as machine code, without a VM around them.
//!
//! Tests compare the effect of a compiled operation on a heap with that of the interpreter, and benchmarks measure
//! it. Both need the operation alone, from the same emitter that translated methods use, on a heap that they made
//! themselves. Nothing in the VM uses this.
//!
//! A compiled operation is a loop around it:
//!
//! ```text
//! do { value = operation(value, further inputs); times -= 1 } while (times != 0 && value != 0)
//! ```
//!
//! A walk along a list is a repeated load, a run of allocations ends where one needs the heap.

use super::barrier_stubs::BarrierStubs;
use super::executable::Executable;
use super::translate::emitter::{ClifEmitter, Known, SlowPathSignatures};
use super::translate::facts::Facts;
use super::translate::isa;
use crate::machine::JavaThread;
use crate::slow_path_helpers;
use cranelift_codegen::Context;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Function, InstBuilder, MemFlagsData, Signature, UserFuncName, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use gc::barrier::BarrierSet;
use gc::barrier::emitter::{Emitter, Operand};
use gc::heap::Heap;
use gc::threads::mutator::{Mutator, ThreadField};
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::sync::Arc;

/// A mutator of a heap and of no VM, laid out as compiled code expects of a thread.
#[repr(C)]
pub struct BareThread {
    pub mutator: Mutator,
    /// The fields that only a Java thread has. Code of operations uses the anchor and the scratch word.
    _rest: [Cell<u64>; (size_of::<JavaThread>() - size_of::<Mutator>()).div_ceil(8)],
    heap: Arc<Heap>,
    slow_paths: Cell<u32>,
}

impl BareThread {
    /// Attaches a running thread.
    pub fn attach(heap: Arc<Heap>) -> Box<BareThread> {
        let thread = Box::new(BareThread {
            mutator: Mutator::new(),
            _rest: [const { Cell::new(0) }; _],
            heap,
            slow_paths: Cell::new(0),
        });
        thread.heap.attach(&thread.mutator);
        thread
    }

    /// Sets a word of the thread block, as a cycle would in a handshake.
    pub fn set_field(&self, field: ThreadField, value: u64) {
        let block = (&raw const self.mutator).cast::<u8>();
        // SAFETY: `field` names a cell of 64 bits inside the block, which only its owner touches.
        unsafe { (*block.add(field.offset()).cast::<Cell<u64>>()).set(value) }
    }

    /// A word of the thread block.
    pub fn field(&self, field: ThreadField) -> u64 {
        let block = (&raw const self.mutator).cast::<u8>();
        // SAFETY: as in `set_field`.
        unsafe { (*block.add(field.offset()).cast::<Cell<u64>>()).get() }
    }

    /// How many slow paths operations have taken since the last call.
    pub fn take_slow_paths(&self) -> u32 {
        self.slow_paths.take()
    }
}

impl Drop for BareThread {
    fn drop(&mut self) {
        self.heap.detach(&self.mutator);
    }
}

/// An operation's machine code.
pub struct SingleOperation {
    code: Executable,
    inputs: usize,
    /// The stubs that the code calls.
    _stubs: BarrierStubs,
}

impl SingleOperation {
    /// Compiles the code that `emit` emits for these barriers, with this number of inputs, at least one.
    /// `is_volatile` as for accesses to volatile fields.
    pub fn compile(
        barriers: &dyn BarrierSet,
        inputs: usize,
        is_volatile: bool,
        emit: impl FnOnce(&mut dyn Emitter, &[Operand]) -> Option<Operand>,
    ) -> SingleOperation {
        assert!((1..=INPUTS_MAX).contains(&inputs), "{inputs} inputs");
        let mut context = Context::new();
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.push(AbiParam::new(types::I64));
        signature.returns.push(AbiParam::new(types::I64));
        context.func = Function::with_name_signature(UserFuncName::default(), signature);
        let mut frontend = FunctionBuilderContext::new();
        let b = FunctionBuilder::new(&mut context.func, &mut frontend);
        let stubs = BarrierStubs::compile(barriers, slow_path_address);
        build(b, inputs, is_volatile, &stubs, emit);
        SingleOperation { code: Executable::compile(&mut context), inputs, _stubs: stubs }
    }

    /// Runs it `times` times, at least once, unless it yields 0 before: the last result, and how many times are left.
    /// The result of one round is the first input of the next.
    ///
    /// # Safety
    /// The inputs are those that the operation takes: references of live objects, offsets of slots. `thread` is
    /// running.
    pub unsafe fn run(&self, thread: &BareThread, times: u64, inputs: &[u64]) -> (u64, u64) {
        assert!(inputs.len() == self.inputs && times > 0);
        let mut words = [0; INPUTS_MAX + 1];
        words[0] = times;
        words[1..=inputs.len()].copy_from_slice(inputs);
        // SAFETY: the code was made by `compile` for this convention; the rest is the contract.
        let value = unsafe { enter(thread, self.code.address(), &raw mut words) };
        (value, words[0])
    }

    /// The machine code.
    pub fn code(&self) -> &[u8] {
        self.code.code()
    }
}

const INPUTS_MAX: usize = 6;
type Words = [u64; INPUTS_MAX + 1];

/// The function of a pointer to [`Words`]: how many times, then inputs.
fn build(
    mut b: FunctionBuilder<'_>,
    inputs: usize,
    is_volatile: bool,
    stubs: &BarrierStubs,
    emit: impl FnOnce(&mut dyn Emitter, &[Operand]) -> Option<Operand>,
) {
    let flags = MemFlagsData::trusted();
    let [entry, repeat, end] = [(); 3].map(|()| b.create_block());
    b.append_block_params_for_function_params(entry);
    let [times, value, last, left] =
        [repeat, repeat, end, end].map(|block| b.append_block_param(block, types::I64));
    b.switch_to_block(entry);
    b.seal_block(entry);
    let words = b.block_params(entry)[0];
    let loaded: Vec<_> =
        (0..=inputs as i32).map(|i| b.ins().load(types::I64, flags, words, 8 * i)).collect();
    b.ins().jump(repeat, &[loaded[0].into(), loaded[1].into()]);
    b.switch_to_block(repeat);
    let known = Known {
        slow_path_signatures: &mut SlowPathSignatures::default(),
        slow_path_address,
        stubs,
        facts: &mut Facts::default(),
        branches: &mut FxHashMap::default(),
        findings: &mut Vec::new(),
    };
    let mut emitter = ClifEmitter::new(&mut b, known, is_volatile);
    let mut operands = vec![emitter.operand(value)];
    operands.extend(loaded[2..].iter().map(|input| emitter.operand(*input)));
    let result = emit(&mut emitter, &operands).map(|result| emitter.value(result));
    let next = result.unwrap_or(value);
    let times = b.ins().iadd_imm_s(times, -1);
    let yielded = match result {
        Some(result) => result,
        None => b.ins().iconst(types::I64, 0),
    };
    let more = b.create_block();
    b.ins().brif(times, more, &[], end, &[yielded.into(), times.into()]);
    b.switch_to_block(more);
    b.seal_block(more);
    let is_null = b.ins().icmp_imm_s(IntCC::Equal, next, 0);
    b.ins().brif(
        is_null,
        end,
        &[yielded.into(), times.into()],
        repeat,
        &[times.into(), next.into()],
    );
    b.seal_block(repeat);
    b.switch_to_block(end);
    b.seal_block(end);
    b.ins().store(flags, left, words, 0);
    b.ins().return_(&[last]);
    b.finalize(isa::host().frontend_config());
}

/// Calls compiled code with the thread in its register.
///
/// # Safety
/// `code` is that of an operation and its inputs are in `words`.
#[unsafe(naked)]
unsafe extern "C" fn enter(thread: &BareThread, code: usize, words: *mut Words) -> u64 {
    std::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "push r15",
        "sub rsp, 8",
        "mov r15, rdi",
        "mov rdi, rdx",
        "call rsi",
        "mov r15, [rbp - 8]",
        "leave",
        "ret",
    )
}

slow_path_helpers! {
    /// The address that compiled code calls for a slow path of a barrier, on a thread without a VM.
    fn slow_path_address => bare_barrier;
}

extern "C" fn bare_barrier(t: &BareThread, id: u64, a: u64, b: u64, c: u64) -> u64 {
    t.slow_paths.set(t.slow_paths.get() + 1);
    t.heap.barriers().slow_path(&t.mutator, id as u8, [a, b, c])
}
