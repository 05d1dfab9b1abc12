//! Model of how threads of a VM ask a server for parts of its memory. Run with `make loom`.
//!
//! The protocol is the real code, `grant_requests.rs`. Its words are loom's, and sleeping on them has no timeout.
#![cfg(loom)]

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU8, AtomicU64, Ordering};

    /// A word, and the threads that sleep on it.
    #[derive(Default)]
    pub(crate) struct AtomicU32 {
        word: loom::sync::atomic::AtomicU32,
        lock: loom::sync::Mutex<()>,
        sleepers: loom::sync::Condvar,
        /// Time has passed: nobody sleeps on the word any more.
        is_late: loom::sync::atomic::AtomicBool,
    }

    impl AtomicU32 {
        pub(crate) fn load(&self, order: Ordering) -> u32 {
            self.word.load(order)
        }

        pub(crate) fn fetch_add(&self, value: u32, order: Ordering) -> u32 {
            self.word.fetch_add(value, order)
        }

        pub(crate) fn end_sleep(&self) {
            self.is_late.store(true, Ordering::SeqCst);
            futex::wake_all(self);
        }
    }

    pub(crate) mod futex {
        use std::time::Duration;

        use super::{AtomicU32, Ordering};

        /// Times out when the model says so: a thread that nobody wakes before is reported.
        pub(crate) fn wait(word: &AtomicU32, expected: u32, _: Duration) {
            let guard = word.lock.lock().unwrap();
            let is_late = word.is_late.load(Ordering::SeqCst);
            if word.load(Ordering::SeqCst) == expected && !is_late {
                drop(word.sleepers.wait(guard).unwrap());
            }
        }

        pub(crate) fn wake_all(word: &AtomicU32) {
            let _guard = word.lock.lock().unwrap();
            word.sleepers.notify_all();
        }
    }
}
#[path = "../src/memory/grant_requests.rs"]
mod grant_requests;

use std::time::Duration;

use grant_requests::{Answer, Words, answer, ask, forget, is_granted};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use sync::{AtomicU8, AtomicU32, AtomicU64, Ordering};

const PARTS: usize = 2;

/// The table, with one slot for requests, and the memory that it is about.
#[derive(Default)]
struct World {
    asked: AtomicU32,
    answered: AtomicU32,
    slot: AtomicU64,
    states: [AtomicU8; PARTS],
    /// How often each part was populated; loom reports a thread that looks at it without a grant.
    populated: [UnsafeCell<u32>; PARTS],
    /// Threads that have their answers.
    done: AtomicU32,
}

impl Words for World {
    const REQUESTS: usize = 1;

    fn asked(&self) -> &AtomicU32 {
        &self.asked
    }

    fn answered(&self) -> &AtomicU32 {
        &self.answered
    }

    fn request(&self, _: usize) -> &AtomicU64 {
        &self.slot
    }

    fn state(&self, part: usize) -> &AtomicU8 {
        &self.states[part]
    }
}

impl World {
    /// Has a part granted, and looks at it.
    fn need(&self, part: usize) {
        if !is_granted(self, part) {
            assert_eq!(ask(self, part, || true, || false), Answer::Granted);
        }
        // SAFETY: loom reports the access if the server writes at the same time.
        assert!(self.populated[part].with(|count| unsafe { *count }) > 0);
    }

    /// The thread, one of `threads`, has what it needs. The server need not wait after the last.
    fn leave(&self, threads: u32) {
        if self.done.fetch_add(1, Ordering::SeqCst) + 1 == threads {
            self.asked.end_sleep();
        }
    }

    /// The server, until `threads` of the VM have what they need. `grants` says whether there is memory.
    fn serve(&self, threads: u32, mut grants: impl FnMut(usize) -> bool) {
        while self.done.load(Ordering::SeqCst) < threads {
            answer(self, PARTS, Duration::ZERO, |part| {
                let is_granted = grants(part);
                // A second request for a part that is granted touches pages that are there.
                if is_granted && self.states[part].load(Ordering::SeqCst) == 0 {
                    // SAFETY: as above.
                    self.populated[part].with_mut(|count| unsafe { *count += 1 });
                }
                is_granted
            });
        }
    }
}

fn check(preemptions: usize, body: impl Fn(Arc<World>) + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || body(Arc::new(World::default())));
}

/// Threads that need the parts in two orders, by one slot: each gets both, populated.
#[test]
fn threads_get_the_parts_that_they_need() {
    check(1, |world| {
        let threads: Vec<_> = [0, 1]
            .map(|part| {
                let world = world.clone();
                thread::spawn(move || {
                    world.need(part);
                    world.leave(2);
                })
            })
            .into();
        world.serve(2, |_| true);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn threads_may_ask_for_one_part_at_the_same_time() {
    check(2, |world| {
        let other = world.clone();
        let threads = thread::spawn(move || {
            let second = other.clone();
            let second = thread::spawn(move || {
                second.need(0);
                second.leave(2);
            });
            other.need(0);
            other.leave(2);
            second.join().unwrap();
        });
        world.serve(2, |_| true);
        threads.join().unwrap();
    });
}

/// Who asks after memory was given back has it populated anew; who was refused may ask again.
#[test]
fn parts_are_asked_for_again() {
    check(2, |world| {
        let other = world.clone();
        let thread = thread::spawn(move || {
            while ask(&*other, 0, || true, || false) == Answer::Refused {}
            forget(&*other, 0);
            other.need(0);
            other.leave(1);
        });
        let mut requests = 0;
        world.serve(1, |_| {
            requests += 1;
            requests > 1
        });
        thread.join().unwrap();
        assert_eq!(requests, 3);
    });
}

/// A thread leaves when the server is gone, or closes, without an answer.
#[test]
fn no_thread_waits_for_a_server_that_is_gone() {
    check(2, |world| {
        assert_eq!(ask(&*world, 0, || false, || false), Answer::Lost);
        assert_eq!(ask(&*world, 1, || true, || true), Answer::Closed);
    });
}
