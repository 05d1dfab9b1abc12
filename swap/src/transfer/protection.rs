//! Write protection of many pages with few system calls.
//!
//! When the protection of a page changes, every CPU that runs the process has to forget the old one.
//! Interrupting the others takes longer than all other steps of a page's eviction, and it is paid for each call, not
//! for each page. So one call protects a whole span, with the pages that lie between those that are meant:
//! *bystanders*, clean or not resident, to which protection means nothing. They are locked meanwhile, so that they
//! stay so.

use crate::Page;
use crate::kernel::interface::KernelInterface;
use crate::page::page_state::PageState;
use crate::page::page_table::PageTable;
use crate::transfer::work_area::Locked;

/// Removes the permission to write the pages of a batch that were dirty. `batch` is in ascending order. Where the
/// kernel notes writes, clean bystanders that were written are dirty from now on.
pub fn protect_dirty(kernel: &KernelInterface, pages: &PageTable, batch: &[Locked]) {
    let is_dirty = |n: &usize| batch[*n].was == PageState::Dirty;
    let mut dirty = (0..batch.len()).filter(is_dirty);
    let Some(mut first) = dirty.next() else { return };
    let mut last = first;
    for n in dirty {
        if !lock_bystanders(kernel, pages, &batch[last..=n]) {
            protect_span(kernel, pages, &batch[first..=last]);
            first = n;
        }
        last = n;
    }
    protect_span(kernel, pages, &batch[first..=last]);
}

/// Protects all from the first to the last page of `span`, between which the bystanders are locked, and unlocks
/// the bystanders.
fn protect_span(kernel: &KernelInterface, pages: &PageTable, span: &[Locked]) {
    let (start, last) = (span[0].page, span[span.len() - 1].page);
    let count = last.0 + 1 - start.0;
    match kernel.tracker() {
        Some(tracker) => tracker.written(kernel.address(start), count, true, |first, written| {
            (first..first + written).for_each(|n| pages.word(Page(start.0 + n)).set_dirty());
        }),
        None => kernel.protect(start, count, true),
    }
    unlock_bystanders(pages, bystanders(span));
}

/// Locks all pages between those of `span`, if that is possible and takes less time than one more call.
fn lock_bystanders(kernel: &KernelInterface, pages: &PageTable, span: &[Locked]) -> bool {
    let (start, last) = (span[0].page, span[span.len() - 1].page);
    if last.0 - start.0 > GAP_PAGES {
        return false;
    }
    for (locked, page) in bystanders(span).enumerate() {
        let word = pages.word(page);
        let seen = word.look();
        // Giving the permission back costs as much as taking it, unless the kernel does it by itself.
        let may_be_protected = kernel.notes_writes() || seen.state() != PageState::Dirty;
        let may_be_locked = !seen.is_locked() && may_be_protected;
        if !may_be_locked || !word.try_lock(seen) {
            unlock_bystanders(pages, bystanders(span).take(locked));
            return false;
        }
    }
    true
}

fn unlock_bystanders(pages: &PageTable, bystanders: impl Iterator<Item = Page>) {
    bystanders.for_each(|page| pages.unlock(page, pages.word(page).look().state()));
}

/// The pages between those of `span`, which is in ascending order.
fn bystanders(span: &[Locked]) -> impl Iterator<Item = Page> {
    span.windows(2).flat_map(|pair| (pair[0].page.0 + 1..pair[1].page.0).map(Page))
}

/// From one dirty page to the next. Locking and unlocking a bystander takes some 20 ns, a call that protects 5 us.
const GAP_PAGES: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bystanders_are_the_pages_between() {
        let locked =
            |page: &usize| Locked { page: Page(*page), was: PageState::Dirty, stays: false };
        let between = |pages: &[usize]| -> Vec<usize> {
            let span: Vec<_> = pages.iter().map(locked).collect();
            bystanders(&span).map(|page| page.0).collect()
        };
        assert_eq!(between(&[3, 4, 7, 9]), [5, 6, 8]);
        assert_eq!(between(&[3]), [0; 0]);
    }
}
