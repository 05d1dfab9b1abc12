//! Evacuation: every object of a from-region gets its place, by the collector or by the thread that meets it first.
//!
//! Under MemLiner over far memory the collector walks the set twice: first it copies the objects that are in
//! local memory, of all regions, then the rest, region by region. Objects that the program has used lately are copied
//! without a fault, before the pages that the rest needs evict them, and lie together afterwards.

use super::Shared;
use super::copies::CopyBuffer;
use super::forward::Forward;
use super::workers::Pieces;
use crate::collectors::memliner::Readdress;
use crate::object::codec::SlotCodec;
use crate::object::geometry::RegionId;
use crate::object::{OBJECT_BYTES_MIN, ObjectRef, SEEN};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The regions that a cycle empties.
#[derive(Default)]
pub struct CollectionSet {
    pub regions: Vec<RegionId>,
    pub live_bytes: usize,
    pieces: Pieces,
    /// Of the phase that copies objects in local memory, where there is one.
    local_pieces: Pieces,
    /// Bytes that it has copied, by region as `regions`. Relaxed: the end of the phase orders.
    copied_first: Box<[AtomicUsize]>,
}

/// The objects of a region that are copied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    /// Those in local memory.
    Local,
    /// All that has no place yet.
    All,
}

impl CollectionSet {
    pub fn new(regions: Vec<RegionId>, live_bytes: usize) -> CollectionSet {
        let (pieces, local_pieces) = (Pieces::new(regions.len()), Pieces::new(regions.len()));
        let copied_first = regions.iter().map(|_| AtomicUsize::new(0)).collect();
        CollectionSet { regions, live_bytes, pieces, local_pieces, copied_first }
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
        // Of a live object, or a `RootSlot`, as the barrier's caller promised.
        let old = self.codec.load(slot as usize);
        let object = self.codec.decode(old);
        if !object.is_null() {
            let new = self.resolve(object, buffer);
            self.codec.replace(slot as usize, old, self.codec.readdressed(old, new));
        }
    }

    /// Copies the live objects of the regions of the set; false if `stop` interrupted it.
    pub fn evacuate(
        &self,
        set: &CollectionSet,
        threads: usize,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> bool {
        // A buffer is passed from region to region: its rest at the end is wasted.
        let buffers = Mutex::new(Vec::<CopyBuffer>::new());
        let _moving = swap::during(swap::Activity::Evacuation);
        let run = |pieces: &Pieces, which| {
            pieces.work_off(threads, |piece| {
                let buffer = buffers.lock().pop().unwrap_or_default();
                let faults = swap::thread_fetch_faults();
                let is_done = self.evacuate_region(set, piece, which, &buffer, stop);
                buffers.lock().push(buffer);
                let faults = swap::thread_fetch_faults() - faults;
                self.core.stats.count("evacuation_fetch_faults", faults);
                is_done
            })
        };
        let is_done = (!self.has_two_phases() || run(&set.local_pieces, Which::Local))
            && run(&set.pieces, Which::All);
        buffers.into_inner().iter().for_each(|buffer| self.to_space.retire(buffer));
        is_done
    }

    /// Whether objects in local memory are copied before others: MemLiner, where some memory is remote.
    fn has_two_phases(&self) -> bool {
        self.marking.lined.is_some()
            && self.core.options.memliner.two_phase_evacuation
            && self.core.space.pager().is_some()
    }

    fn evacuate_region(
        &self,
        set: &CollectionSet,
        piece: usize,
        which: Which,
        buffer: &CopyBuffer,
        stop: &dyn Fn() -> bool,
    ) -> bool {
        let (id, copied_first) = (set.regions[piece], &set.copied_first[piece]);
        let (is_counted, mut copied_later) = (self.has_two_phases(), 0);
        for (number, object) in self.marked_objects(id).enumerate() {
            if number % OBJECTS_AT_ONCE == 0 && stop() {
                return false;
            }
            let forward = self.forwarding.of(object, &self.marking.bitmap);
            if forward.get().is_some() || which == Which::Local && !self.is_local(object) {
                continue;
            }
            if which == Which::Local {
                let bytes = self.bytes_of(object);
                copied_first.fetch_add(bytes, Ordering::Relaxed);
                self.pacer.progress(bytes);
            } else if is_counted {
                copied_later += self.bytes_of(object);
            }
            self.copy(object, forward, buffer);
        }
        if which == Which::All {
            let copied_first = copied_first.load(Ordering::Relaxed);
            self.pacer.progress(self.core.regions.region(id).top() - copied_first);
            if is_counted {
                self.core.stats.count("memliner_copied_first_bytes", copied_first as u64);
                self.core.stats.count("memliner_copied_later_bytes", copied_later as u64);
            }
        }
        true
    }

    fn is_local(&self, object: ObjectRef) -> bool {
        self.marking.lined.as_ref().is_none_or(|lined| lined.memliner.is_all_local(object))
    }

    /// Copies an object that had no place a moment ago, and returns the place that it has now. Without memory for a
    /// copy that is where it is: its region is then kept.
    #[cold]
    fn copy(&self, object: ObjectRef, forward: Forward<'_>, buffer: &CopyBuffer) -> ObjectRef {
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
        let header = object.header().load(Ordering::Acquire);
        if let Some(place) = forward.get() {
            self.to_space.give_back(buffer, copy, bytes);
            return self.forwarding.object(place);
        }
        // It had no place yet, so this is the object's own header.
        let is_new_string = self.core.strings.is_new(header);
        let seen = if is_new_string { u64::from(SEEN) } else { 0 };
        copy.header().store(header | seen, Ordering::Relaxed);
        let behind = size_of::<u64>();
        self.copy_bytes(object.address() + behind, copy.address() + behind, bytes - behind);
        match forward.publish(self.forwarding.place(copy)) {
            Ok(()) => {
                if is_new_string {
                    self.core.strings.add([self.codec.new_root(copy)]);
                }
                copy
            }
            Err(place) => {
                self.to_space.give_back(buffer, copy, bytes);
                self.forwarding.object(place)
            }
        }
    }

    #[inline]
    fn copy_bytes(&self, from: usize, to: usize, bytes: usize) {
        let (from, to) = (from as *const u8, to as *mut u8);
        // SAFETY: the copy's memory is this thread's alone until it is published. No thread writes to an object that
        // has no place, and its memory is not given back before a pause that this thread has to pass (`Forward`).
        unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) }
    }

    /// The objects of a region that were marked, ascending; of a humongous object the first region's.
    pub fn marked_objects(&self, id: RegionId) -> impl Iterator<Item = ObjectRef> {
        let start = self.core.geometry.region_start(id);
        let top = self.marking.traced_bytes(id).min(self.core.geometry.region_bytes());
        let mut at = start;
        std::iter::from_fn(move || {
            let address = self.marking.bitmap.next_marked(at, start + top)?;
            at = address + OBJECT_BYTES_MIN;
            Some(ObjectRef::from_address(address))
        })
    }

    pub fn bytes_of(&self, object: ObjectRef) -> usize {
        self.core.layout_of(object).object_bytes(object, self.codec.slot_bytes())
    }
}

/// Objects between two looks at whether to stop.
const OBJECTS_AT_ONCE: usize = 256;
