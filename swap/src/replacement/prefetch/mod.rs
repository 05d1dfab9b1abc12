//! Prefetchers: which pages are brought along with a page that was faulted on.
//!
//! A [`Prefetcher`] sees the faults of all threads and says for each which pages will be wanted next. The pager brings
//! those that are remote, may be brought ([`PagerOptions::run_after`](crate::PagerOptions::run_after)) and find room
//! that the evictor keeps free, and maps them at once. So a page that was brought ahead raises no fault when it is
//! used, which is the point, but also hides whether it is used: [`Probes`] find that out by samples.
//!
//! The VM's own hints need no prefetcher: [`Pager::fetch`](crate::Pager::fetch) brings the pages that it names.

mod leap;
mod probes;
mod sequential;

use crate::Page;
use leap::Leap;
pub(crate) use probes::{Probes, Used};
use sequential::Sequential;
use std::fmt;
use std::str::FromStr;

/// Pages that a fault's page stands at the head of: `page + stride`, `page + 2 * stride`, ...
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Readahead {
    /// In pages; not 0.
    pub stride: isize,
    pub pages: usize,
    /// The fault continues a walk in order, which has passed the pages right before it.
    pub continues: bool,
}

impl Readahead {
    pub const NOTHING: Readahead = Readahead { stride: 1, pages: 0, continues: false };

    /// The `n`-th page, counted from 1, if there is one below `limit` pages.
    pub fn page(self, from: Page, n: usize, limit: usize) -> Option<Page> {
        let distance = self.stride.checked_mul(isize::try_from(n).ok()?)?;
        let page = from.0.checked_add_signed(distance)?;
        (page < limit).then_some(Page(page))
    }
}

/// Foresees faults. Async-signal-safe; any thread, several at a time.
pub(crate) trait Prefetcher: Send + Sync {
    /// A thread faulted on this page: the pages that should come with it.
    fn predict(&self, page: Page) -> Readahead;

    /// The first `pages` pages of `ahead` came with `page`, or were resident; the last `present` of them were
    /// resident. The same thread calls it, right after `predict`.
    fn brought(&self, page: Page, ahead: Readahead, pages: usize, present: usize);
}

/// Which prefetcher a pager has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PrefetcherKind {
    /// Only the faulting page is brought.
    None,
    /// Walks through memory in order, each with a window of its own that doubles.
    #[default]
    Sequential,
    /// The stride that most of a thread's latest faults have in common: Leap (Maruf and Chowdhury, USENIX ATC 2020).
    Leap,
}

impl PrefetcherKind {
    pub const ALL: [PrefetcherKind; 3] =
        [PrefetcherKind::None, PrefetcherKind::Sequential, PrefetcherKind::Leap];

    /// As it is written in options.
    pub fn name(self) -> &'static str {
        ["none", "sequential", "leap"][self as usize]
    }

    pub(crate) fn make(self) -> Option<Box<dyn Prefetcher>> {
        match self {
            PrefetcherKind::None => None,
            PrefetcherKind::Sequential => Some(Box::new(Sequential::default())),
            PrefetcherKind::Leap => Some(Box::new(Leap::default())),
        }
    }
}

impl fmt::Display for PrefetcherKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for PrefetcherKind {
    type Err = String;

    fn from_str(name: &str) -> Result<PrefetcherKind, String> {
        let found = PrefetcherKind::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| {
            let names = PrefetcherKind::ALL.map(PrefetcherKind::name).join(", ");
            format!("unknown prefetcher {name}: must be one of {names}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for kind in PrefetcherKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        let error = "best".parse::<PrefetcherKind>().unwrap_err();
        assert_eq!(error, "unknown prefetcher best: must be one of none, sequential, leap");
    }

    #[test]
    fn pages_ahead_end_at_the_borders() {
        let down = Readahead { stride: -3, pages: 8, continues: false };
        assert_eq!(down.page(Page(7), 2, 100), Some(Page(1)));
        assert_eq!(down.page(Page(7), 3, 100), None);
        let up = Readahead { stride: 50, pages: 8, continues: false };
        assert_eq!(up.page(Page(7), 1, 100), Some(Page(57)));
        assert_eq!(up.page(Page(7), 2, 100), None);
        assert_eq!(
            Readahead { stride: isize::MAX, pages: 2, continues: false }.page(Page(7), 2, 100),
            None
        );
    }
}
