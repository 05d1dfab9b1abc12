//! Model of the page's state machine. Run with `make loom`.
//!
//! The page table entry, the page's contents and the server's copy are modelled; the state machine
//! is the real one. One atomic word stands for the hardware: "mapped" and "writable" bits together
//! with the contents, so that a write is checked and done in one step, as the CPU does it.
#![cfg(loom)]

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU32, Ordering};
}
mod models;
#[path = "../src/page/page_state.rs"]
#[allow(dead_code)]
mod page_state;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use page_state::{PageState, PageWord};

const MAPPED: u32 = 1 << 30;
const WRITABLE: u32 = 1 << 31;
const CONTENTS: u32 = MAPPED - 1;

struct Model {
    word: PageWord,
    /// Mapping, protection and contents of the local page.
    hardware: AtomicU32,
    server: AtomicU32,
    /// How many increments were done. Outside the model.
    increments: std::sync::atomic::AtomicU32,
}

impl Model {
    fn new() -> Arc<Model> {
        let (hardware, server) = (AtomicU32::new(0), AtomicU32::new(0));
        let increments = Default::default();
        Arc::new(Model { word: PageWord::default(), hardware, server, increments })
    }

    /// A thread adds one to the page. It gives up after a few faults: two threads that wait for
    /// each other's progress are more than loom can schedule.
    fn increment(&self) {
        for _ in 0..4 {
            // Read-modify-write, since a CPU never uses an entry older than its last flush.
            let now = self.hardware.fetch_add(0, Ordering::Relaxed);
            if now & MAPPED == 0 || now & WRITABLE == 0 {
                self.fault(true);
                continue;
            }
            let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
            if self.hardware.compare_exchange(now, now + 1, success, failure).is_ok() {
                self.increments.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                return;
            }
        }
    }

    /// As `FarSpace::touch`.
    fn fault(&self, write: bool) {
        let seen = self.word.look();
        if seen.is_locked() {
            return;
        }
        match seen.state() {
            PageState::Dirty => {}
            PageState::Clean if !write => {}
            PageState::Clean => {
                if self.word.try_lock(seen) {
                    let old = self.hardware.fetch_or(WRITABLE, Ordering::Relaxed);
                    assert!(old & MAPPED != 0 && old & WRITABLE == 0, "clean: {old:#x}");
                    let _ = self.word.unlock_used(PageState::Dirty);
                }
            }
            PageState::Zero | PageState::Blank | PageState::Remote => {
                if self.word.try_lock(seen) {
                    let write = write || seen.state() == PageState::Blank;
                    let contents = match seen.state().is_zero() {
                        true => 0,
                        false => self.server.load(Ordering::Relaxed),
                    };
                    let writable = if write { WRITABLE } else { 0 };
                    let new = contents | MAPPED | writable;
                    let old = self.hardware.swap(new, Ordering::Relaxed);
                    assert_eq!(old & MAPPED, 0, "mapped twice");
                    let state = if write { PageState::Dirty } else { PageState::Clean };
                    let _ = self.word.unlock_arrived(state, 0, 2, true);
                }
            }
        }
    }

    /// As the pager's write_back and evict, and the evictor.
    fn move_out(&self, drop: bool) {
        let seen = self.word.look();
        if seen.is_locked() || !seen.state().is_resident() || seen.pins() > 0 {
            return;
        }
        if !self.word.try_lock(seen) {
            return;
        }
        if seen.state() == PageState::Dirty {
            let old = self.hardware.fetch_and(!WRITABLE, Ordering::Relaxed);
            assert!(old & MAPPED != 0 && old & WRITABLE != 0, "dirty: {old:#x}");
            let contents = self.hardware.load(Ordering::Relaxed) & CONTENTS;
            self.server.store(contents, Ordering::Relaxed);
        }
        if drop {
            let old = self.hardware.swap(0, Ordering::Relaxed);
            assert_eq!(old & CONTENTS, self.server.load(Ordering::Relaxed), "lost write");
            let _ = self.word.unlock_evicted(0);
        } else {
            let _ = self.word.unlock(PageState::Clean);
        }
    }

    /// As a page between two that are protected: nothing may change, and it must stay as it is meanwhile.
    fn stand_by(&self) {
        let seen = self.word.look();
        if seen.is_locked() || seen.state() == PageState::Dirty || !self.word.try_lock(seen) {
            return;
        }
        let old = self.hardware.fetch_and(!WRITABLE, Ordering::Relaxed);
        assert_eq!(old & WRITABLE, 0, "a bystander was writable: {old:#x}");
        let _ = self.word.unlock(self.word.look().state());
    }

    /// The contents that a reader would see when no thread moves the page.
    fn contents(&self) -> u32 {
        match self.word.look().state() {
            PageState::Zero | PageState::Blank => 0,
            PageState::Remote => self.server.load(Ordering::Relaxed),
            _ => self.hardware.load(Ordering::Relaxed) & CONTENTS,
        }
    }

    /// The invariants when all threads are done.
    fn check(&self) {
        let increments = self.increments.load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(self.contents(), increments);
        assert!(!self.word.look().is_locked());
    }
}

fn check(threads: Vec<fn(&Model)>) {
    models::explore_together(Model::new, threads, Model::check);
}

#[test]
fn two_writers_and_an_evictor_lose_nothing() {
    check(vec![Model::increment, Model::increment, |model| model.move_out(true)]);
}

#[test]
fn a_writer_a_write_back_and_an_evictor_lose_nothing() {
    check(vec![
        |model| {
            model.increment();
            model.increment();
        },
        |model| model.move_out(false),
        |model| model.move_out(true),
    ]);
}

#[test]
fn a_bystander_stays_what_it_is() {
    check(vec![Model::increment, Model::stand_by, |model| {
        model.move_out(false);
        model.stand_by();
    }]);
}

#[test]
fn a_reader_that_faults_makes_no_difference() {
    check(vec![Model::increment, |model| model.fault(false), |model| {
        model.move_out(true);
        model.move_out(false);
    }]);
}

#[test]
fn a_blank_page_is_zero_whatever_its_server_has() {
    let blank = || {
        let model = Model::new();
        assert!(model.word.try_lock(model.word.look()));
        let _ = model.word.unlock(PageState::Blank);
        model.server.store(77, Ordering::Relaxed);
        model
    };
    let threads: Vec<fn(&Model)> =
        vec![Model::increment, |model| model.fault(false), |model| model.move_out(true)];
    models::explore_together(blank, threads, Model::check);
}

#[test]
fn a_pinned_page_is_not_evicted_once_it_is_there() {
    check(vec![
        |model| {
            model.word.pin();
            model.fault(true);
            if model.word.look().state() == PageState::Dirty && !model.word.look().is_locked() {
                let hardware = model.hardware.fetch_add(0, Ordering::Relaxed);
                assert_eq!(hardware & MAPPED, MAPPED, "gone while pinned");
            }
            model.word.unpin();
        },
        |model| model.move_out(true),
        |model| model.move_out(true),
    ]);
}

#[test]
fn whoever_announces_a_wait_is_woken_or_need_not_sleep() {
    loom::model(|| {
        let model = Model::new();
        let seen = model.word.look();
        assert!(model.word.try_lock(seen));
        let waiter = {
            let model = model.clone();
            thread::spawn(move || model.word.announce_wait())
        };
        let wakes = model.word.unlock(PageState::Remote);
        let announced = waiter.join().unwrap();
        // Asleep on a word that no thread will wake, and that has not changed.
        let stuck = announced.is_some_and(|seen| !wakes && model.word.look() == seen);
        assert!(!stuck);
        assert!(announced.is_none() || wakes);
    });
}
