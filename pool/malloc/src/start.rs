//! The beginning of the process, and the end of its threads.

use std::ffi::CStr;
use std::fmt;
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

use pool::PoolError;

use crate::seats::{self, Seat};
use crate::{below, fork, ground};

/// The variable that has the size of the pool: digits and an optional k, m, g or t.
const SIZE: &CStr = c"FARHEAP_MALLOC_SIZE";

/// Without it, the pool has this multiple of the machine's memory. Small blocks have three eighths of a heap, medium
/// ones one eighth, and large and huge ones a quarter each: so each kind can have all of the memory.
const TIMES: usize = 8;
const LEAST: usize = 1 << 30;
const MOST: usize = 16 << 40;
const PAGE: usize = 4096;
/// Less than that is not tried where the system or a limit leaves little.
const LEAST_LIMITED: usize = 64 << 20;
/// The part of what the system would still promise to programs that the pool takes, if the system counts all private
/// memory as used. Each child of `fork` has that much again.
const PART_OF_PROMISES: usize = 8;
/// The part of the address space that a limit leaves.
const PART_OF_SPACE: usize = 2;

/// The key of the value whose destructor is `seats::leave`.
static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// Runs before `main`. If there is no pool, the C library serves the program.
extern "C" fn start() {
    below::start();
    let started = match wanted() {
        Ok(Some(bytes)) => ground::start(bytes).map_err(Failure::Pool),
        Ok(None) => start_sparse(),
        Err(text) => Err(Failure::Size(text)),
    };
    if let Err(failure) = started {
        base::say(format_args!("farheap: no pool for malloc: {failure}"));
        return;
    }
    let mut key = 0;
    // SAFETY: the function is there as long as the library, which is never unloaded.
    if unsafe { libc::pthread_key_create(&mut key, Some(leave)) } == 0 {
        KEY.store(key, Ordering::Release);
    }
    fork::start();
}

/// What the variable says.
fn wanted() -> Result<Option<usize>, String> {
    // SAFETY: the name is a C string, and nobody changes the environment before `main`.
    let text = unsafe { libc::getenv(SIZE.as_ptr()) };
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: what the C library returns is a C string.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    base::units::parse_bytes(&text).map(Some).ok_or_else(|| text.into_owned())
}

/// The largest pool up to some times the memory of the machine that the kernel allows, and that leaves room.
fn start_sparse() -> Result<(), Failure> {
    // SAFETY: zeros are a value of this structure of numbers.
    let mut system: libc::sysinfo = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one structure to the place given.
    unsafe { libc::sysinfo(&mut system) };
    let memory = (system.totalram as usize).saturating_mul(system.mem_unit as usize);
    let promises = promises_left().map(|bytes| bytes / PART_OF_PROMISES);
    let space = space_left().map(|bytes| bytes / PART_OF_SPACE);
    let limit = promises.into_iter().chain(space).min().unwrap_or(usize::MAX);
    let mut bytes = memory.saturating_mul(TIMES).clamp(LEAST, MOST).min(limit);
    if bytes < LEAST_LIMITED {
        return Err(Failure::Little);
    }
    loop {
        match ground::start(bytes) {
            Err(PoolError::Kernel { .. }) if bytes / 2 >= LEAST_LIMITED => bytes /= 2,
            end => return end.map_err(Failure::Pool),
        }
    }
}

/// What the system would still promise to programs, if it counts all private memory, also what was never touched
/// (`vm.overcommit_memory=2`).
fn promises_left() -> Option<usize> {
    if fs::read_to_string("/proc/sys/vm/overcommit_memory").ok()?.trim() != "2" {
        return None;
    }
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let kilobytes = |name: &str| -> Option<usize> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    Some(
        kilobytes("CommitLimit:")?.saturating_sub(kilobytes("Committed_AS:")?).saturating_mul(1024),
    )
}

/// What a limit of address space leaves to this process.
fn space_left() -> Option<usize> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the kernel writes one structure to the place given.
    unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) };
    if limit.rlim_cur == libc::RLIM_INFINITY {
        return None;
    }
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().next().and_then(|pages| pages.parse::<usize>().ok());
    Some((limit.rlim_cur as usize).saturating_sub(pages.unwrap_or(0).saturating_mul(PAGE)))
}

enum Failure {
    Pool(PoolError),
    Size(String),
    /// The system or a limit leaves too little.
    Little,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Pool(error) => error.fmt(f),
            Failure::Little => f.write_str("the limits leave less than 64 MiB to it"),
            Failure::Size(text) => {
                write!(f, "{}={text} is no size, such as 4g", SIZE.to_string_lossy())
            }
        }
    }
}

/// Has this thread leave the seat when it ends. False: it would not.
pub fn at_thread_end(seat: &'static Seat) -> bool {
    let key = KEY.load(Ordering::Acquire);
    // SAFETY: the key is one that was created; the value is the address of a static.
    key != u32::MAX && unsafe { libc::pthread_setspecific(key, (&raw const *seat).cast()) == 0 }
}

unsafe extern "C" fn leave(seat: *mut libc::c_void) {
    seats::leave(seat);
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;
