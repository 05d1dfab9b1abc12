//! From a method to code that is called.

use super::queue::Task;
use super::translate::translate;
use super::{policy, stubs};
use crate::machine::Vm;
use crate::runtime::MethodRef;
use crate::runtime::code::body::Tier;
use crate::runtime::code::cache::NoRoom;
use crate::runtime::code::compiled::State;
use crate::runtime::code::installed::Installed;
use crate::runtime::code::{entry, quick};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Instant;

/// Counters of compilations.
#[derive(Default)]
pub struct Statistics {
    pub total_ns: AtomicU64,
    pub methods: AtomicU64,
    pub loops: AtomicU64,
    pub code_bytes: AtomicU64,
    pub failed: AtomicU64,
}

/// Compiles a method, or one of its loops, and has it called from now on. On a compiler thread.
pub fn compile(vm: &'static Vm, task: Task, is_blocking: bool) {
    let started = Instant::now();
    let statistics = &vm.jit.statistics;
    let result = translate(vm, task);
    let took = started.elapsed().as_nanos() as u64;
    statistics.total_ns.fetch_add(took, Ordering::Relaxed);
    // Held from before the body is in the cache: a sweep would take it for an unreachable one, and classes that it
    // names do not die in between. Nor does code go that the method has.
    let _publishing = vm.jit.publishing.lock();
    let body = match result {
        Ok(body) => body,
        Err(reason) => {
            statistics.failed.fetch_add(1, Ordering::Relaxed);
            if vm.options.jit.print {
                print(vm, task, 0, is_blocking, &format!("   COMPILE SKIPPED: {reason}"));
            }
            give_up(vm, task);
            return;
        }
    };
    if body.names_dead() {
        try_later(vm, task);
        return;
    }
    match vm.jit.cache.install(body) {
        Ok(installed) => {
            if vm.options.jit.print {
                print(vm, task, installed.id, is_blocking, "");
            }
            let counter =
                if task.osr_bci.is_none() { &statistics.methods } else { &statistics.loops };
            counter.fetch_add(1, Ordering::Relaxed);
            statistics.code_bytes.fetch_add(installed.bytes as u64, Ordering::Relaxed);
            publish(vm, installed);
        }
        Err(NoRoom::NoMemory) => give_up(vm, task),
        Err(NoRoom::Full) => {
            vm.jit.is_full.store(true, Ordering::Relaxed);
            vm.jit.queue.sweep(vm);
            try_later(vm, task);
        }
    }
}

/// From now on calls, or jumps to the loop, enter the body. `Jit::publishing` is held.
fn publish(vm: &'static Vm, installed: &'static Installed) {
    let method = installed.body.method;
    let jit = &method.jit;
    if let Some(bci) = installed.body.osr_bci {
        let old = jit.find_loop(bci);
        jit.push_loop(installed);
        if let Some(old) = old {
            jit.remove_loop(old);
            retire(vm, old);
        }
        if is_last(vm, installed) {
            jit.osr_compilations.fetch_add(1, Ordering::Relaxed);
        }
        jit.set_loop_state(State::Interpreted);
        return;
    }
    if quick::code_of(method).is_null() {
        quick::prepare(method);
    }
    if !is_last(vm, installed) {
        jit.countdown.store(policy::second_countdown(vm, method), Ordering::Relaxed);
    }
    let old = jit.compiled.swap(installed.start as *mut u8, Ordering::AcqRel);
    entry::set_compiled(method);
    if is_last(vm, installed) {
        jit.compilations.fetch_add(1, Ordering::Relaxed);
    }
    jit.set_state(State::Compiled);
    if old != stubs::call_interpreter as *const () as *mut u8 {
        let old = vm.jit.cache.at(old as usize).expect("code stays while it is called");
        retire(vm, old);
    }
}

fn retire(vm: &'static Vm, old: &'static Installed) {
    if vm.options.jit.print {
        let body = &old.body;
        let task = Task { method: body.method, osr_bci: body.osr_bci, tier: body.tier };
        print(vm, task, old.id, false, "   made not entrant");
    }
    vm.jit.retire(vm, old);
}

/// Calls enter the interpreter again, if they enter this body. It does not count among the method's compilations any
/// more. `Jit::publishing` is held, and the world stopped.
pub fn unpublish(vm: &Vm, installed: &'static Installed) {
    let method = installed.body.method;
    let jit = &method.jit;
    if installed.body.osr_bci.is_some() {
        if jit.remove_loop(installed) && is_last(vm, installed) {
            uncount(&jit.osr_compilations);
        }
    } else if is_current(installed) {
        entry::set_interpreted(method);
        jit.compiled.store(stubs::call_interpreter as *const () as *mut u8, Ordering::Release);
        jit.countdown.store(vm.jit.countdown(vm, method), Ordering::Relaxed);
        jit.change_state(State::Compiled, State::Interpreted);
        if is_last(vm, installed) {
            uncount(&jit.compilations);
        }
    }
}

/// Whether no other code is to follow anyway. Only then it counts among its method's compilations, of which there are a
/// few at most.
fn is_last(vm: &Vm, installed: &Installed) -> bool {
    installed.body.tier == policy::last_tier(vm)
}

/// Not below 0, where the counter has wrapped.
fn uncount(compilations: &AtomicU8) {
    let count = compilations.load(Ordering::Relaxed);
    compilations.store(count.saturating_sub(1), Ordering::Relaxed);
}

/// Whether calls of the method enter this body.
pub fn is_current(installed: &Installed) -> bool {
    installed.body.method.jit.compiled.load(Ordering::Acquire) as usize == installed.start
}

/// Whether calls of the method enter a body.
pub fn has_code(method: MethodRef) -> bool {
    let interpreter = stubs::call_interpreter as *const () as *mut u8;
    method.jit.compiled.load(Ordering::Acquire) != interpreter
}

/// `Jit::publishing` is held: code that there is stays, and is not discarded meanwhile.
fn give_up(vm: &Vm, task: Task) {
    let jit = &task.method.jit;
    if task.osr_bci.is_some() {
        jit.set_loop_state(State::Excluded);
    } else if has_code(task.method) {
        // The old code stays.
        jit.set_state(State::Compiled);
        jit.countdown.store(i32::MAX, Ordering::Relaxed);
        jit.compilations.store(policy::COMPILATIONS_MAX, Ordering::Relaxed);
    } else if policy::first_tier(vm, task.method) != task.tier {
        // Its quick code has been discarded meanwhile.
        jit.compilations.store(policy::COMPILATIONS_MAX, Ordering::Relaxed);
        try_later(vm, task);
    } else {
        policy::exclude(task.method);
    }
}

/// `Jit::publishing` is held.
fn try_later(vm: &Vm, task: Task) {
    let jit = &task.method.jit;
    if task.osr_bci.is_some() {
        jit.back_edges.store(0, Ordering::Relaxed);
        jit.set_loop_state(State::Interpreted);
    } else if has_code(task.method) {
        jit.set_state(State::Compiled);
    } else {
        jit.countdown.store(vm.jit.countdown(vm, task.method), Ordering::Relaxed);
        jit.set_state(State::Interpreted);
    }
}

/// A line as HotSpot prints it.
fn print(vm: &Vm, task: Task, id: u32, is_blocking: bool, message: &str) {
    let method = task.method;
    let mark = |is_set: bool, mark: char| if is_set { mark } else { ' ' };
    let code = method.code().expect("a method with bytecode");
    let marks: String = [
        mark(task.osr_bci.is_some(), '%'),
        mark(method.flags().is_synchronized(), 's'),
        mark(!code.exception_table.is_empty(), '!'),
        mark(is_blocking, 'b'),
        ' ',
    ]
    .iter()
    .collect();
    let at = task.osr_bci.map_or(String::new(), |bci| format!(" @ {bci}"));
    let level = match task.tier {
        Tier::Full => 4,
        Tier::Quick if policy::last_tier(vm) == Tier::Quick => 1,
        Tier::Quick => 3,
    };
    base::print(format_args!(
        "{:7} {id:4} {marks} {level}       {}::{}{at} ({} bytes){message}",
        vm.started.elapsed().as_millis(),
        method.holder.java_name(),
        method.name(),
        code.bytecode.len(),
    ));
}
