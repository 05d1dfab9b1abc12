//! Which pages count as written.

mod support;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use swap::{Page, PagerOptions, ThreadClass};

use support::{far, far_with, load, pages, signals, store};

#[test]
fn pages_that_are_only_read_are_never_dirty_while_they_come_and_go() {
    let Some((pager, _segments)) = far(4096, 256) else { return };
    let all = pages(0, 1024);
    (0..1024).for_each(|page| store(&pager, page, 0, page as u64 + 1));
    pager.write_back(all);
    let walks = AtomicU64::new(0);
    let found = thread::scope(|scope| {
        for _ in 0..8 {
            // Frames are moved, writable, from pages that a walk has passed to those that it reaches.
            scope.spawn(|| {
                while walks.fetch_add(1, Ordering::Relaxed) < 1000 {
                    (0..1024).for_each(|page| assert_eq!(load(&pager, page, 0), page as u64 + 1));
                }
            });
        }
        let mut found = Vec::new();
        while walks.load(Ordering::Relaxed) < 1000 {
            found.extend(pager.dirty_pages(all));
            found.extend(all.pages().filter(|page: &Page| pager.is_dirty(*page)));
        }
        found
    });
    assert_eq!(found, []);
    let stats = pager.stats();
    assert!(!pager.kernel_notes_writes() || stats.recycled_pages + stats.exchanged_pages > 0);
    assert_eq!(stats.written_bytes, all.bytes() as u64, "none is written again");
}

#[test]
fn what_is_written_through_stays_dirty() {
    written_through(signals(), 1);
    written_through(PagerOptions::default(), 0);
}

/// `signals`: how many signals the first writes after a write-back raise.
fn written_through(options: PagerOptions, signals: u64) {
    let Some((pager, segments)) = far_with(4096, 512, options) else { return };
    let faults = || pager.stats().protect_faults[ThreadClass::Mutator as usize];
    let write = |value: u64| {
        store(&pager, 70, 3, value);
        assert_eq!(pager.write_through(pages(64, 64)), 1);
        assert_eq!(segments[1].load(70 * 4096 + 24), value, "what was there is written");
        assert!(pager.is_dirty(Page(70)));
    };
    (1..4).for_each(write);
    pager.pin(pages(70, 1)).unwrap();
    write(4);
    pager.unpin(pages(70, 1));
    assert_eq!((faults(), pager.write_back(pages(64, 64))), (0, 1));
    assert_eq!(pager.write_through(pages(64, 64)), 0, "it is clean");
    write(5);
    assert_eq!(faults(), signals);
}
