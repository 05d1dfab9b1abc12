//! What the tracing of a snapshot begins with (section 3.4.2).

use super::entries::entry_of;
use crate::hit::EntryIndex;
use crate::object::ObjectRef;

/// The roots of a snapshot.
#[derive(Default)]
pub struct Held {
    /// Objects of PTP, which are not moved before CE.
    pub by_threads: Vec<ObjectRef>,
    pub in_slots: Vec<EntryIndex>,
    /// Of objects that are still young.
    pub not_in_snapshot: Vec<EntryIndex>,
}

impl Held {
    /// Each root once. Between PTP and CE, beside the program: the entries of objects that threads hold are in the
    /// objects, which may be remote.
    pub fn roots(self) -> Vec<EntryIndex> {
        let mut roots = self.in_slots;
        roots.extend(self.by_threads.into_iter().map(entry_of));
        roots.sort_unstable();
        roots.dedup();
        roots
    }
}
