//! A queue that learns from pages that come back, and sees no accesses, or only those to pages without credit.

use super::lists::Lists;
use super::{Access, Policy};

/// FIFO in which a page that comes back soon after its eviction may stay for more rounds, as in the pager's clock.
///
/// Pages that have no credit left may be unmapped and stay for a while in a second queue. An access to one of these is
/// a soft fault: it fetches nothing, and is as good as a return.
pub struct Credits {
    lists: Lists,
    frames: usize,
    /// Pages that the second queue has when one is evicted, at least one.
    inactive: usize,
    soft_faults: u64,
    growth: Growth,
    /// Rounds that the page earned at its last arrival, beyond the first.
    heat: Vec<u8>,
    /// Rounds that are left.
    credit: Vec<u8>,
    /// Evictions before the page's own; 0: never.
    evicted_at: Vec<u64>,
    evictions: u64,
}

/// How many more rounds a page may stay.
#[derive(Clone, Copy)]
pub enum Growth {
    /// One more for each return, up to a number.
    Linear(u8),
    /// Twice as many for each return, up to a number.
    Double(u8),
}

impl Credits {
    /// Without a second queue.
    pub fn new(pages: usize, frames: usize, growth: Growth) -> Credits {
        Credits::touched(pages, frames, 1, growth)
    }

    /// The second queue has `inactive` of the frames. With a single one its page is evicted as it enters.
    pub fn touched(pages: usize, frames: usize, inactive: usize, growth: Growth) -> Credits {
        Credits {
            lists: Lists::new(pages, 2),
            frames,
            inactive: inactive.max(1),
            soft_faults: 0,
            growth,
            heat: vec![0; pages],
            credit: vec![0; pages],
            evicted_at: vec![0; pages],
            evictions: 0,
        }
    }

    /// The page was wanted again, soon or late.
    fn returned(&mut self, page: u32, is_soon: bool) {
        let heat = &mut self.heat[page as usize];
        *heat = match self.growth {
            Growth::Linear(most) if is_soon => (*heat + 1).min(most),
            Growth::Double(most) if is_soon => (*heat * 2).max(1).min(most),
            Growth::Linear(_) => heat.saturating_sub(1),
            Growth::Double(_) => *heat / 2,
        };
        self.credit[page as usize] = *heat;
        self.lists.push(QUEUE, page);
    }

    /// Unmaps pages without credit until there are enough of them.
    fn unmap(&mut self) {
        while self.lists.len(INACTIVE) < self.inactive {
            let Some(page) = self.lists.pop(QUEUE) else { return };
            let credit = &mut self.credit[page as usize];
            match *credit {
                0 => self.lists.push(INACTIVE, page),
                _ => {
                    *credit -= 1;
                    self.lists.push(QUEUE, page);
                }
            }
        }
    }
}

impl Policy for Credits {
    fn has(&self, page: u32) -> bool {
        self.lists.of(page).is_some()
    }

    fn hit(&mut self, access: Access) {
        if self.lists.has(INACTIVE, access.page) {
            self.soft_faults += 1;
            self.returned(access.page, true);
        }
    }

    fn bring(&mut self, access: Access) {
        if self.resident() == self.frames {
            self.evict();
        }
        let page = access.page as usize;
        let away = self.evictions - self.evicted_at[page];
        let is_soon = self.evicted_at[page] > 0 && away <= self.frames as u64;
        if access.is_fresh {
            self.heat[page] = 0;
        }
        self.returned(access.page, is_soon && !access.is_fresh);
    }

    fn evict(&mut self) {
        self.unmap();
        if let Some(page) = self.lists.pop(INACTIVE) {
            self.evictions += 1;
            self.evicted_at[page as usize] = self.evictions;
        }
    }

    fn forget(&mut self, page: u32) {
        self.lists.remove(page);
        self.evicted_at[page as usize] = 0;
    }

    fn resident(&self) -> usize {
        self.lists.len(QUEUE) + self.lists.len(INACTIVE)
    }

    fn soft_faults(&self) -> u64 {
        self.soft_faults
    }
}

const QUEUE: u8 = 0;
const INACTIVE: u8 = 1;
