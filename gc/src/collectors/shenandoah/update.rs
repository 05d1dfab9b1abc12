//! Update-references: every slot that holds an address which its object has left gets the new one.
//!
//! What exists when evacuation is over, in the pause that begins this, is walked: of each region the marked objects of
//! the part that was in use when the cycle began, then all objects up to the top that it has in that pause. What is
//! allocated later is filled by mutators, which have new addresses only.

use super::evacuation::replace;
use super::workers::Pieces;
use super::{CODEC, SLOT_BYTES, Shared};
use crate::codec::SlotCodec;
use crate::collectors::memliner::readdressed;
use crate::geometry::RegionId;
use crate::object::ObjectRef;
use crate::region::RegionUse;
use crate::scan::for_every_slot;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is to be walked.
#[derive(Default)]
pub struct Update {
    /// Regions and the bytes that were used of them.
    regions: Vec<(RegionId, usize)>,
    pieces: Pieces,
}

impl Update {
    /// How much there is to walk.
    pub fn bytes(&self) -> usize {
        self.regions.iter().map(|(_, top)| top).sum()
    }
}

impl Shared {
    /// Everything that is in use now. World stopped, all buffers retired, every object has its place.
    pub fn begin_update(&self) -> Update {
        let is_walked = |usage| matches!(usage, RegionUse::Objects | RegionUse::HumongousStart);
        let regions = self.core.regions.iter().filter(|(_, region)| is_walked(region.usage()));
        let regions: Vec<_> = regions.map(|(id, region)| (id, region.top())).collect();
        let pieces = Pieces::new(regions.len());
        Update { regions, pieces }
    }

    /// Walks; false if `stop` interrupted it.
    pub fn update(
        &self,
        update: &Update,
        threads: usize,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> bool {
        update.pieces.work_off(threads, |piece| {
            let (id, top) = update.regions[piece];
            let is_kept = self.forwarding.is_from(id);
            let mut walked = 0;
            let mut visit = |object: ObjectRef| {
                if !is_kept || self.stayed(object) {
                    self.update_slots(object);
                }
                walked += 1;
                walked % OBJECTS_AT_ONCE != 0 || !stop()
            };
            let is_done = self.marked_objects(id).all(&mut visit)
                && self.later_objects(id, top).all(&mut visit);
            self.pacer.progress(top);
            is_done
        })
    }

    /// Whether an object of a kept region is one of those for which there was no memory.
    fn stayed(&self, object: ObjectRef) -> bool {
        let place = self.forwarding.of(object, &self.marking.bitmap).get();
        place == Some(self.forwarding.place(object))
    }

    /// The objects of a region that are newer than the snapshot, one after the other.
    fn later_objects(&self, id: RegionId, top: usize) -> impl Iterator<Item = ObjectRef> {
        let start = self.core.geometry.region_start(id);
        let (mut at, end) = (start + self.marking.traced_bytes(id), start + top);
        std::iter::from_fn(move || {
            let object = ObjectRef::from_address(at);
            let is_left = at < end;
            if is_left {
                at += self.bytes_of(object);
            }
            is_left.then_some(object)
        })
    }

    fn update_slots(&self, object: ObjectRef) {
        let layout = self.core.layout_of(object);
        let fields = self.core.reference_fields();
        for_every_slot(layout, object, SLOT_BYTES, fields, |offset| {
            let address = object.address() + offset;
            // SAFETY: an aligned slot of an object that is alive or was filled like one; mutators access it
            // atomically too.
            self.update_word(unsafe { AtomicU64::from_ptr(address as *mut u64) });
        });
    }

    /// Updates one slot, or a word outside the heap.
    #[inline]
    pub fn update_word(&self, word: &AtomicU64) {
        let old = word.load(Ordering::Relaxed);
        let object = CODEC.decode(old);
        if object.is_null() || !self.forwarding.is_from(self.core.geometry.region_of(object)) {
            return;
        }
        let place = self.forwarding.of(object, &self.marking.bitmap).get();
        let new = self.forwarding.object(place.expect("evacuation is over"));
        replace(word, old, readdressed(old, new));
    }
}

/// Objects between two looks at whether to stop.
const OBJECTS_AT_ONCE: u32 = 256;
