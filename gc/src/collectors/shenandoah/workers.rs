//! The collector's threads, and work that is cut into pieces for them.

use crate::threads::workers::AbortOnPanic;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use swap::{ThreadClass, activity, during, set_thread_class};

/// Runs `work` on `count` threads, one of which is the caller's, and returns when all have returned. The others'
/// faults count for what the caller is doing.
pub fn run(count: usize, work: impl Fn() + Sync) {
    let caller_is = activity();
    std::thread::scope(|scope| {
        for _ in 1..count {
            scope.spawn(|| {
                let _bomb = AbortOnPanic;
                set_thread_class(ThreadClass::Gc);
                let _same = during(caller_is);
                work();
            });
        }
        work();
    });
}

/// Pieces of which each must be done once from its beginning to its end. An interrupted piece is begun again, so doing
/// a piece twice must do no harm.
#[derive(Default)]
pub struct Pieces {
    /// Relaxed: the end of a run orders.
    done: Box<[AtomicBool]>,
}

impl Pieces {
    pub fn new(count: usize) -> Pieces {
        Pieces { done: (0..count).map(|_| AtomicBool::new(false)).collect() }
    }

    /// Has threads do the remaining pieces; `work` says whether it finished its piece. True if all pieces are done.
    pub fn work_off(&self, threads: usize, work: impl Fn(usize) -> bool + Sync) -> bool {
        let next = AtomicUsize::new(0);
        let interrupted = AtomicBool::new(false);
        run(threads.min(self.done.len().max(1)), || {
            while !interrupted.load(Ordering::Relaxed) {
                let piece = next.fetch_add(1, Ordering::Relaxed);
                let Some(done) = self.done.get(piece) else { break };
                if done.load(Ordering::Relaxed) {
                    continue;
                }
                match work(piece) {
                    true => done.store(true, Ordering::Relaxed),
                    false => interrupted.store(true, Ordering::Relaxed),
                }
            }
        });
        !interrupted.into_inner()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn interrupted_pieces_are_done_again() {
        let pieces = Pieces::new(20);
        let counts: Vec<_> = (0..20).map(|_| AtomicUsize::new(0)).collect();
        let count = |piece: usize| counts[piece].fetch_add(1, Ordering::Relaxed);
        assert!(!pieces.work_off(2, |piece| {
            count(piece);
            piece != 7
        }));
        assert!(pieces.work_off(3, |piece| {
            count(piece);
            true
        }));
        let counts: Vec<_> = counts.into_iter().map(AtomicUsize::into_inner).collect();
        assert_eq!(counts[7], 2);
        assert!(counts.iter().enumerate().all(|(i, count)| i == 7 || *count == 1), "{counts:?}");
    }
}
