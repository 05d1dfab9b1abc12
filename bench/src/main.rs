//! `gc-bench`: compares collectors, local-memory shares and other JVMs on the workloads.

use clap::{Parser, Subcommand};

/// Compares collectors, local-memory shares and other JVMs on the workloads.
#[derive(Parser)]
#[command(name = "gc-bench", version)]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Copy, Subcommand)]
enum Command {
    /// Measure workloads (not implemented)
    Run,
    /// Make a report of stored measurements (not implemented)
    Report,
    /// List workloads, collectors and peers (not implemented)
    List,
}

fn main() {
    let name = match Options::parse().command {
        Command::Run => "run",
        Command::Report => "report",
        Command::List => "list",
    };
    eprintln!("gc-bench {name}: not implemented");
    std::process::exit(2);
}
