//! Choices of workloads that have a name.

use crate::gc_bench::manifest::{Suite, Workload};

/// The values of `--suite`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Choice {
    /// One of each kind from `papers` and `studies`, small, for at most 12 minutes
    Quick,
    /// One program of ours for each that the papers ran
    Papers,
    /// Programs of ours that each stress one property of collectors
    Studies,
    /// Programs that serve requests at a fixed rate: latencies count from the intended start
    Paced,
    /// All programs of this project at full speed
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
            Choice::Paced => workload.suite == Suite::Paced,
            Choice::Ours => !matches!(workload.suite, Suite::Real | Suite::Paced),
            Choice::Quick => workload.quick,
        }
    }
}
