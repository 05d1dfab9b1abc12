//! Holders of classes are unloaded when nothing uses them any more, under every collector: random heaps against a
//! model.
//!
//! `UNLOADING_SEED` repeats a run; a failure prints its seed.

mod support;

use gc::core::outcome::CollectCause;
use gc::object::ObjectRef;
use gc::options::{CollectorKind, Configuration, HeapOptions, LocalMemory};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use support::holders::{TestHolder, seed};
use support::{AbortOnPanic, TestThread, TestVm};

/// A random heap. The object with index `i` is in root `i` until [`World::drop_roots`].
struct World<'a> {
    vm: &'a TestVm,
    thread: &'a TestThread,
    rng: StdRng,
    holders: Vec<Arc<TestHolder>>,
    in_use: BTreeSet<usize>,
    /// By holder and slot.
    held: Vec<Vec<Option<usize>>>,
    objects: Vec<Object>,
    roots: BTreeSet<usize>,
    strong: Vec<Option<usize>>,
    /// Of `support::KINDS`.
    kinds: &'static [usize],
}

#[derive(Clone, Default)]
struct Object {
    /// Those that live as long as the object: of its class, and of the class that it stands for.
    holders: Vec<usize>,
    /// The offset of each slot, and the object that it names.
    slots: Vec<(usize, Option<usize>)>,
    reference: Option<Reference>,
}

#[derive(Clone, Copy)]
struct Reference {
    /// Of `support::KINDS`; none is soft.
    kind: usize,
    referent: Option<usize>,
    /// A final one whose referent was found dead: from then on it is strong.
    is_enqueued: bool,
}

const WEAK: usize = 1;
const FINAL: usize = 2;
const PHANTOM: usize = 3;
const OBJECTS: usize = 90;
const HOLDERS: usize = 20;
const HELD_SLOTS: usize = 3;

/// A closure of the model.
#[derive(Default)]
struct Closure {
    objects: BTreeSet<usize>,
    holders: BTreeSet<usize>,
    /// Active references that were not followed.
    discovered: Vec<usize>,
}

impl<'a> World<'a> {
    fn new(
        vm: &'a TestVm,
        thread: &'a TestThread,
        seed: u64,
        kinds: &'static [usize],
    ) -> World<'a> {
        let mut world = World {
            vm,
            thread,
            rng: StdRng::seed_from_u64(seed),
            holders: (0..HOLDERS).map(|_| vm.binding.holders.make(vm, HELD_SLOTS)).collect(),
            in_use: (0..HOLDERS).collect(),
            held: vec![vec![None; HELD_SLOTS]; HOLDERS],
            objects: Vec::new(),
            roots: (0..OBJECTS).collect(),
            strong: vec![None; vm.binding.strong.len()],
            kinds,
        };
        for i in 0..OBJECTS {
            let (object, model) = world.make();
            thread.roots[i].set(object);
            world.objects.push(model);
            thread.poll(vm);
        }
        world.connect();
        world
    }

    fn make(&mut self) -> (ObjectRef, Object) {
        let (vm, thread, classes) = (self.vm, self.thread, &self.vm.classes);
        let chosen = self.rng.random_range(0..HOLDERS);
        let holder = self.holders[chosen].clone();
        let slots = |first: usize, count| {
            (first..first + count).map(|i| (classes.slot(i), None)).collect::<Vec<_>>()
        };
        match self.rng.random_range(0..10) {
            0 => {
                let count = self.rng.random_range(0..4);
                let node = thread.new_node(vm, count).unwrap();
                (node, Object { slots: slots(0, count), ..Object::default() })
            }
            1..=2 if !self.objects.is_empty() => {
                let referent = self.rng.random_range(0..self.objects.len());
                let kind = *self.kinds.choose(&mut self.rng).unwrap();
                let object = thread.new_reference(vm, kind, referent).unwrap();
                let reference =
                    Some(Reference { kind, referent: Some(referent), is_enqueued: false });
                (object, Object { slots: slots(3, 1), reference, ..Object::default() })
            }
            1..=4 => {
                let klass = *holder.classes.all().choose(&mut self.rng).unwrap();
                let mirror = thread.new_mirror(vm, klass);
                (mirror, Object { holders: vec![chosen], slots: slots(0, 2), reference: None })
            }
            _ => {
                let number = self.rng.random_range(0..12);
                let (object, count) = thread.new_held(vm, holder.classes, number);
                (object, Object { holders: vec![chosen], slots: slots(0, count), reference: None })
            }
        }
    }

    /// Few references, so that much dies, and chains from holder to holder.
    fn connect(&mut self) {
        let (vm, thread, barriers) = (self.vm, self.thread, self.vm.heap.barriers());
        for i in 0..OBJECTS {
            for n in 0..self.objects[i].slots.len() {
                if self.rng.random_bool(0.4) {
                    let target = self.rng.random_range(0..OBJECTS);
                    self.objects[i].slots[n].1 = Some(target);
                    let (object, value) = (thread.roots[i].get(), thread.roots[target].get());
                    barriers.store(&thread.m, object, self.objects[i].slots[n].0, value);
                }
            }
        }
        for holder in 0..HOLDERS {
            for slot in 0..HELD_SLOTS {
                if self.rng.random_bool(0.6) {
                    let target = self.rng.random_range(0..OBJECTS);
                    self.held[holder][slot] = Some(target);
                    let value = thread.roots[target].get();
                    barriers.store_root(&thread.m, &self.holders[holder].slots[slot], value);
                }
            }
        }
        for slot in 0..2 {
            let target = self.rng.random_range(0..OBJECTS);
            self.strong[slot] = Some(target);
            let value = thread.roots[target].get();
            barriers.store_root(&thread.m, &vm.binding.strong[slot], value);
        }
    }

    /// Drops all but some of the roots, and of the uses of holders.
    fn drop_roots(&mut self, kept: f64) {
        for root in self.roots.clone() {
            if !self.rng.random_bool(kept) {
                self.roots.remove(&root);
                self.thread.roots[root].set(ObjectRef::NULL);
            }
        }
        for holder in self.in_use.clone() {
            if !self.rng.random_bool(kept) {
                self.in_use.remove(&holder);
                self.vm.binding.holders.leave(self.holders[holder].id);
            }
        }
        for slot in 0..self.strong.len() {
            if self.strong[slot].is_some() && !self.rng.random_bool(0.5) {
                self.strong[slot] = None;
                let slot = &self.vm.binding.strong[slot];
                self.vm.heap.barriers().store_root(&self.thread.m, slot, ObjectRef::NULL);
            }
        }
    }

    /// The effect of a collection of everything on the model; the holders that are alive.
    fn collect_model(&mut self) -> BTreeSet<usize> {
        let mut closure = Closure::default();
        let strong: Vec<_> = self.strong.iter().flatten().copied().collect();
        self.in_use.clone().into_iter().for_each(|one| self.reach_holder(one, &mut closure, false));
        let roots = self.roots.iter().copied().chain(strong).collect::<Vec<_>>();
        roots.into_iter().for_each(|root| self.reach(root, &mut closure, false));
        let discovered = std::mem::take(&mut closure.discovered);
        let dead = |kind: usize, world: &Self, closure: &Closure| -> Vec<usize> {
            let is_dead = |i: &usize| {
                let reference = world.objects[*i].reference.expect("a reference");
                let is_dead = |referent| !closure.objects.contains(&referent);
                reference.kind == kind && reference.referent.is_some_and(is_dead)
            };
            discovered.iter().copied().filter(is_dead).collect()
        };
        for i in dead(WEAK, self, &closure) {
            self.reference(i).referent = None;
        }
        let revived = dead(FINAL, self, &closure);
        for i in &revived {
            self.reference(*i).is_enqueued = true;
        }
        for i in revived {
            let referent = self.reference(i).referent.expect("a final one keeps it");
            self.reach(referent, &mut closure, true);
        }
        for i in dead(PHANTOM, self, &closure) {
            self.reference(i).referent = None;
        }
        closure.holders
    }

    fn reference(&mut self, i: usize) -> &mut Reference {
        self.objects[i].reference.as_mut().expect("a reference")
    }

    /// `follows`: references are strong.
    fn reach(&self, from: usize, closure: &mut Closure, follows: bool) {
        if !closure.objects.insert(from) {
            return;
        }
        let object = &self.objects[from];
        object.holders.iter().for_each(|holder| self.reach_holder(*holder, closure, follows));
        for target in object.slots.iter().filter_map(|(_, target)| *target) {
            self.reach(target, closure, follows);
        }
        if let Some(Reference { referent: Some(referent), is_enqueued, .. }) = object.reference {
            match follows || is_enqueued {
                true => self.reach(referent, closure, follows),
                false => closure.discovered.push(from),
            }
        }
    }

    fn reach_holder(&self, holder: usize, closure: &mut Closure, follows: bool) {
        if closure.holders.insert(holder) {
            let held = self.held[holder].iter().flatten();
            held.for_each(|object| self.reach(*object, closure, follows));
        }
    }

    fn loaded(&self) -> BTreeSet<usize> {
        let loaded = self.vm.binding.holders.loaded();
        let is_loaded = |i: &usize| loaded.contains(&self.holders[*i].id.0);
        (0..HOLDERS).filter(is_loaded).collect()
    }

    fn collect(&self, cause: CollectCause) {
        self.vm.heap.collect(&self.thread.m, cause);
        self.vm.drain_pending(self.thread);
    }

    /// Whether the live objects are those of the model: classes and slots.
    fn compare(&self) {
        let (thread, barriers) = (self.thread, self.vm.heap.barriers());
        let mut seen = vec![None; OBJECTS];
        let mut stack: Vec<_> = self.roots.iter().map(|i| (*i, thread.roots[*i].get())).collect();
        while let Some((i, object)) = stack.pop() {
            if let Some(before) = seen[i].replace(object) {
                assert_eq!(before, object, "object {i} is in two places");
                continue;
            }
            self.vm.binding.holders.of(self.vm.heap.layouts(), object.klass());
            for (at, target) in &self.objects[i].slots {
                let value = barriers.load(&thread.m, object, *at);
                assert_eq!(value.is_null(), target.is_none(), "slot {at} of object {i}");
                stack.extend(target.map(|target| (target, value)));
            }
        }
    }

    /// Leaves nothing for another world.
    fn end(&mut self) {
        self.drop_roots(0.0);
        self.strong.fill(None);
        (0..OBJECTS).for_each(|i| self.thread.roots[i].set(ObjectRef::NULL));
        let barriers = self.vm.heap.barriers();
        self.vm
            .binding
            .strong
            .iter()
            .for_each(|slot| barriers.store_root(&self.thread.m, slot, ObjectRef::NULL));
    }
}

/// Runs `test` with worlds of several seeds for each of these configurations, with options changed.
fn for_each_world(
    name: &str,
    worlds: u64,
    is_wanted: impl Fn(Configuration) -> bool,
    change: impl Fn(&mut HeapOptions),
    test: impl Fn(Configuration, &mut World),
) {
    let _bomb = AbortOnPanic;
    let first = seed();
    for kind in Configuration::all().filter(|kind| kind.collects() && is_wanted(*kind)) {
        let mut options = kind.options(16 << 20);
        options.region_bytes = Some(64 << 10);
        options.verify_heap = true;
        options.parallel_gc_threads = Some(2);
        options.concurrent_gc_threads = Some(2);
        change(&mut options);
        for seed in first..first + worlds {
            eprintln!("{name}: {} with UNLOADING_SEED={seed}", kind.name());
            let vm = TestVm::new(&options);
            let thread = TestThread::attach(&vm, OBJECTS);
            let mut world = World::new(&vm, &thread, seed, &[WEAK, FINAL, FINAL, PHANTOM]);
            test(kind, &mut world);
            world.end();
            thread.detach(&vm);
        }
    }
}

/// Collects three times, each time with less in use, and compares the unloaded holders with the model.
fn collect_and_compare(world: &mut World, cause: CollectCause) {
    // A minor collection takes all holders for alive, so references of young objects are processed another time.
    world.collect(CollectCause::LastDitch);
    assert_eq!(world.loaded().len(), HOLDERS);
    for kept in [0.3, 0.3, 0.0] {
        world.drop_roots(kept);
        world.collect(cause);
        let alive = world.collect_model();
        assert_eq!(world.loaded(), alive);
        world.compare();
    }
    world.end();
    world.collect(cause);
    assert_eq!(world.loaded(), BTreeSet::new());
}

#[test]
fn full_collections_unload_exactly_what_is_dead() {
    for_each_world(
        "full",
        6,
        |_| true,
        |_| (),
        |_, world| {
            collect_and_compare(world, CollectCause::LastDitch);
        },
    );
}

/// Those that Java programs ask for: full ones, or beside the program.
#[test]
fn cycles_unload_exactly_what_is_dead() {
    for_each_world(
        "cycles",
        6,
        |_| true,
        |_| (),
        |_, world| {
            collect_and_compare(world, CollectCause::SystemGc);
        },
    );
}

#[test]
fn cycles_over_far_memory_unload_exactly_what_is_dead() {
    let change = |options: &mut HeapOptions| {
        options.local_memory = LocalMemory::Bytes(1 << 20);
        options.memory_servers = 3;
    };
    for_each_world(
        "far",
        2,
        |_| true,
        change,
        |_, world| {
            collect_and_compare(world, CollectCause::SystemGc);
        },
    );
}

/// Mako's agents are in this process.
#[test]
fn cycles_without_agents_unload_exactly_what_is_dead() {
    let change = |options: &mut HeapOptions| {
        options.mako.offload_tracing = false;
        options.mako.offload_evacuation = false;
        options.semeru.offload_tracing = false;
    };
    let is_wanted = |kind: Configuration| kind.uses_table();
    for_each_world("no agents", 3, is_wanted, change, |_, world| {
        collect_and_compare(world, CollectCause::SystemGc);
    });
}

#[test]
fn everything_moves_and_what_is_dead_is_unloaded() {
    let change = |options: &mut HeapOptions| options.zeal_alloc_interval = Some(11);
    for_each_world(
        "zeal",
        3,
        |_| true,
        change,
        |_, world| {
            collect_and_compare(world, CollectCause::LastDitch);
        },
    );
}

/// Waits until `done`, as a thread that the collector need not wait for.
fn wait_for(vm: &TestVm, thread: &TestThread, done: impl Fn() -> bool) {
    let began = Instant::now();
    vm.heap.enter_safe(&thread.m);
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing happens");
        std::thread::sleep(Duration::from_millis(1));
    }
    vm.heap.leave_safe(&thread.m);
}

/// A marking beside the program, begun by the second pause under zeal; the first is a full collection.
fn mark(world: &World) {
    let vm = world.vm;
    let markings = || vm.heap.totals().counters.get("markings").copied().unwrap_or(0);
    let before = markings();
    world.collect(CollectCause::Zeal);
    wait_for(vm, world.thread, || markings() > before);
    vm.drain_pending(world.thread);
}

#[test]
fn markings_unload_exactly_what_is_dead_of_old_objects() {
    let is_wanted = |kind: Configuration| kind.collector.is_g1();
    for_each_world(
        "markings",
        12,
        is_wanted,
        |_| (),
        |kind, world| {
            world.collect(CollectCause::LastDitch);
            assert_eq!(world.loaded().len(), HOLDERS);
            world.drop_roots(0.2);
            mark(world);
            if kind.collector == CollectorKind::Semeru {
                assert_eq!(world.loaded().len(), HOLDERS, "only full collections unload");
                return;
            }
            let alive = world.collect_model();
            assert_eq!(world.loaded(), alive);
            world.compare();
        },
    );
}

/// A marking takes young objects for alive that holders refer to. What it leaves is found by the next collection.
#[test]
fn markings_unload_nothing_that_young_objects_use() {
    let is_wanted = |kind: Configuration| kind.collector.is_g1();
    for_each_world(
        "young",
        12,
        is_wanted,
        |_| (),
        |_, old| {
            old.collect(CollectCause::LastDitch);
            old.end();
            // A young pause may clear a reference that only what is dead leads to.
            let mut world = World::new(old.vm, old.thread, old.rng.random(), &[FINAL]);
            world.drop_roots(0.2);
            mark(&world);
            let alive = world.collect_model();
            assert!(world.loaded().is_superset(&alive), "{:?} without {alive:?}", world.loaded());
            world.compare();
            // Objects that were taken for alive may be finalized later than in the model, and lead to others.
            let mut alive = BTreeSet::new();
            for _ in 0..5 {
                world.collect(CollectCause::LastDitch);
                alive = world.collect_model();
                assert!(
                    world.loaded().is_superset(&alive),
                    "{:?} without {alive:?}",
                    world.loaded()
                );
            }
            assert_eq!(world.loaded(), alive);
            world.end();
        },
    );
}

#[test]
fn nothing_is_unloaded_where_that_is_switched_off() {
    let never = |options: &mut HeapOptions| options.class_unloading = false;
    for_each_world(
        "never",
        1,
        |_| true,
        never,
        |_, world| {
            world.drop_roots(0.0);
            world.collect(CollectCause::SystemGc);
            world.collect(CollectCause::LastDitch);
            assert_eq!(world.loaded().len(), HOLDERS);
            assert_eq!(world.vm.binding.holders.unloadings.load(Ordering::Relaxed), 0);
        },
    );
    let seldom = |options: &mut HeapOptions| options.class_unloading_with_concurrent_mark = false;
    let is_concurrent = |kind: Configuration| kind.uses_table() || kind.collector.is_shenandoah();
    for_each_world("seldom", 1, is_concurrent, seldom, |_, world| {
        world.drop_roots(0.3);
        world.collect(CollectCause::SystemGc);
        assert_eq!(world.loaded().len(), HOLDERS);
        world.collect_model();
        world.collect(CollectCause::LastDitch);
        let alive = world.collect_model();
        assert_eq!(world.loaded(), alive);
    });
}

/// A holder that is not in use when a marking begins, and is when it ends.
#[test]
fn what_is_in_use_at_the_end_stays() {
    let is_wanted = |kind: Configuration| {
        let is_g1 = kind.collector.is_g1() && kind.collector != CollectorKind::Semeru;
        kind.uses_table() || kind.collector.is_shenandoah() || is_g1
    };
    for_each_world(
        "late",
        1,
        is_wanted,
        |_| (),
        |kind, world| {
            let (vm, thread) = (world.vm, world.thread);
            let (holders, barriers) = (&vm.binding.holders, vm.heap.barriers());
            let [first, second] = [(); 2].map(|()| holders.make(vm, 1));
            let object = thread.new_held(vm, second.classes, 1).0;
            barriers.store_root(&thread.m, &first.slots[0], object);
            world.end();
            // Everything is old after that.
            world.collect(CollectCause::LastDitch);
            [&first, &second].iter().for_each(|holder| holders.leave(holder.id));
            holders.enter_soon(first.id);
            match kind.collector.is_g1() {
                true => mark(world),
                false => world.collect(CollectCause::SystemGc),
            }
            assert_eq!(holders.loaded(), [first.id.0, second.id.0]);
            let object = barriers.load_root(&thread.m, &first.slots[0]);
            assert_eq!(object.klass(), second.classes.plain);
            holders.leave(first.id);
            world.collect(CollectCause::LastDitch);
            assert_eq!(holders.loaded(), []);
        },
    );
}

/// It is not copied, so a nursery's is still young when tracing begins.
#[test]
fn what_a_pinned_object_uses_stays() {
    for_each_world(
        "pinned",
        1,
        |_| true,
        |_| (),
        |_, world| {
            world.end();
            let (vm, thread) = (world.vm, world.thread);
            world.collect(CollectCause::LastDitch);
            let (holders, barriers) = (&vm.binding.holders, vm.heap.barriers());
            let [of_node, of_mirror, of_leaf] = [(); 3].map(|()| holders.make(vm, 0));
            thread.roots[0].set(thread.new_held(vm, of_node.classes, 0).0);
            thread.roots[1].set(thread.new_mirror(vm, of_mirror.classes.node));
            thread.roots[2].set(thread.new_held(vm, of_leaf.classes, 1).0);
            let node = thread.roots[0].get();
            for (slot, root) in [1, 2].into_iter().enumerate() {
                let value = thread.roots[root].get();
                barriers.store(&thread.m, node, vm.classes.slot(slot), value);
            }
            // Their neighbours are pinned with them.
            vm.heap.pin(node);
            (1..3).for_each(|root| thread.roots[root].set(ObjectRef::NULL));
            [of_node, of_mirror, of_leaf].iter().for_each(|holder| holders.leave(holder.id));
            for cause in [CollectCause::SystemGc, CollectCause::Zeal, CollectCause::SystemGc] {
                world.collect(cause);
                assert_eq!(holders.loaded().len(), 3);
            }
            vm.heap.unpin(thread.roots[0].get());
            thread.roots[0].set(ObjectRef::NULL);
            world.collect(CollectCause::LastDitch);
            assert_eq!(holders.loaded(), []);
        },
    );
}

/// Each holder is alive only by an object in a slot of the one before: one round of tracing for each.
#[test]
fn a_long_chain_of_holders_lives_and_dies() {
    for cause in [CollectCause::SystemGc, CollectCause::LastDitch] {
        for_each_world(
            "chain",
            1,
            |_| true,
            |_| (),
            |_, world| {
                world.end();
                let (vm, thread) = (world.vm, world.thread);
                world.collect(CollectCause::LastDitch);
                world.collect(CollectCause::LastDitch);
                let (holders, barriers) = (&vm.binding.holders, vm.heap.barriers());
                assert_eq!(holders.loaded(), []);
                let chain: Vec<_> = (0..CHAIN).map(|_| holders.make(vm, 1)).collect();
                let objects_of = |holder: &TestHolder, n| thread.new_held(vm, holder.classes, n).0;
                for (n, pair) in chain.windows(2).enumerate() {
                    let object = objects_of(&pair[1], n);
                    barriers.store_root(&thread.m, &pair[0].slots[0], object);
                }
                chain[1..].iter().for_each(|holder| holders.leave(holder.id));
                world.collect(cause);
                assert_eq!(holders.loaded().len(), CHAIN);
                thread.roots[0].set(objects_of(&chain[CHAIN / 2], 1));
                holders.leave(chain[0].id);
                world.collect(cause);
                assert_eq!(holders.loaded().len(), CHAIN / 2);
                thread.roots[0].set(ObjectRef::NULL);
                world.collect(cause);
                assert_eq!(holders.loaded(), []);
            },
        );
    }
}

const CHAIN: usize = 50;
