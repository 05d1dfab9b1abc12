//! The monotonic clock, for code that may run in a signal handler, and the time of day.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Nanoseconds since some moment in the past. Unlike `Instant` documented to be async-signal-safe.
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Time since 1970; zero where the system's clock is set to an earlier time. Any thread.
pub fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
