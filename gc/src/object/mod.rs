//! Plain references, encoded off-heap slots, and the object header.
//!
//! ```text
//! offset  0        4                     8                12
//!         +--------+---------------------+----------------+----------------------------+
//!         | lock   | klass id 24 | gc 8  | collector word | first field / array length |
//!         +--------+---------------------+----------------+----------------------------+
//! ```
//!
//! * The lock word belongs to the VM (lock state, identity hash); collectors copy it with the object.
//! * The klass word names the object's [`KlassLayout`](layout::KlassLayout); its top byte is the collector's.
//! * The collector word is the collector's own: Mako keeps the object's entry index in it, a forwarding
//!   collector the new address as a heap offset. Zero in a new object unless the collector says otherwise.
//! * Arrays keep their length (i32) at offset 12 and their elements from offset 16, for every element type.
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

    /// The VM's lock word.
    #[inline]
    pub fn lock_word(self) -> &'static AtomicU32 {
        self.word(LOCK_OFFSET)
    }

    #[inline]
    pub fn klass_word(self) -> &'static AtomicU32 {
        self.word(KLASS_OFFSET)
    }

    #[inline]
    pub fn collector_word(self) -> &'static AtomicU32 {
        self.word(COLLECTOR_OFFSET)
    }

    #[inline]
    pub fn klass(self) -> KlassId {
        KlassId(self.klass_word().load(Ordering::Relaxed) & KLASS_ID_MASK)
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

/// The id of a class known to the heap: an index into the layout table. At most 24 bits; 0 is never used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[repr(transparent)]
pub struct KlassId(pub u32);

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

pub const LOCK_OFFSET: usize = 0;
pub const KLASS_OFFSET: usize = 4;
pub const COLLECTOR_OFFSET: usize = 8;
/// Where the first field of an object may lie.
pub const HEADER_BYTES: usize = 12;
pub const ARRAY_LENGTH_OFFSET: usize = 12;
/// Where the elements of every array begin.
pub const ARRAY_BASE: usize = 16;
/// The smallest object, in bytes: a header, aligned.
pub const OBJECT_BYTES_MIN: usize = 16;
pub const OBJECT_ALIGNMENT: usize = 8;
pub const KLASS_ID_MASK: u32 = 0x00ff_ffff;

/// `bytes` rounded up to whole object alignment.
#[inline]
pub const fn align_object(bytes: usize) -> usize {
    (bytes + OBJECT_ALIGNMENT - 1) & !(OBJECT_ALIGNMENT - 1)
}

const _: () = assert!(ARRAY_BASE == align_object(ARRAY_LENGTH_OFFSET + 4));
const _: () = assert!(size_of::<RootSlot>() == 8);
