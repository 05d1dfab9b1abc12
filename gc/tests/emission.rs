//! Code that a compiler tier emits does the same as the operations that the interpreter runs: each operation is
//! carried out twice on the same heap, by `Eval` and by a recorded program, and must yield the same and leave the same
//! words.

#[path = "support/operation.rs"]
mod operation;
#[path = "support/recorder.rs"]
mod recorder;
mod support;

use gc::barrier::BarrierSet;
use gc::barrier::barrier_asm::SlowPath;
use gc::core::outcome::CollectCause;
use gc::object::{EARLY, ObjectRef, RootSlot};
use gc::options::{CollectorKind, Configuration};
use gc::threads::mutator::ThreadField;
use operation::{Arguments, Operation};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use recorder::{Machine, Program, thread_word};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use support::{TestThread, TestVm, number_of};

fn record(operation: Operation, b: &dyn BarrierSet) -> Program {
    Program::record(4, |e, inputs| {
        operation.emit(b, e, inputs.try_into().expect("as many as asked for"))
    })
}

/// Nodes and root slots; nothing moves, since nothing collects.
struct World {
    vm: TestVm,
    thread: Box<TestThread>,
    /// The last one is large, and in a region of its own.
    nodes: Vec<ObjectRef>,
    roots: Vec<RootSlot>,
}

impl World {
    fn new(kind: Configuration, rng: &mut SmallRng) -> World {
        let vm = TestVm::new(&kind.options(16 << 20));
        let thread = TestThread::attach(&vm, 0);
        let mut nodes: Vec<_> = (0..NODES).map(|_| thread.new_node(&vm, SLOTS).unwrap()).collect();
        nodes.push(thread.new_array(&vm, vm.classes.longs, 100_000).unwrap());
        if kind.generational {
            // Entries of young objects.
            for node in nodes.iter().step_by(2) {
                vm.heap.entry(*node);
            }
        }
        let roots: Vec<_> = (0..NODES).map(|_| RootSlot::null()).collect();
        let world = World { vm, thread, nodes, roots };
        let b = world.vm.heap.barriers();
        for (node, root) in world.nodes.iter().zip(&world.roots) {
            for slot in 0..SLOTS {
                let value = world.any(rng);
                b.store_initial(&world.thread.m, *node, world.vm.classes.slot(slot), value);
            }
            b.store_root(&world.thread.m, root, world.any(rng));
        }
        world
    }

    /// A node or, often, null.
    fn any(&self, rng: &mut SmallRng) -> ObjectRef {
        self.nodes.get(rng.random_range(0..NODES * 3 / 2)).copied().unwrap_or(ObjectRef::NULL)
    }

    fn arguments(&self, rng: &mut SmallRng) -> Arguments<'_> {
        let object = self.nodes[rng.random_range(0..NODES)];
        let offset = self.vm.classes.slot(rng.random_range(0..SLOTS));
        let held = self.vm.heap.barriers().load(&self.thread.m, object, offset);
        let other = if rng.random() { held } else { self.any(rng) };
        let root = &self.roots[rng.random_range(0..NODES)];
        Arguments { object, offset, value: self.any(rng), other, root }
    }

    /// Every word that the operations may touch.
    fn words(&self) -> Vec<u64> {
        let bytes = self.vm.classes.node_bytes(SLOTS);
        let words = self.nodes.iter().flat_map(|n| (0..bytes).step_by(8).map(|at| word(*n, at)));
        words.map(|word| word.load(Ordering::Relaxed)).collect()
    }

    fn set_words(&self, words: &[u64]) {
        let bytes = self.vm.classes.node_bytes(SLOTS);
        let all = self.nodes.iter().flat_map(|n| (0..bytes).step_by(8).map(|at| word(*n, at)));
        all.zip(words).for_each(|(word, value)| word.store(*value, Ordering::Relaxed));
    }
}

fn word(object: ObjectRef, offset: usize) -> &'static std::sync::atomic::AtomicU64 {
    // SAFETY: an aligned word of a live object of the test, which does not move.
    unsafe { std::sync::atomic::AtomicU64::from_ptr((object.address() + offset) as *mut u64) }
}

/// The phases that barriers may meet: of Mako and Shenandoah tracing and evacuating, of Mako noting touches, of G1 and
/// Semeru marking; those on which MemLiner is built as well, with threads that report the objects that they touch and
/// threads that do not.
fn phases(kind: Configuration) -> &'static [u64] {
    match kind.collector {
        kind if kind.is_lined() && kind.is_g1() => &[0, TRACING, TRACING | TELLING],
        kind if kind.is_lined() => &[0, TRACING, TRACING | TELLING, EVACUATING],
        CollectorKind::Mako if !kind.uses_table() => &[0],
        CollectorKind::Mako => &[0, TRACING, EVACUATING, TRACING | EVACUATING, NOTING],
        kind if kind.is_shenandoah() => &[0, TRACING, EVACUATING, TRACING | EVACUATING],
        kind if kind.is_g1() => &[0, TRACING],
        _ => &[0],
    }
}

/// Of a card that need not be looked at.
const CLEAN: u8 = 0;
/// Whether the object is reported to MemLiner: each whose slot is accessed is, but new ones. G1's card says that the
/// object is old.
fn tells(operation: Operation, phase: u64) -> bool {
    phase & TELLING != 0 && !matches!(operation, Operation::StoreInitial | Operation::LoadRoot)
}

/// Where the stamps of references are.
const STAMP: u32 = 48;
const RESTAMP: u8 = 0xa1;
const EXCHANGE: u8 = 0xa2;
/// Of Mako with a nursery.
const REMEMBER: u8 = 2;
/// MemLiner's first slow path, and the word of the object that was reported last.
const TOUCHED: u8 = 0xa0;
const LAST: usize = 15;
const TRACING: u64 = 1;
const EVACUATING: u64 = 2;
const NOTING: u64 = 8;
/// Of the word with the address of Mako's table: the phase has one of the latter two.
const RESOLVING: u64 = 1;
const TELLING: u64 = 4;
const NODES: usize = 40;
const SLOTS: usize = 4;
const ROUNDS: usize = 20_000;

#[test]
fn emitted_barriers_do_what_evaluated_ones_do() {
    Configuration::all().for_each(compare);
}

/// Where places are no addresses: null is tested for, and the base added.
#[test]
fn barriers_of_a_heap_at_high_addresses_do_the_same() {
    const GIB: usize = 1 << 30;
    let taken: Vec<_> = (1..32)
        .filter_map(|i| {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let wish = std::ptr::without_provenance_mut(i * GIB);
            // SAFETY: addresses that are in use are refused.
            let at = unsafe {
                let flags = flags | libc::MAP_FIXED_NOREPLACE;
                libc::mmap(wish, GIB, libc::PROT_NONE, flags, -1, 0)
            };
            (at != libc::MAP_FAILED).then_some(at)
        })
        .collect();
    Configuration::all().filter(|kind| kind.collector == CollectorKind::Mako).for_each(|kind| {
        let mut rng = SmallRng::seed_from_u64(3);
        let world = World::new(kind, &mut rng);
        assert!(world.nodes[0].address() >= 32 * GIB, "{:?} is low", world.nodes[0]);
        world.thread.detach(&world.vm);
        compare(kind);
    });
    // SAFETY: mapped above, used by no thread.
    taken.iter().for_each(|at| unsafe { _ = libc::munmap(*at, GIB) });
}

fn compare(kind: Configuration) {
    let phases = phases(kind);
    let mut rng = SmallRng::seed_from_u64(7);
    let world = World::new(kind, &mut rng);
    let (b, m) = (world.vm.heap.barriers(), &world.thread.m);
    let programs = Operation::ALL.map(|operation| record(operation, b));
    let phase_word = thread_word(m, ThreadField::word(0));
    let table_word = thread_word(m, ThreadField::word(2));
    let stamp_word = thread_word(m, ThreadField::word(LAST - 1));
    let last_word = thread_word(m, ThreadField::word(LAST));
    let mut calls = BTreeMap::new();
    let (mut marks, mut remembered) = (0, 0);
    for round in 0..ROUNDS {
        let number = rng.random_range(0..programs.len());
        let operation = Operation::ALL[number];
        let at = world.arguments(&mut rng);
        let phase = phases[rng.random_range(0..phases.len())];
        phase_word.store(phase, Ordering::Relaxed);
        if kind.collector == CollectorKind::Mako {
            let table = table_word.load(Ordering::Relaxed) & !RESOLVING;
            let resolving = u64::from(phase & (EVACUATING | NOTING) != 0) * RESOLVING;
            table_word.store(table | resolving, Ordering::Relaxed);
        }

        let now = if kind.epochs { rng.random_range(1..4) } else { 0 };
        stamp_word.store(now << STAMP, Ordering::Relaxed);
        let before = world.words();
        let held = word(at.object, at.offset & !7).load(Ordering::Relaxed);
        let card = world.vm.heap.card(at.object.address() + at.offset);
        card.inspect(|card| card.store(CLEAN, Ordering::Relaxed));
        let of_object = world.vm.heap.card(at.object.address());
        of_object.inspect(|card| card.store(CLEAN, Ordering::Relaxed));
        last_word.store(0, Ordering::Relaxed);
        let evaluated = operation.evaluate(b, m, &at).address() as u64;
        let after = world.words();
        world.set_words(&before);
        let marked = card.map(|card| card.swap(CLEAN, Ordering::Relaxed));
        last_word.store(0, Ordering::Relaxed);
        // A thread that has reported much in vain stops.
        phase_word.store(phase, Ordering::Relaxed);
        let mut machine = Machine::new(m, b);
        let object = match operation {
            Operation::LoadRoot => (&raw const *at.root) as u64,
            _ => at.object.address() as u64,
        };
        let [value, other] = [at.value, at.other].map(|o| o.address() as u64);
        let yielded = machine.run(&programs[number], &[object, at.offset as u64, value, other]);
        let what = format!("{}, round {round}: {operation:?} in phase {phase}", kind.name());
        assert_eq!(yielded, evaluated, "{what}");
        assert!(world.words() == after, "{what} leaves other words");
        if let Some(card) = card {
            assert_eq!(Some(card.load(Ordering::Relaxed)), marked, "{what} leaves another card");
            let is_marked = operation.stores() && Some(&at.value) == world.nodes.last();
            assert_eq!(marked != Some(CLEAN), is_marked, "{what} and its card");
            marks += usize::from(is_marked);
        }
        let healed = phase & EVACUATING != 0 && operation.heals(kind);
        let is_apart =
            |path: &&SlowPath| path.id >= TOUCHED || kind.generational && path.id == REMEMBER;
        let (apart, calls_left): (Vec<SlowPath>, Vec<SlowPath>) =
            machine.calls.iter().partition(is_apart);
        let apart: Vec<u8> = apart.iter().map(|path| path.id).collect();
        let mut expected = Vec::new();
        // The header of a young holder with an entry looks like an old one's.
        let is_remembered = kind.generational
            && operation.stores()
            && at.object.klass_word().load(Ordering::Relaxed) & EARLY != 0
            && !at.value.is_null()
            && !world.vm.heap.is_old(at.value);
        expected.extend(is_remembered.then_some(REMEMBER));
        remembered += usize::from(is_remembered);
        expected.extend(tells(operation, phase).then_some(TOUCHED));
        expected.extend(
            (kind.epochs && operation == Operation::Load && held != 0 && held >> STAMP != now)
                .then_some(RESTAMP),
        );
        expected
            .extend((kind.epochs && operation == Operation::CompareExchange).then_some(EXCHANGE));
        assert_eq!(apart, expected, "{what}, slot {held:#x} in epoch {now}");
        assert!(calls_left.iter().all(|path| path.is_leaf), "{what}: {calls_left:?}");
        let kept = calls_left.len() - usize::from(healed);
        assert!(kept == 0 || phase & TRACING != 0 && kept == 1, "{what}: {kept} kept");
        *calls.entry((operation, phase)).or_insert(0) += calls_left.len();
    }
    phase_word.store(0, Ordering::Relaxed);
    if kind.collector == CollectorKind::Mako {
        table_word.fetch_and(!RESOLVING, Ordering::Relaxed);
    }
    assert_eq!(marks > 100, kind.collector.is_g1(), "{marks} cards");
    assert_eq!(remembered > 100, kind.generational, "{remembered} slots");
    for ((operation, phase), count) in calls {
        let expected = operation.keeps() && phase & TRACING != 0
            || operation.heals(kind) && phase & EVACUATING != 0;
        assert_eq!(count != 0, expected, "{}: {operation:?} in phase {phase}", kind.name());
    }
    world.thread.detach(&world.vm);
}

/// Objects that move while emitted code runs: a thread's nodes and a model of them, and cycles that do not wait for
/// each other's end.
#[test]
fn emitted_barriers_keep_up_with_objects_that_move() {
    for kind in Configuration::all().filter(|kind| kind.collects()) {
        let mut options = kind.options(8 << 20);
        options.region_bytes = Some(64 << 10);
        options.verify_heap = true;
        options.zeal_alloc_interval = Some(u64::MAX);
        let vm = TestVm::new(&options);
        let thread = TestThread::attach(&vm, MOVING);
        let mut calls = 0;
        Moving { vm: &vm, thread: &thread, model: [[None; SLOTS]; MOVING] }.run(&mut calls);
        // Only Shenandoah lets the program continue before a cycle that zeal asked for is over.
        let meets_phases = kind.collector.is_shenandoah();
        assert!(calls > 0 || !meets_phases, "{}: no slow path was taken", kind.name());
        thread.detach(&vm);
    }
}

const MOVING: usize = 60;

/// Node `i` is in root `i`, with the number `i + 1`, which moves with it.
struct Moving<'a> {
    vm: &'a TestVm,
    thread: &'a TestThread,
    model: [[Option<usize>; SLOTS]; MOVING],
}

impl Moving<'_> {
    fn run(&mut self, calls: &mut usize) {
        let (vm, thread) = (self.vm, self.thread);
        for (i, root) in thread.roots.iter().enumerate() {
            root.set(thread.new_node(vm, SLOTS).unwrap());
            number_of(root.get()).store(i as u32 + 1, Ordering::Relaxed);
        }
        let b = vm.heap.barriers();
        let programs = Operation::ALL.map(|operation| (operation, record(operation, b)));
        let mut rng = SmallRng::seed_from_u64(11);
        for round in 0..ROUNDS {
            if round % 40 == 0 {
                // Garbage between the nodes, so that their regions are sparse enough to be emptied.
                (0..20).for_each(|_| _ = thread.new_array(vm, vm.classes.bytes, 1000).unwrap());
                vm.heap.collect(&thread.m, CollectCause::Zeal);
            }
            thread.poll(vm);
            let (operation, program) = &programs[rng.random_range(0..programs.len())];
            let mut machine = Machine::new(&thread.m, b);
            self.step(&mut rng, *operation, program, &mut machine);
            *calls += machine.calls.len();
        }
    }

    /// One operation on one slot. No safepoint lies within, so plain addresses stay.
    fn step(
        &mut self,
        rng: &mut SmallRng,
        operation: Operation,
        program: &Program,
        machine: &mut Machine<'_>,
    ) {
        let mut any = || rng.random_range(0..MOVING);
        let (node, value, other) = (any(), any(), any());
        let slot = any() % SLOTS;
        let held = self.model[node][slot];
        let expected = if any() % 2 == 0 { held } else { Some(other) };
        let address =
            |i: Option<usize>| i.map_or(0, |i| self.thread.roots[i].get().address() as u64);
        let offset = self.vm.classes.slot(slot) as u64;
        let inputs = [address(Some(node)), offset, address(Some(value)), address(expected)];
        let is_root = matches!(operation, Operation::LoadRoot);
        // Initial stores are for slots that held null; root slots of this test are all null.
        if is_root || matches!(operation, Operation::StoreInitial) && held.is_some() {
            return;
        }
        let yielded = machine.run(program, &inputs);
        if !matches!(operation, Operation::Store | Operation::StoreInitial) {
            let what = format!("{operation:?} of slot {slot} of node {node}");
            assert_eq!(yielded, address(held), "{what}");
            if let Some(held) = held {
                let object = ObjectRef::from_address(yielded as usize);
                let number = number_of(object).load(Ordering::Relaxed) as usize;
                assert_eq!(number, held + 1, "{what}");
            }
        }
        let is_stored = match operation {
            Operation::Store | Operation::StoreInitial | Operation::Swap => true,
            Operation::CompareExchange => expected == held,
            _ => false,
        };
        if is_stored {
            self.model[node][slot] = Some(value);
        }
    }
}
