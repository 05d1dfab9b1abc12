//! `memory-server`: the process that holds a share of a remote heap.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use gc::agent::AgentService;
use gc::metrics::{self, Exposition};
use rdma::{RdmaError, ServerAddress, Token, server};

/// Holds a share of the heaps of Farheap VMs.
///
/// One server serves several VMs at the same time, each by a process of its own that ends with its VM.
#[derive(Parser)]
#[command(name = "memory-server", version, after_help = EXAMPLES)]
struct Options {
    /// Address at which to accept VMs: HOST:PORT (port 0: any free one), or unix:NAME for VMs on this machine
    #[arg(long, value_name = "ADDRESS", required_unless_present = "fd")]
    listen: Option<ServerAddress>,

    /// File with the secret shared with the VMs; required if other machines can reach the address
    ///
    /// At least 16 bytes, and readable by its owner only, or also by its group if root owns it. The secret itself is
    /// never sent.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Maximum memory for each VM, such as 512m or 8g [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<u64>,

    /// Address at which to serve metrics to Prometheus, at /metrics, such as 127.0.0.1:9465
    #[arg(long, value_name = "HOST:PORT", requires = "listen")]
    metrics: Option<String>,

    /// Control socket inherited from the process that starts this one
    #[arg(long, hide = true)]
    fd: Option<i32>,
}

const EXAMPLES: &str = "\
Examples:
  For VMs on this machine, over shared memory:
    memory-server --listen unix:farheap --memory 8g
    vm run --local-memory 25% --memory-server unix:farheap Main

  For VMs on other machines, over TCP; both sides need a copy of the token:
    (umask 077; head -c 32 /dev/urandom | base64 > token)
    memory-server --listen 0.0.0.0:7411 --token-file token --memory 8g
    vm run --local-memory 25% --memory-server HOST:7411 --token-file token Main

  For VMs on other machines, over RDMA: start the server as for TCP. Both sides need a device and a
  build with the feature verbs, and the server locks the memory that VMs use (ulimit -l):
    vm run --local-memory 25% --memory-server verbs:HOST:7411 --token-file token Main

The server reports the connections that it refuses on standard error. Traffic is not encrypted:
use a tunnel where others can read it.";

fn main() -> ExitCode {
    let options = Options::parse();
    // Nothing else in this process sets a logger.
    let _ = log::set_logger(&Stderr).map(|()| log::set_max_level(log::LevelFilter::Warn));
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            base::say(format_args!("memory-server: {error}"));
            ExitCode::from(1)
        }
    }
}

fn run(options: &Options) -> Result<(), RdmaError> {
    match (options.fd, &options.listen) {
        (Some(fd), _) => server::serve(fd, options.memory, |session| AgentService::start(session)),
        (None, Some(address)) => {
            let token = options.token_file.as_deref().map(Token::read).transpose()?;
            let memory = options.memory.map(|bytes| ["--memory".to_string(), bytes.to_string()]);
            let arguments: Vec<String> = memory.into_iter().flatten().collect();
            if let Some(address) = &options.metrics {
                let at = metrics::serve(address, page)
                    .map_err(|source| RdmaError::Os { what: "serving metrics", source })?;
                base::say(format_args!("memory-server: metrics at http://{at}/metrics"));
            }
            let ready = |at| base::say(format_args!("memory-server: waiting for VMs at {at}"));
            match server::listen(address, token.unwrap_or(Token::none()), &arguments, ready)? {}
        }
        (None, None) => unreachable!("clap requires one of the two"),
    }
}

fn page() -> String {
    let mut page = Exposition::new();
    metrics::server(&mut page);
    page.finish()
}

/// Writes warnings to the standard error, one a line.
struct Stderr;

impl log::Log for Stderr {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::Level::Warn
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            base::say(format_args!("memory-server: {}", record.args()));
        }
    }

    fn flush(&self) {}
}

/// Bytes, with an optional k, m, g or t.
fn parse_size(text: &str) -> Result<u64, String> {
    let bytes = base::units::parse_bytes(text).map(|bytes| bytes as u64);
    bytes.ok_or_else(|| "must be a size such as 512m or 8g".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("8g"), Ok(8 << 30));
        assert_eq!(parse_size("4096"), Ok(4096));
        for wrong in ["", "g", "-1", "1x", "99999999t"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }
}
