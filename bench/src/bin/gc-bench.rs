//! `gc-bench`: compares collectors, local-memory shares and other JVMs on the workloads.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::exit;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bench::gc_bench::class_path::Libraries;
use bench::gc_bench::compare::{self, Change};
use bench::gc_bench::contender::{Contender, PEERS};
use bench::gc_bench::machine::{self, Machine};
use bench::gc_bench::manifest::Manifest;
use bench::gc_bench::options::RunOptions;
use bench::gc_bench::plan::Plan;
use bench::gc_bench::report;
use bench::gc_bench::row::{self, ROWS, Row, Verdict};
use bench::gc_bench::schedule;
use bench::gc_bench::series::{Ended, Series};
use bench::gc_bench::session::Session;
use bench::gc_bench::table;
use bench::harness::files;
use bench::harness::process;
use bench::java::far_run::FarRun;
use bench::java::jdk::Jdk;
use bench::java::vm::Vm;
use clap::{Parser, Subcommand};

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
    Run(Box<RunOptions>),
    /// Make the table of stored measurements again, or a page with pictures
    Report {
        /// The folder of a run
        folder: PathBuf,
        /// Write report.html there, which needs nothing but itself, and its pictures as PNGs
        #[arg(long)]
        html: bool,
    },
    /// Compare two series of runs, such as before and after a change; exit code 1 if something is slower
    Compare { first: PathBuf, second: PathBuf },
    /// List workloads, collectors and peers
    List,
    /// Show all that is known of a workload
    Explain { workload: String },
}

fn main() {
    let options = Options::parse();
    let result = match &options.command {
        Command::Run(run) => measure(&options, run),
        Command::Report { folder, html } => report(&options, folder, *html),
        Command::Compare { first, second } => compare(&options, first, second),
        Command::List => list(&options),
        Command::Explain { workload } => explain(&options, workload),
    };
    match result {
        Ok(true) => {}
        Ok(false) => exit(1),
        Err(error) => {
            base::say(format_args!("gc-bench: {error}"));
            exit(2);
        }
    }
}

/// Whether all runs were right, and none is missing.
fn measure(options: &Options, given: &RunOptions) -> io::Result<bool> {
    let started = Instant::now();
    let (out, chosen, arguments) = begin(given)?;
    let mut manifest = Manifest::read(&options.manifest)?;
    for what in &chosen.arguments {
        manifest.change(what, chosen.size())?;
    }
    let (jdk, vm) = (Jdk::find()?, Vm::find(options.vm.clone())?);
    let workloads = chosen.chosen(&manifest)?;
    let contenders = chosen.contenders(&vm, &jdk)?;
    let likeness = chosen.likeness(&contenders)?;
    let plan = Plan {
        arguments,
        workloads: workloads.iter().map(|workload| workload.name.clone()).collect(),
        contenders: contenders.iter().map(Contender::to_string).collect(),
        vm: vm.identity()?,
        tools: tools()?,
        sources: files::digest(&manifest.folder)?,
        jdk: jdk.version.clone(),
        commit: machine::commit(&manifest.folder),
        machine: Machine::this(),
    };
    let mut session = Session::new(&manifest, jdk, vm, chosen.size(), out.clone())?;
    session.seed = chosen.seed;
    session.heap = chosen.heap.clone();
    session.limit = Duration::from_secs(chosen.timeout);
    session.cores = chosen.cores()?;
    session.network = chosen.network();
    session.has_probe = !chosen.no_probe;
    let mut series = Series {
        jobs: schedule::jobs(
            workloads.len(),
            contenders.len(),
            &likeness.first(),
            chosen.runs,
            chosen.seed,
        ),
        likeness,
        workloads,
        contenders,
        budget: chosen.budget().map(|minutes| Duration::from_secs(60 * minutes)),
        rows: Vec::new(),
    };
    if given.resume.is_some() {
        if let Some(reason) = Plan::read(&out)?.differs(&plan) {
            return Err(io::Error::other(format!("cannot go on with {}: {reason}", out.display())));
        }
        series.go_on(&out)?;
    } else {
        plan.write(&out)?;
    }
    process::stop_on_interrupt();
    session.prepare(&series.contenders, &series.workloads)?;
    let missing: HashSet<usize> = series.missing().iter().map(|job| job.workload).collect();
    for (at, workload) in series.workloads.iter().enumerate() {
        if process::is_interrupted() {
            return Ok(false);
        }
        if !missing.contains(&at) {
            continue;
        }
        if let Err(error) = session.compile(workload) {
            // Its runs will fail, and be rows like the others.
            base::say(format_args!("{}: {error}", workload.name));
            continue;
        }
        if !chosen.no_peers
            && let Err(row) = session.refer(workload)
        {
            base::say(format_args!("{} on HotSpot: {}: {}", row.workload, row.end, row.note));
        }
    }
    let ended = series.run(&mut session, started)?;
    base::print_part(format_args!("{}", tabulated(&series.rows, &manifest)));
    base::print(format_args!("rows are in {}", out.join(ROWS).display()));
    if !series.rows.is_empty() {
        page(&out, &series.rows, &manifest)?;
    }
    if ended != Ended::Complete {
        base::print(format_args!(
            "not all was run; this goes on: gc-bench run --resume {}",
            out.display()
        ));
    }
    Ok(ended != Ended::Interrupted && series.rows.iter().all(|row| row.verdict == Verdict::Right))
}

/// What tells this build of what measures from others.
fn tools() -> io::Result<String> {
    let mut tools = vec![files::identity(&[std::env::current_exe()?])?];
    if let Ok(far_run) = FarRun::find() {
        tools.push(far_run.identity()?);
    }
    Ok(tools.join("; "))
}

/// The folder of the results, the options that hold, and the words that they stand in: those given, or those of the
/// series that is to go on.
fn begin(given: &RunOptions) -> io::Result<(PathBuf, RunOptions, Vec<String>)> {
    if let Some(folder) = &given.resume {
        let words = Plan::read(folder)?.arguments;
        let stored =
            Words::try_parse_from(std::iter::once("gc-bench".to_string()).chain(words.clone()))
                .map_err(|error| io::Error::other(format!("{}: {error}", folder.display())))?;
        let same = without_places(std::env::args().skip(1));
        if !same.is_empty() && same != words {
            let (stored, given) = (words.join(" "), same.join(" "));
            let folder = folder.display();
            return Err(io::Error::other(format!(
                "{folder} was begun with `{stored}`, not with `{given}`: rows of both would not be comparable; \
                 leave the options away, or begin anew with another --out"
            )));
        }
        return Ok((folder.clone(), stored.run, words));
    }
    let out = match &given.out {
        Some(out) => out.clone(),
        None => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
            PathBuf::from(format!("target/gc-bench/{}", now.as_secs()))
        }
    };
    std::fs::create_dir_all(&out)?;
    if out.join(ROWS).exists() {
        let reason = format!("{0} has rows already: gc-bench run --resume {0}", out.display());
        return Err(io::Error::other(reason));
    }
    Ok((out, given.clone(), without_places(std::env::args().skip(1))))
}

/// The words of a command line without those that say where things are, and without `run`.
fn without_places(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words;
    while let Some(word) = words.next() {
        let name = word.split('=').next().unwrap_or("");
        if ["--out", "--resume", "--manifest", "--vm"].contains(&name) {
            if name == word {
                words.next();
            }
        } else if word != "run" {
            kept.push(word);
        }
    }
    kept
}

/// Options of `run` alone.
#[derive(Parser)]
struct Words {
    #[command(flatten)]
    run: RunOptions,
}

fn report(options: &Options, folder: &Path, html: bool) -> io::Result<bool> {
    let manifest = Manifest::read(&options.manifest)?;
    let rows = row::read(&folder.join(ROWS))?;
    base::print_part(format_args!("{}", tabulated(&rows, &manifest)));
    if html {
        page(folder, &rows, &manifest)?;
    }
    Ok(true)
}

fn page(folder: &Path, rows: &[Row], manifest: &Manifest) -> io::Result<()> {
    let path = report::write(folder, rows, manifest)?;
    let pictures = report::write_pngs(folder, rows, manifest)?;
    base::print(format_args!(
        "{} is the report; its {pictures} pictures are beside it",
        path.display()
    ));
    Ok(())
}

/// Whether nothing is significantly slower, and no more runs are wrong or failed than before.
fn compare(options: &Options, first: &Path, second: &Path) -> io::Result<bool> {
    let manifest = Manifest::read(&options.manifest)?;
    let (base, new) = (row::read(&first.join(ROWS))?, row::read(&second.join(ROWS))?);
    let pairs = compare::pairs(&base, &new, &manifest);
    if pairs.is_empty() {
        return Err(io::Error::other("no workload has right runs on the same contender in both"));
    }
    if let (Some(one), Some(other)) = (base.first(), new.first())
        && one.machine != other.machine
    {
        base::say(format_args!("the machines differ: {:?}, {:?}", one.machine, other.machine));
    }
    base::print_part(format_args!("{}", compare::render(&pairs)));
    let broken = compare::broken(&base, &new);
    for one in &broken {
        base::print(format_args!("{one}"));
    }
    let is_slower = pairs.iter().any(|pair| pair.change() == Change::Slower);
    Ok(!is_slower && broken.iter().all(|one| one.new <= one.base))
}

/// Peers stand first, the others in the order of their names.
fn tabulated(rows: &[Row], manifest: &Manifest) -> String {
    let mut contenders: Vec<String> = rows.iter().map(|row| row.contender.clone()).collect();
    contenders.sort_by_key(|name| (!name.starts_with("hotspot"), name.clone()));
    contenders.dedup();
    let names = manifest.workloads.iter().map(|workload| workload.name.clone());
    let workloads: Vec<String> =
        names.filter(|name| rows.iter().any(|row| row.workload == *name)).collect();
    let mut text = table::render(rows, manifest, &workloads, &contenders);
    let again = compare::again(rows, manifest);
    if !again.is_empty() {
        text += &format!("the same measured twice: {}\n", compare::summary(&again));
    }
    text
}

fn list(options: &Options) -> io::Result<bool> {
    let manifest = Manifest::read(&options.manifest)?;
    let libraries = Libraries::find()?;
    base::print(format_args!("workloads (heaps of the sizes tiny, small, default, large):"));
    for workload in &manifest.workloads {
        let heaps: Vec<&str> = workload.sizes.values().map(|size| size.heap.as_str()).collect();
        let here = if libraries.class_path(workload).is_ok() { "" } else { " (not installed)" };
        base::print(format_args!(
            "  {:16} {:20} {}{here}",
            workload.name,
            heaps.join(" "),
            workload.about
        ));
    }
    match (Vm::find(options.vm.clone()), Jdk::find()) {
        (Ok(vm), Ok(jdk)) => {
            base::print(format_args!("collectors: {}", vm.collectors(&jdk)?.join(", ")))
        }
        (Err(error), _) | (_, Err(error)) => base::print(format_args!("collectors: {error}")),
    }
    let peers: Vec<&str> = PEERS.iter().map(|(name, _)| *name).collect();
    base::print(format_args!("peers: {}", peers.join(", ")));
    Ok(true)
}

fn explain(options: &Options, name: &str) -> io::Result<bool> {
    let manifest = Manifest::read(&options.manifest)?;
    let workload = manifest.find(name)?;
    base::print(format_args!("{name}: {}", workload.about));
    for source in &workload.sources {
        base::print(format_args!("  source      {}", manifest.folder.join(source).display()));
    }
    base::print(format_args!("  main class  {}", workload.main));
    base::print(format_args!("  threads     {}", workload.threads));
    base::print(format_args!("  phases      {}", workload.phases.join(" ")));
    base::print(format_args!("  compared by {}", workload.metric));
    if !workload.packages.is_empty() {
        base::print(format_args!("  packages    {}", workload.packages.join(" ")));
    }
    match Libraries::find()?.class_path(workload) {
        Ok(files) => files
            .iter()
            .for_each(|file| base::print(format_args!("  library     {}", file.display()))),
        Err(error) => base::print(format_args!("  library     {error}")),
    }
    for (size, sizing) in &workload.sizes {
        base::print(format_args!(
            "  {size:10}  heap {}, of it live {}, arguments {}, result {}",
            sizing.heap,
            sizing.live,
            sizing.arguments,
            sizing.output.as_deref().unwrap_or("(a peer's)")
        ));
    }
    base::print(format_args!("  options     {}", workload.options.join(" ")));
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_things_are_is_no_part_of_a_plan() {
        let words = "run --out x --runs 5 --resume=y --manifest z --gc mako".split(' ');
        let kept = without_places(words.map(str::to_string));
        assert_eq!(kept, ["--runs", "5", "--gc", "mako"]);
    }
}
