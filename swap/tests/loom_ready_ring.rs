//! Model of the ring of pages that are ready for eviction. Run with `make loom`.
#![cfg(loom)]

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicUsize, Ordering};
}
#[allow(dead_code)]
mod models;
#[path = "../src/range.rs"]
#[allow(dead_code)]
mod page;
#[path = "../src/replacement/ready_ring.rs"]
mod ready_ring;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use page::Page;
use ready_ring::ReadyRing;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// A ring, and the writes to a page by the thread that puts it in.
struct Model {
    ring: ReadyRing,
    pages: [UnsafeCell<u32>; 3],
}

impl Model {
    fn new(room: usize) -> Arc<Model> {
        let pages = [0; 3].map(UnsafeCell::new);
        Arc::new(Model { ring: ReadyRing::new(room), pages })
    }

    fn put(&self, page: usize) {
        // SAFETY: exclusive access is the subject of the model; loom checks it.
        self.pages[page].with_mut(|page| unsafe { *page += 1 });
        self.ring.put(Page(page));
    }

    /// Takes a page; if `knows`, the thread must see the write to it before.
    fn take(&self, knows: bool) -> Option<usize> {
        let page = self.ring.take()?.0;
        assert!(page < self.pages.len(), "page {page} was never put in");
        if knows {
            // SAFETY: as above.
            self.pages[page].with(|done| assert_eq!(unsafe { *done }, 1));
        }
        Some(page)
    }
}

/// One thread puts `pages` in, after page 0, while two others take one each. Returns the pages that they got, in
/// order, and those that were left.
fn race(model: &Arc<Model>, pages: &'static [usize], knows: bool) -> Vec<usize> {
    model.put(0);
    let takers = [0, 1].map(|_| {
        let model = model.clone();
        thread::spawn(move || model.take(knows))
    });
    let putter = {
        let model = model.clone();
        thread::spawn(move || pages.iter().for_each(|page| model.put(*page)))
    };
    let taken = takers.into_iter().filter_map(|taker| taker.join().unwrap());
    let mut all: Vec<_> = taken.collect();
    putter.join().unwrap();
    all.extend(std::iter::from_fn(|| model.take(knows)));
    assert_eq!(model.ring.count(), 0);
    all.sort_unstable();
    all
}

/// As long as there is room, every page comes out, at one place, and after the write to it.
#[test]
fn each_page_is_taken_once_and_after_it_was_put() {
    models::explore(|| assert_eq!(race(&Model::new(3), &[1, 2], true), [0, 1, 2]));
}

/// Where a page is put into the slot that another thread is about to empty, one may be forgotten. None comes out
/// twice, and the ring works on as before.
#[test]
fn a_slot_that_is_used_again_gives_out_no_page_twice() {
    models::explore(|| {
        let model = Model::new(1);
        match race(&model, &[1], false)[..] {
            [0] => WAS_FULL.store(true, Relaxed),
            [1] => WAS_FORGOTTEN.store(true, Relaxed),
            [0, 1] => {}
            ref other => panic!("{other:?}"),
        }
        model.put(2);
        assert_eq!([model.take(false), model.take(false)], [Some(2), None]);
    });
    assert!(WAS_FULL.load(Relaxed) && WAS_FORGOTTEN.load(Relaxed), "the model misses something");
}

/// Some interleaving found no room for a page, and some put it where another one was about to be taken.
static WAS_FULL: AtomicBool = AtomicBool::new(false);
static WAS_FORGOTTEN: AtomicBool = AtomicBool::new(false);
