//! Where readahead of sequential accesses is allowed.
//!
//! A page that came too early while an agent writes it would be stale, and its write-back could overwrite the agent's
//! work. Of objects, agents write to-regions only; entries they write in any tablet. So readahead may go on
//! inside a region, unless it is a to-region: its front part is the VM's, the rest the agent's.

use crate::object::geometry::{Geometry, RegionId};
use std::sync::atomic::{AtomicBool, Ordering};
use swap::{PAGE_BYTES, Page};

/// The regions in which there is no readahead.
pub struct Walks {
    region_pages: usize,
    /// By region. Changed by the cycle: set in a pause, while the region is free, cleared after the agent's pages have
    /// been invalidated, when all its tablets have come back. Read by the fault handler, which asks again when it has
    /// locked pages.
    barred: Box<[AtomicBool]>,
}

impl Walks {
    pub fn new(geometry: &Geometry) -> Walks {
        let region_pages = geometry.region_bytes() / PAGE_BYTES;
        Walks {
            region_pages,
            barred: (0..geometry.regions).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    /// The region becomes a to-region. World stopped; no thread has touched it.
    pub fn bar(&self, region: RegionId) {
        self.barred[region.index()].store(true, Ordering::SeqCst);
    }

    /// The agent is done with it.
    pub fn allow(&self, region: RegionId) {
        self.barred[region.index()].store(false, Ordering::SeqCst);
    }

    /// As `PagerOptions::run_after`. Async-signal-safe.
    pub fn run_after(&self, page: Page) -> usize {
        match self.barred.get(page.0 / self.region_pages) {
            Some(barred) if !barred.load(Ordering::SeqCst) => {
                self.region_pages - 1 - page.0 % self.region_pages
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_end_with_their_region_and_leave_to_regions_and_entries_alone() {
        let geometry = Geometry { base: 0, regions: 4, region_shift: 16 };
        let walks = Walks::new(&geometry);
        let after = |page| walks.run_after(Page(page));
        assert_eq!([after(0), after(15), after(16), after(63)], [15, 0, 15, 0]);
        assert_eq!(after(64), 0, "an entry");
        walks.bar(RegionId(1));
        assert_eq!([after(15), after(16), after(31), after(32)], [0, 0, 0, 15]);
        walks.allow(RegionId(1));
        assert_eq!(after(16), 15);
    }
}
