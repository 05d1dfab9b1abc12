//! A sample of the faults that fetched a page: which page, when, for which class of threads. Figure 4.2 of
//! the MemLiner paper draws such samples.
//!
//! The sample has a fixed size and holds each fault of the whole run with the same probability (a reservoir), so a
//! long run has no worse picture than a short one. It is taken in the fault handler: no lock, no allocation.
//!
//! ```text
//!    63                     32 31                      2  1   0
//!   ┌─────────────────────────┬─────────────────────────┬───┬───┐
//!   │ 64 us since the start+1 │ page                    │ W │ C │   W: a write, C: the thread's class
//!   └─────────────────────────┴─────────────────────────┴───┴───┘   all zero: nothing yet
//! ```

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::{Page, ThreadClass, thread_class};

/// One fault that fetched a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultSample {
    /// Microseconds since the pager was made, to 64.
    pub at_us: u64,
    /// The page that was touched; others may have come along with it.
    pub page: Page,
    pub class: ThreadClass,
    pub is_write: bool,
}

/// The samples, in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultSamples {
    /// All faults that fetched a page, in the sample or not.
    pub faults: u64,
    pub samples: Vec<FaultSample>,
}

/// The reservoir. Any thread, async-signal-safe; relaxed: each word is a whole sample, and words order nothing.
pub(crate) struct FaultTrace {
    began_ns: u64,
    /// Faults so far.
    faults: AtomicU64,
    slots: Box<[AtomicU64]>,
}

impl FaultTrace {
    /// Room for `samples` samples; `began_ns` is the time from which they count.
    pub fn new(samples: usize, began_ns: u64) -> FaultTrace {
        let slots = (0..samples).map(|_| AtomicU64::new(0)).collect();
        FaultTrace { began_ns, faults: AtomicU64::new(0), slots }
    }

    /// A fault of the calling thread fetched a page.
    pub fn note(&self, page: Page, is_write: bool, now_ns: u64) {
        let number = self.faults.fetch_add(1, Relaxed);
        // The first ones all have a place; the n-th one takes the place of another with probability size/n.
        let place = match number < self.slots.len() as u64 {
            true => number,
            false => ((u128::from(spread(number)) * u128::from(number + 1)) >> 64) as u64,
        };
        if let Some(slot) = self.slots.get(place as usize) {
            let ticks = (now_ns.saturating_sub(self.began_ns) / TICK_NS + 1).min(u32::MAX.into());
            let flags = (u64::from(is_write) << 1) | thread_class() as u64;
            slot.store((ticks << 32) | ((page.0 as u64) << 2) | flags, Relaxed);
        }
    }

    pub fn read(&self) -> FaultSamples {
        let words = self.slots.iter().map(|slot| slot.load(Relaxed)).filter(|word| *word != 0);
        let mut words: Vec<u64> = words.collect();
        words.sort_unstable();
        let samples = words.into_iter().map(|word| FaultSample {
            at_us: ((word >> 32) - 1) * (TICK_NS / 1000),
            page: Page(((word as u32) >> 2) as usize),
            class: if word & 1 == 0 { ThreadClass::Mutator } else { ThreadClass::Gc },
            is_write: word & 2 != 0,
        });
        FaultSamples { faults: self.faults.load(Relaxed), samples: samples.collect() }
    }
}

/// As good as random, by the finaliser of SplitMix64.
pub(super) fn spread(number: u64) -> u64 {
    let mut n = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// Time to which samples are exact: three days fit.
const TICK_NS: u64 = 64_000;
/// Pages that a sample can name: 4 TiB.
pub(crate) const PAGES_MAX: usize = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set_thread_class;

    #[test]
    fn a_sample_says_what_happened() {
        let trace = FaultTrace::new(4, 1_000);
        trace.note(Page(PAGES_MAX - 1), true, 1_000);
        let class = set_thread_class(ThreadClass::Gc);
        trace.note(Page(7), false, 1_000 + 640_000);
        set_thread_class(class);
        let first = FaultSample {
            at_us: 0,
            page: Page(PAGES_MAX - 1),
            class: ThreadClass::Mutator,
            is_write: true,
        };
        let second =
            FaultSample { at_us: 640, page: Page(7), class: ThreadClass::Gc, is_write: false };
        assert_eq!(trace.read(), FaultSamples { faults: 2, samples: vec![first, second] });
    }

    #[test]
    fn a_long_run_is_sampled_evenly() {
        let trace = FaultTrace::new(1000, 0);
        for number in 0..100_000 {
            trace.note(Page(number), false, number as u64 * TICK_NS);
        }
        let read = trace.read();
        assert_eq!((read.faults, read.samples.len()), (100_000, 1000));
        assert!(read.samples.is_sorted_by_key(|sample| sample.at_us));
        for tenth in 0..10 {
            let of_tenth = read.samples.iter().filter(|one| one.page.0 / 10_000 == tenth).count();
            // Five standard deviations of a binomial distribution.
            assert!((53..=147).contains(&of_tenth), "{of_tenth} of 1000 in the tenth {tenth}");
        }
    }
}
