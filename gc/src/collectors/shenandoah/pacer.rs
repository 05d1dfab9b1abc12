//! Pacing: threads that allocate while a cycle runs pay for it with the cycle's progress.
//!
//! When a concurrent phase begins, its work (bytes to mark, to copy, to walk) is compared with the memory that is
//! free. Each byte of work that is done is worth so many bytes of allocation that the memory lasts until the phase
//! ends, with a tenth of it to begin with. A thread that would overdraw waits, safe, for progress, at most ten
//! milliseconds for each megabyte that it takes: then it goes on, and if memory runs out the cycle ends in a pause.
//! (HotSpot waits ten milliseconds for each buffer, but its buffers grow until a thread needs few of them; ours end
//! where the processor's cache does.) The waits count as time without progress.

use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// See the module text.
pub struct Pacer {
    is_wanted: bool,
    /// A concurrent phase is on. Relaxed, as the rest: a wrong answer costs one allocation's pace.
    is_on: AtomicBool,
    /// Bytes that may be allocated now.
    budget: AtomicI64,
    /// Bytes of allocation that a byte of work is worth, in 1/1024.
    worth: AtomicU64,
    lock: Mutex<()>,
    progressed: Condvar,
}

impl Pacer {
    pub fn new(is_wanted: bool) -> Pacer {
        Pacer {
            is_wanted,
            is_on: AtomicBool::new(false),
            budget: AtomicI64::new(0),
            worth: AtomicU64::new(0),
            lock: Mutex::new(()),
            progressed: Condvar::new(),
        }
    }

    /// A phase begins that has so much to do, with so much free.
    pub fn begin(&self, work_bytes: usize, free_bytes: usize) {
        if !self.is_wanted {
            return;
        }
        let slack = free_bytes / 10;
        // A tenth more than evenly, so that the phase ends before the memory.
        let worth = (free_bytes - slack) as u64 * 1024 / (work_bytes as u64 * 11 / 10).max(1);
        self.worth.store(worth, Ordering::Relaxed);
        self.budget.store(slack as i64, Ordering::Relaxed);
        self.is_on.store(true, Ordering::Relaxed);
    }

    /// The phase is over.
    pub fn end(&self) {
        self.is_on.store(false, Ordering::Relaxed);
        let _lock = self.lock.lock();
        self.progressed.notify_all();
    }

    /// So much of the work was done.
    #[inline]
    pub fn progress(&self, bytes: usize) {
        if !self.is_on.load(Ordering::Relaxed) {
            return;
        }
        let earned = bytes as u64 * self.worth.load(Ordering::Relaxed) / 1024;
        let before = self.budget.fetch_add(earned as i64, Ordering::Relaxed);
        if before < 0 {
            let _lock = self.lock.lock();
            self.progressed.notify_all();
        }
    }

    /// So much was allocated.
    pub fn pay(&self, bytes: usize) {
        if self.is_on.load(Ordering::Relaxed) {
            self.budget.fetch_sub(bytes as i64, Ordering::Relaxed);
        }
    }

    /// Whether a thread must [`wait`](Self::wait) before it allocates.
    pub fn is_overdrawn(&self) -> bool {
        self.is_on.load(Ordering::Relaxed) && self.budget.load(Ordering::Relaxed) < 0
    }

    /// Waits until the budget is there, the phase is over, or it was long enough for so many bytes. The thread is
    /// safe.
    pub fn wait(&self, bytes: usize) {
        let end = Instant::now() + (DELAY_PER_MIB * (bytes >> 10) as u32 / 1024).min(DELAY_MAX);
        let mut lock = self.lock.lock();
        while self.is_overdrawn() {
            if self.progressed.wait_until(&mut lock, end).timed_out() {
                break;
            }
        }
    }
}

const DELAY_PER_MIB: Duration = Duration::from_millis(10);
/// As HotSpot's ShenandoahPacingMaxDelay.
const DELAY_MAX: Duration = Duration::from_millis(10);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn memory_lasts_as_long_as_the_work() {
        let pacer = Pacer::new(true);
        pacer.pay(1 << 40);
        assert!(!pacer.is_overdrawn(), "no cycle is on");
        pacer.begin(1 << 20, 1 << 20);
        pacer.pay((1 << 20) / 10 - 1);
        assert!(!pacer.is_overdrawn(), "a tenth is free of charge");
        pacer.pay(100);
        assert!(pacer.is_overdrawn());
        pacer.progress(1 << 19);
        let budget = pacer.budget.load(Ordering::Relaxed);
        assert!((400_000..450_000).contains(&budget), "{budget}");
        pacer.pay(450_000);
        assert!(pacer.is_overdrawn());
        let start = Instant::now();
        pacer.wait(128 << 10);
        assert!(start.elapsed() >= DELAY_PER_MIB / 8);
        let start = Instant::now();
        pacer.wait(1 << 30);
        assert!(start.elapsed() >= DELAY_MAX);
        pacer.end();
        assert!(!pacer.is_overdrawn());
    }

    #[test]
    fn progress_wakes_who_waits() {
        let pacer = Pacer::new(true);
        pacer.begin(1 << 30, 0);
        pacer.pay(10);
        assert!(pacer.is_overdrawn());
        std::thread::scope(|scope| {
            scope.spawn(|| pacer.end());
            pacer.wait(1 << 20);
        });
        let never = Pacer::new(false);
        never.begin(1 << 30, 0);
        never.pay(10);
        assert!(!never.is_overdrawn());
    }
}
