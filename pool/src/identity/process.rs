//! Processes: who they are, whether they live, and how they are stopped for good.

use crate::PoolError;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

/// A process, also when its number is in use again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Process {
    pub pid: u32,
    /// When it began: ticks of the machine's clock, moved by a number of the boot. Two processes of one number differ
    /// in it, unless 2^32 ticks (497 days) lie between them.
    pub birth: u32,
}

/// What identities ask about processes.
pub(crate) trait Processes {
    /// The caller's.
    fn own(&self) -> Result<Process, PoolError>;

    /// False once no thread of it can run any more: it has ended, or never was. Does not block.
    fn is_alive(&self, process: Process) -> Result<bool, PoolError>;

    /// Whether other processes have memory of this client, which is dead, so that they could still write it.
    fn is_outlived(&self, _client: u16) -> Result<bool, PoolError> {
        Ok(false)
    }

    /// Kills the process, and waits until no thread of it can run. An error says that it still may.
    fn fence(&self, process: Process, patience: Duration) -> Result<(), PoolError>;
}

/// The processes of this machine, in one namespace of numbers.
pub(crate) struct Kernel {
    boot: u32,
}

impl Kernel {
    pub(crate) fn new() -> Result<Kernel, PoolError> {
        let name = "/proc/sys/kernel/random/boot_id";
        let id = fs::read_to_string(name).map_err(|e| about(name, e))?;
        let digits: String = id.chars().filter(char::is_ascii_hexdigit).take(8).collect();
        let boot = u32::from_str_radix(&digits, 16);
        let boot = boot.map_err(|e| about(name, io::Error::other(e)))?;
        Ok(Kernel { boot })
    }

    /// One of another boot: it takes no process for one that it knows.
    #[cfg(not(loom))]
    pub(crate) fn of_boot(boot: u32) -> Kernel {
        Kernel { boot }
    }

    /// The number of the caller's namespace of processes.
    pub(crate) fn namespace() -> Result<u64, PoolError> {
        let name = "/proc/self/ns/pid";
        Ok(fs::metadata(name).map_err(|e| about(name, e))?.ino())
    }

    /// `None`: there is no process of this number.
    fn birth(&self, pid: u32) -> Result<Option<u32>, PoolError> {
        let name = format!("/proc/{pid}/stat");
        let text = match fs::read(&name) {
            Ok(text) => text,
            Err(error) if is_gone(&error) => return Ok(None),
            Err(error) => return Err(about(&name, error)),
        };
        let ticks = start_ticks(&text);
        let ticks = ticks.ok_or_else(|| about(&name, io::ErrorKind::InvalidData.into()))?;
        Ok(Some((ticks as u32).wrapping_add(self.boot)))
    }

    /// A descriptor of the process. `None`: it has ended, though nobody may have asked for its status yet.
    fn running(&self, process: Process) -> Result<Option<OwnedFd>, PoolError> {
        // SAFETY: no memory is involved.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, process.pid, 0) };
        if fd < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::ESRCH) => Ok(None),
                _ => Err(PoolError::Kernel { call: "pidfd_open", source: error }),
            };
        }
        // SAFETY: the kernel just made it for us.
        let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        let birth = self.birth(process.pid)?;
        // While this process runs, nobody else has its number: then `birth` is its own.
        if has_ended(&fd, Duration::ZERO)? || birth != Some(process.birth) {
            return Ok(None);
        }
        Ok(Some(fd))
    }
}

impl Processes for Kernel {
    fn own(&self) -> Result<Process, PoolError> {
        let pid = std::process::id();
        let birth = self.birth(pid)?;
        let gone = || about("/proc", io::ErrorKind::NotFound.into());
        Ok(Process { pid, birth: birth.ok_or_else(gone)? })
    }

    fn is_alive(&self, process: Process) -> Result<bool, PoolError> {
        Ok(self.running(process)?.is_some())
    }

    fn fence(&self, process: Process, patience: Duration) -> Result<(), PoolError> {
        let unfenced = |reason: String| PoolError::Unfenced { pid: process.pid, reason };
        if process.pid == std::process::id() {
            return Err(unfenced("it is this process".into()));
        }
        let Some(fd) = self.running(process)? else { return Ok(()) };
        let none = std::ptr::null::<libc::siginfo_t>();
        let fd_number = fd.as_raw_fd();
        // SAFETY: no memory is involved.
        let sent = unsafe {
            libc::syscall(libc::SYS_pidfd_send_signal, fd_number, libc::SIGKILL, none, 0)
        };
        if sent != 0 {
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(libc::ESRCH) {
                return Err(unfenced(error.to_string()));
            }
        }
        match has_ended(&fd, patience)? {
            true => Ok(()),
            false => Err(unfenced(format!("it has not ended after {patience:?}"))),
        }
    }
}

/// Waits until the last thread of the process has ended, at most this long.
fn has_ended(pidfd: &OwnedFd, patience: Duration) -> Result<bool, PoolError> {
    let end = Instant::now() + patience;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        // Rounded up: a wait of less than a millisecond must not become none.
        let left_ms = left.as_micros().div_ceil(1000).min(i32::MAX as u128) as i32;
        let mut poll = libc::pollfd { fd: pidfd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: it is one valid entry.
        match unsafe { libc::poll(&mut poll, 1, left_ms) } {
            0 => return Ok(false),
            1.. => return Ok(true),
            _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            _ => return Err(PoolError::last("poll")),
        }
    }
}

/// The field `starttime` of `/proc/PID/stat`. The name before it may have anything in it, also parentheses.
fn start_ticks(stat: &[u8]) -> Option<u64> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&stat[name_end + 1..]).ok()?;
    rest.split_ascii_whitespace().nth(19)?.parse().ok()
}

fn is_gone(error: &io::Error) -> bool {
    // ESRCH: it ended between opening and reading.
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH))
}

fn about(path: &str, source: io::Error) -> PoolError {
    PoolError::File { path: path.into(), source }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    const LONG: Duration = Duration::from_secs(20);

    fn sleeper() -> (Child, Process) {
        let child = Command::new("sleep").arg("1000").spawn().unwrap();
        let birth = Kernel::new().unwrap().birth(child.id()).unwrap().unwrap();
        let process = Process { pid: child.id(), birth };
        (child, process)
    }

    #[test]
    fn a_process_lives_until_it_has_ended() {
        let kernel = Kernel::new().unwrap();
        assert!(kernel.is_alive(kernel.own().unwrap()).unwrap());
        let (mut child, process) = sleeper();
        assert!(kernel.is_alive(process).unwrap());
        child.kill().unwrap();
        // Dead before its status was asked for, which nobody may ever do, and after.
        kernel.fence(process, LONG).unwrap();
        assert!(!kernel.is_alive(process).unwrap());
        child.wait().unwrap();
        assert!(!kernel.is_alive(process).unwrap());
    }

    #[test]
    fn a_process_with_the_same_number_is_another_one() {
        let kernel = Kernel::new().unwrap();
        let (mut child, process) = sleeper();
        let earlier = Process { birth: process.birth.wrapping_sub(1), ..process };
        assert!(!kernel.is_alive(earlier).unwrap());
        // Nobody is killed in its place.
        kernel.fence(earlier, LONG).unwrap();
        assert!(kernel.is_alive(process).unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_stopped_process_is_fenced() {
        let kernel = Kernel::new().unwrap();
        let (mut child, process) = sleeper();
        // SAFETY: no memory is involved; it is our child.
        unsafe { libc::kill(child.id() as i32, libc::SIGSTOP) };
        assert!(kernel.is_alive(process).unwrap());
        kernel.fence(process, LONG).unwrap();
        assert!(!kernel.is_alive(process).unwrap());
        child.wait().unwrap();
    }

    #[test]
    fn a_process_does_not_fence_itself() {
        let kernel = Kernel::new().unwrap();
        let refused = kernel.fence(kernel.own().unwrap(), LONG);
        assert!(matches!(refused, Err(PoolError::Unfenced { .. })));
    }

    #[test]
    fn the_start_is_read_behind_any_name() {
        let fields: Vec<String> = (3..=52).map(|n| n.to_string()).collect();
        for name in ["a", "a b", ") 1 2 3 (", "\u{e9}"] {
            let line = format!("7 ({name}) {}", fields.join(" "));
            assert_eq!(start_ticks(line.as_bytes()), Some(22), "{name}");
        }
        for wrong in ["", "7 (a) S 1", "7 (a", "7 (a) S x x x x x x x x x x x x x x x x x x x"] {
            assert_eq!(start_ticks(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
