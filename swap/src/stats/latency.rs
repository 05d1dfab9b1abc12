//! How long faults take: counts by power of two.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Buckets of a histogram: the last one has everything that took longer than the others' limits.
pub const LATENCY_BUCKETS: usize = 24;

/// The contents of a histogram at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latencies {
    /// How many took at most [`Latencies::limit_ns`] of their bucket, and longer than the bucket before.
    pub counts: [u64; LATENCY_BUCKETS],
    /// All of them together, nanoseconds.
    pub total_ns: u64,
}

impl Latencies {
    /// The longest time that a bucket counts, nanoseconds: 512, 1024, ... The last bucket has no limit.
    pub const fn limit_ns(bucket: usize) -> Option<u64> {
        if bucket + 1 < LATENCY_BUCKETS { Some(FIRST_NS << bucket) } else { None }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// A time, in nanoseconds, that `per_mille` of a thousand did not exceed: the limit of the bucket that the
    /// quantile lies in, so up to twice too long. `None` if nothing was counted, or it lies in the last bucket.
    pub fn quantile_ns(&self, per_mille: u64) -> Option<u64> {
        let wanted = (self.count() * per_mille).div_ceil(1000).max(1);
        let mut seen = 0;
        let bucket = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        Latencies::limit_ns(bucket)
    }
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies { counts: [0; LATENCY_BUCKETS], total_ns: 0 }
    }
}

/// A histogram that any thread adds to, also in a signal handler. Relaxed: its numbers order nothing.
#[derive(Default, Debug)]
pub(crate) struct LatencyHistogram {
    counts: [AtomicU64; LATENCY_BUCKETS],
    total_ns: AtomicU64,
}

impl LatencyHistogram {
    /// Counts one fault of `ns` nanoseconds.
    pub fn add(&self, ns: u64) {
        self.counts[bucket(ns)].fetch_add(1, Relaxed);
        self.total_ns.fetch_add(ns, Relaxed);
    }

    /// Adds its contents to others.
    pub fn add_to(&self, all: &mut Latencies) {
        for (sum, count) in all.counts.iter_mut().zip(&self.counts) {
            *sum += count.load(Relaxed);
        }
        all.total_ns += self.total_ns.load(Relaxed);
    }
}

fn bucket(ns: u64) -> usize {
    let doublings = (ns.max(1) - 1) / FIRST_NS;
    ((u64::BITS - doublings.leading_zeros()) as usize).min(LATENCY_BUCKETS - 1)
}

const FIRST_NS: u64 = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_counted_where_it_belongs() {
        for bucket_number in 0..LATENCY_BUCKETS - 1 {
            let limit = Latencies::limit_ns(bucket_number).unwrap();
            assert_eq!(bucket(limit), bucket_number, "{limit}");
            assert_eq!(bucket(limit + 1), bucket_number + 1, "{limit} and one");
        }
        assert_eq!((bucket(0), bucket(u64::MAX)), (0, LATENCY_BUCKETS - 1));
        assert_eq!(Latencies::limit_ns(LATENCY_BUCKETS - 1), None);
    }

    #[test]
    fn quantiles() {
        let histogram = LatencyHistogram::default();
        let read = || {
            let mut all = Latencies::default();
            histogram.add_to(&mut all);
            all
        };
        assert_eq!(read().quantile_ns(500), None);
        (0..990).for_each(|_| histogram.add(5_000));
        (0..10).for_each(|_| histogram.add(100_000));
        let all = read();
        assert_eq!((all.count(), all.total_ns), (1000, 990 * 5_000 + 10 * 100_000));
        assert_eq!(all.quantile_ns(500), Some(8192));
        assert_eq!(all.quantile_ns(990), Some(8192));
        assert_eq!(all.quantile_ns(991), Some(131_072));
        histogram.add(u64::MAX / 2);
        assert_eq!(read().quantile_ns(1000), None);
    }
}
