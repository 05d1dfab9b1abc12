//! The pauses and the heap of HotSpot, by its own log.

use base::units::parse_bytes;

use crate::gc_bench::counters::Cycles;
use crate::gc_bench::trace::{Footprint, Span};

/// The option that makes HotSpot write the log to `file`.
pub fn option(file: &std::path::Path) -> String {
    format!("-Xlog:gc,gc+phases,safepoint:file={}:uptime,tags:filecount=0", file.display())
}

/// The option that makes HotSpot write to `file` where its heap is.
pub fn heap_option(file: &std::path::Path) -> String {
    format!("-Xlog:gc+heap+coops=debug:file={}:uptime,tags:filecount=0", file.display())
}

/// The addresses of the heap. ZGC's has several, and its log does not hold them.
pub fn heap(text: &str) -> Option<std::ops::Range<u64>> {
    let line = after(text, "Heap address: 0x")?.lines().next()?;
    let (address, rest) = line.split_once(", size: ")?;
    let start = u64::from_str_radix(address, 16).ok()?;
    let megabytes: u64 = rest.split(' ').next()?.parse().ok()?;
    Some(start..start + (megabytes << 20))
}

#[derive(Debug, Default, PartialEq)]
pub struct Log {
    pub stops: Vec<Span>,
    pub collecting: Vec<Span>,
    pub footprint: Vec<Footprint>,
    pub cycles: Cycles,
}

/// Lines of other kinds are skipped.
pub fn parse(text: &str) -> Log {
    let mut log = Log::default();
    // HotSpot logs the operation of a safepoint before its duration, the time to reach the safepoint included.
    let mut has_collected = false;
    for line in text.lines() {
        let Some((ended_ms, tags, message)) = decorated(line) else { continue };
        if tags == "safepoint" {
            if let Some(ms) = after(message, "Total: ").and_then(nanoseconds) {
                let stop = Span { at_ms: ended_ms - ms, ms };
                log.stops.push(stop);
                if std::mem::take(&mut has_collected) {
                    log.collecting.push(stop);
                }
            }
        } else if tags == "gc" || tags == "gc,phases" {
            let is_end = message.rsplit(' ').next().and_then(milliseconds).is_some();
            has_collected |= message.contains(") Pause ") && is_end;
            if tags == "gc" {
                log.cycles.all = log.cycles.all.max(number(message).map_or(0, |last| last + 1));
                log.cycles.degenerated +=
                    u64::from(is_end && message.contains(") Pause Degenerated GC"));
                log.cycles.full += u64::from(is_end && message.contains(") Pause Full"));
            }
            if tags == "gc"
                && let Some((before_bytes, after_bytes)) = message.split(' ').find_map(change)
            {
                log.footprint.push(Footprint { at_ms: ended_ms, before_bytes, after_bytes });
            }
        }
    }
    log
}

/// `[0.123s][gc     ] GC(0) ...`: milliseconds, tags, the rest.
fn decorated(line: &str) -> Option<(f64, &str, &str)> {
    let (uptime, rest) = line.strip_prefix('[')?.split_once("s][")?;
    let (tags, message) = rest.split_once(']')?;
    Some((uptime.parse::<f64>().ok()? * 1e3, tags.trim(), message.trim()))
}

/// The number of a collection, from 0: `GC(7) ...`.
fn number(message: &str) -> Option<u64> {
    message.strip_prefix("GC(")?.split_once(')')?.0.parse().ok()
}

fn after<'a>(message: &'a str, key: &str) -> Option<&'a str> {
    message.rfind(key).map(|at| &message[at + key.len()..])
}

fn nanoseconds(text: &str) -> Option<f64> {
    Some(text.trim().strip_suffix(" ns")?.parse::<f64>().ok()? / 1e6)
}

fn milliseconds(text: &str) -> Option<f64> {
    text.strip_suffix("ms")?.parse().ok()
}

/// `24M->3M(64M)`, or ZGC's `60M(9%)->20M(3%)`.
fn change(word: &str) -> Option<(u64, u64)> {
    let (before, after) = word.split_once("->")?;
    let bytes = |text: &str| {
        let text = text.split('(').next().unwrap_or(text);
        Some(parse_bytes(text)? as u64)
    };
    Some((bytes(before)?, bytes(after)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heap_is_found() {
        let line = "[0.007s][gc,heap,coops] Heap address: 0x00000000fc000000, size: 64 MB, \
                    Compressed Oops mode: 32-bit\n";
        assert_eq!(heap(line), Some(0xfc00_0000..0x1_0000_0000));
        assert_eq!(heap("[0.007s][gc] Using The Z Garbage Collector\n"), None);
    }

    #[test]
    fn pauses_and_footprints_of_all_collectors_are_read() {
        let log = parse(
            "[0.010s][gc] Using G1\n\
             [0.123s][gc       ] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->3M(64M) 2.500ms\n\
             [0.124s][safepoint] Safepoint \"G1CollectForAllocation\", Time since last: 9 ns, Reaching \
             safepoint: 100 ns, Cleanup: 1 ns, At safepoint: 2999900 ns, Total: 3000000 ns\n\
             [0.200s][gc] GC(1) Concurrent Mark Cycle 20.000ms\n\
             [0.250s][gc] GC(2) Concurrent cleanup 20M->512K(64M) 0.100ms\n\
             [0.300s][gc] GC(3) Garbage Collection (Warmup) 60M(9%)->20M(3%)\n\
             [0.301s][gc,phases] GC(3) Pause Mark End 0.500ms\n\
             [0.302s][gc,phases] GC(3)   Merge Heap Roots: 0.1ms\n\
             [0.303s][safepoint] Safepoint \"ZMarkEnd\", Reaching safepoint: 100 ns, Total: 700000 ns\n\
             [0.304s][safepoint] Safepoint \"Cleanup\", Reaching safepoint: 100 ns, Total: 90000 ns\n\
             [0.305s][gc] GC(4) Pause Full (G1 Compaction Pause) 60M->20M(64M) 9.000ms\n\
             [0.306s][gc] GC(5) Pause Degenerated GC (Mark) 60M->20M(64M) 7.000ms\n\
             [0.307s][gc] GC(6) Pause Full\n\
             broken\n[x][gc] GC(1) Pause 1ms\n",
        );
        assert_eq!(log.cycles, Cycles { all: 7, degenerated: 1, full: 1 });
        let pauses: Vec<f64> = log.collecting.iter().map(|span| span.ms).collect();
        assert_eq!(pauses, [3.0, 0.7], "ZGC's are phases; the last one was for something else");
        assert_eq!((log.stops.len(), log.stops[0]), (3, Span { at_ms: 121.0, ms: 3.0 }));
        let bytes: Vec<(u64, u64)> =
            log.footprint.iter().map(|f| (f.before_bytes >> 10, f.after_bytes >> 10)).collect();
        assert_eq!(bytes[..2], [(24 << 10, 3 << 10), (20 << 10, 512)]);
        assert_eq!(bytes[2..], [(60 << 10, 20 << 10); 3]);
    }
}
