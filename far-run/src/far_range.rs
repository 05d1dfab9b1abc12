//! One range of addresses of the program that is far memory.
//!
//! The kernel keeps the protections that the program asks for, so that accesses that must trap do trap; the pager
//! serves the pages. Two bits for each page tie them together:
//!
//! * *accessible*: the program may touch it, so the pager may bring it ahead of time. No page that
//!   is not accessible is in local memory: the pager could not read it to write it back.
//! * *used*: it may hold something else than zeros.

use std::sync::Arc;

use base::die;
use libc::c_int;
use rdma::spawn::{Fleet, FleetOptions};
use rdma::{OnlyMemory, ServerAddress, Token, Transport};
use swap::{
    Membership, PAGE_BYTES, Page, PageRange, Pager, PagerOptions, PagerStats, PoolChange,
    PoolMember, PoolOptions,
};

use crate::page_bits::PageBits;
use crate::real;
use crate::settings::Settings;

/// A range with its pager and its memory servers. Dropping it unmaps the range and ends them.
pub struct FarRange {
    start: usize,
    bytes: usize,
    // Dropped before its servers, and before others may have its memory.
    pager: Arc<Pager>,
    _pool: Option<PoolMember>,
    accessible: Arc<PageBits>,
    used: PageBits,
    _fleet: Fleet,
}

impl FarRange {
    /// Takes over an untouched private anonymous mapping of whole pages. Ends the process when
    /// there are no servers or no userfaultfd: the program was started to have far memory.
    pub fn new(start: usize, bytes: usize, settings: &Settings) -> FarRange {
        let fleet = start_fleet(bytes, settings)
            .unwrap_or_else(|error| die(format_args!("no remote memory: {error}")));
        let servers = usize::from(fleet.servers());
        let accessible = Arc::new(PageBits::new(bytes / PAGE_BYTES));
        let bits = accessible.clone();
        let most_bytes = settings.local.budget_bytes(bytes, PagerOptions::BUDGET_BYTES_MIN);
        let membership = settings.pool.as_ref().map(|pool| {
            let pool = pool.parse::<PoolOptions>();
            let joined = pool.and_then(|pool| {
                Membership::join(&pool, most_bytes.min(bytes)).map_err(|error| error.to_string())
            });
            joined.unwrap_or_else(|error| die(format_args!("no remote memory: {error}")))
        });
        let options = PagerOptions {
            far_bytes: bytes,
            budget_bytes: membership.as_ref().map_or(most_bytes, Membership::budget_bytes),
            budget_changes: membership.is_some(),
            owner: Box::new(move |page| page.0 / STRIPE_PAGES % servers),
            run_after: Box::new(move |page| {
                let of_stripe = STRIPE_PAGES - 1 - page.0 % STRIPE_PAGES;
                bits.run(page.0 + 1, of_stripe.min(AHEAD_PAGES_MAX))
            }),
            at: Some(start),
            prefetcher: settings.prefetcher,
            // The program's own protections would be in the way of reading frames that are evicted.
            kernel_notes_writes: false,
            ..PagerOptions::default()
        };
        let local_bytes = options.budget_bytes.min(bytes);
        let pager = Pager::new(options, fleet.segments())
            .unwrap_or_else(|error| die(format_args!("no remote memory: {error}")));
        if settings.verbose {
            base::say(format_args!(
                "farheap: {} MiB at {start:#x} are remote, at most {} MiB of them resident, {servers} memory server(s)",
                bytes >> 20,
                local_bytes >> 20,
            ));
        }
        let used = PageBits::new(bytes / PAGE_BYTES);
        let verbose = settings.verbose;
        let _pool = membership.map(|membership| {
            let report = Box::new(move |change| report_budget(change, verbose));
            membership
                .serve(pager.clone(), report)
                .unwrap_or_else(|error| die(format_args!("no remote memory: {error}")))
        });
        FarRange { start, bytes, pager, _pool, accessible, used, _fleet: fleet }
    }

    /// The first address.
    pub fn start(&self) -> usize {
        self.start
    }

    /// One past the last address.
    pub fn end(&self) -> usize {
        self.start + self.bytes
    }

    /// The pager's counters.
    pub fn stats(&self) -> PagerStats {
        self.pager.stats()
    }

    /// The most that is in local memory, in bytes.
    pub fn budget_bytes(&self) -> usize {
        self.pager.budget_pages() * PAGE_BYTES
    }

    /// Zeros the part and gives it a protection: a new mapping in its place.
    pub fn renew(&self, start: usize, bytes: usize, protection: c_int) -> c_int {
        let pages = self.pages(start, bytes);
        if !is_accessible(protection) {
            self.accessible.fill(pages, false);
        }
        self.discard(start, bytes);
        self.protect(start, bytes, protection)
    }

    /// Gives the part a protection. 0, or -1 with errno.
    pub fn protect(&self, start: usize, bytes: usize, protection: c_int) -> c_int {
        let pages = self.pages(start, bytes);
        if !is_accessible(protection) {
            self.accessible.fill(pages, false);
            self.pager.evict(pages);
        } else {
            self.used.fill(pages, true);
        }
        let address = std::ptr::with_exposed_provenance_mut(start);
        // SAFETY: part of our own range.
        let rc = unsafe { real::mprotect(address, bytes, protection) };
        if rc == 0 && is_accessible(protection) {
            self.accessible.fill(pages, true);
        }
        rc
    }

    /// Zeros the part, in local memory and on the servers. A thread that uses it at the same time may find zeros and
    /// lose its writes.
    pub fn discard(&self, start: usize, bytes: usize) {
        let pages = self.pages(start, bytes);
        let mut page = pages.start.0;
        while page < pages.end().0 {
            let run = self.used.run(page, pages.end().0 - page);
            if run > 0 {
                self.pager.discard(PageRange::new(Page(page), run));
            }
            page += run.max(1);
        }
        // Accessible pages may be used again at once.
        for page in pages.pages().filter(|page| !self.accessible.is_set(page.0)) {
            self.used.fill(PageRange::new(page, 1), false);
        }
    }

    /// Fetches remote pages, as far as there is room: a hint.
    pub fn fetch(&self, start: usize, bytes: usize) {
        let pages = self.pages(start, bytes);
        let count = pages.count.min(self.pager.budget_pages() / 4);
        let mut page = pages.start;
        while page.0 < pages.start.0 + count {
            let run = self.accessible.run(page.0, pages.start.0 + count - page.0);
            self.pager.fetch(PageRange::new(page, run));
            page = Page(page.0 + run.max(1));
        }
    }

    /// The whole pages of `start .. start + bytes`, which must lie inside.
    fn pages(&self, start: usize, bytes: usize) -> PageRange {
        assert!(start >= self.start && bytes <= self.end() - start, "{start:#x} is outside");
        PageRange::of_bytes(start - self.start, bytes)
    }
}

fn report_budget(change: PoolChange, verbose: bool) {
    match change {
        PoolChange::Budget { pages, members } if verbose => {
            base::say(format_args!(
                "farheap: local memory {} KiB, {members} member(s) in its pool",
                (pages * PAGE_BYTES) >> 10
            ));
        }
        PoolChange::Budget { .. } => {}
        PoolChange::Trouble(why) => {
            base::say(format_args!(
                "farheap: the local memory pool failed, this part of it no longer changes: {why}"
            ));
        }
    }
}

fn is_accessible(protection: c_int) -> bool {
    protection & (libc::PROT_READ | libc::PROT_WRITE) != 0
}

fn start_fleet(bytes: usize, settings: &Settings) -> Result<Fleet, String> {
    let address = |text: &String| text.parse::<ServerAddress>();
    let token = settings.token_file.as_deref().map(Token::read).transpose();
    let options = FleetOptions {
        transport: if settings.tcp { Transport::Tcp } else { Transport::Shm },
        token: token.map_err(|error| error.to_string())?.unwrap_or(Token::none()),
        servers: settings.servers,
        connect: settings.connect.iter().map(address).collect::<Result<_, _>>()?,
        far_bytes: bytes as u64,
        program: settings.program.clone(),
        latency: settings.latency,
        bandwidth: settings.bandwidth,
        ..FleetOptions::default()
    };
    Fleet::start(options, Arc::new(OnlyMemory)).map_err(|error| error.to_string())
}

/// Pages in a row on one server.
const STRIPE_PAGES: usize = 1024;
/// Pages that one fault may bring ahead; the pager has a limit of its own.
const AHEAD_PAGES_MAX: usize = 63;
