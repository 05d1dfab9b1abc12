//! Pages of entries are fetched ahead of need by a thread of their own (section 3.3, "Entry Assignment").
//!
//! The tablet of a server that will be taken next is known
//! ([`State::next_tablet`](super::allocation::State::next_tablet)). The thread fetches its pages when the one before
//! is taken, so that threads of the program fill their entry buffers without waiting for a memory server. It is a
//! hint: the tablet stays in its list, and the thread that takes it fetches the pages that are still missing.
//!
//! Pages that are new stay with the thread that takes the tablet: the kernel clears them in the cache of the CPU
//! that asks for them. Where this thread did so, everything that the program made was in another CPU's cache, and
//! programs that do little else took up to half as long again.
//!
//! A tablet that is at an agent must not be fetched. Agents get closed tablets, and the thread does not touch closed
//! ones; so tablets are closed while the thread has none in hand ([`Preloader::keep_still`]).

use super::Mako;
use parking_lot::{Condvar, Mutex, MutexGuard};

/// The orders of the thread.
#[derive(Default)]
pub struct Preloader {
    order: Mutex<Order>,
    asked: Condvar,
    /// Held while a tablet is chosen and fetched. Comes before the allocator's lock.
    in_hand: Mutex<()>,
}

#[derive(Default)]
struct Order {
    is_asked: bool,
    is_stopping: bool,
}

impl Preloader {
    /// Says that other tablets than before come next, and have pages on their servers. Does not block.
    pub fn ask(&self) {
        self.order.lock().is_asked = true;
        self.asked.notify_one();
    }

    /// Ends the thread.
    pub fn stop(&self) {
        self.order.lock().is_stopping = true;
        self.asked.notify_one();
    }

    /// Waits until no tablet is being fetched, for the time of four pages at most; none is until the guard is dropped.
    pub fn keep_still(&self) -> MutexGuard<'_, ()> {
        self.in_hand.lock()
    }

    /// The thread: false when it should end.
    fn next(&self) -> bool {
        let mut order = self.order.lock();
        while !order.is_asked && !order.is_stopping {
            self.asked.wait(&mut order);
        }
        order.is_asked = false;
        !order.is_stopping
    }
}

impl Mako {
    /// The loop of the thread.
    pub(super) fn preload(&self) {
        let shared = &self.shared;
        while shared.preloader.next() {
            for server in 0..self.agents.count() {
                let _in_hand = shared.preloader.in_hand.lock();
                let next = self.allocator.lock().next_tablet(server);
                let pages = next.map(|tablet| shared.entries.geometry.tablet_pages(tablet));
                let fetched = pages.map_or(0, |pages| shared.pager().fetch(pages));
                self.core.stats.count("entry_pages_preloaded", fetched as u64);
            }
        }
    }
}
