//! The figures of one heap.

use super::{Exposition, Kind};
use crate::core::stats::{HeapStats, PAUSE_BUCKETS, PagerCounters, PauseTotals, PoolFigures};
use crate::threads::blocked::WaitFor;
use std::collections::BTreeMap;
use swap::{LATENCY_BUCKETS, Latencies};

/// Writes the counters of a heap, of its collector and of its pager. `stats` needs no list of pauses.
pub fn heap(page: &mut Exposition, stats: &HeapStats) {
    let collector: &[_] = &[("collector", stats.collector)];
    page.family("farheap_heap_info", Kind::Gauge, "The collector, as a label.");
    page.value("farheap_heap_info", collector, 1);
    let gauges = [
        ("farheap_heap_max_bytes", "The largest size of the heap.", stats.max_bytes),
        ("farheap_heap_used_bytes", "Heap in use by objects.", stats.used_bytes),
        (
            "farheap_heap_committed_bytes",
            "Heap that is committed for objects.",
            stats.committed_bytes,
        ),
    ];
    for (name, help, value) in gauges {
        page.single(name, Kind::Gauge, help, value);
    }
    let name = "farheap_heap_allocated_bytes_total";
    let help = "Bytes allocated; buffers of threads count when they are full.";
    page.single(name, Kind::Counter, help, stats.allocated_bytes);
    page.single("farheap_gc_cycles_total", Kind::Counter, "Cycles that have ended.", stats.cycles);
    let seconds = stats.cycles_ms as f64 / 1e3;
    let help = "Time of cycles, concurrent parts included.";
    page.single("farheap_gc_cycle_seconds_total", Kind::Counter, help, seconds);

    let name = "farheap_gc_pause_seconds";
    page.family(
        name,
        Kind::Histogram,
        "Pauses, from the last thread's stop to the release of all.",
    );
    for (phase, totals) in &stats.pause_totals {
        let limit = |bucket| PauseTotals::limit_us(bucket).map(|us| us / 1e6);
        let buckets = (0..PAUSE_BUCKETS).map(|b| (limit(b), totals.buckets[b]));
        page.histogram(name, &[("phase", phase)], buckets, totals.total_us / 1e6);
    }
    let name = "farheap_gc_events_total";
    page.family(name, Kind::Counter, "Counters of the collector.");
    let (sizes, events) =
        stats.counters.iter().partition::<Vec<_>, _>(|(name, _)| stats.sizes.contains(*name));
    for (event, count) in events {
        page.value(name, &[("event", event)], count);
    }
    let name = "farheap_gc_size";
    page.family(name, Kind::Gauge, "Sizes that the collector has chosen or found, by their units.");
    for (of, size) in sizes {
        page.value(name, &[("of", of)], size);
    }
    let blocked = &stats.mutators_blocked;
    let name = "farheap_mutators_blocked_seconds_total";
    let help = "Time for which the collector blocked threads of the program, summed over threads.";
    page.family(name, Kind::Counter, help);
    for wait_for in WaitFor::ALL {
        let times = blocked.by_wait.get(wait_for.name()).copied().unwrap_or_default();
        page.value(name, &[("wait", wait_for.name())], times.total_us as f64 / 1e6);
    }

    let memory = &stats.memory;
    let name = "farheap_resident_bytes";
    let help =
        "Resident memory of the process: its own, and pages of memory servers that it has mapped.";
    page.family(name, Kind::Gauge, help);
    page.value(name, &[("of", "vm")], memory.vm_bytes);
    page.value(name, &[("of", "servers")], memory.mapped_server_bytes);
    let name = "farheap_local_servers_bytes";
    let help =
        "Memory that servers on this machine hold for the VM: its child processes, and others.";
    page.family(name, Kind::Gauge, help);
    page.value(name, &[("servers", "children")], memory.child_server_bytes);
    page.value(name, &[("servers", "others")], memory.other_server_bytes);
    if let Some(pager) = &stats.pager {
        of_pager(page, pager);
    }
    if let Some(survival) = &stats.survival {
        of_servers(page, survival);
    }
    if let Some(pool) = &stats.local_memory_pool {
        of_pool(page, pool);
    }
}

fn of_pool(page: &mut Exposition, pool: &PoolFigures) {
    let labels: &[_] = &[("pool", pool.name.as_str())];
    for (name, help, value) in [
        ("farheap_pool_bytes", "Size of the pool of local memory.", pool.bytes),
        ("farheap_pool_members", "Programs that share the pool.", pool.members),
        ("farheap_pool_limit_bytes", "Limit of this program's part of the pool.", pool.limit_bytes),
    ] {
        page.family(name, Kind::Gauge, help);
        page.value(name, labels, value);
    }
}

fn of_servers(page: &mut Exposition, survival: &BTreeMap<&'static str, u64>) {
    let missing = "Memory servers without a complete replacement: their pages have one copy.";
    page.single("farheap_servers_missing", Kind::Gauge, missing, survival["servers_missing"]);
    let counters = [
        ("servers_lost", "servers_lost_total", "Memory servers that were lost."),
        (
            "repaired_bytes",
            "servers_repaired_bytes_total",
            "Bytes copied to replacements of lost memory servers.",
        ),
        (
            "mirror_reads",
            "servers_mirror_reads_total",
            "Reads of the second copy because the first was lost.",
        ),
    ];
    for (key, name, help) in counters {
        page.single(&format!("farheap_{name}"), Kind::Counter, help, survival[key]);
    }
}

fn of_pager(page: &mut Exposition, pager: &PagerCounters) {
    let budget = "Limit of resident pages, in bytes.";
    page.single("farheap_pager_budget_bytes", Kind::Gauge, budget, pager.budget_bytes);
    let resident = "Bytes of resident pages.";
    page.single("farheap_pager_resident_bytes", Kind::Gauge, resident, pager.resident_bytes);

    let name = "farheap_pager_fault_seconds";
    let help =
        "Faults by cause: page fetched, new page, write to a clean page, wait for another thread.";
    page.family(name, Kind::Histogram, help);
    for (cause, times) in &pager.fault_times {
        let limit = |bucket| Latencies::limit_ns(bucket).map(|ns| ns as f64 / 1e9);
        let buckets = (0..LATENCY_BUCKETS).map(|b| (limit(b), times.latencies.counts[b]));
        page.histogram(name, &[("cause", cause)], buckets, times.total_us / 1e6);
    }
    let counters = [
        ("fetched_bytes", "fetched_bytes_total", "Bytes read from memory servers."),
        ("written_bytes", "written_bytes_total", "Bytes written to memory servers."),
        ("prefetched_pages", "prefetched_pages_total", "Pages fetched without a fault."),
        ("ahead_pages", "ahead_pages_total", "Pages fetched together with the page of a fault."),
        ("followed_pages", "followed_pages_total", "Pages prefetched by following a reference."),
        (
            "recycled_pages",
            "recycled_pages_total",
            "Pages fetched into frames that a scan has passed.",
        ),
        ("evicted_pages", "evicted_pages_total", "Pages evicted for lack of free frames."),
        ("evicted_clean_pages", "evicted_clean_pages_total", "Evicted pages that were clean."),
        ("self_evictions", "self_evictions_total", "Faults that had to evict a page themselves."),
    ];
    for (key, name, help) in counters {
        let value = pager.counters.get(key).expect("the pager counts it");
        page.single(&format!("farheap_pager_{name}"), Kind::Counter, help, value);
    }
    let epoch = "Epoch: grows when a part of the resident pages has changed.";
    page.single("farheap_pager_epoch", Kind::Counter, epoch, pager.epoch);
    let accuracy = "Share of prefetched pages that were used, by samples.";
    let coverage = "Share of faults that prefetching avoided, by samples.";
    for (name, help, value) in [
        ("farheap_pager_prefetch_accuracy", accuracy, pager.prefetch_accuracy),
        ("farheap_pager_prefetch_coverage", coverage, pager.prefetch_coverage),
    ] {
        if let Some(value) = value {
            page.single(name, Kind::Gauge, help, value);
        }
    }
}
