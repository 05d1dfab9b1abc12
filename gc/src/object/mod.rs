//! Plain references, encoded off-heap slots, and the object header.
//!
//! ```text
//! offset  0                                          4             8
//!         +----------+-------+---+--------+----------+-------------+-------------------------------+
//!         | class 22 | age 4 | 2 | lock 2 | tag 2    | value 32    | fields, or an array's length  |
//!         +----------+-------+---+--------+----------+-------------+-------------------------------+
//!         31         10      6   4        2          0
//! ```
//!
//! * The class names the object's [`KlassLayout`](layout::KlassLayout).
//! * The lock belongs to the VM: free, locked or inflated. The collectors copy it with the object.
//! * Tag and age belong to collectors that move objects: a header with a tag has its new place in it, and the copy has
//!   the header that the object had. Both are 0 in a new object.
//! * Of the two bits between, the lower one says that a string has been a candidate for deduplication, the higher one
//!   that a young object of Mako has an entry ([`EARLY`]).
//! * The value is the object's entry index under Mako, or of a young object without an entry the word by which slots
//!   name it, which has the sign. Under the other collectors it is the VM's: identity hash, or monitor; 0 in a new
//!   object.
//! * Arrays keep their length (i32) at offset 8. Where elements begin is the VM's choice; the layouts say it.
//! * Objects are aligned to 8 bytes; the heap holds no native pointer.

pub mod codec;
pub mod geometry;
pub mod layout;
pub mod log;
pub(crate) mod prefetch;
pub(crate) mod sync;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A plain reference: the address of an object's header, or null. Valid until the next safepoint of the
/// thread that holds it, unless it lies in a word that the collector visits as a root.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct ObjectRef(usize);

impl ObjectRef {
    pub const NULL: ObjectRef = ObjectRef(0);

    #[inline]
    pub const fn from_address(address: usize) -> ObjectRef {
        ObjectRef(address)
    }

    #[inline]
    pub const fn address(self) -> usize {
        self.0
    }

    #[inline]
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }

    #[inline]
    fn word(self, offset: usize) -> &'static AtomicU32 {
        debug_assert!(self.0 != 0 && self.0.is_multiple_of(8), "header of {self:?}");
        // SAFETY: a non-null ObjectRef is the address of an object in a mapped heap (the invariant of the
        // type, upheld by allocation and by collectors that update every root); headers are only accessed
        // atomically. The lifetime ends in truth at the next safepoint: no caller keeps the reference.
        unsafe { &*((self.0 + offset) as *const AtomicU32) }
    }

    /// Class, lock and value as one word.
    #[inline]
    pub fn header(self) -> &'static AtomicU64 {
        debug_assert!(self.0 != 0 && self.0.is_multiple_of(8), "header of {self:?}");
        // SAFETY: as in `word`; a header is aligned to 8 bytes.
        unsafe { &*(self.0 as *const AtomicU64) }
    }

    /// The half with class and lock.
    #[inline]
    pub fn klass_word(self) -> &'static AtomicU32 {
        self.word(KLASS_OFFSET)
    }

    /// The other half.
    #[inline]
    pub fn value_word(self) -> &'static AtomicU32 {
        self.word(VALUE_OFFSET)
    }

    #[inline]
    pub fn klass(self) -> KlassId {
        KlassId(self.klass_word().load(Ordering::Relaxed) >> KLASS_SHIFT)
    }

    /// Elements of an array; meaningless for anything else.
    #[inline]
    pub fn array_length(self) -> usize {
        self.word(ARRAY_LENGTH_OFFSET).load(Ordering::Relaxed) as usize
    }

    /// Writes the length of a new array; allocation only.
    #[inline]
    pub fn set_array_length(self, length: u32) {
        self.word(ARRAY_LENGTH_OFFSET).store(length, Ordering::Relaxed)
    }
}

impl std::fmt::Debug for ObjectRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ObjectRef({:#x})", self.0)
    }
}

/// The id of a class known to the heap: an index into the layout table. At most 22 bits; 0 is never used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[repr(transparent)]
pub struct KlassId(pub u32);

impl KlassId {
    /// The half of a new object's header that is not the value.
    #[inline]
    pub const fn header(self) -> u32 {
        self.0 << KLASS_SHIFT
    }

    /// Whether this half of a header is of this class, and without [`SEEN`].
    #[inline]
    pub const fn is_unseen(self, half: u32) -> bool {
        half >> KLASS_SHIFT == self.0 && half & SEEN == 0
    }
}

/// A word outside the heap that holds an **encoded** reference (class mirrors, interned strings, global JNI
/// handles, ...). Read and written through [`BarrierSet::load_root`](crate::barrier::BarrierSet::load_root)
/// and `store_root` only. 0 is null for every codec. Eight bytes for every slot width of the heap.
#[derive(Default, Debug)]
#[repr(transparent)]
pub struct RootSlot(AtomicU64);

impl RootSlot {
    pub const fn null() -> RootSlot {
        RootSlot(AtomicU64::new(0))
    }

    /// The encoded word; for barriers and collectors.
    #[inline]
    pub fn word(&self) -> &AtomicU64 {
        &self.0
    }

    #[inline]
    pub fn is_null(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }
}

pub const KLASS_OFFSET: usize = 0;
pub const VALUE_OFFSET: usize = 4;
/// Of the half with the class: where the class id begins, the age, the lock state; the tag is at bit 0.
pub const KLASS_SHIFT: u32 = 10;
pub const AGE_SHIFT: u32 = 6;
pub const AGE_MAX: u32 = 15;
pub const LOCK_SHIFT: u32 = 2;
pub const LOCK_MASK: u32 = 3 << LOCK_SHIFT;
/// A string has been a candidate for deduplication.
pub const SEEN: u32 = 1 << 4;
/// Mako's: the object is young and has an entry.
pub const EARLY: u32 = 1 << 5;
/// The tags of collectors.
pub const TAG_MASK: u32 = 3;
pub const HEADER_BYTES: usize = 8;
pub const ARRAY_LENGTH_OFFSET: usize = HEADER_BYTES;
/// Where the elements of an array may begin.
pub const ARRAY_BASE_MIN: usize = ARRAY_LENGTH_OFFSET + size_of::<u32>();
/// The smallest object, in bytes.
pub const OBJECT_BYTES_MIN: usize = 16;
pub const OBJECT_ALIGNMENT: usize = 8;
pub const KLASS_ID_MAX: u32 = u32::MAX >> KLASS_SHIFT;

/// `bytes` rounded up to whole object alignment.
#[inline]
pub const fn align_object(bytes: usize) -> usize {
    (bytes + OBJECT_ALIGNMENT - 1) & !(OBJECT_ALIGNMENT - 1)
}

const _: () = assert!(OBJECT_BYTES_MIN == align_object(ARRAY_BASE_MIN));
const _: () = assert!(size_of::<RootSlot>() == 8);
