//! Kernel swap as a peer: a memory cgroup for the program, and a swap device that compresses into memory.
//!
//! Both belong to the whole machine, so the runner makes its own, refuses where somebody else uses swap, and puts
//! everything back. It needs root, cgroup v1's memory controller, zram and `mkswap`; where one is missing it says
//! so, and the comparison goes without.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A swap device and a cgroup; dropping it removes both.
pub struct KernelSwap {
    cgroup: PathBuf,
    /// Number of the zram device; `None` before it is there.
    zram: Option<u32>,
    is_swapping: bool,
}

impl KernelSwap {
    /// Makes both. The error is the reason why it is not possible here.
    pub fn new() -> Result<KernelSwap, String> {
        let swaps = read("/proc/swaps")?;
        if swaps.lines().count() > 1 {
            return Err("somebody uses swap on this machine already".into());
        }
        let root = Path::new("/sys/fs/cgroup/memory");
        if !root.join("memory.limit_in_bytes").is_file() {
            return Err("there is no memory controller of cgroup v1".into());
        }
        let cgroup = root.join(format!("farheap-bench-{}", std::process::id()));
        fs::create_dir(&cgroup).map_err(|error| format!("{}: {error}", cgroup.display()))?;
        // From here on dropping it puts back what was done.
        let mut swap = KernelSwap { cgroup, zram: None, is_swapping: false };
        let number = read("/sys/class/zram-control/hot_add")?;
        let number = number.trim().parse().map_err(|_| "zram gives no device".to_string())?;
        swap.zram = Some(number);
        write(format!("/sys/block/zram{number}/disksize"), &DEVICE_BYTES.to_string())?;
        let device = format!("/dev/zram{number}");
        run(Command::new("mkswap").arg(&device))?;
        run(Command::new("swapon").arg(&device))?;
        swap.is_swapping = true;
        Ok(swap)
    }

    /// The command, confined: it and its children get at most `bytes` of memory, and swap for the rest.
    pub fn confine(&self, command: &Command, bytes: u64) -> Result<Command, String> {
        write(self.cgroup.join("memory.limit_in_bytes"), &bytes.to_string())?;
        let mut confined = Command::new("sh");
        confined
            .args(["-c", r#"echo $$ > "$0" && exec "$@""#])
            .arg(self.cgroup.join("cgroup.procs"));
        confined.arg(command.get_program()).args(command.get_args()).env_clear();
        let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        confined.envs(variables.collect::<Vec<(&OsStr, &OsStr)>>());
        Ok(confined)
    }
}

impl Drop for KernelSwap {
    fn drop(&mut self) {
        let mut results = Vec::new();
        if let Some(number) = self.zram {
            if self.is_swapping {
                results.push(run(Command::new("swapoff").arg(format!("/dev/zram{number}"))));
            }
            results.push(write("/sys/class/zram-control/hot_remove", &number.to_string()));
        }
        let removed = fs::remove_dir(&self.cgroup);
        results.push(removed.map_err(|error| format!("{}: {error}", self.cgroup.display())));
        for what in results.into_iter().filter_map(Result::err) {
            eprintln!("kernel swap is not put back: {what}");
        }
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

fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// More than any heap that is compared here.
const DEVICE_BYTES: u64 = 4 << 30;
