//! Model of the exchange of frames between a page that is faulted on and one that is evicted. Run with `make loom`.
//!
//! As in `loom_page_state.rs` the hardware and the server's copies are modelled; which page may be evicted, the state
//! words, and the state of the page that arrives are the real code. Order of steps as in `FarSpace::bring_exchanged`.
#![cfg(loom)]

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU32, Ordering};
}
#[path = "../src/transfer/arrival.rs"]
mod arrival;
mod models;
#[path = "../src/page/page_state.rs"]
#[allow(dead_code)]
mod page_state;
mod page {
    pub(crate) use crate::page_state;
}

use arrival::{Arrived, settle};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use page_state::{PageState, PageWord};
use std::sync::atomic::AtomicU32 as Unmodelled;
use std::sync::atomic::Ordering::Relaxed;

const MAPPED: u32 = 1 << 30;
const WRITABLE: u32 = 1 << 31;
const CONTENTS: u32 = MAPPED - 1;

/// The page that is evicted, of those below.
const LEAVES: usize = 0;
/// The page that is faulted on.
const ARRIVES: usize = 1;
/// Another one.
const OTHER: usize = 2;

/// One page: its word, its table entry with its contents, and its server's copy.
#[derive(Default)]
struct Place {
    word: PageWord,
    hardware: AtomicU32,
    server: AtomicU32,
    /// The contents that it should have.
    expected: Unmodelled,
}

impl Place {
    /// A page that holds `contents` locally and on its server, clean, or on its server only.
    fn new(contents: u32, is_here: bool) -> Place {
        let place = Place::default();
        assert!(place.word.try_lock(place.word.look()));
        place.server.store(contents, Ordering::Relaxed);
        place.expected.store(contents, Relaxed);
        if is_here {
            place.hardware.store(contents | MAPPED, Ordering::Relaxed);
            let _ = place.word.unlock_passing(PageState::Clean);
        } else {
            let _ = place.word.unlock_evicted(0);
        }
        place
    }
}

struct Model {
    places: [Place; 3],
    /// Frames that were moved from one page to another.
    exchanged: Unmodelled,
}

/// A page that was laid, as a run of one.
struct Laid<'a> {
    place: &'a Place,
    source: u32,
}

impl Arrived for Laid<'_> {
    fn protect(&self, _n: usize, count: usize, protect: bool) {
        assert_eq!(count, 1);
        let old = match protect {
            true => self.place.hardware.fetch_and(!WRITABLE, Ordering::Relaxed),
            false => self.place.hardware.fetch_or(WRITABLE, Ordering::Relaxed),
        };
        assert!(old & MAPPED != 0, "gone while it was locked: {old:#x}");
    }

    fn is_same(&self, _n: usize) -> bool {
        self.place.hardware.fetch_add(0, Ordering::Relaxed) & CONTENTS == self.source
    }

    fn unlock(&self, _n: usize, state: PageState) {
        let _ = self.place.word.unlock_arrived(state, 0, 2, true);
    }
}

impl Model {
    /// A page that can be evicted, and two that are remote. There is no room but its frame.
    fn new() -> Arc<Model> {
        let places = [Place::new(10, true), Place::new(20, false), Place::new(30, false)];
        Arc::new(Model { places, exchanged: Unmodelled::new(0) })
    }

    /// A fault on a page that is remote.
    fn exchange(&self, page: usize, write: bool) {
        let (place, leaves) = (&self.places[page], &self.places[LEAVES]);
        let seen = place.word.look();
        if seen.is_locked() || seen.state() != PageState::Remote || !place.word.try_lock(seen) {
            return;
        }
        if leaves.word.try_lock_ready(false).is_none() {
            let _ = place.word.unlock(PageState::Remote);
            return;
        }
        let frame = leaves.hardware.swap(0, Ordering::Relaxed);
        assert!(frame & MAPPED != 0 && frame & WRITABLE == 0, "it was not clean: {frame:#x}");
        let kept = leaves.server.load(Ordering::Relaxed);
        assert_eq!(frame & CONTENTS, kept, "lost with the page that left");
        let _ = leaves.word.unlock_evicted(0);
        let source = place.server.load(Ordering::Relaxed);
        let old = place.hardware.swap(source | MAPPED | WRITABLE, Ordering::Relaxed);
        assert_eq!(old, 0, "mapped twice");
        settle(&Laid { place, source }, 1, write);
        self.exchanged.fetch_add(1, Relaxed);
    }

    /// A thread adds one to a page. It gives up after a few faults, as in `loom_page_state.rs`.
    fn increment(&self, page: usize) {
        let place = &self.places[page];
        for _ in 0..3 {
            let now = place.hardware.fetch_add(0, Ordering::Relaxed);
            if now & MAPPED == 0 {
                self.exchange(page, true);
            } else if now & WRITABLE == 0 {
                self.make_writable(page);
            } else {
                let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
                let next = now + 1;
                if place.hardware.compare_exchange(now, next, success, failure).is_ok() {
                    place.expected.fetch_add(1, Relaxed);
                    return;
                }
            }
        }
    }

    /// A write to a page that is protected.
    fn make_writable(&self, page: usize) {
        let place = &self.places[page];
        let seen = place.word.look();
        let is_clean = !seen.is_locked() && seen.state() == PageState::Clean;
        if is_clean && place.word.try_lock(seen) {
            let old = place.hardware.fetch_or(WRITABLE, Ordering::Relaxed);
            assert!(old & MAPPED != 0 && old & WRITABLE == 0, "clean: {old:#x}");
            let _ = place.word.unlock_used(PageState::Dirty);
        }
    }

    /// The replacement passes.
    fn spend_credit(&self, page: usize) {
        let word = &self.places[page].word;
        let seen = word.look();
        if !seen.is_locked() && seen.pins() == 0 && seen.state().is_resident() {
            let _ = word.spend_credit(seen);
        }
    }

    /// As the pager's write-back, and evictor: a dirty page is protected and written, and dropped if `drop`.
    fn move_out(&self, page: usize, drop: bool) {
        let place = &self.places[page];
        let seen = place.word.look();
        let may_go = !seen.is_locked() && seen.state().is_resident() && seen.pins() == 0;
        if !may_go || !place.word.try_lock(seen) {
            return;
        }
        if seen.state() == PageState::Dirty {
            let old = place.hardware.fetch_and(!WRITABLE, Ordering::Relaxed);
            assert!(old & MAPPED != 0 && old & WRITABLE != 0, "dirty: {old:#x}");
            place.server.store(old & CONTENTS, Ordering::Relaxed);
        }
        if drop {
            let old = place.hardware.swap(0, Ordering::Relaxed);
            assert_eq!(old & CONTENTS, place.server.load(Ordering::Relaxed), "lost write");
            let _ = place.word.unlock_evicted(0);
        } else {
            let _ = place.word.unlock_passing(PageState::Clean);
        }
    }

    /// The invariants when all threads are done.
    fn check(&self) {
        for (page, place) in self.places.iter().enumerate() {
            let seen = place.word.look();
            assert!(!seen.is_locked(), "page {page}");
            let hardware = place.hardware.load(Ordering::Relaxed);
            assert_eq!(hardware & MAPPED != 0, seen.state().is_resident(), "page {page}");
            let is_dirty = seen.state() == PageState::Dirty;
            assert_eq!(hardware & WRITABLE != 0, is_dirty, "page {page}: {hardware:#x}");
            let server = place.server.load(Ordering::Relaxed);
            let contents = if is_dirty { hardware & CONTENTS } else { server };
            assert_eq!(contents, place.expected.load(Relaxed), "page {page}: a lost write");
            let here = if seen.state().is_resident() { hardware & CONTENTS } else { contents };
            assert_eq!(here, contents, "page {page}: clean, and not what its server has");
        }
    }
}

fn check(threads: Vec<fn(&Model)>) {
    models::explore_together(Model::new, threads, Model::check);
}

#[test]
fn writes_to_the_page_that_leaves_are_not_lost() {
    check(vec![|model| model.exchange(ARRIVES, false), |model| model.increment(LEAVES), |model| {
        model.move_out(LEAVES, false)
    }]);
    check(vec![|model| model.exchange(ARRIVES, false), |model| {
        model.increment(LEAVES);
        model.spend_credit(LEAVES);
    }]);
}

#[test]
fn writes_to_the_page_that_arrives_are_not_lost() {
    check(vec![
        |model| model.exchange(ARRIVES, false),
        |model| model.increment(ARRIVES),
        |model| model.move_out(ARRIVES, true),
    ]);
}

#[test]
fn a_frame_goes_to_one_page_only() {
    check(vec![
        |model| model.exchange(ARRIVES, false),
        |model| {
            model.exchange(OTHER, true);
            model.increment(OTHER);
        },
        |model| model.move_out(LEAVES, true),
    ]);
    loom::model(|| {
        let model = Model::new();
        let threads = [ARRIVES, OTHER].map(|page| {
            let model = model.clone();
            thread::spawn(move || model.exchange(page, false))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(model.exchanged.load(Relaxed), 1);
        model.check();
    });
}

#[test]
fn the_frame_of_a_page_that_was_pinned_while_it_was_here_stays() {
    check(vec![
        |model| {
            let word = &model.places[LEAVES].word;
            word.pin();
            let seen = word.look();
            if !seen.is_locked() && seen.state().is_resident() {
                let hardware = model.places[LEAVES].hardware.fetch_add(0, Ordering::Relaxed);
                assert!(hardware & MAPPED != 0, "gone while pinned");
            }
            word.unpin();
        },
        |model| model.exchange(ARRIVES, false),
        |model| model.exchange(OTHER, true),
    ]);
}
