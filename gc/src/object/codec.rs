//! How slots are read and written by collectors with the world stopped, or for objects that no other thread touches.
//! Mutators go through [`BarrierSet`](crate::barrier::BarrierSet) instead.

use crate::object::{OBJECT_ALIGNMENT, ObjectRef, RootSlot};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The encoding of references in slots, without barrier effects. Tracing is generic over it.
pub trait SlotCodec: Copy + Send + Sync {
    /// Width of a heap slot: 4 or 8, always the same.
    fn slot_bytes(&self) -> usize;

    /// The plain address that an encoded word means; null for 0.
    fn decode(&self, word: u64) -> ObjectRef;

    /// The inverse; 0 for null.
    fn encode(&self, object: ObjectRef) -> u64;

    /// Reads the slot `offset` bytes into `object`.
    #[inline]
    fn read(&self, object: ObjectRef, offset: usize) -> ObjectRef {
        self.decode(read_word(object, offset, self.slot_bytes()))
    }

    /// Writes it.
    #[inline]
    fn write(&self, object: ObjectRef, offset: usize, value: ObjectRef) {
        self.store(object.address() + offset, self.encode(value))
    }

    /// The word of the slot at an address that other threads may be writing. The object that it refers to may be read
    /// afterwards.
    #[inline]
    fn load(&self, address: usize) -> u64 {
        load_word(address, self.slot_bytes())
    }

    /// Writes the slot at an address that other threads may be reading.
    #[inline]
    fn store(&self, address: usize, word: u64) {
        store_word(address, self.slot_bytes(), word)
    }

    /// Writes the slot at an address if it still holds `old`, and only if `new` is another word: clean pages stay
    /// clean. A narrow slot may be a `RootSlot`, whose upper half is 0.
    #[inline]
    fn replace(&self, address: usize, old: u64, new: u64) {
        if new != old {
            replace_word(address, self.slot_bytes(), old, new)
        }
    }

    #[inline]
    fn read_root(&self, slot: &RootSlot) -> ObjectRef {
        self.decode(slot.word().load(Ordering::Relaxed))
    }

    #[inline]
    fn write_root(&self, slot: &RootSlot, value: ObjectRef) {
        slot.word().store(self.encode(value), Ordering::Relaxed)
    }

    /// A slot with this reference.
    fn new_root(&self, value: ObjectRef) -> RootSlot {
        let slot = RootSlot::null();
        self.write_root(&slot, value);
        slot
    }
}

/// Eight-byte slots that hold plain addresses.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainCodec;

impl SlotCodec for PlainCodec {
    #[inline]
    fn slot_bytes(&self) -> usize {
        8
    }

    #[inline]
    fn decode(&self, word: u64) -> ObjectRef {
        ObjectRef::from_address(word as usize)
    }

    #[inline]
    fn encode(&self, object: ObjectRef) -> u64 {
        object.address() as u64
    }
}

/// Four-byte slots that hold an eighth of an address, where no object lies higher than [`NARROW_LIMIT`]. Objects are
/// aligned to eight bytes, so nothing is lost.
#[derive(Clone, Copy, Debug, Default)]
pub struct NarrowCodec;

impl SlotCodec for NarrowCodec {
    #[inline]
    fn slot_bytes(&self) -> usize {
        4
    }

    #[inline]
    fn decode(&self, word: u64) -> ObjectRef {
        ObjectRef::from_address((word << NARROW_SHIFT) as usize)
    }

    #[inline]
    fn encode(&self, object: ObjectRef) -> u64 {
        (object.address() >> NARROW_SHIFT) as u64
    }
}

/// The slots of `C`, while mutators write them: reads acquire.
#[derive(Clone, Copy, Debug)]
pub struct Concurrent<C>(pub C);

impl<C: SlotCodec> SlotCodec for Concurrent<C> {
    #[inline]
    fn slot_bytes(&self) -> usize {
        self.0.slot_bytes()
    }

    #[inline]
    fn decode(&self, word: u64) -> ObjectRef {
        self.0.decode(word)
    }

    #[inline]
    fn encode(&self, object: ObjectRef) -> u64 {
        self.0.encode(object)
    }

    #[inline]
    fn read(&self, object: ObjectRef, offset: usize) -> ObjectRef {
        self.decode(self.word(object, offset))
    }
}

impl<C: SlotCodec> Concurrent<C> {
    /// The word of the slot `offset` bytes into an object.
    #[inline]
    pub fn word(&self, object: ObjectRef, offset: usize) -> u64 {
        self.0.load(object.address() + offset)
    }
}

/// How the slots of a heap hold addresses, of all collectors but Mako. Chosen once, when the heap has its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SlotWidth {
    /// Four bytes, as [`NarrowCodec`] has it.
    Narrow,
    /// Eight bytes: whole addresses.
    Wide,
}

impl SlotWidth {
    #[inline]
    pub fn bytes(self) -> usize {
        match self {
            SlotWidth::Narrow => 4,
            SlotWidth::Wide => 8,
        }
    }
}

/// Asks at each slot, for collectors that need not be fast.
impl SlotCodec for SlotWidth {
    #[inline]
    fn slot_bytes(&self) -> usize {
        self.bytes()
    }

    #[inline]
    fn decode(&self, word: u64) -> ObjectRef {
        match self {
            SlotWidth::Narrow => NarrowCodec.decode(word),
            SlotWidth::Wide => PlainCodec.decode(word),
        }
    }

    #[inline]
    fn encode(&self, object: ObjectRef) -> u64 {
        match self {
            SlotWidth::Narrow => NarrowCodec.encode(object),
            SlotWidth::Wide => PlainCodec.encode(object),
        }
    }
}

/// Where addresses end that a narrow slot can hold.
pub const NARROW_LIMIT: usize = 1 << (32 + NARROW_SHIFT);
pub const NARROW_SHIFT: u8 = 3;

const _: () = assert!(OBJECT_ALIGNMENT == 1 << NARROW_SHIFT);
// `SlotCodec::replace` takes the lower half of a `RootSlot` for a slot.
const _: () = assert!(cfg!(target_endian = "little"));

/// The encoded word of a slot of four or eight bytes.
#[inline]
pub fn read_word(object: ObjectRef, offset: usize, slot_bytes: usize) -> u64 {
    debug_assert!(
        !object.is_null() && offset.is_multiple_of(slot_bytes),
        "slot {offset} of {object:?}"
    );
    let address = object.address() + offset;
    // SAFETY: a slot of a live object, says the caller; the world is stopped or the object unshared.
    unsafe {
        match slot_bytes {
            4 => u64::from(*(address as *const u32)),
            _ => *(address as *const u64),
        }
    }
}

#[inline]
fn load_word(address: usize, slot_bytes: usize) -> u64 {
    debug_assert!(address.is_multiple_of(slot_bytes), "slot at {address:#x}");
    // SAFETY: a slot of a live object, says the caller; slots are accessed atomically while other threads may access
    // them.
    unsafe {
        match slot_bytes {
            4 => AtomicU32::from_ptr(address as *mut u32).load(Ordering::Acquire).into(),
            _ => AtomicU64::from_ptr(address as *mut u64).load(Ordering::Acquire),
        }
    }
}

#[inline]
fn store_word(address: usize, slot_bytes: usize, word: u64) {
    // SAFETY: as in `load_word`.
    unsafe {
        match slot_bytes {
            4 => AtomicU32::from_ptr(address as *mut u32).store(word as u32, Ordering::Relaxed),
            _ => AtomicU64::from_ptr(address as *mut u64).store(word, Ordering::Relaxed),
        }
    }
}

/// Does nothing if another thread stored something newer first.
#[inline]
fn replace_word(address: usize, slot_bytes: usize, old: u64, new: u64) {
    let order = (Ordering::AcqRel, Ordering::Relaxed);
    // SAFETY: as in `load_word`.
    unsafe {
        match slot_bytes {
            4 => {
                let slot = AtomicU32::from_ptr(address as *mut u32);
                let _ = slot.compare_exchange(old as u32, new as u32, order.0, order.1);
            }
            _ => {
                let slot = AtomicU64::from_ptr(address as *mut u64);
                let _ = slot.compare_exchange(old, new, order.0, order.1);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn narrow_words_are_eighths_of_addresses() {
        for address in [0, 8, 1 << 30, NARROW_LIMIT - 8] {
            let object = ObjectRef::from_address(address);
            let word = NarrowCodec.encode(object);
            assert_eq!((NarrowCodec.decode(word), word >> 32), (object, 0));
            assert_eq!(word == 0, object.is_null());
        }
    }

    #[test]
    fn a_narrow_slot_is_read_and_replaced_without_its_neighbour() {
        let slots = [AtomicU32::new(1), AtomicU32::new(2)];
        let first = slots.as_ptr().expose_provenance();
        NarrowCodec.replace(first, 1, 3);
        NarrowCodec.replace(first + 4, 1, 3);
        assert_eq!([first, first + 4].map(|at| NarrowCodec.load(at)), [3, 2]);
        NarrowCodec.store(first + 4, 5);
        assert_eq!([first, first + 4].map(|at| NarrowCodec.load(at)), [3, 5]);
    }

    #[test]
    fn a_root_is_replaced_like_a_narrow_slot() {
        let root = RootSlot::null();
        let [old, new] = [8, 16].map(ObjectRef::from_address);
        NarrowCodec.write_root(&root, old);
        let at = std::ptr::from_ref(&root).expose_provenance();
        NarrowCodec.replace(at, NarrowCodec.encode(old), NarrowCodec.encode(new));
        assert_eq!(NarrowCodec.read_root(&root), new);
    }
}
