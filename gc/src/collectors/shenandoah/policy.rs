//! Decisions: when a cycle begins, what it empties.

use super::evacuation::CollectionSet;
use crate::geometry::RegionId;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShenandoahOptions {
    /// Threads that allocate wait for the cycle's progress.
    pub pacing: bool,
    /// A cycle begins when less than so many percent of the heap are free.
    pub min_free_percent: usize,
    /// The same for the first cycles, from which it is learnt how long one takes.
    pub init_free_percent: usize,
    /// Regions with more garbage than so many percent are emptied.
    pub garbage_percent: usize,
    /// So many percent of the heap are kept free for copies.
    pub reserve_percent: usize,
}

impl Default for ShenandoahOptions {
    fn default() -> Self {
        ShenandoahOptions {
            pacing: true,
            min_free_percent: 10,
            init_free_percent: 70,
            garbage_percent: 25,
            reserve_percent: 5,
        }
    }
}

/// A region that may be emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub region: RegionId,
    pub live_bytes: usize,
}

/// The candidates with the least alive, as many as fit into `room` bytes with what buffers waste.
pub fn choose(mut candidates: Vec<Candidate>, room: usize) -> CollectionSet {
    candidates.sort_by_key(|c| (c.live_bytes, c.region));
    let mut live_bytes = 0;
    let fitting = candidates.iter().take_while(|c| {
        live_bytes += c.live_bytes;
        with_waste(live_bytes) <= room
    });
    let regions: Vec<_> = fitting.map(|c| c.region).collect();
    let live_bytes = candidates[..regions.len()].iter().map(|c| c.live_bytes).sum();
    CollectionSet::new(regions, live_bytes)
}

/// Memory that copies of so many bytes take.
pub fn with_waste(live_bytes: usize) -> usize {
    live_bytes + live_bytes / 5
}

/// When the next cycle begins: early enough that it ends before memory does, as far as one can tell by the cycles
/// before and the rate of allocation.
pub struct Trigger {
    options: ShenandoahOptions,
    heap_bytes: usize,
    state: Mutex<State>,
}

struct State {
    cycles: u64,
    /// Seconds that the last cycles took.
    times: VecDeque<f64>,
    /// When the last one ended, and the bytes allocated until then.
    ended: Instant,
    allocated: u64,
    /// Bytes per second, over the last cycles.
    rate: f64,
}

impl Trigger {
    pub fn new(options: ShenandoahOptions, heap_bytes: usize) -> Trigger {
        let state = State {
            cycles: 0,
            times: VecDeque::new(),
            ended: Instant::now(),
            allocated: 0,
            rate: 0.0,
        };
        Trigger { options, heap_bytes, state: Mutex::new(state) }
    }

    /// Whether a cycle should begin, with `free` bytes left and `allocated` since the heap was made.
    pub fn is_time(&self, free: usize, allocated: u64) -> bool {
        let state = self.state.lock();
        let since = allocated.saturating_sub(state.allocated);
        if since < (self.heap_bytes / CYCLE_SHARE_MIN) as u64 {
            // Hardly anything became garbage; another cycle would find no more than the last one.
            return false;
        }
        let percent = free * 100 / self.heap_bytes;
        if percent < self.options.min_free_percent {
            return true;
        }
        if state.cycles < CYCLES_TO_LEARN && percent < self.options.init_free_percent {
            return true;
        }
        let elapsed = state.ended.elapsed();
        let now = match elapsed > RATE_TIME_MIN {
            true => since as f64 / elapsed.as_secs_f64(),
            false => 0.0,
        };
        let headroom = free.saturating_sub(self.heap_bytes / SPIKE_SHARE) as f64;
        cycle_time(&state.times) * now.max(state.rate) > headroom
    }

    /// Whether a cycle that left so much free has done its duty.
    pub fn is_enough(&self, free: usize) -> bool {
        free * 100 >= self.heap_bytes * self.options.min_free_percent
    }

    /// A cycle has ended.
    pub fn note(&self, time: Duration, allocated: u64) {
        let mut state = self.state.lock();
        state.cycles += 1;
        state.times.push_back(time.as_secs_f64());
        if state.times.len() > TIMES_MAX {
            state.times.pop_front();
        }
        let elapsed = state.ended.elapsed().as_secs_f64().max(1e-6);
        let rate = allocated.saturating_sub(state.allocated) as f64 / elapsed;
        state.rate = if state.cycles == 1 { rate } else { (state.rate + rate) / 2.0 };
        state.ended = Instant::now();
        state.allocated = allocated;
    }
}

/// What most cycles do not exceed: the mean and a standard deviation.
fn cycle_time(times: &VecDeque<f64>) -> f64 {
    let count = times.len().max(1) as f64;
    let mean = times.iter().sum::<f64>() / count;
    let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / count;
    mean + variance.sqrt()
}

const CYCLES_TO_LEARN: u64 = 5;
const TIMES_MAX: usize = 10;
const RATE_TIME_MIN: Duration = Duration::from_millis(10);
/// Part of the heap that may be allocated all at once, beyond the rate.
const SPIKE_SHARE: usize = 20;
/// Part of the heap that is allocated between two cycles at least.
const CYCLE_SHARE_MIN: usize = 32;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_emptiest_regions_that_fit_are_chosen() {
        let candidate = |i: usize, live_bytes| Candidate { region: RegionId(i as u32), live_bytes };
        let live = [500, 100, 300, 200, 0];
        let candidates: Vec<_> = live.iter().enumerate().map(|(i, l)| candidate(i, *l)).collect();
        let ids = |set: &CollectionSet| set.regions.iter().map(|id| id.0).collect::<Vec<_>>();
        let set = choose(candidates.clone(), 400);
        assert_eq!((ids(&set), set.live_bytes), (vec![4, 1, 3], 300));
        assert_eq!(ids(&choose(candidates.clone(), 10_000)), [4, 1, 3, 2, 0]);
        assert_eq!(ids(&choose(candidates, 0)), [4]);
    }

    #[test]
    fn cycles_begin_in_time_and_not_one_after_the_other() {
        let trigger = Trigger::new(ShenandoahOptions::default(), 1000);
        assert!(!trigger.is_time(900, 100));
        assert!(trigger.is_time(600, 400), "the first ones begin early");
        for i in 1..=5 {
            trigger.note(Duration::from_millis(1), i * 100);
        }
        assert!(!trigger.is_time(90, 510), "hardly anything was allocated since");
        assert!(trigger.is_time(90, 600));
        // What was learnt is that much is allocated while a cycle runs.
        assert!(trigger.is_time(500, 600));
        std::thread::sleep(Duration::from_millis(30));
        trigger.note(Duration::from_millis(1), 500);
        for _ in 0..10 {
            std::thread::sleep(Duration::from_millis(1));
            trigger.note(Duration::from_micros(1), 500);
        }
        assert!(!trigger.is_time(500, 600), "cycles are short and nothing is allocated meanwhile");
    }
}
