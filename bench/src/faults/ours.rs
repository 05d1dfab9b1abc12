//! The pager, with a memory server in a process of its own.

use std::io;
use std::sync::Arc;

use rdma::OnlyMemory;
use rdma::spawn::{Fleet, FleetOptions};
use swap::{Page, PageRange, Pager, PagerOptions, PagerStats};

use super::{PAGE_BYTES, Random, Report, Work, measure, timed};

/// A far space, all of it written once, and its server.
struct Far {
    pager: Arc<Pager>,
    _fleet: Fleet,
}

impl Far {
    fn new(work: Work, read_ahead: bool) -> io::Result<Far> {
        let far_bytes = work.pages * PAGE_BYTES;
        let fleet_options = FleetOptions { far_bytes: far_bytes as u64, ..FleetOptions::default() };
        let fleet = Fleet::start(fleet_options, Arc::new(OnlyMemory)).map_err(io::Error::other)?;
        let options = PagerOptions {
            far_bytes,
            budget_bytes: work.local_pages * PAGE_BYTES,
            run_after: Box::new(move |_| if read_ahead { usize::MAX } else { 0 }),
            ..PagerOptions::default()
        };
        let pager = Pager::new(options, fleet.segments()).map_err(io::Error::other)?;
        let far = Far { pager, _fleet: fleet };
        for page in 0..work.pages {
            far.write(page, page as u8 | 1);
        }
        Ok(far)
    }

    fn read(&self, page: usize) -> u8 {
        // SAFETY: inside the far space (checked by `address`), which is still mapped.
        unsafe { self.pager.address(Page(page)).read_volatile() }
    }

    fn write(&self, page: usize, value: u8) {
        // SAFETY: as above; threads write bytes that no other code relies on.
        unsafe { self.pager.address(Page(page)).write_volatile(value) }
    }

    /// Adds the pager's counts since `before` to a report.
    fn with_counts(&self, report: Report, before: &PagerStats) -> Report {
        let now = self.pager.stats();
        let since = |of: fn(&PagerStats) -> [u64; 2]| -> u64 {
            of(&now).iter().sum::<u64>() - of(before).iter().sum::<u64>()
        };
        Report {
            self_evictions: since(|stats| stats.self_evictions),
            exchanges: now.exchanged_pages - before.exchanged_pages,
            retries: now.frame_retries - before.frame_retries,
            waits: since(|stats| stats.waits),
            recycled: now.recycled_pages - before.recycled_pages,
            ..report
        }
    }

    /// A page that is not in local memory; another thread may just be bringing it.
    fn missing(&self, pages: usize, random: &mut Random) -> usize {
        loop {
            let page = random.below(pages);
            if !self.pager.is_resident(Page(page)) {
                return page;
            }
        }
    }
}

/// Reads random pages that are not resident.
pub fn reads(work: Work) -> io::Result<Report> {
    random_accesses(work, |far, page| {
        assert_eq!(far.read(page), page as u8 | 1, "page {page} is another one's");
    })
}

/// Writes to random pages that are not resident: each is evicted again, and written to its server.
pub fn writes(work: Work) -> io::Result<Report> {
    random_accesses(work, |far, page| far.write(page, page as u8 | 1))
}

fn random_accesses(work: Work, access: impl Fn(&Far, usize) + Sync) -> io::Result<Report> {
    let far = Far::new(work, false)?;
    let round = |work| {
        measure(work, |_, _, random| {
            let page = far.missing(work.pages, random);
            Some(timed(|| access(&far, page)))
        })
    };
    // Until pages of all ages are in local memory.
    let warm_up = work.local_pages / work.threads;
    round(Work { accesses: warm_up, seed: work.seed ^ 1, ..work });
    let before = far.pager.stats();
    let report = round(work);
    Ok(far.with_counts(report, &before))
}

/// Reads the whole far space, no page of which is resident at first.
pub fn scan(work: Work) -> io::Result<Report> {
    let far = Far::new(work, true)?;
    far.pager.evict(PageRange::new(Page(0), work.pages));
    let bytes = work.pages * PAGE_BYTES;
    let before = far.pager.stats();
    // SAFETY: the far space is whole words, and no thread changes it.
    let seconds = unsafe { super::scan(work.threads, far.pager.base().cast(), bytes / 8) };
    Ok(far.with_counts(Report::of_scan(bytes, seconds), &before))
}
