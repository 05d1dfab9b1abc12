//! One program run: own process group, own folder, a time limit, captured output.
//!
//! The group is killed at the end of every run, also after a normal one, so that processes that the program started
//! (memory servers, child processes) do not outlive it. The kill happens while the leader is still unreaped, hence
//! its id cannot have been reused.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Exit(i32),
    Signal(i32),
    TimedOut,
    /// The program wrote more than `OUTPUT_LIMIT_BYTES`.
    TooMuchOutput,
    /// The user wants no more ([`stop_on_interrupt`]).
    Interrupted,
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Exit(code) => write!(f, "exit {code}"),
            End::Signal(number) => write!(f, "signal {number}"),
            End::TimedOut => write!(f, "timed out"),
            End::TooMuchOutput => write!(f, "too much output"),
            End::Interrupted => write!(f, "interrupted"),
        }
    }
}

/// The outcome of a run.
pub struct Run {
    pub end: End,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub wall: Duration,
    /// User and system time of the process and of those of its children that it waited for.
    pub cpu: Duration,
}

/// An observer of a process while it runs. All calls come from the thread that runs it.
pub trait Watch {
    /// The process, a group of its own, runs. To be called again after the time that is returned.
    fn tick(&mut self, pid: u32) -> Duration;

    /// The process has ended and is not reaped: the system's counters of it can still be read. Its children may run
    /// on.
    fn ended(&mut self, pid: u32);
}

/// Runs `command` with `folder/cwd` as its working directory and `stdin` as its input, for at most
/// `limit`. The folder must be the caller's own, and of this run alone: a second run in it is an error, since it
/// would empty and write the files that hold the first one's output, and exit codes would not show it.
pub fn run(command: Command, folder: &Path, stdin: &[u8], limit: Duration) -> io::Result<Run> {
    run_watched(command, folder, stdin, limit, &mut Unwatched)
}

/// The same, with an observer.
pub fn run_watched(
    mut command: Command,
    folder: &Path,
    stdin: &[u8],
    limit: Duration,
    watch: &mut dyn Watch,
) -> io::Result<Run> {
    let cwd = folder.join("cwd");
    let in_path = folder.join("stdin");
    File::create_new(&in_path)
        .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", in_path.display())))?
        .write_all(stdin)?;
    std::fs::create_dir_all(&cwd)?;
    let (out_path, err_path) = (folder.join("stdout"), folder.join("stderr"));
    command
        .current_dir(&cwd)
        .stdin(Stdio::from(File::open(&in_path)?))
        .stdout(Stdio::from(File::create_new(&out_path)?))
        .stderr(Stdio::from(File::create_new(&err_path)?))
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
    let forced = wait_for_end(pid, start + limit, &[&out_path, &err_path], watch);
    let wall = start.elapsed();
    watch.ended(pid as u32);
    kill_group(pid as u32);
    let (status, cpu) = reap(pid)?;
    let end = forced.unwrap_or(status);
    Ok(Run { end, stdout: read(&out_path)?, stderr: read(&err_path)?, wall, cpu })
}

/// From now on the first interrupt (Ctrl-C) or request to terminate ends the runs in progress and makes
/// [`is_interrupted`] true; the second one ends this process, as always.
pub fn stop_on_interrupt() {
    extern "C" fn note(_signal: libc::c_int) {
        INTERRUPTED.store(true, Ordering::Relaxed);
    }
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: sigaction is plain data, for which all zeroes is a value.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = note as *const () as usize;
        action.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
        // SAFETY: the handler only stores to an atomic; `action` outlives the call.
        unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
    }
}

/// From now on this process, and its children, survive Ctrl-C, the end of the terminal, and signals that ask all
/// processes to end.
pub fn ignore_wishes_to_end() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: no handler is installed, and no memory is taken.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Makes this process one that others' swapped pages may depend on: all of its memory, future mappings included, is
/// resident and locked. Where root may do that too (it may not in some containers), the kernel does no input or
/// output on its behalf to find memory, and kills others first; without, a machine that is short of memory as a whole
/// may hang.
pub fn serve_swap() -> io::Result<()> {
    let _ = std::fs::write("/proc/self/oom_score_adj", "-1000");
    // SAFETY: neither call takes memory of ours.
    let result = unsafe {
        libc::prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
        libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE)
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether the user wants no more.
pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Allows a thread (0: the caller) to run on these cores only; its children inherit that. False if the system
/// refuses: there is no such core, or the thread has ended.
pub fn pin(thread: u32, cores: &[usize]) -> bool {
    // SAFETY: cpu_set_t is plain data, for which all zeroes is a value: the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for core in cores.iter().filter(|core| **core < libc::CPU_SETSIZE as usize) {
        // SAFETY: the core's bit is inside of the set.
        unsafe { libc::CPU_SET(*core, &mut set) };
    }
    // SAFETY: `set` outlives the call, which reads as many bytes as it has.
    unsafe { libc::sched_setaffinity(thread as libc::pid_t, size_of_val(&set), &set) == 0 }
}

/// How many of them the system counts in a second of CPU time.
pub fn ticks_per_second() -> f64 {
    // SAFETY: `sysconf` takes no memory.
    unsafe { libc::sysconf(libc::_SC_CLK_TCK) as f64 }
}

/// Whether this process has the rights of the administrator.
pub fn is_root() -> bool {
    // SAFETY: `geteuid` takes no memory.
    unsafe { libc::geteuid() == 0 }
}

struct Unwatched;

impl Watch for Unwatched {
    fn tick(&mut self, _pid: u32) -> Duration {
        Duration::MAX
    }

    fn ended(&mut self, _pid: u32) {}
}

/// Waits until the process has ended (without reaping it), is too late, is not wanted any more, or writes too much;
/// all but the first are returned.
fn wait_for_end(
    pid: libc::pid_t,
    deadline: Instant,
    outputs: &[&Path],
    watch: &mut dyn Watch,
) -> Option<End> {
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
        if is_interrupted() {
            return Some(End::Interrupted);
        }
        let nap = watch.tick(pid as u32).min(left).min(LOOKS_EVERY);
        match receiver.recv_timeout(nap) {
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

/// From `linux/prctl.h`.
const PR_SET_IO_FLUSHER: libc::c_int = 57;

/// Written by the handler of signals, read by the threads that wait; nothing else is published with it.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Output's size and wishes to stop are looked at this often.
const LOOKS_EVERY: Duration = Duration::from_secs(1);

/// A program that writes more is stopped; no judged program needs a thousandth of it.
const OUTPUT_LIMIT_BYTES: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::scratch::Scratch;

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
    fn the_output_of_one_run_is_not_overwritten_by_another() {
        let scratch = Scratch::new("process").unwrap();
        let run_there = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            run(command, scratch.path(), b"", Duration::from_secs(10))
        };
        let printed = thread::scope(|scope| {
            let first = scope.spawn(|| run_there("echo one; touch begun; sleep 0.5; echo two"));
            let deadline = Instant::now() + Duration::from_secs(10);
            while !scratch.path().join("cwd/begun").exists() {
                assert!(Instant::now() < deadline, "the first run does not begin");
                thread::sleep(Duration::from_millis(5));
            }
            let second = run_there("echo another").map(|run| run.stdout);
            assert_eq!(second.map_err(|e| e.kind()), Err(io::ErrorKind::AlreadyExists));
            first.join().unwrap().unwrap().stdout
        });
        assert_eq!(printed, b"one\ntwo\n");
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
