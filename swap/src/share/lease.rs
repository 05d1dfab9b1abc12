//! Liveness of members: a lock on a byte of a file for each member, which the kernel releases when the last
//! descriptor of the open file is closed, however its process ends.
//!
//! These are locks of the *open file*, not of the process: several members in one process are apart, processes of other
//! namespaces are seen, and no number of a process is ever used twice. A child that was forked without
//! starting another program keeps its parent's; that errs on the safe side.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Takes the lock of byte `at`; false if another open file has it. Never waits.
pub fn take(file: &File, at: usize) -> io::Result<bool> {
    match control(file, libc::F_OFD_SETLK, at) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Whether another open file has the lock of byte `at`.
pub fn is_taken(file: &File, at: usize) -> io::Result<bool> {
    let found = control(file, libc::F_OFD_GETLK, at)?;
    Ok(i32::from(found.l_type) != libc::F_UNLCK)
}

fn control(file: &File, command: libc::c_int, at: usize) -> io::Result<libc::flock> {
    let mut lock = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: at as libc::off_t,
        l_len: 1,
        l_pid: 0,
    };
    // SAFETY: the kernel reads and writes the structure, which lives during the call.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, &mut lock) } {
        0 => Ok(lock),
        _ => Err(io::Error::last_os_error()),
    }
}
