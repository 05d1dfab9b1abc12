//! From bytecode to a [`Body`], by way of Cranelift's intermediate representation.
//!
//! One [`Translator`] translates one method with all that is inlined into it; the stack of [`Scope`]s says where it is.
//! Locals are Cranelift variables, so that its frontend places the phis; operands are values, and block parameters
//! where blocks meet with operands on the stack.
//!
//! * [`flow`]: blocks and live locals. [`scope`], [`kind`]: state. [`instructions`] and the files by kind of
//!   instruction: the translation of each.
//! * [`exits`]: the way out where compiled code cannot continue. A check that fails returns to the state after the
//!   last side effect, so that checks share exits; the code that is then executed twice has no effects.
//! * [`safepoints`], [`roots`]: references across calls. [`barriers`]: the collectors' barriers.

mod allocation;
mod arithmetic;
mod array_kernels;
mod arrays;
mod barriers;
mod big_integer;
mod calls;
mod casts;
mod checksums;
mod compare;
mod computations;
mod counters;
pub mod emitter;
mod exits;
pub mod facts;
mod fields;
mod flow;
mod inlining;
mod instructions;
pub mod intrinsics;
mod invariants;
pub mod isa;
mod kind;
pub mod links;
mod locks;
mod memory;
mod method_handles;
mod named;
mod positions;
mod roots;
mod rotate;
mod safepoints;
mod scope;
mod signatures;
mod stack;
mod string_kernels;
mod unsafe_memory;
mod unused;
mod var_handles;

use crate::jit::queue::Task;
use crate::machine::Vm;
use crate::runtime::code::body::{Body, InlineCache, Tier};
use crate::runtime::code::positions::NewPositions;
use crate::runtime::code::safepoints::{NewSafepoint, Safepoints};
use crate::runtime::code::side_exits::SideExits;
use crate::runtime::{ClassHolder, MethodRef};
use classfile::bytecode::{Instructions, op};
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, DataFlowGraph, FuncRef, Function, Inst, InstBuilder,
    InstructionData, MemFlagsData, Opcode, SigRef, Signature, StackSlot, StackSlotData,
    StackSlotKind, UserFuncName, Value, ValueDef, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use emitter::SlowPathSignatures;
use facts::Facts;
use flow::{Bound, Counter, Flow};
use kind::Kind;
use positions::POSITIONS;
use roots::RootSlots;
use rustc_hash::FxHashMap;
use scope::{Entry, Operand, Scope};
use signatures::{java_signature, kinds_of, method_signature, osr_signature};
use std::rc::Rc;
use unused::{Finding, remove_unused};

/// Why a method stays with the interpreter.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotCompiled {
    #[error("no bytecode")]
    NoCode,
    #[error("not linked")]
    NotLinked,
    #[error("malformed bytecode")]
    Malformed,
    #[error("jsr and ret")]
    Subroutines,
    #[error("{0} bytes of bytecode")]
    TooLarge(usize),
    #[error("locks are not nested")]
    Locks,
    #[error("locals or operands do not agree where blocks meet")]
    Disagreement,
    #[error("no block begins at bci {0}")]
    NoLoop(u16),
    #[error("the code generator refused it: {0}")]
    Refused(String),
}

/// As HotSpot: longer methods are left to the interpreter.
const BYTECODE_MAX: usize = 8000;

/// Translates the task's method, which is linked; with `osr_bci`, from that loop header on. Any thread; reaches no
/// safepoint and does not touch the heap. What it meets may be found dead meanwhile, so that `KlassTable::find` changes
/// its answers and slots are emptied; but it is not freed.
pub fn translate(vm: &'static Vm, task: Task) -> Result<Body, NotCompiled> {
    let Task { method, osr_bci, tier } = task;
    let code = method.code().ok_or(NotCompiled::NoCode)?;
    if !method.holder.is_linked() {
        return Err(NotCompiled::NotLinked);
    }
    if code.bytecode.len() > BYTECODE_MAX {
        return Err(NotCompiled::TooLarge(code.bytecode.len()));
    }
    if !crate::runtime::code::quick::is_prepared(method) {
        return Err(NotCompiled::NotLinked);
    }
    let flow = Rc::new(Flow::of(method)?);
    if let Some(bci) = osr_bci
        && flow.block_index(bci).is_none()
    {
        return Err(NotCompiled::NoLoop(bci));
    }
    let isa = match tier {
        Tier::Quick => isa::host_for_quick_code(),
        Tier::Full => isa::host(),
    };
    let mut context = Context::new();
    let signature = match osr_bci {
        Some(_) => osr_signature(method.return_type),
        None => method_signature(method),
    };
    context.func = Function::with_name_signature(UserFuncName::default(), signature);
    let mut frontend = FunctionBuilderContext::new();
    let builder = FunctionBuilder::new(&mut context.func, &mut frontend);
    let mut translator = Translator::new(vm, builder, task);
    translator.function(flow)?;
    let finished = translator.finish()?;
    remove_unused(&mut context.func, &finished.findings);
    let mut control = ControlPlane::default();
    let is_shown = super::policy::is_any(&vm.options.jit.shown, method);
    if is_shown {
        context.set_disasm(true);
        base::print(format_args!("{method:?}\n{}", context.func.display()));
    }
    let refused = |error: String| NotCompiled::Refused(error);
    if let Err(error) = context.compile(&*isa, &mut control) {
        return Err(refused(format!("{:?}", error.inner)));
    }
    let compiled = context.compiled_code().expect("it is compiled");
    if let Some(code) = compiled.vcode.as_ref().filter(|_| is_shown) {
        base::print(format_args!("{code}"));
    }
    let layout = compiled.buffer.frame_layout();
    let layout = layout.ok_or_else(|| refused("no frame layout".into()))?;
    let code = links::link(&context.func, compiled).map_err(refused)?;
    let roots = layout.stackslots[finished.roots].offset;
    Ok(Body {
        method,
        osr_bci,
        tier,
        frame_to_fp: layout.frame_to_fp_offset,
        roots_offset: roots,
        positions: positions::locate(&compiled.buffer, finished.positions),
        safepoints: locate(&compiled.buffer, finished.safepoints),
        code,
        exits: finished.exits,
        cells: finished.cells,
        unresolved: finished.unresolved,
        holders: finished.holders,
    })
}

/// Gives safepoints, numbered by source locations from 1, their return offsets.
fn locate(
    buffer: &cranelift_codegen::MachBufferFinalized<cranelift_codegen::Final>,
    mut safepoints: Vec<NewSafepoint>,
) -> Safepoints {
    let locations = buffer.get_srclocs_sorted();
    let mut found: Vec<NewSafepoint> = Vec::new();
    for site in buffer.call_sites() {
        let at = site.ret_addr - 1;
        let after = locations.partition_point(|location| location.start <= at);
        let Some(location) = after.checked_sub(1).map(|index| &locations[index]) else { continue };
        if at >= location.end || location.loc.bits() >= POSITIONS {
            continue;
        }
        let safepoint = &mut safepoints[location.loc.bits() as usize - 1];
        assert_eq!(safepoint.return_offset, 0, "two calls of one safepoint");
        safepoint.return_offset = site.ret_addr;
        found.push(NewSafepoint {
            return_offset: site.ret_addr,
            roots: std::mem::take(&mut safepoint.roots),
            places: std::mem::take(&mut safepoint.places),
            locks: std::mem::take(&mut safepoint.locks),
        });
    }
    Safepoints::pack(found)
}

/// Translates one function.
struct Translator<'f> {
    vm: &'static Vm,
    b: FunctionBuilder<'f>,
    method: MethodRef,
    osr_bci: Option<u16>,
    tier: Tier,
    /// Of quick code that counts: rounds of loops since the beginning.
    rounds: Option<Variable>,
    scopes: Vec<Scope>,
    facts: Facts,
    /// Of barriers, by the block where their sides meet.
    branches: FxHashMap<Block, Inst>,
    findings: Vec<Finding>,
    roots: RootSlots,
    root_slots: StackSlot,
    exit_area: StackSlot,
    exit_words: usize,
    safepoints: Vec<NewSafepoint>,
    /// While there is a fault profile.
    positions: Option<NewPositions>,
    exits: exits::Exits,
    cells: Cells,
    unresolved: u32,
    /// As `Body::holders`.
    holders: Vec<&'static ClassHolder>,
    signatures: FxHashMap<Signature, SigRef>,
    slow_path_signatures: SlowPathSignatures,
    /// Returns an undefined value, with an exception pending.
    give_up: Option<Block>,
    last_compare: Option<compare::Compared>,
    itself: Option<FuncRef>,
    /// Bytecodes translated, inlined ones included.
    translated: usize,
    /// Of these, the ones of inlined methods.
    inlined: usize,
}

/// Where a loop is entered from an interpreter frame.
struct OsrEntry {
    /// Block that loads the locals.
    enter: Block,
    /// Address of the frame's locals.
    locals: Value,
    bci: u16,
}

/// Boxed: code holds their addresses.
#[allow(clippy::vec_box)]
type Cells = Vec<Box<InlineCache>>;

/// The results of a translation other than the function.
struct Finished {
    roots: StackSlot,
    safepoints: Vec<NewSafepoint>,
    positions: Option<NewPositions>,
    exits: SideExits,
    cells: Cells,
    unresolved: u32,
    holders: Box<[&'static ClassHolder]>,
    findings: Vec<Finding>,
}

impl<'f> Translator<'f> {
    fn new(vm: &'static Vm, mut b: FunctionBuilder<'f>, task: Task) -> Translator<'f> {
        let Task { method, osr_bci, tier } = task;
        let slot = || StackSlotData::new(StackSlotKind::ExplicitSlot, 0, 3);
        let root_slots = b.create_sized_stack_slot(slot());
        let exit_area = b.create_sized_stack_slot(slot());
        Translator {
            vm,
            b,
            method,
            osr_bci,
            tier,
            rounds: None,
            scopes: Vec::new(),
            facts: Facts::default(),
            branches: FxHashMap::default(),
            findings: Vec::new(),
            roots: RootSlots::default(),
            root_slots,
            exit_area,
            exit_words: 0,
            safepoints: Vec::new(),
            positions: vm.options.fault_profile.is_some().then(NewPositions::default),
            exits: exits::Exits::default(),
            cells: Vec::new(),
            unresolved: 0,
            holders: Vec::new(),
            signatures: FxHashMap::default(),
            slow_path_signatures: SlowPathSignatures::default(),
            give_up: None,
            last_compare: None,
            itself: None,
            translated: 0,
            inlined: 0,
        }
    }

    /// The whole function.
    fn function(&mut self, flow: Rc<Flow>) -> Result<(), NotCompiled> {
        self.leave_safepoint();
        let entry = self.b.create_block();
        self.b.append_block_params_for_function_params(entry);
        self.continue_in(entry);
        let parameters = self.b.block_params(entry).to_vec();
        self.name(self.method.holder);
        self.begin_counting();
        let mut scope = Scope::new(self.method, flow);
        scope.blocks = scope.flow.blocks.iter().map(|_| self.b.create_block()).collect();
        self.scopes.push(scope);
        match self.osr_bci {
            None => {
                self.check_stack();
                self.count_call();
                self.arguments(&parameters[1..]);
                self.lock_for_method();
                if calls(self.method) {
                    // Recursion is a loop too.
                    self.poll(0);
                }
                self.body(None)?;
            }
            Some(bci) => {
                // The way from the beginning to the loop is translated too, from a block that is never entered: it
                // gives the types of the locals. Cranelift removes it. Arguments are not constants there, or a check of
                // one would end the way.
                let enter_loop = self.b.create_block();
                let locals = parameters[1];
                self.b.ins().jump(enter_loop, &[]);
                self.b.seal_block(enter_loop);
                let never = self.b.create_block();
                self.b.seal_block(never);
                self.b.switch_to_block(never);
                let flags = MemFlagsData::trusted();
                let unknown: Vec<Value> = kinds_of(self.method)
                    .map(|kind| self.b.ins().load(kind.clif(), flags, locals, 0))
                    .collect();
                self.arguments(&unknown);
                self.body(Some(OsrEntry { enter: enter_loop, locals, bci }))?;
            }
        }
        self.scopes.pop();
        Ok(())
    }

    /// Puts arguments into the locals of the innermost scope.
    fn arguments(&mut self, values: &[Value]) {
        let method = self.scope().method;
        let mut slot = 0;
        for (kind, value) in kinds_of(method).zip(values) {
            self.set_local(slot, kind, *value);
            slot += kind.slots();
        }
        if !method.is_static() {
            self.facts.set_not_null(values[0]);
        }
    }

    /// Translates all blocks of the innermost scope, entered from the current block; with `osr`, also from the block
    /// that it names.
    fn body(&mut self, osr: Option<OsrEntry>) -> Result<(), NotCompiled> {
        let flow = self.scope().flow.clone();
        let osr_index = osr.as_ref().and_then(|osr| flow.block_index(osr.bci));
        self.scope_mut().entered_at = osr_index;
        let (first, arguments) = self.edge_to(0)?;
        self.b.ins().jump(first, &arguments);
        // Blocks in order, if a jump leads to them. Code that always leaves may cut a block off, which a jump back
        // reaches later after all: then it is translated out of order.
        let mut is_done = vec![false; flow.blocks.len()];
        let mut open = Vec::new();
        loop {
            let entries = &self.scope().entries;
            let next =
                (0..entries.len()).find(|index| entries[*index].is_some() && !is_done[*index]);
            let Some(index) = next else { break };
            let (block, clif) = (&flow.blocks[index], self.scope().blocks[index]);
            let mut entry = self.scope().entries[index].clone().expect("looked at above");
            let still_to_come = block.predecessors.iter().copied();
            let still_to_come: Vec<usize> = still_to_come
                .filter(|from| !is_done[*from] && self.may_be_reached(*from, &is_done))
                .collect();
            let has_late_jumps = !still_to_come.is_empty();
            let is_early = still_to_come.iter().any(|from| *from < index);
            if is_early {
                // A way to here may still be found that does not know it.
                entry.facts = Facts::default();
            }
            if has_late_jumps {
                // A jump back may bring changed memory.
                entry.facts.memory.clear();
            }
            if let Some(osr) = osr.as_ref().filter(|_| Some(index) == osr_index) {
                if !entry.stack.is_empty() || entry.lock_depth != 0 {
                    return Err(NotCompiled::NoLoop(osr.bci));
                }
                // Facts from the way from the beginning do not hold on this one.
                entry.facts = Facts::default();
                self.b.switch_to_block(osr.enter);
                self.load_locals(&entry, osr);
                self.b.ins().jump(clif, &[]);
            }
            self.b.switch_to_block(clif);
            match has_late_jumps {
                true => open.push(clif),
                false => self.b.seal_block(clif),
            }
            self.scope_mut().block = index;
            // A loop around the one that is entered in the middle has values that are not visible here.
            let is_whole = osr_index.is_none_or(|entered| entered < index);
            let stores = block.natural_loop.as_ref().map(|natural| &natural.stores);
            let stores = stores.filter(|_| is_whole && !is_early);
            let counter = block.counter.filter(|_| stores.is_some());
            self.begin_block(clif, entry, stores, counter);
            self.know_invariants(index, is_early);
            self.instructions(block)?;
            is_done[index] = true;
        }
        open.into_iter().for_each(|clif| self.b.seal_block(clif));
        match osr_index {
            Some(index) if self.scope().entries[index].is_none() => {
                Err(NotCompiled::NoLoop(flow.blocks[index].start))
            }
            _ => Ok(()),
        }
    }

    /// Whether a way to a block may still be found, which has not been translated: from one that is to be.
    fn may_be_reached(&self, block: usize, is_done: &[bool]) -> bool {
        let (blocks, entries) = (&self.scope().flow.blocks, &self.scope().entries);
        let mut seen = vec![false; blocks.len()];
        let mut open = vec![block];
        while let Some(block) = open.pop() {
            if entries[block].is_some() {
                return true;
            }
            let from = blocks[block].predecessors.iter().filter(|from| !is_done[**from]);
            open.extend(from.filter(|from| !std::mem::replace(&mut seen[**from], true)));
        }
        false
    }

    fn load_locals(&mut self, entry: &Entry, osr: &OsrEntry) {
        for (slot, kind) in entry.locals.iter().enumerate() {
            let Some(kind) = *kind else { continue };
            if !self.scope().flow.is_live(osr.bci as usize, slot) {
                continue;
            }
            let flags = cranelift_codegen::ir::MemFlagsData::trusted();
            let value = self.b.ins().load(kind.clif(), flags, osr.locals, 8 * slot as i32);
            let variable = self.variable(slot, kind);
            self.b.def_var(variable, value);
        }
    }

    /// Emits into this block from now on. All its predecessors have ended.
    fn continue_in(&mut self, block: Block) {
        self.b.switch_to_block(block);
        self.b.seal_block(block);
    }

    /// The state at the beginning of a block.
    fn begin_block(
        &mut self,
        clif: Block,
        entry: Entry,
        loop_stores: Option<&Vec<bool>>,
        counter: Option<Counter>,
    ) {
        self.new_block();
        self.facts.clone_from(&entry.facts);
        if let Some(stores) = loop_stores {
            self.keep_in_loop(&entry, stores);
        }
        if let Some(counter) = counter {
            self.know_counter(&entry, counter);
        }
        let values = self.b.block_params(clif).to_vec();
        let scope = self.scope_mut();
        scope.locals = entry.locals;
        scope.lock_depth = entry.lock_depth;
        scope.stack = entry
            .stack
            .iter()
            .zip(values)
            .map(|(kind, value)| Operand::Value(*kind, value))
            .collect();
    }

    /// Another Cranelift block begins, where several meet.
    fn new_block(&mut self) {
        self.roots.forget();
        self.last_compare = None;
        self.leave_elsewhere();
    }

    /// A local that a loop does not store to has the same value in every round. References are named anew at every
    /// safepoint, but the object is the same.
    fn keep_in_loop(&mut self, entry: &Entry, stores: &[bool]) {
        for (slot, kind) in entry.locals.iter().enumerate() {
            let (Some(kind), Some(value)) = (*kind, entry.values[slot]) else { continue };
            if stores[slot] {
                continue;
            }
            let variable = self.variable(slot, kind);
            if kind == Kind::Ref {
                let named = self.use_var(variable);
                self.facts.moved(value, named);
            } else {
                self.b.def_var(variable, value);
            }
        }
    }

    /// A counter that begins at 0 or more is never negative: a counter less than a bound does not overflow.
    fn know_counter(&mut self, entry: &Entry, counter: Counter) {
        let Some(first) = entry.values[counter.slot] else { return };
        let is_counted = match self.constant(first) {
            Some(bits) => bits as i32 >= 0,
            None => self.facts.is_not_negative(first),
        };
        if !is_counted || entry.locals[counter.slot] != Some(Kind::Int) {
            return;
        }
        let variable = self.variable(counter.slot, Kind::Int);
        let value = self.use_var(variable);
        let bound = match counter.bound {
            Bound::Local(slot) if entry.locals[slot] == Some(Kind::Int) => {
                let variable = self.variable(slot, Kind::Int);
                Some(self.use_var(variable))
            }
            Bound::LengthOf(slot) if entry.locals[slot] == Some(Kind::Ref) => {
                let variable = self.variable(slot, Kind::Ref);
                let array = self.use_var(variable);
                self.facts.length(array)
            }
            _ => None,
        };
        if let Some(bound) = bound {
            self.facts.set_not_negative(value);
            self.facts.set_less(value, bound);
        }
    }

    /// Index of the block to which a jump of the present block to `bci` leads.
    fn successor(&self, bci: u16) -> usize {
        let scope = self.scope();
        let successors = &scope.flow.blocks[scope.block].successors;
        successors.iter().find(|successor| successor.bci == bci).expect("a jump of the block").block
    }

    /// Notes how a block is entered from here, and gives the arguments for the jump.
    fn edge(&mut self, target: u16) -> Result<(Block, Vec<BlockArg>), NotCompiled> {
        let index = self.successor(target);
        self.edge_to(index)
    }

    fn edge_to(&mut self, index: usize) -> Result<(Block, Vec<BlockArg>), NotCompiled> {
        self.load_invariants(index);
        self.enter(index)
    }

    /// As `edge_to`, when the values that the target's loop needs have been loaded.
    fn enter(&mut self, index: usize) -> Result<(Block, Vec<BlockArg>), NotCompiled> {
        let target = self.scope().flow.blocks[index].start;
        let block = self.scope().blocks[index];
        self.join_facts(index);
        let scope = self.scope();
        let kinds: Vec<Kind> = scope.stack.iter().map(|operand| operand.kind()).collect();
        match &scope.entries[index] {
            Some(entry) => {
                if entry.stack != kinds {
                    return Err(NotCompiled::Disagreement);
                }
                if entry.lock_depth != scope.lock_depth {
                    return Err(NotCompiled::Locks);
                }
                let agrees =
                    entry.locals.iter().zip(&scope.locals).enumerate().all(|(slot, (a, b))| {
                        a == b || a.is_none() || !scope.flow.is_live(target as usize, slot)
                    });
                if !agrees {
                    return Err(NotCompiled::Disagreement);
                }
            }
            None => {
                let locals = scope.locals.iter().enumerate();
                let locals: Vec<Option<Kind>> = locals
                    .map(|(slot, kind)| kind.filter(|_| scope.flow.is_live(target as usize, slot)))
                    .collect();
                let is_header = scope.flow.blocks[index].is_loop_header;
                let values = if is_header { self.values_of(&locals) } else { Vec::new() };
                let scope = self.scope();
                let entry = Entry {
                    values,
                    locals,
                    stack: kinds.clone(),
                    lock_depth: scope.lock_depth,
                    facts: self.facts.clone(),
                };
                for kind in &kinds {
                    self.b.append_block_param(block, kind.clif());
                }
                self.scope_mut().entries[index] = Some(entry);
            }
        }
        let values = self.scope().stack.iter().map(|operand| match operand {
            Operand::Value(_, value) => BlockArg::from(*value),
            Operand::Suspended(_) => panic!("the innermost scope is not suspended"),
        });
        Ok((block, values.collect()))
    }

    /// In a block that is entered from several sides, only the facts common to all of them hold. Jumps back add
    /// nothing: they come from the block itself, and values do not change.
    fn join_facts(&mut self, index: usize) {
        let scope = self.scopes.last().expect("a method is being translated");
        let Some(entry) = scope.entries[index].as_ref().filter(|_| scope.block < index) else {
            return;
        };
        let values = match entry.values.is_empty() {
            true => Vec::new(),
            false => self.values_of(&entry.locals.clone()),
        };
        let facts = &self.facts;
        let scope = self.scopes.last_mut().expect("a method is being translated");
        let entry = scope.entries[index].as_mut().expect("looked at above");
        entry.facts.meet(facts);
        for (known, value) in entry.values.iter_mut().zip(values) {
            if *known != value {
                *known = None;
            }
        }
    }

    /// The values of locals now, where they have these kinds.
    fn values_of(&mut self, kinds: &[Option<Kind>]) -> Vec<Option<Value>> {
        let now = self.scope().locals.clone();
        let slots = kinds.iter().zip(now).enumerate();
        slots
            .map(|(slot, (kind, now))| {
                let kind = kind.filter(|kind| now == Some(*kind))?;
                let variable = self.variable(slot, kind);
                Some(self.use_var(variable))
            })
            .collect()
    }

    fn jump_to(&mut self, target: u16) -> Result<(), NotCompiled> {
        let (block, arguments) = self.edge(target)?;
        self.b.ins().jump(block, &arguments);
        Ok(())
    }

    fn scope(&self) -> &Scope {
        self.scopes.last().expect("a method is being translated")
    }

    fn scope_mut(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("a method is being translated")
    }

    /// The thread: in the pinned register.
    fn thread(&mut self) -> Value {
        self.b.ins().get_pinned_reg(types::I64)
    }

    /// The function that is being translated, as one to call.
    fn itself(&mut self) -> FuncRef {
        if let Some(known) = self.itself {
            return known;
        }
        let signature = self.signature(method_signature(self.method));
        let function = links::declare_itself(self.b.func, signature);
        self.itself = Some(function);
        function
    }

    fn zero(&mut self, kind: Kind) -> Value {
        match kind {
            Kind::Float => self.b.ins().f32const(0.0),
            Kind::Double => self.b.ins().f64const(0.0),
            _ => self.b.ins().iconst(kind.clif(), 0),
        }
    }

    fn signature(&mut self, signature: Signature) -> SigRef {
        if let Some(known) = self.signatures.get(&signature) {
            return *known;
        }
        let reference = self.b.import_signature(signature.clone());
        self.signatures.insert(signature, reference);
        reference
    }

    /// Calls a Rust function of these types.
    fn call_address(
        &mut self,
        address: usize,
        convention: CallConv,
        arguments: &[Value],
        result: Option<cranelift_codegen::ir::Type>,
    ) -> Option<Value> {
        let mut signature = Signature::new(convention);
        for argument in arguments {
            let ty = self.b.func.dfg.value_type(*argument);
            signature.params.push(AbiParam::new(ty));
        }
        signature.returns.extend(result.map(AbiParam::new));
        let signature = self.signature(signature);
        let function = links::declare(self.b.func, address, signature);
        let call = self.b.ins().call(function, arguments);
        self.b.inst_results(call).first().copied()
    }

    /// Calls a function that reaches no safepoint, throws nothing, and needs no thread.
    fn call_leaf(
        &mut self,
        address: usize,
        arguments: &[Value],
        result: Option<cranelift_codegen::ir::Type>,
    ) -> Option<Value> {
        self.call_address(address, CallConv::SystemV, arguments, result)
    }

    /// Ends the function: exits, stack slots.
    fn finish(mut self) -> Result<Finished, NotCompiled> {
        let exits = self.emit_exits()?;
        let func = &mut self.b.func;
        func.sized_stack_slots[self.root_slots].size = 8 * u32::from(self.roots.count.max(1));
        func.sized_stack_slots[self.exit_area].size = 8 * self.exit_words.max(1) as u32;
        let isa = isa::host();
        self.b.finalize(isa.frontend_config());
        Ok(Finished {
            roots: self.root_slots,
            safepoints: self.safepoints,
            positions: self.positions,
            exits,
            cells: self.cells,
            unresolved: self.unresolved,
            holders: self.holders.into(),
            findings: self.findings,
        })
    }
}

/// The value that a constant instruction makes.
fn constant(dfg: &DataFlowGraph, value: Value) -> Option<u64> {
    let ValueDef::Result(inst, _) = dfg.value_def(value) else { return None };
    match dfg.insts[inst] {
        InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => Some(imm.bits() as u64),
        _ => None,
    }
}

/// Whether a method calls any.
fn calls(method: MethodRef) -> bool {
    let code = method.code().expect("a method with bytecode");
    Instructions::new(&code.bytecode)
        .any(|at| at.is_ok_and(|at| (op::INVOKEVIRTUAL..=op::INVOKEDYNAMIC).contains(&at.opcode)))
}
