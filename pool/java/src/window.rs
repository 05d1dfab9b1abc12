//! Second mappings of a pool's memory, for buffers of Java.
//!
//! Java cannot take a buffer away from a program. So a buffer must not reach what its program may not change, also when
//! it is used after its release:
//!
//! * What is received is seen through a mapping that cannot be written ([`Window`]). A stale buffer reads what is there
//!   then.
//! * What is to be sent is written through a mapping of its own ([`Pages`]), of pages that no other object has any part
//!   of. Before it is sent or released, memory of the process alone takes the place of the pool's at these addresses.
//!   A stale buffer reads and writes that.
//!
//! The addresses are given back when no buffer is left that has them.

use crate::failure::{Failure, Reason};
use crate::jni::reserve;
use pool::{Pool, PoolError};
use std::io::Error;
use std::os::fd::AsRawFd;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::AtomicU64;

/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// All of a pool, for reading.
pub struct Window {
    base: NonNull<u8>,
    bytes: usize,
}

/// Some pages of a pool, for writing.
pub struct Pages {
    base: NonNull<u8>,
    bytes: usize,
    /// Whether they are the process's own now.
    is_cut: bool,
}

// SAFETY: it is memory, which is reached by buffers of Java only.
unsafe impl Send for Window {}
// SAFETY: the same.
unsafe impl Sync for Window {}
// SAFETY: the same.
unsafe impl Send for Pages {}

impl Window {
    pub fn readable(pool: &Pool) -> Result<Window, PoolError> {
        let bytes = pool.segment().bytes() as usize;
        let base = map(pool, 0, bytes, libc::PROT_READ, 0)?;
        Ok(Window { base, bytes })
    }

    /// Where a range of the pool is.
    pub fn at(&self, offset: u64, bytes: u64) -> Result<*mut u8, PoolError> {
        let end = offset.checked_add(bytes).filter(|end| *end <= self.bytes as u64);
        if end.is_none() {
            return Err(PoolError::Range { offset, bytes });
        }
        // SAFETY: the range is in the mapping.
        Ok(unsafe { self.base.as_ptr().add(offset as usize) })
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no buffer is left: each keeps the core.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

impl Pages {
    /// Whole pages, which belong to one object of the caller's.
    pub fn map(pool: &Pool, offset: u64, bytes: u64) -> Result<Pages, PoolError> {
        assert!(offset.is_multiple_of(PAGE) && bytes.is_multiple_of(PAGE) && bytes > 0);
        if offset.checked_add(bytes).is_none_or(|end| end > pool.segment().bytes()) {
            return Err(PoolError::Range { offset, bytes });
        }
        // So that a full file system is an error here, and not a signal later.
        pool.segment().reserve(offset, bytes)?;
        let bytes = bytes as usize;
        // All of it will be written: one call for all pages takes less than a fault for each.
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let base = map(pool, offset, bytes, access, libc::MAP_POPULATE)?;
        Ok(Pages { base, bytes, is_cut: false })
    }

    pub fn address(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Takes the pool's memory away from these addresses. When it returns, no thread reaches it by them any more.
    pub fn cut(&mut self) -> Result<(), Failure> {
        if self.is_cut {
            return Ok(());
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
        // SAFETY: the range is ours, and stays mapped for those that still have a buffer over it.
        let found =
            unsafe { libc::mmap(self.base.as_ptr().cast(), self.bytes, access, flags, -1, 0) };
        if found == libc::MAP_FAILED {
            let error = Error::last_os_error();
            return Err(Failure::Pool(Reason::System, format!("mmap: {error}")));
        }
        self.is_cut = true;
        Ok(())
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no buffer over it is left.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

fn map(
    pool: &Pool,
    offset: u64,
    bytes: usize,
    access: i32,
    more: i32,
) -> Result<NonNull<u8>, PoolError> {
    let flags = libc::MAP_SHARED | libc::MAP_NORESERVE | more;
    let fd = pool.segment().fd().as_raw_fd();
    // SAFETY: the kernel chooses where, so no mapping is replaced.
    let base = unsafe { libc::mmap(null_mut(), bytes, access, flags, fd, offset as i64) };
    if base == libc::MAP_FAILED {
        return Err(PoolError::Kernel { call: "mmap", source: Error::last_os_error() });
    }
    let base = NonNull::new(base.cast::<u8>()).expect("the kernel maps nothing at address 0");
    // SAFETY: the range is the mapping just made. A child must not have it: it is no client.
    unsafe { libc::madvise(base.as_ptr().cast(), bytes, libc::MADV_DONTFORK) };
    Ok(base)
}

/// Writes bytes into words of an object that no other process knows yet, from a byte on. Panics if they do not fit.
pub fn write(words: &[AtomicU64], at: usize, bytes: &[u8]) {
    let end = at.checked_add(bytes.len());
    assert!(end.is_some_and(|end| end <= words.len() * 8), "{} bytes at {at}", bytes.len());
    // SAFETY: the range is in the words, which are memory of a mapping that nobody else writes now.
    unsafe {
        let to = words.as_ptr().cast::<u8>().add(at).cast_mut();
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
    }
}

/// Copies bytes of an object, from a byte on, behind those that `into` has. Panics if they are not there.
pub fn read(
    words: &[AtomicU64],
    at: usize,
    length: usize,
    into: &mut Vec<u8>,
) -> Result<(), Failure> {
    let end = at.checked_add(length);
    assert!(end.is_some_and(|end| end <= words.len() * 8), "{length} bytes at {at}");
    reserve(into, length)?;
    // SAFETY: the range is in the words, and there is room for it behind what the vector has. A sender that keeps to
    // the rules does not write any more; one that does not makes the bytes wrong, which a copy by the C library
    // survives.
    unsafe {
        let from = words.as_ptr().cast::<u8>().add(at);
        let to = into.as_mut_ptr().add(into.len());
        libc::memcpy(to.cast(), from.cast(), length);
        into.set_len(into.len() + length);
    }
    Ok(())
}
