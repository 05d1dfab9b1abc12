//! The functions behind the interposed ones.
//!
//! Mappings are changed by system calls, everything else is passed to the next library that has the function: the
//! work of `read` and `write` around the system call is the C library's business.

use std::ffi::CStr;
use std::sync::atomic::{AtomicPtr, Ordering};

use libc::{c_int, c_void, off_t, size_t};

/// A function of the next library, looked up at the first call.
pub struct Next {
    name: &'static CStr,
    /// Null until it was looked up; any thread may do that, all find the same. Relaxed.
    found: AtomicPtr<c_void>,
}

impl Next {
    /// Nothing is looked up yet.
    pub const fn new(name: &'static CStr) -> Next {
        Next { name, found: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Its address. Ends the process if no library has it: then the program could not have called it.
    pub fn address(&self) -> *const c_void {
        let found = self.found.load(Ordering::Relaxed);
        if !found.is_null() {
            return found;
        }
        // SAFETY: the name is a C string.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        if found.is_null() {
            base::die(format_args!("the C library has no function {:?}", self.name));
        }
        self.found.store(found, Ordering::Relaxed);
        found
    }
}

/// Calls a function of the next library: `next!(c"read" as fn(c_int, ...) -> ssize_t)(fd, ...)`.
macro_rules! next {
    ($name:literal as fn($($argument:ty),*) -> $result:ty) => {{
        static NEXT: $crate::real::Next = $crate::real::Next::new($name);
        let address = NEXT.address();
        std::mem::transmute::<*const libc::c_void, unsafe extern "C" fn($($argument),*) -> $result>(
            address,
        )
    }};
}
pub(crate) use next;

/// The system call. Sets errno.
///
/// # Safety
/// As `mmap`.
pub unsafe fn mmap(
    address: *mut c_void,
    bytes: size_t,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    // SAFETY: promised by the caller.
    let mapped =
        unsafe { libc::syscall(libc::SYS_mmap, address, bytes, protection, flags, fd, offset) };
    std::ptr::with_exposed_provenance_mut(mapped as usize)
}

/// The system call. Sets errno.
///
/// # Safety
/// As `munmap`.
pub unsafe fn munmap(address: *mut c_void, bytes: size_t) -> c_int {
    // SAFETY: promised by the caller.
    unsafe { libc::syscall(libc::SYS_munmap, address, bytes) as c_int }
}

/// The system call. Sets errno.
///
/// # Safety
/// As `mprotect`.
pub unsafe fn mprotect(address: *mut c_void, bytes: size_t, protection: c_int) -> c_int {
    // SAFETY: promised by the caller.
    unsafe { libc::syscall(libc::SYS_mprotect, address, bytes, protection) as c_int }
}

/// The system call. Sets errno.
///
/// # Safety
/// As `madvise`.
pub unsafe fn madvise(address: *mut c_void, bytes: size_t, advice: c_int) -> c_int {
    // SAFETY: promised by the caller.
    unsafe { libc::syscall(libc::SYS_madvise, address, bytes, advice) as c_int }
}

/// The system call. Sets errno.
///
/// # Safety
/// As `mremap`.
pub unsafe fn mremap(
    address: *mut c_void,
    old_bytes: size_t,
    new_bytes: size_t,
    flags: c_int,
    new_address: *mut c_void,
) -> *mut c_void {
    // SAFETY: promised by the caller.
    let mapped = unsafe {
        libc::syscall(libc::SYS_mremap, address, old_bytes, new_bytes, flags, new_address)
    };
    std::ptr::with_exposed_provenance_mut(mapped as usize)
}

/// Sets errno.
pub fn set_errno(errno: c_int) {
    // SAFETY: the calling thread's own errno.
    unsafe { *libc::__errno_location() = errno };
}

/// errno.
pub fn errno() -> c_int {
    // SAFETY: the calling thread's own errno.
    unsafe { *libc::__errno_location() }
}
