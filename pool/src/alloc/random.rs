//! A heap in memory, with random operations beside a model of them.

use super::audit::{audit, audit_huge};
use super::caches::{Coherence, Flushes};
use super::heap::{Allocator, Heap};
use crate::detect::Marked;
use crate::pool::Pool;
use crate::pool::torture::{Nothing, Random};
use crate::private_caches::{self, Host, from_above, on_host};
use crate::recover::Recovered;
use crate::segment::Backing;
use crate::{Change, PoolError, Refs};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

const BYTES: u64 = 64 << 20;
const RESERVED: u64 = 64 << 10;
const CELLS: u64 = 4096;

fn memory() -> Pool {
    Pool::create(&Backing::Memory { bytes: BYTES }, 4).unwrap()
}

/// A size: most are small.
pub(super) fn size(random: &mut Random) -> u64 {
    match random.below(20) {
        0 if random.below(8) == 0 => 1 + random.below(4 << 20),
        0 => 1 + random.below(512 << 10),
        1..4 => 1 + random.below(8 << 10),
        4..10 => 1 + random.below(1 << 10),
        _ => 1 + random.below(128),
    }
}

/// What the heap has must be what the model has.
struct Model<'a> {
    pool: &'a Pool,
    coherence: Coherence,
    /// By offset: bytes, and which cell has it.
    blocks: BTreeMap<u64, (u64, u64)>,
}

impl Model<'_> {
    fn cell(&self, n: u64) -> u64 {
        self.pool.data() + n * 8
    }

    fn value(&self, n: u64) -> u64 {
        self.pool.atomics(self.cell(n), 1).unwrap()[0].load(Ordering::Relaxed)
    }

    /// Marks both ends of a block.
    fn stamp(&self, offset: u64, bytes: u64) {
        for at in [offset, offset + (bytes.max(8) - 8) / 8 * 8] {
            self.pool.atomics(at, 1).unwrap()[0].store(!offset, Ordering::Relaxed);
        }
    }

    fn alloc(&mut self, allocator: &mut Allocator, n: u64, bytes: u64) {
        let offset = match allocator.alloc_into(self.cell(n), bytes) {
            Ok(offset) => offset,
            Err(PoolError::NoMemory { .. }) => return,
            Err(error) => panic!("{error}"),
        };
        assert_eq!(self.value(n), offset);
        let is_limited = self.coherence == Coherence::Limited;
        assert!(offset.is_multiple_of(if is_limited {
            64
        } else if bytes > 56 {
            16
        } else {
            8
        }));
        if let Some((before, (length, _))) = self.blocks.range(..offset + bytes).next_back() {
            assert!(before + length <= offset, "{offset:#x} and {before:#x} overlap");
        }
        self.stamp(offset, bytes);
        allocator.flush(offset, bytes).unwrap();
        self.blocks.insert(offset, (bytes, n));
    }

    fn free(&mut self, allocator: &mut Allocator, n: u64) {
        let offset = self.value(n);
        let (bytes, cell) = self.blocks.remove(&offset).unwrap();
        assert_eq!(cell, n);
        allocator.flush(offset, bytes).unwrap();
        for at in [offset, offset + (bytes.max(8) - 8) / 8 * 8] {
            let found = self.pool.atomics(at, 1).unwrap()[0].load(Ordering::Relaxed);
            assert_eq!(found, !offset, "{offset:#x} was overwritten");
        }
        assert_eq!(allocator.free_from(self.cell(n)).unwrap(), offset);
        assert_eq!(self.value(n), 0);
    }

    fn check(&self, heap: &Heap) {
        from_above(|| self.check_all(heap));
    }

    fn check_all(&self, heap: &Heap) {
        let slabs = heap.arenas().iter().flat_map(|arena| audit(arena).unwrap().used);
        let used: Vec<u64> = slabs.chain(audit_huge(heap.huge()).unwrap()).collect();
        assert!(self.blocks.keys().eq(&used));
    }
}

#[test]
fn random_operations_are_those_of_a_model() {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    random_operations(&heap, 40);
    assert_all_is_free(&heap);
    assert_eq!(heap.flushes(), Flushes::default());
}

/// The same where only the words before the slabs are coherent.
#[test]
fn random_operations_are_those_of_a_model_where_caches_are_not_coherent() {
    let pool = memory();
    let heap = Heap::of_limited_coherence(&pool, RESERVED).unwrap();
    assert!(matches!(Heap::new(&pool, RESERVED), Err(PoolError::Layout { .. })));
    assert_eq!(Heap::find(&pool).unwrap().unwrap().coherence(), Coherence::Limited);
    assert!(matches!(Refs::new(&heap, pool.data()), Err(PoolError::Coherence)));
    let base = pool.segment().base().as_ptr() as usize;
    let own = base + heap.coherent_bytes() as usize..base + BYTES as usize;
    private_caches::watch(&[own], 64);
    let mut first = heap.join().unwrap();
    let none = first.alloc_into(pool.data(), 0).unwrap();
    assert_eq!(heap.block_bytes(none), Some(64));
    assert_eq!(first.free_from(pool.data()).unwrap(), none);
    drop(first);
    random_operations(&heap, 12);
    private_caches::forget();
    assert_all_is_free(&heap);
    let flushes = heap.flushes();
    assert!(flushes.lines >= flushes.fences && flushes.fences > 10_000, "{flushes:?}");
}

/// Three clients, on three hosts that are others when other clients come.
fn random_operations(heap: &Heap, rounds: u64) {
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = std::env::var("FARHEAP_POOL_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or(clock);
    println!("seed {seed}");
    let mut random = Random(seed);
    let join = |host: Host| (host, on_host(host, || heap.join().unwrap()));
    let mut clients = [0, 1, 2].map(join);
    let mut model =
        Model { pool: heap.pool(), coherence: heap.coherence(), blocks: BTreeMap::new() };
    for round in 0..rounds {
        // Sometimes nearly all cells are in use, sometimes few.
        let cells = 1 + random.below(CELLS);
        for _ in 0..5_000 {
            let (n, by) = (random.below(cells), random.below(3) as usize);
            let (host, client) = &mut clients[by];
            on_host(*host, || {
                if model.value(n) != 0 {
                    model.free(client, n);
                } else {
                    let bytes = size(&mut random);
                    model.alloc(client, n, bytes);
                }
            });
        }
        if round % 4 == 0 {
            let (host, client) = &mut clients[random.below(3) as usize];
            on_host(*host, || client.trim().unwrap());
        }
        if round % 3 == 0 {
            let by = random.below(3) as usize;
            // It joins before the other leaves: under another identity.
            let next = join(random.below(3) as Host);
            let (host, last) = std::mem::replace(&mut clients[by], next);
            on_host(host, || drop(last));
        }
        // Nothing may be open for the audit.
        for (host, client) in &mut clients {
            on_host(*host, || client.settle().unwrap());
        }
        model.check(heap);
    }
    let cells: Vec<u64> = model.blocks.values().map(|(_, cell)| *cell).collect();
    for n in cells {
        let (host, client) = &mut clients[random.below(3) as usize];
        on_host(*host, || model.free(client, n));
    }
    for (host, client) in clients {
        on_host(host, || drop(client));
    }
}

/// Everything was freed, and all clients have left.
pub(super) fn assert_all_is_free(heap: &Heap) {
    let mut last = heap.join().unwrap();
    last.scavenge().unwrap();
    drop(last);
    for arena in heap.arenas() {
        let contents = audit(arena).unwrap();
        assert_eq!((contents.free, contents.used), (contents.slabs, Vec::new()));
    }
    assert_eq!(audit_huge(heap.huge()).unwrap(), []);
}

#[test]
fn memory_that_ends_is_an_error_and_comes_back() {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let mut allocator = heap.join().unwrap();
    for bytes in [8, 64, 1024, 1025, 5000, 64 << 10, 512 << 10, 3 << 20, 15 << 20] {
        let mut blocks = Vec::new();
        let error = loop {
            match allocator.alloc_into(pool.data(), bytes) {
                Ok(offset) => blocks.push(offset),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, PoolError::NoMemory { bytes: asked } if asked == bytes));
        let least = match bytes {
            ..=1024 => 20 << 20,
            1025..=0x1_0000 => 5 << 20,
            _ => 12 << 20,
        };
        assert!(blocks.len() as u64 * bytes >= least, "{} of {bytes}", blocks.len());
        // Another client frees every second one.
        let mut other = heap.join().unwrap();
        for (n, block) in blocks.into_iter().enumerate() {
            if n % 2 == 0 { allocator.free(block).unwrap() } else { other.free(block).unwrap() }
        }
    }
    drop(allocator);
    assert_all_is_free(&heap);
    let mut allocator = heap.join().unwrap();
    for bytes in [BYTES, u64::MAX] {
        let too_long = allocator.alloc_into(pool.data(), bytes);
        assert!(matches!(too_long, Err(PoolError::NoMemory { .. })));
    }
}

/// Bytes that the pool takes.
fn held(pool: &Pool) -> u64 {
    let fd = pool.segment().fd().try_clone_to_owned().unwrap();
    std::fs::File::from(fd).metadata().unwrap().blocks() * 512
}

#[test]
fn pages_of_free_slabs_are_given_back() {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let mut allocator = heap.join().unwrap();
    let mut blocks = Vec::new();
    while let Ok(block) = allocator.alloc_into(pool.data(), 1024) {
        pool.atomics(block, 1).unwrap()[0].store(1, Ordering::Relaxed);
        blocks.push(block);
    }
    let most = held(&pool);
    blocks.into_iter().for_each(|block| allocator.free(block).unwrap());
    drop(allocator);
    assert!(most > 20 << 20 && held(&pool) < 16 << 20, "{most}, and then {}", held(&pool));
    assert_all_is_free(&heap);
}

#[test]
fn a_large_heap_costs_what_is_touched() {
    let pool = Pool::create(&Backing::Memory { bytes: 4 << 40 }, 4).unwrap();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let mut allocator = heap.join().unwrap();
    let cell = |n: u64| pool.data() + n * 8;
    let sizes = [8, 64, 5000, 300 << 10, 1 << 30, 1 << 39];
    for (n, bytes) in (0..).zip(sizes) {
        let block = allocator.alloc_into(cell(n), bytes).unwrap();
        pool.atomics(block + bytes - 8, 1).unwrap()[0].store(1, Ordering::Relaxed);
    }
    for n in 0..sizes.len() as u64 {
        allocator.free_from(cell(n)).unwrap();
    }
    drop(allocator);
    // Of the largest block, 8 bytes of each granule.
    assert!(held(&pool) < 20 << 20, "{}", held(&pool));
    assert_all_is_free(&heap);
}

#[test]
fn what_is_no_block_is_not_freed() {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let [mut one, mut two] = [0; 2].map(|_| heap.join().unwrap());
    let [small, large, huge] =
        [100, 10_000, 1 << 20].map(|bytes| one.alloc_into(pool.data(), bytes).unwrap());
    // Only the owner of a slab knows which blocks were never handed out.
    assert!(matches!(one.free(small + 112), Err(PoolError::NotABlock { .. })));
    let huge_wrong = [huge + 8, huge + (256 << 10), huge + (1 << 20)];
    let wrong = [0, 8, pool.data(), small + 8, small + 1, large + 16, BYTES, u64::MAX];
    for offset in wrong.into_iter().chain(huge_wrong) {
        for allocator in [&mut one, &mut two] {
            let refused = allocator.free(offset);
            assert!(matches!(refused, Err(PoolError::NotABlock { .. })), "{offset:#x}");
        }
    }
    let empty = one.free_from(pool.data() + 8);
    assert!(matches!(empty, Err(PoolError::NotABlock { offset: 0 })));
    one.free(small).unwrap();
    assert!(matches!(one.free(small), Err(PoolError::NotABlock { .. })), "freed twice");
    two.free(large).unwrap();
    two.free(huge).unwrap();
    assert!(matches!(one.free(huge), Err(PoolError::NotABlock { .. })), "freed twice");
    for cell in [0, pool.data() + 4, BYTES] {
        assert!(matches!(one.alloc_into(cell, 8), Err(PoolError::Range { .. })));
        assert!(matches!(one.free_from(cell), Err(PoolError::Range { .. })));
    }
    drop([one, two]);
    assert_all_is_free(&heap);
}

/// A free block that somebody writes is not handed out.
#[test]
fn a_write_after_a_free_is_an_error() {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let mut allocator = heap.join().unwrap();
    let block = allocator.alloc_into(pool.data(), 64).unwrap();
    allocator.free(block).unwrap();
    pool.atomics(block, 1).unwrap()[0].store(5, Ordering::Relaxed);
    let refused = allocator.alloc_into(pool.data(), 64);
    assert!(matches!(refused, Err(PoolError::Damaged { what: "a free block", .. })));
}

#[test]
fn a_fresh_block_is_free_unless_it_is_stored_or_published() {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let [mut one, mut two] = [0; 2].map(|_| heap.join().unwrap());
    for bytes in [64, 2000, 1 << 20] {
        let used = || {
            let slabs = heap.arenas().iter().flat_map(|arena| audit(arena).unwrap().used);
            slabs.chain(audit_huge(heap.huge()).unwrap()).collect::<Vec<_>>()
        };
        drop(one.alloc(bytes).unwrap());
        assert_eq!(used(), []);
        let fresh = one.alloc(bytes).unwrap();
        let offset = fresh.offset();
        fresh.store(pool.data()).unwrap();
        assert_eq!((used(), one.free_from(pool.data()).unwrap()), (vec![offset], offset));
        std::mem::forget(one.alloc(bytes).unwrap());
        one.settle().unwrap();
        assert_eq!(used(), []);

        let target = pool.data() + 64;
        let word = &pool.words(target, 1).unwrap()[0];
        let before = word.load();
        let fresh = one.alloc(bytes).unwrap();
        let offset = fresh.offset();
        assert!(fresh.publish(target, before).unwrap().is_ok());
        assert_eq!((used(), word.load().value), (vec![offset], offset));
        let Err((fresh, found)) = two.alloc(bytes).unwrap().publish(target, before).unwrap() else {
            panic!("it replaced what it had not seen")
        };
        assert_eq!(found, word.load());
        drop(fresh);
        assert_eq!(two.withdraw(target, found, 7).unwrap(), Ok(()));
        assert_eq!((used(), word.load().value), (vec![], 7));
        assert!(!matches!(one.withdraw(target, found, 0), Ok(Ok(()))), "the block is gone");
        let done = one.exchange(&Change { target, operation: [0; 5] }, word.load(), 0);
        let done = done.unwrap().unwrap();
        one.finish(done);
    }
}

/// An open change of the user stops an operation that needs one; it is finished later.
#[test]
fn an_operation_that_an_open_change_stops_is_finished_later() {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let mut allocator = heap.join().unwrap();
    let change = Change { target: pool.data() + 64, operation: [0; 5] };
    let done = allocator.exchange(&change, Marked::default(), 1).unwrap().unwrap();
    let refused = allocator.alloc_into(pool.data(), 8);
    assert!(matches!(refused, Err(PoolError::Unfinished { client: 1 })));
    allocator.finish(done);
    let block = allocator.alloc_into(pool.data(), 8).unwrap();
    // Another client's block.
    let mut other = heap.join().unwrap();
    let change = Change { target: pool.data() + 80, operation: [0; 5] };
    let done = other.exchange(&change, Marked::default(), 1).unwrap().unwrap();
    // Refused as often as it is tried, and the block is used until it is not.
    for _ in 0..2 {
        assert!(matches!(other.free(block), Err(PoolError::Unfinished { client: 2 })));
        assert_eq!(super::used_blocks(&heap).unwrap(), [block]);
    }
    other.finish(done);
    other.free(block).unwrap();
    assert_eq!(other.recover(&Nothing(&pool)).unwrap(), Recovered::default());
    drop((allocator, other));
    assert_all_is_free(&heap);
}

/// What the last holder of one identity left cannot be finished. The others can be had.
#[test]
fn an_identity_that_is_damaged_is_passed_over() {
    let pool = memory();
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let step = &heap.arenas()[0].holdings[1].step;
    step.store(u64::MAX, Ordering::Relaxed);
    let clients: Vec<_> = std::iter::from_fn(|| heap.join().ok()).collect();
    assert_eq!(clients.iter().map(|client| client.id()).collect::<Vec<_>>(), [2, 3, 4]);
    assert!(matches!(heap.join(), Err(PoolError::Damaged { client: 1, .. })));
    step.store(0, Ordering::Relaxed);
    assert_eq!(heap.join().unwrap().id(), 1);
}

#[test]
fn another_heap_in_the_same_pool_is_refused() {
    let pool = memory();
    assert!(Heap::new(&pool, RESERVED).is_ok());
    assert!(Heap::new(&pool, RESERVED).is_ok());
    let other = Heap::new(&pool, 2 * RESERVED);
    assert!(matches!(other, Err(PoolError::Layout { .. })));
    for reserved in [BYTES, u64::MAX] {
        assert!(matches!(Heap::new(&pool, reserved), Err(PoolError::Range { .. })));
    }
}

#[test]
fn a_heap_for_huge_blocks_has_room_for_what_its_length_was_chosen_for() {
    for huge in [1, 5 << 20, (1 << 30) + 1] {
        let bytes = Heap::bytes_of_huge(16, RESERVED, huge).unwrap();
        let pool = Pool::create(&Backing::Memory { bytes }, 16).unwrap();
        let heap = Heap::of_huge(&pool, RESERVED).unwrap();
        assert!(matches!(Heap::new(&pool, RESERVED), Err(PoolError::Layout { .. })));
        let found = Heap::find(&pool).unwrap().expect("it was just made");
        let all = found.huge_use();
        assert!(all.used == 0 && all.bytes >= huge && all.bytes <= huge + (64 << 20), "{all:?}");
        let mut allocator = heap.join().unwrap();
        let cell = pool.data();
        allocator.alloc_into(cell, huge.max(1 << 20)).unwrap();
        assert!(found.huge_use().used >= huge);
        // Small and medium blocks as ever; of large ones there are none.
        let page = allocator.alloc_into(cell + 8, 4096).unwrap();
        allocator.free(page).unwrap();
        let large = allocator.alloc_into(cell + 8, 100 << 10);
        assert!(matches!(large, Err(PoolError::NoMemory { .. })));
        allocator.free_from(cell).unwrap();
        assert_eq!(found.huge_use().used, 0);
    }
    for huge in [u64::MAX, u64::MAX / 2] {
        assert!(matches!(Heap::bytes_of_huge(16, RESERVED, huge), Err(PoolError::NoMemory { .. })));
    }
}
