//! `memory-server`: the process that holds a share of a far heap.

use std::process::ExitCode;

use clap::Parser;
use gc::agent::AgentService;
use rdma::{ServerAddress, server};

/// Holds a share of a far heap for a Farheap VM.
#[derive(Parser)]
#[command(name = "memory-server", version)]
struct Options {
    /// Name to wait under for VMs on this machine, such as unix:farheap
    #[arg(long, value_name = "ADDRESS", required_unless_present = "fd")]
    listen: Option<ServerAddress>,

    /// The most memory to offer to a VM, such as 512m or 8g [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<u64>,

    /// Control socket inherited from the VM that starts this process
    #[arg(long, hide = true)]
    fd: Option<i32>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let result = match (options.fd, &options.listen) {
        (Some(fd), _) => server::serve(fd, options.memory, |session| AgentService::start(session)),
        (None, Some(address)) => {
            let memory = options.memory.map(|bytes| ["--memory".to_string(), bytes.to_string()]);
            let arguments: Vec<String> = memory.into_iter().flatten().collect();
            server::listen(address, &arguments).map(|never| match never {})
        }
        (None, None) => unreachable!("clap requires one of the two"),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("memory-server: {error}");
            ExitCode::from(1)
        }
    }
}

/// Bytes, with an optional k, m, g or t.
fn parse_size(text: &str) -> Result<u64, String> {
    let unit = text.chars().last().unwrap_or('0').to_ascii_lowercase();
    let shift = match unit {
        'k' => 10,
        'm' => 20,
        'g' => 30,
        't' => 40,
        _ => 0,
    };
    let digits = if shift > 0 { &text[..text.len() - 1] } else { text };
    let number: u64 = digits.parse().map_err(|_| "not a size such as 512m or 8g".to_string())?;
    number.checked_shl(shift).filter(|n| n >> shift == number).ok_or("too large".into())
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
