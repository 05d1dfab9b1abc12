//! Bringing the page that a word leads to together with the page that the word is on.
//!
//! A thread that reads an entry of an indirection table accesses the entry's object next. Both are often remote, and
//! then the second fault can be foreseen from the first: its page comes with the first one's, at the cost of a copy
//! instead of a signal, a search for room and a copy.

use std::ptr;

use crate::Page;
use crate::engine::FarSpace;

impl FarSpace {
    /// After a read of the word at this offset had to wait for its page: brings the page that it leads to, if that is
    /// remote and cheap to fetch.
    pub(super) fn chase_word(&self, offset: usize) {
        let Some(chase) = &self.chase else { return };
        let bytes = chase.word_bytes();
        let offset = offset & !(bytes - 1);
        if !chase.is_pointer(offset) {
            return;
        }
        if let Some(word) = self.peek(offset, bytes)
            && let Some(page) = chase.target(word).filter(|page| page.0 < self.pages.pages())
            && self.bring_alone(page)
        {
            self.counters.followed();
        }
    }

    /// The word of 4 or 8 bytes at an offset, if its page is resident and no thread moves it.
    fn peek(&self, offset: usize, bytes: usize) -> Option<u64> {
        let page = Page::of_offset(offset);
        let word = self.pages.word(page);
        let seen = word.look();
        if seen.is_locked() || !seen.state().is_resident() || !word.try_lock(seen) {
            return None;
        }
        let address = ptr::with_exposed_provenance::<u64>(self.kernel.base() + offset);
        // SAFETY: aligned, inside the range, and on a page that is locked and was resident: it is mapped and stays so.
        // Others may write it meanwhile; any value that is read is a page's number or none.
        let found = unsafe {
            match bytes {
                8 => address.read_volatile(),
                _ => address.cast::<u32>().read_volatile().into(),
            }
        };
        self.pages.unlock(page, seen.state());
        Some(found)
    }
}
