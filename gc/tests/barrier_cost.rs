//! What a barrier costs through `&dyn BarrierSet`; prints, and fails only when something is badly wrong.

mod support;

use gc::options::{CollectorKind, HeapOptions};
use std::time::Instant;
use support::{TestThread, TestVm};

#[test]
fn loads_and_stores_cost_nanoseconds() {
    for kind in CollectorKind::ALL {
        let vm = TestVm::new(&HeapOptions::new(*kind, 16 << 20));
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
        eprintln!(
            "{}: load {load:.2} ns, store {store:.2} ns, native transition {native:.2} ns",
            kind.name()
        );
        assert!(load < 500.0 && store < 500.0, "barriers take far too long");
        thread.detach(&vm);
    }
}

const LOOPS: usize = 1000;
