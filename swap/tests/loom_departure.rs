//! Model of pages whose writes the kernel notes: how they are evicted, are written back, and are protected again.
//! Run with `make loom`.
//!
//! As in `loom_page_state.rs` one atomic word stands for the hardware; the order of steps of an eviction, and the
//! page's state, are the real code. The kernel's part of a write to a protected page, and the write itself, are two
//! steps. The kernel changes an entry, and reports its state, under the lock of the table, so a thread that asks
//! knows what others did before they protected the page.
#![cfg(loom)]

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU32, Ordering};
}
#[path = "../src/transfer/departure.rs"]
mod departure;
mod models;
#[path = "../src/page/page_state.rs"]
#[allow(dead_code)]
mod page_state;

use departure::{Leaving, leave};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use page_state::{PageState, PageWord};
use std::sync::atomic::AtomicU32 as Unmodelled;
use std::sync::atomic::Ordering::Relaxed;

const MAPPED: u32 = 1 << 30;
const PROTECTED: u32 = 1 << 31;
const CONTENTS: u32 = MAPPED - 1;

/// One page: its word, its table entry with its contents, and its server's copy.
struct Model {
    word: PageWord,
    hardware: AtomicU32,
    server: AtomicU32,
    /// How many increments were done.
    increments: Unmodelled,
}

/// The page that is being evicted.
struct Going<'a> {
    model: &'a Model,
    is_dirty: bool,
    copy: u32,
    contents: u32,
}

impl Leaving for Going<'_> {
    fn is_dirty(&self, _n: usize) -> bool {
        self.is_dirty
    }

    fn copy(&mut self, _n: usize) {
        self.copy = self.model.now() & CONTENTS;
    }

    fn ask(&mut self) {
        self.is_dirty |= self.model.now() & PROTECTED == 0;
    }

    fn take_away(&mut self) -> usize {
        let old = self.model.hardware.swap(0, Ordering::Relaxed);
        assert!(old & MAPPED != 0, "gone while it was locked: {old:#x}");
        self.contents = old & CONTENTS;
        1
    }

    fn is_as_copied(&self, _n: usize) -> bool {
        self.copy == self.contents
    }

    fn save(&mut self, _n: usize) {
        self.model.server.store(self.contents, Ordering::Relaxed);
    }
}

impl Model {
    /// A page that is resident and clean.
    fn new() -> Arc<Model> {
        let model = Model {
            word: PageWord::default(),
            hardware: AtomicU32::new(MAPPED | PROTECTED),
            server: AtomicU32::new(0),
            increments: Unmodelled::new(0),
        };
        assert!(model.word.try_lock(model.word.look()));
        let _ = model.word.unlock_passing(PageState::Clean);
        Arc::new(model)
    }

    /// The newest word of the hardware, as the kernel and a CPU see it.
    fn now(&self) -> u32 {
        self.hardware.fetch_add(0, Ordering::AcqRel)
    }

    /// A thread adds one to the page. It gives up after a few faults, as in `loom_page_state.rs`.
    fn increment(&self) {
        for _ in 0..4 {
            let now = self.now();
            if now & MAPPED == 0 {
                self.fetch();
            } else if now & PROTECTED != 0 {
                // The kernel: only if nothing has changed meanwhile.
                let next = now & !PROTECTED;
                let _ = self.exchange(now, next);
            } else if self.exchange(now, now + 1) {
                self.increments.fetch_add(1, Relaxed);
                return;
            }
        }
    }

    fn exchange(&self, now: u32, next: u32) -> bool {
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        self.hardware.compare_exchange(now, next, success, failure).is_ok()
    }

    /// A fault on a page that is remote.
    fn fetch(&self) {
        let seen = self.word.look();
        if !seen.is_locked() && seen.state() == PageState::Remote && self.word.try_lock(seen) {
            let contents = self.server.load(Ordering::Relaxed);
            let old = self.hardware.swap(contents | MAPPED | PROTECTED, Ordering::Relaxed);
            assert_eq!(old, 0, "mapped twice");
            let _ = self.word.unlock_passing(PageState::Clean);
        }
    }

    /// Locks the page if it is resident.
    fn lock(&self) -> Option<PageState> {
        let seen = self.word.look();
        let may = !seen.is_locked() && seen.state().is_resident();
        (may && self.word.try_lock(seen)).then(|| seen.state())
    }

    /// As `FarSpace::leave`.
    fn leave(&self) {
        let Some(state) = self.lock() else { return };
        let is_dirty = state == PageState::Dirty;
        leave(&mut Going { model: self, is_dirty, copy: 0, contents: 0 }, 1);
        let _ = self.word.unlock_evicted(0);
    }

    /// As `Pager::write_back`. False if another thread had locked the page.
    fn write_back(&self) -> bool {
        // The kernel is asked first: a thread that protects the page after that learns of the write, and makes it
        // dirty.
        let is_written = self.now() & PROTECTED == 0;
        let seen = self.word.look();
        if seen.is_locked() {
            return false;
        }
        let is_noted = seen.state() == PageState::Clean && is_written;
        if seen.state() != PageState::Dirty && !is_noted {
            return true;
        }
        if !self.word.try_lock(seen) {
            return false;
        }
        let old = self.protect();
        self.server.store(old & CONTENTS, Ordering::Relaxed);
        let _ = self.word.unlock(PageState::Clean);
        true
    }

    fn protect(&self) -> u32 {
        let old = self.hardware.fetch_or(PROTECTED, Ordering::AcqRel);
        assert!(old & MAPPED != 0, "protected where nothing is: {old:#x}");
        old
    }

    /// As `FarSpace::watch`.
    fn watch(&self) {
        let seen = self.word.look();
        let may = !seen.is_locked() && seen.state() == PageState::Dirty;
        if may && self.word.try_lock(seen) {
            self.protect();
            let _ = self.word.unlock_watched();
        }
    }

    /// The page is one of those between others that are protected (`FarSpace::protect_noted`).
    fn stand_by(&self) {
        if self.lock().is_some() {
            if self.protect() & PROTECTED == 0 {
                self.word.set_dirty();
            }
            let _ = self.word.unlock(self.word.look().state());
        }
    }

    /// The replacement passes, and gives credit to a written page.
    fn look_at(&self) {
        let is_written = self.now() & PROTECTED == 0;
        let seen = self.word.look();
        let is_written = is_written && !seen.is_locked() && seen.is_noted();
        if is_written && self.word.try_lock(seen) {
            let is_here = seen.state().is_resident();
            assert!(is_here);
            let _ = self.word.unlock_used(PageState::Dirty);
        }
    }

    /// The invariants when all threads are done.
    fn check(&self) {
        let seen = self.word.look();
        assert!(!seen.is_locked());
        let (hardware, server) = (self.now(), self.server.load(Ordering::Relaxed));
        assert_eq!(hardware & MAPPED != 0, seen.state().is_resident());
        let contents = if seen.state().is_resident() { hardware & CONTENTS } else { server };
        assert_eq!(contents, self.increments.load(Relaxed), "a lost write");
        if seen.state() == PageState::Clean && hardware & PROTECTED != 0 {
            assert_eq!(server, contents, "clean, and not what its server has");
        }
    }
}

fn check(threads: Vec<fn(&Model)>) {
    models::explore_together(Model::new, threads, Model::check);
}

#[test]
fn writes_to_a_page_that_leaves_are_not_lost() {
    check(vec![Model::leave, Model::increment, Model::increment]);
    check(vec![Model::leave, |model| {
        model.increment();
        model.increment();
    }]);
}

#[test]
fn writes_are_noted_whatever_else_protects_the_page() {
    check(vec![
        Model::stand_by,
        |model| {
            model.increment();
            model.increment();
        },
        Model::leave,
    ]);
    check(vec![
        |model| {
            model.look_at();
            model.watch();
        },
        |model| {
            model.increment();
            model.look_at();
            model.increment();
        },
        Model::leave,
    ]);
}

/// All earlier writes are on the server when the page was written back.
fn write(model: &Model) {
    model.increment();
    let written = model.increments.load(Relaxed);
    if model.write_back() {
        assert_eq!(model.server.load(Ordering::Relaxed), written);
    }
    model.increment();
}

#[test]
fn what_was_written_before_is_written_back_or_leaves() {
    check(vec![write, Model::leave]);
}

#[test]
fn what_was_written_before_is_written_back_though_others_protect_it() {
    check(vec![write, Model::stand_by, Model::watch]);
}

#[test]
fn what_was_written_before_is_written_back_by_one_of_two() {
    check(vec![write, |model| {
        model.write_back();
        model.stand_by();
    }]);
}
