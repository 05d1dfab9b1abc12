//! Random mutators: each thread makes objects, reads, writes, exchanges, copies and drops them, polls, goes native,
//! collects, and keeps a model of its own part of the heap: every object has a number, but arrays without
//! elements. Objects also travel between threads through a shared array, where only their soundness is checked.

use crate::support::{
    AbortOnPanic, NODE_SLOTS_MAX, TestThread, TestVm, array_base, array_number_of, number_of,
};
use gc::core::outcome::{AllocFailure, CollectCause};
use gc::object::{HEADER_BYTES, KlassId, ObjectRef};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Runs `threads` threads for `steps` steps each, then collects the heap that they left; panics when the heap and a
/// model differ. `seed` repeats a run. Of the steps that may collect, one in `collect_one_in` does.
pub fn run(vm: &TestVm, threads: usize, steps: usize, seed: u64, collect_one_in: u32) {
    let main = TestThread::attach(vm, 1);
    let shared = main.new_array(vm, vm.classes.refs, SHARED).unwrap();
    vm.heap.barriers().store_root(&main.m, &vm.binding.strong[0], shared);
    vm.heap.enter_safe(&main.m);
    std::thread::scope(|scope| {
        for id in 0..threads {
            std::thread::Builder::new()
                .spawn_scoped(scope, move || {
                    let _bomb = AbortOnPanic;
                    let actor = Actor::new(vm, id, seed);
                    Actor { collect_one_in, ..actor }.run(steps);
                })
                .unwrap();
        }
    });
    vm.heap.leave_safe(&main.m);
    // With all roots but the shared array gone, nearly all must be free again.
    vm.heap.barriers().store_root(&main.m, &vm.binding.strong[0], ObjectRef::NULL);
    for _ in 0..3 {
        vm.heap.collect(&main.m, CollectCause::SystemGc);
        vm.drain_pending(&main);
    }
    let used = vm.heap.used_bytes();
    assert!(used < 1 << 20, "{used} bytes are used after everything died");
    main.detach(vm);
    let stats = vm.heap.stats();
    eprintln!("  {} cycles, {} bytes, {:?}", stats.cycles, stats.allocated_bytes, stats.counters);
    assert!(stats.cycles >= 3, "the test has to collect");
}

const STEPS_TIME_MAX: Duration = Duration::from_secs(20);
/// Elements of the array that threads share.
const SHARED: usize = 64;
/// Root words of a thread: numbered objects, scratch, foreign objects, the pinned one, the node that becomes the first
/// element of the next reference array.
const ROOTS: usize = 64;
const SCRATCH: usize = ROOTS;
const FOREIGN: usize = ROOTS + 1;
const FOREIGN_COUNT: usize = 4;
const PINNED: usize = FOREIGN + FOREIGN_COUNT;
const LABEL: usize = PINNED + 1;
/// Beyond this the thread drops roots.
const LIVE_BYTES_MAX: usize = 1 << 20;

type Id = u32;

#[derive(Clone, Debug)]
enum Model {
    Node(Vec<Option<Id>>),
    /// All but the first element, which refers to a node with the array's number.
    Refs(Vec<Option<Id>>),
    /// The first bytes are its number.
    Bytes {
        length: usize,
        fill: u8,
    },
    /// An array of this class without elements, which has no room for a number.
    Empty(KlassId),
    /// Index of its kind, its referent; `strong` is its queue field.
    Reference {
        kind: usize,
        referent: Option<Id>,
        queue: Option<Id>,
    },
}

impl Model {
    fn slots(&self) -> &[Option<Id>] {
        match self {
            Model::Node(slots) | Model::Refs(slots) => slots,
            Model::Reference { queue, .. } => std::slice::from_ref(queue),
            Model::Bytes { .. } | Model::Empty(_) => &[],
        }
    }

    fn set(&mut self, slot: usize, id: Option<Id>) {
        match self {
            Model::Node(slots) | Model::Refs(slots) => slots[slot] = id,
            Model::Reference { queue, .. } => *queue = id,
            Model::Bytes { .. } | Model::Empty(_) => panic!("{self:?} has no slots"),
        }
    }
}

struct Actor<'a> {
    vm: &'a TestVm,
    thread: Box<TestThread>,
    rng: StdRng,
    objects: HashMap<Id, Model>,
    roots: Vec<Option<Id>>,
    /// Objects that other threads may hold: never known to be dead.
    escaped: HashSet<Id>,
    /// Reference objects that a cycle may have cleared although their referents are reachable now: a final
    /// reference has brought it back since.
    perhaps_cleared: HashSet<Id>,
    next_id: Id,
    pinned: Option<usize>,
    /// Of the steps that may collect.
    collect_one_in: u32,
}

impl<'a> Actor<'a> {
    fn new(vm: &'a TestVm, id: usize, seed: u64) -> Actor<'a> {
        Actor {
            vm,
            thread: TestThread::attach(vm, LABEL + 1),
            rng: StdRng::seed_from_u64(seed ^ (id as u64) << 32),
            objects: HashMap::new(),
            roots: vec![None; ROOTS],
            escaped: HashSet::new(),
            perhaps_cleared: HashSet::new(),
            next_id: (id as u32) << 24,
            pinned: None,
            collect_one_in: 8,
        }
    }

    /// Fewer steps where that takes long: a heap that is nearly full is collected, and verified, at every allocation.
    fn run(mut self, steps: usize) {
        let began = Instant::now();
        for step in (0..steps).take_while(|_| began.elapsed() < STEPS_TIME_MAX) {
            self.step();
            self.thread.poll(self.vm);
            if step % 500 == 499 {
                self.prune();
                self.compare_all();
            }
        }
        self.unpin();
        self.prune();
        self.compare_all();
        self.thread.detach(self.vm);
    }

    fn step(&mut self) {
        match self.rng.random_range(0..100) {
            0..30 => self.allocate(),
            30..45 => self.load(),
            45..60 => self.store(),
            60..65 => self.swap(),
            65..71 => self.compare_exchange(),
            71..76 => self.copy_array(),
            76..80 => self.clone_object(),
            80..82 => self.drop_root(),
            82..87 => self.use_shared(),
            87..92 => self.check_referents(),
            92..96 => self.go_native(),
            96 => self.toggle_pin(),
            97 => self.use_weak_slot(),
            98 => {
                self.vm.drain_pending(&self.thread);
            }
            _ if self.rng.random_range(0..self.collect_one_in) == 0 => self.collect(),
            _ => {}
        }
    }

    fn object(&self, root: usize) -> ObjectRef {
        self.thread.roots[root].get()
    }

    fn some_root(&mut self) -> usize {
        self.rng.random_range(0..ROOTS)
    }

    /// A root that holds an object with at least one slot, and one of its slots.
    fn some_slot(&mut self) -> Option<(usize, Id, usize)> {
        let root = self.some_root();
        let id = self.roots[root]?;
        let slots = self.objects[&id].slots().len();
        (slots > 0).then(|| (root, id, self.rng.random_range(0..slots)))
    }

    fn offset(&self, id: Id, slot: usize) -> usize {
        match self.objects[&id] {
            Model::Reference { .. } => self.vm.classes.slot(3),
            Model::Refs(_) => self.vm.classes.slot(slot + 1),
            _ => self.vm.classes.slot(slot),
        }
    }

    fn set_root(&mut self, root: usize, id: Option<Id>, object: ObjectRef) {
        self.thread.roots[root].set(object);
        self.roots[root] = id;
    }

    fn check(&self, object: ObjectRef, id: Option<Id>, what: &str) {
        match id {
            None => assert!(object.is_null(), "{what}: {object:?} instead of null"),
            Some(id) => {
                assert!(!object.is_null(), "{what}: null instead of {id}");
                let expected = match self.objects[&id] {
                    Model::Empty(klass) => {
                        assert_eq!(object.klass(), klass, "{what}: wrong object at {object:?}");
                        None
                    }
                    _ => Some(id),
                };
                assert_eq!(self.number(object), expected, "{what}: wrong object at {object:?}");
            }
        }
    }

    /// The number of an object of any thread. Arrays without elements have none.
    fn number(&self, object: ObjectRef) -> Option<Id> {
        let classes = &self.vm.classes;
        let klass = object.klass();
        let is_array = klass == classes.refs || klass == classes.bytes;
        if is_array && object.array_length() == 0 {
            return None;
        }
        let number = match klass {
            klass if klass == classes.bytes => array_number_of(object),
            klass if klass == classes.refs => {
                let barriers = self.vm.heap.barriers();
                number_of(barriers.load(&self.thread.m, object, classes.slot(0)))
            }
            _ => number_of(object),
        };
        Some(number.load(Ordering::Relaxed))
    }

    /// Gives an object its number; a reference array gets the node that `prepare_label` has made.
    fn set_number(&self, object: ObjectRef, id: Id) {
        let number = match self.objects[&id] {
            Model::Empty(_) => return,
            Model::Bytes { .. } => array_number_of(object),
            Model::Refs(_) => {
                let label = self.thread.roots[LABEL].replace(ObjectRef::NULL);
                let (barriers, slot) = (self.vm.heap.barriers(), self.vm.classes.slot(0));
                barriers.store(&self.thread.m, object, slot, label);
                number_of(label)
            }
            Model::Node(_) | Model::Reference { .. } => number_of(object),
        };
        number.store(id, Ordering::Relaxed);
    }

    fn prepare_label(&self) -> Result<(), AllocFailure> {
        self.thread.roots[LABEL].set(self.thread.new_node(self.vm, 0)?);
        Ok(())
    }

    fn allocate(&mut self) {
        let (root, referent) = (self.some_root(), self.some_root());
        let choice = self.rng.random_range(0..20);
        let slots = self.rng.random_range(0..=NODE_SLOTS_MAX);
        let mut length = self.rng.random_range(0..60);
        if self.rng.random_range(0..40) == 0 {
            length *= 400;
        }
        let kind = self.rng.random_range(0..4);
        let made = self.retry(|actor| {
            let (vm, thread) = (actor.vm, &actor.thread);
            match choice {
                0..10 => {
                    let made = thread.new_node(vm, slots);
                    made.map(|object| (object, Model::Node(vec![None; slots])))
                }
                10..18 if length == 0 => {
                    let klass = if choice < 14 { vm.classes.refs } else { vm.classes.bytes };
                    let made = thread.new_array(vm, klass, 0);
                    made.map(|object| (object, Model::Empty(klass)))
                }
                10..14 => {
                    actor.prepare_label()?;
                    let made = thread.new_array(vm, vm.classes.refs, length);
                    made.map(|object| (object, Model::Refs(vec![None; length - 1])))
                }
                14..18 => {
                    let length = length * 8;
                    let made = thread.new_array(vm, vm.classes.bytes, length);
                    made.map(|object| (object, Model::Bytes { length, fill: 0 }))
                }
                _ => {
                    let made = thread.new_reference(vm, kind, referent);
                    let referent = actor.roots[referent];
                    made.map(|object| (object, Model::Reference { kind, referent, queue: None }))
                }
            }
        });
        let Some((object, mut model)) = made else { return };
        self.next_id += 1;
        let id = self.next_id;
        let mut is_zero = true;
        match &mut model {
            Model::Bytes { length, fill } => {
                *fill = id as u8 | 1;
                let bytes = bytes_of(object, *length);
                is_zero &= bytes.iter().all(|byte| *byte == 0);
                is_zero &= array_number_of(object).load(Ordering::Relaxed) == 0;
                bytes.fill(*fill);
            }
            Model::Node(_) | Model::Reference { .. } => {
                is_zero &= number_of(object).load(Ordering::Relaxed) == 0;
            }
            Model::Refs(_) | Model::Empty(_) => {}
        }
        assert!(is_zero, "new memory is not zero");
        self.objects.insert(id, model);
        self.set_number(object, id);
        self.set_root(root, Some(id), object);
        // Most objects hang below another one, so that something large stays alive.
        for _ in 0..3 {
            if let Some((parent, id, slot)) = self.some_slot()
                && self.objects[&id].slots()[slot].is_none()
            {
                self.store_at(parent, id, slot, root);
            }
        }
    }

    fn store_at(&mut self, root: usize, id: Id, slot: usize, from: usize) {
        let (object, offset) = (self.object(root), self.offset(id, slot));
        self.vm.heap.barriers().store(&self.thread.m, object, offset, self.object(from));
        let value = self.roots[from];
        self.objects.get_mut(&id).unwrap().set(slot, value);
    }

    /// Allocates, dropping roots when the heap is full.
    fn retry<R>(&mut self, make: impl Fn(&Self) -> Result<R, AllocFailure>) -> Option<R> {
        for _ in 0..20 {
            match make(self) {
                Ok(made) => return Some(made),
                Err(AllocFailure::TooLarge) => panic!("the test asks for nothing that large"),
                Err(AllocFailure::HeapFull) => {
                    for root in 0..ROOTS / 2 {
                        self.set_root(root, None, ObjectRef::NULL);
                    }
                    self.vm.drain_pending(&self.thread);
                }
            }
        }
        None
    }

    fn load(&mut self) {
        let Some((root, id, slot)) = self.some_slot() else { return };
        let expected = self.objects[&id].slots()[slot];
        let (object, offset) = (self.object(root), self.offset(id, slot));
        let loaded = self.vm.heap.barriers().load(&self.thread.m, object, offset);
        self.check(loaded, expected, "load");
        let to = self.some_root();
        self.set_root(to, expected, loaded);
    }

    fn store(&mut self) {
        let Some((root, id, slot)) = self.some_slot() else { return };
        if self.objects[&id].slots()[slot].is_none() || self.rng.random_range(0..8) == 0 {
            let from = self.some_root();
            self.store_at(root, id, slot, from);
        }
    }

    fn swap(&mut self) {
        let Some((root, id, slot)) = self.some_slot() else { return };
        let from = self.some_root();
        let (object, offset) = (self.object(root), self.offset(id, slot));
        let old = self.vm.heap.barriers().swap(&self.thread.m, object, offset, self.object(from));
        let expected = self.objects[&id].slots()[slot];
        self.check(old, expected, "swap");
        let value = self.roots[from];
        self.objects.get_mut(&id).unwrap().set(slot, value);
    }

    fn compare_exchange(&mut self) {
        let Some((root, id, slot)) = self.some_slot() else { return };
        let (new, mut expected) = (self.some_root(), self.some_root());
        let held = self.objects[&id].slots()[slot];
        if let Some(same) = self.roots.iter().position(|root| *root == held)
            && self.rng.random()
        {
            expected = same;
        }
        let (object, offset) = (self.object(root), self.offset(id, slot));
        let (e, n) = (self.object(expected), self.object(new));
        let result = self.vm.heap.barriers().compare_exchange(&self.thread.m, object, offset, e, n);
        match result {
            Ok(()) => {
                assert_eq!(held, self.roots[expected], "exchange of what was not there");
                let value = self.roots[new];
                self.objects.get_mut(&id).unwrap().set(slot, value);
            }
            Err(found) => {
                assert_ne!(held, self.roots[expected], "no exchange of what was there");
                self.check(found, held, "failed exchange");
            }
        }
    }

    fn copy_array(&mut self) {
        let (a, b) = (self.some_root(), self.some_root());
        let (Some(source), Some(id)) = (self.roots[a], self.roots[b]) else { return };
        let (Model::Refs(source), Model::Refs(target)) =
            (&self.objects[&source], &self.objects[&id])
        else {
            return;
        };
        let length = self.rng.random_range(0..=source.len().min(target.len()));
        let from_index = self.rng.random_range(0..=source.len() - length);
        let to_index = self.rng.random_range(0..=target.len() - length);
        let moved = source[from_index..from_index + length].to_vec();
        let (x, y) = (self.object(a), self.object(b));
        let barriers = self.vm.heap.barriers();
        let [from, to] = [from_index, to_index].map(|index| self.vm.classes.slot(index + 1));
        barriers.copy_array(&self.thread.m, x, from, y, to, length);
        let target = self.objects.get_mut(&id).unwrap();
        moved.into_iter().enumerate().for_each(|(i, value)| target.set(to_index + i, value));
    }

    fn clone_object(&mut self) {
        let (from, to) = (self.some_root(), self.some_root());
        let Some(id) = self.roots[from] else { return };
        let model = self.objects[&id].clone();
        let vm = self.vm;
        let (klass, bytes, length) = match &model {
            Model::Node(slots) => {
                (vm.classes.nodes[slots.len()], vm.classes.node_bytes(slots.len()), None)
            }
            Model::Refs(slots) => {
                let length = slots.len() + 1;
                let bytes = vm.classes.array_bytes(vm.classes.refs, length);
                (vm.classes.refs, bytes, Some(length as u32))
            }
            Model::Bytes { length, .. } => {
                let bytes = vm.classes.array_bytes(vm.classes.bytes, *length);
                (vm.classes.bytes, bytes, Some(*length as u32))
            }
            Model::Empty(klass) => (*klass, vm.classes.array_bytes(*klass, 0), Some(0)),
            Model::Reference { .. } => return,
        };
        self.thread.roots[SCRATCH].set(self.object(from));
        let made = self.retry(|actor| {
            if let Model::Refs(_) = model {
                actor.prepare_label()?;
            }
            vm.heap.allocate(&actor.thread.m, klass, bytes, length)
        });
        if let Some(copy) = made {
            let original = self.object(SCRATCH);
            vm.heap.barriers().clone_contents(&self.thread.m, original, copy, bytes);
            self.next_id += 1;
            self.objects.insert(self.next_id, model);
            self.set_number(copy, self.next_id);
            self.set_root(to, Some(self.next_id), copy);
        }
        self.thread.roots[SCRATCH].set(ObjectRef::NULL);
    }

    fn drop_root(&mut self) {
        let root = self.some_root();
        self.set_root(root, None, ObjectRef::NULL);
    }

    /// Puts an object into the shared array, takes one out.
    fn use_shared(&mut self) {
        let (barriers, m) = (self.vm.heap.barriers(), &self.thread.m);
        let shared = barriers.load_root(m, &self.vm.binding.strong[0]);
        let at = self.vm.classes.slot(self.rng.random_range(0..SHARED));
        let foreign = FOREIGN + self.rng.random_range(0..FOREIGN_COUNT);
        let root = self.rng.random_range(0..ROOTS);
        let found = match self.rng.random_range(0..4) {
            0 => barriers.load(m, shared, at),
            1 => barriers.swap(m, shared, at, self.object(foreign)),
            2 => {
                let seen = barriers.load(m, shared, at);
                let _ = barriers.compare_exchange(m, shared, at, seen, self.object(root));
                self.escape(root);
                seen
            }
            _ => {
                barriers.store(m, shared, at, self.object(root));
                self.escape(root);
                self.object(foreign)
            }
        };
        if !found.is_null() {
            let id = self.number(found);
            assert!(id != Some(0) && found.klass().0 != 0, "unsound {found:?}");
        }
        self.thread.roots[foreign].set(found);
    }

    /// Marks what other threads can now reach. (Our later stores into it are ours alone.)
    fn escape(&mut self, root: usize) {
        self.escaped.extend(self.roots[root]);
    }

    fn use_weak_slot(&mut self) {
        let slots = &self.vm.binding.weak;
        let slot = &slots[self.rng.random_range(0..slots.len())];
        let (barriers, m) = (self.vm.heap.barriers(), &self.thread.m);
        let held = barriers.load_weak_root(m, slot);
        if !held.is_null() {
            let id = self.number(held);
            assert!(id != Some(0) && held.klass().0 != 0, "unsound {held:?} in a weak slot");
        }
        let root = self.rng.random_range(0..ROOTS);
        barriers.store_root(m, slot, self.object(root));
        self.escape(root);
    }

    fn check_referents(&mut self) {
        let root = self.some_root();
        let Some(id) = self.roots[root] else { return };
        let Model::Reference { kind, referent, queue } = self.objects[&id].clone() else { return };
        let reference = self.object(root);
        let found = self.thread.referent(self.vm, reference);
        let before = self.reachable();
        let is_reachable = referent.is_some_and(|id| before.contains(&id));
        let may_be_cleared = self.perhaps_cleared.remove(&id) || !is_reachable;
        if found.is_null() && referent.is_some() {
            assert!(may_be_cleared, "cleared a reference to what is strongly reachable");
            self.objects.insert(id, Model::Reference { kind, referent: None, queue });
        } else {
            self.check(found, referent, "referent");
            let at = self.vm.classes.fields.referent as usize;
            let barriers = self.vm.heap.barriers();
            assert!(barriers.referent_is(&self.thread.m, reference, at, found));
            let to = self.some_root();
            self.set_root(to, referent, found);
            self.note_revived(&before);
        }
    }

    /// The objects that are reachable now and were not before: cycles since they were dropped may have cleared
    /// references to them.
    fn note_revived(&mut self, before: &HashSet<Id>) {
        let now = self.reachable();
        let is_revived = |id: &Id| now.contains(id) && !before.contains(id);
        for (id, model) in &self.objects {
            if let Model::Reference { referent: Some(referent), .. } = model
                && is_revived(referent)
            {
                self.perhaps_cleared.insert(*id);
            }
        }
    }

    fn go_native(&mut self) {
        self.vm.heap.enter_safe(&self.thread.m);
        if self.rng.random() {
            std::thread::yield_now();
        }
        self.vm.heap.leave_safe(&self.thread.m);
    }

    fn toggle_pin(&mut self) {
        if self.pinned.is_some() {
            return self.unpin();
        }
        let root = self.some_root();
        let object = self.object(root);
        if !object.is_null() {
            self.vm.heap.pin(object);
            self.thread.roots[PINNED].set(object);
            self.pinned = Some(object.address());
        }
    }

    fn unpin(&mut self) {
        let Some(address) = self.pinned.take() else { return };
        let object = self.thread.roots[PINNED].replace(ObjectRef::NULL);
        assert_eq!(object.address(), address, "a pinned object moved");
        self.vm.heap.unpin(object);
    }

    /// A full cycle: weak references to objects that are unreachable in the model must be cleared.
    fn collect(&mut self) {
        self.prune();
        let reachable = self.reachable();
        self.vm.heap.collect(&self.thread.m, CollectCause::SystemGc);
        for root in 0..ROOTS {
            let Some(id) = self.roots[root] else { continue };
            let Model::Reference { kind: WEAK, referent: Some(referent), queue } =
                self.objects[&id].clone()
            else {
                continue;
            };
            let found = self.thread.referent(self.vm, self.object(root));
            let is_held_elsewhere = self.escaped.contains(&referent)
                || !self.escaped.is_empty()
                || self.has_other_references();
            let may_be_cleared = self.perhaps_cleared.remove(&id);
            if reachable.contains(&referent) {
                if !found.is_null() || !may_be_cleared {
                    self.check(found, Some(referent), "referent after a cycle");
                }
            } else if !is_held_elsewhere {
                assert!(found.is_null(), "{referent} is dead but still referred to weakly");
            }
            if found.is_null() {
                self.objects.insert(id, Model::Reference { kind: WEAK, referent: None, queue });
            }
        }
    }

    /// Soft and final references may keep objects that only they reach.
    fn has_other_references(&self) -> bool {
        let is_keeping = |m: &Model| matches!(m, Model::Reference { kind, .. } if *kind != WEAK);
        self.objects.values().any(is_keeping)
    }

    fn reachable(&self) -> HashSet<Id> {
        let mut reached = HashSet::new();
        let mut stack: Vec<Id> = self.roots.iter().flatten().copied().collect();
        while let Some(id) = stack.pop() {
            if reached.insert(id) {
                stack.extend(self.objects[&id].slots().iter().flatten());
            }
        }
        reached
    }

    /// Forgets objects that nothing can bring back, and drops roots when too much is alive.
    fn prune(&mut self) {
        let mut reached = self.reachable();
        let bytes = |m: &Model| match m {
            Model::Bytes { length, .. } => *length,
            other => HEADER_BYTES + 8 * other.slots().len(),
        };
        let mut live: usize = reached.iter().map(|id| bytes(&self.objects[id])).sum();
        while live > LIVE_BYTES_MAX {
            let root = self.some_root();
            self.set_root(root, None, ObjectRef::NULL);
            reached = self.reachable();
            live = reached.iter().map(|id| bytes(&self.objects[id])).sum();
        }
        // Objects that references may still bring back stay known, with all that they reach.
        let mut stack: Vec<Id> = reached.iter().copied().collect();
        let mut known = HashSet::new();
        while let Some(id) = stack.pop() {
            if known.insert(id) {
                let model = &self.objects[&id];
                stack.extend(model.slots().iter().flatten());
                if let Model::Reference { referent, .. } = model {
                    stack.extend(referent);
                }
            }
        }
        self.objects.retain(|id, _| known.contains(id));
    }

    /// Walks everything reachable, in the heap and in the model at once.
    fn compare_all(&mut self) {
        let (vm, m) = (self.vm, &self.thread.m);
        let mut seen = HashMap::new();
        let mut stack: Vec<(Id, ObjectRef)> = Vec::new();
        for root in 0..ROOTS {
            self.check(self.object(root), self.roots[root], "root");
            stack.extend(self.roots[root].map(|id| (id, self.object(root))));
        }
        // No safepoint from this point on, so that plain addresses stay valid.
        while let Some((id, object)) = stack.pop() {
            if let Some(before) = seen.insert(id, object) {
                assert_eq!(before, object, "{id} is in two places");
                continue;
            }
            let model = &self.objects[&id];
            match model {
                Model::Refs(slots) => assert_eq!(object.array_length(), slots.len() + 1),
                Model::Bytes { length, fill } => {
                    assert_eq!(object.array_length(), *length);
                    let same = bytes_of(object, *length).iter().all(|byte| byte == fill);
                    assert!(same, "contents of {id} changed");
                }
                Model::Node(_) | Model::Empty(_) | Model::Reference { .. } => {}
            }
            for (i, slot) in model.slots().iter().enumerate() {
                let value = vm.heap.barriers().load(m, object, self.offset(id, i));
                self.check(value, *slot, "slot");
                stack.extend(slot.map(|id| (id, value)));
            }
        }
    }
}

/// Index of weak references among the kinds.
const WEAK: usize = 1;

/// The elements behind its number of an array of `length` bytes.
fn bytes_of(array: ObjectRef, length: usize) -> &'static mut [u8] {
    let number_bytes = size_of::<Id>();
    let first = array.address() + array_base(1) as usize + number_bytes;
    // SAFETY: a live byte array of the calling thread, which does not reach a safepoint while it has the slice.
    unsafe { std::slice::from_raw_parts_mut(first as *mut u8, length - number_bytes) }
}
