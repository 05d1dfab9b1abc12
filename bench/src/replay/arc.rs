//! ARC (Megiddo and Modha, FAST 2003): recency and frequency in shares that follow what was missed.

use super::lists::Lists;
use super::{Access, Policy};

/// The adaptive replacement cache.
pub struct Arc {
    lists: Lists,
    frames: usize,
    /// Frames for pages that were accessed once: `p` of the paper.
    once: usize,
}

impl Arc {
    pub fn new(pages: usize, frames: usize) -> Arc {
        Arc { lists: Lists::new(pages, 4), frames, once: 0 }
    }

    /// Evicts a page (REPLACE of the paper); `returns`: for one that was accessed twice and left.
    fn replace(&mut self, returns: bool) {
        let once = self.lists.len(ONCE);
        let from_once = once > 0
            && (once > self.once || returns && once == self.once || self.lists.len(TWICE) == 0);
        let (from, to) = if from_once { (ONCE, ONCE_GHOST) } else { (TWICE, TWICE_GHOST) };
        if let Some(page) = self.lists.pop(from) {
            self.lists.push(to, page);
        }
    }

    fn make_room(&mut self, returns: bool) {
        if self.resident() == self.frames {
            self.replace(returns);
        }
    }
}

impl Policy for Arc {
    fn has(&self, page: u32) -> bool {
        matches!(self.lists.of(page), Some(ONCE | TWICE))
    }

    fn hit(&mut self, access: Access) {
        self.lists.push(TWICE, access.page);
    }

    fn bring(&mut self, access: Access) {
        let (once_ghosts, twice_ghosts) = (self.lists.len(ONCE_GHOST), self.lists.len(TWICE_GHOST));
        let returns_to = match self.lists.of(access.page) {
            Some(ONCE_GHOST) => {
                let step = (twice_ghosts / once_ghosts).max(1);
                self.once = (self.once + step).min(self.frames);
                self.make_room(false);
                TWICE
            }
            Some(_) => {
                let step = (once_ghosts / twice_ghosts).max(1);
                self.once = self.once.saturating_sub(step);
                self.make_room(true);
                TWICE
            }
            None => {
                let known_once = self.lists.len(ONCE) + once_ghosts;
                if known_once >= self.frames {
                    self.lists.pop(if once_ghosts > 0 { ONCE_GHOST } else { ONCE });
                } else if known_once + self.lists.len(TWICE) + twice_ghosts >= 2 * self.frames {
                    self.lists.pop(TWICE_GHOST);
                }
                self.make_room(false);
                ONCE
            }
        };
        self.lists.push(returns_to, access.page);
    }

    fn evict(&mut self) {
        self.replace(false);
    }

    fn forget(&mut self, page: u32) {
        self.lists.remove(page);
    }

    fn resident(&self) -> usize {
        self.lists.len(ONCE) + self.lists.len(TWICE)
    }
}

const ONCE: u8 = 0;
const TWICE: u8 = 1;
const ONCE_GHOST: u8 = 2;
const TWICE_GHOST: u8 = 3;
