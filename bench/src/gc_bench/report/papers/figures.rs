//! The figures of the two papers, as H. Ma's thesis has them (University of California, Los Angeles, 2024): chapter 3
//! is Mako (PLDI'22), chapter 4 MemLiner (OSDI'22). Pages are the thesis's. What only a picture shows has no figure
//! here.

/// The papers' programs in the order of Mako's tables, and those of ours that stand for them, the best one first.
pub const PROGRAMS: [(&str, &[&str]); 7] = [
    ("DTS", &["market"]),
    ("DTB", &["market"]),
    ("DH2", &["h2", "tables"]),
    ("CII", &["columns-insert"]),
    ("CUI", &["columns-update"]),
    ("SPR", &["spark-pagerank", "dataset-pagerank"]),
    ("STC", &["spark-closure", "dataset-closure"]),
];

/// A table, a figure or a section, and what this report has of it.
pub struct Source {
    /// `table 3.1`; the end of the id of its place in the report is that without spaces and points.
    pub name: &'static str,
    pub page: u32,
    pub content: &'static str,
    /// Where the report has it: the word for a table of its own here, or the name of a picture of each workload.
    pub place: &'static str,
}

/// The place of those that have a table.
pub const TABLE: &str = "table below";

const fn source(
    name: &'static str,
    page: u32,
    content: &'static str,
    place: &'static str,
) -> Source {
    Source { name, page, content, place }
}

/// All that the papers measured.
pub const SOURCES: [Source; 22] = [
    source("table 3.1", 26, "Mako: kinds of pauses", TABLE),
    source("figure 3.4", 38, "Mako, Shenandoah, Semeru: times", TABLE),
    source("table 3.3", 40, "Mako, Shenandoah, Semeru: pauses", TABLE),
    source("figure 3.5", 41, "distribution of pauses; the text has two percentiles", "\"Pauses\""),
    source("figure 3.6", 42, "mutator utilization; no figure", "\"Utilization by the program\""),
    source("table 3.4", 43, "time of address translation", TABLE),
    source("table 3.5", 44, "time of entry allocation", TABLE),
    source("table 3.6", 44, "memory of the indirection table", TABLE),
    source("figure 3.7", 45, "footprints around collections; no figure", "\"Footprint\""),
    source("figure 3.8", 46, "free space inside regions; no figure", TABLE),
    source("figure 3.9", 46, "wasted space; no figure", TABLE),
    source("figure 4.2", 54, "G1 without concurrent tracing: faults, prefetching", TABLE),
    source("figure 4.3", 56, "G1 without concurrent tracing: times, pauses", TABLE),
    source("section 4.4", 69, "MemLiner's barriers with all memory local", TABLE),
    source("figure 4.6", 73, "G1 and MemLiner: times; no figure by program", TABLE),
    source("table 4.2", 74, "MemLiner: speedups", TABLE),
    source("section 4.6.2", 74, "MemLiner on G1: swap-ins, slowdowns", TABLE),
    source("figure 4.7", 75, "MemLiner at other shares of local memory", TABLE),
    source("figure 4.8", 77, "Shenandoah and MemLiner: times; no figure by program", TABLE),
    source("figure 4.9", 78, "MemLiner with Leap, and against Semeru", TABLE),
    source("figure 4.10", 80, "MemLiner: footprints; no figure", "\"Footprint\""),
    source("section 4.6.5", 80, "MemLiner: queues and epochs", TABLE),
];

/// Section 3.5.1, page 39: local memory, and Shenandoah's time as a multiple of Mako's.
pub const THROUGHPUT: [(u32, f64); 3] = [(50, 1.75), (25, 2.57), (13, 4.10)];

/// Table 3.1, page 26.
pub const PAUSE_KINDS: [(&str, &str); 3] = [
    ("pre-tracing pause", "about 5 ms"),
    ("pre-evacuation pause", "about 10 ms"),
    ("wait for a region", "below 5 ms for 95 % of regions of 16 MB"),
];

pub const AVERAGE: &str = "average";
pub const NINETIETH: &str = "90 %";
pub const LONGEST: &str = "longest";
pub const SUM: &str = "sum";

/// Table 3.3, page 40; the 90th percentiles are from section 3.5.2, page 41. Semeru crashed in STC: its average and
/// longest are those before the crash.
pub const PAUSES: [(&str, &str, [&str; 7]); 11] = [
    (AVERAGE, "mako", ["6.06", "5.54", "10.37", "4.63", "5.34", "10.13", "9.90"]),
    (AVERAGE, "shenandoah", ["7.24", "3.67", "1.40", "8.24", "5.48", "15.40", "26.28"]),
    (AVERAGE, "semeru", ["113.10", "345.13", "1627.95", "1699.54", "2463.27", "1303.00", "701.82"]),
    (NINETIETH, "mako", ["-", "11", "-", "-", "-", "18", "-"]),
    (NINETIETH, "shenandoah", ["-", "14", "-", "-", "-", "42", "-"]),
    (LONGEST, "mako", ["15.34", "13.78", "21.11", "11.84", "13.55", "37.74", "69.48"]),
    (LONGEST, "shenandoah", ["86.22", "21.03", "8.81", "74.97", "118.91", "78.21", "183.73"]),
    (
        LONGEST,
        "semeru",
        ["190.52", "502.78", "3266.01", "4323.30", "3599.70", "5988.406", "3066.45"],
    ),
    (SUM, "mako", ["181.78", "183.249", "66.99", "333.31", "272.45", "658.38", "1544.71"]),
    (SUM, "shenandoah", ["188.12", "117.27", "33.61", "1639.21", "1614.33", "1524.07", "5519.67"]),
    (SUM, "semeru", ["2374.96", "4486.61", "11395.59", "79877.97", "86214.51", "56028.832", "-"]),
];

/// Table 3.4, page 43: percent of time.
pub const TRANSLATION: [&str; 7] = ["9.41", "16.19", "21.73", "9.69", "6.18", "7.23", "8.81"];

/// Table 3.5, page 44: percent of time.
pub const ALLOCATION: [&str; 7] = ["3.53", "2.41", "1.33", "0.71", "0.83", "1.48", "2.34"];

/// Table 3.6, page 44: percent of memory.
pub const TABLE_MEMORY: [&str; 7] = ["8.64", "14.33", "14.35", "13.62", "14.66", "14.78", "25.61"];

/// Section 3.5.5, page 46: megabytes, seconds of SPR at 25 % local memory, milliseconds of an average pause.
pub const REGION_SIZES: [(u32, f64, &str); 3] =
    [(8, 281.59, "8.13"), (16, 272.71, "10.1"), (32, 270.99, "15.32")];

/// Section 4.2, page 55, with figure 4.2c: faults that prefetching avoids, with concurrent tracing and without; and how
/// many times the rate of faults is with tracing (9.6 of 3.5 thousand per second and thread).
pub const PREFETCHED: [(&str, &str); 2] = [("with", "39 %"), ("without", "65 %")];
pub const FAULT_RATE: f64 = 9.6 / 3.5;

/// Section 4.2, page 56, with figure 4.3, of G1 without concurrent tracing: time, and the sum of pauses, as multiples
/// of those with it; the longest full collection of Spark LR.
pub const WITHOUT_TRACING: [f64; 2] = [1.18, 2.7];
pub const LONGEST_FULL: &str = "76.9 s";

/// Section 4.4, page 69: percent of time that MemLiner's barriers take with all memory local.
pub const BARRIERS: [(&str, f64); 2] = [("shenandoah", 2.0), ("g1", 5.0)];

/// Table 4.2, page 74: application, collecting, all.
pub const SPEEDUPS: [(&str, u32, [f64; 3]); 4] = [
    ("g1", 25, [1.45, 1.65, 1.48]),
    ("g1", 13, [1.46, 1.79, 1.51]),
    ("shenandoah", 25, [1.88, 15.33, 2.16]),
    ("shenandoah", 13, [1.60, 6.20, 1.80]),
];

/// Sections 4.6.2 (page 74) and 4.6.3 (page 76): percent less, on demand and of all pages. Of G1 the paper has one
/// figure for both shares.
pub const SWAP_INS: [(&str, u32, [u32; 2]); 4] = [
    ("g1", 25, [81, 56]),
    ("g1", 13, [81, 56]),
    ("shenandoah", 25, [82, 56]),
    ("shenandoah", 13, [79, 22]),
];

/// Section 4.6.2, page 74: the time as a multiple of G1's with all memory local.
pub const SLOWDOWNS: [(&str, u32, f64); 4] =
    [("g1", 25, 2.17), ("g1", 13, 3.73), ("memliner-g1", 25, 1.47), ("memliner-g1", 13, 2.48)];

/// Section 4.6.2, page 75, with figure 4.7: at this share of local memory and above, G1 and MemLiner take the same.
pub const TURNING_POINT: u32 = 50;

/// Section 4.6.4, page 78, with figures 4.9a and 4.9b, of G1 with Leap at 25 %: time, swap-ins on demand, all swap-ins
/// (percent less), and section 4.1, page 52: coverage, accuracy.
pub const LEAP_TIME: f64 = 1.6;
pub const LEAP_SWAP_INS: [u32; 2] = [58, 53];
pub const LEAP_PREFETCHING: [f64; 2] = [1.5, 1.7];

/// Section 4.6.5, page 80, at 25 %: programs and ours that stand for them, percent of objects scanned from queues,
/// percent of time that is lost without epochs.
pub const QUEUES: [(&str, &[&str], &str, &str); 3] = [
    ("SLR", &["dataset-regression"], "45 %", "+8.6 %"),
    ("SKM", &["dataset-kmeans"], "42 %", "+8.8 %"),
    ("STC", &["spark-closure", "dataset-closure"], "11 %", "+11.3 %"),
];
