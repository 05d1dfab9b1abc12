//! The state of one method while it is translated: the compiled method itself, or one that is being inlined.

use super::facts::Facts;
use super::flow::Flow;
use super::inlining::Continuation;
use super::invariants::Invariant;
use super::kind::Kind;
use crate::runtime::MethodRef;
use crate::runtime::code::quick::{Site, code_of, sites_of};
use cranelift_codegen::ir::{Block, Value};
use cranelift_frontend::Variable;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicU8, Ordering};

/// A method in translation. The translator has a stack of them, the innermost last.
pub struct Scope {
    pub method: MethodRef,
    pub flow: Rc<Flow>,
    /// The instruction being translated; in outer scopes the call that is inlined.
    pub bci: u16,
    /// Index of the flow's block being translated.
    pub block: usize,
    /// Cranelift's blocks, one for each of the flow's.
    pub blocks: Vec<Block>,
    /// How each of the flow's blocks is entered, once a jump to it has been translated.
    pub entries: Vec<Option<Entry>>,
    /// Kinds of the locals now; the second slots of wide ones have none.
    pub locals: Vec<Option<Kind>>,
    /// A variable for each slot and kind that is used.
    pub variables: FxHashMap<(u16, Kind), Variable>,
    pub stack: Vec<Operand>,
    /// Objects locked by `monitorenter`, outermost first. All scopes that lock as deep share the variables.
    pub locks: Vec<Variable>,
    pub lock_depth: usize,
    /// The object that a synchronized method has locked.
    pub method_lock: Option<Variable>,
    /// The target of returns of an inlined method; `None` in the outermost scope.
    pub continuation: Option<Continuation>,
    /// Of a method that is entered at a loop: the header's index.
    pub entered_at: Option<usize>,
    /// By loop header, of loops that were reached: the values that are loaded before them.
    pub invariants: FxHashMap<usize, Vec<Invariant>>,
    /// Of a profile: the number of the instruction being translated, and of the call that is inlined.
    pub position: Option<u32>,
    pub called_at: Option<u32>,
    quick: *const u8,
    /// The opcodes of the quick code as they were at first, by bci: threads resolve instructions meanwhile, and an
    /// instruction that one pass over the code takes for unreached must not be translated by a later one.
    opcodes: Box<[u8]>,
}

/// The state at the beginning of a block.
#[derive(Clone)]
pub struct Entry {
    pub locals: Vec<Option<Kind>>,
    pub stack: Vec<Kind>,
    pub lock_depth: usize,
    pub facts: Facts,
    /// Of each local its value, where all jumps from before bring the same.
    pub values: Vec<Option<Value>>,
}

/// An entry of the operand stack. Wide ones are one entry.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    Value(Kind, Value),
    /// A reference of a method that waits for an inlined one: safepoints in the inlined one change it.
    Suspended(Variable),
}

impl Operand {
    pub fn kind(self) -> Kind {
        match self {
            Operand::Value(kind, _) => kind,
            Operand::Suspended(_) => Kind::Ref,
        }
    }
}

impl Scope {
    pub fn new(method: MethodRef, flow: Rc<Flow>) -> Scope {
        let count = flow.blocks.len();
        let locals = vec![None; flow.code.max_locals as usize];
        let quick = code_of(method);
        let opcodes = (0..flow.code.bytecode.len()).map(|bci| {
            // SAFETY: a prepared method has quick code as long as its bytecode, which is only accessed atomically.
            unsafe { (*quick.add(bci).cast::<AtomicU8>()).load(Ordering::Acquire) }
        });
        Scope {
            method,
            flow,
            bci: 0,
            block: 0,
            blocks: Vec::new(),
            entries: vec![None; count],
            locals,
            variables: FxHashMap::default(),
            stack: Vec::new(),
            locks: Vec::new(),
            lock_depth: 0,
            method_lock: None,
            continuation: None,
            entered_at: None,
            invariants: FxHashMap::default(),
            position: None,
            called_at: None,
            quick,
            opcodes: opcodes.collect(),
        }
    }

    /// The interpreter's opcode at a bci: quick where the instruction is resolved. Then the result of the resolution
    /// is visible to reads after this one.
    pub fn quick_opcode(&self, bci: u16) -> u8 {
        self.opcodes[bci as usize]
    }

    /// The 16-bit operand of a quick instruction.
    pub fn quick_operand(&self, bci: u16) -> u16 {
        // SAFETY: inside the quick code; the instruction has two operand bytes, which do not change once it is quick.
        unsafe { self.quick.add(bci as usize + 1).cast::<u16>().read_unaligned() }
    }

    /// The number of a quick `invokedynamic`.
    pub fn quick_number(&self, bci: u16) -> u32 {
        // SAFETY: as above, with four operand bytes.
        unsafe { self.quick.add(bci as usize + 1).cast::<u32>().read_unaligned() }
    }

    /// The site of a quick instruction that has one.
    pub fn site(&self, bci: u16) -> &'static Site {
        // SAFETY: the operand is the site's number; sites live as long as the method.
        unsafe { &*sites_of(self.quick).add(self.quick_operand(bci) as usize) }
    }
}
