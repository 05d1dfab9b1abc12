//! Slots of roots, close together: collectors visit all of them in a pause.
//!
//! In the classes themselves, where they are used, each of them was in a cache line of its own: with the 15,000 classes
//! of Apache Spark most of Mako's pre-tracing pause was spent on these.

use gc::object::RootSlot;

/// Slots that never move, and live as long as the table.
#[derive(Default)]
pub struct RootTable {
    chunks: Vec<&'static [RootSlot]>,
    /// Slots that were given back, or left over.
    free: Vec<&'static RootSlot>,
    /// Number of the last chunk's first slots that were never taken.
    untouched: usize,
}

impl RootTable {
    /// An empty slot.
    pub fn take(&mut self) -> &'static RootSlot {
        self.free.pop().unwrap_or_else(|| &self.take_together(1)[0])
    }

    /// `count` empty slots, for good.
    pub fn take_together(&mut self, count: usize) -> &'static [RootSlot] {
        if count > self.untouched {
            let last: &'static [RootSlot] = self.chunks.last().copied().unwrap_or_default();
            self.free.extend(&last[..self.untouched]);
            let slots = (last.len() * 2).clamp(CHUNK_MIN, CHUNK_MAX).max(count);
            self.chunks.push(Box::leak((0..slots).map(|_| RootSlot::null()).collect()));
            self.untouched = slots;
        }
        self.untouched -= count;
        self.chunks.last().map_or(&[], |chunk| &chunk[self.untouched..][..count])
    }

    /// Takes back a slot that [`take`](Self::take) gave, and that is empty.
    pub fn give_back(&mut self, slot: &'static RootSlot) {
        debug_assert!(slot.is_null(), "a root is given back");
        self.free.push(slot);
    }

    /// The slot at an address, if it is one of these.
    pub fn at(&self, address: usize) -> Option<&'static RootSlot> {
        let slot = address as *const RootSlot;
        let chunk = self.chunks.iter().find(|chunk| chunk.as_ptr_range().contains(&slot))?;
        let index = (address - chunk.as_ptr() as usize) / size_of::<RootSlot>();
        Some(&chunk[index]).filter(|own| std::ptr::eq(*own, slot))
    }

    /// Those that are not empty, for the collector.
    pub fn visit(&self, visit: &mut dyn FnMut(&RootSlot)) {
        let slots = self.chunks.iter().flat_map(|chunk| chunk.iter());
        slots.filter(|slot| !slot.is_null()).for_each(visit);
    }
}

impl Drop for RootTable {
    fn drop(&mut self) {
        for chunk in self.chunks.drain(..) {
            // SAFETY: `take_together` leaked the chunk; who drops the table knows that nothing names its slots.
            drop(unsafe { Box::from_raw(std::ptr::from_ref(chunk).cast_mut()) });
        }
    }
}

/// Slots of the first chunk.
const CHUNK_MIN: usize = 64;
/// Slots of a chunk, unless more are taken together.
const CHUNK_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn slots_are_recycled_and_stay_in_place() {
        let mut table = RootTable::default();
        let taken: Vec<&RootSlot> = (0..CHUNK_MAX + 5).map(|_| table.take()).collect();
        taken.iter().for_each(|slot| slot.word().store(8, Ordering::Relaxed));
        let mut seen = Vec::new();
        table.visit(&mut |slot| seen.push(std::ptr::from_ref(slot)));
        let mut addresses: Vec<_> = taken.iter().map(|slot| std::ptr::from_ref(*slot)).collect();
        seen.sort_unstable();
        addresses.sort_unstable();
        assert_eq!(seen, addresses);
        let address = std::ptr::from_ref(taken[3]) as usize;
        assert!(table.at(address).is_some_and(|slot| std::ptr::eq(slot, taken[3])));
        assert!(table.at(address ^ (1 << 40)).is_none() && table.at(address + 1).is_none());
        taken[3].word().store(0, Ordering::Relaxed);
        table.give_back(taken[3]);
        assert!(std::ptr::eq(table.take(), taken[3]));
    }

    #[test]
    fn slots_that_are_taken_together_lie_together_and_what_is_left_is_used() {
        let mut table = RootTable::default();
        assert!(table.take_together(0).is_empty());
        let first = table.take_together(CHUNK_MIN - 1);
        let many = table.take_together(CHUNK_MAX + 1);
        assert_eq!((first.len(), many.len()), (CHUNK_MIN - 1, CHUNK_MAX + 1));
        // The one that was left of the first chunk.
        let left = std::ptr::from_ref(table.take());
        assert_eq!(left.wrapping_add(1), first.as_ptr());
        assert_eq!(table.chunks.len(), 2);
    }
}
