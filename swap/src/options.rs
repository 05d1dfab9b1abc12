//! How a pager is made.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use rdma::Segment;

use crate::stats::fault_trace::PAGES_MAX;
use crate::{Chase, PAGE_BYTES, Page, PrefetcherKind, SwapError};

/// Options of [`crate::Pager::new`].
pub struct PagerOptions {
    /// Length of the far space in bytes, a multiple of the page size.
    pub far_bytes: usize,
    /// How much of it may be in local memory at any time; at least
    /// [`PagerOptions::BUDGET_BYTES_MIN`]. As large as `far_bytes` or larger: nothing is ever
    /// evicted for lack of room.
    pub budget_bytes: usize,
    /// The budget may change later ([`crate::Pager::set_budget`]), also below the far space if it is not so now.
    pub budget_changes: bool,
    /// Which server (index into the stores) holds a page. Called from the fault handler: it must be
    /// async-signal-safe, fast, and always answer the same for a page.
    pub owner: Box<dyn Fn(Page) -> usize + Send + Sync>,
    /// How many pages after this one may be brought ahead of time together with it. They must
    /// belong to the same server, and while a thread of this process may fault on the page, no
    /// agent may be changing them: a page brought too early would be stale, and could overwrite
    /// the agent's writes. 0 is always right. Called from the fault handler, as `owner` is, and
    /// once more when the pages are locked: an owner that answers with less, and discards or evicts
    /// the pages then, finds none of them brought ahead afterwards.
    pub run_after: Box<dyn Fn(Page) -> usize + Send + Sync>,
    /// Which words lead to other pages, which then come with the word's.
    pub chase: Option<Arc<dyn Chase>>,
    /// The prefetcher, which foresees faults. Works where `run_after` lets it.
    pub prefetcher: PrefetcherKind,
    /// Walks in order through more memory than there is room for take the frames of the pages that they have passed.
    pub recycle_frames: bool,
    /// Frames of whole runs of pages that are evicted, discarded or invalidated by the pager's user may be kept for
    /// others, up to this many percent of the budget, while there is room; 0 = none. Needs `recycle_frames`.
    pub frame_cache_percent: u32,
    /// The frames that the evictor keeps free at least, in thousandths of the budget. It keeps more, up to a sixteenth,
    /// while faults use them up faster than it frees others.
    pub reserve_permille: u32,
    /// The evictor finds and cleans pages that can be evicted before room is short, and a fault that finds no room
    /// takes the frame of one of these.
    pub clean_ahead: bool,
    /// The kernel notes which pages are written (since Linux 6.7), where it can; otherwise each first write raises a
    /// signal.
    pub kernel_notes_writes: bool,
    /// A page that comes back soon after its eviction stays for more rounds of the replacement: twice as many each
    /// time, up to this number.
    pub replacement_rounds: u32,
    /// Pages that a thread fetches while it traces ([`crate::Activity`]) stay until the clock's hand passes them: other
    /// pages stay for a round more.
    pub traced_pages_pass: bool,
    /// One forecast in this many is cut short, to find out how many pages that are brought ahead are used; 0 = none.
    pub probe_one_in: u32,
    /// How many faults that fetch a page are kept as a sample ([`crate::Pager::fault_samples`]); 0 = none.
    pub trace_samples: usize,
    /// An epoch ends when this many percent of the pages in local memory have changed ([`crate::Pager::epoch`]).
    pub epoch_percent: u32,
    /// Parts of the far space are committed ([`crate::Pager::commit`]) before any thread touches them. Otherwise all of
    /// it is committed at once, which the system may refuse if it does not overcommit memory.
    pub commits: bool,
    /// The far space should lie within these addresses, or at least before their end, where there is room.
    pub within: Option<Range<usize>>,
    /// All accesses to pages are written to this file, and no page is ever evicted ([`crate::PageTraceFile`]). Servers
    /// must share their memory with this process.
    pub page_trace: Option<File>,
    /// The far space is the private anonymous mapping of `far_bytes` that begins at this address
    /// (whole pages). No thread has touched it yet; its protection does not matter, except that
    /// pages which the pager may bring (`run_after`) or has brought must stay readable. The pager
    /// takes it over, and unmaps it in the end.
    pub at: Option<usize>,
}

impl PagerOptions {
    /// The smallest budget: enough for every batch in flight and for the pages that one instruction touches.
    pub const BUDGET_BYTES_MIN: usize = 256 * PAGE_BYTES;

    pub(crate) fn check(&self, stores: &[Arc<dyn Segment>]) -> Result<(), SwapError> {
        let complain = |what: String| Err(SwapError::Options(what));
        if self.far_bytes == 0 || !self.far_bytes.is_multiple_of(PAGE_BYTES) {
            return complain(format!("a far space of {} bytes is not whole pages", self.far_bytes));
        }
        if let Some(at) = self.at.filter(|at| !at.is_multiple_of(PAGE_BYTES)) {
            return complain(format!("a far space at {at:#x} does not begin with a page"));
        }
        if self.budget_bytes < Self::BUDGET_BYTES_MIN.min(self.far_bytes) {
            return complain(format!(
                "local memory of {} bytes is too small; the minimum is {} bytes",
                self.budget_bytes,
                Self::BUDGET_BYTES_MIN
            ));
        }
        if self.trace_samples > 0 && self.far_bytes / PAGE_BYTES > PAGES_MAX {
            return complain(format!(
                "faults of a far space of {} bytes cannot be sampled (FaultTrace); the maximum is {} bytes",
                self.far_bytes,
                PAGES_MAX * PAGE_BYTES
            ));
        }
        if stores.is_empty() {
            return complain("a pager needs at least one memory server".into());
        }
        if let Some(small) = stores.iter().find(|store| store.bytes() < self.far_bytes as u64) {
            let (bytes, far_bytes) = (small.bytes(), self.far_bytes);
            return complain(format!(
                "a segment of {bytes} bytes is too small for a far space of {far_bytes} bytes"
            ));
        }
        Ok(())
    }
}

impl Default for PagerOptions {
    fn default() -> PagerOptions {
        PagerOptions {
            far_bytes: 0,
            budget_bytes: 0,
            budget_changes: false,
            owner: Box::new(|_| 0),
            run_after: Box::new(|_| 0),
            chase: None,
            prefetcher: PrefetcherKind::default(),
            recycle_frames: true,
            frame_cache_percent: 100,
            reserve_permille: 8,
            clean_ahead: true,
            kernel_notes_writes: true,
            replacement_rounds: 16,
            traced_pages_pass: true,
            probe_one_in: 32,
            trace_samples: 0,
            epoch_percent: 10,
            commits: false,
            within: None,
            page_trace: None,
            at: None,
        }
    }
}
