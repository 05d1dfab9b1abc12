//! The table as the VM sees it: entries through the pager, allocation bits in local memory.

use crate::hit::{EntryIndex, EntryWidth, HitGeometry, Tablet, TabletId};
use crate::object::ObjectRef;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Access to all entries of one heap.
pub struct Entries {
    pub geometry: HitGeometry,
    /// Address of the first region.
    heap_base: usize,
    /// Made when first used; a tablet that is free again keeps its bits.
    tablets: Box<[OnceLock<Box<Tablet>>]>,
}

impl Entries {
    pub fn new(geometry: HitGeometry, heap_base: usize) -> Entries {
        let entries = Entries {
            geometry,
            heap_base,
            tablets: (0..geometry.tablets()).map(|_| OnceLock::new()).collect(),
        };
        // Index 0 is null; its entry is never written and stays 0, the place of null.
        entries.tablet(TabletId(0)).reserve(0);
        entries
    }

    /// Bytes that the allocation bits of tablets take, which are made when first used.
    pub fn bits_bytes(&self) -> usize {
        let made = self.tablets.iter().filter(|tablet| tablet.get().is_some()).count();
        size_of_val(&*self.tablets) + made * size_of::<Tablet>()
    }

    /// Address of entry 0.
    pub fn base(&self) -> usize {
        self.heap_base + self.geometry.entries_at()
    }

    /// The allocation bits of a tablet.
    pub fn tablet(&self, id: TabletId) -> &Tablet {
        self.tablets[id.0 as usize].get_or_init(Box::default)
    }

    /// The word of an entry. Touching it may fetch its page.
    #[inline]
    fn word(&self, entry: EntryIndex) -> Word<'_> {
        let tablets = self.geometry.tablets();
        assert!((entry.tablet().0 as usize) < tablets, "{entry:?} of {tablets} tablets");
        let address = self.heap_base + self.geometry.entry_offset(entry);
        // SAFETY: inside the paged part of the far space, which lives as long as the heap, and aligned to the width of
        // its entries; entries are only accessed atomically.
        unsafe {
            match self.geometry.width() {
                EntryWidth::Narrow => Word::Narrow(&*(address as *const AtomicU32)),
                EntryWidth::Wide => Word::Wide(&*(address as *const AtomicU64)),
            }
        }
    }

    /// The heap offset of the object that an entry names.
    #[inline]
    pub fn offset(&self, entry: EntryIndex) -> usize {
        let word = match self.word(entry) {
            Word::Narrow(word) => word.load(Ordering::Acquire).into(),
            Word::Wide(word) => word.load(Ordering::Acquire),
        };
        self.geometry.offset_of(word).unwrap_or_else(|| panic!("{entry:?} is free"))
    }

    /// The object that an entry names.
    #[inline]
    pub fn object(&self, entry: EntryIndex) -> ObjectRef {
        ObjectRef::from_address(self.heap_base + self.offset(entry))
    }

    /// Makes an entry name an object; its contents must be written before.
    #[inline]
    pub fn set(&self, entry: EntryIndex, offset: usize) {
        let place = self.geometry.place(offset);
        match self.word(entry) {
            Word::Narrow(word) => word.store(place as u32, Ordering::Release),
            Word::Wide(word) => word.store(place, Ordering::Release),
        }
    }

    #[inline]
    pub fn address(&self, offset: usize) -> usize {
        self.heap_base + offset
    }
}

/// An entry where it lies.
enum Word<'a> {
    Narrow(&'a AtomicU32),
    Wide(&'a AtomicU64),
}

/// The entry of an object, null for null: its encoded reference.
#[inline]
pub fn entry_of(object: ObjectRef) -> EntryIndex {
    if object.is_null() {
        return EntryIndex::NULL;
    }
    EntryIndex(object.value_word().load(Ordering::Relaxed))
}
