//! Operands and locals of the innermost scope.

use super::{Kind, Operand, Translator};
use cranelift_codegen::ir::Value;
use cranelift_frontend::Variable;

impl Translator<'_> {
    pub(super) fn push(&mut self, kind: Kind, value: Value) {
        self.scope_mut().stack.push(Operand::Value(kind, value));
    }

    pub(super) fn pop(&mut self) -> Value {
        self.pop_operand().1
    }

    pub(super) fn pop_operand(&mut self) -> (Kind, Value) {
        match self.scope_mut().stack.pop() {
            Some(Operand::Value(kind, value)) => (kind, value),
            other => panic!(
                "popped {other:?} at {} in verified code of {:?}, within {:?}",
                self.scope().bci,
                self.scope().method,
                self.method
            ),
        }
    }

    /// The operand at a depth, 0 being the top.
    pub(super) fn peek(&self, depth: usize) -> Value {
        let stack = &self.scope().stack;
        match stack[stack.len() - 1 - depth] {
            Operand::Value(_, value) => value,
            Operand::Suspended(_) => panic!("the innermost scope is not suspended"),
        }
    }

    pub(super) fn drop_operands(&mut self, count: usize) {
        let stack = &mut self.scope_mut().stack;
        stack.truncate(stack.len() - count);
    }

    /// The value of a variable, by the name that facts know it by: where ways meet that all bring the same value,
    /// Cranelift's frontend gives it another name.
    pub(super) fn use_var(&mut self, variable: Variable) -> Value {
        let value = self.b.use_var(variable);
        self.b.func.dfg.resolve_aliases(value)
    }

    /// The variable of a local of the innermost scope.
    pub(super) fn variable(&mut self, slot: usize, kind: Kind) -> Variable {
        self.variable_of(self.scopes.len() - 1, slot, kind)
    }

    pub(super) fn variable_of(&mut self, scope: usize, slot: usize, kind: Kind) -> Variable {
        let key = (slot as u16, kind);
        match self.scopes[scope].variables.get(&key) {
            Some(variable) => *variable,
            None => {
                let variable = self.b.declare_var(kind.clif());
                self.scopes[scope].variables.insert(key, variable);
                variable
            }
        }
    }

    pub(super) fn local(&mut self, slot: usize, kind: Kind) -> Value {
        let variable = self.variable(slot, kind);
        let value = self.use_var(variable);
        let scope = self.scope();
        if slot == 0 && scope.flow.keeps_slot_0 && !scope.method.is_static() {
            self.facts.set_not_null(value);
        }
        value
    }

    pub(super) fn set_local(&mut self, slot: usize, kind: Kind, value: Value) {
        let variable = self.variable(slot, kind);
        self.b.def_var(variable, value);
        let locals = &mut self.scope_mut().locals;
        locals[slot] = Some(kind);
        if kind.is_wide() {
            locals[slot + 1] = None;
        }
        // A wide local that began one slot before is overwritten.
        if slot > 0 && locals[slot - 1].is_some_and(Kind::is_wide) {
            locals[slot - 1] = None;
        }
    }
}
