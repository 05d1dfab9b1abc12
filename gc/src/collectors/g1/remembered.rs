//! Remembered sets: for each old or humongous region, where in other such regions references to it may be.
//!
//! A set has a bitmap for each region that refers to its own, made at the first reference: a bit for each *granule*,
//! which is a card, or several in heaps with enough regions that bitmaps of cards would need more than a sixteenth of
//! the heap. (Where these lie is kept for the regions that have a set and those that refer to them, not for every
//! pair.) So there is a bound, and nothing is ever forgotten to keep it. References from young regions are not
//! kept, since every pause collects all of these, nor references to young regions: for them the card stays dirty.
//!
//! A bit may be stale: the reference is gone, or the region has another use by now. A reader of a set looks at the
//! objects at that place.
//!
//! Where regions are traced one by one ([`Elsewhere`](super::elsewhere::Elsewhere)), the objects that are referred to
//! are kept too: the *entrances* of their region, a bitmap with a bit for each. An entrance may be as stale, but it
//! always names an object: it is forgotten when its region's objects move, or the region is freed.

use super::cards::CARD_SHIFT;
use crate::memory::mark_bitmap::MarkBitmap;
use crate::object::ObjectRef;
use crate::object::geometry::{Geometry, RegionId};
use parking_lot::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// The sets of all regions. Bits are set by any worker in a pause, and dropped with the world stopped.
pub struct RememberedSets {
    geometry: Geometry,
    granule_shift: u32,
    sets: Box<[RememberedSet]>,
    /// The regions whose sets have or had bits.
    made: Mutex<Vec<RegionId>>,
    entrances: Option<MarkBitmap>,
}

struct RememberedSet {
    /// By [`BLOCK_REGIONS`] regions that refer. Made with the first bit, for few regions have a set at a time.
    blocks: OnceLock<Box<[OnceLock<Box<Block>>]>>,
    /// Bits that are set.
    granules: AtomicUsize,
}

/// By region that refers: null, or `words_per_region` words. Published with release, read with acquire.
type Block = [AtomicPtr<AtomicU64>; BLOCK_REGIONS];

impl RememberedSet {
    /// The bitmap of a region that refers, if one was ever made.
    #[inline]
    fn source(&self, region: RegionId) -> Option<&AtomicPtr<AtomicU64>> {
        let block = self.blocks.get()?[region.index() / BLOCK_REGIONS].get()?;
        Some(&block[region.index() % BLOCK_REGIONS])
    }

    /// All bitmaps, by region that refers, ascending.
    fn sources(&self) -> impl Iterator<Item = (RegionId, &AtomicPtr<AtomicU64>)> {
        let blocks = self.blocks.get().into_iter().flat_map(|blocks| blocks.iter().enumerate());
        let made = blocks.filter_map(|(number, block)| Some((number, block.get()?)));
        made.flat_map(|(number, block)| {
            let first = number * BLOCK_REGIONS;
            block.iter().enumerate().map(move |(i, s)| (RegionId((first + i) as u32), s))
        })
    }
}

impl RememberedSets {
    pub fn new(geometry: &Geometry, has_entrances: bool) -> RememberedSets {
        let set = |_| RememberedSet { blocks: OnceLock::new(), granules: AtomicUsize::new(0) };
        let excess = geometry.regions.div_ceil(REGIONS_OF_CARDS).next_power_of_two();
        let largest = geometry.region_shift - WORD_SHIFT;
        RememberedSets {
            geometry: *geometry,
            granule_shift: (CARD_SHIFT + excess.trailing_zeros()).min(largest),
            sets: geometry.all_regions().map(set).collect(),
            made: Mutex::default(),
            entrances: has_entrances.then(|| MarkBitmap::new(geometry)),
        }
    }

    pub fn granule_bytes(&self) -> usize {
        1 << self.granule_shift
    }

    /// Notes that the slot at an address refers to an object in another region.
    #[inline]
    pub fn add(&self, slot: usize, target: ObjectRef) {
        if let Some(entrances) = &self.entrances
            && !entrances.is_marked(target)
        {
            entrances.mark(target);
        }
        let (region, from) = (self.geometry.region_of(target), self.geometry.region_at(slot));
        let set = &self.sets[region.index()];
        let (word, mask) = self.position(slot);
        let source = set.source(from).unwrap_or_else(|| self.make_source(region, from));
        let mut words = source.load(Ordering::Acquire);
        if words.is_null() {
            words = self.make(source);
        }
        // SAFETY: the bitmap has a word for every position, and is dropped only when no thread adds.
        let word = unsafe { &*words.add(word) };
        if word.load(Ordering::Relaxed) & mask == 0
            && word.fetch_or(mask, Ordering::Relaxed) & mask == 0
        {
            set.granules.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether the slot's granule is in the set, and the object among the entrances, where these are kept.
    pub fn contains(&self, slot: usize, target: ObjectRef) -> bool {
        let set = &self.sets[self.geometry.region_of(target).index()];
        let source = set.source(self.geometry.region_at(slot));
        let (word, mask) = self.position(slot);
        source
            .and_then(|source| self.words(source))
            .is_some_and(|words| words[word].load(Ordering::Relaxed) & mask != 0)
            && self.entrances.as_ref().is_none_or(|entrances| entrances.is_marked(target))
    }

    /// The objects that something outside of their region may refer to, where these are kept.
    pub fn entrances(&self) -> Option<&MarkBitmap> {
        self.entrances.as_ref()
    }

    /// Before the objects of a region move, or when it is freed: those that stay will be noted anew. World stopped.
    pub fn forget_entrances(&self, region: RegionId) {
        let Some(entrances) = &self.entrances else { return };
        // Most of a bitmap was never touched and has no memory.
        for word in entrances.region_words(region) {
            if word.load(Ordering::Relaxed) != 0 {
                word.store(0, Ordering::Relaxed);
            }
        }
    }

    /// Granules of a set: the cost of looking at all of them.
    pub fn granules(&self, target: RegionId) -> usize {
        self.sets[target.index()].granules.load(Ordering::Relaxed)
    }

    /// Calls `f` with the address of each granule in the set of a region, by region that refers.
    pub fn for_each(&self, target: RegionId, mut f: impl FnMut(RegionId, usize)) {
        for (region, source) in self.sets[target.index()].sources() {
            let Some(words) = self.words(source) else { continue };
            let start = self.geometry.region_start(region);
            for (i, word) in words.iter().enumerate() {
                let mut bits = word.load(Ordering::Relaxed);
                while bits != 0 {
                    let granule = i * 64 + bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    f(region, start + (granule << self.granule_shift));
                }
            }
        }
    }

    /// Empties the set of a region. World stopped, as for the following.
    pub fn clear(&self, target: RegionId) {
        self.forget_entrances(target);
        let set = &self.sets[target.index()];
        set.sources().for_each(|(_, source)| _ = self.drop_bitmap(source));
        set.granules.store(0, Ordering::Relaxed);
    }

    /// Forgets the references from a region.
    pub fn clear_source(&self, region: RegionId) {
        for target in self.made.lock().iter() {
            let set = &self.sets[target.index()];
            if let Some(source) = set.source(region) {
                set.granules.fetch_sub(self.drop_bitmap(source), Ordering::Relaxed);
            }
        }
    }

    /// How much memory the sets and entrances take now. Slow, for figures.
    pub fn bytes(&self) -> usize {
        let (block, words) = (size_of::<Block>(), self.words_per_region() * 8);
        let mut bytes = self.entrances.as_ref().map_or(0, MarkBitmap::resident_bytes);
        for set in self.made.lock().iter().map(|region| &self.sets[region.index()]) {
            let blocks =
                set.blocks.get().into_iter().flatten().filter(|place| place.get().is_some());
            let made = set.sources().filter(|(_, s)| !s.load(Ordering::Relaxed).is_null());
            bytes += blocks.count() * block + made.count() * words;
        }
        bytes
    }

    pub fn clear_all(&self) {
        self.made.lock().iter().for_each(|region| self.clear(*region));
    }

    #[cold]
    fn make_source(&self, target: RegionId, from: RegionId) -> &AtomicPtr<AtomicU64> {
        let set = &self.sets[target.index()];
        let blocks = set.blocks.get_or_init(|| {
            self.made.lock().push(target);
            let count = self.geometry.regions.div_ceil(BLOCK_REGIONS);
            (0..count).map(|_| OnceLock::new()).collect()
        });
        let none = || Box::new([const { AtomicPtr::new(std::ptr::null_mut()) }; BLOCK_REGIONS]);
        &blocks[from.index() / BLOCK_REGIONS].get_or_init(none)[from.index() % BLOCK_REGIONS]
    }

    fn position(&self, slot: usize) -> (usize, u64) {
        let offset = self.geometry.offset(slot) & (self.geometry.region_bytes() - 1);
        let granule = offset >> self.granule_shift;
        (granule / 64, 1 << (granule % 64))
    }

    fn words_per_region(&self) -> usize {
        (self.geometry.region_bytes() >> self.granule_shift).div_ceil(64)
    }

    fn words(&self, source: &AtomicPtr<AtomicU64>) -> Option<&[AtomicU64]> {
        let words = source.load(Ordering::Acquire);
        // SAFETY: made by `make` with this number of words, dropped only when no thread reads.
        (!words.is_null())
            .then(|| unsafe { std::slice::from_raw_parts(words, self.words_per_region()) })
    }

    #[cold]
    fn make(&self, source: &AtomicPtr<AtomicU64>) -> *mut AtomicU64 {
        let new: Box<[AtomicU64]> =
            (0..self.words_per_region()).map(|_| AtomicU64::new(0)).collect();
        let new = Box::into_raw(new).cast::<AtomicU64>();
        let null = std::ptr::null_mut();
        match source.compare_exchange(null, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => new,
            Err(theirs) => {
                self.free(new);
                theirs
            }
        }
    }

    /// Returns how many bits it had.
    fn drop_bitmap(&self, source: &AtomicPtr<AtomicU64>) -> usize {
        let bits = self.words(source).map_or(0, |words| {
            words.iter().map(|word| word.load(Ordering::Relaxed).count_ones() as usize).sum()
        });
        let words = source.swap(std::ptr::null_mut(), Ordering::AcqRel);
        if !words.is_null() {
            self.free(words);
        }
        bits
    }

    fn free(&self, words: *mut AtomicU64) {
        let slice = std::ptr::slice_from_raw_parts_mut(words, self.words_per_region());
        // SAFETY: made by Box::into_raw in `make`, and reachable from nowhere else.
        drop(unsafe { Box::from_raw(slice) });
    }
}

impl Drop for RememberedSets {
    fn drop(&mut self) {
        self.clear_all();
    }
}

/// Regions that refer whose bitmaps have a place together.
const BLOCK_REGIONS: usize = 128;
/// With this many regions bitmaps of all cards need at most a sixteenth of the heap.
const REGIONS_OF_CARDS: usize = 256;
/// A bitmap has at least one word.
const WORD_SHIFT: u32 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(regions: usize) -> Geometry {
        let region_bytes = 1 << 16;
        let mut geometry = Geometry::choose(regions * region_bytes, Some(region_bytes)).unwrap();
        geometry.base = 1 << 30;
        geometry
    }

    #[test]
    fn what_is_added_is_found_until_a_side_is_cleared() {
        let geometry = geometry(8);
        let sets = RememberedSets::new(&geometry, true);
        assert_eq!(sets.granule_bytes(), 512);
        let slot = |region: u32, at: usize| geometry.region_start(RegionId(region)) + at;
        let object = |region, at| ObjectRef::from_address(slot(region, at));
        for (region, at) in [(1, 8), (1, 16), (1, 1024), (2, 65528)] {
            sets.add(slot(region, at), object(0, 64));
        }
        sets.add(slot(1, 8), object(3, 8));
        assert_eq!((sets.granules(RegionId(0)), sets.granules(RegionId(3))), (3, 1));
        let mut found = Vec::new();
        sets.for_each(RegionId(0), |region, granule| found.push((region.0, granule)));
        let expected = [(1, slot(1, 0)), (1, slot(1, 1024)), (2, slot(2, 65024))];
        assert_eq!(found, expected);
        assert!(sets.contains(slot(1, 504), object(0, 64)));
        assert!(!sets.contains(slot(1, 512), object(0, 64)));
        assert!(!sets.contains(slot(1, 504), object(0, 72)));
        sets.clear_source(RegionId(1));
        assert_eq!((sets.granules(RegionId(0)), sets.granules(RegionId(3))), (1, 0));
        sets.clear(RegionId(0));
        assert!(!sets.contains(slot(2, 65528), object(0, 64)));
        let marked = |region: u32, at| sets.entrances().unwrap().is_marked(object(region, at));
        assert!(!marked(0, 64) && marked(3, 8));
    }

    #[test]
    fn sets_of_many_regions_have_a_place_for_those_that_refer_only() {
        let geometry = geometry(100_000);
        let sets = RememberedSets::new(&geometry, false);
        let slot = |region: u32, at: usize| geometry.region_start(RegionId(region)) + at;
        let object = |region, at| ObjectRef::from_address(slot(region, at));
        sets.add(slot(99_999, 8), object(70_000, 64));
        sets.add(slot(5, 8), object(70_000, 64));
        let blocks = sets.sets.iter().filter_map(|set| set.blocks.get());
        let made = blocks.flat_map(|blocks| blocks.iter()).filter_map(OnceLock::get);
        assert_eq!(made.count(), 2);
        assert!(!sets.contains(slot(6, 8), object(70_000, 64)));
        assert!(!sets.contains(slot(6, 8), object(70_001, 64)));
        sets.clear_source(RegionId(99_999));
        let mut found = Vec::new();
        sets.for_each(RegionId(70_000), |region, _| found.push(region.0));
        assert_eq!(found, [5]);
    }

    #[test]
    fn many_regions_have_larger_granules() {
        let sets = RememberedSets::new(&geometry(1000), false);
        assert_eq!(sets.granule_bytes(), 1024);
        let sets = RememberedSets::new(&geometry(4096), false);
        assert_eq!(sets.granule_bytes(), 1024);
    }
}
