//! How fast the heap of a pool is, beside mimalloc.
//!
//! ```text
//! cargo run --release -p pool --example alloc_bench [SECONDS]
//! ```
//!
//! `threadtest` allocates 1,000 blocks of 64 bytes, frees them, and does it again. In `xmalloc` one side allocates and
//! the other frees; a ring between them has the blocks. An operation is one allocation and its free. Time is CPU time
//! of the threads, so that other programs count less; that of `xmalloc` is the longer one of its two sides, which yield
//! to each other. Each figure is the best of five runs. A process is a child that runs this program again; it opens the
//! pool in the file that its parent made.
//!
//! The last rows are of a heap whose memory is coherent in part only: what the owner of a slab gives up is written
//! back. There the producer of `xmalloc` writes its blocks back, too, as one does that has written them.

mod common;

use common::{clock, mimalloc};
use pool::{Allocator, Backing, Coherence, Heap, Pool};
use std::env;
use std::hint::spin_loop;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio, exit};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const BYTES: u64 = 64;
const OBJECTS: usize = 1_000;
const RUNS: usize = 5;

/// Of all sides.
#[derive(Clone, Copy)]
struct Counts {
    /// Million operations in a second.
    rate: f64,
    /// For each operation.
    changes: f64,
    lines: f64,
    fences: f64,
}

/// Blocks between the two sides of `xmalloc`.
const RING: usize = 4096;
/// How many blocks are handed over at a time.
const BATCH: usize = 64;
/// The user's part of the pool: cells of each side, the ring, and words for starting and ending.
const RESERVED: u64 = 1 << 20;
const SIDE: u64 = 64 << 10;
const RING_AT: u64 = 4 * SIDE;
const WORDS_AT: u64 = 8 * SIDE;
const POOL: u64 = 1 << 30;

fn main() {
    let mut arguments = env::args().skip(1);
    let first = arguments.next();
    if first.as_deref() == Some("child") {
        let values: Vec<String> = arguments.collect();
        let [path, role, side] = &values[..] else { exit(2) };
        let pool = Pool::open(Path::new(path)).expect("the parent's pool");
        run(&pool, role, side.parse().expect("a number"), Coherence::Full);
        return;
    }
    let seconds = first.map_or(0.5, |text| text.parse().expect("a number of seconds"));
    let time = Duration::from_secs_f64(seconds);
    println!("M operations/s of {BYTES} bytes, best of {RUNS} runs     pool  mimalloc  ratio");
    let row = |name: &str, ours: f64, theirs: Option<f64>| match theirs {
        Some(theirs) => {
            println!("{name:44} {ours:10.1} {theirs:9.1} {:6.2}", ours / theirs);
        }
        None => println!("{name:44} {ours:10.1}"),
    };
    let [one, two, halves] = [&["threadtest"][..], &["threadtest"; 2], &["produce", "consume"]];
    let theirs = best(|| mimalloc::threadtest(1, OBJECTS, BYTES as usize, time));
    row("threadtest, one thread", best(|| threads(one, time, Coherence::Full).rate), Some(theirs));
    let theirs = best(|| mimalloc::threadtest(2, OBJECTS, BYTES as usize, time));
    row("threadtest, two threads", best(|| threads(two, time, Coherence::Full).rate), Some(theirs));
    row("threadtest, two processes", best(|| processes(two, time)), Some(theirs));
    let theirs = best(|| mimalloc_xmalloc(time));
    row("xmalloc, two threads", best(|| threads(halves, time, Coherence::Full).rate), Some(theirs));
    row("xmalloc, two processes", best(|| processes(halves, time)), Some(theirs));
    println!("for each operation, median run                   M/s  changes   lines  fences");
    for coherence in [Coherence::Full, Coherence::Limited] {
        for (name, roles) in [("threadtest", one), ("threadtest", two), ("xmalloc", halves)] {
            let mut runs: Vec<Counts> =
                (0..RUNS).map(|_| threads(roles, time, coherence)).collect();
            runs.sort_by(|a, b| a.rate.total_cmp(&b.rate));
            let Counts { rate, changes, lines, fences } = runs[RUNS / 2];
            let name = format!("{name}, {} threads, {coherence:?} coherence", roles.len());
            println!("{name:44} {rate:10.1} {changes:8.4} {lines:7.4} {fences:7.4}");
        }
    }
}

fn best(mut run: impl FnMut() -> f64) -> f64 {
    (0..RUNS).map(|_| run()).fold(0.0, f64::max)
}

/// The sides in threads of this process.
fn threads(roles: &[&str], time: Duration, coherence: Coherence) -> Counts {
    let pool = Pool::create(&Backing::Memory { bytes: POOL }, 8).expect("a pool");
    thread::scope(|scope| {
        for (side, role) in roles.iter().enumerate() {
            let pool = &pool;
            scope.spawn(move || run(pool, role, side, coherence));
        }
        start(&pool, roles.len(), time)
    })
}

/// The sides in processes of their own.
fn processes(roles: &[&str], time: Duration) -> f64 {
    let path = place();
    let pool = Pool::create(&Backing::File { path: &path, bytes: POOL }, 8).expect("a pool");
    let program = env::current_exe().expect("this program");
    let children: Vec<_> = roles
        .iter()
        .enumerate()
        .map(|(side, role)| {
            let mut command = Command::new(&program);
            command.arg("child").arg(&path).args([role, &*side.to_string()]);
            command.stdout(Stdio::null());
            command.spawn().expect("a child")
        })
        .collect();
    // All have opened the file when they are ready.
    let Counts { rate, .. } = start(&pool, roles.len(), time);
    std::fs::remove_file(&path).expect("the file is there");
    for mut child in children {
        child.wait().expect("a child");
    }
    rate
}

fn place() -> PathBuf {
    let shared = Path::new("/dev/shm");
    let folder = if shared.is_dir() { shared.into() } else { env::temp_dir() };
    folder.join(format!("farheap-pool-bench-{}", std::process::id()))
}

/// Words in the user's part: how many sides are ready, whether they may start, whether they must end,
/// operations of all sides, the nanoseconds of the one that took longest, both ends of the ring, and the detectable
/// changes, flushed lines and fences of all sides.
fn words(pool: &Pool) -> [&AtomicU64; 10] {
    let words = pool.atomics(pool.data() + WORDS_AT, 10 * 16).expect("the reserved part");
    std::array::from_fn(|n| &words[n * 16])
}

fn start(pool: &Pool, sides: usize, time: Duration) -> Counts {
    let [ready, go, end, done, nanos, _, _, changes, lines, fences] = words(pool);
    while ready.load(Ordering::Acquire) < sides as u64 {
        thread::sleep(Duration::from_millis(1));
    }
    go.store(1, Ordering::Release);
    thread::sleep(time);
    end.store(1, Ordering::Release);
    while ready.load(Ordering::Acquire) > 0 {
        thread::sleep(Duration::from_millis(1));
    }
    let all = done.load(Ordering::Acquire) as f64;
    let [changes, lines, fences] =
        [changes, lines, fences].map(|count| count.load(Ordering::Acquire) as f64 / all);
    let rate = all * 1e3 / nanos.load(Ordering::Acquire) as f64;
    Counts { rate, changes, lines, fences }
}

fn run(pool: &Pool, role: &str, side: usize, coherence: Coherence) {
    let heap = match coherence {
        Coherence::Full => Heap::new(pool, RESERVED),
        Coherence::Limited => Heap::of_limited_coherence(pool, RESERVED),
    };
    let heap = heap.expect("a heap");
    let mut allocator = heap.join().expect("an identity");
    let [ready, go, end, done, nanos, tail, head, changes, lines, fences] = words(pool);
    ready.fetch_add(1, Ordering::AcqRel);
    while go.load(Ordering::Acquire) == 0 {
        spin_loop();
    }
    let start = clock();
    let at = pool.data() + side as u64 * SIDE;
    let operations = match role {
        "threadtest" => threadtest(&mut allocator, at, end),
        "produce" => produce(&mut allocator, pool, end, [tail, head]),
        _ => consume(&mut allocator, pool, [tail, head]),
    };
    done.fetch_add(operations, Ordering::AcqRel);
    nanos.fetch_max(clock() - start, Ordering::AcqRel);
    changes.fetch_add(allocator.changes(), Ordering::AcqRel);
    lines.fetch_add(heap.flushes().lines, Ordering::AcqRel);
    fences.fetch_add(heap.flushes().fences, Ordering::AcqRel);
    drop(allocator);
    ready.fetch_sub(1, Ordering::AcqRel);
}

fn threadtest(allocator: &mut Allocator, at: u64, end: &AtomicU64) -> u64 {
    let mut operations = 0;
    while end.load(Ordering::Relaxed) == 0 {
        for n in 0..OBJECTS as u64 {
            allocator.alloc_into(at + n * 8, BYTES).expect("memory");
        }
        for n in 0..OBJECTS as u64 {
            allocator.free_from(at + n * 8).expect("a block");
        }
        operations += OBJECTS as u64;
    }
    operations
}

fn produce(
    allocator: &mut Allocator,
    pool: &Pool,
    end: &AtomicU64,
    [tail, head]: [&AtomicU64; 2],
) -> u64 {
    let ring = pool.data() + RING_AT;
    let mut next = 0;
    while end.load(Ordering::Relaxed) == 0 {
        if next + BATCH as u64 - head.load(Ordering::Acquire) > RING as u64 {
            thread::yield_now();
            continue;
        }
        for _ in 0..BATCH {
            let slot = ring + next % RING as u64 * 8;
            let block = allocator.alloc_into(slot, BYTES).expect("memory");
            allocator.flush(block, BYTES).expect("a block");
            next += 1;
        }
        tail.store(next, Ordering::Release);
    }
    tail.store(next | 1 << 63, Ordering::Release);
    0
}

fn consume(allocator: &mut Allocator, pool: &Pool, [tail, head]: [&AtomicU64; 2]) -> u64 {
    let slots = pool.atomics(pool.data() + RING_AT, RING).expect("the reserved part");
    let mut next = 0;
    loop {
        let last = tail.load(Ordering::Acquire);
        if last & !(1 << 63) == next {
            if last >> 63 == 1 {
                return next;
            }
            thread::yield_now();
            continue;
        }
        for _ in 0..BATCH {
            let block = slots[next as usize % RING].load(Ordering::Relaxed);
            allocator.free(block).expect("a block");
            next += 1;
        }
        head.store(next, Ordering::Release);
    }
}

fn mimalloc_xmalloc(time: Duration) -> f64 {
    let ring: Vec<AtomicPtr<u8>> = (0..RING).map(|_| AtomicPtr::default()).collect();
    let words: Vec<AtomicU64> = (0..64).map(|_| AtomicU64::new(0)).collect();
    let [end, tail, head] = [&words[0], &words[16], &words[32]];
    let (operations, nanos): (u64, u64) = thread::scope(|scope| {
        let producer = scope.spawn(|| {
            let (start, mut next) = (clock(), 0);
            while end.load(Ordering::Relaxed) == 0 {
                if next + BATCH as u64 - head.load(Ordering::Acquire) > RING as u64 {
                    thread::yield_now();
                    continue;
                }
                for _ in 0..BATCH {
                    ring[next as usize % RING]
                        .store(mimalloc::allocate(BYTES as usize), Ordering::Release);
                    next += 1;
                }
                tail.store(next, Ordering::Release);
            }
            tail.store(next | 1 << 63, Ordering::Release);
            clock() - start
        });
        let consumer = scope.spawn(|| {
            let (start, mut next) = (clock(), 0);
            loop {
                let last = tail.load(Ordering::Acquire);
                if last & !(1 << 63) == next {
                    if last >> 63 == 1 {
                        return (next, clock() - start);
                    }
                    thread::yield_now();
                    continue;
                }
                for _ in 0..BATCH {
                    let block = ring[next as usize % RING].load(Ordering::Relaxed);
                    // SAFETY: the producer allocated it, and only this thread frees it.
                    unsafe { mimalloc::free(block) };
                    next += 1;
                }
                head.store(next, Ordering::Release);
            }
        });
        thread::sleep(time);
        end.store(1, Ordering::Release);
        let (operations, nanos) = consumer.join().expect("a side");
        (operations, nanos.max(producer.join().expect("a side")))
    });
    operations as f64 * 1e3 / nanos as f64
}
