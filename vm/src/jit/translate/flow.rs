//! Control flow of a method's bytecode: basic blocks, their order, and which locals are live where.
//!
//! Handlers of exceptions are not part of the flow: compiled code leaves for the interpreter when one is needed. But
//! the locals that they read are live wherever an exception may be thrown.

use super::{NotCompiled, rotate};
use crate::runtime::MethodRef;
use classfile::bytecode::{Instruction, Instructions, op};
use classfile::{Code, ExceptionHandler};

/// The result of the analysis of a method before it is translated.
pub struct Flow {
    pub code: &'static Code,
    /// In reverse postorder from the method's beginning; unreachable ones are not among them.
    pub blocks: Vec<BasicBlock>,
    /// Live locals before each instruction: `words` words a bci.
    live: Vec<u64>,
    words: usize,
    /// Whether slot 0 is never stored to.
    pub keeps_slot_0: bool,
}

/// A stretch of code that is entered at its beginning only. The test at the head of a loop may stand twice: see
/// [`super::rotate`].
pub struct BasicBlock {
    pub start: u16,
    /// Behind the last instruction.
    pub end: u16,
    /// The fall-through successor, if any, is the last one.
    pub successors: Vec<Successor>,
    /// Indices among the blocks.
    pub predecessors: Vec<usize>,
    /// Target of a jump from a place not before it, in the order of blocks.
    pub is_loop_header: bool,
    /// Of a loop header that is the only way into its loop.
    pub natural_loop: Option<NaturalLoop>,
    /// Of such a header, where it follows the loop's test: the counter that the test bounds in every round.
    pub counter: Option<Counter>,
}

impl BasicBlock {
    /// Of bytecode.
    pub fn bytes(&self) -> usize {
        (self.end - self.start) as usize
    }

    /// With the same successors; predecessors and loops are to be found again.
    pub fn copy(&self) -> BasicBlock {
        BasicBlock {
            start: self.start,
            end: self.end,
            successors: self.successors.clone(),
            predecessors: Vec::new(),
            is_loop_header: false,
            natural_loop: None,
            counter: None,
        }
    }
}

/// A loop that is entered at its header only.
pub struct NaturalLoop {
    /// By index: the blocks that belong to it.
    pub is_inside: Vec<bool>,
    /// By slot: the locals that it stores to.
    pub stores: Vec<bool>,
}

/// A local that counts the rounds of a loop: nothing but 1 is added to it, once in a round, and in the loop's body it
/// is less than the bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    pub slot: usize,
    pub bound: Bound,
}

/// Slots of locals that the loop does not store to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    Local(usize),
    LengthOf(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Successor {
    pub bci: u16,
    /// Index among the blocks.
    pub block: usize,
}

impl Flow {
    pub fn of(method: MethodRef) -> Result<Flow, NotCompiled> {
        let code = method.code().ok_or(NotCompiled::NoCode)?;
        let starts = starts(code)?;
        let blocks = rotate::rotate(code, reachable(code, &starts));
        let words = (code.max_locals as usize).div_ceil(64).max(1);
        let live = vec![0; words * (code.bytecode.len() + 1)];
        let mut flow = Flow { code, blocks, live, words, keeps_slot_0: true };
        flow.find_live();
        Ok(flow)
    }

    /// The first block that begins at a bci: of a loop's test the copy that is entered from outside.
    pub fn block_index(&self, bci: u16) -> Option<usize> {
        self.blocks.iter().position(|block| block.start == bci)
    }

    /// Whether the local is read before it is written from here on, handlers included.
    pub fn is_live(&self, bci: usize, slot: usize) -> bool {
        self.live[bci * self.words + slot / 64] & 1 << (slot % 64) != 0
    }

    /// Whether an exception thrown at `bci` may find a handler in this method.
    pub fn has_handler(&self, bci: u16) -> bool {
        self.handlers(bci).next().is_some()
    }

    /// Whether a handler that covers `bci` reads the local.
    pub fn is_live_in_handler(&self, bci: u16, slot: usize) -> bool {
        self.handlers(bci).any(|handler| self.is_live(handler.handler_pc as usize, slot))
    }

    fn handlers(&self, bci: u16) -> impl Iterator<Item = &ExceptionHandler> {
        let table = self.code.exception_table.iter();
        table.filter(move |entry| (entry.start_pc..entry.end_pc).contains(&bci))
    }

    /// Backwards over all instructions until nothing changes. Unreachable code counts too: it does no harm, and
    /// handlers are unreachable here.
    fn find_live(&mut self) {
        let code = self.code;
        let instructions: Vec<Instruction> =
            Instructions::new(&code.bytecode).map_while(Result::ok).collect();
        let words = self.words;
        let mut changed = true;
        while changed {
            changed = false;
            for at in instructions.iter().rev() {
                let bci = at.bci;
                let mut now = vec![0u64; words];
                let mut join = |live: &[u64], from: usize| {
                    for (word, other) in now.iter_mut().zip(&live[from * words..][..words]) {
                        *word |= other;
                    }
                };
                if let Some(target) = at.branch_target() {
                    join(&self.live, target as usize);
                }
                at.switch_targets().for_each(|target| join(&self.live, target as usize));
                if !at.ends_block() {
                    join(&self.live, at.next_bci());
                }
                if let (Some(slot), op::ISTORE..=op::ASTORE) =
                    (at.local_slot(), at.generic_opcode())
                {
                    let slots =
                        1 + usize::from(matches!(at.generic_opcode(), op::LSTORE | op::DSTORE));
                    for slot in slot as usize..slot as usize + slots {
                        now[slot / 64] &= !(1 << (slot % 64));
                    }
                    self.keeps_slot_0 &= slot != 0;
                }
                let reads = matches!(at.generic_opcode(), op::ILOAD..=op::ALOAD | op::RET)
                    || at.opcode == op::IINC;
                if let (Some(slot), true) = (at.local_slot(), reads) {
                    now[slot as usize / 64] |= 1 << (slot % 64);
                }
                self.keeps_slot_0 &= !(at.opcode == op::IINC && at.local_slot() == Some(0));
                for handler in &code.exception_table {
                    if (handler.start_pc as usize..handler.end_pc as usize).contains(&bci) {
                        let live = &self.live[handler.handler_pc as usize * words..][..words];
                        now.iter_mut().zip(live).for_each(|(word, live)| *word |= live);
                    }
                }
                let old = &mut self.live[bci * words..][..words];
                if *old != now[..] {
                    old.copy_from_slice(&now);
                    changed = true;
                }
            }
        }
    }
}

/// Which bcis begin basic blocks; slot 0 and targets are among them.
fn starts(code: &Code) -> Result<Vec<bool>, NotCompiled> {
    let mut starts = vec![false; code.bytecode.len() + 1];
    starts[0] = true;
    for at in Instructions::new(&code.bytecode) {
        let at = at.map_err(|_| NotCompiled::Malformed)?;
        if matches!(at.opcode, op::JSR | op::JSR_W | op::RET) {
            return Err(NotCompiled::Subroutines);
        }
        let mut mark = |target: i64| match usize::try_from(target).ok() {
            Some(target) if target < code.bytecode.len() => {
                starts[target] = true;
                Ok(())
            }
            _ => Err(NotCompiled::Malformed),
        };
        let target = at.branch_target();
        target.map_or(Ok(()), &mut mark)?;
        at.switch_targets().try_for_each(&mut mark)?;
        if target.is_some() || at.ends_block() {
            starts[at.next_bci()] = true;
        }
    }
    Ok(starts)
}

/// Blocks that can be reached from the beginning, in reverse postorder.
fn reachable(code: &Code, starts: &[bool]) -> Vec<BasicBlock> {
    let mut index_at = vec![usize::MAX; code.bytecode.len()];
    let mut blocks = Vec::new();
    let mut pending = vec![0u16];
    while let Some(start) = pending.pop() {
        if index_at[start as usize] == usize::MAX {
            index_at[start as usize] = blocks.len();
            let block = block_from(code, starts, start);
            pending.extend(block.successors.iter().map(|successor| successor.bci));
            blocks.push(block);
        }
    }
    for block in &mut blocks {
        for successor in &mut block.successors {
            successor.block = index_at[successor.bci as usize];
        }
    }
    in_order(blocks)
}

/// Sorts blocks in reverse postorder from the first one, and finds loops.
pub(super) fn in_order(blocks: Vec<BasicBlock>) -> Vec<BasicBlock> {
    let mut is_met = vec![false; blocks.len()];
    let mut order = Vec::new();
    // Depth first without recursion: a block, and how many of its successors were visited.
    let mut path = vec![(0usize, 0usize)];
    is_met[0] = true;
    while let Some((block, next)) = path.last_mut() {
        if let Some(successor) = blocks[*block].successors.get(*next) {
            *next += 1;
            if !std::mem::replace(&mut is_met[successor.block], true) {
                path.push((successor.block, 0));
            }
        } else {
            order.push(*block);
            path.pop();
        }
    }
    order.reverse();
    let mut place = vec![usize::MAX; blocks.len()];
    order.iter().enumerate().for_each(|(at, block)| place[*block] = at);
    let mut sorted: Vec<Option<BasicBlock>> = blocks.into_iter().map(Some).collect();
    let mut blocks: Vec<BasicBlock> =
        order.iter().map(|block| sorted[*block].take().expect("each block once")).collect();
    for block in &mut blocks {
        for successor in &mut block.successors {
            successor.block = place[successor.block];
        }
    }
    // A header is any block that is entered from a block at or behind it in this order: in reducible code the target
    // of a back edge, in irreducible code at least one block of every cycle.
    for block in &mut blocks {
        block.predecessors.clear();
        block.is_loop_header = false;
    }
    for at in 0..blocks.len() {
        for successor in blocks[at].successors.clone() {
            blocks[successor.block].predecessors.push(at);
            if successor.block <= at {
                blocks[successor.block].is_loop_header = true;
            }
        }
    }
    blocks
}

fn block_from(code: &Code, starts: &[bool], start: u16) -> BasicBlock {
    let mut bci = start as usize;
    loop {
        let at = Instruction::at(&code.bytecode, bci).expect("checked before");
        bci = at.next_bci();
        let ends = at.ends_block() || at.branch_target().is_some();
        if ends || starts[bci] {
            let mut targets: Vec<u16> = at.switch_targets().map(|target| target as u16).collect();
            targets.extend(at.branch_target().map(|target| target as u16));
            if !at.ends_block() && bci < code.bytecode.len() {
                targets.push(bci as u16);
            }
            let successors =
                targets.into_iter().map(|bci| Successor { bci, block: usize::MAX }).collect();
            return BasicBlock {
                start,
                end: bci as u16,
                successors,
                predecessors: Vec::new(),
                is_loop_header: false,
                natural_loop: None,
                counter: None,
            };
        }
    }
}
