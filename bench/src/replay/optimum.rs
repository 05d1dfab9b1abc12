//! Belady's optimum (MIN): the page that is wanted last leaves.

use std::collections::BinaryHeap;

use swap::PageAction;

use super::{Access, Policy, Trace};

/// Knows the future. A page that is freed or replaced before its next access is wanted never.
pub struct Optimum {
    /// By event: when its page is missed next if it is not resident.
    next: Vec<u32>,
    /// By page: the same; [`ABSENT`]: not resident.
    wanted: Vec<u32>,
    /// Resident pages, last wanted first, and some that are no longer so.
    order: BinaryHeap<(u32, u32)>,
    resident: usize,
    frames: usize,
}

impl Optimum {
    /// For one trace.
    ///
    /// # Panics
    /// It has 2^32 - 2 events or more.
    pub fn new(trace: &Trace, frames: usize) -> Optimum {
        let events = trace.events();
        assert!(events.len() < ABSENT as usize - 1, "a trace of {} events", events.len());
        let mut next = vec![NEVER; events.len()];
        let mut of_page = vec![NEVER; trace.pages()];
        for (number, event) in events.iter().enumerate().rev() {
            match event.what {
                PageAction::Read | PageAction::Write | PageAction::Fetched => {
                    next[number] =
                        std::mem::replace(&mut of_page[event.page as usize], number as u32);
                }
                PageAction::Fresh => {
                    next[number] = std::mem::replace(&mut of_page[event.page as usize], NEVER);
                }
                PageAction::Freed | PageAction::Invalidated | PageAction::Evicted => {
                    event.pages().for_each(|page| of_page[page as usize] = NEVER);
                }
                PageAction::Look | PageAction::WrittenBack => {}
            }
        }
        let wanted = vec![ABSENT; trace.pages()];
        Optimum { next, wanted, order: BinaryHeap::new(), resident: 0, frames }
    }

    fn want(&mut self, access: Access) {
        let when = self.next[access.number];
        self.wanted[access.page as usize] = when;
        self.order.push((when, access.page));
        if self.order.len() > 8 * self.frames.max(1024) {
            let wanted = &self.wanted;
            self.order.retain(|(when, page)| wanted[*page as usize] == *when);
        }
    }
}

impl Policy for Optimum {
    fn has(&self, page: u32) -> bool {
        self.wanted[page as usize] != ABSENT
    }

    fn hit(&mut self, access: Access) {
        self.want(access);
    }

    fn bring(&mut self, access: Access) {
        if self.resident == self.frames {
            self.evict();
        }
        self.resident += 1;
        self.want(access);
    }

    fn evict(&mut self) {
        while let Some((when, page)) = self.order.pop() {
            if self.wanted[page as usize] == when {
                return self.forget(page);
            }
        }
    }

    fn forget(&mut self, page: u32) {
        if std::mem::replace(&mut self.wanted[page as usize], ABSENT) != ABSENT {
            self.resident -= 1;
        }
    }

    fn resident(&self) -> usize {
        self.resident
    }
}

const NEVER: u32 = u32::MAX - 1;
const ABSENT: u32 = u32::MAX;
