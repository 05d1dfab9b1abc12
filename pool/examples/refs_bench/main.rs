//! How fast counted objects of a pool are.
//!
//! ```text
//! cargo run --release -p pool --example refs_bench [SECONDS [NAME]]
//! ```
//!
//! * `objects`: 1,000 objects of 64 bytes are made and released, and again. An operation is one object. Beside it the
//!   same with `malloc` and `free` of mimalloc, in threads. Time is CPU time, so that other programs count less.
//! * `a word there and back`: one process writes a word, another one sees it and writes another word. It says what the
//!   two CPUs take, which depends on where they are: nothing between two processes is faster.
//! * `send`: one process makes objects and sends them, another one receives and releases them. A word of each line of
//!   an object is written, and read. Beside it the same with samples that iceoryx2 loans, through a service of one
//!   publisher and one subscriber.
//! * `message`: the same, but a message is sent when the last one was received. The time is that from before the object
//!   is made until its words are read.
//! * `call`: one process sends a message by reference, which has a function's number, an embedded reference to the
//!   argument and one to the result; another one reads the argument, writes the result, and sends the message back.
//!   An operation is a round trip. Beside it iceoryx2 with requests and responses, and with two services of messages.
//! * `recovery`: a process makes a million objects and is killed; another client releases them.
//!
//! In pairs each process has a CPU for itself, and a waiting side spins before it yields. Time is that of the clock on
//! the wall, of the median batch of messages or calls.
//!
//! Each figure is the best of five runs, in turn with those of the reference. The ratio is how many times as fast the
//! pool is in one turn, the median of the five: where the CPUs are may change from turn to turn. With a name, only the
//! rows that begin with it are measured. A process is a child that runs this program again; it opens the pool in the
//! file that its parent made.

mod by_iceoryx;
mod by_pool;
#[path = "../common/mod.rs"]
mod common;
mod pairs;

use common::{Nothing, Shared, clock, mimalloc, pin, wait_for};
use pairs::Signs;
use pool::{Heap, Pool, RefClient, Refs, Ring};
use std::env;
use std::hint::spin_loop;
use std::path::Path;
use std::process::{Child, exit};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const BYTES: u64 = 64;
/// Bytes of what a call is given, and of its result.
const CALL_BYTES: u64 = 64;
const OBJECTS: usize = 1_000;
const RUNS: usize = 5;
/// Words of each of the two rings.
const RING: usize = 1024;
/// The user's part of the pool: the layer, words for starting and ending, and the rings.
const RESERVED: u64 = 64 << 10;
const WORDS_AT: u64 = 8 << 10;
const RINGS_AT: u64 = 16 << 10;
const POOL: u64 = 2 << 30;
/// Objects of the process that is killed.
const HELD: usize = 1_000_000;

fn main() {
    let mut arguments = env::args().skip(1);
    let first = arguments.next();
    if first.as_deref() == Some("child") {
        let values: Vec<String> = arguments.collect();
        let [path, kind, role, n, bytes] = &values[..] else { exit(2) };
        let [n, bytes] = [n, bytes].map(|text| text.parse().expect("a number"));
        run(Path::new(path), kind, role, n, bytes as u64);
        return;
    }
    let seconds = first.map_or(0.5, |text| text.parse().expect("a number of seconds"));
    let time = Duration::from_secs_f64(seconds);
    let wanted = arguments.next().unwrap_or_default();
    println!(
        "{:40} {:>10} {:>20} {:>9}",
        format!("best of {RUNS} runs"),
        "pool",
        "reference",
        "ratio"
    );
    let row = |name: &str, ours: &dyn Fn() -> f64, theirs: Option<(&str, &dyn Fn() -> f64)>| {
        if name.starts_with(&wanted) {
            show(name, ours, theirs);
        }
    };
    let pool = |roles| move || processes("pool", roles, BYTES, time);
    let mimalloc = |threads| move || mimalloc::threadtest(threads, OBJECTS, BYTES as usize, time);
    let beside = |name: &str, bytes, roles, others| {
        let ours = || processes("pool", roles, bytes, time);
        let theirs = || processes("iceoryx2", others, bytes, time);
        row(name, &ours, Some(("iceoryx2", &theirs)));
    };
    row("objects, one process, M/s", &pool(&["objects"]), Some(("mimalloc", &mimalloc(1))));
    row("objects, two processes, M/s", &pool(&["objects"; 2]), Some(("mimalloc", &mimalloc(2))));
    row("share and release in one process, M/s", &pool(&["share"]), None);
    row("look at an object in one process, M/s", &pool(&["look"]), None);
    row("a word there and back, us", &pool(&["ask", "answer"]), None);
    for bytes in [64, 1024] {
        let (all, each) = (&["send", "receive"], &["send-each", "receive-each"]);
        beside(&format!("send {bytes} bytes, M/s"), bytes, all, all);
        beside(&format!("message of {bytes} bytes, us"), bytes, each, each);
    }
    let (calls, requests) = (&["call", "serve"], &["request", "respond"]);
    beside("call, beside requests, us", CALL_BYTES, calls, requests);
    beside("call, beside messages, us", CALL_BYTES, calls, calls);
    row("recovery of a million objects, M/s", &recovery, None);
}

/// Measures both sides in turn, and prints the best of each, and the median of the ratios. They are given in M/s.
fn show(name: &str, ours: &dyn Fn() -> f64, theirs: Option<(&str, &dyn Fn() -> f64)>) {
    let (mut best, mut ratios) = ([0f64; 2], Vec::new());
    for _ in 0..RUNS {
        let rates = [ours(), theirs.map_or(0.0, |(_, theirs)| theirs())];
        best = std::array::from_fn(|side| best[side].max(rates[side]));
        ratios.push(rates[0] / rates[1]);
    }
    ratios.sort_by(f64::total_cmp);
    let [ours, others] = best.map(|rate| if name.ends_with("us") { 1.0 / rate } else { rate });
    let reference = theirs
        .map(|(reference, _)| format!("{others:10.2} {reference:10} {:8.2}", ratios[RUNS / 2]));
    println!("{name:40} {ours:10.2} {}", reference.unwrap_or_default());
}

/// What the files of a run with this pool are named by.
fn name_of(pool: &Path) -> &str {
    pool.file_name().and_then(|name| name.to_str()).expect("a pool's name")
}

/// Files of the references. They are removed when the run is over, also if it fails.
struct Files {
    name: String,
}

impl Files {
    fn of(shared: &Shared) -> Files {
        let (path, name) = (shared.path().to_path_buf(), name_of(shared.path()).to_string());
        let (files, print) = (Files { name: name.clone() }, std::panic::take_hook());
        // A panic ends the process without dropping anything.
        std::panic::set_hook(Box::new(move |panic| {
            print(panic);
            by_iceoryx::remove_files(&name);
            let _ = std::fs::remove_file(&path);
        }));
        files
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::panic::take_hook();
        by_iceoryx::remove_files(&self.name);
    }
}

/// Millions of operations a second of processes with these roles.
fn processes(kind: &str, roles: &[&str], bytes: u64, time: Duration) -> f64 {
    let shared = Shared::new("refs-bench", POOL);
    let _files = Files::of(&shared);
    let start =
        |(n, role): (usize, &&str)| shared.start(&[kind, role, &n.to_string(), &bytes.to_string()]);
    let mut children: Vec<_> = roles.iter().enumerate().map(start).collect();
    let [ready, go, end, done, nanos, ..] = words(&shared.pool);
    watch(&mut children, || ready.load(Ordering::Acquire) == roles.len() as u64);
    go.store(1, Ordering::Release);
    thread::sleep(time);
    end.store(1, Ordering::Release);
    watch(&mut children, || ready.load(Ordering::Acquire) == 0);
    for mut child in children {
        assert!(child.wait().expect("a child").success());
    }
    done.load(Ordering::Acquire) as f64 * 1e3 / nanos.load(Ordering::Acquire) as f64
}

/// Waits for what the children do. If one of them fails, the others are ended.
fn watch(children: &mut [Child], is_there: impl Fn() -> bool) {
    while !is_there() {
        let ended = |child: &mut Child| child.try_wait().expect("a child");
        let failed = children.iter_mut().filter_map(ended).find(|status| !status.success());
        if let Some(status) = failed {
            for child in children {
                let _ = child.kill().and_then(|()| child.wait());
            }
            panic!("a child failed: {status}");
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Millions of objects a second that the recovery of a killed process releases.
fn recovery() -> f64 {
    let shared = Shared::new("refs-bench", POOL);
    let mut child = shared.start(&["pool", "hold", "0", "0"]);
    wait_for(words(&shared.pool)[0], |ready| ready == 1);
    child.kill().expect("a child");
    child.wait().expect("a child");
    let heap = Heap::new(&shared.pool, RESERVED).expect("a heap");
    let refs = Refs::new(&heap, shared.pool.data()).expect("the layer");
    let client = refs.join().expect("an identity");
    let start = clock();
    let done = client.recover(&Nothing).expect("a recovery");
    assert_eq!(done.clients, 1);
    HELD as f64 * 1e3 / (clock() - start) as f64
}

/// Words in the user's part: how many processes are ready, whether they may start, whether they must end, operations of
/// all, the nanoseconds of the one that took longest, the last message that was received, and a word for each way.
fn words(pool: &Pool) -> [&AtomicU64; 8] {
    let words = pool.atomics(pool.data() + WORDS_AT, 8 * 16).expect("the reserved part");
    std::array::from_fn(|n| &words[n * 16])
}

fn ring(pool: &Pool, n: u64) -> Ring<'_> {
    let at = pool.data() + RINGS_AT + n * Ring::bytes(RING).next_multiple_of(64);
    Ring::new(pool, at, RING).expect("the reserved part")
}

/// What the n-th child does.
fn run(path: &Path, kind: &str, role: &str, n: usize, bytes: u64) {
    let pool = &Pool::open(path).expect("the parent's pool");
    let [ready, go, end, done, nanos, seen, asked, answered] = words(pool);
    let begin = || {
        ready.fetch_add(1, Ordering::AcqRel);
        while go.load(Ordering::Acquire) == 0 {
            spin_loop();
        }
    };
    let signs = Signs { end, seen, asked, answered };
    let (operations, took) = if kind == "iceoryx2" {
        pin(n);
        by_iceoryx::run(role, bytes, name_of(path), signs, begin)
    } else {
        let heap = Heap::new(pool, RESERVED).expect("a heap");
        let refs = Refs::new(&heap, pool.data()).expect("the layer");
        let client = refs.join().expect("an identity");
        let alone = |work: fn(&RefClient, &AtomicU64) -> u64| {
            begin();
            let start = clock();
            let operations = work(&client, end);
            (operations, clock() - start)
        };
        match role {
            "hold" => return hold(&client, ready),
            "objects" => alone(objects),
            "share" => alone(share),
            "look" => alone(look),
            _ => {
                pin(n);
                by_pool::run(role, bytes, &client, pool, signs, begin)
            }
        }
    };
    done.fetch_add(operations, Ordering::AcqRel);
    nanos.fetch_max(took, Ordering::AcqRel);
    ready.fetch_sub(1, Ordering::AcqRel);
}

/// Has objects until it is killed.
fn hold(client: &RefClient, ready: &AtomicU64) {
    let held: Vec<_> = (0..HELD).map(|_| client.alloc(BYTES, 0).expect("memory")).collect();
    ready.fetch_add(1, Ordering::AcqRel);
    thread::sleep(Duration::from_secs(60));
    drop(held);
}

fn objects(client: &RefClient, end: &AtomicU64) -> u64 {
    let (mut operations, mut held) = (0, Vec::with_capacity(OBJECTS));
    while end.load(Ordering::Relaxed) == 0 {
        held.extend((0..OBJECTS).map(|_| client.alloc(BYTES, 0).expect("memory")));
        held.clear();
        operations += OBJECTS as u64;
    }
    operations
}

fn share(client: &RefClient, end: &AtomicU64) -> u64 {
    let object = client.alloc(BYTES, 0).expect("memory");
    let mut operations = 0;
    while end.load(Ordering::Relaxed) == 0 {
        for _ in 0..OBJECTS {
            client.share(&object).expect("it is alive").release().expect("it is counted");
        }
        operations += OBJECTS as u64;
    }
    operations
}

/// Follows an embedded reference from a persistent root, and reads a word.
fn look(client: &RefClient, end: &AtomicU64) -> u64 {
    let [outer, inner] = [1, 0].map(|embedded| client.alloc(BYTES, embedded).expect("memory"));
    client.set(&outer, 0, Some(&inner)).expect("it is empty");
    client.set_persistent(0, Some(&outer)).expect("it is empty");
    let (mut operations, mut sum) = (0, 0);
    while end.load(Ordering::Relaxed) == 0 {
        let reader = client.read().expect("a clock");
        for _ in 0..OBJECTS {
            let outer = reader.persistent(0).expect("a root").expect("an object");
            let inner = outer.follow(0).expect("a reference").expect("an object");
            sum += inner.data().expect("an object")[0].load(Ordering::Relaxed);
        }
        operations += OBJECTS as u64;
    }
    client.set_persistent(0, None).expect("a root");
    std::hint::black_box(sum);
    operations
}
