//! When to compile, and when again.
//!
//! Each method counts its calls down from a threshold; loops take from the same count, and are compiled on their own
//! when a method jumps back often. At 0 the interpreter calls [`hot`](Jit::hot), and the method is compiled quickly.
//! That code counts on, and at 0 calls [`count`]: then the method is compiled once more, better. Code is discarded and
//! compiled again when a constant that it takes for unresolved is met again and again: by then the interpreter has
//! resolved it.

use super::queue::Task;
use super::{Jit, compile};
use crate::machine::{JavaThread, Vm};
use crate::options::jit::JitOptions;
use crate::options::pattern::MethodPattern;
use crate::runtime::code::body::Tier;
use crate::runtime::code::compiled::State;
use crate::runtime::code::side_exits::{Reason, SideExit};
use crate::runtime::{Method, MethodRef};
use std::hash::{Hash, Hasher};
use std::sync::atomic::Ordering;

impl Jit {
    /// Calls that a method takes until [`hot`](Jit::hot) is asked, from its first one on.
    pub fn countdown(&self, vm: &Vm, method: &Method) -> i32 {
        let options = &vm.options.jit;
        match options.stress {
            _ if !options.compiles() => i32::MAX,
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
                    let tier = first_tier(t.vm, method);
                    self.queue.submit(t.vm, Task { method, osr_bci: None, tier });
                }
            }
        }
    }
}

/// How a method, or its loop, is compiled that was only interpreted.
pub fn first_tier(vm: &Vm, method: &Method) -> Tier {
    let options = &vm.options.jit;
    let is_quick = match options.stress {
        _ if !options.has_second_tier() => return last_tier(vm),
        Some(seed) => random(seed, method, 4).is_multiple_of(2),
        None => !options.compiles_everything,
    };
    if is_quick { Tier::Quick } else { Tier::Full }
}

/// How code is made for what has code. Code of this tier is not replaced by better code.
pub fn last_tier(vm: &Vm) -> Tier {
    let options = &vm.options.jit;
    if options.is_tiered && !options.has_second_tier() { Tier::Quick } else { Tier::Full }
}

/// Calls of a method's quick code until [`count`] is asked.
pub fn second_countdown(vm: &Vm, method: &Method) -> i32 {
    let options = &vm.options.jit;
    match options.stress {
        None => options.second_threshold.max(1),
        Some(seed) => STRESS_CALLS[random(seed, method, 5) as usize % STRESS_CALLS.len()],
    }
}

/// Rounds of loops after which quick code calls [`count`]: a power of 2.
pub fn rounds_until_counted(options: &JitOptions) -> u32 {
    if options.stress.is_some() { STRESS_ROUNDS } else { ROUNDS_UNTIL_COUNTED }
}

/// The quick code that calls this was called as often as its method's countdown says, or has executed this many rounds
/// of loops, the last of one in `looping`, which may be inlined. Whether it should leave the loop: the code is not the
/// method's any more, and the interpreter may enter code of the loop. No safepoint.
pub fn count(t: &JavaThread, rounds: u32, looping: MethodRef) -> bool {
    let code = t.vm.jit.cache.find(t.jit.exit_pc.get()).expect("called by compiled code");
    let (method, jit) = (code.body.method, &code.body.method.jit);
    let is_latest = match code.body.osr_bci {
        None => compile::is_current(code),
        Some(bci) => jit.find_loop(bci).is_some_and(|latest| std::ptr::eq(latest, code)),
    };
    if !is_latest && rounds == 0 {
        // Callers that have selected the code before come here once.
        jit.countdown.store(i32::MAX, Ordering::Relaxed);
        return false;
    }
    if !is_latest {
        let leaves =
            looping.jit.loop_state() != State::Excluded && may_compile_alone(t.vm, looping);
        if leaves {
            // The interpreter has the loop compiled at once.
            looping.jit.back_edges.fetch_max(loop_threshold(t.vm, looping), Ordering::Relaxed);
        }
        return leaves;
    }
    if let Some(bci) = code.body.osr_bci {
        count_rounds(t, method, bci, rounds);
        return false;
    }
    let left = jit.countdown.load(Ordering::Relaxed) - (rounds / ROUNDS_PER_CALL) as i32;
    jit.countdown.store(if left > 0 { left } else { ASK_AGAIN }, Ordering::Relaxed);
    if left > 0 {
        return false;
    }
    match jit.state() {
        State::Interpreted => (),
        State::Excluded => jit.countdown.store(i32::MAX, Ordering::Relaxed),
        State::Queued => {
            jit.asked.fetch_add(1, Ordering::Relaxed);
        }
        State::Compiled if jit.compilations.load(Ordering::Relaxed) < COMPILATIONS_MAX => {
            compile_again(t, method)
        }
        State::Compiled => jit.countdown.store(i32::MAX, Ordering::Relaxed),
    }
    false
}

/// Quick code of the loop at this bci has executed this many rounds.
fn count_rounds(t: &JavaThread, method: MethodRef, bci: u16, rounds: u32) {
    let jit = &method.jit;
    let jumps = jit.back_edges.load(Ordering::Relaxed).saturating_add(rounds);
    jit.back_edges.store(jumps, Ordering::Relaxed);
    let more = (second_countdown(t.vm, method) as u32).saturating_mul(ROUNDS_PER_CALL);
    if jumps >= loop_threshold(t.vm, method).saturating_add(more) {
        compile_loop_again(t, method, bci);
    }
}

/// Has a loop that has code compiled once more, unless a loop of the method waits already.
fn compile_loop_again(t: &JavaThread, method: MethodRef, bci: u16) {
    let jit = &method.jit;
    if jit.osr_compilations.load(Ordering::Relaxed) < COMPILATIONS_MAX
        && jit.change_loop_state(State::Interpreted, State::Queued)
    {
        let tier = last_tier(t.vm);
        t.vm.jit.queue.submit(t.vm, Task { method, osr_bci: Some(bci), tier });
    }
}

/// Has a method compiled as well as possible, unless it is already, or is excluded. No safepoint.
pub fn request(t: &JavaThread, method: MethodRef) {
    let jit = &method.jit;
    if jit.change_state(State::Interpreted, State::Queued) {
        t.vm.jit.queue.submit(t.vm, Task { method, osr_bci: None, tier: last_tier(t.vm) });
        return;
    }
    let code = t.vm.jit.cache.at(jit.compiled.load(Ordering::Acquire) as usize);
    if code.is_some_and(|code| code.body.tier != last_tier(t.vm)) {
        compile_again(t, method);
    }
}

/// Has a method that has code compiled once more, unless it waits for that already.
fn compile_again(t: &JavaThread, method: MethodRef) {
    if method.jit.change_state(State::Compiled, State::Queued) {
        let tier = last_tier(t.vm);
        t.vm.jit.queue.submit(t.vm, Task { method, osr_bci: None, tier });
    }
}

/// Jumps backwards until loops of a method are compiled.
pub fn loop_threshold(vm: &Vm, method: &Method) -> u32 {
    let options = &vm.options.jit;
    match options.stress {
        _ if !options.compiles() => u32::MAX,
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
    options.compiles()
        && is_wanted
        && !is_left
        && method.code().is_some()
        && may_compile(vm, method)
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
                let tier = first_tier(t.vm, method);
                t.vm.jit.queue.submit(t.vm, Task { method, osr_bci: Some(bci), tier });
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
    if let Some(bci) = code.body.osr_bci {
        compile_loop_again(t, method, bci);
    } else if compile::is_current(code)
        && jit.compilations.load(Ordering::Relaxed) < COMPILATIONS_MAX
    {
        compile_again(t, method);
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
pub const COMPILATIONS_MAX: u8 = 6;
/// Rounds of loops in quick code that count like one call.
const ROUNDS_PER_CALL: u32 = 8;
const ROUNDS_UNTIL_COUNTED: u32 = 256;
const STRESS_ROUNDS: u32 = 8;
const STRESS_CALLS: [i32; 6] = [1, 1, 2, 5, 30, 300];
const STRESS_LOOPS: [u32; 5] = [1, 3, 20, 200, 3000];
