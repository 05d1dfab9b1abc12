//! Collectors find strings once, where they copy them, and the VM's slots follow them.

mod support;

use gc::core::outcome::CollectCause;
use gc::options::{Configuration, HeapOptions, LocalMemory};
use std::collections::HashSet;
use std::sync::atomic::Ordering;
use support::{TestThread, TestVm, number_of};

const HEAP_BYTES: usize = 32 << 20;
const STRINGS: u32 = 20_000;
const ROUNDS: u32 = 6;

/// Lists in root 0: of strings, and in root 1: of strings that become garbage, between them.
fn fill(vm: &TestVm, thread: &TestThread) {
    for number in 0..STRINGS {
        for root in [0, 1] {
            let string = thread.new_node(vm, 1).unwrap();
            number_of(string).store(2 * number + root as u32, Ordering::Relaxed);
            let next = thread.roots[root].get();
            vm.heap.barriers().store_initial(&thread.m, string, vm.classes.slot(0), next);
            thread.roots[root].set(string);
        }
        thread.poll(vm);
    }
}

/// The numbers of those that the VM has received and that live.
fn found(vm: &TestVm, thread: &TestThread) -> Vec<u32> {
    let slots = vm.binding.strings.lock().unwrap();
    let loaded = slots.iter().map(|slot| vm.heap.barriers().load_weak_root(&thread.m, slot));
    let live = loaded.filter(|string| !string.is_null());
    live.map(|string| {
        assert_eq!(string.klass(), vm.classes.nodes[1]);
        number_of(string).load(Ordering::Relaxed)
    })
    .collect()
}

#[test]
fn strings_that_are_copied_are_found_once() {
    for kind in Configuration::all().filter(|kind| kind.collects()) {
        for local_memory in [100, 25].map(LocalMemory::Percent) {
            let options =
                HeapOptions { local_memory, verify_heap: true, ..kind.options(HEAP_BYTES) };
            let name = format!("{}, {local_memory:?}", kind.name());
            let vm = TestVm::new(&options);
            vm.heap.look_for_strings(vm.classes.nodes[1]);
            let thread = TestThread::attach(&vm, 2);
            fill(&vm, &thread);
            thread.roots[1].set(gc::object::ObjectRef::NULL);
            for _ in 0..ROUNDS {
                vm.heap.collect(&thread.m, CollectCause::SystemGc);
            }
            let all = found(&vm, &thread);
            let numbers: HashSet<u32> = all.iter().copied().collect();
            assert!(!numbers.is_empty(), "{name}: none is found");
            assert_eq!(numbers.len(), all.len(), "{name}: found twice");
            assert!(numbers.iter().all(|number| number % 2 == 0), "{name}: garbage");
            // What is dropped now is emptied, and what was found is not found again.
            thread.roots[0].set(gc::object::ObjectRef::NULL);
            for _ in 0..ROUNDS {
                vm.heap.collect(&thread.m, CollectCause::SystemGc);
            }
            assert!(found(&vm, &thread).is_empty(), "{name}");
            thread.detach(&vm);
        }
    }
}

/// Without the request nothing is looked for.
#[test]
fn nothing_is_found_that_nobody_wants() {
    let serial = Configuration::all().find(|kind| kind.name() == "serial").unwrap();
    let vm = TestVm::new(&serial.options(HEAP_BYTES));
    let thread = TestThread::attach(&vm, 2);
    fill(&vm, &thread);
    (0..ROUNDS).for_each(|_| vm.heap.collect(&thread.m, CollectCause::SystemGc));
    assert!(found(&vm, &thread).is_empty());
    thread.detach(&vm);
}
