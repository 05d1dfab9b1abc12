//! `synchronized`.
//!
//! Locks are nested (JVMS 2.11.10), so how deep a place is locked is known; code where that is not so stays with the
//! interpreter.

use super::instructions::Next;
use super::{Kind, NotCompiled, Translator};
use crate::jit::helpers;
use crate::monitors::lock_stack::LockStack;
use crate::monitors::lock_word;
use crate::runtime::code::side_exits::Reason;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use cranelift_codegen::isa::CallConv;
use gc::object::{KLASS_OFFSET, LOCK_MASK};

impl Translator<'_> {
    /// At the beginning of a synchronized method.
    pub(super) fn lock_for_method(&mut self) {
        let method = self.scope().method;
        if !method.flags().is_synchronized() {
            return;
        }
        let object = match method.is_static() {
            true => self.load_root(method.holder, method.holder.mirror),
            false => self.local(0, Kind::Ref),
        };
        let variable = self.b.declare_var(types::I64);
        self.b.def_var(variable, object);
        self.lock(object, 0, Some(variable));
        self.scope_mut().method_lock = Some(variable);
    }

    /// At a return, whose value may be a reference.
    pub(super) fn unlock_for_method(&mut self, value: Option<Value>) -> Option<Value> {
        let Some(variable) = self.scope_mut().method_lock else { return value };
        let object = self.use_var(variable);
        self.unlock(object);
        value
    }

    pub(super) fn monitor_enter(&mut self) {
        let object = self.peek(0);
        self.check_not_null(object);
        self.pop();
        let depth = self.scope().lock_depth;
        if depth == self.scope().locks.len() {
            let variable = self.b.declare_var(types::I64);
            self.scope_mut().locks.push(variable);
        }
        let variable = self.scope().locks[depth];
        self.b.def_var(variable, object);
        let next = self.next_bci(self.scopes.len() - 1);
        self.lock(object, next, Some(variable));
        self.scope_mut().lock_depth += 1;
    }

    pub(super) fn monitor_exit(&mut self) -> Result<Next, NotCompiled> {
        let object = self.peek(0);
        let Some(depth) = self.scope().lock_depth.checked_sub(1) else {
            return Err(NotCompiled::Locks);
        };
        self.check_not_null(object);
        let variable = self.scope().locks[depth];
        let held = self.use_var(variable);
        let is_held = self.b.ins().icmp(IntCC::Equal, object, held);
        self.exit_unless(is_held, Reason::Unsupported);
        self.pop();
        self.unlock(object);
        self.scope_mut().lock_depth = depth;
        self.side_effect();
        Ok(Next::Instruction)
    }

    /// Enters a monitor; waiting is a safepoint. `holder` is a variable that has the object, which may move.
    fn lock(
        &mut self,
        object: Value,
        live_bci: usize,
        holder: Option<cranelift_frontend::Variable>,
    ) {
        let failed = self.lock_quickly(object);
        // The object is live across the call, though no local may say so.
        let scope = self.scopes.len() - 1;
        let operands = self.scopes[scope].stack.len();
        self.push(Kind::Ref, object);
        self.at_rare_safepoint(failed, live_bci, None, |s| {
            let thread = s.thread();
            s.call_address(helpers::lock_address(), CallConv::SystemV, &[thread, object], None);
            None
        });
        let object = self.pop();
        debug_assert_eq!(self.scopes[scope].stack.len(), operands);
        if let Some(variable) = holder {
            self.b.def_var(variable, object);
        }
        self.side_effect();
    }

    /// As `Lock::enter_quickly`. 0 when the object is locked.
    fn lock_quickly(&mut self, object: Value) -> Value {
        let (thread, flags) = (self.thread(), MemFlagsData::trusted());
        let [seek, look, set, push, join] = std::array::from_fn(|_| self.b.create_block());
        let failed = self.b.append_block_param(join, types::I32);
        let top = self.b.ins().uload32(flags, thread, LOCK_TOP);
        // The first unused place is `LOCKS` bytes beyond.
        let place = self.b.ins().iadd(thread, top);
        let is_full = self.b.ins().icmp_imm_u(IntCC::Equal, top, i64::from(LockStack::FULL));
        let [no, yes] = [0, 1].map(|value| self.b.ins().iconst(types::I32, value));
        self.b.ins().brif(is_full, join, &[yes.into()], seek, &[]);

        self.continue_in(seek);
        let last = self.b.ins().load(types::I64, flags, place, LOCKS - PLACE_BYTES);
        let is_last = self.b.ins().icmp(IntCC::Equal, last, object);
        self.b.ins().brif(is_last, push, &[], look, &[]);

        self.continue_in(look);
        let word = self.b.ins().load(types::I32, flags, object, KLASS_OFFSET as i32);
        let state = self.b.ins().band_imm_s(word, i64::from(LOCK_MASK));
        self.b.ins().brif(state, join, &[yes.into()], set, &[]);

        self.continue_in(set);
        let locked = self.b.ins().bor_imm_s(word, i64::from(lock_word::LOCKED));
        let at = self.b.ins().iadd_imm_s(object, KLASS_OFFSET as i64);
        let held = self.b.ins().atomic_cas(flags, at, word, locked);
        let is_set = self.b.ins().icmp(IntCC::Equal, held, word);
        self.b.ins().brif(is_set, push, &[], join, &[yes.into()]);

        self.continue_in(push);
        self.b.ins().store(flags, object, place, LOCKS);
        let next = self.b.ins().iadd_imm_s(top, i64::from(PLACE_BYTES));
        self.b.ins().istore32(flags, next, thread, LOCK_TOP);
        self.b.ins().jump(join, &[no.into()]);
        self.continue_in(join);
        failed
    }

    /// Leaves a monitor that this thread holds: never waits, never throws. As `Lock::exit_quickly`.
    fn unlock(&mut self, object: Value) {
        let (thread, flags) = (self.thread(), MemFlagsData::trusted());
        let [seek, look, set, pop, slow, done] = std::array::from_fn(|_| self.b.create_block());
        self.b.set_cold_block(slow);
        let top = self.b.ins().uload32(flags, thread, LOCK_TOP);
        let place = self.b.ins().iadd(thread, top);
        let last = self.b.ins().load(types::I64, flags, place, LOCKS - PLACE_BYTES);
        let is_last = self.b.ins().icmp(IntCC::Equal, last, object);
        self.b.ins().brif(is_last, seek, &[], slow, &[]);

        self.continue_in(seek);
        // There is a last, so the word below it is a place or the bottom.
        let before = self.b.ins().load(types::I64, flags, place, LOCKS - 2 * PLACE_BYTES);
        let is_twice = self.b.ins().icmp(IntCC::Equal, before, object);
        self.b.ins().brif(is_twice, pop, &[], look, &[]);

        self.continue_in(look);
        let word = self.b.ins().load(types::I32, flags, object, KLASS_OFFSET as i32);
        let state = self.b.ins().band_imm_s(word, i64::from(LOCK_MASK));
        let locked = i64::from(lock_word::LOCKED);
        let is_locked = self.b.ins().icmp_imm_u(IntCC::Equal, state, locked);
        self.b.ins().brif(is_locked, set, &[], slow, &[]);

        self.continue_in(set);
        let free = self.b.ins().bxor_imm_s(word, locked);
        let at = self.b.ins().iadd_imm_s(object, KLASS_OFFSET as i64);
        let held = self.b.ins().atomic_cas(flags, at, word, free);
        let is_set = self.b.ins().icmp(IntCC::Equal, held, word);
        self.b.ins().brif(is_set, pop, &[], slow, &[]);

        self.continue_in(slow);
        self.call_leaf(helpers::unlock_address(), &[thread, object], None);
        self.b.ins().jump(done, &[]);
        self.continue_in(pop);
        let below = self.b.ins().iadd_imm_s(top, -i64::from(PLACE_BYTES));
        self.b.ins().istore32(flags, below, thread, LOCK_TOP);
        self.b.ins().jump(done, &[]);
        self.continue_in(done);
    }
}

/// The thread's lock stack, and its `top`.
const LOCKS: i32 = helpers::THREAD_LOCKS_OFFSET as i32;
const LOCK_TOP: i32 = LOCKS + LockStack::TOP_OFFSET as i32;
const PLACE_BYTES: i32 = LockStack::PLACE_BYTES as i32;
