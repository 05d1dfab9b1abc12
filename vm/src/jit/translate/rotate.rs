//! Loops with their test at the end.
//!
//! A loop that tests at its head jumps twice in each round. Where the head is short it is given a copy: entries from
//! outside lead to the copy, jumps from inside to the original, and the loop's body, which follows both, becomes the
//! loop's header. Facts that the test establishes about a local that the loop does not store to (it is not null, its
//! length is this) then hold in the whole body; and those about a counter hold in every round.
//!
//! Small loops without calls are *peeled* first: their first round stands before them. Checks of unchanged values in
//! the first round are not repeated.

use super::flow::{BasicBlock, Bound, Counter, NaturalLoop, Successor, in_order};
use classfile::Code;
use classfile::bytecode::{Instruction, op};

/// Peels and rotates loops, and records the blocks of each and the locals that it stores to.
pub fn rotate(code: &Code, blocks: Vec<BasicBlock>) -> Vec<BasicBlock> {
    let blocks = with_first_rounds(code, blocks);
    let mut blocks = in_order(with_copies(code, blocks));
    for header in 0..blocks.len() {
        if blocks[header].is_loop_header
            && let Some(is_inside) = loop_of(&blocks, header)
        {
            let stores = stores_of_loop(code, &blocks, &is_inside);
            blocks[header].counter = counter_of(code, &blocks, header, &is_inside, &stores);
            blocks[header].natural_loop = Some(NaturalLoop { is_inside, stores });
        }
    }
    blocks
}

/// Puts a copy of each small innermost loop before it, which does its first round.
fn with_first_rounds(code: &Code, mut blocks: Vec<BasicBlock>) -> Vec<BasicBlock> {
    let count = blocks.len();
    // Not the first block: the method begins there.
    for header in 1..count {
        if !blocks[header].is_loop_header {
            continue;
        }
        let Some(is_inside) = loop_of(&blocks[..count], header) else { continue };
        let inside: Vec<usize> = (0..count).filter(|at| is_inside[*at]).collect();
        let bytes: usize = inside.iter().map(|at| blocks[*at].bytes()).sum();
        let is_innermost = inside.iter().all(|at| *at == header || !blocks[*at].is_loop_header);
        let gains = || inside.iter().all(|at| has_no_calls(code, &blocks[*at]));
        if !is_innermost || bytes > PEELED_BYTES || !gains() {
            continue;
        }
        let copy_of = |block: usize| inside.iter().position(|at| *at == block);
        let copies = blocks.len();
        for at in &inside {
            let mut copy = blocks[*at].copy();
            for successor in &mut copy.successors {
                match copy_of(successor.block) {
                    Some(index) if successor.block != header => successor.block = copies + index,
                    _ => {}
                }
            }
            blocks.push(copy);
        }
        let first = copies + copy_of(header).expect("part of its loop");
        for at in (0..copies).filter(|at| !is_inside.get(*at).copied().unwrap_or(false)) {
            for successor in &mut blocks[at].successors {
                if successor.block == header {
                    successor.block = first;
                }
            }
        }
    }
    in_order(blocks)
}

fn has_no_calls(code: &Code, block: &BasicBlock) -> bool {
    instructions(code, block).all(|at| {
        !matches!(at.opcode, op::INVOKEVIRTUAL..=op::MULTIANEWARRAY) || at.opcode == op::ARRAYLENGTH
    })
}

pub(super) fn instructions<'c>(
    code: &'c Code,
    block: &BasicBlock,
) -> impl Iterator<Item = Instruction<'c>> + use<'c> {
    let (mut bci, end) = (block.start as usize, block.end as usize);
    std::iter::from_fn(move || {
        (bci < end).then(|| {
            let at = Instruction::at(&code.bytecode, bci).expect("checked before");
            bci = at.next_bci();
            at
        })
    })
}

/// Adds a copy of each short head, and redirects the jumps from outside to the copy.
fn with_copies(code: &Code, mut blocks: Vec<BasicBlock>) -> Vec<BasicBlock> {
    let count = blocks.len();
    let mut copy_of: Vec<Option<usize>> = vec![None; count];
    for head in 0..count {
        if blocks[head].is_loop_header && is_short_test(code, &blocks[head], head) {
            copy_of[head] = Some(blocks.len());
            let copy = blocks[head].copy();
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
    for at in instructions(code, block) {
        let is_last = at.next_bci() == block.end as usize;
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

/// Which blocks belong to a header's loop; `None` when the header is not the only way in.
fn loop_of(blocks: &[BasicBlock], header: usize) -> Option<Vec<bool>> {
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
    Some(is_inside)
}

/// The slots to which a loop stores.
fn stores_of_loop(code: &Code, blocks: &[BasicBlock], is_inside: &[bool]) -> Vec<bool> {
    let mut stores = vec![false; code.max_locals as usize];
    for at in instructions_of_loop(code, blocks, is_inside) {
        if let Some((slot, slots)) = stored(&at) {
            // A wide value that begins in the slot before ends; it is not live at the header, since another round
            // would read it.
            stores[slot..slot + slots].fill(true);
        }
    }
    stores
}

pub(super) fn instructions_of_loop<'c>(
    code: &'c Code,
    blocks: &[BasicBlock],
    is_inside: &[bool],
) -> impl Iterator<Item = Instruction<'c>> {
    let inside = blocks.iter().zip(is_inside).filter(|(_, inside)| **inside);
    inside.flat_map(|(block, _)| instructions(code, block))
}

/// The local that an instruction stores to, and how many slots it has.
fn stored(at: &Instruction<'_>) -> Option<(usize, usize)> {
    let is_store = at.opcode == op::IINC || matches!(at.generic_opcode(), op::ISTORE..=op::ASTORE);
    let slot = at.local_slot().filter(|_| is_store)?;
    let is_wide = matches!(at.generic_opcode(), op::LSTORE | op::DSTORE);
    Some((slot as usize, 1 + usize::from(is_wide)))
}

/// The counter of a loop whose body, which is its header, always follows a test `counter < bound`.
fn counter_of(
    code: &Code,
    blocks: &[BasicBlock],
    header: usize,
    is_inside: &[bool],
    stores: &[bool],
) -> Option<Counter> {
    let (first, others) = blocks[header].predecessors.split_first()?;
    let test = &blocks[*first];
    // The test and its copy.
    if others.iter().any(|at| blocks[*at].start != test.start) {
        return None;
    }
    let tested: Vec<Instruction> = instructions(code, test).collect();
    let (branch, operands) = tested.split_last()?;
    let body = blocks[header].start as usize;
    let is_less = match branch.opcode {
        op::IF_ICMPGE => branch.next_bci() == body && branch.branch_target() != Some(body as i64),
        op::IF_ICMPLT => branch.branch_target() == Some(body as i64) && branch.next_bci() != body,
        _ => false,
    };
    let local = |at: &Instruction<'_>, opcode| {
        at.local_slot().filter(|_| at.generic_opcode() == opcode).map(usize::from)
    };
    let (slot, bound) = match operands {
        [counter, bound] => (local(counter, op::ILOAD)?, Bound::Local(local(bound, op::ILOAD)?)),
        [counter, array, length] if length.opcode == op::ARRAYLENGTH => {
            (local(counter, op::ILOAD)?, Bound::LengthOf(local(array, op::ALOAD)?))
        }
        _ => return None,
    };
    let (Bound::Local(bound_slot) | Bound::LengthOf(bound_slot)) = bound;
    if !is_less || stores[bound_slot] {
        return None;
    }
    // Counted once, right before the test.
    let mut counts = 0;
    for block in blocks.iter().zip(is_inside).filter_map(|(block, inside)| inside.then_some(block))
    {
        for at in instructions(code, block) {
            let Some((first, slots)) = stored(&at) else { continue };
            if !(first..first + slots).contains(&slot) {
                continue;
            }
            let adds_1 = at.opcode == op::IINC && !at.is_wide && at.u8_at(2) == 1;
            let is_before_test = matches!(&block.successors[..], [next] if next.bci == test.start);
            if !adds_1 || !is_before_test {
                return None;
            }
            counts += 1;
        }
    }
    (counts == 1).then_some(Counter { slot, bound })
}

const TEST_BYTES: usize = 24;
/// Of bytecode: loops up to this size are peeled.
const PEELED_BYTES: usize = 100;
