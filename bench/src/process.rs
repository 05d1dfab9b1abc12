//! One program run: own process group, own folder, a time limit, captured output.
//!
//! The group is killed at the end of every run, also after a normal one, so that whatever the
//! program started (memory servers, child processes) does not outlive it. The kill happens while
//! the leader is still unreaped, hence its id cannot have been reused.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Exit(i32),
    Signal(i32),
    TimedOut,
    /// The program wrote more than [`OUTPUT_LIMIT_BYTES`].
    TooMuchOutput,
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Exit(code) => write!(f, "exit {code}"),
            End::Signal(number) => write!(f, "signal {number}"),
            End::TimedOut => write!(f, "timed out"),
            End::TooMuchOutput => write!(f, "too much output"),
        }
    }
}

/// What a run left.
pub struct Run {
    pub end: End,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub wall: Duration,
    /// User and system time of the process and of those of its children that it waited for.
    pub cpu: Duration,
}

/// Runs `command` with `folder/cwd` as its working directory and `stdin` as its input, for at most
/// `limit`. The folder must be empty, and the caller's own.
pub fn run(mut command: Command, folder: &Path, stdin: &[u8], limit: Duration) -> io::Result<Run> {
    let cwd = folder.join("cwd");
    std::fs::create_dir_all(&cwd)?;
    std::fs::write(folder.join("stdin"), stdin)?;
    let (out_path, err_path) = (folder.join("stdout"), folder.join("stderr"));
    command
        .current_dir(&cwd)
        .stdin(Stdio::from(File::open(folder.join("stdin"))?))
        .stdout(Stdio::from(File::create(&out_path)?))
        .stderr(Stdio::from(File::create(&err_path)?))
        .process_group(0);
    // SAFETY: the closure runs between fork and exec and makes one async-signal-safe system call.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    let start = Instant::now();
    let child = command.spawn()?;
    let pid = child.id() as libc::pid_t;
    let forced = wait_for_end(pid, start + limit, &[&out_path, &err_path]);
    let wall = start.elapsed();
    kill_group(pid as u32);
    let (status, cpu) = reap(pid)?;
    let end = forced.unwrap_or(status);
    Ok(Run { end, stdout: read(&out_path)?, stderr: read(&err_path)?, wall, cpu })
}

/// Waits until the process has ended (without reaping it), is too late, or writes too much; the
/// last two are returned.
fn wait_for_end(pid: libc::pid_t, deadline: Instant, outputs: &[&Path]) -> Option<End> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        // SAFETY: siginfo_t is plain data, for which all zeroes is a value.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let flags = libc::WEXITED | libc::WNOWAIT;
        // SAFETY: `info` outlives the call; the child is ours and is reaped only after this thread
        // has reported or the process was killed.
        while unsafe { libc::waitid(libc::P_PID, pid as libc::id_t, &mut info, flags) } == -1
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
        let _ = sender.send(());
    });
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Some(End::TimedOut);
        }
        match receiver.recv_timeout(left.min(Duration::from_secs(1))) {
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let size = |p: &&Path| std::fs::metadata(p).map_or(0, |m| m.len());
        if outputs.iter().map(size).sum::<u64>() > OUTPUT_LIMIT_BYTES {
            return Some(End::TooMuchOutput);
        }
    }
}

/// Kills a group of processes. Its leader must be a child of ours that is not reaped, so that the number names this
/// group and no other.
pub fn kill_group(pid: u32) {
    // SAFETY: `kill` takes no memory.
    unsafe { libc::kill(-(pid as libc::pid_t), libc::SIGKILL) };
}

/// Kills one process, which the caller knows to be of the program that it runs.
pub fn kill(pid: u32) {
    // SAFETY: `kill` takes no memory.
    unsafe { libc::kill(pid as libc::pid_t, libc::SIGKILL) };
}

fn reap(pid: libc::pid_t) -> io::Result<(End, Duration)> {
    let mut status = 0;
    // SAFETY: rusage is plain data, for which all zeroes is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both out-pointers outlive the call.
    while unsafe { libc::wait4(pid, &mut status, 0, &mut usage) } == -1 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let end = if libc::WIFSIGNALED(status) {
        End::Signal(libc::WTERMSIG(status))
    } else {
        End::Exit(libc::WEXITSTATUS(status))
    };
    Ok((end, duration(usage.ru_utime) + duration(usage.ru_stime)))
}

fn duration(time: libc::timeval) -> Duration {
    Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(OUTPUT_LIMIT_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A program that writes more is stopped; no judged program needs a thousandth of it.
const OUTPUT_LIMIT_BYTES: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn shell(script: &str, limit: Duration) -> Run {
        let scratch = Scratch::new("process").unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, scratch.path(), b"input\n", limit).unwrap()
    }

    #[test]
    fn output_and_exit_code_are_captured() {
        let run = shell("read x; echo got $x; echo bad >&2; exit 3", Duration::from_secs(10));
        assert_eq!(run.end, End::Exit(3));
        assert_eq!(run.stdout, b"got input\n");
        assert_eq!(run.stderr, b"bad\n");
    }

    #[test]
    fn a_hanging_program_is_ended_with_its_children() {
        let run = shell("sleep 60 & echo $!; sleep 60", Duration::from_millis(300));
        assert_eq!(run.end, End::TimedOut);
        let child = String::from_utf8(run.stdout).unwrap();
        let gone = || match std::fs::read_to_string(format!("/proc/{}/stat", child.trim())) {
            Ok(stat) => stat.contains(") Z "),
            Err(_) => true,
        };
        let start = Instant::now();
        while !gone() {
            assert!(start.elapsed() < Duration::from_secs(5), "child {child} lives on");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_signal_is_told_from_an_exit() {
        assert_eq!(shell("kill -SEGV $$", Duration::from_secs(10)).end, End::Signal(libc::SIGSEGV));
    }
}
