//! Processes that make transactions over the same rows, and are killed, at crash points and anywhere.

use super::Transactions;
use super::tests::{Actor, OPTIONS, check_rows, fill};
use crate::alloc::Heap;
use crate::crash::{Crash, Death, POINTS};
use crate::map::Map;
use crate::map::tests::{NAME, clear};
use crate::map::usage::check;
use crate::pool::Pool;
use crate::pool::torture::{KilledPairs, Nothing, Process, Random, started};
use crate::refs::tests::{BYTES, CLIENTS, RESERVED};
use crate::refs::{RefClient, Refs};
use crate::segment::Backing;
use crate::sync::{AtomicU64, Ordering};
use crate::test_folder::Folder;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How many children have begun to work, and what each side was told.
const STARTED_AT: u64 = 13 << 10;
const TOLD_AT: u64 = 14 << 10;
const PATIENCE: Duration = Duration::from_secs(20);
const WORKER: &str = "transaction::torture::child";

fn told(pool: &Pool) -> &[AtomicU64] {
    pool.atomics(pool.data() + TOLD_AT, 3).unwrap()
}

fn begun(pool: &Pool) -> &AtomicU64 {
    &pool.atomics(pool.data() + STARTED_AT, 1).unwrap()[0]
}

/// What a process does that another test started. By itself it passes.
#[test]
fn child() {
    let Some((pool, role)) = started() else { return };
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let (mut random, start) = (Random(std::process::id().into()), Instant::now());
    let side = usize::from(role != "first");
    let mut is_counted = false;
    // Until it is killed. If that fails, it must not work for ever.
    while start.elapsed() < PATIENCE {
        let client = refs.join().unwrap();
        let map = Map::create(&client, NAME, &OPTIONS).unwrap();
        let transactions = Transactions::new(&map).unwrap();
        let actor = Actor::new(&transactions, side as u8, &told(&pool)[side]);
        if !is_counted {
            begun(&pool).fetch_add(1, Ordering::AcqRel);
            is_counted = true;
        }
        for _ in 0..random.below(2000) {
            actor.act(&mut random, &mut || {});
        }
        if random.below(4) == 0 {
            client.recover(&Nothing(&pool)).unwrap();
        }
    }
}

fn pool(folder: &Folder) -> (PathBuf, Pool) {
    let path = folder.path("pool");
    let pool = Pool::create(&Backing::File { path: &path, bytes: BYTES }, CLIENTS).unwrap();
    (path, pool)
}

/// Nobody but this client is at work.
fn check_all(refs: &Refs, client: &RefClient, of: &Transactions) -> Result<(), String> {
    let told = told(refs.heap().pool());
    check_rows(of, &told.iter().collect::<Vec<_>>())?;
    client.reclaim().unwrap();
    check(refs, of.map())
}

#[test]
fn a_process_that_dies_at_any_point_has_changed_all_rows_or_none() {
    let folder = Folder::new();
    let (path, pool) = pool(&folder);
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let client = refs.join().unwrap();
    let map = Map::create(&client, NAME, &OPTIONS).unwrap();
    let transactions = Transactions::new(&map).unwrap();
    fill(&transactions);
    // A process without others does not come to the others.
    let points = POINTS.iter().filter(|point| point.starts_with("transaction."));
    for point in points.filter(|point| **point != "transaction.undone") {
        for hit in 1..6 {
            let crash = Some((Crash { point, hit }, Death::Kill));
            Process::of_test(WORKER, &path, "first", crash).wait(Death::Kill);
            client.recover(&Nothing(&pool)).unwrap();
            let wrong = |wrong| panic!("{point} {hit}: {wrong}");
            check_all(&refs, &client, &transactions).unwrap_or_else(wrong);
        }
    }
}

/// `FARHEAP_POOL_SECONDS` and `FARHEAP_POOL_SEED` repeat a run, or make it longer.
#[test]
fn killed_processes_leave_no_half_of_a_transaction() {
    let folder = Folder::new();
    let (path, pool) = pool(&folder);
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let client = refs.join().unwrap();
    let map = Map::create(&client, NAME, &OPTIONS).unwrap();
    let transactions = Transactions::new(&map).unwrap();
    fill(&transactions);
    let mut pairs = KilledPairs::new(WORKER, ["first", "second"], &path, begun(&pool));
    while let Some(pair) = pairs.start() {
        let actor = Actor::new(&transactions, 2, &told(&pool)[2]);
        for child in pair {
            pairs.kill(child);
            pairs.survive(|random| actor.act(random, &mut || {}));
            pairs.recover(|| client.recover(&Nothing(&pool)));
        }
        pairs.check(check_all(&refs, &client, &transactions));
    }
    pairs.report("transaction");
    println!("{} intents of others were settled", transactions.settled());
    assert!(transactions.settled() > 0, "no process was killed in the middle of a transaction");
    drop(map);
    pairs.check(clear(&refs, &pool, &client, 1));
}
