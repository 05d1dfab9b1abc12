//! `gc-bench run`: measures workloads, or goes on with a series of runs.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Parser;

use crate::gc_bench::commands::report::{page, tabulated};
use crate::gc_bench::contender::Contender;
use crate::gc_bench::machine::{self, Machine};
use crate::gc_bench::manifest::Manifest;
use crate::gc_bench::options::RunOptions;
use crate::gc_bench::plan::Plan;
use crate::gc_bench::row::{ROWS, Verdict};
use crate::gc_bench::schedule;
use crate::gc_bench::series::{Ended, Series};
use crate::gc_bench::session::Session;
use crate::harness::{files, process};
use crate::java::far_run::FarRun;
use crate::java::jdk::Jdk;
use crate::java::vm::Vm;

/// Whether all runs were right, and none is missing.
pub fn run(given: &RunOptions, manifest: &Path, vm: Option<PathBuf>) -> io::Result<bool> {
    let started = Instant::now();
    let (out, chosen, arguments) = begin(given)?;
    let mut manifest = Manifest::read(manifest)?;
    for what in &chosen.arguments {
        manifest.change(what, chosen.size())?;
    }
    let (jdk, vm) = (Jdk::find()?, Vm::find(vm)?);
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
    session.profiles_faults = chosen.fault_profile;
    session.peer_options = chosen.peer_option.clone();
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
            return Err(io::Error::other(format!("cannot resume {}: {reason}", out.display())));
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
            "the series is not complete; resume it with: gc-bench run --resume {}",
            out.display()
        ));
    }
    Ok(ended != Ended::Interrupted && series.rows.iter().all(|row| row.verdict == Verdict::Right))
}

/// Identifies this build of the measuring programs.
fn tools() -> io::Result<String> {
    let mut tools = vec![files::identity(&[std::env::current_exe()?])?];
    if let Ok(far_run) = FarRun::find() {
        tools.push(far_run.identity()?);
    }
    Ok(tools.join("; "))
}

/// The folder of the results, the options that hold, and the words that they stand in: those given, or those of the
/// series to resume.
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
                 omit the options, or begin another series with another --out"
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
        let reason = format!(
            "{0} has rows already; resume it with: gc-bench run --resume {0}",
            out.display()
        );
        return Err(io::Error::other(reason));
    }
    Ok((out, given.clone(), without_places(std::env::args().skip(1))))
}

/// The words of a command line without those that name files and folders, and without `run`.
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
