//! Update-references: every slot that holds an address which its object has left gets the new one.
//!
//! All objects that exist when evacuation is over, in the pause that begins this, are walked: of each region the
//! marked objects of the part that was in use when the cycle began, then all objects up to the top that it has in that
//! pause. Objects that are allocated later are filled by mutators, which have new addresses only.

use super::Shared;
use super::workers::Pieces;
use crate::collectors::memliner::{AddressCodec, Readdress};
use crate::memory::region::RegionUse;
use crate::object::geometry::RegionId;
use crate::object::{ObjectRef, RootSlot};
use crate::tracing::scan::for_every_slot;

/// The regions to be walked.
#[derive(Default)]
pub struct Update {
    /// Regions and the bytes that were used of them.
    regions: Vec<(RegionId, usize)>,
    pieces: Pieces,
}

impl Update {
    /// The number of bytes to walk.
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
        let _moving = swap::during(swap::Activity::Evacuation);
        update.pieces.work_off(threads, |piece| {
            let (id, top) = update.regions[piece];
            let is_kept = self.forwarding.is_from(id);
            let faults = swap::thread_fetch_faults();
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
            let faults = swap::thread_fetch_faults() - faults;
            self.core.stats.count("update_references_fetch_faults", faults);
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
        match self.codec {
            AddressCodec::Narrow(codec) => self.update_slots_as(codec, object),
            AddressCodec::Wide(codec) => self.update_slots_as(codec, object),
        }
    }

    #[inline]
    fn update_slots_as(&self, codec: impl Readdress, object: ObjectRef) {
        let layout = self.core.layout_of(object);
        let fields = self.core.reference_fields();
        for_every_slot(layout, object, codec.slot_bytes(), fields, |offset| {
            // Of an object that is alive or was filled like one.
            self.update_word(codec, object.address() + offset);
        });
    }

    /// Updates a word outside the heap.
    pub fn update_root(&self, slot: &RootSlot) {
        self.update_word(self.codec, slot.word().as_ptr() as usize);
    }

    /// Updates the slot at an address, or a `RootSlot`. The reference keeps its stamp.
    #[inline]
    fn update_word(&self, codec: impl Readdress, address: usize) {
        let old = codec.load(address);
        let object = codec.decode(old);
        if object.is_null() || !self.forwarding.is_from(self.core.geometry.region_of(object)) {
            return;
        }
        let place = self.forwarding.of(object, &self.marking.bitmap).get();
        let new = self.forwarding.object(place.expect("evacuation is over"));
        codec.replace(address, old, codec.readdressed(old, new));
    }
}

/// Objects between two looks at whether to stop.
const OBJECTS_AT_ONCE: u32 = 256;
