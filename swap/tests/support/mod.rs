//! A pager over segments in the same process, and words of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rdma::{PeerId, Segment, ShmSegment};
use swap::{PAGE_BYTES, Page, PageRange, Pager, PagerOptions, SwapError};

pub const WORDS: usize = PAGE_BYTES / 8;

/// A pager over two servers that share pages in runs of 64. `None` where userfaultfd is not allowed.
pub fn far(pages: usize, budget: usize) -> Option<(Arc<Pager>, [Arc<ShmSegment>; 2])> {
    far_with(pages, budget, PagerOptions::default())
}

pub fn far_with(
    pages: usize,
    budget: usize,
    options: PagerOptions,
) -> Option<(Arc<Pager>, [Arc<ShmSegment>; 2])> {
    let segment =
        |n| Arc::new(ShmSegment::create(PeerId::Server(n), (pages * PAGE_BYTES) as u64).unwrap());
    let segments = [segment(0), segment(1)];
    let stores = segments.iter().map(|s| s.clone() as Arc<dyn Segment>).collect();
    let options = PagerOptions {
        far_bytes: pages * PAGE_BYTES,
        budget_bytes: budget * PAGE_BYTES,
        owner: Box::new(|page| page.0 / 64 % 2),
        run_after: Box::new(|page| 63 - page.0 % 64),
        ..options
    };
    match Pager::new(options, stores) {
        Ok(pager) => Some((pager, segments)),
        Err(error @ SwapError::Userfaultfd { .. }) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

pub fn signals() -> PagerOptions {
    PagerOptions { kernel_notes_writes: false, ..PagerOptions::default() }
}

pub fn word(pager: &Pager, page: usize, index: usize) -> &AtomicU64 {
    assert!(index < WORDS);
    // SAFETY: inside the far space, aligned, and as long-lived as the pager.
    unsafe { AtomicU64::from_ptr(pager.address(Page(page)).cast::<u64>().add(index)) }
}

pub fn load(pager: &Pager, page: usize, index: usize) -> u64 {
    word(pager, page, index).load(Ordering::SeqCst)
}

pub fn store(pager: &Pager, page: usize, index: usize, value: u64) {
    word(pager, page, index).store(value, Ordering::SeqCst);
}

pub fn pages(start: usize, count: usize) -> PageRange {
    PageRange::new(Page(start), count)
}
