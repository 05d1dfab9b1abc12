//! A queue that does not see accesses, and learns from pages that come back.

use super::lists::Lists;
use super::{Access, Policy};

/// FIFO in which a page that comes back soon after its eviction may stay for more rounds, as in the pager's clock.
pub struct Credits {
    lists: Lists,
    frames: usize,
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
    pub fn new(pages: usize, frames: usize, growth: Growth) -> Credits {
        Credits {
            lists: Lists::new(pages, 1),
            frames,
            growth,
            heat: vec![0; pages],
            credit: vec![0; pages],
            evicted_at: vec![0; pages],
            evictions: 0,
        }
    }
}

impl Policy for Credits {
    fn has(&self, page: u32) -> bool {
        self.lists.has(QUEUE, page)
    }

    fn hit(&mut self, _access: Access) {}

    fn bring(&mut self, access: Access) {
        if self.resident() == self.frames {
            self.evict();
        }
        let page = access.page as usize;
        let away = self.evictions - self.evicted_at[page];
        let heat = self.heat[page];
        let is_soon = self.evicted_at[page] > 0 && away <= self.frames as u64;
        self.heat[page] = match self.growth {
            _ if access.is_fresh => 0,
            Growth::Linear(most) if is_soon => (heat + 1).min(most),
            Growth::Double(most) if is_soon => (heat * 2).max(1).min(most),
            Growth::Linear(_) => heat.saturating_sub(1),
            Growth::Double(_) => heat / 2,
        };
        self.credit[page] = self.heat[page];
        self.lists.push(QUEUE, access.page);
    }

    fn evict(&mut self) {
        while let Some(page) = self.lists.pop(QUEUE) {
            let credit = &mut self.credit[page as usize];
            if *credit == 0 {
                self.evictions += 1;
                self.evicted_at[page as usize] = self.evictions;
                return;
            }
            *credit -= 1;
            self.lists.push(QUEUE, page);
        }
    }

    fn forget(&mut self, page: u32) {
        self.lists.remove(page);
        self.evicted_at[page as usize] = 0;
    }

    fn resident(&self) -> usize {
        self.lists.len(QUEUE)
    }
}

const QUEUE: u8 = 0;
