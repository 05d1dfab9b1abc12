//! The pager itself, to which a trace is done again.

use std::io;
use std::sync::Arc;

use rdma::{PeerId, ShmSegment};
use swap::{
    PAGE_BYTES, Page, PageAction, PageRange, Pager, PagerOptions, PagerStats, PrefetcherKind,
    ThreadClass, set_thread_class,
};

use super::{Event, Trace};

/// Accesses the pages of a far space as a trace says, from one thread, with `frames` pages in local memory. Returns
/// what the pager counted.
///
/// # Errors
/// There is no userfaultfd, or no memory.
pub fn replay(trace: &Trace, frames: usize, prefetcher: PrefetcherKind) -> io::Result<PagerStats> {
    let far_bytes = trace.pages() * PAGE_BYTES;
    let segment =
        ShmSegment::create(PeerId::Server(0), far_bytes as u64).map_err(io::Error::other)?;
    let options = PagerOptions {
        far_bytes,
        budget_bytes: frames * PAGE_BYTES,
        run_after: Box::new(|_| usize::MAX),
        prefetcher,
        ..PagerOptions::default()
    };
    let pager = Pager::new(options, vec![Arc::new(segment)]).map_err(io::Error::other)?;
    for event in trace.events() {
        redo(&pager, *event);
    }
    set_thread_class(ThreadClass::Mutator);
    Ok(pager.stats())
}

fn redo(pager: &Pager, event: Event) {
    let range = PageRange::new(Page(event.page as usize), event.count as usize);
    match event.what {
        PageAction::Read => {
            set_thread_class(event.who);
            // SAFETY: inside the far space (checked by `address`), which is mapped.
            unsafe { pager.address(range.start).read_volatile() };
        }
        PageAction::Write | PageAction::Fresh => {
            set_thread_class(event.who);
            // SAFETY: as above; nobody relies on the contents.
            unsafe { pager.address(range.start).write_volatile(1) };
        }
        PageAction::Look => {}
        PageAction::WrittenBack => _ = pager.write_back(range),
        PageAction::Evicted => _ = pager.evict(range),
        PageAction::Invalidated => pager.invalidate(range),
        PageAction::Freed => pager.vacate(range),
        PageAction::Fetched => _ = pager.fetch(range),
    }
}
