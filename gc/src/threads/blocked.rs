//! Times in which mutators made no progress because of the collector, by the reason of the wait.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::Instant;

/// The reason of a mutator's wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitFor {
    /// The end of a pause or a handshake, from the poll (or the way back from native code) on.
    Pause,
    /// A cycle that it asked for, or memory that one frees.
    Cycle,
    /// The end of the evacuation of a region, in a barrier (Mako).
    Region,
    /// The pacer, which slows allocation down while a cycle runs (Shenandoah, Mako).
    Pacer,
}

impl WaitFor {
    pub const ALL: [WaitFor; 4] = [WaitFor::Pause, WaitFor::Cycle, WaitFor::Region, WaitFor::Pacer];

    /// As statistics and metrics name it.
    pub fn name(self) -> &'static str {
        match self {
            WaitFor::Pause => "pause",
            WaitFor::Cycle => "cycle",
            WaitFor::Region => "region",
            WaitFor::Pacer => "pacer",
        }
    }
}

/// One time in which one mutator made no progress because of the collector.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct BlockedInterval {
    /// When it began, milliseconds after the heap was made.
    pub at_ms: f64,
    pub blocked_us: f64,
    pub wait_for: WaitFor,
}

/// Pauses as the mutators saw them: at polls, on the way back from native code, in their own collections, in
/// barriers.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct BlockedTimes {
    pub count: u64,
    pub total_us: u64,
    pub max_us: u64,
    /// The same by reason, [`WaitFor::name`].
    pub by_wait: BTreeMap<&'static str, WaitTimes>,
    /// The first ones, in the order in which they ended.
    pub intervals: Vec<BlockedInterval>,
}

/// All waits for one thing.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct WaitTimes {
    pub count: u64,
    pub total_us: u64,
    /// 95 % of those among [`BlockedTimes::intervals`] took at most this long.
    pub p95_us: u64,
    pub max_us: u64,
}

/// Collects [`BlockedTimes`]: each mutator notes its wait when it is over.
pub(crate) struct Blocked {
    start: Instant,
    noted: Mutex<Noted>,
}

#[derive(Default)]
struct Noted {
    by_wait: BTreeMap<WaitFor, Sum>,
    intervals: Vec<BlockedInterval>,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    count: u64,
    total_ns: u128,
    max_ns: u128,
}

impl Blocked {
    /// Times count from now on.
    pub(crate) fn new() -> Blocked {
        Blocked { start: Instant::now(), noted: Mutex::default() }
    }

    /// The calling mutator has waited since `since`. Any thread; holds a lock for a moment.
    pub(crate) fn note(&self, wait_for: WaitFor, since: Instant) {
        let ns = since.elapsed().as_nanos();
        let at_ms = (since - self.start).as_secs_f64() * 1e3;
        let mut noted = self.noted.lock();
        let sum = noted.by_wait.entry(wait_for).or_default();
        sum.count += 1;
        sum.total_ns += ns;
        sum.max_ns = sum.max_ns.max(ns);
        if noted.intervals.len() < INTERVALS_MAX {
            let blocked_us = ns as f64 / 1e3;
            noted.intervals.push(BlockedInterval { at_ms, blocked_us, wait_for });
        }
    }

    pub(crate) fn times(&self) -> BlockedTimes {
        let (sums, intervals) = {
            let noted = self.noted.lock();
            (noted.by_wait.clone(), noted.intervals.clone())
        };
        let us = |ns: u128| (ns / 1000) as u64;
        let times_of = |(wait_for, sum): (&WaitFor, &Sum)| {
            let of_it = intervals.iter().filter(|one| one.wait_for == *wait_for);
            let mut lengths: Vec<u64> = of_it.map(|one| one.blocked_us as u64).collect();
            lengths.sort_unstable();
            let rank = (lengths.len() * 95).div_ceil(100).saturating_sub(1);
            let times = WaitTimes {
                count: sum.count,
                total_us: us(sum.total_ns),
                p95_us: lengths.get(rank).copied().unwrap_or(0),
                max_us: us(sum.max_ns),
            };
            (wait_for.name(), times)
        };
        BlockedTimes {
            count: sums.values().map(|sum| sum.count).sum(),
            total_us: us(sums.values().map(|sum| sum.total_ns).sum()),
            max_us: us(sums.values().map(|sum| sum.max_ns).max().unwrap_or(0)),
            by_wait: sums.iter().map(times_of).collect(),
            intervals,
        }
    }
}

const INTERVALS_MAX: usize = 100_000;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn waits_are_told_apart() {
        let blocked = Blocked::new();
        let now = Instant::now();
        let ago = |ms| now.checked_sub(Duration::from_millis(ms)).unwrap_or(now);
        (1..=20).for_each(|ms| blocked.note(WaitFor::Region, ago(ms * 100)));
        blocked.note(WaitFor::Pause, ago(5));
        let times = blocked.times();
        assert_eq!((times.count, times.intervals.len()), (21, 21));
        let region = times.by_wait["region"];
        assert_eq!(region.count, 20);
        assert!((1_900_000..1_950_000).contains(&region.p95_us), "{region:?}");
        assert!((2_000_000..2_050_000).contains(&region.max_us), "{region:?}");
        assert_eq!(times.max_us, region.max_us);
        assert!((5_000..55_000).contains(&times.by_wait["pause"].total_us));
        assert!(!times.by_wait.contains_key("pacer"));
    }
}
