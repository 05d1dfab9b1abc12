//! Memory servers keep the memory of freed regions, with its contents, for the next allocations.

mod support;

use gc::core::outcome::CollectCause;
use gc::object::ObjectRef;
use gc::options::{Configuration, HeapOptions, LocalMemory};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::{AbortOnPanic, TestThread, TestVm, array_base, number_of};

const ROOTS: usize = 8;

/// Runs `test` for every collector on a heap of 16 MiB, a quarter of it local, with one attached thread. Nothing is
/// verified: verification touches the whole heap.
fn for_each_collector(
    change: impl Fn(&mut HeapOptions),
    test: impl Fn(&TestVm, &TestThread, Configuration),
) {
    for kind in Configuration::all().filter(|kind| kind.collects()) {
        let mut options = kind.options(16 << 20);
        options.local_memory = LocalMemory::Percent(25);
        change(&mut options);
        let vm = TestVm::new(&options);
        let thread = TestThread::attach(&vm, ROOTS);
        test(&vm, &thread, kind);
        thread.detach(&vm);
    }
}

fn keep_all(options: &mut HeapOptions) {
    options.max_heap_free_percent = 100;
}

fn collect(vm: &TestVm, thread: &TestThread) {
    vm.heap.collect(&thread.m, CollectCause::SystemGc);
}

/// Puts an array full of words that no slot holds into a root.
fn fill(vm: &TestVm, thread: &TestThread, root: usize) {
    let garbage = thread.new_array(vm, vm.classes.longs, 50_000).unwrap();
    for i in 0..50_000 {
        // SAFETY: inside an array that no other thread knows.
        unsafe {
            ((garbage.address() + array_base(8) as usize) as *mut u64)
                .add(i)
                .write(0xeeee_eeee_eeee)
        }
    }
    thread.roots[root].set(garbage);
}

fn new_numbered(vm: &TestVm, thread: &TestThread, number: u32) -> ObjectRef {
    let node = thread.new_node(vm, 0).unwrap();
    number_of(node).store(number, Ordering::Relaxed);
    node
}

/// Every tracer, on a server or in the VM, finds null in arrays of which only a part was touched.
#[test]
fn untouched_parts_of_arrays_are_null_for_all_who_trace() {
    for_each_collector(keep_all, |vm, thread, kind| {
        let (b, length) = (vm.heap.barriers(), 50_000);
        for round in 0..12_u32 {
            (1..ROOTS).for_each(|root| fill(vm, thread, root));
            // Old, and written to their servers; then gone.
            collect(vm, thread);
            (1..ROOTS).for_each(|root| thread.roots[root].set(ObjectRef::NULL));
            collect(vm, thread);
            let at = vm.classes.slot(length - 1);
            for root in 1..ROOTS {
                thread.roots[0].set(new_numbered(vm, thread, round));
                let array = thread.new_array(vm, vm.classes.refs, length).unwrap();
                b.store(&thread.m, array, at, thread.roots[0].get());
                thread.roots[root].set(array);
            }
            collect(vm, thread);
            collect(vm, thread);
            for root in 1..ROOTS {
                let array = thread.roots[root].get();
                let node = b.load(&thread.m, array, at);
                assert_eq!(number_of(node).load(Ordering::Relaxed), round);
                let is_null = |i| b.load(&thread.m, array, vm.classes.slot(i)).is_null();
                assert!((0..length - 1).all(is_null), "{}, round {round}", kind.name());
                thread.roots[root].set(ObjectRef::NULL);
            }
        }
    });
}

/// The same while they are being touched: two threads use large arrays beside cycles that a third one asks for.
#[test]
fn arrays_may_be_touched_for_the_first_time_beside_a_cycle() {
    for_each_collector(keep_all, |vm, thread, _kind| {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _bomb = AbortOnPanic;
            for seed in 0..2 {
                let is_over = &is_over;
                scope.spawn(move || {
                    let _bomb = AbortOnPanic;
                    let thread = TestThread::attach(vm, ROOTS);
                    touch_arrays(vm, &thread, seed, is_over);
                    thread.detach(vm);
                });
            }
            let start = Instant::now();
            while start.elapsed() < Duration::from_secs(1) {
                collect(vm, thread);
            }
            is_over.store(true, Ordering::Relaxed);
            // Others may stop the world until they are done.
            vm.heap.enter_safe(&thread.m);
        });
        vm.heap.leave_safe(&thread.m);
    });
}

/// Replaces two arrays again and again, by garbage, and by arrays that are touched here and there.
fn touch_arrays(vm: &TestVm, thread: &TestThread, seed: u64, is_over: &AtomicBool) {
    let (b, length) = (vm.heap.barriers(), 50_000);
    let mut rng = StdRng::seed_from_u64(seed);
    while !is_over.load(Ordering::Relaxed) {
        let root = rng.random_range(1..3);
        fill(vm, thread, root);
        thread.poll(vm);
        thread.roots[root].set(ObjectRef::NULL);
        thread.roots[root].set(thread.new_array(vm, vm.classes.refs, length).unwrap());
        for _ in 0..200 {
            let index = rng.random_range(0..length);
            let node = new_numbered(vm, thread, index as u32);
            b.store(&thread.m, thread.roots[root].get(), vm.classes.slot(index), node);
            let index = rng.random_range(0..length);
            let node = b.load(&thread.m, thread.roots[root].get(), vm.classes.slot(index));
            let number = || number_of(node).load(Ordering::Relaxed);
            assert!(node.is_null() || number() == index as u32, "{} at {index}", number());
            thread.poll(vm);
        }
    }
}

/// Servers keep some of the freed memory for the next objects, and give the rest back.
#[test]
fn servers_give_back_what_the_heap_needs_no_longer() {
    for percent in [0, 70, 100] {
        let change = |options: &mut HeapOptions| {
            options.max_heap_free_percent = percent;
        };
        for_each_collector(change, |vm, thread, kind| {
            (0..ROOTS).for_each(|root| fill(vm, thread, root));
            collect(vm, thread);
            thread.roots.iter().for_each(|root| root.set(ObjectRef::NULL));
            (0..3).for_each(|_| collect(vm, thread));
            let counters = vm.heap.totals().counters;
            let given = counters.get("server_regions_given_back").is_some_and(|count| *count > 0);
            assert_eq!(given, percent < 100, "{}, {percent} per cent", kind.name());
        });
    }
}
