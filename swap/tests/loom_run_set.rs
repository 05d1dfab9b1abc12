//! Model of the set of runs. Run with `make loom`.
#![cfg(loom)]

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
}
#[path = "../src/frames/run_set.rs"]
mod run_set;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use run_set::RunSet;

/// Runs, each of which only the thread that has taken it may touch.
struct Model {
    set: RunSet,
    runs: [UnsafeCell<u32>; 2],
}

impl Model {
    fn use_one(&self) -> bool {
        let Some(number) = self.set.take() else { return false };
        // SAFETY: exclusive access is the subject of the model; loom checks it.
        self.runs[number].with_mut(|run| unsafe { *run += 1 });
        self.set.put(number);
        true
    }
}

fn check(runs: usize) {
    loom::model(move || {
        let set = RunSet::new(runs);
        (0..runs).for_each(|number| set.put(number));
        let cells = [UnsafeCell::new(0), UnsafeCell::new(0)];
        let model = Arc::new(Model { set, runs: cells });
        let threads = [0, 1].map(|_| {
            let model = model.clone();
            thread::spawn(move || u32::from(model.use_one()) + u32::from(model.use_one()))
        });
        let uses: u32 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        // SAFETY: the threads have ended.
        let counted: u32 = model.runs.iter().map(|run| run.with(|n| unsafe { *n })).sum();
        assert_eq!(counted, uses);
        let all: Vec<_> = std::iter::from_fn(|| model.set.take()).collect();
        assert_eq!(all, (0..runs).collect::<Vec<_>>(), "all were put back");
    });
}

#[test]
fn one_run_is_used_by_one_thread_at_a_time() {
    check(1);
}

#[test]
fn two_runs_are_used_by_one_thread_each() {
    check(2);
}
