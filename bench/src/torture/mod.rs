//! Is any write lost? `make torture`.
//!
//! Threads count in the words of random pages of a far space of which a small part is resident, and remember their
//! counts. Others disturb them: they write back, evict, fetch, populate and pin ranges at random (`disturber`). At
//! the end every counter is compared with the count that its thread remembers, through the pager, and on the servers
//! after everything was evicted; on the way now and then.
//!
//! Every page has one word for each thread, at a distance from one another, and one that all threads add to. A word
//! that a thread owns is stored without a lock prefix, as compiled code does.
//!
//! ```text
//! page 0                                             counted         pages
//! | counters: all threads, all disturbances          | 64 | 64 | ..    |   64 pages of each disturber alone, for
//!                                                                         what nobody may watch: holes, agents
//! ```
//!
//! Under the simulator the seed also decides the network's behaviour, and a part of the seeds has partitions. The
//! seed decides the operations of the threads, and the machine their order.

mod counter;
mod disturber;
mod far;
mod watchdog;

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use swap::{PAGE_BYTES, Page, PageRange, PagerOptions, PagerStats};

use counter::Counter;
use disturber::Disturber;
use far::Far;
use watchdog::Watchdog;

/// The transport of the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Via {
    /// Memory servers on this machine, over shared memory
    Shm,
    /// Memory servers on this machine, over TCP
    Tcp,
    /// Memory servers on this machine, over RDMA verbs
    Verbs,
    /// The simulated network, in this process
    Sim,
}

/// The work to do.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub via: Via,
    /// How long threads count.
    pub time: Duration,
    /// Threads that write and verify counters; two more threads disturb them.
    pub threads: usize,
    /// Pages with counters.
    pub pages: usize,
    /// How many of a hundred pages may be in local memory.
    pub budget_percent: usize,
    pub servers: u16,
    pub seed: u64,
    /// Injected delay of every operation.
    pub latency: Duration,
    /// Injected limit in bytes per second; 0: none.
    pub bandwidth: u64,
    /// The simulator forgets writes: the torture must fail.
    pub forget: bool,
}

/// The work that was done.
#[derive(Clone, Debug)]
pub struct Report {
    /// The properties of the network.
    pub network: String,
    pub writes: u64,
    /// Counters that were compared.
    pub checks: u64,
    /// Pages that were pinned, and written by a system call.
    pub pinned: u64,
    pub seconds: f64,
    pub stats: PagerStats,
}

/// Why there is no report.
#[derive(Debug)]
pub enum Failure {
    /// A counter differs from the count that its thread remembers.
    Lost(Box<Lost>),
    /// A system call failed on a page that was pinned.
    Pinned { page: usize, source: io::Error },
    /// The torture says nothing.
    Weak(String),
    /// It could not begin.
    Start(io::Error),
}

/// A counter with a wrong value.
#[derive(Debug)]
pub struct Lost {
    pub page: usize,
    /// Whose counter, or which check.
    pub whose: String,
    pub expected: u64,
    pub found: u64,
    /// The state of the page, and the word on its server.
    pub state: String,
}

/// Does it. Ends the process if nothing moves for half a minute.
pub fn run(plan: &Plan) -> Result<Report, Failure> {
    plan.check().map_err(|why| Failure::Start(io::Error::other(why)))?;
    let far = Far::new(plan).map_err(Failure::Start)?;
    let watchdog = Watchdog::start(plan.seed).map_err(Failure::Start)?;
    let shared = Shared {
        far: &far,
        plan: *plan,
        stop: AtomicBool::new(false),
        beats: watchdog.beats(),
        checks: AtomicU64::new(0),
    };
    let started = Instant::now();
    let (counters, disturbers) = shared.torture()?;
    let seconds = started.elapsed().as_secs_f64();

    let sums = shared.compare_all(&counters, &disturbers)?;
    let stats = far.pager.stats();
    let report = Report {
        network: far.network.clone(),
        writes: 2 * sums.iter().sum::<u64>(),
        checks: shared.checks.load(Ordering::Relaxed),
        pinned: disturbers.iter().map(|disturber| disturber.counts.iter().sum::<u64>()).sum(),
        seconds,
        stats,
    };
    let budget = far.pager.budget_pages() as u64;
    if stats.resident_pages_max > budget {
        let most = stats.resident_pages_max;
        return Err(Failure::Weak(format!("{most} pages were in local memory, not {budget}")));
    }
    if report.writes == 0 || stats.evicted_pages == 0 || stats.written_bytes == 0 {
        return Err(Failure::Weak(format!("nothing was counted or evicted: {report}")));
    }
    Ok(report)
}

/// The state that all threads share.
struct Shared<'a> {
    far: &'a Far,
    plan: Plan,
    /// Set once, when time is over or a thread failed.
    stop: AtomicBool,
    /// Incremented by every thread that makes progress. Relaxed.
    beats: &'a AtomicU64,
    /// Relaxed: only a count.
    checks: AtomicU64,
}

impl Shared<'_> {
    /// Lets all threads work until time is over, and longer if they have not got much done.
    fn torture(&self) -> Result<(Vec<Counter>, Vec<Disturber>), Failure> {
        thread::scope(|scope| {
            let counters: Vec<_> = (0..self.plan.threads)
                .map(|n| scope.spawn(move || self.stopping(Counter::new(self, n).work(self))))
                .collect();
            let disturbers: Vec<_> = (0..DISTURBERS)
                .map(|n| scope.spawn(move || self.stopping(Disturber::new(self, n).work(self))))
                .collect();
            let began = Instant::now();
            let (until, mut next) = (began + self.plan.time, began + PROGRESS);
            let least = STEPS_MIN * self.plan.budget_pages() as u64;
            let is_enough = || self.beats.load(Ordering::Relaxed) >= least;
            while !self.is_over() && (Instant::now() < until || !is_enough()) {
                self.far.trouble(&self.stop, until.max(Instant::now() + LONGER));
                if Instant::now() >= next {
                    next += PROGRESS;
                    let (seed, beats) = (self.plan.seed, self.beats.load(Ordering::Relaxed));
                    eprintln!("seed {seed}: {} s, {beats} steps", began.elapsed().as_secs());
                }
            }
            self.stop.store(true, Ordering::Relaxed);
            let ended = "threads of the torture do not panic";
            let counters = counters.into_iter().map(|thread| thread.join().expect(ended));
            let counters = counters.collect::<Vec<_>>();
            let disturbers = disturbers.into_iter().map(|thread| thread.join().expect(ended));
            let disturbers = disturbers.collect::<Vec<_>>();
            Ok((
                counters.into_iter().collect::<Result<_, _>>()?,
                disturbers.into_iter().collect::<Result<_, _>>()?,
            ))
        })
    }

    /// Compares what all threads remember with the contents of the pages, at both ends. Returns the sum of all
    /// threads' counts, by page.
    fn compare_all(
        &self,
        counters: &[Counter],
        disturbers: &[Disturber],
    ) -> Result<Vec<u64>, Failure> {
        let mut sums = vec![0; self.plan.pages];
        let mut kept: Vec<(String, usize, &[u64])> = Vec::new();
        for counter in counters {
            kept.push((format!("thread {}", counter.thread), counter.slot(), &counter.counts));
            sums.iter_mut().zip(&counter.counts).for_each(|(sum, count)| *sum += count);
        }
        for one in disturbers {
            kept.push((format!("disturber {}", one.number), one.slot(), &one.counts));
        }
        kept.push(("all threads".into(), self.plan.threads + DISTURBERS, &sums));
        for page in 0..self.plan.pages {
            for (whose, slot, counts) in &kept {
                self.expect(page, *slot, whose, counts[page])?;
            }
        }
        self.far.pager.evict(PageRange::new(Page(0), self.plan.pages));
        for page in 0..self.plan.pages {
            self.beat();
            let words = self.far.page_on_server(page).map_err(Failure::Start)?;
            for (whose, slot, counts) in &kept {
                let word = self.far.word_of(*slot);
                if words[word] != counts[page] {
                    let whose = format!("{whose}, on the server,");
                    return Err(self.lost(page, word, &whose, counts[page], words[word]));
                }
            }
        }
        Ok(sums)
    }

    /// A thread that fails stops the others.
    fn stopping<T>(&self, result: Result<T, Failure>) -> Result<T, Failure> {
        if result.is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
        result
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn beat(&self) {
        self.beats.fetch_add(1, Ordering::Relaxed);
    }

    /// Compares a counter with the count that its owner remembers.
    fn expect(&self, page: usize, slot: usize, whose: &str, expected: u64) -> Result<(), Failure> {
        self.beat();
        self.checks.fetch_add(1, Ordering::Relaxed);
        let word = self.far.word_of(slot);
        let found = self.far.word(page, word).load(Ordering::Relaxed);
        if found == expected {
            return Ok(());
        }
        Err(self.lost(page, word, whose, expected, found))
    }

    fn lost(&self, page: usize, word: usize, whose: &str, expected: u64, found: u64) -> Failure {
        let state = self.far.describe(page, word);
        let whose = whose.to_string();
        Failure::Lost(Box::new(Lost { page, whose, expected, found, state }))
    }
}

impl Plan {
    fn check(&self) -> Result<(), String> {
        if self.threads == 0 || self.threads > THREADS_MAX {
            return Err(format!("--threads {}: must be 1 to {THREADS_MAX}", self.threads));
        }
        if self.servers == 0 {
            return Err("at least one memory server is needed".into());
        }
        if self.budget_percent == 0 || self.budget_percent > 90 {
            return Err(format!("--budget {}: must be 1 to 90", self.budget_percent));
        }
        let (budget, least) = (self.budget_pages(), PagerOptions::BUDGET_BYTES_MIN / PAGE_BYTES);
        if budget < least {
            return Err(format!(
                "--budget: {budget} pages of local memory are too few; the minimum is {least}"
            ));
        }
        Ok(())
    }

    fn budget_pages(&self) -> usize {
        self.pages.saturating_mul(self.budget_percent) / 100
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { network, writes, checks, pinned, seconds, stats } = self;
        let faults: u64 =
            [stats.fetch_faults, stats.zero_faults, stats.protect_faults].iter().flatten().sum();
        let (evicted, clean) = (stats.evicted_pages, stats.evicted_clean_pages);
        let (written, fetched) = (stats.written_bytes >> 20, stats.fetched_bytes >> 20);
        write!(
            f,
            "{network}: {writes} writes in {seconds:.1} s, {checks} counters compared, {faults} faults, \
             {evicted} pages evicted for lack of room ({clean} of them clean), {pinned} pinned, \
             {written} MiB to servers, {fetched} MiB back"
        )
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Lost(lost) => {
                let Lost { page, whose, expected, found, state } = &**lost;
                write!(f, "page {page}: the counter of {whose} is {found}, not {expected}; {state}")
            }
            Failure::Pinned { page, source } => {
                write!(
                    f,
                    "page {page} is pinned, and a system call that writes there fails: {source}"
                )
            }
            Failure::Weak(why) => f.write_str(why),
            Failure::Start(error) => write!(f, "{error}"),
        }
    }
}

/// Steps for each page of local memory: on a machine that is busy with something else, a moment is over before anything
/// was evicted.
const STEPS_MIN: u64 = 4;
/// How long it continues then, before it checks again.
const LONGER: Duration = Duration::from_millis(10);
/// The interval of progress reports.
const PROGRESS: Duration = Duration::from_secs(30);
/// Threads that disturb the others.
const DISTURBERS: usize = 2;
/// So that every thread has a word, with room between them.
const THREADS_MAX: usize = 64;
/// Pages of one server in a row, and of one disturber alone.
const BLOCK_PAGES: usize = 64;
