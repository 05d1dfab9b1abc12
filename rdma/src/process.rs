//! The process of one memory server.

use std::env;
use std::ffi::{CStr, OsStr};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::RdmaError;

/// A running `memory-server`. Dropping it kills and reaps the process.
pub struct ServerProcess {
    pid: u32,
    /// Names the process even when its number is in use again.
    pidfd: OwnedFd,
    /// Waits for the process. It is also the thread that started it and lives as long: the kernel
    /// ties "dies with its parent" to the *thread* that forked.
    guardian: Option<JoinHandle<()>>,
}

impl ServerProcess {
    /// Starts `program --fd N` with further arguments, where N is `control`.
    pub fn start(
        server: u16,
        program: &Path,
        arguments: Vec<String>,
        control: OwnedFd,
    ) -> Result<ServerProcess, RdmaError> {
        let failed = |reason: String| RdmaError::Start { server, reason };
        let (started, start) = sync_channel(1);
        let path = program.to_owned();
        let guardian = thread::Builder::new()
            .name(format!("memory server {server}"))
            .spawn(move || match spawn(&path, &arguments, control) {
                Err(error) => {
                    let _ = started.send(Err(error));
                }
                Ok(mut child) => {
                    let opened = open_pidfd(child.id()).map(|pidfd| (child.id(), pidfd));
                    let _ = started.send(opened);
                    if let Err(error) = child.wait() {
                        log::warn!("waiting for memory server {server}: {error}");
                    }
                }
            })
            .map_err(|error| failed(error.to_string()))?;
        let answer = start.recv().expect("the guardian always answers");
        let (pid, pidfd) =
            answer.map_err(|error| failed(format!("{}: {error}", program.display())))?;
        Ok(ServerProcess { pid, pidfd, guardian: Some(guardian) })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Kills it, and waits until no thread of it can run any more, for `patience` at most.
    pub fn end(&self, patience: Duration) {
        self.kill();
        let mut poll =
            libc::pollfd { fd: self.pidfd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: it is one valid entry. A signal ends the wait early, and then the caller sees what it waits for or
        // not.
        unsafe { libc::poll(&mut poll, 1, patience.as_millis() as i32) };
    }

    fn kill(&self) {
        let none = std::ptr::null::<libc::siginfo_t>();
        let fd = self.pidfd.as_raw_fd();
        // SAFETY: no memory is involved. The process has nothing to tidy up; it may be dead
        // already.
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, libc::SIGKILL, none, 0) };
    }

    /// Has it ended?
    pub fn is_finished(&self) -> bool {
        self.guardian.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.kill();
        if let Some(guardian) = self.guardian.take() {
            // It does nothing that could panic.
            let _ = guardian.join();
        }
    }
}

/// Bytes of memory that the segments of a memory server on this machine take: of its files without names. 0 when the
/// process is gone, or another user's.
pub fn held_bytes(pid: u32) -> u64 {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let is_segment = |path: &PathBuf| {
        fs::read_link(path).is_ok_and(|to| to.to_string_lossy().starts_with(SEGMENT))
    };
    let segments = entries.map(|entry| entry.path()).filter(is_segment);
    segments.filter_map(|path| Some(fs::metadata(path).ok()?.blocks() * 512)).sum()
}

/// The prefix of links to a server's memory.
const SEGMENT: &str = "/memfd:farheap-segment";

/// The `memory-server` program: `FARHEAP_MEMORY_SERVER`, else beside this executable, else beside
/// the shared library that this code is part of, or one folder above (Cargo's test executables).
pub fn find_program() -> Result<PathBuf, RdmaError> {
    if let Some(path) = env::var_os("FARHEAP_MEMORY_SERVER") {
        return Ok(path.into());
    }
    let homes = [env::current_exe().ok(), own_library()];
    let folders = homes.iter().flatten().flat_map(|file| file.ancestors().skip(1).take(2));
    let mut candidates = folders.map(|folder| folder.join("memory-server"));
    candidates.find(|candidate| candidate.is_file()).ok_or_else(|| RdmaError::Start {
        server: 0,
        reason: "the program memory-server is not beside this program; \
                 set FARHEAP_MEMORY_SERVER to its path"
            .into(),
    })
}

fn spawn(program: &Path, arguments: &[String], control: OwnedFd) -> io::Result<Child> {
    let fd = control.as_raw_fd();
    let parent = std::process::id();
    let mut command = Command::new(program);
    // A group of its own: Ctrl-C is for the VM, which still needs its memory to shut down.
    command.args(["--fd", &fd.to_string()]).stdin(Stdio::null()).stdout(Stdio::null());
    command.args(arguments).process_group(0);
    // SAFETY: between fork and exec only async-signal-safe calls are made.
    unsafe {
        command.pre_exec(move || {
            // Libraries of the program may have opened descriptors that they do not close on exec: a server has no
            // use for them, and a process that waits for their end of file would wait for the server's end. Kernels
            // before 5.11 cannot; then they stay open.
            libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0
                || libc::fcntl(fd, libc::F_SETFD, 0) != 0
            {
                return Err(io::Error::last_os_error());
            }
            // The parent may have died before the request above.
            if libc::getppid() != parent as libc::pid_t {
                libc::_exit(1);
            }
            Ok(())
        });
    }
    command.spawn()
}

/// Sessions that one listening server serves at the same time, each in a process of its own.
pub const SESSIONS_MAX: usize = 64;

fn open_pidfd(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: no memory is involved.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just made it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// The file that this code was loaded from: an executable or a shared library. `None`: the loader does not know it.
pub fn own_library() -> Option<PathBuf> {
    // SAFETY: all-zero is a valid Dl_info.
    let mut info = unsafe { std::mem::zeroed::<libc::Dl_info>() };
    let here = own_library as fn() -> Option<PathBuf> as *const libc::c_void;
    // SAFETY: the address is one of our functions; the call fills the struct.
    if unsafe { libc::dladdr(here, &mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr gave a C string that lives as long as the library.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}
