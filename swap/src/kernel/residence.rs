//! How much memory a range of addresses really takes.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::PAGE_BYTES;

/// Bytes of private anonymous memory that a range of whole pages of this process takes: of pages that were never
/// touched, and of those that were only read, none. Reads `/proc/self/pagemap`, eight bytes for each page, so it is
/// for figures; 0 where that cannot be read.
pub fn resident_bytes(start: usize, bytes: usize) -> usize {
    let Ok(pagemap) = File::open("/proc/self/pagemap") else { return 0 };
    let (mut page, end) = (start / PAGE_BYTES, (start + bytes).div_ceil(PAGE_BYTES));
    let mut resident = 0;
    let mut entries = vec![0; ENTRIES * ENTRY_BYTES];
    while page < end {
        let wanted = ENTRIES.min(end - page) * ENTRY_BYTES;
        let at = (page * ENTRY_BYTES) as u64;
        let Ok(read @ 1..) = pagemap.read_at(&mut entries[..wanted], at) else { break };
        let (whole, _) = entries[..read].as_chunks::<ENTRY_BYTES>();
        let is_own = |entry: &&[u8; ENTRY_BYTES]| u64::from_ne_bytes(**entry) & OWN == OWN;
        resident += whole.iter().filter(is_own).count() * PAGE_BYTES;
        page += whole.len();
    }
    resident
}

/// Entries that are read at a time.
const ENTRIES: usize = 1 << 15;
const ENTRY_BYTES: usize = 8;
/// The page is there, and nobody else has it: the page of zeros that is mapped where memory was only read is
/// everybody's.
const OWN: u64 = 1 << 63 | 1 << 56;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reservation;

    #[test]
    fn only_what_was_written_counts() {
        let pages = 3 * ENTRIES;
        let range = Reservation::new(pages * PAGE_BYTES, PAGE_BYTES).unwrap();
        range.advise(libc::MADV_NOHUGEPAGE).unwrap();
        let word = |page: usize| (range.base() + page * PAGE_BYTES) as *mut u64;
        assert_eq!(resident_bytes(range.base(), range.bytes()), 0);
        // SAFETY: inside the reservation, which nobody else uses.
        assert_eq!((0..10).map(|page| unsafe { word(page).read_volatile() }).sum::<u64>(), 0);
        assert_eq!(resident_bytes(range.base(), range.bytes()), 0, "read only");
        for page in [0, 7, ENTRIES, pages - 1] {
            // SAFETY: as above.
            unsafe { word(page).write_volatile(1) };
        }
        assert_eq!(resident_bytes(range.base(), range.bytes()), 4 * PAGE_BYTES);
        assert_eq!(resident_bytes(word(7).addr(), PAGE_BYTES), PAGE_BYTES);
    }
}
