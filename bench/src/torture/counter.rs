//! A thread that counts.

use std::sync::atomic::Ordering;

use super::{DISTURBERS, Failure, Shared};
use crate::harness::rng::Rng;

/// The counts of a thread so far.
pub struct Counter {
    pub thread: usize,
    /// By page.
    pub counts: Vec<u64>,
    random: Rng,
}

impl Counter {
    pub fn new(shared: &Shared<'_>, thread: usize) -> Counter {
        let random = Rng::new(shared.plan.seed.wrapping_mul(1000).wrapping_add(thread as u64));
        Counter { thread, counts: vec![0; shared.plan.pages], random }
    }

    /// Which word of a page is its own.
    pub fn slot(&self) -> usize {
        self.thread
    }

    /// Counts until time is over: in pages near a place that wanders, in pages anywhere, and in walks.
    pub fn work(mut self, shared: &Shared<'_>) -> Result<Counter, Failure> {
        let pages = shared.plan.pages;
        let mut near = self.random.below(pages);
        while !shared.is_over() {
            let (first, count) = match self.random.below(200) {
                0 => (self.random.below(pages), self.random.below(WALK_PAGES)),
                1..50 => (self.random.below(pages), 1),
                50 => {
                    near = self.random.below(pages);
                    (near, 1)
                }
                _ => (near + self.random.below(NEAR_PAGES), 1),
            };
            let checks = self.random.chance(30);
            for page in first..first + count {
                let page = page % pages;
                match checks {
                    true => self.check(shared, page)?,
                    false => self.count(shared, page),
                }
            }
        }
        Ok(self)
    }

    fn check(&self, shared: &Shared<'_>, page: usize) -> Result<(), Failure> {
        shared.expect(page, self.slot(), &format!("thread {}", self.thread), self.counts[page])
    }

    fn count(&mut self, shared: &Shared<'_>, page: usize) {
        self.counts[page] += 1;
        let far = shared.far;
        far.word(page, far.word_of(self.slot())).store(self.counts[page], Ordering::Relaxed);
        let all = far.word_of(shared.plan.threads + DISTURBERS);
        far.word(page, all).fetch_add(1, Ordering::Relaxed);
        shared.beat();
    }
}

const NEAR_PAGES: usize = 100;
const WALK_PAGES: usize = 300;
