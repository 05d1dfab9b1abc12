//! How slots are read and written by collectors with the world stopped, or for objects that nobody else touches.
//! Mutators go through [`BarrierSet`](crate::barrier::BarrierSet) instead.

use crate::object::{ObjectRef, RootSlot};
use std::sync::atomic::Ordering;

/// The encoding of references in slots, without barrier effects. Tracing is generic over it.
pub trait SlotCodec: Copy + Send + Sync + 'static {
    const SLOT_BYTES: usize;

    /// The plain address that an encoded word means; null for 0.
    fn decode(&self, word: u64) -> ObjectRef;

    /// The inverse; 0 for null.
    fn encode(&self, object: ObjectRef) -> u64;

    /// Reads the slot `offset` bytes into `object`.
    #[inline]
    fn read(&self, object: ObjectRef, offset: usize) -> ObjectRef {
        self.decode(read_word(object, offset, Self::SLOT_BYTES))
    }

    /// Writes it.
    #[inline]
    fn write(&self, object: ObjectRef, offset: usize, value: ObjectRef) {
        write_word(object, offset, Self::SLOT_BYTES, self.encode(value))
    }

    #[inline]
    fn read_root(&self, slot: &RootSlot) -> ObjectRef {
        self.decode(slot.word().load(Ordering::Relaxed))
    }

    #[inline]
    fn write_root(&self, slot: &RootSlot, value: ObjectRef) {
        slot.word().store(self.encode(value), Ordering::Relaxed)
    }
}

/// Eight-byte slots that hold plain addresses.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainCodec;

impl SlotCodec for PlainCodec {
    const SLOT_BYTES: usize = 8;

    #[inline]
    fn decode(&self, word: u64) -> ObjectRef {
        ObjectRef::from_address(word as usize)
    }

    #[inline]
    fn encode(&self, object: ObjectRef) -> u64 {
        object.address() as u64
    }
}

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
fn write_word(object: ObjectRef, offset: usize, slot_bytes: usize, word: u64) {
    let address = object.address() + offset;
    // SAFETY: as in `read_word`.
    unsafe {
        match slot_bytes {
            4 => *(address as *mut u32) = word as u32,
            _ => *(address as *mut u64) = word,
        }
    }
}
