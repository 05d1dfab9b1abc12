//! The cost of reference accesses and allocations in machine code, by collector: `make bench-micro`.
//!
//! The loop of each row is a walk around a ring of nodes that fits the first cache, made by the compiler tier's own
//! emitter ([`SingleOperation`]). A *load* row follows one reference in each round, a *store* row also stores a
//! reference into the node: the difference of the two is the store. `C` is the same loop in C (`walk.c`, `cc -O2`,
//! plain pointers). An *allocation* row makes nodes until the thread's buffers are used up, which the heap then fills;
//! filling them is in the figure, and so is a page fault where memory is fresh.
//!
//! "SATB" is a store that must log the overwritten reference for a tracing collector: it tests the thread's phase
//! (idle), or logs (active) unless null is overwritten. Logged references are handed to a cycle now and then, outside
//! of the time.

#[path = "../tests/support/bare_heap.rs"]
mod bare_heap;

use bare_heap::BareHeap;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use gc::object::ObjectRef;
use gc::options::Configuration;
use gc::threads::mutator::ThreadField;
use jvm::jit::single::SingleOperation;
use std::time::{Duration, Instant};

// The build script compiles it and says where it is.
#[link(name = "farheap_walk", kind = "static")]
unsafe extern "C" {
    fn farheap_walk(node: *mut u64, times: u64) -> *mut u64;
    fn farheap_walk_and_store(node: *mut u64, times: u64, value: *mut u64) -> *mut u64;
    fn farheap_bump(top: *mut *mut u8, end: *mut u8, times: u64, header: u64) -> *mut u64;
}

/// Nodes of the ring: 32 to 48 bytes each, and with Mako an entry.
const RING: usize = 256;
/// References that may be logged before a cycle takes them.
const LOGGED_MAX: u64 = 1 << 20;
const PHASE: ThreadField = ThreadField::word(0);
const TRACING: u64 = 1;

/// A ring of nodes: slot 0 is the next one, slot 1 is stored to.
struct Ring {
    heap: BareHeap,
    first: ObjectRef,
}

impl Ring {
    fn new(kind: Configuration) -> Ring {
        let heap = BareHeap::new(&kind.options(64 << 20));
        let nodes: Vec<ObjectRef> = (0..RING).map(|_| heap.new_node()).collect();
        for (i, node) in nodes.iter().enumerate() {
            let next = nodes[(i + 1) % RING];
            heap.barriers().store_initial(heap.m(), *node, heap.slot(0), next);
        }
        Ring { first: nodes[0], heap }
    }

    fn load(&self) -> SingleOperation {
        let (b, next) = (self.heap.barriers(), self.heap.slot(0));
        SingleOperation::compile(b, 2, false, |e, inputs| {
            let at = e.constant(next as u64);
            Some(b.emit_load(e, inputs[0], at))
        })
    }

    fn load_and_store(&self) -> SingleOperation {
        let (b, next, other) = (self.heap.barriers(), self.heap.slot(0), self.heap.slot(1));
        SingleOperation::compile(b, 2, false, |e, inputs| {
            let at = e.constant(other as u64);
            b.emit_store(e, inputs[0], at, inputs[1]);
            let at = e.constant(next as u64);
            Some(b.emit_load(e, inputs[0], at))
        })
    }

    /// Runs this many rounds, `value` being stored.
    fn run(&self, code: &SingleOperation, times: u64, value: ObjectRef) -> Duration {
        let inputs = [self.first.address() as u64, value.address() as u64];
        let start = Instant::now();
        // SAFETY: a node of the ring and a node, on the thread itself.
        let (last, left) = unsafe { code.run(&self.heap.thread, times, &inputs) };
        let took = start.elapsed();
        assert!(last != 0 && left == 0, "the ring has an end");
        took
    }
}

fn loads_and_stores(c: &mut Criterion) {
    let mut group = c.benchmark_group("barriers");
    in_c(&mut group);
    for kind in Configuration::all() {
        let ring = Ring::new(kind);
        let (load, both) = (ring.load(), ring.load_and_store());
        let name = kind.name();
        let first = ring.first;
        let mut measure = |row: &str, code: &SingleOperation, value: ObjectRef| {
            let label = format!("{name}: {row}");
            group.bench_function(label, |b| b.iter_custom(|times| ring.run(code, times, value)));
        };
        if !kind.uses_table() {
            measure("load", &load, first);
            measure("load and store", &both, first);
            continue;
        }
        measure("load, idle", &load, first);
        measure("load and store, SATB idle", &both, first);
        ring.heap.thread.set_field(PHASE, TRACING);
        measure("load, tracing", &load, first);
        measure("load and store, tracing, over null", &both, ObjectRef::NULL);
        ring.heap.thread.set_field(PHASE, 0);
        logging(&mut group, kind);
    }
    group.finish();
}

/// Stores that log what they overwrite.
fn logging(group: &mut BenchmarkGroup<'_, WallTime>, kind: Configuration) {
    group.bench_function(format!("{}: load and store, SATB active", kind.name()), |b| {
        b.iter_custom(|times| {
            let (mut took, mut left) = (Duration::ZERO, times);
            while left > 0 {
                // A fresh heap, since the cycle that takes the log frees the ring, which has no root.
                let ring = Ring::new(kind);
                let both = ring.load_and_store();
                ring.run(&both, RING as u64, ring.first);
                ring.heap.thread.set_field(PHASE, TRACING);
                let now = left.min(LOGGED_MAX);
                took += ring.run(&both, now, ring.first);
                ring.heap.thread.set_field(PHASE, 0);
                left -= now;
            }
            took
        })
    });
}

/// The yardstick.
fn in_c(group: &mut BenchmarkGroup<'_, WallTime>) {
    const WORDS: usize = 6;
    let mut memory = vec![0u64; RING * WORDS];
    let base = memory.as_mut_ptr();
    for i in 0..RING {
        memory[i * WORDS + 2] = base.wrapping_add((i + 1) % RING * WORDS) as u64;
    }
    group.bench_function("C: load", |b| {
        b.iter_custom(|times| {
            let start = Instant::now();
            // SAFETY: a ring of nodes as walk.c has them.
            let last = unsafe { farheap_walk(base, times) };
            assert!(!last.is_null());
            start.elapsed()
        })
    });
    group.bench_function("C: load and store", |b| {
        b.iter_custom(|times| {
            let start = Instant::now();
            // SAFETY: as above.
            let last = unsafe { farheap_walk_and_store(base, times, base) };
            assert!(!last.is_null());
            start.elapsed()
        })
    });
}

fn allocations(c: &mut Criterion) {
    let mut group = c.benchmark_group("allocation");
    group.bench_function("C: 48 bytes off a zeroed buffer", |b| {
        let mut buffer = vec![0u64; 8 << 10];
        b.iter_custom(|times| {
            let (mut took, mut left) = (Duration::ZERO, times);
            while left > 0 {
                buffer.fill(0);
                let mut top = buffer.as_mut_ptr().cast::<u8>();
                let end = top.wrapping_add(size_of_val(&buffer[..]));
                let now = left.min(size_of_val(&buffer[..]) as u64 / 48);
                let start = Instant::now();
                // SAFETY: the buffer has room for this many nodes.
                let last = unsafe { farheap_bump(&raw mut top, end, now, 1) };
                took += start.elapsed();
                assert!(!last.is_null());
                left -= now;
            }
            took
        })
    });
    for kind in Configuration::all().filter(|kind| kind.collects()) {
        let heap = BareHeap::new(&kind.options(256 << 20));
        let (b, bytes) = (heap.barriers(), heap.node_bytes());
        let node = SingleOperation::compile(b, 1, false, |e, _| {
            let bytes = e.constant(bytes as u64);
            b.emit_allocate(e, heap.node, bytes, None)
        });
        let label = format!("{}: {bytes} bytes, with refills", kind.name());
        group.bench_function(label, |b| {
            b.iter_custom(|times| {
                let (mut took, mut left) = (Duration::ZERO, times);
                while left > 0 {
                    let now = left.min(BATCH);
                    let start = Instant::now();
                    allocate(&heap, &node, now);
                    took += start.elapsed();
                    left -= now;
                    if heap.m().poll_requested() {
                        heap.heap.safepoint(heap.m());
                    }
                }
                took
            })
        });
    }
    group.finish();
}

/// Makes this many nodes, which are garbage at once.
fn allocate(heap: &BareHeap, node: &SingleOperation, times: u64) {
    let mut left = times;
    while left > 0 {
        // SAFETY: it takes nothing.
        let (made, rest) = unsafe { node.run(&heap.thread, left, &[0]) };
        left = rest;
        if made == 0 {
            // The one that was not made.
            heap.new_node();
        }
    }
}

const BATCH: u64 = 4096;

fn configured() -> Criterion {
    Criterion::default()
        .sample_size(60)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2))
}

criterion_group! { name = benches; config = configured(); targets = loads_and_stores, allocations }
criterion_main!(benches);
