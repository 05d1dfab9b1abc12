//! `far-run`: starts a program with far memory.

// One side writes them, the other reads them.
#[allow(dead_code)]
mod settings;

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use base::units::{self, parse_bytes};
use clap::Parser;
use rdma::{ServerAddress, Token, Transport};

use crate::settings::{LocalMemory, Settings, Wanted};

/// Runs a program with its large memory ranges on memory servers; only a part of them is resident at any time.
///
/// By default it is for the java command of a JDK 17 (Serial, Parallel, G1, Shenandoah), and the heap becomes remote:
///
///     far-run --local-memory 25% -- java -XX:+UseG1GC -Xmx1g -cp . Main
///
/// With --range SIZE, for any program that maps its memory itself. The program's output and exit
/// code are its own; if a memory server is lost, it ends with one line on stderr and code 1.
#[derive(Parser)]
#[command(name = "far-run", version, verbatim_doc_comment)]
struct Options {
    /// Limit of resident memory: a share of the heap or range, or a size such as 512m
    #[arg(long, value_name = "25%|SIZE", default_value = "25%")]
    local_memory: LocalMemory,

    /// Share local memory of this size with all programs of this user that name the same pool, each by its need, up to
    /// its --local-memory; =SIZE may be omitted if the pool has members
    #[arg(long, value_name = "NAME=SIZE", value_parser = parse_pool)]
    local_memory_pool: Option<String>,

    /// Memory servers to start on this machine, and to stop at the end
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=64))]
    memory_servers: u16,

    /// Use a running memory server instead, HOST:PORT or unix:NAME (repeat for several)
    #[arg(long, value_name = "ADDRESS")]
    memory_server: Vec<ServerAddress>,

    /// File with the secret that servers on other machines require
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Transport to servers started on this machine: shm or tcp
    #[arg(long, value_name = "shm|tcp", default_value = "shm")]
    transport: Transport,

    /// Which pages come before they are touched: none, sequential (those behind pages that are touched in order), leap
    /// (those of the trend of the last faults)
    #[arg(long, value_name = "none|sequential|leap", default_value_t = swap::PrefetcherKind::default())]
    prefetcher: swap::PrefetcherKind,

    /// Latency added to every transfer, such as 5us, to model other networks
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "0us")]
    far_latency: Duration,

    /// Bandwidth limit of the transfers, such as 40gbit, or bytes per second [0: none]
    #[arg(long, value_name = "RATE", value_parser = parse_bandwidth, default_value = "0")]
    far_bandwidth: u64,

    /// The memory that becomes remote: the heap of a JVM, or every private anonymous mapping of at least SIZE
    #[arg(long, value_name = "heap|SIZE", value_parser = parse_wanted, default_value = "heap")]
    range: Wanted,

    /// Give remote memory to children of the program too
    #[arg(long)]
    children: bool,

    /// File for the counters, written as JSON at the end
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,

    /// Print on stderr what becomes remote
    #[arg(long, short)]
    verbose: bool,

    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    command: Vec<OsString>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let failed = |code: u8, what: String| {
        base::say(format_args!("far-run: {what}"));
        ExitCode::from(code)
    };
    let settings = match options.settings() {
        Ok(settings) => settings,
        Err(what) => return failed(125, what),
    };
    let text = match settings.encode() {
        Ok(text) => text,
        Err(what) => return failed(125, what),
    };
    let mut preloaded = settings.library.clone().into_os_string();
    if let Some(others) = env::var_os(PRELOAD).filter(|others| !others.is_empty()) {
        preloaded.push(":");
        preloaded.push(others);
    }
    let (program, arguments) = options.command.split_first().expect("clap requires one");
    let mut command = Command::new(program);
    command.args(arguments).env(PRELOAD, preloaded).env(Settings::VARIABLE, text);
    let error = command.exec();
    let code = if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 };
    failed(code, format!("{}: {error}", program.display()))
}

impl Options {
    fn settings(&self) -> Result<Settings, String> {
        let folder = env::current_exe()
            .map_err(|error| format!("cannot find the folder of far-run: {error}"))?;
        let folder = folder.parent().unwrap_or(Path::new("/"));
        let library = folder.join("libfarheap_preload.so");
        if !library.is_file() {
            return Err(format!("{} is missing", library.display()));
        }
        if library.to_string_lossy().contains([':', ' ']) {
            // The dynamic linker would take it for two.
            return Err(format!("the path {} has a colon or a space in it", library.display()));
        }
        // A program's own signal handlers may use its far memory while the fault of another page is being served, and
        // queue pairs have spin locks.
        let is_verbs = |address: &ServerAddress| matches!(address, ServerAddress::Verbs { .. });
        if self.transport == Transport::Verbs || self.memory_server.iter().any(is_verbs) {
            return Err("far-run supports the transports shm and tcp, not verbs".into());
        }
        let named = env::var_os("FARHEAP_MEMORY_SERVER").map(PathBuf::from);
        let program = named.unwrap_or_else(|| folder.join("memory-server"));
        if self.memory_server.is_empty() && !program.is_file() {
            return Err(format!("{} is missing", program.display()));
        }
        // The program may change its working directory before the end.
        let stats = self.stats.as_ref().map(std::path::absolute).transpose();
        if let Some(file) = &self.token_file {
            // The program would find out only when its memory becomes far.
            Token::read(file).map_err(|error| error.to_string())?;
        }
        let token_file = self.token_file.as_ref().map(std::path::absolute).transpose();
        Ok(Settings {
            wanted: self.range,
            local: self.local_memory,
            pool: self.local_memory_pool.clone(),
            servers: self.memory_servers,
            connect: self.memory_server.iter().map(ServerAddress::to_string).collect(),
            tcp: self.transport == Transport::Tcp,
            prefetcher: self.prefetcher,
            token_file: token_file.map_err(|error| format!("--token-file: {error}"))?,
            latency: self.far_latency,
            bandwidth: self.far_bandwidth,
            stats: stats.map_err(|error| format!("--stats: {error}"))?,
            program: Some(program),
            library,
            children: self.children,
            verbose: self.verbose,
        })
    }
}

/// As the library will read it.
fn parse_pool(text: &str) -> Result<String, String> {
    text.parse::<swap::PoolOptions>().map(|_| text.to_string())
}

fn parse_wanted(text: &str) -> Result<Wanted, String> {
    match text {
        "heap" => Ok(Wanted::Heap),
        _ => match parse_bytes(text).filter(|bytes| *bytes >= RANGE_BYTES_MIN) {
            Some(bytes) => Ok(Wanted::AtLeast(bytes)),
            None => Err("must be heap, or a size of at least 2m".into()),
        },
    }
}

/// `5us`, `300ns`, `2ms`, `1s`.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let time = units::parse_duration(text).filter(|time| *time <= TIME_MAX);
    time.ok_or_else(|| "must be a time such as 5us, at most 1s".into())
}

/// `40gbit`, `100mbit`, or bytes per second as sizes are written.
fn parse_bandwidth(text: &str) -> Result<u64, String> {
    units::parse_bandwidth(text).ok_or_else(|| "not a rate such as 40gbit".into())
}

const PRELOAD: &str = "LD_PRELOAD";
/// Smaller ranges do not justify a memory server.
const RANGE_BYTES_MIN: usize = 2 << 20;
const TIME_MAX: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn what_follows_the_program_is_the_program_s() {
        let line = ["far-run", "--local-memory", "13%", "java", "-Xmx1g", "--stats", "x"];
        let options = Options::try_parse_from(line).unwrap();
        assert_eq!(options.command, ["java", "-Xmx1g", "--stats", "x"]);
        assert_eq!((options.stats, options.local_memory), (None, LocalMemory::Percent(13.0)));
    }

    #[test]
    fn times_rates_and_ranges() {
        assert_eq!(parse_duration("5us"), Ok(Duration::from_micros(5)));
        assert_eq!(parse_duration("0.5ms"), Ok(Duration::from_micros(500)));
        assert_eq!(parse_bandwidth("40gbit"), Ok(5_000_000_000));
        assert_eq!(parse_bandwidth("1m"), Ok(1 << 20));
        assert_eq!(parse_wanted("heap"), Ok(Wanted::Heap));
        assert_eq!(parse_wanted("64m"), Ok(Wanted::AtLeast(64 << 20)));
        assert_eq!(parse_pool("web=2g"), Ok("web=2g".into()));
        assert!(parse_pool("../web=2g").is_err());
        for wrong in ["", "us", "-1us", "2s", "5"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
        assert!(parse_bandwidth("fast").is_err() && parse_wanted("1k").is_err());
    }
}
