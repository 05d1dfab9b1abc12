//! How fast compiled code is: `make bench-jit`.
//!
//! Three comparisons with the JDK's own VM on the same machine. The suite: the steady state of the programs in
//! `workloads/suite`, against HotSpot's first compiler (C1) and its second (C2). `--javac`: all workloads compiled
//! ten times in one process. `--hello`: the cost of the compiler to a program that does not need it, in time and
//! memory. Peers take turns in fresh processes, so that a slow minute of the machine hits all of them.

use std::io;
use std::path::PathBuf;

use base::units::parse_bytes;
use clap::Args;
use serde_json::{Value, json};

use crate::gc_bench::commands::comparison::{Comparison, Peer, Ratio, SuiteOptions, judge};
use crate::harness::process::{self, End};
use crate::harness::sample::Sample;
use crate::harness::scratch::Scratch;
use crate::java::footprint::{self, Footprint};
use crate::java::jdk;
use crate::java::suite::parse;

/// Compare our compiled code with HotSpot's
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    suite: SuiteOptions,
    /// Peers: ours, xint, xcomp (our VM), c1, c2, hotspot-xint; the first is compared with each of the others
    #[arg(long, value_delimiter = ',', default_value = "ours,c1,c2")]
    peers: Vec<String>,
    /// Fail if a collection runs: the heap must hold everything that a program allocates
    #[arg(long)]
    without_collection: bool,
    /// Run javac instead of the suite: it compiles all workloads ten times
    #[arg(long)]
    javac: bool,
    /// Measure time and memory of hello world instead of the suite
    #[arg(long)]
    hello: bool,
    /// Run the suite, javac and hello world
    #[arg(long)]
    all: bool,
}

/// Measures in turn with `vm`, else the one beside this program; true if nothing failed and all targets are met.
pub fn run(options: &Options, vm: Option<PathBuf>) -> io::Result<bool> {
    let bench = Bench { comparison: Comparison::new(&options.suite, vm)?, options };
    let mut found = Vec::new();
    let mut fine = true;
    let mut part = |name: &'static str, (value, met): (Value, bool)| {
        found.push((name, value));
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
    bench.comparison.write(&found)?;
    Ok(fine)
}

struct Bench<'a> {
    comparison: Comparison<'a>,
    options: &'a Options,
}

fn named(name: &str) -> io::Result<Peer> {
    let serial = "-XX:+UseSerialGC";
    Ok(match name {
        "ours" => Peer::ours(name, &[]),
        "xint" => Peer::ours(name, &["-Xint"]),
        "xcomp" => Peer::ours(name, &["-Xcomp"]),
        "c1" => Peer::hotspot(name, &["-XX:TieredStopAtLevel=1", serial]),
        "c2" => Peer::hotspot(name, &[serial]),
        "hotspot-xint" => Peer::hotspot(name, &["-Xint", serial]),
        _ => return Err(io::Error::other(format!("unknown peer {name}"))),
    })
}

impl Bench<'_> {
    // The suite.

    fn suite(&self) -> io::Result<(Value, bool)> {
        let peers: io::Result<_> = self.options.peers.iter().map(|name| named(name)).collect();
        let table = self.comparison.suite(peers?, self.options.without_collection)?;
        let mut fine = table.is_complete();
        for (other, peer) in table.peers.iter().enumerate().skip(1) {
            let Some(Ratio { mean, worst }) = table.ratio(0, other) else { continue };
            let judged = table.peers[0].name == "ours";
            let geomean_name = format!("geomean vs {}", peer.name);
            match peer.name.as_str() {
                "c1" if judged => fine &= judge(&geomean_name, mean, C1_TARGET),
                "c2" if judged => {
                    fine &= judge(&geomean_name, mean, C2_TARGET);
                    fine &= judge("worst vs c2", worst, C2_WORST_TARGET);
                }
                _ => println!("{geomean_name} {mean:.2}, worst {worst:.2}"),
            }
        }
        Ok((table.json(), fine))
    }

    // javac.

    fn javac(&self) -> io::Result<(Value, bool)> {
        let scratch = Scratch::new("bench-javac")?;
        let driver = self.compiled("CompileRepeatedly", &scratch)?;
        let sources = jdk::own_sources(&self.options.suite.workloads.canonicalize()?)?;
        let hotspot = Peer::hotspot("HotSpot", &[]);
        let peers = [named("ours")?, hotspot];
        let (mut samples, mut checksums) = ([Sample::default(), Sample::default()], Vec::new());
        for round in 0..self.options.suite.rounds {
            for turn in 0..peers.len() {
                let index = (turn + round) % peers.len();
                let peer = &peers[index];
                let folder = Scratch::new("javac")?;
                let mut command = self.comparison.command(peer);
                command.arg("-cp").arg(&driver).args(["CompileRepeatedly", "10"]);
                command.arg(folder.folder("classes")?).args(&sources);
                let run = process::run(command, folder.path(), b"", self.comparison.limit())?;
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
        let peers = [named("ours")?, named("xint")?, Peer::hotspot("HotSpot", &[])];
        let command_of = |peer: &Peer| {
            let mut command = self.comparison.command(peer);
            command.arg("-cp").arg(&classes).arg("HelloAndWait");
            command
        };
        let mut samples = [(); 3].map(|()| Sample::default());
        let rounds = self.options.suite.rounds.max(HELLO_ROUNDS_MIN);
        for round in 0..rounds {
            for turn in 0..peers.len() {
                let index = (turn + round) % peers.len();
                let folder = Scratch::new("hello")?;
                let command = command_of(&peers[index]);
                let run = process::run(command, folder.path(), b"", self.comparison.limit())?;
                if run.end != End::Exit(0) {
                    println!("hello world on {}: {}", peers[index].name, run.end);
                    return Ok((Value::Null, false));
                }
                samples[index].add(run.wall.as_secs_f64() * 1e3);
            }
        }
        let heap_bytes = parse_bytes(&self.options.suite.heap)
            .ok_or_else(|| io::Error::other("--heap: must be a number with k, m or g"))?;
        let memory_of =
            |peer: &Peer| footprint::of_waiting_program(command_of(peer), heap_bytes as u64);
        let (memory, theirs) = (memory_of(&peers[0])?, memory_of(&peers[2])?);
        let [ours, interpreter, hotspot] = &samples;
        println!("hello world, {rounds} times, ms\n  -Xint   {interpreter}\n  default {ours}");
        println!("  HotSpot {hotspot}");
        for (name, memory) in [("ours", memory), ("HotSpot", theirs)] {
            let Footprint { peak_kib, heap_kib } = memory;
            println!("peak memory, {name}: {peak_kib} KiB, heap {heap_kib} KiB of it");
        }
        let in_time = judge("hello vs -Xint", ours.median() / interpreter.median(), HELLO_TARGET);
        let own_mib = memory.own_kib() as f64 / 1024.0;
        let in_memory = judge("memory of the VM itself in MiB", own_mib, MEMORY_TARGET_MIB);
        let report = json!({
            "ours_ms": ours.values(), "xint_ms": interpreter.values(),
            "hotspot_ms": hotspot.values(),
            "peak_kib": memory.peak_kib, "heap_kib": memory.heap_kib,
            "hotspot_peak_kib": theirs.peak_kib, "hotspot_heap_kib": theirs.heap_kib,
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
        self.comparison.jdk.compile(&[source], &classes)?;
        Ok(classes)
    }
}

const C1_TARGET: f64 = 1.0;
const C2_TARGET: f64 = 2.0;
const C2_WORST_TARGET: f64 = 4.0;
const JAVAC_TARGET: f64 = 1.5;
const HELLO_TARGET: f64 = 1.2;
const MEMORY_TARGET_MIB: f64 = 64.0;
/// Hello world is short; fewer runs would measure the noise.
const HELLO_ROUNDS_MIN: usize = 15;
