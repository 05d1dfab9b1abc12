//! The compiler threads, and the tasks that wait for them.
//!
//! Threads are started when there is work that no idle one takes. They are not threads of the VM: they hold no plain
//! addresses, and pauses do not wait for them. A thread that waits for a method to be compiled (`-Xbatch`) does so
//! without a safepoint, so compiler threads must never wait for a pause: freeing code is another thread's job.
//!
//! How many compile at a time depends on how many Java threads run: next to five of them on one CPU a single compiler
//! thread gets a sixth of it, and the program is interpreted for long. The method that is found hot most often while
//! it waits is compiled first; what has quick code already comes after what is interpreted.

use super::compilations::{Compilations, Ticket};
use super::compile;
use crate::machine::Vm;
use crate::runtime::MethodRef;
use crate::runtime::code::body::Tier;
use parking_lot::{Condvar, Mutex};
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

/// A method, or a loop, to be compiled.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    pub method: MethodRef,
    /// The loop to enter at; `None`: the method's beginning.
    pub osr_bci: Option<u16>,
    pub tier: Tier,
}

/// Tasks of one VM.
#[derive(Default)]
pub struct Queue {
    state: Mutex<Waiting>,
    arrived: Condvar,
    /// Code is to be freed.
    full: Condvar,
    /// Kept, since the kernel's answer takes reading files.
    processors: OnceLock<usize>,
}

#[derive(Default)]
struct Waiting {
    tasks: VecDeque<Submitted>,
    /// Compiler threads.
    threads: usize,
    /// Those with a task have one each.
    compilations: Compilations,
    /// Maximum of compilations in progress.
    limit: usize,
    /// No thread begins a task: see [`Queue::hold`].
    is_held: bool,
    sweeper: Sweeper,
}

/// A task in the queue.
struct Submitted {
    task: Task,
    /// Until it is done, the method or the loop is interpreted.
    is_urgent: bool,
    /// The thread that submitted it waits for it.
    done: Option<Arc<Done>>,
}

#[derive(Default, PartialEq, Eq)]
enum Sweeper {
    #[default]
    NotStarted,
    Idle,
    Wanted,
}

/// The completion of a task, for the thread that waits for it.
#[derive(Default)]
struct Done {
    is_done: Mutex<bool>,
    changed: Condvar,
}

impl Done {
    fn complete(&self) {
        *self.is_done.lock() = true;
        self.changed.notify_all();
    }
}

impl Waiting {
    /// Whether a thread may take a task.
    fn may_begin(&self) -> bool {
        !self.is_held && !self.tasks.is_empty() && self.compilations.in_progress() < self.limit
    }

    /// The task whose method was found hot most often while it waited, and mostly one that ends interpreting; the
    /// oldest of equals. There must be one.
    fn take_hottest(&mut self, number: u64) -> Submitted {
        // Others must not wait for ever where new methods keep coming.
        let may_hurry = !number.is_multiple_of(UNHURRIED);
        let asked = |submitted: &Submitted| {
            let asked = submitted.task.method.jit.asked.load(Ordering::Relaxed);
            (may_hurry && submitted.is_urgent, asked)
        };
        let hottest = first_of_largest(self.tasks.iter().map(asked));
        let submitted = hottest.and_then(|i| self.tasks.remove(i)).expect("no task");
        submitted.task.method.jit.asked.store(0, Ordering::Relaxed);
        submitted
    }
}

impl Queue {
    /// Has a task done, sooner or later; at once when options say so. No safepoint.
    pub fn submit(&self, vm: &'static Vm, task: Task) {
        let done = (!vm.options.jit.is_background).then(Arc::<Done>::default);
        let limit = limit(vm);
        let is_urgent = match task.osr_bci {
            None => !compile::has_code(task.method),
            Some(bci) => task.method.jit.find_loop(bci).is_none(),
        };
        {
            let mut state = self.state.lock();
            state.limit = limit;
            state.tasks.push_back(Submitted { task, is_urgent, done: done.clone() });
            if state.tasks.len() > state.threads - state.compilations.in_progress()
                && state.threads < limit
            {
                let number = state.threads;
                state.threads += 1;
                spawn(&format!("C1 CompilerThread{number}"), move || vm.jit.queue.work(vm));
            }
        }
        self.arrived.notify_one();
        if let Some(done) = done {
            let mut is_done = done.is_done.lock();
            while !*is_done {
                done.changed.wait(&mut is_done);
            }
        }
    }

    /// Drops the tasks of methods whose classes are dead. The ticket is past when no compilation can name them any
    /// more. The world is stopped.
    pub(super) fn drop_dead(&self) -> Ticket {
        let mut state = self.state.lock();
        state.tasks.retain(|Submitted { task, done, .. }| {
            let is_dead = task.method.holder.holder.is_dead();
            if let Some(done) = done.as_ref().filter(|_| is_dead) {
                done.complete();
            }
            !is_dead
        });
        state.compilations.ticket()
    }

    /// See [`Jit::is_past`](super::Jit::is_past).
    pub(super) fn is_past(&self, ticket: Ticket) -> bool {
        self.state.lock().compilations.is_past(ticket)
    }

    /// From now on no task is begun, or tasks are begun again. Those in progress go on; a thread that waits for a task
    /// (`-Xbatch`) waits on. Any thread.
    pub fn hold(&self, is_held: bool) {
        self.state.lock().is_held = is_held;
        if !is_held {
            self.arrived.notify_all();
        }
    }

    pub fn is_held(&self) -> bool {
        self.state.lock().is_held
    }

    /// Tasks that no thread has begun.
    pub fn waiting(&self) -> usize {
        self.state.lock().tasks.len()
    }

    /// Code should be freed at the next occasion.
    pub fn sweep(&self, vm: &'static Vm) {
        let mut state = self.state.lock();
        if state.sweeper == Sweeper::NotStarted {
            spawn("Sweeper thread", move || vm.jit.queue.sweep_on(vm));
        }
        state.sweeper = Sweeper::Wanted;
        self.full.notify_one();
    }

    fn work(&self, vm: &'static Vm) -> ! {
        loop {
            let (number, Submitted { task, done, .. }) = {
                let mut state = self.state.lock();
                while !state.may_begin() {
                    self.arrived.wait(&mut state);
                }
                let number = state.compilations.begin();
                (number, state.take_hottest(number))
            };
            compile::compile(vm, task, done.is_some());
            self.state.lock().compilations.end(number);
            if let Some(done) = done {
                done.complete();
            }
        }
    }

    fn sweep_on(&self, vm: &'static Vm) -> ! {
        loop {
            {
                let mut state = self.state.lock();
                while state.sweeper != Sweeper::Wanted {
                    self.full.wait(&mut state);
                }
                state.sweeper = Sweeper::Idle;
            }
            super::sweep::sweep(vm);
        }
    }
}

/// How many compiler threads may work: a quarter of the CPUs, times the number of running Java threads per CPU,
/// rounded up. So their share of the CPUs is about the same as next to one Java thread per CPU. On a running thread,
/// which holds no lock of the queue.
fn limit(vm: &Vm) -> usize {
    if vm.options.jit.threads != 0 {
        return vm.options.jit.threads;
    }
    let processors = *vm.jit.queue.processors.get_or_init(|| vm.processors());
    let mut running = 0;
    vm.threads.for_each(&mut |t| running += usize::from(t.mutator.is_running()));
    limit_for(processors, running)
}

fn limit_for(processors: usize, running: usize) -> usize {
    let usual = (processors / 4).clamp(1, THREADS_MAX);
    (usual * running.div_ceil(processors)).clamp(usual, THREADS_MAX)
}

fn first_of_largest<T: Ord + Copy>(numbers: impl Iterator<Item = T>) -> Option<usize> {
    // The first of equals, which `max_by_key` does not give.
    numbers.enumerate().min_by_key(|(_, number)| Reverse(*number)).map(|(i, _)| i)
}

/// Each sixteenth compilation is that of the hottest task, whether it ends interpreting or not.
const UNHURRIED: u64 = 16;
/// More add little: each takes memory for the method that it compiles.
const THREADS_MAX: usize = 8;
/// Compiling recurses over the structure of the method.
const STACK_BYTES: usize = 16 << 20;

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) {
    let builder = std::thread::Builder::new().name(name.into()).stack_size(STACK_BYTES);
    // Without the thread the work stays undone, and methods interpreted.
    if let Err(error) = builder.spawn(body) {
        log::warn!("cannot start the thread {name}: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::{first_of_largest, limit_for};

    #[test]
    fn more_compile_where_more_run() {
        let limits = [(1, 1), (1, 5), (1, 100), (2, 2), (2, 5), (16, 1), (16, 40)];
        let limits = limits.map(|(processors, running)| limit_for(processors, running));
        assert_eq!(limits, [1, 5, 8, 1, 3, 4, 8]);
    }

    #[test]
    fn the_oldest_of_the_hottest_comes_first() {
        assert_eq!(first_of_largest([0, 0].into_iter()), Some(0));
        assert_eq!(first_of_largest([1, 3, 0, 3].into_iter()), Some(1));
        assert_eq!(first_of_largest([(false, 9), (true, 0), (true, 2)].into_iter()), Some(2));
        assert_eq!(first_of_largest::<u32>([].into_iter()), None);
    }
}
