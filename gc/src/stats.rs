//! Counters of the heap: what `--stats` writes and what the management beans ask for.

use crate::safepoint::{BlockedTimes, PauseTimes};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use swap::{PAGE_BYTES, Pager, ThreadClass};

/// One pause.
#[derive(Clone, Debug, serde::Serialize)]
pub struct PauseRecord {
    /// When it began, milliseconds after the heap was made.
    pub at_ms: f64,
    /// What it did: `Pause Full`, `Pause PTP`, ...
    pub name: &'static str,
    pub time_to_safepoint_us: f64,
    /// From the last thread's stop to the release of all, microseconds.
    pub pause_us: f64,
    /// Pages fetched from memory servers during the pause.
    pub pages_fetched: u64,
}

/// One management bean's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct CollectorCounters {
    pub collections: u64,
    pub time_ms: u64,
}

/// The last cycle that one management bean has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastCycle {
    /// From 1.
    pub number: u64,
    /// Milliseconds after the heap was made.
    pub started_ms: u64,
    pub ended_ms: u64,
    pub used_before_bytes: usize,
    pub used_after_bytes: usize,
}

/// A snapshot of everything that is counted.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct HeapStats {
    pub collector: &'static str,
    pub max_bytes: usize,
    pub region_bytes: usize,
    pub used_bytes: usize,
    pub committed_bytes: usize,
    /// Allocated since the start; buffers count when they are full.
    pub allocated_bytes: u64,
    pub cycles: u64,
    pub pauses: Vec<PauseRecord>,
    /// Pauses that are not in `pauses` because there were too many.
    pub pauses_left_out: u64,
    pub mutators_blocked: BlockedTimes,
    /// The collector's own counters, by name.
    pub counters: BTreeMap<&'static str, u64>,
    pub pager: Option<PagerCounters>,
}

/// The pager's counters, where memory is far.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct PagerCounters {
    pub budget_bytes: usize,
    pub resident_bytes: usize,
    #[serde(flatten)]
    pub counters: BTreeMap<&'static str, u64>,
}

impl PagerCounters {
    pub(crate) fn of(pager: &Pager) -> PagerCounters {
        let stats = pager.stats();
        let both = [
            ("fetch_faults", stats.fetch_faults),
            ("zero_faults", stats.zero_faults),
            ("protect_faults", stats.protect_faults),
        ];
        let mut counters = BTreeMap::from([
            ("prefetched_pages", stats.prefetched_pages),
            ("fetched_bytes", stats.fetched_bytes),
            ("written_bytes", stats.written_bytes),
            ("evicted_pages", stats.evicted_pages),
            ("resident_pages_max", stats.resident_pages_max),
            ("fetch_faults_mutator", stats.fetch_faults[ThreadClass::Mutator as usize]),
            ("fetch_faults_gc", stats.fetch_faults[ThreadClass::Gc as usize]),
        ]);
        counters.extend(both.map(|(name, by_class)| (name, by_class.iter().sum())));
        PagerCounters {
            budget_bytes: pager.budget_pages() * PAGE_BYTES,
            resident_bytes: pager.resident_pages() * PAGE_BYTES,
            counters,
        }
    }
}

/// Collects the numbers while the heap lives. All methods may be called from any thread.
pub struct StatsRecorder {
    start: Instant,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    cycles: u64,
    pauses: Vec<PauseRecord>,
    pauses_left_out: u64,
    counters: BTreeMap<&'static str, u64>,
    beans: [CollectorCounters; BEANS_MAX],
    last: [Option<LastCycle>; BEANS_MAX],
}

impl StatsRecorder {
    pub fn new() -> StatsRecorder {
        StatsRecorder { start: Instant::now(), inner: Mutex::new(Inner::default()) }
    }

    /// Time since the heap was made.
    pub fn uptime(&self) -> Duration {
        self.start.elapsed()
    }

    /// Notes a pause that has just ended.
    pub fn record_pause(&self, name: &'static str, times: PauseTimes, pages_fetched: u64) {
        let us = |time: Duration| time.as_nanos() as f64 / 1e3;
        let began = self.uptime().saturating_sub(times.stopped);
        let record = PauseRecord {
            at_ms: us(began) / 1e3,
            name,
            time_to_safepoint_us: us(times.to_safepoint),
            pause_us: us(times.stopped),
            pages_fetched,
        };
        let mut inner = self.inner.lock();
        if inner.pauses.len() < PAUSES_MAX {
            inner.pauses.push(record);
        } else {
            inner.pauses_left_out += 1;
        }
    }

    /// Notes the end of a cycle and returns its number, from 0. `bean` indexes the collector's bean names; `used`
    /// is what was in use before and after, bytes.
    pub fn record_cycle(&self, bean: usize, time: Duration, used: (usize, usize)) -> u64 {
        let ended = self.uptime();
        let mut inner = self.inner.lock();
        inner.last[bean] = Some(LastCycle {
            number: inner.beans[bean].collections + 1,
            started_ms: ended.saturating_sub(time).as_millis() as u64,
            ended_ms: ended.as_millis() as u64,
            used_before_bytes: used.0,
            used_after_bytes: used.1,
        });
        inner.beans[bean].collections += 1;
        inner.beans[bean].time_ms += time.as_millis() as u64;
        inner.cycles += 1;
        inner.cycles - 1
    }

    /// Cycles that have ended.
    pub fn cycles(&self) -> u64 {
        self.inner.lock().cycles
    }

    /// Adds to a counter of the collector's own.
    pub fn count(&self, name: &'static str, amount: u64) {
        *self.inner.lock().counters.entry(name).or_default() += amount;
    }

    /// Sets a counter of the collector's own to what holds now.
    pub fn set(&self, name: &'static str, amount: u64) {
        self.inner.lock().counters.insert(name, amount);
    }

    pub fn bean(&self, bean: usize) -> CollectorCounters {
        self.inner.lock().beans[bean]
    }

    /// `None` before the first cycle.
    pub fn last_cycle(&self, bean: usize) -> Option<LastCycle> {
        self.inner.lock().last[bean]
    }

    /// Copies what was recorded into `stats`.
    pub(crate) fn fill(&self, stats: &mut HeapStats) {
        let inner = self.inner.lock();
        stats.cycles = inner.cycles;
        stats.pauses = inner.pauses.clone();
        stats.pauses_left_out = inner.pauses_left_out;
        stats.counters = inner.counters.clone();
    }
}

impl Default for StatsRecorder {
    fn default() -> Self {
        StatsRecorder::new()
    }
}

/// Beans that a collector may have.
const BEANS_MAX: usize = 4;
const PAUSES_MAX: usize = 100_000;
