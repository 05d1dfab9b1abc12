//! Epochs in references (section 4.3.2.2): each reference in a heap slot says when it was last used.
//!
//! ```text
//!  63     56 55     48 47                               0
//! +---------+---------+----------------------------------+
//! | 0       |  stamp  |  address                         |     null is 0, without a stamp
//! +---------+---------+----------------------------------+
//! ```
//!
//! A stamp is `1 + epoch mod (2^bits - 1)`, where the epoch is the pager's; 0 means unknown. With the paper's
//! 4 bits there are fifteen, so a reference that was not used for fifteen epochs looks new again: more bits make that
//! rare. It costs a fault when it happens, nothing else.
//!
//! Registers, frames and handles hold plain addresses, so equality, hashing and card arithmetic never see a stamp.
//! Collectors read slots of eight bytes with [`StampedCodec`], whether there are stamps or not. Narrow slots have none:
//! [`AddressCodec`] is either.

use crate::object::ObjectRef;
use crate::object::codec::{NarrowCodec, SlotCodec, SlotWidth};

/// How epochs become stamps.
#[derive(Clone, Copy, Debug)]
pub struct Stamps {
    /// Different stamps, 0 not counted.
    period: u64,
    /// Epochs after which a reference is old.
    distance_max: u64,
}

impl Stamps {
    /// `bits` are 1 to 8; `distance_max` is the paper's delta.
    pub fn new(bits: u8, distance_max: u64) -> Stamps {
        assert!((1..=8).contains(&bits), "stamps of {bits} bits");
        Stamps { period: (1 << bits) - 1, distance_max }
    }

    /// The stamp of an epoch.
    pub fn stamp(&self, epoch: u64) -> u8 {
        (1 + epoch % self.period) as u8
    }

    /// Whether a reference with this stamp was used lately, as far as that is known.
    pub fn is_recent(&self, stamp: u8, epoch: u64) -> bool {
        let now = u64::from(self.stamp(epoch));
        stamp != 0 && (now + self.period - u64::from(stamp)) % self.period <= self.distance_max
    }
}

/// A stamp where it stands in a word.
pub fn stamp_bits(stamp: u8) -> u64 {
    u64::from(stamp) << STAMP_SHIFT
}

/// The stamp of a word.
#[inline]
pub fn stamp_of(word: u64) -> u8 {
    (word >> STAMP_SHIFT) as u8
}

/// A codec of addresses, which change when objects move.
pub trait Readdress: SlotCodec {
    /// The word with another address, for an object that has moved: that is no use of the reference.
    fn readdressed(&self, word: u64, object: ObjectRef) -> u64;
}

impl Readdress for NarrowCodec {
    #[inline]
    fn readdressed(&self, _word: u64, object: ObjectRef) -> u64 {
        self.encode(object)
    }
}

impl Readdress for StampedCodec {
    #[inline]
    fn readdressed(&self, word: u64, object: ObjectRef) -> u64 {
        word & !ADDRESS_MASK | object.address() as u64
    }
}

impl Readdress for AddressCodec {
    #[inline]
    fn readdressed(&self, word: u64, object: ObjectRef) -> u64 {
        match self {
            AddressCodec::Narrow(narrow) => narrow.readdressed(word, object),
            AddressCodec::Wide(wide) => wide.readdressed(word, object),
        }
    }
}

/// Slots of eight bytes whose references have stamps, or none.
#[derive(Clone, Copy, Debug, Default)]
pub struct StampedCodec {
    /// The stamp of new words, as [`stamp_bits`] yields it.
    pub stamp: u64,
}

impl SlotCodec for StampedCodec {
    #[inline]
    fn slot_bytes(&self) -> usize {
        8
    }

    #[inline]
    fn decode(&self, word: u64) -> ObjectRef {
        ObjectRef::from_address((word & ADDRESS_MASK) as usize)
    }

    #[inline]
    fn encode(&self, object: ObjectRef) -> u64 {
        match object.is_null() {
            true => 0,
            false => object.address() as u64 | self.stamp,
        }
    }
}

/// How collectors that MemLiner may be a layer on read slots and write them. Code that visits many slots is better
/// generic over the codec inside.
#[derive(Clone, Copy, Debug)]
pub enum AddressCodec {
    Narrow(NarrowCodec),
    Wide(StampedCodec),
}

impl AddressCodec {
    /// `stamp` as [`StampedCodec`] has it, 0 if slots are narrow.
    pub fn new(width: SlotWidth, stamp: u64) -> AddressCodec {
        match width {
            SlotWidth::Narrow => {
                debug_assert!(stamp == 0, "stamp {stamp:#x} of narrow slots");
                AddressCodec::Narrow(NarrowCodec)
            }
            SlotWidth::Wide => AddressCodec::Wide(StampedCodec { stamp }),
        }
    }
}

impl SlotCodec for AddressCodec {
    #[inline]
    fn slot_bytes(&self) -> usize {
        match self {
            AddressCodec::Narrow(narrow) => narrow.slot_bytes(),
            AddressCodec::Wide(wide) => wide.slot_bytes(),
        }
    }

    #[inline]
    fn decode(&self, word: u64) -> ObjectRef {
        match self {
            AddressCodec::Narrow(narrow) => narrow.decode(word),
            AddressCodec::Wide(wide) => wide.decode(word),
        }
    }

    #[inline]
    fn encode(&self, object: ObjectRef) -> u64 {
        match self {
            AddressCodec::Narrow(narrow) => narrow.encode(object),
            AddressCodec::Wide(wide) => wide.encode(object),
        }
    }
}

pub const STAMP_SHIFT: u32 = 48;
pub const ADDRESS_MASK: u64 = (1 << STAMP_SHIFT) - 1;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn references_age_by_epochs_until_they_look_new() {
        let stamps = Stamps::new(4, 2);
        let stamp = stamps.stamp(100);
        let ages: Vec<bool> = (100..=118).map(|epoch| stamps.is_recent(stamp, epoch)).collect();
        let recent = |range: std::ops::RangeInclusive<usize>| ages[range].iter().all(|is| *is);
        assert!(recent(0..=2) && recent(15..=17), "{ages:?}");
        assert!(ages[3..15].iter().all(|is| !is) && !ages[18], "{ages:?}");
        assert!((0..15).all(|epoch| !stamps.is_recent(0, epoch)), "unknown is not recent");
        assert!((0..100).all(|epoch| (1..=15).contains(&stamps.stamp(epoch))));
        assert!(!Stamps::new(8, 2).is_recent(Stamps::new(8, 2).stamp(100), 115));
    }

    #[test]
    fn words_have_stamps_and_null_has_none() {
        let codec = StampedCodec { stamp: stamp_bits(0xff) };
        let object = ObjectRef::from_address(0x7fff_ffff_fff8);
        let word = codec.encode(object);
        assert_eq!((codec.decode(word), stamp_of(word)), (object, 0xff));
        assert_eq!((codec.encode(ObjectRef::NULL), codec.decode(0)), (0, ObjectRef::NULL));
        assert_eq!(codec.decode(object.address() as u64), object);
        let moved = ObjectRef::from_address(0x1000);
        assert_eq!(codec.readdressed(word, moved), 0x1000 | stamp_bits(0xff));
    }
}
