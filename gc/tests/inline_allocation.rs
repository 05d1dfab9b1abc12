//! Objects made by emitted code are like those of `Heap::allocate`: headers, entries, counts; they survive cycles
//! that run beside it.

#[path = "support/recorder.rs"]
mod recorder;
mod support;

use gc::object::{ARRAY_BASE_MIN, HEADER_BYTES, KlassId, ObjectRef};
use gc::options::Configuration;
use gc::threads::mutator::ThreadField;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use recorder::{Machine, Program, thread_word};
use std::sync::atomic::Ordering;
use support::{TestThread, TestVm, number_of};

/// Makes nodes and byte arrays by a recorded program, or else by the heap.
struct Compiled<'a> {
    vm: &'a TestVm,
    thread: &'a TestThread,
    node: Program,
    array: Program,
    /// How often the program did without the heap.
    inline: usize,
    bytes: u64,
}

impl<'a> Compiled<'a> {
    fn new(vm: &'a TestVm, thread: &'a TestThread) -> Compiled<'a> {
        let barriers = vm.heap.barriers();
        let node = vm.classes.nodes[SLOTS];
        let node = Program::record(1, |e, i| barriers.emit_allocate(e, node, i[0], None));
        let array = vm.classes.bytes;
        let array = Program::record(2, |e, i| barriers.emit_allocate(e, array, i[0], Some(i[1])));
        assert!(node.result.is_some() && array.result.is_some());
        Compiled { vm, thread, node, array, inline: 0, bytes: 0 }
    }

    fn new_node(&mut self) -> ObjectRef {
        let (klass, bytes) = (self.vm.classes.nodes[SLOTS], self.vm.classes.node_bytes(SLOTS));
        self.allocate(klass, bytes, None)
    }

    fn new_array(&mut self, length: usize) -> ObjectRef {
        let klass = self.vm.classes.bytes;
        let bytes = self.vm.classes.array_bytes(klass, length);
        let array = self.allocate(klass, bytes, Some(length as u32));
        assert_eq!(array.array_length(), length);
        array
    }

    fn allocate(&mut self, klass: KlassId, bytes: usize, length: Option<u32>) -> ObjectRef {
        let m = &self.thread.m;
        let top = thread_word(m, ThreadField::TLAB_TOP);
        let before = top.load(Ordering::Relaxed);
        let mut machine = Machine::new(m, self.vm.heap.barriers());
        let yielded = match length {
            None => machine.run(&self.node, &[bytes as u64]),
            Some(length) => machine.run(&self.array, &[bytes as u64, u64::from(length)]),
        };
        let object = if yielded == 0 {
            assert_eq!(top.load(Ordering::Relaxed), before, "nothing was taken");
            self.vm.heap.allocate(m, klass, bytes, length).expect("most of the heap is garbage")
        } else {
            assert_eq!((yielded, before), (before, top.load(Ordering::Relaxed) - bytes as u64));
            self.inline += 1;
            ObjectRef::from_address(yielded as usize)
        };
        self.bytes += bytes as u64;
        assert_eq!(object.klass(), klass);
        assert_eq!(
            object.klass_word().load(Ordering::Relaxed),
            klass.header(),
            "free, no age, no tag"
        );
        let body = if length.is_some() { ARRAY_BASE_MIN } else { HEADER_BYTES };
        let word = |at| object.address() + at;
        // SAFETY: the object has just been made and is so long.
        assert!((body..bytes).step_by(4).all(|at| unsafe { *(word(at) as *const u32) } == 0));
        object
    }

    /// Makes garbage, and a list in root 0 whose nodes carry numbers.
    fn run(&mut self, seed: u64, count: u32) {
        let mut rng = SmallRng::seed_from_u64(seed);
        let (vm, thread) = (self.vm, self.thread);
        let before = thread.m.allocated_bytes();
        for number in 0..count {
            let node = self.new_node();
            number_of(node).store(number, Ordering::Relaxed);
            let (b, slot) = (vm.heap.barriers(), vm.classes.slot(0));
            b.store_initial(&thread.m, node, slot, thread.roots[0].get());
            thread.roots[0].set(node);
            for _ in 0..rng.random_range(0..6) {
                self.new_array(rng.random_range(0..300));
            }
            if rng.random_range(0..100) == 0 {
                self.new_array(rng.random_range(0..100_000));
            }
            thread.poll(vm);
        }
        assert_eq!(thread.m.allocated_bytes() - before, self.bytes);
    }

    /// Checks that the list is whole.
    fn check(&self, count: u32) {
        let mut node = self.thread.roots[0].get();
        for number in (0..count).rev() {
            assert_eq!(number_of(node).load(Ordering::Relaxed), number);
            node = self.vm.heap.barriers().load(&self.thread.m, node, self.vm.classes.slot(0));
        }
        assert!(node.is_null());
    }
}

const SLOTS: usize = 2;
const COUNT: u32 = 20_000;
const THREADS: u64 = 3;

#[test]
fn emitted_allocation_makes_objects_that_live() {
    for kind in Configuration::all() {
        let megabytes = if kind.collects() { 16 } else { 256 };
        let mut options = kind.options(megabytes << 20);
        options.verify_heap = true;
        let vm = TestVm::new(&options);
        std::thread::scope(|scope| {
            for seed in 0..THREADS {
                let vm = &vm;
                scope.spawn(move || {
                    let thread = TestThread::attach(vm, 1);
                    let mut compiled = Compiled::new(vm, &thread);
                    compiled.run(seed, COUNT);
                    compiled.check(COUNT);
                    assert!(compiled.inline > COUNT as usize, "{} inline", compiled.inline);
                    thread.detach(vm);
                });
            }
        });
        assert!(!kind.collects() || vm.heap.stats().cycles > 1, "{:?}", vm.heap.stats());
    }
}

/// A size that no buffer has, up to those that no heap has.
#[test]
fn too_large_objects_are_left_to_the_heap() {
    for kind in Configuration::all() {
        let vm = TestVm::new(&kind.options(16 << 20));
        let thread = TestThread::attach(&vm, 1);
        let mut compiled = Compiled::new(&vm, &thread);
        compiled.new_array(8);
        for bytes in [1 << 20, 1 << 32, 1 << 63, u64::MAX - 7] {
            let mut machine = Machine::new(&thread.m, vm.heap.barriers());
            assert_eq!(machine.run(&compiled.array, &[bytes, 1]), 0, "{}", kind.name());
        }
        thread.detach(&vm);
    }
}

#[test]
fn under_zeal_every_allocation_goes_to_the_heap() {
    for kind in Configuration::all() {
        let mut options = kind.options(16 << 20);
        options.zeal_alloc_interval = Some(100);
        let vm = TestVm::new(&options);
        let klass = vm.classes.nodes[SLOTS];
        let b = vm.heap.barriers();
        let program = Program::record(1, |e, i| b.emit_allocate(e, klass, i[0], None));
        assert!(program.result.is_none(), "{}", kind.name());
    }
}
