//! Work that several workers do together: each has a deque, and steals from the others when that is empty.

use crate::threads::quiescence::Quiescence;
use crossbeam_deque::{Steal, Stealer, Worker as Deque};

/// The deques of all workers, seen by each of them.
pub struct Stealing<T> {
    stealers: Vec<Stealer<T>>,
    quiescence: Quiescence,
}

impl<T> Stealing<T> {
    /// For workers that have these deques, one each.
    pub fn new(deques: &[Deque<T>]) -> Stealing<T> {
        Stealing {
            stealers: deques.iter().map(Deque::stealer).collect(),
            quiescence: Quiescence::new(deques.len()),
        }
    }

    /// Something out of any deque. By a worker whose own is empty.
    pub fn steal(&self) -> Option<T> {
        for stealer in &self.stealers {
            loop {
                match stealer.steal() {
                    Steal::Success(work) => return Some(work),
                    Steal::Empty => break,
                    Steal::Retry => {}
                }
            }
        }
        None
    }

    /// As [`Quiescence::is_over`], by a worker that found nothing to steal.
    pub fn is_over(&self) -> bool {
        self.quiescence.is_over(|| self.stealers.iter().any(|stealer| !stealer.is_empty()))
    }
}
