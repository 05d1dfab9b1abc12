//! `gc-bench`: compares collectors, local-memory shares and other JVMs on the workloads, and measures single parts.

use std::path::PathBuf;
use std::process::ExitCode;

use bench::gc_bench::commands::{
    compare, demo, explain, far, faults, hit, interp, jit, list, replay, report, run, swap_guard,
};
use bench::gc_bench::options::RunOptions;
use bench::harness::exit;
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
    Report(report::Options),
    Compare(compare::Options),
    /// List workloads, collectors and peers
    List,
    Explain(explain::Options),
    Jit(Box<jit::Options>),
    Hit(Box<hit::Options>),
    Interp(interp::Options),
    Faults(faults::Options),
    Far(Box<far::Options>),
    Replay(replay::Options),
    Demo(demo::Options),
    #[command(hide = true)]
    SwapGuard(swap_guard::Options),
}

fn main() -> ExitCode {
    let Options { command, manifest, vm } = Options::parse();
    match command {
        Command::Run(options) => exit::code("gc-bench", run::run(&options, &manifest, vm)),
        Command::Report(options) => exit::code("gc-bench", report::run(&options, &manifest)),
        Command::Compare(options) => exit::code("gc-bench", compare::run(&options, &manifest)),
        Command::List => exit::code("gc-bench", list::run(&manifest, vm)),
        Command::Explain(options) => exit::code("gc-bench", explain::run(&options, &manifest)),
        Command::Jit(options) => exit::code("gc-bench jit", jit::run(&options, vm)),
        Command::Hit(options) => exit::code("gc-bench hit", hit::run(&options, vm)),
        Command::Interp(options) => exit::code("gc-bench interp", interp::run(&options, vm)),
        Command::Faults(options) => exit::code("gc-bench faults", faults::run(&options)),
        Command::Far(options) => exit::code("gc-bench far", far::run(&options)),
        Command::Replay(options) => exit::code("gc-bench replay", replay::run(&options)),
        Command::Demo(options) => exit::code("gc-bench demo", demo::run(&options, vm)),
        Command::SwapGuard(options) => exit::code("gc-bench", Ok(swap_guard::run(&options))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }
}
