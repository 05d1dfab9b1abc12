//! Processes that allocate and free, and are killed, at crash points and anywhere.
//!
//! The test starts itself again as clients ([`child`]). Each identity has cells of its own; some words all share. After
//! each round the used blocks must be those of the cells and words, once each.

use super::audit::used_blocks;
use super::heap::{Allocator, Heap};
use super::random::{assert_all_is_free, size};
use crate::crash::{Crash, Death, POINTS, is_of_heap};
use crate::pool::Pool;
use crate::pool::torture::{KilledPairs, Nothing, Process, Random, length_and_seed, started};
use crate::segment::Backing;
use crate::test_folder::Folder;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

const CLIENTS: usize = 6;
const BYTES: u64 = 2 << 30;
/// Of the user: cells by identity, and behind them the shared words.
const RESERVED: u64 = 64 << 10;
const CELLS: u64 = 512;
const WORDS_AT: u64 = 48 << 10;
const WORDS: u64 = 16;
/// How many children have begun to work.
const STARTED_AT: u64 = 56 << 10;
const PATIENCE: Duration = Duration::from_secs(20);
const CHILD: &str = "alloc::torture::child";

const _: () = assert!((CLIENTS as u64 + 1) * CELLS * 8 <= WORDS_AT);

/// What only a recoverer, or a client after an error, comes to; and where the client dies for that.
const OF_RECOVERY: [(&str, &str); 4] = [
    ("alloc.settle_cleared", "alloc.free_begun"),
    ("alloc.settle_aimed", "alloc.taken"),
    ("alloc.taken_back", "alloc.taken"),
    ("huge.settle_cleared", "huge.free_begun"),
];

/// Sizes of the blocks.
#[derive(Clone, Copy)]
enum Sizes {
    All,
    /// Four, of which a slab has few blocks, or none: so slabs are full and empty often.
    Few,
}

/// A random operation on a cell of the client's own, or on a shared word.
fn act(pool: &Pool, allocator: &mut Allocator, random: &mut Random, sizes: Sizes) {
    let bytes = match sizes {
        Sizes::All => size(random),
        Sizes::Few => [1 << 10, 1 << 10, 64 << 10, 512 << 10, 1 << 20][random.below(5) as usize],
    };
    let place = random.below(CELLS + CELLS / 4);
    if place < CELLS {
        let cell = pool.data() + (u64::from(allocator.id()) * CELLS + place) * 8;
        if pool.atomics(cell, 1).unwrap()[0].load(Ordering::Relaxed) != 0 {
            allocator.free_from(cell).unwrap();
        } else if place.is_multiple_of(2) {
            allocator.alloc_into(cell, bytes).unwrap();
        } else {
            let fresh = allocator.alloc(bytes).unwrap();
            stamp(pool, fresh.offset());
            fresh.store(cell).unwrap();
        }
        return;
    }
    let target = pool.data() + WORDS_AT + place % WORDS * 16;
    let seen = pool.words(target, 1).unwrap()[0].load();
    if seen.value == 0 {
        let fresh = allocator.alloc(bytes).unwrap();
        stamp(pool, fresh.offset());
        // Another client may have been faster.
        let _ = fresh.publish(target, seen).unwrap();
    } else if pool.atomics(seen.value, 1).unwrap()[0].load(Ordering::Relaxed) == !seen.value {
        // An error if another client was faster, and the block is free already.
        let _ = allocator.withdraw(target, seen, 0);
    } else {
        let now = pool.words(target, 1).unwrap()[0].load();
        assert_ne!(now, seen, "a block was overwritten while it was used");
    }
}

/// Frees the blocks of all cells of the client.
fn drain(pool: &Pool, allocator: &mut Allocator) {
    let first = pool.data() + u64::from(allocator.id()) * CELLS * 8;
    for cell in (first..first + CELLS * 8).step_by(8) {
        if pool.atomics(cell, 1).unwrap()[0].load(Ordering::Relaxed) != 0 {
            allocator.free_from(cell).unwrap();
        }
    }
}

/// Writes into the block before others know it.
fn stamp(pool: &Pool, offset: u64) {
    pool.atomics(offset, 1).unwrap()[0].store(!offset, Ordering::Relaxed);
}

/// Nobody is at work: the used blocks are those that cells and words have.
fn check(pool: &Pool, heap: &Heap) -> Result<usize, String> {
    let cells = pool.atomics(pool.data(), (CLIENTS + 1) * CELLS as usize).unwrap();
    let words = pool.words(pool.data() + WORDS_AT, WORDS as usize).unwrap();
    let cells = cells.iter().map(|cell| cell.load(Ordering::Acquire));
    let words = words.iter().map(|word| word.load().value);
    let mut known: Vec<u64> = cells.chain(words).filter(|block| *block != 0).collect();
    known.sort_unstable();
    let used = used_blocks(heap)?;
    if used != known {
        return Err(format!("{} blocks are used, and {} are known", used.len(), known.len()));
    }
    Ok(used.len())
}

/// What a process does that another test started. By itself it passes.
#[test]
fn child() {
    let Some((pool, role)) = started() else { return };
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let (mut random, start) = (Random(std::process::id().into()), Instant::now());
    if role == "recover" {
        heap.join().unwrap().recover(&Nothing(&pool)).unwrap();
        return;
    }
    pool.atomics(pool.data() + STARTED_AT, 1).unwrap()[0].fetch_add(1, Ordering::AcqRel);
    // Until it is killed. If that fails, it must not work for ever.
    while start.elapsed() < PATIENCE {
        let mut allocator = heap.join().unwrap();
        let sizes = if role == "few" || random.below(3) == 0 { Sizes::Few } else { Sizes::All };
        for _ in 0..random.below(4000) {
            act(&pool, &mut allocator, &mut random, sizes);
        }
        if let Sizes::Few = sizes {
            drain(&pool, &mut allocator);
            (0..1000).for_each(|_| act(&pool, &mut allocator, &mut random, sizes));
        }
        match random.below(8) {
            0 => allocator.trim().unwrap(),
            1 => _ = allocator.recover(&Nothing(&pool)).unwrap(),
            _ => {}
        }
    }
}

fn pool(folder: &Folder) -> (PathBuf, Pool) {
    let path = folder.path("pool");
    let pool = Pool::create(&Backing::File { path: &path, bytes: BYTES }, CLIENTS).unwrap();
    (path, pool)
}

fn start(path: &Path, role: &str, point: &'static str, hit: usize) -> Process {
    Process::of_test(CHILD, path, role, Some((Crash { point, hit }, Death::Kill)))
}

/// Threads of one process as clients, which free each other's blocks, and nobody dies.
#[test]
fn threads_share_a_heap() {
    let (_, seed) = length_and_seed();
    let pool = Pool::create(&Backing::Memory { bytes: BYTES }, CLIENTS).unwrap();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    std::thread::scope(|scope| {
        for n in 0..4 {
            let (pool, heap) = (&pool, &heap);
            scope.spawn(move || {
                let mut random = Random(seed + n);
                let mut allocator = heap.join().unwrap();
                let sizes = if n % 2 == 0 { Sizes::Few } else { Sizes::All };
                (0..100_000).for_each(|_| act(pool, &mut allocator, &mut random, sizes));
            });
        }
    });
    check(&pool, &heap).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
}

/// A real process dies at each point as a client, and at those of recovery as a recoverer.
#[test]
fn a_process_that_dies_at_any_point_is_recovered() {
    for point in POINTS.iter().filter(|point| is_of_heap(point)) {
        println!("{point}");
        let folder = Folder::new();
        let (path, pool) = pool(&folder);
        let heap = Heap::new(&pool, RESERVED).unwrap();
        let mut allocator = heap.join().unwrap();
        let mut random = Random(1);
        (0..500).for_each(|_| act(&pool, &mut allocator, &mut random, Sizes::Few));
        if let Some((_, client)) = OF_RECOVERY.iter().find(|(of, _)| of == point) {
            start(&path, "few", client, 5).wait(Death::Kill);
            start(&path, "recover", point, 1).wait(Death::Kill);
        } else {
            start(&path, "few", point, 1).wait(Death::Kill);
            let recoverer = start(&path, "recover", "alloc.release_linked", 2);
            // Perhaps there is nothing to release.
            let mut recoverer = recoverer;
            while !recoverer.has_ended() {
                sleep(Duration::from_micros(200));
            }
        }
        (0..200).for_each(|_| act(&pool, &mut allocator, &mut random, Sizes::Few));
        allocator.recover(&Nothing(&pool)).unwrap();
        allocator.settle().unwrap();
        check(&pool, &heap).unwrap_or_else(|wrong| panic!("{point}: {wrong}"));
    }
}

/// `FARHEAP_POOL_SECONDS` and `FARHEAP_POOL_SEED` repeat a run, or make it longer.
#[test]
fn killed_processes_lose_no_block() {
    let folder = Folder::new();
    let (path, pool) = pool(&folder);
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let mut allocator = heap.join().unwrap();
    let started = &pool.atomics(pool.data() + STARTED_AT, 1).unwrap()[0];
    let mut pairs = KilledPairs::new(CHILD, ["work"; 2], &path, started);
    while let Some(pair) = pairs.start() {
        for child in pair {
            pairs.kill(child);
            pairs.survive(|random| act(&pool, &mut allocator, random, Sizes::All));
            pairs.recover(|| allocator.recover(&Nothing(&pool)));
        }
        allocator.settle().unwrap();
        pairs.check(check(&pool, &heap));
    }
    println!("{} blocks at the end", check(&pool, &heap).unwrap());
    pairs.report("operation");
    // The identities of the dead are free, and one client frees what all had.
    for n in 0..(CLIENTS as u64 + 1) * CELLS {
        let cell = pool.data() + n * 8;
        if pool.atomics(cell, 1).unwrap()[0].load(Ordering::Relaxed) != 0 {
            allocator.free_from(cell).unwrap();
        }
    }
    for n in 0..WORDS {
        let target = pool.data() + WORDS_AT + n * 16;
        let seen = pool.words(target, 1).unwrap()[0].load();
        if seen.value != 0 {
            allocator.withdraw(target, seen, 0).unwrap().unwrap();
        }
    }
    drop(allocator);
    assert_all_is_free(&heap);
    let identities: Vec<_> = std::iter::from_fn(|| pool.join().ok()).collect();
    assert_eq!(identities.len(), CLIENTS, "an identity is lost");
}
