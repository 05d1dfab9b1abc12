//! How fast allocation and cycles are with a million live objects; prints. Run it optimised:
//! `cargo test --release -p gc --test throughput -- --ignored --nocapture`.

mod support;

use gc::options::Configuration;
use std::time::Instant;
use support::{TestThread, TestVm};

#[test]
#[ignore = "a measurement"]
fn a_million_live_objects_and_ten_heaps_of_garbage() {
    for kind in Configuration::all().filter(|kind| kind.collects()) {
        let mut options = kind.options(256 << 20);
        options.memory_server_program = Some(env!("CARGO_BIN_EXE_memory-server").into());
        let vm = TestVm::new(&options);
        let thread = TestThread::attach(&vm, 2);
        let barriers = vm.heap.barriers();
        thread.roots[0].set(thread.new_array(&vm, vm.classes.refs, LIVE).unwrap());
        for i in 0..LIVE {
            let node = thread.new_node(&vm, 4).unwrap();
            let nodes = thread.roots[0].get();
            barriers.store(&thread.m, nodes, vm.classes.slot(i), node);
            let other = barriers.load(&thread.m, nodes, vm.classes.slot(i * 7919 % (i + 1)));
            barriers.store_initial(&thread.m, node, vm.classes.slot(0), other);
        }
        let start = Instant::now();
        let mut bytes = 0;
        while bytes < 10 * vm.heap.max_bytes() {
            thread.roots[1].set(thread.new_node(&vm, 4).unwrap());
            bytes += vm.classes.node_bytes(4);
            thread.poll(&vm);
        }
        let time = start.elapsed();
        let stats = vm.heap.stats();
        let longest = stats.pauses.iter().map(|p| p.pause_us / 1e3).fold(0.0, f64::max);
        eprintln!(
            "{}: {time:?} for {} MiB, {} cycles, longest pause {longest:.1} ms, blocked {} ms",
            kind.name(),
            bytes >> 20,
            stats.cycles,
            stats.mutators_blocked.total_us / 1000,
        );
        thread.detach(&vm);
    }
}

const LIVE: usize = 1_000_000;
