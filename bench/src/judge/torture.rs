//! Threads write counters into far memory of which little is resident, while others move its pages around: `make
//! torture`.
//!
//! [`crate::torture`] describes the work and how it is judged. Exit code 0: no write was lost; 1: one was, or the
//! pager gave up; 2: it could not begin. A failure names its seed, which `--seed` repeats.

use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use clap::Args;

use crate::harness::progress::Progress;
use crate::kernel_swap::network;
use crate::torture::{self, Failure, Plan, Via};

/// Look for lost writes while pages are fetched and evicted
#[derive(Args)]
#[command(args_override_self = true)]
pub struct Options {
    /// Duration, in minutes
    #[arg(long, default_value_t = 10.0, conflicts_with = "seconds")]
    minutes: f64,
    /// Duration, in seconds
    #[arg(long)]
    seconds: Option<f64>,
    /// The transport of the pages
    #[arg(long, value_enum, default_value = "shm")]
    transport: Via,
    /// Threads that write and verify counters; two more threads disturb them
    #[arg(long, default_value_t = 4)]
    threads: usize,
    /// Pages with counters
    #[arg(long, default_value_t = 8192)]
    pages: usize,
    /// Local memory, as a percentage of the pages
    #[arg(long, default_value_t = 5)]
    budget: usize,
    /// Memory servers
    #[arg(long, default_value_t = 2)]
    servers: u16,
    /// Seed of all random decisions
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of seeds from --seed on, each in a process of its own and for the whole duration
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// Latency added to every transfer, such as 5us
    #[arg(long, default_value = "0us", value_parser = network::latency)]
    far_latency: Duration,
    /// Bandwidth limit, such as 40gbit [0: none]
    #[arg(long, default_value = "0", value_parser = network::bandwidth)]
    far_bandwidth: u64,
    /// Let the simulator drop one of fifty writes, a self-test that must fail
    #[arg(long)]
    forget: bool,
}

/// Runs the torture; the exit code is its verdict.
pub fn run(options: &Options) -> ExitCode {
    if options.seeds == 1 { one(options) } else { many(options) }
}

/// One seed, in this process.
fn one(options: &Options) -> ExitCode {
    let seconds = options.seconds.unwrap_or(options.minutes * 60.0);
    let Ok(time) = Duration::try_from_secs_f64(seconds) else {
        eprintln!("judge torture: --seconds {seconds}: must be positive");
        return ExitCode::from(2);
    };
    let plan = Plan {
        via: options.transport,
        time,
        threads: options.threads,
        pages: options.pages,
        budget_percent: options.budget,
        servers: options.servers,
        seed: options.seed,
        latency: options.far_latency,
        bandwidth: options.far_bandwidth,
        forget: options.forget,
    };
    match torture::run(&plan) {
        Ok(report) => {
            println!("seed {}, {report}: no write was lost", plan.seed);
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("seed {}: {failure}", plan.seed);
            ExitCode::from(if matches!(failure, Failure::Start(_)) { 2 } else { 1 })
        }
    }
}

/// Many seeds, one after the other, until one fails.
fn many(options: &Options) -> ExitCode {
    let seeds = usize::try_from(options.seeds).unwrap_or(usize::MAX);
    let mut progress = Progress::new(seeds);
    for seed in (options.seed..).take(seeds) {
        match process_of(seed) {
            Ok(None) => progress.step(true, &format!("seed {seed}")),
            Ok(Some(output)) => {
                progress.step(false, &format!("seed {seed}"));
                progress.finish();
                println!("seed {seed} failed:\n{output}");
                return ExitCode::from(1);
            }
            Err(error) => {
                eprintln!("judge torture: seed {seed}: {error}");
                return ExitCode::from(2);
            }
        }
    }
    progress.finish();
    println!("{} seeds from {} on: no write was lost", options.seeds, options.seed);
    ExitCode::SUCCESS
}

/// Does one seed with all other options the same. Returns its output, if it failed.
fn process_of(seed: u64) -> std::io::Result<Option<String>> {
    let mut command = Command::new(std::env::current_exe()?);
    // The first is `torture`. Of an option that is given twice the later one counts.
    command.args(std::env::args_os().skip(1)).args(["--seeds", "1", "--seed", &seed.to_string()]);
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(None);
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let status = output.status;
    Ok(Some(format!("{}{}{status}", text(&output.stdout), text(&output.stderr))))
}
