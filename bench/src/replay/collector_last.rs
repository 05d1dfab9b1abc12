//! A policy that knows which accesses are the collector's.

use swap::ThreadClass;

use super::lists::Lists;
use super::{Access, Policy};

/// Pages that only the collector's threads have fetched leave first, in the order in which they came, but for a tenth
/// of the frames; its accesses to other pages say nothing about the program. Pages that it filled are the program's.
pub struct CollectorLast {
    program: Box<dyn Policy>,
    /// Pages that the collector fetched and the program did not access.
    collector: Lists,
    frames: usize,
    sees: Sees,
}

/// What a policy knows of the program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sees {
    /// Accesses to resident pages, too.
    Accesses,
    Misses,
}

impl CollectorLast {
    /// `program`, which has as many frames, decides about the program's pages.
    pub fn new(pages: usize, frames: usize, program: Box<dyn Policy>, sees: Sees) -> CollectorLast {
        CollectorLast { program, collector: Lists::new(pages, 1), frames, sees }
    }
}

impl Policy for CollectorLast {
    fn has(&self, page: u32) -> bool {
        self.collector.has(FETCHED, page) || self.program.has(page)
    }

    fn hit(&mut self, access: Access) {
        match (access.who, self.collector.has(FETCHED, access.page)) {
            _ if self.sees == Sees::Misses => {}
            (ThreadClass::Gc, _) => {}
            (ThreadClass::Mutator, false) => self.program.hit(access),
            (ThreadClass::Mutator, true) => {
                self.collector.remove(access.page);
                self.program.bring(access);
            }
        }
    }

    fn bring(&mut self, access: Access) {
        if self.resident() == self.frames {
            self.evict();
        }
        match access.who {
            ThreadClass::Gc if !access.is_fresh => self.collector.push(FETCHED, access.page),
            _ => self.program.bring(access),
        }
    }

    fn evict(&mut self) {
        let is_much = self.collector.len(FETCHED) >= (self.frames / 10).max(1);
        match is_much || self.program.resident() == 0 {
            true => _ = self.collector.pop(FETCHED),
            false => self.program.evict(),
        }
    }

    fn forget(&mut self, page: u32) {
        self.collector.remove(page);
        self.program.forget(page);
    }

    fn resident(&self) -> usize {
        self.collector.len(FETCHED) + self.program.resident()
    }
}

const FETCHED: u8 = 0;
