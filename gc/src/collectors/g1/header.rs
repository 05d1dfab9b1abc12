//! The collector word of G1's objects, and the word beside it.
//!
//! ```text
//! offset  8                                12
//!         +--------------------------------+---------------------------------+
//!         | age << 2, tag 00               | length of an array, or a field  |   at all times outside of pauses
//!         | age << 2, tag 10               | the same                        |   left where it was, in a pause
//!         | the new address, tag 01 ...                      (eight bytes)   |   copied, in a pause
//!         +--------------------------------+---------------------------------+
//! ```
//!
//! Both halves are read and exchanged as one word, so that no worker takes half an address for a length, and the heap
//! may be as large as addresses allow. The overwritten half is in the copy. The worker that exchanges first has copied
//! the object; the others take their copies back.

use crate::object::layout::KlassLayout;
use crate::object::{COLLECTOR_OFFSET, HEADER_BYTES, ObjectRef};
use std::sync::atomic::{AtomicU64, Ordering};

/// The word at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header(u64);

impl Header {
    /// Of an object that other workers may be copying.
    #[inline]
    pub fn of(object: ObjectRef) -> Header {
        // Acquire: a worker that reads a new address may read the copy. Pairs with `exchange`.
        Header(word(object).load(Ordering::Acquire))
    }

    /// Where the object is, if it lives: the copy, or the object itself if it was left.
    #[inline]
    pub fn place(self, object: ObjectRef) -> Option<ObjectRef> {
        match self.0 & TAGS {
            COPIED => Some(ObjectRef::from_address((self.0 & !TAGS) as usize)),
            LEFT => Some(object),
            _ => None,
        }
    }

    pub fn is_left(self) -> bool {
        self.0 & TAGS == LEFT
    }

    /// Pauses that the object has survived.
    #[inline]
    pub fn age(self) -> u32 {
        debug_assert!(self.0 & TAGS != COPIED);
        self.0 as u32 >> AGE_SHIFT
    }

    #[inline]
    pub fn with_age(self, age: u32) -> Header {
        Header(self.0 & !u64::from(u32::MAX) | u64::from(age << AGE_SHIFT))
    }

    pub fn left(self) -> Header {
        Header(self.0 & !TAGS | LEFT)
    }

    pub fn copied(to: usize) -> Header {
        debug_assert!(to as u64 & TAGS == 0);
        Header(to as u64 | COPIED)
    }

    /// As it is outside of pauses.
    pub fn untagged(self) -> Header {
        Header(self.0 & !TAGS)
    }

    /// Replaces the word if it is unchanged. `Err`: the word that another worker has stored.
    #[inline]
    pub fn exchange(self, object: ObjectRef, new: Header) -> Result<(), Header> {
        let result =
            word(object).compare_exchange(self.0, new.0, Ordering::AcqRel, Ordering::Acquire);
        result.map(|_| ()).map_err(Header)
    }

    /// Writes the word of an object that no other worker can access.
    #[inline]
    pub fn write(self, object: ObjectRef) {
        word(object).store(self.0, Ordering::Relaxed);
    }

    /// The aligned size of an object that is not copied yet; its length is in this word.
    #[inline]
    pub fn object_bytes(self, object: ObjectRef, layout: &KlassLayout, slot_bytes: usize) -> usize {
        let beside = (self.0 >> 32) as usize;
        let array = |element| crate::object::layout::array_bytes(beside, element);
        match layout {
            KlassLayout::Instance { bytes, .. } => *bytes as usize,
            KlassLayout::Mirror { bytes_at, .. } if *bytes_at as usize == HEADER_BYTES => beside,
            KlassLayout::Mirror { .. } => layout.object_bytes(object, slot_bytes),
            KlassLayout::ObjectArray => array(slot_bytes),
            KlassLayout::PrimitiveArray { log2_bytes } => array(1 << log2_bytes),
        }
    }
}

#[inline]
fn word(object: ObjectRef) -> &'static AtomicU64 {
    let address = object.address() + COLLECTOR_OFFSET;
    debug_assert!(address.is_multiple_of(8));
    // SAFETY: every object has at least 16 bytes and lies in the mapped heap; with the world stopped these words are
    // only accessed atomically.
    unsafe { &*(address as *const AtomicU64) }
}

const TAGS: u64 = 3;
const COPIED: u64 = 1;
const LEFT: u64 = 2;
const AGE_SHIFT: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::layout::array_bytes;

    #[test]
    fn ages_and_lengths_survive_what_pauses_write() {
        let words = [0u64; 4];
        let object = ObjectRef::from_address(words.as_ptr() as usize);
        object.set_array_length(77);
        let header = Header::of(object).with_age(15);
        header.write(object);
        assert_eq!((header.age(), object.array_length()), (15, 77));
        assert_eq!(header.place(object), None);
        let bytes = KlassLayout::PrimitiveArray { log2_bytes: 1 };
        assert_eq!(header.object_bytes(object, &bytes, 8), array_bytes(77, 2));
        header.exchange(object, header.left()).unwrap();
        let left = Header::of(object);
        assert!(left.is_left() && left.age() == 15 && object.array_length() == 77);
        assert_eq!(left.untagged(), header);
        assert_eq!(header.exchange(object, Header::copied(64)), Err(left));
        Header::copied(0x7fff_1234_5678).write(object);
        let place = Header::of(object).place(object);
        assert_eq!(place, Some(ObjectRef::from_address(0x7fff_1234_5678)));
    }
}
