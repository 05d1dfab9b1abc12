//! What a trace of page accesses consists of, and its file.
//!
//! ```text
//!   0          8        16        24
//!   ┌──────────┬────────┬─────────┬────────────────────────────────┐
//!   │ FHPAGES1 │ pages  │ budget  │ events, 8 bytes each, in order │   little-endian; pages and budget in pages
//!   └──────────┴────────┴─────────┴────────────────────────────────┘
//!
//!    63               40 39    36 35  32 31                       0
//!   ┌───────────────────┬────────┬──────┬──────────────────────────┐
//!   │ pages             │ who    │ what │ first page               │
//!   └───────────────────┴────────┴──────┴──────────────────────────┘
//! ```

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use crate::{Page, PageRange, ThreadClass};

/// Something that happened to pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageEvent {
    pub what: PageAction,
    /// The class of the thread.
    pub who: ThreadClass,
    /// One page where they were accessed.
    pub range: PageRange,
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PageAction {
    /// The first access since the last look, a read.
    Read = 1,
    /// The same, a write.
    Write = 2,
    /// The first access to a page that is zero.
    Fresh = 3,
    /// All pages were unmapped: the next access to each is an event again. No pages.
    Look = 4,
    /// The collector wrote pages back.
    WrittenBack = 5,
    /// The collector evicted pages.
    Evicted = 6,
    /// The collector dropped local copies: the servers' are newer.
    Invalidated = 7,
    /// Pages are zero from now on.
    Freed = 8,
    /// The collector brought pages.
    Fetched = 9,
}

const ACTIONS: [PageAction; 9] = [
    PageAction::Read,
    PageAction::Write,
    PageAction::Fresh,
    PageAction::Look,
    PageAction::WrittenBack,
    PageAction::Evicted,
    PageAction::Invalidated,
    PageAction::Freed,
    PageAction::Fetched,
];

impl PageEvent {
    /// The word of an event; never 0. `range` has at most [`COUNT_MAX`] pages, within [`PAGES_MAX`].
    pub(super) fn word(what: PageAction, who: ThreadClass, range: PageRange) -> u64 {
        debug_assert!(range.count <= COUNT_MAX && range.start.0 <= PAGES_MAX);
        (range.count as u64) << 40 | (who as u64) << 36 | (what as u64) << 32 | range.start.0 as u64
    }

    /// The event of a word; `None`: it is not one.
    fn of_word(word: u64) -> Option<PageEvent> {
        let what = *ACTIONS.get((word >> 32 & 15).checked_sub(1)? as usize)?;
        let who = match word >> 36 & 15 {
            0 => ThreadClass::Mutator,
            1 => ThreadClass::Gc,
            _ => return None,
        };
        let range = PageRange::new(Page(word as u32 as usize), (word >> 40) as usize);
        let is_access = matches!(what, PageAction::Read | PageAction::Write | PageAction::Fresh);
        (!is_access || range.count == 1).then_some(PageEvent { what, who, range })
    }
}

/// The beginning of a file.
pub(super) fn head(pages: usize, budget_pages: usize) -> Vec<u8> {
    let numbers = [pages as u64, budget_pages as u64].map(u64::to_le_bytes);
    [&MAGIC[..], &numbers[0], &numbers[1]].concat()
}

/// A trace in a file. Not async-signal-safe.
pub struct PageTraceFile {
    pages: usize,
    budget_pages: usize,
    events: BufReader<File>,
}

impl PageTraceFile {
    /// Opens a trace.
    ///
    /// # Errors
    /// It cannot be read, or is something else.
    pub fn open(path: &Path) -> io::Result<PageTraceFile> {
        let mut events = BufReader::with_capacity(1 << 20, File::open(path)?);
        let mut head = [0; 24];
        let is_whole = events.read_exact(&mut head).is_ok();
        let number = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("8 bytes"));
        let (pages, budget_pages) = (number(8), number(16));
        if !is_whole || head[..8] != *MAGIC || pages > PAGES_MAX as u64 || budget_pages > pages {
            let what = format!("{} is no trace of page accesses", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let (pages, budget_pages) = (pages as usize, budget_pages as usize);
        Ok(PageTraceFile { pages, budget_pages, events })
    }

    /// Pages of the far space.
    pub fn pages(&self) -> usize {
        self.pages
    }

    /// Pages that the collector believed to have in local memory.
    pub fn budget_pages(&self) -> usize {
        self.budget_pages
    }
}

impl Iterator for PageTraceFile {
    type Item = io::Result<PageEvent>;

    /// The next event. The last one may be cut off: it is left out.
    fn next(&mut self) -> Option<io::Result<PageEvent>> {
        let mut word = [0; 8];
        match self.events.read_exact(&mut word) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return None,
            Err(error) => return Some(Err(error)),
            Ok(()) => {}
        }
        let event = PageEvent::of_word(u64::from_le_bytes(word));
        let inside = event.filter(|event| event.range.end().0 <= self.pages);
        Some(inside.ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "a damaged trace of page accesses")
        }))
    }
}

/// Pages of one event.
pub(super) const COUNT_MAX: usize = (1 << 24) - 1;
/// Pages of the largest far space that is traced: 8 TiB.
pub(super) const PAGES_MAX: usize = 1 << 31;
const MAGIC: &[u8; 8] = b"FHPAGES1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back() {
        for what in ACTIONS {
            for who in [ThreadClass::Mutator, ThreadClass::Gc] {
                let is_access =
                    matches!(what, PageAction::Read | PageAction::Write | PageAction::Fresh);
                let count = if is_access { 1 } else { COUNT_MAX };
                let range = PageRange::new(Page(PAGES_MAX - count), count);
                let word = PageEvent::word(what, who, range);
                assert_eq!(PageEvent::of_word(word), Some(PageEvent { what, who, range }));
            }
        }
        for word in [0, 10 << 32, 2 << 36 | 1 << 40 | 1 << 32, 1 << 32, 2 << 40 | 1 << 32] {
            assert_eq!(PageEvent::of_word(word), None);
        }
    }
}
