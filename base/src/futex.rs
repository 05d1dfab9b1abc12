//! Sleeping on a word of memory, also between processes. Async-signal-safe.

use std::ptr;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps until woken, but not if the word no longer is `expected`, and not longer than `timeout`.
/// Wakes up for no reason at times: callers test their condition again.
pub fn wait(word: &AtomicU32, expected: u32, timeout: Duration) {
    let time = libc::timespec {
        tv_sec: timeout.as_secs() as libc::time_t,
        tv_nsec: libc::c_long::from(timeout.subsec_nanos()),
    };
    // SAFETY: the word lives during the call; the kernel only reads it and the timespec.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, expected, &time) };
}

/// Wakes all threads that sleep on the word.
pub fn wake_all(word: &AtomicU32) {
    let none = ptr::null::<libc::timespec>();
    // SAFETY: the address is only used as a name for the queue of sleepers.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX, none) };
}
