//! Bits of entries in the far space, as the agent that owns the segment uses them.

use super::AgentMemory;
use crate::hit::{EntryIndex, HitGeometry};
use std::sync::atomic::Ordering;

/// Was the entry in use when the cycle took its snapshot? Written by the VM before tracing begins.
#[inline]
pub fn in_snapshot(memory: &AgentMemory, geometry: &HitGeometry, entry: EntryIndex) -> bool {
    is_set(memory, geometry.alloc_bits_offset(entry.tablet()), entry)
}

/// Had the program touched the entry's object when the cycle began? Written by the VM before there are roots.
#[inline]
pub fn is_touched(memory: &AgentMemory, geometry: &HitGeometry, entry: EntryIndex) -> bool {
    is_set(memory, geometry.touch_bits_offset(entry.tablet()), entry)
}

#[cfg(test)]
pub fn is_marked(memory: &AgentMemory, geometry: &HitGeometry, entry: EntryIndex) -> bool {
    is_set(memory, geometry.mark_bits_offset(entry.tablet()), entry)
}

/// Marks an entry; true when it was not marked. For entries of other servers the mark means "has
/// been sent": each server has mark bits for all tablets in its own segment, and the VM reads only
/// those of the owner.
#[inline]
pub fn mark(memory: &AgentMemory, geometry: &HitGeometry, entry: EntryIndex) -> bool {
    let (at, bit) = position(geometry.mark_bits_offset(entry.tablet()), entry);
    let word = memory.word(at);
    let before = word.load(Ordering::Relaxed);
    // One thread per agent marks, and the VM only reads: no read-modify-write is needed.
    word.store(before | bit, Ordering::Relaxed);
    before & bit == 0
}

/// Prefetches an entry's bit among those of its tablet.
#[inline]
pub fn ask_for(memory: &AgentMemory, tablet_bits: usize, entry: EntryIndex) {
    memory.ask_for(position(tablet_bits, entry).0);
}

#[inline]
fn is_set(memory: &AgentMemory, tablet_bits: usize, entry: EntryIndex) -> bool {
    let (at, bit) = position(tablet_bits, entry);
    memory.word(at).load(Ordering::Relaxed) & bit != 0
}

/// The word of an entry's bit, and the bit.
#[inline]
pub fn position(tablet_bits: usize, entry: EntryIndex) -> (usize, u64) {
    (tablet_bits + entry.in_tablet() / 64 * 8, 1 << (entry.in_tablet() % 64))
}
