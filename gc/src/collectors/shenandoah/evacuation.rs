//! Evacuation: every object of a from-region gets its place, by the collector or by whoever meets it first.

use super::Shared;
use super::copies::CopyBuffer;
use super::forward::Forward;
use super::workers::Pieces;
use crate::codec::PlainCodec;
use crate::codec::SlotCodec;
use crate::geometry::RegionId;
use crate::object::{COLLECTOR_OFFSET, ObjectRef};
use std::sync::atomic::{AtomicU64, Ordering};

/// The regions that a cycle empties.
#[derive(Default)]
pub struct CollectionSet {
    pub regions: Vec<RegionId>,
    pub live_bytes: usize,
    pieces: Pieces,
}

impl CollectionSet {
    pub fn new(regions: Vec<RegionId>, live_bytes: usize) -> CollectionSet {
        let pieces = Pieces::new(regions.len());
        CollectionSet { regions, live_bytes, pieces }
    }
}

impl Shared {
    /// Where an object is that may be about to move, or have moved; it moves now if it has not.
    pub fn resolve(&self, object: ObjectRef, buffer: &CopyBuffer) -> ObjectRef {
        if !self.forwarding.is_from(self.core.geometry.region_of(object)) {
            return object;
        }
        let forward = self.forwarding.of(object, &self.marking.bitmap);
        match forward.get() {
            Some(place) => self.forwarding.object(place),
            None => self.copy(object, forward, buffer),
        }
    }

    /// The same of the object in the slot at an address; the slot holds the new address afterwards, if it did not
    /// change meanwhile.
    pub fn heal(&self, slot: u64, buffer: &CopyBuffer) {
        // SAFETY: a slot of a live object, or a `RootSlot`, as the barrier's caller promised.
        let word = unsafe { AtomicU64::from_ptr(slot as *mut u64) };
        let old = word.load(Ordering::Acquire);
        let object = ObjectRef::from_address(old as usize);
        if !object.is_null() {
            let new = self.resolve(object, buffer).address() as u64;
            replace(word, old, new);
        }
    }

    /// Writes the new address into a slot that held the old one, if it still does.
    pub fn heal_word(&self, slot: u64, old: u64, new: u64) {
        // SAFETY: a slot of a live object, or a `RootSlot`, as the barrier's caller promised.
        replace(unsafe { AtomicU64::from_ptr(slot as *mut u64) }, old, new);
    }

    /// Copies what lives in the regions of the set; false if `stop` interrupted it.
    pub fn evacuate(
        &self,
        set: &CollectionSet,
        threads: usize,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> bool {
        set.pieces.work_off(threads, |piece| {
            let buffer = CopyBuffer::default();
            let is_done = self.evacuate_region(set.regions[piece], &buffer, stop);
            self.to_space.retire(&buffer);
            is_done
        })
    }

    fn evacuate_region(&self, id: RegionId, buffer: &CopyBuffer, stop: &dyn Fn() -> bool) -> bool {
        for (number, object) in self.marked_objects(id).enumerate() {
            if number % OBJECTS_AT_ONCE == 0 && stop() {
                return false;
            }
            let forward = self.forwarding.of(object, &self.marking.bitmap);
            if forward.get().is_none() {
                self.copy(object, forward, buffer);
            }
        }
        self.pacer.progress(self.core.regions.region(id).top());
        true
    }

    /// Copies an object that had no place a moment ago, and returns the place that it has now. Without memory for a
    /// copy that is where it is: its region is then kept.
    #[cold]
    fn copy(&self, object: ObjectRef, forward: &Forward, buffer: &CopyBuffer) -> ObjectRef {
        let bytes = self.bytes_of(object);
        let Some(copy) = self.to_space.allocate(buffer, bytes) else {
            return match forward.publish(self.forwarding.place(object)) {
                Ok(()) => {
                    self.keep(self.core.geometry.region_of(object));
                    object
                }
                Err(place) => self.forwarding.object(place),
            };
        };
        if self.forwarding.is_in_headers() {
            self.copy_around_forward(object, copy, bytes);
        } else {
            self.copy_bytes(object.address(), copy.address(), bytes);
        }
        match forward.publish(self.forwarding.place(copy)) {
            Ok(()) => copy,
            Err(place) => {
                self.to_space.give_back(buffer, copy, bytes);
                self.forwarding.object(place)
            }
        }
    }

    /// The word that others are racing for is not read, and is 0 in the copy.
    fn copy_around_forward(&self, object: ObjectRef, copy: ObjectRef, bytes: usize) {
        let behind = COLLECTOR_OFFSET + size_of::<Forward>();
        let (from, to) = (object.address(), copy.address());
        self.copy_bytes(from, to, COLLECTOR_OFFSET);
        copy.collector_word().store(0, Ordering::Relaxed);
        self.copy_bytes(from + behind, to + behind, bytes - behind);
    }

    #[inline]
    fn copy_bytes(&self, from: usize, to: usize, bytes: usize) {
        let (from, to) = (from as *const u8, to as *mut u8);
        // SAFETY: the copy's memory is this thread's alone until it is published. Nobody writes to an object that has
        // no place, and its memory is not given back before a pause that this thread has to pass (`Forward`).
        unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) }
    }

    /// The objects of a region that were marked, ascending; of a humongous object the first region's.
    pub fn marked_objects(&self, id: RegionId) -> impl Iterator<Item = ObjectRef> {
        let start = self.core.geometry.region_start(id);
        let top = self.marking.traced_bytes(id).min(self.core.geometry.region_bytes());
        let mut at = start;
        std::iter::from_fn(move || {
            let address = self.marking.bitmap.next_marked(at, start + top)?;
            at = address + crate::object::OBJECT_BYTES_MIN;
            Some(ObjectRef::from_address(address))
        })
    }

    pub fn bytes_of(&self, object: ObjectRef) -> usize {
        self.core.layout_of(object).object_bytes(object, PlainCodec::SLOT_BYTES)
    }
}

/// Writes `new` unless the word has changed, and only if it is another: clean pages stay clean.
pub fn replace(word: &AtomicU64, old: u64, new: u64) {
    if new != old {
        // Whoever came first stored something newer.
        let _ = word.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// Objects between two looks at whether to stop.
const OBJECTS_AT_ONCE: usize = 256;
