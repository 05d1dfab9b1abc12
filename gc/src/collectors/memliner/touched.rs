//! The queue of one thread of the program: objects that it has touched (the paper's PQ, section 4.3.1).
//!
//! A ring. One producer, which never waits. Any number of consumers. An entry that gets lost, or is taken twice, is a
//! hint less, or one too many: the mark of an object decides which tracer traces it.
//!
//! With a full ring the producer overwrites the oldest entry, as the paper's does, or it stops reporting until the
//! ring was drained ([`is_full`](TouchedQueue::is_full)): where tracers share a CPU with the program they see a
//! thread's queue once in a time slice, and all that is overwritten meanwhile was in vain. So are the reports of a
//! thread when nearly everything that it touches was traced: after some objects that it need not have reported it
//! stops, too, until the tracers get on ([`reopen`](TouchedQueue::reopen)).
//!
//! The value is published before the index. So a consumer that sees an index sees the value that was pushed there, or
//! one that was pushed later; never one of an earlier marking.

use crate::object::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

/// See the module text.
pub struct TouchedQueue {
    ring: Box<[AtomicU64]>,
    /// Values pushed so far. Written by the producer: release, pairs with the consumers' acquire.
    head: AtomicU64,
    /// All before it were taken or given up; never behind `head`. Written by consumers, by compare-exchange, and with
    /// the producer stopped.
    tail: AtomicU64,
    /// The producer need not push: there is no room, or it would probably be in vain. Set by the producer, which
    /// clears it again if it was set too late; cleared by consumers.
    is_full: AtomicBool,
    /// Objects in a row that the producer need not have reported. Written by the producer.
    vain: AtomicU32,
    /// Nothing is ever full: the oldest entry is overwritten.
    overwrites: bool,
}

/// The value that a consumer got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    pub value: u64,
    /// Values before it that were overwritten.
    pub lost: u64,
}

impl TouchedQueue {
    /// For `length` values, rounded up to a power of two.
    pub fn new(length: usize, overwrites: bool) -> TouchedQueue {
        let ring = (0..length.next_power_of_two()).map(|_| AtomicU64::new(0)).collect();
        TouchedQueue {
            ring,
            head: AtomicU64::new(0),
            tail: AtomicU64::new(0),
            is_full: AtomicBool::new(false),
            vain: AtomicU32::new(0),
            overwrites,
        }
    }

    /// By the one producer.
    #[inline]
    pub fn push(&self, value: u64) {
        let head = self.head.load(Ordering::Relaxed);
        self.slot(head).store(value, Ordering::Release);
        self.head.store(head + 1, Ordering::Release);
        self.vain.store(0, Ordering::Relaxed);
        if !self.overwrites && self.is_out_of_room() {
            self.is_full.store(true, Ordering::Relaxed);
            // Of two threads, one that has said that it is full and one that has made room, one sees the other:
            // pairs with the fence in `make_room`.
            fence(Ordering::SeqCst);
            if !self.is_out_of_room() {
                self.is_full.store(false, Ordering::Relaxed);
            }
        }
    }

    /// The producer has touched something that was traced, or that it has just reported. By the producer.
    #[inline]
    pub fn touched_in_vain(&self) {
        let vain = self.vain.load(Ordering::Relaxed) + 1;
        self.vain.store(vain % VAIN_MAX, Ordering::Relaxed);
        if vain == VAIN_MAX && !self.overwrites {
            self.is_full.store(true, Ordering::Relaxed);
        }
    }

    /// Much was traced since: perhaps the producer has something to report again. By any consumer.
    pub fn reopen(&self) {
        if self.is_full() && !self.is_out_of_room() {
            self.make_room();
        }
    }

    /// Whether the ring is full. Any thread.
    pub fn is_out_of_room(&self) -> bool {
        self.waiting() == self.ring.len()
    }

    /// After taking: the producer may continue. By any consumer. It may come too late, when the producer has filled
    /// the queue once more: then that overwrites an entry, and sets the flag that it is full again.
    pub fn make_room(&self) {
        fence(Ordering::SeqCst);
        if self.is_full() {
            self.is_full.store(false, Ordering::Relaxed);
        }
    }

    /// Whether the producer need not push now.
    pub fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// The oldest value that is still in the ring. By any consumer.
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

    /// Forgets the entries that wait. With producer and consumers stopped.
    pub fn clear(&self) {
        self.tail.store(self.head.load(Ordering::Acquire), Ordering::Release);
        self.is_full.store(false, Ordering::Relaxed);
    }

    fn slot(&self, index: u64) -> &AtomicU64 {
        &self.ring[index as usize & (self.ring.len() - 1)]
    }
}

/// This many objects in a row are a sign that nearly all were traced.
const VAIN_MAX: u32 = 64;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_loses_what_is_oldest() {
        let queue = TouchedQueue::new(3, true);
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
        assert!(!queue.is_full());
    }

    #[test]
    fn a_full_queue_says_so_until_there_is_room() {
        let queue = TouchedQueue::new(4, false);
        let told: Vec<_> =
            (1..=6).map_while(|value| (!queue.is_full()).then(|| queue.push(value))).collect();
        assert_eq!(told.len(), 4);
        assert_eq!(queue.take(), Some(Taken { value: 1, lost: 0 }));
        assert!(queue.is_full());
        queue.make_room();
        assert!(!queue.is_full());
        // A producer that has not looked overwrites all the same.
        (5..=6).for_each(|value| queue.push(value));
        assert_eq!((queue.is_full(), queue.take()), (true, Some(Taken { value: 3, lost: 1 })));
        queue.reopen();
        assert!(!queue.is_full());
        queue.clear();
        assert!(!queue.is_full() && queue.take().is_none());
    }

    #[test]
    fn who_tells_in_vain_stops_until_tracing_goes_on() {
        let queue = TouchedQueue::new(4, false);
        let told = || {
            (1..=2 * VAIN_MAX)
                .take_while(|_| !queue.is_full())
                .map(|_| queue.touched_in_vain())
                .count()
        };
        assert_eq!(told() as u32, VAIN_MAX);
        queue.reopen();
        // Something to report in between.
        (1..VAIN_MAX).for_each(|_| queue.touched_in_vain());
        queue.push(1);
        assert_eq!(told() as u32, VAIN_MAX);
        // It is not room that is missing.
        (2..=4).for_each(|value| queue.push(value));
        queue.reopen();
        assert!(queue.is_full());
        let patient = TouchedQueue::new(4, true);
        (0..2 * VAIN_MAX).for_each(|_| patient.touched_in_vain());
        assert!(!patient.is_full());
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;

    /// Consumers see values of this round only, never values left in the ring.
    #[test]
    fn an_index_is_never_seen_before_its_value() {
        loom::model(|| {
            let queue = Arc::new(TouchedQueue::new(2, true));
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

    /// A producer that has found no room continues when there is some.
    #[test]
    fn nobody_finds_an_empty_queue_full() {
        loom::model(|| {
            let queue = Arc::new(TouchedQueue::new(2, false));
            let consumer = {
                let queue = queue.clone();
                loom::thread::spawn(move || {
                    (0..2).filter_map(|_| queue.take()).for_each(drop);
                    queue.make_room();
                })
            };
            (10..12).for_each(|value| queue.push(value));
            consumer.join().unwrap();
            assert!(!queue.is_full() || queue.waiting() == 2, "full, with {}", queue.waiting());
        });
    }

    /// Where the producer has come round meanwhile, a later value may come before an earlier one.
    fn take_two(queue: &TouchedQueue) {
        for taken in (0..2).filter_map(|_| queue.take()) {
            assert!((10..13).contains(&taken.value), "{taken:?} is from before");
        }
    }
}
