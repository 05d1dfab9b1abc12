//! Roots: the references that a client itself has.
//!
//! ```text
//!   0        8        16               32                       4096
//!   +--------+--------+----------------+------ ... -------------+
//!   | next   | unused | root           | root                   |
//!   +--------+--------+----------------+------ ... -------------+
//!                      object | copies
//! ```
//!
//! A page is a block of the heap. A client's pages are a list that begins in its holding. `copies` counts the copies of
//! a root's handle in the client, but for the first; recovery does not need it.

use super::holder::{Holder, Memory};
use super::holding::{HOLDING_BYTES, PAGES_AT};
use super::memory::HeapMemory;
use crate::PoolError;
use crate::crash::crash_point;
use crate::flaw::flawed;
use crate::sync::{own, put};
use std::sync::atomic::Ordering;

/// Bytes of a page. Tests come to a second one soon.
const PAGE_BYTES: u64 = if cfg!(test) { 64 } else { 4096 };
const FIRST_AT: u64 = 16;
/// Bytes of a root.
const ROOT_BYTES: u64 = 16;

/// Where the copies are counted for the root at this offset.
pub(super) fn copies_at(root: u64) -> u64 {
    root + 8
}

/// The roots of a page.
pub(super) fn roots_of(page: u64) -> impl DoubleEndedIterator<Item = u64> {
    let count = (PAGE_BYTES - FIRST_AT) / ROOT_BYTES;
    (0..count).map(move |n| page + FIRST_AT + n * ROOT_BYTES)
}

impl Holder<'_, HeapMemory<'_>> {
    /// Allocates a page. Returns its roots, all of which are empty.
    #[cold]
    pub(super) fn add_page(&self) -> Result<impl Iterator<Item = u64> + use<>, PoolError> {
        let rest = own(&self.holding.pages);
        let blocks = &self.memory.blocks;
        let page = blocks.alloc_into(self.pages_at(), PAGE_BYTES, |page| {
            for at in (page..page + PAGE_BYTES).step_by(8) {
                let word = blocks.cell(at).expect("blocks are data of the pool");
                word.store(if at == page { rest } else { 0 }, Ordering::Relaxed);
            }
        })?;
        // Taken from the last on.
        Ok(roots_of(page).rev())
    }

    /// Releases all roots, frees what dies by it, and frees the pages. May be repeated. Takes time in proportion to the
    /// pages and to what is freed.
    pub(super) fn release_all(&self) -> Result<(), PoolError> {
        if flawed!(self.table, NoRootRelease) {
            return Ok(());
        }
        self.drain()?;
        let holding = self.holding;
        loop {
            let [page, next] = [&holding.pages, &holding.next].map(own);
            if page == 0 || page == next {
                // A page was freed, or there is none.
                if page == 0 && next == 0 {
                    return Ok(());
                }
                put(&holding.pages, next);
                crash_point!("refs.page_taken");
                put(&holding.next, 0);
                crash_point!("refs.page_freed");
                continue;
            }
            for root in roots_of(page) {
                let object = own(self.memory.cell(root)?);
                if object != 0 {
                    self.release_root(root, object)?;
                }
            }
            let rest = own(self.memory.cell(page)?);
            if rest == 0 {
                self.memory.free_from(self.pages_at())?;
                continue;
            }
            put(&holding.next, rest);
            crash_point!("refs.page_aimed");
            self.memory.free_from(self.pages_at())?;
        }
    }

    /// Takes back all that the client has: its step, its roots, and its announcement to look at objects. May be
    /// repeated. Its change is finished before.
    pub(super) fn reclaim(&self) -> Result<(), PoolError> {
        self.settle()?;
        // What it looked at itself may be freed.
        self.unlist_reader();
        self.release_all()?;
        self.revisit()?;
        self.free_spares()
    }

    fn pages_at(&self) -> u64 {
        self.table.holdings_at + u64::from(self.id) * HOLDING_BYTES + PAGES_AT
    }
}
