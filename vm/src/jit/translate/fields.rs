//! Instance fields and statics.

use super::facts::Meaning;
use super::instructions::Next;
use super::{Kind, Translator};
use crate::runtime::FieldRef;
use crate::runtime::code::quick::internal as quick;
use crate::runtime::code::side_exits::Reason;
use crate::runtime::constant_handle::Part;
use crate::runtime::constants::{Constant, ConstantObject};
use classfile::BasicType;
use classfile::bytecode::{Instruction, op};
use cranelift_codegen::ir::{InstBuilder, Value, types};

impl Translator<'_> {
    pub(super) fn field(&mut self, at: &Instruction<'_>) -> Next {
        let Some(field) = self.resolved_field(at) else {
            self.exit_always(Reason::Unresolved);
            return Next::Ended;
        };
        self.name(field.holder);
        let is_put = matches!(at.opcode, op::PUTSTATIC | op::PUTFIELD);
        if self.contradicts_invariants(field, is_put) {
            self.exit_always(Reason::Unresolved);
            return Next::Ended;
        }
        if at.opcode == op::GETSTATIC
            && let Some(value) = self.known_static(field)
        {
            self.push(Kind::of(field.ty).expect("not void"), value);
            return Next::Instruction;
        }
        let value = is_put.then(|| self.peek(0));
        let object = match at.opcode {
            op::GETFIELD => self.peek(0),
            op::PUTFIELD => self.peek(1),
            _ => self.known_root(field.holder, field.holder.mirror),
        };
        if !field.is_static() {
            self.check_not_null(object);
        }
        let popped = usize::from(is_put) + usize::from(!field.is_static());
        self.drop_operands(popped);
        match value {
            Some(value) => self.put_field(field, object, value),
            None => {
                let value = self.known_field(field, object);
                self.push(Kind::of(field.ty).expect("not void"), value);
            }
        }
        Next::Instruction
    }

    /// The instruction's field, if the interpreter has executed it before: then all checks are done.
    pub(super) fn resolved_field(&self, at: &Instruction<'_>) -> Option<FieldRef> {
        let scope = self.scope();
        // In this order: threads that run resolve the field before they make the instruction quick.
        let is_quick = scope.quick_opcode(at.bci as u16) > op::LAST;
        let field = scope.method.holder.inst().pool.entry(at.pool_index()).field();
        if is_quick {
            return Some(field.expect("quick instructions are resolved"));
        }
        // Never made quick. A final field may not be written here for all we know.
        let field = field?;
        let flags = field.info.access_flags;
        let is_known = field.is_volatile()
            && !flags.is_final()
            && matches!(at.opcode, op::PUTFIELD | op::PUTSTATIC)
            && field.is_static() == (at.opcode == op::PUTSTATIC);
        (is_known && (!field.is_static() || field.holder.is_initialized())).then_some(field)
    }

    /// The value of a static that needs no load: one that never changes, or that was loaded before.
    pub(super) fn known_static(&mut self, field: FieldRef) -> Option<Value> {
        let constant = field.constant();
        let kept = self.facts.memory.static_field(field).filter(|_| !field.is_volatile());
        let value = match (kept, constant) {
            (Some(kept), _) => kept,
            (None, None) => return None,
            (None, Some(Constant::Bits(bits))) => self.bits(field, *bits),
            (None, Some(Constant::Object(object))) if object.slot.is_null() => self.zero(Kind::Ref),
            (None, Some(Constant::Object(object))) => {
                let object = self.known_root(field.holder, object.slot);
                self.facts.set_not_null(object);
                object
            }
        };
        if let Some(Constant::Object(ConstantObject { handle: Some(handle), .. })) = constant {
            self.facts.set_not_null(value);
            self.facts.set_meaning(value, Meaning::Handle(handle));
            self.know_class(value, handle.klass);
        }
        Some(value)
    }

    /// The contents of a primitive field, as the interpreter's stack holds them.
    fn bits(&mut self, field: FieldRef, bits: u64) -> Value {
        match Kind::of(field.ty).expect("not void") {
            Kind::Int => self.b.ins().iconst(types::I32, bits as i32 as i64),
            Kind::Long => self.b.ins().iconst(types::I64, bits as i64),
            Kind::Float => self.b.ins().f32const(f32::from_bits(bits as u32)),
            Kind::Double => self.b.ins().f64const(f64::from_bits(bits)),
            Kind::Ref => panic!("bits in {}", field.name()),
        }
    }

    /// The value of a field, loaded or known.
    pub(super) fn known_field(&mut self, field: FieldRef, object: Value) -> Value {
        let is_plain = !field.is_volatile() && !self.is_referent();
        let part = self.facts.handle(object).and_then(|handle| handle.part(field));
        match part {
            Some(Part::Bits(bits)) => return self.bits(field, bits),
            Some(Part::Class(klass)) => return self.mirror_of(klass),
            _ => {}
        }
        if let Some(value) = self.facts.memory.field(field, object).filter(|_| is_plain) {
            return value;
        }
        let is_whole = !self.is_only_tested_for_null();
        let value = self.get_field(field, object);
        if field.is_volatile() {
            // Later loads are at least as new.
            self.facts.memory.clear();
        } else if is_plain && is_whole {
            self.facts.memory.set_field(field, object, value);
            if let Some(Part::Member(method)) = part {
                self.name(method.holder);
                self.facts.set_meaning(value, Meaning::Member(method));
            }
        }
        value
    }

    fn is_referent(&self) -> bool {
        let scope = self.scope();
        scope.quick_opcode(scope.bci) == quick::GETFIELD_REFERENT
    }

    fn get_field(&mut self, field: FieldRef, object: Value) -> Value {
        let offset = field.offset as i32;
        let ty = field.ty;
        match ty {
            BasicType::Object | BasicType::Array => {
                let offset = self.b.ins().iconst(types::I64, offset as i64);
                if self.is_referent() {
                    return self.load_referent(object, offset);
                }
                if field.is_volatile() {
                    return self.load_reference_volatile(object, offset);
                }
                if self.is_only_tested_for_null() {
                    return self.load_presence(object, offset);
                }
                self.load_reference(object, offset)
            }
            _ if !field.is_volatile() => self.load_primitive(ty, object, offset),
            _ => {
                let at = self.b.ins().iadd_imm_s(object, offset as i64);
                self.load_primitive_volatile(ty, at)
            }
        }
    }

    /// Loads a field that is neither volatile nor a referent.
    pub(super) fn load_plain_field(&mut self, field: FieldRef, object: Value) -> Value {
        match field.ty {
            BasicType::Object | BasicType::Array => {
                let offset = self.b.ins().iconst(types::I64, field.offset as i64);
                self.load_reference(object, offset)
            }
            ty => self.load_primitive(ty, object, field.offset as i32),
        }
    }

    fn put_field(&mut self, field: FieldRef, object: Value, value: Value) {
        let offset = field.offset as i32;
        match field.ty {
            BasicType::Object | BasicType::Array => {
                let offset = self.b.ins().iconst(types::I64, offset as i64);
                self.store_reference(object, offset, value);
            }
            ty => {
                let value = match ty {
                    BasicType::Boolean => self.b.ins().band_imm_s(value, 1),
                    _ => value,
                };
                self.store_primitive(ty, value, object, offset);
            }
        }
        if field.is_volatile() {
            // A later volatile load of this thread must not come before the store (JLS 17.4).
            self.b.ins().fence();
            self.side_effect();
            return;
        }
        self.leave_elsewhere();
        self.facts.memory.forget_field(field);
        // Of smaller ones the slot holds less than the value has.
        if !matches!(
            field.ty,
            BasicType::Boolean | BasicType::Byte | BasicType::Char | BasicType::Short
        ) {
            self.facts.memory.set_field(field, object, value);
        }
    }
}
