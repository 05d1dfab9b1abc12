//! Memory that processes share: an unnamed file, and its mapping.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use crate::RdmaError;

/// A memfd mapped into this process, readable and writable. Without a name, so it vanishes with the
/// last process that has it. Its size is sealed: no peer can make an access fault by cutting it
/// short.
pub struct SharedMapping {
    fd: OwnedFd,
    base: *mut u8,
    bytes: usize,
}

// SAFETY: the mapping is plain memory that lives as long as the value; all access goes through
// atomics.
unsafe impl Send for SharedMapping {}
// SAFETY: as above.
unsafe impl Sync for SharedMapping {}

impl SharedMapping {
    /// Makes new zeroed memory. Only pages that are touched cost anything.
    pub fn create(name: &CStr, bytes: usize) -> Result<SharedMapping, RdmaError> {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // SAFETY: the name is a C string; the call has no other memory effects.
        let fd = unsafe { libc::memfd_create(name.as_ptr(), flags) };
        if fd < 0 {
            return Err(RdmaError::last_os("memfd_create"));
        }
        // SAFETY: the kernel just gave us this descriptor, it has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: no memory is involved.
        if unsafe { libc::ftruncate(fd.as_raw_fd(), bytes as libc::off_t) } != 0 {
            return Err(RdmaError::last_os("ftruncate of shared memory"));
        }
        // SAFETY: no memory is involved.
        if unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, SIZE_SEALS) } != 0 {
            return Err(RdmaError::last_os("sealing of shared memory"));
        }
        SharedMapping::map(fd, bytes)
    }

    /// Maps memory that another process made. Fails unless it is `bytes` long and sealed.
    pub fn open(fd: OwnedFd, bytes: usize) -> Result<SharedMapping, RdmaError> {
        // SAFETY: no memory is involved.
        let seals = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) };
        // SAFETY: all-zero is a valid stat.
        let mut stat = unsafe { std::mem::zeroed::<libc::stat>() };
        // SAFETY: the kernel writes one stat to the place given.
        let rc = unsafe { libc::fstat(fd.as_raw_fd(), &mut stat) };
        if rc != 0 || seals < 0 {
            return Err(RdmaError::last_os("looking at shared memory"));
        }
        let sized = u64::try_from(stat.st_size) == Ok(bytes as u64);
        if !sized || seals & SIZE_SEALS != SIZE_SEALS {
            let source = std::io::Error::from(std::io::ErrorKind::InvalidData);
            return Err(RdmaError::Os { what: "shared memory of a peer: wrong size", source });
        }
        SharedMapping::map(fd, bytes)
    }

    fn map(fd: OwnedFd, bytes: usize) -> Result<SharedMapping, RdmaError> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
        let base =
            unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, fd.as_raw_fd(), 0) };
        if base == libc::MAP_FAILED {
            return Err(RdmaError::last_os("mmap of shared memory"));
        }
        // A forked child must not access this memory.
        // SAFETY: changes the inheritance of our own mapping, not its contents.
        unsafe { libc::madvise(base, bytes, libc::MADV_DONTFORK) };
        Ok(SharedMapping { fd, base: base.cast(), bytes })
    }

    /// Address of the first byte; aligned to a page.
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// Length in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Touches a range of whole pages, so that they count as this process's. Fails where the system has no memory.
    pub fn populate(&self, offset: usize, bytes: usize) -> io::Result<()> {
        assert!(offset + bytes <= self.bytes, "{bytes} bytes at {offset}");
        let start = self.base.wrapping_add(offset).cast();
        // SAFETY: our own mapping; the contents stay.
        if unsafe { libc::madvise(start, bytes, libc::MADV_POPULATE_WRITE) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINVAL) {
            return Err(error);
        }
        // A kernel before 5.14.
        let (offset, bytes) = (offset as libc::off_t, bytes as libc::off_t);
        // SAFETY: no memory is involved.
        match unsafe { libc::fallocate(self.fd.as_raw_fd(), 0, offset, bytes) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Bytes of memory that the whole file takes.
    pub fn held_bytes(&self) -> u64 {
        // SAFETY: all-zero is a valid stat.
        let mut stat = unsafe { std::mem::zeroed::<libc::stat>() };
        // SAFETY: the kernel writes one stat to the place given.
        match unsafe { libc::fstat(self.fd.as_raw_fd(), &mut stat) } {
            0 => stat.st_blocks as u64 * 512,
            _ => 0,
        }
    }

    /// Bytes of a range of whole pages that the system has given memory for: pages that any process has touched since
    /// they were last given back, swapped out or not. Two system calls for each run of such pages, so for figures.
    pub fn allocated_bytes(&self, offset: usize, bytes: usize) -> usize {
        let (mut at, end) = (offset, offset + bytes);
        let mut allocated = 0;
        while at < end {
            let Some(data) = self.seek(at, libc::SEEK_DATA).filter(|data| *data < end) else {
                break;
            };
            let hole = self.seek(data, libc::SEEK_HOLE).map_or(end, |hole| hole.min(end));
            allocated += hole - data;
            at = hole;
        }
        allocated
    }

    /// The first place of data, or of a hole, from `at` on. Nothing reads or writes at the position of the file.
    fn seek(&self, at: usize, whence: i32) -> Option<usize> {
        // SAFETY: no memory is involved.
        let place = unsafe { libc::lseek(self.fd.as_raw_fd(), at as libc::off_t, whence) };
        usize::try_from(place).ok()
    }

    /// Gives a range of whole pages back; it reads as zero afterwards.
    pub fn punch(&self, offset: usize, bytes: usize) -> Result<(), RdmaError> {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let (offset, bytes) = (offset as libc::off_t, bytes as libc::off_t);
        // SAFETY: no memory is involved; sharers see zeros instead of the old contents.
        if unsafe { libc::fallocate(self.fd.as_raw_fd(), mode, offset, bytes) } != 0 {
            return Err(RdmaError::last_os("punching a hole into shared memory"));
        }
        Ok(())
    }
}

impl AsFd for SharedMapping {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for SharedMapping {
    fn drop(&mut self) {
        // SAFETY: we mapped exactly this range, and everything that borrows from it has been dropped.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}

const SIZE_SEALS: i32 = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
