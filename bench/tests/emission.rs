//! Machine code of barriers does to a heap what the interpreter does: each operation is carried out twice on the
//! same heap, by the interpreter's evaluator and by code that the compiler made, and must yield the same, leave the
//! same words and take as many slow paths.

#[path = "support/bare_heap.rs"]
mod bare_heap;
#[path = "../../gc/tests/support/operation.rs"]
mod operation;

use bare_heap::{BareHeap, LONGS_BASE, SLOTS};
use gc::barrier::BarrierSet;
use gc::object::{EARLY, ObjectRef, RootSlot};
use gc::options::{CollectorKind, Configuration};
use gc::threads::mutator::ThreadField;
use jvm::jit::single::SingleOperation;
use operation::{Arguments, Operation};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::sync::atomic::{AtomicU64, Ordering};

/// Inputs: object (of roots: the slot's address), offset, two values. With `at`, the offset is a constant of the
/// code, as that of a field is.
fn compile(
    operation: Operation,
    b: &dyn BarrierSet,
    at: Option<usize>,
    is_volatile: bool,
    flaw: Option<Flaw>,
) -> SingleOperation {
    SingleOperation::compile(b, 4, is_volatile, |e, inputs| {
        let [object, offset, value, other] = *inputs else { unreachable!() };
        let offset = at.map_or(offset, |at| e.constant(at as u64));
        match flaw {
            Some(Flaw::Swapped) => operation.emit(b, e, [object, offset, other, value]),
            Some(Flaw::NotLogged) => {
                b.emit_store_initial(e, object, offset, value);
                None
            }
            None => operation.emit(b, e, [object, offset, value, other]),
        }
    })
}

/// A deliberate mistake, to show that it is found.
#[derive(Clone, Copy, Debug)]
enum Flaw {
    /// A store that is not logged for the running cycle.
    NotLogged,
    /// The two values are taken for each other.
    Swapped,
}

/// Nodes that refer to each other at random, and root slots; nothing moves, since nothing collects.
struct World {
    heap: BareHeap,
    /// The last one is large, and in a region of its own.
    nodes: Vec<ObjectRef>,
    roots: Vec<RootSlot>,
}

impl World {
    fn new(kind: Configuration, rng: &mut SmallRng) -> World {
        let heap = BareHeap::new(&kind.options(16 << 20));
        let mut nodes: Vec<_> = (0..NODES).map(|_| heap.new_node()).collect();
        nodes.push(heap.new_longs(100_000));
        if kind.generational {
            // Entries of young objects.
            for node in nodes.iter().step_by(2) {
                heap.heap.entry(*node);
            }
        }
        let roots: Vec<_> = (0..NODES).map(|_| RootSlot::null()).collect();
        let world = World { heap, nodes, roots };
        let (b, m) = (world.heap.barriers(), world.heap.m());
        for (node, root) in world.nodes.iter().zip(&world.roots) {
            for slot in 0..SLOTS {
                b.store_initial(m, *node, world.heap.slot(slot), world.any(rng));
            }
            b.store_root(m, root, world.any(rng));
        }
        world
    }

    /// A node or, often, null.
    fn any(&self, rng: &mut SmallRng) -> ObjectRef {
        self.nodes.get(rng.random_range(0..NODES * 3 / 2)).copied().unwrap_or(ObjectRef::NULL)
    }

    fn arguments(&self, rng: &mut SmallRng) -> Arguments<'_> {
        let object = self.nodes[rng.random_range(0..NODES)];
        let offset = self.heap.slot(rng.random_range(0..SLOTS));
        let held = self.heap.barriers().load(self.heap.m(), object, offset);
        let other = if rng.random() { held } else { self.any(rng) };
        let root = &self.roots[rng.random_range(0..NODES)];
        Arguments { object, offset, value: self.any(rng), other, root }
    }

    /// The words of an object.
    fn object(&self, object: ObjectRef) -> impl Iterator<Item = &'static AtomicU64> {
        (0..self.heap.node_bytes()).step_by(8).map(move |at| {
            // SAFETY: an aligned word of a live object of the test, which does not move.
            unsafe { AtomicU64::from_ptr((object.address() + at) as *mut u64) }
        })
    }

    /// Every word that operations may touch.
    fn words(&self) -> Vec<u64> {
        let words = self.nodes.iter().flat_map(|node| self.object(*node));
        words.map(|word| word.load(Ordering::Relaxed)).collect()
    }

    fn set_words(&self, words: &[u64]) {
        let all = self.nodes.iter().flat_map(|node| self.object(*node));
        all.zip(words).for_each(|(word, value)| word.store(*value, Ordering::Relaxed));
    }
}

/// The phases that barriers may meet: of Mako and Shenandoah tracing and evacuating, of Mako also noting, of G1 and
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

const PHASE: ThreadField = ThreadField::word(0);
/// Address of Mako's table, and [`RESOLVING`].
const TABLE: ThreadField = ThreadField::word(2);
/// The stamp that MemLiner puts into references, and its place in a slot.
const STAMP: ThreadField = ThreadField::word(14);
const STAMP_SHIFT: u32 = 48;
/// The object that was reported to MemLiner last.
const LAST: ThreadField = ThreadField::word(15);
/// Of a card that need not be looked at.
const CLEAN: u8 = 0;
const TRACING: u64 = 1;
const EVACUATING: u64 = 2;
const NOTING: u64 = 8;
/// Of the word with the address of Mako's table: the phase has one of the latter two.
const RESOLVING: u64 = 1;
const TELLING: u64 = 4;
const NODES: usize = 40;
const ROUNDS: usize = 20_000;

/// One operation in all the forms in which the compiler may emit it.
struct Forms {
    operation: Operation,
    /// The offset is computed; or by slot. Each as an ordinary and as a volatile access.
    computed: [SingleOperation; 2],
    constant: Vec<[SingleOperation; 2]>,
}

impl Forms {
    fn compile(operation: Operation, heap: &BareHeap, flaw: Option<Flaw>) -> Forms {
        let both = |at| {
            [false, true]
                .map(|is_volatile| compile(operation, heap.barriers(), at, is_volatile, flaw))
        };
        let constant = (0..SLOTS).map(|slot| both(Some(heap.slot(slot)))).collect();
        Forms { operation, computed: both(None), constant }
    }

    fn any(&self, heap: &BareHeap, offset: usize, rng: &mut SmallRng) -> &SingleOperation {
        let volatile = usize::from(rng.random::<bool>());
        match rng.random() {
            true => &self.computed[volatile],
            false => {
                let slot = (0..SLOTS).position(|slot| heap.slot(slot) == offset);
                &self.constant[slot.expect("the offset of a slot")][volatile]
            }
        }
    }
}

/// Carries out random operations; returns the difference of the first one that fails.
fn compare(kind: Configuration, flawed: Option<(Operation, Flaw)>) -> Result<(), String> {
    let mut rng = SmallRng::seed_from_u64(7);
    let world = World::new(kind, &mut rng);
    let (b, thread) = (world.heap.barriers(), &world.heap.thread);
    let forms = Operation::ALL.map(|operation| {
        let flaw = flawed.filter(|(which, _)| *which == operation).map(|(_, flaw)| flaw);
        Forms::compile(operation, &world.heap, flaw)
    });
    for round in 0..ROUNDS {
        let forms = &forms[rng.random_range(0..forms.len())];
        let operation = forms.operation;
        let at = world.arguments(&mut rng);
        let phase = phases(kind)[rng.random_range(0..phases(kind).len())];
        thread.set_field(PHASE, phase);
        if kind.collector == CollectorKind::Mako {
            let table = thread.field(TABLE) & !RESOLVING;
            let resolving = u64::from(phase & (EVACUATING | NOTING) != 0) * RESOLVING;
            thread.set_field(TABLE, table | resolving);
        }

        let now = if kind.epochs { rng.random_range(1..4) } else { 0 };
        thread.set_field(STAMP, now << STAMP_SHIFT);
        let before = world.words();
        let slot = at.object.address() + (at.offset & !7);
        // SAFETY: an aligned word of a live object of the test, which does not move.
        let word = unsafe { AtomicU64::from_ptr(slot as *mut u64) }.load(Ordering::Relaxed);
        let card = world.heap.heap.card(at.object.address() + at.offset);
        card.inspect(|card| card.store(CLEAN, Ordering::Relaxed));
        let of_object = world.heap.heap.card(at.object.address());
        of_object.inspect(|card| card.store(CLEAN, Ordering::Relaxed));
        let evaluated = operation.evaluate(b, &thread.mutator, &at).address() as u64;
        let after = world.words();
        world.set_words(&before);
        let marked = card.map(|card| card.swap(CLEAN, Ordering::Relaxed));
        let object = match operation {
            Operation::LoadRoot => (&raw const *at.root) as u64,
            _ => at.object.address() as u64,
        };
        let held = b.load(&thread.mutator, at.object, at.offset);
        // Even a load may leave something in its slot.
        world.set_words(&before);
        let [value, other] = [at.value, at.other].map(|object| object.address() as u64);
        thread.set_field(LAST, 0);
        // A thread that has reported many objects in vain stops reporting.
        thread.set_field(PHASE, phase);
        let code = forms.any(&world.heap, at.offset, &mut rng);
        // SAFETY: live objects, an offset of a slot, on the thread itself.
        let (yielded, left) =
            unsafe { code.run(thread, 1, &[object, at.offset as u64, value, other]) };
        let what = format!("{}, round {round}: {operation:?} in phase {phase}", kind.name());
        if (yielded, left) != (evaluated, 0) {
            return Err(format!("{what} yields {yielded:#x}, not {evaluated:#x}"));
        }
        if world.words() != after {
            return Err(format!("{what} leaves other words"));
        }
        if card.map(|card| card.load(Ordering::Relaxed)) != marked {
            return Err(format!("{what} leaves another card"));
        }
        let is_marked = operation.stores() && Some(&at.value) == world.nodes.last();
        if marked.is_some_and(|card| (card != CLEAN) != is_marked) {
            return Err(format!("{what} and its card"));
        }
        let kept = match operation {
            Operation::CompareExchange => !at.other.is_null(),
            _ => operation.keeps() && !held.is_null(),
        };
        // The header of a young holder with an entry looks like an old one's.
        let looks_old =
            kind.generational && at.object.klass_word().load(Ordering::Relaxed) & EARLY != 0;
        // The rest are young: what their slots held need not be kept.
        let is_free = kind.generational && operation == Operation::Store && !looks_old;
        let logs = phase & TRACING != 0 && kept && !is_free;
        let is_young = !at.value.is_null() && Some(&at.value) != world.nodes.last();
        let remembers = looks_old && operation.stores() && is_young;
        let heals = phase & EVACUATING != 0 && operation.heals(kind);
        // Each old object whose slot is accessed is reported to MemLiner.
        let tells = phase & TELLING != 0
            && !matches!(operation, Operation::StoreInitial | Operation::LoadRoot);
        // A slot that is read gets the current stamp, and one that is compared is so with any stamp.
        let stamps = kind.epochs
            && match operation {
                Operation::Load => word != 0 && word >> STAMP_SHIFT != now,
                Operation::CompareExchange => true,
                _ => false,
            };
        let expected: u32 = [logs, heals, tells, stamps, remembers].map(u32::from).iter().sum();
        let taken = thread.take_slow_paths();
        if taken != expected {
            return Err(format!("{what} takes {taken} slow paths, not {expected}"));
        }
    }
    thread.set_field(PHASE, 0);
    Ok(())
}

#[test]
fn machine_code_of_barriers_does_what_the_interpreter_does() {
    for kind in Configuration::all() {
        compare(kind, None).unwrap();
    }
}

#[test]
fn wrong_machine_code_is_found() {
    for kind in Configuration::all() {
        for operation in [Operation::Swap, Operation::CompareExchange] {
            let found = compare(kind, Some((operation, Flaw::Swapped))).unwrap_err();
            assert!(found.contains(&format!("{operation:?}")), "{found}");
        }
        let logs = phases(kind).contains(&TRACING);
        let found = compare(kind, Some((Operation::Store, Flaw::NotLogged)));
        assert_eq!(found.is_err(), logs, "{found:?}");
    }
}

/// Objects made by machine code are those that the interpreter would have made.
#[test]
fn machine_code_allocates_what_the_interpreter_allocates() {
    for kind in Configuration::all() {
        let heap = BareHeap::new(&kind.options(64 << 20));
        let (b, bytes) = (heap.barriers(), heap.node_bytes());
        let node = SingleOperation::compile(b, 1, false, |e, _| {
            let bytes = e.constant(bytes as u64);
            b.emit_allocate(e, heap.node, bytes, None)
        });
        let array = SingleOperation::compile(b, 3, false, |e, inputs| {
            b.emit_allocate(e, heap.longs, inputs[1], Some(inputs[2]))
        });
        let mut rng = SmallRng::seed_from_u64(11);
        let holder = heap.new_node();
        let mut inline = 0;
        for _ in 0..ROUNDS {
            let length = rng.random_range(0..40u64);
            let long_bytes = LONGS_BASE as u64 + 8 * length;
            let is_array = rng.random();
            let machine = rng.random();
            let (klass, size, count) = match is_array {
                true => (heap.longs, long_bytes as usize, Some(length as u32)),
                false => (heap.node, bytes, None),
            };
            let mut object = ObjectRef::NULL;
            if machine {
                // SAFETY: sizes and lengths that belong together.
                let (made, _) = unsafe {
                    match is_array {
                        true => array.run(&heap.thread, 1, &[0, long_bytes, length]),
                        false => node.run(&heap.thread, 1, &[0]),
                    }
                };
                object = ObjectRef::from_address(made as usize);
                inline += usize::from(made != 0);
            }
            if object.is_null() {
                object = heap.heap.allocate(heap.m(), klass, size, count).expect("much is free");
            }
            assert_eq!(object.klass(), klass, "{}", kind.name());
            assert_eq!(object.klass_word().load(Ordering::Relaxed), klass.header());
            if let Some(count) = count {
                assert_eq!(object.array_length(), count as usize);
            }
            // Mako's entry holds the object's address: a slot that is stored decodes to it.
            b.store(heap.m(), holder, heap.slot(0), object);
            assert_eq!(b.load(heap.m(), holder, heap.slot(0)), object, "{}", kind.name());
        }
        assert!(inline > ROUNDS / 3, "{}: {inline} inline", kind.name());
    }
}
