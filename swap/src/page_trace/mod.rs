//! A far space that is not paged: the servers' memory itself is mapped, and each access to a page is written down.
//!
//! It is for replaying programs through policies of replacement (`gc-bench replay`). A pager that evicts pages sees
//! only accesses to those that it has evicted. Here every page stays, and a thread unmaps all of them each time that
//! a thousand were accessed ([`LOOK_PAGES`]) or [`LOOK_TIME`] has passed; a page's next access raises a signal, whose
//! handler writes it down and maps the page again (`UFFDIO_CONTINUE`, Linux 5.14). So the trace has for each page when
//! it was accessed, to the length of such a look, and by whom. Within a look the order is that of the first accesses.
//!
//! The collector is told the budget that it would have, so that it behaves as it would there. What it asks of the
//! pager is written down as well; eviction and write-back do nothing else, as servers and this process share the
//! pages.
//!
//! Writes are known where they are the first access of a look only.

mod event;
mod journal;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use base::die;
use rdma::Segment;

use crate::kernel::reservation::Reservation;
use crate::kernel::uffd::{Resolved, Userfaultfd};
use crate::page_trace::journal::Journal;
use crate::{PAGE_BYTES, Page, PageRange, PagerOptions, SwapError, thread_class};

pub use event::{PageAction, PageEvent, PageTraceFile};

/// A far space whose accesses are recorded. Any thread.
pub struct TracedSpace {
    range: Reservation,
    uffd: Userfaultfd,
    journal: Journal,
    stores: Vec<Arc<dyn Segment>>,
    owner: Box<dyn Fn(Page) -> usize + Send + Sync>,
    budget_pages: usize,
    /// Pages that system calls may access, and how many have pinned each: they stay mapped. Held while pages are
    /// unmapped.
    pinned: Mutex<BTreeMap<usize, u32>>,
}

impl TracedSpace {
    /// Maps the memory of the servers.
    ///
    /// # Errors
    /// It is not shared with this process, or the kernel lacks what is needed.
    pub fn new(
        options: PagerOptions,
        stores: Vec<Arc<dyn Segment>>,
    ) -> Result<TracedSpace, SwapError> {
        options.check(&stores)?;
        let pages = options.far_bytes / PAGE_BYTES;
        if pages > event::PAGES_MAX || options.at.is_some() || options.budget_changes {
            let why = "accesses are traced in heaps of at most 8 TiB with a budget of their own (PageTrace)";
            return Err(SwapError::Options(why.into()));
        }
        let range = match &options.within {
            Some(within) => Reservation::within(within, options.far_bytes, 1 << 30)?,
            None => Reservation::new(options.far_bytes, 1 << 30)?,
        };
        for (owner, part) in parts(&options.owner, PageRange::new(Page(0), pages)) {
            let (offset, bytes) = (part.start.offset(), part.bytes());
            let Some(from) = stores[owner].mapped(offset as u64, bytes as u64) else {
                let why = "accesses are traced where servers share their memory without a delay (PageTrace)";
                return Err(SwapError::Options(why.into()));
            };
            range.share(offset, from.at(), bytes)?;
        }
        range.advise(libc::MADV_DONTFORK)?;
        let uffd = Userfaultfd::of_shared(range.base(), range.bytes())?;
        let budget_pages = (options.budget_bytes / PAGE_BYTES).min(pages);
        let (journal, pinned) = (Journal::new(JOURNAL_SLOTS), Mutex::default());
        let owner = options.owner;
        Ok(TracedSpace { range, uffd, journal, stores, owner, budget_pages, pinned })
    }

    /// Where the far space begins.
    pub fn base(&self) -> usize {
        self.range.base()
    }

    /// Its length.
    pub fn bytes(&self) -> usize {
        self.range.bytes()
    }

    /// The budget that the collector is told.
    pub fn budget_pages(&self) -> usize {
        self.budget_pages
    }

    /// The fault handler's body, for an access at an offset of the range. Async-signal-safe.
    pub fn fault(&self, offset: usize, write: bool) {
        let page = Page::of_offset(offset);
        let what = match self.uffd.resolve_shared(self.base() + page.offset()) {
            Ok(Resolved::Mapped) if write => PageAction::Write,
            Ok(Resolved::Mapped) => PageAction::Read,
            Ok(Resolved::Fresh) => PageAction::Fresh,
            Ok(Resolved::Already) => return,
            Err(error) => die(format_args!("mapping page {} of a traced heap: {error}", page.0)),
        };
        self.journal.put(PageEvent::word(what, thread_class(), PageRange::new(page, 1)));
    }

    /// The collector did something with pages.
    pub fn note(&self, what: PageAction, range: PageRange) {
        let mut start = range.start;
        while start < range.end() {
            let count = (range.end().0 - start.0).min(event::COUNT_MAX);
            self.journal.put(PageEvent::word(what, thread_class(), PageRange::new(start, count)));
            start = Page(start.0 + count);
        }
    }

    /// Makes pages zero, on the servers and here.
    pub fn free(&self, range: PageRange) {
        self.note(PageAction::Freed, range);
        for (owner, part) in parts(&self.owner, range) {
            let done = self.stores[owner].punch(part.start.offset() as u64, part.bytes() as u64);
            if let Err(error) = done {
                die(format_args!("memory server {owner}: {error}"));
            }
        }
    }

    /// Keeps pages mapped until as many `unpin`.
    pub fn pin(&self, range: PageRange) {
        let mut pinned = self.pinned.lock().expect("no thread panics with it");
        for page in range.pages() {
            *pinned.entry(page.0).or_default() += 1;
            let at: *const u8 = ptr::with_exposed_provenance(self.base() + page.offset());
            // SAFETY: inside the range, which is readable; a missing page is served by the handler.
            unsafe { at.read_volatile() };
        }
    }

    /// Undoes one `pin` of the same range.
    pub fn unpin(&self, range: PageRange) {
        let mut pinned = self.pinned.lock().expect("no thread panics with it");
        for page in range.pages() {
            let pins = pinned.get_mut(&page.0).expect("it is pinned");
            *pins -= 1;
            if *pins == 0 {
                pinned.remove(&page.0);
            }
        }
    }

    /// Unmaps all pages but pinned ones. Their contents stay with the servers. False: a thread pins some, which may
    /// wait for the journal, and the caller empties that.
    fn look(&self) -> bool {
        let Ok(pinned) = self.pinned.try_lock() else { return false };
        let mut from = 0;
        for page in pinned.keys().copied().chain([self.bytes() / PAGE_BYTES]) {
            let (start, bytes) = (self.base() + from * PAGE_BYTES, (page - from) * PAGE_BYTES);
            let start = ptr::with_exposed_provenance_mut(start);
            // SAFETY: a shared mapping of our own: the contents stay, and the next access maps the page again.
            if bytes > 0 && unsafe { libc::madvise(start, bytes, libc::MADV_DONTNEED) } != 0 {
                die(format_args!("unmapping a traced heap: {}", io::Error::last_os_error()));
            }
            from = page + 1;
        }
        true
    }
}

/// The range by servers: pages in a row that one of them holds, with its number.
fn parts(
    owner: &(dyn Fn(Page) -> usize + Send + Sync),
    range: PageRange,
) -> impl Iterator<Item = (usize, PageRange)> {
    let mut start = range.start;
    std::iter::from_fn(move || {
        let server = (start < range.end()).then(|| owner(start))?;
        let same = (start.0..range.end().0).take_while(|page| owner(Page(*page)) == server);
        let part = PageRange::new(start, same.count());
        start = part.end();
        Some((server, part))
    })
}

/// The thread that writes a trace down. Dropping it ends the thread, and the trace.
pub struct TraceWriter {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl TraceWriter {
    /// Begins to write to a new file.
    pub fn start(space: Arc<TracedSpace>, file: File) -> Result<TraceWriter, SwapError> {
        let stop = Arc::new(AtomicBool::new(false));
        let their_stop = stop.clone();
        let run = move || {
            if let Err(error) = write_down(&space, &their_stop, file) {
                die(format_args!("writing the trace of page accesses: {error}"));
            }
        };
        let thread = thread::Builder::new().name("farheap page trace".into()).spawn(run);
        let thread =
            thread.map_err(|source| SwapError::Os { what: "starting a thread", source })?;
        Ok(TraceWriter { stop, thread: Some(thread) })
    }
}

impl Drop for TraceWriter {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // It does not panic with anything that matters.
            let _ = thread.join();
        }
    }
}

fn write_down(space: &TracedSpace, stop: &AtomicBool, mut file: File) -> io::Result<()> {
    file.set_len(0)?;
    file.write_all(&event::head(space.bytes() / PAGE_BYTES, space.budget_pages()))?;
    let mut bytes = Vec::new();
    let (mut looked, mut looked_at, mut written_at) = (0, Instant::now(), Instant::now());
    loop {
        let stops = stop.load(Ordering::Acquire);
        space.journal.take(&mut bytes);
        if bytes.len() >= WRITE_BYTES || stops || written_at.elapsed() >= WRITE_TIME {
            file.write_all(&bytes)?;
            bytes.clear();
            written_at = Instant::now();
        }
        if stops {
            return Ok(());
        }
        let new = space.journal.count() - looked;
        if new >= LOOK_PAGES || new > 0 && looked_at.elapsed() >= LOOK_TIME {
            if space.look() {
                // Not by the journal, which only this thread empties.
                let look =
                    PageEvent::word(PageAction::Look, thread_class(), PageRange::new(Page(0), 0));
                bytes.extend(look.to_le_bytes());
            }
            (looked, looked_at) = (space.journal.count(), Instant::now());
        } else {
            thread::sleep(POLL_TIME);
        }
    }
}

/// Accesses after which pages are unmapped: a small part of any local memory that is worth a replay.
const LOOK_PAGES: u64 = 1024;
/// The longest time between two looks while pages are accessed.
const LOOK_TIME: Duration = Duration::from_millis(20);
const POLL_TIME: Duration = Duration::from_micros(100);
const WRITE_BYTES: usize = 1 << 20;
/// A process that ends loses the events of this time.
const WRITE_TIME: Duration = Duration::from_millis(20);
const JOURNAL_SLOTS: usize = 1 << 20;
