//! Injected latency and bandwidth for one-sided operations.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::clock::now_ns;
use crate::segment::{Read, Write};
use crate::words::WORD_BYTES;
use crate::{RdmaError, Segment};

/// A segment behind a slower network: every batch takes at least `latency`, and the bytes of all
/// batches together move with at most `bandwidth` bytes per second (0 = no limit).
pub struct Throttled {
    inner: Arc<dyn Segment>,
    latency_ns: u64,
    bandwidth: u64,
    /// When the wire has carried everything that was put on it so far, on the monotonic clock in
    /// ns. Advanced by every operation; relaxed, since it carries no data.
    wire_free_ns: AtomicU64,
}

impl Throttled {
    /// Wraps a segment.
    pub fn new(inner: Arc<dyn Segment>, latency: Duration, bandwidth: u64) -> Throttled {
        let latency_ns = latency.as_nanos() as u64;
        Throttled { inner, latency_ns, bandwidth, wire_free_ns: AtomicU64::new(0) }
    }

    /// Takes the time that `words` words would take.
    fn travel(&self, words: usize) {
        let now = now_ns();
        let mut carried = now;
        if self.bandwidth > 0 {
            let bytes = (words * WORD_BYTES) as u128;
            let wire_ns = (bytes * 1_000_000_000 / u128::from(self.bandwidth)) as u64;
            let queue = |free: u64| Some(free.max(now) + wire_ns);
            let free = self.wire_free_ns.fetch_update(Relaxed, Relaxed, queue);
            carried = free.expect("queue always answers").max(now) + wire_ns;
        }
        sleep_until(carried + self.latency_ns);
    }
}

impl Segment for Throttled {
    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    unsafe fn read_batch(&self, reads: &[Read]) -> Result<(), RdmaError> {
        self.travel(reads.iter().map(|read| read.words).sum());
        // SAFETY: the caller's promise is passed on.
        unsafe { self.inner.read_batch(reads) }
    }

    unsafe fn write_batch(&self, writes: &[Write]) -> Result<(), RdmaError> {
        self.travel(writes.iter().map(|write| write.words).sum());
        // SAFETY: the caller's promise is passed on.
        unsafe { self.inner.write_batch(writes) }
    }

    fn punch(&self, offset: u64, bytes: u64) -> Result<(), RdmaError> {
        self.travel(0);
        self.inner.punch(offset, bytes)
    }

    fn is_alive(&self) -> bool {
        self.inner.is_alive()
    }

    fn abandon(&self) {
        self.inner.abandon();
    }
}

/// Waits precisely: sleeps while far from the goal, spins near it. Async-signal-safe.
pub(crate) fn sleep_until(goal_ns: u64) {
    loop {
        let now = now_ns();
        if now >= goal_ns {
            return;
        }
        if goal_ns - now > SPIN_NS_MAX {
            let ns = (goal_ns - now - SPIN_NS_MAX / 2).min(999_999_999);
            let time = libc::timespec { tv_sec: 0, tv_nsec: ns as libc::c_long };
            // SAFETY: the kernel reads one timespec.
            unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
        } else {
            std::hint::spin_loop();
        }
    }
}

/// Sleeping is only exact to some 60 us.
const SPIN_NS_MAX: u64 = 120_000;

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::{PeerId, ShmSegment};

    #[test]
    fn operations_take_their_time() {
        let memory = ShmSegment::create(PeerId::Server(0), 1 << 20).unwrap();
        let memory: Arc<dyn Segment> = Arc::new(memory);
        let slow = Throttled::new(memory.clone(), Duration::from_millis(2), 0);
        let start = Instant::now();
        slow.write(0, &[1]).unwrap();
        assert!(start.elapsed() >= Duration::from_millis(2));

        let narrow = Throttled::new(memory, Duration::ZERO, 1 << 20);
        let start = Instant::now();
        for _ in 0..4 {
            narrow.write(0, &[0; 1024]).unwrap();
        }
        assert!(start.elapsed() >= Duration::from_millis(31), "4 x 8 KiB at 1 MiB/s");
    }
}
