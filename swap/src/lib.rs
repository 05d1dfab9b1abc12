//! The far-memory pager: a range of addresses of which only a limited number of pages is in local
//! memory; the rest lives on memory servers. Knows pages, not objects.
//!
//! # How a page moves
//!
//! ```text
//!            first touch                write fault
//!    Zero ───────────────► Clean ◄───────────────────► Dirty
//!     ▲                     │  ▲      write_back         │
//!     │ discard     evict / │  │ read fault              │ evict (writes first)
//!     │          invalidate ▼  │                         │
//!     └──────────────────  Remote  ◄─────────────────────┘
//! ```
//!
//! * The range is registered with userfaultfd in SIGBUS mode: the thread that touches a missing
//!   page gets a signal, and in its handler fetches that page itself. No handler thread, no queue.
//! * Pages that were fetched for reading are mapped write-protected. The kernel notes the first write (`written`), and
//!   the pager asks it. Where it cannot, the first write raises the same signal, and the page becomes dirty before the
//!   write happens. Pages that come along with a walk that writes page after page count as dirty at once.
//! * The budget is hard. A fault that would exceed it evicts first. A background thread keeps a few
//!   pages free, so that faults seldom have to; it finds and cleans pages that can be evicted, ahead of need
//!   (`ready`). The budget may change (`budget`); several VMs may share one (`share`).
//! * A walk in order through more memory than there is room for takes the frames of the pages that it has passed
//!   (`frame_reuse`), and needs no eviction. Frames of whole ranges that are evicted or freed are kept for other
//!   pages (`frame_cache`).
//! * Eviction locks the page, drops it while its frame is held, and writes the frame's final contents to its server
//!   (`departure`); where writes raise signals, it write-protects the page, copies it to its server, and drops it. No
//!   write is lost.
//!
//! # What callers must know
//!
//! * **System calls on missing pages fail with EFAULT.** Copy through local buffers, or
//!   [`Pager::pin`] first.
//! * Faults happen on any thread and any instruction that touches the range. The handler blocks
//!   other signals while it runs, preserves `errno`, and runs on the thread's alternate stack if it
//!   has one (make it 32 KiB or more).
//! * Code that holds none of the pager's own locks may fault; all of the pager's entry points may
//!   be called from any thread, but not from signal handlers.
//! * A lost server, or any failure to bring a page, ends the process with one line on stderr and
//!   exit code 1: there is no way to return from a fault without the page. Where the stores have two
//!   copies of each page (`rdma::Mirrored`) the loss of one is survived, and a [`Keeper`] makes another copy.
//!
//! # Order between data and messages
//!
//! [`Pager::write_back`] and [`Pager::evict`] return after the data is in the server's segment. A
//! message sent afterwards through an `rdma::Channel` is received after the data is visible.
//! Neither stops other threads from dirtying the pages again; a caller that needs that (Mako's
//! region hand-over) must first keep mutators out.
//!
//! # Example
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use swap::{PageRange, Pager, PagerOptions};
//! # fn demo(fleet: &rdma::spawn::Fleet) -> Result<(), swap::SwapError> {
//! let options = PagerOptions {
//!     far_bytes: 1 << 30,
//!     budget_bytes: 256 << 20,
//!     owner: Box::new(|page| page.0 / 1024 % 2),    // 4 MiB regions, dealt out to two servers
//!     ..PagerOptions::default()
//! };
//! let pager: Arc<Pager> = Pager::new(options, fleet.segments())?;
//! let region = PageRange::of_bytes(8 << 20, 4 << 20);    // bytes from, length
//! let p = pager.address(region.start).cast::<u64>();
//! unsafe { p.write(42) };                  // faults, is served, becomes dirty
//! pager.evict(region);                     // now only the server has it
//! fleet.channel(0).send(b"region 2 is yours")?;
//! // ... the agent changes the region, says so ...
//! assert_eq!(unsafe { p.read() }, 42);     // faults again, fetches the agent's version
//! # Ok(()) }
//! ```

// Output is printed by `base::say` and its like, which do not panic.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod engine;
mod error;
mod frames;
mod keeper;
mod kernel;
mod options;
mod page;
mod page_trace;
mod pager;
mod range;
mod replacement;
mod share;
mod snapshot;
mod stats;
mod sync;
mod transfer;

pub use error::SwapError;
pub use keeper::{Keeper, KeeperOptions, Loss, LossReport, SurvivalStats};
pub use kernel::priority::{RaisedPriority, take_small_slices};
pub use kernel::reservation::Reservation;
pub use kernel::residence::resident_bytes;
pub use kernel::uffd::Userfaultfd;
pub use options::PagerOptions;
pub use page_trace::{PageAction, PageEvent, PageTraceFile};
pub use pager::Pager;
pub use range::{PAGE_BYTES, Page, PageRange};
pub use replacement::chase::Chase;
pub use replacement::prefetch::PrefetcherKind;
pub use share::{Membership, PoolChange, PoolMember, PoolOptions, PoolReport, PoolStatus};
pub use snapshot::PageSnapshot;
pub use stats::fault_profile::{FaultObserver, Interrupted, ONE_IN_MAX, ObservedFault};
pub use stats::fault_trace::{FaultSample, FaultSamples};
pub use stats::latency::{LATENCY_BUCKETS, Latencies};
pub use stats::{
    Activity, During, FaultCause, PagerStats, ThreadClass, activity, during, set_thread_class,
    thread_class, thread_fetch_faults,
};
