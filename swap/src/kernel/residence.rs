//! How much memory a range of addresses really takes.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::PAGE_BYTES;
use crate::kernel::page_scan::{self, PAGE_IS_PRESENT, PageRun, Wanted};

/// Bytes of private anonymous memory that a range of whole pages of this process takes: of pages that were never
/// touched, and of those that were only read, none. Looks at each page that is present, and, where the kernel has no
/// `PAGEMAP_SCAN`, at every page of the range, so it is for figures; 0 where `/proc/self/pagemap` cannot be read.
pub fn resident_bytes(start: usize, bytes: usize) -> usize {
    let Ok(pagemap) = File::open("/proc/self/pagemap") else { return 0 };
    let (start, end) = (start & !(PAGE_BYTES - 1), (start + bytes).next_multiple_of(PAGE_BYTES));
    let mut resident = 0;
    let mut runs = [PageRun::default(); RUNS];
    let mut at = start as u64;
    while at < end as u64 {
        let wanted = Wanted { all: PAGE_IS_PRESENT, ..Wanted::default() };
        let Ok((count, scanned)) = page_scan::scan(&pagemap, at, end as u64, wanted, &mut runs)
        else {
            return resident + own_bytes(&pagemap, at as usize, end);
        };
        resident += runs[..count]
            .iter()
            .map(|run| own_bytes(&pagemap, run.start as usize, run.end as usize))
            .sum::<usize>();
        at = scanned;
    }
    resident
}

/// The kernel's entry for the page at an address in `/proc/self/pagemap`; 0 if that cannot be read.
pub fn entry(address: usize) -> u64 {
    let mut entry = [0; ENTRY_BYTES];
    let at = (address / PAGE_BYTES * ENTRY_BYTES) as u64;
    let read = File::open("/proc/self/pagemap").and_then(|map| map.read_exact_at(&mut entry, at));
    read.map_or(0, |()| u64::from_ne_bytes(entry))
}

/// Is a page in memory, by its entry?
pub fn is_present(entry: u64) -> bool {
    entry & PRESENT != 0
}

/// Bytes of the pages from `start` to `end` that only this process has, by their entries, of eight bytes for each page.
fn own_bytes(pagemap: &File, start: usize, end: usize) -> usize {
    let (mut page, end) = (start / PAGE_BYTES, end / PAGE_BYTES);
    let mut own = 0;
    let mut entries = vec![0; ENTRIES.min(end - page) * ENTRY_BYTES];
    while page < end {
        let wanted = ENTRIES.min(end - page) * ENTRY_BYTES;
        let at = (page * ENTRY_BYTES) as u64;
        let Ok(read @ 1..) = pagemap.read_at(&mut entries[..wanted], at) else { break };
        let (whole, _) = entries[..read].as_chunks::<ENTRY_BYTES>();
        let is_own = |entry: &&[u8; ENTRY_BYTES]| u64::from_ne_bytes(**entry) & OWN == OWN;
        own += whole.iter().filter(is_own).count() * PAGE_BYTES;
        page += whole.len();
    }
    own
}

/// Runs that one scan finds.
const RUNS: usize = 256;
/// Entries that are read at a time.
const ENTRIES: usize = 1 << 15;
const ENTRY_BYTES: usize = 8;
/// The page is present, and mapped by this process only: the page of zeros that is mapped where memory was
/// only read is shared by all.
const OWN: u64 = PRESENT | 1 << 56;
const PRESENT: u64 = 1 << 63;

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
        // SAFETY: inside the reservation, which no other thread uses.
        assert_eq!((0..10).map(|page| unsafe { word(page).read_volatile() }).sum::<u64>(), 0);
        assert_eq!(resident_bytes(range.base(), range.bytes()), 0, "read only");
        for page in [0, 7, ENTRIES, pages - 1] {
            // SAFETY: as above.
            unsafe { word(page).write_volatile(1) };
        }
        assert_eq!(resident_bytes(range.base(), range.bytes()), 4 * PAGE_BYTES);
        assert_eq!(resident_bytes(word(7).addr(), PAGE_BYTES), PAGE_BYTES);
        let pagemap = File::open("/proc/self/pagemap").unwrap();
        assert_eq!(own_bytes(&pagemap, range.base(), range.base() + range.bytes()), 4 * PAGE_BYTES);
    }

    #[test]
    fn holes_cost_no_time() {
        let range = Reservation::new(1 << 40, PAGE_BYTES).unwrap();
        // SAFETY: inside the reservation, which no other thread uses.
        unsafe { ((range.base() + range.bytes() / 2) as *mut u64).write_volatile(1) };
        let begin = std::time::Instant::now();
        assert_ne!(resident_bytes(range.base(), range.bytes()), 0);
        // An entry for each page would take seconds.
        assert!(begin.elapsed() < std::time::Duration::from_secs(1), "{:?}", begin.elapsed());
    }

    #[test]
    fn more_runs_than_one_scan_finds() {
        let pages = 3 * RUNS;
        let range = Reservation::new(pages * PAGE_BYTES, PAGE_BYTES).unwrap();
        range.advise(libc::MADV_NOHUGEPAGE).unwrap();
        for page in (0..pages).step_by(2) {
            // SAFETY: inside the reservation, which no other thread uses.
            unsafe { ((range.base() + page * PAGE_BYTES) as *mut u64).write_volatile(1) };
        }
        assert_eq!(resident_bytes(range.base(), range.bytes()), pages.div_ceil(2) * PAGE_BYTES);
    }
}
