//! The header of G1's objects in a pause.
//!
//! ```text
//! offset  0                                    4
//!         +------------------------------------+--------------------+
//!         | class, age, lock, tag 00           | value              |   at all times outside of pauses
//!         | class, age, lock, tag 10           | value              |   left where it was, in a pause
//!         | the new address, tag 01 ...             (eight bytes)   |   copied, in a pause
//!         +------------------------------------+--------------------+
//! ```
//!
//! Both halves are read and exchanged as one word, so no worker takes half an address for a class, and the heap may
//! be as large as addresses allow. The copy has the header that was overwritten. The worker that exchanges first has
//! copied the object; the others take their copies back.

use crate::object::{AGE_MAX, AGE_SHIFT, EARLY, KLASS_SHIFT, KlassId, ObjectRef, TAG_MASK};
use std::sync::atomic::Ordering;

/// The word at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header(u64);

impl Header {
    /// Of an object that other workers may be copying.
    #[inline]
    pub fn of(object: ObjectRef) -> Header {
        // Acquire: a worker that reads a new address may read the copy. Pairs with `exchange`.
        Header(object.header().load(Ordering::Acquire))
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

    /// All of it, of an object that is not copied yet.
    #[inline]
    pub fn word(self) -> u64 {
        self.0
    }

    pub fn is_left(self) -> bool {
        self.0 & TAGS == LEFT
    }

    /// The class of an object that is not copied yet.
    #[inline]
    pub fn klass(self) -> KlassId {
        debug_assert!(self.0 & TAGS != COPIED);
        KlassId(self.0 as u32 >> KLASS_SHIFT)
    }

    /// Pauses that the object has survived.
    #[inline]
    pub fn age(self) -> u32 {
        debug_assert!(self.0 & TAGS != COPIED);
        self.0 as u32 >> AGE_SHIFT & AGE_MAX
    }

    #[inline]
    pub fn with_age(self, age: u32) -> Header {
        debug_assert!(age <= AGE_MAX);
        Header(self.0 & !u64::from(AGE_MAX << AGE_SHIFT) | u64::from(age << AGE_SHIFT))
    }

    /// The entry of Mako's young object, if it has one. It is not copied yet.
    #[inline]
    pub fn early(self) -> Option<u32> {
        debug_assert!(self.0 & TAGS != COPIED);
        (self.0 as u32 & EARLY != 0).then_some((self.0 >> 32) as u32)
    }

    /// With an entry, of Mako's young object.
    #[inline]
    pub fn with_early(self, entry: u32) -> Header {
        Header(self.with_value(entry).0 | u64::from(EARLY))
    }

    /// Of Mako's object when it is promoted.
    #[inline]
    pub fn promoted(self, entry: u32) -> Header {
        Header(self.with_age(0).with_value(entry).0 & !u64::from(EARLY))
    }

    #[inline]
    pub fn with_value(self, value: u32) -> Header {
        Header(self.0 & u64::from(u32::MAX) | u64::from(value) << 32)
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
            object.header().compare_exchange(self.0, new.0, Ordering::AcqRel, Ordering::Acquire);
        result.map(|_| ()).map_err(Header)
    }

    /// Writes the word of an object that no other worker can access.
    #[inline]
    pub fn write(self, object: ObjectRef) {
        object.header().store(self.0, Ordering::Relaxed);
    }
}

const TAGS: u64 = TAG_MASK as u64;
const COPIED: u64 = 1;
const LEFT: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn class_age_and_value_survive_what_pauses_write() {
        let words = [const { AtomicU64::new(0) }; 2];
        let object = ObjectRef::from_address(words.as_ptr() as usize);
        object.klass_word().store(KlassId(77).header(), Ordering::Relaxed);
        object.value_word().store(78, Ordering::Relaxed);
        let header = Header::of(object).with_age(15);
        header.write(object);
        assert_eq!((header.age(), header.klass(), object.klass()), (15, KlassId(77), KlassId(77)));
        assert_eq!(header.place(object), None);
        header.exchange(object, header.left()).unwrap();
        let left = Header::of(object);
        assert!(left.is_left() && left.age() == 15 && object.klass() == KlassId(77));
        assert_eq!(left.untagged(), header);
        assert_eq!(header.exchange(object, Header::copied(64)), Err(left));
        Header::copied(0x7fff_1234_5678).write(object);
        let place = Header::of(object).place(object);
        assert_eq!(place, Some(ObjectRef::from_address(0x7fff_1234_5678)));
        header.write(object);
        assert_eq!(object.value_word().load(Ordering::Relaxed), 78);
    }
}
