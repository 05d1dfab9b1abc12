//! Kernel operations of the pager on the pages of one far space: mapping them, protecting them, moving their frames,
//! dropping them, and asking which were written.

use std::io;
use std::ptr;

use base::die;

use crate::kernel::reservation::Reservation;
use crate::kernel::uffd::Userfaultfd;
use crate::kernel::write_tracker::WriteTracker;
use crate::{PAGE_BYTES, Page, PageRange, SwapError};

/// The addresses of one far space, whose faults the pager serves. Any thread; all but `new` is async-signal-safe.
///
/// The caller holds the locks of the pages that it names. An operation that the kernel refuses ends the process:
/// there is no way to return from a fault without the page.
pub struct KernelInterface {
    range: Reservation,
    /// Pages of zeros, which fresh pages are copies of.
    zeros: Reservation,
    uffd: Userfaultfd,
    /// `None`: writes raise signals.
    tracker: Option<WriteTracker>,
}

impl KernelInterface {
    /// Takes over the faults of a range; the kernel notes writes there if it is to, and can. Up to `zero_pages` fresh
    /// pages are mapped at once.
    pub fn new(
        range: Reservation,
        notes_writes: bool,
        zero_pages: usize,
    ) -> Result<KernelInterface, SwapError> {
        range.advise(libc::MADV_NOHUGEPAGE)?;
        // A forked child would inherit the addresses without their faults.
        range.advise(libc::MADV_DONTFORK)?;
        let zeros = Reservation::new(zero_pages * PAGE_BYTES, PAGE_BYTES)?;
        let (uffd, tracker) = take_over(&range, notes_writes)?;
        Ok(KernelInterface { range, zeros, uffd, tracker })
    }

    /// Commits a part of the range, as [`Reservation::commit`].
    pub fn commit(&self, range: PageRange) -> Result<(), SwapError> {
        self.range.commit(range.start.offset(), range.count * PAGE_BYTES)
    }

    /// Where the far space begins.
    pub fn base(&self) -> usize {
        self.range.base()
    }

    /// Length of the far space.
    pub fn bytes(&self) -> usize {
        self.range.bytes()
    }

    /// Where a page is.
    #[inline]
    pub fn address(&self, page: Page) -> usize {
        self.base() + page.offset()
    }

    /// The userfaultfd that serves the range, for other ranges whose frames are moved to this one.
    pub fn uffd(&self) -> &Userfaultfd {
        &self.uffd
    }

    /// The tracker of writes; `None`: writes raise signals.
    #[inline]
    pub fn tracker(&self) -> Option<&WriteTracker> {
        self.tracker.as_ref()
    }

    /// Does the kernel note writes?
    #[inline]
    pub fn notes_writes(&self) -> bool {
        self.tracker.is_some()
    }

    /// Pages of zeros, `zero_pages` of `new`.
    #[inline]
    pub fn zeros(&self) -> *const u8 {
        ptr::with_exposed_provenance(self.zeros.base())
    }

    /// Maps pages that are missing, as copies of the pages at `from`; with `protect` for reading only.
    #[inline]
    pub fn map(&self, page: Page, from: *const u8, pages: usize, protect: bool) {
        if let Err(error) = self.uffd.copy(self.address(page), from, pages, protect) {
            die(format_args!("page {} cannot be mapped: {error}", page.0));
        }
    }

    /// As [`map`](Self::map), but those after the first `written` pages for reading only.
    #[inline]
    pub fn map_run(&self, page: Page, from: *const u8, pages: usize, written: usize) {
        if written > 0 {
            self.map(page, from, written, false);
        }
        if written < pages {
            let rest = from.wrapping_add(written * PAGE_BYTES);
            self.map(Page(page.0 + written), rest, pages - written, true);
        }
    }

    /// Removes or restores the permission to write pages. When it returns, no CPU still writes with an older
    /// permission.
    #[inline]
    pub fn protect(&self, page: Page, pages: usize, protect: bool) {
        if let Err(error) = self.uffd.protect(self.address(page), pages, protect) {
            die(format_args!("page {} cannot be protected: {error}", page.0));
        }
    }

    /// Moves the frames of mapped pages to an address in a registered range. Returns how many were
    /// moved, as [`Userfaultfd::move_pages`].
    #[inline]
    pub fn move_out(&self, to: usize, page: Page, pages: usize) -> usize {
        self.uffd.move_pages(to, self.address(page), pages)
    }

    /// Moves frames from an address in a registered range to pages that are missing. Returns how many came, as
    /// [`Userfaultfd::move_pages`].
    #[inline]
    pub fn move_in(&self, page: Page, from: usize, pages: usize) -> usize {
        self.uffd.move_pages(self.address(page), from, pages)
    }

    /// Notes where pages are, those that follow one another as one run. Returns how many runs and pages there are.
    pub fn gather_runs(
        &self,
        runs: &mut [libc::iovec],
        pages: impl Iterator<Item = Page>,
    ) -> (usize, usize) {
        let (mut count, mut gathered) = (0, 0);
        for page in pages {
            gathered += 1;
            let start = self.address(page);
            if count > 0 {
                let last = &mut runs[count - 1];
                if last.iov_base.addr() + last.iov_len == start {
                    last.iov_len += PAGE_BYTES;
                    continue;
                }
            }
            let iov_base = ptr::with_exposed_provenance_mut(start);
            runs[count] = libc::iovec { iov_base, iov_len: PAGE_BYTES };
            count += 1;
        }
        (count, gathered)
    }

    /// Drops runs of locked pages, `pages` in all. Their frames still take room.
    pub fn drop_runs(&self, runs: &[libc::iovec], pages: usize) {
        if runs.len() >= 2 && drop_runs_at_once(runs, pages * PAGE_BYTES) {
            return;
        }
        for run in runs {
            // The system call itself: in a process under `far-run`, the C library's function
            // is the program's, for which the pager would discard the pages.
            let (start, bytes) = (run.iov_base, run.iov_len);
            // SAFETY: whole pages of our range, locked, and safe on their server, held or not wanted any more.
            let rc = unsafe { libc::syscall(libc::SYS_madvise, start, bytes, libc::MADV_DONTNEED) };
            if rc != 0 {
                die(format_args!("pages cannot be dropped: {}", io::Error::last_os_error()));
            }
        }
    }
}

/// Takes over the faults of a range; the kernel notes writes there if it is to, and can.
fn take_over(
    range: &Reservation,
    notes_writes: bool,
) -> Result<(Userfaultfd, Option<WriteTracker>), SwapError> {
    if notes_writes
        && let Ok(tracker) = WriteTracker::open()
        && let Ok(uffd) = Userfaultfd::new(range.base(), range.bytes(), true)
        && tracker.try_out(range.base()).is_ok()
    {
        return Ok((uffd, Some(tracker)));
    }
    Ok((Userfaultfd::new(range.base(), range.bytes(), false)?, None))
}

/// Drops many runs with one system call and one flush of the TLBs, where the kernel can (Linux 6.14
/// and newer).
fn drop_runs_at_once(runs: &[libc::iovec], bytes: usize) -> bool {
    // SAFETY: whole pages of our range, locked, and safe on their server or not wanted any more.
    let dropped = unsafe {
        libc::syscall(
            libc::SYS_process_madvise,
            PIDFD_SELF,
            runs.as_ptr(),
            runs.len(),
            libc::MADV_DONTNEED,
            0,
        )
    };
    // After a partial success the caller drops all of them once more, which is harmless: they are
    // locked.
    usize::try_from(dropped) == Ok(bytes)
}

/// A pidfd number that means the calling thread and its address space, since Linux 6.14.
const PIDFD_SELF: i32 = -10000;
