//! The kernel's own notes of which pages are written (Linux 6.7).
//!
//! With `UFFD_FEATURE_WP_ASYNC` a write to a protected page raises no signal: the kernel removes the protection, and
//! the page counts as written. It costs the writer a fault that the kernel handles alone, 1 us; a signal takes 4.5,
//! and 16 where another thread of the process runs on another CPU, which is interrupted then (both measured in a
//! virtual machine). `PAGEMAP_SCAN` says which pages of a range were written since they were protected, and can
//! protect them again in the same step.
//!
//! All operations are async-signal-safe.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use base::die;

use crate::PAGE_BYTES;
use crate::kernel::page_scan::{
    self, PAGE_IS_PRESENT, PAGE_IS_SWAPPED, PAGE_IS_WRITTEN, PM_SCAN_CHECK_WPASYNC,
    PM_SCAN_WP_MATCHING, PageRun, Wanted,
};
use crate::kernel::residence::{entry, is_present};
use crate::kernel::slots::{Claim, Slots};

/// Asks the kernel about this process, and has pipes in which frames wait that have left their place.
pub struct WriteTracker {
    pagemap: OwnedFd,
    pipes: Slots<Pipe>,
}

/// A pipe for frames, empty while no thread has claimed it.
pub struct Pipe {
    from: OwnedFd,
    into: OwnedFd,
}

impl WriteTracker {
    /// Fails where the kernel or the machine's set-up does not allow it.
    pub fn open() -> io::Result<WriteTracker> {
        let pagemap = File::open("/proc/self/pagemap")?.into();
        let pipes = (0..PIPES).map(|_| Pipe::open()).collect::<io::Result<_>>()?;
        Ok(WriteTracker { pagemap, pipes })
    }

    /// A pipe, waiting until one is free. A thread that has one never waits for a page lock.
    pub fn claim_pipe(&self) -> Claim<'_, Pipe> {
        self.pipes.claim()
    }

    /// Passes to `found` which of `pages` pages from `address` on are mapped and were written since they were
    /// protected, or have never been protected, as runs: the number of the first, and how many. With `protect` they
    /// are protected from then on: when this returns, no CPU writes without the kernel knowing.
    pub fn written(
        &self,
        address: usize,
        pages: usize,
        protect: bool,
        mut found: impl FnMut(usize, usize),
    ) {
        let end = (address + pages * PAGE_BYTES) as u64;
        let mut at = address as u64;
        while at < end {
            let mut runs = [PageRun::default(); RUNS];
            match self.scan(at, end, protect, &mut runs) {
                Ok((count, scanned)) => {
                    for run in &runs[..count] {
                        let page = |at: u64| (at as usize - address) / PAGE_BYTES;
                        found(page(run.start), page(run.end) - page(run.start));
                    }
                    assert!(scanned > at, "a scan from {at:#x} to {end:#x} ended at {scanned:#x}");
                    at = scanned;
                }
                Err(error) => die(format_args!(
                    "the kernel does not report the pages written from {at:#x}: {error}"
                )),
            }
        }
    }

    /// One call: how many runs there are, and where it ended.
    fn scan(
        &self,
        start: u64,
        end: u64,
        protect: bool,
        runs: &mut [PageRun; RUNS],
    ) -> io::Result<(usize, u64)> {
        let wanted = Wanted {
            all: PAGE_IS_WRITTEN,
            // An entry without a page would get a mark to which the kernel moves no page. Pages that the kernel is
            // moving, or has swapped out, count as swapped.
            any: PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
            flags: PM_SCAN_CHECK_WPASYNC | if protect { PM_SCAN_WP_MATCHING } else { 0 },
        };
        page_scan::scan(&self.pagemap, start, end, wanted, runs)
    }

    /// Tries everything once on the first page of a range whose faults were taken over: a container may forbid single
    /// system calls.
    pub fn try_out(&self, address: usize) -> io::Result<()> {
        let mut runs = [PageRun::default(); RUNS];
        let end = (address + PAGE_BYTES) as u64;
        self.scan(address as u64, end, false, &mut runs)?;
        let page = vec![7_u64; PAGE_BYTES / size_of::<u64>()];
        let iov_base = page.as_ptr().cast_mut().cast();
        let pipe = self.pipes.claim();
        // SAFETY: it is mapped.
        unsafe { pipe.hold(&[libc::iovec { iov_base, iov_len: PAGE_BYTES }]) }
            .map_err(|(_, error)| error)?;
        let mut copy = vec![0; page.len()];
        pipe.take(&mut copy);
        if copy == page { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
    }
}

impl Pipe {
    fn open() -> io::Result<Pipe> {
        let mut ends = [0; 2];
        // SAFETY: the kernel writes two descriptors, which it makes for us.
        let (from, into) = unsafe {
            if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
                return Err(io::Error::last_os_error());
            }
            (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
        };
        let bytes = HELD_PAGES * PAGE_BYTES;
        // SAFETY: no memory is involved.
        let room =
            unsafe { libc::fcntl(into.as_raw_fd(), libc::F_SETPIPE_SZ, bytes as libc::c_int) };
        match usize::try_from(room) {
            Ok(room) if room >= bytes => Ok(Pipe { from, into }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Puts the frames of mapped pages into the pipe, up to [`HELD_PAGES`] of them: they keep their contents and
    /// their mapping, and outlive it. On failure, which address was refused, and why. A page that is refused although
    /// it is in memory is tried again.
    ///
    /// # Safety
    /// All of `runs` is mapped.
    pub unsafe fn hold(&self, runs: &[libc::iovec]) -> Result<(), (usize, io::Error)> {
        let bytes: usize = runs.iter().map(|run| run.iov_len).sum();
        debug_assert!(bytes <= HELD_PAGES * PAGE_BYTES, "{bytes} bytes");
        // The kernel may stop early, and reports how far it came: `begun` bytes of the first run that is left are in.
        let (mut rest, mut begun, mut tries) = (runs, 0, 0);
        while let Some(run) = rest.first() {
            let iov_base = run.iov_base.wrapping_byte_add(begun);
            let part = [libc::iovec { iov_base, iov_len: run.iov_len - begun }];
            let next = if begun > 0 { &part } else { rest };
            // SAFETY: promised by the caller.
            match unsafe { self.splice(next) } {
                Ok(bytes) => begun += bytes,
                Err(_) if tries < TRIES && is_present(entry(iov_base.addr())) => tries += 1,
                Err(error) => return Err((iov_base.addr(), error)),
            }
            while let Some((run, others)) = rest.split_first()
                && begun >= run.iov_len
            {
                begun -= run.iov_len;
                rest = others;
            }
        }
        Ok(())
    }

    /// One call. Returns how many bytes were put in, at least one.
    unsafe fn splice(&self, runs: &[libc::iovec]) -> io::Result<usize> {
        // The system call itself, as everywhere: the C library's function may be another one under `far-run`.
        // SAFETY: promised by the caller; the pipe has room for all, so this does not wait.
        let held = unsafe {
            libc::syscall(libc::SYS_vmsplice, self.into.as_raw_fd(), runs.as_ptr(), runs.len(), 0)
        };
        match usize::try_from(held) {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            Ok(held) => Ok(held),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }

    /// Takes the contents of the frames that were put in, in their order, and releases the frames. `words` is as
    /// long as all of them.
    pub fn take(&self, words: &mut [u64]) {
        let bytes = size_of_val(words);
        let mut done = 0;
        while done < bytes {
            let to = words.as_mut_ptr().cast::<u8>().wrapping_add(done);
            // SAFETY: the rest of `words`.
            let taken =
                unsafe { libc::syscall(libc::SYS_read, self.from.as_raw_fd(), to, bytes - done) };
            match usize::try_from(taken) {
                Ok(taken) if taken > 0 => done += taken,
                _ => {
                    let error = io::Error::last_os_error();
                    if error.raw_os_error() != Some(libc::EINTR) {
                        die(format_args!("frames in a pipe cannot be read ({taken}): {error}"));
                    }
                }
            }
        }
    }
}

/// Pages whose frames one pipe holds.
pub const HELD_PAGES: usize = 64;
/// The evictor has one, and threads that have to evict themselves share the others.
const PIPES: usize = 4;
/// How often a page is tried again that is in memory, and that the kernel refuses.
const TRIES: usize = 1000;
/// Runs of written pages that the kernel reports at once: they are on the stack of a signal handler.
const RUNS: usize = 32;

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;
    use crate::kernel::reservation::Reservation;
    use crate::kernel::uffd::Userfaultfd;

    const PAGES: usize = 300;

    #[test]
    fn the_kernel_says_what_was_written_since_it_was_protected() {
        let range = Reservation::new(PAGES * PAGE_BYTES, PAGE_BYTES).unwrap();
        let tracker = WriteTracker::open().unwrap();
        assert!(tracker.try_out(range.base()).is_err(), "nothing is noted there");
        let Ok(uffd) = Userfaultfd::new(range.base(), range.bytes(), true) else { return };
        tracker.try_out(range.base()).unwrap();
        let written = |protect| {
            let mut pages = Vec::new();
            let mut add = |first, count| pages.extend(first..first + count);
            tracker.written(range.base(), PAGES, protect, &mut add);
            pages
        };
        assert_eq!(written(true), [0; 0], "what is nowhere was not written");
        let zero = vec![0_u8; 2 * PAGE_BYTES];
        let at = |page: usize| range.base() + page * PAGE_BYTES;
        let thirds = || (0..PAGES).filter(|page| page % 3 != 2);
        (0..PAGES)
            .step_by(3)
            .for_each(|page| uffd.copy(at(page), zero.as_ptr(), 2, false).unwrap());
        // More runs than the kernel reports at once.
        assert_eq!(written(false), thirds().collect::<Vec<_>>(), "never protected");
        assert_eq!(written(true), thirds().collect::<Vec<_>>());
        assert_eq!(written(false), [0; 0]);
        for page in thirds().filter(|page| page % 2 == 0) {
            // SAFETY: a page that was just mapped.
            unsafe { ptr::with_exposed_provenance_mut::<u64>(at(page)).write_volatile(1) };
        }
        let even: Vec<usize> = thirds().filter(|page| page % 2 == 0).collect();
        assert_eq!((written(true), written(false)), (even, vec![]));
        // Pages can still be brought where nothing was.
        uffd.copy(at(2), zero.as_ptr(), 1, true).unwrap();
        assert_eq!(written(false), [0; 0]);
    }

    #[test]
    fn frames_that_are_held_outlive_their_place() {
        let range = Reservation::new(2 * PAGE_BYTES, PAGE_BYTES).unwrap();
        let tracker = WriteTracker::open().unwrap();
        let word: *mut u64 = ptr::with_exposed_provenance_mut(range.base());
        // SAFETY: the first word of a mapping of ours.
        unsafe { word.write_volatile(5) };
        let run = libc::iovec { iov_base: word.cast(), iov_len: PAGE_BYTES };
        let mut contents = vec![0; PAGE_BYTES / size_of::<u64>()];
        for _ in 0..3 {
            let pipe = tracker.pipes.claim();
            // SAFETY: it is mapped, and no other thread uses it.
            unsafe {
                pipe.hold(&[run]).unwrap();
                word.write_volatile(6);
                assert_eq!(libc::madvise(word.cast(), PAGE_BYTES, libc::MADV_DONTNEED), 0);
                assert_eq!(word.read_volatile(), 0);
            }
            pipe.take(&mut contents);
            assert_eq!(contents[0], 6, "what was written while it was held");
            // SAFETY: as above.
            unsafe { word.write_volatile(5) };
        }
    }

    #[test]
    fn what_cannot_be_held_is_named() {
        let range = Reservation::new(4 * PAGE_BYTES, PAGE_BYTES).unwrap();
        let Ok(uffd) = Userfaultfd::new(range.base(), range.bytes(), true) else { return };
        let tracker = WriteTracker::open().unwrap();
        let pipe = tracker.pipes.claim();
        let at = |page: usize| range.base() + page * PAGE_BYTES;
        let run = |page: usize, pages: usize| libc::iovec {
            iov_base: ptr::with_exposed_provenance_mut(at(page)),
            iov_len: pages * PAGE_BYTES,
        };
        let words: Vec<u64> = (0..4 * (PAGE_BYTES / 8) as u64).collect();
        uffd.copy(at(0), words.as_ptr().cast(), 2, false).unwrap();
        uffd.copy(at(3), words.as_ptr().cast(), 1, false).unwrap();
        // The third page is not mapped: the kernel holds the pages before it, and stops there.
        for runs in [&[run(0, 4)][..], &[run(0, 2), run(2, 2)], &[run(3, 1), run(1, 2)]] {
            // SAFETY: the kernel refuses pages that are not mapped.
            let (address, error) = unsafe { pipe.hold(runs) }.unwrap_err();
            assert_eq!((address, error.raw_os_error()), (at(2), Some(libc::EFAULT)), "{runs:?}");
            // Two pages are in before it each time.
            pipe.take(&mut vec![0; 2 * PAGE_BYTES / 8]);
        }
        // SAFETY: both are mapped.
        unsafe { pipe.hold(&[run(3, 1), run(0, 2)]) }.unwrap();
        let mut contents = vec![0; 3 * PAGE_BYTES / 8];
        pipe.take(&mut contents);
        let page = PAGE_BYTES / 8;
        assert!(contents[..page] == words[..page] && contents[page..] == words[..2 * page]);
    }
}
