//! Decisions: how large regions are, when a cycle begins, which regions it empties. The rules are those of HotSpot's
//! adaptive heuristics (JDK 17), but for its learning of margins from the memory that is left at the end.

use super::evacuation::CollectionSet;
use crate::object::geometry::RegionId;
use crate::options::ShenandoahOptions;
use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// Bytes of a region: 2,048 of them where that gives sizes from 256 KiB to 16 MiB. The objects of a small one die
/// together: a large one nearly always has a live object.
pub fn region_bytes(heap_bytes: usize) -> usize {
    let wish = (heap_bytes / REGIONS_WISHED).max(1);
    (1 << wish.ilog2()).clamp(REGION_BYTES_MIN, REGION_BYTES_MAX)
}

/// A region that may be emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub region: RegionId,
    pub live_bytes: usize,
    pub garbage_bytes: usize,
}

/// The criteria for regions to be emptied.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// Regions with more garbage are.
    pub garbage_bytes: usize,
    /// Others are as long as less than this would be gained.
    pub gain_bytes: usize,
}

impl Wish {
    /// The candidates that meet the criteria, those with the least alive first.
    pub fn select(self, mut candidates: Vec<Candidate>) -> Vec<Candidate> {
        candidates.sort_by_key(|c| (c.live_bytes, c.region));
        let mut gained = 0;
        candidates.retain(|c| {
            let is_worth = c.garbage_bytes > self.garbage_bytes || gained < self.gain_bytes;
            gained += if is_worth { c.garbage_bytes } else { 0 };
            is_worth
        });
        candidates
    }
}

/// The first of the candidates, as many as fit into `room` bytes with the waste of buffers.
pub fn choose(candidates: &[Candidate], room: usize) -> CollectionSet {
    let mut live_bytes = 0;
    let fitting = candidates.iter().take_while(|c| {
        live_bytes += c.live_bytes;
        with_waste(live_bytes) <= room
    });
    let regions: Vec<_> = fitting.map(|c| c.region).collect();
    let live_bytes = candidates[..regions.len()].iter().map(|c| c.live_bytes).sum();
    CollectionSet::new(regions, live_bytes)
}

/// Memory that copies of `live_bytes` take.
pub fn with_waste(live_bytes: usize) -> usize {
    live_bytes + live_bytes / 5
}

/// How a cycle ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Concurrent,
    Degenerated,
    Full,
}

/// When the next cycle begins: early enough that it ends before memory does, as estimated from the cycles
/// before and the rate of allocation.
pub struct Trigger {
    options: ShenandoahOptions,
    heap_bytes: usize,
    state: Mutex<State>,
}

struct State {
    cycles: usize,
    /// Cycles that ended in a pause since the last one that did not.
    degenerated: usize,
    /// Seconds that cycles take beside the program.
    times: Average,
    /// Bytes that are allocated in a second.
    rates: Average,
    /// When the rate was looked at, and how much had been allocated.
    sampled: (Instant, u64),
    /// How much had been allocated when the last cycle began.
    began_at: u64,
    /// Percent of the heap by which memory counts as less than it is: cycles began too late.
    penalty: usize,
}

impl Trigger {
    pub fn new(options: ShenandoahOptions, heap_bytes: usize) -> Trigger {
        let state = State {
            cycles: 0,
            degenerated: 0,
            times: Average::default(),
            rates: Average::default(),
            sampled: (Instant::now(), 0),
            began_at: 0,
            penalty: 0,
        };
        Trigger { options, heap_bytes, state: Mutex::new(state) }
    }

    /// Why a cycle should begin, if it should, with `free` bytes left and `allocated` since the heap was made.
    pub fn reason(&self, free: usize, allocated: u64, at: Instant) -> Option<&'static str> {
        let mut state = self.state.lock();
        let now = state.rate(allocated, at);
        let since = allocated.saturating_sub(state.began_at);
        if since < (self.heap_bytes / CYCLE_SHARE_MIN) as u64 {
            // Hardly anything became garbage; another cycle would find no more than the last one.
            return None;
        }
        if free < self.share(self.options.min_free_percent) {
            return Some("free memory is below the minimum");
        }
        if state.cycles < self.options.learning_cycles {
            let is_below = free < self.share(self.options.init_free_percent);
            return is_below.then_some("learning");
        }
        let headroom = free
            .saturating_sub(self.share(self.options.spike_percent))
            .saturating_sub(self.share(state.penalty)) as f64;
        let time = state.times.upper_bound();
        if time * state.rates.upper_bound() > headroom {
            return Some("the rate of allocation");
        }
        let is_spike = now > state.rates.upper_bound() && time * now > headroom;
        is_spike.then_some("a spike of allocation")
    }

    /// Whether a cycle that ended in a pause and left `free` suffices, so that no full one must follow.
    pub fn is_enough(&self, free: usize) -> bool {
        let degenerated = self.state.lock().degenerated + 1;
        free >= self.share(self.options.critical_free_percent)
            && degenerated < self.options.full_threshold.max(1)
    }

    /// A cycle begins.
    pub fn begin(&self, allocated: u64) {
        self.state.lock().began_at = allocated;
    }

    /// It has ended.
    pub fn end(&self, ending: Ending, time: Duration) {
        let mut state = self.state.lock();
        match ending {
            Ending::Concurrent => {
                state.cycles += 1;
                state.degenerated = 0;
                state.times.add(time.as_secs_f64());
                state.penalty = state.penalty.saturating_sub(1);
            }
            Ending::Degenerated => {
                state.degenerated += 1;
                state.penalty = (state.penalty + 10).min(100);
            }
            Ending::Full => {
                state.degenerated = 0;
                state.penalty = (state.penalty + 20).min(100);
            }
        }
    }

    fn share(&self, percent: usize) -> usize {
        self.heap_bytes / 100 * percent
    }
}

impl State {
    /// Bytes a second since the rate was last looked at; every tenth of a second it is learnt.
    fn rate(&mut self, allocated: u64, at: Instant) -> f64 {
        let (when, before) = self.sampled;
        let elapsed = at.saturating_duration_since(when);
        if elapsed < RATE_TIME_MIN {
            return 0.0;
        }
        let rate = allocated.saturating_sub(before) as f64 / elapsed.as_secs_f64();
        if elapsed >= SAMPLE_TIME {
            self.rates.add(rate);
            self.sampled = (at, allocated);
        }
        rate
    }
}

/// Mean and variance, in which older samples count less.
#[derive(Default)]
struct Average {
    mean: f64,
    variance: f64,
    count: usize,
}

impl Average {
    fn add(&mut self, value: f64) {
        self.count += 1;
        let weight = NEW_WEIGHT.max(1.0 / self.count as f64);
        let distance = value - self.mean;
        self.mean += weight * distance;
        self.variance = (1.0 - weight) * (self.variance + weight * distance * distance);
    }

    /// The bound below which most samples lie.
    fn upper_bound(&self) -> f64 {
        self.mean + DEVIATIONS * self.variance.sqrt()
    }
}

const REGIONS_WISHED: usize = 2048;
const REGION_BYTES_MIN: usize = 256 << 10;
const REGION_BYTES_MAX: usize = 16 << 20;
/// As HotSpot's ShenandoahAdaptiveInitialConfidence, ShenandoahAdaptiveDecayFactor and
/// ShenandoahAdaptiveSampleFrequencyHz.
const DEVIATIONS: f64 = 1.8;
const NEW_WEIGHT: f64 = 0.5;
const SAMPLE_TIME: Duration = Duration::from_millis(100);
/// A rate over a shorter time says nothing.
const RATE_TIME_MIN: Duration = Duration::from_millis(10);
/// Part of the heap that is allocated between the beginnings of two cycles at least.
const CYCLE_SHARE_MIN: usize = 128;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn candidates(live: &[usize]) -> Vec<Candidate> {
        let candidate = |(i, live): (usize, &usize)| Candidate {
            region: RegionId(i as u32),
            live_bytes: *live,
            garbage_bytes: 1000 - live,
        };
        live.iter().enumerate().map(candidate).collect()
    }

    #[test]
    fn the_emptiest_regions_that_fit_are_chosen() {
        let sorted = Wish { garbage_bytes: 250, gain_bytes: 0 }
            .select(candidates(&[500, 100, 300, 200, 0, 800]));
        let ids = |set: &CollectionSet| set.regions.iter().map(|id| id.0).collect::<Vec<_>>();
        let set = choose(&sorted, 400);
        assert_eq!((ids(&set), set.live_bytes), (vec![4, 1, 3], 300));
        assert_eq!(ids(&choose(&sorted, 10_000)), [4, 1, 3, 2, 0]);
        assert_eq!(ids(&choose(&sorted, 0)), [4]);
    }

    #[test]
    fn where_much_is_wanted_little_garbage_is_worth_it() {
        let live = [900, 700, 950, 800];
        let count =
            |gain_bytes| Wish { garbage_bytes: 250, gain_bytes }.select(candidates(&live)).len();
        assert_eq!([0, 301, 501, 601, 10_000].map(count), [1, 2, 3, 4, 4]);
    }

    #[test]
    fn regions_are_small_and_many() {
        assert_eq!(region_bytes(8 << 20), 256 << 10);
        assert_eq!(region_bytes(1000 << 20), 256 << 10);
        assert_eq!(region_bytes(4 << 30), 2 << 20);
        assert_eq!(region_bytes(200 << 30), 16 << 20);
    }

    #[test]
    fn cycles_begin_in_time_and_not_one_after_the_other() {
        let mib = 1 << 20;
        let trigger = Trigger::new(ShenandoahOptions::default(), 1000 * mib);
        let (start, ms) = (Instant::now(), Duration::from_millis);
        let reason = |after: u64, free: usize, allocated: usize| {
            trigger.reason(free * mib, (allocated * mib) as u64, start + ms(after))
        };
        assert_eq!(reason(1, 800, 200), None);
        assert_eq!(reason(1, 600, 400), Some("learning"));
        for i in 1..=5 {
            trigger.begin(i * 100 * mib as u64);
            trigger.end(Ending::Concurrent, ms(100));
        }
        assert_eq!(reason(2, 90, 505), None, "hardly anything was allocated since");
        assert_eq!(reason(2, 90, 600), Some("free memory is below the minimum"));
        // A gigabyte in a tenth of a second, and hardly anything later.
        assert_eq!(reason(110, 900, 1000), Some("the rate of allocation"));
        (1..20).for_each(|i| _ = reason(110 + i * 101, 900, 1010));
        assert_eq!(reason(2040, 500, 1010), None);
        assert_eq!(reason(2080, 500, 1010 + 400), Some("a spike of allocation"));
    }

    #[test]
    fn cycles_that_end_in_pauses_make_the_next_ones_begin_earlier() {
        let trigger = Trigger::new(ShenandoahOptions::default(), 1 << 30);
        for _ in 0..5 {
            trigger.end(Ending::Concurrent, Duration::from_millis(10));
        }
        let start = Instant::now();
        assert_eq!(trigger.reason(1 << 28, 1 << 30, start), None);
        assert!(trigger.is_enough(1 << 28) && !trigger.is_enough(1 << 20));
        trigger.end(Ending::Degenerated, Duration::ZERO);
        trigger.end(Ending::Degenerated, Duration::ZERO);
        assert!(!trigger.is_enough(1 << 28), "the third in a row is a full one");
        trigger.end(Ending::Full, Duration::ZERO);
        assert!(trigger.is_enough(1 << 28));
        let later = start + SAMPLE_TIME * 2;
        let reason = trigger.reason(1 << 28, 1 << 30, later);
        assert_eq!(reason, Some("the rate of allocation"), "no headroom is left");
    }
}
