//! Which regions are young, how slots name young objects, and the slots of old objects that do.

use super::early::Early;
use crate::collectors::g1::header::Header;
use crate::collectors::mako::SLOT_BYTES;
use crate::collectors::mako::entries::entry_of;
use crate::hit::{EntryIndex, YOUNG};
use crate::object::codec::SlotCodec;
use crate::object::geometry::{Geometry, RegionId};
use crate::object::{OBJECT_ALIGNMENT, ObjectRef};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU8, Ordering};

/// The state that barriers, minor collections and old cycles share.
pub struct YoungTable {
    geometry: Geometry,
    /// By region: [`OLD`], [`FROM`] or [`TO`]. Written by threads that take a region, before there is an object in it,
    /// and in pauses; relaxed, since an object of a region is passed on with a release.
    states: Box<[AtomicU8]>,
    remembered: Mutex<Remembered>,
    pub early: Mutex<Early>,
}

struct Remembered {
    slots: Vec<usize>,
    /// At this length doubles are removed.
    limit: usize,
}

/// Slots that one thread has remembered since it last handed over. Own thread, or a pause or handshake on its behalf.
pub type RememberedLog = RefCell<Vec<usize>>;

/// Old, or not in use.
const OLD: u8 = 0;
/// Young; in a minor collection, its objects move.
const FROM: u8 = 1;
/// In a minor collection: where they move to.
const TO: u8 = 2;

impl YoungTable {
    /// An error if slots cannot name all places of the heap.
    pub fn new(geometry: &Geometry) -> Result<YoungTable, String> {
        let most = (YOUNG as usize) * OBJECT_ALIGNMENT;
        if geometry.heap_bytes() > most {
            let gigabytes = most >> 30;
            return Err(format!("-XX:+MakoGenerational supports heaps up to {gigabytes} GB"));
        }
        Ok(YoungTable {
            geometry: *geometry,
            states: geometry.all_regions().map(|_| AtomicU8::new(OLD)).collect(),
            remembered: Mutex::new(Remembered { slots: Vec::new(), limit: REMEMBERED_MIN }),
            early: Mutex::default(),
        })
    }

    /// Address of a byte for each region, 0 if it is not young.
    pub fn states(&self) -> u64 {
        self.states.as_ptr() as u64
    }

    fn state(&self, region: RegionId) -> &AtomicU8 {
        &self.states[region.index()]
    }

    #[inline]
    pub fn is_young(&self, region: RegionId) -> bool {
        self.state(region).load(Ordering::Relaxed) != OLD
    }

    /// How many regions are young.
    pub fn count(&self) -> usize {
        self.states.iter().filter(|state| state.load(Ordering::Relaxed) != OLD).count()
    }

    /// Whether the address is in a young region.
    #[inline]
    pub fn has(&self, address: usize) -> bool {
        self.is_young(self.geometry.region_at(address))
    }

    /// Whether objects of a region move in the minor collection that is on.
    #[inline]
    pub fn moves(&self, region: RegionId) -> bool {
        self.state(region).load(Ordering::Relaxed) == FROM
    }

    /// A region becomes young: of eden, or `is_to` of a minor collection's copies.
    pub fn begin(&self, region: RegionId, is_to: bool) {
        self.state(region).store(if is_to { TO } else { FROM }, Ordering::Relaxed);
    }

    /// A young region is about to be freed.
    pub fn end(&self, region: RegionId) {
        self.state(region).store(OLD, Ordering::Relaxed);
    }

    /// The young regions, whose objects all move from now on. A minor collection begins.
    pub fn begin_collection(&self) -> Vec<RegionId> {
        let young: Vec<_> = self.geometry.all_regions().filter(|id| self.is_young(*id)).collect();
        young.iter().for_each(|id| self.begin(*id, false));
        young
    }

    /// The word that names a young object.
    #[inline]
    pub fn word(&self, object: ObjectRef) -> u32 {
        let place = (object.address() - self.geometry.base) / OBJECT_ALIGNMENT;
        place as u32 | YOUNG
    }

    /// The young object that a word names.
    #[inline]
    pub fn object(&self, word: u32) -> ObjectRef {
        debug_assert!(EntryIndex(word).is_young(), "{word:#x} names no young object");
        let place = (word & !YOUNG) as usize * OBJECT_ALIGNMENT;
        ObjectRef::from_address(self.geometry.base + place)
    }

    /// Whether the header of the object that a word names has the word, or an entry. For verification.
    pub fn is_named_by(&self, word: u32) -> bool {
        let object = self.object(word);
        Header::of(object).early().is_some() || entry_of(object).0 == word
    }

    /// Whether a slot that holds this word must be remembered.
    #[inline]
    pub fn must_remember(&self, slot: usize, word: u64) -> bool {
        EntryIndex(word as u32).is_young() && !self.has(slot)
    }

    /// Remembers a slot that has got a young reference, if it is an old object's. On the thread of the log.
    #[inline]
    pub fn remember(&self, log: &RememberedLog, slot: usize) {
        let mut log = log.borrow_mut();
        if log.last() == Some(&slot) || self.has(slot) {
            return;
        }
        log.push(slot);
        if log.len() >= LOG_LENGTH {
            self.remembered.lock().add(&mut log);
        }
    }

    /// Takes over the log of a thread; by the thread, or on its behalf.
    pub fn hand_over(&self, log: &RememberedLog) {
        self.remembered.lock().add(&mut log.borrow_mut());
    }

    /// Remembers slots, in a pause.
    pub fn keep(&self, mut slots: Vec<usize>) {
        self.remembered.lock().add(&mut slots);
    }

    /// All that were handed over, ascending, each once.
    pub fn take_remembered(&self) -> Vec<usize> {
        let Remembered { slots, limit } = &mut *self.remembered.lock();
        slots.sort_unstable();
        slots.dedup();
        *limit = REMEMBERED_MIN;
        std::mem::take(slots)
    }

    /// A copy of them, for verification.
    pub fn remembered(&self) -> Vec<usize> {
        self.remembered.lock().slots.clone()
    }

    /// Forgets slots in regions that are about to be freed: dead objects had them.
    pub fn forget(&self, is_freed: impl Fn(RegionId) -> bool) {
        let slots = &mut self.remembered.lock().slots;
        slots.retain(|slot| !is_freed(self.geometry.region_at(*slot)));
    }
}

impl Remembered {
    fn add(&mut self, log: &mut Vec<usize>) {
        self.slots.append(log);
        if self.slots.len() >= self.limit {
            self.slots.sort_unstable();
            self.slots.dedup();
            self.limit = REMEMBERED_MIN.max(2 * self.slots.len());
        }
    }
}

/// How slots are read in a minor collection. Old objects are not looked up: such a reference is the word itself, with a
/// bit that no address has ([`is_name`]).
#[derive(Clone, Copy)]
pub struct YoungCodec<'a>(pub &'a YoungTable);

impl SlotCodec for YoungCodec<'_> {
    #[inline]
    fn slot_bytes(&self) -> usize {
        SLOT_BYTES
    }

    #[inline]
    fn decode(&self, word: u64) -> ObjectRef {
        match word as u32 {
            0 => ObjectRef::NULL,
            word if EntryIndex(word).is_young() => self.0.object(word),
            word => ObjectRef::from_address(NAME | word as usize),
        }
    }

    #[inline]
    fn encode(&self, object: ObjectRef) -> u64 {
        match object {
            ObjectRef::NULL => 0,
            old if is_name(old) => (old.address() & !NAME) as u64,
            young if self.0.has(young.address()) => self.0.word(young).into(),
            promoted => entry_of(promoted).0.into(),
        }
    }
}

/// Whether this is no address but an entry, as [`YoungCodec`] has it.
#[inline]
pub fn is_name(object: ObjectRef) -> bool {
    object.address() & NAME != 0
}

const NAME: usize = 1 << 63;
/// Slots that a thread remembers before it hands over.
const LOG_LENGTH: usize = 512;
const REMEMBERED_MIN: usize = 1 << 17;
