//! Pools that one process has alone.

use pool::{Backing, Change, Heap, Pool, PoolError, Recovered, Redo, Word};
use std::sync::atomic::Ordering;

struct NoRedo;

impl Redo for NoRedo {
    fn word(&self, _: u64) -> Result<&Word, PoolError> {
        panic!("no client is dead")
    }

    fn redo(&self, _: u16, _: &Change, _: bool) -> Result<(), PoolError> {
        panic!("no client is dead")
    }
}

fn pool(bytes: u64) -> Pool {
    Pool::create(&Backing::Private { bytes }, 16).unwrap()
}

#[test]
fn blocks_begin_at_multiples_of_what_divides_their_size() {
    // A number of granules that no power of two divides.
    let pool = pool(999 << 18);
    let heap = Heap::new(&pool, 4096).unwrap();
    let mut client = heap.join().unwrap();
    let cell = pool.data();
    for bytes in (1..2000).step_by(16).chain([4096, 5000, 40_000, 70_000, 300_000, 600_000]) {
        let size = Heap::size_of_block(bytes);
        assert!(size >= bytes);
        for _ in 0..4 {
            let block = client.alloc_into(cell, bytes).unwrap();
            assert_eq!(heap.block_bytes(block), Some(size));
            assert_eq!(heap.small_block_bytes(block), (bytes <= 1024).then_some(size));
            let most = if bytes <= 1024 { 4096 } else { Heap::GRANULE_BYTES };
            let align = (size & size.wrapping_neg()).min(most);
            let at = pool.segment().base().as_ptr() as u64 + block;
            assert_eq!(at % align, 0, "{bytes} bytes at {block:#x}");
        }
    }
}

#[test]
fn huge_blocks_are_found_from_their_inside_and_are_zero() {
    let pool = pool(256 << 20);
    let heap = Heap::new(&pool, 4096).unwrap();
    let mut client = heap.join().unwrap();
    let cell = pool.data();
    let granule = Heap::GRANULE_BYTES;
    let (before, block) = (
        client.alloc_into(cell, 3 * granule).unwrap(),
        client.alloc_into(cell, 5 * granule - 1).unwrap(),
    );
    for within in [0, 1, granule, 5 * granule - 1] {
        assert_eq!(heap.huge_block_of(block + within), Some(block));
    }
    assert_eq!(heap.huge_block_of(block - 1), Some(before));
    assert_eq!(heap.huge_block_of(block + 5 * granule), None);
    assert_eq!(heap.huge_block_of(cell), None);
    assert_eq!(heap.block_bytes(block + granule), None);
    // All space for huge blocks comes by, again and again.
    for _ in 0..100 {
        let words = pool.atomics(block, (5 * granule / 8) as usize).unwrap();
        assert!(words.iter().all(|word| word.load(Ordering::Relaxed) == 0));
        words.iter().for_each(|word| word.store(1, Ordering::Relaxed));
        client.free(block).unwrap();
        let mut others = Vec::new();
        while !others.contains(&block) {
            others.push(client.alloc_into(cell, 5 * granule).unwrap());
        }
        others.retain(|other| *other != block);
        others.into_iter().for_each(|other| client.free(other).unwrap());
    }
    assert!(pool.segment().given_back() >= 100 * 5 * granule);
}

#[test]
fn huge_blocks_grow_where_they_are_if_what_follows_is_free() {
    let pool = pool(256 << 20);
    let heap = Heap::new(&pool, 4096).unwrap();
    let mut client = heap.join().unwrap();
    let (cell, granule) = (pool.data(), Heap::GRANULE_BYTES);
    let block = client.alloc_into(cell, 3 * granule).unwrap();
    let next = client.alloc_into(cell, 3 * granule).unwrap();
    assert_eq!(next, block + 3 * granule);
    assert!(!client.grow_private(block, 4 * granule).unwrap());
    assert!(client.grow_private(block, 3 * granule).unwrap());
    client.free(next).unwrap();
    assert!(client.grow_private(block, 4 * granule + 1).unwrap());
    assert_eq!(heap.block_bytes(block), Some(5 * granule));
    assert_eq!(heap.huge_block_of(block + 5 * granule - 1), Some(block));
    assert_eq!(heap.huge_use().used, 5 * granule);
    // Up to the end of the space, and no further.
    let all = heap.huge_use().bytes;
    assert!(!client.grow_private(block, all + 1).unwrap());
    assert!(client.grow_private(block, all).unwrap());
    assert!(client.alloc_into(cell, 3 * granule).is_err());
    client.free(block).unwrap();
    assert_eq!(heap.huge_use().used, 0);
    // Small blocks, and those of pools that processes share, do not.
    let small = client.alloc_into(cell, 100).unwrap();
    assert!(!client.grow_private(small, 4 * granule).unwrap());
    let shared = Pool::create(&Backing::Memory { bytes: 256 << 20 }, 16).unwrap();
    let heap = Heap::new(&shared, 4096).unwrap();
    let mut client = heap.join().unwrap();
    let block = client.alloc_into(shared.data(), 3 * granule).unwrap();
    assert!(!client.grow_private(block, 4 * granule).unwrap());
}

#[test]
fn nobody_is_ever_dead_in_a_private_pool() {
    let pool = pool(64 << 20);
    let heap = Heap::new(&pool, 0).unwrap();
    let (one, _two) = (heap.join().unwrap(), heap.join().unwrap());
    assert_eq!(one.recover(&NoRedo).unwrap(), Recovered::default());
}
