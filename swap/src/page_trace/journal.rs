//! The events that were not written to the file yet. Fault handlers put them in, one thread takes them out.

use std::sync::atomic::{AtomicU64, Ordering};

/// A ring of words that are not 0, in the order in which their places were claimed.
pub struct Journal {
    /// 0: not put yet, or taken. Stored with release, taken with acquire.
    slots: Box<[AtomicU64]>,
    /// Places claimed so far. Relaxed: a slot's own word says when it is there.
    claimed: AtomicU64,
    /// Words taken so far. Stored by the taker with release, after it emptied the slots.
    taken: AtomicU64,
}

impl Journal {
    /// Room for `slots` words.
    pub fn new(slots: usize) -> Journal {
        let slots = (0..slots).map(|_| AtomicU64::new(0)).collect();
        Journal { slots, claimed: AtomicU64::new(0), taken: AtomicU64::new(0) }
    }

    /// Puts a word in; waits while the ring is full. Any thread, async-signal-safe.
    pub fn put(&self, word: u64) {
        debug_assert!(word != 0);
        let place = self.claimed.fetch_add(1, Ordering::Relaxed);
        while place - self.taken.load(Ordering::Acquire) >= self.slots.len() as u64 {
            // SAFETY: no memory is involved; async-signal-safe.
            unsafe { libc::sched_yield() };
        }
        self.slots[place as usize % self.slots.len()].store(word, Ordering::Release);
    }

    /// Takes all words out that are there. One thread at a time.
    pub fn take(&self, into: &mut Vec<u8>) {
        let mut place = self.taken.load(Ordering::Relaxed);
        loop {
            let word = self.slots[place as usize % self.slots.len()].swap(0, Ordering::Acquire);
            if word == 0 {
                return;
            }
            into.extend(word.to_le_bytes());
            place += 1;
            self.taken.store(place, Ordering::Release);
        }
    }

    /// Words so far.
    pub fn count(&self) -> u64 {
        self.claimed.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    #[test]
    fn every_word_comes_out_once_and_in_the_order_of_its_thread() {
        const WORDS: u64 = 50_000;
        let (journal, is_over) = (Journal::new(64), AtomicBool::new(false));
        let mut bytes = Vec::new();
        thread::scope(|scope| {
            let put = |thread: u64| {
                let journal = &journal;
                move || (1..=WORDS).for_each(|n| journal.put(thread << 32 | n))
            };
            let threads = [1, 2, 3].map(|thread| scope.spawn(put(thread)));
            let taker = scope.spawn(|| {
                let mut bytes = Vec::new();
                while !is_over.load(Ordering::Acquire) {
                    journal.take(&mut bytes);
                }
                journal.take(&mut bytes);
                bytes
            });
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            is_over.store(true, Ordering::Release);
            bytes = taker.join().unwrap();
        });
        assert_eq!((bytes.len() as u64, journal.count()), (3 * WORDS * 8, 3 * WORDS));
        let mut last = [0; 4];
        for word in bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())) {
            let (thread, n) = ((word >> 32) as usize, word & 0xffff_ffff);
            assert_eq!(n, last[thread] + 1);
            last[thread] = n;
        }
    }
}
