//! Loops with their test at the end.
//!
//! A loop that tests at its head jumps twice in each round. Where the head is short it is given a copy: from outside
//! one comes to the copy, from inside to the original, and the loop's body, which follows both, becomes the loop's
//! header. What the test tells of a local that the loop does not store to (it is not null, its length is this) is
//! then known in the whole body.

use super::flow::{BasicBlock, Successor, in_order};
use crate::classfile::Code;
use crate::classfile::bytecode::{Instruction, op};

/// Rotates loops, and says which locals each loop stores to.
pub fn rotate(code: &Code, blocks: Vec<BasicBlock>) -> Vec<BasicBlock> {
    let mut blocks = in_order(with_copies(code, blocks));
    for header in 0..blocks.len() {
        if blocks[header].is_loop_header {
            blocks[header].loop_stores = stores_of_loop(code, &blocks, header);
        }
    }
    blocks
}

/// Adds a copy of each short head, and leads the jumps from outside there.
fn with_copies(code: &Code, mut blocks: Vec<BasicBlock>) -> Vec<BasicBlock> {
    let count = blocks.len();
    let mut copy_of: Vec<Option<usize>> = vec![None; count];
    for head in 0..count {
        if blocks[head].is_loop_header && is_short_test(code, &blocks[head], head) {
            copy_of[head] = Some(blocks.len());
            let block = &blocks[head];
            let copy = BasicBlock {
                start: block.start,
                end: block.end,
                successors: block.successors.clone(),
                predecessors: Vec::new(),
                is_loop_header: false,
                loop_stores: None,
            };
            blocks.push(copy);
        }
    }
    let originals: Vec<usize> = (0..count)
        .chain(copy_of.iter().enumerate().filter_map(|(at, copy)| copy.map(|_| at)))
        .collect();
    for (at, original) in originals.into_iter().enumerate() {
        for successor in &mut blocks[at].successors {
            let Successor { block, .. } = *successor;
            if block > original
                && let Some(copy) = copy_of[block]
            {
                successor.block = copy;
            }
        }
    }
    // The method begins at its first block: outside of every loop.
    if let Some(copy) = copy_of[0] {
        blocks.swap(0, copy);
        for block in &mut blocks {
            for successor in &mut block.successors {
                successor.block = match successor.block {
                    0 => copy,
                    other if other == copy => 0,
                    other => other,
                };
            }
        }
    }
    blocks.iter_mut().for_each(|block| block.is_loop_header = false);
    blocks
}

/// A few instructions without effects and a conditional branch.
fn is_short_test(code: &Code, block: &BasicBlock, index: usize) -> bool {
    let length = (block.end - block.start) as usize;
    if length > TEST_BYTES || block.successors.iter().any(|successor| successor.block == index) {
        return false;
    }
    let mut bci = block.start as usize;
    while bci < block.end as usize {
        let at = Instruction::at(&code.bytecode, bci).expect("checked before");
        bci = at.next_bci();
        let is_last = bci == block.end as usize;
        let fits = match at.opcode {
            op::IFEQ..=op::IF_ACMPNE | op::IFNULL | op::IFNONNULL => is_last,
            op::NOP..=op::SALOAD
            | op::IADD..=op::DCMPG
            | op::ARRAYLENGTH
            | op::GETFIELD
            | op::GETSTATIC
            | op::INSTANCEOF => !is_last,
            _ => false,
        };
        if !fits {
            return false;
        }
    }
    true
}

/// The slots to which a loop stores; `None` when its header is not the only way in.
fn stores_of_loop(code: &Code, blocks: &[BasicBlock], header: usize) -> Option<Vec<bool>> {
    let mut is_inside = vec![false; blocks.len()];
    is_inside[header] = true;
    let mut pending: Vec<usize> =
        blocks[header].predecessors.iter().copied().filter(|from| *from >= header).collect();
    while let Some(at) = pending.pop() {
        if std::mem::replace(&mut is_inside[at], true) {
            continue;
        }
        if at == 0 {
            return None;
        }
        pending.extend(&blocks[at].predecessors);
    }
    let mut stores = vec![false; code.max_locals as usize];
    for block in blocks.iter().zip(&is_inside).filter_map(|(block, inside)| inside.then_some(block))
    {
        let mut bci = block.start as usize;
        while bci < block.end as usize {
            let at = Instruction::at(&code.bytecode, bci).expect("checked before");
            bci = at.next_bci();
            let is_store =
                at.opcode == op::IINC || matches!(at.generic_opcode(), op::ISTORE..=op::ASTORE);
            if let (true, Some(slot)) = (is_store, at.local_slot()) {
                let wide = matches!(at.generic_opcode(), op::LSTORE | op::DSTORE);
                // The slot before may hold a wide value that ends.
                let first = (slot as usize).saturating_sub(1);
                stores[first..=slot as usize + usize::from(wide)].fill(true);
            }
        }
    }
    Some(stores)
}

const TEST_BYTES: usize = 24;
