//! The process that makes swap device and cgroup, and removes them when the runner has ended.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::harness::process;
use crate::kernel_swap::Device;
use crate::kernel_swap::device::BlockDevice;
use crate::kernel_swap::fuse_loop::{FuseLoop, patiently};
use crate::kernel_swap::network::Network;
use crate::kernel_swap::zram::Zram;
use crate::kernel_swap::{read, run};

/// The first line that it prints, as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    Made {
        cgroup: PathBuf,
        model: String,
    },
    /// Why this machine cannot have it; nothing is left of it.
    Refused(String),
}

/// A guard, or a server. Its name is not the runner's, by which all runners may be killed at once.
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg0(GUARD).arg(GUARD);
    command
}

/// Gives this process the guard's name, which the kernel takes from the file of the program otherwise.
pub fn take_name() {
    // Without the name it does its work all the same.
    let _ = fs::write("/proc/self/comm", GUARD);
}

/// The arguments of `swap-guard hold` for a device of this many bytes.
pub fn arguments(device: Device, bytes: u64) -> Vec<String> {
    match device {
        Device::Zram => vec!["zram".to_string(), "--bytes".to_string(), bytes.to_string()],
        Device::Fuse(network) => {
            let mut arguments = vec!["fuse".to_string()];
            arguments.extend(network_arguments(bytes, network));
            arguments
        }
    }
}

/// Those that `swap-guard serve` has too.
pub fn network_arguments(bytes: u64, network: Network) -> [String; 3] {
    [
        format!("--bytes={bytes}"),
        format!("--latency-ns={}", network.latency.as_nanos()),
        format!("--bandwidth={}", network.bandwidth),
    ]
}

/// Makes device and cgroup, says so on standard output, and puts them back when standard input ends. True if nothing is
/// left behind. For a process of its own.
pub fn hold(device: Device, bytes: u64) -> bool {
    process::ignore_wishes_to_end();
    let mut held = Held::default();
    let answer = match held.make(device, bytes) {
        Ok(model) => Answer::Made { cgroup: held.cgroup.clone().unwrap_or_default(), model },
        Err(why) => Answer::Refused(why),
    };
    let is_made = matches!(answer, Answer::Made { .. });
    let line = serde_json::to_string(&answer).expect("it is made of texts");
    // Where the reader has ended, the input has ended too.
    let is_heard = writeln!(io::stdout(), "{line}").is_ok();
    if is_made && is_heard {
        let mut nothing = [0];
        while io::stdin().read(&mut nothing).is_ok_and(|bytes| bytes > 0) {}
    }
    let left = held.put_back();
    for what in &left {
        // Standard error may be closed with the runner.
        let _ = writeln!(io::stderr(), "kernel swap cannot be restored: {what}");
    }
    left.is_empty()
}

/// The parts that were made so far.
#[derive(Default)]
struct Held {
    /// Locked as long as it is open.
    lock: Option<File>,
    cgroup: Option<PathBuf>,
    device: Option<Box<dyn BlockDevice>>,
    is_swapping: bool,
}

impl Held {
    /// The device in words, or why it cannot be had; [`put_back`](Self::put_back) is called in both cases.
    fn make(&mut self, device: Device, bytes: u64) -> Result<String, String> {
        if !process::is_root() {
            return Err("only root may make a swap device and a memory cgroup".into());
        }
        self.lock = Some(lock()?);
        if let Some(line) = read("/proc/swaps")?.lines().nth(1) {
            let name = line.split_whitespace().next().unwrap_or("");
            return Err(format!("this machine already uses swap: {name}"));
        }
        let controller = Path::new(MEMORY_CONTROLLER);
        if !controller.join("memory.limit_in_bytes").is_file() {
            return Err("there is no memory controller of cgroup v1".into());
        }
        let cgroup = controller.join(format!("{CGROUP_PREFIX}{}", std::process::id()));
        fs::create_dir(&cgroup).map_err(|error| format!("{}: {error}", cgroup.display()))?;
        self.cgroup = Some(cgroup);
        let device: Box<dyn BlockDevice> = match device {
            Device::Zram => Box::new(Zram::new(bytes)?),
            Device::Fuse(network) => Box::new(FuseLoop::new(bytes, network)?),
        };
        let device = self.device.insert(device);
        run(Command::new("mkswap").arg(device.path()))?;
        run(Command::new("swapon").arg(device.path()))?;
        self.is_swapping = true;
        let cluster = read("/proc/sys/vm/page-cluster")?;
        Ok(format!("{}, page-cluster {}", device.model(), cluster.trim()))
    }

    /// Undoes everything, in the opposite order, and returns the failures.
    fn put_back(&mut self) -> Vec<String> {
        let mut left = Vec::new();
        if let Some(cgroup) = &self.cgroup {
            // The processes in it use swap, and may not end by themselves.
            left.extend(patiently(|| empty(cgroup)).err());
        }
        if let Some(mut device) = self.device.take() {
            let swapoff = || run(Command::new("swapoff").arg(device.path())).map(|_| ());
            let stopped = if self.is_swapping { patiently(swapoff) } else { Ok(()) };
            match stopped {
                Ok(()) => left.extend(device.remove().err()),
                // Without the device the processes whose pages are on it could not go on.
                Err(why) => left.push(why),
            }
        }
        if let Some(cgroup) = self.cgroup.take() {
            // A program that was being started may have come in only now. Without swap it waits for memory, and stays.
            let remove = || {
                empty(&cgroup)?;
                fs::remove_dir(&cgroup).map_err(|error| format!("{}: {error}", cgroup.display()))
            };
            left.extend(patiently(remove).err());
        }
        left
    }
}

/// A lock that one process of this machine can have.
fn lock() -> Result<File, String> {
    let wrong = |error: io::Error| format!("{LOCK}: {error}");
    let mut options = File::options();
    let file = options.create(true).truncate(false).write(true).open(LOCK).map_err(wrong)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(_) => Err("another comparison with kernel swap runs on this machine".into()),
    }
}

/// Kills the processes of a cgroup; an error while there are some.
fn empty(cgroup: &Path) -> Result<(), String> {
    let processes = read(cgroup.join("cgroup.procs"))?;
    let mut count = 0;
    for process in processes.lines().filter_map(|line| line.parse().ok()) {
        process::kill(process);
        count += 1;
    }
    match count {
        0 => Ok(()),
        _ => Err(format!("{}: {count} processes do not end", cgroup.display())),
    }
}

/// The subcommand of `gc-bench`, and the name of its processes.
pub const GUARD: &str = "swap-guard";

/// Where cgroup v1 has its memory controller.
const MEMORY_CONTROLLER: &str = "/sys/fs/cgroup/memory";

/// Cgroups of ours begin so; the number of the guard's process follows.
const CGROUP_PREFIX: &str = "farheap-bench-";

const LOCK: &str = "/run/farheap-swap.lock";
