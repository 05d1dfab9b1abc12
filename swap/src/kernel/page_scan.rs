//! `PAGEMAP_SCAN` (Linux 6.7): which pages of this process have certain properties, without a look at the holes between
//! them. Async-signal-safe.

use std::io;
use std::os::fd::AsRawFd;

use crate::kernel::uffd::iowr;

/// The pages that are looked for, and the action on them; the constants below.
#[derive(Clone, Copy, Default)]
pub struct Wanted {
    /// Properties that a page must have, all of them.
    pub all: u64,
    /// Of these it must have one at least; 0: none.
    pub any: u64,
    /// `PM_SCAN_*`.
    pub flags: u64,
}

/// `struct page_region` of the kernel's `fs.h`: the addresses of a run of pages.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct PageRun {
    pub start: u64,
    pub end: u64,
    categories: u64,
}

/// One call for the pages from `start` to `end`: how many of `runs` were filled, and the address up to which the kernel
/// came, which is less than `end` when there was no room for more. `pagemap` is `/proc/self/pagemap`.
pub fn scan(
    pagemap: &impl AsRawFd,
    start: u64,
    end: u64,
    wanted: Wanted,
    runs: &mut [PageRun],
) -> io::Result<(usize, u64)> {
    let mut scan = PageScan {
        size: size_of::<PageScan>() as u64,
        flags: wanted.flags,
        start,
        end,
        walk_end: 0,
        vec: runs.as_mut_ptr().expose_provenance() as u64,
        vec_len: runs.len() as u64,
        max_pages: 0,
        category_inverted: 0,
        category_mask: wanted.all,
        category_anyof_mask: wanted.any,
        return_mask: wanted.all,
    };
    // SAFETY: the kernel reads and writes the structure and the runs, which live across the call.
    let count = unsafe { libc::ioctl(pagemap.as_raw_fd(), PAGEMAP_SCAN as _, &mut scan) };
    match usize::try_from(count) {
        Ok(count) => Ok((count, scan.walk_end)),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

pub const PM_SCAN_WP_MATCHING: u64 = 1 << 0;
pub const PM_SCAN_CHECK_WPASYNC: u64 = 1 << 1;
pub const PAGE_IS_WRITTEN: u64 = 1 << 1;
pub const PAGE_IS_PRESENT: u64 = 1 << 3;
pub const PAGE_IS_SWAPPED: u64 = 1 << 4;

/// `struct pm_scan_arg`, likewise.
#[repr(C)]
struct PageScan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

const PAGEMAP_SCAN: u64 = iowr::<PageScan>(b'f', 16);

const _: () = assert!(PAGEMAP_SCAN == 0xc060_6610);
