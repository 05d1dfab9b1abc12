//! Which faults an observer is shown: one in N of those that fetched a page.
//!
//! Each thread counts for itself, so nothing is shared on the way of a fault. The gaps between the faults that are
//! shown vary from 1 to 2 N - 1, each as likely as the others: a program whose faults repeat in the same order is not
//! met at the same place each time. An observer counts each fault that it sees as N.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::fault_trace::spread;
use super::{Activity, ThreadClass, activity, thread_class};

/// Is shown a sample of the faults.
pub trait FaultObserver: Send + Sync {
    /// A fault of the calling thread has fetched a page; it stands for `weight` of them. In the fault handler:
    /// async-signal-safe, and touches no far memory.
    fn observe(&self, fault: &ObservedFault);
}

/// One fault that an observer is shown.
#[derive(Clone, Copy, Debug)]
pub struct ObservedFault {
    pub interrupted: Interrupted,
    pub class: ThreadClass,
    pub activity: Activity,
    /// The faults that it stands for.
    pub weight: u32,
}

/// Registers of the code that touched the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interrupted {
    pub pc: usize,
    /// The frame pointer, where the code keeps one.
    pub fp: usize,
    pub sp: usize,
}

/// Shows one fault in `one_in` to an observer.
pub(crate) struct FaultSampler {
    one_in: u32,
    observer: Arc<dyn FaultObserver>,
}

impl FaultSampler {
    pub fn new(one_in: u32, observer: Arc<dyn FaultObserver>) -> FaultSampler {
        FaultSampler { one_in: one_in.clamp(1, ONE_IN_MAX), observer }
    }

    /// A fault of the calling thread fetched a page. Async-signal-safe.
    #[inline]
    pub fn note(&self, interrupted: Interrupted) {
        if self.is_due() {
            let (class, activity) = (thread_class(), activity());
            let fault = ObservedFault { interrupted, class, activity, weight: self.one_in };
            self.observer.observe(&fault);
        }
    }

    /// Counts a fault of the calling thread; whether it is to be shown.
    #[inline]
    fn is_due(&self) -> bool {
        let (mut left, mut drawn) = COUNTDOWN.get();
        let gaps = 2 * self.one_in - 1;
        let below = |drawn: &mut u64, limit: u32| {
            *drawn += 1;
            ((u128::from(spread(*drawn)) * u128::from(limit)) >> 64) as u32
        };
        if left == NOT_BEGUN {
            // The thread begins in the middle of a gap: the rest of one that holds a fault chosen at random.
            drawn = SEED.fetch_add(1 << 32, Relaxed);
            left = below(&mut drawn, gaps).min(below(&mut drawn, gaps + 1));
        }
        let is_due = left == 0;
        left = match is_due {
            true => below(&mut drawn, gaps),
            false => left - 1,
        };
        COUNTDOWN.set((left, drawn));
        is_due
    }
}

/// The largest distance of samples.
pub const ONE_IN_MAX: u32 = 1 << 24;

thread_local! {
    // Without destructor and lazy initialisation, so that the fault handler may use it: faults until the next one
    // that is shown, and how many random numbers were drawn.
    static COUNTDOWN: Cell<(u32, u64)> = const { Cell::new((NOT_BEGUN, 0)) };
}

/// No countdown is as long.
const NOT_BEGUN: u32 = u32::MAX;

/// Where the next thread's random numbers begin. Relaxed: threads only must not all have the same.
static SEED: AtomicU64 = AtomicU64::new(0);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::during;
    use std::sync::Mutex;

    #[derive(Default)]
    struct Seen(Mutex<Vec<ObservedFault>>);

    impl FaultObserver for Seen {
        fn observe(&self, fault: &ObservedFault) {
            self.0.lock().unwrap().push(*fault);
        }
    }

    #[test]
    fn one_fault_in_n_is_shown_wherever_threads_begin() {
        for one_in in [1, 2, 7, 64, 1000] {
            let sampler = FaultSampler::new(one_in, Arc::<Seen>::default());
            // Short threads count too: most have fewer faults than a gap.
            let of_thread = || (0..50).filter(|_| sampler.is_due()).count() as u32;
            let threads = 4000;
            let shown: u32 = (0..threads)
                .map(|_| std::thread::scope(|s| s.spawn(of_thread).join().unwrap()))
                .sum();
            let expected = f64::from(50 * threads) / f64::from(one_in);
            let error = (f64::from(shown) - expected).abs();
            assert!(
                error <= 6.0 * expected.sqrt(),
                "{shown} of 1 in {one_in}, {expected} expected"
            );
        }
    }

    #[test]
    fn faults_that_repeat_are_all_met() {
        let sampler = FaultSampler::new(64, Arc::<Seen>::default());
        let mut met = [0; 64];
        (0..1_000_000_usize).filter(|_| sampler.is_due()).for_each(|fault| met[fault % 64] += 1);
        assert!(met.iter().all(|count| (100..500).contains(count)), "{met:?}");
    }

    #[test]
    fn an_observer_learns_what_the_thread_was_at() {
        let seen = Arc::new(Seen::default());
        let sampler = FaultSampler::new(1, seen.clone());
        let at = |pc| Interrupted { pc, fp: 2, sp: 3 };
        sampler.note(at(1));
        {
            let _outer = during(Activity::MinorCollection);
            {
                let _inner = during(Activity::Tracing);
                sampler.note(at(2));
            }
            sampler.note(at(3));
        }
        let seen = seen.0.lock().unwrap();
        let seen: Vec<_> = seen.iter().map(|f| (f.interrupted.pc, f.activity, f.weight)).collect();
        let expected =
            [(1, Activity::Other, 1), (2, Activity::Tracing, 1), (3, Activity::MinorCollection, 1)];
        assert_eq!(seen, expected);
    }
}
