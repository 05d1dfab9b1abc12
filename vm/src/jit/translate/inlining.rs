//! Methods translated into their callers.

use super::flow::Flow;
use super::instructions::Next;
use super::scope::Scope;
use super::{Kind, NotCompiled, Translator};
use crate::classfile::bytecode::{Instructions, op};
use crate::jit::method::State;
use crate::jit::policy;
use crate::runtime::MethodRef;
use crate::runtime::method::Intrinsic;
use cranelift_codegen::ir::Value;
use std::rc::Rc;

/// Bytes of bytecode up to which a method is inlined wherever it is called.
const TRIVIAL_BYTES: usize = 35;
/// As long as a method may be that is called so often that it is compiled by itself.
const HOT_BYTES: usize = 90;
/// As long as one may be that the library wants inlined.
const FORCED_BYTES: usize = 350;
/// As deep as calls are inlined.
const DEPTH_MAX: usize = 9;
/// Times that a method is inlined into itself.
const RECURSION_MAX: usize = 1;
/// Bytes of bytecode that one function may become.
const TOTAL_BYTES_MAX: usize = 3000;

impl Translator<'_> {
    pub(super) fn may_inline(&mut self, method: MethodRef) -> bool {
        let Some(code) = method.code() else { return false };
        let is_forced = method.marks.contains(crate::classfile::MethodMarks::FORCE_INLINE);
        let limit = match method.jit.state() {
            _ if is_forced => FORCED_BYTES,
            State::Queued | State::Compiled => HOT_BYTES,
            State::Interpreted | State::Excluded => TRIVIAL_BYTES,
        };
        code.bytecode.len() <= limit
            && self.translated + code.bytecode.len() <= TOTAL_BYTES_MAX
            && self.scopes.len() <= DEPTH_MAX
            && method.intrinsic == Intrinsic::None
            && !method.flags().is_synchronized()
            && (!method.is_static() || method.holder.is_initialized())
            && self.scopes.iter().filter(|scope| scope.method == method).count() <= RECURSION_MAX
            && crate::interpreter::quick::is_prepared(method)
            && policy::may_compile(self.vm, method)
            && is_simple(method)
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

    /// The method's value, where the code goes on; `None` when it never returns. The caller's stack is suspended.
    pub(super) fn inline_body(
        &mut self,
        method: MethodRef,
        arguments: &[Value],
    ) -> Result<Option<Option<Value>>, NotCompiled> {
        let flow = Rc::new(Flow::of(method)?);
        let continuation = self.b.create_block();
        if let Some(kind) = Kind::of(method.return_type) {
            self.b.append_block_param(continuation, kind.clif());
        }
        let mut scope = Scope::new(method, flow);
        scope.continuation = Some(continuation);
        scope.blocks = scope.flow.blocks.iter().map(|_| self.b.create_block()).collect();
        self.scopes.push(scope);
        let known = self.facts.clone();
        self.arguments(arguments);
        self.body(None)?;
        self.facts = known;
        let scope = self.scopes.pop().expect("pushed above");
        let Some(memory) = scope.returned else { return Ok(None) };
        self.facts.memory = memory;
        self.b.switch_to_block(continuation);
        self.b.seal_block(continuation);
        self.new_block();
        Ok(Some(self.b.block_params(continuation).first().copied()))
    }
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
