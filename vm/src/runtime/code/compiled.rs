//! A method's state for the compiler: its code, its hotness, the outcome of compiling it.

use super::installed::Installed;
use crate::runtime::Method;
use std::mem::offset_of;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8, AtomicU32, Ordering};

/// Part of a [`Method`].
#[repr(C)]
pub struct MethodJit {
    /// The address at which compiled code calls the method: its own code or `stubs::call_interpreter`; never null.
    /// Written by compiler threads (release), read by compiled code and the interpreter.
    pub compiled: AtomicPtr<u8>,
    /// Calls left until the method is to be compiled, or once more. The interpreter and quick code count down, losing
    /// some counts.
    pub countdown: AtomicI32,
    /// Jumps backwards, counted in steps.
    pub back_edges: AtomicU32,
    /// How often it was found hot since it is `Queued`, or its loops are. Relaxed: only the order of compiling depends
    /// on it.
    pub asked: AtomicU32,
    /// [`State`] of the method's own code.
    state: AtomicU8,
    /// How often it was compiled from its beginning, without quick code that is to be replaced. At the maximum it is
    /// not compiled once more.
    pub compilations: AtomicU8,
    /// How often loops of it were compiled.
    pub osr_compilations: AtomicU8,
    /// [`State`] of compiling loops: `Interpreted` while another one may be compiled.
    loop_state: AtomicU8,
    /// Code that is entered at a loop: head of a list. Changed under `Jit::publishing`, read by all threads.
    osr: AtomicPtr<Installed>,
}

/// The outcome of compiling a method.
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
    /// Of a method without machine code: compiled code that calls it calls `interpreter`.
    pub fn new(interpreter: *const u8) -> MethodJit {
        MethodJit {
            compiled: AtomicPtr::new(interpreter.cast_mut()),
            countdown: AtomicI32::new(0),
            back_edges: AtomicU32::new(0),
            asked: AtomicU32::new(0),
            state: AtomicU8::new(State::Interpreted as u8),
            compilations: AtomicU8::new(0),
            osr_compilations: AtomicU8::new(0),
            loop_state: AtomicU8::new(State::Interpreted as u8),
            osr: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    pub fn state(&self) -> State {
        State::of(self.state.load(Ordering::Acquire))
    }

    pub fn set_state(&self, state: State) {
        self.state.store(state as u8, Ordering::Release);
    }

    /// Whether the state was `from` and is `to` now.
    pub fn change_state(&self, from: State, to: State) -> bool {
        change(&self.state, from, to)
    }

    pub fn loop_state(&self) -> State {
        State::of(self.loop_state.load(Ordering::Acquire))
    }

    pub fn set_loop_state(&self, state: State) {
        self.loop_state.store(state as u8, Ordering::Release);
    }

    pub fn change_loop_state(&self, from: State, to: State) -> bool {
        change(&self.loop_state, from, to)
    }

    /// The newest code that is entered at this bci.
    pub fn find_loop(&self, bci: u16) -> Option<&'static Installed> {
        let mut at = self.osr.load(Ordering::Acquire);
        loop {
            // SAFETY: bodies that are or were on the list are freed in a stopped world, and we reach no safepoint.
            let installed: &'static Installed = unsafe { at.as_ref() }?;
            if installed.body.osr_bci == Some(bci) {
                return Some(installed);
            }
            at = installed.next.load(Ordering::Acquire);
        }
    }

    /// Puts code on the list. `Jit::publishing` is held.
    pub fn push_loop(&self, installed: &'static Installed) {
        installed.next.store(self.osr.load(Ordering::Acquire), Ordering::Relaxed);
        self.osr.store(std::ptr::from_ref(installed).cast_mut(), Ordering::Release);
    }

    /// Takes code off the list; `false`: it is not there. `Jit::publishing` is held. Threads that have just found the
    /// code may go on from it, until the next pause.
    pub fn remove_loop(&self, installed: &'static Installed) -> bool {
        let mut link = &self.osr;
        loop {
            // SAFETY: as in `find_loop`.
            let Some(at) = (unsafe { link.load(Ordering::Acquire).as_ref() }) else { return false };
            let at: &'static Installed = at;
            if std::ptr::eq(at, installed) {
                link.store(at.next.load(Ordering::Acquire), Ordering::Release);
                return true;
            }
            link = &at.next;
        }
    }
}

impl State {
    fn of(byte: u8) -> State {
        match byte {
            0 => State::Interpreted,
            1 => State::Queued,
            2 => State::Compiled,
            _ => State::Excluded,
        }
    }
}

fn change(state: &AtomicU8, from: State, to: State) -> bool {
    let (from, to) = (from as u8, to as u8);
    state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
}

/// Of `compiled` in a [`Method`].
pub const COMPILED_OFFSET: usize = offset_of!(Method, jit) + offset_of!(MethodJit, compiled);
