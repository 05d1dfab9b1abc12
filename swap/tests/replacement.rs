//! Which pages the replacement keeps.

#[allow(dead_code)] // Other tests use the rest.
mod support;

use swap::{Activity, Page, PagerOptions, PrefetcherKind, ThreadClass, during, set_thread_class};

use support::{far_with, load, pages, store};

/// Pages of the program that stay while others are fetched: by a thread that traces, or by one that does not. `None`
/// where userfaultfd is not allowed.
fn kept(activity: Activity, traced_pages_pass: bool) -> Option<usize> {
    const PROGRAMS: usize = 300;
    let prefetcher = PrefetcherKind::None;
    let options = PagerOptions { traced_pages_pass, prefetcher, ..PagerOptions::default() };
    let (pager, _segments) = far_with(16_384, 600, options)?;
    (0..16_384).for_each(|page| store(&pager, page, 0, page as u64));
    pager.evict(pages(0, 16_384));
    // In no order that would be a walk, and all over the clock.
    let place = |n: usize| n * 7919 % 16_384;
    (0..PROGRAMS).for_each(|n| assert_eq!(load(&pager, place(n), 0), place(n) as u64));
    let class = set_thread_class(ThreadClass::Gc);
    {
        let _during = during(activity);
        let others = PROGRAMS..PROGRAMS + 600;
        others.for_each(|n| assert_eq!(load(&pager, place(n), 0), place(n) as u64));
    }
    set_thread_class(class);
    Some((0..PROGRAMS).filter(|n| pager.is_resident(Page(place(*n)))).count())
}

#[test]
fn what_tracing_fetches_leaves_before_the_programs_pages() {
    if kept(Activity::Tracing, true).is_none() {
        return;
    }
    // How far the evictor is ahead varies.
    let kept = |activity, pass| -> usize {
        (0..6).map(|_| kept(activity, pass).expect("it was allowed")).sum()
    };
    let from_tracing = kept(Activity::Tracing, true);
    let (without, from_others) = (kept(Activity::Tracing, false), kept(Activity::Evacuation, true));
    let least = without.max(from_others) * 5 / 4;
    assert!(from_tracing > least, "{from_tracing}, {without} and {from_others} of 1800");
}
