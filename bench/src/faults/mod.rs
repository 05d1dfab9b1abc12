//! The cost of a page that is not resident: ours, its parts, and that of kernel swap.
//!
//! Each part runs in a process of its own, so that no fault handler meets another's pages, and prints one [`Report`].
//! The runner (`gc-bench faults`) lets parts take turns.
//!
//! | part | one access |
//! |---|---|
//! | [`bare`]: fault | a page that `userfaultfd` calls missing, copied in by the handler from memory of the process |
//! | [`bare`]: ring | 16 bytes to a thread that spins, and 4 KiB back, through shared memory |
//! | [`ours`]: read, write | a random page of a far space whose server is another process |
//! | [`plain`]: touch | a random page of ordinary memory: of a process that a cgroup confines, kernel swap |
//! | [`ours`], [`plain`]: scan | all of it, in order, each thread a part |

pub mod bare;
pub mod ours;
pub mod plain;

use std::sync::Barrier;
use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;

use serde::{Deserialize, Serialize};

pub use swap::PAGE_BYTES;

/// How much a part is to do.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Pages of the memory that is accessed.
    pub pages: usize,
    /// Of them, pages that may be in local memory.
    pub local_pages: usize,
    /// Threads, which access random pages at the same time.
    pub threads: usize,
    /// Accesses of each thread; a scan reads all pages once, each thread through its part.
    pub accesses: usize,
    pub seed: u64,
}

/// The measurements of a part.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// Accesses that were measured: those that had to wait for a page.
    pub count: usize,
    pub p50_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
    /// From the first access to the last, of all threads.
    pub seconds: f64,
    /// Bytes of the pages that were accessed.
    pub bytes: u64,
    /// Faults that had to evict pages themselves; only ours count them, and these.
    pub self_evictions: u64,
    /// Faults that took the frame of a page that was ready to be evicted.
    pub exchanges: u64,
    /// Looks again at the count of frames, since another thread had just changed it.
    pub retries: u64,
    /// Faults that waited for another thread's fault on the same page.
    pub waits: u64,
    /// Pages that came in the frames of pages that a walk had passed.
    pub recycled: u64,
}

impl Report {
    /// Sorts out the times of single accesses, in nanoseconds.
    pub fn of(mut times: Vec<u64>, seconds: f64) -> Report {
        times.sort_unstable();
        let quantile = |per_mille: usize| match times.len() {
            0 => f64::NAN,
            count => times[(count - 1) * per_mille / 1000] as f64 / 1e3,
        };
        Report {
            count: times.len(),
            p50_us: quantile(500),
            p99_us: quantile(990),
            p999_us: quantile(999),
            seconds,
            bytes: (times.len() * PAGE_BYTES) as u64,
            ..Report::default()
        }
    }

    /// Of a scan, which has no single accesses.
    pub fn of_scan(bytes: usize, seconds: f64) -> Report {
        Report { bytes: bytes as u64, seconds, ..Report::default() }
    }

    pub fn gib_per_second(&self) -> f64 {
        self.bytes as f64 / self.seconds / (1 << 30) as f64
    }
}

/// Lets all threads begin at once, each with a part of the words, which it adds up in order. Returns the seconds from
/// the first to the last.
///
/// # Safety
/// `words` words can be read from `at` on, and no thread changes them.
pub unsafe fn scan(threads: usize, at: *const u64, words: usize) -> f64 {
    let (at, part) = (at.expose_provenance(), words / threads);
    let barrier = Barrier::new(threads);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|thread| {
                let barrier = &barrier;
                scope.spawn(move || {
                    let from =
                        std::ptr::with_exposed_provenance::<u64>(at).wrapping_add(thread * part);
                    barrier.wait();
                    Span::of(|| {
                        // SAFETY: promised by the caller.
                        std::hint::black_box(unsafe { plain::sum(from, part) });
                    })
                })
            })
            .collect();
        let join = |thread: ScopedJoinHandle<Span>| thread.join().expect("a scanning thread");
        Span::seconds_of_all(&threads.into_iter().map(join).collect::<Vec<_>>())
    })
}

/// The start and the end of some work. Each thread takes its own: a thread that only waits for the others starts its
/// clock when it gets a CPU, and by then the others may be well on their way.
#[derive(Clone, Copy)]
struct Span {
    start: Instant,
    end: Instant,
}

impl Span {
    fn of(what: impl FnOnce()) -> Span {
        let start = Instant::now();
        what();
        Span { start, end: Instant::now() }
    }

    /// Seconds from the first start to the last end; 0 of none.
    fn seconds_of_all(spans: &[Span]) -> f64 {
        let first = spans.iter().map(|span| span.start).min();
        let last = spans.iter().map(|span| span.end).max();
        first.zip(last).map_or(0.0, |(first, last)| (last - first).as_secs_f64())
    }
}

/// Lets all threads begin at once; each measures its own accesses. `access` does the n-th one of a thread and says
/// how many nanoseconds it took, `None` if it met no missing page.
pub fn measure(
    work: Work,
    access: impl Fn(usize, usize, &mut Random) -> Option<u64> + Sync,
) -> Report {
    let barrier = Barrier::new(work.threads + 1);
    let (times, seconds) = thread::scope(|scope| {
        let threads: Vec<_> = (0..work.threads)
            .map(|thread| {
                let (barrier, access) = (&barrier, &access);
                scope.spawn(move || {
                    let mut random = Random::new(work.seed.wrapping_add(thread as u64));
                    barrier.wait();
                    (0..work.accesses)
                        .filter_map(|n| access(thread, n, &mut random))
                        .collect::<Vec<u64>>()
                })
            })
            .collect();
        barrier.wait();
        let start = Instant::now();
        let times: Vec<u64> =
            threads.into_iter().flat_map(|t| t.join().expect("a measuring thread")).collect();
        (times, start.elapsed().as_secs_f64())
    });
    Report::of(times, seconds)
}

/// How many nanoseconds something takes.
pub fn timed(what: impl FnOnce()) -> u64 {
    let start = Instant::now();
    what();
    start.elapsed().as_nanos() as u64
}

/// SplitMix64: the same numbers everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// A number below `limit`, which is at least 1.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) as usize % limit
    }

    /// All numbers below `count`, in random order.
    pub fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..count).collect();
        for i in (1..count).rev() {
            all.swap(i, self.below(i + 1));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn quantiles_and_rates() {
        let report = Report::of((1..=1000).map(|us| us * 1000).collect(), 2.0);
        assert_eq!((report.count, report.p50_us, report.p999_us), (1000, 500.0, 999.0));
        let scan = Report::of_scan(1 << 30, 0.5);
        assert_eq!(scan.gib_per_second(), 2.0);
        assert!(Report::of(Vec::new(), 1.0).p50_us.is_nan());
    }

    #[test]
    fn threads_take_from_the_first_start_to_the_last_end() {
        let zero = Instant::now();
        let span = |start, end| {
            let at = |ms| zero + Duration::from_millis(ms);
            Span { start: at(start), end: at(end) }
        };
        assert_eq!(Span::seconds_of_all(&[span(7, 9), span(2, 5), span(4, 6)]), 0.007);
        assert_eq!(Span::seconds_of_all(&[]), 0.0);
        let slept = Span::of(|| thread::sleep(Duration::from_millis(2)));
        assert!(Span::seconds_of_all(&[slept]) >= 0.002);
    }

    #[test]
    fn a_permutation_has_every_number_once() {
        let mut all = Random::new(1).permutation(1000);
        assert_ne!(all, (0..1000).collect::<Vec<_>>());
        all.sort_unstable();
        assert_eq!(all, (0..1000).collect::<Vec<_>>());
    }
}
