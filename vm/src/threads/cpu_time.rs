//! The time for which a thread has used a CPU.

use crate::machine::JavaThread;
use std::sync::atomic::Ordering;

/// User and system time of a thread in nanoseconds, or user time alone; -1 when its OS thread does not run. Any thread.
pub fn cpu_time_ns(thread: &JavaThread, with_system: bool) -> i64 {
    let id = thread.os_thread.load(Ordering::Relaxed);
    if id == 0 {
        return -1;
    }
    if !with_system {
        return user_time_ns(id);
    }
    // The clock of a thread, by its number (see `clock_getcpuclockid` in the kernel's headers).
    let clock = (!id << 3) | 6;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` can be written.
    match unsafe { libc::clock_gettime(clock, &mut time) } {
        0 => time.tv_sec * 1_000_000_000 + time.tv_nsec,
        _ => -1,
    }
}

/// From `/proc`, in clock ticks.
fn user_time_ns(id: i32) -> i64 {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{id}/stat")).unwrap_or_default();
    // The name may hold anything; fields are counted behind its parenthesis.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks: Option<i64> = fields.split_whitespace().nth(11).and_then(|f| f.parse().ok());
    // SAFETY: plain query.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1);
    ticks.map_or(-1, |ticks| ticks * (1_000_000_000 / per_second))
}
