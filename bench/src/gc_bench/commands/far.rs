//! HotSpot in far memory, by `far-run`: `make bench-far-run`.
//!
//! Every program of `workloads/suite`, and the graph, under HotSpot's Serial, Parallel, G1 and Shenandoah: with
//! all memory local, with a part of the heap local and the rest on memory servers, and, if asked for, with as much
//! memory in all and the kernel's own swap. The answers must be the same everywhere.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};

use crate::harness::process::{self, End};
use crate::harness::progress::Progress;
use crate::harness::sample::{Sample, geomean};
use crate::harness::scratch::Scratch;
use crate::java::far_run::{Counted, FarRun};
use crate::java::jdk::Jdk;
use crate::java::suite::{Amount, Suite};
use crate::java::vm::Setting;
use crate::kernel_swap::relief::Relieved;
use crate::kernel_swap::{Device, KernelSwap, ZRAM_BYTES};

/// Compare HotSpot in remote memory with HotSpot in local memory, and in kernel swap
#[derive(Args)]
pub struct Options {
    /// Only programs whose name contains one of these
    #[arg(long, value_delimiter = ',')]
    programs: Vec<String>,
    /// HotSpot's collectors: serial, parallel, g1, shenandoah [default: all]
    #[arg(long, value_delimiter = ',')]
    gc: Vec<String>,
    /// Part of the heap that may be resident
    #[arg(long, default_value = "25%")]
    local_memory: String,
    #[arg(long, default_value_t = 1)]
    memory_servers: u32,
    /// More options for far-run (repeat for several): '--far-latency=5us'
    #[arg(long, allow_hyphen_values = true)]
    far_option: Vec<String>,
    /// Heap of the suite's programs; that of the graph is 128m
    #[arg(long, default_value = "64m")]
    heap: String,
    /// Rounds; each runs every program once in each configuration
    #[arg(long, default_value_t = 1)]
    rounds: usize,
    /// Iterations of a program of the suite in one process; all are measured
    #[arg(long, default_value_t = 5)]
    iterations: usize,
    /// Work of one iteration and of the graph, as a percentage of the default
    #[arg(long, default_value_t = 100)]
    size: usize,
    /// Time limit of one process, in seconds
    #[arg(long, default_value_t = 600)]
    timeout: u64,
    /// Start no further run after this many minutes; the skipped ones are counted
    #[arg(long, default_value_t = 45)]
    minutes: u64,
    /// Measure the kernel's swap (zram) too; requires root, and a machine that uses no swap
    #[arg(long)]
    kernel_swap: bool,
    /// File for all measurements, as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// The folder of the workloads
    #[arg(long, default_value = "workloads")]
    workloads: PathBuf,
}

/// Measures every program in every way; true if all answers are right.
pub fn run(options: &Options) -> io::Result<bool> {
    let bench = Bench::new(options)?;
    let mut rows = bench.rows();
    if rows.is_empty() {
        return Err(io::Error::other("no program is chosen"));
    }
    let mut progress = Progress::new(options.rounds * rows.len());
    let began = Instant::now();
    let mut left_out = 0;
    for _ in 0..options.rounds {
        for row in &mut rows {
            if began.elapsed() >= Duration::from_secs(60 * options.minutes) {
                left_out += 1;
                continue;
            }
            if let Err(what) = bench.round(row) {
                progress.message(&format!("FAILED {} {}: {what}", row.program, row.collector));
                row.failure = Some(what);
            }
            progress.step(row.failure.is_none(), &format!("{} {}", row.program, row.collector));
        }
    }
    progress.finish();
    rows.retain(|row| !row.local.is_empty() || row.failure.is_some());
    if left_out > 0 {
        eprintln!(
            "gc-bench far: {left_out} runs were skipped after {} minutes (--minutes)",
            options.minutes
        );
    }
    bench.print(&rows);
    if let Some(path) = &options.json {
        let report = json!({
            "jdk": bench.jdk.version, "heap": options.heap, "local_memory": options.local_memory,
            "rows": rows.iter().map(Row::json).collect::<Vec<Value>>(),
        });
        let text = serde_json::to_string_pretty(&report);
        std::fs::write(path, text.expect("it is made of numbers and texts") + "\n")?;
    }
    Ok(rows.iter().all(|row| row.failure.is_none()))
}

struct Bench<'a> {
    options: &'a Options,
    jdk: Jdk,
    far_run: FarRun,
    swap: Option<KernelSwap>,
    suite: Suite,
    graph: PathBuf,
    collectors: Vec<String>,
    // Holds the graph's classes.
    _scratch: Scratch,
}

/// One program under one collector.
struct Row {
    program: String,
    collector: String,
    /// Seconds of each way.
    local: Sample,
    far: Sample,
    swap: Sample,
    /// Runs in swap that the kernel ended, or that took [`SWAP_TIMES_MAX`] times as long as in local memory.
    killed: usize,
    /// The memory beyond its limit that it got when the kernel gave up.
    relieved: Relieved,
    counted: Counted,
    failure: Option<String>,
}

impl Row {
    fn json(&self) -> Value {
        json!({
            "program": self.program, "collector": self.collector,
            "local_s": self.local.values(), "far_s": self.far.values(),
            "swap_s": self.swap.values(), "swap_killed": self.killed, "swap_relieved": self.relieved,
            "counted": self.counted, "failure": self.failure,
        })
    }
}

impl Bench<'_> {
    fn new(options: &Options) -> io::Result<Bench<'_>> {
        let jdk = Jdk::find()?;
        let far_run = FarRun::find()?;
        let suite = Suite::compile(&options.workloads, &jdk)?;
        let scratch = Scratch::new("bench-far")?;
        let graph = scratch.folder("classes")?;
        jdk.compile(&[options.workloads.join("graph/GraphChurn.java")], &graph)?;
        let swap = match options.kernel_swap.then(zram).transpose() {
            Ok(swap) => swap,
            Err(why) => {
                eprintln!("gc-bench far: no comparison with kernel swap: {why}");
                None
            }
        };
        let collectors = match options.gc.is_empty() {
            true => FarRun::collectors().map(str::to_string).collect(),
            false => options.gc.clone(),
        };
        let _scratch = scratch;
        Ok(Bench { options, jdk, far_run, swap, suite, graph, collectors, _scratch })
    }

    fn rows(&self) -> Vec<Row> {
        let mut programs = self.suite.programs.clone();
        programs.push(GRAPH.to_string());
        let wanted = &self.options.programs;
        programs.retain(|name| wanted.is_empty() || wanted.iter().any(|w| name.contains(w)));
        let row = |program: &String, collector: &String| Row {
            program: program.clone(),
            collector: collector.clone(),
            local: Sample::default(),
            far: Sample::default(),
            swap: Sample::default(),
            killed: 0,
            relieved: Relieved::default(),
            counted: Counted::default(),
            failure: None,
        };
        let rows = programs.iter().flat_map(|p| self.collectors.iter().map(move |c| row(p, c)));
        rows.collect()
    }

    /// Runs a program in all ways. The error says what went wrong.
    fn round(&self, row: &mut Row) -> Result<(), String> {
        let error = |error: io::Error| error.to_string();
        let hotspot = || FarRun::hotspot(&self.jdk, &row.collector).map_err(error);
        let (local, expected) = self.run(hotspot()?, &row.program)?;
        row.local.add(local);

        let scratch = Scratch::new("far").map_err(error)?;
        let stats = scratch.path().join("stats");
        let setting = Setting {
            collector: row.collector.clone(),
            local_memory: self.options.local_memory.clone(),
            memory_servers: self.options.memory_servers,
            options: self.options.far_option.clone(),
        };
        let command = self.far_run.command(&setting, &self.jdk, Some(&stats)).map_err(error)?;
        let (far, answer) = self.run(command, &row.program)?;
        if answer != expected {
            return Err(format!("{answer:?} in remote memory, {expected:?} in local memory"));
        }
        row.far.add(far);
        row.counted = Counted::read(&stats).map_err(error)?;

        let Some(swap) = &self.swap else { return Ok(()) };
        let mut command = hotspot()?;
        self.add_program(&mut command, &row.program);
        let own_bytes = row.counted.local_bytes + row.counted.other_resident_bytes;
        let bytes = own_bytes + KERNEL_BYTES;
        // A program that the kernel does nothing for but swapping may take for ever.
        let limit = Duration::from_secs_f64(SWAP_TIMES_MAX * local + SWAP_SECONDS);
        let (command, relief) = swap.confine(&command, bytes)?;
        let judged = self.judge(command, &row.program, limit);
        row.relieved.add(relief.end());
        match judged {
            Ok((seconds, answer)) if answer == expected => row.swap.add(seconds),
            Ok((_, answer)) => return Err(format!("{answer:?} in swap, {expected:?} without")),
            Err(_) => row.killed += 1,
        }
        Ok(())
    }

    fn run(&self, mut command: Command, program: &str) -> Result<(f64, String), String> {
        self.add_program(&mut command, program);
        self.judge(command, program, Duration::from_secs(self.options.timeout))
    }

    fn add_program(&self, command: &mut Command, program: &str) {
        let (options, percent) = (self.options, self.options.size);
        if program == GRAPH {
            let megabytes = (GRAPH_MEGABYTES * percent / 100).max(1);
            command.args(["-Xms128m", "-Xmx128m", "-cp"]).arg(&self.graph);
            command.args([GRAPH, &GRAPH_NODES.to_string(), &megabytes.to_string()]);
        } else {
            command.args([format!("-Xms{}", options.heap), format!("-Xmx{}", options.heap)]);
            self.suite.add_program(command, program, self.amount());
        }
    }

    fn amount(&self) -> Amount {
        let Options { iterations, size, .. } = *self.options;
        Amount { iterations, size, without_collection: false }
    }

    /// Seconds and answer of a complete command.
    fn judge(
        &self,
        command: Command,
        program: &str,
        limit: Duration,
    ) -> Result<(f64, String), String> {
        let limit = limit.min(Duration::from_secs(self.options.timeout));
        if program != GRAPH {
            let done = Suite::judge(command, self.amount(), limit)?;
            return Ok((done.ms.iter().sum::<f64>() / 1e3, done.checksum));
        }
        let scratch = Scratch::new("graph").map_err(|error| error.to_string())?;
        let run = process::run(command, scratch.path(), b"", limit);
        let run = run.map_err(|error| error.to_string())?;
        match run.end {
            End::Exit(0) => Ok((run.wall.as_secs_f64(), lines(&run.stdout))),
            end => Err(format!("{end}: {}", lines(&run.stderr))),
        }
    }

    fn print(&self, rows: &[Row]) {
        let options = self.options;
        println!(
            "JDK {}, heap {}, {} local memory, {} memory server(s), {} round(s): seconds (median)",
            self.jdk.version,
            options.heap,
            options.local_memory,
            options.memory_servers,
            options.rounds
        );
        println!(
            "{:14} {:10} {:>8} {:>8} {:>6} {:>10} {:>7} {:>7} {:>8} {:>6}",
            "program", "collector", "local", "far", "x", "fetches", "MB in", "MB out", "swap", "x"
        );
        for row in rows {
            let (local, far) = (row.local.median(), row.far.median());
            let megabytes = |bytes: u64| bytes >> 20;
            print!(
                "{:14} {:10} {local:8.2} {far:8.2} {:6.2} {:10} {:7} {:7}",
                row.program,
                row.collector,
                far / local,
                row.counted.fetch_faults,
                megabytes(row.counted.fetched_bytes),
                megabytes(row.counted.written_bytes)
            );
            match (&row.failure, row.killed) {
                (Some(_), _) => println!(" FAILED"),
                (None, 0) if row.swap.is_empty() => println!(),
                (None, 0) => {
                    println!(" {:8.2} {:6.2}", row.swap.median(), row.swap.median() / local)
                }
                (None, killed) if row.swap.is_empty() => println!(" {:>8} {killed} killed", "-"),
                (None, killed) => println!(" {:8.2} {killed} killed", row.swap.median()),
            }
        }
        for collector in &self.collectors {
            let of_collector = || rows.iter().filter(|row| row.collector == *collector);
            let ratio = |sample: fn(&Row) -> &Sample| {
                let measured = of_collector().filter(|row| !sample(row).is_empty());
                let ratios = measured.map(|row| sample(row).median() / row.local.median());
                geomean(&ratios.collect::<Vec<f64>>())
                    .map_or("-".to_string(), |mean| format!("{mean:.2}"))
            };
            let (far, swap) = (ratio(|row| &row.far), ratio(|row| &row.swap));
            let killed: usize = of_collector().map(|row| row.killed).sum();
            println!("{collector:12} geometric mean: far-run {far}, swap {swap} ({killed} killed)");
        }
    }
}

fn zram() -> Result<KernelSwap, String> {
    KernelSwap::new(Device::Zram, ZRAM_BYTES)
}

/// The first lines of an output.
fn lines(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).lines().take(SHOWN_LINES).collect::<Vec<_>>().join("\n")
}

const GRAPH: &str = "GraphChurn";
const GRAPH_NODES: usize = 400_000;
const GRAPH_MEGABYTES: usize = 640;
const SHOWN_LINES: usize = 20;
/// How long a run in swap may take, compared with local memory, and seconds added to that.
const SWAP_TIMES_MAX: f64 = 20.0;
const SWAP_SECONDS: f64 = 20.0;
/// Further memory that a cgroup counts: page tables, stacks of threads in the kernel.
const KERNEL_BYTES: u64 = 4 << 20;
