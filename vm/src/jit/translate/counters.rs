//! Quick code counts how often it is called, and rounds of its loops, so that it is compiled once more when it is hot.
//!
//! Calls count down in the method, where the interpreter counted before. Rounds are counted in a register, and added up
//! now and then. A loop whose code is not the latest any more is left for the interpreter, which enters code that is
//! made for the loop.

use super::Translator;
use crate::jit::{helpers, policy};
use crate::runtime::code::side_exits::Reason;
use crate::runtime::{Method, MethodRef};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use std::mem::offset_of;

impl Translator<'_> {
    /// In the function's first block.
    pub(super) fn begin_counting(&mut self) {
        if self.tier != policy::last_tier(self.vm) {
            let rounds = self.b.declare_var(types::I32);
            let zero = self.b.ins().iconst(types::I32, 0);
            self.b.def_var(rounds, zero);
            self.rounds = Some(rounds);
        }
    }

    /// At the beginning of a method.
    pub(super) fn count_call(&mut self) {
        if self.rounds.is_none() {
            return;
        }
        let (flags, at) = (MemFlagsData::trusted(), COUNTDOWN_OFFSET as i32);
        let method = self.address(self.method);
        let left = self.b.ins().load(types::I32, flags, method, at);
        let left = self.b.ins().iadd_imm_s(left, -1);
        self.b.ins().store(flags, left, method, at);
        let is_up = self.b.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, left, 0);
        let (up, go_on) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(up);
        self.b.ins().brif(is_up, up, &[], go_on, &[]);
        self.continue_in(up);
        self.call_count(0, self.method);
        self.b.ins().jump(go_on, &[]);
        self.continue_in(go_on);
    }

    /// Before a jump that may close a loop; the instruction has had no effects yet.
    pub(super) fn count_round(&mut self) {
        let Some(variable) = self.rounds else { return };
        let step = policy::rounds_until_counted(&self.vm.options.jit);
        let rounds = self.b.use_var(variable);
        let rounds = self.b.ins().iadd_imm_s(rounds, 1);
        self.b.def_var(variable, rounds);
        let rest = self.b.ins().band_imm_s(rounds, i64::from(step) - 1);
        let (up, go_on) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(up);
        // Made first: its state is that of the code before the branch.
        let leave = self.may_leave_loop().then(|| self.exit_block(Reason::Replaced));
        let method = self.scope().method;
        self.b.ins().brif(rest, go_on, &[], up, &[]);
        self.continue_in(up);
        let is_replaced = self.call_count(step, method);
        match leave {
            Some(leave) => self.b.ins().brif(is_replaced, leave, &[], go_on, &[]),
            None => self.b.ins().jump(go_on, &[]),
        };
        self.continue_in(go_on);
    }

    /// Whether the interpreter could enter code of the loop: it does so with no block locked and nothing on the operand
    /// stack.
    fn may_leave_loop(&self) -> bool {
        self.scope().stack.is_empty() && self.scopes.iter().all(|scope| scope.lock_depth == 0)
    }

    /// `method` is the one with the loop. Not 0: the loop should be left.
    fn call_count(&mut self, rounds: u32, method: MethodRef) -> Value {
        let (thread, method) = (self.thread(), self.address(method));
        let rounds = self.b.ins().iconst(types::I32, i64::from(rounds));
        self.call_preserving(helpers::count_address(), &[thread, rounds, method]);
        let at = helpers::SCRATCH_OFFSET as i32;
        self.b.ins().load(types::I64, MemFlagsData::trusted(), thread, at)
    }
}

const COUNTDOWN_OFFSET: usize = offset_of!(Method, jit.countdown);
