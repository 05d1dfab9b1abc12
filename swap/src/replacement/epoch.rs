//! Epochs: times in which the pages in local memory stay much the same (MemLiner, section 4.3).
//!
//! A new epoch begins when as many pages were brought in as N percent of the resident ones. Since one is evicted for
//! each that is brought in when local memory is full, that is the change of the resident set.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// Counts the epochs of one far space. Any thread, async-signal-safe; relaxed: an estimate.
pub struct Epochs {
    /// The paper's N.
    percent: u32,
    number: AtomicU64,
    /// Pages that may still change in this epoch.
    left: AtomicI64,
}

impl Epochs {
    /// Epoch 0 begins.
    pub fn new(percent: u32) -> Epochs {
        Epochs { percent: percent.max(1), number: AtomicU64::new(0), left: AtomicI64::new(LEAST) }
    }

    /// The number of the epoch.
    pub fn number(&self) -> u64 {
        self.number.load(Relaxed)
    }

    /// `pages` pages were brought in, or evicted; `resident_pages` are in local memory now.
    pub fn changed(&self, pages: usize, resident_pages: usize) {
        let pages = pages as i64;
        if self.left.fetch_sub(pages, Relaxed) > pages {
            return;
        }
        // The thread that sees that it has ended begins the next one, unless another thread has.
        let changes = resident_pages as u64 * u64::from(self.percent) / 100;
        let next = (changes as i64).max(LEAST);
        let begin = |left| (left <= 0).then_some(next);
        if self.left.fetch_update(Relaxed, Relaxed, begin).is_ok() {
            self.number.fetch_add(1, Relaxed);
        }
    }
}

/// Pages: a heap that has only begun to grow is not unstable.
const LEAST: i64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_ends_when_a_share_of_the_pages_has_changed() {
        let epochs = Epochs::new(10);
        let ends = |pages: usize| {
            let before = epochs.number();
            (0..pages).for_each(|_| epochs.changed(1, 10_000));
            epochs.number() - before
        };
        assert_eq!([ends(63), ends(1), ends(999), ends(1), ends(10_000)], [0, 1, 0, 1, 10]);
    }

    #[test]
    fn epochs_go_on_when_more_pages_come_at_once_than_one_has() {
        let epochs = Epochs::new(10);
        (0..100).for_each(|_| epochs.changed(128, 100));
        assert_eq!(epochs.number(), 100);
    }
}
