//! Policies of one queue, and of two without ghosts.

use super::lists::Lists;
use super::{Access, Policy};

/// What an access to a resident page does in a single queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Queue {
    /// Nothing.
    Fifo,
    /// It moves to the front.
    Lru,
    /// It gets a second chance when it comes to the back.
    Clock,
}

/// FIFO, LRU or CLOCK.
pub struct Single {
    lists: Lists,
    frames: usize,
    queue: Queue,
    referenced: Vec<bool>,
}

impl Single {
    pub fn new(pages: usize, frames: usize, queue: Queue) -> Single {
        Single { lists: Lists::new(pages, 1), frames, queue, referenced: vec![false; pages] }
    }
}

impl Policy for Single {
    fn has(&self, page: u32) -> bool {
        self.lists.has(QUEUE, page)
    }

    fn hit(&mut self, access: Access) {
        match self.queue {
            Queue::Fifo => {}
            Queue::Lru => self.lists.push(QUEUE, access.page),
            Queue::Clock => self.referenced[access.page as usize] = true,
        }
    }

    fn bring(&mut self, access: Access) {
        if self.resident() == self.frames {
            self.evict();
        }
        self.lists.push(QUEUE, access.page);
    }

    fn evict(&mut self) {
        while let Some(page) = self.lists.pop(QUEUE) {
            if !std::mem::take(&mut self.referenced[page as usize]) {
                return;
            }
            self.lists.push(QUEUE, page);
        }
    }

    fn forget(&mut self, page: u32) {
        self.lists.remove(page);
        self.referenced[page as usize] = false;
    }

    fn resident(&self) -> usize {
        self.lists.len(QUEUE)
    }
}

/// A FIFO queue whose accesses are not seen, and behind it a shorter one from which an accessed page comes back.
pub struct SegmentedFifo {
    lists: Lists,
    frames: usize,
    inactive: usize,
    soft_faults: u64,
}

impl SegmentedFifo {
    /// `inactive` of the frames are for the second queue.
    pub fn new(pages: usize, frames: usize, inactive: usize) -> SegmentedFifo {
        let lists = Lists::new(pages, 2);
        SegmentedFifo { lists, frames, inactive: inactive.max(1), soft_faults: 0 }
    }

    fn activate(&mut self, page: u32) {
        self.lists.push(QUEUE, page);
        if self.lists.len(QUEUE) > self.frames - self.inactive
            && let Some(oldest) = self.lists.pop(QUEUE)
        {
            self.lists.push(INACTIVE, oldest);
        }
    }
}

impl Policy for SegmentedFifo {
    fn has(&self, page: u32) -> bool {
        self.lists.of(page).is_some()
    }

    fn hit(&mut self, access: Access) {
        if self.lists.has(INACTIVE, access.page) {
            self.soft_faults += 1;
            self.activate(access.page);
        }
    }

    fn bring(&mut self, access: Access) {
        if self.resident() == self.frames {
            self.evict();
        }
        self.activate(access.page);
    }

    fn evict(&mut self) {
        // With few frames the second queue may be empty.
        let _ = self.lists.pop(INACTIVE).or_else(|| self.lists.pop(QUEUE));
    }

    fn forget(&mut self, page: u32) {
        self.lists.remove(page);
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
