//! Programs of the suite on several VMs: the common part of `gc-bench jit` and `gc-bench hit`.
//!
//! Peers take turns in fresh processes, so that a slow minute of the machine hits all of them. The steady state is
//! compared: medians of the last half of the iterations.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use crate::harness::pool;
use crate::harness::progress::Progress;
use crate::harness::sample::{Sample, geomean};
use crate::java::jdk::Jdk;
use crate::java::suite::{Amount, Iterations, Suite};
use crate::java::vm::{Setting, Vm};

/// The programs, the number of their runs, and the file for the measurements.
#[derive(Args)]
pub struct SuiteOptions {
    /// Only programs of the suite whose name contains one of these
    #[arg(long, value_delimiter = ',')]
    programs: Vec<String>,
    /// A further peer: our VM with these options, NAME=OPTIONS, such as 'mako=--gc mako' (repeat for several)
    #[arg(long, allow_hyphen_values = true)]
    vm_peer: Vec<String>,
    /// Rounds; each runs every program once on each peer
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
    /// Iterations in one process; only the last half is measured
    #[arg(long, default_value_t = 20)]
    iterations: usize,
    /// Work of one iteration, as a percentage of the default
    #[arg(long, default_value_t = 100)]
    size: usize,
    /// Time limit of one process, in seconds
    #[arg(long, default_value_t = 600)]
    timeout: u64,
    #[arg(long, default_value = "512m")]
    pub heap: String,
    /// File for all measurements, as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// The folder of the workloads
    #[arg(long, default_value = "workloads")]
    pub workloads: PathBuf,
    /// More options for our VM (repeat for several)
    #[arg(long, allow_hyphen_values = true)]
    vm_option: Vec<String>,
}

/// A VM with options, under a short name.
pub struct Peer {
    /// Its name in tables.
    pub name: String,
    is_ours: bool,
    options: Vec<String>,
}

impl Peer {
    /// Our VM with these options.
    pub fn ours(name: &str, options: &[&str]) -> Peer {
        let options = options.iter().map(|option| option.to_string()).collect();
        Peer { name: name.to_string(), is_ours: true, options }
    }

    /// The JDK's VM with these options.
    pub fn hotspot(name: &str, options: &[&str]) -> Peer {
        Peer { is_ours: false, ..Peer::ours(name, options) }
    }

    /// From NAME=OPTIONS.
    fn custom(text: &str) -> io::Result<Peer> {
        let (name, options) = text
            .split_once('=')
            .ok_or_else(|| io::Error::other(format!("not NAME=OPTIONS: {text}")))?;
        Ok(Peer::ours(name, &options.split_whitespace().collect::<Vec<_>>()))
    }
}

/// The VMs of this machine, and the comparison that is asked for.
pub struct Comparison<'a> {
    pub jdk: Jdk,
    vm: Vm,
    options: &'a SuiteOptions,
}

impl<'a> Comparison<'a> {
    /// With `vm`, else the one beside this program. The error says which VM is missing.
    pub fn new(options: &'a SuiteOptions, vm: Option<PathBuf>) -> io::Result<Comparison<'a>> {
        Ok(Comparison { jdk: Jdk::find()?, vm: Vm::find(vm)?, options })
    }

    /// The peer's VM with all its options; a program follows.
    pub fn command(&self, peer: &Peer) -> Command {
        let mut command = match peer.is_ours {
            true => {
                let setting = Setting {
                    collector: "serial".to_string(),
                    local_memory: "100%".to_string(),
                    memory_servers: 1,
                    options: self.options.vm_option.clone(),
                };
                self.vm.command(&setting, &self.jdk)
            }
            false => self.jdk.java(),
        };
        command.args(&peer.options).arg(format!("-Xmx{}", self.options.heap));
        command
    }

    /// How long one process may take.
    pub fn limit(&self) -> Duration {
        Duration::from_secs(self.options.timeout)
    }

    /// Runs the suite on these peers and on those of `--vm-peer`, and prints a table. With `without_collection` a
    /// collection is a failure of the program.
    pub fn suite(&self, mut peers: Vec<Peer>, without_collection: bool) -> io::Result<Table> {
        let options = self.options;
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
        let amount =
            Amount { iterations: options.iterations, size: options.size, without_collection };
        let mut progress = Progress::new(options.rounds * rows.len() * peers.len());
        for round in 0..options.rounds {
            for row in &mut rows {
                for turn in 0..peers.len() {
                    // A different peer is first in each round.
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
        let table = Table { peers, rows };
        table.print();
        Ok(table)
    }

    /// Writes the measurements, and the settings and machine that they depend on, to the file of `--json`.
    pub fn write(&self, found: &[(&str, Value)]) -> io::Result<()> {
        let Some(path) = &self.options.json else { return Ok(()) };
        let mut report = self.circumstances();
        found.iter().for_each(|(name, value)| report[*name] = value.clone());
        let text = serde_json::to_string_pretty(&report);
        std::fs::write(path, text.expect("it is made of numbers and texts") + "\n")
    }

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
            "processors": pool::default_threads(),
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

/// The times of the suite on each peer.
pub struct Table {
    pub peers: Vec<Peer>,
    rows: Vec<Row>,
}

/// One program's measurements, by peer.
struct Row {
    name: String,
    samples: Vec<Sample>,
    checksum: Option<(String, String)>,
    failure: Option<String>,
}

/// How much longer one peer takes than another, over all programs.
#[derive(Clone, Copy)]
pub struct Ratio {
    /// The geometric mean.
    pub mean: f64,
    pub worst: f64,
}

impl Table {
    /// Whether no program failed on any peer.
    pub fn is_complete(&self) -> bool {
        self.rows.iter().all(|row| row.failure.is_none())
    }

    /// How much longer one peer takes than another; `None` if no program passed.
    pub fn ratio(&self, one: usize, other: usize) -> Option<Ratio> {
        let passed = self.rows.iter().filter(|row| row.failure.is_none());
        let ratios: Vec<f64> = passed.map(|row| row.ratio(one, other)).collect();
        let worst = ratios.iter().copied().fold(0.0, f64::max);
        Some(Ratio { mean: geomean(&ratios)?, worst })
    }

    /// All measurements.
    pub fn json(&self) -> Value {
        self.rows.iter().map(|row| row.json(&self.peers)).collect()
    }

    fn print(&self) {
        let Table { peers, rows } = self;
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
            (1..peers.len()).for_each(|other| print!(" {:>7.3}", row.ratio(0, other)));
            println!();
        }
        let failed = rows.iter().filter(|row| row.failure.is_some()).count();
        if failed > 0 {
            println!("{failed} of {} programs failed", rows.len());
        }
    }
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

    fn ratio(&self, one: usize, other: usize) -> f64 {
        self.samples[one].median() / self.samples[other].median()
    }

    fn json(&self, peers: &[Peer]) -> Value {
        let named = peers.iter().zip(&self.samples);
        let samples: serde_json::Map<String, Value> =
            named.map(|(peer, sample)| (peer.name.clone(), json!(sample.values()))).collect();
        json!({ "program": self.name, "ms": samples, "failure": self.failure })
    }
}

/// Prints a figure beside its target; true if it is met.
pub fn judge(what: &str, value: f64, most: f64) -> bool {
    println!("{what} {value:.3} (at most {most:.2})");
    value <= most
}
