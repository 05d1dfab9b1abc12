//! The pager: what its users call.

use std::sync::Arc;

use rdma::Segment;

use crate::{Page, PageRange, PagerOptions, PagerStats, SwapError};

/// One far space. Dropping the last reference unmaps it; nobody may touch its addresses then.
///
/// All methods may be called from any thread, not from signal handlers. Ranges must lie inside the far space, or
/// the method panics. In a local pager ([`Pager::local`]) every page counts as resident and clean.
pub struct Pager {}

impl Pager {
    /// Reserves the far space and begins to serve its faults. `stores[i]` is the memory of server `i`.
    pub fn new(
        options: PagerOptions,
        stores: Vec<Arc<dyn Segment>>,
    ) -> Result<Arc<Pager>, SwapError> {
        options.check(stores.len())?;
        unimplemented!("Pager::new")
    }

    /// The same without far memory: plain local memory, in which every operation is free. [`Pager::discard`] gives
    /// memory back to the operating system, all others do nothing.
    pub fn local(_far_bytes: usize) -> Result<Arc<Pager>, SwapError> {
        unimplemented!("Pager::local")
    }

    /// True for a pager made with [`Pager::local`].
    pub fn is_local(&self) -> bool {
        unimplemented!("Pager::is_local")
    }

    /// Address of the far space's first byte. Fixed for the life of the pager; aligned to 1 GiB.
    pub fn base(&self) -> *mut u8 {
        unimplemented!("Pager::base")
    }

    /// Length of the far space in bytes.
    pub fn far_bytes(&self) -> usize {
        unimplemented!("Pager::far_bytes")
    }

    /// Address of a page.
    pub fn address(&self, _page: Page) -> *mut u8 {
        unimplemented!("Pager::address")
    }

    /// The page of an address, `None` when it is outside.
    pub fn page_of(&self, _address: *const u8) -> Option<Page> {
        unimplemented!("Pager::page_of")
    }

    /// Writes the dirty pages of the range to their servers and keeps them mapped, clean. Writers wait for single
    /// pages meanwhile, readers do not. Returns how many pages were written.
    pub fn write_back(&self, _range: PageRange) -> usize {
        unimplemented!("Pager::write_back")
    }

    /// Writes the dirty pages of the range and drops all of them from local memory. Panics on a pinned page.
    /// Returns how many pages were written.
    pub fn evict(&self, _range: PageRange) -> usize {
        unimplemented!("Pager::evict")
    }

    /// Makes the range zero, here and on the servers, and frees its memory in both places. Nobody may be using the
    /// range. Panics on a pinned page.
    pub fn discard(&self, _range: PageRange) {
        unimplemented!("Pager::discard")
    }

    /// Drops the local copies without writing them: the server's version is the newer one. Pages that were never
    /// touched here count as remote afterwards, since an agent may have written them. Panics on a pinned page.
    pub fn invalidate(&self, _range: PageRange) {
        unimplemented!("Pager::invalidate")
    }

    /// Brings the range into local memory and keeps it there until as many [`Pager::unpin`]. System calls work
    /// on pinned pages for reading and writing. Fails when the budget has no room for it.
    pub fn pin(&self, _range: PageRange) -> Result<(), SwapError> {
        unimplemented!("Pager::pin")
    }

    /// Undoes one [`Pager::pin`] of the same range.
    pub fn unpin(&self, _range: PageRange) {
        unimplemented!("Pager::unpin")
    }

    /// Brings the pages of the range that are remote into local memory, as far as the budget has room without
    /// evicting more than the range is long. A hint: returns how many were fetched.
    pub fn fetch(&self, _range: PageRange) -> usize {
        unimplemented!("Pager::fetch")
    }

    /// Maps never-written pages of the range, zero and dirty, without faults: for a new allocation buffer.
    pub fn populate(&self, _range: PageRange) {
        unimplemented!("Pager::populate")
    }

    /// Is the page in local memory? True now says nothing about later, unless it is pinned.
    pub fn is_resident(&self, _page: Page) -> bool {
        unimplemented!("Pager::is_resident")
    }

    /// Is the page in local memory and newer than the server's?
    pub fn is_dirty(&self, _page: Page) -> bool {
        unimplemented!("Pager::is_dirty")
    }

    /// The pages of the range that are newer here than on their servers, in order.
    pub fn dirty_pages(&self, _range: PageRange) -> Vec<Page> {
        unimplemented!("Pager::dirty_pages")
    }

    /// How many pages are in local memory now.
    pub fn resident_pages(&self) -> usize {
        unimplemented!("Pager::resident_pages")
    }

    /// The budget in pages.
    pub fn budget_pages(&self) -> usize {
        unimplemented!("Pager::budget_pages")
    }

    /// The server that holds a page.
    pub fn owner(&self, _page: Page) -> usize {
        unimplemented!("Pager::owner")
    }

    /// Everything that write_back and evict wrote before is visible on the servers before any message sent later.
    /// Both return only then anyway; this is for one who has not called them himself.
    pub fn fence(&self) {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    }

    /// The counters.
    pub fn stats(&self) -> PagerStats {
        unimplemented!("Pager::stats")
    }
}
