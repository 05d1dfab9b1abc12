//! Pacing (not of the paper): while a cycle traces it frees nothing. So that the memory that was free when it began
//! lasts until then, threads that allocate faster wait a little for each piece of memory, instead of long for the
//! first region that becomes free.
//!
//! The duration is estimated from the cycles before. The fraction of the memory that may be taken is the fraction of
//! this time that has passed. A thread that is ahead waits, safe, until that is caught up with, but at most
//! `MakoPacingMaxDelay` milliseconds for each piece. If the cycle takes longer than it should, or nothing is known
//! yet, no thread is slowed down.

use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// See the module text.
pub struct Pacer {
    delay_max: Duration,
    /// Relaxed, as `taken`: a wrong answer costs one piece's pace.
    is_on: AtomicBool,
    /// Bytes that were taken since it is on.
    taken: AtomicUsize,
    plan: Mutex<Plan>,
    let_go: Condvar,
}

#[derive(Default)]
struct Plan {
    /// The beginning of the running cycle, if it has freed nothing yet.
    began: Option<Instant>,
    /// Bytes that may be taken meanwhile.
    free: usize,
    /// How long it takes; `None` before the first cycle.
    expected: Option<Duration>,
}

impl Pacer {
    /// `delay_max` 0: there is no pacing.
    pub fn new(delay_max: Duration) -> Pacer {
        Pacer {
            delay_max,
            is_on: AtomicBool::new(false),
            taken: AtomicUsize::new(0),
            plan: Mutex::default(),
            let_go: Condvar::new(),
        }
    }

    /// A cycle begins beside the program, with `free_bytes` free. By its thread, as are its ends.
    pub fn begin(&self, free_bytes: usize) {
        let mut plan = self.plan.lock();
        (plan.began, plan.free) = (Some(Instant::now()), free_bytes);
        self.taken.store(0, Ordering::Relaxed);
        let is_on = !self.delay_max.is_zero() && plan.expected.is_some();
        self.is_on.store(is_on, Ordering::Relaxed);
    }

    /// A cycle, which may be one that stops the program, has freed the regions that are dead as a whole.
    pub fn end(&self) {
        let mut plan = self.plan.lock();
        if let Some(began) = plan.began {
            let took = began.elapsed();
            plan.expected = Some(plan.expected.map_or(took, |before| (before + took) / 2));
        }
        drop(plan);
        self.interrupt();
    }

    /// The cycle is given up.
    pub fn interrupt(&self) {
        self.plan.lock().began = None;
        self.is_on.store(false, Ordering::Relaxed);
        self.let_go.notify_all();
    }

    /// `bytes` were taken. Any thread.
    pub fn pay(&self, bytes: usize) {
        if self.is_on.load(Ordering::Relaxed) {
            self.taken.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Whether a thread should [`wait`](Self::wait) before it takes more.
    pub fn is_ahead(&self) -> bool {
        self.is_on.load(Ordering::Relaxed) && self.due().is_some_and(|due| due > Instant::now())
    }

    /// Waits for the time, or until memory is freed. The thread is safe.
    pub fn wait(&self) {
        let Some(due) = self.due() else { return };
        let end = due.max(Instant::now() + DELAY_MIN).min(Instant::now() + self.delay_max);
        let mut plan = self.plan.lock();
        while plan.began.is_some() && !self.let_go.wait_until(&mut plan, end).timed_out() {}
    }

    /// The time at which the memory that was taken so far may be taken.
    fn due(&self) -> Option<Instant> {
        let plan = self.plan.lock();
        let taken = self.taken.load(Ordering::Relaxed) as f64 / plan.free.max(1) as f64;
        let share = ((taken - SLACK) / (1.0 - SLACK)).clamp(0.0, 1.0);
        Some(plan.began? + plan.expected?.mul_f64(share))
    }
}

/// The part of the memory that may be taken at once.
const SLACK: f64 = 0.3;
/// Shorter waits would cost more than they gain.
const DELAY_MIN: Duration = Duration::from_micros(200);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(1000);

    /// A pacer that expects `expected`, in a cycle that begins with 1000 bytes.
    fn begun(delay_max: Duration, expected: Option<Duration>) -> Pacer {
        let pacer = Pacer::new(delay_max);
        pacer.plan.lock().expected = expected;
        pacer.begin(1000);
        pacer
    }

    #[test]
    fn memory_is_taken_no_faster_than_the_cycle_goes_on() {
        let pacer = begun(LONG, Some(LONG));
        pacer.pay(299);
        assert!(!pacer.is_ahead(), "three tenths may be taken at once");
        pacer.pay(351);
        let (due, began) = (pacer.due().unwrap(), pacer.plan.lock().began.unwrap());
        assert!(pacer.is_ahead());
        assert_eq!(
            (due - began).as_secs_f64().round(),
            500.0,
            "half of the rest, half of the time"
        );
        pacer.plan.lock().began = Some(began - LONG / 2);
        assert!(!pacer.is_ahead());
        pacer.pay(1 << 40);
        assert_eq!((pacer.due().unwrap() - began).as_secs(), 500, "no longer than it takes");
    }

    #[test]
    fn nobody_waits_where_nothing_is_known_or_wanted() {
        for pacer in [begun(LONG, None), begun(Duration::ZERO, Some(LONG))] {
            pacer.pay(1 << 40);
            assert!(!pacer.is_ahead());
        }
        let pacer = begun(LONG, None);
        let began = pacer.plan.lock().began.unwrap();
        pacer.plan.lock().began = Some(began - LONG);
        pacer.end();
        pacer.begin(1000);
        pacer.pay(500);
        assert!(pacer.is_ahead(), "the first cycle has told");
        pacer.interrupt();
        assert!(!pacer.is_ahead());
    }

    #[test]
    fn waits_end_with_the_delay_or_the_cycle() {
        let pacer = begun(Duration::from_millis(5), Some(LONG));
        pacer.pay(1000);
        let start = Instant::now();
        pacer.wait();
        assert!(start.elapsed() >= Duration::from_millis(5) && pacer.is_ahead());
        let pacer = begun(LONG, Some(LONG));
        pacer.pay(1000);
        std::thread::scope(|scope| {
            scope.spawn(|| pacer.wait());
            std::thread::sleep(Duration::from_millis(2));
            pacer.end();
        });
    }
}
