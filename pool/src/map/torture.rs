//! Processes that use two maps, and are killed, at crash points and anywhere.
//!
//! The test starts itself again as clients ([`child`]). One map evicts: clients put, look at and count random entries
//! there. The other one does not. Each client has keys there that it alone writes, and a *ledger* in the pool, in which
//! it notes what it is about to do, and what it was told to be done. After each kill the map must have what the ledger
//! says, no key is there twice, and no block is lost.

use super::client::{Map, MapOptions};
use super::tests::{Actor, Model, NAME};
use super::usage::check_all;
use crate::PoolError;
use crate::alloc::Heap;
use crate::crash::{Crash, Death, POINTS};
use crate::pool::Pool;
use crate::pool::torture::{KilledPairs, Nothing, Process, Random, started};
use crate::recover::Recovered;
use crate::refs::tests::{BYTES, CLIENTS, RESERVED};
use crate::refs::{RefClient, Refs};
use crate::segment::Backing;
use crate::sync::own;
use crate::sync::{AtomicU64, Ordering};
use crate::test_folder::Folder;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How many children have begun to work.
const STARTED_AT: u64 = 13 << 10;
const LEDGERS_AT: u64 = 14 << 10;
const PATIENCE: Duration = Duration::from_secs(20);
const WORKER: &str = "map::torture::child";

/// Keys of a client.
const KEYS: u64 = 12;
const OPTIONS: MapOptions = MapOptions { entries: 0, capacity: u64::MAX, evicts: false };
const SHORT: &[u8] = b"short";
const CACHE: MapOptions = MapOptions { entries: 0, capacity: 6_000, evicts: true };

/// What a client knows of its keys: in the pool, so it is known after its death. A value is a number; 0: none.
///
/// ```text
///   +----------------+-------------+---------+--------------------+
///   | open key, or 0 | open number | last    | number of each key |
///   +----------------+-------------+---------+--------------------+
/// ```
struct Ledger<'a> {
    words: &'a [AtomicU64],
    side: u64,
}

impl<'a> Ledger<'a> {
    fn new(pool: &'a Pool, side: u64) -> Ledger<'a> {
        let bytes = 8 * (3 + KEYS + 1);
        let words = pool.atomics(pool.data() + LEDGERS_AT + side * bytes, bytes as usize / 8);
        Ledger { words: words.unwrap(), side }
    }

    fn key(&self, n: u64) -> [u8; 16] {
        let mut key = [self.side as u8; 16];
        key[8..].copy_from_slice(&n.to_le_bytes());
        key
    }

    fn put(&self, n: usize, value: u64) {
        self.words[n].store(value, Ordering::Release);
    }

    /// Changes a key of the client.
    fn act(&self, map: &Map, random: &mut Random) {
        let n = 1 + random.below(KEYS);
        let before = own(&self.words[2 + n as usize]);
        assert_eq!(self.found(map, n), before, "key {n} of {}", self.side);
        let number = own(&self.words[2]) + 1;
        self.put(2, number);
        let next = if random.below(3) == 0 { 0 } else { number };
        self.put(1, next);
        self.put(0, n);
        let (key, value) = (self.key(n), number.to_le_bytes());
        match next {
            0 => assert_eq!(map.remove(&key).unwrap(), before != 0),
            _ if before == 0 && random.below(2) == 0 => {
                assert!(map.put_if_absent(&key, &value, 0).unwrap().is_some());
            }
            _ => _ = map.put(&key, &value, 0).unwrap(),
        }
        self.put(2 + n as usize, next);
        self.put(0, 0);
    }

    fn found(&self, map: &Map, n: u64) -> u64 {
        let mut value = [0; 8];
        map.get_into(&self.key(n), &mut value).unwrap();
        u64::from_le_bytes(value)
    }

    /// The client is dead, and was recovered. What it had begun is done, or not.
    fn settle(&self, map: &Map) -> Result<(), String> {
        let open = own(&self.words[0]);
        for n in 1..=KEYS {
            let [found, known] = [self.found(map, n), own(&self.words[2 + n as usize])];
            if found != known && !(open == n && found == own(&self.words[1])) {
                return Err(format!("key {n} of {} has {found}, not {known}", self.side));
            }
            self.put(2 + n as usize, found);
        }
        self.put(0, 0);
        Ok(())
    }
}

/// Puts some entries into a map that others clear or destroy at any time, and then does the same.
fn fill_and_empty(client: &RefClient, random: &mut Random) {
    let map = Map::create(client, SHORT, &OPTIONS).unwrap();
    for _ in 0..KEYS * 3 {
        let value = [random.below(256) as u8; 50];
        match map.put(&random.below(100).to_le_bytes(), &value, 0) {
            Ok(_) => {}
            Err(PoolError::Closed) => return,
            Err(error) => panic!("{error}"),
        }
    }
    match random.below(2) {
        0 => match map.clear() {
            Ok(()) | Err(PoolError::Closed) => {}
            Err(error) => panic!("{error}"),
        },
        _ => _ = Map::destroy(client, SHORT).unwrap(),
    }
}

/// What a process does that another test started. By itself it passes.
#[test]
fn child() {
    let Some((pool, role)) = started() else { return };
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let (mut random, start) = (Random(std::process::id().into()), Instant::now());
    let side = match &*role {
        "recover" => {
            refs.join().unwrap().recover(&Nothing(&pool)).unwrap();
            return;
        }
        "first" => 0,
        _ => 1,
    };
    let ledger = Ledger::new(&pool, side);
    pool.atomics(pool.data() + STARTED_AT, 1).unwrap()[0].fetch_add(1, Ordering::AcqRel);
    // Until it is killed. If that fails, it must not work for ever.
    while start.elapsed() < PATIENCE {
        let client = refs.join().unwrap();
        let map = Map::create(&client, b"ledger", &OPTIONS).unwrap();
        let model = RefCell::new(Model::default());
        let mut actor = Actor::new(&client, side as u8, &CACHE, &model);
        for _ in 0..random.below(2000) {
            ledger.act(&map, &mut random);
            actor.act(&mut random);
            if random.below(30) == 0 {
                fill_and_empty(&client, &mut random);
            }
        }
        actor.stop_looking();
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

fn start(path: &Path, role: &str, point: &'static str, hit: usize) -> Process {
    Process::of_test(WORKER, path, role, Some((Crash { point, hit }, Death::Kill)))
}

fn recover(client: &RefClient, pool: &Pool) -> Recovered {
    client.recover(&Nothing(pool)).unwrap()
}

/// Nobody but this client is at work.
fn check(refs: &Refs, pool: &Pool, client: &RefClient, map: &Map) -> Result<(), String> {
    for side in 0..2 {
        Ledger::new(pool, side).settle(map)?;
    }
    client.reclaim().unwrap();
    let cache = Map::create(client, NAME, &CACHE).unwrap();
    let stats = cache.stats().unwrap();
    if stats.bytes > 2 * stats.capacity {
        return Err(format!("{stats:?}"));
    }
    // If who destroyed it was killed, that is finished.
    let short = Map::create(client, SHORT, &OPTIONS).unwrap();
    check_all(refs, &[map, &cache, &short])
}

/// A real process dies at each point as a client, and perhaps another one there as its recoverer.
#[test]
fn a_process_that_dies_at_any_point_is_recovered() {
    let folder = Folder::new();
    let (path, pool) = pool(&folder);
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let client = refs.join().unwrap();
    let map = Map::create(&client, b"ledger", &OPTIONS).unwrap();
    let of = |floor: &'static str, hits: [usize; 2]| {
        let points = POINTS.iter().filter(move |point| point.starts_with(floor));
        points.flat_map(move |point| hits.map(|hit| (*point, hit)))
    };
    for (point, hit) in of("shared.", [5, 40]).chain(of("map.", [1, 3])) {
        println!("{point}");
        start(&path, "first", point, hit).wait(Death::Kill);
        let mut recoverer = start(&path, "recover", point, 1);
        while !recoverer.has_ended() {
            sleep(Duration::from_micros(200));
        }
        recover(&client, &pool);
        let wrong = |wrong| panic!("{point}: {wrong}");
        check(&refs, &pool, &client, &map).unwrap_or_else(wrong);
    }
}

/// `FARHEAP_POOL_SECONDS` and `FARHEAP_POOL_SEED` repeat a run, or make it longer.
#[test]
fn killed_processes_lose_no_entry() {
    let folder = Folder::new();
    let (path, pool) = pool(&folder);
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let client = refs.join().unwrap();
    let map = Map::create(&client, b"ledger", &OPTIONS).unwrap();
    let started = &pool.atomics(pool.data() + STARTED_AT, 1).unwrap()[0];
    let ledger = Ledger::new(&pool, 2);
    let mut pairs = KilledPairs::new(WORKER, ["first", "second"], &path, started);
    while let Some(pair) = pairs.start() {
        let model = RefCell::new(Model::default());
        let mut actor = Actor::new(&client, 2, &CACHE, &model);
        for child in pair {
            pairs.kill(child);
            pairs.survive(|random| {
                ledger.act(&map, random);
                actor.act(random);
            });
            pairs.recover(|| client.recover(&Nothing(&pool)));
        }
        actor.stop_looking();
        drop(actor);
        pairs.check(check(&refs, &pool, &client, &map));
    }
    pairs.report("two operations");
    drop(map);
    assert!(Map::destroy(&client, b"ledger").unwrap());
    Map::destroy(&client, SHORT).unwrap();
    pairs.check(super::tests::clear(&refs, &pool, &client, 5));
}
