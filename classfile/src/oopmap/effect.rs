//! Effects on the operand stack of the instructions that need neither operands nor locals.

use crate::bytecode::op;

/// The result that an instruction pushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    Nothing,
    /// A value of one slot that is no reference.
    Value,
    /// A long or double.
    TwoSlots,
    Reference,
}

/// Slots popped, then the result pushed; `None` for instructions whose effect depends on operands,
/// and for those that only shuffle the stack.
pub fn of(opcode: u8) -> Option<(usize, Push)> {
    use Push::{Nothing, Reference, TwoSlots, Value};
    Some(match opcode {
        op::NOP | op::IINC | op::GOTO | op::GOTO_W | op::RETURN | op::RET => (0, Nothing),
        op::ACONST_NULL | op::NEW => (0, Reference),
        op::ICONST_M1..=op::ICONST_5 | op::FCONST_0..=op::FCONST_2 | op::BIPUSH | op::SIPUSH => {
            (0, Value)
        }
        op::LCONST_0 | op::LCONST_1 | op::DCONST_0 | op::DCONST_1 => (0, TwoSlots),
        op::IALOAD | op::FALOAD | op::BALOAD | op::CALOAD | op::SALOAD => (2, Value),
        op::LALOAD | op::DALOAD => (2, TwoSlots),
        op::AALOAD => (2, Reference),
        op::IASTORE | op::FASTORE | op::AASTORE | op::BASTORE | op::CASTORE | op::SASTORE => {
            (3, Nothing)
        }
        op::LASTORE | op::DASTORE => (4, Nothing),
        op::POP => (1, Nothing),
        op::POP2 => (2, Nothing),
        op::IADD..=op::DREM => match opcode % 4 {
            // The four types take turns, and `iadd` is divisible by four.
            0 | 2 => (2, Value),
            _ => (4, TwoSlots),
        },
        op::INEG | op::FNEG => (1, Value),
        op::LNEG | op::DNEG => (2, TwoSlots),
        op::ISHL | op::ISHR | op::IUSHR | op::IAND | op::IOR | op::IXOR => (2, Value),
        op::LSHL | op::LSHR | op::LUSHR => (3, TwoSlots),
        op::LAND | op::LOR | op::LXOR => (4, TwoSlots),
        op::I2L | op::I2D | op::F2L | op::F2D => (1, TwoSlots),
        op::L2I | op::L2F | op::D2I | op::D2F => (2, Value),
        op::L2D | op::D2L => (2, TwoSlots),
        op::I2F | op::F2I | op::I2B | op::I2C | op::I2S => (1, Value),
        op::LCMP | op::DCMPL | op::DCMPG => (4, Value),
        op::FCMPL | op::FCMPG => (2, Value),
        op::IFEQ..=op::IFLE | op::IFNULL | op::IFNONNULL => (1, Nothing),
        op::IF_ICMPEQ..=op::IF_ACMPNE => (2, Nothing),
        op::TABLESWITCH | op::LOOKUPSWITCH => (1, Nothing),
        op::IRETURN | op::FRETURN | op::ARETURN | op::ATHROW => (1, Nothing),
        op::LRETURN | op::DRETURN => (2, Nothing),
        op::NEWARRAY | op::ANEWARRAY | op::CHECKCAST => (1, Reference),
        op::ARRAYLENGTH | op::INSTANCEOF => (1, Value),
        op::MONITORENTER | op::MONITOREXIT => (1, Nothing),
        _ => return None,
    })
}

const _: () = assert!(op::IADD.is_multiple_of(4) && op::DREM == op::IADD + 19);
