//! Histograms count exactly what is reachable, under every collector, those without cycles included.

mod support;

use gc::core::histogram::ClassCount;
use gc::object::layout::KlassLayout;
use gc::object::{ARRAY_BASE_MIN, HEADER_BYTES, KlassId, ObjectRef, align_object};
use gc::options::{Configuration, HeapOptions, LocalMemory};
use std::sync::atomic::Ordering;
use support::{TestThread, TestVm, array_number_of, number_of};

const HEAP_BYTES: usize = 32 << 20;
/// The index of weak references in `support::KINDS`.
const WEAK: usize = 1;

/// Runs `test` for every collector with all memory local, and with a quarter of it.
fn for_each_heap(test: impl Fn(Configuration, &HeapOptions)) {
    for kind in Configuration::all() {
        for local_memory in [100, 25].map(LocalMemory::Percent) {
            let options = HeapOptions { local_memory, ..kind.options(HEAP_BYTES) };
            eprintln!("{}, {local_memory:?}", kind.name());
            test(kind, &options);
        }
    }
}

/// Makes a node of two slots, the first of which refers to the object in `root`, and sets the root to it.
fn push(vm: &TestVm, thread: &TestThread, root: usize) {
    let node = thread.new_node(vm, 2).unwrap();
    let next = thread.roots[root].get();
    vm.heap.barriers().store_initial(&thread.m, node, vm.classes.slot(0), next);
    thread.roots[root].set(node);
}

/// A class mirror with two static references, which says itself how large it is.
fn new_mirror(vm: &TestVm, thread: &TestThread, klass: KlassId) -> ObjectRef {
    let bytes = mirror_bytes(vm);
    let mirror = vm.heap.allocate(&thread.m, klass, bytes, None).unwrap();
    number_of(mirror).store(2, Ordering::Relaxed);
    array_number_of(mirror).store(bytes as u32, Ordering::Relaxed);
    mirror
}

fn mirror_bytes(vm: &TestVm) -> usize {
    // More than its slots need.
    align_object(STATICS_START + 2 * vm.classes.slot_bytes) + 24
}

const STATICS_START: usize = 16;
/// Behind the statics of all widths; no mirror says for which class it stands.
const KLASS_ID_AT: usize = 40;

#[test]
fn reachable_objects_are_counted_and_garbage_is_not() {
    for_each_heap(|kind, options| {
        let vm = TestVm::new(options);
        let thread = TestThread::attach(&vm, 4);
        let (classes, barriers) = (&vm.classes, vm.heap.barriers());
        let mirrors = vm.heap.layouts().register(KlassLayout::Mirror {
            refs: [].into(),
            statics_start: STATICS_START as u32,
            static_refs_at: HEADER_BYTES as u32,
            bytes_at: ARRAY_BASE_MIN as u32,
            klass_id_at: KLASS_ID_AT as u32,
        });
        assert_eq!(vm.heap.histogram(&thread.m), Some(vec![]));

        // Lists in roots 0 and 1; the latter is dropped. The array in root 2 holds arrays of bytes, every other one.
        const LENGTH: usize = 30;
        thread.roots[2].set(thread.new_array(&vm, classes.refs, LENGTH).unwrap());
        let mut array_bytes = 0;
        for i in 0..LENGTH {
            (0..1000).for_each(|_| push(&vm, &thread, 0));
            (0..500).for_each(|_| push(&vm, &thread, 1));
            // The last one is humongous.
            let length = if i + 1 == LENGTH { 3 << 20 } else { 1000 * i };
            let array = thread.new_array(&vm, classes.bytes, length).unwrap();
            if i % 2 == 1 {
                array_bytes += classes.array_bytes(classes.bytes, length);
                barriers.store(&thread.m, thread.roots[2].get(), classes.slot(i), array);
            }
            thread.poll(&vm);
        }
        thread.roots[1].set(ObjectRef::NULL);
        // A strong slot holds the mirror of a class, whose second static is a node of its own.
        let node = thread.new_node(&vm, 3).unwrap();
        thread.roots[1].set(node);
        let mirror = new_mirror(&vm, &thread, mirrors);
        let second = STATICS_START + classes.slot_bytes;
        barriers.store(&thread.m, mirror, second, thread.roots[1].get());
        barriers.store_root(&thread.m, &vm.binding.strong[0], mirror);
        // Two weak references: the referent of one is alive, that of the other is not.
        thread.roots[3].set(thread.new_reference(&vm, WEAK, 1).unwrap());
        barriers.store_root(&thread.m, &vm.binding.strong[1], thread.roots[3].get());
        thread.roots[3].set(thread.new_node(&vm, 4).unwrap());
        thread.roots[3].set(thread.new_reference(&vm, WEAK, 3).unwrap());
        thread.roots[1].set(ObjectRef::NULL);

        let count = |klass, objects, bytes| ClassCount { klass, objects, bytes };
        let nodes = |slots: usize, objects: usize| {
            count(classes.nodes[slots], objects, objects * classes.node_bytes(slots))
        };
        let mut expected = vec![
            nodes(2, 1000 * LENGTH),
            nodes(3, 1),
            nodes(4, usize::from(!kind.collects())),
            count(classes.refs, 1, classes.array_bytes(classes.refs, LENGTH)),
            count(classes.bytes, LENGTH / 2, array_bytes),
            count(classes.references[WEAK], 2, 2 * classes.reference_bytes),
            count(mirrors, 1, mirror_bytes(&vm)),
        ];
        expected.retain(|count| count.objects > 0);
        expected.sort_by_key(|count| count.klass);
        assert_eq!(vm.heap.histogram(&thread.m), Some(expected.clone()));
        // What is dropped is missing the next time.
        thread.roots[0].set(ObjectRef::NULL);
        expected.retain(|count| count.klass != classes.nodes[2]);
        assert_eq!(vm.heap.histogram(&thread.m), Some(expected));
        thread.detach(&vm);
    });
}

/// Cycles run all the time, for some of them nobody has asked; every thread gets a result of its own time.
#[test]
fn threads_may_ask_at_the_same_time() {
    for_each_heap(|_, options| {
        let vm = &TestVm::new(options);
        std::thread::scope(|scope| {
            for slots in 5..8 {
                scope.spawn(move || {
                    let _bomb = support::AbortOnPanic;
                    let thread = TestThread::attach(vm, 1);
                    for round in 1..=5 {
                        let node = thread.new_node(vm, slots).unwrap();
                        let next = thread.roots[0].get();
                        let slot = vm.classes.slot(0);
                        vm.heap.barriers().store_initial(&thread.m, node, slot, next);
                        thread.roots[0].set(node);
                        for _ in 0..300 {
                            thread.new_array(vm, vm.classes.bytes, 4000).unwrap();
                            thread.poll(vm);
                        }
                        let counts = vm.heap.histogram(&thread.m).unwrap();
                        let mine = counts.iter().find(|c| c.klass == vm.classes.nodes[slots]);
                        assert_eq!(mine.map(|count| count.objects), Some(round));
                    }
                    thread.detach(vm);
                });
            }
        });
    });
}
