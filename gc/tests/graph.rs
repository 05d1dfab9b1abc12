//! A graph that changes all the time, larger than local memory: the same checksum with any collector and budget.
//! `GRAPH_NODES` and `GRAPH_STEPS` set its size, `GRAPH_COLLECTOR` picks one collector, `GRAPH_PERCENT` one budget.

mod support;

use gc::object::ObjectRef;
use gc::options::{Configuration, LocalMemory};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::atomic::Ordering;
use std::time::Instant;
use support::{TestThread, TestVm, number_of};

const EDGES: usize = 4;
const CHUNK: usize = 1024;
/// Root words: the table of chunks, the node at hand.
const TABLE: usize = 0;
const NODE: usize = 1;

struct Graph<'a> {
    vm: &'a TestVm,
    thread: &'a TestThread,
    nodes: usize,
    rng: StdRng,
}

impl Graph<'_> {
    fn load(&self, object: ObjectRef, slot: usize) -> ObjectRef {
        self.vm.heap.barriers().load(&self.thread.m, object, self.vm.classes.slot(slot))
    }

    fn node(&self, i: usize) -> ObjectRef {
        let chunk = self.load(self.thread.roots[TABLE].get(), i / CHUNK);
        self.load(chunk, i % CHUNK)
    }

    fn build(&mut self) {
        let chunks = self.nodes.div_ceil(CHUNK);
        let table = self.thread.new_array(self.vm, self.vm.classes.refs, chunks).unwrap();
        self.thread.roots[TABLE].set(table);
        for i in 0..chunks {
            let chunk = self.thread.new_array(self.vm, self.vm.classes.refs, CHUNK).unwrap();
            let table = self.thread.roots[TABLE].get();
            let slot = self.vm.classes.slot(i);
            self.vm.heap.barriers().store(&self.thread.m, table, slot, chunk);
        }
        (0..self.nodes).for_each(|i| self.replace(i, i as u32));
    }

    /// Puts a new node in place `i`, with edges to random nodes.
    fn replace(&mut self, i: usize, number: u32) {
        let node = self.thread.new_node(self.vm, EDGES).unwrap();
        number_of(node).store(number, Ordering::Relaxed);
        let (m, barriers) = (&self.thread.m, self.vm.heap.barriers());
        for edge in 0..EDGES {
            let i = self.rng.random_range(0..self.nodes);
            let target = self.node(i);
            barriers.store_initial(m, node, self.vm.classes.slot(edge), target);
        }
        let chunk = self.load(self.thread.roots[TABLE].get(), i / CHUNK);
        // The old node may live on at the end of other nodes' edges, but keeps nothing alive itself.
        let old = self.load(chunk, i % CHUNK);
        if !old.is_null() {
            for edge in 0..EDGES {
                barriers.store(m, old, self.vm.classes.slot(edge), ObjectRef::NULL);
            }
        }
        barriers.store(m, chunk, self.vm.classes.slot(i % CHUNK), node);
    }

    /// Follows random edges from a random node and sums the nodes that it meets.
    fn walk(&mut self) -> u64 {
        let i = self.rng.random_range(0..self.nodes);
        let mut node = self.node(i);
        let mut sum = 0;
        for _ in 0..8 {
            sum = sum * 31 + u64::from(number_of(node).load(Ordering::Relaxed));
            // Edges are dropped now and then, so that old nodes die.
            let edge = self.rng.random_range(0..EDGES);
            let next = self.load(node, edge);
            if self.rng.random_bool(0.2) {
                let (m, slot) = (&self.thread.m, self.vm.classes.slot(edge));
                self.vm.heap.barriers().store(m, node, slot, ObjectRef::NULL);
            }
            if next.is_null() {
                break;
            }
            node = next;
        }
        self.thread.roots[NODE].set(node);
        sum
    }
}

fn run(kind: Configuration, percent: u32, nodes: usize, steps: usize) -> u64 {
    let start = Instant::now();
    let mut options = kind.options(nodes * 200);
    options.local_memory = LocalMemory::Percent(percent);
    options.memory_server_program = Some(env!("CARGO_BIN_EXE_memory-server").into());
    let vm = TestVm::new(&options);
    let thread = TestThread::attach(&vm, 2);
    let rng = StdRng::seed_from_u64(42);
    let mut graph = Graph { vm: &vm, thread: &thread, nodes, rng };
    graph.build();
    let built = start.elapsed();
    let mut sum = 0u64;
    for step in 0..steps {
        let i = graph.rng.random_range(0..nodes);
        graph.replace(i, step as u32);
        sum = sum.wrapping_mul(1_000_003).wrapping_add(graph.walk());
        thread.poll(&vm);
    }
    thread.detach(&vm);
    let stats = vm.heap.stats();
    let pause = |name: &str| {
        let named = stats.pauses.iter().filter(|p| p.name == name);
        let (mut count, mut most, mut all) = (0, 0.0f64, 0.0);
        named.for_each(|p| {
            count += 1;
            most = most.max(p.pause_us);
            all += p.pause_us;
        });
        format!(
            "{name} {count} x {:.1} ms, at most {:.1}",
            all / 1e3 / count.max(1) as f64,
            most / 1e3
        )
    };
    let names: std::collections::BTreeSet<_> = stats.pauses.iter().map(|p| p.name).collect();
    eprintln!(
        "{} {percent} %: {:.2} s, built in {:.2}; {} cycles; {:?}; blocked {:?}; {:?}",
        kind.name(),
        start.elapsed().as_secs_f64(),
        built.as_secs_f64(),
        stats.cycles,
        names.into_iter().map(pause).collect::<Vec<_>>(),
        stats.mutators_blocked,
        stats.counters,
    );
    if let Some(pager) = &stats.pager {
        eprintln!("    {:?}", pager.counters);
    }
    sum
}

#[test]
fn the_checksum_is_the_same_whatever_the_budget() {
    let variable = |name| std::env::var(name).ok();
    let number = |name| variable(name).map(|n| n.parse().expect("a number"));
    let nodes = number("GRAPH_NODES").unwrap_or(42_000);
    let steps = number("GRAPH_STEPS").unwrap_or(nodes);
    // `make graph` has half of it local, too.
    let percents = [100, 25, 13];
    let mut sums = Vec::new();
    for kind in Configuration::all().filter(|kind| kind.collects()) {
        if variable("GRAPH_COLLECTOR").is_some_and(|only| only != kind.name()) {
            continue;
        }
        for percent in percents {
            if number("GRAPH_PERCENT").is_none_or(|only| only == percent as usize) {
                sums.push(run(kind, percent, nodes, steps));
            }
        }
    }
    assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
}
