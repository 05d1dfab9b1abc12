//! The collector of `gc/examples/sticky/`: random mutators, the purpose of its barrier, and that memory is freed.

#[path = "support/actors.rs"]
mod actors;
#[path = "../examples/sticky/collector.rs"]
mod collector;
#[path = "support/operation.rs"]
mod operation;
#[path = "support/recorder.rs"]
mod recorder;
mod support;

use collector::StickyPlan;
use gc::barrier::plain_barriers::plain_barriers;
use gc::core::collector::{CollectorParts, CollectorPlan};
use gc::core::heap_core::HeapCore;
use gc::core::outcome::CollectCause;
use gc::memory::error::HeapError;
use gc::memory::region::RegionUse;
use gc::object::{ObjectRef, RootSlot};
use gc::options::{CollectorKind, HeapOptions, LocalMemory};
use operation::{Arguments, Operation};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use recorder::{Machine, Program};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use support::{TestThread, TestVm, number_of};

/// Sticky without its barrier: stores are not noted.
struct WithoutBarrier;

impl CollectorPlan for WithoutBarrier {
    fn build(self: Box<Self>, core: Arc<HeapCore>) -> Result<CollectorParts, HeapError> {
        let barriers = plain_barriers(core.slot_width, !core.options.zeal(), ());
        let parts = Box::new(StickyPlan).build(core)?;
        Ok(CollectorParts { barriers, ..parts })
    }
}

/// A heap of 8 MB with small regions; slots of both widths.
fn options() -> impl Iterator<Item = HeapOptions> {
    [true, false].into_iter().map(|is_narrow| HeapOptions {
        region_bytes: Some(REGION_BYTES),
        compressed_oops: Some(is_narrow),
        verify_heap: true,
        ..HeapOptions::new(CollectorKind::Epsilon, 8 << 20)
    })
}

const REGION_BYTES: usize = 64 << 10;

/// Those of `gc_ops`. They seldom ask for a cycle, which would be a full one. `GC_OPS_SEED` repeats a run.
fn random_mutators(name: &str, threads: usize, change: impl Fn(&mut HeapOptions)) {
    let seed = std::env::var("GC_OPS_SEED").map(|seed| seed.parse().expect("a number"));
    let seed = seed.unwrap_or_else(|_| rand::random());
    for mut options in options() {
        change(&mut options);
        eprintln!("sticky {name}: GC_OPS_SEED={seed}");
        let vm = TestVm::with_plan(&options, Box::new(StickyPlan));
        actors::run(&vm, threads, 60_000, seed, 800);
        let stats = vm.heap.stats();
        assert!(stats.counters["full_cycles"] < stats.cycles, "all cycles were full");
    }
}

#[test]
fn random_mutators_agree_with_their_models() {
    random_mutators("plain", 3, |_| ());
}

/// A cycle at every 97th allocation; freed memory is poisoned.
#[test]
fn random_mutators_agree_under_zeal() {
    random_mutators("zeal", 2, |options| options.zeal_alloc_interval = Some(97));
}

#[test]
fn random_mutators_agree_when_polls_collect() {
    random_mutators("polls", 2, |options| options.zeal_poll_interval = Some(50));
}

#[test]
fn random_mutators_agree_over_far_memory() {
    random_mutators("far", 2, |options| options.local_memory = LocalMemory::Bytes(2 << 20));
}

/// Makes garbage of some regions' size.
fn churn(vm: &TestVm, thread: &TestThread) {
    for _ in 0..3 * REGION_BYTES / 1000 {
        thread.new_array(vm, vm.classes.bytes, 1000).unwrap();
    }
}

/// A cycle that is not full.
fn collect(vm: &TestVm, thread: &TestThread) {
    vm.heap.collect(&thread.m, CollectCause::Proactive);
}

/// Whether an object is still there to which only an old one refers, in whose slot `write` has put it: it is
/// given the old object, the offset of the slot, and the value.
fn survives(
    options: &HeapOptions,
    plan: Box<dyn CollectorPlan>,
    write: impl Fn(&TestVm, &TestThread, ObjectRef, usize, ObjectRef),
) -> bool {
    // A verification would find the slot that refers to nothing.
    let options = HeapOptions { verify_heap: false, ..options.clone() };
    let vm = TestVm::with_plan(&options, plan);
    let thread = TestThread::attach(&vm, 1);
    thread.roots[0].set(thread.new_array(&vm, vm.classes.refs, 4).unwrap());
    collect(&vm, &thread);
    churn(&vm, &thread);
    let young = thread.new_node(&vm, 1).unwrap();
    number_of(young).store(7, Ordering::Relaxed);
    write(&vm, &thread, thread.roots[0].get(), vm.classes.slot(2), young);
    churn(&vm, &thread);
    (0..2).for_each(|_| collect(&vm, &thread));
    let b = vm.heap.barriers();
    let young = b.load(&thread.m, thread.roots[0].get(), vm.classes.slot(2));
    let is_there = vm.heap.core().region_of(young).usage() == RegionUse::Objects;
    assert!(!is_there || number_of(young).load(Ordering::Relaxed) == 7);
    thread.detach(&vm);
    assert_eq!(vm.heap.stats().counters["full_cycles"], 0);
    is_there
}

fn record(operation: Operation, vm: &TestVm) -> Program {
    Program::record(4, |e, inputs| {
        operation.emit(vm.heap.barriers(), e, inputs.try_into().expect("as many as asked for"))
    })
}

fn evaluated(operation: Operation) -> impl Fn(&TestVm, &TestThread, ObjectRef, usize, ObjectRef) {
    move |vm, thread, object, offset, value| {
        let (other, root) = (ObjectRef::NULL, &RootSlot::null());
        let at = Arguments { object, offset, value, other, root };
        operation.evaluate(vm.heap.barriers(), &thread.m, &at);
    }
}

fn emitted(operation: Operation) -> impl Fn(&TestVm, &TestThread, ObjectRef, usize, ObjectRef) {
    move |vm, thread, object, offset, value| {
        let inputs = [object.address() as u64, offset as u64, value.address() as u64, 0];
        Machine::new(&thread.m, vm.heap.barriers()).run(&record(operation, vm), &inputs);
    }
}

#[test]
fn what_an_old_object_refers_to_survives_by_the_barrier_alone() {
    for options in options() {
        for operation in Operation::ALL.into_iter().filter(|operation| operation.stores()) {
            let with = || Box::new(StickyPlan);
            let without = || Box::new(WithoutBarrier);
            assert!(survives(&options, with(), evaluated(operation)), "{operation:?} is run");
            assert!(survives(&options, with(), emitted(operation)), "{operation:?} is emitted");
            assert!(!survives(&options, without(), evaluated(operation)), "{operation:?}");
            assert!(!survives(&options, without(), emitted(operation)), "{operation:?}");
        }
    }
}

#[test]
fn copied_and_cloned_references_survive_in_old_objects() {
    let copied = |vm: &TestVm, thread: &TestThread, old: ObjectRef, offset: usize, value| {
        let (b, m, array) = (vm.heap.barriers(), &thread.m, vm.classes.refs);
        // The old object stays where it is, and the young one is in no danger before the next cycle.
        let from = thread.new_array(vm, array, 1).unwrap();
        b.store_initial(m, from, vm.classes.slot(0), value);
        b.copy_array(m, from, vm.classes.slot(0), old, offset, 1);
    };
    let cloned = |vm: &TestVm, thread: &TestThread, old: ObjectRef, offset: usize, value| {
        let (b, m, array) = (vm.heap.barriers(), &thread.m, vm.classes.refs);
        let original = thread.new_array(vm, array, 4).unwrap();
        b.store_initial(m, original, offset, value);
        b.clone_contents(m, original, old, vm.classes.array_bytes(array, 4));
    };
    for options in options() {
        assert!(survives(&options, Box::new(StickyPlan), copied));
        assert!(survives(&options, Box::new(StickyPlan), cloned));
        assert!(!survives(&options, Box::new(WithoutBarrier), copied));
        assert!(!survives(&options, Box::new(WithoutBarrier), cloned));
    }
}

/// The interpreter's way through the barriers and the compiler's leave the same words and the same cards.
#[test]
fn emitted_barriers_do_what_evaluated_ones_do() {
    for options in options() {
        let mut rng = SmallRng::seed_from_u64(5);
        let vm = TestVm::with_plan(&options, Box::new(StickyPlan));
        let thread = TestThread::attach(&vm, 0);
        let (b, m) = (vm.heap.barriers(), &thread.m);
        let nodes: Vec<_> = (0..100).map(|_| thread.new_node(&vm, 3).unwrap()).collect();
        let programs = Operation::ALL.map(|operation| record(operation, &vm));
        let roots = [RootSlot::null(), RootSlot::null()];
        b.store_root(m, &roots[1], nodes[5]);
        for round in 0..5000 {
            let number = rng.random_range(0..programs.len());
            let operation = Operation::ALL[number];
            let mut any = || *nodes.get(rng.random_range(0..150)).unwrap_or(&ObjectRef::NULL);
            let (before, value, other) = (any(), any(), any());
            let object = nodes[rng.random_range(0..nodes.len())];
            let offset = vm.classes.slot(rng.random_range(0..3));
            let other = if rng.random() { before } else { other };
            let card = vm.heap.card(object.address()).expect("Sticky has cards");
            let root = &roots[round % 2];
            let outcome = |run: &dyn Fn() -> ObjectRef| {
                b.store(m, object, offset, before);
                card.store(0, Ordering::Relaxed);
                let yielded = run();
                (yielded, b.load(m, object, offset), card.load(Ordering::Relaxed))
            };
            let at = Arguments { object, offset, value, other, root };
            let by_interpreter = outcome(&|| operation.evaluate(b, m, &at));
            let by_compiler = outcome(&|| {
                let object = match operation {
                    Operation::LoadRoot => (&raw const *root) as u64,
                    _ => object.address() as u64,
                };
                let [value, other] = [value, other].map(|value| value.address() as u64);
                let inputs = [object, offset as u64, value, other];
                let yielded = Machine::new(m, b).run(&programs[number], &inputs);
                ObjectRef::from_address(yielded as usize)
            });
            assert_eq!(by_interpreter, by_compiler, "{operation:?} in round {round}");
            assert_eq!(by_compiler.2 != 0, operation.stores(), "the card after {operation:?}");
        }
        thread.detach(&vm);
    }
}

/// Ten times the heap, with a live set that becomes old and is replaced bit by bit.
#[test]
fn memory_is_freed_and_what_lives_is_not() {
    for options in options() {
        let vm = TestVm::with_plan(&options, Box::new(StickyPlan));
        let thread = TestThread::attach(&vm, 1);
        let b = vm.heap.barriers();
        thread.roots[0].set(thread.new_array(&vm, vm.classes.refs, LIVE).unwrap());
        let mut number = 0;
        let end = 10 * vm.heap.max_bytes() as u64;
        while thread.m.allocated_bytes() < end {
            let node = thread.new_node(&vm, 4).unwrap();
            number_of(node).store(number, Ordering::Relaxed);
            let slot = vm.classes.slot(number as usize % LIVE);
            b.store(&thread.m, thread.roots[0].get(), slot, node);
            thread.new_array(&vm, vm.classes.bytes, 100).unwrap();
            number += 1;
        }
        for i in 0..LIVE {
            let node = b.load(&thread.m, thread.roots[0].get(), vm.classes.slot(i));
            let held = number_of(node).load(Ordering::Relaxed);
            assert!(number - held <= LIVE as u32 && held as usize % LIVE == i, "{held} in {i}");
        }
        let stats = vm.heap.stats();
        let full = stats.counters["full_cycles"];
        assert!(full > 0 && full < stats.cycles, "{full} of {} cycles are full", stats.cycles);
        // The nodes, and the array of them.
        let counts = vm.heap.histogram(&thread.m).unwrap();
        assert_eq!(counts.iter().map(|count| count.objects).sum::<usize>(), LIVE + 1);
        thread.roots[0].set(ObjectRef::NULL);
        vm.heap.collect(&thread.m, CollectCause::SystemGc);
        assert_eq!(vm.heap.used_bytes(), 0, "everything is dead");
        thread.detach(&vm);
    }
}

const LIVE: usize = 10_000;

/// Code that is meant to be read in one sitting stays short.
#[test]
fn the_collector_is_short() {
    let lines = include_str!("../examples/sticky/collector.rs").lines().count();
    assert!(lines <= 300, "{lines} lines");
}
