//! The duties of every collector that collects, one property per test.

mod support;

use gc::core::outcome::{AllocFailure, CollectCause};
use gc::object::layout::{KlassLayout, ReferenceKind};
use gc::object::{LOCK_MASK, LOCK_SHIFT, ObjectRef};
use gc::options::Configuration;
use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::Instant;
use support::{TestThread, TestVm, number_of};

/// Runs `test` for every collector on a heap of `bytes`, with one attached thread of eight roots.
fn for_each_collector(bytes: usize, test: impl Fn(&TestVm, &TestThread)) {
    for kind in Configuration::all().filter(|kind| kind.collects()) {
        let mut options = kind.options(bytes);
        options.verify_heap = true;
        options.initial_bytes = 0;
        let vm = TestVm::new(&options);
        let thread = TestThread::attach(&vm, 8);
        test(&vm, &thread);
        thread.detach(&vm);
    }
}

fn collect(vm: &TestVm, thread: &TestThread) {
    vm.heap.collect(&thread.m, CollectCause::SystemGc);
}

/// Pushes a node of two slots with its number onto the list in root 0.
fn push(vm: &TestVm, thread: &TestThread, number: u32) -> Result<(), AllocFailure> {
    let node = thread.new_node(vm, 2)?;
    number_of(node).store(number, Ordering::Relaxed);
    let slot = vm.classes.slot(0);
    vm.heap.barriers().store_initial(&thread.m, node, slot, thread.roots[0].get());
    thread.roots[0].set(node);
    Ok(())
}

/// Checks that the list in root 0 counts down to 0 from `from` in steps of `step`; returns its length.
fn check_list(vm: &TestVm, thread: &TestThread, from: u32, step: u32) -> usize {
    let (mut node, mut number, mut length) = (thread.roots[0].get(), from, 0);
    while !node.is_null() {
        assert_eq!(number_of(node).load(Ordering::Relaxed), number);
        node = vm.heap.barriers().load(&thread.m, node, vm.classes.slot(0));
        length += 1;
        number = number.wrapping_sub(step);
    }
    length
}

#[test]
fn a_full_heap_says_so_and_works_again() {
    for_each_collector(8 << 20, |vm, thread| {
        for _ in 0..3 {
            let mut count = 0;
            let failure = loop {
                match push(vm, thread, count) {
                    Ok(()) => count += 1,
                    Err(failure) => break failure,
                }
            };
            assert_eq!(failure, AllocFailure::HeapFull);
            let listed = count as usize * vm.classes.node_bytes(2);
            let least = vm.heap.max_bytes() / 10 * 6;
            assert!(listed > least, "only {listed} of {} bytes used", vm.heap.max_bytes());
            assert_eq!(check_list(vm, thread, count - 1, 1), count as usize);
            thread.roots[0].set(ObjectRef::NULL);
        }
    });
}

#[test]
fn absurd_arrays_are_refused() {
    for_each_collector(4 << 20, |vm, thread| {
        let bytes = vm.classes.bytes;
        let huge = i32::MAX as usize;
        assert_eq!(thread.new_array(vm, bytes, huge), Err(AllocFailure::TooLarge));
        assert_eq!(thread.new_array(vm, bytes, huge - 16), Err(AllocFailure::HeapFull));
        assert_eq!(thread.new_array(vm, bytes, 5 << 20), Err(AllocFailure::HeapFull));
    });
}

#[test]
fn a_fragmented_heap_shrinks() {
    for_each_collector(32 << 20, |vm, thread| {
        let count = 300_000;
        (0..count).for_each(|i| push(vm, thread, i).unwrap());
        let before = vm.heap.committed_bytes();
        // Unlinks all but every sixteenth node.
        let (barriers, slot) = (vm.heap.barriers(), vm.classes.slot(0));
        let mut node = thread.roots[0].get();
        while !node.is_null() {
            let mut next = barriers.load(&thread.m, node, slot);
            for _ in 0..15 {
                if !next.is_null() {
                    next = barriers.load(&thread.m, next, slot);
                }
            }
            barriers.store(&thread.m, node, slot, next);
            node = next;
        }
        (0..3).for_each(|_| collect(vm, thread));
        let after = vm.heap.committed_bytes();
        assert!(after < before / 4, "{before} bytes became {after}");
        assert_eq!(check_list(vm, thread, count - 1, 16), count as usize / 16);
    });
}

#[test]
fn humongous_objects_come_and_go() {
    for_each_collector(16 << 20, |vm, thread| {
        for round in 0..40 {
            let length = 700_000 + round * 1000;
            let array = thread.new_array(vm, vm.classes.refs, length).unwrap();
            thread.roots[round % 2].set(array);
            let node = thread.new_node(vm, 0).unwrap();
            number_of(node).store(round as u32, Ordering::Relaxed);
            let array = thread.roots[round % 2].get();
            let last = vm.classes.slot(length - 1);
            assert!(vm.heap.barriers().load(&thread.m, array, last).is_null());
            vm.heap.barriers().store(&thread.m, array, last, node);
            collect(vm, thread);
            let array = thread.roots[round % 2].get();
            let node = vm.heap.barriers().load(&thread.m, array, last);
            assert_eq!(number_of(node).load(Ordering::Relaxed), round as u32);
            thread.roots[(round + 1) % 2].set(ObjectRef::NULL);
        }
    });
}

/// Makes garbage of `bytes` bytes.
fn churn(vm: &TestVm, thread: &TestThread, bytes: usize) {
    for _ in 0..bytes / 4000 {
        thread.new_array(vm, vm.classes.bytes, 4000).unwrap();
        thread.poll(vm);
    }
}

/// An instance larger than a region, whose few slots are far apart, is as alive as an array is.
#[test]
fn instances_may_be_humongous() {
    for_each_collector(16 << 20, |vm, thread| {
        let (bytes, slot_bytes) = (2 << 20, vm.classes.slot_bytes);
        let slots = [vm.classes.slot(0), 1 << 20, bytes - slot_bytes];
        let refs = slots.map(|slot| slot as u32).into();
        let layout =
            KlassLayout::Instance { bytes: bytes as u32, refs, kind: ReferenceKind::Strong };
        let klass = vm.heap.layouts().register(layout);
        thread.roots[0].set(vm.heap.allocate(&thread.m, klass, bytes, None).unwrap());
        for round in 0..10 {
            for (i, slot) in slots.into_iter().enumerate() {
                let node = thread.new_node(vm, 0).unwrap();
                number_of(node).store(round * 10 + i as u32, Ordering::Relaxed);
                vm.heap.barriers().store(&thread.m, thread.roots[0].get(), slot, node);
            }
            churn(vm, thread, 16 << 20);
            for (i, slot) in slots.into_iter().enumerate() {
                let node = vm.heap.barriers().load(&thread.m, thread.roots[0].get(), slot);
                assert_eq!(number_of(node).load(Ordering::Relaxed), round * 10 + i as u32);
            }
        }
    });
}

/// Agents receive them in messages that are no longer than messages may be.
#[test]
fn classes_may_have_many_slots() {
    for_each_collector(8 << 20, |vm, thread| {
        let refs: Box<[u32]> = (0..400).map(|i| vm.classes.slot(i) as u32).collect();
        let bytes = vm.classes.node_bytes(400) as u32;
        let layout =
            || KlassLayout::Instance { bytes, refs: refs.clone(), kind: ReferenceKind::Strong };
        let classes: Vec<_> = (0..300).map(|_| vm.heap.layouts().register(layout())).collect();
        thread.roots[0]
            .set(vm.heap.allocate(&thread.m, classes[299], bytes as usize, None).unwrap());
        let node = thread.new_node(vm, 0).unwrap();
        number_of(node).store(7, Ordering::Relaxed);
        let slot = vm.classes.slot(399);
        vm.heap.barriers().store(&thread.m, thread.roots[0].get(), slot, node);
        churn(vm, thread, 32 << 20);
        let node = vm.heap.barriers().load(&thread.m, thread.roots[0].get(), slot);
        assert_eq!(number_of(node).load(Ordering::Relaxed), 7);
    });
}

/// Objects that stay where they are, and those that move: collectors copy what is the VM's in a header unchanged.
#[test]
fn objects_keep_their_locks_and_values() {
    for_each_collector(8 << 20, |vm, thread| {
        let (count, is_free) = (20_000, vm.heap.barriers().entry_max() == 0);
        let places: HashSet<_> = (0..count)
            .map(|number| {
                push(vm, thread, number).unwrap();
                let node = thread.roots[0].get();
                node.klass_word().fetch_or((number % 3) << LOCK_SHIFT, Ordering::Relaxed);
                if is_free {
                    node.value_word().store(!number, Ordering::Relaxed);
                }
                thread.new_array(vm, vm.classes.bytes, 100).unwrap();
                node.address()
            })
            .collect();
        churn(vm, thread, 32 << 20);
        collect(vm, thread);
        let (mut node, mut moved) = (thread.roots[0].get(), 0);
        for number in (0..count).rev() {
            assert_eq!(number_of(node).load(Ordering::Relaxed), number);
            let lock = node.klass_word().load(Ordering::Relaxed) & LOCK_MASK;
            assert_eq!(lock, (number % 3) << LOCK_SHIFT);
            assert!(!is_free || node.value_word().load(Ordering::Relaxed) == !number);
            moved += usize::from(!places.contains(&node.address()));
            node = vm.heap.barriers().load(&thread.m, node, vm.classes.slot(0));
        }
        assert!(moved > 1000, "{moved} of {count} nodes have moved");
    });
}

/// Memory that automatic collections kept is given back by the one that the program asks for.
#[test]
fn memory_that_was_kept_is_given_back() {
    for_each_collector(32 << 20, |vm, thread| {
        (0..200_000).for_each(|i| push(vm, thread, i).unwrap());
        churn(vm, thread, 64 << 20);
        thread.roots[0].set(ObjectRef::NULL);
        churn(vm, thread, 64 << 20);
        (0..2).for_each(|_| collect(vm, thread));
        let (after, heap) = (vm.heap.committed_bytes(), vm.heap.max_bytes());
        assert!(after < heap / 4, "{after} of {heap} bytes are kept");
    });
}

#[test]
fn references_are_cleared_by_strength() {
    for_each_collector(8 << 20, |vm, thread| {
        // Root 0 is the referent, roots 1 to 4 soft, weak, final, phantom references to it.
        thread.roots[0].set(thread.new_node(vm, 1).unwrap());
        for kind in 0..4 {
            thread.roots[kind + 1].set(thread.new_reference(vm, kind, 0).unwrap());
        }
        let referent = |kind: usize| thread.referent(vm, thread.roots[kind + 1].get());
        collect(vm, thread);
        assert!((0..4).all(|kind| referent(kind) == thread.roots[0].get()));
        assert_eq!(vm.drain_pending(thread), 0);
        // Softly reachable: nothing happens.
        thread.roots[0].set(ObjectRef::NULL);
        collect(vm, thread);
        assert!((0..4).all(|kind| !referent(kind).is_null()));
        // Weakly reachable: weak is cleared, final keeps the object for its finalizer.
        thread.roots[1].set(ObjectRef::NULL);
        collect(vm, thread);
        assert!(referent(1).is_null() && !referent(2).is_null() && !referent(3).is_null());
        assert_eq!(vm.drain_pending(thread), 2);
        collect(vm, thread);
        assert!(!referent(2).is_null(), "an inactive final reference is an ordinary one");
        assert_eq!(vm.drain_pending(thread), 0);
        // Finalized: the phantom reference is cleared last.
        thread.roots[3].set(ObjectRef::NULL);
        collect(vm, thread);
        assert!(referent(3).is_null());
        assert_eq!(vm.drain_pending(thread), 1);
    });
}

#[test]
fn soft_references_go_before_memory_runs_out() {
    for_each_collector(8 << 20, |vm, thread| {
        for root in 1..7 {
            // Its header fits into its last region, too: each server keeps a region free for evacuation.
            thread.roots[0].set(thread.new_array(vm, vm.classes.bytes, 1000 << 10).unwrap());
            thread.roots[root].set(thread.new_reference(vm, 0, 0).unwrap());
        }
        thread.roots[0].set(ObjectRef::NULL);
        collect(vm, thread);
        let kept = |root: usize| !thread.referent(vm, thread.roots[root].get()).is_null();
        assert!((1..7).all(kept), "there is no need to clear any");
        thread.roots[7].set(thread.new_array(vm, vm.classes.bytes, 4 << 20).unwrap());
        assert!(!(1..7).all(kept));
    });
}

#[test]
fn weak_slots_are_emptied() {
    for_each_collector(4 << 20, |vm, thread| {
        let (barriers, weak) = (vm.heap.barriers(), &vm.binding.weak);
        thread.roots[0].set(thread.new_node(vm, 0).unwrap());
        barriers.store_root(&thread.m, &weak[0], thread.roots[0].get());
        let other = thread.new_node(vm, 0).unwrap();
        barriers.store_root(&thread.m, &weak[1], other);
        (0..2).for_each(|_| collect(vm, thread));
        assert_eq!(barriers.load_weak_root(&thread.m, &weak[0]), thread.roots[0].get());
        assert!(weak[1].is_null());
        assert!(vm.binding.cycles.load(Ordering::Relaxed) >= 2);
    });
}

#[test]
fn allocated_bytes_are_counted_by_thread() {
    for_each_collector(8 << 20, |vm, thread| {
        let before = thread.m.allocated_bytes();
        (0..1000).for_each(|_| assert!(thread.new_array(vm, vm.classes.bytes, 984).is_ok()));
        assert_eq!(thread.m.allocated_bytes() - before, 1_000_000);
        collect(vm, thread);
        assert_eq!(thread.m.allocated_bytes() - before, 1_000_000);
    });
}

#[test]
fn statistics_name_pauses_and_cycles() {
    for_each_collector(8 << 20, |vm, thread| {
        collect(vm, thread);
        let stats = vm.heap.stats();
        assert!(stats.cycles >= 1 && !stats.pauses.is_empty());
        let beans = vm.heap.collector_beans();
        assert!(beans.iter().map(|(_, bean)| bean.collections).sum::<u64>() >= 1);
        let json = serde_json::to_string(&stats).unwrap();
        assert!(json.contains("time_to_safepoint_us"), "{json}");
    });
}

/// A thread that waits for a cycle makes no progress because of the collector, with each collector.
#[test]
fn waiting_for_a_cycle_counts_as_blocked() {
    for_each_collector(8 << 20, |vm, thread| {
        (0..1000).for_each(|number| push(vm, thread, number).unwrap());
        let before = vm.heap.stats().mutators_blocked;
        let start = Instant::now();
        collect(vm, thread);
        let waited_us = start.elapsed().as_micros() as u64;
        let after = vm.heap.stats().mutators_blocked;
        let blocked_us = after.total_us - before.total_us;
        assert!(blocked_us * 2 > waited_us, "{blocked_us} of {waited_us} us are counted");
    });
}
