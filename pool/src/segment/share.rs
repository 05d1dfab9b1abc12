//! Memory of a client that other processes map: the kernel says when the last of them is gone.
//!
//! A client opens the pool's file once more, and locks the byte of its identity through that open file: *F_OFD* locks
//! belong to open files, not to processes. It hands the descriptor to other processes, which map the client's memory
//! through it. A descriptor is an open file for whoever has it, and so is a mapping. So the lock is there as long as
//! any process has a descriptor or a mapping, however it ends, and the kernel drops it with the last of them: a thread
//! that could still write has the mapping. No other process can get the lock's open file later, as none has it.
//!
//! The bytes lie behind all that a file can have.

use super::Segment;
use super::file::Kind;
use crate::PoolError;
use std::fs::OpenOptions;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// The byte of identity 0.
const FIRST_BYTE: i64 = 1 << 62;

impl Segment {
    /// The pool's file, opened once more and locked for this identity, by its holder.
    pub(crate) fn share(&self, client: u16) -> Result<OwnedFd, PoolError> {
        // The same file, wherever its name leads now.
        let path = format!("/proc/self/fd/{}", self.fd().as_raw_fd());
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let file = file.map_err(|source| PoolError::File { path: path.into(), source })?;
        // Not exclusive: the client may do it more than once.
        lock(file.as_fd(), libc::F_OFD_SETLK, libc::F_RDLCK, client)?;
        Ok(file.into())
    }

    /// Whether any process has a descriptor of [`Segment::share`] for this identity, or a mapping of it.
    pub(crate) fn is_shared(&self, client: u16) -> Result<bool, PoolError> {
        if matches!(self.kind, Kind::Private) {
            return Ok(false);
        }
        // A lock through this open file itself would not be seen; there is none.
        let found = lock(self.fd(), libc::F_OFD_GETLK, libc::F_WRLCK, client)?;
        Ok(i32::from(found) != libc::F_UNLCK)
    }
}

/// Asks for a lock of the byte of an identity, or about it. Returns the kind of lock that the kernel has written.
fn lock(fd: BorrowedFd, call: i32, kind: i32, client: u16) -> Result<i16, PoolError> {
    // SAFETY: zeros are a value of this structure of numbers.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as i16;
    lock.l_whence = libc::SEEK_SET as i16;
    (lock.l_start, lock.l_len) = (FIRST_BYTE + i64::from(client), 1);
    // SAFETY: the kernel reads and writes one structure at the place given.
    match unsafe { libc::fcntl(fd.as_raw_fd(), call, &raw mut lock) } {
        0 => Ok(lock.l_type),
        _ => Err(PoolError::last("fcntl(F_OFD_SETLK)")),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::segment::{Backing, Stamp};
    use crate::test_folder::Folder;

    const BYTES: u64 = 1 << 20;

    #[test]
    fn a_mapping_is_as_good_as_a_descriptor() {
        let folder = Folder::new();
        let (path, stamp) = (folder.path("pool"), Stamp { layout: 7, clients: 3, namespace: 9 });
        let file = Segment::create(&Backing::File { path: &path, bytes: BYTES }, &stamp).unwrap();
        let unnamed = Segment::create(&Backing::Memory { bytes: BYTES }, &stamp).unwrap();
        for segment in [file, unnamed] {
            let is_shared = || [1, 2, 3].map(|client| segment.is_shared(client).unwrap());
            assert_eq!(is_shared(), [false; 3]);
            let fd = segment.share(2).unwrap();
            assert_eq!(is_shared(), [false, true, false]);
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let (length, flags, none) = (BYTES as usize, libc::MAP_SHARED, std::ptr::null_mut());
            // SAFETY: a new mapping, where the kernel likes.
            let at = unsafe { libc::mmap(none, length, access, flags, fd.as_raw_fd(), 0) };
            assert_ne!(at, libc::MAP_FAILED);
            drop(fd);
            // Other open files of the same file have nothing to do with it.
            drop(segment.share(3).unwrap());
            assert_eq!(is_shared(), [false, true, false]);
            // SAFETY: nothing refers to it.
            unsafe { libc::munmap(at, length) };
            assert_eq!(is_shared(), [false; 3]);
        }
    }
}
