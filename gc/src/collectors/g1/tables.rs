//! The tables that barriers, pauses and marking share: the use of each region, cards, remembered sets, marks.

use super::cards::{self, CardTable};
use super::remembered::RememberedSets;
use super::starts::Starts;
use super::thread::G1Thread;
use crate::barrier::satb::{LOG_LENGTH, Logged};
use crate::collectors::memliner::{AddressCodec, Marks, MemLiner};
use crate::core::heap_core::HeapCore;
use crate::core::stats::YoungBytes;
use crate::memory::mark_bitmap::MarkBitmap;
use crate::memory::region::RegionUse;
use crate::object::ObjectRef;
use crate::object::geometry::{Geometry, RegionId};
use crate::threads::mutator::Mutator;
use crate::threads::thread_data::ThreadData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};

/// The contents of a region that is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// New objects. Also the kind of a region that was just taken for buffers.
    Eden,
    /// Objects that have survived a pause or more, but not as many as the tenuring age says.
    Survivor,
    Old,
    /// One large object; see `RegionUse`.
    Humongous,
}

impl Kind {
    pub fn is_young(self) -> bool {
        matches!(self, Kind::Eden | Kind::Survivor)
    }

    fn card(self) -> u8 {
        if self.is_young() { cards::YOUNG } else { cards::CLEAN }
    }
}

/// The collector's part of a region's description. Written in pauses, and by the thread that takes the region.
struct Facts {
    kind: AtomicU8,
    /// In a pause: its objects move.
    moves: AtomicBool,
    /// In a pause: objects were left in it that should have moved.
    retains: AtomicBool,
    /// Bytes from the region's start below which the objects lie that the running marking looks at; all above are
    /// newer than its snapshot.
    snapshot_bytes: AtomicUsize,
    /// Bytes from the region's start below which the last marking knows which objects are dead.
    judged_bytes: AtomicUsize,
}

/// See the module text.
pub struct Tables {
    pub core: Arc<HeapCore>,
    facts: Box<[Facts]>,
    pub cards: CardTable,
    pub starts: Starts,
    pub remembered: RememberedSets,
    bitmaps: [MarkBitmap; 2],
    /// Index of the bitmap of the running marking; the other one is that of the last. Changes in pauses.
    marking_bitmap: AtomicUsize,
    /// The phase of threads that attach now. Written in pauses.
    pub phase: AtomicU64,
    pub logged: Logged<ObjectRef>,
    pub lined: Option<Lined>,
}

/// The additional state of tracing when it is aligned with the program.
pub struct Lined {
    pub memliner: MemLiner,
    /// Objects of the snapshot that wait in a queue to be traced. Clear between markings.
    waiting: MarkBitmap,
}

impl Tables {
    /// [`MemLiner::refresh`]: on the thread itself, or in a pause.
    pub fn refresh(&self, m: &Mutator) {
        if let Some(lined) = &self.lined {
            lined.memliner.refresh(m, G1Thread::of(m).touched.as_deref());
        }
    }

    /// `has_entrances` as [`RememberedSets::new`] takes it; `is_lined`: tracing is aligned with the program.
    pub fn new(core: Arc<HeapCore>, has_entrances: bool, is_lined: bool) -> Tables {
        let geometry = &core.geometry;
        let facts = |_| Facts {
            kind: AtomicU8::new(0),
            moves: AtomicBool::new(false),
            retains: AtomicBool::new(false),
            snapshot_bytes: AtomicUsize::new(0),
            judged_bytes: AtomicUsize::new(0),
        };
        Tables {
            facts: geometry.all_regions().map(facts).collect(),
            cards: CardTable::new(geometry),
            starts: Starts::new(geometry),
            remembered: RememberedSets::new(geometry, has_entrances),
            bitmaps: [MarkBitmap::new(geometry), MarkBitmap::new(geometry)],
            marking_bitmap: AtomicUsize::new(0),
            phase: AtomicU64::new(0),
            logged: Logged::new(LOG_LENGTH),
            lined: is_lined.then(|| Lined {
                memliner: MemLiner::new(core.clone()),
                waiting: MarkBitmap::new(geometry),
            }),
            core,
        }
    }

    pub fn geometry(&self) -> &Geometry {
        &self.core.geometry
    }

    #[inline]
    fn facts(&self, region: RegionId) -> &Facts {
        &self.facts[region.index()]
    }

    #[inline]
    pub fn region_of(&self, object: ObjectRef) -> RegionId {
        self.core.geometry.region_of(object)
    }

    /// Of a region that is in use.
    #[inline]
    pub fn kind(&self, region: RegionId) -> Kind {
        match self.facts(region).kind.load(Ordering::Relaxed) {
            0 => Kind::Eden,
            1 => Kind::Survivor,
            2 => Kind::Old,
            3 => Kind::Humongous,
            other => unreachable!("kind {other} of {region:?}"),
        }
    }

    /// Begins the use of a region, or another use of one that has objects already.
    pub fn begin(&self, region: RegionId, kind: Kind) {
        let facts = self.facts(region);
        facts.kind.store(kind as u8, Ordering::Relaxed);
        facts.snapshot_bytes.store(0, Ordering::Relaxed);
        facts.judged_bytes.store(0, Ordering::Relaxed);
        self.cards.set_region(region, kind.card());
    }

    /// Begins the use of all regions of a humongous object.
    pub fn begin_humongous(&self, object: ObjectRef, bytes: usize) {
        let first = self.region_of(object);
        let count = bytes.div_ceil(self.geometry().region_bytes()) as u32;
        (first.0..first.0 + count).for_each(|id| self.begin(RegionId(id), Kind::Humongous));
    }

    /// Regions of ordinary objects that are in use, with their kinds.
    pub fn in_use(&self) -> impl Iterator<Item = (RegionId, Kind)> {
        let regions = self.core.regions.iter();
        let objects = regions.filter(|(_, region)| region.usage() == RegionUse::Objects);
        objects.map(|(id, _)| (id, self.kind(id)))
    }

    /// Bytes up to the tops of young regions. Any thread; without a pause the kinds change meanwhile.
    pub fn young_bytes(&self) -> YoungBytes {
        let mut bytes = YoungBytes::default();
        for (id, kind) in self.in_use() {
            let top = self.core.regions.region(id).top();
            match kind {
                Kind::Eden => bytes.eden += top,
                Kind::Survivor => bytes.survivors += top,
                Kind::Old | Kind::Humongous => {}
            }
        }
        bytes
    }

    #[inline]
    pub fn moves(&self, region: RegionId) -> bool {
        self.facts(region).moves.load(Ordering::Relaxed)
    }

    pub fn set_moves(&self, region: RegionId, moves: bool) {
        self.facts(region).moves.store(moves, Ordering::Relaxed);
    }

    pub fn retains(&self, region: RegionId) -> bool {
        self.facts(region).retains.load(Ordering::Relaxed)
    }

    pub fn set_retains(&self, region: RegionId, retains: bool) {
        self.facts(region).retains.store(retains, Ordering::Relaxed);
    }

    /// The bitmap of the running marking.
    #[inline]
    pub fn marks(&self) -> &MarkBitmap {
        &self.bitmaps[self.marking_bitmap.load(Ordering::Relaxed)]
    }

    /// The bitmap of the last complete marking.
    #[inline]
    fn judgement(&self) -> &MarkBitmap {
        &self.bitmaps[1 - self.marking_bitmap.load(Ordering::Relaxed)]
    }

    pub fn snapshot_bytes(&self, region: RegionId) -> usize {
        self.facts(region).snapshot_bytes.load(Ordering::Relaxed)
    }

    /// Begins a marking: it traces the objects that old and humongous regions hold now.
    pub fn take_snapshot(&self) {
        for (id, region) in self.core.regions.iter() {
            let is_old = match region.usage() {
                RegionUse::Objects => !self.kind(id).is_young(),
                RegionUse::HumongousStart => true,
                _ => false,
            };
            let bytes = if is_old { region.top() } else { 0 };
            if self.core.options.verify_heap {
                let clear = self.used_bitmaps().all(|bitmap| bitmap.is_clear(id));
                assert!(clear, "{id:?} has marks of an earlier marking");
            }
            if bytes > 0 {
                self.used_bitmaps().for_each(|bitmap| bitmap.expect(id));
            }
            self.facts(id).snapshot_bytes.store(bytes, Ordering::Relaxed);
        }
    }

    /// Ends a marking that is complete: from now on its marks say which objects are dead.
    pub fn judge(&self) {
        for facts in &self.facts {
            let bytes = facts.snapshot_bytes.swap(0, Ordering::Relaxed);
            facts.judged_bytes.store(bytes, Ordering::Relaxed);
        }
        self.marking_bitmap.fetch_xor(1, Ordering::Relaxed);
    }

    /// Ends a marking that is not complete, or forgets the marks of the last one.
    pub fn forget_snapshot(&self) {
        self.facts.iter().for_each(|facts| facts.snapshot_bytes.store(0, Ordering::Relaxed));
    }

    /// Whether the last complete marking found an object of an old region dead: its slots may hold anything.
    #[inline]
    pub fn is_dead(&self, object: ObjectRef) -> bool {
        let region = self.region_of(object);
        let offset = object.address() - self.geometry().region_start(region);
        offset < self.facts(region).judged_bytes.load(Ordering::Relaxed)
            && !self.judgement().is_marked(object)
    }

    /// Whether the running marking must still look at an object: old, of the snapshot, unmarked.
    #[inline]
    pub fn is_white(&self, object: ObjectRef) -> bool {
        self.is_in_snapshot(object) && !self.marks().is_marked(object)
    }

    /// How slots are read, and written now.
    #[inline]
    pub fn codec(&self) -> AddressCodec {
        let stamp = self.lined.as_ref().map_or(0, |lined| lined.memliner.stamp());
        AddressCodec::new(self.core.slot_width, stamp)
    }

    /// Makes an object of the snapshot grey; true if it has to be handed to the marking.
    #[inline]
    pub fn make_grey(&self, object: ObjectRef) -> bool {
        match &self.lined {
            None => self.marks().mark(object),
            // The tracer that traces it will claim it.
            Some(lined) => !self.marks().is_marked(object) && lined.waiting.mark(object),
        }
    }

    /// As [`Collector::metadata`](crate::core::collector::Collector::metadata).
    pub fn metadata(&self) -> Vec<(&'static str, usize)> {
        let waiting = self.lined.as_ref().map_or(0, |lined| lined.waiting.resident_bytes());
        let marks: usize = self.bitmaps.iter().map(MarkBitmap::resident_bytes).sum();
        vec![
            ("mark_bits", marks + waiting),
            ("cards", self.cards.resident_bytes()),
            ("starts_of_objects", self.starts.resident_bytes()),
            ("remembered_sets", self.remembered.bytes()),
        ]
    }

    /// The bitmaps that the marking which has ended leaves behind.
    pub fn used_bitmaps(&self) -> impl Iterator<Item = &MarkBitmap> {
        [Some(self.marks()), self.lined.as_ref().map(|lined| &lined.waiting)].into_iter().flatten()
    }

    /// Whether an object that the running marking has not marked is dead.
    #[inline]
    pub fn is_in_snapshot(&self, object: ObjectRef) -> bool {
        let region = self.region_of(object);
        let offset = object.address() - self.geometry().region_start(region);
        offset < self.snapshot_bytes(region)
    }

    /// Keeps the books for a slot of an old or humongous region that has just got its value: in a pause, when objects
    /// have their places.
    #[inline]
    pub fn note_slot(&self, slot: usize, target: ObjectRef) {
        let (from, to) = (self.geometry().region_at(slot), self.region_of(target));
        if from == to {
            return;
        }
        // A region that moves and still has objects afterwards will be old.
        if self.kind(to).is_young() && !self.moves(to) {
            self.cards.dirty(slot);
        } else {
            self.remembered.add(slot, target);
        }
    }
}

impl Marks for Tables {
    #[inline]
    fn is_white(&self, object: ObjectRef) -> bool {
        !object.is_null() && Tables::is_white(self, object)
    }

    #[inline]
    fn claim(&self, object: ObjectRef) -> bool {
        self.marks().mark(object)
    }

    #[inline]
    fn postpone(&self, object: ObjectRef) -> bool {
        let lined = self.lined.as_ref().expect("only what is aligned is postponed");
        lined.waiting.mark(object)
    }
}
