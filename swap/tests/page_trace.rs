//! Traces of page accesses.

#[allow(dead_code)] // Other tests use the rest.
mod support;

use std::fs::File;
use std::io::Write;
use std::ptr;
use std::thread;
use std::time::Duration;

use swap::{
    PAGE_BYTES, Page, PageAction, PageEvent, PageTraceFile, PagerOptions, ThreadClass,
    set_thread_class,
};

use support::{far_with, load, pages, store};

#[test]
fn a_traced_pager_writes_every_access_down() {
    let path = std::env::temp_dir().join(format!("farheap-page-trace-{}", std::process::id()));
    let file = Some(File::create(&path).unwrap());
    let options = PagerOptions { page_trace: file, ..PagerOptions::default() };
    let Some((pager, segments)) = far_with(4096, 512, options) else { return };
    // The servers' memory is the heap's.
    store(&pager, 70, 3, 7);
    assert_eq!(segments[1].load(70 * 4096 + 24), 7);
    segments[1].store(70 * 4096 + 24, 8);
    assert_eq!(pager.evict(pages(64, 64)), 0);
    assert_eq!(load(&pager, 70, 3), 8);
    assert!(pager.is_resident(Page(3)) && !pager.is_dirty(Page(70)));
    assert_eq!((pager.budget_pages(), pager.far_bytes()), (512, 4096 * PAGE_BYTES));
    assert_eq!(pager.page_of(pager.address(Page(7)).wrapping_add(5)), Some(Page(7)));
    assert_eq!(pager.page_of(ptr::null()), None);
    // Far more than one look, and pinned pages stay mapped: a system call takes them.
    pager.pin(pages(100, 2)).unwrap();
    let (_reader, mut writer) = std::io::pipe().unwrap();
    let class = set_thread_class(ThreadClass::Gc);
    for round in 0..4 {
        (1000..3000).for_each(|page| store(&pager, page, 0, round));
        thread::sleep(Duration::from_millis(30));
        // SAFETY: the pages are in the far space, and no other thread has them.
        let pinned =
            unsafe { std::slice::from_raw_parts(pager.address(Page(100)), 2 * PAGE_BYTES) };
        writer.write_all(pinned).unwrap();
    }
    set_thread_class(class);
    pager.unpin(pages(100, 2));
    pager.discard(pages(64, 16));
    assert_eq!((load(&pager, 70, 3), segments[1].load(70 * 4096 + 24)), (0, 0));
    drop(pager);
    let trace = PageTraceFile::open(&path).unwrap();
    assert_eq!((trace.pages(), trace.budget_pages()), (4096, 512));
    let events: Vec<PageEvent> = trace.collect::<Result<_, _>>().unwrap();
    std::fs::remove_file(&path).unwrap();
    let of = |page: usize| {
        let has = move |event: &&PageEvent| event.range.pages().any(|one| one.0 == page);
        events.iter().filter(has).map(|event| (event.what, event.who)).collect::<Vec<_>>()
    };
    use PageAction::{Evicted, Freed, Fresh, Write};
    let mutator = ThreadClass::Mutator;
    assert_eq!(of(70)[..2], [(Fresh, mutator), (Evicted, mutator)]);
    assert!(of(70).ends_with(&[(Freed, mutator), (Fresh, mutator)]), "{:?}", of(70));
    assert_eq!(of(2999)[0], (Fresh, ThreadClass::Gc));
    // A look may come between the handler and the access that is done again.
    let later = &of(2999)[1..];
    assert!(
        later.len() >= 3 && later.iter().all(|one| *one == (Write, ThreadClass::Gc)),
        "{later:?}"
    );
    assert!(events.iter().filter(|event| event.what == PageAction::Look).count() >= 4);
}
