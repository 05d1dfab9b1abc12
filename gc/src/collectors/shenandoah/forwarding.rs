//! The new addresses of objects of regions that are being emptied: tables in ordinary memory, one for each region.
//!
//! ```text
//! is_from   one word for each region: its objects move. Barriers test it.        (1 word for a region)
//! Table     before   live objects before each word of the mark bitmap            (4 bytes for 512 of the region)
//!           forwards one Forward for each live object, in the order of the bitmap (4 bytes for an object, 8 in
//!                    heaps above 32 GiB)
//! ```
//!
//! The word of an object is found by counting marks, so the object, whose page may be remote, is not accessed. A
//! region's table is made by the thread that needs it first.
//!
//! With `-XX:ShenandoahForwarding=header` the word is in the header of the old object, as in HotSpot and in the
//! baseline of the papers: each look is a look at the old page, which stays until references are updated. An ablation
//! that measures its cost over far memory.

use super::forward::Forward;
use crate::memory::mark_bitmap::{BYTES_PER_WORD, MarkBitmap};
use crate::object::ObjectRef;
use crate::object::geometry::{Geometry, RegionId};
use crate::object::sync;
use crate::options::ForwardingPlace;
use std::num::NonZeroU64;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

/// See the module text.
pub struct Forwarding {
    geometry: Geometry,
    place: ForwardingPlace,
    /// Whether the words of tables have eight bytes.
    is_wide: bool,
    /// By region: 1 if its objects move. Written in pauses and when no thread is in the phase; relaxed, since that
    /// orders.
    is_from: Box<[AtomicU32]>,
    /// By region. Set once in a cycle (release), read with acquire, freed when no thread is in the phase.
    tables: Box<[AtomicPtr<Table>]>,
    /// Bytes of all tables now, and their maximum so far. Relaxed, figures.
    bytes: AtomicUsize,
    most_bytes: AtomicUsize,
}

struct Table {
    before: Box<[u32]>,
    forwards: Forwards,
}

enum Forwards {
    Narrow(Box<[sync::AtomicU32]>),
    Wide(Box<[sync::AtomicU64]>),
}

impl Forwarding {
    /// `is_wide` as it must be for a heap of more than [`NARROW_HEAP_BYTES_MAX`]; then the words cannot be in headers.
    pub fn new(geometry: Geometry, place: ForwardingPlace, is_wide: bool) -> Forwarding {
        Forwarding {
            geometry,
            place,
            is_wide,
            is_from: geometry.all_regions().map(|_| AtomicU32::new(0)).collect(),
            tables: geometry.all_regions().map(|_| AtomicPtr::new(null_mut())).collect(),
            bytes: AtomicUsize::new(0),
            most_bytes: AtomicUsize::new(0),
        }
    }

    /// Address of the words that barriers test: a word of 32 bits for each region, not 0 if its objects move.
    pub fn flags(&self) -> u64 {
        self.is_from.as_ptr() as u64
    }

    #[inline]
    pub fn is_from(&self, region: RegionId) -> bool {
        self.is_from[region.index()].load(Ordering::Relaxed) != 0
    }

    /// Whether old objects are needed as long as there are slots that hold their addresses.
    pub fn is_in_headers(&self) -> bool {
        self.place == ForwardingPlace::Header
    }

    /// The objects of these regions move from now on. World stopped; the bitmap is complete.
    pub fn begin(&self, regions: &[RegionId]) {
        regions.iter().for_each(|id| self.is_from[id.index()].store(1, Ordering::Relaxed));
    }

    /// Forgets everything about these regions. No thread is in the phase.
    pub fn end(&self, regions: &[RegionId]) {
        for id in regions {
            self.is_from[id.index()].store(0, Ordering::Relaxed);
            let bytes = free(&self.tables[id.index()]);
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// The most that the tables ever took: between cycles they take nothing.
    pub fn most_bytes(&self) -> usize {
        self.most_bytes.load(Ordering::Relaxed)
    }

    /// The word of a live object of a region whose objects move. `bitmap` has the marks of the cycle.
    pub fn of(&self, object: ObjectRef, bitmap: &MarkBitmap) -> Forward<'_> {
        assert!(bitmap.is_marked(object), "{object:?} moves but was found dead");
        if self.is_in_headers() {
            return Forward::of_header(object, self.place(object));
        }
        let region = self.geometry.region_of(object);
        let table = self.table(region, bitmap);
        let (word, bits) = bitmap.bits_before(object.address());
        let word = word - region.index() * (self.geometry.region_bytes() / BYTES_PER_WORD);
        let number = (table.before[word] + bits.count_ones()) as usize;
        match &table.forwards {
            Forwards::Narrow(words) => Forward::Narrow(&words[number]),
            Forwards::Wide(words) => Forward::Wide(&words[number]),
        }
    }

    /// The word in a [`Forward`] for an address.
    pub fn place(&self, object: ObjectRef) -> NonZeroU64 {
        let place = self.geometry.offset(object.address()) / PLACE_BYTES;
        NonZeroU64::MIN.saturating_add(place as u64)
    }

    pub fn object(&self, place: NonZeroU64) -> ObjectRef {
        let offset = (place.get() as usize - 1) * PLACE_BYTES;
        ObjectRef::from_address(self.geometry.base + offset)
    }

    fn table(&self, region: RegionId, bitmap: &MarkBitmap) -> &Table {
        let place = &self.tables[region.index()];
        let mut table = place.load(Ordering::Acquire);
        if table.is_null() {
            let made = Box::into_raw(Box::new(Table::new(bitmap, region, self.is_wide)));
            let order = (Ordering::AcqRel, Ordering::Acquire);
            table = match place.compare_exchange(null_mut(), made, order.0, order.1) {
                Ok(_) => {
                    // SAFETY: it lives until `end`, as below.
                    let made_bytes = unsafe { &*made }.bytes();
                    let bytes = self.bytes.fetch_add(made_bytes, Ordering::Relaxed) + made_bytes;
                    self.most_bytes.fetch_max(bytes, Ordering::Relaxed);
                    made
                }
                Err(before) => {
                    // SAFETY: made above, and seen by no other thread.
                    drop(unsafe { Box::from_raw(made) });
                    before
                }
            };
        }
        // SAFETY: tables live until `end`, when no thread is in the phase in which it calls this.
        unsafe { &*table }
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        self.tables.iter().for_each(|table| _ = free(table));
    }
}

/// Returns how many bytes it had.
fn free(place: &AtomicPtr<Table>) -> usize {
    let table = place.swap(null_mut(), Ordering::AcqRel);
    if table.is_null() {
        return 0;
    }
    // SAFETY: made by Box::into_raw in `table`; no thread uses it any more (`end`, or the heap is dropped).
    unsafe { Box::from_raw(table) }.bytes()
}

impl Table {
    fn bytes(&self) -> usize {
        let forwards = match &self.forwards {
            Forwards::Narrow(words) => size_of_val(&**words),
            Forwards::Wide(words) => size_of_val(&**words),
        };
        size_of_val(&*self.before) + forwards
    }

    fn new(bitmap: &MarkBitmap, region: RegionId, is_wide: bool) -> Table {
        let mut live = 0;
        let before = bitmap.region_words(region).iter().map(|word| {
            let before = live;
            live += word.load(Ordering::Relaxed).count_ones();
            before
        });
        let before = before.collect();
        let forwards = match is_wide {
            false => Forwards::Narrow((0..live).map(|_| sync::AtomicU32::new(0)).collect()),
            true => Forwards::Wide((0..live).map(|_| sync::AtomicU64::new(0)).collect()),
        };
        Table { before, forwards }
    }
}

/// The alignment of objects in bytes.
const PLACE_BYTES: usize = 8;
/// Of four bytes. Place 0 means none.
pub const NARROW_HEAP_BYTES_MAX: usize = PLACE_BYTES * (u32::MAX as usize);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_live_object_has_a_word_of_its_own() {
        [false, true].into_iter().for_each(has_a_word_of_its_own);
    }

    fn has_a_word_of_its_own(is_wide: bool) {
        let mut geometry = Geometry::choose(1 << 18, Some(1 << 17)).unwrap();
        geometry.base = 1 << 30;
        let bitmap = MarkBitmap::new(&geometry);
        let forwarding = Forwarding::new(geometry, ForwardingPlace::Table, is_wide);
        let start = geometry.region_start(RegionId(1));
        let offsets = [0, 16, 504, 512, 4096, 100_000, (1 << 17) - 16];
        let objects = offsets.map(|offset| ObjectRef::from_address(start + offset));
        objects.iter().for_each(|object| assert!(bitmap.mark(*object)));
        forwarding.begin(&[RegionId(1)]);
        assert!(forwarding.is_from(RegionId(1)) && !forwarding.is_from(RegionId(0)));
        for object in objects {
            let forward = forwarding.of(object, &bitmap);
            assert!(forward.get().is_none());
            let other = ObjectRef::from_address(object.address() - (1 << 17));
            forward.publish(forwarding.place(other)).unwrap();
            assert_eq!(forward.publish(forwarding.place(object)), Err(forwarding.place(other)));
        }
        for object in objects {
            let place = forwarding.of(object, &bitmap).get().unwrap();
            assert_eq!(forwarding.object(place).address(), object.address() - (1 << 17));
        }
        forwarding.end(&[RegionId(1)]);
        assert!(!forwarding.is_from(RegionId(1)));
        assert!(forwarding.of(objects[0], &bitmap).get().is_none(), "the next cycle begins anew");
    }
}
