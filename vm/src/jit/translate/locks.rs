//! `synchronized`.
//!
//! Locks are nested (JVMS 2.11.10), so how deep a place is locked is known; code where that is not so stays with the
//! interpreter.

use super::instructions::Next;
use super::{Kind, NotCompiled, Translator};
use crate::jit::helpers;
use crate::monitors::lock_word;
use crate::runtime::code::body::Reason;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_codegen::isa::CallConv;

impl Translator<'_> {
    /// At the beginning of a synchronized method.
    pub(super) fn lock_for_method(&mut self) {
        let method = self.scope().method;
        if !method.flags().is_synchronized() {
            return;
        }
        let object = match method.is_static() {
            true => self.load_root(method.holder.mirror),
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

    /// 0 when the object was not locked and is now.
    fn lock_quickly(&mut self, object: Value) -> Value {
        let flags = cranelift_codegen::ir::MemFlagsData::trusted();
        let thin = self.thin_lock();
        let free = self.b.ins().iconst(types::I32, 0);
        let at = self.b.ins().iadd_imm_s(object, gc::object::LOCK_OFFSET as i64);
        self.b.ins().atomic_cas(flags, at, free, thin)
    }

    /// Leaves a monitor that this thread holds: never waits, never throws.
    fn unlock(&mut self, object: Value) {
        let flags = cranelift_codegen::ir::MemFlagsData::trusted();
        let thin = self.thin_lock();
        let free = self.b.ins().iconst(types::I32, 0);
        let at = self.b.ins().iadd_imm_s(object, gc::object::LOCK_OFFSET as i64);
        let held = self.b.ins().atomic_cas(flags, at, thin, free);
        let is_thin = self.b.ins().icmp(IntCC::Equal, held, thin);
        let [slow, done] = [self.b.create_block(), self.b.create_block()];
        self.b.set_cold_block(slow);
        self.b.ins().brif(is_thin, done, &[], slow, &[]);
        self.b.switch_to_block(slow);
        self.b.seal_block(slow);
        let thread = self.thread();
        self.call_leaf(helpers::unlock_address(), &[thread, object], None);
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
        self.b.seal_block(done);
    }

    /// The lock word of an object that this thread has locked once.
    fn thin_lock(&mut self) -> Value {
        let thread = self.thread();
        let flags = cranelift_codegen::ir::MemFlagsData::trusted();
        let id = self.b.ins().load(types::I32, flags, thread, helpers::THREAD_ID_OFFSET as i32);
        let shifted = self.b.ins().ishl_imm_u(id, lock_word::TAG_BITS as i64);
        self.b.ins().iadd_imm_s(shifted, lock_word::thin(0) as i64)
    }
}
