//! Mako with a nursery: young objects, promotion, and both kinds of collection beside each other.

mod support;

use gc::core::outcome::CollectCause;
use gc::object::{EARLY, ObjectRef};
use gc::options::{CollectorKind, HeapOptions, LocalMemory};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::HashSet;
use std::sync::atomic::Ordering;
use support::{TestThread, TestVm, number_of};

fn options() -> HeapOptions {
    let mut options = HeapOptions::new(CollectorKind::Mako, 16 << 20);
    options.mako.generational = Some(true);
    options.region_bytes = Some(256 << 10);
    options.memory_servers = 2;
    options.local_memory = LocalMemory::Bytes(4 << 20);
    options.verify_heap = true;
    options
}

/// Mostly a minor collection.
fn minor(vm: &TestVm, thread: &TestThread) {
    vm.heap.collect(&thread.m, CollectCause::Zeal);
}

fn cycle(vm: &TestVm, thread: &TestThread) {
    vm.heap.collect(&thread.m, CollectCause::SystemGc);
}

fn node(vm: &TestVm, thread: &TestThread, number: u32) -> ObjectRef {
    let node = thread.new_node(vm, SLOTS).unwrap();
    number_of(node).store(number, Ordering::Relaxed);
    node
}

/// Whether the value of an object's header is a word that names a young object.
fn has_young_word(object: ObjectRef) -> bool {
    object.value_word().load(Ordering::Relaxed) >> 31 == 1
}

fn count(vm: &TestVm, name: &str) -> u64 {
    vm.heap.totals().counters.get(name).copied().unwrap_or(0)
}

#[test]
fn an_entry_stays_over_every_move() {
    let vm = TestVm::new(&options());
    let thread = TestThread::attach(&vm, 32);
    let entries: Vec<u32> = (0..32)
        .map(|i| {
            let new = node(&vm, &thread, i);
            thread.roots[i as usize].set(new);
            assert!(has_young_word(new), "young objects have no entry");
            vm.heap.entry(new)
        })
        .collect();
    let mut moved_young = 0;
    for round in 0..30 {
        if round == 0 {
            vm.heap.collect(&thread.m, CollectCause::WhiteBoxYoung);
        } else if round % 7 == 6 {
            cycle(&vm, &thread)
        } else {
            minor(&vm, &thread)
        }
        for (root, entry) in thread.roots.iter().zip(&entries) {
            assert_eq!(vm.heap.entry(root.get()), *entry, "round {round}");
            let object = root.get();
            assert_eq!(object.value_word().load(Ordering::Relaxed), *entry, "round {round}");
            let is_early = object.klass_word().load(Ordering::Relaxed) & EARLY != 0;
            assert_eq!(is_early, !vm.heap.is_old(object), "round {round}");
            moved_young += usize::from(is_early);
        }
    }
    assert_eq!(count(&vm, "early_entries"), 32);
    assert!(moved_young >= 32, "{moved_young}");
    assert!(count(&vm, "promoted_bytes") >= (32 * vm.classes.node_bytes(SLOTS)) as u64);
    thread.detach(&vm);
}

#[test]
fn eden_keeps_its_memory_and_new_objects_in_it_are_empty() {
    for (local_memory, recycle_eden) in [
        (LocalMemory::Percent(100), true),
        (LocalMemory::Bytes(4 << 20), true),
        (LocalMemory::Percent(100), false),
    ] {
        let mut options = HeapOptions { local_memory, ..options() };
        options.mako.recycle_eden = recycle_eden;
        let vm = TestVm::new(&options);
        let thread = TestThread::attach(&vm, 1);
        for _ in 0..20 {
            let made: Vec<_> = (0..2_000)
                .map(|number| {
                    let new = thread.new_node(&vm, SLOTS).unwrap();
                    assert_eq!(number_of(new).load(Ordering::Relaxed), 0);
                    for slot in 0..SLOTS {
                        let slot = vm.classes.slot(slot);
                        assert!(vm.heap.barriers().load(&thread.m, new, slot).is_null());
                        vm.heap.barriers().store(&thread.m, new, slot, new);
                    }
                    number_of(new).store(number + 1, Ordering::Relaxed);
                    new
                })
                .collect();
            thread.roots[0].set(made[1_000]);
            drop(made);
            minor(&vm, &thread);
        }
        assert_eq!(count(&vm, "eden_recycled_bytes") > 0, recycle_eden, "{local_memory:?}");
        thread.detach(&vm);
    }
}

#[test]
fn entries_of_objects_that_die_young_are_used_again() {
    let mut options = options();
    options.verify_heap = false;
    let vm = TestVm::new(&options);
    let thread = TestThread::attach(&vm, 0);
    let mut entries = HashSet::new();
    for i in 0..400_000 {
        entries.insert(vm.heap.entry(node(&vm, &thread, i)));
        thread.poll(&vm);
    }
    assert_eq!(count(&vm, "early_entries"), 400_000);
    assert!(entries.len() < 200_000, "{} entries", entries.len());
    assert!(vm.heap.totals().counters["minor_collections"] > 3);
    thread.detach(&vm);
}

#[test]
fn a_pinned_young_object_stays_and_nothing_else_does() {
    let vm = TestVm::new(&options());
    let thread = TestThread::attach(&vm, 3);
    thread.roots[0].set(node(&vm, &thread, 1));
    thread.roots[1].set(node(&vm, &thread, 2));
    // An old holder refers to the pinned object and keeps doing so.
    cycle(&vm, &thread);
    let pinned = node(&vm, &thread, 3);
    vm.heap.barriers().store(&thread.m, thread.roots[0].get(), vm.classes.slot(0), pinned);
    thread.roots[2].set(pinned);
    vm.heap.pin(pinned);
    let old = thread.roots[1].get();
    vm.heap.barriers().store(&thread.m, pinned, vm.classes.slot(1), old);
    thread.roots[1].set(ObjectRef::NULL);
    for round in 0..12 {
        if round % 3 == 2 {
            cycle(&vm, &thread)
        } else {
            minor(&vm, &thread)
        }
        let held = vm.heap.barriers().load(&thread.m, thread.roots[0].get(), vm.classes.slot(0));
        assert_eq!((held, thread.roots[2].get()), (pinned, pinned), "round {round}");
        // Only the pinned object refers to it, and no agent looks at that.
        let old = vm.heap.barriers().load(&thread.m, pinned, vm.classes.slot(1));
        assert_eq!(number_of(old).load(Ordering::Relaxed), 2, "round {round}");
    }
    assert!(count(&vm, "objects_left_in_place") > 0);
    vm.heap.unpin(pinned);
    cycle(&vm, &thread);
    assert_ne!(thread.roots[2].get(), pinned, "it was promoted");
    thread.detach(&vm);
}

/// Large arrays have all regions but those that collections need.
#[test]
fn small_objects_are_old_from_the_start_where_eden_has_no_region() {
    let vm = TestVm::new(&options());
    let thread = TestThread::attach(&vm, 80);
    let arrays: Vec<_> = (1..80)
        .map_while(|i| {
            let array = thread.new_array(&vm, vm.classes.bytes, 200 << 10).ok()?;
            thread.roots[i].set(array);
            Some(i)
        })
        .collect();
    assert!(arrays.len() > 50, "{} arrays", arrays.len());
    let length = 3_000;
    for i in 0..length {
        let made = node(&vm, &thread, i);
        vm.heap.barriers().store(&thread.m, made, vm.classes.slot(0), thread.roots[0].get());
        thread.roots[0].set(made);
        // Garbage.
        node(&vm, &thread, u32::MAX);
        thread.poll(&vm);
    }
    let is_old = |object: ObjectRef| vm.heap.is_old(object);
    assert!(is_old(thread.roots[0].get()));
    let check = || {
        let mut at = thread.roots[0].get();
        for i in (0..length).rev() {
            assert_eq!(number_of(at).load(Ordering::Relaxed), i);
            at = vm.heap.barriers().load(&thread.m, at, vm.classes.slot(0));
        }
        assert!(at.is_null());
    };
    check();
    cycle(&vm, &thread);
    check();
    arrays.iter().for_each(|i| thread.roots[*i].set(ObjectRef::NULL));
    cycle(&vm, &thread);
    check();
    assert!(!is_old(node(&vm, &thread, 0)), "there is room for eden again");
    thread.detach(&vm);
}

#[test]
fn an_old_reference_becomes_pending_before_a_young_one() {
    let vm = TestVm::new(&options());
    let thread = TestThread::attach(&vm, 3);
    let weak = |referent: u32| {
        thread.roots[2].set(node(&vm, &thread, referent));
        let reference = thread.new_reference(&vm, WEAK, 2).unwrap();
        thread.roots[2].set(ObjectRef::NULL);
        reference
    };
    let keep = thread.new_node(&vm, SLOTS).unwrap();
    thread.roots[0].set(keep);
    vm.heap.barriers().store(&thread.m, keep, vm.classes.slot(0), weak(1));
    thread.roots[2].set(thread.referent(&vm, weak_of(&vm, &thread)));
    cycle(&vm, &thread);
    thread.roots[2].set(ObjectRef::NULL);
    thread.roots[1].set(weak(2));
    let young = thread.roots[1].get();
    vm.heap.pin(young);
    minor(&vm, &thread);
    assert!(thread.referent(&vm, young).is_null(), "the young reference is pending");
    cycle(&vm, &thread);
    assert!(thread.referent(&vm, weak_of(&vm, &thread)).is_null(), "the old one is, too");
    cycle(&vm, &thread);
    vm.heap.unpin(young);
    cycle(&vm, &thread);
    assert_eq!(vm.drain_pending(&thread), 2);
    thread.detach(&vm);
}

/// The reference in the first slot of the node in root 0.
fn weak_of(vm: &TestVm, thread: &TestThread) -> ObjectRef {
    vm.heap.barriers().load(&thread.m, thread.roots[0].get(), vm.classes.slot(0))
}

/// What a thread has built, by number of the node.
#[derive(Default)]
struct Model {
    edges: Vec<[Option<usize>; SLOTS]>,
    roots: [Option<usize>; ROOTS],
}

/// Stores between objects of all ages, and collections at random points, of one thread or beside others.
fn mutate(vm: &TestVm, seed: u64, steps: usize) {
    let thread = TestThread::attach(vm, ROOTS);
    let mut rng = StdRng::seed_from_u64(seed);
    let mut model = Model::default();
    let barriers = vm.heap.barriers();
    for step in 0..steps {
        thread.poll(vm);
        let (from, to) = (rng.random_range(0..ROOTS), rng.random_range(0..ROOTS));
        let slot = rng.random_range(0..SLOTS);
        match rng.random_range(0..100) {
            0..45 => {
                let number = model.edges.len();
                thread.roots[to].set(node(vm, &thread, number as u32));
                model.edges.push([None; SLOTS]);
                model.roots[to] = Some(number);
            }
            45..70 => {
                if let Some(holder) = model.roots[from] {
                    let (object, value) = (thread.roots[from].get(), thread.roots[to].get());
                    barriers.store(&thread.m, object, vm.classes.slot(slot), value);
                    model.edges[holder][slot] = model.roots[to];
                }
            }
            70..95 => {
                if let Some(holder) = model.roots[from] {
                    let object = thread.roots[from].get();
                    let value = barriers.load(&thread.m, object, vm.classes.slot(slot));
                    let known = model.edges[holder][slot];
                    let number =
                        (!value.is_null()).then(|| number_of(value).load(Ordering::Relaxed));
                    assert_eq!(number, known.map(|n| n as u32), "seed {seed}, step {step}");
                    thread.roots[to].set(value);
                    model.roots[to] = known;
                }
            }
            95 if model.roots[from].is_some() => {
                vm.heap.entry(thread.roots[from].get());
            }
            97..99 => drop(thread.new_array(vm, vm.classes.bytes, rng.random_range(0..40_000))),
            _ if rng.random_ratio(1, 400) => cycle(vm, &thread),
            _ if rng.random_ratio(1, 40) => minor(vm, &thread),
            _ => {}
        }
    }
    thread.detach(vm);
}

#[test]
fn random_threads_find_what_they_stored() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(rand::random::<u64>);
    println!("SEED={seed}");
    let few = LocalMemory::Bytes(4 << 20);
    for (local, young_words) in [(few, true), (LocalMemory::Percent(100), true), (few, false)] {
        let mut options = options();
        options.local_memory = local;
        options.mako.young_words = young_words;
        let vm = TestVm::new(&options);
        std::thread::scope(|scope| {
            for i in 0..3 {
                let vm = &vm;
                scope.spawn(move || mutate(vm, seed.wrapping_add(i), 60_000));
            }
        });
        assert!(count(&vm, "minor_collections") > 10 && count(&vm, "remembered_slots") > 0);
    }
}

const SLOTS: usize = 3;
/// Index of the kind.
const WEAK: usize = 1;
const ROOTS: usize = 24;

/// Old objects keep young strings until a marking finds that they are dead themselves: the collection before tracing
/// promotes such strings, and they must not reach the VM as entries of others.
#[test]
fn strings_that_are_promoted_for_dead_objects_are_dropped() {
    let vm = TestVm::new(&options());
    vm.heap.look_for_strings(vm.classes.nodes[1]);
    let thread = TestThread::attach(&vm, 64);
    for round in 0..20 {
        for root in &thread.roots {
            root.set(node(&vm, &thread, round));
        }
        // All of them old.
        cycle(&vm, &thread);
        for root in &thread.roots {
            let string = thread.new_node(&vm, 1).unwrap();
            vm.heap.barriers().store(&thread.m, root.get(), vm.classes.slot(0), string);
            root.set(ObjectRef::NULL);
        }
        cycle(&vm, &thread);
        // Entries that are free again get other objects.
        for root in &thread.roots {
            root.set(node(&vm, &thread, round));
        }
        minor(&vm, &thread);
        for slot in vm.binding.strings.lock().unwrap().iter() {
            let string = vm.heap.barriers().load_weak_root(&thread.m, slot);
            assert!(string.is_null() || string.klass() == vm.classes.nodes[1], "round {round}");
        }
        thread.roots.iter().for_each(|root| root.set(ObjectRef::NULL));
    }
    assert!(count(&vm, "strings_found") > 0);
    thread.detach(&vm);
}
