//! Word count and k-means by calls between processes: a driver sends work to workers.
//!
//! ```text
//! cargo run --release -p pool --example rpc_apps [SECONDS [SHARE [NAME]]]
//! ```
//!
//! * `word count`: how often each word is in 16 MB of text, in chunks of 256 KiB.
//! * `k-means`: ten rounds with 16 clusters over 16 MB of points of four coordinates.
//!
//! Calls go *by reference* (CXL-RPC, section 6.3): text, points and results are objects of a pool, and a message refers
//! to them. The peer *copies* all data of a call through a Unix socket, also the points of each round of k-means; the
//! last columns are those of workers that keep the points, so that only centres and sums are copied. Figures are
//! milliseconds for a job, CPU time of all processes together, and by the clock on the wall. `alone` is that of a
//! sequential program, so what is more than that is the price of the calls.
//!
//! In the rows `killed`, the driver kills a worker with signal 9 in each round, in the middle of its work, recovers it,
//! and gives its tasks to the others; the next round has a new worker. `redone` are the tasks that it had in hand,
//! `returned` those that it had not received. CPU time does not have that of the killed.
//!
//! The results are compared with those of a sequential program, and each task must be done once; otherwise the program
//! fails. SHARE is that of the data, 1 for all. With a name, only the jobs that begin with it are run.

mod by_copy;
mod by_reference;
#[path = "../common/mod.rs"]
mod common;
mod jobs;

use by_copy::ByCopy;
use by_reference::ByReference;
use common::board::Board;
use common::{Shared, clock};
use pool::{Heap, Pool, Refs};
use std::env;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::exit;
use std::time::{Duration, Instant};

const RESERVED: u64 = 64 << 10;
const BOARD_AT: u64 = 16 << 10;
const POOL: u64 = 2 << 30;
const CHUNKS: f64 = 64.0;
const ROUNDS: usize = 10;
const WORKERS: usize = 2;

/// Sums that the children add to.
mod sums {
    pub const CPU: usize = 0;
    pub const KILLS: usize = 1;
    pub const REDONE: usize = 2;
    pub const RETURNED: usize = 3;
}

/// A call: a function of a chunk, and perhaps of what all calls of a round have in common.
#[derive(Clone, Copy)]
struct Task {
    function: u64,
    chunk: usize,
    more: bool,
}

/// Who runs tasks.
trait Executor {
    /// Runs tasks, in any order, and hands the words of each result over, once.
    fn run(
        &mut self,
        tasks: &[Task],
        more: &[u64],
        accept: &mut dyn FnMut(&mut dyn Iterator<Item = u64>),
    );

    /// Ends the workers.
    fn end(self: Box<Self>);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Job {
    WordCount,
    KMeans,
}

/// What a job came to.
#[derive(PartialEq, Eq)]
enum Answer {
    Counts(jobs::Counts),
    Centres(Vec<u64>),
}

impl Job {
    fn chunks(self, share: f64) -> Vec<Vec<u64>> {
        let count = ((CHUNKS * share) as usize).max(2 * WORKERS);
        match self {
            Job::WordCount => jobs::text(count),
            Job::KMeans => jobs::points(count),
        }
    }

    fn sequential(self, chunks: &[Vec<u64>]) -> Answer {
        match self {
            Job::WordCount => Answer::Counts(jobs::count_all(chunks)),
            Job::KMeans => Answer::Centres(jobs::cluster_all(chunks, ROUNDS)),
        }
    }

    fn run(self, executor: &mut dyn Executor, chunks: &[Vec<u64>]) -> Answer {
        let (function, more) = match self {
            Job::WordCount => (jobs::COUNT, false),
            Job::KMeans => (jobs::ASSIGN, true),
        };
        let tasks: Vec<_> = (0..chunks.len()).map(|chunk| Task { function, chunk, more }).collect();
        match self {
            Job::WordCount => {
                let mut counts = jobs::Counts::default();
                executor.run(&tasks, &[], &mut |words| jobs::add_entries(&mut counts, words));
                Answer::Counts(counts)
            }
            Job::KMeans => {
                let mut centres = jobs::first_centres(chunks);
                for _ in 0..ROUNDS {
                    let mut sums = vec![];
                    let more = jobs::data(centres.clone());
                    executor.run(&tasks, &more, &mut |words| jobs::add_sums(&mut sums, words));
                    centres = jobs::centres(&sums, &centres);
                }
                Answer::Centres(centres)
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Way {
    Reference { kills: bool },
    Copy { keeps: bool },
}

struct Figures {
    cpu: f64,
    wall: f64,
    kills: [u64; 3],
    is_right: bool,
}

fn main() {
    let mut arguments = env::args().skip(1);
    let first = arguments.next();
    if first.as_deref() == Some("child") {
        let values: Vec<String> = arguments.collect();
        let path = PathBuf::from(values.first().expect("a path"));
        child(&path, &values[1..]);
        return;
    }
    let seconds = first.map_or(2.0, |text| text.parse().expect("a number of seconds"));
    let time = Duration::from_secs_f64(seconds);
    let share: f64 = arguments.next().map_or(1.0, |text| text.parse().expect("a share"));
    let wanted = arguments.next().unwrap_or_default();
    println!("                    alone    by reference          copied            kept");
    println!(
        "ms for a job          cpu     cpu    wall     cpu    wall     cpu    wall  copied/ref"
    );
    let mut failed = false;
    for (name, job) in [("word count", Job::WordCount), ("k-means", Job::KMeans)] {
        if !name.starts_with(&wanted) {
            continue;
        }
        let chunks = job.chunks(share);
        let start = clock();
        let expected = job.sequential(&chunks);
        let alone = (clock() - start) as f64 / 1e6;
        let mut measure = |way| {
            let figures = measure(job, way, &chunks, &expected, time);
            if !figures.is_right {
                eprintln!("{name}: the result is wrong");
                failed = true;
            }
            figures
        };
        let ours = measure(Way::Reference { kills: false });
        print!("{name:17} {alone:7.1} {ours}");
        let theirs = measure(Way::Copy { keeps: false });
        print!(" {theirs}");
        if job == Job::KMeans {
            print!(" {}", measure(Way::Copy { keeps: true }));
        } else {
            print!(" {:15}", "");
        }
        println!(" {:10.2}", theirs.cpu / ours.cpu);
        let killed = measure(Way::Reference { kills: true });
        let [kills, redone, returned] = killed.kills;
        println!("{:25} {killed} {kills} kills, {redone} redone, {returned} returned", "  killed");
        if kills == 0 || redone + returned < kills {
            eprintln!("{name}: no worker was killed at work");
            failed = true;
        }
    }
    exit(i32::from(failed));
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:7.1} {:7.1}", self.cpu, self.wall)
    }
}

fn measure(job: Job, way: Way, chunks: &[Vec<u64>], expected: &Answer, time: Duration) -> Figures {
    let shared = Shared::new("rpc-apps", POOL);
    let heap = Heap::new(&shared.pool, RESERVED).expect("a heap");
    let refs = Refs::new(&heap, shared.pool.data()).expect("the layer");
    let client = refs.join().expect("an identity");
    let board = Board::of(&shared.pool, BOARD_AT);
    let mut executor: Box<dyn Executor> = match way {
        Way::Reference { kills } => {
            // One is left when another one is killed.
            let of = (&client, &shared, &board);
            Box::new(ByReference::new(of, WORKERS, chunks, kills))
        }
        Way::Copy { keeps } => Box::new(ByCopy::new(shared.path(), &board, WORKERS, chunks, keeps)),
    };
    // CPU time is that of all jobs, with the first one, in which workers come to their data.
    let own = clock();
    let mut is_right = job.run(&mut *executor, chunks) == *expected;
    let (start, mut count) = (Instant::now(), 0);
    while count == 0 || start.elapsed() < time {
        is_right &= job.run(&mut *executor, chunks) == *expected;
        count += 1;
    }
    let (wall, own) = (start.elapsed().as_secs_f64() * 1e3, clock() - own);
    executor.end();
    let cpu = (own + board.value(sums::CPU)) as f64 / f64::from(count + 1);
    let kills = [sums::KILLS, sums::REDONE, sums::RETURNED].map(|n| board.value(n));
    Figures { cpu: cpu / 1e6, wall: wall / f64::from(count), kills, is_right }
}

fn child(path: &Path, role: &[String]) {
    let pool = Pool::open(path).expect("the parent's pool");
    let board = Board::of(&pool, BOARD_AT);
    match role {
        [role, seat] if role == "worker" => {
            let heap = Heap::new(&pool, RESERVED).expect("a heap");
            let refs = Refs::new(&heap, pool.data()).expect("the layer");
            let client = refs.join().expect("an identity");
            by_reference::work(&client, &pool, &board, seat.parse().expect("a seat"));
        }
        [role] if role == "copies" => {
            let socket = std::io::stdin().as_fd().try_clone_to_owned().expect("a socket");
            by_copy::work(UnixStream::from(socket), &board);
        }
        _ => exit(2),
    }
}
