//! Who has names in hand that nothing keeps.
//!
//! Epochs, as in epoch-based reclamation: the count goes up with each sweep of the table. A scope notes the epoch in
//! which it began. A name that was seen in that epoch or later stays.

use parking_lot::{Mutex, const_mutex};
use std::cell::{Cell, RefCell};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

/// Begins a scope of this thread.
pub(super) fn enter() {
    let (depth, epoch) = HELD.get();
    let epoch = if depth == 0 { ACTIVE.lock().begin() } else { epoch };
    HELD.set((depth + 1, epoch));
}

/// Ends a scope. `list` gets the names that were made in the outermost one, before that ends.
pub(super) fn leave(list: impl FnOnce(Vec<NonZeroU32>)) {
    let (depth, epoch) = HELD.get();
    if depth == 1 {
        let made = MADE.take();
        if !made.is_empty() {
            list(made);
        }
        ACTIVE.lock().end(epoch);
    }
    HELD.set((depth - 1, epoch));
}

/// Notes a name that this thread has made in a scope.
pub(super) fn made(number: NonZeroU32) {
    MADE.with_borrow_mut(|made| made.push(number));
}

/// The epoch in which this thread's outermost scope began, if it has one.
pub(super) fn of_this_thread() -> Option<u32> {
    let (depth, epoch) = HELD.get();
    (depth > 0).then_some(epoch)
}

/// The present epoch.
pub(super) fn now() -> u32 {
    NOW.load(Ordering::Acquire)
}

/// Begins the next epoch. Names that were seen before the resulting one are in nobody's hand.
pub(super) fn advance() -> u32 {
    let active = ACTIVE.lock();
    let next = now() + 1;
    NOW.store(next, Ordering::Release);
    active.scopes.first().map_or(next, |(oldest, _)| *oldest)
}

/// The scopes that there are, by the epoch in which they began: epochs in order, and how many.
struct Active {
    scopes: Vec<(u32, u32)>,
}

impl Active {
    fn begin(&mut self) -> u32 {
        let now = now();
        match self.scopes.last_mut() {
            Some((epoch, count)) if *epoch == now => *count += 1,
            _ => self.scopes.push((now, 1)),
        }
        now
    }

    fn end(&mut self, epoch: u32) {
        let at = self.scopes.binary_search_by_key(&epoch, |(epoch, _)| *epoch);
        let at = at.expect("a scope that began");
        self.scopes[at].1 -= 1;
        if self.scopes[at].1 == 0 {
            self.scopes.remove(at);
        }
    }
}

thread_local! {
    /// How many scopes this thread has, and the epoch of the outermost.
    static HELD: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
    /// Names that this thread has made in its scopes.
    static MADE: RefCell<Vec<NonZeroU32>> = const { RefCell::new(Vec::new()) };
}

/// Changed with the lock of `ACTIVE` held.
static NOW: AtomicU32 = AtomicU32::new(1);
static ACTIVE: Mutex<Active> = const_mutex(Active { scopes: Vec::new() });
