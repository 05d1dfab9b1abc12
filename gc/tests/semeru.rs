//! Behaviour of Semeru alone: rounds of tracing on the servers, each region from its entrances.

mod support;

use gc::core::outcome::CollectCause;
use gc::object::ObjectRef;
use gc::options::{CollectorKind, HeapOptions, LocalMemory};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use support::{AbortOnPanic, TestThread, TestVm, is_tracing, number_of};

/// One thread with some roots on a heap of 16 MiB in regions of 64 KiB, an eighth of it local, verified in each pause.
/// Objects that survive a pause are old.
fn with_heap(change: impl Fn(&mut HeapOptions), test: impl Fn(&TestVm, &TestThread)) {
    let mut options = HeapOptions::new(CollectorKind::Semeru, 16 << 20);
    options.region_bytes = Some(64 << 10);
    options.local_memory = LocalMemory::Bytes(2 << 20);
    options.verify_heap = true;
    options.g1.young_percent_max = 5;
    options.g1.tenuring_age_max = 0;
    options.semeru.growth_percent = 0;
    change(&mut options);
    let _bomb = AbortOnPanic;
    let vm = TestVm::new(&options);
    let thread = TestThread::attach(&vm, ROOTS);
    test(&vm, &thread);
    thread.detach(&vm);
    drop(vm);
}

const ROOTS: usize = 16;

fn counter(vm: &TestVm, name: &str) -> u64 {
    vm.heap.totals().counters.get(name).copied().unwrap_or(0)
}

/// Makes garbage, and a little that lives on in the last root, until `count` rounds are over that began after the
/// call.
fn rounds(vm: &TestVm, thread: &TestThread, count: u64) {
    let goal = counter(vm, "markings") + count + 1;
    for _ in 0..4_000_000 {
        allocate_some(vm, thread);
        if counter(vm, "markings") >= goal {
            return;
        }
    }
    panic!("the rounds do not come: {:?}", vm.heap.totals().counters);
}

fn allocate_some(vm: &TestVm, thread: &TestThread) {
    thread.new_array(vm, vm.classes.bytes, 4000).unwrap();
    let kept = thread.new_array(vm, vm.classes.refs, 100).unwrap();
    thread.roots[ROOTS - 1].set(kept);
    thread.poll(vm);
}

/// A chain in root 0 of arrays of references, of which two fit into a region. The one made first is in root 1. The
/// first element of each refers to a node with the array's number.
fn chain(vm: &TestVm, thread: &TestThread, length: u32) {
    for number in 0..length {
        let label = thread.new_node(vm, 0).unwrap();
        number_of(label).store(number, Ordering::Relaxed);
        thread.roots[2].set(label);
        let array = thread.new_array(vm, vm.classes.refs, 6000).unwrap();
        store(vm, thread, array, 0, thread.roots[2].replace(ObjectRef::NULL));
        store(vm, thread, array, 7, thread.roots[0].get());
        thread.roots[0].set(array);
        if number == 0 {
            thread.roots[1].set(array);
        }
    }
}

fn store(vm: &TestVm, thread: &TestThread, object: ObjectRef, slot: usize, value: ObjectRef) {
    vm.heap.barriers().store(&thread.m, object, vm.classes.slot(slot), value);
}

fn load(vm: &TestVm, thread: &TestThread, object: ObjectRef, slot: usize) -> ObjectRef {
    vm.heap.barriers().load(&thread.m, object, vm.classes.slot(slot))
}

fn region(vm: &TestVm, object: ObjectRef) -> u32 {
    vm.heap.core().geometry.region_of(object).0
}

#[test]
fn servers_find_what_is_dead_in_old_regions() {
    with_heap(
        |_| (),
        |vm, thread| {
            for root in 0..8 {
                for number in 0..4000 {
                    let node = thread.new_node(vm, 4).unwrap();
                    number_of(node).store(number, Ordering::Relaxed);
                    store(vm, thread, node, 0, thread.roots[root].get());
                    thread.roots[root].set(node);
                    thread.poll(vm);
                }
            }
            rounds(vm, thread, 1);
            let freed = counter(vm, "regions_freed_by_marking");
            (0..8).step_by(2).for_each(|root| thread.roots[root].set(ObjectRef::NULL));
            rounds(vm, thread, 10);
            assert!(counter(vm, "tracing_regions") > 100, "{:?}", vm.heap.totals().counters);
            let freed = counter(vm, "regions_freed_by_marking") - freed;
            assert!(freed + counter(vm, "old_regions_evacuated") > 10, "{freed} regions");
            assert_eq!(vm.heap.totals().pause_totals.get("Pause Full").map_or(0, |t| t.count), 0);
            for root in (1..8).step_by(2) {
                let mut node = thread.roots[root].get();
                for number in (0..4000).rev() {
                    assert_eq!(number_of(node).load(Ordering::Relaxed), number);
                    node = load(vm, thread, node, 0);
                }
                assert!(node.is_null());
            }
        },
    );
}

#[test]
fn tables_on_servers_are_counted() {
    with_heap(
        |_| {},
        |vm, thread| {
            chain(vm, thread, 20);
            rounds(vm, thread, 1);
            let stats = vm.heap.stats_at_exit();
            for name in ["root_bits", "mark_bits", "region_figures"] {
                assert!(stats.server_metadata[name] > 0, "{:?}", stats.server_metadata);
            }
            assert!(stats.server_metadata_percent > 0.0);
        },
    );
    let without = |options: &mut HeapOptions| options.semeru.offload_tracing = false;
    with_heap(without, |vm, thread| {
        rounds(vm, thread, 1);
        assert!(vm.heap.stats_at_exit().server_metadata.is_empty());
    });
}

#[test]
fn what_only_other_regions_refer_to_lives() {
    with_heap(
        |_| (),
        |vm, thread| {
            let length = 40;
            chain(vm, thread, length);
            thread.roots[1].set(ObjectRef::NULL);
            for _ in 0..5 {
                rounds(vm, thread, 2);
                let (mut array, mut crossings) = (thread.roots[0].get(), 0);
                for number in (0..length).rev() {
                    let label = load(vm, thread, array, 0);
                    assert_eq!(number_of(label).load(Ordering::Relaxed), number);
                    let next = load(vm, thread, array, 7);
                    crossings +=
                        usize::from(!next.is_null() && region(vm, next) != region(vm, array));
                    array = next;
                }
                assert!(crossings > 15, "{crossings}");
            }
            assert!(counter(vm, "tracing_regions") > 0);
        },
    );
}

/// Objects that threads take out of old objects while the servers trace, and keep to themselves.
#[test]
fn what_is_taken_out_of_a_region_during_a_round_lives() {
    with_heap(
        |options| options.local_memory = LocalMemory::Percent(50),
        |vm, thread| {
            let slots = 400;
            // The holder and its referents are promoted by one pause, and lie together.
            thread.roots[0].set(thread.new_array(vm, vm.classes.refs, slots).unwrap());
            for slot in 0..slots {
                let node = thread.new_node(vm, 0).unwrap();
                number_of(node).store(slot as u32, Ordering::Relaxed);
                store(vm, thread, thread.roots[0].get(), slot, node);
            }
            rounds(vm, thread, 1);
            let (mut taken, mut together) = (0, 0);
            for step in 0..10_000_000 {
                if step >= 100_000 && counter(vm, "markings") >= 20 {
                    break;
                }
                let slot = step % slots;
                let holder = thread.roots[0].get();
                let node = load(vm, thread, holder, slot);
                together += usize::from(region(vm, node) == region(vm, holder));
                thread.roots[1].set(node);
                store(vm, thread, holder, slot, ObjectRef::NULL);
                // A round may end here.
                if step % 7 == 0 {
                    thread.new_array(vm, vm.classes.bytes, 4000).unwrap();
                    let kept = thread.new_array(vm, vm.classes.refs, 100).unwrap();
                    thread.roots[ROOTS - 1].set(kept);
                }
                thread.poll(vm);
                let node = thread.roots[1].replace(ObjectRef::NULL);
                assert_eq!(number_of(node).load(Ordering::Relaxed), slot as u32);
                store(vm, thread, thread.roots[0].get(), slot, node);
                taken += 1;
            }
            assert!(together > taken / 2, "{together} of {taken} are in the holder's region");
            assert!(counter(vm, "tracing_roots_logged") > 0, "{:?}", vm.heap.totals().counters);
            assert!(counter(vm, "markings") >= 20, "{:?}", vm.heap.totals().counters);
            assert!(counter(vm, "tracing_flushed_pages") > 0);
        },
    );
}

/// A referent that a thread takes out of a weak slot when all is traced but for the remark: the servers trace from it
/// while the world is stopped, and the objects that they find count.
#[test]
fn what_is_logged_last_lives_with_all_that_it_refers_to() {
    with_heap(
        |_| (),
        |vm, thread| {
            let (m, weak, barriers) = (&thread.m, &vm.binding.weak[0], vm.heap.barriers());
            let await_end = || {
                wait_until(|| {
                    thread.poll(vm);
                    !is_tracing(thread)
                });
            };
            let (mut together, start) = (0, Instant::now());
            while together < 3 {
                assert!(start.elapsed() < LIMIT, "{:?}", vm.heap.totals().counters);
                // Both are promoted by one pause.
                thread.roots[0].set(thread.new_array(vm, vm.classes.refs, 8).unwrap());
                let node = thread.new_node(vm, 0).unwrap();
                number_of(node).store(77, Ordering::Relaxed);
                store(vm, thread, thread.roots[0].get(), 7, node);
                rounds(vm, thread, 1);
                barriers.store_root(m, weak, thread.roots[0].replace(ObjectRef::NULL));
                await_end();
                while !is_tracing(thread) {
                    allocate_some(vm, thread);
                }
                // A thread that allocates nothing is asked for its logs next, and then to stop.
                wait_until(|| m.poll_requested());
                thread.poll(vm);
                let before = counter(vm, "tracing_roots_logged");
                thread.roots[0].set(barriers.load_weak_root(m, weak));
                await_end();
                let is_logged = counter(vm, "tracing_roots_logged") > before;
                let holder = thread.roots[0].get();
                if holder.is_null() {
                    // The thread was asked for its logs while it still waited for the pause that began the round, so
                    // it passed the remark, and nothing had kept the object.
                    continue;
                }
                let node = load(vm, thread, holder, 7);
                assert_eq!(number_of(node).load(Ordering::Relaxed), 77);
                together += usize::from(is_logged && region(vm, holder) == region(vm, node));
            }
        },
    );
}

fn wait_until(holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < LIMIT, "nothing happens");
        std::thread::yield_now();
    }
}

const LIMIT: Duration = Duration::from_secs(60);

/// The price of regions that are traced on their own.
#[test]
fn garbage_between_regions_floats_until_a_full_collection() {
    with_heap(
        |_| (),
        |vm, thread| {
            // A ring through many regions.
            chain(vm, thread, 40);
            store(vm, thread, thread.roots[1].get(), 7, thread.roots[0].get());
            rounds(vm, thread, 1);
            (0..2).for_each(|root| thread.roots[root].set(ObjectRef::NULL));
            rounds(vm, thread, 3);
            let floating = vm.heap.used_bytes();
            vm.heap.collect(&thread.m, CollectCause::SystemGc);
            let left = vm.heap.used_bytes();
            assert!(floating - left > 40 * 3000 * 8 / 2, "{floating} bytes, then {left}");
        },
    );
}

/// The off switch: the same collections, and no server is asked for anything.
#[test]
fn without_offloading_the_same_is_traced_here() {
    let change = |options: &mut HeapOptions| {
        options.semeru.offload_tracing = false;
        options.local_memory = LocalMemory::Percent(100);
    };
    with_heap(change, |vm, thread| {
        assert!(vm.heap.core().space.fleet().is_none());
        rounds(vm, thread, 3);
        assert_eq!(counter(vm, "tracing_rounds"), 0);
    });
}
