//! The part of a thread that other threads reach: through `Thread.eetop`, waiting lists, monitors.

use super::event::{Event, Parker};
use super::inflated::NUMBERS_END;
use super::requests::Requests;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The objects that a thread sleeps on. Never freed: when a thread ends, another may get its state, and late
/// wake-ups are spurious ones for it.
pub struct ThreadState {
    /// Number for monitors, unique among live threads, from 1.
    pub id: u32,
    pub event: Event,
    pub parker: Parker,
    /// How often the thread waited for a monitor, and for anything else. Own thread writes, beans read; relaxed.
    pub times_blocked: AtomicU64,
    pub times_waited: AtomicU64,
    /// Nanoseconds of both, while their measurement was enabled.
    pub blocked_ns: AtomicU64,
    pub waited_ns: AtomicU64,
    /// The requests of other threads to this one.
    pub requests: Requests,
    /// Random numbers for identity hashes; own thread, relaxed.
    hash_seed: AtomicU32,
}

impl ThreadState {
    fn new(id: u32) -> ThreadState {
        ThreadState {
            id,
            event: Event::default(),
            parker: Parker::default(),
            times_blocked: AtomicU64::new(0),
            times_waited: AtomicU64::new(0),
            blocked_ns: AtomicU64::new(0),
            waited_ns: AtomicU64::new(0),
            requests: Requests::default(),
            // Any odd constant spreads the seeds; never 0.
            hash_seed: AtomicU32::new(id.wrapping_mul(0x9e37_79b9) | 1),
        }
    }

    /// Forgets counts and times.
    pub fn reset_statistics(&self) {
        let all = [&self.times_blocked, &self.times_waited, &self.blocked_ns, &self.waited_ns];
        all.into_iter().for_each(|count| count.store(0, Ordering::Relaxed));
    }

    /// Forgets times only.
    pub fn reset_times(&self) {
        self.blocked_ns.store(0, Ordering::Relaxed);
        self.waited_ns.store(0, Ordering::Relaxed);
    }

    /// Marsaglia's xorshift.
    pub fn next_hash(&self) -> u32 {
        let mut x = self.hash_seed.load(Ordering::Relaxed);
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        self.hash_seed.store(x, Ordering::Relaxed);
        x
    }
}

/// All states of a VM.
#[derive(Default)]
pub struct StatePool {
    inner: Mutex<Pool>,
}

#[derive(Default)]
struct Pool {
    made: u32,
    free: Vec<&'static ThreadState>,
}

impl StatePool {
    /// A state for a new thread, without permit.
    pub fn take(&self) -> &'static ThreadState {
        let mut pool = self.inner.lock();
        if let Some(state) = pool.free.pop() {
            state.parker.try_take();
            state.reset_statistics();
            return state;
        }
        pool.made += 1;
        assert!(pool.made < NUMBERS_END, "more than {NUMBERS_END} threads");
        Box::leak(Box::new(ThreadState::new(pool.made)))
    }

    /// The thread has ended and owns no monitor.
    pub fn give_back(&self, state: &'static ThreadState) {
        self.inner.lock().free.push(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_used_again_and_hashes_differ() {
        let pool = StatePool::default();
        let (one, two) = (pool.take(), pool.take());
        assert_eq!((one.id, two.id), (1, 2));
        assert_ne!(one.next_hash(), two.next_hash());
        assert_ne!(one.next_hash(), one.next_hash());
        one.parker.unpark();
        pool.give_back(one);
        let again = pool.take();
        assert!(std::ptr::eq(one, again) && !again.parker.try_take());
    }
}
