//! Kernel swap as a peer: a memory cgroup for the program, and a swap device for the pages that do not fit.
//!
//! Both belong to the whole machine, so the runner makes its own, refuses where another process uses swap, and
//! restores the machine. The device is compressed memory (zram), or a loop device over a file that a process of ours
//! serves through FUSE, with the latency and the bandwidth of far memory. It needs root, cgroup v1's memory
//! controller, `mkswap`, and zram or FUSE; where one is missing it says so, and the comparison omits it.
//!
//! 1. The *guard* (`gc-bench swap-guard hold`, [`guard`]) is a child of the runner. It makes cgroup and device,
//!    describes them in one line, and waits until the runner's end of a pipe closes: when the runner drops its
//!    [`KernelSwap`], and also when it is interrupted, killed, or aborts. Then it ends what still runs in the cgroup
//!    and puts everything back. It ignores Ctrl-C and its like, which a terminal sends to it too.
//! 2. The *server* (`gc-bench swap-guard serve`, [`server`]) is a child of the guard and serves the file. It never
//!    waits for memory that only itself could free: it is not in the cgroup, all of its memory is resident and locked
//!    before the device is used, and the kernel does no input or output on its behalf to find more.
//!
//! One at a time on a machine, which a lock that the guard holds makes sure of.

mod device;
mod far_file;
mod fuse_loop;
pub mod guard;
mod memory;
pub mod network;
pub mod relief;
pub mod server;
mod zram;

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::kernel_swap::guard::{Answer, GUARD};
use crate::kernel_swap::network::Network;
use crate::kernel_swap::relief::Relief;

/// The device that pages are swapped to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// The kernel compresses them into memory.
    Zram,
    /// A process of ours keeps them behind a network, and the kernel reaches it through a loop device and FUSE.
    Fuse(Network),
}

/// A swap device and a cgroup; dropping it removes both, and so does any end of this process.
pub struct KernelSwap {
    guard: Child,
    /// `None` when it was closed, which notifies the guard.
    pipe: Option<ChildStdin>,
    cgroup: PathBuf,
    model: String,
}

/// The kernel's counters; the difference of two is the cost of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swapped {
    /// That waited for a page to be read, from swap or from a file.
    pub faults: u64,
    pub pages_in: u64,
    pub pages_out: u64,
}

impl KernelSwap {
    /// Makes both; the device holds `bytes`. The error is the reason why it is not possible on this machine.
    pub fn new(device: Device, bytes: u64) -> Result<KernelSwap, String> {
        let mut command = guard::command(&guard_path()?);
        command.arg("hold").args(guard::arguments(device, bytes));
        let spawned = command
            .process_group(0)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut guard = spawned.map_err(|error| format!("{GUARD}: {error}"))?;
        let pipe = guard.stdin.take();
        let mut line = String::new();
        let answers = guard.stdout.take().expect("it is piped");
        let read = BufReader::new(answers).read_line(&mut line);
        let answer = match read {
            Ok(_) => serde_json::from_str(&line).map_err(|_| format!("{GUARD} printed {line:?}")),
            Err(error) => Err(format!("{GUARD}: {error}")),
        };
        // From now on dropping it undoes everything.
        let mut swap = KernelSwap { guard, pipe, cgroup: PathBuf::new(), model: String::new() };
        match answer? {
            Answer::Refused(why) => Err(why),
            Answer::Made { cgroup, model } => {
                (swap.cgroup, swap.model) = (cgroup, model);
                Ok(swap)
            }
        }
    }

    /// The device that pages are swapped to, in words: the device, its network, how many pages the kernel reads at
    /// once.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The process that starts the device's server, if it has one.
    pub fn guard(&self) -> u32 {
        self.guard.id()
    }

    /// The pages swapped until now. Only processes in the cgroup swap, as long as the machine has memory enough.
    pub fn swapped(&self) -> Swapped {
        let stat = read(self.cgroup.join("memory.stat")).unwrap_or_default();
        let machine = read("/proc/vmstat").unwrap_or_default();
        Swapped {
            faults: counter(&stat, "pgmajfault"),
            pages_in: counter(&machine, "pswpin"),
            pages_out: counter(&machine, "pswpout"),
        }
    }

    /// The command, confined: it and its children get at most `bytes` of memory, and swap for the rest. The second
    /// value that is returned lives as long as the program runs.
    pub fn confine(&self, command: &Command, bytes: u64) -> Result<(Command, Relief), String> {
        write(self.cgroup.join(relief::LIMIT), &bytes.to_string())?;
        let relief = Relief::new(&self.cgroup, bytes)?;
        let mut confined = Command::new("sh");
        confined
            .args(["-c", r#"echo $$ > "$0" && exec "$@""#])
            .arg(self.cgroup.join("cgroup.procs"));
        confined.arg(command.get_program()).args(command.get_args()).env_clear();
        let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        confined.envs(variables.collect::<Vec<(&OsStr, &OsStr)>>());
        Ok((confined, relief))
    }
}

impl Drop for KernelSwap {
    fn drop(&mut self) {
        drop(self.pipe.take());
        // It has reported itself what it could not restore.
        if let Err(error) = self.guard.wait() {
            base::say(format_args!("{GUARD}: {error}"));
        }
    }
}

/// The program that the guard is a subcommand of: the running one, or beside it.
fn guard_path() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let path = program.with_file_name("gc-bench");
    match path.is_file() {
        true => Ok(path),
        false => Err(format!("there is no {}; run `make build`", path.display())),
    }
}

fn read(path: impl AsRef<Path>) -> Result<String, String> {
    let path = path.as_ref();
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: impl AsRef<Path>, text: &str) -> Result<(), String> {
    let path = path.as_ref();
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Runs a command to its end and returns its output.
fn run(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_string()),
        false => Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// The number behind a name at the beginning of a line; 0 if there is none.
fn counter(text: &str, name: &str) -> u64 {
    let value = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok();
    text.lines().find_map(value).unwrap_or(0)
}

/// More than the heaps of most programs that are compared. Only the used part of zram takes memory.
pub const ZRAM_BYTES: u64 = 4 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_by_its_whole_name() {
        let text = "pswpin 7\npswpin_zero 8\ntotal_pgmajfault 9\npgmajfault 10\n";
        assert_eq!([counter(text, "pswpin"), counter(text, "pgmajfault")], [7, 10]);
        assert_eq!([counter(text, "zero"), counter(text, "pswp")], [0, 0]);
    }
}
