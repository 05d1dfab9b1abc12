//! LIRS (Jiang and Zhang, SIGMETRICS 2002): pages whose two last accesses are near each other stay.

use super::lists::Lists;
use super::{Access, Policy};

/// Low inter-reference recency set. The stack holds pages with a low recency (LIR), and others (HIR) that were accessed
/// since the oldest of those; the queue holds resident HIR pages.
pub struct Lirs {
    stack: Lists,
    queue: Lists,
    kinds: Vec<Kind>,
    /// Frames for LIR pages.
    low_max: usize,
    low: usize,
    frames: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Low,
    High,
    /// HIR, not resident, in the stack.
    Ghost,
    Unknown,
}

impl Lirs {
    /// `high` of the frames are for HIR pages.
    pub fn new(pages: usize, frames: usize, high: usize) -> Lirs {
        Lirs {
            stack: Lists::new(pages, 1),
            queue: Lists::new(pages, 1),
            kinds: vec![Kind::Unknown; pages],
            low_max: (frames - high.max(1)).max(1),
            low: 0,
            frames,
        }
    }

    /// Takes pages off the stack's bottom until a LIR page is there.
    fn prune(&mut self) {
        while let Some(page) = self.stack.back(ONLY) {
            if self.kinds[page as usize] == Kind::Low {
                return;
            }
            self.stack.pop(ONLY);
            if self.kinds[page as usize] == Kind::Ghost {
                self.kinds[page as usize] = Kind::Unknown;
            }
        }
    }

    /// The page becomes LIR; the oldest LIR page becomes HIR if there are too many.
    fn promote(&mut self, page: u32) {
        self.queue.remove(page);
        self.kinds[page as usize] = Kind::Low;
        self.low += 1;
        self.stack.push(ONLY, page);
        if self.low > self.low_max {
            self.prune();
            if let Some(oldest) = self.stack.pop(ONLY) {
                self.low -= 1;
                self.kinds[oldest as usize] = Kind::High;
                self.queue.push(ONLY, oldest);
            }
            self.prune();
        }
    }
}

impl Policy for Lirs {
    fn has(&self, page: u32) -> bool {
        matches!(self.kinds[page as usize], Kind::Low | Kind::High)
    }

    fn hit(&mut self, Access { page, .. }: Access) {
        if self.kinds[page as usize] == Kind::Low {
            self.stack.push(ONLY, page);
            self.prune();
        } else if self.stack.has(ONLY, page) {
            self.promote(page);
        } else {
            self.stack.push(ONLY, page);
            self.queue.push(ONLY, page);
        }
    }

    fn bring(&mut self, Access { page, .. }: Access) {
        if self.resident() == self.frames {
            self.evict();
        }
        // Eviction may have taken the page off the stack.
        let is_ghost = self.kinds[page as usize] == Kind::Ghost;
        if is_ghost || self.low < self.low_max {
            self.promote(page);
        } else {
            self.kinds[page as usize] = Kind::High;
            self.stack.push(ONLY, page);
            self.queue.push(ONLY, page);
        }
    }

    fn evict(&mut self) {
        if let Some(page) = self.queue.pop(ONLY) {
            let stays_known = self.stack.has(ONLY, page);
            self.kinds[page as usize] = if stays_known { Kind::Ghost } else { Kind::Unknown };
            return;
        }
        self.prune();
        if let Some(page) = self.stack.pop(ONLY) {
            self.low -= 1;
            self.kinds[page as usize] = Kind::Unknown;
        }
        self.prune();
    }

    fn forget(&mut self, page: u32) {
        if self.kinds[page as usize] == Kind::Low {
            self.low -= 1;
        }
        self.kinds[page as usize] = Kind::Unknown;
        self.stack.remove(page);
        self.queue.remove(page);
        self.prune();
    }

    fn resident(&self) -> usize {
        self.low + self.queue.len(ONLY)
    }
}

const ONLY: u8 = 0;
