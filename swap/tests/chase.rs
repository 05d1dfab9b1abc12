//! Pages that words lead to.

use std::sync::Arc;

use rdma::{PeerId, Segment, ShmSegment};
use swap::{Chase, PAGE_BYTES, Page, PageRange, Pager, PagerOptions, SwapError};

/// Words of the second half lead to the pages whose numbers they are.
struct SecondHalf;

const PAGES: usize = 1024;

impl Chase for SecondHalf {
    fn is_pointer(&self, offset: usize) -> bool {
        assert!(offset.is_multiple_of(4));
        offset >= PAGES / 2 * PAGE_BYTES
    }

    fn word_bytes(&self) -> usize {
        4
    }

    fn target(&self, word: u64) -> Option<Page> {
        (word != 0).then_some(Page(word as usize))
    }
}

/// Nothing may be brought ahead of the last page of 64. `None` where userfaultfd is not allowed.
fn pager(chase: Option<Arc<dyn Chase>>) -> Option<Arc<Pager>> {
    let far_bytes = PAGES * PAGE_BYTES;
    let segment = ShmSegment::create(PeerId::Server(0), far_bytes as u64).unwrap();
    let options = PagerOptions {
        far_bytes,
        budget_bytes: far_bytes / 2,
        owner: Box::new(|_| 0),
        run_after: Box::new(|page| 63 - page.0 % 64),
        chase,
        ..PagerOptions::default()
    };
    match Pager::new(options, vec![Arc::new(segment) as Arc<dyn Segment>]) {
        Ok(pager) => Some(pager),
        Err(error @ SwapError::Userfaultfd { .. }) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn word(pager: &Pager, page: usize, index: usize) -> *mut u32 {
    pager.address(Page(page)).cast::<u32>().wrapping_add(index)
}

/// Writes targets to page 700, and evicts them and their page.
fn prepare(pager: &Pager, targets: &[u32]) {
    for (index, target) in targets.iter().enumerate() {
        // SAFETY: inside the far space, which lives; no other thread.
        unsafe {
            word(pager, 700, index).write_volatile(*target);
            if (*target as usize) < PAGES {
                word(pager, *target as usize, 5).write_volatile(*target + 1);
            }
        }
    }
    pager.evict(PageRange::new(Page(0), PAGES));
}

fn read(pager: &Pager, page: usize, index: usize) -> u32 {
    // SAFETY: as above.
    unsafe { word(pager, page, index).read_volatile() }
}

#[test]
fn a_page_comes_with_the_word_that_leads_to_it() {
    let Some(pager) = pager(Some(Arc::new(SecondHalf))) else { return };
    prepare(&pager, &[10, 20]);
    assert_eq!(read(&pager, 700, 1), 20);
    assert!(pager.is_resident(Page(20)) && !pager.is_resident(Page(10)));
    let faults = || pager.stats().fetch_faults[0];
    let before = faults();
    assert_eq!(read(&pager, 20, 5), 21);
    assert_eq!((faults(), pager.stats().followed_pages), (before, 1));
    // Only the word that was waited for is followed.
    assert_eq!(read(&pager, 700, 0), 10);
    assert!(!pager.is_resident(Page(10)));
}

#[test]
fn words_that_lead_nowhere_or_are_written_are_not_followed() {
    let Some(pager) = pager(Some(Arc::new(SecondHalf))) else { return };
    prepare(&pager, &[0, u32::MAX, PAGES as u32, 700, 64, 30]);
    for index in 0..5 {
        pager.evict(PageRange::new(Page(0), PAGES));
        read(&pager, 700, index);
    }
    assert!(!pager.is_resident(Page(64)), "nothing may be brought ahead there");
    pager.evict(PageRange::new(Page(0), PAGES));
    // SAFETY: as above.
    unsafe { word(&pager, 700, 5).write_volatile(31) };
    assert!(!pager.is_resident(Page(30)) && !pager.is_resident(Page(31)));
    // Page 10's words lead nowhere.
    read(&pager, 10, 0);
    assert_eq!(pager.stats().followed_pages, 0);
}

#[test]
fn nothing_is_followed_unasked() {
    let Some(pager) = pager(None) else { return };
    prepare(&pager, &[10]);
    assert_eq!(read(&pager, 700, 0), 10);
    assert!(!pager.is_resident(Page(10)));
    assert_eq!(pager.stats().followed_pages, 0);
}
