//! A pager whose stores have two copies, of which one after the other is lost and made again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rdma::{Mirrored, PeerId, SeatState, Seats, Segment, ShmSegment};
use swap::{PAGE_BYTES, Page, PageRange, Pager, PagerOptions, SwapError};

const PAGES: usize = 2048;
const SERVERS: usize = 3;
const THREADS: usize = 2;

fn memory(server: usize) -> Arc<ShmSegment> {
    let bytes = (PAGES * PAGE_BYTES) as u64;
    Arc::new(ShmSegment::create(PeerId::Server(server as u16), bytes).unwrap())
}

/// A pager over three servers, each page on two of them. `None` where userfaultfd is not allowed.
fn far() -> Option<(Arc<Pager>, Arc<Seats>)> {
    let seats = Arc::new(Seats::new(SERVERS));
    (0..SERVERS).for_each(|server| seats.fill(server, 0, memory(server), SeatState::Whole));
    let bytes = (PAGES * PAGE_BYTES) as u64;
    let store = |server| Arc::new(Mirrored::new(seats.clone(), server, bytes)) as Arc<dyn Segment>;
    let options = PagerOptions {
        far_bytes: PAGES * PAGE_BYTES,
        budget_bytes: PagerOptions::BUDGET_BYTES_MIN,
        owner: Box::new(|page| page.0 / 64 % SERVERS),
        run_after: Box::new(|page| 63 - page.0 % 64),
        ..PagerOptions::default()
    };
    match Pager::new(options, (0..SERVERS).map(store).collect()) {
        Ok(pager) => Some((pager, seats)),
        Err(error @ SwapError::Userfaultfd { .. }) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn word(pager: &Pager, page: usize, index: usize) -> &AtomicU64 {
    // SAFETY: inside the far space, aligned, and as long-lived as the pager.
    unsafe { AtomicU64::from_ptr(pager.address(Page(page)).cast::<u64>().add(index)) }
}

/// Counts in random pages until `stop` is set; returns the value that each page should hold in `index`.
fn count(pager: &Pager, index: usize, stop: &AtomicBool) -> Vec<u64> {
    let mut random = StdRng::seed_from_u64(index as u64);
    let mut counts = vec![0; PAGES];
    while !stop.load(Ordering::Relaxed) {
        let page = random.random_range(0..PAGES);
        let before = word(pager, page, index).fetch_add(1, Ordering::Relaxed);
        assert_eq!(before, counts[page], "page {page}, thread {index}");
        counts[page] += 1;
    }
    counts
}

#[test]
fn no_write_is_lost_with_a_server() {
    let Some((pager, seats)) = far() else { return };
    let stop = AtomicBool::new(false);
    let end = Instant::now() + Duration::from_secs(3);
    let mut random = StdRng::seed_from_u64(1);
    thread::scope(|scope| {
        let counters: Vec<_> = (0..THREADS)
            .map(|index| {
                scope.spawn({
                    let (pager, stop) = (&pager, &stop);
                    move || count(pager, index, stop)
                })
            })
            .collect();
        let mut losses = 0;
        while Instant::now() < end {
            let server = random.random_range(0..SERVERS);
            let seen = seats.look(server);
            let lost = seats.segment(server, seen).clone();
            assert!(seats.lose(server, seen.incarnation()));
            lost.abandon();
            thread::sleep(Duration::from_micros(random.random_range(0..3000)));
            let next = seats.next_incarnation(server).unwrap();
            seats.fill(server, next, memory(server), SeatState::Filling);
            pager.repair(&|| true);
            assert!(seats.complete(server, next));
            losses += 1;
        }
        stop.store(true, Ordering::Relaxed);
        assert!(losses > 10 && seats.mirror_reads() > 0, "{losses} losses");
        let counts: Vec<_> = counters.into_iter().map(|thread| thread.join().unwrap()).collect();
        pager.evict(PageRange::new(Page(0), PAGES));
        for page in 0..PAGES {
            for (index, counts) in counts.iter().enumerate() {
                assert_eq!(word(&pager, page, index).load(Ordering::Relaxed), counts[page]);
            }
        }
        // And both copies are the same.
        pager.write_back(PageRange::new(Page(0), PAGES));
        for page in 0..PAGES {
            let owner = pager.owner(Page(page));
            let copies = [owner, seats.mirror_of(owner)].map(|server| {
                let mut words = [0; THREADS];
                let copy = seats.segment(server, seats.look(server));
                copy.read((page * PAGE_BYTES) as u64, &mut words).unwrap();
                words
            });
            assert_eq!(copies[0], copies[1], "page {page}");
        }
    });
}
