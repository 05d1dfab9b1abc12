//! A block device over a file that a process of ours serves.
//!
//! The kernel swaps to no file of FUSE itself, but to a loop device over one.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::kernel_swap::device::BlockDevice;
use crate::kernel_swap::network::Network;
use crate::kernel_swap::server::READY;
use crate::kernel_swap::{far_file, guard, memory, read, run};

pub struct FuseLoop {
    network: Network,
    /// Where the file system is mounted; empty before it is mounted.
    folder: PathBuf,
    server: Option<Child>,
    /// Empty before the device exists.
    path: String,
}

impl FuseLoop {
    /// A new device of this many bytes, which are taken from memory at once.
    pub fn new(bytes: u64, network: Network) -> Result<FuseLoop, String> {
        for needed in ["/dev/fuse", "/dev/loop-control"] {
            if !Path::new(needed).exists() {
                return Err(format!("there is no {needed}"));
            }
        }
        memory::has(bytes)?;
        let mut made =
            FuseLoop { network, folder: PathBuf::new(), server: None, path: String::new() };
        match made.make(bytes) {
            Ok(()) => Ok(made),
            Err(why) => match made.remove() {
                Ok(()) => Err(why),
                Err(left) => Err(format!("{why}; then {left}")),
            },
        }
    }

    fn make(&mut self, bytes: u64) -> Result<(), String> {
        let folder = std::env::temp_dir().join(format!("farheap-swap-{}", std::process::id()));
        std::fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        self.folder = folder;
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let server = guard::command(&program)
            .arg("serve")
            .args(guard::network_arguments(bytes, self.network))
            .arg(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let server = self.server.insert(server);
        let mut line = String::new();
        let said = server.stdout.take().expect("it is piped");
        BufReader::new(said).read_line(&mut line).map_err(|error| error.to_string())?;
        if line.trim() != READY {
            return Err(format!("the file system is not served: {}", line.trim()));
        }
        let file = self.folder.join(far_file::NAME);
        // Direct: else a page would be in memory twice, and finding memory could need memory.
        self.path =
            run(Command::new("losetup").args(["--find", "--show", "--direct-io=on"]).arg(file))?;
        Ok(())
    }

    /// Unmounts the file system, which ends its server.
    fn unmount(&mut self) -> Result<(), String> {
        let Some(mut server) = self.server.take() else { return Ok(()) };
        // The kernel may still be closing the file of a loop device that was removed.
        let unmount = || match is_mounted(&self.folder)? {
            true => run(Command::new("umount").arg(&self.folder)).map(|_| ()),
            false => Ok(()),
        };
        let unmounted = patiently(unmount);
        let ended = patiently(|| match server.try_wait() {
            Ok(Some(_)) => Ok(()),
            _ => Err("the server of the swapped pages does not end".to_string()),
        });
        if ended.is_err() {
            let _ = server.kill();
            let _ = server.wait();
        }
        unmounted.and(ended)
    }
}

impl BlockDevice for FuseLoop {
    fn path(&self) -> &str {
        &self.path
    }

    fn model(&self) -> String {
        let name = self.path.trim_start_matches("/dev/");
        let is_direct =
            read(format!("/sys/block/{name}/loop/dio")).is_ok_and(|on| on.trim() == "1");
        let how = if is_direct { "direct" } else { "not direct" };
        format!("loop device ({how}) over FUSE, {}", self.network)
    }

    fn remove(&mut self) -> Result<(), String> {
        let mut wrong = Vec::new();
        if !self.path.is_empty() {
            wrong.extend(run(Command::new("losetup").arg("--detach").arg(&self.path)).err());
        }
        wrong.extend(self.unmount().err());
        if !self.folder.as_os_str().is_empty() {
            let removed = std::fs::remove_dir(&self.folder);
            wrong.extend(removed.err().map(|error| format!("{}: {error}", self.folder.display())));
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
    }
}

fn is_mounted(folder: &Path) -> Result<bool, String> {
    let mounted = read("/proc/self/mounts")?;
    Ok(mounted.lines().any(|line| line.split(' ').nth(1).map(Path::new) == Some(folder)))
}

/// Tries until it works, for some seconds at most. The error is the last one.
pub fn patiently(mut what: impl FnMut() -> Result<(), String>) -> Result<(), String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match what() {
            Ok(()) => return Ok(()),
            Err(why) if Instant::now() >= deadline => return Err(why),
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    }
}

const PATIENCE: Duration = Duration::from_secs(10);
