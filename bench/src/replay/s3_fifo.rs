//! S3-FIFO (Yang et al., SOSP 2023): a small queue for what is new, a main one, and a memory of what left the small
//! one.

use super::lists::Lists;
use super::{Access, Policy};

/// Static FIFO queues with a small one of a tenth of the frames.
pub struct S3Fifo {
    lists: Lists,
    frames: usize,
    small: usize,
    /// Accesses since it came or was passed over, at most [`FREQUENCY_MAX`].
    frequency: Vec<u8>,
}

impl S3Fifo {
    pub fn new(pages: usize, frames: usize) -> S3Fifo {
        let small = (frames / 10).max(1);
        S3Fifo { lists: Lists::new(pages, 3), frames, small, frequency: vec![0; pages] }
    }

    fn evict_small(&mut self) {
        while let Some(page) = self.lists.pop(SMALL) {
            if std::mem::take(&mut self.frequency[page as usize]) == 0 {
                self.lists.push(GHOST, page);
                if self.lists.len(GHOST) > self.frames - self.small {
                    self.lists.pop(GHOST);
                }
                return;
            }
            self.lists.push(MAIN, page);
            if self.lists.len(MAIN) > self.frames - self.small {
                return self.evict_main();
            }
        }
        self.evict_main();
    }

    fn evict_main(&mut self) {
        while let Some(page) = self.lists.pop(MAIN) {
            if self.frequency[page as usize] == 0 {
                return;
            }
            self.frequency[page as usize] -= 1;
            self.lists.push(MAIN, page);
        }
    }
}

impl Policy for S3Fifo {
    fn has(&self, page: u32) -> bool {
        matches!(self.lists.of(page), Some(SMALL | MAIN))
    }

    fn hit(&mut self, access: Access) {
        let frequency = &mut self.frequency[access.page as usize];
        *frequency = (*frequency + 1).min(FREQUENCY_MAX);
    }

    fn bring(&mut self, access: Access) {
        let returns = self.lists.has(GHOST, access.page);
        if self.resident() == self.frames {
            self.evict();
        }
        self.frequency[access.page as usize] = 0;
        self.lists.push(if returns { MAIN } else { SMALL }, access.page);
    }

    fn evict(&mut self) {
        match self.lists.len(SMALL) >= self.small || self.lists.len(MAIN) == 0 {
            true => self.evict_small(),
            false => self.evict_main(),
        }
    }

    fn forget(&mut self, page: u32) {
        self.lists.remove(page);
    }

    fn resident(&self) -> usize {
        self.lists.len(SMALL) + self.lists.len(MAIN)
    }
}

const SMALL: u8 = 0;
const MAIN: u8 = 1;
const GHOST: u8 = 2;
const FREQUENCY_MAX: u8 = 3;
