//! A thread's supply of free entries (section 3.3, "per-thread entry buffer").
//!
//! An array of entry indices, so that taking one is a load and an addition, whether free entries lie side by side
//! or not. No test is made whether there is another: the thread's buffer of memory ends, for the fast path, where the
//! smallest objects would use the last entry up ([`EntryBuffer::limit`]).

use super::thread::WORD_ENTRIES;
use crate::hit::{EntryClaim, EntryIndex};
use crate::object::OBJECT_BYTES_MIN;
use crate::threads::mutator::Mutator;
use std::cell::Cell;

/// The entries of one thread, which are claimed and not used. The thread block has the address of the next one.
/// Own thread, or a pause or handshake on its behalf.
pub struct EntryBuffer {
    indices: Box<[Cell<u32>]>,
    /// How many were filled in; the thread has taken the first ones of them.
    filled: Cell<usize>,
}

impl EntryBuffer {
    /// An empty buffer of a thread for `capacity` entries, 4 bytes each.
    pub fn new(m: &Mutator, capacity: usize) -> EntryBuffer {
        let indices = (0..capacity).map(|_| Cell::new(0)).collect();
        let buffer = EntryBuffer { indices, filled: Cell::new(0) };
        buffer.clear(m);
        buffer
    }

    /// How many there are.
    pub fn count(&self, m: &Mutator) -> usize {
        self.filled.get() - self.taken(m)
    }

    /// All of them, in the order in which they will be taken.
    pub fn entries(&self, m: &Mutator) -> impl Iterator<Item = EntryIndex> + '_ {
        let unused = &self.indices[self.taken(m)..self.filled.get()];
        unused.iter().map(|index| EntryIndex(index.get()))
    }

    /// Forgets all of them: the caller has taken care that they are not lost.
    pub fn clear(&self, m: &Mutator) {
        self.filled.set(0);
        self.set_taken(m, 0);
    }

    /// Is it low enough to be refilled?
    pub fn is_low(&self, m: &Mutator) -> bool {
        self.count(m) < self.indices.len() / 8
    }

    /// Moves the entries to the front, so that there is room for more.
    pub fn compact(&self, m: &Mutator) {
        let (taken, count) = (self.taken(m), self.count(m));
        (0..count).for_each(|i| self.indices[i].set(self.indices[taken + i].get()));
        self.filled.set(count);
        self.set_taken(m, 0);
    }

    /// Is there room for one more claim?
    pub fn has_room(&self) -> bool {
        self.filled.get() + 64 <= self.indices.len()
    }

    /// Adds entries, for which there is room.
    pub fn add(&self, mut claim: EntryClaim) {
        let mut at = self.filled.get();
        if let Some(first) = claim.whole_word() {
            // New tablets give whole words only.
            let places: &[Cell<u32>; 64] =
                self.indices[at..at + 64].try_into().expect("64 of them");
            for (place, i) in places.iter().zip(0..64) {
                place.set(first.0 + i);
            }
            self.filled.set(at + 64);
            return;
        }
        while let Some(entry) = claim.take() {
            self.indices[at].set(entry.0);
            at += 1;
        }
        self.filled.set(at);
    }

    /// How many bytes of objects of any sizes the entries suffice for, the first object being of `bytes`. There is
    /// at least one entry.
    pub fn limit(&self, m: &Mutator, bytes: usize) -> usize {
        bytes + (self.count(m) - 1) * OBJECT_BYTES_MIN
    }

    fn taken(&self, m: &Mutator) -> usize {
        let distance = m.words[WORD_ENTRIES].get() as usize - self.indices.as_ptr() as usize;
        distance / size_of::<u32>()
    }

    fn set_taken(&self, m: &Mutator, taken: usize) {
        let address = self.indices.as_ptr() as usize + taken * size_of::<u32>();
        m.words[WORD_ENTRIES].set(address as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hit::TabletId;

    fn take(m: &Mutator, count: usize) {
        let next = &m.words[WORD_ENTRIES];
        next.set(next.get() + (count * size_of::<u32>()) as u64);
    }

    #[test]
    fn entries_are_kept_in_order_and_none_is_lost() {
        let m = Mutator::new();
        let buffer = EntryBuffer::new(&m, 1024);
        assert!(buffer.count(&m) == 0 && buffer.is_low(&m));
        let claims = [0b1011, u64::MAX, 1 << 63].map(|free| EntryClaim::new(TabletId(2), 3, free));
        claims.iter().for_each(|claim| buffer.add(*claim));
        let first = TabletId(2).entry(3 * 64).0;
        let of_buffer = || buffer.entries(&m).map(|entry| entry.0 - first).collect::<Vec<_>>();
        let all: Vec<u32> = [0, 1, 3].into_iter().chain(0..64).chain([63]).collect();
        assert_eq!(of_buffer(), all);
        assert_eq!(buffer.limit(&m, 100), 100 + 67 * OBJECT_BYTES_MIN);
        take(&m, 5);
        buffer.compact(&m);
        assert_eq!(of_buffer(), all[5..]);
        while buffer.has_room() {
            buffer.add(claims[1]);
        }
        assert!(!buffer.is_low(&m) && buffer.count(&m) > 1024 - 64);
        take(&m, buffer.count(&m));
        assert_eq!(buffer.count(&m), 0);
    }
}
