//! `checkcast` and `instanceof`.

use super::instructions::Next;
use super::{Kind, Translator};
use crate::jit::helpers;
use crate::runtime::code::side_exits::Reason;
use crate::runtime::klass::DISPLAY;
use crate::runtime::{Klass, KlassKind, KlassRef};
use classfile::bytecode::op;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use std::mem::offset_of;

impl Translator<'_> {
    pub(super) fn check_cast(&mut self) -> Next {
        let object = self.peek(0);
        if self.constant(object) == Some(0) {
            return Next::Instruction;
        }
        let Some(target) = self.resolved_type() else {
            return self.unresolved_type(object, op::CHECKCAST);
        };
        let [check, go_on] = [self.b.create_block(), self.b.create_block()];
        let presence = self.presence(object);
        self.b.ins().brif(presence, check, &[], go_on, &[]);
        self.continue_in(check);
        let is_instance = self.is_instance(object, target);
        let exit = self.exit_block(Reason::Exception);
        self.b.ins().brif(is_instance, go_on, &[], exit, &[]);
        self.continue_in(go_on);
        Next::Instruction
    }

    pub(super) fn instance_of(&mut self) -> Next {
        let object = self.peek(0);
        let Some(target) = self.resolved_type() else {
            return self.unresolved_type(object, op::INSTANCEOF);
        };
        self.pop();
        let result = self.is_instance_not_null(object, target);
        self.push(Kind::Int, result);
        Next::Instruction
    }

    /// Whether a reference is that of an instance, and not null: 0 or 1, an int.
    pub(super) fn is_instance_not_null(&mut self, object: Value, target: KlassRef) -> Value {
        let [check, join] = [self.b.create_block(), self.b.create_block()];
        let result = self.b.append_block_param(join, types::I32);
        let zero = self.b.ins().iconst(types::I32, 0);
        let presence = self.presence(object);
        self.b.ins().brif(presence, check, &[], join, &[zero.into()]);
        self.continue_in(check);
        let is_instance = self.is_instance(object, target);
        let is_instance = match self.b.func.dfg.value_type(is_instance) {
            types::I32 => is_instance,
            _ => self.b.ins().uextend(types::I32, is_instance),
        };
        self.b.ins().jump(join, &[is_instance.into()]);
        self.continue_in(join);
        result
    }

    /// Null passes without the class being resolved.
    fn unresolved_type(&mut self, object: Value, opcode: u8) -> Next {
        self.unresolved += 1;
        let presence = self.presence(object);
        self.exit_if(presence, Reason::Unresolved);
        if opcode == op::INSTANCEOF {
            self.pop();
            self.push_constant(Kind::Int, 0);
        }
        Next::Instruction
    }

    fn resolved_type(&self) -> Option<KlassRef> {
        let scope = self.scope();
        if scope.quick_opcode(scope.bci) <= op::LAST {
            return None;
        }
        // SAFETY: a quick instruction's site has the class.
        Some(unsafe { scope.site(scope.bci).klass() })
    }

    /// Whether an object that is not null is an instance: 0 or not, of any integer type.
    pub(super) fn is_instance(&mut self, object: Value, target: KlassRef) -> Value {
        self.name(target);
        let class = self.facts.class(object).and_then(|class| self.vm.klasses.find(class));
        if let Some(class) = class {
            let is_instance = class.is_subtype_of(target);
            return self.b.ins().iconst(types::I32, is_instance as i64);
        }
        let id = self.klass_id(object);
        let depth = target.depth as usize;
        if is_alone(target) {
            return self.b.ins().icmp_imm_s(IntCC::Equal, id, target.id.0 as i64);
        }
        if target.is_interface() || target.is_array() || depth >= DISPLAY {
            return self.is_instance_slowly(id, target);
        }
        let klass = self.klass_pointer(id);
        let offset = offset_of!(Klass, display) + 8 * depth;
        let flags = MemFlagsData::trusted().with_readonly();
        let at_depth = self.b.ins().load(types::I64, flags, klass, offset as i32);
        let target = self.klass_address(target);
        self.b.ins().icmp(IntCC::Equal, at_depth, target)
    }

    fn is_instance_slowly(&mut self, id: Value, target: KlassRef) -> Value {
        let klass = self.klass_pointer(id);
        let flags = MemFlagsData::trusted();
        let offset = offset_of!(Klass, super_cache) as i32;
        let cached = self.b.ins().load(types::I64, flags, klass, offset);
        let target = self.klass_address(target);
        let is_cached = self.b.ins().icmp(IntCC::Equal, cached, target);
        let is_it = self.b.ins().icmp(IntCC::Equal, klass, target);
        let is_cached = self.b.ins().bor(is_cached, is_it);
        let [ask, join] = [self.b.create_block(), self.b.create_block()];
        let result = self.b.append_block_param(join, types::I32);
        let one = self.b.ins().iconst(types::I32, 1);
        self.b.ins().brif(is_cached, join, &[one.into()], ask, &[]);
        self.continue_in(ask);
        let address = helpers::is_subtype_address();
        let answer = self.call_leaf(address, &[klass, target], Some(types::I32)).expect("a result");
        self.b.ins().jump(join, &[answer.into()]);
        self.continue_in(join);
        result
    }

    /// The `Klass` of an id.
    pub(super) fn klass_pointer(&mut self, id: Value) -> Value {
        let table = self.b.ins().iconst(types::I64, self.vm.klasses.base() as i64);
        let index = self.b.ins().uextend(types::I64, id);
        let offset = self.b.ins().ishl_imm_u(index, 3);
        let at = self.b.ins().iadd(table, offset);
        let flags = MemFlagsData::trusted().with_readonly();
        self.b.ins().load(types::I64, flags, at, 0)
    }
}

/// Whether no other class is a subtype.
fn is_alone(klass: KlassRef) -> bool {
    match &klass.kind {
        KlassKind::PrimitiveArray { .. } => true,
        KlassKind::ObjectArray { component } => is_alone(component),
        _ => klass.flags.is_final() && !klass.is_interface(),
    }
}
