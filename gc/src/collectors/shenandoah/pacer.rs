//! Pacing: threads that allocate while a cycle runs pay for it with the cycle's progress.
//!
//! When a concurrent phase begins, its work (bytes to mark, to copy, to walk) is compared with the memory that is
//! free: the bytes of work that have to be done for each byte that is allocated, if the memory is to last until the
//! phase ends, are the *tax*. A tenth of the memory is free of tax. After marking the tax is at least 1, since copying
//! and updating gain memory only at the end. The memory that is free when a phase begins is divided between it and
//! those that follow by the times that they took before (HotSpot assigns all of it to the first). A thread that would
//! overdraw waits, safe, for progress, at most ten milliseconds for each 256 KiB that it takes: then it continues, and
//! if memory runs out the cycle ends in a pause. The waits count as time without progress.
//!
//! Tax, slack and delay are HotSpot's. In HotSpot a thread waits ten milliseconds for each buffer, which in a heap of
//! the same regions has up to 256 KiB; ours end where the CPU's cache does.

use crate::options::ShenandoahOptions;
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// See the module text.
pub struct Pacer {
    is_wanted: bool,
    slack_percent: usize,
    delay_max: Duration,
    /// A concurrent phase is running. Relaxed, as the rest: a wrong answer costs one allocation's pace.
    is_on: AtomicBool,
    /// Bytes that may be allocated now.
    budget: AtomicI64,
    /// The budget at which waiting threads continue.
    resume: AtomicI64,
    /// Bytes of allocation that a byte of work permits, in 1/1024: the reciprocal of the tax.
    worth: AtomicU64,
    /// By phase.
    times: Mutex<Times>,
    lock: Mutex<()>,
    progressed: Condvar,
}

/// The phases that take time in a cycle, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Mark,
    Evacuate,
    Update,
}

#[derive(Default)]
struct Times {
    /// Seconds.
    last: [f64; 3],
    on: Option<(Phase, Instant)>,
}

impl Times {
    /// The part of the rest of a cycle that a phase is expected to take.
    fn share(&self, phase: Phase) -> f64 {
        let known = |time: &f64| time.max(1e-4);
        let rest = self.last[phase as usize..].iter().map(known).sum::<f64>();
        known(&self.last[phase as usize]) / rest
    }

    fn end(&mut self) {
        if let Some((phase, since)) = self.on.take() {
            let (last, time) = (&mut self.last[phase as usize], since.elapsed().as_secs_f64());
            *last = if *last == 0.0 { time } else { (*last + time) / 2.0 };
        }
    }

    /// It takes longer than until now.
    fn interrupt(&mut self) {
        if let Some((phase, since)) = self.on.take() {
            let last = &mut self.last[phase as usize];
            *last = last.max(since.elapsed().as_secs_f64());
        }
    }
}

impl Pacer {
    pub fn new(options: &ShenandoahOptions) -> Pacer {
        Pacer {
            is_wanted: options.pacing,
            slack_percent: options.pacing_slack_percent,
            delay_max: Duration::from_millis(options.pacing_delay_ms),
            is_on: AtomicBool::new(false),
            budget: AtomicI64::new(0),
            resume: AtomicI64::new(0),
            worth: AtomicU64::new(0),
            times: Mutex::default(),
            lock: Mutex::new(()),
            progressed: Condvar::new(),
        }
    }

    /// A phase begins, with `work_bytes` of work, `free_bytes` of free memory, and a tax of at least `tax_min`.
    pub fn begin(&self, phase: Phase, work_bytes: usize, free_bytes: usize, tax_min: f64) {
        if !self.is_wanted {
            return;
        }
        let mut times = self.times.lock();
        let free = (free_bytes as f64 * times.share(phase)) as usize;
        times.on = Some((phase, Instant::now()));
        drop(times);
        let slack = free * self.slack_percent / 100;
        let tax = work_bytes as f64 / (free - slack).max(1) as f64;
        let worth = 1024.0 / (tax.max(tax_min) * SURCHARGE).max(TAX_MIN);
        self.open(slack, worth as u64);
    }

    /// A cycle was asked for and has not begun: until then only a little of the free memory may be taken.
    pub fn hold_up(&self, free_bytes: usize) {
        if self.is_wanted {
            self.open(free_bytes * self.slack_percent / 100, 0);
        }
    }

    fn open(&self, budget: usize, worth: u64) {
        self.worth.store(worth, Ordering::Relaxed);
        self.budget.store(budget as i64, Ordering::Relaxed);
        let resume = (budget / RESUME_SHARE).min(RESUME_BYTES_MAX);
        self.resume.store(resume as i64, Ordering::Relaxed);
        self.is_on.store(true, Ordering::Relaxed);
    }

    /// The phase is over.
    pub fn end(&self) {
        self.times.lock().end();
        self.let_go();
    }

    /// The rest of the phase is done in a pause, or another kind of cycle is.
    pub fn interrupt(&self) {
        self.times.lock().interrupt();
        self.let_go();
    }

    fn let_go(&self) {
        self.is_on.store(false, Ordering::Relaxed);
        self.wake();
    }

    /// `bytes` of the work were done.
    #[inline]
    pub fn progress(&self, bytes: usize) {
        if !self.is_on.load(Ordering::Relaxed) {
            return;
        }
        let earned = (bytes as u64 * self.worth.load(Ordering::Relaxed) / 1024) as i64;
        let before = self.budget.fetch_add(earned, Ordering::Relaxed);
        let resume = self.resume.load(Ordering::Relaxed);
        if before < resume && before + earned >= resume {
            self.wake();
        }
    }

    /// `bytes` were allocated.
    pub fn pay(&self, bytes: usize) {
        if self.is_on.load(Ordering::Relaxed) {
            self.budget.fetch_sub(bytes as i64, Ordering::Relaxed);
        }
    }

    /// Whether a thread must [`wait`](Self::wait) before it allocates.
    pub fn is_overdrawn(&self) -> bool {
        self.is_on.load(Ordering::Relaxed) && self.budget.load(Ordering::Relaxed) < 0
    }

    /// Waits until there is a little of budget again, the phase is over, or the wait was long enough for `bytes`. The
    /// thread is safe.
    pub fn wait(&self, bytes: usize) {
        let share = (bytes as f64 / DELAY_BYTES as f64).min(1.0);
        let end = Instant::now() + self.delay_max.mul_f64(share);
        let mut lock = self.lock.lock();
        let is_short = || self.budget.load(Ordering::Relaxed) < self.resume.load(Ordering::Relaxed);
        while self.is_on.load(Ordering::Relaxed) && is_short() {
            if self.progressed.wait_until(&mut lock, end).timed_out() {
                break;
            }
        }
    }

    fn wake(&self) {
        let _lock = self.lock.lock();
        self.progressed.notify_all();
    }
}

/// An allocation of this many bytes may make a thread wait for the longest delay.
const DELAY_BYTES: usize = 256 << 10;
/// Part of the budget that a phase begins with, from which on waiting threads continue: waking up for each buffer
/// would cost more than it gains.
const RESUME_SHARE: usize = 4;
const RESUME_BYTES_MAX: usize = 1 << 20;
/// A little more than evenly, so that the phase ends before the memory.
const SURCHARGE: f64 = 1.1;
/// Less is none.
const TAX_MIN: f64 = 1e-6;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn pacer(pacing: bool) -> Pacer {
        Pacer::new(&ShenandoahOptions { pacing, ..ShenandoahOptions::default() })
    }

    #[test]
    fn memory_lasts_as_long_as_the_work() {
        let pacer = pacer(true);
        pacer.pay(1 << 40);
        assert!(!pacer.is_overdrawn(), "no cycle is on");
        pacer.begin(Phase::Update, 1 << 20, 1 << 20, 0.0);
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
        assert!(start.elapsed() >= pacer.delay_max / 2);
        let start = Instant::now();
        pacer.wait(1 << 30);
        assert!(start.elapsed() >= pacer.delay_max);
        pacer.end();
        assert!(!pacer.is_overdrawn());
    }

    #[test]
    fn the_tax_is_no_less_than_asked_for() {
        let pacer = pacer(true);
        pacer.begin(Phase::Update, 1 << 20, 1 << 30, 1.0);
        pacer.pay((1 << 30) / 10);
        pacer.progress(1 << 20);
        let budget = pacer.budget.load(Ordering::Relaxed);
        assert!((900_000..1 << 20).contains(&budget), "{budget}");
    }

    #[test]
    fn phases_share_what_is_free_by_their_times() {
        let pacer = pacer(true);
        let budget = || pacer.budget.load(Ordering::Relaxed);
        pacer.begin(Phase::Mark, 1 << 20, 3000, 0.0);
        assert!((99..=100).contains(&budget()), "{}, a tenth of a third", budget());
        pacer.times.lock().last = [3.0, 1.0, 2.0];
        pacer.begin(Phase::Mark, 1 << 20, 6000, 0.0);
        assert_eq!(budget(), 300);
        pacer.begin(Phase::Evacuate, 1 << 20, 3000, 0.0);
        assert_eq!(budget(), 100);
        pacer.end();
        assert!(pacer.times.lock().last[1] < 1.0, "it was short");
        pacer.hold_up(5000);
        pacer.progress(1 << 20);
        assert_eq!(budget(), 500, "what is done meanwhile is not of the cycle");
        pacer.end();
        assert_eq!(pacer.times.lock().last[0], 3.0);
        pacer.begin(Phase::Mark, 1 << 20, 6000, 0.0);
        pacer.interrupt();
        pacer.end();
        assert_eq!(pacer.times.lock().last[0], 3.0, "it takes longer than that");
    }

    #[test]
    fn progress_wakes_who_waits() {
        let pacer = Pacer { delay_max: Duration::from_secs(60), ..pacer(true) };
        pacer.begin(Phase::Update, 1 << 30, 0, 0.0);
        pacer.pay(10);
        assert!(pacer.is_overdrawn());
        std::thread::scope(|scope| {
            scope.spawn(|| pacer.end());
            pacer.wait(1 << 20);
        });
        pacer.begin(Phase::Update, 1 << 20, 1 << 20, 1.0);
        pacer.pay(1 << 18);
        std::thread::scope(|scope| {
            scope.spawn(|| (0..1 << 10).for_each(|_| pacer.progress(1 << 10)));
            pacer.wait(1 << 20);
        });
        assert!(!pacer.is_overdrawn());
    }

    #[test]
    fn without_pacing_nobody_waits() {
        let pacer = pacer(false);
        pacer.begin(Phase::Update, 1 << 30, 0, 1.0);
        pacer.pay(10);
        assert!(!pacer.is_overdrawn());
    }
}
