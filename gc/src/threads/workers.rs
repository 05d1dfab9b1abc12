//! Threads of a collector that carry out one job together.

use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::thread::JoinHandle;
use swap::{ThreadClass, activity, during, set_thread_class};

/// A number of workers; the first is the thread that calls [`run`](Self::run).
pub struct Workers {
    name: &'static str,
    count: usize,
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    state: Mutex<State>,
    /// Threads wait on it for a job.
    begun: Condvar,
    /// The caller of [`Workers::run`] waits on it for the end of the job.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    job: Option<Job>,
    /// Jobs so far.
    round: u64,
    /// Threads that have not finished the present one.
    active: usize,
    is_stopping: bool,
}

#[derive(Clone, Copy)]
struct Job(*const (dyn Fn(usize) + Sync + 'static));

// SAFETY: the closure is `Sync`, and the caller waits until no worker uses it any more.
unsafe impl Send for Job {}

impl Workers {
    /// `name` is that of the threads, which [`start`](Self::start) makes.
    pub fn new(name: &'static str, count: usize) -> Workers {
        assert!(count > 0, "at least the thread that brings the job");
        let shared = Shared {
            state: Mutex::new(State::default()),
            begun: Condvar::new(),
            ended: Condvar::new(),
        };
        Workers { name, count, shared: Arc::new(shared), threads: Mutex::default() }
    }

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn start(&self) {
        let mut threads = self.threads.lock();
        for id in 1..self.count {
            let shared = self.shared.clone();
            let name = format!("{}#{id}", self.name);
            let spawned = std::thread::Builder::new().name(name).spawn(move || shared.work(id));
            threads.push(spawned.expect("a thread for the collector"));
        }
    }

    /// Ends the threads. No job is running or will be.
    pub fn stop(&self) {
        self.shared.state.lock().is_stopping = true;
        self.shared.begun.notify_all();
        for thread in self.threads.lock().drain(..) {
            thread.join().expect("a collector thread ends by itself");
        }
    }

    /// Carries out `job` once for each worker, with its number, and returns when all have ended. One at a time. The
    /// workers' faults count for what the caller is doing.
    pub fn run(&self, job: &(dyn Fn(usize) + Sync)) {
        if self.count == 1 {
            return job(0);
        }
        let caller_is = activity();
        let job = |id: usize| {
            let _same = during(caller_is);
            job(id);
        };
        let job: &(dyn Fn(usize) + Sync) = &job;
        let mut state = self.shared.state.lock();
        assert!(state.job.is_none() && !state.is_stopping, "{}: one job at a time", self.name);
        // SAFETY: only the lifetime changes; the pointer is removed below, before the borrow ends.
        state.job = Some(Job(unsafe {
            std::mem::transmute::<
                *const (dyn Fn(usize) + Sync),
                *const (dyn Fn(usize) + Sync + 'static),
            >(std::ptr::from_ref(job))
        }));
        state.round += 1;
        state.active = self.count - 1;
        drop(state);
        self.shared.begun.notify_all();
        let bomb = AbortOnPanic;
        job(0);
        drop(bomb);
        let mut state = self.shared.state.lock();
        while state.active > 0 {
            self.shared.ended.wait(&mut state);
        }
        state.job = None;
    }
}

impl Shared {
    fn work(&self, id: usize) {
        set_thread_class(ThreadClass::Gc);
        let _bomb = AbortOnPanic;
        let mut seen = 0;
        loop {
            let mut state = self.state.lock();
            while state.round == seen && !state.is_stopping {
                self.begun.wait(&mut state);
            }
            if state.is_stopping {
                return;
            }
            seen = state.round;
            let job = state.job.expect("there is a job until all have ended");
            drop(state);
            // SAFETY: the caller waits for the workers with the closure alive.
            unsafe { (*job.0)(id) };
            let mut state = self.state.lock();
            state.active -= 1;
            if state.active == 0 {
                self.ended.notify_one();
            }
        }
    }
}

/// Ends the process if its thread panics: others would wait for a collector's thread that has ended, perhaps with the
/// world stopped.
pub(crate) struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn each_worker_does_each_job_once() {
        let workers = Workers::new("test", 3);
        workers.start();
        for _ in 0..1000 {
            let seen = [const { AtomicUsize::new(0) }; 3];
            workers.run(&|id| _ = seen[id].fetch_add(1, Ordering::Relaxed));
            assert!(seen.iter().all(|count| count.load(Ordering::Relaxed) == 1));
        }
        workers.stop();
    }
}
