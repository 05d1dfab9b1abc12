//! The stubs of barriers ([`gc::barrier::barrier_asm::Stub`]) as machine code.
//!
//! A stub is called like a slow path: with all registers preserved, its result in the thread's scratch word. So its
//! call site is a few instructions long and keeps nothing in other places for it. It saves the registers that it uses
//! itself, and no vector registers. A slow path that it calls records an anchor inside of the stub, which describes
//! no Java frame; no barrier reaches a safepoint, so no stack is walked from such an anchor.

use super::executable::Executable;
use super::helpers;
use super::translate::emitter::{ClifEmitter, Known, SlowPathSignatures, slow_path_signature};
use super::translate::facts::Facts;
use super::translate::isa;
use cranelift_codegen::Context;
use cranelift_codegen::ir::{Function, InstBuilder, MemFlagsData, UserFuncName, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use gc::barrier::BarrierSet;
use gc::barrier::barrier_asm::{ARGUMENTS_MAX, Stub};
use rustc_hash::FxHashMap;

/// All stubs of one heap's barriers, by their ids.
pub struct BarrierStubs(Vec<Executable>);

impl BarrierStubs {
    /// Compiles them. Their slow paths call `slow_path_address`.
    pub fn compile(barriers: &dyn BarrierSet, slow_path_address: fn(u8) -> usize) -> BarrierStubs {
        let stubs = (0..barriers.stubs()).map(|id| Stub { id });
        BarrierStubs(stubs.map(|stub| compile(barriers, stub, slow_path_address)).collect())
    }

    /// The target of calls of a stub.
    pub fn address(&self, stub: Stub) -> usize {
        self.0[stub.id as usize].address()
    }
}

fn compile(
    barriers: &dyn BarrierSet,
    stub: Stub,
    slow_path_address: fn(u8) -> usize,
) -> Executable {
    let mut context = Context::new();
    let signature = slow_path_signature(ARGUMENTS_MAX);
    context.func = Function::with_name_signature(UserFuncName::default(), signature);
    let mut frontend = FunctionBuilderContext::new();
    let mut b = FunctionBuilder::new(&mut context.func, &mut frontend);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    b.seal_block(entry);
    let arguments = b.block_params(entry).to_vec();
    let known = Known {
        slow_path_signatures: &mut SlowPathSignatures::default(),
        slow_path_address,
        stubs: &BarrierStubs(Vec::new()),
        facts: &mut Facts::default(),
        branches: &mut FxHashMap::default(),
        findings: &mut Vec::new(),
    };
    let mut emitter = ClifEmitter::new(&mut b, known, false);
    let arguments: Vec<_> = arguments.into_iter().map(|a| emitter.operand(a)).collect();
    let arguments = arguments.try_into().expect("as many as the signature has");
    let result = barriers.emit_stub(&mut emitter, stub, arguments);
    let result = emitter.value(result);
    let thread = b.ins().get_pinned_reg(types::I64);
    b.ins().store(MemFlagsData::trusted(), result, thread, helpers::SCRATCH_OFFSET as i32);
    b.ins().return_(&[]);
    b.finalize(isa::host().frontend_config());
    Executable::compile(&mut context)
}
