//! Injected latency and bandwidth, for one-sided operations and for calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::memory::atomic_words::WORD_BYTES;
use crate::memory::segment::{Begun, Read, Write};
use crate::wire::channel::Channel;
use crate::{PeerId, RdmaError, Segment};
use base::now_ns;

/// A slower network to one server: everything takes at least `latency`, and all bytes together move with at most
/// `bandwidth` bytes per second (0 = no limit).
pub struct SlowWire {
    latency_ns: u64,
    bandwidth: u64,
    /// When the wire has carried everything that was put on it so far, on the monotonic clock in
    /// ns. Advanced by every operation; relaxed, since it carries no data.
    wire_free_ns: AtomicU64,
}

impl SlowWire {
    pub fn new(latency: Duration, bandwidth: u64) -> Arc<SlowWire> {
        let latency_ns = latency.as_nanos() as u64;
        Arc::new(SlowWire { latency_ns, bandwidth, wire_free_ns: AtomicU64::new(0) })
    }

    /// When `bytes` that are sent now have been carried, without the latency.
    fn carried_ns(&self, bytes: usize) -> u64 {
        let now = now_ns();
        if self.bandwidth == 0 {
            return now;
        }
        let wire_ns = (bytes as u128 * 1_000_000_000 / u128::from(self.bandwidth)) as u64;
        let queue = |free: u64| Some(free.max(now) + wire_ns);
        let free = self.wire_free_ns.fetch_update(Relaxed, Relaxed, queue);
        free.expect("queue always answers").max(now) + wire_ns
    }

    /// When an operation that moves `bytes` is finished.
    fn goal_ns(&self, bytes: usize) -> u64 {
        self.carried_ns(bytes) + self.latency_ns
    }
}

/// A segment behind a slower network: each batch is one operation.
pub struct Throttled {
    inner: Arc<dyn Segment>,
    wire: Arc<SlowWire>,
}

impl Throttled {
    /// Wraps a segment.
    pub fn new(inner: Arc<dyn Segment>, wire: Arc<SlowWire>) -> Throttled {
        Throttled { inner, wire }
    }

    /// Takes the time that `words` words would take.
    fn travel(&self, words: usize) {
        sleep_until(self.wire.goal_ns(words * WORD_BYTES));
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

    unsafe fn begin_write(&self, writes: &[Write]) -> Option<Begun> {
        let bytes = writes.iter().map(|write| write.words * WORD_BYTES).sum();
        let goal_ns = self.wire.goal_ns(bytes);
        // SAFETY: the caller's promise is passed on.
        let begun = unsafe { self.inner.begin_write(writes) };
        // A WRITE that cannot be begun is done when it is finished, and the time passes nevertheless.
        let begun = begun.unwrap_or(Begun { is_deferred: true, ..Begun::default() });
        Some(Begun { goal_ns, ..begun })
    }

    unsafe fn finish_write(&self, begun: Begun, writes: &[Write]) -> Result<(), RdmaError> {
        sleep_until(begun.goal_ns);
        match begun.is_deferred {
            // SAFETY: the caller's promise is passed on.
            true => unsafe { self.inner.write_batch(writes) },
            // SAFETY: as above.
            false => unsafe { self.inner.finish_write(begun, writes) },
        }
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

/// A channel behind a slower network, the same as that of its server's segment: a call is one operation, whose time is
/// not that of its timeout. No thread waits for a notice, so none is held up; its effect is asked for by a call
/// later.
pub struct ThrottledChannel {
    inner: Arc<dyn Channel>,
    wire: Arc<SlowWire>,
}

impl ThrottledChannel {
    /// Wraps a channel.
    pub fn new(inner: Arc<dyn Channel>, wire: Arc<SlowWire>) -> ThrottledChannel {
        ThrottledChannel { inner, wire }
    }
}

impl Channel for ThrottledChannel {
    fn peer(&self) -> PeerId {
        self.inner.peer()
    }

    fn send(&self, notice: &[u8]) -> Result<(), RdmaError> {
        self.inner.send(notice)
    }

    fn call(&self, request: &[u8], timeout: Duration) -> Result<Vec<u8>, RdmaError> {
        sleep_until(self.wire.goal_ns(request.len()));
        let reply = self.inner.call(request, timeout)?;
        sleep_until(self.wire.carried_ns(reply.len()));
        Ok(reply)
    }

    fn is_alive(&self) -> bool {
        self.inner.is_alive()
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
        let wire = SlowWire::new(Duration::from_millis(2), 0);
        let slow = Throttled::new(memory.clone(), wire);
        let start = Instant::now();
        slow.write(0, &[1]).unwrap();
        assert!(start.elapsed() >= Duration::from_millis(2));

        let narrow = Throttled::new(memory, SlowWire::new(Duration::ZERO, 1 << 20));
        let start = Instant::now();
        for _ in 0..4 {
            narrow.write(0, &[0; 1024]).unwrap();
        }
        assert!(start.elapsed() >= Duration::from_millis(31), "4 x 8 KiB at 1 MiB/s");
    }

    /// Answers with as many bytes as it was asked with.
    struct Echo;

    impl Channel for Echo {
        fn peer(&self) -> PeerId {
            PeerId::Server(0)
        }

        fn send(&self, _notice: &[u8]) -> Result<(), RdmaError> {
            Ok(())
        }

        fn call(&self, request: &[u8], _timeout: Duration) -> Result<Vec<u8>, RdmaError> {
            Ok(request.to_vec())
        }

        fn is_alive(&self) -> bool {
            true
        }
    }

    #[test]
    fn calls_take_their_time_on_the_wire_of_the_pages() {
        let wire = SlowWire::new(Duration::from_millis(2), 1 << 20);
        let slow = ThrottledChannel::new(Arc::new(Echo), wire.clone());
        let start = Instant::now();
        slow.send(&[0; 1 << 20]).unwrap();
        assert!(start.elapsed() < Duration::from_millis(500), "no thread waits for a notice");
        let start = Instant::now();
        let reply = slow.call(&[7; 8192], Duration::ZERO).unwrap();
        assert_eq!(reply, [7; 8192]);
        assert!(start.elapsed() >= Duration::from_millis(17), "2 x 8 KiB at 1 MiB/s, and 2 ms");
        let memory = ShmSegment::create(PeerId::Server(0), 1 << 20).unwrap();
        let pages = Throttled::new(Arc::new(memory), wire);
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| slow.call(&[7; 8192], Duration::ZERO).unwrap());
            scope.spawn(|| pages.write(0, &[0; 1024]).unwrap());
        });
        assert!(start.elapsed() >= Duration::from_millis(23), "3 x 8 KiB share it");
    }
}
