//! What tests ask of the compiler, by the [`whitebox`](crate::whitebox).

use super::{compile, policy, sweep};
use crate::frames::holders;
use crate::machine::{JavaThread, Vm};
use crate::runtime::MethodRef;
use crate::runtime::code::compiled::State;
use crate::runtime::code::quick;
use parking_lot::RwLock;
use std::sync::atomic::Ordering;

/// What was asked of single methods. Any thread.
#[derive(Default)]
pub struct Requests {
    /// The last of HotSpot's levels for which a method was to be compiled.
    levels: RwLock<Vec<(MethodRef, i32)>>,
    /// Methods that are to be inlined everywhere, or nowhere.
    forced: RwLock<Vec<MethodRef>>,
    forbidden: RwLock<Vec<MethodRef>>,
}

impl Requests {
    pub fn forces(&self, method: MethodRef) -> bool {
        self.forced.read().contains(&method)
    }

    pub fn forbids(&self, method: MethodRef) -> bool {
        self.forbidden.read().contains(&method)
    }

    /// Code that is compiled from now on has the method inlined, or no longer so. Whether it was so before.
    pub fn force(&self, method: MethodRef, is_forced: bool) -> bool {
        change(&self.forced, method, is_forced)
    }

    /// The same, never to be inlined.
    pub fn forbid(&self, method: MethodRef, is_forbidden: bool) -> bool {
        change(&self.forbidden, method, is_forbidden)
    }
}

fn change(list: &RwLock<Vec<MethodRef>>, method: MethodRef, is_in: bool) -> bool {
    let mut list = list.write();
    let was_in = list.contains(&method);
    list.retain(|other| *other != method);
    list.extend(is_in.then_some(method));
    was_in
}

/// Whether calls of the method, or jumps in it, enter code.
pub fn is_compiled(vm: &Vm, method: MethodRef, is_loop: bool) -> bool {
    match is_loop {
        true => loop_bci(vm, method).is_some(),
        false => compile::has_code(method),
    }
}

/// Where a loop of the method is entered that has code, the last such place.
pub fn loop_bci(vm: &Vm, method: MethodRef) -> Option<u16> {
    let of_method = vm.jit.cache.bodies().into_iter().map(|code| &code.body);
    let of_method = of_method.filter(|body| std::ptr::eq(body.method, method));
    let bcis = of_method.filter_map(|body| body.osr_bci);
    bcis.filter(|bci| method.jit.find_loop(*bci).is_some()).max()
}

/// Whether the method, or a loop of it, would be compiled when it is hot.
pub fn is_compilable(vm: &Vm, method: MethodRef, is_loop: bool) -> bool {
    let state = if is_loop { method.jit.loop_state() } else { method.jit.state() };
    state != State::Excluded && policy::may_compile_alone(vm, method)
}

pub fn is_queued(method: MethodRef) -> bool {
    [method.jit.state(), method.jit.loop_state()].contains(&State::Queued)
}

/// Has the method compiled as well as possible, or one of its loops. Its class is linked. False: it cannot be.
pub fn compile(t: &JavaThread, method: MethodRef, loop_bci: Option<u16>) -> bool {
    if !is_compilable(t.vm, method, loop_bci.is_some()) {
        return false;
    }
    // It may never have been called.
    if !quick::is_prepared(method) {
        quick::prepare(method);
    }
    match loop_bci {
        None => policy::request(t, method),
        Some(bci) => policy::hot_loop(t, method, bci),
    }
    is_queued(method) || is_compiled(t.vm, method, loop_bci.is_some())
}

/// The method, or its loops, are not compiled from now on.
pub fn exclude(method: MethodRef, is_loop: bool) {
    match is_loop {
        true => method.jit.set_loop_state(State::Excluded),
        false => policy::exclude(method),
    }
}

/// As if the method had never been called; code that it has stays.
pub fn reset(vm: &Vm, method: MethodRef) {
    let jit = &method.jit;
    jit.countdown.store(vm.jit.countdown(vm, method), Ordering::Relaxed);
    jit.back_edges.store(0, Ordering::Relaxed);
    let state = if is_compiled(vm, method, false) { State::Compiled } else { State::Interpreted };
    jit.change_state(State::Excluded, state);
    jit.change_loop_state(State::Excluded, State::Interpreted);
}

/// Calls and loops enter the interpreter again where they enter code of which `is_it` holds; it gets a body's method
/// and loop. Threads that run such code go on, but leave long loops of quick code. Returns how many bodies there are. A
/// safepoint.
pub fn discard(t: &JavaThread, is_it: &dyn Fn(MethodRef, Option<u16>) -> bool) -> usize {
    let mut count = 0;
    t.vm.heap.stop_world(Some(&t.mutator), &mut |_| {
        let _publishing = t.vm.jit.publishing.lock();
        let mut retired = t.vm.jit.retired.lock();
        for code in t.vm.jit.cache.bodies() {
            let is_retired = retired.iter().any(|body| std::ptr::eq(*body, code));
            if !is_retired && is_it(code.body.method, code.body.osr_bci) {
                compile::unpublish(t.vm, code);
                retired.push(code);
                count += 1;
            }
        }
    });
    count
}

/// Call sites of compiled code, and all threads, forget which methods they have selected for which classes. A
/// safepoint.
pub fn forget_selections(t: &JavaThread) {
    t.vm.heap.stop_world(Some(&t.mutator), &mut |world| {
        holders::forget_selections(t.vm, world);
        let cells = t.vm.jit.cache.bodies().into_iter().flat_map(|code| &code.body.cells);
        cells.for_each(|cell| cell.forget(|_, _| true));
    });
}

/// Frees the code that nothing enters and no thread runs. A safepoint.
pub fn sweep(t: &JavaThread) {
    t.safely(|| sweep::sweep(t.vm));
}

/// Whether the compiler begins tasks: it is on, they are not held, and its cache has not been found full since it was
/// last swept.
pub fn is_active(vm: &Vm) -> bool {
    let is_stopped = vm.jit.queue.is_held() || vm.jit.is_full.load(Ordering::Relaxed);
    vm.options.jit.compiles() && !is_stopped
}

/// A method is about to be compiled for one of HotSpot's levels.
pub fn note_level(vm: &Vm, method: MethodRef, level: i32) {
    let mut levels = vm.jit.requests.levels.write();
    levels.retain(|(other, _)| *other != method);
    levels.push((method, level));
}

/// The level of the code of a method: the one that was asked for, or the highest.
pub fn level(vm: &Vm, method: MethodRef) -> i32 {
    let levels = vm.jit.requests.levels.read();
    let asked = levels.iter().find(|(other, _)| *other == method);
    asked.map_or_else(|| highest_level(vm), |(_, level)| *level)
}

/// Whether code of one of HotSpot's levels can be asked for: the highest alone where a method is compiled once.
pub fn has_level(vm: &Vm, level: i32) -> bool {
    let least = if vm.options.jit.is_tiered { 1 } else { highest_level(vm).max(1) };
    (least..=highest_level(vm)).contains(&level)
}

/// The highest of HotSpot's levels that options allow. What is asked for here is compiled as well as they allow, and
/// has the level that was asked for.
pub fn highest_level(vm: &Vm) -> i32 {
    vm.options.jit.stop_at_level as i32
}
