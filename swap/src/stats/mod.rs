//! Counters, and the thread class to which a fault is attributed.

pub mod fault_profile;
pub mod fault_trace;
pub mod latency;

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::PAGE_BYTES;
use crate::frames::budget::Taken;
use crate::replacement::prefetch::Used;
use crate::stats::latency::{Latencies, LatencyHistogram};

/// The class to which a thread's faults are attributed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum ThreadClass {
    /// A thread of the program. The default.
    #[default]
    Mutator = 0,
    /// A thread of the collector.
    Gc = 1,
}

thread_local! {
    // Without destructor and lazy initialisation, so that the fault handler may read it.
    static CLASS: Cell<ThreadClass> = const { Cell::new(ThreadClass::Mutator) };
    static FETCH_FAULTS: Cell<u64> = const { Cell::new(0) };
    static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) };
    static ACTIVITY: Cell<Activity> = const { Cell::new(Activity::Other) };
}

/// Sets the class of the calling thread; returns the previous one.
pub fn set_thread_class(class: ThreadClass) -> ThreadClass {
    CLASS.replace(class)
}

/// Faults of the calling thread so far on pages that had to be fetched.
pub fn thread_fetch_faults() -> u64 {
    FETCH_FAULTS.get()
}

/// The class of the calling thread.
pub fn thread_class() -> ThreadClass {
    CLASS.get()
}

/// What a collector's thread is doing, for profiles of faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Activity {
    /// Nothing of the following. The default.
    #[default]
    Other = 0,
    /// Finding the objects that live.
    Tracing = 1,
    /// Moving objects, and making references lead to their new places, in a collection of the whole heap or of
    /// its old part.
    Evacuation = 2,
    /// A collection of young objects.
    MinorCollection = 3,
}

impl Activity {
    pub const ALL: [Activity; 4] =
        [Activity::Other, Activity::Tracing, Activity::Evacuation, Activity::MinorCollection];
}

/// While this lives, the thread that made it has another [`Activity`].
#[must_use]
pub struct During {
    before: Activity,
    /// It belongs to its thread.
    _thread: PhantomData<*const ()>,
}

impl Drop for During {
    fn drop(&mut self) {
        ACTIVITY.set(self.before);
    }
}

/// Says what the calling thread is doing, until the result is dropped.
pub fn during(activity: Activity) -> During {
    During { before: ACTIVITY.replace(activity), _thread: PhantomData }
}

/// What the calling thread is doing.
pub fn activity() -> Activity {
    ACTIVITY.get()
}

/// Why a thread had to come to the pager.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum FaultCause {
    /// The page was on its server only.
    Fetch = 0,
    /// The page was never written before.
    Zero = 1,
    /// The page was clean, and is written.
    Protect = 2,
    /// Another thread was bringing the page in or moving it, or has just done so.
    Wait = 3,
}

impl FaultCause {
    pub const ALL: [FaultCause; 4] =
        [FaultCause::Fetch, FaultCause::Zero, FaultCause::Protect, FaultCause::Wait];

    /// As it is written in reports.
    pub fn name(self) -> &'static str {
        ["fetch", "zero", "protect", "wait"][self as usize]
    }
}

/// Counters of a pager since its start. Arrays of two are indexed by [`ThreadClass`].
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct PagerStats {
    /// Faults on pages that had to be fetched.
    pub fetch_faults: [u64; 2],
    /// Faults on pages that were never written: nothing fetched.
    pub zero_faults: [u64; 2],
    /// Faults because a clean page was written for the first time. None where the kernel notes writes.
    pub protect_faults: [u64; 2],
    /// Faults that found the page locked by another thread and waited.
    pub waits: [u64; 2],
    /// Faults that had to make room themselves.
    pub self_evictions: [u64; 2],
    /// Pages fetched without a fault ([`crate::Pager::fetch`], pin).
    pub prefetched_pages: u64,
    /// Pages that came along with the page of a fault.
    pub ahead_pages: u64,
    /// Pages that came because a word on the page of a fault leads to them ([`crate::Chase`]).
    pub followed_pages: u64,
    /// Of the pages that were to come along, those for which a probe stood (`prefetch::Probes`) that is over.
    pub probed_pages: u64,
    /// Of these, pages that were used.
    pub probed_used_pages: u64,
    /// Bytes read from servers.
    pub fetched_bytes: u64,
    /// Bytes written to servers.
    pub written_bytes: u64,
    /// Pages dropped for lack of room.
    pub evicted_pages: u64,
    /// Of these, pages that were clean and not written.
    pub evicted_clean_pages: u64,
    /// Pages that came in the frames of others, which a walk had passed.
    pub recycled_pages: u64,
    /// Pages that were brought in the frame of one that was ready for eviction, since a fault found no room.
    pub exchanged_pages: u64,
    /// Frames that were kept when their pages were evicted or freed.
    pub stocked_frames: u64,
    /// Of these, frames that other pages came in.
    pub stocked_used_frames: u64,
    /// How long the evictor has made room, nanoseconds, including its waits for a CPU.
    pub evictor_evicted_ns: u64,
    /// How long it has looked for pages that can be evicted, and written dirty ones back.
    pub evictor_cleaned_ns: u64,
    /// How often a thread that took a frame found that another one had just taken or freed one, and looked again.
    pub frame_retries: u64,
    /// Pages that are in local memory now.
    pub resident_pages: u64,
    /// The most pages that ever were.
    pub resident_pages_max: u64,
    /// How long faults took in the handler, by [`FaultCause`].
    pub latencies: [Latencies; 4],
}

impl PagerStats {
    /// Of the pages that were brought ahead, the share that was used (MemLiner, section 4.6: hits among prefetched
    /// pages); an estimate by samples. `None` before the first sample.
    pub fn prefetch_accuracy(&self) -> Option<f64> {
        let probed = self.probed_pages as f64;
        (probed > 0.0).then(|| self.probed_used_pages as f64 / probed)
    }

    /// Of the faults that there would be without prefetching, the share that it spared (MemLiner, section 4.6: hits
    /// among all page faults); an estimate by samples.
    pub fn prefetch_coverage(&self) -> Option<f64> {
        let hits = self.prefetch_accuracy()? * self.ahead_pages as f64;
        let faults = hits + self.fetch_faults.iter().sum::<u64>() as f64;
        (faults > 0.0).then(|| hits / faults)
    }
}

/// Why a page is touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Touch {
    /// A fault.
    Fault,
    /// A method of the pager.
    Call,
}

/// The counters behind [`PagerStats`], in as many shards as there are CPUs, so that threads that fault at the same time
/// do not wait for each other's cache lines. Counted by any thread, also in the fault handler; relaxed, since they
/// order nothing. What is counted, the calling thread's shard counts.
pub(crate) struct Counters {
    shards: Box<[Shard]>,
}

impl Default for Counters {
    fn default() -> Counters {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let shards = cpus.next_power_of_two().min(SHARDS_MAX);
        Counters { shards: (0..shards).map(|_| Shard::default()).collect() }
    }
}

impl Deref for Counters {
    type Target = Shard;

    #[inline]
    fn deref(&self) -> &Shard {
        &self.shards[thread_number() % self.shards.len()]
    }
}

impl Counters {
    /// Faults of threads of a class that fetched a page.
    pub fn fetch_faults(&self, class: ThreadClass) -> u64 {
        self.shards.iter().map(|shard| shard.fetch_faults[class as usize].load(Relaxed)).sum()
    }

    pub fn read(&self, resident_pages: usize) -> PagerStats {
        let sum = |of: fn(&Shard) -> &AtomicU64| -> u64 {
            self.shards.iter().map(|shard| of(shard).load(Relaxed)).sum()
        };
        let pair = |of: fn(&Shard) -> &[AtomicU64; 2]| {
            [0, 1].map(|class| self.shards.iter().map(|shard| of(shard)[class].load(Relaxed)).sum())
        };
        let max = |shard: &Shard| shard.resident_pages_max.load(Relaxed);
        PagerStats {
            fetch_faults: pair(|shard| &shard.fetch_faults),
            zero_faults: pair(|shard| &shard.zero_faults),
            protect_faults: pair(|shard| &shard.protect_faults),
            waits: pair(|shard| &shard.waits),
            self_evictions: pair(|shard| &shard.self_evictions),
            prefetched_pages: sum(|shard| &shard.prefetched_pages),
            ahead_pages: sum(|shard| &shard.ahead_pages),
            followed_pages: sum(|shard| &shard.followed_pages),
            probed_pages: sum(|shard| &shard.probed_pages),
            probed_used_pages: sum(|shard| &shard.probed_used_pages),
            fetched_bytes: sum(|shard| &shard.fetched_pages) * PAGE_BYTES as u64,
            written_bytes: sum(|shard| &shard.written_pages) * PAGE_BYTES as u64,
            evicted_pages: sum(|shard| &shard.evicted_pages),
            evicted_clean_pages: sum(|shard| &shard.evicted_clean_pages),
            recycled_pages: sum(|shard| &shard.recycled_pages),
            exchanged_pages: sum(|shard| &shard.exchanged_pages),
            stocked_frames: sum(|shard| &shard.stocked_frames),
            stocked_used_frames: sum(|shard| &shard.stocked_used_frames),
            evictor_evicted_ns: sum(|shard| &shard.evictor_evicted_ns),
            evictor_cleaned_ns: sum(|shard| &shard.evictor_cleaned_ns),
            frame_retries: sum(|shard| &shard.frame_retries),
            resident_pages: resident_pages as u64,
            resident_pages_max: self.shards.iter().map(max).max().unwrap_or(0),
            latencies: std::array::from_fn(|cause| {
                let mut all = Latencies::default();
                self.shards.iter().for_each(|shard| shard.latencies[cause].add_to(&mut all));
                all
            }),
        }
    }
}

/// The number of the calling thread, from 0 on in the order of their first counts. Async-signal-safe.
fn thread_number() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.get();
    if number != usize::MAX {
        return number;
    }
    let number = THREADS.fetch_add(1, Relaxed);
    NUMBER.set(number);
    number
}

/// With more CPUs than these several threads share one: a shard has 1 KB.
const SHARDS_MAX: usize = 64;

/// The counters of some threads.
#[derive(Default, Debug)]
#[repr(align(128))]
pub(crate) struct Shard {
    fetch_faults: [AtomicU64; 2],
    zero_faults: [AtomicU64; 2],
    protect_faults: [AtomicU64; 2],
    waits: [AtomicU64; 2],
    self_evictions: [AtomicU64; 2],
    prefetched_pages: AtomicU64,
    ahead_pages: AtomicU64,
    followed_pages: AtomicU64,
    probed_pages: AtomicU64,
    probed_used_pages: AtomicU64,
    fetched_pages: AtomicU64,
    written_pages: AtomicU64,
    evicted_pages: AtomicU64,
    evicted_clean_pages: AtomicU64,
    recycled_pages: AtomicU64,
    exchanged_pages: AtomicU64,
    stocked_frames: AtomicU64,
    stocked_used_frames: AtomicU64,
    evictor_evicted_ns: AtomicU64,
    evictor_cleaned_ns: AtomicU64,
    frame_retries: AtomicU64,
    resident_pages_max: AtomicU64,
    latencies: [LatencyHistogram; 4],
}

impl Shard {
    /// A page with those that came along with it.
    pub fn fetched(&self, touch: Touch, pages: usize) {
        add(&self.fetched_pages, pages);
        match touch {
            Touch::Fault => {
                self.by_class(&self.fetch_faults);
                FETCH_FAULTS.set(FETCH_FAULTS.get() + 1);
                add(&self.ahead_pages, pages - 1);
            }
            Touch::Call => add(&self.prefetched_pages, pages),
        }
    }

    /// `pages` more pages came along with it.
    pub fn ahead(&self, pages: usize) {
        add(&self.ahead_pages, pages);
        add(&self.fetched_pages, pages);
    }

    /// One more page came, to which a word leads.
    pub fn followed(&self) {
        add(&self.followed_pages, 1);
        add(&self.fetched_pages, 1);
    }

    pub fn probed(&self, shown: Used) {
        add(&self.probed_pages, shown.probed);
        add(&self.probed_used_pages, shown.used);
    }

    pub fn zero_fault(&self, touch: Touch) {
        if touch == Touch::Fault {
            self.by_class(&self.zero_faults);
        }
    }

    pub fn protect_fault(&self, touch: Touch) {
        if touch == Touch::Fault {
            self.by_class(&self.protect_faults);
        }
    }

    /// A fault has taken `ns` nanoseconds.
    pub fn took(&self, cause: FaultCause, ns: u64) {
        self.latencies[cause as usize].add(ns);
    }

    pub fn waited(&self) {
        self.by_class(&self.waits);
    }

    pub fn self_eviction(&self, touch: Touch) {
        if touch == Touch::Fault {
            self.by_class(&self.self_evictions);
        }
    }

    pub fn evicted(&self, pages: usize, clean: usize) {
        add(&self.evicted_pages, pages);
        add(&self.evicted_clean_pages, clean);
    }

    pub fn recycled(&self, pages: usize) {
        add(&self.recycled_pages, pages);
    }

    pub fn exchanged(&self) {
        add(&self.exchanged_pages, 1);
    }

    pub fn cached(&self, frames: usize) {
        add(&self.stocked_frames, frames);
    }

    pub fn used_cached(&self, frames: usize) {
        add(&self.stocked_used_frames, frames);
    }

    pub fn evictor_evicted(&self, ns: u64) {
        self.evictor_evicted_ns.fetch_add(ns, Relaxed);
    }

    pub fn evictor_cleaned(&self, ns: u64) {
        self.evictor_cleaned_ns.fetch_add(ns, Relaxed);
    }

    pub fn written(&self, pages: usize) {
        add(&self.written_pages, pages);
    }

    /// A frame was taken for a page.
    pub fn took_frame(&self, taken: Taken) {
        let resident = taken.resident as u64;
        if self.resident_pages_max.load(Relaxed) < resident {
            self.resident_pages_max.fetch_max(resident, Relaxed);
        }
        if taken.retries > 0 {
            add(&self.frame_retries, taken.retries as usize);
        }
    }

    fn by_class(&self, counts: &[AtomicU64; 2]) {
        add(&counts[thread_class() as usize], 1);
    }
}

fn add(counter: &AtomicU64, count: usize) {
    counter.fetch_add(count as u64, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_of_all_threads_are_summed() {
        let counters = Counters { shards: (0..4).map(|_| Shard::default()).collect() };
        std::thread::scope(|scope| {
            for pages in 1..=10 {
                let counters = &counters;
                scope.spawn(move || {
                    counters.fetched(Touch::Fault, pages);
                    counters.took(FaultCause::Fetch, 1_000);
                    counters.took_frame(Taken { resident: 100 - pages, free: 1, retries: 2 });
                });
            }
        });
        let read = counters.read(7);
        let pages = [read.ahead_pages, read.fetched_bytes / PAGE_BYTES as u64];
        assert_eq!((read.fetch_faults, counters.fetch_faults(ThreadClass::Mutator)), ([10, 0], 10));
        assert_eq!((pages, read.frame_retries), ([45, 55], 20));
        let latencies = read.latencies[FaultCause::Fetch as usize];
        assert_eq!((latencies.count(), latencies.total_ns), (10, 10_000));
        assert_eq!((read.resident_pages, read.resident_pages_max), (7, 99));
        let used = counters.shards.iter().filter(|shard| shard.frame_retries.load(Relaxed) > 0);
        assert!(used.count() > 1, "ten threads count in four shards");
    }
}
