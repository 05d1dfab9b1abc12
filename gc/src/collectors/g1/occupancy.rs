//! How much of the heap may be old before a marking begins.
//!
//! A marking must end, and mixed pauses follow, before old regions have taken the memory that young ones need. So the
//! duration of markings and the growth of old regions meanwhile matter; both are learnt (HotSpot's
//! `G1UseAdaptiveIHOP`). While too little is known, or without that option, it is a fixed part of the heap. Beginning
//! too early costs more over far memory than over local memory: all live objects are fetched to be found alive.

use super::policy::Average;
use crate::options::G1Options;
use std::time::{Duration, Instant};

/// The estimates learnt from markings. Times are seconds. Only touched in pauses.
pub struct Occupancy {
    options: G1Options,
    heap_bytes: usize,
    marking_times: Average,
    /// Bytes a second.
    growth: Average,
    markings: usize,
    /// The end of the last pause, and the old bytes then.
    last: (Instant, usize),
}

impl Occupancy {
    pub fn new(options: G1Options, heap_bytes: usize) -> Occupancy {
        Occupancy {
            options,
            heap_bytes,
            marking_times: Average::of(0.0),
            growth: Average::of(0.0),
            markings: 0,
            last: (Instant::now(), 0),
        }
    }

    /// A pause ends at `at` with `old_bytes` in old regions.
    pub fn note_pause(&mut self, at: Instant, old_bytes: usize) {
        let (before, old_before) = std::mem::replace(&mut self.last, (at, old_bytes));
        let elapsed = at.saturating_duration_since(before).as_secs_f64();
        if elapsed > 0.0 {
            self.growth.add(old_bytes.saturating_sub(old_before) as f64 / elapsed);
        }
    }

    /// A marking has ended that was not aborted.
    pub fn note_marking(&mut self, time: Duration) {
        self.marking_times.add(time.as_secs_f64());
        self.markings += 1;
    }

    /// A marking begins when more than this is old, in a heap that may have `capacity_bytes` now, `young_bytes` of
    /// them for young regions.
    pub fn threshold_bytes(&self, capacity_bytes: usize, young_bytes: usize) -> usize {
        let options = &self.options;
        let part = |bytes: usize, percent: usize| bytes / 100 * percent.min(100);
        if !options.adaptive_initiating || self.markings < MARKINGS_TO_LEARN {
            return part(capacity_bytes, options.initiating_percent);
        }
        let spare = options.reserve_percent + options.waste_percent;
        let most = part(self.heap_bytes, 100 - spare.min(100))
            .min(part(capacity_bytes, 100 - options.waste_percent.min(100)));
        let grows = self.marking_times.value() * self.growth.value();
        most.saturating_sub(grows as usize).saturating_sub(young_bytes)
    }
}

/// As HotSpot's G1AdaptiveIHOPNumInitialSamples.
const MARKINGS_TO_LEARN: usize = 3;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn learnt(adaptive: bool, marking_ms: u64, growth: usize) -> Occupancy {
        let options = G1Options { adaptive_initiating: adaptive, ..G1Options::default() };
        let mut occupancy = Occupancy::new(options, 1000);
        let start = occupancy.last.0;
        for i in 1..=20 {
            occupancy.note_pause(start + Duration::from_millis(100 * i), growth / 10 * i as usize);
        }
        assert_eq!(occupancy.threshold_bytes(1000, 0), 450, "nothing is known of markings");
        (0..10).for_each(|_| occupancy.note_marking(Duration::from_millis(marking_ms)));
        occupancy
    }

    #[test]
    fn markings_begin_so_early_that_they_end_in_time() {
        let near = |bytes: usize, expected: usize| bytes.abs_diff(expected) < 5;
        let slow = learnt(true, 1000, 300).threshold_bytes(1000, 100);
        assert!(near(slow, 850 - 300 - 100), "{slow}");
        let fast = learnt(true, 10, 300).threshold_bytes(1000, 100);
        assert!(near(fast, 850 - 3 - 100), "{fast}");
        assert_eq!(learnt(true, 10_000, 300).threshold_bytes(1000, 100), 0);
        assert_eq!(learnt(false, 10, 300).threshold_bytes(1000, 100), 450);
    }

    #[test]
    fn a_heap_that_may_grow_is_marked_by_its_present_size() {
        let occupancy = learnt(true, 10, 100);
        let bytes = occupancy.threshold_bytes(200, 0);
        assert!((180..=190).contains(&bytes), "{bytes}");
    }
}
