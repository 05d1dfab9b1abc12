//! The queues of all threads.

use super::touched::TouchedQueue;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// See the module text.
pub struct Queues {
    length: usize,
    overwrites: bool,
    all: Mutex<Vec<Arc<TouchedQueue>>>,
    /// Something was pushed since a consumer looked. Set by producers after the push, cleared by consumers before they
    /// look; relaxed: a push that is overlooked waits for the next one.
    is_filled: AtomicBool,
}

impl Queues {
    /// Each of `length`; `overwrites`: see [`TouchedQueue`].
    pub fn new(length: usize, overwrites: bool) -> Queues {
        Queues { length, overwrites, all: Mutex::default(), is_filled: AtomicBool::new(false) }
    }

    /// A queue for a thread that attaches.
    pub fn add(&self) -> Arc<TouchedQueue> {
        let queue = Arc::new(TouchedQueue::new(self.length, self.overwrites));
        self.all.lock().push(queue.clone());
        queue
    }

    /// The thread detaches. The entries of its queue are lost: hints only.
    pub fn remove(&self, queue: &Arc<TouchedQueue>) {
        self.all.lock().retain(|other| !Arc::ptr_eq(queue, other));
    }

    /// Says that something was pushed.
    #[inline]
    pub fn note_push(&self) {
        if !self.is_filled.load(Ordering::Relaxed) {
            self.is_filled.store(true, Ordering::Relaxed);
        }
    }

    /// Passes the entries now in the queues to `take`: at most as much as they hold, however fast threads push
    /// meanwhile. Returns how many were lost. Costs nothing when nothing was pushed.
    #[inline]
    pub fn drain(&self, batch: &mut Vec<u64>) -> u64 {
        if !self.is_filled.load(Ordering::Relaxed) {
            return 0;
        }
        self.is_filled.store(false, Ordering::Relaxed);
        let mut lost = 0;
        for queue in self.all.lock().iter() {
            let before = batch.len();
            for taken in (0..queue.waiting()).map_while(|_| queue.take()) {
                batch.push(taken.value);
                lost += taken.lost;
            }
            // Later pushes may have filled it; no tracer would look at it again.
            if batch.len() > before || queue.is_out_of_room() {
                queue.make_room();
            }
        }
        lost
    }

    /// Much was traced: threads that had nothing to report may have something again.
    pub fn reopen(&self) {
        self.all.lock().iter().for_each(|queue| queue.reopen());
    }

    /// Objects will move, or tracing is over. World stopped, no tracer at work.
    pub fn clear(&self) {
        self.all.lock().iter().for_each(|queue| queue.clear());
        self.is_filled.store(false, Ordering::Relaxed);
    }

    /// Values that wait, at most.
    pub fn waiting(&self) -> usize {
        self.all.lock().iter().map(|queue| queue.waiting()).sum()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_threads_push_is_drained_until_they_detach() {
        let queues = Queues::new(4, true);
        let (first, second) = (queues.add(), queues.add());
        let push = |queue: &TouchedQueue, value| {
            queue.push(value);
            queues.note_push();
        };
        (1..=5).for_each(|value| push(&first, value));
        push(&second, 9);
        let mut batch = Vec::new();
        assert_eq!((queues.drain(&mut batch), &*batch), (1, &[2, 3, 4, 5, 9][..]));
        push(&first, 6);
        push(&second, 10);
        queues.remove(&second);
        batch.clear();
        assert_eq!((queues.drain(&mut batch), &*batch), (0, &[6][..]));
        push(&first, 7);
        queues.clear();
        batch.clear();
        assert_eq!((queues.drain(&mut batch), batch.len(), queues.waiting()), (0, 0, 0));
    }
}
