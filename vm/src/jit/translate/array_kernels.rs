//! `Arrays.fill`, which [`array_kernels`](crate::jit::array_kernels) does, and `Reference.refersTo`.

use super::instructions::Next;
use super::{Kind, NotCompiled, Translator, kinds_of};
use crate::jit::array_kernels;
use crate::runtime::MethodRef;
use classfile::BasicType;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};

impl Translator<'_> {
    /// `Arrays.fill` of a primitive array or of a part of one: by a leaf function, else by the method itself. `None`:
    /// it is none of these.
    pub(super) fn array_fill(&mut self, method: MethodRef) -> Result<Option<Next>, NotCompiled> {
        let Some(element_bytes) = filled_element(method.descriptor().bytes()) else {
            return Ok(None);
        };
        let count = kinds_of(method).count();
        let array = self.peek(count - 1);
        self.check_not_null(array);
        let (from, end) = match count {
            2 => (self.b.ins().iconst(types::I32, 0), self.load_length(array)),
            _ => (self.peek(2), self.peek(1)),
        };
        let value = self.peek(0);
        let value = self.word_of(value);
        let address = array_kernels::fill_of(element_bytes) as *const () as usize;
        let done = self.call_leaf(address, &[array, from, end, value], Some(types::I32));
        let [filled, otherwise] = [self.b.create_block(), self.b.create_block()];
        self.b.ins().brif(done.expect("a result"), filled, &[], otherwise, &[]);
        self.b.set_cold_block(otherwise);

        let arguments = self.pop_arguments(count);
        self.suspend();
        let mut join = self.new_continuation(BasicType::Void);
        let known = self.facts.clone();
        self.continue_in(filled);
        self.new_block();
        self.go_to(&mut join, None);
        self.facts.clone_from(&known);
        self.continue_in(otherwise);
        self.new_block();
        let callee = self.method_address(method);
        self.call(callee, method, &arguments);
        self.go_to(&mut join, None);
        self.go_on_at(join);
        self.resume();
        self.side_effect();
        Ok(Some(Next::Instruction))
    }

    /// The bits of a primitive in the lower part of a word.
    fn word_of(&mut self, value: Value) -> Value {
        let flags = MemFlagsData::new();
        let bits = match self.b.func.dfg.value_type(value) {
            types::F32 => self.b.ins().bitcast(types::I32, flags, value),
            types::F64 => self.b.ins().bitcast(types::I64, flags, value),
            _ => value,
        };
        match self.b.func.dfg.value_type(bits) {
            types::I32 => self.b.ins().uextend(types::I64, bits),
            _ => bits,
        }
    }

    /// `Reference.refersTo0` of soft and weak references: whether the referent is this object. A referent that is
    /// asked for by somebody who does not have it may live until the next cycle for that.
    pub(super) fn refers_to(&mut self) -> bool {
        let [reference, object] = self.arguments_of_call();
        self.check_not_null(reference);
        self.drop_operands(2);
        let offset = self.vm.known.fields.reference_referent() as i64;
        let offset = self.b.ins().iconst(types::I64, offset);
        let referent = self.load_referent(reference, offset);
        let is_it = self.b.ins().icmp(IntCC::Equal, referent, object);
        let is_it = self.b.ins().uextend(types::I32, is_it);
        self.push(Kind::Int, is_it);
        true
    }
}

/// Bytes of an element of the array that a method of `Arrays` with this descriptor fills.
pub(super) fn filled_element(descriptor: &[u8]) -> Option<usize> {
    Some(match descriptor {
        b"([ZZ)V" | b"([BB)V" | b"([ZIIZ)V" | b"([BIIB)V" => 1,
        b"([CC)V" | b"([SS)V" | b"([CIIC)V" | b"([SIIS)V" => 2,
        b"([II)V" | b"([FF)V" | b"([IIII)V" | b"([FIIF)V" => 4,
        b"([JJ)V" | b"([DD)V" | b"([JIIJ)V" | b"([DIID)V" => 8,
        _ => return None,
    })
}
