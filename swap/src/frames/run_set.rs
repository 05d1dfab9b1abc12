//! Which runs of the frame cache are unused: one bit each. A thread that takes a number out of the set has it alone
//! until it puts it back.

use crate::sync::{AtomicU64, Ordering};

/// A set of small numbers. Any thread, async-signal-safe.
pub struct RunSet {
    /// Bit `n % 64` of word `n / 64`: `n` is in the set. Taking acquires what the thread that put it in released.
    words: Box<[AtomicU64]>,
}

impl RunSet {
    /// An empty set for numbers below `limit`.
    pub fn new(limit: usize) -> RunSet {
        RunSet { words: (0..limit.div_ceil(64)).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Takes the smallest number, as far as others do not take it before. `None`: the set was empty.
    pub fn take(&self) -> Option<usize> {
        for (n, word) in self.words.iter().enumerate() {
            let mut bits = word.load(Ordering::Relaxed);
            while bits != 0 {
                let bit = bits & bits.wrapping_neg();
                bits = word.fetch_and(!bit, Ordering::Acquire);
                if bits & bit != 0 {
                    return Some(n * 64 + bit.trailing_zeros() as usize);
                }
            }
        }
        None
    }

    /// Puts a number in, which is not in it.
    pub fn put(&self, number: usize) {
        let bit = 1 << (number % 64);
        let before = self.words[number / 64].fetch_or(bit, Ordering::Release);
        assert!(before & bit == 0, "run {number} was put back twice");
    }
}
