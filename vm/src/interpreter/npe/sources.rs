//! Which instruction pushed each slot of the operand stack.

use classfile::bytecode::{Instruction, op};
use classfile::oopmap::effect::{self, Push};
use classfile::{BasicType, Code, ConstantPool, MethodDescriptor};

/// The origin of a stack slot's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// The bci of the instruction that pushed it.
    At(u16),
    /// Different ones on different paths.
    Many,
}

/// Operand stacks and written locals before each reached instruction.
pub struct Sources {
    states: Vec<Option<State>>,
}

#[derive(Clone)]
struct State {
    stack: Vec<Slot>,
    /// Locals below 64 that some path has stored to.
    written: u64,
}

impl Sources {
    /// Goes through the code as HotSpot does, whose messages these are to be: in the order of instructions, again and
    /// again as long as a state is found for one that had none, and until `asked` is reached with a state. So a store
    /// behind a place that reaches it by a jump back may not be known at that place; and handlers know of no store
    /// before the exception. `None` when it is no verified code.
    pub fn compute(code: &Code, pool: &ConstantPool, asked: usize) -> Option<Sources> {
        let mut states: Vec<Option<State>> = vec![None; code.bytecode.len()];
        *states.first_mut()? = Some(State { stack: Vec::new(), written: 0 });
        for handler in &code.exception_table {
            let at = handler.handler_pc;
            *states.get_mut(at as usize)? = Some(State { stack: vec![Slot::At(at)], written: 0 });
        }
        let mut found_more = true;
        while found_more {
            found_more = false;
            let mut bci = 0;
            while bci < code.bytecode.len() {
                let instruction = Instruction::at(&code.bytecode, bci)?;
                if let Some(before) = states[bci].clone() {
                    let after = execute(&instruction, pool, before)?;
                    let mut reach = |target: usize| {
                        found_more |= join(states.get_mut(target)?, &after)?;
                        Some(())
                    };
                    if !instruction.ends_block() {
                        reach(instruction.next_bci())?;
                    }
                    let targets = instruction.branch_target().into_iter();
                    for target in targets.chain(instruction.switch_targets()) {
                        reach(usize::try_from(target).ok()?)?;
                    }
                }
                bci = instruction.next_bci();
                if bci == asked && states[bci].is_some() {
                    return Some(Sources { states });
                }
            }
        }
        Some(Sources { states })
    }

    /// The slot `depth` below the top of the stack before an instruction.
    pub fn slot(&self, bci: usize, depth: usize) -> Option<Slot> {
        let stack = &self.states.get(bci)?.as_ref()?.stack;
        stack.iter().rev().nth(depth).copied()
    }

    /// Whether a local may have been stored to before an instruction.
    pub fn is_written(&self, bci: usize, slot: u16) -> bool {
        let state = self.states.get(bci).and_then(Option::as_ref);
        slot >= 64 || state.is_none_or(|state| state.written >> slot & 1 != 0)
    }
}

/// Whether there was no state before.
fn join(known: &mut Option<State>, state: &State) -> Option<bool> {
    let Some(known) = known else {
        *known = Some(state.clone());
        return Some(true);
    };
    if known.stack.len() != state.stack.len() {
        return None;
    }
    for (a, b) in known.stack.iter_mut().zip(&state.stack) {
        *a = if *a == *b { *a } else { Slot::Many };
    }
    known.written |= state.written;
    Some(false)
}

fn execute(instruction: &Instruction<'_>, pool: &ConstantPool, mut state: State) -> Option<State> {
    let here = Slot::At(instruction.bci as u16);
    let member_type = || Some(BasicType::from_letter(descriptor(instruction, pool)?[0])?.slots());
    let (pops, pushes) = match instruction.opcode {
        op::CHECKCAST | op::WIDE => (0, 0),
        op::DUP..=op::SWAP => {
            shuffle(instruction.opcode, &mut state.stack)?;
            (0, 0)
        }
        op::ILOAD..=op::ALOAD_3 => {
            let is_wide = matches!(instruction.generic_opcode(), op::LLOAD | op::DLOAD);
            (0, if is_wide { 2 } else { 1 })
        }
        op::ISTORE..=op::ASTORE_3 => {
            let is_wide = matches!(instruction.generic_opcode(), op::LSTORE | op::DSTORE);
            let slots = if is_wide { 2 } else { 1 };
            let first = instruction.local_slot()?;
            for slot in first..(first + slots).min(64) {
                state.written |= 1 << slot;
            }
            (slots as usize, 0)
        }
        op::LDC | op::LDC_W => (0, 1),
        op::LDC2_W => (0, 2),
        op::JSR | op::JSR_W => (0, 1),
        op::GETSTATIC => (0, member_type()?),
        op::GETFIELD => (1, member_type()?),
        op::PUTSTATIC => (member_type()? as usize, 0),
        op::PUTFIELD => (member_type()? as usize + 1, 0),
        op::INVOKEVIRTUAL..=op::INVOKEDYNAMIC => {
            let parsed = MethodDescriptor::parse(descriptor(instruction, pool)?)?;
            let is_static = matches!(instruction.opcode, op::INVOKESTATIC | op::INVOKEDYNAMIC);
            (parsed.parameter_slots() + usize::from(!is_static), parsed.result.slots())
        }
        op::MULTIANEWARRAY => (instruction.u8_at(3) as usize, 1),
        opcode => {
            let (pops, push) = effect::of(opcode)?;
            let pushes = match push {
                Push::Nothing => 0,
                Push::Value | Push::Reference => 1,
                Push::TwoSlots => 2,
            };
            (pops, pushes)
        }
    };
    let left = state.stack.len().checked_sub(pops)?;
    state.stack.truncate(left);
    state.stack.extend((0..pushes).map(|_| here));
    Some(state)
}

fn descriptor<'a>(instruction: &Instruction<'_>, pool: &'a ConstantPool) -> Option<&'a [u8]> {
    Some(pool.descriptor(instruction.pool_index())?.bytes())
}

fn shuffle(opcode: u8, stack: &mut Vec<Slot>) -> Option<()> {
    // Slots taken off, then the order in which they are pushed again, counted from the lowest taken.
    let (taken, order): (usize, &[usize]) = match opcode {
        op::DUP => (1, &[0, 0]),
        op::DUP_X1 => (2, &[1, 0, 1]),
        op::DUP_X2 => (3, &[2, 0, 1, 2]),
        op::DUP2 => (2, &[0, 1, 0, 1]),
        op::DUP2_X1 => (3, &[1, 2, 0, 1, 2]),
        op::DUP2_X2 => (4, &[2, 3, 0, 1, 2, 3]),
        _ => (2, &[1, 0]),
    };
    let base = stack.len().checked_sub(taken)?;
    let slots: Vec<Slot> = stack.drain(base..).collect();
    stack.extend(order.iter().map(|index| slots[*index]));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources_of(bytecode: &[u8]) -> Option<Sources> {
        Sources::compute(&code_of(bytecode), &ConstantPool::default(), bytecode.len() - 1)
    }

    fn code_of(bytecode: &[u8]) -> Code {
        Code {
            max_stack: 8,
            max_locals: 4,
            bytecode: bytecode.into(),
            exception_table: Box::default(),
            line_numbers: Box::default(),
            local_variables: Box::default(),
            stack_map_table: None,
        }
    }

    #[test]
    fn follows_shuffles_and_stores() {
        let code = [op::ALOAD_0, op::ALOAD_1, op::DUP_X1, op::ASTORE_2, op::ASTORE_3, op::ATHROW];
        let sources = sources_of(&code).unwrap();
        assert_eq!(sources.slot(3, 0), Some(Slot::At(1)));
        assert_eq!(sources.slot(3, 1), Some(Slot::At(0)));
        assert_eq!(sources.slot(5, 0), Some(Slot::At(1)));
        assert!(sources.is_written(5, 2) && !sources.is_written(3, 2));
        assert!(!sources.is_written(5, 0));
    }

    #[test]
    fn joins_to_many() {
        // iload_0; ifeq 8; aload_1; goto 9; aload_2; athrow
        let code =
            [op::ILOAD_0, op::IFEQ, 0, 7, op::ALOAD_1, op::GOTO, 0, 4, op::ALOAD_2, op::ATHROW];
        assert_eq!(sources_of(&code).unwrap().slot(9, 0), Some(Slot::Many));
    }

    #[test]
    fn stores_behind_a_place_are_not_followed_round() {
        // aload_1; pop; aload_0; astore_1; goto 0
        let code = [op::ALOAD_1, op::POP, op::ALOAD_0, op::ASTORE_1, op::GOTO, 0xff, 0xfc];
        let asked_at =
            |bci| Sources::compute(&code_of(&code), &ConstantPool::default(), bci).unwrap();
        assert!(!asked_at(1).is_written(0, 1) && asked_at(4).is_written(4, 1));
    }

    #[test]
    fn refuses_unverified_code() {
        assert!(sources_of(&[op::POP, op::RETURN]).is_none());
        assert!(sources_of(&[op::GOTO, 0x7f, 0xff]).is_none());
        assert!(sources_of(&[op::NOP]).is_none());
    }
}
