//! The compiler threads, and what waits for them.
//!
//! Threads are started when there is work that no idle one takes. They are not threads of the VM: they hold no plain
//! addresses, and pauses do not wait for them. A thread that waits for a method to be compiled (`-Xbatch`) does so
//! without a safepoint, so compiler threads must never wait for a pause: freeing code is another thread's job.

use super::compile;
use crate::runtime::{MethodRef, Vm};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;

/// What is to be compiled.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    pub method: MethodRef,
    /// The loop to enter at; `None`: the method's beginning.
    pub osr_bci: Option<u16>,
}

/// Tasks of one VM.
#[derive(Default)]
pub struct Queue {
    state: Mutex<Waiting>,
    arrived: Condvar,
    /// Code is to be freed.
    full: Condvar,
}

#[derive(Default)]
struct Waiting {
    tasks: VecDeque<(Task, Option<Arc<Done>>)>,
    threads: usize,
    idle: usize,
    sweeper: Sweeper,
}

#[derive(Default, PartialEq, Eq)]
enum Sweeper {
    #[default]
    NotStarted,
    Idle,
    Wanted,
}

/// What somebody waits for.
#[derive(Default)]
struct Done {
    is_done: Mutex<bool>,
    changed: Condvar,
}

impl Queue {
    /// Has a task done, sooner or later; at once when options say so. No safepoint.
    pub fn submit(&self, vm: &'static Vm, task: Task) {
        let done = (!vm.options.jit.is_background).then(Arc::<Done>::default);
        {
            let mut state = self.state.lock();
            state.tasks.push_back((task, done.clone()));
            if state.tasks.len() > state.idle && state.threads < threads_max(vm) {
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
            let (task, done) = {
                let mut state = self.state.lock();
                loop {
                    if let Some(task) = state.tasks.pop_front() {
                        break task;
                    }
                    state.idle += 1;
                    self.arrived.wait(&mut state);
                    state.idle -= 1;
                }
            };
            compile::compile(vm, task, done.is_some());
            if let Some(done) = done {
                *done.is_done.lock() = true;
                done.changed.notify_all();
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

fn threads_max(vm: &Vm) -> usize {
    match vm.options.jit.threads {
        0 => {
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            (processors / 4).clamp(1, 8)
        }
        threads => threads,
    }
}

/// Compiling recurses over what it compiles.
const STACK_BYTES: usize = 16 << 20;

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) {
    let builder = std::thread::Builder::new().name(name.into()).stack_size(STACK_BYTES);
    // Without the thread the work stays undone, and methods interpreted.
    if let Err(error) = builder.spawn(body) {
        log::warn!("no thread for {name}: {error}");
    }
}
