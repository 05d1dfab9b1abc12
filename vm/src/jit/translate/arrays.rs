//! Elements of arrays.

use super::{Kind, Translator};
use crate::jit::helpers;
use crate::runtime::Klass;
use crate::runtime::code::side_exits::Reason;
use crate::runtime::headers::array_base;
use classfile::BasicType;
use classfile::bytecode::op;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use gc::object::ARRAY_LENGTH_OFFSET;
use std::mem::offset_of;

impl Translator<'_> {
    pub(super) fn array_load(&mut self, opcode: u8) {
        let (array, index) = (self.peek(1), self.peek(0));
        self.check_index(array, index);
        self.drop_operands(2);
        if opcode == op::AALOAD {
            let value = self.known_element(array, index);
            self.push(Kind::Ref, value);
            return;
        }
        let ty = ELEMENTS[(opcode - op::IALOAD) as usize];
        let bytes = ty.bytes().expect("elements have a size");
        let at = self.element_address(array, index, bytes);
        let value = self.load_primitive(ty, at, array_base(bytes) as i32);
        self.push(Kind::of(ty).expect("not void"), value);
    }

    pub(super) fn array_store(&mut self, opcode: u8) {
        let (array, index, value) = (self.peek(2), self.peek(1), self.peek(0));
        self.check_index(array, index);
        if opcode == op::AASTORE {
            self.check_store(array, value);
            self.drop_operands(3);
            let offset = self.element_offset(index, self.vm.slot_bytes);
            self.store_reference(array, offset, value);
            self.leave_elsewhere();
            self.facts.memory.forget_elements();
            self.facts.memory.set_element(array, index, value);
            return;
        }
        self.drop_operands(3);
        let ty = ELEMENTS[(opcode - op::IASTORE) as usize];
        let mut value = value;
        if opcode == op::BASTORE {
            // Elements of boolean arrays keep one bit.
            let boolean = self.vm.known.primitive_array(BasicType::Boolean).id;
            if self.facts.class(array).is_none_or(|class| class == boolean) {
                let klass = self.klass_id(array);
                let is_boolean = self.b.ins().icmp_imm_s(IntCC::Equal, klass, boolean.0 as i64);
                let bit = self.b.ins().band_imm_s(value, 1);
                value = self.b.ins().select(is_boolean, bit, value);
            }
        }
        let bytes = ty.bytes().expect("elements have a size");
        let at = self.element_address(array, index, bytes);
        self.store_primitive(ty, value, at, array_base(bytes) as i32);
        self.leave_elsewhere();
    }

    /// The element at an index that is inside, loaded or known.
    fn known_element(&mut self, array: Value, index: Value) -> Value {
        if let Some(value) = self.facts.memory.element(array, index) {
            return value;
        }
        if self.is_only_tested_for_null() {
            let offset = self.element_offset(index, self.vm.slot_bytes);
            return self.load_presence(array, offset);
        }
        let value = self.load_element(array, index);
        self.facts.memory.set_element(array, index, value);
        value
    }

    pub(super) fn load_element(&mut self, array: Value, index: Value) -> Value {
        let offset = self.element_offset(index, self.vm.slot_bytes);
        self.load_reference(array, offset)
    }

    /// Of an array that is not null.
    pub(super) fn array_length(&mut self, array: Value) -> Value {
        if let Some(length) = self.facts.length(array) {
            return length;
        }
        let length = self.load_length(array);
        self.facts.set_length(array, length);
        self.facts.set_not_negative(length);
        length
    }

    pub(super) fn load_length(&mut self, array: Value) -> Value {
        let flags = MemFlagsData::trusted().with_readonly();
        self.b.ins().load(types::I32, flags, array, ARRAY_LENGTH_OFFSET as i32)
    }

    pub(super) fn check_index(&mut self, array: Value, index: Value) {
        self.check_not_null(array);
        let constant = self.constant(index).and_then(|bits| u32::try_from(bits).ok());
        if self.facts.is_inside(array, index, constant) {
            return;
        }
        let length = self.array_length(array);
        let is_inside = self.b.ins().icmp(IntCC::UnsignedLessThan, index, length);
        self.exit_unless(is_inside, Reason::Exception);
        self.facts.set_inside(array, index, constant);
    }

    /// Address to which the array base is still to be added.
    pub(super) fn element_address(&mut self, array: Value, index: Value, bytes: usize) -> Value {
        let index = self.b.ins().uextend(types::I64, index);
        let offset = self.b.ins().ishl_imm_u(index, bytes.trailing_zeros() as i64);
        self.b.ins().iadd(array, offset)
    }

    /// Offset of an element from the array's header.
    pub(super) fn element_offset(&mut self, index: Value, bytes: usize) -> Value {
        let index = self.b.ins().uextend(types::I64, index);
        let offset = self.b.ins().ishl_imm_u(index, bytes.trailing_zeros() as i64);
        self.b.ins().iadd_imm_s(offset, array_base(bytes) as i64)
    }

    /// Leaves when the array does not take the value.
    fn check_store(&mut self, array: Value, value: Value) {
        if self.constant(value) == Some(0) {
            return;
        }
        let [known, check, go_on] = [(); 3].map(|()| self.b.create_block());
        let presence = self.presence(value);
        self.b.ins().brif(presence, known, &[], go_on, &[]);
        self.continue_in(known);
        // Most arrays take instances of exactly their component type, and arrays of Object everything.
        let array_klass = self.klass_id(array);
        let array_klass = self.klass_pointer(array_klass);
        let flags = MemFlagsData::trusted().with_readonly();
        let offset = offset_of!(Klass, component_id) as i32;
        let component = self.b.ins().load(types::I32, flags, array_klass, offset);
        let klass = self.klass_id(value);
        let is_exact = self.b.ins().icmp(IntCC::Equal, klass, component);
        let object = self.vm.known.classes.object().id.0;
        let takes_all = self.b.ins().icmp_imm_s(IntCC::Equal, component, object as i64);
        let fits = self.b.ins().bor(is_exact, takes_all);
        self.b.ins().brif(fits, go_on, &[], check, &[]);
        self.continue_in(check);
        let klass = self.klass_pointer(klass);
        let component = self.klass_pointer(component);
        // The supertype that the last check asked for.
        let cached = offset_of!(Klass, super_cache) as i32;
        let cached = self.b.ins().load(types::I64, MemFlagsData::trusted(), klass, cached);
        let is_cached = self.b.ins().icmp(IntCC::Equal, cached, component);
        let ask = self.b.create_block();
        self.b.ins().brif(is_cached, go_on, &[], ask, &[]);
        self.continue_in(ask);
        let address = helpers::fits_array_address();
        let may = self.call_leaf(address, &[klass, component], Some(types::I32));
        let exit = self.exit_block(Reason::Exception);
        self.b.ins().brif(may.expect("a result"), go_on, &[], exit, &[]);
        self.continue_in(go_on);
    }

    /// The class id of an object that is not null.
    pub(super) fn klass_id(&mut self, object: Value) -> Value {
        if let Some(class) = self.facts.class(object) {
            return self.b.ins().iconst(types::I32, class.0 as i64);
        }
        let flags = MemFlagsData::trusted();
        let offset = gc::object::KLASS_OFFSET as i32;
        let word = self.b.ins().load(types::I32, flags, object, offset);
        self.b.ins().ushr_imm_u(word, i64::from(gc::object::KLASS_SHIFT))
    }

    pub(super) fn load_primitive(&mut self, ty: BasicType, at: Value, offset: i32) -> Value {
        let flags = MemFlagsData::trusted();
        match ty {
            BasicType::Boolean | BasicType::Byte => {
                self.b.ins().sload8(types::I32, flags, at, offset)
            }
            BasicType::Char => self.b.ins().uload16(types::I32, flags, at, offset),
            BasicType::Short => self.b.ins().sload16(types::I32, flags, at, offset),
            _ => {
                let ty = Kind::of(ty).expect("not void").clif();
                self.b.ins().load(ty, flags, at, offset)
            }
        }
    }

    pub(super) fn store_primitive(&mut self, ty: BasicType, value: Value, at: Value, offset: i32) {
        let flags = MemFlagsData::trusted();
        match ty {
            BasicType::Boolean | BasicType::Byte => self.b.ins().istore8(flags, value, at, offset),
            BasicType::Char | BasicType::Short => self.b.ins().istore16(flags, value, at, offset),
            _ => self.b.ins().store(flags, value, at, offset),
        };
    }
}

/// In the order of the instruction set.
const ELEMENTS: [BasicType; 8] = [
    BasicType::Int,
    BasicType::Long,
    BasicType::Float,
    BasicType::Double,
    BasicType::Object,
    BasicType::Byte,
    BasicType::Char,
    BasicType::Short,
];
