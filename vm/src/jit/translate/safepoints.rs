//! References across calls that may move objects.

use super::{Kind, Operand, Translator};
use crate::runtime::code::safepoints::{NewSafepoint, Place};
use classfile::bytecode::Instruction;
use cranelift_codegen::ir::{InstBuilder, SourceLoc, Value, types};
use cranelift_frontend::Variable;

/// Live references at one place: values, each once, and their holders.
pub(super) struct Live {
    values: Vec<Value>,
    holders: Vec<(Holder, usize)>,
}

#[derive(Clone, Copy)]
enum Holder {
    Variable(Variable),
    /// Operand of a scope.
    Operand(usize, usize),
}

impl Translator<'_> {
    /// Emits a call that is a safepoint. `call` must emit exactly one call instruction; its result must not be
    /// a reference that is live across it. Afterwards every variable and operand has its new value. `live_bci`
    /// is where the innermost method continues.
    pub(super) fn at_safepoint<T>(
        &mut self,
        live_bci: usize,
        call: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let live = self.live(live_bci);
        let slots = self.save(&live);
        let location = self.describe(&live, &slots);
        self.b.set_srcloc(location);
        let result = call(self);
        self.leave_safepoint();
        let now = self.reload(&live, &slots);
        self.side_effect();
        self.facts.memory.rename(|old| {
            let index = live.values.iter().position(|value| *value == old);
            index.map(|index| now[index])
        });
        result
    }

    /// As `at_safepoint` on a path that is rarely taken and joins the usual one: when `condition` is not 0. The
    /// function's value, if any, becomes that of the result instead of `usual`.
    pub(super) fn at_rare_safepoint(
        &mut self,
        condition: Value,
        live_bci: usize,
        usual: Option<Value>,
        call: impl FnOnce(&mut Self) -> Option<Value>,
    ) -> Option<Value> {
        let live = self.live(live_bci);
        let rare = self.b.create_block();
        let join = self.b.create_block();
        self.b.set_cold_block(rare);
        for _ in &live.values {
            self.b.append_block_param(join, types::I64);
        }
        if let Some(usual) = usual {
            let ty = self.b.func.dfg.value_type(usual);
            self.b.append_block_param(join, ty);
        }
        let arguments: Vec<_> = live.values.iter().copied().chain(usual).map(Into::into).collect();
        self.b.ins().brif(condition, rare, &[], join, &arguments);
        self.continue_in(rare);
        let slots = self.save(&live);
        let location = self.describe(&live, &slots);
        self.b.set_srcloc(location);
        let result = call(self);
        self.leave_safepoint();
        let mut reloaded: Vec<_> = Vec::new();
        for (slot, _) in &slots {
            let at = 8 * i32::from(*slot);
            let value = self.b.ins().stack_load(types::I64, types::I64, self.root_slots, at);
            reloaded.push(value.into());
        }
        reloaded.extend(result.map(cranelift_codegen::ir::BlockArg::from));
        self.b.ins().jump(join, &reloaded);
        self.roots.moved();
        self.continue_in(join);
        let values = self.b.block_params(join).to_vec();
        let renamed = &values[..live.values.len()];
        self.redefine(&live, renamed);
        self.leave_elsewhere();
        self.facts.memory.rename(|old| {
            let index = live.values.iter().position(|value| *value == old);
            index.map(|index| renamed[index])
        });
        usual.map(|_| values[live.values.len()])
    }

    /// All references that are live where the innermost scope continues at `live_bci`.
    fn live(&mut self, live_bci: usize) -> Live {
        let mut live = Live { values: Vec::new(), holders: Vec::new() };
        for at in 0..self.scopes.len() {
            let resumes = if at + 1 == self.scopes.len() { live_bci } else { self.next_bci(at) };
            let scope = &self.scopes[at];
            let flow = scope.flow.clone();
            let bci = scope.bci;
            let slots: Vec<usize> = (0..scope.locals.len())
                .filter(|slot| scope.locals[*slot] == Some(Kind::Ref))
                .filter(|slot| flow.is_live(resumes, *slot) || flow.is_live_in_handler(bci, *slot))
                .collect();
            let invariants = scope.invariants_here();
            let locks: Vec<Variable> =
                scope.locks[..scope.lock_depth].iter().copied().chain(scope.method_lock).collect();
            let stack = scope.stack.clone();
            for slot in slots {
                let variable = self.variable_of(at, slot, Kind::Ref);
                self.add(&mut live, Holder::Variable(variable));
            }
            for (index, operand) in stack.iter().enumerate() {
                match operand {
                    Operand::Value(Kind::Ref, _) => {
                        self.add(&mut live, Holder::Operand(at, index));
                    }
                    Operand::Value(..) => {}
                    Operand::Suspended(variable) => {
                        self.add(&mut live, Holder::Variable(*variable));
                    }
                }
            }
            for variable in locks.into_iter().chain(invariants) {
                self.add(&mut live, Holder::Variable(variable));
            }
        }
        live
    }

    fn add(&mut self, live: &mut Live, holder: Holder) {
        let value = match holder {
            Holder::Variable(variable) => self.use_var(variable),
            Holder::Operand(scope, index) => match self.scopes[scope].stack[index] {
                Operand::Value(_, value) => value,
                Operand::Suspended(variable) => self.use_var(variable),
            },
        };
        if self.constant(value).is_some() {
            // Null.
            return;
        }
        let index = live.values.iter().position(|known| *known == value).unwrap_or_else(|| {
            live.values.push(value);
            live.values.len() - 1
        });
        live.holders.push((holder, index));
    }

    fn save(&mut self, live: &Live) -> Vec<(u16, bool)> {
        let slots = self.roots.assign(&live.values);
        for (value, (slot, stores)) in live.values.iter().zip(&slots) {
            if *stores {
                let at = 8 * i32::from(*slot);
                self.b.ins().stack_store(types::I64, *value, self.root_slots, at);
            }
        }
        slots
    }

    /// The values of the live references afterwards.
    fn reload(&mut self, live: &Live, slots: &[(u16, bool)]) -> Vec<Value> {
        self.roots.moved();
        let mut values = Vec::new();
        for (slot, _) in slots {
            let at = 8 * i32::from(*slot);
            let value = self.b.ins().stack_load(types::I64, types::I64, self.root_slots, at);
            self.roots.loaded(value, *slot);
            values.push(value);
        }
        self.redefine(live, &values);
        values
    }

    fn redefine(&mut self, live: &Live, values: &[Value]) {
        for (old, new) in live.values.iter().zip(values) {
            self.facts.moved(*old, *new);
        }
        for (holder, index) in &live.holders {
            match *holder {
                Holder::Variable(variable) => self.b.def_var(variable, values[*index]),
                Holder::Operand(scope, at) => {
                    self.scopes[scope].stack[at] = Operand::Value(Kind::Ref, values[*index]);
                }
            }
        }
    }

    fn describe(&mut self, live: &Live, slots: &[(u16, bool)]) -> SourceLoc {
        let mut roots: Vec<u16> = slots.iter().map(|(slot, _)| *slot).collect();
        roots.sort_unstable();
        let places = self
            .scopes
            .iter()
            .map(|scope| Place { method: scope.method, bci: scope.bci })
            .collect();
        let mut locks = Vec::new();
        for at in 0..self.scopes.len() {
            let scope = &self.scopes[at];
            for held in scope.method_lock.iter().chain(&scope.locks[..scope.lock_depth]) {
                let is_held = |holder: &Holder| matches!(holder, Holder::Variable(v) if v == held);
                let found = live.holders.iter().find(|(holder, _)| is_held(holder));
                locks.extend(found.map(|(_, index)| (slots[*index].0, at as u16)));
            }
        }
        self.new_safepoint(roots, places, locks)
    }

    /// The source location that numbers a safepoint.
    pub(super) fn new_safepoint(
        &mut self,
        roots: Vec<u16>,
        places: Vec<Place>,
        locks: Vec<(u16, u16)>,
    ) -> SourceLoc {
        self.safepoints.push(NewSafepoint { return_offset: 0, roots, places, locks });
        SourceLoc::new(self.safepoints.len() as u32)
    }

    /// The instruction behind the present one of a scope.
    pub(super) fn next_bci(&self, scope: usize) -> usize {
        let scope = &self.scopes[scope];
        let at = Instruction::at(&scope.flow.code.bytecode, scope.bci as usize);
        at.expect("checked before").next_bci()
    }
}
