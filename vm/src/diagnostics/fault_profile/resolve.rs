//! From the words of a sample to methods and lines.

use super::recorder::Root;
use super::ring::WORDS;
use crate::frames::interrupted::Word;
use crate::machine::Vm;
use crate::runtime::MethodRef;
use crate::runtime::code::safepoints::Place;
use classfile::bytecode::{Instruction, op};

/// The names of a stack, outermost first.
pub fn names(vm: &Vm, root: Root, words: impl ExactSizeIterator<Item = Word>) -> Vec<String> {
    let is_cut = words.len() == WORDS;
    let mut frames = Vec::new();
    let mut root_name = root.name();
    for (index, word) in words.enumerate() {
        let first = frames.len();
        match word {
            Word::Interpreted { method, bci } => frames.push(name(method, Some(bci))),
            Word::Native { method } => {
                if index == 0 {
                    root_name = NATIVE;
                }
                frames.push(name(method, None));
            }
            Word::Compiled { pc, is_return } => {
                let places = places(vm, pc, is_return);
                if first == 0
                    && root.is_in_vm()
                    && let Some(callee) = places.first().and_then(callee)
                {
                    root_name = NATIVE;
                    frames.push(callee);
                }
                frames.extend(places.into_iter().map(|place| name(place.method, place.bci)));
            }
        }
    }
    if is_cut {
        frames.push(CUT.into());
    }
    frames.push(root_name.into());
    frames.reverse();
    frames
}

/// A place of which the instruction may be unknown.
struct Known {
    method: MethodRef,
    bci: Option<u16>,
}

/// What an address in compiled code stands for, innermost first: nothing in a stub, and at a side exit, for which the
/// interpreter's frames stand.
fn places(vm: &Vm, pc: usize, is_return: bool) -> Vec<Known> {
    // A call may be the last instruction: only behind one, the address belongs to the code before it.
    let Some(code) = vm.jit.cache.find(pc + usize::from(!is_return)) else { return Vec::new() };
    let known = |Place { method, bci }| Known { method, bci: Some(bci) };
    let offset = (pc - code.start) as u32;
    if is_return && let Some(safepoint) = code.body.safepoints.at(offset) {
        return safepoint.places().rev().map(known).collect();
    }
    let instruction = offset - u32::from(is_return);
    let positions = code.body.positions.iter();
    let places: Vec<_> = positions.flat_map(|all| all.at(instruction)).map(known).collect();
    match places.is_empty() {
        true => vec![Known { method: code.body.method, bci: None }],
        false => places,
    }
}

/// `p.Class.method:line`
fn name(method: MethodRef, bci: Option<u16>) -> String {
    let line = bci.and_then(|bci| method.code()?.line_number(bci));
    let (class, method) = (method.holder.java_name(), method.name());
    match line {
        Some(line) => format!("{class}.{method}:{line}"),
        None => format!("{class}.{method}"),
    }
}

/// The method that is called where the VM does its work in place of a call, as it copies arrays.
fn callee(place: &Known) -> Option<String> {
    let (code, file) = (place.method.code()?, &place.method.holder.instance()?.file);
    let instruction = Instruction::at(&code.bytecode, place.bci? as usize)?;
    if !matches!(instruction.opcode, op::INVOKEVIRTUAL..=op::INVOKEINTERFACE) {
        return None;
    }
    let called = file.constant_pool.member(instruction.pool_index())?;
    let class = file.constant_pool.class_name(called.class_index)?;
    Some(format!("{}.{}", class.text().replace('/', "."), called.name))
}

/// The VM or a library at work for the program.
const NATIVE: &str = "native";
/// Stands for frames that did not fit.
const CUT: &str = "[more frames]";
