//! MemLiner on G1: what is traced, in which order, and that each mechanism can be switched off.

mod support;

use gc::object::ObjectRef;
use gc::options::{CollectorKind, DelaysMax, Estimator, HeapOptions, LocalMemory};
use std::sync::atomic::Ordering;
use support::{TestThread, TestVm};

/// Counters after some markings of a heap of 8 MiB, a fourth of it local, in which a thread walks along a list of old
/// nodes again and again, from the middle on.
struct Marked {
    vm: TestVm,
}

impl Marked {
    fn new(change: impl Fn(&mut HeapOptions)) -> Marked {
        let mut options = HeapOptions::new(CollectorKind::MemLinerG1, 8 << 20);
        options.region_bytes = Some(64 << 10);
        options.local_memory = LocalMemory::Bytes(2 << 20);
        options.prefetcher = swap::PrefetcherKind::None;
        options.g1.tenuring_age_max = 0;
        options.g1.initiating_percent = 1;
        options.g1.young_percent_max = 10;
        change(&mut options);
        let bomb = AbortOnPanic;
        let marked = Marked { vm: TestVm::new(&options) };
        let thread = TestThread::attach(&marked.vm, 3);
        marked.run(&thread);
        thread.detach(&marked.vm);
        std::mem::forget(bomb);
        marked
    }

    fn run(&self, thread: &TestThread) {
        let vm = &self.vm;
        self.prepend(thread, 0, NODES);
        let mut at = ObjectRef::NULL;
        while self.counter("markings") < MARKINGS {
            assert!(vm.heap.totals().cycles < 3_000, "{:?}", vm.heap.totals().counters);
            for _ in 0..WALKED {
                at = match at.is_null() {
                    true => thread.roots[0].get(),
                    false => vm.heap.barriers().load(&thread.m, at, vm.classes.slot(0)),
                };
            }
            thread.roots[2].set(at);
            // Old regions must grow before the next marking begins.
            self.prepend(thread, 1, 1);
            _ = thread.new_array(vm, vm.classes.bytes, 2000).unwrap();
            thread.poll(vm);
            at = thread.roots[2].get();
        }
        let mut node = thread.roots[0].get();
        for number in (0..NODES).rev() {
            assert_eq!(node.lock_word().load(Ordering::Relaxed), number);
            node = vm.heap.barriers().load(&thread.m, node, vm.classes.slot(0));
        }
        assert!(node.is_null(), "the list is too long");
    }

    /// Puts nodes of twelve slots before the list in a root, their numbers in the lock words.
    fn prepend(&self, thread: &TestThread, root: usize, count: u32) {
        for number in 0..count {
            let node = thread.new_node(&self.vm, 12).unwrap();
            node.lock_word().store(number, Ordering::Relaxed);
            let (barriers, slot) = (self.vm.heap.barriers(), self.vm.classes.slot(0));
            barriers.store_initial(&thread.m, node, slot, thread.roots[root].get());
            thread.roots[root].set(node);
            thread.poll(&self.vm);
        }
    }

    fn counter(&self, name: &str) -> u64 {
        self.vm.heap.totals().counters.get(name).copied().unwrap_or(0)
    }

    fn has(&self, names: &[&str]) -> Vec<bool> {
        names.iter().map(|name| self.counter(name) > 0).collect()
    }
}

/// A panic would leave the marker thread waiting.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        std::process::abort();
    }
}

const NODES: u32 = 30_000;
const WALKED: usize = 300;
const MARKINGS: u64 = 4;

const ALL: [&str; 6] = [
    "memliner_taken",
    "memliner_traced_touched",
    "memliner_traced_explored",
    "memliner_pushed_back",
    "memliner_forced",
    "marking_fetch_faults",
];

#[test]
fn every_mechanism_is_at_work_and_can_be_switched_off() {
    // Each queue is walked along further than a tracer sees from one node.
    let usual = |options: &mut HeapOptions| options.memliner.delays_max = DelaysMax::Fixed(4);
    assert_eq!(Marked::new(usual).has(&ALL), [true; 6]);

    let no_queue = Marked::new(|options| {
        usual(options);
        options.memliner.queue = false;
    });
    assert_eq!(no_queue.has(&ALL), [false, false, false, true, true, true]);

    let no_push_back = Marked::new(|options| {
        usual(options);
        options.memliner.push_back = false;
    });
    assert_eq!(no_push_back.has(&ALL), [true, true, true, false, true, true]);

    let no_depth = Marked::new(|options| {
        usual(options);
        options.memliner.depth_max = 0;
    });
    assert_eq!(no_depth.has(&ALL), [true, true, false, true, true, true]);

    let no_estimate = Marked::new(|options| {
        usual(options);
        options.memliner.estimator = Estimator::None;
    });
    assert_eq!(no_estimate.has(&ALL), [true, true, true, false, false, true]);
}

#[test]
fn all_memory_local_means_that_nothing_is_postponed() {
    let local = Marked::new(|options| options.local_memory = LocalMemory::Percent(100));
    assert_eq!(local.has(&ALL[3..]), [false; 3]);
}

/// A short queue loses entries, and nothing else.
#[test]
fn a_queue_of_one_entry_is_enough() {
    let marked = Marked::new(|options| options.memliner.queue_length = 1);
    assert_eq!(marked.has(&["memliner_taken", "memliner_overwritten"]), [true, true]);
}

/// Several tracers share what waits, and pauses check the heap.
#[test]
fn several_tracers_share_what_waits() {
    for estimator in [Estimator::Residency, Estimator::Epoch, Estimator::None] {
        let marked = Marked::new(|options| {
            options.concurrent_gc_threads = Some(3);
            options.verify_heap = true;
            options.memliner.estimator = estimator;
        });
        assert_eq!(marked.has(&ALL[..2]), [true; 2]);
    }
}

/// References that are used get the epoch of now, and old ones count as remote.
#[test]
fn epochs_tell_what_was_used_lately() {
    let marked = Marked::new(|options| {
        options.memliner.estimator = Estimator::Epoch;
        options.memliner.delays_max = DelaysMax::Fixed(4);
    });
    assert_eq!(marked.has(&ALL), [true; 6]);
    let names = ["memliner_restamped", "memliner_estimated_remote_wrongly"];
    assert_eq!(marked.has(&names), [true; 2]);
    // Everything was used lately if no epoch is too long ago.
    let lenient = Marked::new(|options| {
        options.memliner.estimator = Estimator::Epoch;
        options.memliner.epochs_max = 15;
    });
    assert!(lenient.counter("memliner_estimated_local_wrongly") > 0);
}

/// Nodes have twelve slots.
#[test]
fn nothing_is_explored_from_wide_objects() {
    for (width_max, explores) in [(11, false), (12, true), (0, true)] {
        let marked = Marked::new(|options| options.memliner.width_max = width_max);
        assert_eq!(marked.has(&ALL[..3]), [true, true, explores], "width {width_max}");
    }
}
