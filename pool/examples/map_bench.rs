//! How fast a map in a pool is.
//!
//! ```text
//! cargo run --release -p pool --example map_bench [SECONDS [NAME [pool]]]
//! ```
//!
//! Keys have 8 bytes. An operation is a look-up that copies the value, a put, or a removal.
//!
//! * `1:9`: a put for each nine look-ups, values of 64 bytes, all keys equally often.
//! * `0:1`, `1:0`: look-ups only, puts only.
//! * `single`: as `1:9`, and each look-up announces itself as a reader; in the other rows a reader is kept for 64
//!   operations.
//! * `A` to `D`: the loads of YCSB, values of 100 bytes, keys by Zipf's law (0.99): half of the operations are puts; a
//!   twentieth is; none is; a twentieth puts a new key, and look-ups prefer the last ones.
//! * `A, deletes`: half look-ups, a quarter puts, a quarter removals, values of 960 bytes, half a million keys.
//! * `cache`: as `A`, with room for a quarter of the keys: each look-up that finds nothing is followed by a put.
//!
//! The peer is a `HashMap` of the standard library in 64 parts, each with a lock, in the threads of one process. It
//! evicts nothing: it has no row for `cache`. Time is CPU time, so that other programs count less; latencies are those
//! of each 31st operation by the clock on the wall. PSS is that of all processes together, in MB. Each figure is that
//! of the best of three runs. With a name, only the loads that begin with it are measured; with `pool` behind it,
//! without the peer.

mod common;

use common::zipf::{Random, Zipf};
use common::{Shared, clock, pss, wait_for};
use pool::{Heap, Map, MapOptions, Pool, RefClient, Refs};
use std::collections::HashMap;
use std::env;
use std::hint::{black_box, spin_loop};
use std::path::Path;
use std::process::exit;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const RUNS: usize = 3;
const RESERVED: u64 = 64 << 10;
const WORDS_AT: u64 = 16 << 10;
const POOL: u64 = 8 << 30;
/// Operations are chosen before the time begins.
const CHOICES: usize = 1 << 20;
const SHARDS: usize = 64;
const BATCH: usize = 64;
const SAMPLE: usize = 31;

struct Load {
    name: &'static str,
    keys: u64,
    value: usize,
    /// Puts and removals in a thousand operations.
    puts: u64,
    removals: u64,
    keys_are: Keys,
    /// Of all entries, in percent.
    room: u64,
    keeps_reader: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Keys {
    Uniform,
    Zipf,
    Latest,
}

const fn load(name: &'static str, keys: u64, value: usize, puts: u64, keys_are: Keys) -> Load {
    Load { name, keys, value, puts, removals: 0, keys_are, room: 0, keeps_reader: true }
}

static LOADS: [Load; 11] = [
    load("0:1, 10,000 keys", 10_000, 64, 0, Keys::Uniform),
    load("1:0, 10,000 keys", 10_000, 64, 1000, Keys::Uniform),
    load("1:9, 10,000 keys", 10_000, 64, 100, Keys::Uniform),
    load("1:9, 1,000,000 keys", 1_000_000, 64, 100, Keys::Uniform),
    Load { keeps_reader: false, ..load("single, 10,000 keys", 10_000, 64, 100, Keys::Uniform) },
    load("A", 1_000_000, 100, 500, Keys::Zipf),
    load("B", 1_000_000, 100, 50, Keys::Zipf),
    load("C", 1_000_000, 100, 0, Keys::Zipf),
    load("D", 1_000_000, 100, 50, Keys::Latest),
    Load { removals: 250, ..load("A, deletes", 500_000, 960, 250, Keys::Zipf) },
    Load { room: 25, ..load("cache", 1_000_000, 100, 0, Keys::Zipf) },
];

fn main() {
    let mut arguments = env::args().skip(1);
    let first = arguments.next();
    if first.as_deref() == Some("child") {
        let values: Vec<String> = arguments.collect();
        let [path, n, role] = &values[..] else { exit(2) };
        let pool = Pool::open(Path::new(path)).expect("the parent's pool");
        let load = &LOADS[n.parse::<usize>().expect("a load")];
        match role.strip_prefix("peer") {
            Some(threads) => peer(&pool, load, threads.parse().expect("a number")),
            None => run(&pool, load, role.parse().expect("a number")),
        }
        return;
    }
    let seconds = first.map_or(0.5, |text| text.parse().expect("a number of seconds"));
    let time = Duration::from_secs_f64(seconds);
    let wanted = arguments.next().unwrap_or_default();
    let has_peer = arguments.next().is_none();
    println!("                                      pool                        peer");
    println!(
        "load                        clients    M/s  p50 ns  p99 ns    PSS    M/s  p50 ns  p99 ns    PSS  ratio"
    );
    for (n, load) in LOADS.iter().enumerate().filter(|(_, load)| load.name.starts_with(&wanted)) {
        for count in [1, 2] {
            let ours = best(|| measure(n, time, (0..count).map(|role| role.to_string()).collect()));
            print!("{:28} {count:6} {ours}", load.name);
            if load.room == 0 && has_peer {
                let theirs = best(|| measure(n, time, vec![format!("peer{count}")]));
                println!(" {theirs} {:6.2}", ours.rate / theirs.rate);
            } else {
                println!();
            }
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Figures {
    rate: f64,
    latencies: [u64; 2],
    pss: u64,
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [half, last] = self.latencies;
        write!(f, "{:6.2} {half:7} {last:7} {:6}", self.rate, self.pss)
    }
}

fn best(run: impl Fn() -> Figures) -> Figures {
    (0..RUNS).map(|_| run()).max_by(|one, two| one.rate.total_cmp(&two.rate)).expect("a run")
}

/// What the parent and its children tell each other.
struct Words<'a> {
    ready: &'a AtomicU64,
    go: &'a AtomicU64,
    end: &'a AtomicU64,
    done: &'a AtomicU64,
    nanos: &'a AtomicU64,
    latencies: [&'a AtomicU64; 2],
    pss: &'a AtomicU64,
}

impl<'a> Words<'a> {
    fn of(pool: &'a Pool) -> Words<'a> {
        let words = pool.atomics(pool.data() + WORDS_AT, 8 * 16).expect("the reserved part");
        let [ready, go, end, done, nanos, half, last, pss] =
            std::array::from_fn(|n| &words[n * 16]);
        Words { ready, go, end, done, nanos, latencies: [half, last], pss }
    }

    fn report(&self, operations: u64, nanos: u64, mut samples: Vec<u64>) {
        samples.sort_unstable();
        self.done.fetch_add(operations, Ordering::AcqRel);
        self.nanos.fetch_max(nanos, Ordering::AcqRel);
        for (word, part) in self.latencies.iter().zip([50, 99]) {
            let sample = samples.get(samples.len() * part / 100).copied().unwrap_or(0);
            word.fetch_max(sample, Ordering::AcqRel);
        }
    }
}

fn measure(load: usize, time: Duration, roles: Vec<String>) -> Figures {
    let shared = Shared::new("map-bench", POOL);
    let words = Words::of(&shared.pool);
    let children: Vec<_> = roles
        .iter()
        .enumerate()
        .map(|(n, role)| {
            let child = shared.start(&[&load.to_string(), role]);
            // The first one puts all keys.
            wait_for(words.ready, |ready| ready == n as u64 + 1);
            child
        })
        .collect();
    words.go.store(1, Ordering::Release);
    thread::sleep(time);
    words.end.store(1, Ordering::Release);
    wait_for(words.ready, |ready| ready == 0);
    for mut child in children {
        child.wait().expect("a child");
    }
    let [done, nanos, pss] =
        [words.done, words.nanos, words.pss].map(|n| n.load(Ordering::Acquire));
    let latencies = words.latencies.map(|n| n.load(Ordering::Acquire));
    Figures { rate: done as f64 * 1e3 / nanos as f64, latencies, pss: pss >> 20 }
}

/// What a client does: an operation and a key, in few bytes, as they lie in the same caches as the entries.
#[derive(Clone, Copy)]
struct Choice(u32);

const LOOK: u64 = 0;
const PUT: u64 = 1;
const REMOVE: u64 = 2;

impl Choice {
    fn new(operation: u64, key: u64) -> Choice {
        assert!(key < 1 << 30);
        Choice((operation << 30 | key) as u32)
    }

    fn operation(self) -> u64 {
        u64::from(self.0 >> 30)
    }

    fn key(self) -> [u8; 8] {
        u64::from(self.0 & ((1 << 30) - 1)).to_le_bytes()
    }
}

/// Keys and operations, chosen by a seed.
fn choices(load: &Load, seed: u64) -> Vec<Choice> {
    let (mut random, zipf) = (Random::new(seed), Zipf::new(load.keys));
    let mut newest = load.keys * (1 + seed);
    (0..CHOICES)
        .map(|_| {
            let kind = random.next() % 1000;
            let choice = match kind {
                _ if kind < load.puts => PUT,
                _ if kind < load.puts + load.removals => REMOVE,
                _ => LOOK,
            };
            let key = match (load.keys_are, choice) {
                (Keys::Uniform, _) => random.next() % load.keys,
                (Keys::Latest, PUT) => {
                    newest += 1;
                    newest
                }
                (Keys::Latest, _) => newest - zipf.rank(&mut random).min(newest),
                // Frequent keys are spread over the table.
                (Keys::Zipf, _) => zipf.spread(&mut random),
            };
            Choice::new(choice, key)
        })
        .collect()
}

/// A store that is measured.
trait Store {
    fn look(&self, key: &[u8; 8], into: &mut [u8]) -> bool;
    fn put(&self, key: &[u8; 8], value: &[u8]);
    fn remove(&self, key: &[u8; 8]);
}

impl Store for Map<'_> {
    #[inline]
    fn look(&self, key: &[u8; 8], into: &mut [u8]) -> bool {
        self.get_into(key, into).expect("a map").is_some()
    }

    #[inline]
    fn put(&self, key: &[u8; 8], value: &[u8]) {
        Map::put(self, key, value, 0).expect("memory");
    }

    #[inline]
    fn remove(&self, key: &[u8; 8]) {
        Map::remove(self, key).expect("a map");
    }
}

type Shard = Mutex<HashMap<[u8; 8], Box<[u8]>>>;

struct Sharded(Vec<Shard>);

impl Sharded {
    fn shard(&self, key: &[u8; 8]) -> &Shard {
        let hash = u64::from_le_bytes(*key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.0[(hash >> 58) as usize % SHARDS]
    }
}

impl Store for Sharded {
    fn look(&self, key: &[u8; 8], into: &mut [u8]) -> bool {
        let shard = self.shard(key).lock().expect("a thread");
        let found = shard.get(key);
        if let Some(value) = found {
            into.copy_from_slice(value);
        }
        found.is_some()
    }

    fn put(&self, key: &[u8; 8], value: &[u8]) {
        self.shard(key).lock().expect("a thread").insert(*key, value.into());
    }

    fn remove(&self, key: &[u8; 8]) {
        self.shard(key).lock().expect("a thread").remove(key);
    }
}

/// Works until the end; `between` comes after each batch. Returns how many operations it did, and samples of latencies.
fn work(
    store: &impl Store,
    load: &Load,
    choices: &[Choice],
    end: &AtomicU64,
    mut between: impl FnMut(),
) -> (u64, Vec<u64>) {
    let (mut operations, mut samples) = (0, Vec::new());
    let (value, mut into) = (vec![7; load.value], vec![0; load.value]);
    let mut act = |choice: Choice| {
        let key = choice.key();
        match choice.operation() {
            PUT => store.put(&key, &value),
            REMOVE => store.remove(&key),
            _ => {
                let is_there = store.look(&key, &mut into);
                if !is_there && load.room != 0 {
                    store.put(&key, &value);
                }
            }
        }
        black_box(&mut into);
    };
    'all: loop {
        for batch in choices.chunks(BATCH) {
            for (n, choice) in batch.iter().enumerate() {
                if n == SAMPLE {
                    let start = Instant::now();
                    act(*choice);
                    samples.push(start.elapsed().as_nanos() as u64);
                } else {
                    act(*choice);
                }
            }
            operations += batch.len() as u64;
            between();
            if end.load(Ordering::Relaxed) != 0 {
                break 'all;
            }
        }
    }
    (operations, samples)
}

fn run(pool: &Pool, load: &Load, role: u64) {
    let heap = Heap::new(pool, RESERVED).expect("a heap");
    let refs = Refs::new(&heap, pool.data()).expect("the layer");
    let client: RefClient = refs.join().expect("an identity");
    let words = Words::of(pool);
    // An entry of 100 bytes has a block of 192, and its part of the table's nodes.
    let capacity = if load.room == 0 { u64::MAX } else { load.keys * load.room / 100 * 220 };
    let options = MapOptions { entries: load.keys, capacity, evicts: load.room != 0 };
    let map = Map::create(&client, b"bench", &options).expect("a map");
    if role == 0 {
        let value = vec![7; load.value];
        (0..load.keys).for_each(|key| Store::put(&map, &key.to_le_bytes(), &value));
    }
    // Each process maps the pages of the pool by itself, when it first comes to them.
    let mut into = vec![0; load.value];
    (0..load.keys).for_each(|key| _ = black_box(map.look(&key.to_le_bytes(), &mut into)));
    let choices = choices(load, role);
    words.ready.fetch_add(1, Ordering::AcqRel);
    while words.go.load(Ordering::Acquire) == 0 {
        spin_loop();
    }
    let start = clock();
    let (operations, samples) = if load.keeps_reader {
        let mut reader = client.read().expect("a clock");
        work(&map, load, &choices, words.end, || reader.renew().expect("a clock"))
    } else {
        work(&map, load, &choices, words.end, || {})
    };
    words.report(operations, clock() - start, samples);
    words.pss.fetch_add(pss(), Ordering::AcqRel);
    if role == 0 {
        eprint(&map);
    }
    drop(map);
    drop(client);
    words.ready.fetch_sub(1, Ordering::AcqRel);
}

/// With `FARHEAP_MAP_STATS`, what the map counts.
fn eprint(map: &Map) {
    if env::var_os("FARHEAP_MAP_STATS").is_some() {
        eprintln!("{:?}", map.stats().expect("a map"));
    }
}

fn peer(pool: &Pool, load: &Load, threads: u64) {
    let words = Words::of(pool);
    let store = Sharded((0..SHARDS).map(|_| Mutex::default()).collect());
    let value = vec![7; load.value];
    (0..load.keys).for_each(|key| store.put(&key.to_le_bytes(), &value));
    let choices: Vec<_> = (0..threads).map(|seed| choices(load, seed)).collect();
    words.ready.fetch_add(1, Ordering::AcqRel);
    while words.go.load(Ordering::Acquire) == 0 {
        spin_loop();
    }
    thread::scope(|scope| {
        for choices in &choices {
            let (store, words) = (&store, &words);
            scope.spawn(move || {
                let start = clock();
                let (operations, samples) = work(store, load, choices, words.end, || {});
                words.report(operations, clock() - start, samples);
            });
        }
    });
    words.pss.fetch_add(pss(), Ordering::AcqRel);
    words.ready.fetch_sub(1, Ordering::AcqRel);
}
