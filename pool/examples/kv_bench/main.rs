//! A store of rows over a map of a pool, for several processes, under the loads of the papers.
//!
//! ```text
//! cargo run --release -p pool --example kv_bench [SECONDS [SHARE [NAME]]]
//! ```
//!
//! * `YCSB A` to `D`: 200,000 records of 1,000 bytes by Zipf's law (0.99): half of the operations replace one, or a
//!   twentieth, or none; in D a twentieth makes a new one, and the newest are read most. Whole records are read.
//! * `TATP`: 100,000 subscribers, seven transactions, a fifth of which change rows, one or two.
//! * `SmallBank`: 100,000 customers, six transactions of one, two or three rows, 85 % of which change some.
//! * `SmallBank, killed`: those of its transactions that leave the sum. One of two processes is killed with signal 9
//!   every 20 ms, recovered by a third one, and started again.
//!
//! The peer is a `HashMap` of the standard library in 64 parts, each with a lock, in the threads of one process; a
//! transaction has the locks of its rows. `cpu` is thousands of operations in a second of CPU time for each client,
//! summed, so that other programs count less; `wall` is by the clock on the wall. PSS is that of all processes
//! together, in MB. `again` are transactions in a thousand operations that were repeated, or that waited for a lock;
//! `no` those that declined, as there was nothing for them to do.
//!
//! After each run the rows are checked; the program fails if they are wrong. SHARE is that of the rows, 1 for all.
//! With a name, only the loads that begin with it are run.

#[path = "../common/mod.rs"]
mod common;
mod smallbank;
mod store;
mod tatp;
mod ycsb;

use common::board::Board;
use common::{Nothing, Shared, clock, pss};
use pool::{Heap, Map, MapOptions, Pool, RefClient, Refs, Transactions};
use std::env;
use std::path::Path;
use std::process::{Child, exit};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;
use store::{Locked, Store};
use ycsb::Ycsb;

const ORDER: Ordering = Ordering::AcqRel;
const RESERVED: u64 = 64 << 10;
const BOARD_AT: u64 = 16 << 10;
const POOL: u64 = 8 << 30;
const BATCH: u64 = 16;
const KILL_EVERY: Duration = Duration::from_millis(20);

/// Sums that the children add to.
mod sums {
    pub const OPERATIONS: usize = 0;
    pub const CPU: usize = 1;
    pub const PSS: usize = 2;
    pub const CONFLICTS: usize = 3;
    pub const DECLINED: usize = 4;
    pub const SETTLED: usize = 5;
    pub const FAILED: usize = 6;
    // For the checks.
    pub const INSERTED: usize = 7;
    pub const REMOVED: usize = 8;
    pub const UPDATED: usize = 9;
    pub const NET: usize = 10;
}

/// What a client does.
trait Job {
    fn act(&mut self, store: &impl Store);

    /// How many operations found nothing to do.
    fn declined(&self) -> u64 {
        0
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Ycsb(Ycsb),
    Tatp,
    SmallBank { is_killed: bool },
}

static LOADS: [(&str, Kind); 7] = [
    ("YCSB A", Kind::Ycsb(Ycsb { writes: 500, is_latest: false })),
    ("YCSB B", Kind::Ycsb(Ycsb { writes: 50, is_latest: false })),
    ("YCSB C", Kind::Ycsb(Ycsb { writes: 0, is_latest: false })),
    ("YCSB D", Kind::Ycsb(Ycsb { writes: 50, is_latest: true })),
    ("TATP", Kind::Tatp),
    ("SmallBank", Kind::SmallBank { is_killed: false }),
    ("SmallBank, killed", Kind::SmallBank { is_killed: true }),
];

impl Kind {
    fn rows(self, share: f64) -> u64 {
        match self {
            Kind::Ycsb(_) => ycsb::records(share),
            Kind::Tatp => tatp::rows(share),
            Kind::SmallBank { .. } => 2 * smallbank::customers(share),
        }
    }

    fn fill(self, store: &impl Store, board: &Board, share: f64) {
        match self {
            Kind::Ycsb(_) => ycsb::fill(store, share),
            Kind::Tatp => tatp::fill(store, board, share),
            Kind::SmallBank { .. } => smallbank::fill(store, share),
        }
    }

    fn check(self, store: &impl Store, board: &Board, share: f64) -> Result<(), String> {
        match self {
            Kind::Ycsb(_) => ycsb::check(store, board, share),
            Kind::Tatp => tatp::check(store, board, share),
            Kind::SmallBank { .. } => smallbank::check(store, board, share),
        }
    }

    /// Works until the end; `between` comes after each batch.
    fn work(
        self,
        store: &impl Store,
        board: &Board,
        (share, seed): (f64, u64),
        between: impl FnMut(),
    ) {
        match self {
            Kind::Ycsb(load) => {
                work(store, board, ycsb::Work::new(load, board, share, seed), between);
            }
            Kind::Tatp => work(store, board, tatp::Work::new(board, share, seed), between),
            Kind::SmallBank { is_killed } => {
                let job = smallbank::Work::new(board, share, seed, is_killed);
                work(store, board, job, between);
            }
        }
    }
}

fn work(store: &impl Store, board: &Board, mut job: impl Job, mut between: impl FnMut()) {
    board.begin();
    let (start, mut operations) = (clock(), 0);
    while board.end().load(Ordering::Relaxed) == 0 {
        for _ in 0..BATCH {
            job.act(store);
        }
        operations += BATCH;
        between();
    }
    board.add(sums::CPU, clock() - start);
    board.add(sums::OPERATIONS, operations);
    board.add(sums::DECLINED, job.declined());
}

fn main() {
    let mut arguments = env::args().skip(1);
    let first = arguments.next();
    if first.as_deref() == Some("child") {
        let values: Vec<String> = arguments.collect();
        let [path, load, share, role] = &values[..] else { exit(2) };
        let pool = Pool::open(Path::new(path)).expect("the parent's pool");
        let (_, kind) = LOADS[load.parse::<usize>().expect("a load")];
        let share = share.parse().expect("a share");
        match role.strip_prefix("peer") {
            Some(threads) => peer(&pool, kind, share, threads.parse().expect("a number")),
            None => run(&pool, kind, share, role.parse().expect("a number")),
        }
        return;
    }
    let seconds = first.map_or(0.5, |text| text.parse().expect("a number of seconds"));
    let time = Duration::from_secs_f64(seconds);
    let share: f64 = arguments.next().map_or(1.0, |text| text.parse().expect("a share"));
    let wanted = arguments.next().unwrap_or_default();
    println!("                                 pool                                peer");
    println!(
        "load              clients     cpu    wall    PSS  again     no     cpu    wall    PSS  again  ratio"
    );
    let mut failed = false;
    for (n, (name, kind)) in LOADS.iter().enumerate() {
        let is_killed = matches!(kind, Kind::SmallBank { is_killed: true });
        for count in [1, 2].into_iter().filter(|count| !is_killed || *count == 2) {
            if !name.starts_with(&wanted) {
                continue;
            }
            let roles: Vec<_> = (0..count).map(|role: u64| role.to_string()).collect();
            let ours = measure(n, share, time, &roles);
            print!("{name:18} {count:6} {ours} {:6.1}", ours.of_thousand(ours.declined));
            let theirs = (!is_killed).then(|| {
                let theirs = measure(n, share, time, &[format!("peer{count}")]);
                print!(" {theirs} {:6.2}", ours.cpu / theirs.cpu);
                theirs
            });
            println!();
            if is_killed {
                println!("    {} kills, {} intents of others settled", ours.kills, ours.settled);
            }
            for wrong in [Some(ours.wrong), theirs.map(|theirs| theirs.wrong)].into_iter().flatten()
            {
                if let Err(wrong) = wrong {
                    eprintln!("{name}, {count} clients: {wrong}");
                    failed = true;
                }
            }
        }
    }
    exit(i32::from(failed));
}

struct Figures {
    cpu: f64,
    wall: f64,
    pss: u64,
    operations: u64,
    conflicts: u64,
    declined: u64,
    settled: u64,
    kills: u64,
    wrong: Result<(), String>,
}

impl Figures {
    fn of_thousand(&self, count: u64) -> f64 {
        count as f64 * 1e3 / self.operations.max(1) as f64
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let again = self.of_thousand(self.conflicts);
        write!(f, "{:7.0} {:7.0} {:6} {again:6.2}", self.cpu, self.wall, self.pss)
    }
}

fn measure(load: usize, share: f64, time: Duration, roles: &[String]) -> Figures {
    let shared = Shared::new("kv-bench", POOL);
    let (board, (_, kind)) = (Board::of(&shared.pool, BOARD_AT), LOADS[load]);
    let heap = Heap::new(&shared.pool, RESERVED).expect("a heap");
    let refs = Refs::new(&heap, shared.pool.data()).expect("the layer");
    let is_peer = roles[0].starts_with("peer");
    let parts = |role: &String| vec![load.to_string(), share.to_string(), role.clone()];
    let roles: Vec<_> = roles.iter().map(parts).collect();
    // The first one makes all rows.
    let mut children = board.start(&shared, &roles);
    let mut victim =
        Victim { last: children.len() - 1, role: roles.len(), kills: 0, failed: false };
    let is_killed = matches!(kind, Kind::SmallBank { is_killed: true });
    let took = if is_killed {
        let client = refs.join().expect("an identity");
        let mut since = 0;
        board.run(time, || {
            since += 1;
            if since * Duration::from_millis(5) >= KILL_EVERY {
                since = 0;
                victim.kill(&mut children, &client);
                let role = [load.to_string(), share.to_string(), victim.next_role()];
                children.push(shared.start(&role.each_ref().map(|part| &part[..])));
            }
        })
    } else {
        board.run(time, || {})
    };
    let ends: Vec<_> =
        children.into_iter().map(|mut child| child.wait().expect("a child")).collect();
    let mut wrong = Ok(());
    if board.value(sums::FAILED) != 0 || victim.failed || ends.iter().any(|end| !end.success()) {
        wrong = Err(format!("a client has failed: {ends:?}"));
    } else if !is_peer {
        let client = refs.join().expect("an identity");
        let map = map(&client, kind, share);
        let store = Transactions::new(&map).expect("it keeps what is put");
        wrong = kind.check(&store, &board, share);
        board.add(sums::SETTLED, store.settled());
    }
    let [operations, cpu, pss, conflicts, declined, settled] =
        [sums::OPERATIONS, sums::CPU, sums::PSS, sums::CONFLICTS, sums::DECLINED, sums::SETTLED]
            .map(|n| board.value(n));
    let clients = if is_peer {
        roles[0][2].trim_start_matches("peer").parse().expect("a number")
    } else {
        roles.len()
    };
    let cpu = operations as f64 * clients as f64 * 1e6 / cpu.max(1) as f64;
    let wall = operations as f64 / took.as_secs_f64() / 1e3;
    let (pss, kills) = (pss >> 20, victim.kills);
    Figures { cpu, wall, pss, operations, conflicts, declined, settled, kills, wrong }
}

/// The child that is killed and started again.
struct Victim {
    last: usize,
    role: usize,
    kills: u64,
    failed: bool,
}

impl Victim {
    fn kill(&mut self, children: &mut Vec<Child>, client: &RefClient) {
        let mut child = children.remove(self.last);
        // One that has ended by itself has failed.
        self.failed |= child.try_wait().expect("a child").is_some();
        child.kill().expect("a child");
        child.wait().expect("a child");
        let done = client.recover(&Nothing).expect("a recovery");
        self.kills += done.clients as u64;
    }

    fn next_role(&mut self) -> String {
        self.role += 1;
        self.role.to_string()
    }
}

fn map<'c>(client: &'c RefClient<'_>, kind: Kind, share: f64) -> Map<'c> {
    let options = MapOptions { entries: kind.rows(share), capacity: u64::MAX, evicts: false };
    Map::create(client, b"rows", &options).expect("a map")
}

fn run(pool: &Pool, kind: Kind, share: f64, role: u64) {
    let heap = Heap::new(pool, RESERVED).expect("a heap");
    let refs = Refs::new(&heap, pool.data()).expect("the layer");
    let client = refs.join().expect("an identity");
    let board = Board::of(pool, BOARD_AT);
    let map = map(&client, kind, share);
    let store = Transactions::new(&map).expect("it keeps what is put");
    if role == 0 {
        kind.fill(&store, &board, share);
    }
    if board.end().load(Ordering::Acquire) == 0 {
        // Each process maps the pages of the pool by itself, when it first comes to them.
        if role < 2 {
            Store::scan(&store, |_, _| {});
        }
        let mut reader = client.read().expect("a clock");
        kind.work(&store, &board, (share, role), || reader.renew().expect("a clock"));
    }
    board.add(sums::CONFLICTS, store.conflicts());
    board.add(sums::SETTLED, store.settled());
    board.add(sums::PSS, pss());
}

fn peer(pool: &Pool, kind: Kind, share: f64, threads: u64) {
    let (board, store) = (Board::of(pool, BOARD_AT), Locked::new());
    kind.fill(&store, &board, share);
    let before = store.conflicts();
    thread::scope(|scope| {
        for seed in 0..threads {
            let (store, board) = (&store, &board);
            scope.spawn(move || kind.work(store, board, (share, seed), || {}));
        }
    });
    board.add(sums::CONFLICTS, store.conflicts() - before);
    board.add(sums::PSS, pss());
    if let Err(wrong) = kind.check(&store, &board, share) {
        eprintln!("{wrong}");
        board.add(sums::FAILED, 1);
    }
}
