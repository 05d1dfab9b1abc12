//! Holders of classes are unloaded while threads make, find and lose them all the time, under every collector.
//!
//! `UNLOADING_SEED` repeats a run; a failure prints its seed.

mod support;

use gc::core::outcome::CollectCause;
use gc::object::ObjectRef;
use gc::options::{Configuration, HeapOptions, LocalMemory};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use support::holders::{TestHolder, seed};
use support::{AbortOnPanic, TestThread, TestVm};

/// A thread that makes holders, and finds and loses them.
struct Actor<'a> {
    vm: &'a TestVm,
    thread: Box<TestThread>,
    rng: StdRng,
}

const ROOTS: usize = 12;

impl Actor<'_> {
    fn run(mut self, steps: usize) {
        for _ in 0..steps {
            self.step();
            self.thread.poll(self.vm);
        }
        self.thread.detach(self.vm);
    }

    fn step(&mut self) {
        let (from, to) = (self.some_root(), self.some_root());
        match self.rng.random_range(0..100) {
            0..3 => self.define(to),
            3..25 => self.allocate(from, to),
            25..40 => self.store(from, to),
            40..60 => self.load(from, to),
            60..65 => self.hold(from, to),
            65..75 => self.load_held(from, to),
            75..79 => self.use_weak_slot(from, to),
            79..81 => self.use_strong_slot(from, to),
            81..90 => self.thread.roots[to].set(ObjectRef::NULL),
            90..93 if !self.root(from).is_null() => {
                let kind = self.rng.random_range(1..4);
                let reference = self.thread.new_reference(self.vm, kind, from).unwrap();
                self.thread.roots[to].set(reference);
            }
            93..96 => {
                self.thread.new_array(self.vm, self.vm.classes.bytes, 3000).unwrap();
            }
            96 => _ = self.vm.drain_pending(&self.thread),
            97 if self.rng.random_bool(0.03) => {
                let cause = *[CollectCause::SystemGc, CollectCause::Zeal, CollectCause::LastDitch]
                    .choose(&mut self.rng)
                    .unwrap();
                self.vm.heap.collect(&self.thread.m, cause);
            }
            _ => {}
        }
    }

    fn some_root(&mut self) -> usize {
        self.rng.random_range(0..ROOTS)
    }

    fn root(&self, root: usize) -> ObjectRef {
        self.thread.roots[root].get()
    }

    /// Puts an object that was found into a root. Its class must live.
    fn set(&self, root: usize, object: ObjectRef) {
        self.holder(object);
        self.thread.roots[root].set(object);
    }

    /// The holder of an object's class, or of the class that it is the mirror of.
    fn holder(&self, object: ObjectRef) -> Option<Arc<TestHolder>> {
        let layouts = self.vm.heap.layouts();
        let klass = match object {
            ObjectRef::NULL => return None,
            mirror if mirror.klass() == self.vm.classes.mirrors => self.vm.classes.mirrored(mirror),
            other => other.klass(),
        };
        self.vm.binding.holders.of(layouts, klass)
    }

    /// The offset of some slot of an object.
    fn some_slot(&mut self, object: ObjectRef) -> Option<usize> {
        let classes = &self.vm.classes;
        let count = match self.holder(object) {
            _ if object.is_null() => 0,
            _ if object.klass() == classes.mirrors => 2,
            None => return Some(classes.slot(3)),
            Some(holder) if object.klass() == holder.classes.node => 2,
            Some(holder) if object.klass() == holder.classes.refs => object.array_length(),
            Some(_) => 0,
        };
        (count > 0).then(|| classes.slot(self.rng.random_range(0..count)))
    }

    fn define(&mut self, to: usize) {
        let holders = &self.vm.binding.holders;
        let holder = holders.make(self.vm, 4);
        let klass = *holder.classes.all().choose(&mut self.rng).unwrap();
        let mirror = self.thread.new_mirror(self.vm, klass);
        self.set(to, mirror);
        if let Some(slot) = holder.next_slot() {
            self.vm.heap.barriers().store_root(&self.thread.m, slot, mirror);
        }
        holders.leave(holder.id);
    }

    fn allocate(&mut self, from: usize, to: usize) {
        let Some(holder) = self.holder(self.root(from)) else { return };
        let holders = &self.vm.binding.holders;
        holders.enter(holder.id);
        let object = match self.rng.random_range(0..20) {
            0 => {
                let klass = *holder.classes.all().choose(&mut self.rng).unwrap();
                self.thread.new_mirror(self.vm, klass)
            }
            number => self.thread.new_held(self.vm, holder.classes, number).0,
        };
        self.set(to, object);
        holders.leave(holder.id);
    }

    fn store(&mut self, from: usize, to: usize) {
        let (object, value) = (self.root(from), self.root(to));
        if let Some(at) = self.some_slot(object) {
            self.vm.heap.barriers().store(&self.thread.m, object, at, value);
        }
    }

    fn load(&mut self, from: usize, to: usize) {
        let object = self.root(from);
        if let Some(at) = self.some_slot(object) {
            let value = self.vm.heap.barriers().load(&self.thread.m, object, at);
            self.set(to, value);
        }
    }

    fn hold(&mut self, from: usize, to: usize) {
        let Some(holder) = self.holder(self.root(from)) else { return };
        if let Some(slot) = holder.next_slot() {
            self.vm.heap.barriers().store_root(&self.thread.m, slot, self.root(to));
        }
    }

    fn load_held(&mut self, from: usize, to: usize) {
        let Some(holder) = self.holder(self.root(from)) else { return };
        let slot = holder.slots.choose(&mut self.rng).expect("a holder has slots");
        let value = self.vm.heap.barriers().load_root(&self.thread.m, slot);
        self.set(to, value);
    }

    fn use_weak_slot(&mut self, from: usize, to: usize) {
        let slot = self.vm.binding.weak.choose(&mut self.rng).expect("there are some");
        let barriers = self.vm.heap.barriers();
        match self.rng.random_bool(0.5) {
            true => barriers.store_root(&self.thread.m, slot, self.root(from)),
            false => self.set(to, barriers.load_weak_root(&self.thread.m, slot)),
        }
    }

    fn use_strong_slot(&mut self, from: usize, to: usize) {
        let slot = self.vm.binding.strong.choose(&mut self.rng).expect("there are some");
        let barriers = self.vm.heap.barriers();
        match self.rng.random_bool(0.3) {
            true => barriers.store_root(&self.thread.m, slot, self.root(from)),
            false => self.set(to, barriers.load_root(&self.thread.m, slot)),
        }
    }
}

/// No thread ever meets an object of an unloaded class, and in the end all are unloaded.
fn act(name: &str, steps: usize, change: impl Fn(&mut HeapOptions)) {
    let _bomb = AbortOnPanic;
    let seed = seed();
    for kind in Configuration::all().filter(|kind| kind.collects()) {
        eprintln!("{name}: {} with UNLOADING_SEED={seed}", kind.name());
        let mut options = kind.options(8 << 20);
        options.region_bytes = Some(64 << 10);
        options.verify_heap = true;
        options.concurrent_gc_threads = Some(2);
        options.g1.young_percent_max = 10;
        options.g1.initiating_percent = 0;
        options.g1.tenuring_age_max = 2;
        change(&mut options);
        let vm = TestVm::new(&options);
        std::thread::scope(|scope| {
            for id in 0..2 {
                let vm = &vm;
                scope.spawn(move || {
                    let _bomb = AbortOnPanic;
                    let thread = TestThread::attach(vm, ROOTS);
                    let rng = StdRng::seed_from_u64(seed ^ id << 32);
                    Actor { vm, thread, rng }.run(steps);
                });
            }
        });
        let thread = TestThread::attach(&vm, 0);
        let slots = vm.binding.strong.iter().chain(&vm.binding.weak);
        slots.for_each(|slot| vm.heap.barriers().store_root(&thread.m, slot, ObjectRef::NULL));
        for _ in 0..3 {
            vm.drain_pending(&thread);
            vm.heap.collect(&thread.m, CollectCause::LastDitch);
        }
        assert_eq!(vm.binding.holders.loaded(), []);
        eprintln!(
            "  {} holders, {} unloadings",
            vm.binding.holders.limit() - 1,
            vm.binding.holders.unloadings.load(Ordering::Relaxed)
        );
        thread.detach(&vm);
    }
}

#[test]
fn threads_meet_no_unloaded_class() {
    act("threads", 20_000, |_| ());
}

#[test]
fn threads_meet_no_unloaded_class_when_everything_moves() {
    act("threads, zeal", 4000, |options| options.zeal_alloc_interval = Some(29));
}

#[test]
fn threads_meet_no_unloaded_class_over_far_memory() {
    act("threads, far", 10_000, |options| {
        options.local_memory = LocalMemory::Bytes(2 << 20);
        options.memory_servers = 3;
    });
}
