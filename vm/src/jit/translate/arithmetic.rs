//! Arithmetic, shifts and conversions (JVMS 6.5; 2.8 and 2.11.3 for the corner cases).

use super::{Kind, Translator};
use crate::jit::helpers;
use crate::runtime::code::side_exits::Reason;
use classfile::bytecode::op;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};

impl Translator<'_> {
    pub(super) fn arithmetic(&mut self, opcode: u8) {
        match opcode {
            op::IADD..=op::DREM => {
                let kind = KINDS[(opcode - op::IADD) as usize % 4];
                let operation = (opcode - op::IADD) / 4;
                let (b, a) = (self.pop(), self.pop());
                let result = match kind {
                    Kind::Int | Kind::Long => self.integer(operation, kind.clif(), a, b),
                    _ => self.floating(operation, kind, a, b),
                };
                self.push(kind, result);
            }
            op::INEG..=op::DNEG => {
                let kind = KINDS[(opcode - op::INEG) as usize];
                let value = self.pop();
                let result = match kind {
                    Kind::Int | Kind::Long => self.b.ins().ineg(value),
                    _ => self.b.ins().fneg(value),
                };
                self.push(kind, result);
            }
            op::ISHL..=op::LUSHR => {
                let kind = KINDS[(opcode - op::ISHL) as usize % 2];
                let (by, value) = (self.pop(), self.pop());
                // Cranelift masks the distance as Java does.
                let result = match (opcode - op::ISHL) / 2 {
                    0 => self.b.ins().ishl(value, by),
                    1 => self.b.ins().sshr(value, by),
                    _ => self.b.ins().ushr(value, by),
                };
                self.push(kind, result);
            }
            op::IAND..=op::LXOR => {
                let kind = KINDS[(opcode - op::IAND) as usize % 2];
                let (b, a) = (self.pop(), self.pop());
                let result = match (opcode - op::IAND) / 2 {
                    0 => self.b.ins().band(a, b),
                    1 => self.b.ins().bor(a, b),
                    _ => self.b.ins().bxor(a, b),
                };
                self.push(kind, result);
            }
            _ => self.convert(opcode),
        }
    }

    /// Addition, subtraction, multiplication, division, remainder: 0 to 4.
    fn integer(&mut self, operation: u8, ty: Type, a: Value, b: Value) -> Value {
        match operation {
            0 => self.b.ins().iadd(a, b),
            1 => self.b.ins().isub(a, b),
            2 => self.b.ins().imul(a, b),
            _ => self.divide(operation == 3, ty, a, b),
        }
    }

    fn divide(&mut self, is_quotient: bool, ty: Type, a: Value, b: Value) -> Value {
        let constant = self.constant(b).map(|bits| match ty {
            types::I32 => bits as i32 as i64,
            _ => bits as i64,
        });
        if constant.is_none_or(|divisor| divisor == 0) {
            self.exit_unless(b, Reason::Exception);
        }
        if constant.is_some_and(|divisor| divisor != -1 && divisor != 0) {
            return match is_quotient {
                true => self.b.ins().sdiv(a, b),
                false => self.b.ins().srem(a, b),
            };
        }
        // The smallest value divided by -1 overflows: the machine would trap. Division by -1 is negation.
        let minus_one = self.b.ins().icmp_imm_s(IntCC::Equal, b, -1);
        let one = self.b.ins().iconst(ty, 1);
        let divisor = self.b.ins().select(minus_one, one, b);
        if !is_quotient {
            return self.b.ins().srem(a, divisor);
        }
        let quotient = self.b.ins().sdiv(a, divisor);
        let negated = self.b.ins().ineg(a);
        self.b.ins().select(minus_one, negated, quotient)
    }

    fn floating(&mut self, operation: u8, kind: Kind, a: Value, b: Value) -> Value {
        match operation {
            0 => self.b.ins().fadd(a, b),
            1 => self.b.ins().fsub(a, b),
            2 => self.b.ins().fmul(a, b),
            3 => self.b.ins().fdiv(a, b),
            _ => {
                let address = match kind {
                    Kind::Float => helpers::float_remainder_address(),
                    _ => helpers::double_remainder_address(),
                };
                self.call_leaf(address, &[a, b], Some(kind.clif())).expect("a result")
            }
        }
    }

    fn convert(&mut self, opcode: u8) {
        let value = self.pop();
        let (kind, result) = match opcode {
            op::I2L => (Kind::Long, self.b.ins().sextend(types::I64, value)),
            op::I2F | op::L2F => (Kind::Float, self.b.ins().fcvt_from_sint(types::F32, value)),
            op::I2D | op::L2D => (Kind::Double, self.b.ins().fcvt_from_sint(types::F64, value)),
            op::L2I => (Kind::Int, self.b.ins().ireduce(types::I32, value)),
            // NaN gives 0, values that are too large the largest one: as Java says.
            op::F2I | op::D2I => (Kind::Int, self.b.ins().fcvt_to_sint_sat(types::I32, value)),
            op::F2L | op::D2L => (Kind::Long, self.b.ins().fcvt_to_sint_sat(types::I64, value)),
            op::F2D => (Kind::Double, self.b.ins().fpromote(types::F64, value)),
            op::D2F => (Kind::Float, self.b.ins().fdemote(types::F32, value)),
            op::I2B => (Kind::Int, self.narrow(classfile::BasicType::Byte, value)),
            op::I2C => (Kind::Int, self.narrow(classfile::BasicType::Char, value)),
            _ => (Kind::Int, self.narrow(classfile::BasicType::Short, value)),
        };
        self.push(kind, result);
    }
}

/// In the order of the instruction set.
const KINDS: [Kind; 4] = [Kind::Int, Kind::Long, Kind::Float, Kind::Double];
