//! As many memory servers as an option allows, behind the simulated network: their start, tracing on all of them, the
//! loss of one, and their end.

mod support;

use gc::core::outcome::CollectCause;
use gc::options::{CollectorKind, HeapOptions, LocalMemory};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use support::{AbortOnPanic, TestThread, TestVm, number_of};

const SERVERS: u16 = 64;
const NODES: u32 = 400_000;

/// Eight small regions for each server; late, lost and repeated pages and messages between them and the VM.
fn options() -> HeapOptions {
    let mut options = HeapOptions::new(CollectorKind::Mako, 32 << 20);
    options.mako.generational = Some(false);
    options.region_bytes = Some(64 << 10);
    options.local_memory = LocalMemory::Bytes(16 << 20);
    options.memory_servers = SERVERS;
    options.replicas = 2;
    options.far_disturbance = Some(64);
    options
}

/// Makes a list in root 0 whose nodes count down to 0.
fn make(vm: &TestVm, thread: &TestThread) {
    for number in 0..NODES {
        let node = thread.new_node(vm, 1).unwrap();
        number_of(node).store(number, Ordering::Relaxed);
        let slot = vm.classes.slot(0);
        vm.heap.barriers().store_initial(&thread.m, node, slot, thread.roots[0].get());
        thread.roots[0].set(node);
        thread.poll(vm);
    }
}

/// Collects, and checks the list; returns the servers that hold a part of it.
fn check(vm: &TestVm, thread: &TestThread) -> BTreeSet<usize> {
    vm.heap.collect(&thread.m, CollectCause::SystemGc);
    let geometry = &vm.heap.core().geometry;
    let share = geometry.heap_bytes() / usize::from(SERVERS);
    let mut servers = BTreeSet::new();
    let mut node = thread.roots[0].get();
    for number in (0..NODES).rev() {
        assert_eq!(number_of(node).load(Ordering::Relaxed), number);
        servers.insert(geometry.offset(node.address()) / share);
        node = vm.heap.barriers().load(&thread.m, node, vm.classes.slot(0));
    }
    assert!(node.is_null());
    servers
}

#[test]
fn sixty_four_servers_trace_and_one_may_be_lost() {
    let _bomb = AbortOnPanic;
    let vm = TestVm::new(&options());
    let thread = TestThread::attach(&vm, 1);
    make(&vm, &thread);
    let holders = check(&vm, &thread);
    assert!(holders.len() > usize::from(SERVERS) / 2, "the list is on {holders:?}");
    let fleet = vm.heap.core().space.fleet().unwrap().clone();
    let pids = || (0..SERVERS).map(|server| fleet.pid(server).unwrap()).collect::<BTreeSet<_>>();
    let before = pids();
    assert_eq!(before.len(), usize::from(SERVERS));

    let lost = *holders.last().unwrap() as u16;
    // SAFETY: a signal to a memory server of ours.
    unsafe { libc::kill(fleet.pid(lost).unwrap() as libc::pid_t, libc::SIGKILL) };
    let seats = fleet.seats().unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    while seats.losses() == 0 {
        assert!(Instant::now() < end, "no thread notices the loss");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(fleet.await_whole(Duration::from_secs(60), || false), "no server takes its place");
    // The newcomer has no channel to the other agents: these messages pass through the VM.
    check(&vm, &thread);
    assert_eq!(before.difference(&pids()).count(), 1);
    let stats = vm.heap.stats_at_exit();
    assert_eq!(stats.survival.as_ref().unwrap()["servers_lost"], 1);
    assert!(stats.cycles >= 2 && stats.server_metadata["trace_order"] >= 4 * NODES as usize);
    let alone = stats.counters.get("cycles_without_agents");
    assert_eq!(alone, None, "agents of all servers trace in each cycle");

    let last = pids();
    thread.detach(&vm);
    drop((fleet, vm));
    let left = last.iter().filter(|pid| Path::new(&format!("/proc/{pid}")).exists()).count();
    assert_eq!(left, 0, "servers that did not end");
}
