//! Collectors over far memory: a quarter of the heap is local, two memory servers hold the rest.

mod support;

use gc::heap::CollectCause;
use gc::object::ObjectRef;
use gc::options::{CollectorKind, HeapOptions, LocalMemory};
use std::sync::atomic::Ordering;
use support::{TestThread, TestVm};

#[test]
fn lists_survive_eviction_and_collection() {
    for kind in CollectorKind::ALL.iter().filter(|kind| kind.collects()) {
        let mut options = HeapOptions::new(*kind, 32 << 20);
        options.local_memory = LocalMemory::Percent(25);
        options.memory_server_program = Some(env!("CARGO_BIN_EXE_memory-server").into());
        let vm = TestVm::new(&options);
        let thread = TestThread::attach(&vm, 2);
        let slot = vm.classes.slot(0);
        for round in 0..4 {
            thread.roots[0].set(ObjectRef::NULL);
            for number in 0..200_000u32 {
                let node = thread.new_node(&vm, 1).unwrap();
                node.lock_word().store(number ^ round, Ordering::Relaxed);
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
                assert_eq!(node.lock_word().load(Ordering::Relaxed), number ^ round);
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
