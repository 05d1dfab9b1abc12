//! Behaviour of G1 alone, and of Semeru like it: ages, mixed pauses, markings, objects left in place.

mod support;

use gc::core::outcome::CollectCause;
use gc::object::ObjectRef;
use gc::options::{CollectorKind, HeapOptions};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use support::{AbortOnPanic, TestThread, TestVm, number_of};

/// One thread with four roots on a heap of 8 MiB in regions of 64 KiB, verified in each pause; for either collector.
fn with_heap(change: impl Fn(&mut HeapOptions), test: impl Fn(&TestVm, &TestThread)) {
    [CollectorKind::G1, CollectorKind::Semeru]
        .into_iter()
        .for_each(|kind| with(kind, &change, &test));
}

fn with(
    kind: CollectorKind,
    change: impl Fn(&mut HeapOptions),
    test: impl Fn(&TestVm, &TestThread),
) {
    let _bomb = AbortOnPanic;
    drop(left_by(kind, change, test));
}

/// The heap when the thread has gone.
fn left_by(
    kind: CollectorKind,
    change: impl Fn(&mut HeapOptions),
    test: impl Fn(&TestVm, &TestThread),
) -> TestVm {
    let mut options = HeapOptions::new(kind, 8 << 20);
    options.region_bytes = Some(64 << 10);
    options.verify_heap = true;
    options.parallel_gc_threads = Some(2);
    options.g1.young_percent_max = 10;
    change(&mut options);
    let vm = TestVm::new(&options);
    let thread = TestThread::attach(&vm, 4);
    test(&vm, &thread);
    thread.detach(&vm);
    vm
}

fn pauses(vm: &TestVm, name: &str) -> u64 {
    vm.heap.totals().pause_totals.get(name).map_or(0, |totals| totals.count)
}

fn counter(vm: &TestVm, name: &str) -> u64 {
    vm.heap.totals().counters.get(name).copied().unwrap_or(0)
}

/// Makes garbage until `done`, at most as much as a hundred heaps hold.
fn churn(vm: &TestVm, thread: &TestThread, done: impl Fn() -> bool) {
    for _ in 0..100 * (8 << 20) / 4096 {
        thread.new_array(vm, vm.classes.bytes, 4000).unwrap();
        thread.poll(vm);
        if done() {
            return;
        }
    }
    panic!("it does not come: {:?}", vm.heap.totals().counters);
}

fn next_pause(vm: &TestVm, thread: &TestThread) {
    let before = vm.heap.totals().cycles;
    churn(vm, thread, || vm.heap.totals().cycles > before);
}

fn is_young(vm: &TestVm, object: ObjectRef) -> bool {
    let card = vm.heap.card(object.address()).expect("G1 has cards");
    card.load(Ordering::Relaxed) == 2
}

/// Puts `count` nodes of twelve slots, each with its number, before the list in root 0.
fn build_list(vm: &TestVm, thread: &TestThread, count: u32) {
    prepend(vm, thread, 0, count);
}

fn prepend(vm: &TestVm, thread: &TestThread, root: usize, count: u32) {
    for number in 0..count {
        let node = thread.new_node(vm, 12).unwrap();
        number_of(node).store(number, Ordering::Relaxed);
        let slot = vm.classes.slot(0);
        vm.heap.barriers().store_initial(&thread.m, node, slot, thread.roots[root].get());
        thread.roots[root].set(node);
        thread.poll(vm);
    }
}

/// Unlinks all but every `step`-th node.
fn thin_out(vm: &TestVm, thread: &TestThread, step: u32) {
    let (barriers, slot) = (vm.heap.barriers(), vm.classes.slot(0));
    let mut node = thread.roots[0].get();
    while !node.is_null() {
        let mut next = barriers.load(&thread.m, node, slot);
        for _ in 1..step {
            if !next.is_null() {
                next = barriers.load(&thread.m, next, slot);
            }
        }
        barriers.store(&thread.m, node, slot, next);
        node = next;
    }
}

fn check_list(vm: &TestVm, thread: &TestThread, count: u32, step: u32) {
    let mut node = thread.roots[0].get();
    for number in (0..count).rev().step_by(step as usize) {
        assert_eq!(number_of(node).load(Ordering::Relaxed), number);
        node = vm.heap.barriers().load(&thread.m, node, vm.classes.slot(0));
    }
    assert!(node.is_null(), "the list is too long");
}

#[test]
fn an_object_is_old_when_it_has_survived_often_enough() {
    for tenuring_age_max in [0, 1, 3, 7, 15] {
        let change = |options: &mut HeapOptions| options.g1.tenuring_age_max = tenuring_age_max;
        with_heap(change, |vm, thread| {
            thread.roots[0].set(thread.new_node(vm, 1).unwrap());
            for survived in 0..=tenuring_age_max {
                assert!(is_young(vm, thread.roots[0].get()), "old after {survived} pauses");
                next_pause(vm, thread);
            }
            assert!(!is_young(vm, thread.roots[0].get()), "young for ever");
        });
    }
}

#[test]
fn mixed_pauses_make_sparse_regions_dense() {
    let change = |options: &mut HeapOptions| {
        options.g1.tenuring_age_max = 0;
        options.g1.initiating_percent = 20;
    };
    with_heap(change, |vm, thread| {
        let count = 30_000;
        build_list(vm, thread, count);
        thin_out(vm, thread, 6);
        // A marking begins when there is more that is old; then the sparse regions are known.
        churn(vm, thread, || {
            prepend(vm, thread, 1, 1);
            counter(vm, "old_regions_evacuated") > 10
        });
        check_list(vm, thread, count, 6);
        assert_eq!(pauses(vm, "Pause Full"), 0);
    });
}

/// An object to which only an overwritten slot of an old object referred when the marking began is kept.
#[test]
fn what_was_alive_at_the_beginning_is_alive_at_the_end() {
    let change = |options: &mut HeapOptions| {
        options.g1.tenuring_age_max = 0;
        options.g1.initiating_percent = 1;
    };
    with_heap(change, |vm, thread| {
        let (barriers, slot) = (vm.heap.barriers(), vm.classes.slot(0));
        build_list(vm, thread, 20_000);
        thread.roots[1].set(thread.new_node(vm, 1).unwrap());
        let node = thread.new_node(vm, 0).unwrap();
        number_of(node).store(77, Ordering::Relaxed);
        barriers.store(&thread.m, thread.roots[1].get(), slot, node);
        (0..2).for_each(|_| next_pause(vm, thread));
        for _ in 0..30 {
            let begun = pauses(vm, "Pause Young (Concurrent Start)");
            let ended = pauses(vm, "Pause Remark");
            let aborted = counter(vm, "markings_aborted");
            // Old regions must grow before the next marking begins.
            let start = || {
                build_list(vm, thread, 10);
                pauses(vm, "Pause Young (Concurrent Start)") > begun
            };
            churn(vm, thread, start);
            // Out of an object that was not looked at yet, to a place that the marking will not visit.
            let value = barriers.load(&thread.m, thread.roots[1].get(), slot);
            barriers.store(&thread.m, thread.roots[1].get(), slot, ObjectRef::NULL);
            thread.roots[2].set(value);
            churn(vm, thread, || {
                pauses(vm, "Pause Remark") > ended || counter(vm, "markings_aborted") > aborted
            });
            let value = thread.roots[2].replace(ObjectRef::NULL);
            assert_eq!(number_of(value).load(Ordering::Relaxed), 77);
            barriers.store(&thread.m, thread.roots[1].get(), slot, value);
            thread.roots[0].set(ObjectRef::NULL);
            build_list(vm, thread, 1000);
        }
    });
}

/// An old weak reference that is no longer reachable refers to a young object: the pause finds it in a dirty card, and
/// must not enqueue it. It would live again, and the marking that begins in that pause would miss it.
#[test]
fn a_dead_reference_that_stays_is_not_enqueued() {
    let change = |options: &mut HeapOptions| {
        options.g1.tenuring_age_max = 0;
        options.g1.initiating_percent = 1;
    };
    with_heap(change, |vm, thread| {
        let weak = 1;
        let starts = || pauses(vm, "Pause Young (Concurrent Start)");
        let mut met = 0;
        for _ in 0..200 {
            thread.roots[2].set(thread.new_node(vm, 1).unwrap());
            thread.roots[1].set(thread.new_reference(vm, weak, 2).unwrap());
            // Old regions must grow before a marking begins, in this pause and not in the next.
            thread.roots[0].set(ObjectRef::NULL);
            build_list(vm, thread, 4000);
            next_pause(vm, thread);
            let young = thread.new_node(vm, 1).unwrap();
            let referent = vm.classes.fields.referent as usize;
            assert!(!is_young(vm, thread.roots[1].get()));
            vm.heap.barriers().store(&thread.m, thread.roots[1].get(), referent, young);
            (1..3).for_each(|root| thread.roots[root].set(ObjectRef::NULL));
            let before = starts();
            next_pause(vm, thread);
            met += starts() - before;
            assert!(vm.binding.pending.is_null(), "a dead reference was enqueued");
        }
        assert!(met > 3, "markings began in {met} of these pauses");
    });
}

#[test]
fn a_marking_frees_humongous_objects_and_keeps_those_that_live() {
    with_heap(
        |options| options.g1.initiating_percent = 20,
        |vm, thread| {
            for round in 0..100_000 {
                let array = thread.new_array(vm, vm.classes.refs, 20_000).unwrap();
                thread.roots[round % 2].set(array);
                let node = thread.new_node(vm, 0).unwrap();
                number_of(node).store(round as u32, Ordering::Relaxed);
                let array = thread.roots[round % 2].get();
                let slot = vm.classes.slot(19_999);
                vm.heap.barriers().store(&thread.m, array, slot, node);
                (0..5).for_each(|_| _ = thread.new_array(vm, vm.classes.bytes, 8000).unwrap());
                thread.poll(vm);
                for back in 0..round.min(2) {
                    let array = thread.roots[(round - back) % 2].get();
                    let node = vm.heap.barriers().load(&thread.m, array, slot);
                    let number = number_of(node).load(Ordering::Relaxed);
                    assert_eq!(number, (round - back) as u32);
                }
                if round > 100 && counter(vm, "regions_freed_by_marking") > 0 {
                    return;
                }
            }
            panic!("no marking frees anything: {:?}", vm.heap.totals());
        },
    );
}

#[test]
fn objects_stay_where_they_are_when_there_is_no_room() {
    let change = |options: &mut HeapOptions| {
        options.g1.reserve_percent = 0;
        options.g1.young_percent_max = 100;
        options.g1.young_percent_min = 100;
    };
    with_heap(change, |vm, thread| {
        let count = 60_000;
        build_list(vm, thread, count);
        next_pause(vm, thread);
        assert!(counter(vm, "objects_left_in_place") > 0, "{:?}", vm.heap.totals().counters);
        check_list(vm, thread, count, 1);
        thin_out(vm, thread, 10);
        vm.heap.collect(&thread.m, CollectCause::SystemGc);
        check_list(vm, thread, count, 10);
    });
}

/// A remark that has begun is completed, though the collector is asked to stop: objects that it has not found are not
/// dead.
#[test]
fn a_heap_can_go_away_while_it_is_marked() {
    let _bomb = AbortOnPanic;
    let change = |options: &mut HeapOptions| options.g1.initiating_percent = 1;
    let begun = |vm: &TestVm| pauses(vm, "Pause Young (Concurrent Start)");
    let is_marked = |vm: &TestVm| pauses(vm, "Pause Remark") == begun(vm);
    for kind in [CollectorKind::G1, CollectorKind::Semeru] {
        let mut usual = Duration::ZERO;
        for number in 0..HEAPS {
            let vm = left_by(kind, change, |vm, thread| {
                build_list(vm, thread, 10_000);
                let list = thread.roots[0].get();
                vm.heap.barriers().store_root(&thread.m, &vm.binding.strong[0], list);
                let before = begun(vm);
                churn(vm, thread, || begun(vm) > before);
            });
            let (start, moment) = (Instant::now(), usual * 2 * number / HEAPS);
            while !is_marked(&vm) && (number == 0 || start.elapsed() < moment) {
                std::thread::yield_now();
            }
            if number == 0 {
                usual = start.elapsed();
            }
        }
    }
}

const HEAPS: u32 = 100;
