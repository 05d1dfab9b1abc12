//! Choices of workloads that have a name.

use crate::gc_bench::manifest::{Suite, Workload};

/// What `--suite` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Choice {
    /// Programs of ours from `papers` and `studies`, small, for at most 12 minutes: a first look
    Quick,
    /// One program of ours for each that the papers ran
    Papers,
    /// Programs of ours that each stress one property of collectors
    Studies,
    /// All programs of this project
    Ours,
    /// Programs that were written by others (`make setup-apps` installs them)
    Real,
    /// Everything
    All,
}

impl Choice {
    pub fn has(self, workload: &Workload) -> bool {
        match self {
            Choice::All => true,
            Choice::Papers => workload.suite == Suite::Papers,
            Choice::Studies => workload.suite == Suite::Studies,
            Choice::Real => workload.suite == Suite::Real,
            Choice::Ours => workload.suite != Suite::Real,
            // A fresh clone has the JDK and no libraries.
            Choice::Quick => workload.suite != Suite::Real && workload.class_path.is_empty(),
        }
    }
}
