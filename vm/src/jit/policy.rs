//! When to compile, and when again.
//!
//! Each method counts its calls down from a threshold; loops take from the same count, and are compiled on their own
//! when a method jumps back often. At 0 the interpreter calls [`hot`](Jit::hot). Code is discarded and compiled
//! again when a constant that it takes for unresolved is met again and again: by then the interpreter has resolved
//! it.

use super::queue::Task;
use super::{Jit, compile};
use crate::machine::{JavaThread, Vm};
use crate::options::jit::JitOptions;
use crate::options::pattern::MethodPattern;
use crate::runtime::code::body::{Reason, SideExit};
use crate::runtime::code::compiled::State;
use crate::runtime::{Method, MethodRef};
use std::hash::{Hash, Hasher};
use std::sync::atomic::Ordering;

impl Jit {
    /// Calls that a method takes until [`hot`](Jit::hot) is asked, from its first one on.
    pub fn countdown(&self, vm: &Vm, method: &Method) -> i32 {
        let options = &vm.options.jit;
        match options.stress {
            _ if !options.is_on => i32::MAX,
            None => options.call_threshold.max(1),
            Some(seed) => STRESS_CALLS[random(seed, method, 1) as usize % STRESS_CALLS.len()],
        }
    }

    /// A method has been called as often as its countdown says. It may have code afterwards. No safepoint.
    #[cold]
    #[inline(never)]
    pub fn hot(&self, t: &JavaThread, method: MethodRef) {
        let jit = &method.jit;
        // For a method that is being compiled, or waits for it, this is asked again later.
        jit.countdown.store(self.countdown(t.vm, method).max(ASK_AGAIN), Ordering::Relaxed);
        match jit.state() {
            State::Excluded => jit.countdown.store(i32::MAX, Ordering::Relaxed),
            State::Queued => {
                jit.asked.fetch_add(1, Ordering::Relaxed);
                jit.countdown.store(ASK_AGAIN, Ordering::Relaxed);
            }
            State::Compiled => (),
            State::Interpreted if !may_compile_alone(t.vm, method) => exclude(method),
            State::Interpreted => {
                if jit.change_state(State::Interpreted, State::Queued) {
                    self.queue.submit(t.vm, Task { method, osr_bci: None });
                }
            }
        }
    }
}

/// Jumps backwards until loops of a method are compiled.
pub fn loop_threshold(vm: &Vm, method: &Method) -> u32 {
    let options = &vm.options.jit;
    match options.stress {
        _ if !options.is_on => u32::MAX,
        None => {
            let jumps = options.call_threshold as u64 * options.loop_percentage as u64 / 100;
            jumps.clamp(1, u32::MAX as u64) as u32
        }
        Some(seed) => STRESS_LOOPS[random(seed, method, 2) as usize % STRESS_LOOPS.len()],
    }
}

/// The interpreter counts jumps backwards in steps of this size.
pub fn back_edge_step(options: &JitOptions) -> u32 {
    if options.stress.is_some() || options.call_threshold < BACK_EDGE_STEP as i32 {
        1
    } else {
        BACK_EDGE_STEP
    }
}

/// Whether options and the VM's own needs let a method be compiled, alone or as part of another.
pub fn may_compile(vm: &Vm, method: &Method) -> bool {
    !needs_interpreter(vm, method) && !is_any(&vm.options.jit.excluded, method)
}

/// Whether one of the patterns means the method.
pub fn is_any(patterns: &[MethodPattern], method: &Method) -> bool {
    let (class, name) = (method.holder.name.bytes(), method.name().bytes());
    patterns.iter().any(|pattern| pattern.matches(class, name))
}

/// Whether a method may be compiled on its own.
pub fn may_compile_alone(vm: &Vm, method: MethodRef) -> bool {
    let options = &vm.options.jit;
    let is_wanted = options.only.is_empty() || is_any(&options.only, method);
    let is_left = options.stress.is_some_and(|seed| random(seed, method, 3).is_multiple_of(5));
    options.is_on && is_wanted && !is_left && method.code().is_some() && may_compile(vm, method)
}

/// Methods of which the VM reads locals.
fn needs_interpreter(vm: &Vm, method: &Method) -> bool {
    let holder = method.holder;
    method.name().bytes() == b"executePrivileged"
        && holder.loader == vm.boot_loader
        && holder.name.bytes() == b"java/security/AccessController"
}

/// A method's loop at this bci has been jumped to often. It may have code afterwards. No safepoint.
#[cold]
#[inline(never)]
pub fn hot_loop(t: &JavaThread, method: MethodRef, bci: u16) {
    let jit = &method.jit;
    match jit.loop_state() {
        State::Compiled | State::Excluded => (),
        State::Queued => {
            jit.asked.fetch_add(1, Ordering::Relaxed);
        }
        State::Interpreted if !may_compile_alone(t.vm, method) => {
            jit.set_loop_state(State::Excluded)
        }
        State::Interpreted => {
            if jit.change_loop_state(State::Interpreted, State::Queued) {
                t.vm.jit.queue.submit(t.vm, Task { method, osr_bci: Some(bci) });
            }
        }
    }
}

/// A method stays with the interpreter from now on.
pub fn exclude(method: MethodRef) {
    method.jit.set_state(State::Excluded);
    method.jit.countdown.store(i32::MAX, Ordering::Relaxed);
}

/// A side exit was taken, for the `taken`-th time. No safepoint.
pub fn exit_taken(t: &JavaThread, exit: &SideExit, taken: u32) {
    if exit.reason != Reason::Unresolved || !taken.is_multiple_of(EXITS_UNTIL_RECOMPILED) {
        return;
    }
    let Some(code) = t.vm.jit.cache.find(t.jit.exit_pc.get()) else { return };
    let (method, jit) = (code.body.method, &code.body.method.jit);
    if code.body.osr_bci.is_some() {
        if jit.osr_compilations.load(Ordering::Relaxed) < COMPILATIONS_MAX
            && jit.change_loop_state(State::Interpreted, State::Queued)
        {
            let osr_bci = code.body.osr_bci;
            t.vm.jit.queue.submit(t.vm, Task { method, osr_bci });
        }
    } else if compile::is_current(code)
        && jit.compilations.load(Ordering::Relaxed) < COMPILATIONS_MAX
        && jit.change_state(State::Compiled, State::Queued)
    {
        t.vm.jit.queue.submit(t.vm, Task { method, osr_bci: None });
    }
}

/// A number that depends on the seed, the method and the question.
fn random(seed: u64, method: &Method, question: u64) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    let name = (method.holder.name.bytes(), method.name().bytes(), method.descriptor().bytes());
    (seed, question, name).hash(&mut hasher);
    let hash = hasher.finish();
    hash ^ hash >> 32
}

/// Jumps between two checks of the counters.
const BACK_EDGE_STEP: u32 = 64;
/// Calls before a method that was not compiled is asked about again.
const ASK_AGAIN: i32 = 100;
/// Exits of one kind until code is compiled again.
const EXITS_UNTIL_RECOMPILED: u32 = 8;
/// Times that a method, or its loops, are compiled at most for such reasons.
const COMPILATIONS_MAX: u8 = 6;
const STRESS_CALLS: [i32; 6] = [1, 1, 2, 5, 30, 300];
const STRESS_LOOPS: [u32; 5] = [1, 3, 20, 200, 3000];
