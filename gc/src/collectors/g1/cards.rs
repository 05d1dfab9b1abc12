//! Cards: one byte for each 512 bytes of the object space, in ordinary memory that is never paged.
//!
//! ```text
//!   0  CLEAN   an old or humongous region, nothing to be looked at; or free memory
//!   1  DIRTY   the same, and a slot on it may refer to a young object, or was written since the last pause
//!   2  YOUNG   a young region: all of it is collected in every pause, so it needs no cards
//! ```
//!
//! Mutators turn CLEAN into DIRTY, nothing else; pauses do the rest.

use crate::memory::zeroed::Zeroed;
use crate::object::geometry::{Geometry, RegionId};
use std::sync::atomic::{AtomicU8, Ordering};

/// See the module text. Bytes are accessed relaxed: pauses order them.
pub struct CardTable {
    base: usize,
    cards_per_region: usize,
    cards: Zeroed<AtomicU8>,
}

pub const CLEAN: u8 = 0;
pub const DIRTY: u8 = 1;
pub const YOUNG: u8 = 2;

pub const CARD_SHIFT: u32 = 9;
pub const CARD_BYTES: usize = 1 << CARD_SHIFT;

impl CardTable {
    pub fn new(geometry: &Geometry) -> CardTable {
        let cards = Zeroed::new(geometry.heap_bytes() >> CARD_SHIFT);
        let cards_per_region = geometry.region_bytes() >> CARD_SHIFT;
        CardTable { base: geometry.base, cards_per_region, cards }
    }

    /// The offset that is added to an address, shifted by [`CARD_SHIFT`], to get the address of its card.
    pub fn origin(&self) -> u64 {
        (self.cards.as_ptr() as u64).wrapping_sub((self.base >> CARD_SHIFT) as u64)
    }

    #[inline]
    pub fn card(&self, address: usize) -> &AtomicU8 {
        &self.cards[(address - self.base) >> CARD_SHIFT]
    }

    #[inline]
    pub fn is(&self, address: usize, state: u8) -> bool {
        self.card(address).load(Ordering::Relaxed) == state
    }

    #[inline]
    pub fn dirty(&self, address: usize) {
        self.card(address).store(DIRTY, Ordering::Relaxed);
    }

    /// Dirties the clean ones among the cards of `bytes` bytes.
    pub fn dirty_clean(&self, address: usize, bytes: usize) {
        let first = (address - self.base) >> CARD_SHIFT;
        let last = (address + bytes - 1 - self.base) >> CARD_SHIFT;
        for card in &self.cards[first..=last] {
            if card.load(Ordering::Relaxed) == CLEAN {
                card.store(DIRTY, Ordering::Relaxed);
            }
        }
    }

    /// Gives all cards of a region one state. World stopped, or the region is not in use yet.
    pub fn set_region(&self, region: RegionId, state: u8) {
        let from = region.index() * self.cards_per_region;
        let cards = &self.cards[from..from + self.cards_per_region];
        for card in cards {
            // The cards of large objects that are never written stay clean, and take no memory.
            if card.load(Ordering::Relaxed) != state {
                card.store(state, Ordering::Relaxed);
            }
        }
    }

    /// How much memory the cards take now. Slow, for figures.
    pub fn resident_bytes(&self) -> usize {
        self.cards.resident_bytes()
    }

    /// The address of the first dirty card in `from..end`, both multiples of [`CARD_BYTES`].
    pub fn next_dirty(&self, from: usize, end: usize) -> Option<usize> {
        let (first, end) = ((from - self.base) >> CARD_SHIFT, (end - self.base) >> CARD_SHIFT);
        let dirty = |card: &AtomicU8| card.load(Ordering::Relaxed) == DIRTY;
        let found = self.cards[first..end].iter().position(dirty)?;
        Some(self.base + ((first + found) << CARD_SHIFT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dirty_cards_are_found_and_young_ones_left_alone() {
        let mut geometry = Geometry::choose(1 << 18, Some(1 << 17)).unwrap();
        geometry.base = 1 << 30;
        let (base, cards) = (geometry.base, CardTable::new(&geometry));
        let end = base + geometry.heap_bytes();
        assert_eq!(cards.next_dirty(base, end), None);
        cards.dirty(base + 5 * CARD_BYTES + 8);
        assert_eq!(cards.next_dirty(base, end), Some(base + 5 * CARD_BYTES));
        assert_eq!(cards.next_dirty(base + 6 * CARD_BYTES, end), None);
        cards.set_region(RegionId(1), YOUNG);
        cards.dirty_clean(base + (1 << 17) - CARD_BYTES - 8, CARD_BYTES + 16);
        let last = base + (1 << 17) - CARD_BYTES;
        assert!(cards.is(last, DIRTY) && cards.is(last - CARD_BYTES, DIRTY));
        assert!(cards.is(last + CARD_BYTES, YOUNG));
        let place = cards.origin().wrapping_add(last as u64 >> CARD_SHIFT);
        assert_eq!(place, cards.card(last).as_ptr() as u64);
    }
}
