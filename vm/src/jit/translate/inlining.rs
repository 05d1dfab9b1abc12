//! Methods translated into their callers.

use super::facts::Facts;
use super::flow::Flow;
use super::instructions::Next;
use super::scope::Scope;
use super::{Kind, NotCompiled, Translator};
use crate::jit::policy;
use crate::runtime::MethodRef;
use crate::runtime::code::body::Tier;
use crate::runtime::code::compiled::State;
use crate::runtime::method::Intrinsic;
use classfile::BasicType;
use classfile::bytecode::{Instructions, op};
use cranelift_codegen::ir::{Block, InstBuilder, Value};
use cranelift_frontend::Variable;
use gc::object::KlassId;
use std::rc::Rc;

/// Bytes of bytecode up to which full code has a method inlined that is called often enough to be compiled by itself.
const HOT_BYTES: usize = 90;
/// Bytes of bytecode up to which a method is inlined that the library wants inlined.
const FORCED_BYTES: usize = 350;
/// Bytes of bytecode that full code may become.
const TOTAL_BYTES_MAX: usize = 3000;
/// Bytes of bytecode that quick code may take in of methods that it calls.
const QUICK_TOTAL_BYTES_MAX: usize = 400;

impl Translator<'_> {
    pub(super) fn may_inline(&mut self, method: MethodRef) -> bool {
        let Some(code) = method.code() else { return false };
        let rules = &self.vm.jit.requests;
        let options = &self.vm.options.jit;
        let is_forced = method.marks.contains(classfile::MethodMarks::FORCE_INLINE)
            || rules.forces(method)
            || policy::is_any(&options.inlined, method);
        let limit = match method.jit.state() {
            _ if is_forced => FORCED_BYTES,
            State::Queued | State::Compiled if self.tier == Tier::Full => {
                HOT_BYTES.max(options.inline_size)
            }
            _ => options.inline_size,
        };
        let (total, total_max) = match self.tier {
            Tier::Full => (self.translated, TOTAL_BYTES_MAX),
            Tier::Quick => (self.inlined, QUICK_TOTAL_BYTES_MAX),
        };
        options.inlines
            && code.bytecode.len() <= limit
            && total + code.bytecode.len() <= total_max
            && self.scopes.len() <= options.inline_level
            && method.intrinsic == Intrinsic::None
            && !method.flags().is_synchronized()
            && (!method.is_static() || method.holder.is_initialized())
            && self.inlined_so_far(method) <= options.recursive_inline_level
            && crate::runtime::code::quick::is_prepared(method)
            && policy::may_compile(self.vm, method)
            && !rules.forbids(method)
            && !policy::is_any(&options.not_inlined, method)
            && is_simple(method)
    }

    /// Times that a method is on the way to the present place.
    fn inlined_so_far(&self, method: MethodRef) -> usize {
        self.scopes.iter().filter(|scope| scope.method == method).count()
    }

    /// Translates a method whose arguments are on the stack, in place of the call.
    pub(super) fn inline(&mut self, method: MethodRef, count: usize) -> Result<Next, NotCompiled> {
        let arguments = self.pop_arguments(count);
        self.suspend();
        let Some(value) = self.inline_body(method, &arguments)? else { return Ok(Next::Ended) };
        self.resume();
        self.push_result(method.return_type, value);
        Ok(Next::Instruction)
    }

    /// The method's value, where the code continues; `None` when it never returns. The caller's stack is
    /// suspended.
    pub(super) fn inline_body(
        &mut self,
        method: MethodRef,
        arguments: &[Value],
    ) -> Result<Option<Option<Value>>, NotCompiled> {
        self.name(method.holder);
        let flow = Rc::new(Flow::of(method)?);
        let mut scope = Scope::new(method, flow);
        scope.continuation = Some(self.new_continuation(method.return_type));
        scope.called_at = self.scope().position;
        scope.blocks = scope.flow.blocks.iter().map(|_| self.b.create_block()).collect();
        self.scopes.push(scope);
        self.arguments(arguments);
        self.body(None)?;
        let scope = self.scopes.pop().expect("pushed above");
        Ok(self.go_on_at(scope.continuation.expect("set above")))
    }

    pub(super) fn new_continuation(&mut self, result: BasicType) -> Continuation {
        let block = self.b.create_block();
        let result = Kind::of(result).map(|kind| self.b.declare_var(kind.clif()));
        Continuation { block, result, come: None }
    }

    /// Jumps to the place where the code continues, with the result.
    pub(super) fn go_to(&mut self, continuation: &mut Continuation, value: Option<Value>) {
        let (is_object, class) = match value {
            Some(value) => (self.facts.is_not_null(value), self.facts.class(value)),
            None => (false, None),
        };
        if let Some((variable, value)) = continuation.result.zip(value) {
            self.b.def_var(variable, value);
        }
        self.b.ins().jump(continuation.block, &[]);
        match &mut continuation.come {
            None => {
                let facts = self.facts.clone();
                continuation.come = Some(Come { facts, is_object, class });
            }
            Some(come) => {
                come.facts.meet(&self.facts);
                come.is_object &= is_object;
                come.class = come.class.filter(|known| Some(*known) == class);
            }
        }
    }

    /// Begins the place where the code continues, after all jumps to it: the result. `None` if there is no jump.
    pub(super) fn go_on_at(&mut self, continuation: Continuation) -> Option<Option<Value>> {
        let come = continuation.come?;
        self.facts = come.facts;
        self.b.switch_to_block(continuation.block);
        self.b.seal_block(continuation.block);
        self.new_block();
        // The very value that the ways bring, if all bring the same: then the facts about it are kept.
        let result = continuation.result.map(|variable| self.use_var(variable));
        if let Some(result) = result {
            if come.is_object {
                self.facts.set_not_null(result);
            }
            if let Some(class) = come.class {
                self.facts.set_class(result, class);
            }
        }
        Some(result)
    }
}

/// The place where several ways continue with one result.
pub struct Continuation {
    block: Block,
    result: Option<Variable>,
    /// `None` as long as no jump to it was translated.
    come: Option<Come>,
}

/// The facts that hold on all ways to a continuation.
struct Come {
    facts: Facts,
    /// The result is not null.
    is_object: bool,
    /// The result's very class.
    class: Option<KlassId>,
}

/// Nothing in it that a translation could fail at.
fn is_simple(method: MethodRef) -> bool {
    let code = method.code().expect("a method with bytecode");
    Instructions::new(&code.bytecode).all(|at| {
        at.is_ok_and(|at| {
            !matches!(at.opcode, op::MONITORENTER | op::MONITOREXIT | op::JSR | op::JSR_W | op::RET)
        })
    })
}
