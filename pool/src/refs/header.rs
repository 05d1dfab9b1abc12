//! The header of a counted object.

use crate::detect::{Marked, Tag, Word};
use crate::sync::{AtomicU64, Ordering};

/// What a counted object begins with:
///
/// ```text
///   0                     16       24       32
///   +----------+----------+--------+--------+---------------------------+------------------+
///   | count    | tag      | birth  | next   | embedded references       | data             |
///   +----------+----------+--------+--------+---------------------------+------------------+
/// ```
///
/// `count` and `tag` are one word of `detect`: clients change them together. `birth` is the era of the clock in which
/// the object was made; its maker writes it. `next` links dying objects; only the client writes it that has the last
/// reference.
#[repr(C, align(16))]
#[derive(Default)]
pub(crate) struct Header {
    pub word: Word,
    pub birth: AtomicU64,
    pub next: AtomicU64,
}

/// Embedded references of an object at most.
pub(super) const EMBEDDED_MAX: u32 = 1 << 28;

/// The bits of a reference that name an object: no process can map more. In what was in a shared cell its user has the
/// others.
pub(super) const OBJECT: u64 = (1 << 48) - 1;

/// Bytes of a header.
pub(super) const HEADER_BYTES: u64 = 32;

#[cfg(not(loom))]
const _: () = {
    assert!(size_of::<Header>() as u64 == HEADER_BYTES);
    assert!(std::mem::offset_of!(Header, birth) == 16 && std::mem::offset_of!(Header, next) == 24);
};

// SAFETY: atomic words, aligned to 16 bytes.
#[cfg(not(loom))]
unsafe impl crate::segment::Shared for Header {}

impl Header {
    /// Writes the header of a new object with one reference. The caller is the only one that knows the object.
    #[inline(always)]
    pub(super) fn init(&self, first: Count, birth: u64) {
        self.word.reset(first.bits());
        self.birth.store(birth, Ordering::Relaxed);
        self.next.store(0, Ordering::Relaxed);
    }

    /// Whether the object is private, and refers to nothing.
    #[inline(always)]
    pub(super) fn is_simple(&self) -> bool {
        // Nobody else changes the word of a private object.
        self.word.is_new() && self.word.value() == Count::new(0, 1).bits()
    }

    /// In which era of the clock the object died. The caller has the last reference, and its change is acknowledged:
    /// nobody asks any more who changed the count.
    pub(super) fn retire(&self, era: u64) {
        if self.retired().is_none() {
            self.word.stamp(Tag::new(0, era));
        }
    }

    /// The era in which it died, if it has been written.
    pub(super) fn retired(&self) -> Option<u64> {
        let tag = self.word.load().tag;
        (tag.client() == 0 && tag != Tag::default()).then(|| tag.era())
    }
}

/// Whether a count was never changed, and there is one reference: no other client, and no reader, knows the object.
#[inline(always)]
pub(super) fn is_private(seen: Marked) -> bool {
    is_single(seen) && !Count::from_bits(seen.value).is_open()
}

/// Whether a count was never changed, and there is one reference.
#[inline(always)]
pub(super) fn is_single(seen: Marked) -> bool {
    seen.tag == Tag::default() && Count::from_bits(seen.value).count() == 1
}

/// The value of a header's word:
///
/// ```text
///   63   62    61                  32 31                0
///   +---+------+---------------------+------------------+
///   | 0 | open | embedded            | count            |
///   +---+------+---------------------+------------------+
/// ```
///
/// `embedded` is the number of embedded references, and never changes. `count` is the number of references to the
/// object: of roots, of rings, of persistent roots, of shared cells, and embedded ones. An `open` object may be in a
/// shared cell, where readers find it: it is not private, although its count was never changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Count(u64);

// The words of a model have 16 bits of value.
#[cfg(not(loom))]
const COUNT_BITS: u32 = 32;
#[cfg(loom)]
const COUNT_BITS: u32 = 8;

const COUNT: u64 = (1 << COUNT_BITS) - 1;

const OPEN: u64 = 1 << (2 * COUNT_BITS - 2);

impl Count {
    pub(super) fn new(embedded: u32, count: u32) -> Count {
        Count(u64::from(embedded) << COUNT_BITS | u64::from(count))
    }

    /// One reference to an object for shared cells.
    pub(super) fn open(embedded: u32) -> Count {
        Count(Count::new(embedded, 1).0 | OPEN)
    }

    #[inline(always)]
    pub(super) fn is_open(self) -> bool {
        self.0 & OPEN != 0
    }

    /// Whether it was in a shared cell, whose reference was not released yet: if it is in the list of its client.
    #[inline(always)]
    pub(super) fn is_unlinked(self) -> bool {
        self.is_open() && self.count() != 0
    }

    #[inline(always)]
    pub(super) fn from_bits(bits: u64) -> Count {
        Count(bits)
    }

    pub(super) fn bits(self) -> u64 {
        self.0
    }

    #[inline(always)]
    pub(super) fn count(self) -> u64 {
        self.0 & COUNT
    }

    #[inline(always)]
    pub(super) fn embedded(self) -> u64 {
        (self.0 & !OPEN) >> COUNT_BITS
    }

    /// `None`: there cannot be more.
    pub(super) fn more(self) -> Option<Count> {
        (self.count() < COUNT).then_some(Count(self.0 + 1))
    }

    /// `None`: there is none.
    pub(super) fn less(self) -> Option<Count> {
        (self.count() > 0).then(|| Count(self.0 - 1))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn counts_end_without_touching_the_other_half() {
        let full = Count::new(7, u32::MAX);
        assert_eq!((full.embedded(), full.count(), full.more()), (7, COUNT, None));
        assert_eq!(full.less(), Some(Count::new(7, u32::MAX - 1)));
        assert_eq!(
            (Count::new(7, 0).less(), Count::new(7, 0).more()),
            (None, Some(Count::new(7, 1)))
        );
    }

    #[test]
    fn an_open_object_is_not_private() {
        let header = Header::default();
        header.init(Count::open(3), 5);
        let seen = header.word.load();
        assert!(!is_private(seen) && is_single(seen) && !header.is_simple());
        let count = Count::from_bits(seen.value);
        assert_eq!((count.embedded(), count.count()), (3, 1));
        let less = count.less().unwrap();
        assert!(less.is_open() && !less.is_unlinked() && less.embedded() == 3);
    }

    #[test]
    fn an_object_retires_once() {
        let header = Header::default();
        header.init(Count::new(2, 1), 5);
        assert!(is_private(header.word.load()) && header.retired().is_none());
        header.retire(9);
        header.retire(10);
        assert_eq!(header.retired(), Some(9));
    }
}
