//! Rings in memory: every crash of either end, and what callers do wrong.

use super::Ring;
use crate::crash::{Crash, POINTS, aside, run};
use crate::identity::process::Kernel;
use crate::pool::Pool;
use crate::pool::torture::Nothing;
use crate::recover::Recovery;
use crate::segment::Backing;
use crate::sync::{AtomicU64, Ordering};
use crate::{Client, PoolError};
use std::collections::BTreeSet;
use std::mem::ManuallyDrop;

const WORDS: usize = 4;
/// Words of a frame.
const FRAME: u64 = 3;

fn memory() -> Pool {
    Pool::create(&Backing::Memory { bytes: 1 << 20 }, 4).unwrap()
}

/// Both counts.
fn header(pool: &Pool) -> [&AtomicU64; 2] {
    [0, 64].map(|at| &pool.atomics(pool.data() + at, 1).unwrap()[0])
}

/// Recovers all clients but this one, as if they were dead.
fn bury_others(pool: &Pool, by: &Client) {
    let blind = Kernel::of_boot(1);
    let recovery = Recovery { table: pool.table(), detector: pool.detector(), processes: &blind };
    recovery.run(by.id(), &Nothing(pool)).unwrap();
}

/// Sends frames whose words are their count, as far as there is room.
fn produce(ring: &Ring, client: &Client) {
    let Some(producer) = ring.producer(client) else { return };
    // A client that dies drops nothing.
    let mut producer = ManuallyDrop::new(producer);
    while producer.room(FRAME).unwrap() >= FRAME {
        for n in 0..FRAME {
            let count = producer.sent() + n;
            producer.put(n, count);
        }
        producer.send(FRAME);
    }
    aside(|| assert!(ring.producer(client).is_none(), "an end has two holders"));
    drop(ManuallyDrop::into_inner(producer));
}

/// Receives all frames.
fn consume(ring: &Ring, client: &Client) {
    let Some(consumer) = ring.consumer(client) else { return };
    let mut consumer = ManuallyDrop::new(consumer);
    while consumer.ready(FRAME).unwrap() > 0 {
        assert_eq!(consumer.ready(1).unwrap() % FRAME, 0, "a part of a frame was sent");
        for n in 0..FRAME {
            assert_eq!(consumer.get(n), consumer.received() + n);
        }
        consumer.release(FRAME);
    }
    aside(|| assert!(ring.consumer(client).is_none(), "an end has two holders"));
    drop(ManuallyDrop::into_inner(consumer));
}

/// A producer and a consumer run in turn. One of them dies, and its successor continues.
fn story(crashes: [Option<Crash>; 2]) -> [Vec<Crash>; 2] {
    let pool = memory();
    let ring = Ring::new(&pool, pool.data(), WORDS).unwrap();
    let last = pool.join().unwrap();
    let mut passed = [vec![], vec![]];
    for (n, end) in [produce, consume].into_iter().enumerate() {
        passed[n] = run(crashes[n], || {
            end(&ring, &ManuallyDrop::new(pool.join().unwrap()));
        })
        .1;
    }
    bury_others(&pool, &last);
    for _ in 0..3 {
        produce(&ring, &last);
        consume(&ring, &last);
    }
    let [sent, received] = [0, 1].map(|n| header(&pool)[n].load(Ordering::Relaxed));
    assert!(sent >= 3 * FRAME && sent == received, "{sent} sent, {received} received");
    passed
}

#[test]
fn every_crash_of_an_end_is_continued_by_the_next_client() {
    let mut covered = BTreeSet::new();
    let [producer, _] = story([None, None]);
    for first in producer.into_iter().map(Some).chain([None]) {
        let [_, consumer] = story([first, None]);
        for second in consumer.into_iter().map(Some).chain([None]) {
            story([first, second]);
            covered.extend(first.into_iter().chain(second).map(|crash| crash.point));
        }
    }
    let missed: Vec<_> = POINTS
        .iter()
        .filter(|point| point.starts_with("ring.") && !covered.contains(*point))
        .collect();
    assert!(missed.is_empty(), "points that no crash came to: {missed:?}");
}

#[test]
fn an_end_has_one_holder() {
    let pool = memory();
    let ring = Ring::new(&pool, pool.data(), WORDS).unwrap();
    let [one, two] = [0; 2].map(|_| pool.join().unwrap());
    let producer = ring.producer(&one).unwrap();
    assert!(ring.producer(&two).is_none() && ring.producer(&one).is_none());
    let consumer = ring.consumer(&two).unwrap();
    drop(producer);
    assert!(ring.producer(&two).is_some());
    // The lease of its holder is over.
    std::mem::forget(consumer);
    assert!(ring.consumer(&one).is_none());
    drop(two);
    assert!(ring.consumer(&one).is_some());
}

#[test]
fn a_ring_that_is_none_is_refused() {
    let pool = memory();
    for (at, words) in
        [(pool.data() + 8, 4), (pool.data(), 3), (pool.data(), 0), (64, 4), (1 << 20, 4)]
    {
        assert!(matches!(Ring::new(&pool, at, words).err(), Some(PoolError::Range { .. })));
    }
}

#[test]
fn counts_that_cannot_be_are_errors() {
    let pool = memory();
    let ring = Ring::new(&pool, pool.data(), WORDS).unwrap();
    let client = pool.join().unwrap();
    let [sent, received] = header(&pool);
    for counts in [(0, 1), (u64::MAX, 0), (5, 0)] {
        sent.store(counts.0, Ordering::Relaxed);
        received.store(counts.1, Ordering::Relaxed);
        let (mut producer, mut consumer) =
            (ring.producer(&client).unwrap(), ring.consumer(&client).unwrap());
        assert!(matches!(producer.room(1), Err(PoolError::Damaged { .. })));
        assert!(matches!(consumer.ready(1), Err(PoolError::Damaged { .. })));
    }
}
