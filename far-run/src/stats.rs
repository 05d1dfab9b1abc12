//! Counters at the end, as JSON.

use std::fmt::Write;
use std::path::Path;
use std::{fs, io};

use swap::{PAGE_BYTES, PagerStats};

use crate::ranges::RANGES;

/// Writes the counters of all far ranges. Ranges that were unmapped before are not counted.
pub fn write(path: &Path) -> io::Result<()> {
    let mut far_pages = 0;
    let ranges = RANGES.each_far().map(|range| {
        let (bytes, stats) = (range.end() - range.start(), range.stats());
        far_pages += stats.resident_pages;
        describe(range.start(), bytes, range.budget_bytes(), &stats)
    });
    let ranges = ranges.collect::<Vec<String>>().join(", ");
    let resident = resident_bytes(&fs::read_to_string("/proc/self/status")?);
    let other = resident.saturating_sub(far_pages * PAGE_BYTES as u64);
    fs::write(path, format!("{{\"ranges\": [{ranges}], \"other_resident_bytes\": {other}}}\n"))
}

/// The private resident memory of the process: neither pages of files nor the memory shared with memory servers.
fn resident_bytes(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

fn describe(start: usize, bytes: usize, local_bytes: usize, stats: &PagerStats) -> String {
    let sum = |counts: [u64; 2]| counts[0] + counts[1];
    let fields = [
        ("start", start as u64),
        ("bytes", bytes as u64),
        ("local_bytes", local_bytes as u64),
        ("fetch_faults", sum(stats.fetch_faults)),
        ("zero_faults", sum(stats.zero_faults)),
        ("protect_faults", sum(stats.protect_faults)),
        ("waits", sum(stats.waits)),
        ("self_evictions", sum(stats.self_evictions)),
        ("ahead_pages", stats.ahead_pages),
        ("fetched_bytes", stats.fetched_bytes),
        ("written_bytes", stats.written_bytes),
        ("evicted_pages", stats.evicted_pages),
        ("evicted_clean_pages", stats.evicted_clean_pages),
        ("resident_bytes", stats.resident_pages * PAGE_BYTES as u64),
        ("resident_bytes_max", stats.resident_pages_max * PAGE_BYTES as u64),
    ];
    let mut text = String::new();
    for (name, value) in fields {
        let comma = if text.is_empty() { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}\"{name}\": {value}");
    }
    format!("{{{text}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_not_counted() {
        let status = "VmRSS:\t  99 kB\nRssAnon:\t      12 kB\nRssFile:\t 3 kB\nRssShmem:\t 84 kB\n";
        assert_eq!(resident_bytes(status), 12 << 10);
        assert_eq!(resident_bytes("nonsense"), 0);
    }

    #[test]
    fn counters_are_json() {
        let stats = PagerStats { fetch_faults: [3, 4], ahead_pages: 9, ..PagerStats::default() };
        let text = describe(4096, 8192, 4096, &stats);
        assert!(text.starts_with("{\"start\": 4096, \"bytes\": 8192,"), "{text}");
        assert!(
            text.contains("\"fetch_faults\": 7,") && text.contains("\"ahead_pages\": 9,"),
            "{text}"
        );
        assert!(text.ends_with("}"), "{text}");
    }
}
