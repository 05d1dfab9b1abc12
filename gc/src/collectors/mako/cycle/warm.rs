//! The pages of a group that were in local memory when it was handed to its agent, and are fetched again.
//!
//! The agent leaves new versions of the tablets' pages, and objects in pages that have never been resident. The
//! program would fetch all of them by faults, one by one, its working set among them. So pages of entries that were
//! resident are fetched again, many at a time, and so is the to-region, if nearly all of its objects were resident:
//! the room is that of the pages that they left. Pages for which there is no room stay remote; so the effect is
//! largest where local memory is ample.

use crate::collectors::mako::Mako;
use crate::collectors::mako::evacuation::Group;
use swap::{PAGE_BYTES, Page, PageRange};

/// See the module text.
pub struct Warm {
    /// Runs of pages of entries.
    entries: Vec<PageRange>,
    /// Whether nearly all pages of the from-regions were resident.
    are_objects: bool,
}

impl Mako {
    /// The resident pages of a group now, while threads use it: a hint.
    pub(super) fn warm(&self, group: &Group) -> Warm {
        let pager = self.shared.pager();
        let geometry = &self.shared.entries.geometry;
        let mut entries = Vec::new();
        for tablet in &group.tablets {
            add_runs(geometry.tablet_pages(*tablet), |page| pager.is_resident(page), &mut entries);
        }
        let (mut used, mut here) = (0, 0);
        for region in &group.from {
            let top = self.core.regions.region(*region).top();
            let pages = PageRange::of_bytes(geometry.region_offset(*region), top);
            used += pages.count;
            here += pages.pages().filter(|page| pager.is_resident(*page)).count();
        }
        Warm { entries, are_objects: here * 8 > used * 7 }
    }

    /// Fetches again the pages that were resident of a group that is done, as far as there is room. On the collector's
    /// thread, when no thread waits for the group.
    pub(super) fn bring_back(&self, group: &Group, warm: Warm) {
        let mut wanted = warm.entries;
        if warm.are_objects {
            let geometry = &self.shared.entries.geometry;
            let top = self.core.regions.region(group.to).top();
            wanted.push(PageRange::of_bytes(geometry.region_offset(group.to), top));
        }
        let pager = self.shared.pager();
        let mut brought = 0;
        for pages in wanted.into_iter().flat_map(pieces) {
            if pager.spare_pages() < pages.count {
                break;
            }
            brought += pager.fetch(pages);
        }
        self.core.stats.count("pages_brought_back", brought as u64);
    }
}

/// Adds the runs of pages for which `is_here` holds.
fn add_runs(pages: PageRange, is_here: impl Fn(Page) -> bool, runs: &mut Vec<PageRange>) {
    for page in pages.pages().filter(|page| is_here(*page)) {
        match runs.last_mut() {
            Some(run) if run.end() == page => run.count += 1,
            _ => runs.push(PageRange::new(page, 1)),
        }
    }
}

/// Parts of a range that are small beside local memory: between two of them the pager is asked whether there is room.
fn pieces(pages: PageRange) -> impl Iterator<Item = PageRange> {
    let end = pages.start.0 + pages.count;
    let starts = (pages.start.0..end).step_by(PIECE_PAGES);
    starts.map(move |start| PageRange::new(Page(start), PIECE_PAGES.min(end - start)))
}

const PIECE_PAGES: usize = (128 << 10) / PAGE_BYTES;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_what_was_here_and_pieces_are_all_of_a_run() {
        let mut runs = Vec::new();
        add_runs(PageRange::new(Page(4), 4), |page| page.0 != 5, &mut runs);
        add_runs(PageRange::new(Page(8), 4), |page| page.0 < 10, &mut runs);
        let run = |start, count| PageRange::new(Page(start), count);
        assert_eq!(runs, [run(4, 1), run(6, 4)]);
        let all: Vec<_> = pieces(run(3, 2 * PIECE_PAGES + 1)).collect();
        let expected =
            [run(3, PIECE_PAGES), run(3 + PIECE_PAGES, PIECE_PAGES), run(3 + 2 * PIECE_PAGES, 1)];
        assert_eq!(all, expected);
        assert_eq!(pieces(run(7, 0)).count(), 0);
    }
}
