//! Mako with real memory servers that die, pause, and are few or many.

mod support;

use gc::core::outcome::CollectCause;
use gc::object::ObjectRef;
use gc::object::log::{GcLog, LogLine};
use gc::options::{CollectorKind, HeapOptions, LocalMemory, MakoOptions};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rdma::spawn::Fleet;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use support::{TestThread, TestVm, number_of};
use swap::{PageRange, ThreadClass};

fn options(servers: u16) -> HeapOptions {
    let mut options = HeapOptions::new(CollectorKind::Mako, 16 << 20);
    options.mako.generational = Some(false);
    options.region_bytes = Some(256 << 10);
    options.memory_servers = servers;
    options.local_memory = LocalMemory::Bytes(2 << 20);
    options
}

/// Pushes a node of two slots with its number onto the list in root 0.
fn push(vm: &TestVm, thread: &TestThread, number: u32) {
    let node = thread.new_node(vm, 2).expect("most of the heap is garbage");
    number_of(node).store(number, Ordering::Relaxed);
    let slot = vm.classes.slot(0);
    vm.heap.barriers().store_initial(&thread.m, node, slot, thread.roots[0].get());
    thread.roots[0].set(node);
}

/// Checks that the list in root 0 counts down to 0.
fn check(vm: &TestVm, thread: &TestThread, count: u32) {
    let mut node = thread.roots[0].get();
    for number in (0..count).rev() {
        assert_eq!(number_of(node).load(Ordering::Relaxed), number);
        node = vm.heap.barriers().load(&thread.m, node, vm.classes.slot(0));
    }
    assert!(node.is_null());
}

fn churn(vm: &TestVm, thread: &TestThread, count: usize) {
    for i in 0..count {
        let array = thread.new_array(vm, vm.classes.bytes, 100 + i % 300);
        array.expect("most of the heap is garbage");
        thread.poll(vm);
    }
}

/// A cycle that another thread asks for; notes when it is over.
fn collect_beside(vm: &TestVm, is_over: &AtomicBool) {
    let collecting = TestThread::attach(vm, 0);
    vm.heap.collect(&collecting.m, CollectCause::SystemGc);
    collecting.detach(vm);
    is_over.store(true, Ordering::Relaxed);
}

/// The last server has fewer regions than the others, and its words are the last of its memory.
#[test]
fn regions_need_not_divide_among_the_servers() {
    let mut options = options(3);
    options.max_bytes = 32 << 20;
    options.region_bytes = Some(64 << 10);
    let vm = TestVm::new(&options);
    let thread = TestThread::attach(&vm, 1);
    (0..10_000).for_each(|number| push(&vm, &thread, number));
    churn(&vm, &thread, 400_000);
    vm.heap.collect(&thread.m, CollectCause::SystemGc);
    check(&vm, &thread, 10_000);
    thread.detach(&vm);
}

/// However full a heap is of large objects, each server keeps a region to evacuate to: the memory of other objects
/// that then die can be reclaimed.
#[test]
fn humongous_objects_leave_a_region_to_evacuate_to() {
    for servers in [1, 2] {
        let vm = TestVm::new(&options(servers));
        let thread = TestThread::attach(&vm, 100);
        let (nodes, slots) = (50_000, 12);
        for number in 0..nodes {
            let node = thread.new_node(&vm, slots).expect("most of the heap is free");
            number_of(node).store(number, Ordering::Relaxed);
            let slot = vm.classes.slot(0);
            vm.heap.barriers().store_initial(&thread.m, node, slot, thread.roots[0].get());
            thread.roots[0].set(node);
        }
        let mut filled = 1;
        while let Ok(array) = thread.new_array(&vm, vm.classes.bytes, 200 << 10) {
            thread.roots[filled].set(array);
            filled += 1;
        }
        assert!(filled > 10, "{filled} large objects");
        // Most of the list dies, evenly.
        let mut node = thread.roots[0].get();
        while !node.is_null() {
            let mut next = node;
            for _ in 0..10 {
                if !next.is_null() {
                    next = vm.heap.barriers().load(&thread.m, next, vm.classes.slot(0));
                }
            }
            vm.heap.barriers().store(&thread.m, node, vm.classes.slot(0), next);
            node = next;
        }
        let evacuated =
            |vm: &TestVm| vm.heap.totals().counters.get("evacuated_groups").copied().unwrap_or(0);
        let before = evacuated(&vm);
        vm.heap.collect(&thread.m, CollectCause::LastDitch);
        assert!(evacuated(&vm) > before);
        for _ in 0..10 {
            thread.roots[filled].set(thread.new_array(&vm, vm.classes.bytes, 100_000).unwrap());
            filled += 1;
        }
        let mut node = thread.roots[0].get();
        for number in (0..nodes).rev().step_by(10) {
            assert_eq!(number_of(node).load(Ordering::Relaxed), number);
            node = vm.heap.barriers().load(&thread.m, node, vm.classes.slot(0));
        }
        assert!(node.is_null());
        thread.detach(&vm);
    }
}

/// Memory that was touched before any thread needed it is dirty, and has nothing that agents could miss.
#[test]
fn touched_memory_may_be_evacuated_to() {
    let mut options = options(1);
    options.pre_touch = true;
    options.initial_bytes = options.max_bytes;
    options.mako.offload_tracing = false;
    options.local_memory = LocalMemory::Percent(100);
    let vm = TestVm::new(&options);
    let thread = TestThread::attach(&vm, 1);
    for number in 0..10_000 {
        push(&vm, &thread, number);
        churn(&vm, &thread, 2);
    }
    (0..3).for_each(|_| vm.heap.collect(&thread.m, CollectCause::SystemGc));
    let counters = vm.heap.totals().counters;
    assert!(counters.get("evacuated_groups").is_some_and(|count| *count > 0), "{counters:?}");
    check(&vm, &thread, 10_000);
    thread.detach(&vm);
}

#[test]
fn a_list_survives_on_one_two_and_five_servers() {
    for servers in [1, 2, 5] {
        let mut options = options(servers);
        options.verify_heap = true;
        let vm = TestVm::new(&options);
        let thread = TestThread::attach(&vm, 1);
        for i in 0..100_000 {
            push(&vm, &thread, i);
            churn(&vm, &thread, 3);
        }
        check(&vm, &thread, 100_000);
        // The second cycle may still be at work: only those that are over count.
        let deadline = Instant::now() + Duration::from_secs(20);
        while vm.heap.stats().cycles < 2 && Instant::now() < deadline {
            thread.poll(&vm);
            std::thread::sleep(Duration::from_millis(1));
        }
        check(&vm, &thread, 100_000);
        thread.detach(&vm);
        assert!(vm.heap.stats().cycles > 1, "{:?}", vm.heap.stats());
    }
}

/// A mechanism that is switched off does nothing, as pages and counters show.
#[test]
fn each_mechanism_can_be_switched_off() {
    let usual = Work::of(|_| ());
    assert!(usual.faults < 50 && usual.moved > 1000, "{usual:?}");
    assert!(usual.ahead > 0 && usual.ahead <= usual.groups, "{usual:?}");
    let copied_late = Work::of(|mako| mako.copy_ahead = false);
    assert!(copied_late.ahead == 0 && copied_late.moved > 1000, "{copied_late:?}");
    assert!(usual.parts == usual.groups && copied_late.parts == copied_late.groups);
    let in_turn = Work::of(|mako| mako.away_tablets = 1);
    assert!(in_turn.parts > in_turn.groups && in_turn.moved > 1000, "{in_turn:?}");
    let left_there = Work::of(|mako| mako.bring_back = false);
    assert!(left_there.back == 0 && usual.back > 0, "{left_there:?}, {usual:?}");
    let traced_here = Work::of(|mako| mako.offload_tracing = false);
    assert!(traced_here.faults > 100 && traced_here.flushed == 0, "{traced_here:?}, {usual:?}");
    let moved_here = Work::of(|mako| mako.offload_evacuation = false);
    assert!(moved_here.faults > 100 && moved_here.moved > 1000, "{moved_here:?}, {usual:?}");
    let written_late = Work::of(|mako| mako.write_through = false);
    assert!(written_late.flushed > 0 && usual.flushed == 0, "{written_late:?}, {usual:?}");
    let alone = Work::of(|mako| mako.group_regions = 1);
    assert!(alone.groups > usual.groups, "{alone:?}, {usual:?}");
    let only_dead_ones = Work::of(|mako| (mako.live_percent, mako.group_regions) = (0, 1));
    assert_eq!(only_dead_ones.moved, 0, "{only_dead_ones:?}");
}

/// A thread that needs entries of a remote tablet finds its pages resident, if the thread that fetches them had time.
#[test]
fn pages_of_entries_come_before_they_are_needed() {
    let brought = |is_ahead: bool, patience: Duration| {
        let mut options = options(1);
        options.mako.entry_preload = is_ahead;
        let vm = TestVm::new(&options);
        let thread = TestThread::attach(&vm, 1);
        // One object of three lives, so tablets are taken a second time.
        for number in 0..20_000 {
            push(&vm, &thread, number);
            churn(&vm, &thread, 2);
        }
        vm.heap.collect(&thread.m, CollectCause::SystemGc);
        let pager = vm.heap.core().space.pager().expect("far memory");
        pager.evict(PageRange::of_bytes(0, pager.far_bytes()));
        let read = |name: &str| vm.heap.totals().counters.get(name).copied().unwrap_or(0);
        let names = ["entry_pages_preloaded", "entry_pages_late"];
        let before = names.map(read);
        for number in 20_000..40_000 {
            push(&vm, &thread, number);
            if number % 500 == 0 {
                std::thread::sleep(patience);
            }
        }
        let after = names.map(read);
        check(&vm, &thread, 40_000);
        thread.detach(&vm);
        [0, 1].map(|i| after[i] - before[i])
    };
    // On a busy machine the thread gets its turn later.
    let mut tries = [2, 20, 100].into_iter().map(|ms| brought(true, Duration::from_millis(ms)));
    assert!(
        tries.any(|[ahead, late]| ahead > late),
        "most pages of entries came when they were needed"
    );
    assert_eq!(brought(false, Duration::ZERO), [0, 0]);
}

/// The work of one cycle while the program waits, in far memory of which most is garbage.
#[derive(Debug)]
struct Work {
    /// Faults of the collector's threads.
    faults: u64,
    /// Pages that the pre-tracing pause wrote.
    flushed: u64,
    /// Objects that were moved, and groups of regions.
    moved: u64,
    groups: u64,
    /// Those that were copied before their tablets departed.
    ahead: u64,
    /// How often tablets of one departed together.
    parts: u64,
    /// Pages that came back from agents before any thread needed them.
    back: u64,
}

impl Work {
    fn of(change: impl Fn(&mut MakoOptions)) -> Work {
        let mut options = options(2);
        change(&mut options.mako);
        let vm = TestVm::new(&options);
        let thread = TestThread::attach(&vm, 1);
        let count = 40_000;
        for number in 0..count {
            push(&vm, &thread, number);
            churn(&vm, &thread, 1);
        }
        let read = |name: &str| vm.heap.totals().counters.get(name).copied().unwrap_or(0);
        let faults = || {
            let stats = vm.heap.core().space.pager().expect("far memory").stats();
            stats.fetch_faults[ThreadClass::Gc as usize]
        };
        let names = [
            "ptp_flushed_pages",
            "evacuated_objects",
            "evacuated_groups",
            "groups_copied_ahead",
            "pages_brought_back",
            "evacuated_parts",
        ];
        let before = (faults(), names.map(read));
        vm.heap.collect(&thread.m, CollectCause::SystemGc);
        let after = (faults(), names.map(read));
        let [flushed, moved, groups, ahead, back, parts] =
            [0, 1, 2, 3, 4, 5].map(|i| after.1[i] - before.1[i]);
        check(&vm, &thread, count);
        thread.detach(&vm);
        Work { faults: after.0 - before.0, flushed, moved, groups, ahead, back, parts }
    }
}

/// A heap on two servers with an array of `count` references, all null, in root 0 of its thread, which has two.
fn array_of(count: usize, change: impl Fn(&mut MakoOptions)) -> (TestVm, Box<TestThread>) {
    let mut options = options(2);
    change(&mut options.mako);
    let vm = TestVm::new(&options);
    let thread = TestThread::attach(&vm, 2);
    thread.roots[0].set(thread.new_array(&vm, vm.classes.refs, count).unwrap());
    (vm, thread)
}

/// Makes a list in root 0 that jumps through memory, most of which lives, and walks it until a cycle has run that
/// was not asked for, `most` times at most. Returns the pages that a walk fetches at first and at last, and whether
/// there was such a cycle.
fn walk_through_disorder(most: u32, change: impl Fn(&mut MakoOptions)) -> (u64, u64, bool) {
    const COUNT: usize = 150_000;
    let (vm, thread) = array_of(COUNT, change);
    let barriers = vm.heap.barriers();
    let slot = |i: usize| vm.classes.slot(i);
    let array = thread.roots[0].replace(ObjectRef::NULL);
    thread.roots[1].set(array);
    for i in 0..COUNT {
        let node = thread.new_node(&vm, 2).unwrap();
        barriers.store(&thread.m, thread.roots[1].get(), slot(i), node);
    }
    let mut order: Vec<usize> = (0..COUNT).filter(|i| i % 10 != 0).collect();
    order.shuffle(&mut StdRng::seed_from_u64(7));
    for (number, i) in order.iter().enumerate() {
        let node = barriers.load(&thread.m, thread.roots[1].get(), slot(*i));
        number_of(node).store(number as u32, Ordering::Relaxed);
        barriers.store(&thread.m, node, slot(0), thread.roots[0].get());
        thread.roots[0].set(node);
    }
    thread.roots[1].set(ObjectRef::NULL);
    let faults = || {
        let stats = vm.heap.core().space.pager().expect("far memory").stats();
        stats.fetch_faults[ThreadClass::Mutator as usize]
    };
    let walk = || {
        let before = faults();
        check(&vm, &thread, order.len() as u32);
        thread.poll(&vm);
        faults() - before
    };
    let cycles = vm.heap.totals().cycles;
    let first = walk();
    let mut left = most;
    while vm.heap.totals().cycles == cycles && left > 0 {
        walk();
        left -= 1;
    }
    let has_run = vm.heap.totals().cycles > cycles;
    let last = walk();
    thread.detach(&vm);
    (first, last, has_run)
}

/// A program that waits for remote memory gets its objects put in order, though there is memory to allocate from.
#[test]
fn a_cycle_runs_for_the_order_of_objects() {
    let (first, last, has_run) = walk_through_disorder(100, |_| ());
    assert!(has_run && first > 50_000 && last < first / 4, "{first}, {last}, {has_run}");
    let (first, last, has_run) = walk_through_disorder(3, |mako| mako.faults_per_cycle = 0);
    assert!(!has_run && last > first / 2, "{first}, {last}, {has_run}");
    let (first, last, has_run) = walk_through_disorder(100, |mako| mako.jumps_per_page = 0);
    assert!(has_run && last > first / 2, "{first}, {last}, {has_run}");
}

/// Reads each eighth element of an array again and again, whose objects lie in its order and all live, until touches
/// were noted and a cycle has run, 200 times at most. Does so for each of `from`, the first element to be
/// read, and allocates nothing. Returns the bytes that one reading fetches at first and at last for each of them.
fn read_each_eighth(from: &[usize], change: impl Fn(&mut MakoOptions)) -> Vec<(u64, u64)> {
    const COUNT: usize = 150_000;
    let (vm, thread) = array_of(COUNT, change);
    let barriers = vm.heap.barriers();
    let slot = |i: usize| vm.classes.slot(i);
    for i in 0..COUNT {
        if i % 10 == 0 {
            // Else regions are too full to be moved.
            thread.new_node(&vm, 2).unwrap();
        }
        let node = thread.new_node(&vm, 2).unwrap();
        number_of(node).store(i as u32, Ordering::Relaxed);
        barriers.store(&thread.m, thread.roots[0].get(), slot(i), node);
    }
    let stats = || vm.heap.core().space.pager().expect("far memory").stats();
    let read = |from: usize| {
        let before = stats().fetched_bytes;
        for i in (from..COUNT).step_by(8) {
            let node = barriers.load(&thread.m, thread.roots[0].get(), slot(i));
            assert_eq!(number_of(node).load(Ordering::Relaxed), i as u32);
            thread.poll(&vm);
        }
        stats().fetched_bytes - before
    };
    let windows = || vm.heap.totals().counters.get("touch_windows").copied().unwrap_or(0);
    let cycles = || vm.heap.totals().cycles;
    let read_until_cycle = |from: &usize| {
        let first = read(*from);
        let mut left = 200;
        for count in [&windows as &dyn Fn() -> u64, &cycles] {
            let before = count();
            while count() == before && left > 0 {
                read(*from);
                left -= 1;
            }
        }
        // The pages that it used first may be in local memory still.
        read(*from);
        (first, read(*from))
    };
    let fetched = from.iter().map(read_until_cycle).collect();
    for i in 0..COUNT {
        let node = barriers.load(&thread.m, thread.roots[0].get(), slot(i));
        assert_eq!(number_of(node).load(Ordering::Relaxed), i as u32);
    }
    thread.detach(&vm);
    fetched
}

/// Objects that a program touches while it waits for pages lie together after the next cycle; and those that it turns
/// to then, after one that begins for that alone.
#[test]
fn what_is_touched_is_moved_apart_from_the_rest() {
    for (first, last) in read_each_eighth(&[0, 3, 6], |mako| mako.touch_wait_percent = 0) {
        assert!(last < first / 2, "{first}, {last}");
    }
    for (first, last) in read_each_eighth(&[0], |mako| mako.touched_apart = false) {
        assert!(last > first * 3 / 4, "{first}, {last}");
    }
}

/// A server that stops for a while delays the program, and nothing else.
#[test]
fn a_slow_server_is_waited_for() {
    let vm = TestVm::new(&options(2));
    let thread = TestThread::attach(&vm, 1);
    (0..20_000).for_each(|i| push(&vm, &thread, i));
    let pid = vm.heap.core().space.fleet().unwrap().pid(1).unwrap() as libc::pid_t;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..3 {
                // SAFETY: signals to a child of ours.
                unsafe { libc::kill(pid, libc::SIGSTOP) };
                std::thread::sleep(Duration::from_millis(300));
                // SAFETY: as above.
                unsafe { libc::kill(pid, libc::SIGCONT) };
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        for _ in 0..6 {
            churn(&vm, &thread, 20_000);
            vm.heap.collect(&thread.m, CollectCause::SystemGc);
        }
    });
    check(&vm, &thread, 20_000);
    thread.detach(&vm);
}

/// While agents take long to copy, a thread itself moves enough to fill its part of a to-region. It waits for the
/// agent, and continues in the agent's part.
#[test]
fn who_finds_no_room_beside_the_copies_takes_theirs() {
    let fleet = Arc::new(OnceLock::<Arc<Fleet>>::new());
    let their_fleet = fleet.clone();
    let hold_up = move |line: LogLine<'_>| {
        let begins = line.message.contains("groups begin") && !line.message.starts_with("0 ");
        let Some(fleet) = their_fleet.get().filter(|_| begins) else { return };
        let pid = fleet.pid(0).unwrap() as libc::pid_t;
        // SAFETY: signals to a memory server of ours.
        unsafe { libc::kill(pid, libc::SIGSTOP) };
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            // SAFETY: as above.
            unsafe { libc::kill(pid, libc::SIGCONT) };
        });
    };
    let mut options = options(1);
    options.verify_heap = true;
    options.log = GcLog::to(Arc::new(hold_up));
    let vm = TestVm::new(&options);
    let thread = TestThread::attach(&vm, 1);
    assert!(fleet.set(vm.heap.core().space.fleet().unwrap().clone()).is_ok());
    let count = |name| vm.heap.totals().counters.get(name).copied().unwrap_or(0);
    let deadline = Instant::now() + Duration::from_secs(60);
    while count("groups_copied_in_vain") < 3 || count("groups_copied_ahead") < 3 {
        assert!(Instant::now() < deadline, "{:?}", vm.heap.totals());
        thread.roots[0].set(ObjectRef::NULL);
        for number in 0..40_000 {
            push(&vm, &thread, number);
            churn(&vm, &thread, 1);
        }
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| collect_beside(&vm, &is_over));
            while !is_over.load(Ordering::Relaxed) {
                check(&vm, &thread, 40_000);
                thread.poll(&vm);
            }
        });
        check(&vm, &thread, 40_000);
    }
    thread.detach(&vm);
}

/// A thread takes the only reference to a list out of the heap before tracing has reached it, and keeps it to
/// itself. Tracing looks at threads only when it begins, so the list lives because overwritten references are logged.
#[test]
fn what_is_overwritten_while_servers_trace_lives() {
    let (length, taken) = (60_000, 500);
    for offload_tracing in [false, true] {
        let mut options = options(1);
        options.mako.offload_tracing = offload_tracing;
        options.mako.faults_per_cycle = 0;
        let vm = TestVm::new(&options);
        let thread = TestThread::attach(&vm, 2);
        let barriers = vm.heap.barriers();
        let [next, other] = [0, 1].map(|slot| vm.classes.slot(slot));
        let (mut rounds, deadline) = (0, Instant::now() + Duration::from_secs(60));
        while rounds < 3 {
            assert!(Instant::now() < deadline, "tracing was seen {rounds} times");
            // The list that will be taken hangs on the last node of a long one, where tracing comes to the end.
            thread.roots[0].set(ObjectRef::NULL);
            (0..taken).for_each(|number| push(&vm, &thread, number));
            thread.roots[1].set(thread.roots[0].replace(ObjectRef::NULL));
            push(&vm, &thread, 0);
            barriers.store(&thread.m, thread.roots[0].get(), other, thread.roots[1].get());
            thread.roots[1].set(ObjectRef::NULL);
            (1..length).for_each(|number| push(&vm, &thread, number));
            // No cycle is on after this, and none begins by itself.
            vm.heap.collect(&thread.m, CollectCause::SystemGc);
            let mut last = thread.roots[0].get();
            (1..length).for_each(|_| last = barriers.load(&thread.m, last, next));
            let is_over = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| collect_beside(&vm, &is_over));
                // On a busy machine a thread may come back from a poll when the whole cycle is over.
                while !support::is_tracing(&thread) && !is_over.load(Ordering::Relaxed) {
                    thread.poll(&vm);
                }
                if support::is_tracing(&thread) {
                    // Objects move in no pause before the second one, so `last` stays where it is.
                    thread.roots[1].set(barriers.load(&thread.m, last, other));
                    barriers.store(&thread.m, last, other, ObjectRef::NULL);
                }
                while !is_over.load(Ordering::Relaxed) {
                    thread.poll(&vm);
                }
            });
            if thread.roots[1].get().is_null() {
                continue;
            }
            rounds += 1;
            // A dead object would be something else now.
            thread.roots[0].set(ObjectRef::NULL);
            churn(&vm, &thread, 40_000);
            thread.roots[0].set(thread.roots[1].replace(ObjectRef::NULL));
            check(&vm, &thread, taken);
        }
        thread.detach(&vm);
    }
}

/// A large object that a thread holds would be copied in a pause: as long as there is room its region is not
/// evacuated. A small one moves, and so does a large one that threads do not hold.
#[test]
fn large_objects_that_threads_hold_are_not_copied_in_a_pause() {
    let moves = |length: usize, by_node: bool| {
        let mut options = options(1);
        options.max_bytes = 32 << 20;
        options.region_bytes = Some(1 << 20);
        options.mako.faults_per_cycle = 0;
        let vm = TestVm::new(&options);
        let thread = TestThread::attach(&vm, 2);
        let barriers = vm.heap.barriers();
        push(&vm, &thread, 0);
        let array = thread.new_array(&vm, vm.classes.bytes, length).expect("an empty heap");
        thread.roots[1].set(array);
        if by_node {
            let slot = vm.classes.slot(1);
            barriers.store(&thread.m, thread.roots[0].get(), slot, array);
            thread.roots[1].set(ObjectRef::NULL);
        }
        churn(&vm, &thread, 20_000);
        vm.heap.collect(&thread.m, CollectCause::SystemGc);
        let now = match by_node {
            true => barriers.load(&thread.m, thread.roots[0].get(), vm.classes.slot(1)),
            false => thread.roots[1].get(),
        };
        thread.detach(&vm);
        now != array
    };
    let (small, large) = (200 << 10, 300 << 10);
    let cases = [(small, false), (large, false), (large, true)];
    assert_eq!(cases.map(|(length, by_node)| moves(length, by_node)), [true, false, true]);
}

/// Entries of dead objects are used again: the table does not grow with allocation.
#[test]
fn entries_are_used_again() {
    let vm = TestVm::new(&options(2));
    let thread = TestThread::attach(&vm, 1);
    (0..20_000).for_each(|i| push(&vm, &thread, i));
    churn(&vm, &thread, 2_000_000);
    (0..3).for_each(|_| vm.heap.collect(&thread.m, CollectCause::SystemGc));
    let stats = vm.heap.stats();
    let used = stats.counters["entry_bytes_used"];
    // 20,000 nodes need 80 KB of entries if they are dense; every tablet of 16 KiB that holds one
    // of them counts.
    assert!(used <= 1 << 20, "{used} bytes of entries for 20000 objects: {:?}", stats.counters);
    check(&vm, &thread, 20_000);
    thread.detach(&vm);
}

/// The servers' tables, bytes by name, after a cycle with a list of `count` nodes.
fn server_tables(options: &HeapOptions, count: u32) -> BTreeMap<&'static str, usize> {
    let vm = TestVm::new(options);
    let thread = TestThread::attach(&vm, 1);
    (0..count).for_each(|number| push(&vm, &thread, number));
    vm.heap.collect(&thread.m, CollectCause::SystemGc);
    // Agents do not measure their tables again at once.
    std::thread::sleep(Duration::from_millis(500));
    vm.heap.collect(&thread.m, CollectCause::SystemGc);
    let stats = vm.heap.stats_at_exit();
    thread.detach(&vm);
    let all: usize = stats.server_metadata.values().sum();
    let percent = all as f64 * 100.0 / stats.used_bytes as f64;
    assert_eq!(stats.server_metadata_percent, percent);
    stats.server_metadata
}

#[test]
fn tables_on_servers_are_counted_as_they_are_used() {
    let mut small = options(2);
    small.max_bytes = 64 << 20;
    let (few, many) = (server_tables(&small, 100_000), server_tables(&small, 400_000));
    for name in ["entries", "mark_bits", "trace_order"] {
        let (few, many) = (few[name], many[name]);
        assert!(few > 0 && many > 2 * few, "{name}: {few} bytes for 100,000, then {many}");
    }
    // A word for each region and each object, and the lists of a group and of roots. Allocation bits are populated in
    // parts that hold those of two million objects.
    for name in ["region_figures", "forwarding_at_most", "queues", "allocation_bits"] {
        assert!(many[name] > 0, "{name}: {many:?}");
    }
    assert!(few["trace_order"] >= 4 * 100_000 && many["entries"] >= 4 * 400_000, "{many:?}");
    let large = HeapOptions { max_bytes: 1 << 40, region_bytes: None, ..small };
    let large = server_tables(&large, 100_000);
    let sum = |tables: &BTreeMap<_, usize>| tables.values().sum::<usize>();
    // Entries are twice as wide, and there are 16 bytes and some more for each region. The bits of all entries of such
    // a heap would be half a gigabyte of each kind.
    assert!(sum(&large) < 2 * sum(&few) + (8 << 20), "{large:?}, and in a small heap {few:?}");
}

/// The child of the next test.
#[test]
fn child_that_runs_until_killed() {
    if std::env::var_os("MAKO_CHILD").is_none() {
        return;
    }
    let vm = TestVm::new(&options(2));
    let thread = TestThread::attach(&vm, 1);
    let fleet = vm.heap.core().space.fleet().unwrap();
    println!("\npid {}", fleet.pid(1).unwrap());
    let end = Instant::now() + Duration::from_secs(30);
    while Instant::now() < end {
        (0..2000).for_each(|i| push(&vm, &thread, i));
        churn(&vm, &thread, 10_000);
        thread.roots[0].set(ObjectRef::NULL);
    }
}

#[test]
fn a_killed_server_ends_the_vm_with_one_line() {
    for delay_ms in [10, 150, 333] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_that_runs_until_killed", "--nocapture"])
            .env("MAKO_CHILD", "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let pid = lines.find_map(|line| line.unwrap().strip_prefix("pid ").map(str::to_owned));
        std::thread::sleep(Duration::from_millis(delay_ms));
        let pid: libc::pid_t = pid.unwrap().parse().unwrap();
        let killed = Instant::now();
        // SAFETY: a signal to a memory server of our child.
        unsafe { libc::kill(pid, libc::SIGKILL) };
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(1), "after {delay_ms} ms");
        assert!(killed.elapsed() < Duration::from_secs(5));
        let mut errors = String::new();
        child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        let said: Vec<_> = errors.lines().collect();
        assert!(said.len() == 1 && said[0].contains("memory server 1"), "{errors}");
    }
}

/// With two copies of each page, servers die one after the other, in every phase of cycles, and the heap stays right.
#[test]
fn lost_servers_are_survived() {
    let mut met = 0;
    for (seed, servers) in [(1, 2), (2, 3), (3, 2)] {
        let mut options = options(servers);
        options.replicas = 2;
        options.verify_heap = true;
        options.mako.away_tablets = seed as usize - 1;
        // Of two servers entries are once narrow and once wide.
        options.compressed_oops = Some(seed < 3);
        // Everything that lives is evacuated in each cycle.
        options.zeal_alloc_interval = Some(2_000);
        let vm = TestVm::new(&options);
        let thread = TestThread::attach(&vm, 1);
        (0..20_000).for_each(|i| push(&vm, &thread, i));
        let fleet = vm.heap.core().space.fleet().unwrap().clone();
        let kills = 8;
        let killing = std::thread::spawn(move || {
            let mut random = StdRng::seed_from_u64(seed);
            for _ in 0..kills {
                std::thread::sleep(Duration::from_millis(random.random_range(0..150)));
                let pid = fleet.pid(random.random_range(0..servers)).unwrap() as libc::pid_t;
                let before = fleet.seats().unwrap().losses();
                // SAFETY: a signal to a memory server of ours.
                unsafe { libc::kill(pid, libc::SIGKILL) };
                while fleet.seats().unwrap().losses() == before {
                    std::thread::sleep(Duration::from_micros(100));
                }
                assert!(fleet.await_whole(Duration::from_secs(60), || false), "seed {seed}");
            }
        });
        while !killing.is_finished() {
            churn(&vm, &thread, 5_000);
            check(&vm, &thread, 20_000);
        }
        killing.join().unwrap();
        vm.heap.collect(&thread.m, CollectCause::SystemGc);
        check(&vm, &thread, 20_000);
        let stats = vm.heap.stats();
        assert_eq!(stats.survival.unwrap()["servers_lost"], kills, "seed {seed}");
        let count = |name| stats.counters.get(name).copied().unwrap_or(0);
        assert!(count("evacuated_groups") > 0, "seed {seed}: {:?}", stats.counters);
        let [redone, left] = ["cycles_redone", "groups_left_in_place"].map(count);
        println!("seed {seed}: {redone} cycles redone, {left} groups left in place");
        met += redone + left;
        thread.detach(&vm);
    }
    assert!(met > 0, "no cycle was hit");
}

/// Servers die while their agents evacuate: nothing is lost, and threads that wait for a group continue.
#[test]
fn groups_of_a_lost_agent_stay_where_they_are() {
    let fleet = Arc::new(OnceLock::<Arc<Fleet>>::new());
    let (their_fleet, begun) = (fleet.clone(), AtomicU32::new(0));
    let kill_some = move |line: LogLine<'_>| {
        let begins = line.message.contains("groups begin") && !line.message.starts_with("0 ");
        let Some(fleet) = their_fleet.get().filter(|_| begins) else { return };
        // One at a time: a loss is noticed some time after the kill.
        let is_noticed = fleet.seats().unwrap().losses() == begun.load(Ordering::Relaxed);
        if !is_noticed || !fleet.await_whole(Duration::ZERO, || false) {
            return;
        }
        let number = begun.fetch_add(1, Ordering::Relaxed);
        let pid = fleet.pid(number as u16 % 2).unwrap() as libc::pid_t;
        // Some before the agent is asked, some while it works.
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_micros(u64::from(number * 137 % 2000)));
            // SAFETY: a signal to a memory server of ours.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        });
    };
    let mut options = options(2);
    options.replicas = 2;
    options.verify_heap = true;
    options.mako.away_tablets = 1;
    options.zeal_alloc_interval = Some(2_000);
    options.log = GcLog::to(Arc::new(kill_some));
    let vm = TestVm::new(&options);
    let thread = TestThread::attach(&vm, 1);
    assert!(fleet.set(vm.heap.core().space.fleet().unwrap().clone()).is_ok());
    let count = |name| vm.heap.stats().counters.get(name).copied().unwrap_or(0);
    let end = Instant::now() + Duration::from_secs(30);
    while count("groups_left_in_place") < 5 {
        assert!(Instant::now() < end, "{:?}", vm.heap.stats());
        thread.roots[0].set(ObjectRef::NULL);
        for i in 0..5_000 {
            push(&vm, &thread, i);
            churn(&vm, &thread, 2);
        }
        check(&vm, &thread, 5_000);
    }
    vm.heap.collect(&thread.m, CollectCause::SystemGc);
    check(&vm, &thread, 5_000);
    thread.detach(&vm);
}
