//! Processes that are killed, at crash points and anywhere.
//!
//! The test starts itself again as clients ([`child`]). All clients increment the same few words, and note in a ledger
//! of their identity how often they did. What is lost or repeated by a death makes the sums differ.

use super::*;
use crate::crash::{Crash, Death, POINTS, die_at, is_of_all};
use crate::sync::{AtomicU64, Ordering};
use crate::test_folder::Folder;
use std::env;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

const CLIENTS: usize = 6;
const WORDS: usize = 3;
const BYTES: u64 = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(20);

/// For the child: the pool, what it does, and where it dies.
const PATH: &str = "FARHEAP_POOL_PATH";
const ROLE: &str = "FARHEAP_POOL_ROLE";
const CRASH: &str = "FARHEAP_POOL_CRASH";
/// For everybody: how long, and with which random numbers.
const SECONDS: &str = "FARHEAP_POOL_SECONDS";
const SEED: &str = "FARHEAP_POOL_SEED";

/// Counters in the data of a pool.
struct Counters<'a> {
    pool: &'a Pool,
    words: &'a [Word],
    ledger: &'a [AtomicU64],
}

impl<'a> Counters<'a> {
    fn of(pool: &'a Pool) -> Counters<'a> {
        let ledger = pool.atomics(pool.data() + PAGE_BYTES, CLIENTS + 1).unwrap();
        Counters { pool, words: pool.words(pool.data(), WORDS).unwrap(), ledger }
    }

    fn increment(&self, client: &mut Client, n: usize) {
        let entry = &self.ledger[usize::from(client.id())];
        let after = entry.load(Ordering::Relaxed) + 1;
        let target = self.pool.data() + (n * size_of::<Word>()) as u64;
        let change = Change { target, operation: [after, 0, 0, 0, 0] };
        let mut seen = self.words[n].load();
        let done = loop {
            match client.exchange(&change, seen, seen.value + 1).unwrap() {
                Ok(done) => break done,
                Err(other) => seen = other,
            }
        };
        entry.store(after, Ordering::Relaxed);
        client.finish(done);
    }

    /// Nobody is at work.
    fn check(&self) -> Result<u64, String> {
        let counted: u64 = self.ledger.iter().map(|entry| entry.load(Ordering::Acquire)).sum();
        let values: u64 = self.words.iter().map(|word| word.load().value).sum();
        if counted == values {
            Ok(values)
        } else {
            Err(format!("{values}, and {counted} are known"))
        }
    }
}

impl Redo for Counters<'_> {
    fn word(&self, target: u64) -> Result<&Word, PoolError> {
        Ok(&self.pool.words(target, 1)?[0])
    }

    fn redo(&self, client: u16, change: &Change, has_happened: bool) -> Result<(), PoolError> {
        if has_happened {
            self.ledger[usize::from(client)].store(change.operation[0], Ordering::Release);
        }
        Ok(())
    }
}

/// For users that have nothing of their own to recover.
pub(crate) struct Nothing<'a>(pub &'a Pool);

impl Redo for Nothing<'_> {
    fn word(&self, target: u64) -> Result<&Word, PoolError> {
        Ok(&self.0.words(target, 1)?[0])
    }

    fn redo(&self, _: u16, _: &Change, _: bool) -> Result<(), PoolError> {
        Ok(())
    }
}

/// Numbers that look random, the same for the same seed.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        // Weyl's sequence, mixed.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ mixed >> 29) >> 11) % limit
    }
}

/// A process of a test, which ends with it.
pub(crate) struct Process(Child);

impl Process {
    fn start(path: &Path, role: &str, crash: Option<(Crash, Death)>) -> Process {
        Process::of_test("pool::torture::child", path, role, crash)
    }

    /// Starts this program again for the test of this name.
    pub(crate) fn of_test(
        test: &str,
        path: &Path,
        role: &str,
        crash: Option<(Crash, Death)>,
    ) -> Process {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture"]);
        command.env(PATH, path).env(ROLE, role).stdout(Stdio::null());
        if let Some((Crash { point, hit }, death)) = crash {
            command.env(CRASH, format!("{point}:{hit}:{death:?}"));
        }
        Process(command.spawn().unwrap())
    }

    pub(crate) fn signal(&self, signal: i32) {
        // SAFETY: no memory is involved; it is our child, and nobody has asked for its status.
        assert_eq!(unsafe { libc::kill(self.0.id() as i32, signal) }, 0);
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    /// Waits until it has died, or has stopped.
    pub(crate) fn wait(&mut self, death: Death) {
        let id = self.0.id();
        let event =
            if death == Death::Stop { libc::WSTOPPED } else { libc::WEXITED | libc::WNOWAIT };
        // SAFETY: all-zero is a valid siginfo_t.
        let mut info = unsafe { std::mem::zeroed::<libc::siginfo_t>() };
        // SAFETY: the kernel fills `info`.
        assert_eq!(unsafe { libc::waitid(libc::P_PID, id, &mut info, event) }, 0);
        if death == Death::Kill {
            assert_eq!(info.si_code, libc::CLD_KILLED, "it did not come to its point");
            self.0.wait().unwrap();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// For a process that [`Process::of_test`] started: its pool and its role. It will die at the point it was given.
pub(crate) fn started() -> Option<(Pool, String)> {
    let pool = Pool::open(Path::new(&env::var_os(PATH)?)).unwrap();
    if let Ok(crash) = env::var(CRASH) {
        let mut parts = crash.split(':');
        let point = parts.next().and_then(|name| POINTS.iter().find(|point| **point == name));
        let hit = parts.next().unwrap().parse().unwrap();
        let death = if parts.next() == Some("Stop") { Death::Stop } else { Death::Kill };
        die_at(Crash { point: point.unwrap(), hit }, death);
    }
    Some((pool, env::var(ROLE).unwrap()))
}

/// How long a torture takes, in seconds, and its seed. Printed.
pub(crate) fn length_and_seed() -> (u64, u64) {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = number(SECONDS).unwrap_or(3);
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = number(SEED).unwrap_or(clock);
    println!("seed {seed}, {seconds} s");
    (seconds, seed)
}

/// Pairs of processes that are killed beside a survivor until the time of the test is over, and what that came to.
pub(crate) struct KilledPairs<'a> {
    pub random: Random,
    seed: u64,
    end: Instant,
    worker: &'static str,
    roles: [&'static str; 2],
    path: &'a Path,
    /// How many workers have begun.
    started: &'a AtomicU64,
    kills: u64,
    total: Recovered,
    longest: Duration,
    recovery: Duration,
}

impl<'a> KilledPairs<'a> {
    /// Workers of the pool at the path, which count themselves in `started`.
    pub(crate) fn new(
        worker: &'static str,
        roles: [&'static str; 2],
        path: &'a Path,
        started: &'a AtomicU64,
    ) -> KilledPairs<'a> {
        let (seconds, seed) = length_and_seed();
        KilledPairs {
            random: Random(seed),
            seed,
            end: Instant::now() + Duration::from_secs(seconds),
            worker,
            roles,
            path,
            started,
            kills: 0,
            total: Recovered::default(),
            longest: Duration::ZERO,
            recovery: Duration::ZERO,
        }
    }

    /// Starts the next pair, and returns when both have been at work for a moment. `None`: the time is over.
    pub(crate) fn start(&mut self) -> Option<[Process; 2]> {
        if Instant::now() >= self.end {
            return None;
        }
        let mut pair = self.roles.map(|role| Process::of_test(self.worker, self.path, role, None));
        while self.started.load(Ordering::Acquire) < self.kills + 2 && !pair[0].has_ended() {
            sleep(Duration::from_micros(100));
        }
        sleep(Duration::from_micros(self.random.below(3_000)));
        Some(pair)
    }

    /// Kills one of a pair.
    pub(crate) fn kill(&mut self, mut child: Process) {
        assert!(!child.has_ended(), "seed {}: a client ended by itself", self.seed);
        child.signal(libc::SIGKILL);
        child.wait(Death::Kill);
        self.kills += 1;
    }

    /// The survivor does something some times: the dead disturb nobody before they are recovered.
    pub(crate) fn survive(&mut self, mut act: impl FnMut(&mut Random)) {
        for _ in 0..self.random.below(200) {
            let start = cpu_time();
            act(&mut self.random);
            self.longest = self.longest.max(cpu_time() - start);
        }
    }

    /// The survivor recovers the dead.
    pub(crate) fn recover(&mut self, recover: impl FnOnce() -> Result<Recovered, PoolError>) {
        let start = cpu_time();
        let done = recover();
        self.recovery = self.recovery.max(cpu_time() - start);
        let done = done.unwrap_or_else(|error| panic!("seed {}: {error}", self.seed));
        self.total.clients += done.clients;
        self.total.changes += done.changes;
    }

    /// Panics with the seed if something is wrong.
    pub(crate) fn check<T>(&self, result: Result<T, String>) -> T {
        result.unwrap_or_else(|wrong| panic!("seed {}: {wrong}", self.seed))
    }

    /// Prints what it came to; `what` is what the survivor did at a time.
    pub(crate) fn report(&self, what: &str) {
        let KilledPairs { kills, total, longest, recovery, .. } = self;
        println!(
            "{kills} kills, {total:?}, longest {what} of the survivor {longest:?} of CPU time, longest recovery \
             {recovery:?}"
        );
        assert!(total.clients > 0, "no process was killed at work");
    }
}

/// CPU time of this thread: other programs do not count.
pub(crate) fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills `time`.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) }, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// What a process does that another test started. By itself it passes.
#[test]
fn child() {
    let Some((pool, role)) = started() else { return };
    let counters = Counters::of(&pool);
    let (mut random, start) = (Random(std::process::id().into()), Instant::now());
    match &*role {
        // Once, to pass each point.
        "step" => counters.increment(&mut pool.join().unwrap(), 0),
        "recover" => _ = pool.join().unwrap().recover(&counters).unwrap(),
        // Until it is killed. If that fails, it must not work for ever.
        "work" => {
            while start.elapsed() < PATIENCE {
                let mut client = pool.join().unwrap();
                for _ in 0..random.below(200) {
                    counters.increment(&mut client, random.below(WORDS as u64) as usize);
                }
                if random.below(4) == 0 {
                    client.recover(&counters).unwrap();
                }
            }
        }
        role => panic!("no role {role}"),
    }
}

fn pool(folder: &Folder) -> (std::path::PathBuf, Pool) {
    let path = folder.path("pool");
    let pool = Pool::create(&Backing::File { path: &path, bytes: BYTES }, CLIENTS).unwrap();
    (path, pool)
}

fn all_are_free(pool: &Pool, but: usize) {
    let others: Vec<_> = std::iter::from_fn(|| pool.join().ok()).collect();
    assert_eq!(others.len(), CLIENTS - but, "an identity is lost");
}

/// A real process dies at each point, as a client and as a recoverer.
#[test]
fn a_process_that_dies_at_any_point_is_recovered() {
    for point in POINTS.iter().filter(|point| is_of_all(point)) {
        let folder = Folder::new();
        let (path, pool) = pool(&folder);
        let counters = Counters::of(&pool);
        let death = Death::Kill;
        let crash = |point| Some((Crash { point, hit: 1 }, death));
        if point.starts_with("recover.") {
            Process::start(&path, "step", crash("detect.exchanged")).wait(death);
            Process::start(&path, "recover", crash(point)).wait(death);
        } else {
            Process::start(&path, "step", crash(point)).wait(death);
        }
        // A survivor goes over the same word before anybody recovers.
        let mut client = pool.join().unwrap();
        counters.increment(&mut client, 0);
        client.recover(&counters).unwrap();
        counters.check().unwrap_or_else(|wrong| panic!("{point}: {wrong}"));
        all_are_free(&pool, 1);
    }
}

#[test]
fn a_stopped_process_is_recovered_only_after_it_was_fenced() {
    for point in ["identity.held", "detect.announced", "detect.vouched", "detect.exchanged"] {
        let folder = Folder::new();
        let (path, pool) = pool(&folder);
        let counters = Counters::of(&pool);
        let client = pool.join().unwrap();
        let crash = (Crash { point, hit: 1 }, Death::Stop);
        let mut stopped = Process::start(&path, "step", Some(crash));
        stopped.wait(Death::Stop);
        assert_eq!(client.recover(&counters).unwrap(), Recovered::default(), "{point}");
        assert!(client.fence(2, PATIENCE).unwrap());
        assert_eq!(client.recover(&counters).unwrap().clients, 1, "{point}");
        // There is nobody any more that could wake.
        stopped.wait(Death::Kill);
        counters.check().unwrap_or_else(|wrong| panic!("{point}: {wrong}"));
        all_are_free(&pool, 1);
    }
}

/// Without a fence, a stopped process wakes after its recovery, and changes the word.
#[test]
fn a_recovery_without_a_fence_is_found() {
    let folder = Folder::new();
    let (path, pool) = pool(&folder);
    let counters = Counters::of(&pool);
    let client = pool.join().unwrap();
    let crash = (Crash { point: "detect.vouched", hit: 1 }, Death::Stop);
    let mut stopped = Process::start(&path, "step", Some(crash));
    stopped.wait(Death::Stop);
    // As if nobody had its number.
    let blind = Kernel::of_boot(1);
    let recovery = Recovery { table: pool.table(), detector: pool.detector(), processes: &blind };
    assert_eq!(recovery.run(client.id(), &counters).unwrap().clients, 1);
    assert!(counters.check().is_ok());
    // Another one gets its identity, and a number in the ledger that the sleeper has too.
    let mut next = pool.join().unwrap();
    assert_eq!(next.id(), 2);
    counters.increment(&mut next, 1);
    stopped.signal(libc::SIGCONT);
    stopped.0.wait().unwrap();
    assert!(counters.check().is_err());
}

/// `FARHEAP_POOL_SECONDS` and `FARHEAP_POOL_SEED` repeat a run, or make it longer.
#[test]
fn killed_processes_lose_and_repeat_nothing() {
    let (seconds, seed) = length_and_seed();
    let mut random = Random(seed);
    let folder = Folder::new();
    let (path, pool) = pool(&folder);
    let counters = Counters::of(&pool);
    let mut client = pool.join().unwrap();
    let (mut kills, mut total, mut longest) = (0, Recovered::default(), Duration::ZERO);
    let mut recover = |client: &mut Client| {
        let done = client.recover(&counters).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        total.clients += done.clients;
        total.changes += done.changes;
    };
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        let children: Vec<_> = (0..2).map(|_| Process::start(&path, "work", None)).collect();
        // They take a few milliseconds to start.
        sleep(Duration::from_micros(2_000 + random.below(8_000)));
        for mut child in children {
            assert!(!child.has_ended(), "seed {seed}: a client ended by itself");
            child.signal(libc::SIGKILL);
            drop(child);
            kills += 1;
            // The dead disturb nobody before they are recovered.
            for _ in 0..random.below(100) {
                let start = Instant::now();
                counters.increment(&mut client, random.below(WORDS as u64) as usize);
                longest = longest.max(start.elapsed());
            }
            recover(&mut client);
        }
        counters.check().unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
        all_are_free(&pool, 1);
    }
    let value = counters.check().unwrap();
    println!("{kills} kills, {total:?}, {value} increments, longest of the survivor {longest:?}");
    assert!(total.clients > 0 && value > 0, "no process was killed at work");
}
