//! Anonymous memory at addresses that we choose once.

use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{PAGE_BYTES, SwapError};

/// A private anonymous mapping, zeroed, of which only touched pages cost memory. Where the system does not overcommit
/// memory, it counts all of a mapping that can be written, touched or not; so a large one can be made without
/// permissions, and its parts are committed before they are used.
pub struct Reservation {
    base: usize,
    bytes: usize,
    /// A bit for each unit of [`COMMIT_BYTES`] that can be read and written; `None`: all of them. Set after the unit is
    /// committed, by any thread; release and acquire pair with each other.
    committed: Option<Box<[AtomicU64]>>,
}

impl Reservation {
    /// Reserves `bytes` (rounded up to pages), aligned to `alignment` (a power of two, at least a
    /// page), readable and writable.
    pub fn new(bytes: usize, alignment: usize) -> Result<Reservation, SwapError> {
        Reservation::with(READ_WRITE, bytes, alignment)
    }

    /// The same at the lowest addresses of a range that are free; where it has too few, at the lowest ones before its
    /// end; else anywhere.
    pub fn within(
        range: &Range<usize>,
        bytes: usize,
        alignment: usize,
    ) -> Result<Reservation, SwapError> {
        Reservation::with_range(READ_WRITE, range, bytes, alignment)
    }

    /// As [`new`](Self::new), or as [`within`](Self::within) if there is a range, of addresses that no thread may touch
    /// before they are [committed](Self::commit).
    pub fn uncommitted(
        range: Option<&Range<usize>>,
        bytes: usize,
        alignment: usize,
    ) -> Result<Reservation, SwapError> {
        let mut range = match range {
            Some(range) => Reservation::with_range(libc::PROT_NONE, range, bytes, alignment)?,
            None => Reservation::with(libc::PROT_NONE, bytes, alignment)?,
        };
        let words = range.bytes.div_ceil(COMMIT_BYTES * 64);
        range.committed = Some((0..words).map(|_| AtomicU64::new(0)).collect());
        Ok(range)
    }

    fn with(protection: i32, bytes: usize, alignment: usize) -> Result<Reservation, SwapError> {
        assert!(alignment.is_power_of_two() && alignment >= PAGE_BYTES);
        let bytes = bytes.next_multiple_of(PAGE_BYTES);
        let whole = bytes + alignment - PAGE_BYTES;
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
        Ok(Reservation { base, bytes, committed: None })
    }

    fn with_range(
        protection: i32,
        range: &Range<usize>,
        bytes: usize,
        alignment: usize,
    ) -> Result<Reservation, SwapError> {
        assert!(alignment.is_power_of_two() && alignment >= PAGE_BYTES);
        let bytes = bytes.next_multiple_of(PAGE_BYTES);
        let flags = libc::MAP_PRIVATE
            | libc::MAP_ANONYMOUS
            | libc::MAP_NORESERVE
            | libc::MAP_FIXED_NOREPLACE;
        let start = range.start.next_multiple_of(alignment).max(alignment);
        let lower = (alignment..start).step_by(alignment);
        let bases = (start..range.end).step_by(alignment).chain(lower);
        for base in bases.filter(|base| base + bytes <= range.end) {
            let wish = ptr::without_provenance_mut(base);
            // SAFETY: the kernel refuses addresses that are in use; an old one, which takes the
            // address for a wish, places the mapping where nothing else is.
            let start = unsafe { libc::mmap(wish, bytes, protection, flags, -1, 0) };
            if start == libc::MAP_FAILED {
                continue;
            }
            if start.addr() == base {
                return Ok(Reservation { base, bytes, committed: None });
            }
            unmap(start.addr(), bytes);
        }
        Reservation::with(protection, bytes, alignment)
    }

    /// Makes a part readable and writable, with what lies beside it in the same units. At once where it is so already.
    /// Fails where the system has no memory left to promise. Any thread; a system call at the first time.
    pub fn commit(&self, offset: usize, bytes: usize) -> Result<(), SwapError> {
        assert!(offset + bytes <= self.bytes, "commit of {bytes} bytes at {offset}");
        let Some(committed) = &self.committed else { return Ok(()) };
        let has =
            |unit: usize| committed[unit / 64].load(Ordering::Acquire) >> (unit % 64) & 1 != 0;
        let (mut unit, end) = (offset / COMMIT_BYTES, (offset + bytes).div_ceil(COMMIT_BYTES));
        while unit < end {
            let first = unit;
            while unit < end && !has(unit) {
                unit += 1;
            }
            if unit > first {
                self.make_usable(first * COMMIT_BYTES, (unit * COMMIT_BYTES).min(self.bytes))?;
                for done in first..unit {
                    committed[done / 64].fetch_or(1 << (done % 64), Ordering::Release);
                }
            }
            unit += 1;
        }
        Ok(())
    }

    fn make_usable(&self, start: usize, end: usize) -> Result<(), SwapError> {
        let address = ptr::with_exposed_provenance_mut::<libc::c_void>(self.base + start);
        // The system call itself: under `far-run` the C library's function is the program's.
        // SAFETY: our own mapping, to which no permission is added that it was not reserved for.
        let rc = unsafe { libc::syscall(libc::SYS_mprotect, address, end - start, READ_WRITE) };
        if rc != 0 { Err(SwapError::last_os("committing memory")) } else { Ok(()) }
    }

    /// Takes over a private anonymous mapping that its owner gives away, in whole pages.
    pub fn adopt(base: usize, bytes: usize) -> Reservation {
        assert!(base.is_multiple_of(PAGE_BYTES) && bytes.is_multiple_of(PAGE_BYTES));
        Reservation { base, bytes, committed: None }
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

    /// Maps the pages of a shared mapping of this process, `bytes` from `from` on, here as well, at `offset`. No thread
    /// may be using these pages here.
    pub fn share(&self, offset: usize, from: *const u8, bytes: usize) -> Result<(), SwapError> {
        let is_whole = offset.is_multiple_of(PAGE_BYTES) && bytes.is_multiple_of(PAGE_BYTES);
        assert!(is_whole && offset + bytes <= self.bytes, "{bytes} bytes at {offset}");
        let to = ptr::with_exposed_provenance_mut::<libc::c_void>(self.base + offset);
        let from = from.cast_mut().cast::<libc::c_void>();
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // SAFETY: an old length of 0 maps the same pages once more, in place of a part of our own mapping that no
        // thread uses.
        if unsafe { libc::mremap(from, 0, bytes, flags, to) } == libc::MAP_FAILED {
            return Err(SwapError::last_os("mapping shared memory once more"));
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

const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;
/// Memory is committed in units of this: few system calls, and few parts of different permissions.
const COMMIT_BYTES: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of this process's mappings in a range that can be written.
    fn writable_bytes(base: usize, bytes: usize) -> usize {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let part = |line: &str| {
            let (range, rest) = line.split_once(' ')?;
            let (start, end) = range.split_once('-')?;
            let at = |text| usize::from_str_radix(text, 16).ok();
            let (start, end) = (at(start)?.max(base), at(end)?.min(base + bytes));
            (rest.starts_with("rw") && start < end).then(|| end - start)
        };
        maps.lines().filter_map(part).sum()
    }

    #[test]
    fn parts_are_committed_before_they_are_used() {
        const GIB: usize = 1 << 30;
        for within in [None, Some(0..64 * GIB)] {
            let range =
                Reservation::uncommitted(within.as_ref(), 20 * GIB + PAGE_BYTES, GIB).unwrap();
            let writable = || writable_bytes(range.base(), range.bytes());
            assert_eq!(writable(), 0);
            range.commit(5 * COMMIT_BYTES - 1, 2).unwrap();
            assert_eq!(writable(), 2 * COMMIT_BYTES);
            range.commit(3 * COMMIT_BYTES, 4 * COMMIT_BYTES).unwrap();
            assert_eq!(writable(), 4 * COMMIT_BYTES);
            range.commit(20 * GIB, PAGE_BYTES).unwrap();
            assert_eq!(writable(), 4 * COMMIT_BYTES + PAGE_BYTES);
            for offset in [3 * COMMIT_BYTES, 7 * COMMIT_BYTES - 8, 20 * GIB] {
                let word = ptr::with_exposed_provenance_mut::<u64>(range.base() + offset);
                // SAFETY: committed, aligned, and no other thread has the range.
                unsafe { word.write_volatile(7) };
            }
        }
    }

    #[test]
    fn low_addresses_are_taken_while_there_are_some() {
        const GIB: usize = 1 << 30;
        let low = || Reservation::within(&(0..8 * GIB), GIB, GIB).unwrap();
        let made: Vec<_> = (0..4).map(|_| low()).collect();
        for (i, one) in made.iter().enumerate() {
            assert!(one.base() % GIB == 0 && one.bytes() == GIB);
            assert!(made[..i].iter().all(|other| other.base() != one.base()));
        }
        assert!(made.iter().any(|one| one.base() + GIB <= 8 * GIB), "none is low");
        let high = Reservation::within(&(0..GIB), GIB, GIB).unwrap();
        assert!(high.base() >= GIB);
    }

    #[test]
    fn addresses_of_a_range_are_taken_before_lower_ones() {
        const GIB: usize = 1 << 30;
        let wish = 40 * GIB..42 * GIB;
        let one = || Reservation::within(&wish, GIB, GIB).unwrap();
        let made = [one(), one(), one()];
        let has = |one: &&Reservation| wish.contains(&one.base());
        assert_eq!(made.iter().filter(has).count(), 2);
        assert!(made[2].base() < wish.start, "{:#x}", made[2].base());
    }
}
