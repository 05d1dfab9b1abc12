//! Behaviour of Shenandoah alone, with MemLiner and without: cycles that end beside the program, or do not.

mod support;

use gc::core::outcome::CollectCause;
use gc::object::{HEADER_BYTES, ObjectRef};
use gc::options::{CollectorKind, ForwardingPlace, HeapOptions, LocalMemory};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use support::{TestThread, TestVm, array_number_of, is_tracing, number_of};

const ROOTS: usize = 64;

fn options(max_bytes: usize) -> HeapOptions {
    let mut options = HeapOptions::new(CollectorKind::Shenandoah, max_bytes);
    options.region_bytes = Some(64 << 10);
    options.verify_heap = true;
    options
}

/// Runs `test` with the new addresses in tables, and in headers, and aligned with the program.
fn wherever_forwarding_is(test: impl Fn(&dyn Fn(usize) -> HeapOptions)) {
    for (collector, place) in [
        (CollectorKind::Shenandoah, ForwardingPlace::Table),
        (CollectorKind::Shenandoah, ForwardingPlace::Header),
        (CollectorKind::MemLinerShenandoah, ForwardingPlace::Table),
    ] {
        test(&|max_bytes| {
            let mut options = options(max_bytes);
            options.collector = collector;
            options.shenandoah.forwarding = place;
            options
        });
    }
}

fn counter(vm: &TestVm, name: &str) -> u64 {
    vm.heap.stats().counters.get(name).copied().unwrap_or(0)
}

/// Allocates `bytes` bytes in arrays of all sizes that have room for their lengths, which are their numbers. Some live
/// on in the roots.
fn churn(vm: &TestVm, thread: &TestThread, rng: &mut SmallRng, bytes: usize) {
    let mut left = bytes as i64;
    while left > 0 {
        let length = rng.random_range(size_of::<u32>()..3000);
        let array = thread.new_array(vm, vm.classes.bytes, length).unwrap();
        array_number_of(array).store(length as u32, Ordering::Relaxed);
        if rng.random_range(0..20) == 0 {
            thread.roots[rng.random_range(0..ROOTS)].set(array);
        }
        left -= (HEADER_BYTES + length) as i64;
        thread.poll(vm);
    }
    for root in thread.roots.iter().take(ROOTS) {
        let array = root.get();
        if !array.is_null() {
            assert_eq!(array_number_of(array).load(Ordering::Relaxed), array.array_length() as u32);
        }
    }
}

/// Regions that a cycle frees are allocated from before it is over, and it finds its way in them.
#[test]
fn what_is_freed_is_used_again_in_the_same_cycle() {
    wherever_forwarding_is(reuse_what_is_freed);
}

fn reuse_what_is_freed(options: &dyn Fn(usize) -> HeapOptions) {
    let mut options = options(4 << 20);
    options.zeal_alloc_interval = Some(u64::MAX);
    let vm = TestVm::new(&options);
    let thread = TestThread::attach(&vm, ROOTS);
    let mut rng = SmallRng::seed_from_u64(1);
    for _ in 0..100 {
        churn(&vm, &thread, &mut rng, 700 << 10);
        vm.heap.collect(&thread.m, CollectCause::Zeal);
    }
    assert!(counter(&vm, "dead_regions") > 100 && counter(&vm, "evacuated_regions") > 20);
    assert!(counter(&vm, "regions_without_room_for_copies") > 0, "no object had to stay");
    thread.detach(&vm);
}

/// Several workers in pauses and beside the program.
#[test]
fn workers_share_the_work() {
    wherever_forwarding_is(share_the_work);
}

fn share_the_work(options: &dyn Fn(usize) -> HeapOptions) {
    let mut options = options(16 << 20);
    options.concurrent_gc_threads = Some(3);
    options.parallel_gc_threads = Some(3);
    let vm = TestVm::new(&options);
    let thread = TestThread::attach(&vm, ROOTS + 1);
    let mut rng = SmallRng::seed_from_u64(2);
    // A wide tree, so that there is work to share.
    let (barriers, slot) = (vm.heap.barriers(), |i| vm.classes.slot(i));
    let tree = thread.new_array(&vm, vm.classes.refs, 4000).unwrap();
    thread.roots[ROOTS].set(tree);
    for i in 0..4000 {
        let leaf = thread.new_node(&vm, 4).unwrap();
        number_of(leaf).store(i as u32, Ordering::Relaxed);
        barriers.store(&thread.m, thread.roots[ROOTS].get(), slot(i), leaf);
    }
    thread.roots[ROOTS].set(barriers.load(&thread.m, thread.roots[ROOTS].get(), slot(7)));
    let leaf = thread.roots[ROOTS].get();
    assert_eq!(number_of(leaf).load(Ordering::Relaxed), 7);
    for _ in 0..20 {
        let tree = thread.new_array(&vm, vm.classes.refs, 500).unwrap();
        barriers.store(&thread.m, thread.roots[ROOTS].get(), slot(0), tree);
        for i in 0..500 {
            let leaf = thread.new_node(&vm, 2).unwrap();
            number_of(leaf).store(i as u32, Ordering::Relaxed);
            let root = thread.roots[ROOTS].get();
            let tree = barriers.load(&thread.m, root, slot(0));
            barriers.store(&thread.m, tree, slot(i), leaf);
        }
        churn(&vm, &thread, &mut rng, 1 << 20);
        vm.heap.collect(&thread.m, CollectCause::SystemGc);
        let tree = barriers.load(&thread.m, thread.roots[ROOTS].get(), slot(0));
        for i in 0..500 {
            let leaf = barriers.load(&thread.m, tree, slot(i));
            assert_eq!(number_of(leaf).load(Ordering::Relaxed), i as u32);
        }
    }
    thread.detach(&vm);
}

/// Each stage counts the pages that it waits for, where some memory is remote.
#[test]
fn every_stage_counts_its_faults() {
    wherever_forwarding_is(count_faults);
}

fn count_faults(options: &dyn Fn(usize) -> HeapOptions) {
    let names =
        ["marking_fetch_faults", "evacuation_fetch_faults", "update_references_fetch_faults"];
    for (local, counts) in [(LocalMemory::Bytes(2 << 20), true), (LocalMemory::Percent(100), false)]
    {
        let mut options = options(16 << 20);
        options.local_memory = local;
        options.prefetcher = swap::PrefetcherKind::None;
        options.verify_heap = false;
        // Everything moves.
        options.zeal_alloc_interval = Some(u64::MAX);
        let vm = TestVm::new(&options);
        let thread = TestThread::attach(&vm, 1);
        for _ in 0..40_000 {
            let node = thread.new_node(&vm, 12).unwrap();
            let slot = vm.classes.slot(0);
            vm.heap.barriers().store_initial(&thread.m, node, slot, thread.roots[0].get());
            thread.roots[0].set(node);
            thread.poll(&vm);
        }
        vm.heap.collect(&thread.m, CollectCause::SystemGc);
        assert_eq!(names.map(|name| counter(&vm, name) > 0), [counts; 3]);
        thread.detach(&vm);
    }
}

/// A thread that allocates faster than the cycle proceeds: the cycle ends in a pause, and nothing is lost.
#[test]
fn a_cycle_that_is_too_late_ends_in_a_pause() {
    wherever_forwarding_is(be_too_late);
}

fn be_too_late(options: &dyn Fn(usize) -> HeapOptions) {
    let mut options = options(8 << 20);
    options.shenandoah.pacing = false;
    options.shenandoah.init_free_percent = 0;
    options.shenandoah.min_free_percent = 5;
    let vm = TestVm::new(&options);
    let thread = TestThread::attach(&vm, ROOTS + 1);
    let mut rng = SmallRng::seed_from_u64(3);
    for _ in 0..3000 {
        let node = thread.new_node(&vm, 12).unwrap();
        let slot = vm.classes.slot(0);
        vm.heap.barriers().store_initial(&thread.m, node, slot, thread.roots[ROOTS].get());
        thread.roots[ROOTS].set(node);
    }
    churn(&vm, &thread, &mut rng, 100 << 20);
    let ended = counter(&vm, "degenerated_cycles") + counter(&vm, "full_cycles");
    assert!(ended > 0, "every cycle was in time: {:?}", vm.heap.stats().counters);
    let mut length = 0;
    while !thread.roots[ROOTS].get().is_null() {
        let next =
            vm.heap.barriers().load(&thread.m, thread.roots[ROOTS].get(), vm.classes.slot(0));
        thread.roots[ROOTS].set(next);
        length += 1;
    }
    assert_eq!(length, 3000);
    thread.roots[ROOTS].set(ObjectRef::NULL);
    thread.detach(&vm);
}

/// An object that a thread logs before its allocation fails is kept by the pause in which the cycle continues: in this
/// test the referent of a weak slot, to which nothing else refers.
#[test]
fn what_was_logged_lives_although_the_cycle_is_hurried() {
    wherever_forwarding_is(log_and_hurry);
}

fn log_and_hurry(options: &dyn Fn(usize) -> HeapOptions) {
    let heap_bytes = 8 << 20;
    let mut options = options(heap_bytes);
    options.shenandoah.pacing = false;
    // Cycles begin long before there is no memory.
    options.shenandoah.min_free_percent = 50;
    let vm = TestVm::new(&options);
    let thread = TestThread::attach(&vm, 2);
    let (m, barriers, slot) = (&thread.m, vm.heap.barriers(), vm.classes.slot(0));
    let prepend = |root: usize, number: u32| {
        let node = thread.new_node(&vm, 12).unwrap();
        number_of(node).store(number, Ordering::Relaxed);
        barriers.store_initial(m, node, slot, thread.roots[root].get());
        thread.roots[root].set(node);
        thread.poll(&vm);
    };
    // The objects that keep marking busy meanwhile.
    (0..25_000).for_each(|number| prepend(0, number));
    let (mut hurried, start) = (0, Instant::now());
    while hurried < 2 && (hurried == 0 || start.elapsed() < ENOUGH) {
        assert!(start.elapsed() < LIMIT, "{:?}", vm.heap.totals().counters);
        (0..2).for_each(|number| prepend(1, number));
        barriers.store_root(m, &vm.binding.weak[0], thread.roots[1].replace(ObjectRef::NULL));
        while !is_tracing(&thread) {
            thread.new_array(&vm, vm.classes.bytes, 2000).unwrap();
            thread.poll(&vm);
        }
        thread.roots[1].set(barriers.load_weak_root(m, &vm.binding.weak[0]));
        if thread.roots[1].get().is_null() {
            // On a busy machine a cycle may be over before the thread runs again.
            continue;
        }
        let before = counter(&vm, "degenerated_cycles");
        // There is no room for this.
        assert!(thread.new_array(&vm, vm.classes.bytes, heap_bytes - (1 << 20)).is_err());
        hurried += u64::from(counter(&vm, "degenerated_cycles") > before);
        for number in (0..2).rev() {
            let node = thread.roots[1].get();
            assert_eq!(number_of(node).load(Ordering::Relaxed), number);
            thread.roots[1].set(barriers.load(m, node, slot));
        }
    }
    thread.detach(&vm);
}

const ENOUGH: Duration = Duration::from_secs(10);
const LIMIT: Duration = Duration::from_secs(120);
