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

    /// The same at the lowest addresses from `alignment` on that are free, if that ends below
    /// `limit`; else anywhere.
    pub fn below(limit: usize, bytes: usize, alignment: usize) -> Result<Reservation, SwapError> {
        assert!(alignment.is_power_of_two() && alignment >= PAGE_BYTES);
        let bytes = bytes.next_multiple_of(PAGE_BYTES);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE
            | libc::MAP_ANONYMOUS
            | libc::MAP_NORESERVE
            | libc::MAP_FIXED_NOREPLACE;
        for base in (alignment..(limit + 1).saturating_sub(bytes)).step_by(alignment) {
            let wish = ptr::without_provenance_mut(base);
            // SAFETY: the kernel refuses addresses that are in use; an old one, which takes the
            // address for a wish, places the mapping where nothing else is.
            let start = unsafe { libc::mmap(wish, bytes, protection, flags, -1, 0) };
            if start == libc::MAP_FAILED {
                continue;
            }
            if start.addr() == base {
                return Ok(Reservation { base, bytes });
            }
            unmap(start.addr(), bytes);
        }
        Reservation::new(bytes, alignment)
    }

    /// Takes over a private anonymous mapping that its owner gives away, in whole pages.
    pub fn adopt(base: usize, bytes: usize) -> Reservation {
        assert!(base.is_multiple_of(PAGE_BYTES) && bytes.is_multiple_of(PAGE_BYTES));
        Reservation { base, bytes }
    }

    /// The first address.
    pub fn base(&self) -> usize {
        self.base
    }

    /// Length in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How much memory it takes now; see [`resident_bytes`](crate::resident_bytes) for the cost.
    pub fn resident_bytes(&self) -> usize {
        crate::resident_bytes(self.base, self.bytes)
    }

    /// Makes whole pages zero by giving them back. No thread may be using them.
    pub fn zero(&self, offset: usize, bytes: usize) -> Result<(), SwapError> {
        let is_whole = offset.is_multiple_of(PAGE_BYTES) && bytes.is_multiple_of(PAGE_BYTES);
        assert!(is_whole && offset + bytes <= self.bytes, "{bytes} bytes at {offset}");
        let start = ptr::with_exposed_provenance_mut(self.base + offset);
        // SAFETY: our own mapping, private and anonymous, and no thread uses these pages, as the caller guarantees.
        if unsafe { libc::madvise(start, bytes, libc::MADV_DONTNEED) } != 0 {
            return Err(SwapError::last_os("madvise"));
        }
        Ok(())
    }

    /// Gives advice about the whole range.
    pub fn advise(&self, advice: i32) -> Result<(), SwapError> {
        self.advise_first(self.bytes, advice)
    }

    /// Gives advice about the first bytes.
    pub fn advise_first(&self, bytes: usize, advice: i32) -> Result<(), SwapError> {
        let start = ptr::with_exposed_provenance_mut(self.base);
        // SAFETY: our own mapping; the advices used here keep its contents.
        if unsafe { libc::madvise(start, bytes.min(self.bytes), advice) } != 0 {
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

/// Unmaps a range that belongs to the caller and that no thread uses any more.
fn unmap(start: usize, bytes: usize) {
    if bytes > 0 {
        // SAFETY: see above.
        unsafe { libc::munmap(ptr::with_exposed_provenance_mut(start), bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_addresses_are_taken_while_there_are_some() {
        const GIB: usize = 1 << 30;
        let made: Vec<_> = (0..4).map(|_| Reservation::below(8 * GIB, GIB, GIB).unwrap()).collect();
        for (i, one) in made.iter().enumerate() {
            assert!(one.base() % GIB == 0 && one.bytes() == GIB);
            assert!(made[..i].iter().all(|other| other.base() != one.base()));
        }
        assert!(made.iter().any(|one| one.base() + GIB <= 8 * GIB), "none is low");
        let high = Reservation::below(GIB, GIB, GIB).unwrap();
        assert!(high.base() >= GIB);
    }
}
