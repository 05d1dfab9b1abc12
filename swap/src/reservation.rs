//! Anonymous memory at addresses that we choose once.

use std::ptr;

use crate::{PAGE_BYTES, SwapError};

/// A private anonymous mapping, zeroed, of which only touched pages cost memory.
pub struct Reservation {
    base: usize,
    bytes: usize,
}

impl Reservation {
    /// Reserves `bytes` (rounded up to pages), aligned to `alignment` (a power of two, at least a
    /// page).
    pub fn new(bytes: usize, alignment: usize) -> Result<Reservation, SwapError> {
        assert!(alignment.is_power_of_two() && alignment >= PAGE_BYTES);
        let bytes = bytes.next_multiple_of(PAGE_BYTES);
        let whole = bytes + alignment - PAGE_BYTES;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
        let start = unsafe { libc::mmap(ptr::null_mut(), whole, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(SwapError::last_os("reserving addresses"));
        }
        let start = start.addr();
        let base = start.next_multiple_of(alignment);
        unmap(start, base - start);
        unmap(base + bytes, start + whole - (base + bytes));
        Ok(Reservation { base, bytes })
    }

    /// The first address.
    pub fn base(&self) -> usize {
        self.base
    }

    /// Length in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives advice about the whole range.
    pub fn advise(&self, advice: i32) -> Result<(), SwapError> {
        let start = ptr::with_exposed_provenance_mut(self.base);
        // SAFETY: our own mapping; the advices used here keep its contents.
        if unsafe { libc::madvise(start, self.bytes, advice) } != 0 {
            return Err(SwapError::last_os("madvise"));
        }
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        unmap(self.base, self.bytes);
    }
}

/// Unmaps a range that belongs to the caller and that nobody uses any more.
fn unmap(start: usize, bytes: usize) {
    if bytes > 0 {
        // SAFETY: see above.
        unsafe { libc::munmap(ptr::with_exposed_provenance_mut(start), bytes) };
    }
}
