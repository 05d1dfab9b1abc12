//! Entries of young objects, for identity hashes and monitors.

use super::table::YoungTable;
use crate::collectors::g1::header::Header;
use crate::collectors::mako::Shared;
use crate::collectors::mako::allocation::Allocator;
use crate::collectors::mako::entries::entry_of;
use crate::hit::{EntryClaim, EntryIndex};
use crate::object::ObjectRef;

/// The entries that young objects have.
#[derive(Default)]
pub struct Early {
    /// Entries for the next ones.
    claim: Option<EntryClaim>,
    /// The objects, at their present places.
    holders: Vec<ObjectRef>,
}

/// The entry of an object, which gets one if it is young and has none. Any running thread; no safepoint.
pub fn entry(shared: &Shared, allocator: &Allocator, object: ObjectRef) -> EntryIndex {
    let known = entry_of(object);
    let Some(table) = shared.young.as_ref().filter(|_| known.is_young()) else { return known };
    let mut early = table.early.lock();
    let known = entry_of(object);
    if !known.is_young() {
        return known;
    }
    assert!(table.has(object.address()), "{object:?} is old and has no entry");
    let claim = match &mut early.claim {
        Some(claim) if !claim.is_empty() => claim,
        claim => {
            let Some(new) = allocator.claim_early() else {
                base::die(format_args!("the heap indirection table is full"));
            };
            claim.insert(new)
        }
    };
    let entry = claim.take().expect("a claim is not empty");
    let mut header = Header::of(object);
    // The lock may be changing.
    while let Err(now) = header.exchange(object, header.with_early(entry.0)) {
        header = now;
    }
    early.holders.push(object);
    shared.core.stats.count("early_entries", 1);
    entry
}

impl Early {
    /// Gives back what no object has. No entry of a closed tablet is handed out then.
    pub fn retire(&mut self, shared: &Shared) {
        if let Some(claim) = self.claim.take().filter(|claim| !claim.is_empty()) {
            shared.entries.tablet(claim.tablet()).retire(&claim);
        }
    }

    /// The entries of objects that are still young.
    pub fn entries(&self) -> Vec<EntryIndex> {
        self.holders.iter().map(|object| entry_of(*object)).collect()
    }

    /// At the end of a minor collection: `place` says where an object is, `None` if it is dead.
    pub fn follow(
        &mut self,
        shared: &Shared,
        table: &YoungTable,
        allocator: &Allocator,
        place: impl Fn(ObjectRef) -> Option<ObjectRef>,
    ) {
        let mut has_freed = false;
        self.holders.retain_mut(|object| match place(*object) {
            Some(now) => {
                *object = now;
                table.has(now.address())
            }
            None => {
                let entry = entry_of(*object);
                shared.entries.tablet(entry.tablet()).retire(&EntryClaim::of(entry));
                has_freed = true;
                false
            }
        });
        if has_freed {
            allocator.lock().rewind_early();
        }
    }
}
