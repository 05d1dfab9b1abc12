//! Pages that are zero locally, regardless of their server's contents.

mod support;

use std::sync::Arc;

use rdma::ShmSegment;
use support::{far, far_with, load, pages, signals, store};
use swap::{PAGE_BYTES, Page, Pager};

#[test]
fn vacated_pages_are_zero_whatever_their_server_keeps() {
    [far(4096, 512), far_with(4096, 512, signals())].into_iter().flatten().for_each(vacated);
}

#[test]
fn pages_that_are_renewed_are_not_fetched() {
    [far(4096, 512), far_with(4096, 512, signals())].into_iter().flatten().for_each(renewed);
}

fn renewed((pager, _): (Arc<Pager>, [Arc<ShmSegment>; 2])) {
    let fetches = || pager.stats().fetched_bytes;
    (64..84).for_each(|page| store(&pager, page, 3, 7));
    pager.evict(pages(66, 3));
    pager.evict(pages(80, 2));
    pager.write_back(pages(70, 2));
    let before = fetches();
    pager.renew(pages(64, 30));
    assert!(pages(64, 30).pages().all(|page| pager.is_resident(page)));
    let found: Vec<u64> = (64..94).map(|page| load(&pager, page, 3)).collect();
    let was_remote = |page| (66..69).contains(&page) || (80..82).contains(&page);
    let kept = |page| if page < 84 && !was_remote(page) { 7 } else { 0 };
    assert_eq!(found, (64..94).map(kept).collect::<Vec<_>>());
    assert_eq!(fetches(), before);
    (64..94).for_each(|page| store(&pager, page, 3, 8));
    pager.evict(pages(64, 30));
    (64..94).for_each(|page| assert_eq!(load(&pager, page, 3), 8));
}

fn vacated((pager, segments): (Arc<Pager>, [Arc<ShmSegment>; 2])) {
    let on_server = |page: usize| segments[1].load((page * PAGE_BYTES + 24) as u64);
    (64..84).for_each(|page| store(&pager, page, 3, 7));
    pager.evict(pages(64, 10));
    pager.write_back(pages(74, 5));
    pager.vacate(pages(64, 20));
    assert!(!pager.is_resident(Page(70)) && !pager.is_resident(Page(83)));
    assert_eq!(
        (on_server(70), on_server(75), on_server(80)),
        (7, 7, 0),
        "servers keep what they have"
    );
    assert_eq!(load(&pager, 70, 3), 0);
    assert!(pager.is_dirty(Page(70)), "a page that was only read");
    pager.evict(pages(70, 1));
    assert_eq!((on_server(70), load(&pager, 70, 3)), (0, 0));
    store(&pager, 66, 4, 1);
    assert_eq!((load(&pager, 66, 3), load(&pager, 66, 4)), (0, 1));
    // Of no account any more, now and when it is vacated again.
    pager.vacate(pages(64, 20));
    segments[1].store((71 * PAGE_BYTES + 24) as u64, 9);
    pager.populate(pages(71, 2));
    assert_eq!((load(&pager, 71, 3), load(&pager, 72, 3)), (0, 0));
    (64..84).for_each(|page| assert_eq!(load(&pager, page, 3), 0));
    pager.evict(pages(64, 20));
    (64..84).for_each(|page| assert_eq!((on_server(page), load(&pager, page, 3)), (0, 0)));
    // An agent's writes count once the pages are invalidated.
    pager.vacate(pages(64, 20));
    segments[1].store((76 * PAGE_BYTES + 24) as u64, 11);
    pager.invalidate(pages(76, 1));
    assert_eq!(load(&pager, 76, 3), 11);
    (64..84).for_each(|page| store(&pager, page, 3, 7));
    pager.evict(pages(64, 20));
    pager.vacate(pages(64, 20));
    store(&pager, 80, 4, 1);
    pager.settle(&[pages(64, 4), pages(78, 4)]);
    assert_eq!([64, 67, 68, 77, 78, 79, 80, 81, 82].map(on_server), [0, 0, 7, 7, 0, 0, 7, 0, 7]);
    assert_eq!((load(&pager, 66, 3), load(&pager, 80, 3), load(&pager, 80, 4)), (0, 0, 1));
    assert!(!pager.is_dirty(Page(66)), "zero here and there");
    pager.vacate(pages(64, 20));
    pager.discard(pages(64, 20));
    assert_eq!((on_server(76), load(&pager, 76, 3)), (0, 0));
    assert!(!pager.is_dirty(Page(76)), "zero here and there");
}
