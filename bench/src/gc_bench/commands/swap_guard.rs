//! Holds a swap device and a memory cgroup for `gc-bench`, which starts it, and restores the machine when that has
//! ended. Not for people. [`crate::kernel_swap`] says how it works.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::kernel_swap::network::Network;
use crate::kernel_swap::{Device, guard, server};

/// Hold a swap device and a memory cgroup until standard input ends; started by gc-bench
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a device and a cgroup, print them as JSON, and remove them at the end of the input
    Hold {
        #[command(subcommand)]
        device: Held,
    },
    /// Serve the file that a device is made of, mounted on a folder, until it is unmounted
    Serve {
        #[command(flatten)]
        far: Far,
        folder: PathBuf,
    },
}

#[derive(Subcommand)]
enum Held {
    /// Compressed memory
    Zram {
        #[arg(long)]
        bytes: u64,
    },
    /// A loop device over a file of ours
    Fuse {
        #[command(flatten)]
        far: Far,
    },
}

#[derive(Args)]
struct Far {
    #[arg(long)]
    bytes: u64,
    /// Minimum latency of each transfer, in nanoseconds
    #[arg(long, default_value_t = 0)]
    latency_ns: u64,
    /// Bytes per second, 0: no limit
    #[arg(long, default_value_t = 0)]
    bandwidth: u64,
}

impl Far {
    fn network(&self) -> Network {
        Network { latency: Duration::from_nanos(self.latency_ns), bandwidth: self.bandwidth }
    }
}

/// Holds or serves until it is asked to end; true if nothing is left behind. For a process of its own.
pub fn run(options: &Options) -> bool {
    guard::take_name();
    match &options.command {
        Command::Hold { device: Held::Zram { bytes } } => guard::hold(Device::Zram, *bytes),
        Command::Hold { device: Held::Fuse { far } } => {
            guard::hold(Device::Fuse(far.network()), far.bytes)
        }
        Command::Serve { far, folder } => match server::serve(folder, far.bytes, far.network()) {
            Ok(()) => true,
            Err(why) => {
                // The guard reads it, if it still runs.
                let _ = writeln!(io::stdout(), "{why}");
                false
            }
        },
    }
}
