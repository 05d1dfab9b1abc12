//! Which pages of a run are dirty that arrived writable: the kernel moves frames in no other way.
//!
//! From the moment that such a page is in its place any thread may write to it, without a fault and without the pager
//! knowing, although it is locked. So the run is protected first, and compared with its source afterwards: a write
//! before the protection has made a difference, and a later one raises a fault. In a module of its own, without
//! system calls, for the model in `tests/loom_exchange.rs`.

use crate::page::page_state::PageState;

/// A run of locked pages that were just moved to their places, writable, each a copy of its source.
pub trait Arrived {
    /// Removes or restores the permission to write `count` pages from the `n`-th on. When it returns, no CPU still
    /// writes with an older permission.
    fn protect(&self, n: usize, count: usize, protect: bool);

    /// Is the `n`-th page, which is protected, still the same as its source?
    fn is_same(&self, n: usize) -> bool;

    /// Gives back the lock of the `n`-th page with its new state.
    fn unlock(&self, n: usize, state: PageState);
}

/// Unlocks a run of `count` pages, dirty if it is being written. Else it is protected and clean, except for pages
/// that another thread wrote to meanwhile.
pub fn settle(run: &impl Arrived, count: usize, write: bool) {
    if write {
        return (0..count).for_each(|n| run.unlock(n, PageState::Dirty));
    }
    run.protect(0, count, true);
    for n in 0..count {
        if run.is_same(n) {
            run.unlock(n, PageState::Clean);
        } else {
            run.protect(n, 1, false);
            run.unlock(n, PageState::Dirty);
        }
    }
}
