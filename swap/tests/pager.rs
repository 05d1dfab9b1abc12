//! The pager against segments in the same process.

mod support;

use std::io::Write;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rdma::{PeerId, Segment, ShmSegment};
use swap::{
    Activity, FaultObserver, ObservedFault, PAGE_BYTES, Page, Pager, PagerOptions, PrefetcherKind,
    SwapError, ThreadClass, during, set_thread_class,
};

use support::{WORDS, far, far_with, load, pages, signals, store, word};

#[test]
fn a_page_goes_through_all_its_states() {
    let Some((pager, segments)) = far(4096, 512) else { return };
    assert!(!pager.is_resident(Page(70)) && !pager.is_dirty(Page(70)));
    assert_eq!(load(&pager, 70, 3), 0);
    assert!(pager.is_resident(Page(70)) && !pager.is_dirty(Page(70)));
    store(&pager, 70, 3, 7);
    assert!(pager.is_dirty(Page(70)));
    assert_eq!(segments[1].load(70 * 4096 + 24), 0, "nothing written yet");
    assert_eq!(pager.write_back(pages(64, 64)), 1);
    assert_eq!(segments[1].load(70 * 4096 + 24), 7, "page 70 belongs to server 1");
    assert!(pager.is_resident(Page(70)) && !pager.is_dirty(Page(70)));
    store(&pager, 70, 3, 8);
    assert_eq!(pager.dirty_pages(pages(64, 64)), [Page(70)]);
    assert_eq!(pager.evict(pages(70, 1)), 1);
    assert!(!pager.is_resident(Page(70)));
    assert_eq!(segments[1].load(70 * 4096 + 24), 8);
    segments[1].store(70 * 4096 + 24, 9);
    assert_eq!(load(&pager, 70, 3), 9, "the server's version is fetched");
    segments[1].store(70 * 4096 + 24, 10);
    store(&pager, 70, 4, 1);
    pager.invalidate(pages(70, 1));
    assert_eq!((load(&pager, 70, 3), load(&pager, 70, 4)), (10, 0));
    pager.discard(pages(64, 16));
    assert_eq!(segments[1].load(70 * 4096 + 24), 0);
    assert_eq!(load(&pager, 70, 3), 0);
}

#[test]
fn pages_that_an_agent_wrote_are_seen_after_invalidation() {
    let Some((pager, segments)) = far(4096, 512) else { return };
    segments[0].store(5 * 4096, 11);
    pager.invalidate(pages(0, 16));
    assert_eq!(load(&pager, 5, 0), 11, "although this process did not access the page before");
}

#[test]
fn a_mapping_of_the_program_becomes_far() {
    const PAGES: usize = 1024;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let bytes = PAGES * PAGE_BYTES;
    // SAFETY: a new mapping, which the pager takes over.
    let base = unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) };
    let segment = Arc::new(ShmSegment::create(PeerId::Server(0), bytes as u64).unwrap());
    let options = |at: usize| PagerOptions {
        far_bytes: bytes,
        budget_bytes: 256 * PAGE_BYTES,
        at: Some(at),
        ..PagerOptions::default()
    };
    let odd = Pager::new(options(base.addr() + 8), vec![segment.clone()]);
    assert!(matches!(odd, Err(SwapError::Options(_))));
    let pager = match Pager::new(options(base.addr()), vec![segment]) {
        Err(error @ SwapError::Userfaultfd { .. }) => return eprintln!("skipped: {error}"),
        pager => pager.unwrap(),
    };
    assert_eq!(pager.base().cast(), base);
    // The program may change the protection of parts of it; the pager keeps working.
    // SAFETY: our own mapping.
    let rc = unsafe { libc::mprotect(base, bytes / 2, libc::PROT_READ | libc::PROT_WRITE) };
    assert_eq!(rc, 0);
    (0..PAGES / 2).for_each(|page| store(&pager, page, 1, page as u64));
    assert!((0..PAGES / 2).all(|page| load(&pager, page, 1) == page as u64));
    assert!(pager.stats().evicted_pages > 0);
}

#[test]
fn walks_cross_the_borders_of_mappings() {
    const PAGES: usize = 1024;
    let (none, flags) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    let bytes = PAGES * PAGE_BYTES;
    // SAFETY: a new mapping, which the pager takes over.
    let base = unsafe { libc::mmap(ptr::null_mut(), bytes, none, flags, -1, 0) };
    let segment = Arc::new(ShmSegment::create(PeerId::Server(0), bytes as u64).unwrap());
    let options = PagerOptions {
        far_bytes: bytes,
        budget_bytes: 512 * PAGE_BYTES,
        // Nothing that may not be read: a page that comes because others are written is dirty.
        run_after: Box::new(|page| (PAGES / 5 * 5 - 1 - page.0).min(15)),
        at: Some(base.addr()),
        ..PagerOptions::default()
    };
    let pager = match Pager::new(options, vec![segment]) {
        Err(error @ SwapError::Userfaultfd { .. }) => return eprintln!("skipped: {error}"),
        pager => pager.unwrap(),
    };
    // Mappings with pages of their own stay apart, also when they come to be alike.
    let read_write = libc::PROT_READ | libc::PROT_WRITE;
    for piece in (0..PAGES / 5).step_by(2).chain((1..PAGES / 5).step_by(2)) {
        // SAFETY: part of our own mapping.
        unsafe {
            let start = base.byte_add(piece * 5 * PAGE_BYTES);
            assert_eq!(libc::mprotect(start, 5 * PAGE_BYTES, read_write), 0);
        }
        store(&pager, piece * 5, 0, 0);
    }
    for value in 1..4 {
        (0..PAGES / 5 * 5).for_each(|page| store(&pager, page, 1, value));
        pager.write_back(pages(0, PAGES));
        assert!((0..PAGES / 5 * 5).all(|page| load(&pager, page, 1) == value));
        // Different for certain.
        // SAFETY: part of our own mapping.
        unsafe { libc::mprotect(base.byte_add(64 * PAGE_BYTES), PAGE_BYTES, libc::PROT_READ) };
        assert!((0..PAGES / 5 * 5).all(|page| load(&pager, page, 1) == value));
        pager.evict(pages(0, PAGES));
        assert!((0..PAGES / 5 * 5).all(|page| load(&pager, page, 1) == value));
        // SAFETY: part of our own mapping.
        unsafe { libc::mprotect(base.byte_add(64 * PAGE_BYTES), PAGE_BYTES, read_write) };
    }
}

#[test]
fn pages_that_are_written_again_and_again_stay() {
    const HOT: usize = 100;
    let Some((pager, _segments)) = far(4096, 1000) else { return };
    (0..4096).for_each(|page| store(&pager, page, 0, page as u64));
    let mut missing = 0;
    for i in 0..40_000 {
        let cold = HOT + i * 7919 % (4096 - HOT);
        assert_eq!(load(&pager, cold, 0), cold as u64);
        let hot = i % HOT;
        missing += usize::from(!pager.is_resident(Page(hot)));
        store(&pager, hot, 0, i as u64);
    }
    // Some 40 rounds of the replacement. Without a look at the written pages, each of them was evicted in every
    // third.
    assert!(missing < 2 * HOT, "{missing} of {HOT} hot pages had gone");
}

#[test]
fn scans_do_not_flush_what_is_used_all_the_time() {
    const HOT: usize = 400;
    let Some((pager, _segments)) = far(16_384, 1000) else { return };
    (0..16_384).for_each(|page| store(&pager, page, 0, page as u64));
    let mut missing = 0;
    for i in 0..60_000 {
        let scanned = HOT + i % (16_384 - HOT);
        assert_eq!(load(&pager, scanned, 0), scanned as u64);
        let hot = i * 7919 % HOT;
        missing += usize::from(!pager.is_resident(Page(hot)));
        assert_eq!(load(&pager, hot, 0), hot as u64);
    }
    // How often the evictor leaves room for walks varies; without care for scans it is 17,000.
    assert!(missing < 14_000, "{missing} of 60000 reads of {HOT} hot pages missed them");
}

#[test]
fn a_long_walk_takes_the_frames_that_it_leaves_behind() {
    let recycled = |recycle_frames| {
        let options = PagerOptions { recycle_frames, probe_one_in: 0, ..PagerOptions::default() };
        let (pager, _segments) = far_with(16_384, 1000, options)?;
        (0..16_384).for_each(|page| store(&pager, page, 0, page as u64));
        pager.evict(pages(0, 16_384));
        let before = pager.stats().evicted_pages;
        assert!((0..16_384).all(|page| load(&pager, page, 0) == page as u64));
        let stats = pager.stats();
        assert!(stats.resident_pages_max <= 1000, "{stats:?}");
        assert!(stats.evicted_pages - before >= stats.recycled_pages, "{stats:?}");
        Some(stats.recycled_pages)
    };
    let Some(pages) = recycled(true) else { return };
    assert!(pages > 10_000, "{pages} pages of 16,384");
    assert_eq!(recycled(false), Some(0));
}

/// A page that comes with a walk is writable for a moment before it is protected.
#[test]
fn no_write_is_lost_while_a_walk_arrives() {
    const PAGES: usize = 8192;
    let Some((pager, _segments)) = far(PAGES, 600) else { return };
    (0..PAGES).for_each(|page| store(&pager, page, 0, page as u64));
    let (at, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let counts = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut rng = StdRng::seed_from_u64(1);
            let mut counts = vec![0_u64; PAGES];
            while !stop.load(Ordering::Relaxed) {
                let run = at.load(Ordering::Relaxed);
                while at.load(Ordering::Relaxed) == run && !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
                // Not in each run: one with a dirty page is not recycled.
                if rng.random_bool(0.7) {
                    continue;
                }
                (0..rng.random_range(0..1000)).for_each(|_| std::hint::spin_loop());
                let page = at.load(Ordering::Relaxed) as usize * 64 + rng.random_range(1..64);
                counts[page] += 1;
                store(&pager, page, 1, counts[page]);
            }
            counts
        });
        let until = Instant::now() + Duration::from_secs(3);
        while Instant::now() < until {
            for page in 0..PAGES {
                at.store(page as u64 / 64, Ordering::Relaxed);
                assert_eq!(load(&pager, page, 0), page as u64);
            }
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap()
    });
    for (page, count) in counts.iter().enumerate() {
        assert_eq!(load(&pager, page, 1), *count, "page {page}");
    }
    let recycled = pager.stats().recycled_pages;
    println!("{recycled} pages recycled, {} writes", counts.iter().sum::<u64>());
    assert!(recycled > 1000, "{recycled}");
}

#[test]
fn pins_keep_pages_and_serve_system_calls() {
    let Some((pager, segments)) = far(4096, 256) else { return };
    pager.pin(pages(100, 2)).unwrap();
    for page in 1000..3000 {
        store(&pager, page, 0, 1);
    }
    assert!(pager.is_resident(Page(100)) && pager.is_resident(Page(101)));
    store(&pager, 100, 1, 5);
    assert_eq!(pager.write_back(pages(100, 1)), 1);
    assert_eq!(segments[1].load(100 * 4096 + 8), 5);

    let mut file = tempfile();
    // SAFETY: two pinned pages; no other thread uses them.
    let buffer =
        unsafe { std::slice::from_raw_parts_mut(pager.address(Page(100)), 2 * PAGE_BYTES) };
    file.write_all(buffer).expect("system calls can read pinned pages");
    std::io::Seek::rewind(&mut file).unwrap();
    std::io::Read::read_exact(&mut file, buffer).expect("and write them, also after write_back");

    let too_much = pager.pin(pages(0, 300));
    assert!(matches!(too_much, Err(SwapError::PinnedTooMuch { .. })));
    pager.unpin(pages(100, 2));
    pager.evict(pages(0, 4096));
    assert_eq!(pager.resident_pages(), 0);
}

#[test]
fn system_calls_on_missing_pages_fail_and_nothing_worse() {
    let Some((pager, _segments)) = far(4096, 256) else { return };
    let mut file = tempfile();
    // SAFETY: the kernel reads the range or fails.
    let missing = unsafe { std::slice::from_raw_parts(pager.address(Page(9)), 8) };
    let error = file.write(missing).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EFAULT));
}

#[test]
fn populate_and_fetch_save_faults() {
    let Some((pager, _segments)) = far(4096, 1024) else { return };
    pager.populate(pages(0, 200));
    for page in 0..200 {
        store(&pager, page, 0, page as u64);
    }
    assert_eq!(pager.stats().zero_faults, [0, 0]);
    assert_eq!(pager.evict(pages(0, 200)), 200);
    assert_eq!(pager.fetch(pages(0, 300)), 200);
    assert!((0..200).all(|page| load(&pager, page, 0) == page as u64));
    let stats = pager.stats();
    assert_eq!((stats.fetch_faults, stats.prefetched_pages), ([0, 0], 200));
    assert_eq!(stats.fetched_bytes, 200 * 4096);
}

#[test]
fn walks_in_order_have_few_faults_and_never_leave_their_run() {
    let Some((pager, _segments)) = far(4096, 2048) else { return };
    for page in 0..1024 {
        store(&pager, page, 0, page as u64 + 1);
    }
    let faults = pager.stats().zero_faults[0];
    assert!(faults < 200, "{faults} faults to write 1024 pages");
    assert!((0..64).all(|page| pager.is_dirty(Page(page))));
    pager.evict(pages(0, 4096));
    assert!((0..1024).all(|page| load(&pager, page, 0) == page as u64 + 1));
    let faults = pager.stats().fetch_faults[0];
    assert!(faults < 200, "{faults} faults to read 1024 pages");
    assert!(!pager.is_resident(Page(1024)));
    // Pages that came along for reading are clean.
    assert_eq!(pager.dirty_pages(pages(0, 4096)), []);
}

#[test]
fn walks_have_few_faults_also_when_local_memory_is_full() {
    let Some((pager, _segments)) = far(4096, 512) else { return };
    for round in 1..4 {
        for page in 0..4096 {
            store(&pager, page, 0, load(&pager, page, 0) + 1);
        }
        for page in 0..4096 {
            store(&pager, page, 1, round);
        }
    }
    assert!((0..4096).all(|page| (load(&pager, page, 0), load(&pager, page, 1)) == (3, 3)));
    let stats = pager.stats();
    // How many pages come along depends on how often the evictor gets to run.
    let fetched = stats.fetched_bytes / PAGE_BYTES as u64;
    assert!(stats.fetch_faults[0] < fetched * 5 / 6, "{stats:?}");
    assert!(stats.resident_pages_max <= 512, "{stats:?}");
}

/// Writes some pages and evicts them, then reads every `stride`-th of `walked` pages; returns the pager.
fn walk(prefetcher: PrefetcherKind, stride: usize, walked: usize) -> Option<Arc<Pager>> {
    let options = PagerOptions { prefetcher, probe_one_in: 4, ..PagerOptions::default() };
    let (pager, _segments) = far_with(16_384, 8192, options)?;
    (0..16_384).for_each(|page| store(&pager, page, 0, page as u64));
    pager.evict(pages(0, 16_384));
    let before = pager.stats().fetch_faults[0];
    assert!((0..walked).step_by(stride).all(|page| load(&pager, page, 0) == page as u64));
    assert_eq!(before, 0);
    Some(pager)
}

#[test]
fn prefetchers_cover_the_walks_that_they_know() {
    let share = |prefetcher, stride| {
        let stats = walk(prefetcher, stride, 4096)?.stats();
        let pages = 4096 / stride;
        let fetched = stats.fetched_bytes / PAGE_BYTES as u64;
        assert_eq!(fetched, stats.fetch_faults[0] + stats.ahead_pages);
        Some((stats.fetch_faults[0] as usize * 100 / pages, stats))
    };
    let Some((faults, stats)) = share(PrefetcherKind::None, 1) else { return };
    assert_eq!((faults, stats.ahead_pages, stats.prefetch_coverage()), (100, 0, None));
    for (prefetcher, stride, most) in [
        (PrefetcherKind::Sequential, 1, 12),
        (PrefetcherKind::Leap, 1, 30),
        (PrefetcherKind::Leap, 3, 30),
    ] {
        let (faults, stats) = share(prefetcher, stride).unwrap();
        assert!(faults <= most, "{prefetcher:?}, stride {stride}: {faults} % faults, {stats:?}");
        let (accuracy, coverage) = (stats.prefetch_accuracy(), stats.prefetch_coverage());
        assert!(accuracy.unwrap() > 0.9, "{prefetcher:?}, stride {stride}: {stats:?}");
        assert!(coverage.unwrap() > 0.6, "{prefetcher:?}, stride {stride}: {stats:?}");
    }
    let (faults, stats) = share(PrefetcherKind::Sequential, 3).unwrap();
    assert_eq!((faults, stats.ahead_pages), (100, 0));
}

/// Every eighth page is resident already.
#[test]
fn a_walk_is_not_lost_behind_pages_that_are_here() {
    let options =
        PagerOptions { probe_one_in: 0, frame_cache_percent: 0, ..PagerOptions::default() };
    let Some((pager, _segments)) = far_with(16_384, 8192, options) else { return };
    (0..4096).for_each(|page| store(&pager, page, 0, page as u64));
    pager.evict(pages(0, 16_384));
    for write in [false, true] {
        let here = (0..4096).step_by(8).map(|page| pager.fetch(pages(page, 1))).sum::<usize>();
        assert_eq!(here, 512);
        let before = pager.stats();
        for page in 0..4096 {
            match write {
                true => store(&pager, page, 1, page as u64),
                false => assert_eq!(load(&pager, page, 0), page as u64),
            }
        }
        let stats = pager.stats();
        let fetched = (stats.fetched_bytes - before.fetched_bytes) / PAGE_BYTES as u64;
        let faults = stats.fetch_faults[0] - before.fetch_faults[0];
        assert_eq!(fetched, 4096 - 512);
        assert!(faults < 130, "{faults} faults, write: {write}");
        assert!(!write || stats.protect_faults[0] - before.protect_faults[0] <= 512 + 16);
        pager.evict(pages(0, 4096));
    }
    assert!((0..4096).all(|page| load(&pager, page, 1) == page as u64));
}

#[test]
fn frames_of_a_region_that_goes_are_kept_for_a_walk() {
    let walk = |frame_cache_percent| {
        let options =
            PagerOptions { frame_cache_percent, probe_one_in: 0, ..PagerOptions::default() };
        let (pager, _segments) = far_with(4096, 1000, options)?;
        (0..896).for_each(|page| store(&pager, page, 0, page as u64));
        pager.evict(pages(0, 896));
        assert_eq!(pager.resident_pages(), 0);
        let kept = pager.stats().stocked_frames;
        assert!((0..896).all(|page| load(&pager, page, 0) == page as u64));
        let used = pager.stats().stocked_used_frames;
        // Budget that the frame cache takes is had from it again.
        (0..4096).rev().for_each(|page| store(&pager, page, 1, page as u64));
        assert!((0..896).all(|page| load(&pager, page, 0) == page as u64));
        assert!((0..4096).all(|page| load(&pager, page, 1) == page as u64));
        assert!(pager.stats().resident_pages_max <= 1000);
        Some((kept, used))
    };
    let Some((kept, used)) = walk(100) else { return };
    assert!((512..=896).contains(&kept), "{kept} kept");
    assert!((256..=kept).contains(&used), "{used} of {kept} used");
    assert_eq!(walk(30).unwrap().0, 256, "whole runs, up to 300 pages");
    assert_eq!(walk(0), Some((0, 0)));
}

#[test]
fn fresh_pages_in_old_frames_are_zero() {
    let Some((pager, _segments)) = far(4096, 1000) else { return };
    for round in 1..20 {
        (0..800).for_each(|page| (0..WORDS).for_each(|n| store(&pager, page, n, round)));
        pager.discard(pages(0, 800));
        pager.populate(pages(0, 400));
        let is_zero = |page| (0..WORDS).all(|n| load(&pager, page, n) == 0);
        assert!((0..800).all(is_zero), "round {round}");
    }
    let stats = pager.stats();
    assert!(stats.stocked_used_frames > 4000, "{stats:?}");
}

#[test]
fn pages_that_came_in_vain_are_known() {
    let options = PagerOptions { probe_one_in: 1, ..PagerOptions::default() };
    let Some((pager, _segments)) = far_with(16_384, 1024, options) else { return };
    (0..16_384).for_each(|page| store(&pager, page, 0, page as u64));
    pager.evict(pages(0, 16_384));
    // Two pages of each eight: the second looks like the beginning of a walk.
    for round in 0..4 {
        for start in (0..16_384).step_by(8) {
            let start = start * 2731 % 16_384;
            assert_eq!(load(&pager, start, 0) + 1, load(&pager, start + 1, 0), "round {round}");
        }
    }
    let stats = pager.stats();
    assert!(stats.probed_pages > 1000, "{stats:?}");
    assert!(stats.prefetch_accuracy().unwrap() < 0.1, "{stats:?}");
}

#[test]
fn faults_are_counted_for_the_thread_that_has_them() {
    let Some((pager, _segments)) = far_with(4096, 512, signals()) else { return };
    thread::scope(|scope| {
        scope.spawn(|| {
            set_thread_class(ThreadClass::Gc);
            load(&pager, 0, 0);
            load(&pager, 1, 0);
            store(&pager, 1, 0, 1);
        });
    });
    pager.evict(pages(0, 2));
    load(&pager, 1, 0);
    let stats = pager.stats();
    assert_eq!(stats.zero_faults, [0, 2]);
    assert_eq!(stats.protect_faults, [0, 1]);
    assert_eq!(stats.fetch_faults, [1, 0]);
}

#[test]
fn nonsense_options_are_refused() {
    let Some((_pager, segments)) = far(4096, 512) else { return };
    let store = || vec![segments[0].clone() as Arc<dyn Segment>];
    let attempt = |far_bytes, budget_bytes, stores| {
        let options = PagerOptions { far_bytes, budget_bytes, ..PagerOptions::default() };
        matches!(Pager::new(options, stores), Err(SwapError::Options(_)))
    };
    assert!(attempt(0, 1 << 20, store()));
    assert!(attempt(4097, 1 << 20, store()));
    assert!(attempt(16 << 20, 4096, store()), "budget too small");
    assert!(attempt(16 << 20, 4 << 20, vec![]));
    assert!(attempt(32 << 20, 4 << 20, store()), "segment too small");
}

/// The handler runs on the alternate stack, of which threads of the Rust library have 8 KiB.
#[test]
fn a_fault_needs_little_stack() {
    let Some((pager, _segments)) = far(8192, 256) else { return };
    let used = thread::scope(|scope| scope.spawn(|| stack_of_faults(&pager)).join().unwrap());
    // SAFETY: no memory is involved.
    let frame = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
    println!("{used} bytes of stack, of which about {frame} for the kernel's frame");
    assert!(used > 0 && used - frame.min(used) < 4096, "{used} bytes of stack");
}

/// Faults on all pages, twice, on a painted alternate stack. Returns how much of it was used.
fn stack_of_faults(pager: &Pager) -> usize {
    let mut stack = vec![0xa5_u8; 64 << 10];
    // SAFETY: all-zero is a valid stack_t.
    let (mut new, mut old) = unsafe { std::mem::zeroed::<(libc::stack_t, libc::stack_t)>() };
    new.ss_sp = stack.as_mut_ptr().cast();
    new.ss_size = stack.len();
    // SAFETY: the memory outlives its use as a stack, which ends below.
    assert_eq!(unsafe { libc::sigaltstack(&new, &mut old) }, 0);
    for page in (0..8192).chain(0..8192) {
        store(pager, page, 0, 1);
    }
    // SAFETY: gives the thread its former stack back.
    assert_eq!(unsafe { libc::sigaltstack(&old, std::ptr::null_mut()) }, 0);
    stack.len() - stack.iter().position(|byte| *byte != 0xa5).unwrap_or(stack.len())
}

/// The resident pages of the pager's range according to the kernel.
fn resident_in_smaps(pager: &Pager) -> usize {
    let base = pager.base().addr();
    let mut inside = false;
    let mut kib = 0;
    for line in std::fs::read_to_string("/proc/self/smaps").unwrap().lines() {
        let first = line.split_whitespace().next().unwrap();
        if let Some((start, _)) = first.split_once('-') {
            let start = usize::from_str_radix(start, 16).unwrap();
            inside = start >= base && start < base + pager.far_bytes();
        } else if inside && first == "Rss:" {
            kib += line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap();
        }
    }
    kib / 4
}

#[test]
fn the_kernel_never_counts_more_pages_than_the_budget() {
    let (all, budget) = (20_000, 1000);
    let Some((pager, _segments)) = far(all, budget) else { return };
    let stop = AtomicBool::new(false);
    // smaps is not read at one moment: no thread faults meanwhile, or pages that move would count twice.
    let still = RwLock::new(());
    let mut most = 0;
    thread::scope(|scope| {
        for seed in 0..3 {
            let (pager, stop, still) = (&pager, &stop, &still);
            scope.spawn(move || {
                let mut rng = StdRng::seed_from_u64(seed);
                while !stop.load(Ordering::Relaxed) {
                    let _moving = still.read().unwrap();
                    word(pager, rng.random_range(0..all), 0).fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(2) {
            let frozen = still.write().unwrap();
            most = most.max(resident_in_smaps(&pager));
            drop(frozen);
            thread::sleep(Duration::from_millis(1));
        }
        stop.store(true, Ordering::Relaxed);
    });
    println!("budget {budget}, at most {most} resident in smaps");
    assert!(most > budget / 2, "{most}");
    assert!(most <= budget, "{most} pages resident with a budget of {budget}");
    assert!(pager.stats().resident_pages_max <= budget as u64);
}

#[test]
fn no_write_is_lost_under_a_budget_of_five_percent() {
    count_in_little_memory(PagerOptions::default(), 0);
}

#[test]
fn no_write_is_lost_where_signals_tell_of_them() {
    count_in_little_memory(signals(), 101);
}

fn count_in_little_memory(options: PagerOptions, signals_min: u64) {
    let seed = std::env::var("SEED").map_or_else(|_| 42, |seed| seed.parse().unwrap());
    println!("SEED={seed}");
    let (all, budget, threads) = (8192, 410, 4);
    let Some((pager, _segments)) = far_with(all, budget, options) else { return };
    let stop = AtomicBool::new(false);
    let written: Vec<Vec<u64>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|t| {
                let (pager, stop) = (&pager, &stop);
                scope.spawn(move || count_in_random_pages(pager, stop, all, t, seed))
            })
            .collect();
        for n in 0..2 {
            let (pager, stop) = (&pager, &stop);
            scope.spawn(move || disturb(pager, stop, all, seed + 100 + n));
        }
        thread::sleep(Duration::from_secs(8));
        stop.store(true, Ordering::Relaxed);
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    for page in 0..all {
        let mut sum = 0;
        for (t, counts) in written.iter().enumerate() {
            assert_eq!(load(&pager, page, t), counts[page], "page {page}, thread {t}, seed {seed}");
            sum += counts[page];
        }
        assert_eq!(load(&pager, page, WORDS - 1), sum, "page {page}, shared, seed {seed}");
    }
    let stats = pager.stats();
    assert!(stats.resident_pages_max <= budget as u64);
    assert!(stats.evicted_pages > 1000 && stats.protect_faults[0] >= signals_min);
}

#[test]
fn many_threads_share_the_smallest_budget() {
    let Some((pager, _segments)) = far(2048, 256) else { return };
    let rounds = 20;
    thread::scope(|scope| {
        for t in 0..40 {
            let pager = &pager;
            scope.spawn(move || {
                let mut rng = StdRng::seed_from_u64(t);
                for _ in 0..rounds {
                    let range = pages(rng.random_range(0..2048 - 100), 100);
                    match t % 4 {
                        0 => pager.populate(range),
                        1 => _ = pager.fetch(range),
                        2 => _ = pager.write_back(range),
                        _ => {}
                    }
                    for page in range.pages() {
                        word(pager, page.0, 0).fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let sum: u64 = (0..2048).map(|page| load(&pager, page, 0)).sum();
    assert_eq!(sum, 40 * rounds * 100);
    assert!(pager.stats().resident_pages_max <= 256);
}

/// Increments its own word and a shared one of random pages, and checks its own; some pages are
/// hot.
fn count_in_random_pages(
    pager: &Pager,
    stop: &AtomicBool,
    all: usize,
    thread: usize,
    seed: u64,
) -> Vec<u64> {
    let mut rng = StdRng::seed_from_u64(seed * 1000 + thread as u64);
    let mut counts = vec![0; all];
    while !stop.load(Ordering::Relaxed) {
        let page = match rng.random_range(0..4) {
            0 => rng.random_range(0..all),
            _ => rng.random_range(0..200),
        };
        if rng.random_bool(0.3) {
            assert_eq!(load(pager, page, thread), counts[page], "page {page}, seed {seed}");
            continue;
        }
        counts[page] += 1;
        // A plain store: no other thread writes the own word.
        word(pager, page, thread).store(counts[page], Ordering::Relaxed);
        word(pager, page, WORDS - 1).fetch_add(1, Ordering::Relaxed);
    }
    counts
}

/// Writes back and through, evicts, fetches and pins random ranges.
fn disturb(pager: &Pager, stop: &AtomicBool, all: usize, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    while !stop.load(Ordering::Relaxed) {
        let count = rng.random_range(1..100);
        let range = pages(rng.random_range(0..all - count), count);
        match rng.random_range(0..10) {
            0..2 => drop(pager.write_back(range)),
            2..4 => drop(pager.write_through(range)),
            // Pins of the other disturber would make evict panic: it has the lower half.
            4..7 if range.start.0 > all / 2 => drop(pager.evict(range)),
            7 => drop(pager.fetch(range)),
            8 if range.end().0 < all / 2 => {
                if pager.pin(range).is_ok() {
                    assert!(range.pages().all(|page| pager.is_dirty(page)));
                    pager.unpin(range);
                }
            }
            _ => pager.populate(range),
        }
    }
}

fn tempfile() -> std::fs::File {
    use std::os::fd::FromRawFd;
    // SAFETY: a new descriptor with no other owner.
    unsafe { std::fs::File::from_raw_fd(libc::memfd_create(c"test".as_ptr(), libc::MFD_CLOEXEC)) }
}

#[test]
fn sampled_faults_are_those_that_fetched() {
    let options = PagerOptions { trace_samples: 64, ..PagerOptions::default() };
    let Some((pager, _)) = far_with(4096, 512, options) else { return };
    for page in [3, 200, 900] {
        store(&pager, page, 0, 1);
    }
    assert_eq!(pager.fault_samples().unwrap().samples, [], "a page that is new is not fetched");
    pager.evict(pages(0, 1024));
    store(&pager, 900, 0, 2);
    let class = set_thread_class(ThreadClass::Gc);
    load(&pager, 200, 0);
    set_thread_class(class);
    store(&pager, 200, 0, 2);
    let read = pager.fault_samples().unwrap();
    let mut seen: Vec<_> =
        read.samples.iter().map(|one| (one.page.0, one.class, one.is_write)).collect();
    seen.sort_by_key(|one| one.0);
    assert_eq!(seen, [(200, ThreadClass::Gc, false), (900, ThreadClass::Mutator, true)]);
    assert_eq!(read.faults, 2);
    let Some((pager, _)) = far(4096, 512) else { return };
    assert!(pager.fault_samples().is_none(), "no thread accesses it");
}

#[derive(Default)]
struct Observed(Mutex<Vec<ObservedFault>>);

impl FaultObserver for Observed {
    fn observe(&self, fault: &ObservedFault) {
        // No other thread takes the lock while the handler runs.
        self.0.lock().unwrap().push(*fault);
    }
}

#[test]
fn an_observer_is_shown_where_pages_were_fetched_and_by_whom() {
    let Some((pager, _)) = far(4096, 512) else { return };
    let observed = Arc::new(Observed::default());
    // Nothing may be allocated in a handler.
    observed.0.lock().unwrap().reserve(16);
    assert!(pager.observe_faults(1, observed.clone()));
    store(&pager, 3, 0, 1);
    store(&pager, 200, 0, 1);
    assert!(observed.0.lock().unwrap().is_empty(), "a page that is new is not fetched");
    pager.evict(pages(0, 1024));
    load(&pager, 3, 0);
    let class = set_thread_class(ThreadClass::Gc);
    {
        let _tracing = during(Activity::Tracing);
        load(&pager, 200, 0);
    }
    set_thread_class(class);
    load(&pager, 200, 0);
    let seen = observed.0.lock().unwrap();
    let [program, collector] = seen[..] else { panic!("{seen:?}") };
    assert_eq!((program.class, program.activity), (ThreadClass::Mutator, Activity::Other));
    assert_eq!((collector.class, collector.activity), (ThreadClass::Gc, Activity::Tracing));
    assert!(program.interrupted.pc != 0 && program.interrupted.sp != 0 && program.weight == 1);
}
