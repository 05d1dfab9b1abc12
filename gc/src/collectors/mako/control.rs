//! Requests for cycles, and the thread that runs them.

use crate::core::outcome::CollectCause;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// Numbers cycles; a request names the first cycle that begins after it.
pub struct Control {
    state: Mutex<State>,
    /// The collector's thread waits on it.
    asked: Condvar,
    /// Threads that asked wait on it.
    finished: Condvar,
}

struct State {
    started: u64,
    finished: u64,
    /// The last cycle that was asked for.
    wanted: u64,
    cause: CollectCause,
    /// Counts the times that memory was freed.
    freed: u64,
    /// The next cycle stops the world, clears soft references and evacuates all it can.
    is_full: bool,
    /// Callers of `hold` that have not released it yet.
    holds: usize,
    is_stopping: bool,
}

/// A cycle to be run.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    pub cause: CollectCause,
    pub is_full: bool,
}

impl Control {
    pub fn new() -> Control {
        let state = State {
            started: 0,
            finished: 0,
            wanted: 0,
            freed: 0,
            cause: CollectCause::AllocationFailure,
            is_full: false,
            holds: 0,
            is_stopping: false,
        };
        Control { state: Mutex::new(state), asked: Condvar::new(), finished: Condvar::new() }
    }

    /// Asks for a cycle that begins after the call; returns the argument of [`wait`](Self::wait).
    pub fn ask(&self, order: Order) -> u64 {
        let mut state = self.state.lock();
        state.wanted = state.started + 1;
        state.cause = order.cause;
        state.is_full |= order.is_full;
        self.asked.notify_one();
        state.wanted
    }

    /// Asks for a cycle unless one is running or asked for.
    pub fn suggest(&self, cause: CollectCause) {
        let mut state = self.state.lock();
        if state.wanted == state.finished {
            state.wanted = state.started + 1;
            state.cause = cause;
            self.asked.notify_one();
        }
    }

    /// The running cycle; else asks for one.
    pub fn join(&self, order: Order) -> u64 {
        let state = self.state.lock();
        if state.started > state.finished {
            return state.started;
        }
        drop(state);
        self.ask(order)
    }

    /// Memory has been freed; threads that wait for it may try again.
    pub fn note_freed(&self) {
        self.state.lock().freed += 1;
        self.finished.notify_all();
    }

    /// Returns when the cycle is over or memory has been freed since the call; says whether it is
    /// over.
    pub fn wait_freed(&self, cycle: u64) -> bool {
        let mut state = self.state.lock();
        let before = state.freed;
        while state.finished < cycle && state.freed == before && !state.is_stopping {
            self.finished.wait(&mut state);
        }
        state.finished >= cycle || state.is_stopping
    }

    /// Returns when the cycle is over (or the heap is dropped).
    pub fn wait(&self, cycle: u64) {
        let mut state = self.state.lock();
        while state.finished < cycle && !state.is_stopping {
            self.finished.wait(&mut state);
        }
    }

    /// The collector's thread: the next cycle to run, `None` when it should end. Asks now and then whether one would
    /// pay that no thread has asked for.
    pub fn next(&self, is_worth_it: impl Fn() -> bool) -> Option<Order> {
        let mut state = self.state.lock();
        while (state.wanted <= state.finished || state.holds > 0) && !state.is_stopping {
            let is_quiet = self.asked.wait_for(&mut state, LOOK_PERIOD).timed_out();
            // A thread may have asked for a cycle while the lock was released.
            let is_worth_it = is_quiet && MutexGuard::unlocked(&mut state, &is_worth_it);
            if is_worth_it && state.wanted <= state.finished {
                state.wanted = state.started + 1;
                state.cause = CollectCause::Proactive;
            }
        }
        if state.is_stopping {
            return None;
        }
        state.started += 1;
        let is_full = std::mem::take(&mut state.is_full);
        Some(Order { cause: state.cause, is_full })
    }

    /// No cycle begins until as many [`release`](Self::release): threads that need one wait.
    pub fn hold(&self) {
        self.state.lock().holds += 1;
    }

    /// Undoes one [`hold`](Self::hold).
    pub fn release(&self) {
        self.state.lock().holds -= 1;
        self.asked.notify_all();
    }

    /// The collector's thread: the cycle is over.
    pub fn done(&self) {
        let mut state = self.state.lock();
        state.finished = state.started;
        self.finished.notify_all();
    }

    /// Whether the collector's thread should end.
    pub fn is_stopping(&self) -> bool {
        self.state.lock().is_stopping
    }

    /// Ends the collector's thread after the running cycle.
    pub fn stop(&self) {
        self.state.lock().is_stopping = true;
        self.asked.notify_all();
        self.finished.notify_all();
    }
}

/// The interval of the checks whether a cycle would pay.
const LOOK_PERIOD: Duration = Duration::from_millis(50);
