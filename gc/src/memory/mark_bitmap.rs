//! One bit for each eight bytes of the object space. Ordinary memory, never paged; untouched parts cost nothing.

use crate::memory::zeroed::Zeroed;
use crate::object::ObjectRef;
use crate::object::geometry::{Geometry, RegionId};
use crate::object::prefetch;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Marks of objects. Bits are set and cleared with relaxed order: threads that share a bitmap synchronise by other
/// means.
pub struct MarkBitmap {
    base: usize,
    words: Zeroed<AtomicU64>,
    words_per_region: usize,
    /// By region: it may have bits, as announced by the caller that sets them. Relaxed, as the bits are.
    expected: Box<[AtomicBool]>,
}

impl MarkBitmap {
    pub fn new(geometry: &Geometry) -> MarkBitmap {
        let words = Zeroed::new(geometry.heap_bytes() / BYTES_PER_WORD);
        let words_per_region = geometry.region_bytes() / BYTES_PER_WORD;
        let expected = geometry.all_regions().map(|_| AtomicBool::new(false)).collect();
        MarkBitmap { base: geometry.base, words, words_per_region, expected }
    }

    /// Sets the bit of the object's first word; true if it was clear.
    #[inline]
    pub fn mark(&self, object: ObjectRef) -> bool {
        let (word, bit) = self.position(object.address());
        let mask = 1 << bit;
        self.words[word].fetch_or(mask, Ordering::Relaxed) & mask == 0
    }

    /// As [`mark`](Self::mark), where no other thread marks.
    #[inline]
    pub fn mark_alone(&self, object: ObjectRef) -> bool {
        let (word, bit) = self.position(object.address());
        let before = self.words[word].load(Ordering::Relaxed);
        self.words[word].store(before | 1 << bit, Ordering::Relaxed);
        before & 1 << bit == 0
    }

    #[inline]
    pub fn is_marked(&self, object: ObjectRef) -> bool {
        let (word, bit) = self.position(object.address());
        self.words[word].load(Ordering::Relaxed) >> bit & 1 != 0
    }

    /// Sets the bits of all words of `bytes` from `address` on. Only one thread at a time.
    pub fn mark_range(&self, address: usize, bytes: usize) {
        let (first, bit) = self.position(address);
        let (last, last_bit) = self.position(address + bytes - 8);
        let low = u64::MAX << bit;
        let high = u64::MAX >> (63 - last_bit);
        let or = |word: usize, mask: u64| {
            let before = self.words[word].load(Ordering::Relaxed);
            self.words[word].store(before | mask, Ordering::Relaxed);
        };
        if first == last {
            return or(first, low & high);
        }
        or(first, low);
        (first + 1..last).for_each(|word| or(word, u64::MAX));
        or(last, high);
    }

    /// The first marked address in `from..end`.
    #[inline]
    pub fn next_marked(&self, from: usize, end: usize) -> Option<usize> {
        if from >= end {
            return None;
        }
        let (mut word, bit) = self.position(from);
        let mut bits = self.words[word].load(Ordering::Relaxed) & u64::MAX << bit;
        let last = (end - 8 - self.base) / BYTES_PER_WORD;
        while bits == 0 {
            word += 1;
            if word > last {
                return None;
            }
            bits = self.words[word].load(Ordering::Relaxed);
        }
        let address = self.base + word * BYTES_PER_WORD + bits.trailing_zeros() as usize * 8;
        (address < end).then_some(address)
    }

    /// Clears the bits of a region. Reads before it writes: most of a bitmap was never touched and has no memory.
    pub fn clear_region(&self, region: RegionId) {
        for word in self.region_words(region) {
            if word.load(Ordering::Relaxed) != 0 {
                word.store(0, Ordering::Relaxed);
            }
        }
    }

    /// Bits of a region will be set, for callers that clear with [`clear_expected`](Self::clear_expected).
    pub fn expect(&self, region: RegionId) {
        self.expected[region.index()].store(true, Ordering::Relaxed);
    }

    /// Clears the bits of a region if some were expected since it was cleared last.
    pub fn clear_expected(&self, region: RegionId) {
        if self.expected[region.index()].load(Ordering::Relaxed) {
            self.clear_region(region);
            self.expected[region.index()].store(false, Ordering::Relaxed);
        }
    }

    /// How much memory the bits take now. Slow, for figures.
    pub fn resident_bytes(&self) -> usize {
        self.words.resident_bytes()
    }

    /// Whether no bit of a region is set.
    pub fn is_clear(&self, region: RegionId) -> bool {
        self.region_words(region).iter().all(|word| word.load(Ordering::Relaxed) == 0)
    }

    /// The words of a region; bit 0 is the lowest address.
    pub fn region_words(&self, region: RegionId) -> &[AtomicU64] {
        let from = region.index() * self.words_per_region;
        &self.words[from..from + self.words_per_region]
    }

    /// Index of the bitmap word of an address, and its bits below the address.
    #[inline]
    pub fn bits_before(&self, address: usize) -> (usize, u64) {
        let (word, bit) = self.position(address);
        (word, self.words[word].load(Ordering::Relaxed) & ((1 << bit) - 1))
    }

    /// Prefetches the word of an object.
    #[inline]
    pub fn prefetch(&self, object: ObjectRef) {
        let (word, _) = self.position(object.address());
        prefetch::line((&raw const self.words[word]) as usize);
    }

    #[inline]
    fn position(&self, address: usize) -> (usize, usize) {
        debug_assert!(address >= self.base && address.is_multiple_of(8), "mark of {address:#x}");
        let index = (address - self.base) / 8;
        (index / 64, index % 64)
    }
}

/// Heap bytes that one word of the bitmap stands for.
pub const BYTES_PER_WORD: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_set_exactly_their_bits() {
        let mut geometry = Geometry::choose(1 << 18, Some(1 << 17)).unwrap();
        geometry.base = 1 << 30;
        let bitmap = MarkBitmap::new(&geometry);
        let base = geometry.base;
        for (at, bytes) in [(0, 16), (496, 32), (1024, 4096), (8192 + 504, 8)] {
            bitmap.mark_range(base + at, bytes);
            assert_eq!(bitmap.next_marked(base + at, base + (1 << 18)), Some(base + at));
            let marked = |o: usize| bitmap.is_marked(ObjectRef::from_address(base + o));
            assert!((at..at + bytes).step_by(8).all(marked));
            assert!(!marked(at + bytes), "after {at}");
        }
        assert_eq!(bitmap.next_marked(base + 16, base + 496), None);
        assert_eq!(bitmap.next_marked(base + 16, base + 504), Some(base + 496));
        let object = ObjectRef::from_address(base + 64);
        assert!(bitmap.mark_alone(object) && !bitmap.mark(object));
        bitmap.clear_region(RegionId(0));
        assert_eq!(bitmap.next_marked(base, base + (1 << 18)), None);
    }
}
