//! Keeps the threads that mark beside the program out of pauses.
//!
//! They are no mutators: safepoints know nothing of them. They work between [`Gate::enter`] and [`Gate::leave`], ask
//! [`Gate::is_closed`] after each object, and step out and in again when it is. A pause closes the gate, which waits
//! until nobody is inside.

use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Default)]
pub struct Gate {
    state: Mutex<State>,
    changed: Condvar,
    /// A hint for those inside; what counts is under the lock.
    closed: AtomicBool,
}

#[derive(Default)]
struct State {
    inside: usize,
    is_closed: bool,
}

impl Gate {
    /// Waits while the gate is closed.
    pub fn enter(&self) {
        let mut state = self.state.lock();
        while state.is_closed {
            self.changed.wait(&mut state);
        }
        state.inside += 1;
    }

    pub fn leave(&self) {
        let mut state = self.state.lock();
        state.inside -= 1;
        if state.inside == 0 {
            self.changed.notify_all();
        }
    }

    /// Whether those inside should step out.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Runs `f` with nobody inside. One at a time.
    pub fn closed<R>(&self, f: impl FnOnce() -> R) -> R {
        let mut state = self.state.lock();
        assert!(!state.is_closed, "a pause inside a pause");
        state.is_closed = true;
        self.closed.store(true, Ordering::Relaxed);
        while state.inside > 0 {
            self.changed.wait(&mut state);
        }
        drop(state);
        let result = f();
        self.state.lock().is_closed = false;
        self.closed.store(false, Ordering::Relaxed);
        self.changed.notify_all();
        result
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn nobody_is_inside_a_closed_gate() {
        let (gate, inside, over) = (Gate::default(), AtomicU32::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        gate.enter();
                        while !gate.is_closed() && !over.load(Ordering::Relaxed) {
                            inside.fetch_add(1, Ordering::SeqCst);
                            inside.fetch_sub(1, Ordering::SeqCst);
                        }
                        gate.leave();
                    }
                });
            }
            for _ in 0..300 {
                gate.closed(|| assert_eq!(inside.load(Ordering::SeqCst), 0));
            }
            over.store(true, Ordering::Relaxed);
        });
    }
}
