//! The queue of one thread of the program: objects that it has touched (the paper's PQ, section 4.3.1).
//!
//! A ring. One producer, which never waits and never looks at what the consumers do: with a full ring it overwrites
//! what is oldest. Any number of consumers. What gets lost, or is taken twice, is a hint less, or one too many: the
//! mark of an object says who traces it.
//!
//! The value is published before the index. So a consumer that sees an index sees the value that was pushed there, or
//! one that was pushed later; never what lay there in an earlier marking.

use crate::sync::{AtomicU64, Ordering};

/// See the module text.
pub struct TouchedQueue {
    ring: Box<[AtomicU64]>,
    /// Values pushed so far. Written by the producer: release, pairs with the consumers' acquire.
    head: AtomicU64,
    /// All before it were taken or given up; never behind `head`. Written by consumers, by compare-exchange, and with
    /// the producer stopped.
    tail: AtomicU64,
}

/// What a consumer got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    pub value: u64,
    /// Values before it that were overwritten.
    pub lost: u64,
}

impl TouchedQueue {
    /// For `length` values, rounded up to a power of two.
    pub fn new(length: usize) -> TouchedQueue {
        let ring = (0..length.next_power_of_two()).map(|_| AtomicU64::new(0)).collect();
        TouchedQueue { ring, head: AtomicU64::new(0), tail: AtomicU64::new(0) }
    }

    /// By the one producer.
    #[inline]
    pub fn push(&self, value: u64) {
        let head = self.head.load(Ordering::Relaxed);
        self.slot(head).store(value, Ordering::Release);
        self.head.store(head + 1, Ordering::Release);
    }

    /// The oldest value that is still there. By any consumer.
    pub fn take(&self) -> Option<Taken> {
        loop {
            // In this order: the tail never passes a head that was seen after it.
            let tail = self.tail.load(Ordering::Acquire);
            let head = self.head.load(Ordering::Acquire);
            assert!(tail <= head, "tail {tail} has passed head {head}");
            if tail == head {
                return None;
            }
            let first = tail.max(head.saturating_sub(self.ring.len() as u64));
            let value = self.slot(first).load(Ordering::Acquire);
            let claimed =
                self.tail.compare_exchange(tail, first + 1, Ordering::AcqRel, Ordering::Relaxed);
            if claimed.is_ok() {
                return Some(Taken { value, lost: first - tail });
            }
        }
    }

    /// How many values wait, at most.
    pub fn waiting(&self) -> usize {
        let tail = self.tail.load(Ordering::Acquire);
        let head = self.head.load(Ordering::Acquire);
        (head - tail).min(self.ring.len() as u64) as usize
    }

    /// Forgets what waits. With producer and consumers stopped.
    pub fn clear(&self) {
        self.tail.store(self.head.load(Ordering::Acquire), Ordering::Release);
    }

    fn slot(&self, index: u64) -> &AtomicU64 {
        &self.ring[index as usize & (self.ring.len() - 1)]
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_loses_what_is_oldest() {
        let queue = TouchedQueue::new(3);
        assert_eq!(queue.take(), None);
        (1..=6).for_each(|value| queue.push(value));
        assert_eq!(queue.waiting(), 4);
        let taken: Vec<_> = std::iter::from_fn(|| queue.take()).collect();
        let expected = [(3, 2), (4, 0), (5, 0), (6, 0)].map(|(value, lost)| Taken { value, lost });
        assert_eq!(taken, expected);
        queue.push(7);
        queue.clear();
        assert_eq!((queue.waiting(), queue.take()), (0, None));
        queue.push(8);
        assert_eq!(queue.take(), Some(Taken { value: 8, lost: 0 }));
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;

    /// Consumers see values of this round only, whatever lies in the ring from before.
    #[test]
    fn an_index_is_never_seen_before_its_value() {
        loom::model(|| {
            let queue = Arc::new(TouchedQueue::new(2));
            // An earlier marking.
            queue.push(1);
            queue.push(2);
            queue.clear();
            let consumer = {
                let queue = queue.clone();
                loom::thread::spawn(move || take_two(&queue))
            };
            (10..13).for_each(|value| queue.push(value));
            take_two(&queue);
            consumer.join().unwrap();
        });
    }

    /// Where the producer has come round meanwhile, a later value may come before an earlier one.
    fn take_two(queue: &TouchedQueue) {
        for taken in (0..2).filter_map(|_| queue.take()) {
            assert!((10..13).contains(&taken.value), "{taken:?} is from before");
        }
    }
}
