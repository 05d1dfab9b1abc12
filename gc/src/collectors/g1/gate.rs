//! Keeps the threads that mark beside the program out of pauses.
//!
//! They are no mutators: safepoints do not include them. They work between [`Gate::enter`] and [`Gate::leave`], ask
//! [`Gate::is_closed`] after each object, and step out and in again when it is. A pause closes the gate, which waits
//! until no thread is inside.

use crate::object::sync::{AtomicU32, Condvar, Mutex, Ordering};

/// See the module text.
pub struct Gate {
    state: Mutex<State>,
    changed: Condvar,
    /// 1 while it is closed. A hint for threads inside, so relaxed; the state under the lock counts.
    closed: AtomicU32,
}

struct State {
    inside: usize,
    is_closed: bool,
}

impl Gate {
    pub fn new() -> Gate {
        Gate {
            state: Mutex::new(State { inside: 0, is_closed: false }),
            changed: Condvar::new(),
            closed: AtomicU32::new(0),
        }
    }

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

    /// Whether threads inside should step out.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed) != 0
    }

    /// Runs `f` with no thread inside. One at a time.
    pub fn closed<R>(&self, f: impl FnOnce() -> R) -> R {
        let mut state = self.state.lock();
        assert!(!state.is_closed, "a pause inside a pause");
        state.is_closed = true;
        self.closed.store(1, Ordering::Relaxed);
        while state.inside > 0 {
            self.changed.wait(&mut state);
        }
        drop(state);
        let result = f();
        self.state.lock().is_closed = false;
        self.closed.store(0, Ordering::Relaxed);
        self.changed.notify_all();
        result
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;

    struct World {
        gate: Gate,
        /// Stands for the heap: markers use it inside, the pause with the gate closed.
        heap: loom::cell::UnsafeCell<u32>,
    }

    // SAFETY: the model checks accesses to the cell.
    unsafe impl Sync for World {}
    // SAFETY: as above.
    unsafe impl Send for World {}

    impl World {
        /// A marker with two objects to look at.
        fn mark(&self) {
            self.gate.enter();
            for _ in 0..2 {
                // SAFETY: loom reports the access if it races.
                self.heap.with(|heap| unsafe { *heap });
                if self.gate.is_closed() {
                    self.gate.leave();
                    self.gate.enter();
                }
            }
            self.gate.leave();
        }
    }

    /// Markers and pauses never overlap, two pauses do not miss each other's end, and no thread waits for ever.
    #[test]
    fn markers_keep_out_of_pauses() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let world = Arc::new(World { gate: Gate::new(), heap: loom::cell::UnsafeCell::new(0) });
            let marker = {
                let world = world.clone();
                loom::thread::spawn(move || world.mark())
            };
            for _ in 0..2 {
                // SAFETY: as above.
                world.gate.closed(|| world.heap.with_mut(|heap| unsafe { *heap += 1 }));
            }
            marker.join().unwrap();
            // SAFETY: as above.
            assert_eq!(world.heap.with(|heap| unsafe { *heap }), 2);
        });
    }

    /// The same with two markers, which mark beside each other.
    #[test]
    fn a_pause_waits_for_all_markers() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(|| {
            let world = Arc::new(World { gate: Gate::new(), heap: loom::cell::UnsafeCell::new(0) });
            let markers = [(); 2].map(|()| {
                let world = world.clone();
                loom::thread::spawn(move || world.mark())
            });
            // SAFETY: as above.
            world.gate.closed(|| world.heap.with_mut(|heap| unsafe { *heap += 1 }));
            markers.into_iter().for_each(|marker| marker.join().unwrap());
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn nobody_is_inside_a_closed_gate() {
        let (gate, inside, over) = (Gate::new(), AtomicU32::new(0), AtomicBool::new(false));
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
