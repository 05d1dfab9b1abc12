//! The kinds of all slots at one instruction, and how an instruction changes them.

use super::effect::{self, Push};
use super::{MethodShape, NoMap};
use crate::bytecode::{Instruction, op};
use crate::{BasicType, CpEntry, FieldType, MethodDescriptor};

/// The kind of a slot's contents: [`VALUE`], [`REFERENCE`], or else a `jsr` return address, which
/// is its own number: at least 3, the length of a `jsr`.
pub type Kind = u16;

/// Anything that is neither a reference nor a return address; also unset and conflicting slots.
pub const VALUE: Kind = 0;
pub const REFERENCE: Kind = 1;

/// Locals, then the operand stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameState {
    slots: Vec<Kind>,
    max_locals: usize,
}

impl FrameState {
    /// At the start of the method: the arguments.
    pub fn at_entry(shape: &MethodShape) -> Result<FrameState, NoMap> {
        let max_locals = shape.max_locals as usize;
        let descriptor = MethodDescriptor::parse(shape.descriptor.bytes())
            .ok_or(NoMap { bci: 0, reason: "malformed descriptor" })?;
        let mut slots = Vec::with_capacity(max_locals + shape.max_stack as usize);
        if !shape.is_static {
            slots.push(REFERENCE);
        }
        for parameter in descriptor.parameters() {
            if parameter.basic.is_reference() {
                slots.push(REFERENCE);
            } else {
                slots.extend([VALUE, VALUE].iter().take(parameter.slots() as usize));
            }
        }
        if slots.len() > max_locals {
            return Err(NoMap { bci: 0, reason: "arguments exceed the locals" });
        }
        slots.resize(max_locals, VALUE);
        Ok(FrameState { slots, max_locals })
    }

    pub fn slots(&self) -> &[Kind] {
        &self.slots
    }

    /// Makes this a copy of another state of the same method, without giving up its memory.
    pub fn copy_from(&mut self, other: &FrameState) {
        self.slots.clone_from(&other.slots);
        self.max_locals = other.max_locals;
    }

    /// The state in which an exception handler starts.
    pub fn at_handler(&self) -> FrameState {
        let mut slots = self.slots[..self.max_locals].to_vec();
        slots.push(REFERENCE);
        FrameState { slots, max_locals: self.max_locals }
    }

    /// Whether both have the same return addresses in the same slots.
    pub fn has_addresses_of(&self, other: &FrameState) -> bool {
        let is_address = |kind: Kind| kind > REFERENCE;
        self.slots.len() == other.slots.len()
            && self
                .slots
                .iter()
                .zip(&other.slots)
                .all(|(&a, &b)| a == b || !is_address(a) && !is_address(b))
    }

    /// Slots with return addresses, and these.
    pub fn addresses(&self) -> impl Iterator<Item = (usize, Kind)> + '_ {
        self.slots.iter().copied().enumerate().filter(|&(_, kind)| kind > REFERENCE)
    }

    /// Keeps the kinds that both agree on. `None` when the stacks differ in depth, else whether this changed.
    pub fn merge(&mut self, other: &FrameState) -> Option<bool> {
        if self.slots.len() != other.slots.len() {
            return None;
        }
        let mut has_changed = false;
        for (mine, &theirs) in self.slots.iter_mut().zip(&other.slots) {
            if *mine != theirs && *mine != VALUE {
                *mine = VALUE;
                has_changed = true;
            }
        }
        Some(has_changed)
    }

    /// The return address in a local, which is no longer one afterwards, wherever it lies.
    pub fn take_address(&mut self, local: u16) -> Option<Kind> {
        let address = *self.slots[..self.max_locals].get(local as usize)?;
        if address <= REFERENCE {
            return None;
        }
        for kind in &mut self.slots {
            if *kind == address {
                *kind = VALUE;
            }
        }
        Some(address)
    }

    /// Executes one instruction, branches without branching. `Err` names the error.
    pub fn execute(
        &mut self,
        shape: &MethodShape,
        instruction: &Instruction,
    ) -> Result<(), &'static str> {
        let opcode = instruction.generic_opcode();
        if let Some((pops, push)) = effect::of(opcode) {
            self.pop(pops)?;
            self.push(push);
        } else {
            match opcode {
                op::ILOAD..=op::ALOAD => self.load(opcode, instruction.local_slot())?,
                op::ISTORE..=op::ASTORE => self.store(opcode, instruction.local_slot())?,
                op::DUP..=op::SWAP => self.shuffle(opcode)?,
                op::JSR | op::JSR_W => {
                    let address = u16::try_from(instruction.next_bci());
                    self.slots.push(address.map_err(|_| "jsr at the end of the code")?);
                }
                op::LDC | op::LDC_W | op::LDC2_W => {
                    let push = constant(shape.pool.entry(instruction.pool_index()), shape);
                    self.push(push.ok_or("ldc of a constant that cannot be loaded")?);
                }
                op::MULTIANEWARRAY => {
                    self.pop(instruction.u8_at(3) as usize)?;
                    self.push(Push::Reference);
                }
                op::GETSTATIC..=op::INVOKEDYNAMIC => self.member(shape, instruction)?,
                _ => return Err("illegal opcode"),
            }
        }
        let limit = self.max_locals + shape.max_stack as usize;
        if self.slots.len() > limit { Err("operand stack overflow") } else { Ok(()) }
    }

    fn pop(&mut self, count: usize) -> Result<(), &'static str> {
        let left = self.slots.len() - self.max_locals;
        if count > left {
            return Err("operand stack underflow");
        }
        self.slots.truncate(self.slots.len() - count);
        Ok(())
    }

    fn push(&mut self, push: Push) {
        match push {
            Push::Nothing => {}
            Push::Value => self.slots.push(VALUE),
            Push::TwoSlots => self.slots.extend([VALUE, VALUE]),
            Push::Reference => self.slots.push(REFERENCE),
        }
    }

    fn load(&mut self, opcode: u8, slot: Option<u16>) -> Result<(), &'static str> {
        let slot = slot.ok_or("load without a local")? as usize;
        if slot + usize::from(is_wide_type(opcode, op::ILOAD)) >= self.max_locals {
            return Err("no such local");
        }
        match opcode - op::ILOAD {
            1 | 3 => self.push(Push::TwoSlots),
            4 if self.slots[slot] != REFERENCE => {
                return Err("aload of a slot without a reference");
            }
            4 => self.push(Push::Reference),
            _ => self.push(Push::Value),
        }
        Ok(())
    }

    fn store(&mut self, opcode: u8, slot: Option<u16>) -> Result<(), &'static str> {
        let slot = slot.ok_or("store without a local")? as usize;
        let is_wide = is_wide_type(opcode, op::ISTORE);
        if slot + usize::from(is_wide) >= self.max_locals {
            return Err("no such local");
        }
        // `astore` also takes return addresses.
        let top =
            *self.slots.last().filter(|_| self.slots.len() > self.max_locals).unwrap_or(&VALUE);
        self.pop(1 + usize::from(is_wide))?;
        self.slots[slot] = if opcode == op::ASTORE { top } else { VALUE };
        if is_wide {
            self.slots[slot + 1] = VALUE;
        }
        Ok(())
    }

    fn shuffle(&mut self, opcode: u8) -> Result<(), &'static str> {
        // How many slots are taken off, and in which order they come back.
        let (taken, order): (usize, &[usize]) = match opcode {
            op::DUP => (1, &[0, 0]),
            op::DUP_X1 => (2, &[1, 0, 1]),
            op::DUP_X2 => (3, &[2, 0, 1, 2]),
            op::DUP2 => (2, &[0, 1, 0, 1]),
            op::DUP2_X1 => (3, &[1, 2, 0, 1, 2]),
            op::DUP2_X2 => (4, &[2, 3, 0, 1, 2, 3]),
            _ => (2, &[1, 0]),
        };
        if self.slots.len() < self.max_locals + taken {
            return Err("operand stack underflow");
        }
        let start = self.slots.len() - taken;
        let mut top = [VALUE; 4];
        top[..taken].copy_from_slice(&self.slots[start..]);
        self.slots.truncate(start);
        self.slots.extend(order.iter().map(|&index| top[index]));
        Ok(())
    }

    fn member(&mut self, shape: &MethodShape, at: &Instruction) -> Result<(), &'static str> {
        let descriptor = shape.pool.descriptor(at.pool_index()).ok_or("not a member reference")?;
        let malformed = "malformed descriptor";
        if let op::GETSTATIC..=op::PUTFIELD = at.opcode {
            let field = FieldType::parse(descriptor.bytes()).ok_or(malformed)?;
            let object = usize::from(matches!(at.opcode, op::GETFIELD | op::PUTFIELD));
            if matches!(at.opcode, op::PUTFIELD | op::PUTSTATIC) {
                return self.pop(object + field.slots() as usize);
            }
            self.pop(object)?;
            self.push(result(field.basic));
            return Ok(());
        }
        let method = MethodDescriptor::parse(descriptor.bytes()).ok_or(malformed)?;
        let receiver = usize::from(!matches!(at.opcode, op::INVOKESTATIC | op::INVOKEDYNAMIC));
        self.pop(receiver + method.parameter_slots())?;
        self.push(result(method.result.basic));
        Ok(())
    }
}

/// Long and double are the second and fourth of the five typed loads and stores.
fn is_wide_type(opcode: u8, first: u8) -> bool {
    matches!(opcode - first, 1 | 3)
}

fn result(basic: BasicType) -> Push {
    match basic {
        BasicType::Void => Push::Nothing,
        BasicType::Long | BasicType::Double => Push::TwoSlots,
        BasicType::Object | BasicType::Array => Push::Reference,
        _ => Push::Value,
    }
}

fn constant(entry: CpEntry, shape: &MethodShape) -> Option<Push> {
    Some(match entry {
        CpEntry::Integer(_) | CpEntry::Float(_) => Push::Value,
        CpEntry::Long(_) | CpEntry::Double(_) => Push::TwoSlots,
        CpEntry::Class { .. }
        | CpEntry::String { .. }
        | CpEntry::MethodHandle { .. }
        | CpEntry::MethodType { .. } => Push::Reference,
        CpEntry::Dynamic { name_and_type_index, .. } => {
            let (_, descriptor) = shape.pool.name_and_type(name_and_type_index)?;
            result(FieldType::parse(descriptor.bytes())?.basic)
        }
        _ => return None,
    })
}
