//! The holders of classes that one marking has found alive.
//!
//! A holder lives if a live object has a class of it, or if a live mirror stands for one, or if the VM uses it. Tracers
//! note the holders of the objects that they scan. When nothing is left to be scanned, the driver of the marking takes
//! the holders that are new, visits their slots (`VmBinding::visit_holder_slots`) and traces again, until there are
//! none: an object that is reachable only by way of a holder lives if the holder does. The last time is in a pause, and
//! the holders that were not noted by then are dead.
//!
//! Holders made since the marking began have ids from a limit on. They are alive, and need no visit: what their
//! slots hold was in the hands of a thread.
//!
//! Objects that live without being scanned are newer than the marking. Then a thread had their class in hand.

use crate::object::layout::{HolderId, KlassLayout, LayoutTable};
use crate::object::{KlassId, ObjectRef};
use crate::tracing::scan::mirrored_klass;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// See the module text. Any thread, beside others.
pub struct Holders {
    /// Those with ids from here on are alive.
    limit: u32,
    /// By id: noted. Relaxed: the thread that sets a bit puts the holder in `found` before its tracing ends, and bits
    /// are read for a decision only when all tracing has ended.
    noted: Box<[AtomicU64]>,
    /// Their slots were not visited yet.
    found: Mutex<Vec<HolderId>>,
}

impl Holders {
    /// Of a marking that begins; `limit` is the VM's now.
    pub fn new(limit: u32) -> Holders {
        let noted = (0..limit.div_ceil(u64::BITS)).map(|_| AtomicU64::new(0)).collect();
        Holders { limit, noted, found: Mutex::default() }
    }

    /// Of a marking that finds no holder dead: its roots include the slots of all.
    pub fn all() -> Holders {
        Holders::new(0)
    }

    /// Whether the marking may find holders dead.
    pub fn may_die(&self) -> bool {
        self.limit > 0
    }

    /// A holder is alive. Most objects are of the permanent one.
    #[inline]
    pub fn note(&self, holder: HolderId) {
        if holder != HolderId::PERMANENT && holder.0 < self.limit {
            self.note_below_limit(holder);
        }
    }

    fn note_below_limit(&self, holder: HolderId) {
        let (word, bit) = self.place(holder);
        let is_known = word.load(Ordering::Relaxed) & bit != 0;
        if !is_known && word.fetch_or(bit, Ordering::Relaxed) & bit == 0 {
            self.found.lock().push(holder);
        }
    }

    /// An object is scanned, so what holds its class is alive. Returns its layout.
    #[inline]
    pub fn scans<'l>(&self, layouts: &'l LayoutTable, object: ObjectRef) -> &'l KlassLayout {
        self.scans_as(layouts, object, object.klass())
    }

    /// The same of an object whose header may not name its class.
    #[inline]
    pub fn scans_as<'l>(
        &self,
        layouts: &'l LayoutTable,
        object: ObjectRef,
        klass: KlassId,
    ) -> &'l KlassLayout {
        let (layout, holder) = layouts.layout_and_holder(klass);
        self.note(holder);
        if let KlassLayout::Mirror { klass_id_at, .. } = layout
            && self.may_die()
            && let Some(mirrored) = mirrored_klass(object, *klass_id_at)
        {
            self.note(layouts.holder(mirrored));
        }
        layout
    }

    /// The holders noted since the last time, whose slots must be visited. When no thread traces.
    pub fn take_found(&self) -> Vec<HolderId> {
        std::mem::take(&mut *self.found.lock())
    }

    /// Whether a holder was noted, or cannot die. The marking is complete.
    pub fn is_alive(&self, holder: HolderId) -> bool {
        if holder == HolderId::PERMANENT || holder.0 >= self.limit {
            return true;
        }
        let (word, bit) = self.place(holder);
        word.load(Ordering::Relaxed) & bit != 0
    }

    fn place(&self, holder: HolderId) -> (&AtomicU64, u64) {
        let (word, bit) = (holder.0 / u64::BITS, holder.0 % u64::BITS);
        (&self.noted[word as usize], 1 << bit)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_holder_is_found_once_and_those_above_the_limit_live_anyway() {
        let holders = Holders::new(130);
        for id in [0, 64, 129, 64, 130, u32::MAX] {
            holders.note(HolderId(id));
        }
        assert_eq!(holders.take_found(), [HolderId(64), HolderId(129)]);
        holders.note(HolderId(129));
        assert_eq!(holders.take_found(), []);
        let alive = [0, 64, 129, 130, 1000, u32::MAX];
        let dead = [1, 63, 65, 128];
        assert!(alive.into_iter().all(|id| holders.is_alive(HolderId(id))));
        assert!(!dead.into_iter().any(|id| holders.is_alive(HolderId(id))));
    }

    #[test]
    fn without_a_limit_all_live() {
        let holders = Holders::all();
        holders.note(HolderId(3));
        assert!(holders.is_alive(HolderId(3)) && holders.is_alive(HolderId(4)));
        assert!(holders.take_found().is_empty() && !holders.may_die());
    }

    #[test]
    fn of_several_tracers_one_finds_a_holder() {
        const COUNT: u32 = 1000;
        let holders = Holders::new(COUNT);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| (0..COUNT).for_each(|id| holders.note(HolderId(id))));
            }
        });
        let mut found = holders.take_found();
        found.sort_unstable_by_key(|holder| holder.0);
        assert_eq!(found, (1..COUNT).map(HolderId).collect::<Vec<_>>());
    }
}
