//! Collectors over far memory: an eighth of the heap is local, less than is reachable; memory servers hold the rest.

mod support;

use gc::core::outcome::CollectCause;
use gc::object::ObjectRef;
use gc::options::{CollectorKind, Configuration, LocalMemory};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use support::{TestThread, TestVm, number_of};

#[test]
fn lists_survive_eviction_and_collection() {
    for kind in Configuration::all().filter(|kind| kind.collects()) {
        let mut options = kind.options(32 << 20);
        options.local_memory = LocalMemory::Percent(13);
        options.memory_server_program = Some(env!("CARGO_BIN_EXE_memory-server").into());
        let vm = TestVm::new(&options);
        let thread = TestThread::attach(&vm, 2);
        let slot = vm.classes.slot(0);
        for round in 0..4 {
            thread.roots[0].set(ObjectRef::NULL);
            for number in 0..200_000u32 {
                let node = thread.new_node(&vm, 1).unwrap();
                number_of(node).store(number ^ round, Ordering::Relaxed);
                let next = thread.roots[0].get();
                vm.heap.barriers().store_initial(&thread.m, node, slot, next);
                thread.roots[0].set(node);
                thread.new_array(&vm, vm.classes.bytes, 100).unwrap();
                thread.poll(&vm);
            }
            if round == 1 {
                vm.heap.collect(&thread.m, CollectCause::SystemGc);
            }
            let mut node = thread.roots[0].get();
            for number in (0..200_000u32).rev() {
                assert_eq!(number_of(node).load(Ordering::Relaxed), number ^ round);
                node = vm.heap.barriers().load(&thread.m, node, slot);
            }
            assert!(node.is_null());
        }
        let pager = vm.heap.stats().pager.expect("memory is far");
        let resident = pager.counters["resident_pages_max"] as usize * 4096;
        assert!(resident <= pager.budget_bytes, "{resident} bytes were resident");
        assert!(pager.counters["fetch_faults"] > 0, "nothing was far");
        eprintln!("{}: {:?}", kind.name(), pager.counters);
        thread.detach(&vm);
    }
}

/// A random graph in which most pages are remote: the worst case of tracing. Prints its cost.
#[test]
fn a_random_graph_is_traced_in_bearable_time() {
    for kind in Configuration::all().filter(|kind| kind.collects()) {
        let (time, faults) = trace_random_graph(kind, 64 << 20, 400_000, true);
        eprintln!("{}: cycle {time:?}, {faults} faults of the collector", kind.name());
        assert!(time.as_secs() < 60, "{time:?} is too long");
    }
}

/// All collectors that trace in the VM, but those that ask where objects are.
#[test]
fn tracing_one_part_of_the_heap_after_the_other_spares_faults() {
    use CollectorKind::{G1, Serial, Shenandoah};
    for kind in Configuration::all().filter(|c| [G1, Serial, Shenandoah].contains(&c.collector)) {
        let faults = [true, false].map(|in_zones| {
            let (_, faults) = trace_random_graph(kind, 16 << 20, 100_000, in_zones);
            faults
        });
        assert!(faults[0] * 2 < faults[1], "{}: {faults:?}", kind.name());
    }
}

/// The time of a cycle, and the collector's faults in it, with `count` nodes in a heap of `bytes` bytes.
fn trace_random_graph(
    kind: Configuration,
    bytes: usize,
    count: usize,
    in_zones: bool,
) -> (Duration, u64) {
    let mut options = kind.options(bytes);
    options.local_memory = LocalMemory::Percent(13);
    options.trace_in_zones = in_zones;
    options.memory_server_program = Some(env!("CARGO_BIN_EXE_memory-server").into());
    let vm = TestVm::new(&options);
    let thread = TestThread::attach(&vm, 2);
    let (barriers, m) = (vm.heap.barriers(), &thread.m);
    thread.roots[0].set(thread.new_array(&vm, vm.classes.refs, count).unwrap());
    for i in 0..count {
        let node = thread.new_node(&vm, 6).unwrap();
        barriers.store(m, thread.roots[0].get(), vm.classes.slot(i), node);
    }
    let nodes = thread.roots[0].get();
    let mut random = 12345u64;
    for i in 0..count {
        let node = barriers.load(m, nodes, vm.classes.slot(i));
        for edge in 0..3 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let other = vm.classes.slot((random >> 33) as usize % count);
            let other = barriers.load(m, nodes, other);
            barriers.store(m, node, vm.classes.slot(edge), other);
        }
    }
    // Reachable only in random order, through one node.
    let last = barriers.load(m, thread.roots[0].get(), vm.classes.slot(count - 1));
    thread.roots[0].set(last);
    let faults = || vm.heap.stats().pager.unwrap().counters["fetch_faults_gc"];
    let before = faults();
    let start = Instant::now();
    vm.heap.collect(m, CollectCause::SystemGc);
    let (time, faults) = (start.elapsed(), faults() - before);
    thread.detach(&vm);
    (time, faults)
}
