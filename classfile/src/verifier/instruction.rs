//! The operands and results of each instruction (JVMS 4.10.1.9), except for members.

use super::Hierarchy;
use super::error::{Fault, Origin, Reason};
use super::method::MethodVerifier;
use super::vtype::VType;
use crate::bytecode::{Instruction, name, op, switch_operands};
use crate::symbol::Symbol;
use crate::{BasicType, CpEntry, FieldType};

impl<H: Hierarchy> MethodVerifier<'_, '_, H> {
    /// Executes one instruction on the types. `Ok(true)`: it called the constructor of `this`.
    pub fn execute(&mut self, at: &Instruction) -> Result<bool, Fault<H::Error>> {
        let opcode = at.generic_opcode();
        if let Some((takes, gives)) = simple_effect(opcode) {
            for &letter in takes.as_bytes().iter().rev() {
                self.pop_letter(letter)?;
            }
            for &letter in gives.as_bytes() {
                self.frame.push_slots(slots(letter))?;
            }
        }
        match opcode {
            op::ILOAD..=op::ASTORE if !is_array_access(opcode) => self.local(opcode, at)?,
            op::IINC => {
                let index = at.local_slot().expect("iinc has a local");
                let vtype = self.frame.local(index, VType::Integer, self.types)?;
                self.frame.set_local(index, vtype)?;
            }
            op::IALOAD..=op::SALOAD => self.array_load(opcode)?,
            op::IASTORE..=op::SASTORE => self.array_store(opcode)?,
            op::POP => {
                self.frame.pop(VType::Category1, self.types)?;
            }
            op::POP2 => {
                self.pop_two_slots()?;
            }
            op::DUP..=op::SWAP => self.shuffle(opcode)?,
            op::LDC | op::LDC_W | op::LDC2_W => self.constant(at)?,
            op::IFEQ..=op::GOTO | op::GOTO_W | op::IFNULL | op::IFNONNULL => {
                self.check_jump(at.branch_target().expect("a branch"))?;
            }
            op::TABLESWITCH | op::LOOKUPSWITCH => self.switch(at)?,
            op::IRETURN..=op::ARETURN => self.return_value(opcode)?,
            op::RETURN => self.return_nothing()?,
            op::GETSTATIC..=op::PUTFIELD => self.field(at)?,
            op::INVOKEVIRTUAL..=op::INVOKEDYNAMIC => return self.invoke(at),
            op::NEW..=op::ANEWARRAY | op::MULTIANEWARRAY => self.create(at)?,
            op::ARRAYLENGTH => {
                let array = self.frame.pop(VType::AnyReference, self.types)?;
                if array != VType::Null && array.array().is_none() {
                    return Err(self.bad_popped(None, "Bad type on operand stack in arraylength"));
                }
                self.frame.push(VType::Integer)?;
            }
            op::CHECKCAST | op::INSTANCEOF => {
                let class = self.class_constant(at.u16_at(1))?;
                let object = self.types.object();
                self.frame.pop(object, self.types)?;
                let gives = if opcode == op::CHECKCAST { class } else { VType::Integer };
                self.frame.push(gives)?;
            }
            op::ATHROW => {
                self.frame.pop(VType::class("java/lang/Throwable"), self.types)?;
            }
            _ if simple_effect(opcode).is_some() => {}
            // `jsr` and `ret` among them: there are no types for return addresses.
            _ => {
                let message = format!("Bad instruction: {opcode:02x}");
                return Err(Fault::bad_code(at.bci, message));
            }
        }
        Ok(false)
    }

    fn pop_letter(&mut self, letter: u8) -> Result<(), Fault<H::Error>> {
        match *slots(letter) {
            [first, second] => self.frame.pop_pair([first, second], self.types),
            ref single => self.frame.pop(single[0], self.types).map(drop),
        }
    }

    fn local(&mut self, opcode: u8, at: &Instruction) -> Result<(), Fault<H::Error>> {
        let index = at.local_slot().expect("loads and stores have a local");
        let is_load = opcode <= op::ALOAD;
        let letter = b"IJFDA"[(opcode - if is_load { op::ILOAD } else { op::ISTORE }) as usize];
        let types = slots(letter);
        if is_load {
            let found = self.frame.local(index, types[0], self.types)?;
            return match types.get(1) {
                Some(_) => self.frame.push_slots(types),
                None => self.frame.push(found),
            };
        }
        let found = match *types {
            [first, second] => {
                self.frame.pop_pair([first, second], self.types)?;
                first
            }
            ref single => self.frame.pop(single[0], self.types)?,
        };
        self.frame.set_local(index, found)
    }

    fn array_load(&mut self, opcode: u8) -> Result<(), Fault<H::Error>> {
        self.frame.pop(VType::Integer, self.types)?;
        let array = self.array_operand(opcode, op::IALOAD)?;
        if opcode != op::AALOAD {
            return self.frame.push_slots(slots(b"IJFDAIII"[(opcode - op::IALOAD) as usize]));
        }
        self.frame.push(array.component().unwrap_or(VType::Null))
    }

    fn array_store(&mut self, opcode: u8) -> Result<(), Fault<H::Error>> {
        match opcode {
            op::AASTORE => {
                let object = self.types.object();
                self.frame.pop(object, self.types)?;
            }
            _ => self.pop_letter(b"IJFDAIII"[(opcode - op::IASTORE) as usize])?,
        }
        self.frame.pop(VType::Integer, self.types)?;
        self.array_operand(opcode, op::IASTORE).map(drop)
    }

    /// Pops the array of an element access; `first` is the access to `int` elements.
    fn array_operand(&mut self, opcode: u8, first: u8) -> Result<VType, Fault<H::Error>> {
        let array = self.frame.pop(VType::AnyReference, self.types)?;
        let letters: &[u8] = match opcode - first {
            0 => b"I",
            1 => b"J",
            2 => b"F",
            3 => b"D",
            4 => b"L[",
            5 => b"BZ",
            6 => b"C",
            _ => b"S",
        };
        if !array.is_array_of(letters) {
            let wanted = match letters {
                b"BZ" => None,
                b"L[" => Some(VType::AnyReference),
                _ => Some(VType::Reference(Symbol::intern(&[b'[', letters[0]]))),
            };
            let message = format!("Bad type on operand stack in {}", name(opcode));
            return Err(self.bad_popped(wanted, &message));
        }
        Ok(array)
    }

    fn bad_popped(&self, wanted: Option<VType>, message: &str) -> Fault<H::Error> {
        let wanted = wanted.map(Origin::implicit);
        let reason = Reason::BadType { found: self.frame.popped(), wanted };
        Fault::new(self.frame.bci, reason, message)
    }

    /// A long or double, or two values of one slot; the upper slot first.
    fn pop_two_slots(&mut self) -> Result<[VType; 2], Fault<H::Error>> {
        let upper = self.frame.pop_any()?;
        let wanted = if upper.is_second_slot() { VType::Category2 } else { VType::Category1 };
        if !upper.is_second_slot() && !upper.is_category1() {
            let opcode = name(self.code.bytecode[self.frame.bci]);
            let message = format!("Bad type on operand stack in {opcode}");
            return Err(self.bad_popped(None, &message));
        }
        let lower = self.frame.pop(wanted, self.types)?;
        Ok([upper, lower])
    }

    fn shuffle(&mut self, opcode: u8) -> Result<(), Fault<H::Error>> {
        // The slots that are copied, then those that they are put under; topmost first.
        let copied: Vec<VType> = match opcode {
            op::DUP2..=op::DUP2_X2 => self.pop_two_slots()?.into(),
            _ => vec![self.frame.pop(VType::Category1, self.types)?],
        };
        let under: Vec<VType> = match opcode {
            op::DUP_X1 | op::DUP2_X1 | op::SWAP => {
                vec![self.frame.pop(VType::Category1, self.types)?]
            }
            op::DUP_X2 | op::DUP2_X2 => self.pop_two_slots()?.into(),
            _ => Vec::new(),
        };
        let mut result: Vec<VType> = copied.iter().rev().copied().collect();
        result.extend(under.iter().rev());
        if opcode != op::SWAP {
            result.extend(copied.iter().rev());
        }
        self.frame.push_each(&result)
    }

    fn constant(&mut self, at: &Instruction) -> Result<(), Fault<H::Error>> {
        let index = at.pool_index();
        self.check_pool_index(index)?;
        let is_wide = at.opcode == op::LDC2_W;
        let mut types = Vec::new();
        match self.pool().entry(index) {
            CpEntry::Integer(_) => types.push(VType::Integer),
            CpEntry::Float(_) => types.push(VType::Float),
            CpEntry::Long(_) => types.extend(slots(b'J')),
            CpEntry::Double(_) => types.extend(slots(b'D')),
            CpEntry::String { .. } => types.push(VType::class("java/lang/String")),
            CpEntry::Class { .. } => types.push(VType::class("java/lang/Class")),
            CpEntry::MethodHandle { .. } => {
                types.push(VType::class("java/lang/invoke/MethodHandle"));
            }
            CpEntry::MethodType { .. } => types.push(VType::class("java/lang/invoke/MethodType")),
            CpEntry::Dynamic { .. } => {
                let descriptor = self.pool().descriptor(index);
                let parsed = descriptor.and_then(|text| FieldType::parse(text.bytes()));
                types.extend(parsed.into_iter().flat_map(|field| {
                    let mut slots = Vec::new();
                    VType::push_slots(field, &mut slots);
                    slots
                }));
            }
            _ => return Err(self.bad_constant(index)),
        }
        if types.len() != 1 + usize::from(is_wide) {
            return Err(self.bad_constant(index));
        }
        self.frame.push_slots(&types)
    }

    fn switch(&mut self, at: &Instruction) -> Result<(), Fault<H::Error>> {
        let operands = switch_operands(at.bci) - at.bci;
        // Before Java 7 the padding had to be zero.
        if self.class.major_version < 51 && (1..operands).any(|offset| at.u8_at(offset) != 0) {
            let message = "Nonzero padding byte in lookupswitch or tableswitch";
            return Err(Fault::bad_code(at.bci, message));
        }
        self.frame.pop(VType::Integer, self.types)?;
        if !at.switch_keys().is_sorted_by(|a, b| a < b) {
            return Err(Fault::bad_code(at.bci, "Bad lookupswitch instruction"));
        }
        for target in at.switch_targets() {
            self.check_jump(target)?;
        }
        Ok(())
    }

    fn return_value(&mut self, opcode: u8) -> Result<(), Fault<H::Error>> {
        let mut found = VType::Top;
        for &slot in slots(b"IJFDA"[(opcode - op::IRETURN) as usize]).iter().rev() {
            found = self.frame.pop(slot, self.types)?;
        }
        self.check_return(found)
    }

    fn return_nothing(&mut self) -> Result<(), Fault<H::Error>> {
        let bci = self.frame.bci;
        if !self.descriptors.slots(self.method.descriptor).result.is_empty() {
            return Err(Fault::bad_code(bci, "Method expects a return value"));
        }
        if self.method.name.bytes() == b"<init>" && self.frame.this_uninitialized {
            let message = "Constructor must call super() or this() before return";
            return Err(Fault::bad_code(bci, message));
        }
        Ok(())
    }

    fn create(&mut self, at: &Instruction) -> Result<(), Fault<H::Error>> {
        let bci = at.bci;
        match at.opcode {
            op::NEW => {
                let index = at.u16_at(1);
                let class = self.class_constant(index)?;
                if class.class_name().is_none() {
                    let reason =
                        Reason::BadType { found: Origin::pool(index, class), wanted: None };
                    return Err(Fault::new(bci, reason, "Illegal new instruction"));
                }
                self.frame.push(VType::Uninitialized(bci as u16))
            }
            op::NEWARRAY => {
                let Some(element) = BasicType::from_newarray(at.u8_at(1)) else {
                    return Err(Fault::bad_code(bci, "Illegal newarray instruction"));
                };
                self.frame.pop(VType::Integer, self.types)?;
                let array = Symbol::intern(&[b'[', element.letter()]);
                self.frame.push(VType::Reference(array))
            }
            op::ANEWARRAY => {
                let component = self.class_constant(at.u16_at(1))?;
                self.frame.pop(VType::Integer, self.types)?;
                let array = self.array_of(component)?;
                self.frame.push(array)
            }
            _ => self.create_nested(at),
        }
    }

    fn create_nested(&mut self, at: &Instruction) -> Result<(), Fault<H::Error>> {
        let (index, count) = (at.u16_at(1), at.u8_at(3));
        let array = self.class_constant(index)?;
        let Some(name) = array.array() else {
            let reason = Reason::BadType { found: Origin::pool(index, array), wanted: None };
            let message = "Illegal constant pool index in multianewarray instruction";
            return Err(Fault::new(at.bci, reason, message));
        };
        let dimensions = name.bytes().iter().take_while(|&&letter| letter == b'[').count();
        if count == 0 || dimensions < count as usize {
            let message = format!("Illegal dimension in multianewarray instruction: {count}");
            return Err(Fault::bad_code(at.bci, message));
        }
        for _ in 0..count {
            self.frame.pop(VType::Integer, self.types)?;
        }
        self.frame.push(array)
    }

    fn array_of(&self, component: VType) -> Result<VType, Fault<H::Error>> {
        let name = match component {
            VType::Reference(name) => name.bytes(),
            _ => unreachable!("class constants name references"),
        };
        if component.array().is_none() {
            return Ok(VType::Reference(Symbol::intern(&[b"[L", name, b";"].concat())));
        }
        if name.get(254) == Some(&b'[') {
            let message = "Illegal anewarray instruction, array has more than 255 dimensions";
            return Err(Fault::bad_code(self.frame.bci, message));
        }
        Ok(VType::Reference(Symbol::intern(&[b"[", name].concat())))
    }

    pub fn check_pool_index(&self, index: u16) -> Result<(), Fault<H::Error>> {
        if (1..self.pool().len()).contains(&(index as usize)) {
            return Ok(());
        }
        let class = crate::descriptor::external_name(self.class.name);
        let message = format!("Illegal constant pool index {index} in class {class}");
        Err(Fault::new(self.frame.bci, Reason::BadPoolIndex(index), message))
    }

    /// A complaint about a constant of the wrong kind.
    pub fn bad_constant(&self, index: u16) -> Fault<H::Error> {
        let class = crate::descriptor::external_name(self.class.name);
        let message = format!("Illegal type at constant pool entry {index} in class {class}");
        Fault::new(self.frame.bci, Reason::BadPoolIndex(index), message)
    }

    /// The type that a `Class` constant names.
    pub fn class_constant(&self, index: u16) -> Result<VType, Fault<H::Error>> {
        self.check_pool_index(index)?;
        match self.pool().class_name(index) {
            Some(name) => Ok(VType::Reference(name)),
            None => Err(self.bad_constant(index)),
        }
    }
}

fn is_array_access(opcode: u8) -> bool {
    matches!(opcode, op::IALOAD..=op::SALOAD)
}

/// The slots that a letter stands for: descriptors' letters, `A` for any reference, `N` for null.
fn slots(letter: u8) -> &'static [VType] {
    match letter {
        b'I' => &[VType::Integer],
        b'F' => &[VType::Float],
        b'J' => &[VType::Long, VType::Long2],
        b'D' => &[VType::Double, VType::Double2],
        b'N' => &[VType::Null],
        _ => &[VType::AnyReference],
    }
}

/// The operands and results of instructions whose types are fixed. Branches are among them: their
/// targets are checked separately.
fn simple_effect(opcode: u8) -> Option<(&'static str, &'static str)> {
    Some(match opcode {
        op::NOP | op::GOTO | op::GOTO_W => ("", ""),
        op::ACONST_NULL => ("", "N"),
        op::ICONST_M1..=op::ICONST_5 | op::BIPUSH | op::SIPUSH => ("", "I"),
        op::LCONST_0 | op::LCONST_1 => ("", "J"),
        op::FCONST_0..=op::FCONST_2 => ("", "F"),
        op::DCONST_0 | op::DCONST_1 => ("", "D"),
        op::IADD..=op::DREM => {
            [("II", "I"), ("JJ", "J"), ("FF", "F"), ("DD", "D")][(opcode - op::IADD) as usize % 4]
        }
        op::INEG | op::I2B | op::I2C | op::I2S => ("I", "I"),
        op::LNEG => ("J", "J"),
        op::FNEG => ("F", "F"),
        op::DNEG => ("D", "D"),
        op::ISHL | op::ISHR | op::IUSHR | op::IAND | op::IOR | op::IXOR => ("II", "I"),
        op::LSHL | op::LSHR | op::LUSHR => ("JI", "J"),
        op::LAND | op::LOR | op::LXOR => ("JJ", "J"),
        op::I2L => ("I", "J"),
        op::I2F => ("I", "F"),
        op::I2D => ("I", "D"),
        op::L2I => ("J", "I"),
        op::L2F => ("J", "F"),
        op::L2D => ("J", "D"),
        op::F2I => ("F", "I"),
        op::F2L => ("F", "J"),
        op::F2D => ("F", "D"),
        op::D2I => ("D", "I"),
        op::D2L => ("D", "J"),
        op::D2F => ("D", "F"),
        op::LCMP => ("JJ", "I"),
        op::FCMPL | op::FCMPG => ("FF", "I"),
        op::DCMPL | op::DCMPG => ("DD", "I"),
        op::IFEQ..=op::IFLE => ("I", ""),
        op::IF_ICMPEQ..=op::IF_ICMPLE => ("II", ""),
        op::IF_ACMPEQ | op::IF_ACMPNE => ("AA", ""),
        op::IFNULL | op::IFNONNULL | op::MONITORENTER | op::MONITOREXIT => ("A", ""),
        _ => return None,
    })
}
