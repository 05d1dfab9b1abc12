//! The answer: one bit for each slot.

use super::MethodShape;
use super::frame_state::{FrameState, REFERENCE};
use crate::MethodDescriptor;
use crate::bytecode::{Instruction, op};

/// Which slots of a frame hold references before an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OopMap {
    max_locals: u16,
    stack_depth: u16,
    argument_slots: u16,
    /// Locals, then the stack from its bottom; bit `i % 64` of word `i / 64`.
    bits: Box<[u64]>,
}

impl OopMap {
    pub(super) fn new(shape: &MethodShape, bci: u16, state: &FrameState) -> OopMap {
        let slots = state.slots();
        let mut bits = vec![0u64; slots.len().div_ceil(64)].into_boxed_slice();
        for (index, &kind) in slots.iter().enumerate() {
            if kind == REFERENCE {
                bits[index / 64] |= 1 << (index % 64);
            }
        }
        let stack_depth = (slots.len() - shape.max_locals as usize) as u16;
        let argument_slots = argument_slots(shape, bci).min(stack_depth);
        OopMap { max_locals: shape.max_locals, stack_depth, argument_slots, bits }
    }

    pub fn is_local_reference(&self, local: u16) -> bool {
        assert!(local < self.max_locals, "local {local} of {}", self.max_locals);
        self.bit(local as usize)
    }

    /// `index` counts from the bottom of the operand stack.
    pub fn is_stack_reference(&self, index: u16) -> bool {
        assert!(index < self.stack_depth, "stack slot {index} of {}", self.stack_depth);
        self.bit(self.max_locals as usize + index as usize)
    }

    /// Slots on the operand stack, a call's arguments included.
    pub fn stack_depth(&self) -> u16 {
        self.stack_depth
    }

    /// How many of the topmost stack slots are the arguments (and receiver) of the invoke
    /// instruction asked about; 0 for other instructions. Once the callee has its arguments,
    /// `stack_depth() - argument_slots()` slots remain.
    pub fn argument_slots(&self) -> u16 {
        self.argument_slots
    }

    /// The reference slots of the locals and the lowest `stack_depth` slots of the stack,
    /// ascending; stack slots count from `max_locals` on.
    pub fn references(&self, stack_depth: u16) -> impl Iterator<Item = usize> + '_ {
        let end = self.max_locals as usize + stack_depth.min(self.stack_depth) as usize;
        self.bits.iter().enumerate().flat_map(move |(index, &word)| {
            let first = index * 64;
            let in_range = end.saturating_sub(first).min(64);
            let kept = if in_range == 64 { word } else { word & ((1 << in_range) - 1) };
            SetBits(kept).map(move |bit| first + bit)
        })
    }

    fn bit(&self, index: usize) -> bool {
        self.bits[index / 64] >> (index % 64) & 1 != 0
    }
}

struct SetBits(u64);

impl Iterator for SetBits {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

fn argument_slots(shape: &MethodShape, bci: u16) -> u16 {
    let Some(instruction) = Instruction::at(shape.bytecode, bci as usize) else { return 0 };
    let receiver = match instruction.opcode {
        op::INVOKEVIRTUAL | op::INVOKESPECIAL | op::INVOKEINTERFACE => 1,
        op::INVOKESTATIC | op::INVOKEDYNAMIC => 0,
        _ => return 0,
    };
    let descriptor = shape.pool.descriptor(instruction.pool_index());
    let parsed = descriptor.and_then(|text| MethodDescriptor::parse(text.bytes()));
    parsed.map_or(0, |parsed| receiver + parsed.parameter_slots() as u16)
}
