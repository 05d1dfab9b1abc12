//! How fast compiled code is: `make bench-jit`.
//!
//! Three comparisons with the JDK's own VM on the same machine. The suite: the steady state of the programs in
//! `workloads/suite`, against HotSpot's first compiler (C1) and its second (C2). `--javac`: all workloads compiled
//! ten times in one process. `--hello`: what the compiler costs a program that does not need it, in time and memory.
//! Peers take turns in fresh processes, so that a slow minute of the machine hits all of them.

use std::io;
use std::path::PathBuf;
use std::process::{Command, exit};
use std::time::Duration;

use bench::harness::process::{self, End};
use bench::harness::progress::Progress;
use bench::harness::sample::{Sample, geomean};
use bench::harness::scratch::Scratch;
use bench::java::footprint;
use bench::java::jdk::{self, Jdk};
use bench::java::suite::{Amount, Iterations, Suite, parse};
use bench::java::vm::{Setting, Vm};
use clap::Parser;
use serde_json::{Value, json};

/// Compares our compiled code with HotSpot's.
#[derive(Parser)]
struct Options {
    /// Only programs of the suite whose name contains one of these
    #[arg(long, value_delimiter = ',')]
    programs: Vec<String>,
    /// The first is judged, against each of the others: ours, xint, xcomp (our VM), c1, c2, hotspot-xint
    #[arg(long, value_delimiter = ',', default_value = "ours,c1,c2")]
    peers: Vec<String>,
    /// One more peer, NAME=OPTIONS, our VM with these options (repeat for several): 'mako=--gc mako'
    #[arg(long, allow_hyphen_values = true)]
    vm_peer: Vec<String>,
    /// The suite under Mako with its indirection table and without it: what the table costs the program.
    /// Implies --without-collection
    #[arg(long)]
    hit: bool,
    /// A collection is a failure: the heap must be as large as all that a program allocates
    #[arg(long)]
    without_collection: bool,
    /// Rounds; each runs every program once on each peer
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Iterations in one process; the last half of them counts
    #[arg(long, default_value_t = 20)]
    iterations: usize,
    /// Of one iteration, as a percentage of the usual
    #[arg(long, default_value_t = 100)]
    size: usize,
    /// Seconds that one process may take
    #[arg(long, default_value_t = 600)]
    timeout: u64,
    #[arg(long, default_value = "512m")]
    heap: String,
    /// Write all measurements there
    #[arg(long)]
    json: Option<PathBuf>,
    /// Not the suite, but javac, compiling all workloads ten times
    #[arg(long)]
    javac: bool,
    /// Not the suite, but time and memory of hello world
    #[arg(long)]
    hello: bool,
    /// The suite, javac and hello world
    #[arg(long)]
    all: bool,
    /// The VM's executable [default: `vm` beside this program]
    #[arg(long)]
    vm: Option<PathBuf>,
    /// The folder of the workloads
    #[arg(long, default_value = "workloads")]
    workloads: PathBuf,
    /// More options for our VM (repeat for several)
    #[arg(long, allow_hyphen_values = true)]
    vm_option: Vec<String>,
}

fn main() {
    match real_main(&Options::parse()) {
        Ok(true) => {}
        Ok(false) => exit(1),
        Err(error) => {
            eprintln!("bench-jit: {error}");
            exit(2);
        }
    }
}

fn real_main(options: &Options) -> io::Result<bool> {
    let bench = Bench { jdk: Jdk::find()?, vm: Vm::find(options.vm.clone())?, options };
    let mut report = bench.circumstances();
    let mut fine = true;
    let mut part = |name: &str, (found, met): (Value, bool)| {
        report[name] = found;
        fine &= met;
    };
    if options.all || !(options.javac || options.hello) {
        part("suite", bench.suite()?);
    }
    if options.all || options.javac {
        part("javac", bench.javac()?);
    }
    if options.all || options.hello {
        part("hello", bench.hello()?);
    }
    if let Some(path) = &options.json {
        let text = serde_json::to_string_pretty(&report);
        std::fs::write(path, text.expect("it is made of numbers and texts") + "\n")?;
    }
    Ok(fine)
}

struct Bench<'a> {
    jdk: Jdk,
    vm: Vm,
    options: &'a Options,
}

/// A VM with options, under a short name.
struct Peer {
    name: String,
    kind: PeerKind,
    options: Vec<String>,
}

enum PeerKind {
    Ours,
    HotSpot,
}

impl Peer {
    fn named(name: &str) -> io::Result<Peer> {
        use PeerKind::{HotSpot, Ours};
        let serial = "-XX:+UseSerialGC";
        let (kind, options): (_, &[&str]) = match name {
            "ours" => (Ours, &[]),
            "xint" => (Ours, &["-Xint"]),
            "xcomp" => (Ours, &["-Xcomp"]),
            "c1" => (HotSpot, &["-XX:TieredStopAtLevel=1", serial]),
            "c2" => (HotSpot, &[serial]),
            "hotspot-xint" => (HotSpot, &["-Xint", serial]),
            _ => return Err(io::Error::other(format!("no peer {name}"))),
        };
        let options = options.iter().map(|option| option.to_string()).collect();
        Ok(Peer { name: name.to_string(), kind, options })
    }

    /// From NAME=OPTIONS.
    fn custom(text: &str) -> io::Result<Peer> {
        let (name, options) = text
            .split_once('=')
            .ok_or_else(|| io::Error::other(format!("not NAME=OPTIONS: {text}")))?;
        let options = options.split_whitespace().map(str::to_string).collect();
        Ok(Peer { name: name.to_string(), kind: PeerKind::Ours, options })
    }
}

impl Bench<'_> {
    fn command(&self, peer: &Peer) -> Command {
        let mut command = match peer.kind {
            PeerKind::Ours => {
                let setting = Setting {
                    collector: "serial".to_string(),
                    local_memory: "100%".to_string(),
                    memory_servers: 1,
                    options: self.options.vm_option.clone(),
                };
                self.vm.command(&setting, &self.jdk)
            }
            PeerKind::HotSpot => self.jdk.java(),
        };
        command.args(&peer.options).arg(format!("-Xmx{}", self.options.heap));
        command
    }

    /// Mako with its table, with one that references do not go through, and with none. Only the first can collect
    /// beside the program, so only what happens without collections can be compared.
    fn with_and_without_table(&self) -> [Peer; 3] {
        // Memory is there from the start: it costs all the same, and on a virtual machine not always the same.
        let all_at_once = format!("-Xms{}", self.options.heap);
        let peer = |name: &str, options: &[&str]| {
            let options = options.iter().map(|option| option.to_string()).collect();
            Peer { name: name.to_string(), kind: PeerKind::Ours, options }
        };
        let mako = ["--gc", "mako", all_at_once.as_str(), "-XX:+AlwaysPreTouch"];
        [
            (WITH_TABLE, None),
            (ASSIGNED, Some("-XX:-UseHITTranslation")),
            (WITHOUT_TABLE, Some("-XX:-UseHIT")),
        ]
        .map(|(name, less)| peer(name, &mako.iter().copied().chain(less).collect::<Vec<_>>()))
    }

    fn limit(&self) -> Duration {
        Duration::from_secs(self.options.timeout)
    }

    // The suite.

    fn suite(&self) -> io::Result<(Value, bool)> {
        let options = self.options;
        let mut peers = Vec::new();
        if options.hit {
            peers.extend(self.with_and_without_table());
        } else {
            for name in &options.peers {
                peers.push(Peer::named(name)?);
            }
        }
        for text in &options.vm_peer {
            peers.push(Peer::custom(text)?);
        }
        let suite = Suite::compile(&options.workloads, &self.jdk)?;
        let chosen = |name: &&String| {
            options.programs.is_empty() || options.programs.iter().any(|p| name.contains(p))
        };
        let mut rows: Vec<Row> =
            suite.programs.iter().filter(chosen).map(|name| Row::new(name, &peers)).collect();
        if rows.is_empty() || peers.is_empty() {
            return Err(io::Error::other("no program or no peer is chosen"));
        }
        let amount = Amount {
            iterations: options.iterations,
            size: options.size,
            without_collection: options.without_collection || options.hit,
        };
        let mut progress = Progress::new(options.rounds * rows.len() * peers.len());
        for round in 0..options.rounds {
            for row in &mut rows {
                for turn in 0..peers.len() {
                    // Who goes first changes from round to round.
                    let index = (turn + round) % peers.len();
                    let label = format!("{} {}", row.name, peers[index].name);
                    if row.failure.is_none() {
                        let command = self.command(&peers[index]);
                        row.add(index, suite.run(command, &row.name, amount, self.limit()), &peers);
                    }
                    progress.step(row.failure.is_none(), &label);
                }
            }
        }
        progress.finish();
        println!(
            "JDK {}, heap {}, {} rounds of {} iterations; medians (middle half) of the last half, in ms",
            self.jdk.version, options.heap, options.rounds, options.iterations
        );
        let fine = print_table(&rows, &peers);
        Ok((rows.iter().map(|row| row.json(&peers)).collect(), fine))
    }

    // javac.

    fn javac(&self) -> io::Result<(Value, bool)> {
        let scratch = Scratch::new("bench-javac")?;
        let driver = self.compiled("CompileRepeatedly", &scratch)?;
        let sources = jdk::own_sources(&self.options.workloads.canonicalize()?)?;
        let hotspot = Peer { name: "HotSpot".into(), kind: PeerKind::HotSpot, options: vec![] };
        let peers = [Peer::named("ours")?, hotspot];
        let (mut samples, mut checksums) = ([Sample::default(), Sample::default()], Vec::new());
        for round in 0..self.options.rounds {
            for turn in 0..peers.len() {
                let index = (turn + round) % peers.len();
                let peer = &peers[index];
                let folder = Scratch::new("javac")?;
                let mut command = self.command(peer);
                command.arg("-cp").arg(&driver).args(["CompileRepeatedly", "10"]);
                command.arg(folder.folder("classes")?).args(&sources);
                let run = process::run(command, folder.path(), b"", self.limit())?;
                let output = parse(&String::from_utf8_lossy(&run.stdout));
                let (End::Exit(0), Some(output)) = (run.end, output) else {
                    let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
                    println!("javac on {}: {}\n{stderr}", peer.name, run.end);
                    return Ok((Value::Null, false));
                };
                let seconds = run.wall.as_secs_f64();
                let (first, last) = (output.ms[0] / 1e3, output.ms[9] / 1e3);
                eprintln!(
                    "round {} {:8} {seconds:6.1} s, the first time {first:.1} s, the tenth {last:.1} s",
                    round + 1,
                    peer.name
                );
                samples[index].add(run.wall.as_secs_f64() * 1e3);
                checksums.push(output.checksum);
            }
        }
        let [ours, theirs] = &samples;
        println!("javac, {} sources ten times in one process, ms", sources.len());
        println!("  HotSpot {theirs}\n  ours    {ours}");
        let same = checksums.iter().all(|checksum| *checksum == checksums[0]);
        if !same {
            println!("the class files are not the same");
        }
        let fine = judge("javac vs HotSpot", ours.median() / theirs.median(), JAVAC_TARGET);
        Ok((
            json!({ "javac": { "ours_ms": ours.values(), "hotspot_ms": theirs.values() } }),
            same && fine,
        ))
    }

    // Hello world.

    fn hello(&self) -> io::Result<(Value, bool)> {
        let scratch = Scratch::new("bench-hello")?;
        let classes = self.compiled("HelloAndWait", &scratch)?;
        let peers = [Peer::named("ours")?, Peer::named("xint")?];
        let mut samples = [Sample::default(), Sample::default()];
        let rounds = self.options.rounds.max(HELLO_ROUNDS_MIN);
        for round in 0..rounds {
            for turn in 0..peers.len() {
                let index = (turn + round) % peers.len();
                let mut command = self.command(&peers[index]);
                command.arg("-cp").arg(&classes).arg("HelloAndWait");
                let folder = Scratch::new("hello")?;
                let run = process::run(command, folder.path(), b"", self.limit())?;
                if run.end != End::Exit(0) {
                    println!("hello world on {}: {}", peers[index].name, run.end);
                    return Ok((Value::Null, false));
                }
                samples[index].add(run.wall.as_secs_f64() * 1e3);
            }
        }
        let heap_bytes = bytes(&self.options.heap)
            .ok_or_else(|| io::Error::other("--heap takes a number and k, m or g"))?;
        let mut command = self.command(&peers[0]);
        command.arg("-cp").arg(&classes).arg("HelloAndWait");
        let memory = footprint::of_waiting_program(command, heap_bytes)?;
        let [ours, interpreter] = &samples;
        println!("hello world, {rounds} times, ms\n  -Xint   {interpreter}\n  default {ours}");
        println!("peak memory {} KiB, of it heap {} KiB", memory.peak_kib, memory.heap_kib);
        let in_time = judge("hello vs -Xint", ours.median() / interpreter.median(), HELLO_TARGET);
        let own_mib = memory.own_kib() as f64 / 1024.0;
        let in_memory = judge("memory of the VM itself in MiB", own_mib, MEMORY_TARGET_MIB);
        let report = json!({
            "ours_ms": ours.values(), "xint_ms": interpreter.values(),
            "peak_kib": memory.peak_kib, "heap_kib": memory.heap_kib,
        });
        Ok((report, in_time && in_memory))
    }

    /// Compiles one of the programs that belong to this crate; returns the folder of its classes.
    fn compiled(&self, name: &str, scratch: &Scratch) -> io::Result<PathBuf> {
        let text = match name {
            "CompileRepeatedly" => include_str!("../../../java/CompileRepeatedly.java"),
            _ => include_str!("../../../java/HelloAndWait.java"),
        };
        let source = scratch.folder("source")?.join(format!("{name}.java"));
        std::fs::write(&source, text)?;
        let classes = scratch.folder("classes")?;
        self.jdk.compile(&[source], &classes)?;
        Ok(classes)
    }

    /// What the figures depend on.
    fn circumstances(&self) -> Value {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let cpu = read("/proc/cpuinfo");
        let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("");
        let commit = Command::new("git").args(["rev-parse", "HEAD"]).output();
        let commit =
            commit.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string());
        let options = self.options;
        json!({
            "cpu": cpu.trim_start_matches(['\t', ' ', ':']),
            "processors": bench::harness::pool::default_threads(),
            "kernel": read("/proc/sys/kernel/osrelease").trim(),
            "jdk": self.jdk.version,
            "commit": commit.unwrap_or_default(),
            "heap": options.heap,
            "vm_options": options.vm_option,
            "rounds": options.rounds,
            "iterations": options.iterations,
            "size": options.size,
        })
    }
}

/// One program's measurements, by peer.
struct Row {
    name: String,
    samples: Vec<Sample>,
    checksum: Option<(String, String)>,
    failure: Option<String>,
}

impl Row {
    fn new(name: &str, peers: &[Peer]) -> Row {
        let samples = vec![Sample::default(); peers.len()];
        Row { name: name.to_string(), samples, checksum: None, failure: None }
    }

    fn add(&mut self, peer: usize, result: Result<Iterations, String>, peers: &[Peer]) {
        let name = &peers[peer].name;
        match result {
            Ok(run) => {
                run.steady().iter().for_each(|ms| self.samples[peer].add(*ms));
                let (sum, by) = self.checksum.get_or_insert((run.checksum.clone(), name.clone()));
                if run.checksum != *sum {
                    let other = &run.checksum;
                    self.failure = Some(format!("checksum {other} on {name}, {sum} on {by}"));
                }
            }
            Err(why) => self.failure = Some(format!("{name}: {why}")),
        }
    }

    /// How much longer the first peer takes than another.
    fn ratio(&self, other: usize) -> f64 {
        self.ratio_of(0, other)
    }

    /// How much longer one peer takes than another.
    fn ratio_of(&self, one: usize, other: usize) -> f64 {
        self.samples[one].median() / self.samples[other].median()
    }

    fn json(&self, peers: &[Peer]) -> Value {
        let named = peers.iter().zip(&self.samples);
        let samples: serde_json::Map<String, Value> =
            named.map(|(peer, sample)| (peer.name.clone(), json!(sample.values()))).collect();
        json!({ "program": self.name, "ms": samples, "failure": self.failure })
    }
}

/// Prints rows and judgements; true if nothing failed and all targets are met.
fn print_table(rows: &[Row], peers: &[Peer]) -> bool {
    print!("{:14}", "program");
    peers.iter().for_each(|peer| print!(" {:>22}", peer.name));
    peers[1..].iter().for_each(|peer| print!(" {:>7}", format!("/{}", peer.name)));
    println!();
    for row in rows {
        print!("{:14}", row.name);
        if let Some(why) = &row.failure {
            println!(" FAILED {why}");
            continue;
        }
        row.samples.iter().for_each(|sample| print!(" {sample:>22}"));
        (1..peers.len()).for_each(|other| print!(" {:>7.3}", row.ratio(other)));
        println!();
    }
    let passed: Vec<&Row> = rows.iter().filter(|row| row.failure.is_none()).collect();
    let mut fine = passed.len() == rows.len();
    if !fine {
        println!("{} of {} programs failed", rows.len() - passed.len(), rows.len());
    }
    for (other, peer) in peers.iter().enumerate().skip(1) {
        let ratios: Vec<f64> = passed.iter().map(|row| row.ratio(other)).collect();
        let Some(mean) = geomean(&ratios) else {
            continue;
        };
        let judged = peers[0].name == "ours";
        let geomean_name = format!("geomean vs {}", peer.name);
        let worst = ratios.iter().copied().fold(0.0, f64::max);
        match peer.name.as_str() {
            "c1" if judged => fine &= judge(&geomean_name, mean, C1_TARGET),
            "c2" if judged => {
                fine &= judge(&geomean_name, mean, C2_TARGET);
                fine &= judge("worst vs c2", worst, C2_WORST_TARGET);
            }
            ASSIGNED if peers[0].name == WITH_TABLE => {
                fine &= judge("translation, geomean", mean, TRANSLATION_TARGET);
                println!("translation, worst {worst:.3}");
            }
            WITHOUT_TABLE if peers[0].name == WITH_TABLE => {
                let assigning: Vec<f64> =
                    passed.iter().map(|row| row.ratio_of(other - 1, other)).collect();
                let assigning_mean = geomean(&assigning).unwrap_or(f64::NAN);
                println!("assignment, geomean {assigning_mean:.3}");
                println!("both, geomean {mean:.3}, worst {worst:.3}");
            }
            _ => println!("{geomean_name} {mean:.2}, worst {worst:.2}"),
        }
    }
    fine
}

/// Prints a figure beside its target; true if it is met.
fn judge(what: &str, value: f64, most: f64) -> bool {
    println!("{what} {value:.3} (at most {most:.2})");
    value <= most
}

/// A size as `-Xmx` takes it.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match &text[digits.len()..] {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_shl(shift)
}

const WITH_TABLE: &str = "hit";
const ASSIGNED: &str = "untranslated";
const WITHOUT_TABLE: &str = "no-hit";
/// What going through the indirection table may cost.
const TRANSLATION_TARGET: f64 = 1.08;
const C1_TARGET: f64 = 1.0;
const C2_TARGET: f64 = 2.0;
const C2_WORST_TARGET: f64 = 4.0;
const JAVAC_TARGET: f64 = 1.5;
const HELLO_TARGET: f64 = 1.2;
const MEMORY_TARGET_MIB: f64 = 64.0;
/// Hello world is short; fewer runs would measure the noise.
const HELLO_ROUNDS_MIN: usize = 15;
