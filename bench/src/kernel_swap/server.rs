//! The process that serves a swap device's bytes.

use std::io::{self, Write};
use std::path::Path;

use fuser::{Config, MountOption, Session};

use crate::harness::process;
use crate::kernel_swap::far_file::FarFile;
use crate::kernel_swap::network::Network;

/// Mounts the file system on `folder`, prints `ready` and serves until it is unmounted. Only root may. For a process of
/// its own, whose memory is locked from now on.
pub fn serve(folder: &Path, bytes: u64, network: Network) -> Result<(), String> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    let file = FarFile::new(bytes, network, threads)?;
    let mut config = Config::default();
    config.mount_options = vec![MountOption::FSName(FILE_SYSTEM.to_string())];
    config.n_threads = Some(threads);
    let mount = |error| format!("{}: {error}", folder.display());
    let session = Session::new(file, folder, &config).map_err(mount)?;
    process::serve_swap().map_err(|error| format!("a process that serves swap: {error}"))?;
    writeln!(io::stdout(), "{READY}").map_err(|error| error.to_string())?;
    session.run().map_err(|error| format!("{FILE_SYSTEM}: {error}"))
}

/// The line that it prints when it is mounted.
pub const READY: &str = "ready";

/// Its name in the list of mounts.
pub const FILE_SYSTEM: &str = "farheap-swap";

/// More would not be faster: each copies a page or waits for the wire.
const THREADS_MAX: usize = 4;
