//! `gc-bench compare`: two series of runs, such as before and after a change.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::gc_bench::compare::{self, Change};
use crate::gc_bench::manifest::Manifest;
use crate::gc_bench::row::{self, ROWS};

/// Compare two series of runs, such as before and after a change; exit code 1 if something is slower
#[derive(Args)]
pub struct Options {
    first: PathBuf,
    second: PathBuf,
}

/// Whether nothing is significantly slower, and no more runs are wrong or failed than before.
pub fn run(options: &Options, manifest: &Path) -> io::Result<bool> {
    let manifest = Manifest::read(manifest)?;
    let Options { first, second } = options;
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
