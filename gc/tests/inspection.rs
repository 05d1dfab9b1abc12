//! Inspectors are shown every reachable object once, and can follow references, under every collector.

mod support;

use gc::core::inspection::{Inspector, StoppedHeap};
use gc::core::outcome::CollectCause;
use gc::object::ObjectRef;
use gc::options::{Configuration, HeapOptions, LocalMemory};
use std::collections::{BTreeMap, BTreeSet};
use support::{TestThread, TestVm};

const HEAP_BYTES: usize = 32 << 20;
const LENGTH: usize = 5000;

/// Notes each object with the one that its first slot refers to.
#[derive(Default)]
struct Links {
    slot: usize,
    begun: usize,
    ended: usize,
    next: BTreeMap<usize, usize>,
    shown_twice: usize,
    bytes: usize,
}

impl Inspector for Links {
    fn begin(&mut self, _heap: &StoppedHeap<'_>) {
        assert!(self.next.is_empty() && self.ended == 0);
        self.begun += 1;
    }

    fn object(&mut self, heap: &StoppedHeap<'_>, object: ObjectRef) {
        let next = heap.load(object, self.slot);
        self.shown_twice += self.next.insert(object.address(), next.address()).iter().len();
        self.bytes += heap.object_bytes(object);
    }

    fn end(&mut self, _heap: &StoppedHeap<'_>) {
        self.ended += 1;
    }
}

#[test]
fn a_list_is_shown_with_its_links() {
    for kind in Configuration::all() {
        for local_memory in [100, 25].map(LocalMemory::Percent) {
            let name = kind.name();
            let options = HeapOptions { local_memory, ..kind.options(HEAP_BYTES) };
            let vm = TestVm::new(&options);
            let thread = TestThread::attach(&vm, 1);
            let slot = vm.classes.slot(0);
            for _ in 0..LENGTH {
                let node = thread.new_node(&vm, 2).unwrap();
                let next = thread.roots[0].get();
                vm.heap.barriers().store_initial(&thread.m, node, slot, next);
                thread.roots[0].set(node);
                // Garbage between them.
                thread.new_node(&vm, 2).unwrap();
                thread.poll(&vm);
            }
            for cause in [CollectCause::HeapInspection, CollectCause::HeapDump] {
                let links = Links { slot, ..Links::default() };
                let links = vm.heap.inspect(&thread.m, cause, links).unwrap();
                assert_eq!((links.begun, links.ended, links.shown_twice), (1, 1, 0), "{name}");
                assert_eq!(links.next.len(), LENGTH, "{name}");
                assert_eq!(links.bytes, LENGTH * vm.classes.node_bytes(2), "{name}");
                let inner: BTreeSet<&usize> = links.next.values().collect();
                let first = links.next.keys().find(|at| !inner.contains(at));
                let chain = std::iter::successors(first.copied(), |at| {
                    Some(links.next[at]).filter(|next| *next != 0)
                });
                assert_eq!(chain.count(), LENGTH, "{name}");
            }
            thread.detach(&vm);
        }
    }
}
