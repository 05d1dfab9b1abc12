//! Snapshots: the servers' pages as they were at a moment, read while others write them.
//!
//! Nothing is copied in advance. A thread that is about to change a page on its server first saves the contents that
//! the snapshot needs, to a file; the reader takes a page from its server, or from the file
//! ([`KeptPage`](crate::page::kept_page::KeptPage)).

use std::io;
use std::os::fd::RawFd;
use std::ptr;
use std::slice;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

use base::die;
use rdma::Segment;

use crate::kernel::reservation::Reservation;
use crate::kernel::slots::Slots;
use crate::page::kept_page::{KeptAt, KeptPage};
use crate::range::RUN_PAGES;
use crate::transfer::Transfer;
use crate::transfer::work_area::PAGE_WORDS;
use crate::{PAGE_BYTES, Page, SwapError};

/// The pages that a snapshot needs; there is at most one snapshot at a time.
pub struct KeptPages {
    /// A [`KeptPage`] for each page, all zero while there is no snapshot; made for the first one.
    states: OnceLock<Reservation>,
    pages: usize,
    /// There is a snapshot. Set after the states are, cleared after they are zero again: acquire and release.
    is_taken: AtomicBool,
    /// Where pages are saved, each at its place in the far space. Valid while there is a snapshot.
    file: AtomicI32,
    /// The first error of saving a page, a number of the system; 0: none. Relaxed: the page's state orders.
    error: AtomicI32,
    /// For pages of servers whose memory is not mapped. A thread that has one waits for its server only.
    buffers: Slots<Box<[u64]>>,
    /// Pages that were saved, of all snapshots. Relaxed, a figure.
    saved: AtomicUsize,
}

impl KeptPages {
    /// For a far space of `pages` pages.
    pub fn new(pages: usize) -> KeptPages {
        KeptPages {
            states: OnceLock::new(),
            pages,
            is_taken: AtomicBool::new(false),
            file: AtomicI32::new(-1),
            error: AtomicI32::new(0),
            buffers: (0..SAVED_AT_ONCE).map(|_| vec![0; PAGE_WORDS].into_boxed_slice()).collect(),
            saved: AtomicUsize::new(0),
        }
    }

    /// Is there a snapshot?
    #[inline]
    pub fn is_taken(&self) -> bool {
        self.is_taken.load(Ordering::Acquire)
    }

    /// How many pages have been saved for snapshots so far.
    pub fn saved(&self) -> usize {
        self.saved.load(Ordering::Relaxed)
    }

    /// The first error of saving a page of the snapshot.
    pub fn error(&self) -> io::Result<()> {
        match self.error.load(Ordering::Relaxed) {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Begins a snapshot of these pages. Other contents of pages are saved to `file`, which is open for reading and
    /// writing until [`end`](Self::end). The caller sees to it that there is none yet, and that nobody changes the
    /// pages on their servers before this returns.
    pub fn begin(&self, pages: impl Iterator<Item = Page>, file: RawFd) -> Result<(), SwapError> {
        assert!(!self.is_taken(), "there is one snapshot at a time");
        if self.states.get().is_none() {
            let states = Reservation::new(self.pages * size_of::<KeptPage>(), PAGE_BYTES)?;
            let _ = self.states.set(states);
        }
        pages.for_each(|page| self.state(page).keep());
        self.error.store(0, Ordering::Relaxed);
        self.file.store(file, Ordering::Relaxed);
        self.is_taken.store(true, Ordering::Release);
        Ok(())
    }

    /// Ends the snapshot: no page is saved any more when this returns.
    pub fn end(&self) -> Result<(), SwapError> {
        for page in (0..self.pages).map(Page) {
            if self.state(page).begin_read(yield_now) == KeptAt::Server {
                self.state(page).end_read();
            }
        }
        self.is_taken.store(false, Ordering::Release);
        let states = self.states.get().expect("a snapshot was begun");
        // A thread that still takes a snapshot for granted finds zeros, as before.
        states.zero(0, states.bytes())
    }

    /// A page is about to be changed on its server. Async-signal-safe. The caller has the page's lock.
    #[inline]
    fn save(&self, page: Page, store: &dyn Segment) {
        if self.is_taken() && self.state(page).begin_save(yield_now) {
            self.save_contents(page, store);
            self.state(page).end_save();
        }
    }

    #[cold]
    fn save_contents(&self, page: Page, store: &dyn Segment) {
        let offset = page.offset() as u64;
        self.saved.fetch_add(1, Ordering::Relaxed);
        if let Some(from) = store.mapped(offset, PAGE_BYTES as u64) {
            return self.write(page, from.at());
        }
        let mut buffer = self.buffers.claim();
        if let Err(error) = store.read(offset, &mut buffer) {
            die(format_args!("page {} cannot be fetched: {error}", page.0));
        }
        self.write(page, buffer.as_ptr().cast());
    }

    /// Writes the bytes of a page at an address to the file.
    fn write(&self, page: Page, mut from: *const u8) {
        let (mut at, end) = (page.offset(), page.offset() + PAGE_BYTES);
        while at < end {
            let file = self.file.load(Ordering::Relaxed);
            // SAFETY: that many bytes of a page are left there; the kernel only reads them.
            let done = unsafe { libc::pwrite(file, from.cast(), end - at, at as libc::off_t) };
            match usize::try_from(done) {
                Ok(0) => return self.fail(libc::ENOSPC),
                Ok(done) => (at, from) = (at + done, from.wrapping_add(done)),
                Err(_) if errno() == libc::EINTR => {}
                Err(_) => return self.fail(errno()),
            }
        }
    }

    fn fail(&self, error: i32) {
        let _ = self.error.compare_exchange(0, error, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Reads a page that was saved.
    fn read(&self, page: Page, into: &mut [u64]) -> io::Result<()> {
        self.error()?;
        let (mut done, bytes) = (0, size_of_val(into));
        while done < bytes {
            let at = (page.offset() + done) as libc::off_t;
            let to = into.as_mut_ptr().cast::<u8>().wrapping_add(done);
            let file = self.file.load(Ordering::Relaxed);
            // SAFETY: that many bytes of the slice are left there.
            let count = unsafe { libc::pread(file, to.cast(), bytes - done, at) };
            match usize::try_from(count) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => done += count,
                Err(_) if errno() == libc::EINTR => {}
                Err(_) => return Err(io::Error::last_os_error()),
            }
        }
        Ok(())
    }

    fn state(&self, page: Page) -> &KeptPage {
        let states = self.states.get().expect("a snapshot was begun");
        assert!(page.0 < self.pages, "page {} of {}", page.0, self.pages);
        let states: *const KeptPage = ptr::with_exposed_provenance(states.base());
        // SAFETY: inside the table by the assertion; all-zero is a valid state, and the table lives as long as self.
        unsafe { &*states.add(page.0) }
    }
}

impl Transfer {
    /// Saves for the snapshot, if there is one, what is on the servers of `pages`, which are about to be changed there.
    #[inline]
    pub(super) fn save(&self, pages: impl Iterator<Item = Page>) {
        if self.kept.is_taken() {
            pages.for_each(|page| self.kept.save(page, &**self.store(page)));
        }
    }

    /// Reads pages of one server, at most [`RUN_PAGES`], from the snapshot, each once; pages that it does not have are
    /// zero. One thread at a time.
    pub fn read_kept(&self, start: Page, into: &mut [u64]) -> io::Result<()> {
        let count = into.len() / PAGE_WORDS;
        assert!(count <= RUN_PAGES && into.len().is_multiple_of(PAGE_WORDS));
        // A thread that has pages of the snapshot must not wait for this.
        let mut area = self.claim_area();
        let mut kept = [KeptAt::Nowhere; RUN_PAGES];
        for (n, kept) in kept[..count].iter_mut().enumerate() {
            *kept = self.kept.state(Page(start.0 + n)).begin_read(yield_now);
        }
        let mut result = Ok(());
        let mut rest = 0;
        for run in kept[..count].chunk_by(|a, b| a == b) {
            let page = Page(start.0 + rest);
            let into = &mut into[rest * PAGE_WORDS..][..run.len() * PAGE_WORDS];
            rest += run.len();
            match run[0] {
                KeptAt::Nowhere => into.fill(0),
                KeptAt::File => {
                    let pages = into.chunks_mut(PAGE_WORDS).enumerate();
                    for (n, into) in pages {
                        result = result.and(self.kept.read(Page(page.0 + n), into));
                    }
                }
                KeptAt::Server => {
                    // SAFETY: that many whole pages are there, which nobody writes before `end_read`.
                    let mut arrive = |from: *const u8| unsafe {
                        into.copy_from_slice(slice::from_raw_parts(from.cast(), into.len()));
                    };
                    match self.mapped(page, run.len()) {
                        Some(from) => arrive(from.at()),
                        None => self.read_in(&mut area, page, run.len(), arrive),
                    }
                    (0..run.len()).for_each(|n| self.kept.state(Page(page.0 + n)).end_read());
                }
            }
        }
        result
    }
}

fn yield_now() {
    // SAFETY: no memory is involved.
    unsafe { libc::sched_yield() };
}

fn errno() -> i32 {
    // SAFETY: the calling thread's own variable.
    unsafe { *libc::__errno_location() }
}

/// Threads that can save pages of servers that are not mapped without waiting for one another.
const SAVED_AT_ONCE: usize = 16;
