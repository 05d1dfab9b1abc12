//! What a method has for the compiler: its code, how hot it is, what became of compiling it.

use super::installed::Installed;
use crate::runtime::Method;
use std::mem::offset_of;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8, AtomicU32, Ordering};

/// Part of a [`Method`].
#[repr(C)]
pub struct MethodJit {
    /// Where compiled code calls the method: its own code or `stubs::call_interpreter`; never null. Written by
    /// compiler threads (release), read by compiled code and the interpreter.
    pub compiled: AtomicPtr<u8>,
    /// Calls to go until the method is to be compiled. Interpreter threads count down, losing some counts.
    pub countdown: AtomicI32,
    /// Jumps backwards, counted in steps.
    pub back_edges: AtomicU32,
    /// [`State`] of the method's own code.
    pub state: AtomicU8,
    /// How often it was compiled from its beginning.
    pub compilations: AtomicU8,
    /// How often loops of it were compiled.
    pub osr_compilations: AtomicU8,
    /// Code that is entered at a loop: head of a list. Compiler threads push.
    pub osr: AtomicPtr<Installed>,
}

/// What became of compiling a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum State {
    Interpreted,
    Queued,
    Compiled,
    /// Cannot or must not be compiled.
    Excluded,
}

impl MethodJit {
    pub fn new() -> MethodJit {
        let interpreter = super::stubs::call_interpreter as *const () as *mut u8;
        MethodJit {
            compiled: AtomicPtr::new(interpreter),
            countdown: AtomicI32::new(0),
            back_edges: AtomicU32::new(0),
            state: AtomicU8::new(State::Interpreted as u8),
            compilations: AtomicU8::new(0),
            osr_compilations: AtomicU8::new(0),
            osr: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    pub fn state(&self) -> State {
        match self.state.load(Ordering::Acquire) {
            0 => State::Interpreted,
            1 => State::Queued,
            2 => State::Compiled,
            _ => State::Excluded,
        }
    }

    pub fn set_state(&self, state: State) {
        self.state.store(state as u8, Ordering::Release);
    }

    /// Whether the state was `from` and is `to` now.
    pub fn change_state(&self, from: State, to: State) -> bool {
        let (from, to) = (from as u8, to as u8);
        self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

impl Default for MethodJit {
    fn default() -> Self {
        MethodJit::new()
    }
}

/// Of `compiled` in a [`Method`].
pub const COMPILED_OFFSET: usize = offset_of!(Method, jit) + offset_of!(MethodJit, compiled);
