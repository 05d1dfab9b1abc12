//! Candidates for string deduplication (JEP 192): strings that have lived for some time, whose contents may be equal to
//! those of others.
//!
//! A string is a candidate once in its life: in G1 when it is old enough or promoted, in Serial at its first
//! collection, elsewhere when it is copied. A bit of its header says that it has been one. Collectors keep the
//! candidates of a cycle here and hand them to the VM at its end
//! ([`VmBinding::strings_found`](crate::threads::binding::VmBinding::strings_found)), since what a slot refers to must
//! not move before the VM has it.

use crate::object::{KlassId, ObjectRef, RootSlot, SEEN};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// The candidates of one heap.
#[derive(Default)]
pub struct Strings {
    /// The class of strings; 0: nothing is deduplicated.
    klass: AtomicU32,
    found: Mutex<Vec<RootSlot>>,
}

impl Strings {
    /// From now on strings, which have this class, are candidates.
    pub fn look_for(&self, klass: KlassId) {
        self.klass.store(klass.0, Ordering::Relaxed);
    }

    /// The class of strings, if they are looked for.
    #[inline]
    pub fn klass(&self) -> Option<KlassId> {
        Some(self.klass.load(Ordering::Relaxed)).filter(|id| *id != 0).map(KlassId)
    }

    /// Whether an object with this header is a string that has not been a candidate.
    #[inline]
    pub fn is_new(&self, header: u64) -> bool {
        self.klass().is_some_and(|klass| klass.is_unseen(header as u32))
    }

    /// Makes an object a candidate if it is new; `slot` refers to the place that it has until the end of the cycle. No
    /// other thread writes its header.
    #[inline]
    pub fn meet(&self, object: ObjectRef, slot: impl FnOnce() -> RootSlot) {
        if self.is_new(object.header().load(Ordering::Relaxed)) {
            object.klass_word().fetch_or(SEEN, Ordering::Relaxed);
            self.add([slot()]);
        }
    }

    /// Candidates whose headers say so already.
    pub fn add(&self, slots: impl IntoIterator<Item = RootSlot>) {
        self.found.lock().extend(slots);
    }

    /// Those of the cycle that ends; or they are forgotten, since everything is about to move.
    pub fn take(&self) -> Vec<RootSlot> {
        std::mem::take(&mut self.found.lock())
    }
}
