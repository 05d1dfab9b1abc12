//! Interposed: the functions that change mappings.
//!
//! Inside of far ranges they do the same by other means: the range stays mapped as it is, the pager
//! zeros pages, the kernel changes protections.

use std::ptr;

use libc::{c_int, c_void, off_t, size_t};
use swap::PAGE_BYTES;

use crate::bounce;
use crate::far_range::FarRange;
use crate::ranges::{Piece, RANGES, Span};
use crate::real;
use crate::recognise::Request;

/// Interposed.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap(
    address: *mut c_void,
    bytes: size_t,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    let request = Request { address: address.addr(), bytes, protection, flags };
    let kernel = || {
        // SAFETY: promised by the caller.
        unsafe { real::mmap(address, bytes, protection, flags, fd, offset) }
    };
    if !RANGES.is_on() || bytes == 0 {
        return kernel();
    }
    if request.is_fixed() {
        let Some(span) = Span::new(request.address, bytes) else { return kernel() };
        return match map_in_place(&request, span, fd, offset) {
            Some(0) => address,
            Some(_) => libc::MAP_FAILED,
            None => kernel(),
        };
    }
    let mapped = kernel();
    if mapped != libc::MAP_FAILED
        && let Some(span) = Span::new(mapped.addr(), bytes)
    {
        RANGES.consider(&request, span);
    }
    mapped
}

/// Interposed.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap64(
    address: *mut c_void,
    bytes: size_t,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    // SAFETY: promised by the caller.
    unsafe { mmap(address, bytes, protection, flags, fd, offset) }
}

/// A mapping in the place of others. `None`: no range is concerned. Else 0, or -1 with errno.
fn map_in_place(request: &Request, span: Span, fd: c_int, offset: off_t) -> Option<c_int> {
    if !RANGES.may_meet(span) {
        return None;
    }
    if request.is_anonymous() && !request.is_accessible() {
        // Only reserved again: a candidate stays one.
    } else if request.is_anonymous() || request.flags & libc::MAP_TYPE == libc::MAP_PRIVATE {
        RANGES.claim(span);
    } else {
        RANGES.cut(span);
    }
    let mut is_far = false;
    let rc = RANGES.for_pieces(span, |piece| match piece {
        Piece::Far(range, part) if part == span => {
            is_far = true;
            renew(&range, request, part, fd, offset)
        }
        Piece::Other(part) if part == span => 0,
        // No program that reserves memory maps over its edge.
        _ => fail(libc::ENOMEM),
    });
    (is_far || rc != 0).then_some(rc)
}

/// New contents for a part of a far range.
fn renew(range: &FarRange, request: &Request, part: Span, fd: c_int, offset: off_t) -> c_int {
    let protection = request.protection;
    if request.is_anonymous() {
        return range.renew(part.start, part.bytes(), protection);
    }
    if request.flags & libc::MAP_TYPE != libc::MAP_PRIVATE {
        return fail(libc::ENODEV);
    }
    // A private copy of a file's pages.
    let writable = libc::PROT_READ | libc::PROT_WRITE;
    if range.renew(part.start, part.bytes(), writable) != 0 {
        return -1;
    }
    let to = ptr::with_exposed_provenance_mut(part.start);
    // SAFETY: the part is the caller's to replace, and accessible now.
    if unsafe { bounce::load_file(to, request.bytes, fd, offset) } != 0 {
        return -1;
    }
    match protection == writable {
        true => 0,
        false => range.protect(part.start, part.bytes(), protection),
    }
}

/// Interposed.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn munmap(address: *mut c_void, bytes: size_t) -> c_int {
    let span = Span::new(address.addr(), bytes);
    let Some(span) = span.filter(|span| RANGES.is_on() && RANGES.may_meet(*span)) else {
        // SAFETY: promised by the caller.
        return unsafe { real::munmap(address, bytes) };
    };
    RANGES.cut(span);
    RANGES.for_pieces(span, |piece| match piece {
        Piece::Other(part) => {
            let start = ptr::with_exposed_provenance_mut(part.start);
            // SAFETY: promised by the caller.
            unsafe { real::munmap(start, part.bytes()) }
        }
        Piece::Far(range, part) if part.bytes() == range.end() - range.start() => {
            RANGES.remove(&range);
            0
        }
        // The addresses stay the range's: nothing else is mapped at them.
        Piece::Far(range, part) => range.renew(part.start, part.bytes(), libc::PROT_NONE),
    })
}

/// Interposed.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mprotect(address: *mut c_void, bytes: size_t, protection: c_int) -> c_int {
    let span = Span::new(address.addr(), bytes);
    let Some(span) = span.filter(|span| RANGES.is_on() && RANGES.may_meet(*span)) else {
        // SAFETY: promised by the caller.
        return unsafe { real::mprotect(address, bytes, protection) };
    };
    if !span.start.is_multiple_of(PAGE_BYTES) {
        return fail(libc::EINVAL);
    }
    if protection & (libc::PROT_READ | libc::PROT_WRITE) != 0 {
        RANGES.claim(span);
    }
    RANGES.for_pieces(span, |piece| match piece {
        Piece::Other(part) => {
            let start = ptr::with_exposed_provenance_mut(part.start);
            // SAFETY: promised by the caller.
            unsafe { real::mprotect(start, part.bytes(), protection) }
        }
        Piece::Far(range, part) => range.protect(part.start, part.bytes(), protection),
    })
}

/// Interposed.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn madvise(address: *mut c_void, bytes: size_t, advice: c_int) -> c_int {
    let span = Span::new(address.addr(), bytes);
    let Some(span) = span.filter(|span| RANGES.is_on() && RANGES.may_meet(*span)) else {
        // SAFETY: promised by the caller.
        return unsafe { real::madvise(address, bytes, advice) };
    };
    if !span.start.is_multiple_of(PAGE_BYTES) {
        return fail(libc::EINVAL);
    }
    RANGES.for_pieces(span, |piece| match piece {
        Piece::Other(part) => {
            let start = ptr::with_exposed_provenance_mut(part.start);
            // SAFETY: promised by the caller.
            unsafe { real::madvise(start, part.bytes(), advice) }
        }
        Piece::Far(range, part) => advise(&range, part, advice),
    })
}

fn advise(range: &FarRange, part: Span, advice: c_int) -> c_int {
    match advice {
        libc::MADV_DONTNEED | libc::MADV_FREE | MADV_DONTNEED_LOCKED => {
            range.discard(part.start, part.bytes())
        }
        libc::MADV_WILLNEED => range.fetch(part.start, part.bytes()),
        // The kernel would move or fill pages under the pager's hands.
        libc::MADV_REMOVE
        | libc::MADV_POPULATE_READ
        | libc::MADV_POPULATE_WRITE
        | libc::MADV_WIPEONFORK
        | libc::MADV_HWPOISON
        | MADV_GUARD_INSTALL
        | MADV_GUARD_REMOVE => return fail(libc::EINVAL),
        // Huge pages, readahead and so on mean nothing in a far range.
        _ => {}
    }
    0
}

/// Interposed.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mremap(
    address: *mut c_void,
    old_bytes: size_t,
    new_bytes: size_t,
    flags: c_int,
    new_address: *mut c_void,
) -> *mut c_void {
    let kernel = || {
        // SAFETY: promised by the caller.
        unsafe { real::mremap(address, old_bytes, new_bytes, flags, new_address) }
    };
    let fixed = flags & libc::MREMAP_FIXED != 0;
    let concerned =
        |start: usize, bytes: usize| Span::new(start, bytes).is_some_and(|span| RANGES.meets(span));
    // A mapping that only lies between ranges is the kernel's.
    let meets = concerned(address.addr(), old_bytes.max(1))
        || fixed && concerned(new_address.addr(), new_bytes);
    if !RANGES.is_on() || !meets {
        return kernel();
    }
    let failed = |errno| {
        fail(errno);
        libc::MAP_FAILED
    };
    if fixed || new_bytes == 0 {
        return failed(libc::EINVAL);
    }
    if new_bytes <= old_bytes {
        let kept = new_bytes.next_multiple_of(PAGE_BYTES);
        let rest = old_bytes.next_multiple_of(PAGE_BYTES) - kept;
        // SAFETY: promised by the caller.
        return match rest == 0 || unsafe { munmap(address.byte_add(kept), rest) } == 0 {
            true => address,
            false => libc::MAP_FAILED,
        };
    }
    if flags & libc::MREMAP_MAYMOVE == 0 {
        return failed(libc::ENOMEM);
    }
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping, which becomes a copy of one that the caller gives up.
    unsafe {
        let moved = mmap(ptr::null_mut(), new_bytes, protection, kind, -1, 0);
        if moved != libc::MAP_FAILED {
            ptr::copy_nonoverlapping(address.cast::<u8>(), moved.cast(), old_bytes);
            munmap(address, old_bytes);
        }
        moved
    }
}

// Newer than the C library's header.
const MADV_DONTNEED_LOCKED: c_int = 24;
const MADV_GUARD_INSTALL: c_int = 102;
const MADV_GUARD_REMOVE: c_int = 103;

fn fail(errno: c_int) -> c_int {
    real::set_errno(errno);
    -1
}
