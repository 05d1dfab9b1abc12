//! How much of a peer is in memory while it runs, its heap apart: time averages of samples of its mappings.
//!
//! A cgroup's limit is for all of a process, and the kernel swaps what lies outside of the heap as well. So a peer may
//! have more of its heap in memory than the share that it was given, so its residency is measured.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::java::footprint::{Mapping, kib};

/// The resident memory of a run, on the average over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Residency {
    /// Of the Java heap, bytes.
    pub heap_bytes: u64,
    /// Of all of the process, the heap included, bytes.
    pub all_bytes: u64,
    /// Of how many samples that is the average; 0 if nothing is known.
    pub samples: u64,
}

/// The resident memory at a moment, bytes. Shared memory that is mapped more than once counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resident {
    /// Of the Java heap.
    pub heap_bytes: u64,
    /// Of all of the process.
    pub all_bytes: u64,
}

/// Averages samples over time: between two samples their mean counts, for as long as is between them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Averager {
    first: Option<Resident>,
    last: Option<(f64, Resident)>,
    seconds: f64,
    heap_byte_s: f64,
    all_byte_s: f64,
    samples: u64,
}

impl Averager {
    /// Takes in the resident memory `at_s` seconds after some moment.
    pub fn add(&mut self, at_s: f64, now: Resident) {
        if let Some((before_s, before)) = self.last {
            let passed = (at_s - before_s).max(0.0);
            let area = |a: u64, b: u64| (a as f64 + b as f64) / 2.0 * passed;
            self.heap_byte_s += area(before.heap_bytes, now.heap_bytes);
            self.all_byte_s += area(before.all_bytes, now.all_bytes);
            self.seconds += passed;
        }
        self.first.get_or_insert(now);
        self.last = Some((at_s, now));
        self.samples += 1;
    }

    /// The averages from the first sample to the last.
    pub fn average(&self) -> Residency {
        let mean = |byte_s: f64, only: u64| match self.seconds > 0.0 {
            true => (byte_s / self.seconds) as u64,
            false => only,
        };
        let first = self.first.unwrap_or_default();
        Residency {
            heap_bytes: mean(self.heap_byte_s, first.heap_bytes),
            all_bytes: mean(self.all_byte_s, first.all_bytes),
            samples: self.samples,
        }
    }
}

/// The resident memory of a process; its heap is at these addresses, or the shared memory that ZGC names so. `None`
/// if it has ended, or no mapping is its heap.
pub fn of_process(pid: u32, heap: &Range<u64>) -> Option<Resident> {
    of_smaps(&std::fs::read_to_string(format!("/proc/{pid}/smaps")).ok()?, heap)
}

fn of_smaps(smaps: &str, heap: &Range<u64>) -> Option<Resident> {
    let (mut found, mut has_heap) = (Resident::default(), false);
    let (mut is_heap, mut is_shared) = (false, false);
    for line in smaps.lines() {
        if let Some(Mapping { start, end, .. }) = Mapping::parse(line) {
            let is_zgcs = line.contains(ZGC_HEAP);
            let inside = end.min(heap.end).saturating_sub(start.max(heap.start));
            // The kernel may have joined the heap's end with what lies behind it.
            is_heap = is_zgcs || 2 * inside > end - start;
            (is_shared, has_heap) = (is_zgcs, has_heap || is_heap);
            continue;
        }
        // Each view of shared memory has all of it as `Rss` and its part as `Pss`.
        let key = if is_shared { "Pss:" } else { "Rss:" };
        if let Some(rest) = line.strip_prefix(key) {
            let bytes = kib(rest)? << 10;
            found.all_bytes += bytes;
            found.heap_bytes += if is_heap { bytes } else { 0 };
        }
    }
    has_heap.then_some(found)
}

/// The beginning of the name of ZGC's shared memory.
const ZGC_HEAP: &str = "/memfd:java_heap";

#[cfg(test)]
mod tests {
    use super::*;

    /// Of HotSpot 17 with G1 and a heap of 64 MB at 0xfc000000, shortened.
    const G1: &str = "\
fc000000-fe200000 rw-p 00000000 00:00 0 
Size:              34816 kB
KernelPageSize:        4 kB
Rss:               12000 kB
Pss:               12000 kB
Private_Dirty:     12000 kB
Anonymous:         12000 kB
Swap:              20480 kB
SwapPss:           20480 kB
VmFlags: rd wr mr mw me ac sd 
fe200000-100000000 ---p 00000000 00:00 0 
Size:              30720 kB
Rss:                   0 kB
Pss:                   0 kB
7f0c40000000-7f0c40021000 rw-p 00000000 00:00 0 
Rss:                 132 kB
Pss:                 132 kB
7f0c50000000-7f0c51200000 r-xp 00000000 08:01 1312 /usr/lib/jvm/lib/server/libjvm.so
Rss:                9000 kB
Pss:                4500 kB
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
Rss:                   0 kB
";

    #[test]
    fn a_heap_is_told_from_the_rest_by_its_addresses_without_what_is_swapped() {
        let found = of_smaps(G1, &(0xfc00_0000..0x1_0000_0000)).unwrap();
        assert_eq!(found.heap_bytes, 12000 << 10);
        assert_eq!(found.all_bytes, (12000 + 132 + 9000) << 10);
        assert_eq!(of_smaps(G1, &(0x1000..0x2000)), None, "no mapping is there");
        assert_eq!(of_smaps("", &(0xfc00_0000..0x1_0000_0000)), None);
    }

    #[test]
    fn a_heap_that_is_mapped_three_times_counts_once() {
        let view = |start: u64| {
            format!(
                "{start:x}-{:x} rw-s 00000000 00:01 1031  /memfd:java_heap (deleted)\n\
                 Rss:                 600 kB\nPss:                 200 kB\n",
                start + (64 << 20)
            )
        };
        let smaps: String = [4u64 << 40, 8 << 40, 16 << 40].map(view).concat()
            + "7f00-8f00 rw-p 00000000 00:00 0 \nRss:  50 kB\nPss:  25 kB\n";
        let found = of_smaps(&smaps, &(0..0)).unwrap();
        assert_eq!((found.heap_bytes, found.all_bytes), (600 << 10, 650 << 10));
    }

    #[test]
    fn an_average_is_over_time_and_not_over_samples() {
        let resident = |heap_bytes| Resident { heap_bytes, all_bytes: heap_bytes + 10 };
        let mut averager = Averager::default();
        assert_eq!(averager.average(), Residency::default());
        averager.add(1.0, resident(100));
        assert_eq!(averager.average().heap_bytes, 100);
        for (at_s, bytes) in [(1.1, 100), (1.2, 100), (5.2, 300)] {
            averager.add(at_s, resident(bytes));
        }
        let average = averager.average();
        let expected = (0.2 * 100.0 + 4.0 * 200.0) / 4.2;
        assert_eq!(average.heap_bytes, expected as u64);
        assert_eq!((average.all_bytes - average.heap_bytes, average.samples), (10, 4));
    }
}
