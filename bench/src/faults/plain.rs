//! Ordinary memory. In a process that a memory cgroup confines, this measures kernel swap.

use std::io;
use std::ptr;

use super::{PAGE_BYTES, Random, Report, Work, measure, timed};

/// Anonymous memory of one process, all of it written once.
pub struct Plain {
    base: *mut u8,
    pages: usize,
}

// SAFETY: threads share it as bytes that they access with volatile operations only.
unsafe impl Sync for Plain {}
// SAFETY: the mapping belongs to the process, not to a thread.
unsafe impl Send for Plain {}

impl Plain {
    pub fn new(pages: usize) -> io::Result<Plain> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let bytes = pages * PAGE_BYTES;
        // SAFETY: a fresh mapping at an address of the system's choice.
        let base = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: our own mapping.
        unsafe { libc::madvise(base, bytes, libc::MADV_NOHUGEPAGE) };
        let plain = Plain { base: base.cast(), pages };
        for page in 0..pages {
            // Not all alike: a swap device that compresses has something to do.
            let mut random = Random::new(page as u64);
            for word in 0..PAGE_BYTES / 8 {
                let value =
                    if word % 4 == 0 { random.below(usize::MAX) as u64 } else { page as u64 };
                // SAFETY: inside the mapping, aligned.
                unsafe { plain.address(page).cast::<u64>().add(word).write_volatile(value) };
            }
        }
        Ok(plain)
    }

    /// Where a page begins.
    pub fn address(&self, page: usize) -> *mut u8 {
        assert!(page < self.pages, "page {page} of {}", self.pages);
        // SAFETY: inside the mapping by the assertion.
        unsafe { self.base.add(page * PAGE_BYTES) }
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which is not used any more.
        unsafe { libc::munmap(self.base.cast(), self.pages * PAGE_BYTES) };
    }
}

/// Reads random pages; counts the reads that the kernel had to bring a page for.
pub fn reads(work: Work) -> io::Result<Report> {
    let plain = Plain::new(work.pages)?;
    Ok(measure(work, |_, _, random| {
        let page = random.below(work.pages);
        let at = plain.address(page);
        let before = major_faults();
        // SAFETY: inside the mapping.
        let took = timed(|| unsafe {
            at.read_volatile();
        });
        let is_measured = major_faults() > before;
        // SAFETY: as above, and aligned.
        let found = unsafe { at.cast::<u64>().add(1).read_volatile() };
        assert_eq!(found, page as u64, "page {page} is another one's");
        is_measured.then_some(took)
    }))
}

/// Goes through memory that is present.
pub fn scan(work: Work) -> io::Result<Report> {
    let plain = Plain::new(work.pages)?;
    let bytes = work.pages * PAGE_BYTES;
    // SAFETY: the mapping is whole words, written, and no thread changes it.
    let seconds = unsafe { super::scan(work.threads, plain.base.cast(), bytes / 8) };
    Ok(Report::of_scan(bytes, seconds))
}

/// Adds up words: the work of every scan.
///
/// # Safety
/// `words` words can be read from `at` on.
pub unsafe fn sum(at: *const u64, words: usize) -> u64 {
    // SAFETY: promised by the caller.
    (0..words).fold(0, |sum: u64, i| sum.wrapping_add(unsafe { *at.add(i) }))
}

fn major_faults() -> i64 {
    // SAFETY: all-zero is a valid rusage, and the kernel fills it.
    unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage.ru_majflt
    }
}
