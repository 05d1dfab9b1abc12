//! Memory that a fault needs while it is served: the stack of a signal handler is small, and it may
//! not allocate.

use rdma::{WORD_BYTES, Write};

use crate::page::page_state::PageState;
use crate::range::RUN_PAGES;
use crate::{PAGE_BYTES, Page};

/// Pages moved at once: more gain nothing, and hold locks for longer.
pub const BATCH_PAGES: usize = 256;

/// Words of a page.
pub const PAGE_WORDS: usize = PAGE_BYTES / WORD_BYTES;

/// A page that was locked.
#[derive(Clone, Copy)]
pub struct Locked {
    pub page: Page,
    /// Where it was.
    pub was: PageState,
    /// It is written and stays mapped, though others of the batch are dropped.
    pub stays: bool,
}

/// Budget for the pages of one fetch and for one batch of pages that are evicted. Its raw pointers are never followed
/// outside the call that sets them.
pub struct WorkArea {
    /// Where pages arrive; room for [`RUN_PAGES`].
    pub bounce: Box<[u64]>,
    /// The batch: locked pages in ascending order.
    pub locked: [Locked; BATCH_PAGES],
    pub locked_count: usize,
    pub writes: [Write; BATCH_PAGES],
    pub iovecs: [libc::iovec; BATCH_PAGES],
}

// SAFETY: see above.
unsafe impl Send for WorkArea {}

impl WorkArea {
    /// An empty one, on the heap.
    pub fn boxed() -> Box<WorkArea> {
        Box::new(WorkArea {
            bounce: vec![0; RUN_PAGES * PAGE_WORDS].into_boxed_slice(),
            locked: [Locked { page: Page(0), was: PageState::Zero, stays: false }; BATCH_PAGES],
            locked_count: 0,
            writes: [Write { offset: 0, from: std::ptr::null(), words: 0 }; BATCH_PAGES],
            iovecs: [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH_PAGES],
        })
    }

    /// Adds a page that the caller has just locked.
    pub fn push(&mut self, one: Locked) {
        self.locked[self.locked_count] = one;
        self.locked_count += 1;
    }

    /// The pages of the batch.
    pub fn locked(&self) -> &[Locked] {
        &self.locked[..self.locked_count]
    }

    /// Those of the batch that do not stay.
    pub fn going(&self) -> impl Iterator<Item = &Locked> {
        self.locked().iter().filter(|one| !one.stays)
    }

    /// Has it no room left?
    pub fn is_full(&self) -> bool {
        self.locked_count == BATCH_PAGES
    }
}
