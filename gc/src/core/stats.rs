//! Counters of the heap, for `--stats` and the management beans.

use crate::core::memory_use::MemoryUse;
use crate::threads::blocked::BlockedTimes;
use crate::threads::safepoint::PauseTimes;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};
use swap::{FaultCause, Latencies, PAGE_BYTES, Pager, SurvivalStats, ThreadClass};

/// One pause.
#[derive(Clone, Debug, serde::Serialize)]
pub struct PauseRecord {
    /// When it began, milliseconds after the heap was made.
    pub at_ms: f64,
    /// Its operation: `Pause Full`, `Pause PTP`, ...
    pub name: &'static str,
    pub time_to_safepoint_us: f64,
    /// From the last thread's stop to the release of all, microseconds.
    pub pause_us: f64,
    /// Pages fetched from memory servers during the pause.
    pub pages_fetched: u64,
}

/// All pauses of one name.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct PauseTotals {
    pub count: u64,
    pub total_us: f64,
    pub max_us: f64,
    /// How many took at most [`PauseTotals::limit_us`] of their bucket, and longer than the bucket before.
    #[serde(skip)]
    pub buckets: [u64; PAUSE_BUCKETS],
}

/// Buckets of [`PauseTotals`]; the last one has all pauses that took longer than the others' limits.
pub const PAUSE_BUCKETS: usize = 20;

impl PauseTotals {
    /// The longest time that a bucket counts, microseconds: 16, 32, ... The last bucket has no limit.
    pub fn limit_us(bucket: usize) -> Option<f64> {
        (bucket + 1 < PAUSE_BUCKETS).then(|| (16_u64 << bucket) as f64)
    }

    fn add(&mut self, us: f64) {
        self.count += 1;
        self.total_us += us;
        self.max_us = self.max_us.max(us);
        let fits = |bucket: &usize| PauseTotals::limit_us(*bucket).is_none_or(|limit| us <= limit);
        let bucket = (0..PAUSE_BUCKETS).find(fits).expect("the last bucket has no limit");
        self.buckets[bucket] += 1;
    }
}

/// One management bean's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct CollectorCounters {
    pub collections: u64,
    pub time_ms: u64,
}

/// A cycle as one management bean shows its last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LastCycle {
    /// Why it was run, as logs name it.
    #[serde(skip)]
    pub cause: &'static str,
    /// From 1, for each bean.
    pub number: u64,
    /// Milliseconds after the heap was made.
    pub started_ms: u64,
    pub ended_ms: u64,
    pub used_before_bytes: usize,
    pub used_after_bytes: usize,
    /// What of it was young, where the collector tells.
    #[serde(skip)]
    pub young_before: YoungBytes,
    #[serde(skip)]
    pub young_after: YoungBytes,
}

/// Bytes of the heap that young objects take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct YoungBytes {
    pub eden: usize,
    /// Of objects that have survived a collection, but not as many as the tenuring age says.
    pub survivors: usize,
}

impl YoungBytes {
    pub fn all(self) -> usize {
        self.eden + self.survivors
    }
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
    /// All pauses, by name.
    pub pause_totals: BTreeMap<&'static str, PauseTotals>,
    /// The first cycles with the bytes in use before and after them, in the order in which they ended.
    pub footprint: Vec<LastCycle>,
    /// The total time of cycles, concurrent parts included.
    pub cycles_ms: u64,
    pub mutators_blocked: BlockedTimes,
    /// The collector's own counters, by name, and its sizes.
    pub counters: BTreeMap<&'static str, u64>,
    /// Those of `counters` that are sizes, and may become less.
    #[serde(skip)]
    pub sizes: BTreeSet<&'static str>,
    /// The ordinary memory of tables, not counted in local memory's budget: the collector's
    /// ([`Collector::metadata`](super::collector::Collector::metadata)) and `page_states`; bytes by name. Those of
    /// memory servers are not included. Empty but in [`Heap::stats_at_exit`](crate::heap::Heap::stats_at_exit).
    pub metadata: BTreeMap<&'static str, usize>,
    /// All of that as percent of the used part of the heap.
    pub metadata_percent: f64,
    /// The memory of the collector's tables on memory servers, of all servers together, bytes by name: as the last
    /// cycle left it that they traced ([`TableBytes`](crate::agent::tables::TableBytes)). Empty without agents, and
    /// but in `stats_at_exit`.
    pub server_metadata: BTreeMap<&'static str, usize>,
    /// All of that as percent of the used part of the heap.
    pub server_metadata_percent: f64,
    /// Resident memory of this process and of servers on this machine; zeros where it was not asked for.
    pub memory: MemoryUse,
    pub pager: Option<PagerCounters>,
    /// Where memory is remote and faults are sampled.
    pub fault_trace: Option<FaultTrace>,
    /// The losses that were survived, where there are two copies of each page.
    pub survival: Option<BTreeMap<&'static str, u64>>,
    /// The pool of local memory, where it is shared; `pager.budget_bytes` is this VM's part now.
    pub local_memory_pool: Option<PoolFigures>,
}

/// A pool of local memory as this VM sees it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct PoolFigures {
    pub name: String,
    /// How large the pool is.
    pub bytes: usize,
    /// VMs that share it, this one included.
    pub members: usize,
    /// The most that this VM may have in local memory at this moment: its budget, or more while that becomes less.
    pub limit_bytes: usize,
}

/// The figures of [`HeapStats::survival`], by name.
pub(crate) fn survival_counters(stats: SurvivalStats) -> BTreeMap<&'static str, u64> {
    BTreeMap::from([
        ("servers_lost", stats.servers_lost),
        ("servers_missing", stats.servers_missing),
        ("repaired_bytes", stats.repaired_bytes),
        ("mirror_reads", stats.mirror_reads),
    ])
}

/// Faults that fetched a page: the MemLiner paper's figure 4.2.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct FaultTrace {
    /// All of them.
    pub faults: u64,
    /// Some of them in the order of time, from all of the run with the same probability: milliseconds since the heap
    /// was made, the page's number from the far space's start, `program` or `collector`, `read` or `write`.
    pub samples: Vec<String>,
}

impl FaultTrace {
    pub(crate) fn of(pager: &Pager) -> Option<FaultTrace> {
        let read = pager.fault_samples()?;
        let line = |sample: &swap::FaultSample| {
            let at_ms = sample.at_us as f64 / 1e3;
            let who = match sample.class {
                ThreadClass::Mutator => "program",
                ThreadClass::Gc => "collector",
            };
            let how = if sample.is_write { "write" } else { "read" };
            format!("{at_ms:.3} {} {who} {how}", sample.page.0)
        };
        Some(FaultTrace { faults: read.faults, samples: read.samples.iter().map(line).collect() })
    }
}

/// The pager's counters, where memory is remote.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct PagerCounters {
    pub budget_bytes: usize,
    pub resident_bytes: usize,
    #[serde(flatten)]
    pub counters: BTreeMap<&'static str, u64>,
    /// As [`Pager::epoch`].
    pub epoch: u64,
    /// As [`PagerStats::prefetch_accuracy`](swap::PagerStats::prefetch_accuracy).
    pub prefetch_accuracy: Option<f64>,
    /// As [`PagerStats::prefetch_coverage`](swap::PagerStats::prefetch_coverage).
    pub prefetch_coverage: Option<f64>,
    /// The times of faults in the handler, by cause.
    pub fault_times: BTreeMap<&'static str, FaultTimes>,
}

/// The times of faults of one cause.
#[derive(Clone, Debug, serde::Serialize)]
pub struct FaultTimes {
    pub count: u64,
    pub total_us: f64,
    /// Upper limits, up to twice the exact quantile, in microseconds.
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
    pub p999_us: Option<f64>,
    #[serde(skip)]
    pub latencies: Latencies,
}

impl FaultTimes {
    fn of(latencies: Latencies) -> FaultTimes {
        let quantile = |per_mille| latencies.quantile_ns(per_mille).map(|ns| ns as f64 / 1e3);
        FaultTimes {
            count: latencies.count(),
            total_us: latencies.total_ns as f64 / 1e3,
            p50_us: quantile(500),
            p99_us: quantile(990),
            p999_us: quantile(999),
            latencies,
        }
    }
}

impl PagerCounters {
    pub(crate) fn of(pager: &Pager) -> PagerCounters {
        let stats = pager.stats();
        let both = [
            ("fetch_faults", stats.fetch_faults),
            ("zero_faults", stats.zero_faults),
            ("protect_faults", stats.protect_faults),
            ("fault_waits", stats.waits),
            ("self_evictions", stats.self_evictions),
        ];
        let mut counters = BTreeMap::from([
            ("prefetched_pages", stats.prefetched_pages),
            ("ahead_pages", stats.ahead_pages),
            ("followed_pages", stats.followed_pages),
            ("recycled_pages", stats.recycled_pages),
            ("exchanged_pages", stats.exchanged_pages),
            ("kernel_notes_writes", u64::from(pager.kernel_notes_writes())),
            ("stocked_frames", stats.stocked_frames),
            ("stocked_used_frames", stats.stocked_used_frames),
            ("evictor_evicted_us", stats.evictor_evicted_ns / 1000),
            ("evictor_cleaned_us", stats.evictor_cleaned_ns / 1000),
            ("fetched_bytes", stats.fetched_bytes),
            ("written_bytes", stats.written_bytes),
            ("evicted_pages", stats.evicted_pages),
            ("evicted_clean_pages", stats.evicted_clean_pages),
            ("frame_retries", stats.frame_retries),
            ("resident_pages_max", stats.resident_pages_max),
            ("fetch_faults_mutator", stats.fetch_faults[ThreadClass::Mutator as usize]),
            ("fetch_faults_gc", stats.fetch_faults[ThreadClass::Gc as usize]),
        ]);
        counters.extend(both.map(|(name, by_class)| (name, by_class.iter().sum())));
        PagerCounters {
            budget_bytes: pager.budget_pages() * PAGE_BYTES,
            resident_bytes: pager.resident_pages() * PAGE_BYTES,
            counters,
            epoch: pager.epoch(),
            prefetch_accuracy: stats.prefetch_accuracy(),
            prefetch_coverage: stats.prefetch_coverage(),
            fault_times: FaultCause::ALL
                .iter()
                .map(|cause| (cause.name(), FaultTimes::of(stats.latencies[*cause as usize])))
                .collect(),
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
    pause_totals: BTreeMap<&'static str, PauseTotals>,
    counters: BTreeMap<&'static str, u64>,
    sizes: BTreeSet<&'static str>,
    footprint: Vec<LastCycle>,
    beans: [CollectorCounters; BEANS_MAX],
    last: [Option<LastCycle>; BEANS_MAX],
    /// Cycles that nobody has taken yet, with their beans; `None`: nobody wants them.
    ended: Option<VecDeque<(usize, LastCycle)>>,
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
        inner.pause_totals.entry(name).or_default().add(record.pause_us);
        if inner.pauses.len() < PAUSES_MAX {
            inner.pauses.push(record);
        } else {
            inner.pauses_left_out += 1;
        }
    }

    /// Notes the end of a cycle and returns its number, from 0. `bean` indexes the collector's bean names; `used`
    /// is the memory in use before and after, bytes, and `young` what of it young objects took.
    pub fn record_cycle(
        &self,
        bean: usize,
        cause: &'static str,
        time: Duration,
        used: (usize, usize),
        young: (YoungBytes, YoungBytes),
    ) -> u64 {
        let ended = self.uptime();
        let mut inner = self.inner.lock();
        let cycle = LastCycle {
            cause,
            number: inner.beans[bean].collections + 1,
            started_ms: ended.saturating_sub(time).as_millis() as u64,
            ended_ms: ended.as_millis() as u64,
            used_before_bytes: used.0,
            used_after_bytes: used.1,
            young_before: young.0,
            young_after: young.1,
        };
        inner.last[bean] = Some(cycle);
        if inner.footprint.len() < FOOTPRINT_MAX {
            inner.footprint.push(cycle);
        }
        if let Some(ended) = &mut inner.ended {
            if ended.len() == ENDED_MAX {
                ended.pop_front();
            }
            ended.push_back((bean, cycle));
        }
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

    /// Sets a size of the collector's own to its present value.
    pub fn set(&self, name: &'static str, amount: u64) {
        let mut inner = self.inner.lock();
        inner.counters.insert(name, amount);
        inner.sizes.insert(name);
    }

    pub fn bean(&self, bean: usize) -> CollectorCounters {
        self.inner.lock().beans[bean]
    }

    /// `None` before the first cycle.
    pub fn last_cycle(&self, bean: usize) -> Option<LastCycle> {
        self.inner.lock().last[bean]
    }

    /// From now on cycles are kept for [`take_cycles`](Self::take_cycles), or no more.
    pub fn keep_cycles(&self, are_kept: bool) {
        let ended = &mut self.inner.lock().ended;
        match are_kept {
            true => _ = ended.get_or_insert_default(),
            false => *ended = None,
        }
    }

    /// The cycles that have ended since the last call, in order, each with the index of its bean. Of very many, the
    /// first are missing.
    pub fn take_cycles(&self) -> Vec<(usize, LastCycle)> {
        self.inner.lock().ended.as_mut().map_or(Vec::new(), |ended| ended.drain(..).collect())
    }

    /// Copies the records into `stats`, except for the single pauses.
    pub(crate) fn fill(&self, stats: &mut HeapStats) {
        let inner = self.inner.lock();
        stats.cycles = inner.cycles;
        stats.pauses_left_out = inner.pauses_left_out;
        stats.pause_totals = inner.pause_totals.clone();
        stats.cycles_ms = inner.beans.iter().map(|bean| bean.time_ms).sum();
        stats.counters = inner.counters.clone();
        stats.sizes = inner.sizes.clone();
    }

    /// The first cycles, in order.
    pub(crate) fn footprint(&self) -> Vec<LastCycle> {
        self.inner.lock().footprint.clone()
    }

    /// The cycles and pauses behind the first `cycles` and `pauses` of those that are kept, in order.
    pub(crate) fn since(&self, cycles: usize, pauses: usize) -> (Vec<LastCycle>, Vec<PauseRecord>) {
        let inner = self.inner.lock();
        let cycles = inner.footprint.get(cycles..).unwrap_or_default().to_vec();
        (cycles, inner.pauses.get(pauses..).unwrap_or_default().to_vec())
    }

    /// All pauses, in order.
    pub(crate) fn pauses(&self) -> Vec<PauseRecord> {
        self.inner.lock().pauses.clone()
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
const FOOTPRINT_MAX: usize = 10_000;
/// Cycles that are kept for those who ask seldom.
const ENDED_MAX: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cycle_leaves_what_was_in_use() {
        let recorder = StatsRecorder::new();
        for used in [(900, 300), (800, 200)] {
            recorder.record_cycle(0, "Zeal", Duration::ZERO, used, Default::default());
        }
        let used: Vec<(usize, usize)> = recorder
            .footprint()
            .iter()
            .map(|cycle| (cycle.used_before_bytes, cycle.used_after_bytes))
            .collect();
        assert_eq!(used, [(900, 300), (800, 200)]);
        assert_eq!(recorder.last_cycle(0).unwrap().number, 2);
    }

    #[test]
    fn cycles_are_kept_while_somebody_wants_them() {
        let recorder = StatsRecorder::new();
        let none = Default::default();
        let run = |bean| _ = recorder.record_cycle(bean, "Zeal", Duration::ZERO, (2, 1), none);
        run(0);
        recorder.keep_cycles(true);
        (0..ENDED_MAX).for_each(|_| run(1));
        recorder.keep_cycles(true);
        run(0);
        let taken = recorder.take_cycles();
        assert_eq!((taken.len(), taken[0].1.number, taken[0].1.cause), (ENDED_MAX, 2, "Zeal"));
        assert_eq!(taken.last().map(|(bean, cycle)| (*bean, cycle.number)), Some((0, 2)));
        assert!(recorder.take_cycles().is_empty());
        recorder.keep_cycles(false);
        run(1);
        assert!(recorder.take_cycles().is_empty());
    }

    #[test]
    fn pauses_add_up_by_name() {
        let recorder = StatsRecorder::new();
        let times =
            |us| PauseTimes { to_safepoint: Duration::ZERO, stopped: Duration::from_micros(us) };
        for us in [10, 20, 5_000_000, 30] {
            recorder.record_pause("Pause Full", times(us), 0);
        }
        recorder.record_pause("Pause PTP", times(1), 0);
        let mut stats = HeapStats::default();
        recorder.fill(&mut stats);
        let full = &stats.pause_totals["Pause Full"];
        assert_eq!((full.count, full.total_us, full.max_us), (4, 5_000_060.0, 5_000_000.0));
        assert_eq!(full.buckets[..3], [1, 2, 0]);
        assert_eq!(full.buckets.iter().sum::<u64>(), 4);
        assert_eq!(stats.pause_totals["Pause PTP"].count, 1);
        assert_eq!(recorder.pauses().len(), 5);
    }
}
