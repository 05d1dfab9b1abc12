//! A thread that moves pages around while others count in them.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::atomic::Ordering;

use swap::{Page, PageRange};

use super::{BLOCK_PAGES, Failure, Shared};
use crate::harness::rng::Rng;

/// The operations of a disturber so far.
pub struct Disturber {
    pub number: usize,
    /// How often it pinned a page and had the system write a number into it, by page.
    pub counts: Vec<u64>,
    slot: usize,
    random: Rng,
}

impl Disturber {
    pub fn new(shared: &Shared<'_>, number: usize) -> Disturber {
        let slot = shared.plan.threads + number;
        let random = Rng::new(shared.plan.seed.wrapping_mul(1000).wrapping_add(slot as u64));
        Disturber { number, counts: vec![0; shared.plan.pages], slot, random }
    }

    /// Which word of a page is its own.
    pub fn slot(&self) -> usize {
        self.slot
    }

    /// Disturbs until time is over.
    pub fn work(mut self, shared: &Shared<'_>) -> Result<Disturber, Failure> {
        let mut pipe = io::pipe().map_err(Failure::Start)?;
        let pager = &shared.far.pager;
        while !shared.is_over() {
            let range = self.range(shared, 100);
            match self.random.below(20) {
                0..6 => drop(pager.write_back(range)),
                6..11 => self.evict(shared),
                11..13 => drop(pager.fetch(range)),
                13 => pager.populate(range),
                14..18 => self.pin(shared, &mut pipe)?,
                18 => self.discard(shared)?,
                _ => self.hand_over(shared)?,
            }
            shared.beat();
        }
        Ok(self)
    }

    /// Some of the pages with counters.
    fn range(&mut self, shared: &Shared<'_>, most: usize) -> PageRange {
        let count = self.random.between(1, most);
        PageRange::new(Page(self.random.below(shared.plan.pages - count)), count)
    }

    /// Pages of one block that no other thread pins or evicts until it is given back.
    fn claim(&mut self, shared: &Shared<'_>, most: usize) -> Option<(usize, PageRange)> {
        let block = self.random.below(shared.plan.pages / BLOCK_PAGES);
        if shared.far.claims[block].swap(true, Ordering::Acquire) {
            return None;
        }
        let count = self.random.between(1, most);
        let first = block * BLOCK_PAGES + self.random.below(BLOCK_PAGES + 1 - count);
        Some((block, PageRange::new(Page(first), count)))
    }

    fn evict(&mut self, shared: &Shared<'_>) {
        let Some((block, range)) = self.claim(shared, BLOCK_PAGES) else { return };
        shared.far.pager.evict(range);
        shared.far.claims[block].store(false, Ordering::Release);
    }

    /// While pages are pinned, system calls write into them, and they stay where they are.
    fn pin(
        &mut self,
        shared: &Shared<'_>,
        pipe: &mut (PipeReader, PipeWriter),
    ) -> Result<(), Failure> {
        let Some((block, range)) = self.claim(shared, PINNED_PAGES) else { return Ok(()) };
        let pager = &shared.far.pager;
        let mut done = Ok(());
        // Others may have pinned too much already.
        if pager.pin(range).is_ok() {
            for page in range.pages() {
                let Page(page) = page;
                self.counts[page] += 1;
                let bytes = self.counts[page].to_ne_bytes();
                let into = shared.far.own_bytes(page, shared.far.word_of(self.slot));
                pipe.1.write_all(&bytes).map_err(Failure::Start)?;
                let read = pipe.0.read_exact(into);
                done = done.and(read.map_err(|source| Failure::Pinned { page, source }));
                if self.random.chance(20) {
                    pager.write_back(range);
                }
            }
            if let Some(page) = range.pages().find(|page| !pager.is_dirty(*page)) {
                let (whose, word) = (format!("pinned by disturber {}", self.number), 0);
                done = done.and(Err(shared.lost(page.0, word, &whose, 1, 0)));
            }
            pager.unpin(range);
        }
        shared.far.claims[block].store(false, Ordering::Release);
        done
    }

    /// Fills its own pages, has some moved out, and makes them zero.
    fn discard(&mut self, shared: &Shared<'_>) -> Result<(), Failure> {
        let own = self.own(shared);
        let whole = PageRange::new(Page(own), BLOCK_PAGES);
        for page in own..own + BLOCK_PAGES {
            shared.far.word(page, 0).store(page as u64, Ordering::Relaxed);
        }
        match self.random.below(3) {
            0 => drop(shared.far.pager.evict(whole)),
            1 => drop(shared.far.pager.write_back(whole)),
            _ => {}
        }
        let what = match self.random.chance(50) {
            true => {
                shared.far.pager.discard(whole);
                "a hole"
            }
            false => {
                shared.far.pager.vacate(whole);
                "a vacated page"
            }
        };
        // A page that was read once may be evicted before it is read again.
        for page in (own..own + BLOCK_PAGES).chain(own..own + BLOCK_PAGES) {
            self.compare(shared, page, what, 0)?;
        }
        Ok(())
    }

    /// Gives own pages to the server, where an agent writes them, and takes them back.
    fn hand_over(&mut self, shared: &Shared<'_>) -> Result<(), Failure> {
        let (far, own) = (shared.far, self.own(shared));
        let value = self.random.bits();
        for page in own..own + HANDED_PAGES {
            far.word(page, 0).store(value, Ordering::Relaxed);
        }
        far.pager.evict(PageRange::new(Page(own), BLOCK_PAGES));
        for page in own..own + HANDED_PAGES {
            let found = far.on_server(page, 0).map_err(Failure::Start)?;
            if found != value {
                return Err(shared.lost(page, 0, "what was handed over", value, found));
            }
            far.write_on_server(page, 0, value ^ 1).map_err(Failure::Start)?;
        }
        for page in own..own + HANDED_PAGES {
            self.compare(shared, page, "what an agent wrote", value ^ 1)?;
        }
        Ok(())
    }

    fn compare(
        &self,
        shared: &Shared<'_>,
        page: usize,
        what: &str,
        expected: u64,
    ) -> Result<(), Failure> {
        shared.beat();
        let found = shared.far.word(page, 0).load(Ordering::Relaxed);
        if found == expected {
            return Ok(());
        }
        let whose = format!("disturber {}, {what},", self.number);
        Err(shared.lost(page, 0, &whose, expected, found))
    }

    /// The first of the pages that no other thread touches.
    fn own(&self, shared: &Shared<'_>) -> usize {
        shared.plan.pages.next_multiple_of(BLOCK_PAGES) + self.number * BLOCK_PAGES
    }
}

/// Pages that are pinned at a time.
const PINNED_PAGES: usize = 16;
/// Pages that an agent writes at a time.
const HANDED_PAGES: usize = 8;
