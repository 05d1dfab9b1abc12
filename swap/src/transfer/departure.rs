//! How pages leave where the kernel notes writes (`write_tracker`).
//!
//! No signal tells the pager of a write then, so nothing holds a writer back from a page that was looked at and is
//! about to go. What is written in that moment must not be lost:
//!
//! 1. Pages that count as clean are copied.
//! 2. The kernel is asked which of them were written. Those that were are dirty after all. Of the others, the copy is
//!    what their server has, whatever happens to them from now on.
//! 3. The frames are held by a pipe, and then taken out of their places. When that is done, nobody can write to them.
//! 4. What is in the frames now is read from the pipe. Dirty pages are written to their servers, and so are those that
//!    differ from their copies: somebody wrote to them between 2 and 3.
//!
//! Nothing needs to be protected for this, so no CPU is interrupted but once for all pages of a batch. And dirty
//! pages go as clean ones do. Alone here in [`leave`], without system calls, for the model in
//! `tests/loom_departure.rs`.

/// Locked pages that are mapped and are to go.
pub trait Leaving {
    /// Does the pager, or by now the kernel, know that the `n`-th was written?
    fn is_dirty(&self, n: usize) -> bool;

    /// Copies what is in the `n`-th, which somebody may be writing.
    fn copy(&mut self, n: usize);

    /// Asks the kernel which clean pages were written. Those are dirty from now on.
    fn ask(&mut self);

    /// Takes them out of their places, and returns how many went, from the first on. When it returns, what is in those
    /// does not change any more.
    fn take_away(&mut self) -> usize;

    /// Is what was in the `n`-th in the end the same as its copy?
    fn is_as_copied(&self, n: usize) -> bool;

    /// Has what was in the `n`-th in the end written to its server.
    fn save(&mut self, n: usize);
}

/// Makes up to `count` pages leave, and returns how many did. What was in them is on their servers when their `save`
/// has come into effect.
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
