//! Where the object begins that covers the first byte of a card, so that a single card can be scanned.
//!
//! One word of four bytes for each card of 512; ordinary memory, written when objects get their places in old regions
//! and read in pauses. Of young and humongous regions nothing is kept.

use super::cards::{CARD_BYTES, CARD_SHIFT};
use crate::memory::zeroed::Zeroed;
use crate::object::geometry::Geometry;
use std::sync::atomic::{AtomicU32, Ordering};

/// See the module text. Two threads never write the word of one card: buffers in old regions consist of whole cards.
pub struct Starts {
    geometry: Geometry,
    /// In words of eight bytes from the region's start.
    words: Zeroed<AtomicU32>,
}

impl Starts {
    pub fn new(geometry: &Geometry) -> Starts {
        let words = Zeroed::new(geometry.heap_bytes() >> CARD_SHIFT);
        Starts { geometry: *geometry, words }
    }

    /// How much memory they take now. Slow, for figures.
    pub fn resident_bytes(&self) -> usize {
        self.words.resident_bytes()
    }

    /// Notes an object (or filler) of an old region.
    #[inline]
    pub fn note(&self, object: usize, bytes: usize) {
        let offset = self.geometry.offset(object);
        let first = offset.div_ceil(CARD_BYTES);
        let last = (offset + bytes - 1) >> CARD_SHIFT;
        if first > last {
            return;
        }
        let start = (offset & (self.geometry.region_bytes() - 1)) / 8;
        for word in &self.words[first..=last] {
            word.store(start as u32, Ordering::Relaxed);
        }
    }

    /// The object that covers the first byte of the card at `address`.
    #[inline]
    pub fn covering(&self, address: usize) -> usize {
        let offset = self.geometry.offset(address);
        let start = self.words[offset >> CARD_SHIFT].load(Ordering::Relaxed) as usize * 8;
        let region = offset & !(self.geometry.region_bytes() - 1);
        self.geometry.base + region + start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_card_knows_what_covers_its_first_byte() {
        let mut geometry = Geometry::choose(1 << 18, Some(1 << 17)).unwrap();
        geometry.base = 1 << 30;
        let starts = Starts::new(&geometry);
        let region = geometry.base + (1 << 17);
        let mut at = region;
        let sizes = [16, 480, 16, 24, 2000, 512, 16, 8 * 512, 64, 400];
        let mut objects = Vec::new();
        for bytes in sizes.into_iter().cycle().take(100) {
            starts.note(at, bytes);
            objects.push((at, bytes));
            at += bytes;
        }
        for card in (region..at).step_by(CARD_BYTES) {
            let covers =
                |(object, bytes): &&(usize, usize)| (*object..*object + bytes).contains(&card);
            let expected = objects.iter().find(covers).expect("objects lie side by side").0;
            assert_eq!(starts.covering(card), expected);
        }
    }
}
