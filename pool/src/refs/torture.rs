//! Processes that share objects, and are killed, at crash points and anywhere.
//!
//! The test starts itself again as clients ([`child`]), which make objects, refer to them, send them to each other, and
//! look at those of others. After each round every count must be the number of its references, and no block is lost.

use super::audit::audit;
use super::client::{RefClient, Refs};
use super::tests::{Actor, BYTES, ring_words};
pub(crate) use super::tests::{CLIENTS, RESERVED};
use crate::alloc::Heap;
use crate::crash::{Crash, Death, POINTS};
use crate::pool::Pool;
use crate::pool::torture::{KilledPairs, Nothing, Process, Random, started};
use crate::recover::Recovered;
use crate::segment::Backing;
use crate::test_folder::Folder;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How many children have begun to work.
const STARTED_AT: u64 = 13 << 10;
const PATIENCE: Duration = Duration::from_secs(20);
/// The test that clients run: as `first` and `second` until they are killed.
pub(crate) const WORKER: &str = "refs::torture::child";

/// How many workers have begun.
pub(crate) fn work_has_begun(pool: &Pool) -> u64 {
    pool.atomics(pool.data() + STARTED_AT, 1).unwrap()[0].load(Ordering::Acquire)
}

/// A client of another test, which lives.
pub(crate) struct Survivor<'a> {
    pool: &'a Pool,
    heap: &'a Heap<'a>,
}

impl<'a> Survivor<'a> {
    pub(crate) fn new(pool: &'a Pool, heap: &'a Heap<'a>) -> Survivor<'a> {
        Survivor { pool, heap }
    }

    /// Random operations. Returns the time of the longest one.
    pub(crate) fn act(&self, random: &mut Random, count: u64, clock: fn() -> Duration) -> Duration {
        let refs = Refs::new(self.heap, self.pool.data()).unwrap();
        let client = refs.join().unwrap();
        let mut actor = Actor::new(self.pool, &client, 2);
        let mut longest = Duration::ZERO;
        for _ in 0..random.below(count) {
            let start = clock();
            actor.act(random);
            longest = longest.max(clock() - start);
        }
        actor.stop_looking();
        longest
    }

    /// Nobody is at work, and all are recovered.
    pub(crate) fn check(&self) -> Result<(), String> {
        let refs = Refs::new(self.heap, self.pool.data()).map_err(|error| error.to_string())?;
        audit(&refs, &ring_words(self.pool)).map(|_| ())
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
        "step" => {
            let client = refs.join().unwrap();
            let object = client.alloc(8, 1).unwrap();
            drop(client.share(&object).unwrap());
            return;
        }
        "first" => 0,
        _ => 1,
    };
    pool.atomics(pool.data() + STARTED_AT, 1).unwrap()[0].fetch_add(1, Ordering::AcqRel);
    // Until it is killed. If that fails, it must not work for ever.
    while start.elapsed() < PATIENCE {
        let client = refs.join().unwrap();
        let mut actor = Actor::new(&pool, &client, side);
        for _ in 0..random.below(2000) {
            actor.act(&mut random);
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

/// A real process dies at each point as a client, and perhaps another one there as its recoverer.
#[test]
fn a_process_that_dies_at_any_point_is_recovered() {
    let folder = Folder::new();
    let (path, pool) = pool(&folder);
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let client = refs.join().unwrap();
    let mut random = Random(1);
    for point in POINTS.iter().filter(|point| point.starts_with("refs.")) {
        println!("{point}");
        start(&path, "first", point, 2).wait(Death::Kill);
        let mut recoverer = start(&path, "recover", point, 1);
        while !recoverer.has_ended() {
            sleep(Duration::from_micros(200));
        }
        // It receives what the dead have sent.
        let mut actor = Actor::new(&pool, &client, 1);
        (0..200).for_each(|_| actor.act(&mut random));
        recover(&client, &pool);
        actor.stop_looking();
        client.reclaim().unwrap();
        audit(&refs, &ring_words(&pool)).unwrap_or_else(|wrong| panic!("{point}: {wrong}"));
    }
}

/// A process that hangs keeps what it has, until it is killed.
#[test]
fn a_stopped_process_is_recovered_only_after_it_was_fenced() {
    for point in ["refs.attached", "refs.release_begun", "refs.cleared", "detect.exchanged"] {
        let folder = Folder::new();
        let (path, pool) = pool(&folder);
        let heap = Heap::new(&pool, RESERVED).unwrap();
        let refs = Refs::new(&heap, pool.data()).unwrap();
        let client = refs.join().unwrap();
        let hit = if point == "detect.exchanged" { 3 } else { 1 };
        let crash = Some((Crash { point, hit }, Death::Stop));
        let mut stopped = Process::of_test(WORKER, &path, "step", crash);
        stopped.wait(Death::Stop);
        assert_eq!(recover(&client, &pool), Recovered::default(), "{point}");
        assert!(client.fence(2, PATIENCE).unwrap());
        assert_eq!(recover(&client, &pool).clients, 1, "{point}");
        let contents = audit(&refs, &ring_words(&pool)).unwrap();
        assert!(contents.objects.is_empty(), "{point}: {contents:?}");
        stopped.wait(Death::Kill);
    }
}

/// `FARHEAP_POOL_SECONDS` and `FARHEAP_POOL_SEED` repeat a run, or make it longer.
#[test]
fn killed_processes_lose_no_object() {
    let folder = Folder::new();
    let (path, pool) = pool(&folder);
    let heap = Heap::new(&pool, RESERVED).unwrap();
    let refs = Refs::new(&heap, pool.data()).unwrap();
    let client = refs.join().unwrap();
    let started = &pool.atomics(pool.data() + STARTED_AT, 1).unwrap()[0];
    let mut pairs = KilledPairs::new(WORKER, ["first", "second"], &path, started);
    while let Some(pair) = pairs.start() {
        let mut actor = Actor::new(&pool, &client, 2);
        for child in pair {
            pairs.kill(child);
            pairs.survive(|random| actor.act(random));
            pairs.recover(|| client.recover(&Nothing(&pool)));
        }
        actor.stop_looking();
        client.reclaim().unwrap();
        pairs.check(audit(&refs, &ring_words(&pool)));
    }
    pairs.report("operation");
    drop(client);
    let me = crate::identity::process::Process { pid: 1, birth: 1 };
    pairs.check(super::tests::clear(&refs, me));
}
