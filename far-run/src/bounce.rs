//! System calls on far memory go through local copies: the kernel serves no missing page of a far
//! range, it would say EFAULT.
//!
//! Copies are mappings of their own, of which only used pages cost memory. No allocator is
//! involved, since programs may read and write in signal handlers and between fork and exec.

use std::ptr;

use libc::{c_int, c_void, iovec, off_t, size_t, ssize_t};

use crate::real::{self, next};

/// A local copy of a buffer.
pub struct Bounce {
    start: *mut u8,
    bytes: usize,
}

impl Bounce {
    /// Room for `bytes`. `None` with errno: there is none.
    pub fn new(bytes: usize) -> Option<Bounce> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let bytes = bytes.max(1);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe { real::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
        (start != libc::MAP_FAILED).then_some(Bounce { start: start.cast(), bytes })
    }

    /// Where it begins.
    pub fn start(&self) -> *mut c_void {
        self.start.cast()
    }
}

impl Drop for Bounce {
    fn drop(&mut self) {
        let errno = real::errno();
        // SAFETY: our own mapping.
        unsafe { real::munmap(self.start.cast(), self.bytes) };
        real::set_errno(errno);
    }
}

/// Reads into far memory by `call(buffer, bytes, done)`. One call, unless `whole`: then until all
/// is read, nothing more comes, or a call fails.
///
/// # Safety
/// `to` has room for `bytes`; `call` writes no more than it returns.
pub unsafe fn input(
    to: *mut c_void,
    bytes: size_t,
    whole: bool,
    mut call: impl FnMut(*mut c_void, size_t, size_t) -> ssize_t,
) -> ssize_t {
    let step = if whole { bytes.min(STEP_BYTES) } else { bytes };
    let Some(bounce) = Bounce::new(step) else { return -1 };
    let mut done = 0;
    loop {
        let wanted = step.min(bytes - done);
        let got = call(bounce.start(), wanted, done);
        let Ok(got_bytes) = usize::try_from(got) else {
            return if done > 0 { done as ssize_t } else { got };
        };
        // Datagrams can be longer than the part that was read.
        let copied = got_bytes.min(wanted);
        // SAFETY: room for `wanted` is left at `to`, and the copy is our own.
        unsafe { ptr::copy_nonoverlapping(bounce.start, to.cast::<u8>().add(done), copied) };
        done += got_bytes;
        if !whole || got_bytes < wanted || done >= bytes {
            return done as ssize_t;
        }
    }
}

/// Writes from far memory by `call(buffer, bytes, done)`, in steps if `in_steps`, until all is
/// written or a call writes less or fails.
///
/// # Safety
/// `from` has `bytes`.
pub unsafe fn output(
    from: *const c_void,
    bytes: size_t,
    in_steps: bool,
    mut call: impl FnMut(*const c_void, size_t, size_t) -> ssize_t,
) -> ssize_t {
    let step = if in_steps { bytes.min(STEP_BYTES) } else { bytes };
    let Some(bounce) = Bounce::new(step) else { return -1 };
    let mut done = 0;
    loop {
        let wanted = step.min(bytes - done);
        // SAFETY: this many bytes are left at `from`, and fit into the copy.
        unsafe { ptr::copy_nonoverlapping(from.cast::<u8>().add(done), bounce.start, wanted) };
        let put = call(bounce.start(), wanted, done);
        let Ok(put_bytes) = usize::try_from(put) else {
            return if done > 0 { done as ssize_t } else { put };
        };
        done += put_bytes;
        if put_bytes < wanted || done >= bytes {
            return done as ssize_t;
        }
    }
}

/// A list of buffers, some of them in far memory, as one local buffer.
pub struct Gathered<'a> {
    list: &'a [iovec],
    bounce: Bounce,
    bytes: usize,
}

impl<'a> Gathered<'a> {
    /// Room for all of them. `None` with errno: there is none.
    pub fn new(list: &'a [iovec]) -> Option<Gathered<'a>> {
        let total = list.iter().try_fold(0_usize, |sum, one| sum.checked_add(one.iov_len));
        let Some(bytes) = total.filter(|total| *total <= isize::MAX as usize) else {
            real::set_errno(libc::EINVAL);
            return None;
        };
        Some(Gathered { list, bounce: Bounce::new(bytes)?, bytes })
    }

    /// The local buffer as a list of one.
    pub fn local(&self) -> iovec {
        iovec { iov_base: self.bounce.start(), iov_len: self.bytes }
    }

    /// Copies all buffers into the local one.
    ///
    /// # Safety
    /// The list describes readable memory.
    pub unsafe fn gather(&self) {
        let mut at = self.bounce.start;
        for one in self.list {
            // SAFETY: the local buffer has room for all of them.
            unsafe {
                ptr::copy_nonoverlapping(one.iov_base.cast::<u8>(), at, one.iov_len);
                at = at.add(one.iov_len);
            }
        }
    }

    /// Copies the first `bytes` of the local buffer into the others.
    ///
    /// # Safety
    /// The list describes writable memory.
    pub unsafe fn scatter(&self, bytes: usize) {
        let mut rest = bytes.min(self.bytes);
        let mut at = self.bounce.start;
        for one in self.list {
            let part = one.iov_len.min(rest);
            // SAFETY: the local buffer is as long as all of them.
            unsafe {
                ptr::copy_nonoverlapping(at, one.iov_base.cast::<u8>(), part);
                at = at.add(part);
            }
            rest -= part;
        }
    }
}

/// Copies a file's bytes at `offset` to `to`; the part of `to` behind the file's end is left as it is. 0, or -1 with
/// errno.
///
/// # Safety
/// `to` has room for `bytes`.
pub unsafe fn load_file(to: *mut c_void, bytes: usize, fd: c_int, offset: off_t) -> c_int {
    // SAFETY: promised by the caller.
    let done = unsafe {
        let pread = next!(c"pread64" as fn(c_int, *mut c_void, size_t, off_t) -> ssize_t);
        input(to, bytes, true, |buffer, count, done| {
            pread(fd, buffer, count, offset + done as off_t)
        })
    };
    if done < 0 { -1 } else { 0 }
}

/// Local memory that one long call takes.
const STEP_BYTES: usize = 1 << 20;
