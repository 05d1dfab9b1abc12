//! Entries on their way from a tablet to a thread.

use super::{EntryIndex, TabletId};

/// Up to 64 free entries that a thread has claimed: of one word of a tablet's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryClaim {
    /// Index of the entry that bit 0 stands for.
    base: u32,
    /// Entries that are claimed and not used.
    free: u64,
}

impl EntryClaim {
    /// The entries `free` of word `word` of a tablet, which the caller has claimed.
    pub fn new(tablet: TabletId, word: usize, free: u64) -> EntryClaim {
        EntryClaim { base: tablet.entry(word * 64).0, free }
    }

    /// An entry that was claimed, and is to be given back.
    pub fn of(entry: EntryIndex) -> EntryClaim {
        EntryClaim { base: entry.0 & !63, free: 1 << (entry.0 & 63) }
    }

    /// Adds an entry if it belongs to the same word.
    pub fn add(&mut self, entry: EntryIndex) -> bool {
        let is_same = self.base == entry.0 & !63;
        if is_same {
            self.free |= 1 << (entry.0 & 63);
        }
        is_same
    }

    /// The next entry; `None` when all are used.
    #[inline]
    pub fn take(&mut self) -> Option<EntryIndex> {
        if self.free == 0 {
            return None;
        }
        let bit = self.free.trailing_zeros();
        self.free &= self.free - 1;
        Some(EntryIndex(self.base + bit))
    }

    /// The first entry if there are 64, one after the other.
    pub fn whole_word(&self) -> Option<EntryIndex> {
        (self.free == u64::MAX).then_some(EntryIndex(self.base))
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
