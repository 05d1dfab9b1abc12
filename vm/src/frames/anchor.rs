//! A thread's fields for compiled code, and their offsets from the thread register.

use super::activation::Activation;
use super::stack::JavaStack;
use crate::machine::JavaThread;
use std::cell::Cell;
use std::mem::offset_of;

/// Own thread, or a collector while that thread is stopped.
#[repr(C)]
pub struct ThreadJit {
    /// The anchor: where compiled code of the innermost activation has called Rust, and its frame pointer there. 0
    /// while it has not called yet.
    pub exit_pc: Cell<usize>,
    pub exit_fp: Cell<usize>,
    /// The innermost stretch of compiled frames; null when there is none.
    pub activation: Cell<*const Activation>,
    /// Code entered at a loop has left by an exit: the interpreter continues with the frames that are on the
    /// stack.
    pub has_left_loop: Cell<bool>,
    /// Jumps backwards until the compiler's policy is asked; kept here between runs of the interpreter's loop.
    pub back_edges: Cell<u32>,
    /// Result of helpers that preserve all registers.
    pub scratch: Cell<u64>,
}

impl ThreadJit {
    pub fn new() -> ThreadJit {
        ThreadJit {
            exit_pc: Cell::new(0),
            exit_fp: Cell::new(0),
            activation: Cell::new(std::ptr::null()),
            back_edges: Cell::new(1),
            has_left_loop: Cell::new(false),
            scratch: Cell::new(0),
        }
    }
}

impl Default for ThreadJit {
    fn default() -> Self {
        ThreadJit::new()
    }
}

// Offsets in `JavaThread`.

pub const EXIT_PC_OFFSET: usize = offset_of!(JavaThread, jit) + offset_of!(ThreadJit, exit_pc);
pub const EXIT_FP_OFFSET: usize = offset_of!(JavaThread, jit) + offset_of!(ThreadJit, exit_fp);
pub const SCRATCH_OFFSET: usize = offset_of!(JavaThread, jit) + offset_of!(ThreadJit, scratch);
pub const PENDING_OFFSET: usize = offset_of!(JavaThread, pending);
/// A function whose stack pointer is not above this word throws `StackOverflowError`. Never 0 in compiled code.
pub const STACK_LIMIT_OFFSET: usize =
    offset_of!(JavaThread, java_stack) + JavaStack::CODE_LIMIT_OFFSET;
