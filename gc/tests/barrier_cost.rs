//! The cost of a barrier through `&dyn BarrierSet`, and of an allocation; prints, and fails only when
//! something is badly wrong.

mod support;

use gc::object::ObjectRef;
use gc::options::Configuration;
use std::time::Instant;
use support::{TestThread, TestVm};

#[test]
fn loads_and_stores_cost_nanoseconds() {
    for kind in Configuration::all() {
        let vm = TestVm::new(&kind.options(16 << 20));
        let thread = TestThread::attach(&vm, 1);
        // A ring of a thousand nodes.
        let (barriers, slot) = (vm.heap.barriers(), vm.classes.slot(0));
        let first = thread.new_node(&vm, 2).unwrap();
        thread.roots[0].set(first);
        let mut last = first;
        for _ in 1..1000 {
            let node = thread.new_node(&vm, 2).unwrap();
            barriers.store_initial(&thread.m, last, slot, node);
            last = node;
        }
        barriers.store(&thread.m, last, slot, first);
        let time = |operation: &mut dyn FnMut()| {
            let start = Instant::now();
            (0..LOOPS).for_each(|_| operation());
            start.elapsed().as_nanos() as f64 / LOOPS as f64 / 1000.0
        };
        let mut node = first;
        let load = time(&mut || {
            (0..1000).for_each(|_| node = barriers.load(&thread.m, node, slot));
        });
        let store = time(&mut || {
            (0..1000)
                .for_each(|_| barriers.store(&thread.m, first, slot + vm.classes.slot_bytes, node));
        });
        let native = time(&mut || {
            (0..1000).for_each(|_| {
                vm.heap.enter_safe(&thread.m);
                vm.heap.leave_safe(&thread.m);
            });
        });
        let [from, to] = [0, 1].map(|_| thread.new_array(&vm, vm.classes.refs, 1000).unwrap());
        (0..1000).for_each(|i| barriers.store_initial(&thread.m, from, vm.classes.slot(i), first));
        let copy = time(&mut || barriers.copy_array(&thread.m, from, slot, to, slot, 1000));
        eprintln!(
            "{}: load {load:.2} ns, store {store:.2} ns, copy {copy:.2} ns, \
             native transition {native:.2} ns",
            kind.name()
        );
        assert!(load < 500.0 && store < 500.0, "barriers take far too long");
        thread.detach(&vm);
    }
}

/// The median is over short batches: it has no collections and little new memory in it; the mean has both.
#[test]
fn allocations_cost_nanoseconds() {
    for kind in Configuration::all() {
        let megabytes = if kind.collects() { 64 } else { 512 };
        let vm = TestVm::new(&kind.options(megabytes << 20));
        let thread = TestThread::attach(&vm, 1);
        let time = |allocate: &dyn Fn() -> ObjectRef| {
            let mut batches: Vec<_> = (0..BATCHES)
                .map(|_| {
                    thread.poll(&vm);
                    let start = Instant::now();
                    (0..BATCH).for_each(|_| assert!(!allocate().is_null()));
                    start.elapsed().as_nanos() as f64 / BATCH as f64
                })
                .collect();
            batches.sort_unstable_by(f64::total_cmp);
            (batches[BATCHES / 2], batches.iter().sum::<f64>() / BATCHES as f64)
        };
        // Once around the heap, so that its memory is populated.
        time(&|| thread.new_node(&vm, 2).unwrap());
        let node = time(&|| thread.new_node(&vm, 2).unwrap());
        let array = time(&|| thread.new_array(&vm, vm.classes.bytes, 24).unwrap());
        eprintln!(
            "{}: node {:.2} ns (mean {:.2}), array {:.2} ns (mean {:.2})",
            kind.name(),
            node.0,
            node.1,
            array.0,
            array.1
        );
        assert!(node.0 < 1000.0 && array.0 < 1000.0, "allocation takes far too long");
        thread.detach(&vm);
    }
}

const LOOPS: usize = 1000;
const BATCHES: usize = 10_000;
const BATCH: usize = 400;
