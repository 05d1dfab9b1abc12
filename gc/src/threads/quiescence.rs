//! Detects when workers that give each other work have all run out of it.
//!
//! A worker that finds nothing counts itself idle. When all are idle, nothing is left: only a worker that is not idle
//! makes work, and none becomes idle before it has looked everywhere after the last thing that it made. A worker that
//! sees something that it could take stops being idle *before* it takes it.

use crate::object::sync::{AtomicU32, Ordering, wait_a_little};

/// One for each time that work is done together.
pub struct Quiescence {
    workers: u32,
    /// Workers that have nothing. All write; sequentially consistent, so that the work that an idle worker made before
    /// is seen by the worker that counts it.
    idle: AtomicU32,
}

impl Quiescence {
    pub fn new(workers: usize) -> Quiescence {
        Quiescence { workers: workers as u32, idle: AtomicU32::new(0) }
    }

    /// Whether other workers wait for work.
    #[inline]
    pub fn has_idle(&self) -> bool {
        self.idle.load(Ordering::Relaxed) > 0
    }

    /// Called by a worker that has nothing, and found nothing anywhere after the last thing that it made.
    /// Returns true when that holds of all, false when `has_work` says that there is something to take.
    pub fn is_over(&self, has_work: impl Fn() -> bool) -> bool {
        self.idle.fetch_add(1, Ordering::SeqCst);
        for round in 0.. {
            if self.idle.load(Ordering::SeqCst) == self.workers {
                return true;
            }
            if has_work() {
                self.idle.fetch_sub(1, Ordering::SeqCst);
                return false;
            }
            wait_a_little(round);
        }
        unreachable!("a worker has worked for years")
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::object::sync::Mutex;
    use loom::sync::Arc;

    struct Shared {
        pool: Mutex<Vec<u32>>,
        quiescence: Quiescence,
        done: AtomicU32,
    }

    /// Takes numbers from the pool; each makes two smaller ones.
    fn work(shared: &Shared) {
        let mut own: Vec<u32> = Vec::new();
        loop {
            let taken = own.pop().or_else(|| shared.pool.lock().pop());
            if let Some(number) = taken {
                shared.done.fetch_add(1, Ordering::Relaxed);
                if number > 0 {
                    own.push(number - 1);
                    shared.pool.lock().push(number - 1);
                }
            } else if shared.quiescence.is_over(|| !shared.pool.lock().is_empty()) {
                return;
            }
        }
    }

    #[test]
    fn nobody_leaves_while_there_is_work() {
        loom::model(|| {
            let shared = Arc::new(Shared {
                pool: Mutex::new(vec![1]),
                quiescence: Quiescence::new(2),
                done: AtomicU32::new(0),
            });
            let other = {
                let shared = shared.clone();
                loom::thread::spawn(move || {
                    work(&shared);
                    assert_eq!(shared.done.load(Ordering::SeqCst), 3, "left too early");
                })
            };
            work(&shared);
            assert_eq!(shared.done.load(Ordering::SeqCst), 3, "left too early");
            other.join().unwrap();
        });
    }
}
