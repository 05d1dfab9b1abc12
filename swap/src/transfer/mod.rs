//! The transfer of pages from and to their servers.

pub mod arrival;
pub mod departure;
pub mod leaving;
pub mod protection;
pub mod snapshot;
pub mod work_area;

use std::sync::Arc;

use base::die;
use rdma::{Mapped, Segment, Write};

use crate::kernel::slots::{Claim, Slots};
use crate::transfer::snapshot::KeptPages;
use crate::transfer::work_area::{PAGE_WORDS, WorkArea};
use crate::{PAGE_BYTES, Page};

/// The servers of one far space, and the buffers of pages in transfer. Any thread; all but `new` is
/// async-signal-safe. A failure of a server ends the process.
pub struct Transfer {
    stores: Vec<Arc<dyn Segment>>,
    owner: Box<dyn Fn(Page) -> usize + Send + Sync>,
    areas: Slots<Box<WorkArea>>,
    kept: KeptPages,
}

impl Transfer {
    /// For a far space of `pages` pages. `owner` says which of the `stores` has a page, as
    /// [`PagerOptions::owner`](crate::PagerOptions::owner).
    pub fn new(
        pages: usize,
        stores: Vec<Arc<dyn Segment>>,
        owner: Box<dyn Fn(Page) -> usize + Send + Sync>,
    ) -> Transfer {
        let areas = (0..FAULTS_AT_ONCE).map(|_| WorkArea::boxed()).collect();
        Transfer { stores, owner, areas, kept: KeptPages::new(pages) }
    }

    /// Which server has a page.
    #[inline]
    pub fn owner(&self, page: Page) -> usize {
        (self.owner)(page)
    }

    /// A work area, waiting until one is free. A thread that has one never waits for a page lock.
    #[inline]
    pub fn claim_area(&self) -> Claim<'_, Box<WorkArea>> {
        self.areas.claim()
    }

    /// The pages of the snapshot.
    pub fn kept(&self) -> &KeptPages {
        &self.kept
    }

    /// Where the server's memory of `pages` pages from `page` on is mapped, if it is.
    #[inline]
    pub fn mapped(&self, page: Page, pages: usize) -> Option<Mapped<'_>> {
        self.store(page).mapped(page.offset() as u64, (pages * PAGE_BYTES) as u64)
    }

    /// Reads a run of pages of one server, and hands `arrive` their address. `is_still`: no agent is writing them
    /// on their server, as it must be with pages that come along with others
    /// ([`PagerOptions::run_after`](crate::PagerOptions::run_after)). Then no word can tear, and the address is in
    /// the server's segment, if that is mapped in this process.
    #[inline]
    pub fn read(&self, page: Page, count: usize, is_still: bool, arrive: impl FnOnce(*const u8)) {
        match is_still.then(|| self.mapped(page, count)).flatten() {
            Some(from) => arrive(from.at()),
            None => self.read_in(&mut self.claim_area(), page, count, arrive),
        }
    }

    /// The same, through a work area.
    fn read_in(
        &self,
        area: &mut WorkArea,
        page: Page,
        count: usize,
        arrive: impl FnOnce(*const u8),
    ) {
        let words = &mut area.bounce[..count * PAGE_WORDS];
        if let Err(error) = self.store(page).read(page.offset() as u64, words) {
            die(format_args!("page {} cannot be fetched: {error}", page.0));
        }
        arrive(words.as_ptr().cast());
    }

    /// Writes pages, each with the contents at an address, to their servers. Returns how many.
    ///
    /// # Safety
    /// The memory at the addresses stays mapped meanwhile.
    pub unsafe fn write(
        &self,
        writes: &mut [Write],
        pages: impl Iterator<Item = (Page, *const u64)> + Clone,
    ) -> usize {
        self.save(pages.clone().map(|(page, _)| page));
        let mut written = 0;
        for (server, store) in self.stores.iter().enumerate() {
            let mut count = 0;
            for (page, from) in pages.clone().filter(|(page, _)| self.owner(*page) == server) {
                let offset = page.offset() as u64;
                writes[count] = Write { offset, from, words: PAGE_WORDS };
                count += 1;
            }
            if count == 0 {
                continue;
            }
            // SAFETY: promised by the caller.
            if let Err(error) = unsafe { store.write_batch(&writes[..count]) } {
                die(format_args!("{count} pages cannot be written: {error}"));
            }
            written += count;
        }
        written
    }

    /// Makes pages of one server zero on it. Not in a fault.
    pub fn punch(&self, page: Page, count: usize) {
        self.save((0..count).map(|n| Page(page.0 + n)));
        let (offset, bytes) = (page.offset() as u64, (count * PAGE_BYTES) as u64);
        if let Err(error) = self.store(page).punch(offset, bytes) {
            die(format_args!("page {} cannot be discarded: {error}", page.0));
        }
    }

    /// Copies pages of one server to a server that took the place of a lost one. Returns how many bytes were written
    /// to it. Not in a fault.
    pub fn repair(&self, page: Page, count: usize) -> u64 {
        match self.store(page).repair(page.offset() as u64, (count * PAGE_BYTES) as u64) {
            Ok(written) => written,
            Err(error) => die(format_args!("page {} cannot be copied: {error}", page.0)),
        }
    }

    #[inline]
    fn store(&self, page: Page) -> &Arc<dyn Segment> {
        &self.stores[self.owner(page)]
    }
}

/// Threads that can be inside a fault without waiting for one another.
const FAULTS_AT_ONCE: usize = 64;
