//! A file system that is full under an agent.
//!
//! An agent has memory reserved before it writes what is new ([`ShmSegment::reserve`](crate::ShmSegment::reserve)), and
//! then it can say what is wrong. But a file system in memory also needs a page for a hole that is only read, and a
//! file can be cut. The system says that by a signal, for which there is a line here.

use crate::RdmaError;
use base::die;

/// From now on, an access to mapped memory that the system cannot give ends the process with one line. For processes
/// that need no such signal for anything else.
pub fn end_with_a_line() -> Result<(), RdmaError> {
    // SAFETY: zeros are a value of this structure: no flags, and no signal is blocked.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as usize;
    // SAFETY: the handler only calls what is async-signal-safe, and does not return.
    match unsafe { libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(RdmaError::last_os("sigaction")),
    }
}

extern "C" fn on_signal(_: libc::c_int) {
    die(format_args!(
        "memory of the pool cannot be had: its file system is full, or its file was cut"
    ))
}
