//! The cost of a page that is not resident: `make bench-faults`.
//!
//! Our faults against their parts (a bare userfaultfd fault, a bare round trip through shared memory) and against
//! kernel swap into compressed memory. Parts take turns, each time in a fresh process, so that a slow minute of the
//! machine hits all of them; figures are medians of the rounds. [`crate::faults`] says what each part does.

use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::faults::{PAGE_BYTES, Report, Work, bare, ours, plain};
use crate::harness::progress::Progress;
use crate::harness::sample::Sample;
use crate::kernel_swap::{Device, KernelSwap, ZRAM_BYTES};

/// Measure page faults of remote memory
#[derive(Args)]
pub struct Options {
    /// Memory that is accessed, in MiB
    #[arg(long, default_value_t = 512)]
    mib: usize,
    /// Local memory, as a percentage of --mib
    #[arg(long, default_value_t = 25, value_parser = clap::value_parser!(u8).range(1..=90))]
    local: u8,
    /// Numbers of threads that access random pages concurrently
    #[arg(long, value_delimiter = ',', default_value = "1,2,4")]
    threads: Vec<usize>,
    /// Accesses of each thread
    #[arg(long, default_value_t = 20_000)]
    accesses: usize,
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Do not measure kernel swap, which needs a swap device and a cgroup during the measurement
    #[arg(long)]
    no_kernel_swap: bool,
    /// File for all measurements, as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// Run one part and print its report
    #[arg(long, hide = true)]
    part: Option<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    BareFault,
    BareRing,
    Read,
    Write,
    KernelSwap,
    Scan,
    LocalScan,
}

impl Part {
    fn name(self) -> String {
        let value = self.to_possible_value().expect("none is hidden");
        value.get_name().to_string()
    }

    fn run(self, work: Work) -> io::Result<Report> {
        match self {
            Part::BareFault => bare::faults(work),
            Part::BareRing => Ok(bare::ring(work)),
            Part::Read => ours::reads(work),
            Part::Write => ours::writes(work),
            Part::KernelSwap => plain::reads(work),
            Part::Scan => ours::scan(work),
            Part::LocalScan => plain::scan(work),
        }
    }
}

/// Measures in turn; true if all targets are met.
pub fn run(options: &Options) -> io::Result<bool> {
    if options.mib == 0 || options.accesses == 0 || options.rounds == 0 {
        return Err(io::Error::other("--mib, --accesses and --rounds must be at least 1"));
    }
    if options.threads.is_empty() || options.threads.contains(&0) {
        return Err(io::Error::other("--threads must be at least 1"));
    }
    if let Some(part) = options.part {
        let report = part.run(options.work(options.threads[0]))?;
        println!("{}", serde_json::to_string(&report)?);
        return Ok(true);
    }
    let swap = match options.no_kernel_swap {
        true => Err("not asked for".to_string()),
        false => KernelSwap::new(Device::Zram, ZRAM_BYTES),
    };
    let mut rows: Vec<Row> = options.rows(swap.is_ok());
    let mut progress = Progress::new(options.rounds * rows.len());
    for _ in 0..options.rounds {
        for row in &mut rows {
            let report = options.measure(row, swap.as_ref().ok());
            progress.step(report.is_ok(), &row.label());
            row.reports.push(report?);
        }
    }
    progress.finish();
    if let Some(path) = &options.json {
        let measured = rows.iter().map(
            |row| json!({ "part": row.part.name(), "threads": row.threads, "rounds": row.reports }),
        );
        let text = serde_json::to_string_pretty(&measured.collect::<Vec<_>>())?;
        std::fs::write(path, text + "\n")?;
    }
    if let Err(why) = &swap {
        println!("no comparison with kernel swap: {why}");
    }
    Ok(options.print(&rows))
}

/// One part with one number of threads, and what it took in each round.
struct Row {
    part: Part,
    threads: usize,
    reports: Vec<Report>,
}

impl Row {
    fn label(&self) -> String {
        format!("{} {}", self.part.name(), self.threads)
    }

    fn sample(&self, of: impl Fn(&Report) -> f64) -> Sample {
        let mut sample = Sample::default();
        self.reports.iter().for_each(|report| sample.add(of(report)));
        sample
    }
}

impl Options {
    fn work(&self, threads: usize) -> Work {
        let pages = (self.mib << 20) / PAGE_BYTES;
        let local_pages = pages * usize::from(self.local) / 100;
        Work { pages, local_pages, threads, accesses: self.accesses, seed: self.seed }
    }

    fn rows(&self, with_swap: bool) -> Vec<Row> {
        let row = |part, threads| Row { part, threads, reports: Vec::new() };
        let mut rows = vec![row(Part::BareRing, 1)];
        for &threads in &self.threads {
            rows.extend([Part::BareFault, Part::Read, Part::Write].map(|part| row(part, threads)));
            if with_swap {
                rows.push(row(Part::KernelSwap, threads));
            }
            rows.extend([Part::LocalScan, Part::Scan].map(|part| row(part, threads)));
        }
        rows
    }

    fn measure(&self, row: &Row, swap: Option<&KernelSwap>) -> io::Result<Report> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["faults", "--part", &row.part.name(), "--mib", &self.mib.to_string()]);
        command.args(["--threads", &row.threads.to_string(), "--local", &self.local.to_string()]);
        command.args(["--accesses", &self.accesses.to_string(), "--seed", &self.seed.to_string()]);
        let mut _relief = None;
        if let (Part::KernelSwap, Some(swap)) = (row.part, swap) {
            let bytes = self.work(1).local_pages * PAGE_BYTES + PROCESS_BYTES;
            let confined = swap.confine(&command, bytes as u64).map_err(io::Error::other)?;
            (command, _relief) = (confined.0, Some(confined.1));
        }
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err(io::Error::other(format!("{}: {}", row.label(), output.status)));
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Prints rows and judgements; true if all targets are met.
    fn print(&self, rows: &[Row]) -> bool {
        println!(
            "{} MiB, {} % local, {} accesses of each thread, {} rounds; us, medians of the rounds",
            self.mib, self.local, self.accesses, self.rounds
        );
        println!("{:14} {:>7} {:>18} {:>9} {:>9}", "part", "threads", "p50", "p99", "p99.9");
        for row in rows.iter().filter(|row| row.reports[0].count > 0) {
            let median = |of: fn(&Report) -> f64| row.sample(of).median();
            println!(
                "{:14} {:>7} {:>18} {:>9.1} {:>9.1}",
                row.part.name(),
                row.threads,
                row.sample(|report| report.p50_us).to_string(),
                median(|report| report.p99_us),
                median(|report| report.p999_us),
            );
        }
        let find = |part, threads| {
            rows.iter().find(|row: &&Row| row.part == part && row.threads == threads)
        };
        let p50 = |part, threads| Some(find(part, threads)?.sample(|r| r.p50_us).median());
        let mut fine = true;
        for &threads in &self.threads {
            let (Some(bare), Some(ring), Some(read)) =
                (p50(Part::BareFault, threads), p50(Part::BareRing, 1), p50(Part::Read, threads))
            else {
                continue;
            };
            let name = format!("read, {threads} threads, to bare fault and ring");
            fine &= at_most(&name, read / (bare + ring), PARTS_TARGET);
            if let Some(swap) = p50(Part::KernelSwap, threads) {
                let name = format!("read, {threads} threads, to kernel swap");
                fine &= at_most(&name, read / swap, SWAP_TARGET);
            }
        }
        for &threads in &self.threads {
            let counts = |part, of: fn(&Report) -> u64| -> u64 {
                find(part, threads).into_iter().flat_map(|row| &row.reports).map(of).sum()
            };
            let both = |of| counts(Part::Read, of) + counts(Part::Write, of);
            let name = format!("faults that had to evict, {threads} threads");
            fine &= at_most(&name, both(|report| report.self_evictions) as f64, 0.0);
            println!("faults that exchanged frames, {threads} threads {}", both(|r| r.exchanges));
            let (retries, waits) = (both(|r| r.retries), both(|r| r.waits));
            println!(
                "contention, {threads} threads: {retries} looks again for frames, {waits} waits for pages"
            );
            if let (Some(local), Some(far)) =
                (find(Part::LocalScan, threads), find(Part::Scan, threads))
            {
                let rate = |row: &Row| row.sample(Report::gib_per_second).median();
                let (local, far) = (rate(local), rate(far));
                println!("scan: {local:.2} GiB/s of resident pages, {far:.2} GiB/s of remote ones");
                let name = format!("scan of resident pages to remote ones, {threads} threads");
                fine &= at_most(&name, local / far, SCAN_TARGET);
            }
        }
        fine
    }
}

/// Prints a figure beside its target; true if it is met.
fn at_most(what: &str, value: f64, most: f64) -> bool {
    println!("{what} {value:.2} (at most {most:.1})");
    value <= most
}

/// Against the sum of a bare fault and a bare round trip.
const PARTS_TARGET: f64 = 1.3;
/// Against kernel swap into compressed memory of the same machine.
const SWAP_TARGET: f64 = 2.0;
/// At least half the bandwidth.
const SCAN_TARGET: f64 = 2.0;
/// The memory that a confined process takes in addition to what it accesses.
const PROCESS_BYTES: usize = 16 << 20;
