//! What the benchmarks of several processes share.

#![allow(dead_code, reason = "each of them uses a part")]

pub mod board;
pub mod mimalloc;
pub mod zipf;

use pool::{Backing, Change, Pool, PoolError, Redo, Word};
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// A pool in a file, which is removed when it is dropped.
pub struct Shared {
    path: PathBuf,
    pub pool: Pool,
}

impl Shared {
    /// A pool of this many bytes for eight clients, in shared memory if there is some.
    pub fn new(name: &str, bytes: u64) -> Shared {
        let shared = Path::new("/dev/shm");
        let folder = if shared.is_dir() { shared.into() } else { env::temp_dir() };
        let path = folder.join(format!("farheap-{name}-{}", std::process::id()));
        let pool = Pool::create(&Backing::File { path: &path, bytes }, 8).expect("a pool");
        Shared { path, pool }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts this program again as `child PATH ROLE...`.
    pub fn start(&self, role: &[&str]) -> Child {
        let mut command = Command::new(env::current_exe().expect("this program"));
        command.arg("child").arg(&self.path).args(role).stdout(Stdio::null());
        command.spawn().expect("a child")
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// For recovery: the programs have nothing in the pool but what its layers know.
pub struct Nothing;

impl Redo for Nothing {
    fn word(&self, target: u64) -> Result<&Word, PoolError> {
        Err(PoolError::Range { offset: target, bytes: 16 })
    }

    fn redo(&self, _: u16, _: &Change, _: bool) -> Result<(), PoolError> {
        Ok(())
    }
}

/// Waits until a word has a value.
pub fn wait_for(word: &AtomicU64, is_there: impl Fn(u64) -> bool) {
    while !is_there(word.load(Ordering::Acquire)) {
        thread::sleep(Duration::from_millis(1));
    }
}

/// CPU time of this thread, in nanoseconds.
pub fn clock() -> u64 {
    nanos(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Nanoseconds on a clock that all processes have together.
pub fn now() -> u64 {
    nanos(libc::CLOCK_MONOTONIC)
}

fn nanos(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills `time`, which is this function's own.
    assert_eq!(unsafe { libc::clock_gettime(clock, &mut time) }, 0);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Lets this thread run on the n-th of its CPUs only, counted from 0 and round.
pub fn pin(n: usize) {
    let bytes = size_of::<libc::cpu_set_t>();
    // SAFETY: zeros are an empty set; the kernel fills it, and reads the one with a CPU that was in it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        assert_eq!(libc::sched_getaffinity(0, bytes, &mut set), 0);
        let cpus = (0..libc::CPU_SETSIZE as usize).filter(|cpu| libc::CPU_ISSET(*cpu, &set));
        let cpus: Vec<_> = cpus.collect();
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpus[n % cpus.len()], &mut one);
        assert_eq!(libc::sched_setaffinity(0, bytes, &one), 0);
    }
}

/// Bytes of this process, pages that others have too in part.
pub fn pss() -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").expect("this process");
    let line = text.lines().find(|line| line.starts_with("Pss:")).expect("a figure");
    let figure = line.split_whitespace().nth(1).expect("a figure");
    figure.parse::<u64>().expect("a number") << 10
}
