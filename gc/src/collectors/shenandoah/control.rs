//! Requests for cycles, and the thread that runs them.

use crate::core::outcome::CollectCause;
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, Ordering};

/// Numbers cycles from 1; a request names the first cycle that begins after it.
pub struct Control {
    state: Mutex<State>,
    /// The collector's thread waits on it.
    asked: Condvar,
    /// Threads that asked wait on it.
    moved_on: Condvar,
    /// A mutator found no memory: the running cycle continues in a pause. Written with the lock held, read relaxed
    /// by workers, for whom later is late but not wrong.
    is_hurried: AtomicBool,
    /// The heap is dropped. As above.
    is_stopping: AtomicBool,
}

#[derive(Default)]
struct State {
    started: u64,
    finished: u64,
    /// The last cycle that was asked for.
    wanted: u64,
    cause: Option<CollectCause>,
    is_full: bool,
    /// The point that the running cycle has reached.
    point: Point,
}

/// A point in the course of a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    #[default]
    Begun,
    Marking,
    Evacuating,
    Updating,
}

/// A cycle to be run.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    pub cause: CollectCause,
    /// Stops the world and compacts.
    pub is_full: bool,
}

impl Control {
    pub fn new() -> Control {
        Control {
            state: Mutex::default(),
            asked: Condvar::new(),
            moved_on: Condvar::new(),
            is_hurried: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
        }
    }

    /// Asks for a cycle that begins after the call; returns the argument of [`wait`](Self::wait).
    pub fn ask(&self, order: Order) -> u64 {
        self.ask_locked(&mut self.state.lock(), order)
    }

    /// Asks for a cycle unless one is running or asked for.
    pub fn suggest(&self, cause: CollectCause) {
        let mut state = self.state.lock();
        if state.wanted == state.finished {
            self.ask_locked(&mut state, Order { cause, is_full: false });
        }
    }

    /// The running cycle, which continues in a pause; without one the next, which begins in a pause.
    pub fn hurry(&self, cause: CollectCause) -> u64 {
        let mut state = self.state.lock();
        self.is_hurried.store(true, Ordering::Relaxed);
        if state.started > state.finished {
            return state.started;
        }
        self.ask_locked(&mut state, Order { cause, is_full: false })
    }

    fn ask_locked(&self, state: &mut State, order: Order) -> u64 {
        state.wanted = state.started + 1;
        // A last ditch stays one.
        if state.cause != Some(CollectCause::LastDitch) {
            state.cause = Some(order.cause);
        }
        state.is_full |= order.is_full;
        self.asked.notify_one();
        state.wanted
    }

    /// Returns when the cycle is over (or the heap is dropped).
    pub fn wait(&self, cycle: u64) {
        self.wait_until(|state| state.finished >= cycle);
    }

    /// Returns when the cycle has reached `point`.
    pub fn wait_point(&self, cycle: u64, point: Point) {
        self.wait_until(|state| (state.started, state.point) >= (cycle, point));
    }

    fn wait_until(&self, holds: impl Fn(&State) -> bool) {
        let mut state = self.state.lock();
        while !holds(&state) && !self.is_stopping() {
            self.moved_on.wait(&mut state);
        }
    }

    /// Whether a cycle is running or asked for.
    pub fn is_busy(&self) -> bool {
        let state = self.state.lock();
        state.wanted.max(state.started) > state.finished
    }

    pub fn is_hurried(&self) -> bool {
        self.is_hurried.load(Ordering::Relaxed)
    }

    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// The collector's thread: the next cycle to run, `None` when it should end.
    pub fn next(&self) -> Option<Order> {
        let mut state = self.state.lock();
        while state.wanted <= state.finished && !self.is_stopping() {
            self.asked.wait(&mut state);
        }
        if self.is_stopping() {
            return None;
        }
        state.started += 1;
        state.point = Point::Begun;
        let is_full = std::mem::take(&mut state.is_full);
        let cause = state.cause.take().expect("a request has a cause");
        Some(Order { cause, is_full })
    }

    /// The collector's thread: the cycle has reached `point`.
    pub fn reach(&self, point: Point) {
        self.state.lock().point = point;
        self.moved_on.notify_all();
    }

    /// The collector's thread: the cycle is over.
    pub fn done(&self) {
        let mut state = self.state.lock();
        state.finished = state.started;
        state.point = Point::Updating;
        self.is_hurried.store(false, Ordering::Relaxed);
        self.moved_on.notify_all();
    }

    /// Ends the collector's thread; a running cycle is not finished.
    pub fn stop(&self) {
        let _state = self.state.lock();
        self.is_stopping.store(true, Ordering::Relaxed);
        self.asked.notify_all();
        self.moved_on.notify_all();
    }
}
