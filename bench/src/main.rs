//! `gc-bench`: compares collectors, local-memory shares and other JVMs on the workloads.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::exit;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bench::gc_bench::class_path::Libraries;
use bench::gc_bench::contender::{self, Contender, PEERS};
use bench::gc_bench::manifest::{Manifest, Size, Suite, Workload};
use bench::gc_bench::row::{self, Row, Verdict};
use bench::gc_bench::schedule;
use bench::gc_bench::session::Session;
use bench::gc_bench::table;
use bench::jdk::Jdk;
use bench::progress::Progress;
use bench::vm::{Setting, Vm};
use clap::{Args, Parser, Subcommand};

/// Compares collectors, local-memory shares and other JVMs on the workloads of `workloads/manifest.toml`.
#[derive(Parser)]
#[command(name = "gc-bench", version)]
struct Options {
    #[command(subcommand)]
    command: Command,
    /// The list of workloads
    #[arg(long, global = true, default_value = "workloads/manifest.toml")]
    manifest: PathBuf,
    /// The VM's executable [default: `vm` beside this program]
    #[arg(long, global = true)]
    vm: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Measure workloads: a fresh process for each run, every result verified, one line of JSON for each
    Run(RunOptions),
    /// Make the table of stored measurements again
    Report {
        /// The folder of a run
        folder: PathBuf,
    },
    /// List workloads, collectors and peers
    List,
    /// Show all that is known of a workload
    Explain { workload: String },
}

#[derive(Args)]
struct RunOptions {
    /// Only these workloads [default: all whose libraries are installed]
    #[arg(long, value_delimiter = ',')]
    workloads: Vec<String>,
    /// Only the workloads of this suite
    #[arg(long)]
    suite: Option<Suite>,
    #[arg(long, default_value = "tiny")]
    size: Size,
    /// Collectors of our VM [default: all that it has]
    #[arg(long, value_delimiter = ',')]
    gc: Vec<String>,
    /// Shares of the heap in local memory: percentages, or sizes such as 64m
    #[arg(long, value_delimiter = ',', default_value = "100,25")]
    local_memory: Vec<String>,
    /// Other VMs to compare with, the first one first; `gc-bench list` names them. They have all of their memory
    #[arg(long, value_delimiter = ',', default_value = "hotspot")]
    peers: Vec<String>,
    /// Compare with nobody; results must be those of the manifest
    #[arg(long, conflicts_with = "peers")]
    no_peers: bool,
    /// How often everything is measured
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Of the order in which it is measured
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where rows, counters and the output of failed runs go [default: target/gc-bench/TIME]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Seconds that one run may take
    #[arg(long, default_value_t = 600)]
    timeout: u64,
    #[arg(long, default_value_t = 2)]
    memory_servers: u32,
    /// More options for our VM, such as -Xint (repeat for several)
    #[arg(long, allow_hyphen_values = true)]
    vm_option: Vec<String>,
}

fn main() {
    let options = Options::parse();
    let result = match &options.command {
        Command::Run(run) => measure(&options, run),
        Command::Report { folder } => report(&options, folder),
        Command::List => list(&options),
        Command::Explain { workload } => explain(&options, workload),
    };
    match result {
        Ok(true) => {}
        Ok(false) => exit(1),
        Err(error) => {
            eprintln!("gc-bench: {error}");
            exit(2);
        }
    }
}

/// Whether all runs were right.
fn measure(options: &Options, chosen: &RunOptions) -> io::Result<bool> {
    let manifest = Manifest::read(&options.manifest)?;
    let (jdk, vm) = (Jdk::find()?, Vm::find(options.vm.clone())?);
    let workloads = workloads(&manifest, chosen)?;
    let contenders = contenders(chosen, &vm, &jdk)?;
    let out = match &chosen.out {
        Some(out) => out.clone(),
        None => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
            PathBuf::from(format!("target/gc-bench/{}", now.as_secs()))
        }
    };
    std::fs::create_dir_all(&out)?;
    let mut session = Session::new(&manifest, jdk, vm, chosen.size, out.clone())?;
    session.seed = chosen.seed;
    session.limit = Duration::from_secs(chosen.timeout);
    for workload in &workloads {
        session.compile(workload)?;
        if !chosen.no_peers
            && let Err(row) = session.refer(workload)
        {
            eprintln!("{} on HotSpot: {}: {}", row.workload, row.end, row.note);
        }
    }
    let mut file = File::options().create(true).append(true).open(out.join(ROWS))?;
    let jobs = schedule::jobs(workloads.len(), contenders.len(), chosen.runs, chosen.seed);
    let mut progress = Progress::new(jobs.len());
    let mut rows = Vec::new();
    for job in &jobs {
        let (workload, contender) = (workloads[job.workload], &contenders[job.contender]);
        let row = session.measure(workload, contender, job.run);
        writeln!(file, "{}", serde_json::to_string(&row)?)?;
        let label = format!("{} on {}", row.workload, row.contender);
        if row.verdict != Verdict::Right || !row.note.is_empty() {
            progress.message(&format!("{label}: {:?}, {}: {}", row.verdict, row.end, row.note));
        }
        progress.step(row.verdict == Verdict::Right, &label);
        rows.push(row);
    }
    progress.finish();
    print!("{}", tabulated(&rows, &manifest));
    println!("rows are in {}", out.join(ROWS).display());
    Ok(rows.iter().all(|row| row.verdict == Verdict::Right))
}

fn workloads<'a>(manifest: &'a Manifest, chosen: &RunOptions) -> io::Result<Vec<&'a Workload>> {
    let mut found = Vec::new();
    if !chosen.workloads.is_empty() {
        for name in &chosen.workloads {
            found.push(manifest.find(name)?);
        }
    } else {
        let libraries = Libraries::find()?;
        for workload in &manifest.workloads {
            match libraries.class_path(workload) {
                Ok(_) => found.push(workload),
                Err(error) => eprintln!("left out: {error}"),
            }
        }
    }
    found.retain(|workload| chosen.suite.is_none_or(|suite| suite == workload.suite));
    match found.is_empty() {
        true => Err(io::Error::other("no workload is left to run")),
        false => Ok(found),
    }
}

/// Peers first: what ours are compared with.
fn contenders(chosen: &RunOptions, vm: &Vm, jdk: &Jdk) -> io::Result<Vec<Contender>> {
    let mut found = Vec::new();
    if !chosen.no_peers {
        for name in &chosen.peers {
            found.push(Contender::peer(name)?);
        }
    }
    let known = vm.collectors(jdk)?;
    if let Some(other) = chosen.gc.iter().find(|name| !known.contains(name)) {
        let names = known.join(", ");
        return Err(io::Error::other(format!("the VM has no collector {other}, but {names}")));
    }
    for collector in if chosen.gc.is_empty() { &known } else { &chosen.gc } {
        for local_memory in &chosen.local_memory {
            found.push(Contender::Ours(Setting {
                collector: collector.clone(),
                local_memory: contender::local_memory(local_memory),
                memory_servers: chosen.memory_servers,
                options: chosen.vm_option.clone(),
            }));
        }
    }
    Ok(found)
}

fn report(options: &Options, folder: &std::path::Path) -> io::Result<bool> {
    let manifest = Manifest::read(&options.manifest)?;
    print!("{}", tabulated(&row::read(&folder.join(ROWS))?, &manifest));
    Ok(true)
}

/// Peers stand first, the others in the order of their names.
fn tabulated(rows: &[Row], manifest: &Manifest) -> String {
    let mut contenders: Vec<String> = rows.iter().map(|row| row.contender.clone()).collect();
    contenders.sort_by_key(|name| (!name.starts_with("hotspot"), name.clone()));
    contenders.dedup();
    let names = manifest.workloads.iter().map(|workload| workload.name.clone());
    let workloads: Vec<String> =
        names.filter(|name| rows.iter().any(|row| row.workload == *name)).collect();
    table::render(rows, manifest, &workloads, &contenders)
}

fn list(options: &Options) -> io::Result<bool> {
    let manifest = Manifest::read(&options.manifest)?;
    let libraries = Libraries::find()?;
    println!("workloads (heaps of the sizes tiny, small, default, large):");
    for workload in &manifest.workloads {
        let heaps: Vec<&str> = workload.sizes.values().map(|size| size.heap.as_str()).collect();
        let here = if libraries.class_path(workload).is_ok() { "" } else { " (not installed)" };
        println!("  {:16} {:20} {}{here}", workload.name, heaps.join(" "), workload.about);
    }
    match (Vm::find(options.vm.clone()), Jdk::find()) {
        (Ok(vm), Ok(jdk)) => println!("collectors: {}", vm.collectors(&jdk)?.join(", ")),
        (Err(error), _) | (_, Err(error)) => println!("collectors: {error}"),
    }
    let peers: Vec<&str> = PEERS.iter().map(|(name, _)| *name).collect();
    println!("peers: {}", peers.join(", "));
    Ok(true)
}

fn explain(options: &Options, name: &str) -> io::Result<bool> {
    let manifest = Manifest::read(&options.manifest)?;
    let workload = manifest.find(name)?;
    println!("{name}: {}", workload.about);
    for source in &workload.sources {
        println!("  source      {}", manifest.folder.join(source).display());
    }
    println!("  main class  {}", workload.main);
    println!("  threads     {}", workload.threads);
    println!("  compared by {}", workload.metric);
    if !workload.packages.is_empty() {
        println!("  packages    {}", workload.packages.join(" "));
    }
    match Libraries::find()?.class_path(workload) {
        Ok(files) => files.iter().for_each(|file| println!("  library     {}", file.display())),
        Err(error) => println!("  library     {error}"),
    }
    for (size, sizing) in &workload.sizes {
        println!(
            "  {size:10}  heap {}, of it live {}, arguments {}, result {}",
            sizing.heap,
            sizing.live,
            sizing.arguments,
            sizing.output.as_deref().unwrap_or("(a peer's)")
        );
    }
    println!("  options     {}", workload.options.join(" "));
    Ok(true)
}

/// The file of rows in the folder of a run.
const ROWS: &str = "rows.jsonl";
