//! Which words of far memory lead to other pages.

use crate::Page;

/// Knows which words lead to other pages. Asked in the fault handler: async-signal-safe, fast.
pub trait Chase: Send + Sync {
    /// Whether the word at this offset of the far space, a multiple of its length, leads to another page.
    fn is_pointer(&self, offset: usize) -> bool;

    /// The length of such words: 4 or 8.
    fn word_bytes(&self) -> usize;

    /// Which page this word leads to, `None` if it does not. Whether that page may be brought now is asked of
    /// [`PagerOptions::run_after`](crate::PagerOptions::run_after), as for any that comes ahead of time.
    fn target(&self, word: u64) -> Option<Page>;
}
