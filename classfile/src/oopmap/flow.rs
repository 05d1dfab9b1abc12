//! Kinds at block starts, to a fixed point.

use super::frame_state::FrameState;
use super::{MethodShape, NoMap};
use crate::bytecode::{Instruction, Instructions, op};

/// States at the starts of all blocks. Blocks begin at branch targets, handlers, the bounds of
/// protected ranges, and behind every `jsr`; so within a block the same handlers apply.
#[derive(Debug)]
pub struct Blocks {
    /// Ascending; 0 is the first.
    starts: Vec<u16>,
    /// Per block. Empty when never reached; more than one only with different return addresses.
    states: Vec<Vec<FrameState>>,
}

/// Compilers of old made a subroutine of each `finally`; nested ones multiply.
const STATES_PER_BLOCK_MAX: usize = 256;

impl Blocks {
    pub fn compute(shape: &MethodShape) -> Result<Blocks, NoMap> {
        let starts = block_starts(shape)?;
        let states = vec![Vec::new(); starts.len()];
        let mut flow = Flow { shape, blocks: Blocks { starts, states }, work: Vec::new() };
        let entry = FrameState::at_entry(shape)?;
        let mut current = entry.clone();
        flow.join(0, &entry)?;
        while let Some((block, index)) = flow.work.pop() {
            current.copy_from(&flow.blocks.states[block][index]);
            flow.run(block, &mut current)?;
        }
        Ok(flow.blocks)
    }

    /// The state before an instruction, and whether it is the only possible one.
    pub fn state_at(
        &self,
        shape: &MethodShape,
        bci: u16,
        slot: impl Fn(usize) -> u64,
    ) -> Result<(FrameState, bool), NoMap> {
        let block = self.starts.partition_point(|&start| start <= bci) - 1;
        let mut best: Option<(usize, FrameState)> = None;
        for start in &self.states[block] {
            let state = replay(shape, start.clone(), self.starts[block], bci)?;
            if self.states[block].len() == 1 {
                return Ok((state, true));
            }
            if state.addresses().all(|(index, address)| slot(index) == address as u64) {
                let matches = state.addresses().count();
                if best.as_ref().is_none_or(|&(most, _)| matches > most) {
                    best = Some((matches, state));
                }
            }
        }
        let unreached = NoMap { bci: bci as usize, reason: "never reached" };
        best.map(|(_, state)| (state, false)).ok_or(unreached)
    }

    fn block_at(&self, bci: usize) -> Option<usize> {
        self.starts.binary_search(&u16::try_from(bci).ok()?).ok()
    }
}

struct Flow<'a> {
    shape: &'a MethodShape<'a>,
    blocks: Blocks,
    /// Block and index of the states that changed since they were last followed.
    work: Vec<(usize, usize)>,
}

impl Flow<'_> {
    /// Follows one block from its start.
    fn run(&mut self, block: usize, state: &mut FrameState) -> Result<(), NoMap> {
        let shape = self.shape;
        let mut bci = self.blocks.starts[block] as usize;
        self.join_handlers(bci, state)?;
        loop {
            let malformed = NoMap { bci, reason: "not an instruction" };
            let instruction = Instruction::at(shape.bytecode, bci).ok_or(malformed)?;
            let at_fault = |reason| NoMap { bci, reason };
            state.execute(shape, &instruction).map_err(at_fault)?;
            if let Some(target) = instruction.branch_target() {
                self.join(target as usize, state)?;
            }
            for target in instruction.switch_targets() {
                self.join(target as usize, state)?;
            }
            if instruction.opcode == op::RET {
                let address = instruction.local_slot().and_then(|local| state.take_address(local));
                let address = address.ok_or(at_fault("ret without a return address"))?;
                self.join(address as usize, state)?;
            }
            if instruction.ends_block() {
                return Ok(());
            }
            bci = instruction.next_bci();
            if self.blocks.block_at(bci).is_some() {
                return self.join(bci, state);
            }
            if (op::ISTORE..=op::ASTORE).contains(&instruction.generic_opcode()) {
                self.join_handlers(bci, state)?;
            }
        }
    }

    fn join_handlers(&mut self, bci: usize, state: &FrameState) -> Result<(), NoMap> {
        let shape = self.shape;
        for handler in shape.exception_table {
            if (handler.start_pc as usize..handler.end_pc as usize).contains(&bci) {
                self.join(handler.handler_pc as usize, &state.at_handler())?;
            }
        }
        Ok(())
    }

    /// Control flows to a block in this state.
    fn join(&mut self, bci: usize, state: &FrameState) -> Result<(), NoMap> {
        let no_block = NoMap { bci, reason: "branch into the middle of an instruction" };
        let block = self.blocks.block_at(bci).ok_or(no_block)?;
        let known = &mut self.blocks.states[block];
        let same_caller = known.iter_mut().position(|other| other.has_addresses_of(state));
        let index = match same_caller {
            Some(index) => {
                if known[index].merge(state) == Some(false) {
                    return Ok(());
                }
                index
            }
            None => {
                if known.first().is_some_and(|other| other.slots().len() != state.slots().len()) {
                    return Err(NoMap { bci, reason: "stacks of different depth meet" });
                }
                if known.len() == STATES_PER_BLOCK_MAX {
                    return Err(NoMap { bci, reason: "too many callers of subroutines" });
                }
                known.push(state.clone());
                known.len() - 1
            }
        };
        if !self.work.contains(&(block, index)) {
            self.work.push((block, index));
        }
        Ok(())
    }
}

fn replay(
    shape: &MethodShape,
    mut state: FrameState,
    start: u16,
    end: u16,
) -> Result<FrameState, NoMap> {
    let mut bci = start as usize;
    while bci < end as usize {
        let malformed = NoMap { bci, reason: "not an instruction" };
        let instruction = Instruction::at(shape.bytecode, bci).ok_or(malformed)?;
        if instruction.ends_block() {
            return Err(NoMap { bci: end as usize, reason: "never reached" });
        }
        state.execute(shape, &instruction).map_err(|reason| NoMap { bci, reason })?;
        bci = instruction.next_bci();
    }
    if bci == end as usize {
        Ok(state)
    } else {
        Err(NoMap { bci: end as usize, reason: "not the start of an instruction" })
    }
}

fn block_starts(shape: &MethodShape) -> Result<Vec<u16>, NoMap> {
    let mut targets = vec![0i64];
    for instruction in Instructions::new(shape.bytecode) {
        let instruction =
            instruction.map_err(|bad| NoMap { bci: bad.bci, reason: "not an instruction" })?;
        targets.extend(instruction.branch_target());
        targets.extend(instruction.switch_targets());
        if matches!(instruction.opcode, op::JSR | op::JSR_W) {
            targets.push(instruction.next_bci() as i64);
        }
    }
    for handler in shape.exception_table {
        let bounds = [handler.start_pc, handler.end_pc, handler.handler_pc];
        targets.extend(bounds.map(|bci| bci as i64));
    }
    targets.sort_unstable();
    targets.dedup();
    // A range may end where the code does. Other targets outside are found when followed.
    let length = shape.bytecode.len() as i64;
    let inside = targets.into_iter().filter(|target| (0..length).contains(target));
    let starts: Vec<u16> = inside.filter_map(|target| u16::try_from(target).ok()).collect();
    Ok(starts)
}
