//! Snapshots of pages: what was there at a moment is read while threads go on to change it.

mod support;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rdma::{Mirrored, PeerId, SeatState, Seats, Segment, ShmSegment};
use swap::{PAGE_BYTES, PageRange, PageSnapshot, Pager, PagerOptions};

use support::{WORDS, far, far_with, load, pages, signals, store};

const PAGES: usize = 1024;
const BUDGET: usize = 256;

fn file() -> File {
    // SAFETY: a new file in memory, which nobody else has.
    let file = unsafe { libc::memfd_create(c"snapshot".as_ptr(), libc::MFD_CLOEXEC) };
    assert!(file >= 0, "{}", io::Error::last_os_error());
    // SAFETY: as above.
    let file: OwnedFd = unsafe { OwnedFd::from_raw_fd(file) };
    file.into()
}

/// What the snapshot has: the first and the last word of each page.
fn read(snapshot: &mut PageSnapshot, range: PageRange) -> Vec<(u64, u64)> {
    let words = snapshot.read(range).unwrap();
    words.chunks(WORDS).map(|page| (page[0], page[WORDS - 1])).collect()
}

/// Pages 0 to 899 have their number in two words; 300 of those were changed last. Pages 900 on were never touched.
fn fill(pager: &Pager) {
    for page in 0..900 {
        store(pager, page, 0, page as u64);
        store(pager, page, WORDS - 1, page as u64 + 7);
    }
}

fn expected(page: usize) -> (u64, u64) {
    if page < 900 { (page as u64, page as u64 + 7) } else { (0, 0) }
}

fn keeps_a_moment(pager: Arc<Pager>, seed: u64) {
    fill(&pager);
    let mut snapshot = pager.snapshot(&[pages(0, PAGES)], file()).expect("there is none");
    assert!(pager.snapshot(&[pages(0, 1)], file()).is_none(), "one at a time");
    // Some are on their servers anew, whatever the threads below get done.
    (500..800).for_each(|page| store(&pager, page, WORDS - 1, 0));
    pager.evict(pages(500, 300));
    assert!(snapshot.saved_pages() >= 300, "{}", snapshot.saved_pages());
    let is_over = AtomicBool::new(false);
    let mut seen = vec![(0, 0); PAGES];
    thread::scope(|scope| {
        for number in 0..3 {
            let (pager, is_over) = (&pager, &is_over);
            scope.spawn(move || {
                let mut random = StdRng::seed_from_u64(seed + number);
                while !is_over.load(Ordering::Relaxed) {
                    let page = random.random_range(0..PAGES);
                    // The first 64 pages are discarded by one thread now and then, so nobody else uses them.
                    if page < 64 {
                        if number == 0 {
                            pager.discard(pages(page, 1));
                        }
                        continue;
                    }
                    store(pager, page, 0, random.random());
                    store(pager, page, WORDS - 1, random.random());
                }
            });
        }
        // From behind, with steps of several pages: most of it was overwritten before.
        for start in (0..PAGES).step_by(50).rev() {
            let range = pages(start, 50.min(PAGES - start));
            seen[start..start + range.count].copy_from_slice(&read(&mut snapshot, range));
            thread::sleep(Duration::from_millis(2));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    for (page, seen) in seen.into_iter().enumerate() {
        assert_eq!(seen, expected(page), "page {page}, seed {seed}");
    }
    assert_eq!(read(&mut snapshot, pages(100, 1)), [(0, 0)], "each page once");
    drop(snapshot);
    // The pages have what was written last, and the next snapshot has that.
    pager.discard(pages(0, 64));
    let now: Vec<_> =
        (0..PAGES).map(|n| (load(&pager, n, 0), load(&pager, n, WORDS - 1))).collect();
    let mut next = pager.snapshot(&[pages(0, PAGES)], file()).unwrap();
    assert_eq!(read(&mut next, pages(0, PAGES)), now);
}

/// A pager over two servers, each with a copy of the other's pages: their memory is read and written by requests.
fn unmapped() -> Option<Arc<Pager>> {
    let seats = Arc::new(Seats::new(2));
    let bytes = (PAGES * PAGE_BYTES) as u64;
    for server in 0..2 {
        let memory = ShmSegment::create(PeerId::Server(server as u16), bytes).unwrap();
        seats.fill(server, 0, Arc::new(memory), SeatState::Whole);
    }
    let store = |server| Arc::new(Mirrored::new(seats.clone(), server, bytes)) as Arc<dyn Segment>;
    let options = PagerOptions {
        far_bytes: PAGES * PAGE_BYTES,
        budget_bytes: BUDGET * PAGE_BYTES,
        owner: Box::new(|page| page.0 / 64 % 2),
        run_after: Box::new(|page| 63 - page.0 % 64),
        ..PagerOptions::default()
    };
    Pager::new(options, (0..2).map(store).collect()).ok()
}

#[test]
fn a_snapshot_keeps_a_moment() {
    for (seed, options) in [(1, signals()), (2, PagerOptions::default())] {
        let Some((pager, _)) = far_with(PAGES, BUDGET, options) else { return };
        keeps_a_moment(pager, seed);
    }
}

#[test]
fn servers_that_are_not_mapped_serve_snapshots_too() {
    let Some(pager) = unmapped() else { return };
    keeps_a_moment(pager, 3);
}

#[test]
fn a_page_that_cannot_be_saved_is_an_error_of_the_snapshot_alone() {
    let Some((pager, _)) = far(PAGES, BUDGET) else { return };
    fill(&pager);
    // Nothing can be written to it.
    let full = OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
    let mut snapshot = pager.snapshot(&[pages(0, PAGES)], full).unwrap();
    (0..900).for_each(|page| store(&pager, page, 0, 5));
    pager.evict(pages(0, PAGES));
    let error = snapshot.read(pages(3, 1)).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOSPC), "{error}");
    drop(snapshot);
    assert_eq!((load(&pager, 3, 0), load(&pager, 3, WORDS - 1)), (5, 10));
}
