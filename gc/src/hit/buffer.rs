//! A thread's supply of free entries (section 3.3, "per-thread entry buffer").

use super::{EntryIndex, TabletId};

/// Up to 64 claimed entries: one word of a tablet's bits. Two words, so that it fits a thread
/// block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EntryBuffer {
    /// Index of the entry that bit 0 stands for.
    base: u32,
    /// Entries that are claimed and not used.
    free: u64,
}

impl EntryBuffer {
    /// The entries `free` of word `word` of a tablet, which the caller has claimed.
    pub fn new(tablet: TabletId, word: usize, free: u64) -> EntryBuffer {
        EntryBuffer { base: tablet.entry(word * 64).0, free }
    }

    /// The buffer as [`to_words`](Self::to_words) gave it.
    #[inline]
    pub fn from_words(words: [u64; 2]) -> EntryBuffer {
        EntryBuffer { base: words[0] as u32, free: words[1] }
    }

    #[inline]
    pub fn to_words(self) -> [u64; 2] {
        [u64::from(self.base), self.free]
    }

    /// The next entry; `None` when the buffer is used up.
    #[inline]
    pub fn take(&mut self) -> Option<EntryIndex> {
        if self.free == 0 {
            return None;
        }
        let bit = self.free.trailing_zeros();
        self.free &= self.free - 1;
        Some(EntryIndex(self.base + bit))
    }

    pub fn is_empty(&self) -> bool {
        self.free == 0
    }

    pub fn tablet(&self) -> TabletId {
        EntryIndex(self.base).tablet()
    }

    /// Number of the word in its tablet.
    pub fn word(&self) -> usize {
        EntryIndex(self.base).in_tablet() / 64
    }

    /// Bits of the unused entries.
    pub fn free(&self) -> u64 {
        self.free
    }
}
