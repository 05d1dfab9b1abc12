//! The ring of pages that are ready for eviction (`ready`). A thread that takes a page out looks at the page
//! itself before it does anything: the ring may forget one, but never gives one out twice that was put in once.

use crate::Page;
use crate::sync::{AtomicUsize, Ordering};

/// One thread puts pages in, any thread takes them out. Async-signal-safe.
pub struct ReadyRing {
    /// Page + 1; 0 = none. Written by the thread that puts, taken by any.
    slots: Box<[AtomicUsize]>,
    /// Pages that were ever put in; its release pairs with the acquire of the thread that takes one out.
    put: AtomicUsize,
    /// Pages that were ever taken out, or are about to be. Never above `put`. Relaxed: it only decides which thread
    /// takes which.
    taken: AtomicUsize,
}

impl ReadyRing {
    /// An empty ring with room for `slots` pages.
    pub fn new(slots: usize) -> ReadyRing {
        let slots = (0..slots).map(|_| AtomicUsize::new(0)).collect();
        ReadyRing { slots, put: AtomicUsize::new(0), taken: AtomicUsize::new(0) }
    }

    /// Pages that it has room for.
    pub fn room(&self) -> usize {
        self.slots.len()
    }

    /// How many there are, about.
    pub fn count(&self) -> usize {
        let taken = self.taken.load(Ordering::Relaxed);
        self.put.load(Ordering::Relaxed).saturating_sub(taken)
    }

    /// Puts a page in, or forgets it if there is no room. By one thread only.
    pub fn put(&self, page: Page) {
        let put = self.put.load(Ordering::Relaxed);
        if put - self.taken.load(Ordering::Relaxed) < self.room() {
            // A thread that is about to take the slot's previous page gets this one instead, and the next thread
            // nothing.
            self.slots[put % self.room()].store(page.0 + 1, Ordering::Relaxed);
            self.put.store(put + 1, Ordering::Release);
        }
    }

    /// Takes the oldest one out.
    pub fn take(&self) -> Option<Page> {
        loop {
            let taken = self.taken.load(Ordering::Relaxed);
            if taken >= self.put.load(Ordering::Acquire) {
                return None;
            }
            let next = taken + 1;
            let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
            if self.taken.compare_exchange(taken, next, success, failure).is_ok() {
                let page = self.slots[taken % self.room()].swap(0, Ordering::Relaxed);
                if page > 0 {
                    return Some(Page(page - 1));
                }
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const ROOM: usize = 100;

    #[test]
    fn pages_come_out_once_and_in_order() {
        let ready = ReadyRing::new(ROOM);
        assert_eq!(ready.take(), None);
        for round in 0..3 {
            (0..ROOM + 5).for_each(|n| ready.put(Page(round * 10 + n)));
            assert_eq!(ready.count(), ROOM, "what finds no room is forgotten");
            for n in 0..ROOM {
                assert_eq!(ready.take(), Some(Page(round * 10 + n)));
            }
            assert_eq!((ready.take(), ready.count()), (None, 0));
        }
    }

    #[test]
    fn several_may_take() {
        let ready = ReadyRing::new(8192);
        let mut all: Vec<usize> = std::thread::scope(|scope| {
            let take = || {
                let mut mine = Vec::new();
                while mine.last() != Some(&usize::MAX) && mine.len() < 10_000 {
                    match ready.take() {
                        Some(page) => mine.push(page.0),
                        None if ready.put.load(Ordering::Relaxed) >= 4000 => break,
                        None => std::thread::yield_now(),
                    }
                }
                mine
            };
            let takers = [scope.spawn(take), scope.spawn(take)];
            (0..4000).for_each(|n| ready.put(Page(n)));
            takers.into_iter().flat_map(|taker| taker.join().unwrap()).collect()
        });
        all.sort_unstable();
        assert_eq!(all, (0..4000).collect::<Vec<_>>());
    }
}
