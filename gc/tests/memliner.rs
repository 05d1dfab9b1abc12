//! MemLiner on G1 and on Shenandoah: which objects are traced, in which order, and that each mechanism can be switched
//! off.

mod support;

use gc::core::outcome::CollectCause;
use gc::object::ObjectRef;
use gc::options::{CollectorKind, DelaysMax, Estimator, HeapOptions, LocalMemory};
use gc::threads::mutator::ThreadField;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use support::{AbortOnPanic, TestThread, TestVm, is_tracing, number_of};
use swap::PageRange;

/// The collectors on which MemLiner is built.
const LINED: [CollectorKind; 2] = [CollectorKind::MemLinerG1, CollectorKind::MemLinerShenandoah];

fn options(collector: CollectorKind) -> HeapOptions {
    let mut options = HeapOptions::new(collector, HEAP_BYTES);
    options.region_bytes = Some(64 << 10);
    options.local_memory = LocalMemory::Bytes(2 << 20);
    options.prefetcher = swap::PrefetcherKind::None;
    options.g1.tenuring_age_max = 0;
    options.g1.initiating_percent = 1;
    options.g1.young_percent_max = 10;
    options
}

const HEAP_BYTES: usize = 8 << 20;

/// Counters after some markings of a heap of 8 MiB, a fourth of it local, in which a thread walks along a list of old
/// nodes again and again, from the middle on.
struct Marked {
    vm: TestVm,
    collector: CollectorKind,
}

impl Marked {
    fn new(collector: CollectorKind, change: impl Fn(&mut HeapOptions)) -> Marked {
        let mut options = options(collector);
        change(&mut options);
        let _bomb = AbortOnPanic;
        let marked = Marked { vm: TestVm::new(&options), collector };
        let thread = TestThread::attach(&marked.vm, 3);
        marked.run(&thread);
        thread.detach(&marked.vm);
        marked
    }

    fn run(&self, thread: &TestThread) {
        let vm = &self.vm;
        self.prepend(thread, 0, NODES);
        let mut at = ObjectRef::NULL;
        while self.markings() < MARKINGS {
            assert!(vm.heap.totals().cycles < 3_000, "{:?}", vm.heap.totals().counters);
            for _ in 0..WALKED {
                at = match at.is_null() {
                    true => thread.roots[0].get(),
                    false => vm.heap.barriers().load(&thread.m, at, vm.classes.slot(0)),
                };
            }
            thread.roots[2].set(at);
            // Old regions must grow before the next marking begins.
            self.prepend(thread, 1, 1);
            _ = thread.new_array(vm, vm.classes.bytes, 2000).unwrap();
            thread.poll(vm);
            at = thread.roots[2].get();
        }
        let mut node = thread.roots[0].get();
        for number in (0..NODES).rev() {
            assert_eq!(number_of(node).load(Ordering::Relaxed), number);
            node = vm.heap.barriers().load(&thread.m, node, vm.classes.slot(0));
        }
        assert!(node.is_null(), "the list is too long");
    }

    /// Puts nodes of twelve slots, each with its number, before the list in a root.
    fn prepend(&self, thread: &TestThread, root: usize, count: u32) {
        for number in 0..count {
            let node = thread.new_node(&self.vm, 12).unwrap();
            number_of(node).store(number, Ordering::Relaxed);
            let (barriers, slot) = (self.vm.heap.barriers(), self.vm.classes.slot(0));
            barriers.store_initial(&thread.m, node, slot, thread.roots[root].get());
            thread.roots[root].set(node);
            thread.poll(&self.vm);
        }
    }

    /// Each of Shenandoah's cycles has one.
    fn markings(&self) -> u64 {
        match self.collector {
            CollectorKind::MemLinerG1 => self.counter("markings"),
            _ => self.vm.heap.totals().cycles,
        }
    }

    /// Allocates until the thread is notified that a marking is on. The objects in root 1 are garbage.
    fn wait_for_tracing(&self, thread: &TestThread) {
        for number in 0..1_000_000 {
            if is_tracing(thread) {
                return;
            }
            // A busy machine lets the collector's thread begin, before the heap is full.
            if number % 32 == 0 {
                std::thread::sleep(Duration::from_micros(100));
            }
            // Old regions must grow before the next marking begins.
            thread.roots[1].set(thread.new_array(&self.vm, self.vm.classes.bytes, 2000).unwrap());
            thread.poll(&self.vm);
        }
        panic!("no marking begins: {:?}", self.vm.heap.totals().counters);
    }

    /// Markings that continued in a pause, or were given up in it.
    fn interruptions(&self) -> u64 {
        self.counter("degenerated_cycles") + self.counter("markings_aborted")
    }

    fn counter(&self, name: &str) -> u64 {
        self.vm.heap.totals().counters.get(name).copied().unwrap_or(0)
    }

    fn has(&self, names: &[&str]) -> Vec<bool> {
        names.iter().map(|name| self.counter(name) > 0).collect()
    }
}

const NODES: u32 = 30_000;
const WALKED: usize = 300;
const MARKINGS: u64 = 4;

const ALL: [&str; 6] = [
    "memliner_taken",
    "memliner_traced_touched",
    "memliner_traced_explored",
    "memliner_pushed_back",
    "memliner_forced",
    "marking_fetch_faults",
];

#[test]
fn every_mechanism_is_at_work_and_can_be_switched_off() {
    LINED.into_iter().for_each(switch_off);
}

fn switch_off(collector: CollectorKind) {
    // Each queue is walked along further than a tracer sees from one node.
    let patient = |options: &mut HeapOptions| options.memliner.delays_max = DelaysMax::Fixed(4);
    let check = |change: fn(&mut HeapOptions), expected: [bool; 6]| {
        at_work(collector, &ALL, &expected, |options| {
            patient(options);
            change(options);
        });
    };
    check(|_| (), [true; 6]);
    check(|options| options.memliner.queue = false, [false, false, false, true, true, true]);
    check(|options| options.memliner.push_back = false, [true, true, true, false, true, true]);
    check(|options| options.memliner.depth_max = 0, [true, true, false, true, true, true]);
    check(
        |options| options.memliner.estimator = Estimator::None,
        [true, true, true, false, false, true],
    );
}

/// Which counters count. The events depend on the order of threads, so an expected one may take some runs; an
/// unexpected one must happen in none of them.
fn at_work(
    collector: CollectorKind,
    names: &[&str],
    expected: &[bool],
    change: impl Fn(&mut HeapOptions),
) {
    let mut seen = vec![false; names.len()];
    for _ in 0..RUNS_MAX {
        let has = Marked::new(collector, &change).has(names);
        seen.iter_mut().zip(has).for_each(|(seen, has)| *seen |= has);
        if seen == expected {
            return;
        }
    }
    assert_eq!(seen, expected, "{names:?} under {}", collector.name());
}

const RUNS_MAX: usize = 5;

#[test]
fn all_memory_local_means_that_nothing_is_postponed() {
    for collector in LINED {
        let local =
            Marked::new(collector, |options| options.local_memory = LocalMemory::Percent(100));
        assert_eq!(local.has(&ALL[3..]), [false; 3]);
    }
}

/// A short queue loses entries, or usually takes none while it is full, and nothing else.
#[test]
fn a_queue_of_one_entry_is_enough() {
    for collector in LINED {
        let short = |options: &mut HeapOptions, overwrite| {
            options.memliner.queue_length = 1;
            options.memliner.overwrite = overwrite;
        };
        let names = ["memliner_taken", "memliner_overwritten"];
        at_work(collector, &names, &[true; 2], |options| short(options, true));
        at_work(collector, &names[..1], &[true], |options| short(options, false));
    }
}

/// A cycle that ends before its time, since memory is needed now, leaves nothing in the queues: objects have moved
/// since they were touched. The collector panics where the next cycle finds something.
#[test]
fn what_was_touched_is_forgotten_when_a_marking_ends() {
    for collector in LINED {
        let mut options = options(collector);
        options.local_memory = LocalMemory::Percent(100);
        options.g1.adaptive_initiating = false;
        options.shenandoah.pacing = false;
        // Cycles begin long before there is no memory.
        options.shenandoah.min_free_percent = 50;
        let vm = TestVm::new(&options);
        let thread = TestThread::attach(&vm, 2);
        let marked = Marked { vm, collector };
        let (vm, _bomb) = (&marked.vm, AbortOnPanic);
        marked.prepend(&thread, 0, NODES);
        for round in 0.. {
            marked.wait_for_tracing(&thread);
            let mut node = thread.roots[0].get();
            for _ in 0..TOUCHED {
                node = vm.heap.barriers().load(&thread.m, node, vm.classes.slot(0));
            }
            // There is no room for this.
            assert!(thread.new_array(vm, vm.classes.bytes, HEAP_BYTES - (1 << 20)).is_err());
            if marked.interruptions() >= 5 {
                break;
            }
            assert!(round < 200, "{:?}", vm.heap.totals().counters);
        }
        thread.detach(vm);
    }
}

/// Nodes that a thread touches at once: a queue has room for them.
const TOUCHED: usize = 500;

/// Several tracers share waiting objects, and pauses check the heap.
#[test]
fn several_tracers_share_what_waits() {
    for collector in LINED {
        for estimator in [Estimator::Residency, Estimator::Epoch, Estimator::None] {
            at_work(collector, &ALL[..2], &[true; 2], |options| {
                options.concurrent_gc_threads = Some(3);
                options.verify_heap = true;
                options.memliner.estimator = estimator;
            });
        }
    }
}

/// References that are used get the epoch of now, and old ones count as remote.
#[test]
fn epochs_tell_what_was_used_lately() {
    for collector in LINED {
        let names = [&ALL[..], &["memliner_restamped", "memliner_estimated_remote_wrongly"]];
        at_work(collector, &names.concat(), &[true; 8], |options| {
            options.memliner.estimator = Estimator::Epoch;
            options.memliner.delays_max = DelaysMax::Fixed(4);
        });
    }
}

/// A list that is used all the time and one that is not, both in local memory: references of the second are taken for
/// old ones, unless no epoch is too long ago.
#[test]
fn references_are_as_old_as_their_last_use() {
    for collector in LINED {
        for (epochs_max, expected) in [(1, LISTED), (255, 0)] {
            let postponed = postponed_of_two_lists(collector, epochs_max);
            let is_near = postponed.abs_diff(u64::from(expected)) < u64::from(LISTED) / 4;
            assert!(is_near, "{postponed} postponed under {}", collector.name());
        }
    }
}

/// Objects that a marking postpones when some epochs have passed since the second list was used.
fn postponed_of_two_lists(collector: CollectorKind, epochs_max: u64) -> u64 {
    let mut options = options(collector);
    options.local_memory = LocalMemory::Bytes(6 << 20);
    options.g1.adaptive_initiating = false;
    options.memliner.estimator = Estimator::Epoch;
    options.memliner.epoch_bits = 8;
    options.memliner.epochs_max = epochs_max;
    options.memliner.delays_max = DelaysMax::Fixed(0);
    // Fewer than there are stamps go by.
    options.epoch_percent = 50;
    // Objects that are met count, and not those that are touched.
    options.memliner.queue = false;
    let (_bomb, vm) = (AbortOnPanic, TestVm::new(&options));
    let thread = TestThread::attach(&vm, 3);
    let marked = Marked { vm, collector };
    let vm = &marked.vm;
    (0..2).for_each(|root| marked.prepend(&thread, root, LISTED));
    let use_first = || {
        let mut node = thread.roots[0].get();
        while !node.is_null() {
            node = vm.heap.barriers().load(&thread.m, node, vm.classes.slot(0));
        }
    };
    // Counted from the end of one marking to that of the next.
    let mark = || {
        let before = marked.markings();
        for _ in 0..1_000_000 {
            use_first();
            // Old regions must grow before the next marking begins.
            thread.roots[2].set(thread.new_array(vm, vm.classes.bytes, 2000).unwrap());
            thread.poll(vm);
            if marked.markings() > before {
                return marked.counter("memliner_forced");
            }
        }
        panic!("no marking: {:?}", vm.heap.totals().counters);
    };
    // After two of them all is old and stays where it is.
    (0..2).for_each(|_| _ = mark());
    let pager = vm.heap.core().space.pager().expect("memory is far");
    let pages = PageRange::of_bytes(0, pager.far_bytes());
    let start = pager.epoch();
    for _ in 0..1000 {
        if pager.epoch() > start + 5 {
            break;
        }
        pager.evict(pages);
        use_first();
        let mut node = thread.roots[1].get();
        while !node.is_null() {
            // Reads the page, and no slot through a barrier.
            node = ObjectRef::from_address((word(node, vm.classes.slot(0)) << 16 >> 16) as usize);
        }
    }
    assert!((start + 6..start + 100).contains(&pager.epoch()), "{start}, {}", pager.epoch());
    let before = mark();
    let postponed = mark() - before;
    thread.detach(vm);
    postponed
}

const LISTED: u32 = 5_000;

/// Nodes have twelve slots.
#[test]
fn nothing_is_explored_from_wide_objects() {
    for collector in LINED {
        for (width_max, explores) in [(11, false), (12, true), (0, true)] {
            at_work(collector, &ALL[..3], &[true, true, explores], |options| {
                options.memliner.width_max = width_max;
            });
        }
    }
}

/// Holders of which each has a leaf that is never used, so that references to leaves are old, and objects near a
/// touched holder are remote.
#[test]
fn remote_objects_are_explored_only_if_asked_for() {
    for collector in LINED {
        for explore_remote in [false, true] {
            let explored = || explored_leaves(collector, explore_remote);
            // The objects that all holders share may be the first that are explored. On a busy machine a marking may
            // be over before the thread has touched anything.
            let runs = if explore_remote { 50 } else { RUNS_MAX };
            let any = (0..runs).any(|_| explored() > 1);
            assert_eq!(any, explore_remote, "{}", collector.name());
        }
    }
}

/// Leaves that a marking explores when some epochs have passed since they were stored.
fn explored_leaves(collector: CollectorKind, explore_remote: bool) -> u64 {
    let mut options = options(collector);
    options.g1.adaptive_initiating = false;
    options.memliner.estimator = Estimator::Epoch;
    options.memliner.epoch_bits = 8;
    options.memliner.explore_remote = explore_remote;
    // Holders wait for their turn, until they are touched.
    options.memliner.delays_max = DelaysMax::Fixed(200);
    let (_bomb, vm) = (AbortOnPanic, TestVm::new(&options));
    let thread = TestThread::attach(&vm, 3);
    let marked = Marked { vm, collector };
    let (vm, m) = (&marked.vm, &thread.m);
    let (barriers, slot) = (vm.heap.barriers(), |i| vm.classes.slot(i));
    // The referent that all holders share; touching a holder loads it.
    thread.roots[2].set(thread.new_node(vm, 1).unwrap());
    let pager = vm.heap.core().space.pager().expect("memory is far");
    // It has too many references to be explored from.
    thread.roots[0].set(thread.new_array(vm, vm.classes.refs, HOLDERS).unwrap());
    for i in 0..HOLDERS {
        let holder = thread.new_node(vm, 12).unwrap();
        barriers.store(m, thread.roots[0].get(), slot(i), holder);
        let leaf = thread.new_node(vm, 12).unwrap();
        let holder = barriers.load(m, thread.roots[0].get(), slot(i));
        barriers.store(m, holder, slot(0), leaf);
        barriers.store(m, holder, slot(1), thread.roots[2].get());
        thread.poll(vm);
    }
    // Reads pages, and no slot through a barrier.
    let holder = |i| {
        let word = word(thread.roots[0].get(), slot(i)) << 16 >> 16;
        ObjectRef::from_address(word as usize)
    };
    let start = pager.epoch();
    for _ in 0..1000 {
        if pager.epoch() > start + 3 {
            break;
        }
        pager.evict(PageRange::of_bytes(0, pager.far_bytes()));
        (0..HOLDERS).for_each(|i| _ = word(holder(i), slot(0)));
    }
    assert!((start + 4..start + 100).contains(&pager.epoch()), "{start}, {}", pager.epoch());
    let before = marked.counter("memliner_traced_explored");
    marked.wait_for_tracing(&thread);
    for i in 0..HOLDERS {
        barriers.load(m, holder(i), slot(1));
    }
    let markings = marked.markings();
    for _ in 0..1_000_000 {
        if marked.markings() > markings {
            break;
        }
        thread.roots[1].set(thread.new_array(vm, vm.classes.bytes, 2000).unwrap());
        thread.poll(vm);
    }
    let explored = marked.counter("memliner_traced_explored") - before;
    thread.detach(vm);
    explored
}

const HOLDERS: usize = 3000;

/// Cycles that do not end in time continue in a pause, without asking where objects are.
#[test]
fn what_waits_is_traced_although_marking_is_interrupted() {
    let names = ["degenerated_cycles", "memliner_taken_back"];
    at_work(CollectorKind::MemLinerShenandoah, &names, &[true; 2], |options| {
        options.verify_heap = true;
        options.memliner.delays_max = DelaysMax::Fixed(200);
        options.shenandoah.pacing = false;
        options.shenandoah.init_free_percent = 0;
        options.shenandoah.min_free_percent = 2;
    });
}

/// Some is copied first, and the rest after it; without the first phase all is copied in the second.
#[test]
fn what_is_local_is_copied_first() {
    let copies = ["evacuated_bytes", "memliner_copied_first_bytes", "memliner_copied_later_bytes"];
    for (two_phases, local, expected) in [
        (true, LocalMemory::Bytes(2 << 20), [true, true, true]),
        (false, LocalMemory::Bytes(2 << 20), [true, false, false]),
        (true, LocalMemory::Percent(100), [true, false, false]),
    ] {
        at_work(CollectorKind::MemLinerShenandoah, &copies, &expected, |options| {
            options.verify_heap = true;
            options.memliner.two_phase_evacuation = two_phases;
            options.local_memory = local;
        });
    }
}

/// A wide array of remote nodes: one tracer meets all of them, and others have nothing.
#[test]
fn tracers_give_each_other_what_waits() {
    let mut options = HeapOptions::new(CollectorKind::MemLinerShenandoah, 16 << 20);
    options.region_bytes = Some(64 << 10);
    options.local_memory = LocalMemory::Bytes(2 << 20);
    options.concurrent_gc_threads = Some(3);
    options.verify_heap = true;
    options.memliner.delays_max = DelaysMax::Fixed(200);
    let vm = TestVm::new(&options);
    let thread = TestThread::attach(&vm, 1);
    let _bomb = AbortOnPanic;
    let (barriers, m) = (vm.heap.barriers(), &thread.m);
    let count = 40_000;
    thread.roots[0].set(thread.new_array(&vm, vm.classes.refs, count).unwrap());
    for i in 0..count {
        let node = thread.new_node(&vm, 12).unwrap();
        number_of(node).store(i as u32, Ordering::Relaxed);
        barriers.store(m, thread.roots[0].get(), vm.classes.slot(i), node);
        thread.poll(&vm);
    }
    let shared = || vm.heap.totals().counters.get("memliner_shared").copied().unwrap_or(0);
    for round in 0.. {
        vm.heap.collect(m, CollectCause::SystemGc);
        if shared() > 0 {
            break;
        }
        assert!(round < 50, "nothing was shared");
    }
    for i in 0..count {
        let node = barriers.load(m, thread.roots[0].get(), vm.classes.slot(i));
        assert_eq!(number_of(node).load(Ordering::Relaxed), i as u32);
    }
    thread.detach(&vm);
}

/// A use by the program gives a reference the current stamp; moving objects or copying references keeps it.
#[test]
fn stamps_stay_when_nobody_uses_the_reference() {
    let mut options = HeapOptions::new(CollectorKind::MemLinerShenandoah, 8 << 20);
    options.region_bytes = Some(64 << 10);
    options.verify_heap = true;
    options.memliner.estimator = Estimator::Epoch;
    // Everything moves.
    options.zeal_alloc_interval = Some(u64::MAX);
    let vm = TestVm::new(&options);
    let thread = TestThread::attach(&vm, 2);
    let _bomb = AbortOnPanic;
    let (barriers, slot, m) = (vm.heap.barriers(), |i| vm.classes.slot(i), &thread.m);
    for i in 0..2 {
        let array = thread.new_array(&vm, vm.classes.refs, 2).unwrap();
        thread.roots[i].set(array);
    }
    let node = thread.new_node(&vm, 1).unwrap();
    let [from, to] = [0, 1].map(|i| thread.roots[i].get());
    set_stamp(&thread, 7);
    barriers.store(m, from, slot(0), node);
    set_stamp(&thread, 5);
    barriers.copy_array(m, from, slot(0), to, slot(1), 1);
    assert_eq!([word(from, slot(0)), word(to, slot(1))].map(|word| word >> 48), [7, 7]);
    let places: std::collections::HashSet<u64> = (0..6)
        .map(|_| {
            vm.heap.collect(m, CollectCause::SystemGc);
            let words =
                [word(thread.roots[0].get(), slot(0)), word(thread.roots[1].get(), slot(1))];
            assert_eq!(words.map(|word| word >> 48), [7, 7]);
            words[0]
        })
        .collect();
    assert!(places.len() > 1, "the node has not moved");
    set_stamp(&thread, 5);
    let from = thread.roots[0].get();
    let node = barriers.load(m, from, slot(0));
    assert_eq!(word(from, slot(0)), node.address() as u64 | 5 << 48);
    thread.detach(&vm);
}

fn word(object: ObjectRef, offset: usize) -> u64 {
    // SAFETY: a slot of a live object, which does not move before the next safepoint of the test's only thread.
    unsafe { AtomicU64::from_ptr((object.address() + offset) as *mut u64) }.load(Ordering::Relaxed)
}

/// The stamp of the thread's references until its epoch is refreshed.
fn set_stamp(thread: &TestThread, stamp: u64) {
    let field = (&raw const thread.m).expose_provenance() + ThreadField::word(14).offset();
    // SAFETY: a word of the thread's own block.
    unsafe { AtomicU64::from_ptr(field as *mut u64) }.store(stamp << 48, Ordering::Relaxed);
}
