//! The instruction set (JVMS chapter 6): numbers, names, lengths, and walking over code.

/// Opcode numbers, by their names in capitals.
pub mod op {
    pub const NOP: u8 = 0;
    pub const ACONST_NULL: u8 = 1;
    pub const ICONST_M1: u8 = 2;
    pub const ICONST_0: u8 = 3;
    pub const ICONST_1: u8 = 4;
    pub const ICONST_2: u8 = 5;
    pub const ICONST_3: u8 = 6;
    pub const ICONST_4: u8 = 7;
    pub const ICONST_5: u8 = 8;
    pub const LCONST_0: u8 = 9;
    pub const LCONST_1: u8 = 10;
    pub const FCONST_0: u8 = 11;
    pub const FCONST_1: u8 = 12;
    pub const FCONST_2: u8 = 13;
    pub const DCONST_0: u8 = 14;
    pub const DCONST_1: u8 = 15;
    pub const BIPUSH: u8 = 16;
    pub const SIPUSH: u8 = 17;
    pub const LDC: u8 = 18;
    pub const LDC_W: u8 = 19;
    pub const LDC2_W: u8 = 20;
    pub const ILOAD: u8 = 21;
    pub const LLOAD: u8 = 22;
    pub const FLOAD: u8 = 23;
    pub const DLOAD: u8 = 24;
    pub const ALOAD: u8 = 25;
    pub const ILOAD_0: u8 = 26;
    pub const ILOAD_1: u8 = 27;
    pub const ILOAD_2: u8 = 28;
    pub const ILOAD_3: u8 = 29;
    pub const LLOAD_0: u8 = 30;
    pub const LLOAD_1: u8 = 31;
    pub const LLOAD_2: u8 = 32;
    pub const LLOAD_3: u8 = 33;
    pub const FLOAD_0: u8 = 34;
    pub const FLOAD_1: u8 = 35;
    pub const FLOAD_2: u8 = 36;
    pub const FLOAD_3: u8 = 37;
    pub const DLOAD_0: u8 = 38;
    pub const DLOAD_1: u8 = 39;
    pub const DLOAD_2: u8 = 40;
    pub const DLOAD_3: u8 = 41;
    pub const ALOAD_0: u8 = 42;
    pub const ALOAD_1: u8 = 43;
    pub const ALOAD_2: u8 = 44;
    pub const ALOAD_3: u8 = 45;
    pub const IALOAD: u8 = 46;
    pub const LALOAD: u8 = 47;
    pub const FALOAD: u8 = 48;
    pub const DALOAD: u8 = 49;
    pub const AALOAD: u8 = 50;
    pub const BALOAD: u8 = 51;
    pub const CALOAD: u8 = 52;
    pub const SALOAD: u8 = 53;
    pub const ISTORE: u8 = 54;
    pub const LSTORE: u8 = 55;
    pub const FSTORE: u8 = 56;
    pub const DSTORE: u8 = 57;
    pub const ASTORE: u8 = 58;
    pub const ISTORE_0: u8 = 59;
    pub const ISTORE_1: u8 = 60;
    pub const ISTORE_2: u8 = 61;
    pub const ISTORE_3: u8 = 62;
    pub const LSTORE_0: u8 = 63;
    pub const LSTORE_1: u8 = 64;
    pub const LSTORE_2: u8 = 65;
    pub const LSTORE_3: u8 = 66;
    pub const FSTORE_0: u8 = 67;
    pub const FSTORE_1: u8 = 68;
    pub const FSTORE_2: u8 = 69;
    pub const FSTORE_3: u8 = 70;
    pub const DSTORE_0: u8 = 71;
    pub const DSTORE_1: u8 = 72;
    pub const DSTORE_2: u8 = 73;
    pub const DSTORE_3: u8 = 74;
    pub const ASTORE_0: u8 = 75;
    pub const ASTORE_1: u8 = 76;
    pub const ASTORE_2: u8 = 77;
    pub const ASTORE_3: u8 = 78;
    pub const IASTORE: u8 = 79;
    pub const LASTORE: u8 = 80;
    pub const FASTORE: u8 = 81;
    pub const DASTORE: u8 = 82;
    pub const AASTORE: u8 = 83;
    pub const BASTORE: u8 = 84;
    pub const CASTORE: u8 = 85;
    pub const SASTORE: u8 = 86;
    pub const POP: u8 = 87;
    pub const POP2: u8 = 88;
    pub const DUP: u8 = 89;
    pub const DUP_X1: u8 = 90;
    pub const DUP_X2: u8 = 91;
    pub const DUP2: u8 = 92;
    pub const DUP2_X1: u8 = 93;
    pub const DUP2_X2: u8 = 94;
    pub const SWAP: u8 = 95;
    pub const IADD: u8 = 96;
    pub const LADD: u8 = 97;
    pub const FADD: u8 = 98;
    pub const DADD: u8 = 99;
    pub const ISUB: u8 = 100;
    pub const LSUB: u8 = 101;
    pub const FSUB: u8 = 102;
    pub const DSUB: u8 = 103;
    pub const IMUL: u8 = 104;
    pub const LMUL: u8 = 105;
    pub const FMUL: u8 = 106;
    pub const DMUL: u8 = 107;
    pub const IDIV: u8 = 108;
    pub const LDIV: u8 = 109;
    pub const FDIV: u8 = 110;
    pub const DDIV: u8 = 111;
    pub const IREM: u8 = 112;
    pub const LREM: u8 = 113;
    pub const FREM: u8 = 114;
    pub const DREM: u8 = 115;
    pub const INEG: u8 = 116;
    pub const LNEG: u8 = 117;
    pub const FNEG: u8 = 118;
    pub const DNEG: u8 = 119;
    pub const ISHL: u8 = 120;
    pub const LSHL: u8 = 121;
    pub const ISHR: u8 = 122;
    pub const LSHR: u8 = 123;
    pub const IUSHR: u8 = 124;
    pub const LUSHR: u8 = 125;
    pub const IAND: u8 = 126;
    pub const LAND: u8 = 127;
    pub const IOR: u8 = 128;
    pub const LOR: u8 = 129;
    pub const IXOR: u8 = 130;
    pub const LXOR: u8 = 131;
    pub const IINC: u8 = 132;
    pub const I2L: u8 = 133;
    pub const I2F: u8 = 134;
    pub const I2D: u8 = 135;
    pub const L2I: u8 = 136;
    pub const L2F: u8 = 137;
    pub const L2D: u8 = 138;
    pub const F2I: u8 = 139;
    pub const F2L: u8 = 140;
    pub const F2D: u8 = 141;
    pub const D2I: u8 = 142;
    pub const D2L: u8 = 143;
    pub const D2F: u8 = 144;
    pub const I2B: u8 = 145;
    pub const I2C: u8 = 146;
    pub const I2S: u8 = 147;
    pub const LCMP: u8 = 148;
    pub const FCMPL: u8 = 149;
    pub const FCMPG: u8 = 150;
    pub const DCMPL: u8 = 151;
    pub const DCMPG: u8 = 152;
    pub const IFEQ: u8 = 153;
    pub const IFNE: u8 = 154;
    pub const IFLT: u8 = 155;
    pub const IFGE: u8 = 156;
    pub const IFGT: u8 = 157;
    pub const IFLE: u8 = 158;
    pub const IF_ICMPEQ: u8 = 159;
    pub const IF_ICMPNE: u8 = 160;
    pub const IF_ICMPLT: u8 = 161;
    pub const IF_ICMPGE: u8 = 162;
    pub const IF_ICMPGT: u8 = 163;
    pub const IF_ICMPLE: u8 = 164;
    pub const IF_ACMPEQ: u8 = 165;
    pub const IF_ACMPNE: u8 = 166;
    pub const GOTO: u8 = 167;
    pub const JSR: u8 = 168;
    pub const RET: u8 = 169;
    pub const TABLESWITCH: u8 = 170;
    pub const LOOKUPSWITCH: u8 = 171;
    pub const IRETURN: u8 = 172;
    pub const LRETURN: u8 = 173;
    pub const FRETURN: u8 = 174;
    pub const DRETURN: u8 = 175;
    pub const ARETURN: u8 = 176;
    pub const RETURN: u8 = 177;
    pub const GETSTATIC: u8 = 178;
    pub const PUTSTATIC: u8 = 179;
    pub const GETFIELD: u8 = 180;
    pub const PUTFIELD: u8 = 181;
    pub const INVOKEVIRTUAL: u8 = 182;
    pub const INVOKESPECIAL: u8 = 183;
    pub const INVOKESTATIC: u8 = 184;
    pub const INVOKEINTERFACE: u8 = 185;
    pub const INVOKEDYNAMIC: u8 = 186;
    pub const NEW: u8 = 187;
    pub const NEWARRAY: u8 = 188;
    pub const ANEWARRAY: u8 = 189;
    pub const ARRAYLENGTH: u8 = 190;
    pub const ATHROW: u8 = 191;
    pub const CHECKCAST: u8 = 192;
    pub const INSTANCEOF: u8 = 193;
    pub const MONITORENTER: u8 = 194;
    pub const MONITOREXIT: u8 = 195;
    pub const WIDE: u8 = 196;
    pub const MULTIANEWARRAY: u8 = 197;
    pub const IFNULL: u8 = 198;
    pub const IFNONNULL: u8 = 199;
    pub const GOTO_W: u8 = 200;
    pub const JSR_W: u8 = 201;

    /// The last opcode that a class file may hold.
    pub const LAST: u8 = JSR_W;
}

/// Name of an opcode as in the specification; `illegal` for those that do not exist.
pub fn name(opcode: u8) -> &'static str {
    NAMES.get(opcode as usize).copied().unwrap_or("illegal")
}

/// Bytes of an instruction without `wide`; 0 where the length varies (`tableswitch`,
/// `lookupswitch`, `wide`) and for illegal opcodes.
#[inline]
pub fn fixed_length(opcode: u8) -> usize {
    LENGTHS.get(opcode as usize).map_or(0, |&length| length as usize)
}

/// The length of the instruction at `bci`, operands and padding included, or `None` when the opcode
/// is illegal or the code ends inside it.
pub fn length_at(code: &[u8], bci: usize) -> Option<usize> {
    let opcode = *code.get(bci)?;
    let length = match opcode {
        op::WIDE => match *code.get(bci + 1)? {
            op::IINC => 6,
            op::ILOAD..=op::ALOAD | op::ISTORE..=op::ASTORE | op::RET => 4,
            _ => return None,
        },
        op::TABLESWITCH => {
            let operands = switch_operands(bci);
            let low = read_i32(code, operands + 4)? as i64;
            let high = read_i32(code, operands + 8)? as i64;
            let entries = usize::try_from(high - low + 1).ok().filter(|&entries| entries > 0)?;
            operands - bci + 12 + 4 * entries
        }
        op::LOOKUPSWITCH => {
            let operands = switch_operands(bci);
            let pairs = usize::try_from(read_i32(code, operands + 4)?).ok()?;
            operands - bci + 8 + 8 * pairs
        }
        _ => fixed_length(opcode),
    };
    (length != 0 && length <= code.len() - bci).then_some(length)
}

/// Where the operands of a switch begin: after the padding.
#[inline]
pub fn switch_operands(bci: usize) -> usize {
    (bci + 4) & !3
}

/// Code that is not a sequence of whole, legal instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadInstruction {
    /// Where the bad instruction begins.
    pub bci: usize,
}

/// One instruction of a method.
#[derive(Clone, Copy, Debug)]
pub struct Instruction<'a> {
    code: &'a [u8],
    pub bci: usize,
    /// For `wide`, the widened opcode.
    pub opcode: u8,
    pub is_wide: bool,
    pub length: usize,
}

impl<'a> Instruction<'a> {
    /// The instruction at `bci`, or `None` when there is no whole, legal one.
    pub fn at(code: &'a [u8], bci: usize) -> Option<Instruction<'a>> {
        let length = length_at(code, bci)?;
        let is_wide = code[bci] == op::WIDE;
        let opcode = code[bci + usize::from(is_wide)];
        Some(Instruction { code, bci, opcode, is_wide, length })
    }

    pub fn next_bci(&self) -> usize {
        self.bci + self.length
    }

    /// The unsigned byte at an offset from the opcode.
    pub fn u8_at(&self, offset: usize) -> u8 {
        self.code[self.bci + offset]
    }

    /// The unsigned 16-bit operand at an offset from the opcode.
    pub fn u16_at(&self, offset: usize) -> u16 {
        let at = self.bci + offset;
        u16::from_be_bytes([self.code[at], self.code[at + 1]])
    }

    /// The signed 32-bit operand at an offset from the opcode.
    pub fn i32_at(&self, offset: usize) -> i32 {
        read_i32(self.code, self.bci + offset).expect("an operand of a whole instruction")
    }

    /// The constant pool index of `ldc`, field, invoke, type instructions.
    pub fn pool_index(&self) -> u16 {
        if self.opcode == op::LDC { self.u8_at(1) as u16 } else { self.u16_at(1) }
    }

    /// The local slot of a load, store, `iinc` or `ret`, implied ones included; `None` for others.
    pub fn local_slot(&self) -> Option<u16> {
        let slot = match self.opcode {
            op::ILOAD..=op::ALOAD | op::ISTORE..=op::ASTORE | op::RET | op::IINC => {
                if self.is_wide { self.u16_at(2) } else { self.u8_at(1) as u16 }
            }
            op::ILOAD_0..=op::ALOAD_3 => (self.opcode - op::ILOAD_0) as u16 & 3,
            op::ISTORE_0..=op::ASTORE_3 => (self.opcode - op::ISTORE_0) as u16 & 3,
            _ => return None,
        };
        Some(slot)
    }

    /// The same load or store without its slot: `aload_2` and `aload` are both `ALOAD`.
    pub fn generic_opcode(&self) -> u8 {
        match self.opcode {
            op::ILOAD_0..=op::ALOAD_3 => op::ILOAD + (self.opcode - op::ILOAD_0) / 4,
            op::ISTORE_0..=op::ASTORE_3 => op::ISTORE + (self.opcode - op::ISTORE_0) / 4,
            other => other,
        }
    }

    /// Target of a branch, `goto_w` and `jsr_w` included; may lie outside of the code.
    /// `None` for instructions that are no branches, and for switches.
    pub fn branch_target(&self) -> Option<i64> {
        let offset = match self.opcode {
            op::IFEQ..=op::JSR | op::IFNULL | op::IFNONNULL => self.u16_at(1) as i16 as i64,
            op::GOTO_W | op::JSR_W => self.i32_at(1) as i64,
            _ => return None,
        };
        Some(self.bci as i64 + offset)
    }

    /// Targets of a switch, the default first; nothing for other instructions. They may lie outside
    /// of the code.
    pub fn switch_targets(self) -> impl Iterator<Item = i64> + 'a {
        let operands = switch_operands(self.bci) - self.bci;
        let (first, stride, count) = match self.opcode {
            op::TABLESWITCH => (operands + 12, 4, (self.length - operands - 12) / 4 + 1),
            op::LOOKUPSWITCH => (operands + 12, 8, (self.length - operands - 8) / 8 + 1),
            _ => (0, 0, 0),
        };
        (0..count).map(move |index| {
            let at = if index == 0 { operands } else { first + stride * (index - 1) };
            self.bci as i64 + self.i32_at(at) as i64
        })
    }

    /// Matches of a `lookupswitch`, in order; nothing for other instructions.
    pub fn switch_keys(self) -> impl Iterator<Item = i32> + 'a {
        let operands = switch_operands(self.bci) - self.bci;
        let count =
            if self.opcode == op::LOOKUPSWITCH { (self.length - operands - 8) / 8 } else { 0 };
        (0..count).map(move |index| self.i32_at(operands + 8 + 8 * index))
    }

    /// Whether control never reaches the next instruction by falling through.
    pub fn ends_block(&self) -> bool {
        matches!(
            self.opcode,
            op::GOTO | op::GOTO_W | op::RET | op::TABLESWITCH
                ..=op::RETURN | op::ATHROW | op::JSR | op::JSR_W
        )
    }
}

/// Instructions in order; ends after the first bad one.
#[derive(Clone, Debug)]
pub struct Instructions<'a> {
    code: &'a [u8],
    bci: usize,
}

impl<'a> Instructions<'a> {
    pub fn new(code: &'a [u8]) -> Instructions<'a> {
        Instructions { code, bci: 0 }
    }
}

impl<'a> Iterator for Instructions<'a> {
    type Item = Result<Instruction<'a>, BadInstruction>;

    fn next(&mut self) -> Option<Self::Item> {
        let bci = self.bci;
        if bci >= self.code.len() {
            return None;
        }
        let Some(instruction) = Instruction::at(self.code, bci) else {
            self.bci = self.code.len();
            return Some(Err(BadInstruction { bci }));
        };
        self.bci = instruction.next_bci();
        Some(Ok(instruction))
    }
}

fn read_i32(code: &[u8], at: usize) -> Option<i32> {
    let bytes = code.get(at..at + 4)?;
    Some(i32::from_be_bytes(bytes.try_into().expect("four bytes")))
}

const NAMES: [&str; 202] = [
    "nop",
    "aconst_null",
    "iconst_m1",
    "iconst_0",
    "iconst_1",
    "iconst_2",
    "iconst_3",
    "iconst_4",
    "iconst_5",
    "lconst_0",
    "lconst_1",
    "fconst_0",
    "fconst_1",
    "fconst_2",
    "dconst_0",
    "dconst_1",
    "bipush",
    "sipush",
    "ldc",
    "ldc_w",
    "ldc2_w",
    "iload",
    "lload",
    "fload",
    "dload",
    "aload",
    "iload_0",
    "iload_1",
    "iload_2",
    "iload_3",
    "lload_0",
    "lload_1",
    "lload_2",
    "lload_3",
    "fload_0",
    "fload_1",
    "fload_2",
    "fload_3",
    "dload_0",
    "dload_1",
    "dload_2",
    "dload_3",
    "aload_0",
    "aload_1",
    "aload_2",
    "aload_3",
    "iaload",
    "laload",
    "faload",
    "daload",
    "aaload",
    "baload",
    "caload",
    "saload",
    "istore",
    "lstore",
    "fstore",
    "dstore",
    "astore",
    "istore_0",
    "istore_1",
    "istore_2",
    "istore_3",
    "lstore_0",
    "lstore_1",
    "lstore_2",
    "lstore_3",
    "fstore_0",
    "fstore_1",
    "fstore_2",
    "fstore_3",
    "dstore_0",
    "dstore_1",
    "dstore_2",
    "dstore_3",
    "astore_0",
    "astore_1",
    "astore_2",
    "astore_3",
    "iastore",
    "lastore",
    "fastore",
    "dastore",
    "aastore",
    "bastore",
    "castore",
    "sastore",
    "pop",
    "pop2",
    "dup",
    "dup_x1",
    "dup_x2",
    "dup2",
    "dup2_x1",
    "dup2_x2",
    "swap",
    "iadd",
    "ladd",
    "fadd",
    "dadd",
    "isub",
    "lsub",
    "fsub",
    "dsub",
    "imul",
    "lmul",
    "fmul",
    "dmul",
    "idiv",
    "ldiv",
    "fdiv",
    "ddiv",
    "irem",
    "lrem",
    "frem",
    "drem",
    "ineg",
    "lneg",
    "fneg",
    "dneg",
    "ishl",
    "lshl",
    "ishr",
    "lshr",
    "iushr",
    "lushr",
    "iand",
    "land",
    "ior",
    "lor",
    "ixor",
    "lxor",
    "iinc",
    "i2l",
    "i2f",
    "i2d",
    "l2i",
    "l2f",
    "l2d",
    "f2i",
    "f2l",
    "f2d",
    "d2i",
    "d2l",
    "d2f",
    "i2b",
    "i2c",
    "i2s",
    "lcmp",
    "fcmpl",
    "fcmpg",
    "dcmpl",
    "dcmpg",
    "ifeq",
    "ifne",
    "iflt",
    "ifge",
    "ifgt",
    "ifle",
    "if_icmpeq",
    "if_icmpne",
    "if_icmplt",
    "if_icmpge",
    "if_icmpgt",
    "if_icmple",
    "if_acmpeq",
    "if_acmpne",
    "goto",
    "jsr",
    "ret",
    "tableswitch",
    "lookupswitch",
    "ireturn",
    "lreturn",
    "freturn",
    "dreturn",
    "areturn",
    "return",
    "getstatic",
    "putstatic",
    "getfield",
    "putfield",
    "invokevirtual",
    "invokespecial",
    "invokestatic",
    "invokeinterface",
    "invokedynamic",
    "new",
    "newarray",
    "anewarray",
    "arraylength",
    "athrow",
    "checkcast",
    "instanceof",
    "monitorenter",
    "monitorexit",
    "wide",
    "multianewarray",
    "ifnull",
    "ifnonnull",
    "goto_w",
    "jsr_w",
];

#[rustfmt::skip]
const LENGTHS: [u8; 202] = [
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    2, 3, 2, 3, 3, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3,
    3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 0, 0, 1, 1, 1, 1,
    1, 1, 3, 3, 3, 3, 3, 3, 3, 5, 5, 3, 2, 3, 1, 1,
    3, 3, 1, 1, 0, 4, 3, 3, 5, 5,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_has_the_well_known_numbers() {
        assert_eq!(op::JSR_W, 201);
        assert_eq!(op::INVOKEDYNAMIC, 186);
        assert_eq!(name(op::MULTIANEWARRAY), "multianewarray");
        assert_eq!(name(202), "illegal");
        assert_eq!(fixed_length(op::MULTIANEWARRAY), 4);
        assert_eq!(fixed_length(op::IF_ICMPLE), 3);
        assert_eq!(fixed_length(255), 0);
    }

    #[test]
    fn walks_switches_and_wide() {
        let mut code = vec![op::NOP, op::TABLESWITCH, 0, 0];
        for word in [20i32, 3, 4, 24, 28] {
            code.extend(word.to_be_bytes());
        }
        code.extend([op::WIDE, op::IINC, 1, 2, 0xff, 0xff]);
        code.extend([op::LOOKUPSWITCH, 0]);
        for word in [8i32, 1, 77, -30] {
            code.extend(word.to_be_bytes());
        }
        let all: Vec<_> = Instructions::new(&code).map(|i| i.expect("legal")).collect();
        let bcis: Vec<_> = all.iter().map(|i| i.bci).collect();
        assert_eq!(bcis, [0, 1, 24, 30]);
        assert_eq!(all[1].switch_targets().collect::<Vec<_>>(), [21, 25, 29]);
        assert_eq!(all[2].local_slot(), Some(0x102));
        assert_eq!(all[3].switch_targets().collect::<Vec<_>>(), [38, 0]);
        assert_eq!(all[3].switch_keys().collect::<Vec<_>>(), [77]);
    }

    #[test]
    fn bad_code_is_an_error_once() {
        let code = [op::NOP, op::SIPUSH, 1];
        let all: Vec<_> = Instructions::new(&code).collect();
        assert_eq!(all.len(), 2);
        assert_eq!(all[1].unwrap_err().bci, 1);
        for bad in [&[op::WIDE][..], &[op::WIDE, op::NOP, 0, 0], &[203], &[op::TABLESWITCH; 9]] {
            assert_eq!(length_at(bad, 0), None);
        }
        let mut huge = vec![op::TABLESWITCH, 0, 0, 0];
        for word in [0i32, i32::MIN, i32::MAX] {
            huge.extend(word.to_be_bytes());
        }
        assert_eq!(length_at(&huge, 0), None);
    }
}
