//! The eviction of pages where the kernel notes writes (`write_tracker`).
//!
//! No signal tells the pager of a write then, so nothing holds a writer back from a page that was looked at and is
//! about to be evicted. Writes in that moment must not be lost:
//!
//! 1. Pages that count as clean are copied.
//! 2. The kernel is asked which of them were written. Those that were are dirty after all. Of the others, the copy
//!    equals the server's contents, regardless of later writes.
//! 3. The frames are held by a pipe, and then unmapped. When that is done, no thread can write to them.
//! 4. The contents of the frames are read from the pipe. Dirty pages are written to their servers, and so are those
//!    that differ from their copies: a thread wrote to them between 2 and 3.
//!
//! Nothing needs to be protected for this, so no CPU is interrupted but once for all pages of a batch. And dirty
//! pages are evicted as clean ones are. Separate in [`leave`], without system calls, for the model in
//! `tests/loom_departure.rs`.

/// Locked pages that are mapped and are to be evicted.
pub trait Leaving {
    /// Does the pager, or by now the kernel, know that the `n`-th was written?
    fn is_dirty(&self, n: usize) -> bool;

    /// Copies the contents of the `n`-th, which another thread may be writing.
    fn copy(&mut self, n: usize);

    /// Asks the kernel which clean pages were written. Those are dirty from now on.
    fn ask(&mut self);

    /// Unmaps them, and returns how many were unmapped, from the first on. When it returns, the contents of those do
    /// not change any more.
    fn take_away(&mut self) -> usize;

    /// Are the final contents of the `n`-th the same as its copy?
    fn is_as_copied(&self, n: usize) -> bool;

    /// Has the final contents of the `n`-th written to its server.
    fn save(&mut self, n: usize);
}

/// Evicts up to `count` pages, and returns how many were evicted. Their contents are on their servers when their
/// `save` has come into effect.
pub fn leave(pages: &mut impl Leaving, count: usize) -> usize {
    (0..count).for_each(|n| {
        if !pages.is_dirty(n) {
            pages.copy(n);
        }
    });
    pages.ask();
    let gone = pages.take_away();
    (0..gone).for_each(|n| {
        if pages.is_dirty(n) || !pages.is_as_copied(n) {
            pages.save(n);
        }
    });
    gone
}
