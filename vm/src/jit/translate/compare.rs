//! Comparisons and the conditions of branches.

use super::facts::Fact;
use super::{Kind, Translator};
use classfile::bytecode::op;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};

/// A three-way comparison, from which a branch right behind it makes a two-way one.
#[derive(Clone, Copy)]
pub(super) struct Compared {
    result: Value,
    opcode: u8,
    a: Value,
    b: Value,
}

impl Translator<'_> {
    /// `lcmp`, `fcmpl` and so on.
    pub(super) fn compare(&mut self, opcode: u8) {
        let (b, a) = (self.pop(), self.pop());
        let (less, greater) = match opcode {
            op::LCMP => (
                self.b.ins().icmp(IntCC::SignedLessThan, a, b),
                self.b.ins().icmp(IntCC::SignedGreaterThan, a, b),
            ),
            op::FCMPL | op::DCMPL => (
                self.b.ins().fcmp(FloatCC::UnorderedOrLessThan, a, b),
                self.b.ins().fcmp(FloatCC::GreaterThan, a, b),
            ),
            _ => (
                self.b.ins().fcmp(FloatCC::LessThan, a, b),
                self.b.ins().fcmp(FloatCC::UnorderedOrGreaterThan, a, b),
            ),
        };
        let result = self.b.ins().isub(greater, less);
        let result = self.b.ins().sextend(types::I32, result);
        self.last_compare = Some(Compared { result, opcode, a, b });
        self.push(Kind::Int, result);
    }

    /// Whether the only use of the present instruction's result is a test for null.
    pub(super) fn is_only_tested_for_null(&self) -> bool {
        let next = self.next_bci(self.scopes.len() - 1);
        let flow = &self.scope().flow;
        let opcode = flow.code.bytecode.get(next).copied();
        matches!(opcode, Some(op::IFNULL | op::IFNONNULL))
            && flow.block_index(next as u16).is_none()
    }

    /// The facts that a branch instruction, whose operands are on the stack, establishes where it is taken and
    /// where it is not.
    pub(super) fn facts_of_branch(&self, opcode: u8) -> [Option<Fact>; 2] {
        match opcode {
            op::IFNULL => [None, Some(Fact::NotNull(self.peek(0)))],
            op::IFNONNULL => [Some(Fact::NotNull(self.peek(0))), None],
            op::IFLT | op::IFLE => [None, Some(Fact::NotNegative(self.peek(0)))],
            op::IFGE | op::IFGT => [Some(Fact::NotNegative(self.peek(0))), None],
            op::IF_ICMPLT => [Some(Fact::Less(self.peek(1), self.peek(0))), None],
            op::IF_ICMPGE => [None, Some(Fact::Less(self.peek(1), self.peek(0)))],
            op::IF_ICMPGT => [Some(Fact::Less(self.peek(0), self.peek(1))), None],
            op::IF_ICMPLE => [None, Some(Fact::Less(self.peek(0), self.peek(1)))],
            _ => [None, None],
        }
    }

    /// Whether a branch instruction, whose operands are on the stack, is always taken, or never. Not asked of the
    /// method itself where its code is entered in the middle: the way there must stay one.
    pub(super) fn outcome(&self, opcode: u8) -> Option<bool> {
        if self.osr_bci.is_some() && self.scopes.len() == 1 {
            return None;
        }
        let (condition, a, b) = match opcode {
            op::IFEQ..=op::IFLE => {
                (CONDITIONS[(opcode - op::IFEQ) as usize], self.constant(self.peek(0))?, 0)
            }
            op::IF_ICMPEQ..=op::IF_ICMPLE => {
                let (a, b) = (self.constant(self.peek(1))?, self.constant(self.peek(0))?);
                (CONDITIONS[(opcode - op::IF_ICMPEQ) as usize], a, b)
            }
            op::IFNULL | op::IFNONNULL => {
                let is_object = self.facts.is_not_null(self.peek(0));
                let is_null = !is_object && self.constant(self.peek(0))? == 0;
                return (is_object || is_null).then_some(is_null == (opcode == op::IFNULL));
            }
            _ => return None,
        };
        let (a, b) = (a as i32, b as i32);
        Some(match condition {
            IntCC::Equal => a == b,
            IntCC::NotEqual => a != b,
            IntCC::SignedLessThan => a < b,
            IntCC::SignedGreaterThanOrEqual => a >= b,
            IntCC::SignedGreaterThan => a > b,
            _ => a <= b,
        })
    }

    /// The condition of a branch instruction, whose operands are popped.
    pub(super) fn condition(&mut self, opcode: u8) -> Value {
        match opcode {
            op::IF_ICMPEQ..=op::IF_ICMPLE => {
                let (b, a) = (self.pop(), self.pop());
                self.b.ins().icmp(CONDITIONS[(opcode - op::IF_ICMPEQ) as usize], a, b)
            }
            op::IF_ACMPEQ | op::IF_ACMPNE => {
                let (mut b, mut a) = (self.pop(), self.pop());
                if let (Some(word_a), Some(word_b)) = (self.facts.word(a), self.facts.word(b)) {
                    (a, b) = (word_a, word_b);
                }
                self.b.ins().icmp(CONDITIONS[(opcode - op::IF_ACMPEQ) as usize], a, b)
            }
            op::IFNULL | op::IFNONNULL => {
                let value = self.pop();
                let presence = self.presence(value);
                self.b.ins().icmp_imm_s(CONDITIONS[(opcode - op::IFNULL) as usize], presence, 0)
            }
            _ => {
                let value = self.pop();
                let condition = CONDITIONS[(opcode - op::IFEQ) as usize];
                match self.last_compare {
                    Some(compared) if compared.result == value => self.two_way(compared, condition),
                    _ => self.b.ins().icmp_imm_s(condition, value, 0),
                }
            }
        }
    }

    fn two_way(&mut self, compared: Compared, condition: IntCC) -> Value {
        let Compared { opcode, a, b, .. } = compared;
        if opcode == op::LCMP {
            return self.b.ins().icmp(condition, a, b);
        }
        // The result of a comparison with a NaN.
        let nan_is_less = matches!(opcode, op::FCMPL | op::DCMPL);
        let condition = match (condition, nan_is_less) {
            (IntCC::Equal, _) => FloatCC::Equal,
            (IntCC::NotEqual, _) => FloatCC::NotEqual,
            (IntCC::SignedLessThan, true) => FloatCC::UnorderedOrLessThan,
            (IntCC::SignedLessThan, false) => FloatCC::LessThan,
            (IntCC::SignedLessThanOrEqual, true) => FloatCC::UnorderedOrLessThanOrEqual,
            (IntCC::SignedLessThanOrEqual, false) => FloatCC::LessThanOrEqual,
            (IntCC::SignedGreaterThan, true) => FloatCC::GreaterThan,
            (IntCC::SignedGreaterThan, false) => FloatCC::UnorderedOrGreaterThan,
            (IntCC::SignedGreaterThanOrEqual, true) => FloatCC::GreaterThanOrEqual,
            (_, _) => FloatCC::UnorderedOrGreaterThanOrEqual,
        };
        self.b.ins().fcmp(condition, a, b)
    }
}

/// In the order of the instruction set.
const CONDITIONS: [IntCC; 6] = [
    IntCC::Equal,
    IntCC::NotEqual,
    IntCC::SignedLessThan,
    IntCC::SignedGreaterThanOrEqual,
    IntCC::SignedGreaterThan,
    IntCC::SignedLessThanOrEqual,
];

/// How many operands a branch instruction takes.
pub(super) fn operands_of_branch(opcode: u8) -> usize {
    match opcode {
        op::IF_ICMPEQ..=op::IF_ACMPNE => 2,
        _ => 1,
    }
}
