//! How fast counted objects of a pool are.
//!
//! ```text
//! cargo run --release -p pool --example refs_bench [SECONDS [NAME]]
//! ```
//!
//! * `objects`: 1,000 objects of 64 bytes are made and released, and again. An operation is one object. Beside it the
//!   same with `malloc` and `free` of mimalloc, in threads. Time is CPU time, so that other programs count less.
//! * `send`: one process makes objects of 64 bytes and sends them, another one receives and releases them.
//! * `call`: one process sends a message by reference, which has a function's number, an embedded reference to the
//!   argument and one to the result; another one reads the argument, writes the result, and sends the message back.
//!   An operation is a round trip. In both, time is that of the clock on the wall, and a waiting side spins before
//!   it yields.
//! * `recovery`: a process makes a million objects and is killed; another client releases them.
//!
//! With a name, only the rows that begin with it are measured. Each figure is the best of five runs. A process is a
//! child that runs this program again; it opens the pool in the file that its parent made.

#[path = "../common/mod.rs"]
mod common;

use common::{Nothing, Shared, clock, wait_for};
use pool::{Heap, Message, Pool, Ref, RefClient, RefReceiver, Refs, Ring};
use std::env;
use std::hint::spin_loop;
use std::path::Path;
use std::process::exit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const BYTES: u64 = 64;
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
        let [path, role] = &values[..] else { exit(2) };
        run(&Pool::open(Path::new(path)).expect("the parent's pool"), role);
        return;
    }
    let seconds = first.map_or(0.5, |text| text.parse().expect("a number of seconds"));
    let time = Duration::from_secs_f64(seconds);
    let wanted = arguments.next().unwrap_or_default();
    println!("best of {RUNS} runs                                      pool  mimalloc  ratio");
    let row = |name: &str, ours: &dyn Fn() -> f64, theirs: Option<&dyn Fn() -> f64>| {
        if name.starts_with(&wanted) {
            let (theirs, ours) = (theirs.map(best), best(ours));
            let last = theirs.map(|theirs| format!("{theirs:9.2} {:6.2}", ours / theirs));
            println!("{name:48} {ours:10.2} {}", last.unwrap_or_default());
        }
    };
    let of = |roles: &'static [&'static str]| move || processes(roles, time);
    row("objects, one process, M/s", &of(&["objects"]), Some(&|| mimalloc(1, time)));
    row("objects, two processes, M/s", &of(&["objects"; 2]), Some(&|| mimalloc(2, time)));
    row("share and release in one process, M/s", &of(&["share"]), None);
    row("look at an object in one process, M/s", &of(&["look"]), None);
    row("send, two processes, M/s", &of(&["send", "receive"]), None);
    row("call, two processes, M/s", &of(&["call", "serve"]), None);
    row("recovery of a million objects, M/s", &recovery, None);
}

fn best(run: impl Fn() -> f64) -> f64 {
    (0..RUNS).map(|_| run()).fold(0.0, f64::max)
}

/// Millions of operations a second of processes with these roles.
fn processes(roles: &[&str], time: Duration) -> f64 {
    let shared = Shared::new("refs-bench", POOL);
    let children: Vec<_> = roles.iter().map(|role| shared.start(&[role])).collect();
    let [ready, go, end, done, nanos] = words(&shared.pool);
    wait_for(ready, |ready| ready == roles.len() as u64);
    go.store(1, Ordering::Release);
    thread::sleep(time);
    end.store(1, Ordering::Release);
    wait_for(ready, |ready| ready == 0);
    for mut child in children {
        child.wait().expect("a child");
    }
    done.load(Ordering::Acquire) as f64 * 1e3 / nanos.load(Ordering::Acquire) as f64
}

/// Millions of objects a second that the recovery of a killed process releases.
fn recovery() -> f64 {
    let shared = Shared::new("refs-bench", POOL);
    let mut child = shared.start(&["hold"]);
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
/// all, and the nanoseconds of the one that took longest.
fn words(pool: &Pool) -> [&AtomicU64; 5] {
    let words = pool.atomics(pool.data() + WORDS_AT, 5 * 16).expect("the reserved part");
    std::array::from_fn(|n| &words[n * 16])
}

fn ring(pool: &Pool, n: u64) -> Ring<'_> {
    let at = pool.data() + RINGS_AT + n * Ring::bytes(RING).next_multiple_of(64);
    Ring::new(pool, at, RING).expect("the reserved part")
}

fn run(pool: &Pool, role: &str) {
    let heap = Heap::new(pool, RESERVED).expect("a heap");
    let refs = Refs::new(&heap, pool.data()).expect("the layer");
    let client = refs.join().expect("an identity");
    let [ready, go, end, done, nanos] = words(pool);
    if role == "hold" {
        let held: Vec<_> = (0..HELD).map(|_| client.alloc(BYTES, 0).expect("memory")).collect();
        ready.fetch_add(1, Ordering::AcqRel);
        thread::sleep(Duration::from_secs(60));
        drop(held);
        return;
    }
    ready.fetch_add(1, Ordering::AcqRel);
    while go.load(Ordering::Acquire) == 0 {
        spin_loop();
    }
    let (start, on_wall) = (clock(), Instant::now());
    let operations = match role {
        "objects" => objects(&client, end),
        "share" => share(&client, end),
        "look" => look(&client, end),
        "send" => send(&client, pool, end),
        "receive" => receive(&client, pool),
        "call" => call(&client, pool, end),
        _ => serve(&client, pool),
    };
    let is_pair = !["objects", "share", "look"].contains(&role);
    let took = if is_pair { on_wall.elapsed().as_nanos() as u64 } else { clock() - start };
    done.fetch_add(operations, Ordering::AcqRel);
    nanos.fetch_max(took, Ordering::AcqRel);
    drop(client);
    ready.fetch_sub(1, Ordering::AcqRel);
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

/// The word that ends a stream.
const LAST: u64 = u64::MAX;

fn send(client: &RefClient, pool: &Pool, end: &AtomicU64) -> u64 {
    let mut sender = client.sender(&ring(pool, 0)).expect("it is the only sender");
    let mut is_over = false;
    while !is_over {
        is_over = end.load(Ordering::Relaxed) != 0;
        let mut object = client.alloc(BYTES, 0).expect("memory");
        object.data().expect("an object")[0]
            .store(if is_over { LAST } else { 1 }, Ordering::Relaxed);
        let mut pause = Pause::new();
        while let Err(back) = sender.send(object).expect("a ring") {
            object = back;
            pause.turn();
        }
    }
    0
}

fn receive(client: &RefClient, pool: &Pool) -> u64 {
    let mut receiver = client.receiver(&ring(pool, 0)).expect("it is the only receiver");
    let mut operations = 0;
    loop {
        let object = wait(&mut receiver);
        if object.data().expect("an object")[0].load(Ordering::Relaxed) == LAST {
            return operations;
        }
        operations += 1;
    }
}

fn call(client: &RefClient, pool: &Pool, end: &AtomicU64) -> u64 {
    let mut sender = client.sender(&ring(pool, 0)).expect("it is the only sender");
    let mut receiver = client.receiver(&ring(pool, 1)).expect("it is the only receiver");
    let [argument, result] = [0; 2].map(|_| client.alloc(BYTES, 0).expect("memory"));
    let mut message = client.message(0, &[&argument], &result).expect("memory");
    let mut operations = 0;
    loop {
        let is_over = end.load(Ordering::Relaxed) != 0;
        let function = if is_over { LAST } else { 1 };
        message.set_function(function).expect("an object");
        argument.data().expect("an object")[0].store(operations, Ordering::Relaxed);
        assert!(sender.send(message.into_ref()).expect("a ring").is_ok(), "the ring has room");
        if is_over {
            return operations;
        }
        message = Message::of(wait(&mut receiver)).expect("a message");
        let found = result.data().expect("an object")[0].load(Ordering::Relaxed);
        assert_eq!(found, operations + 1);
        operations += 1;
    }
}

fn serve(client: &RefClient, pool: &Pool) -> u64 {
    let mut receiver = client.receiver(&ring(pool, 0)).expect("it is the only receiver");
    let mut sender = client.sender(&ring(pool, 1)).expect("it is the only sender");
    loop {
        let message = Message::of(wait(&mut receiver)).expect("a message");
        if message.function().expect("an object") == LAST {
            return 0;
        }
        let [argument, result] = [message.argument_data(0), message.result_data()];
        let [argument, result] = [argument, result].map(|found| &found.expect("an object")[0]);
        result.store(argument.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        assert!(sender.send(message.into_ref()).expect("a ring").is_ok(), "the ring has room");
    }
}

fn wait<'c>(receiver: &mut RefReceiver<'c>) -> Ref<'c> {
    let mut pause = Pause::new();
    loop {
        match receiver.receive().expect("a ring") {
            Some(object) => return object,
            None => pause.turn(),
        }
    }
}

/// The other side may need this CPU: a wait that takes long gives it up.
struct Pause {
    turns: u32,
}

impl Pause {
    fn new() -> Pause {
        Pause { turns: 0 }
    }

    fn turn(&mut self) {
        self.turns += 1;
        if self.turns.is_multiple_of(2_000) { thread::yield_now() } else { spin_loop() }
    }
}

fn mimalloc(threads: usize, time: Duration) -> f64 {
    let end = AtomicU64::new(0);
    thread::scope(|scope| {
        let work = || {
            let start = clock();
            let mut blocks = vec![std::ptr::null_mut(); OBJECTS];
            let mut operations = 0u64;
            while end.load(Ordering::Relaxed) == 0 {
                for block in &mut blocks {
                    // SAFETY: any size may be asked for.
                    *block = unsafe { libmimalloc_sys::mi_malloc(BYTES as usize) };
                }
                for block in &blocks {
                    // SAFETY: each block is freed once.
                    unsafe { libmimalloc_sys::mi_free(*block) };
                }
                operations += OBJECTS as u64;
            }
            operations as f64 * 1e3 / (clock() - start) as f64
        };
        let sides: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        thread::sleep(time);
        end.store(1, Ordering::Release);
        sides.into_iter().map(|side| side.join().expect("a side")).sum()
    })
}
