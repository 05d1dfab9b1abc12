//! The functions of the header.
//!
//! What they have in common, for the sake of `SAFETY`: a handle is NULL, or one that a function of this file has
//! written and that was not closed and has not left; other pointers are NULL, or to memory that may be read or written
//! as their types say. That is the contract of the header, and every caller's business.

use std::ffi::{CStr, OsStr, c_char, c_int, c_uint, c_void};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use pool::{Backing, Pool};

use crate::failure::{self, Failure, guarded};
use crate::handle::{Member, Opened};

/// `struct farheap_recovered`.
#[repr(C)]
pub struct Recovery {
    clients: u64,
    changes: u64,
}

/// `struct farheap_statistics`.
#[repr(C)]
pub struct Statistics {
    bytes: u64,
    resident_bytes: u64,
    free_bytes: u64,
    clients_max: u64,
    clients: u64,
    huge_bytes: u64,
    huge_used_bytes: u64,
    given_back_bytes: u64,
}

const NULL: Failure = Failure::Code(libc::EINVAL, "a pointer is NULL");

/// # Safety
/// See above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farheap_pool_create(
    path: *const c_char,
    bytes: u64,
    clients: c_uint,
    pool: *mut *mut Opened,
) -> c_int {
    guarded(|| {
        // SAFETY: promised by the caller.
        let path = unsafe { path_of(path) };
        let backing = match path {
            Some(path) => Backing::File { path, bytes },
            None => Backing::Memory { bytes },
        };
        // SAFETY: promised by the caller.
        unsafe { put(pool, || Ok(Opened::new(Pool::create(&backing, clients as usize)?))) }
    })
}

/// # Safety
/// See above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farheap_pool_open(path: *const c_char, pool: *mut *mut Opened) -> c_int {
    guarded(|| {
        // SAFETY: promised by the caller.
        let path = unsafe { path_of(path) }.ok_or(NULL)?;
        // SAFETY: promised by the caller.
        unsafe { put(pool, || Ok(Opened::new(Pool::open(path)?))) }
    })
}

/// # Safety
/// See above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farheap_pool_of(fd: c_int, pool: *mut *mut Opened) -> c_int {
    guarded(|| {
        let none = Failure::Code(libc::EBADF, "not an open descriptor");
        // SAFETY: no memory is involved.
        if fd < 0 || unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
            return Err(none);
        }
        // SAFETY: it is open, as was just seen, and the caller keeps it so during the call.
        let copy = unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned().map_err(|_| none)?;
        // SAFETY: promised by the caller.
        unsafe { put(pool, || Ok(Opened::new(Pool::of(copy)?))) }
    })
}

/// # Safety
/// See above. Nobody uses the pool any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farheap_pool_close(pool: *mut Opened) -> c_int {
    guarded(|| {
        // SAFETY: promised by the caller.
        let opened = unsafe { pool.as_ref() }.ok_or(NULL)?;
        if !opened.is_unused() {
            return Err(Failure::Code(libc::EBUSY, "clients of the pool have not left"));
        }
        // SAFETY: it came from a box, and no client borrows from it.
        drop(unsafe { Box::from_raw(pool) });
        Ok(())
    })
}

/// # Safety
/// See above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farheap_pool_fd(pool: *const Opened) -> c_int {
    let mut fd = 0;
    let failed = guarded(|| {
        // SAFETY: promised by the caller.
        fd = unsafe { pool.as_ref() }.ok_or(NULL)?.pool().segment().fd().as_raw_fd();
        Ok(())
    });
    if failed < 0 { failed } else { fd }
}

/// # Safety
/// See above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farheap_heap_make(pool: *mut Opened, reserved: u64) -> c_int {
    // SAFETY: promised by the caller.
    guarded(|| unsafe { pool.as_ref() }.ok_or(NULL)?.make_heap(reserved))
}

/// # Safety
/// See above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farheap_heap_find(pool: *mut Opened) -> c_int {
    // SAFETY: promised by the caller.
    guarded(|| unsafe { pool.as_ref() }.ok_or(NULL)?.find_heap())
}

/// # Safety
/// See above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farheap_data(pool: *const Opened) -> u64 {
    // SAFETY: promised by the caller.
    unsafe { pool.as_ref() }.map_or(0, |opened| opened.pool().data())
}

/// # Safety
/// See above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farheap_pointer(pool: *const Opened, offset: u64) -> *mut c_void {
    // SAFETY: promised by the caller.
    let Some(opened) = (unsafe { pool.as_ref() }) else { return ptr::null_mut() };
    let pool = opened.pool();
    if offset < pool.data() || offset >= pool.segment().bytes() {
        return ptr::null_mut();
    }
    // SAFETY: the offset is inside of the mapping, as was just seen.
    unsafe { pool.segment().base().as_ptr().add(offset as usize).cast() }
}

/// # Safety
/// See above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farheap_offset(pool: *const Opened, pointer: *const c_void) -> u64 {
    // SAFETY: promised by the caller.
    let Some(opened) = (unsafe { pool.as_ref() }) else { return 0 };
    let pool = opened.pool();
    let base = pool.segment().base().as_ptr().addr();
    let offset = pointer.addr().wrapping_sub(base) as u64;
    if offset >= pool.data() && offset < pool.segment().bytes() { offset } else { 0 }
}

/// # Safety
/// See above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farheap_join(pool: *mut Opened, client: *mut *mut Member) -> c_int {
    guarded(|| {
        // SAFETY: promised by the caller.
        let opened = unsafe { pool.as_ref() }.ok_or(NULL)?;
        // SAFETY: promised by the caller.
        unsafe { put(client, || Member::join(opened)) }
    })
}

/// # Safety
/// See above. No other thread uses the client.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farheap_leave(client: *mut Member) -> c_int {
    guarded(|| {
        if client.is_null() {
            return Err(NULL);
        }
        // SAFETY: promised by the caller; it came from a box.
        unsafe { Member::leave(client) }
    })
}

/// # Safety
/// See above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farheap_alloc(client: *mut Member, bytes: u64, offset: *mut u64) -> c_int {
    guarded(|| {
        if client.is_null() || offset.is_null() {
            return Err(NULL);
        }
        // SAFETY: promised by the caller.
        let block = unsafe {
            Member::with(client, |client| {
                let fresh = client.alloc(bytes)?;
                // The block is its own cell: from then on it is used.
                let block = fresh.offset();
                fresh.store(block)
            })
        }?;
        // SAFETY: promised by the caller.
        unsafe { *offset = block };
        Ok(())
    })
}

/// # Safety
/// See above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farheap_alloc_into(
    client: *mut Member,
    cell: u64,
    bytes: u64,
    offset: *mut u64,
) -> c_int {
    guarded(|| {
        if client.is_null() || offset.is_null() {
            return Err(NULL);
        }
        // SAFETY: promised by the caller.
        let block = unsafe { Member::with(client, |client| client.alloc_into(cell, bytes)) }?;
        // SAFETY: promised by the caller.
        unsafe { *offset = block };
        Ok(())
    })
}

/// # Safety
/// See above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farheap_free(client: *mut Member, offset: u64) -> c_int {
    guarded(|| {
        if client.is_null() {
            return Err(NULL);
        }
        // SAFETY: promised by the caller.
        unsafe { Member::with(client, |client| client.free(offset)) }
    })
}

/// # Safety
/// See above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farheap_free_from(client: *mut Member, cell: u64) -> c_int {
    guarded(|| {
        if client.is_null() {
            return Err(NULL);
        }
        // SAFETY: promised by the caller.
        unsafe { Member::with(client, |client| client.free_from(cell)) }.map(|_| ())
    })
}

/// # Safety
/// See above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farheap_usable_size(pool: *const Opened, offset: u64) -> u64 {
    // SAFETY: promised by the caller.
    let heap = unsafe { pool.as_ref() }.and_then(|opened| opened.heap().ok());
    heap.and_then(|heap| heap.block_bytes(offset)).unwrap_or(0)
}

/// # Safety
/// See above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farheap_trim(client: *mut Member) -> c_int {
    guarded(|| {
        if client.is_null() {
            return Err(NULL);
        }
        // SAFETY: promised by the caller.
        unsafe { Member::with(client, |client| client.trim()) }
    })
}

/// # Safety
/// See above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farheap_recover(pool: *mut Opened, recovered: *mut Recovery) -> c_int {
    guarded(|| {
        // SAFETY: promised by the caller.
        let opened = unsafe { pool.as_ref() }.ok_or(NULL)?;
        if recovered.is_null() {
            return Err(NULL);
        }
        let done = opened.recover()?;
        let done = Recovery { clients: done.clients as u64, changes: done.changes as u64 };
        // SAFETY: promised by the caller.
        unsafe { *recovered = done };
        Ok(())
    })
}

/// # Safety
/// See above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farheap_statistics(
    pool: *const Opened,
    statistics: *mut Statistics,
) -> c_int {
    guarded(|| {
        // SAFETY: promised by the caller.
        let opened = unsafe { pool.as_ref() }.ok_or(NULL)?;
        if statistics.is_null() {
            return Err(NULL);
        }
        let (pool, segment) = (opened.pool(), opened.pool().segment());
        let huge = opened.heap().ok().map(|heap| heap.huge_use());
        let found = Statistics {
            bytes: segment.bytes(),
            resident_bytes: resident(segment.fd())?,
            free_bytes: segment.free_bytes()?,
            clients_max: pool.clients() as u64,
            clients: pool.leased() as u64,
            huge_bytes: huge.map_or(0, |huge| huge.bytes),
            huge_used_bytes: huge.map_or(0, |huge| huge.used),
            given_back_bytes: segment.given_back(),
        };
        // SAFETY: promised by the caller.
        unsafe { *statistics = found };
        Ok(())
    })
}

/// The message of this thread's last failure.
#[unsafe(no_mangle)]
pub extern "C" fn farheap_message() -> *const c_char {
    failure::message()
}

/// A path of the caller's. `None`: NULL.
///
/// # Safety
/// NULL or a C string, which lives as long as the result.
unsafe fn path_of<'a>(path: *const c_char) -> Option<&'a Path> {
    if path.is_null() {
        return None;
    }
    // SAFETY: promised by the caller.
    let path = unsafe { CStr::from_ptr(path) };
    Some(Path::new(OsStr::from_bytes(path.to_bytes())))
}

/// Makes a handle, unless there is no place for it.
///
/// # Safety
/// `place` is NULL or may be written.
unsafe fn put<T>(
    place: *mut *mut T,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<(), Failure> {
    if place.is_null() {
        return Err(NULL);
    }
    let made = Box::into_raw(Box::new(make()?));
    // SAFETY: promised by the caller.
    unsafe { *place = made };
    Ok(())
}

/// Bytes of memory that a file has.
fn resident(fd: BorrowedFd) -> Result<u64, Failure> {
    // SAFETY: zeros are a value of this structure of numbers.
    let mut about: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one structure to the place given.
    if unsafe { libc::fstat(fd.as_raw_fd(), &mut about) } != 0 {
        return Err(Failure::Code(libc::EIO, "fstat of the pool"));
    }
    Ok(about.st_blocks as u64 * 512)
}
