//! The counters that our VM and `far-run` write (`--stats`), as rows have them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::gc_bench::trace::{Fault, Footprint, Span, Trace};
use crate::kernel_swap::Swapped;

/// The costs of a far heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Far {
    /// The budget of local memory for the heap's pages.
    pub budget_bytes: u64,
    /// Further local memory for the tables of the collector and the pager, at the end; of ours only.
    #[serde(default)]
    pub metadata_bytes: u64,
    /// The same as percent of the used part of the heap then.
    #[serde(default)]
    pub metadata_percent: Option<f64>,
    /// The memory of the collector's tables on memory servers after the last cycle that they traced; of ours only.
    #[serde(default)]
    pub server_metadata_bytes: u64,
    /// The same as percent of the used part of the heap at the end.
    #[serde(default)]
    pub server_metadata_percent: Option<f64>,
    /// Faults that fetched a page, by the kind of thread that they stopped.
    pub program_faults: u64,
    pub collector_faults: u64,
    /// Faults of threads whose kind is not counted.
    #[serde(default)]
    pub other_faults: u64,
    /// Whole pages of 4 KiB that came from far memory into local memory, bytes: for a fault or ahead of one, used or
    /// not. The same for all: our pager and `far-run`'s count each page that a server sent, the kernel each page that
    /// it read from swap (`pswpin`), readahead included. A page that is taken back before it has left counts for none.
    /// The difference is the memory that can be remote: of ours and under `far-run` the heap alone, under the
    /// kernel's swap all memory of the process that belongs to no file.
    pub fetched_bytes: u64,
    /// Whole pages that were written to far memory, bytes, by the same rule (`pswpout`).
    pub written_bytes: u64,
    pub prefetched_pages: u64,
    /// Of the pages that were needed, the share that had been fetched ahead.
    pub prefetch_coverage: Option<f64>,
    /// Of the pages that were fetched ahead, the share that was needed.
    pub prefetch_accuracy: Option<f64>,
}

/// From the kernel's counters before and after a run whose pages it swapped, in pages of 4 KiB. There is one budget
/// for the heap and the rest.
pub fn swapped(before: Swapped, after: Swapped) -> Far {
    Far {
        other_faults: after.faults - before.faults,
        fetched_bytes: (after.pages_in - before.pages_in) << 12,
        written_bytes: (after.pages_out - before.pages_out) << 12,
        ..Far::default()
    }
}

/// From our VM's file: counters of far memory, if it has any, and pauses and footprint into `trace`.
pub fn ours(stats: &Value, trace: &mut Trace) -> Option<Far> {
    let heap = &stats["heap"];
    // Times in the file count from the heap's making, some milliseconds after the start of the process.
    let spans = |list: &Value, name: &str, lengths: &[&str]| {
        let span = |one: &Value| {
            let us: f64 = lengths.iter().filter_map(|name| one[*name].as_f64()).sum();
            let span = Span { at_ms: one["at_ms"].as_f64()?, ms: us / 1e3 };
            Some((one[name].as_str()?.to_string(), span))
        };
        list.as_array().map(|all| all.iter().filter_map(span).collect::<Vec<(String, Span)>>())
    };
    let stops = spans(&heap["pauses"], "name", &["time_to_safepoint_us", "pause_us"]);
    trace.stops = stops.as_ref().map(|stops| stops.iter().map(|(_, span)| *span).collect());
    trace.collecting = trace.stops.clone();
    trace.named = by_name(stops.unwrap_or_default());
    let blocked = &heap["mutators_blocked"];
    let waits = spans(&blocked["intervals"], "wait_for", &["blocked_us"]);
    let kept = waits.as_ref().map_or(0, Vec::len) as u64;
    trace.waits_left_out = blocked["count"].as_u64().unwrap_or(0).saturating_sub(kept);
    trace.waits = waits.map(by_name);
    let footprint = heap["footprint"].as_array();
    trace.footprint.extend(footprint.into_iter().flatten().filter_map(|cycle| {
        Some(Footprint {
            at_ms: cycle["ended_ms"].as_f64()?,
            before_bytes: cycle["used_before_bytes"].as_u64()?,
            after_bytes: cycle["used_after_bytes"].as_u64()?,
        })
    }));
    let samples = heap["fault_trace"]["samples"].as_array();
    trace.faults.extend(samples.into_iter().flatten().filter_map(|one| fault(one.as_str()?)));
    let pager = heap.get("pager").filter(|pager| pager.is_object())?;
    let count = |name: &str| pager[name].as_u64().unwrap_or(0);
    Some(Far {
        budget_bytes: count("budget_bytes"),
        metadata_bytes: sum(&heap["metadata"]),
        metadata_percent: heap["metadata_percent"].as_f64(),
        server_metadata_bytes: sum(&heap["server_metadata"]),
        server_metadata_percent: heap["server_metadata_percent"].as_f64(),
        program_faults: count("fetch_faults_mutator"),
        collector_faults: count("fetch_faults_gc"),
        other_faults: 0,
        fetched_bytes: count("fetched_bytes"),
        written_bytes: count("written_bytes"),
        prefetched_pages: count("prefetched_pages"),
        prefetch_coverage: pager["prefetch_coverage"].as_f64(),
        prefetch_accuracy: pager["prefetch_accuracy"].as_f64(),
    })
}

/// Lists of spans by their names.
fn by_name(spans: Vec<(String, Span)>) -> BTreeMap<String, Vec<Span>> {
    let mut lists: BTreeMap<String, Vec<Span>> = BTreeMap::new();
    spans.into_iter().for_each(|(name, span)| lists.entry(name).or_default().push(span));
    lists
}

/// The collections of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cycles {
    pub all: u64,
    /// Those that began beside the program and ended in a pause, because memory had run out.
    pub degenerated: u64,
    /// Those of the whole heap in one pause.
    pub full: u64,
}

/// Of our VM.
pub fn cycles(stats: &Value) -> Option<Cycles> {
    let heap = &stats["heap"];
    let count = |name: &str| heap["counters"][name].as_u64().unwrap_or(0);
    // Shenandoah counts a degenerated cycle that became a full one; the others have the pause only.
    let pauses = heap["pause_totals"]["Pause Full"]["count"].as_u64().unwrap_or(0);
    Some(Cycles {
        all: heap["cycles"].as_u64()?,
        degenerated: count("degenerated_cycles"),
        full: count("full_cycles").max(pauses),
    })
}

/// The objects that MemLiner's tracers scanned, by the way they found them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traced {
    /// Through the queues of threads: touched ones, and those that were explored from these.
    pub from_queues: u64,
    /// In the order of tracing, or postponed.
    pub others: u64,
}

impl Traced {
    /// The share of the first.
    pub fn queue_share(&self) -> f64 {
        self.from_queues as f64 / (self.from_queues + self.others).max(1) as f64
    }
}

/// `None` without MemLiner, and where it traced nothing.
pub fn traced(stats: &Value) -> Option<Traced> {
    let count = |name: &str| {
        let counter = format!("memliner_{name}");
        stats["heap"]["counters"][counter.as_str()].as_u64().unwrap_or(0)
    };
    let traced = Traced {
        from_queues: count("traced_touched") + count("traced_explored"),
        others: count("traced_met") + count("traced_in_time") + count("forced"),
    };
    (traced != Traced::default()).then_some(traced)
}

/// The free memory behind the objects of Mako's regions, summed over the beginnings of all cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreeEnds {
    /// Regions with objects.
    pub regions: u64,
    pub free_bytes: u64,
    pub used_bytes: u64,
}

/// `None` of others than Mako, and without collections.
pub fn free_ends(stats: &Value) -> Option<FreeEnds> {
    let count = |name: &str| stats["heap"]["counters"][name].as_u64();
    let ends = FreeEnds {
        regions: count("regions_seen")?,
        free_bytes: count("free_end_bytes")?,
        used_bytes: count("used_bytes_seen")?,
    };
    (ends.regions > 0 && ends.used_bytes > 0).then_some(ends)
}

/// The sum of the counters of a group.
fn sum(group: &Value) -> u64 {
    let parts = group.as_object().into_iter().flat_map(|parts| parts.values());
    parts.filter_map(Value::as_u64).sum()
}

/// The memory of the tables on memory servers as a part of the heap's size; `None` without such tables.
pub fn server_table_share(stats: &Value) -> Option<f64> {
    let heap = &stats["heap"];
    let (bytes, size) = (sum(&heap["server_metadata"]) as f64, heap["max_bytes"].as_f64()?);
    (bytes > 0.0 && size > 0.0).then_some(bytes / size)
}

/// Mako's tablets after the last collection as a part of the heap's size; `None` of others, and without collections.
pub fn table_share(stats: &Value) -> Option<f64> {
    let heap = &stats["heap"];
    let (entries, size) =
        (heap["counters"]["entry_bytes_used"].as_f64()?, heap["max_bytes"].as_f64()?);
    (size > 0.0).then_some(entries / size)
}

/// `1234.368 1047 collector read`: milliseconds, page, whose thread, how.
fn fault(line: &str) -> Option<Fault> {
    let mut words = line.split(' ');
    Some(Fault {
        at_ms: words.next()?.parse().ok()?,
        page: words.next()?.parse().ok()?,
        is_collectors: match words.next()? {
            "collector" => true,
            "program" => false,
            _ => return None,
        },
    })
}

/// From the file of `far-run`, which does not know HotSpot's threads.
pub fn far_run(stats: &Value) -> Option<Far> {
    let range = stats["ranges"].get(0)?;
    let count = |name: &str| range[name].as_u64().unwrap_or(0);
    Some(Far {
        budget_bytes: count("local_bytes"),
        other_faults: count("fetch_faults"),
        fetched_bytes: count("fetched_bytes"),
        written_bytes: count("written_bytes"),
        prefetched_pages: count("ahead_pages"),
        ..Far::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vms_file_is_read() {
        let stats = serde_json::json!({"heap": {
            "max_bytes": 30,
            "cycles": 9,
            "counters": {"entry_bytes_used": 6, "degenerated_cycles": 3, "full_cycles": 1,
                         "memliner_traced_touched": 2, "memliner_traced_explored": 3, "memliner_traced_met": 10,
                         "memliner_traced_in_time": 4, "memliner_forced": 1, "memliner_taken": 99,
                         "regions_seen": 4, "free_end_bytes": 50, "used_bytes_seen": 1000},
            "pause_totals": {"Pause Full": {"count": 2}},
            "metadata": {"mark_bits": 100, "page_states": 23},
            "metadata_percent": 0.5,
            "server_metadata": {"mark_bits": 4, "trace_order": 5},
            "server_metadata_percent": 0.25,
            "pauses": [{"at_ms": 5.5, "name": "Pause PTP", "time_to_safepoint_us": 500.0, "pause_us": 1500.0}],
            "mutators_blocked": {"count": 5, "intervals": [{"at_ms": 6.0, "blocked_us": 250.0, "wait_for": "pause"},
                                               {"at_ms": 7.0, "blocked_us": 50.0, "wait_for": "region"}]},
            "footprint": [{"number": 1, "started_ms": 1, "ended_ms": 9,
                           "used_before_bytes": 70, "used_after_bytes": 30}],
            "pager": {"budget_bytes": 4096, "fetch_faults_mutator": 7, "fetch_faults_gc": 2, "fetched_bytes": 9,
                      "prefetch_coverage": 0.5, "prefetch_accuracy": null},
            "fault_trace": {"faults": 9, "samples": ["1.024 77 collector write", "2.5 3 program read", "?"]},
        }});
        let mut trace = Trace::default();
        let far = ours(&stats, &mut trace).unwrap();
        assert_eq!((far.program_faults, far.collector_faults, far.budget_bytes), (7, 2, 4096));
        assert_eq!((far.metadata_bytes, far.metadata_percent), (123, Some(0.5)));
        assert_eq!((far.server_metadata_bytes, far.server_metadata_percent), (9, Some(0.25)));
        assert_eq!((far.prefetch_coverage, far.prefetch_accuracy), (Some(0.5), None));
        assert_eq!(trace.stops, Some(vec![Span { at_ms: 5.5, ms: 2.0 }]));
        let region = Span { at_ms: 7.0, ms: 0.05 };
        assert_eq!(trace.named["Pause PTP"], trace.stops.clone().unwrap());
        let waits = trace.waits.as_ref().unwrap();
        assert_eq!(waits["pause"], [Span { at_ms: 6.0, ms: 0.25 }]);
        assert_eq!((&waits["region"], waits.len(), trace.waits_left_out), (&vec![region], 2, 3));
        assert_eq!(cycles(&stats), Some(Cycles { all: 9, degenerated: 3, full: 2 }));
        let shares = traced(&stats).unwrap();
        assert_eq!(shares, Traced { from_queues: 5, others: 15 });
        assert_eq!(shares.queue_share(), 0.25);
        let ends = FreeEnds { regions: 4, free_bytes: 50, used_bytes: 1000 };
        assert_eq!(free_ends(&stats), Some(ends));
        assert_eq!(trace.footprint[0].after_bytes, 30);
        let fault = |at_ms, page, is_collectors| Fault { at_ms, page, is_collectors };
        assert_eq!(trace.faults, [fault(1.024, 77, true), fault(2.5, 3, false)]);
        assert_eq!(table_share(&stats), Some(0.2));
        assert_eq!(table_share(&serde_json::json!({"heap": {"counters": {}}})), None);
        assert_eq!(server_table_share(&stats), Some(0.3));
        let without = serde_json::json!({"heap": {"max_bytes": 30, "server_metadata": {}}});
        assert_eq!(server_table_share(&without), None);
        assert_eq!((cycles(&without), traced(&without), free_ends(&without)), (None, None, None));
        let hotspot = serde_json::json!({"ranges": [{"fetch_faults": 5, "ahead_pages": 2, "fetched_bytes": 40}]});
        let far = far_run(&hotspot).unwrap();
        assert_eq!((far.other_faults, far.prefetched_pages, far.fetched_bytes), (5, 2, 40));
        let before = Swapped { faults: 1, pages_in: 2, pages_out: 3 };
        let far = swapped(before, Swapped { faults: 5, pages_in: 4, pages_out: 6 });
        assert_eq!((far.other_faults, far.fetched_bytes, far.written_bytes), (4, 8192, 12288));
        let local = serde_json::json!({"heap": {"pauses": [], "pager": null}});
        assert_eq!(ours(&local, &mut Trace::default()), None);
    }
}
