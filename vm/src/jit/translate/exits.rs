//! Side exits: where compiled code hands over to the interpreter.
//!
//! A check that fails does not return to its own instruction but to the *state* at the first check after the last
//! side effect. The interpreter executes the code in between again, which does no harm, and all checks in between
//! share one exit. The translation of an operation that cannot be repeated calls [`Translator::side_effect`]; so does
//! that of one that may have moved objects, for the state's references are then out of date.

use super::links;
use super::scope::Scope;
use super::{Kind, NotCompiled, Operand, Translator};
use crate::jit::helpers;
use crate::runtime::code::side_exits::{NewFrame, NewSideExits, Reason, SideExit, SideExits, Word};
use crate::runtime::{Field, MethodRef};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AbiParam, Block, InstBuilder, MemFlagsData, Signature, Value, types};
use cranelift_codegen::isa::CallConv;
use std::rc::Rc;

/// Exits of one function.
#[derive(Default)]
pub(super) struct Exits {
    new: NewSideExits,
    unfilled: Vec<Unfilled>,
    state: Option<State>,
    /// Operands of the innermost scope before the present instruction, while that may still be executed again.
    before: Option<Vec<Operand>>,
}

/// A block that is to be filled at the end.
struct Unfilled {
    block: Block,
    /// Index of the exit.
    exit: usize,
    stores: Vec<Source>,
}

/// The state with which the interpreter would continue.
struct State {
    frames: Rc<Vec<FrameState>>,
    /// Blocks of exits made for it.
    blocks: Vec<(Reason, Block)>,
}

struct FrameState {
    method: MethodRef,
    bci: u16,
    locals: Vec<Option<Source>>,
    stack: Vec<Option<Source>>,
    locks: Vec<Source>,
    method_lock: Option<Source>,
}

/// The place from which an exit takes a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    Value(Value),
    /// A root slot.
    Root(u16),
    Constant(u64),
}

impl Translator<'_> {
    /// Before each instruction, and where one block goes on with the next.
    pub(super) fn begin_instruction(&mut self) {
        self.exits.before = Some(self.scope().stack.clone());
    }

    /// Anything in memory may be another now, or objects may have moved.
    pub(super) fn side_effect(&mut self) {
        self.leave_elsewhere();
        let scopes = &self.scopes;
        self.facts.memory.keep_settled(|field| is_constructed(scopes, field));
    }

    /// The last operation cannot be repeated, or references have other names: later exits get a state of their own.
    pub(super) fn leave_elsewhere(&mut self) {
        self.exits.state = None;
        self.exits.before = None;
    }

    /// The present instruction can still be executed again, but memory may have changed: later exits get a state of
    /// their own, with the operands from before the instruction. `false`: it cannot.
    pub(super) fn capture_again(&mut self) -> bool {
        self.exits.state = None;
        self.exits.before.is_some()
    }

    /// Leaves for the interpreter when the condition is not 0. The instruction must not have had effects yet.
    pub(super) fn exit_if(&mut self, condition: Value, reason: Reason) {
        let exit = self.exit_block(reason);
        let go_on = self.b.create_block();
        self.b.ins().brif(condition, exit, &[], go_on, &[]);
        self.continue_in(go_on);
    }

    /// Leaves for the interpreter when the condition is 0.
    pub(super) fn exit_unless(&mut self, condition: Value, reason: Reason) {
        let exit = self.exit_block(reason);
        let go_on = self.b.create_block();
        self.b.ins().brif(condition, go_on, &[], exit, &[]);
        self.continue_in(go_on);
    }

    /// Leaves for the interpreter; no code follows.
    pub(super) fn exit_always(&mut self, reason: Reason) {
        if reason == Reason::Unresolved {
            self.unresolved += 1;
        }
        let exit = self.exit_block(reason);
        self.b.ins().jump(exit, &[]);
    }

    /// The block that leaves, to execute the present instruction again in the interpreter.
    pub(super) fn exit_block(&mut self, reason: Reason) -> Block {
        if self.exits.state.is_none() {
            let before = self.exits.before.clone();
            let before = before.expect("an instruction that had effects is not executed again");
            let frames = Rc::new(self.capture(&before));
            self.exits.state = Some(State { frames, blocks: Vec::new() });
        }
        let state = self.exits.state.as_ref().expect("just captured");
        if let Some((_, block)) = state.blocks.iter().find(|(known, _)| *known == reason) {
            return *block;
        }
        let frames = state.frames.clone();
        let block = self.new_exit(reason, &frames);
        self.exits.state.as_mut().expect("as above").blocks.push((reason, block));
        block
    }

    /// After a call: leaves when an exception is pending.
    pub(super) fn check_pending(&mut self) {
        let thread = self.thread();
        let offset = helpers::PENDING_OFFSET as i32;
        let pending = self.b.ins().load(types::I64, MemFlagsData::trusted(), thread, offset);
        let pending = self.b.ins().icmp_imm_s(IntCC::NotEqual, pending, 0);
        let leave = self.pending_exit();
        let go_on = self.b.create_block();
        self.b.ins().brif(pending, leave, &[], go_on, &[]);
        self.continue_in(go_on);
    }

    /// The block to jump to with an exception pending that the present instruction's call threw: an exit to the
    /// interpreter, if one of the methods may catch it or holds a lock, else a return to the caller.
    pub(super) fn pending_exit(&mut self) -> Block {
        let is_needed = self.scopes.iter().any(|scope| {
            scope.flow.has_handler(scope.bci) || scope.lock_depth > 0 || scope.method_lock.is_some()
        });
        if !is_needed {
            return self.give_up();
        }
        let frames = self.capture(&[]);
        self.new_exit(Reason::Pending, &frames)
    }

    /// The block that returns at once, with an exception pending.
    pub(super) fn give_up(&mut self) -> Block {
        match self.give_up {
            Some(block) => block,
            None => {
                let block = self.b.create_block();
                self.b.set_cold_block(block);
                self.give_up = Some(block);
                block
            }
        }
    }

    fn capture(&mut self, innermost_stack: &[Operand]) -> Vec<FrameState> {
        let last = self.scopes.len() - 1;
        (0..=last)
            .map(|at| {
                let is_last = at == last;
                let stack = match is_last {
                    true => innermost_stack.to_vec(),
                    false => self.scopes[at].stack.clone(),
                };
                FrameState {
                    method: self.scopes[at].method,
                    bci: self.scopes[at].bci,
                    locals: self.capture_locals(at, is_last),
                    stack: self.capture_stack(&stack),
                    locks: self.capture_locks(at),
                    method_lock: self.scopes[at]
                        .method_lock
                        .map(|variable| self.source_of(variable)),
                }
            })
            .collect()
    }

    fn capture_locals(&mut self, at: usize, is_last: bool) -> Vec<Option<Source>> {
        let kinds = self.scopes[at].locals.clone();
        let flow = self.scopes[at].flow.clone();
        let bci = self.scopes[at].bci;
        let resumes = if is_last { bci as usize } else { self.next_bci(at) };
        let locals = kinds.into_iter().enumerate().map(|(slot, kind)| {
            let kind = kind?;
            let is_live = flow.is_live(resumes, slot) || flow.is_live_in_handler(bci, slot);
            if !is_live {
                return None;
            }
            let variable = self.variable_of(at, slot, kind);
            Some(self.source_of(variable))
        });
        locals.collect()
    }

    fn capture_stack(&mut self, stack: &[Operand]) -> Vec<Option<Source>> {
        let mut slots = Vec::new();
        for operand in stack {
            let source = match *operand {
                Operand::Value(_, value) => self.source(value),
                Operand::Suspended(variable) => self.source_of(variable),
            };
            slots.push(Some(source));
            if operand.kind().is_wide() {
                slots.push(None);
            }
        }
        slots
    }

    fn capture_locks(&mut self, at: usize) -> Vec<Source> {
        let held = self.scopes[at].locks[..self.scopes[at].lock_depth].to_vec();
        held.into_iter().map(|variable| self.source_of(variable)).collect()
    }

    fn source_of(&mut self, variable: cranelift_frontend::Variable) -> Source {
        let value = self.use_var(variable);
        self.source(value)
    }

    fn source(&self, value: Value) -> Source {
        if let Some(constant) = self.constant(value) {
            return Source::Constant(constant);
        }
        self.roots.slot_of(value).map_or(Source::Value(value), Source::Root)
    }

    /// The bits of an integer constant.
    pub(super) fn constant(&self, value: Value) -> Option<u64> {
        super::constant(&self.b.func.dfg, value)
    }

    fn new_exit(&mut self, reason: Reason, frames: &[FrameState]) -> Block {
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        let mut stores: Vec<Source> = Vec::new();
        let mut word = |source: Option<Source>| match source {
            None => Word::Dead,
            Some(Source::Constant(bits)) => Word::Constant(bits),
            Some(source) => {
                let known = stores.iter().position(|other| *other == source);
                Word::Area(known.unwrap_or_else(|| {
                    stores.push(source);
                    stores.len() - 1
                }) as u16)
            }
        };
        let frames: Vec<NewFrame> = frames
            .iter()
            .map(|frame| NewFrame {
                method: frame.method,
                bci: frame.bci,
                locals: frame.locals.iter().map(|source| word(*source)).collect(),
                stack: frame.stack.iter().map(|source| word(*source)).collect(),
                locks: frame.locks.iter().map(|source| word(Some(*source))).collect(),
                method_lock: frame.method_lock.map(|source| word(Some(source))),
            })
            .collect();
        self.exit_words = self.exit_words.max(stores.len());
        let exit = self.exits.new.add(reason, frames);
        self.exits.unfilled.push(Unfilled { block, exit, stores });
        block
    }

    /// Fills all exit blocks. The last step of a function's translation.
    pub(super) fn emit_exits(&mut self) -> Result<SideExits, NotCompiled> {
        let new = std::mem::take(&mut self.exits.new);
        let exits = new.pack().ok_or_else(|| NotCompiled::Refused("too many values".into()))?;
        for unfilled in std::mem::take(&mut self.exits.unfilled) {
            self.b.switch_to_block(unfilled.block);
            self.b.seal_block(unfilled.block);
            for (index, source) in unfilled.stores.iter().enumerate() {
                let value = match *source {
                    Source::Value(value) => value,
                    Source::Root(slot) => {
                        let at = 8 * i32::from(slot);
                        self.b.ins().stack_load(types::I64, types::I64, self.root_slots, at)
                    }
                    Source::Constant(_) => unreachable!("constants are not stored"),
                };
                self.b.ins().stack_store(types::I64, value, self.exit_area, 8 * index as i32);
            }
            self.call_exit(exits.address(unfilled.exit));
        }
        if let Some(block) = self.give_up {
            self.continue_in(block);
            let zero: Option<Value> = Kind::of(self.method.return_type).map(|kind| self.zero(kind));
            self.b.ins().return_(zero.as_slice());
        }
        Ok(exits)
    }

    /// Calls the runtime, which finishes the method, and returns its result.
    fn call_exit(&mut self, exit: *const SideExit) {
        let thread = self.thread();
        let exit = self.address(exit);
        let area = self.b.ins().stack_addr(types::I64, self.exit_area, 0);
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.extend([AbiParam::new(types::I64); 3]);
        signature.returns.push(AbiParam::new(types::I64));
        let signature = self.signature(signature);
        let helper = links::declare(self.b.func, helpers::exit_address(), signature);
        // The interpreter's frames stand for this one.
        let location = self.new_safepoint(Vec::new(), Vec::new(), Vec::new());
        self.b.set_srcloc(location);
        let call = self.b.ins().call(helper, &[thread, exit, area]);
        self.leave_safepoint();
        let word = self.b.inst_results(call)[0];
        let value = Kind::of(self.method.return_type).map(|kind| self.value_of_word(kind, word));
        self.b.ins().return_(value.as_slice());
    }

    /// A value from the 64-bit word that the interpreter gives.
    pub(super) fn value_of_word(&mut self, kind: Kind, word: Value) -> Value {
        let flags = MemFlagsData::new();
        match kind {
            Kind::Int => self.b.ins().ireduce(types::I32, word),
            Kind::Long | Kind::Ref => word,
            Kind::Float => {
                let bits = self.b.ins().ireduce(types::I32, word);
                self.b.ins().bitcast(types::F32, flags, bits)
            }
            Kind::Double => self.b.ins().bitcast(types::F64, flags, word),
        }
    }
}

/// Whether code of a constructor of the field's class is being translated: it sets the field, perhaps twice.
pub(super) fn is_constructed(scopes: &[Scope], field: &Field) -> bool {
    let constructs = |scope: &Scope| {
        scope.method.name().bytes() == b"<init>" && scope.method.holder == field.holder
    };
    scopes.iter().any(constructs)
}
