//! The single waits of a thread: for a page that is not resident, a memory server, a stop of all threads. Part of
//! `make bench-micro`.
//!
//! * *fault*: one access to a random page that is not resident; the page before it is evicted by then, without being
//!   written to its server if it was only read. `make bench-faults` measures its parts.
//! * *round trip*: READ and WRITE of a page, and a call with its reply, without a pager.
//! * *safepoint*: from the request of a stop until all threads resume. The others poll in a loop, or are in native
//!   code.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, process};

#[path = "../tests/support/bare_heap.rs"]
mod bare_heap;

use bare_heap::BareHeap;
use bench::faults::{PAGE_BYTES, Random, timed};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group};
use gc::options::Configuration;
use jvm::jit::single::BareThread;
use rdma::spawn::{Fleet, FleetOptions};
use rdma::{OnlyMemory, PeerId, RdmaError, Service, Transport, server};
use swap::{Page, Pager, PagerOptions};

/// Pages of the far space; a quarter of them may be in local memory.
const PAGES: usize = 16 << 10;
const TRANSPORTS: [(Transport, &str); 2] = [(Transport::Shm, "shm"), (Transport::Tcp, "tcp")];
/// How long a call may take before the benchmark gives up.
const PATIENCE: Duration = Duration::from_secs(10);

fn faults(c: &mut Criterion) {
    let mut group = c.benchmark_group("fault");
    for (transport, name) in TRANSPORTS {
        let far = Far::new(transport);
        let mut random = Random::new(1);
        let mut measure = |row: &str, access: &dyn Fn(usize)| {
            group.bench_function(format!("{name}: {row}"), |b| {
                b.iter_custom(|times| far.accesses(times, &mut random, access))
            });
        };
        measure("read", &|page| far.read(page));
        measure("write", &|page| far.write(page));
    }
    group.finish();
}

/// A far space, all of it written once, and its server.
struct Far {
    pager: Arc<Pager>,
    _fleet: Fleet,
}

impl Far {
    fn new(transport: Transport) -> Far {
        let far_bytes = PAGES * PAGE_BYTES;
        let fleet = FleetOptions { far_bytes: far_bytes as u64, transport, ..Default::default() };
        let fleet = Fleet::start(fleet, Arc::new(OnlyMemory)).expect("a memory server");
        let options =
            PagerOptions { far_bytes, budget_bytes: far_bytes / 4, ..PagerOptions::default() };
        let pager = Pager::new(options, fleet.segments()).expect("a pager");
        let far = Far { pager, _fleet: fleet };
        (0..PAGES).for_each(|page| far.write(page));
        far
    }

    fn read(&self, page: usize) {
        // SAFETY: inside the far space (checked by `address`), which is still mapped.
        let found = unsafe { self.pager.address(Page(page)).read_volatile() };
        assert_eq!(found, page as u8 | 1, "page {page} is another one's");
    }

    fn write(&self, page: usize) {
        // SAFETY: as above; no other thread writes.
        unsafe { self.pager.address(Page(page)).write_volatile(page as u8 | 1) }
    }

    /// The time of this many accesses to pages that are not resident, without the time to find these.
    fn accesses(&self, times: u64, random: &mut Random, access: &dyn Fn(usize)) -> Duration {
        let mut nanoseconds = 0;
        for _ in 0..times {
            let page = loop {
                let page = random.below(PAGES);
                if !self.pager.is_resident(Page(page)) {
                    break page;
                }
            };
            nanoseconds += timed(|| access(page));
        }
        Duration::from_nanos(nanoseconds)
    }
}

fn round_trips(c: &mut Criterion) {
    let mut group = c.benchmark_group("round trip");
    for (transport, name) in TRANSPORTS {
        // This program is its own memory server: one that answers every call with what it was asked.
        let program = env::current_exe().ok();
        let far_bytes = (PAGES * PAGE_BYTES) as u64;
        let fleet = FleetOptions { far_bytes, transport, program, ..Default::default() };
        let fleet = Fleet::start(fleet, Arc::new(Echo)).expect("a memory server");
        let (segment, channel) = (fleet.segment(0), fleet.channel(0));
        let mut page = [1; PAGE_BYTES / 8];
        segment.write(0, &page).expect("the server lives");
        group.bench_function(format!("{name}: READ of a page"), |b| {
            b.iter(|| segment.read(0, black_box(&mut page)).expect("the server lives"))
        });
        group.bench_function(format!("{name}: WRITE of a page"), |b| {
            b.iter(|| segment.write(0, black_box(&page)).expect("the server lives"))
        });
        group.bench_function(format!("{name}: call and reply"), |b| {
            b.iter(|| channel.call(b"question", PATIENCE).expect("the server lives"))
        });
    }
    group.finish();
}

struct Echo;

impl Service for Echo {
    fn on_request(&self, _from: PeerId, request: &[u8]) -> Vec<u8> {
        request.to_vec()
    }

    fn on_notice(&self, _from: PeerId, _notice: &[u8]) {}

    fn on_peer_lost(&self, _from: PeerId, _cause: &RdmaError) {}
}

fn safepoints(c: &mut Criterion) {
    let mut group = c.benchmark_group("safepoint");
    stops(&mut group, "alone", 0, Others::Running);
    for others in [1, 3] {
        stops(&mut group, &format!("{others} running"), others, Others::Running);
        stops(&mut group, &format!("{others} in native code"), others, Others::InNative);
    }
    group.finish();
}

#[derive(Clone, Copy, PartialEq)]
enum Others {
    Running,
    InNative,
}

/// The thread that asks is a mutator itself; every collector has the same safepoints.
fn stops(group: &mut BenchmarkGroup<'_, WallTime>, row: &str, others: usize, are: Others) {
    let kind = Configuration::all().find(|kind| kind.collects()).expect("a collector");
    let bare = BareHeap::new(&kind.options(64 << 20));
    let (ready, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..others {
            scope.spawn(|| {
                let thread = BareThread::attach(bare.heap.clone());
                let m = &thread.mutator;
                if are == Others::InNative {
                    bare.heap.enter_safe(m);
                }
                ready.fetch_add(1, Ordering::Release);
                while !is_over.load(Ordering::Acquire) {
                    if are == Others::InNative {
                        thread::sleep(Duration::from_millis(1));
                    } else if m.poll_requested() {
                        bare.heap.safepoint(m);
                    }
                }
                if are == Others::InNative {
                    bare.heap.leave_safe(m);
                }
            });
        }
        // A thread that attaches during a stop waits for its end: none has begun yet.
        while ready.load(Ordering::Acquire) < others {
            thread::yield_now();
        }
        group.bench_function(row, |b| {
            b.iter_custom(|times| {
                let start = Instant::now();
                for _ in 0..times {
                    bare.heap.stop_world(Some(bare.m()), &mut |stopped| {
                        black_box(stopped);
                    });
                }
                start.elapsed()
            })
        });
        is_over.store(true, Ordering::Release);
    });
}

fn configured() -> Criterion {
    Criterion::default()
        .sample_size(30)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
}

criterion_group! { name = benches; config = configured(); targets = faults, round_trips, safepoints }

fn main() {
    let arguments: Vec<String> = env::args().collect();
    if arguments.get(1).is_some_and(|word| word == "--fd") {
        let fd = arguments[2].parse().expect("the starter of a server passes a number");
        if let Err(error) = server::serve(fd, None, |_| Arc::new(Echo)) {
            eprintln!("{error}");
            process::exit(1);
        }
        return;
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}
