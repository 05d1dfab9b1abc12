//! Processes that send blocks of a heap through a ring, and are killed.
//!
//! Each block has the count of its word. The consumer checks it, and frees the block. What is lost, repeated or freed
//! twice makes the counts, or the blocks of the heap, differ.

use super::Ring;
use crate::alloc::{Allocator, Heap, used_blocks};
use crate::crash::{Crash, Death, POINTS};
use crate::pool::Pool;
use crate::pool::torture::{Nothing, Process, Random, length_and_seed, started};
use crate::segment::Backing;
use crate::sync::{AtomicU64, Ordering};
use crate::test_folder::Folder;
use std::path::{Path, PathBuf};
use std::thread::{sleep, yield_now};
use std::time::{Duration, Instant};

const BYTES: u64 = 64 << 20;
const RESERVED: u64 = 64 << 10;
const WORDS: usize = 64;
/// How many children have begun to work.
const STARTED_AT: u64 = 60 << 10;
const PATIENCE: Duration = Duration::from_secs(20);
const CHILD: &str = "ring::torture::child";

fn word(pool: &Pool, at: u64) -> &AtomicU64 {
    &pool.atomics(at, 1).unwrap()[0]
}

/// Sends until `is_over`, or for ever if nobody kills it.
fn produce(pool: &Pool, allocator: &mut Allocator, ring: &Ring, is_over: impl Fn(u64) -> bool) {
    let mut producer = ring.producer(allocator).expect("it is the only producer");
    while !is_over(producer.sent()) {
        if producer.room(1).unwrap() == 0 {
            yield_now();
            continue;
        }
        let slot = producer.slot(0);
        // A producer that died has perhaps left a block in the word: it is sent.
        if word(pool, slot).load(Ordering::Acquire) == 0 {
            allocator.alloc_into(slot, 8 + producer.sent() % 3000).unwrap();
        }
        word(pool, word(pool, slot).load(Ordering::Acquire))
            .store(producer.sent(), Ordering::Release);
        producer.send(1);
    }
}

fn consume(pool: &Pool, allocator: &mut Allocator, ring: &Ring, is_over: impl Fn(u64) -> bool) {
    let mut consumer = ring.consumer(allocator).expect("it is the only consumer");
    while !is_over(consumer.received()) {
        if consumer.ready(1).unwrap() == 0 {
            yield_now();
            continue;
        }
        // A consumer that died has perhaps freed the block.
        let block = consumer.get(0);
        if block != 0 {
            assert_eq!(word(pool, block).load(Ordering::Acquire), consumer.received());
            allocator.free_from(consumer.slot(0)).unwrap();
        }
        consumer.release(1);
    }
}

/// What a process does that another test started. By itself it passes.
#[test]
fn child() {
    let Some((pool, role)) = started() else { return };
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let mut allocator = heap.join().unwrap();
    let ring = Ring::new(&pool, pool.data(), WORDS).unwrap();
    word(&pool, pool.data() + STARTED_AT).fetch_add(1, Ordering::AcqRel);
    let start = Instant::now();
    let is_late = |_| start.elapsed() > PATIENCE;
    match &*role {
        "produce" => produce(&pool, &mut allocator, &ring, is_late),
        _ => consume(&pool, &mut allocator, &ring, is_late),
    }
}

fn pool(folder: &Folder) -> (PathBuf, Pool) {
    let path = folder.path("pool");
    let pool = Pool::create(&Backing::File { path: &path, bytes: BYTES }, 4).unwrap();
    (path, pool)
}

fn start(path: &Path, role: &str, crash: Option<(Crash, Death)>) -> Process {
    Process::of_test(CHILD, path, role, crash)
}

/// Nobody is at work: the used blocks are those in the ring's words.
fn check(pool: &Pool, heap: &Heap) -> Result<(), String> {
    let words = pool.atomics(pool.data() + Ring::bytes(0), WORDS).unwrap();
    let words = words.iter().map(|word| word.load(Ordering::Acquire));
    let mut known: Vec<u64> = words.filter(|block| *block != 0).collect();
    known.sort_unstable();
    let used = used_blocks(heap)?;
    if used == known { Ok(()) } else { Err(format!("{used:?} are used, and {known:?} are known")) }
}

/// Takes both ends, and lets a few more words through.
fn continue_both(pool: &Pool, allocator: &mut Allocator, ring: &Ring) {
    let sent = word(pool, pool.data()).load(Ordering::Acquire);
    let received = word(pool, pool.data() + 64).load(Ordering::Acquire);
    consume(pool, allocator, ring, |count| count >= sent.max(received));
    produce(pool, allocator, ring, |count| count >= sent + 5);
    consume(pool, allocator, ring, |count| count >= sent + 5);
}

#[test]
fn a_process_that_dies_at_any_point_is_continued() {
    let points =
        ["alloc.begun", "alloc.taken", "alloc.stored", "alloc.cleared", "alloc.remote_linked"];
    let of_ring = POINTS.iter().copied().filter(|point| point.starts_with("ring."));
    // Ends are left, and words are put, by others than these.
    let of_ring = of_ring.filter(|point| !["ring.left", "ring.put"].contains(point));
    for point in points.into_iter().chain(of_ring) {
        for role in ["produce", "consume"] {
            let is_of_consumer =
                ["alloc.cleared", "alloc.remote_linked", "ring.received"].contains(&point);
            if point != "ring.taken" && is_of_consumer != (role == "consume") {
                continue;
            }
            let folder = Folder::new();
            let (path, pool) = pool(&folder);
            let heap = Heap::new(&pool, RESERVED).unwrap();
            let ring = Ring::new(&pool, pool.data(), WORDS).unwrap();
            let mut allocator = heap.join().unwrap();
            produce(&pool, &mut allocator, &ring, |count| count >= 20);
            let hit = if point == "ring.taken" { 1 } else { 3 };
            start(&path, role, Some((Crash { point, hit }, Death::Kill))).wait(Death::Kill);
            allocator.recover(&Nothing(&pool)).unwrap();
            check(&pool, &heap).unwrap_or_else(|wrong| panic!("{role} {point}: {wrong}"));
            continue_both(&pool, &mut allocator, &ring);
        }
    }
}

/// `FARHEAP_POOL_SECONDS` and `FARHEAP_POOL_SEED` repeat a run, or make it longer.
#[test]
fn killed_ends_lose_and_repeat_nothing() {
    let (seconds, seed) = length_and_seed();
    let mut random = Random(seed);
    let folder = Folder::new();
    let (path, pool) = pool(&folder);
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let ring = Ring::new(&pool, pool.data(), WORDS).unwrap();
    let mut allocator = heap.join().unwrap();
    let (mut kills, started) = (0, word(&pool, pool.data() + STARTED_AT));
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        let mut children = ["produce", "consume"].map(|role| start(&path, role, None));
        while started.load(Ordering::Acquire) < kills + 2 && !children[0].has_ended() {
            sleep(Duration::from_micros(100));
        }
        sleep(Duration::from_micros(random.below(3_000)));
        for mut child in children {
            assert!(!child.has_ended(), "seed {seed}: an end ended by itself");
            child.signal(libc::SIGKILL);
            child.wait(Death::Kill);
            kills += 1;
            allocator.recover(&Nothing(&pool)).unwrap();
        }
        allocator.settle().unwrap();
        check(&pool, &heap).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
        continue_both(&pool, &mut allocator, &ring);
    }
    println!("{kills} kills, {} words", word(&pool, pool.data()).load(Ordering::Acquire));
}
