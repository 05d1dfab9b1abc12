//! The strings that an agent has copied: candidates for deduplication, as [`crate::core::strings`] says.

use super::objects::Objects;
use super::protocol::ENTRIES_MAX;
use crate::hit::EntryIndex;
use crate::object::{KLASS_OFFSET, KlassId, SEEN};

/// Those that the VM does not know yet.
#[derive(Default)]
pub struct Strings {
    /// The class of strings, if they are looked for.
    klass: Option<KlassId>,
    found: Vec<EntryIndex>,
}

impl Strings {
    pub fn look_for(&mut self, klass: u32) {
        self.klass = Some(KlassId(klass));
    }

    /// The object of an entry was copied to this heap offset. If it is a string that has not been a candidate it is one
    /// now, unless there are many; then it may be one when it moves again.
    #[inline]
    pub fn meet(&mut self, o: &Objects, entry: EntryIndex, to: usize) {
        let Some(klass) = self.klass else { return };
        let word = o.memory.u32(to + KLASS_OFFSET);
        if klass.is_unseen(word) && self.found.len() < ENTRIES_MAX {
            o.memory.set_u32(to + KLASS_OFFSET, word | SEEN);
            self.found.push(entry);
        }
    }

    /// For a message.
    pub fn take(&mut self) -> Vec<EntryIndex> {
        std::mem::take(&mut self.found)
    }
}
