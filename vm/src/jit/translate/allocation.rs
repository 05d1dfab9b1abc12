//! New objects and arrays: inline in the thread's buffer, else by a helper.

use super::instructions::Next;
use super::{Kind, Translator};
use crate::jit::helpers;
use crate::runtime::code::side_exits::Reason;
use crate::runtime::headers::array_base;
use crate::runtime::{Klass, KlassKind, KlassRef};
use classfile::BasicType;
use classfile::bytecode::{Instruction, op};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use cranelift_codegen::isa::CallConv;
use std::mem::offset_of;
use std::sync::atomic::Ordering;

impl Translator<'_> {
    pub(super) fn new_instance(&mut self) -> Next {
        let Some(klass) = self.resolved_klass() else {
            self.exit_always(Reason::Unresolved);
            return Next::Ended;
        };
        self.new_object(klass);
        Next::Instruction
    }

    /// An object of an initialized class, on the stack.
    pub(super) fn new_object(&mut self, klass: KlassRef) {
        self.name(klass);
        let bytes = klass.instance_bytes;
        let bytes = self.b.ins().iconst(types::I64, bytes as i64);
        let quick = self.allocate_inline(klass, bytes, None);
        let object = self.or_helper(quick, |s| {
            let (thread, klass) = (s.thread(), s.klass_address(klass));
            s.call_helper(helpers::new_instance_address(), &[thread, klass])
        });
        self.facts.set_not_null(object);
        self.know_class(object, klass);
        self.push(Kind::Ref, object);
    }

    /// At the end of the constructor of `Object`: the object becomes finalizable if its class has a finalizer. Where
    /// the class is not known, the class whose constructor called this one bounds it: as long as none below that has
    /// a finalizer, a look at its mark is all.
    pub(super) fn constructed(&mut self) {
        let object = self.local(0, Kind::Ref);
        // A class that was unloaded meanwhile is not found; the code is not installed then.
        let class = self.facts.class(object).and_then(|class| self.vm.klasses.find(class));
        let condition = match class {
            Some(class) if !class.has_finalizer => return,
            Some(_) => self.b.ins().iconst(types::I8, 1),
            None => {
                let caller = self.scopes.iter().rev().nth(1).map(|scope| scope.method);
                let bound = caller.filter(|caller| caller.is_initializer());
                let bound = bound.map_or(self.scope().method.holder, |caller| caller.holder);
                let (klass, offset) = match bound.may_be_finalized.load(Ordering::Relaxed) {
                    true => {
                        let id = self.klass_id(object);
                        (self.klass_pointer(id), offset_of!(Klass, has_finalizer))
                    }
                    false => (self.klass_address(bound), offset_of!(Klass, may_be_finalized)),
                };
                self.b.ins().load(types::I8, MemFlagsData::trusted(), klass, offset as i32)
            }
        };
        let bci = self.scope().bci as usize;
        let passed = self.b.ins().iconst(types::I64, 1);
        // What is known of memory stays: the library only writes to objects of its own there.
        let result = self.at_rare_safepoint(condition, bci, Some(passed), |s| {
            let thread = s.thread();
            Some(s.call_helper(helpers::constructed_address(), &[thread, object]))
        });
        self.leave_if_zero(result.expect("a result"));
    }

    pub(super) fn new_primitive_array(&mut self, operand: u8) {
        let element = BasicType::from_newarray(operand).expect("verified code");
        let klass = self.vm.known.primitive_array(element);
        self.new_array(klass, element.bytes().expect("elements have a size"));
    }

    pub(super) fn new_object_array(&mut self) -> Next {
        let Some(klass) = self.resolved_klass() else {
            self.exit_always(Reason::Unresolved);
            return Next::Ended;
        };
        self.new_array(klass, self.vm.slot_bytes);
        Next::Instruction
    }

    pub(super) fn new_multi_array(&mut self, at: &Instruction<'_>) -> Next {
        let holder = self.scope().method.holder;
        let Some(klass) = holder.inst().pool.entry(at.pool_index()).klass() else {
            self.exit_always(Reason::Unresolved);
            return Next::Ended;
        };
        let dimensions = at.u8_at(3) as usize;
        // Lengths are passed through the exit area, which no exit uses at the same time.
        self.exit_words = self.exit_words.max(dimensions);
        for index in (0..dimensions).rev() {
            let length = self.pop();
            self.b.ins().stack_store(types::I64, length, self.exit_area, 8 * index as i32);
        }
        let next = self.next_bci(self.scopes.len() - 1);
        let array = self.at_safepoint(next, |s| {
            let (thread, klass) = (s.thread(), s.klass_address(klass));
            let lengths = s.b.ins().stack_addr(types::I64, s.exit_area, 0);
            let count = s.b.ins().iconst(types::I64, dimensions as i64);
            s.call_helper(helpers::new_multi_array_address(), &[thread, klass, lengths, count])
        });
        self.check_pending();
        self.facts.set_not_null(array);
        self.push(Kind::Ref, array);
        Next::Instruction
    }

    fn resolved_klass(&self) -> Option<KlassRef> {
        let scope = self.scope();
        if scope.quick_opcode(scope.bci) <= op::LAST {
            return None;
        }
        // SAFETY: a quick instruction's site has the class.
        Some(unsafe { scope.site(scope.bci).klass() })
    }

    /// Pops the length and pushes a new array.
    fn new_array(&mut self, klass: KlassRef, element_bytes: usize) {
        debug_assert!(!matches!(klass.kind, KlassKind::Instance(_)));
        self.name(klass);
        let length = self.pop();
        // Negative lengths are very large ones: the buffer is always too small for them.
        let wide = self.b.ins().uextend(types::I64, length);
        let contents = self.b.ins().ishl_imm_u(wide, element_bytes.trailing_zeros() as i64);
        let bytes = self.b.ins().iadd_imm_s(contents, array_base(element_bytes) as i64 + 7);
        let bytes = self.b.ins().band_imm_s(bytes, !7);
        let quick = self.allocate_inline(klass, bytes, Some(wide));
        let array = self.or_helper(quick, |s| {
            let (thread, klass) = (s.thread(), s.klass_address(klass));
            s.call_helper(helpers::new_array_address(), &[thread, klass, length])
        });
        self.facts.set_not_null(array);
        self.know_class(array, klass);
        self.facts.set_length(array, length);
        self.push(Kind::Ref, array);
    }

    /// `quick`, or if that is null the helper's result: the helper may throw.
    fn or_helper(
        &mut self,
        quick: Option<Value>,
        helper: impl FnOnce(&mut Self) -> Value,
    ) -> Value {
        let next = self.next_bci(self.scopes.len() - 1);
        let Some(quick) = quick else {
            let object = self.at_safepoint(next, helper);
            self.check_pending();
            return object;
        };
        let failed = self.b.ins().icmp_imm_s(IntCC::Equal, quick, 0);
        let object = self.at_rare_safepoint(failed, next, Some(quick), |s| Some(helper(s)));
        let object = object.expect("a result");
        self.leave_if_zero(object);
        object
    }

    /// Behind a helper's result, which is 0 only when the helper has thrown.
    fn leave_if_zero(&mut self, result: Value) {
        let leave = self.pending_exit();
        let go_on = self.b.create_block();
        self.b.ins().brif(result, go_on, &[], leave, &[]);
        self.continue_in(go_on);
    }

    /// Calls a helper that gives a reference, at the safepoint being emitted.
    pub(super) fn call_helper(&mut self, address: usize, arguments: &[Value]) -> Value {
        let result = self.call_address(address, CallConv::SystemV, arguments, Some(types::I64));
        result.expect("a result")
    }
}
