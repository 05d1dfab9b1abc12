//! The table of all names: numbers by bytes, under a lock, and bytes by number, without one.

use super::epoch;
use super::memory::{self, NameMemory};
use hashbrown::HashTable;
use parking_lot::RwLock;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;
use std::num::NonZeroU32;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{LazyLock, OnceLock};

/// The number of these bytes. It stays for ever if this thread has no scope.
pub(super) fn intern(bytes: &[u8], is_for_ever: bool) -> NonZeroU32 {
    let hash = hash_of(bytes);
    let seen = epoch::of_this_thread().filter(|_| !is_for_ever);
    let table = TABLE.read();
    if let Some(known) = table.find(hash, bytes) {
        slot(known).see(seen);
        return known;
    }
    drop(table);
    let mut table = TABLE.write();
    let number = table.find(hash, bytes).unwrap_or_else(|| {
        let number = table.add(hash, bytes);
        if seen.is_some() {
            epoch::made(number);
        }
        number
    });
    slot(number).see(seen);
    number
}

/// The bytes of a number, until it is freed. Takes no lock.
#[inline]
pub(super) fn bytes<'a>(number: NonZeroU32) -> &'a [u8] {
    let start = NonNull::new(slot(number).name.load(Ordering::Acquire));
    // SAFETY: the table stores the start of a name in the slot, and gives the name back only when nobody has the
    // number in hand (see `sweep`). Then the slot is empty, and this panics.
    unsafe { memory::bytes(start.expect("a name that is in use")) }
}

/// Whether the number is that of a name.
#[cfg(test)]
pub(super) fn has(number: NonZeroU32) -> bool {
    !slot(number).name.load(Ordering::Acquire).is_null()
}

/// One more owner. The caller has the number in hand.
pub(super) fn keep(number: NonZeroU32) {
    let before = slot(number).uses.fetch_add(1, Ordering::Relaxed);
    assert!(before & COUNT < COUNT, "a name has {before:#x} owners");
}

/// One owner less of each.
pub(super) fn release(numbers: impl Iterator<Item = NonZeroU32>) {
    let mut table = TABLE.write();
    for number in numbers {
        let slot = slot(number);
        let before = slot.uses.fetch_sub(1, Ordering::Relaxed);
        assert!(before & COUNT > 0, "name {number} has no owner");
        if before & (COUNT | FOR_EVER) == 1 {
            slot.seen.fetch_max(epoch::now(), Ordering::Relaxed);
            slot.list(&mut table.listed, number);
        }
    }
}

/// Lets the next sweep look at those that have no owner. The caller has them in hand, and has made them.
pub(super) fn list(made: Vec<NonZeroU32>) {
    let is_kept = |number| slot(number).uses.load(Ordering::Relaxed) & (COUNT | FOR_EVER) != 0;
    let mut table = TABLE.write();
    for number in made.into_iter().filter(|number| !is_kept(*number)) {
        slot(number).list(&mut table.listed, number);
    }
}

/// Frees the names that have no owner and are in nobody's hand. Any thread; the result says how many.
pub(super) fn sweep() -> usize {
    let limit = epoch::advance();
    let mut table = TABLE.write();
    let listed = std::mem::take(&mut table.listed);
    let (before, mut stay) = (table.numbers.len(), Vec::new());
    for number in listed {
        let slot = slot(number);
        if slot.uses.load(Ordering::Relaxed) & (COUNT | FOR_EVER) != 0 {
            slot.uses.fetch_and(!LISTED, Ordering::Relaxed);
        } else if slot.seen.load(Ordering::Relaxed) < limit {
            table.remove(number);
        } else {
            stay.push(number);
        }
    }
    table.listed = stay;
    before - table.numbers.len()
}

/// Calls the function with each name and its number of owners, under the lock: it must not intern. Any thread.
pub(super) fn visit(visit: &mut dyn FnMut(&[u8], u32)) {
    for number in &TABLE.read().numbers {
        visit(bytes(*number), slot(*number).uses.load(Ordering::Relaxed) & COUNT);
    }
}

/// Finds numbers by their bytes.
///
/// Orders of the fields of slots are relaxed: those that intern have the lock for reading at least, those that free
/// have it for writing, and owners come and go while the name is in somebody's hand, who ends a scope (another lock)
/// before it can be freed.
#[derive(Default)]
struct Table {
    numbers: HashTable<NonZeroU32>,
    /// Numbers that were given so far.
    given: u32,
    /// Those that are free again.
    free: Vec<NonZeroU32>,
    /// Those that the next sweep looks at: all that have no owner and need not stay, but for those that were made in a
    /// scope that has not ended.
    listed: Vec<NonZeroU32>,
    memory: NameMemory,
}

impl Table {
    fn find(&self, hash: u64, text: &[u8]) -> Option<NonZeroU32> {
        self.numbers.find(hash, |known| bytes(*known) == text).copied()
    }

    /// Gives a number to bytes that have none.
    fn add(&mut self, hash: u64, text: &[u8]) -> NonZeroU32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.given = self.given.checked_add(1).expect("fewer than 2^32 names");
            let number = NonZeroU32::new(self.given).expect("counted from 1");
            let (block, _) = place(number);
            BLOCKS[block].get_or_init(|| {
                std::iter::repeat_with(Slot::default).take(FIRST_BLOCK << block).collect()
            });
            number
        });
        slot(number).name.store(self.memory.store(text).as_ptr(), Ordering::Release);
        self.numbers.insert_unique(hash, number, |known| hash_of(bytes(*known)));
        number
    }

    /// Frees a number and its name, which nobody has in hand.
    fn remove(&mut self, number: NonZeroU32) {
        let found = self.numbers.find_entry(hash_of(bytes(number)), |known| *known == number);
        found.unwrap_or_else(|_| panic!("name {number} is not in the table")).remove();
        let slot = slot(number);
        slot.uses.store(0, Ordering::Relaxed);
        slot.seen.store(0, Ordering::Relaxed);
        let start = NonNull::new(slot.name.swap(ptr::null_mut(), Ordering::Relaxed));
        // SAFETY: `add` has stored it, and it was in the table until now; nobody has it in hand, by the contract.
        unsafe { self.memory.give_back(start.expect("a name that is in the table")) };
        self.free.push(number);
    }
}

/// What is known of a name. Zero while the number is free.
#[derive(Default)]
struct Slot {
    name: AtomicPtr<u8>,
    /// Owners, and the marks below.
    uses: AtomicU32,
    /// The last epoch in which it came into a hand, or lost its last owner.
    seen: AtomicU32,
}

impl Slot {
    /// Notes that it was interned, in a scope of this epoch or without one.
    fn see(&self, epoch: Option<u32>) {
        let uses = self.uses.load(Ordering::Relaxed);
        match epoch {
            _ if uses & FOR_EVER != 0 => {}
            None => _ = self.uses.fetch_or(FOR_EVER, Ordering::Relaxed),
            Some(epoch) if self.seen.load(Ordering::Relaxed) < epoch => {
                self.seen.fetch_max(epoch, Ordering::Relaxed);
            }
            Some(_) => {}
        }
    }

    /// With the table's lock held for writing.
    fn list(&self, listed: &mut Vec<NonZeroU32>, number: NonZeroU32) {
        if self.uses.fetch_or(LISTED, Ordering::Relaxed) & LISTED == 0 {
            listed.push(number);
        }
    }
}

/// In `Slot::uses`: the name stays for the life of the process.
const FOR_EVER: u32 = 1 << 31;
/// In `Slot::uses`: the number is in `Table::listed`.
const LISTED: u32 = 1 << 30;
/// In `Slot::uses`: owners.
const COUNT: u32 = LISTED - 1;

#[inline]
fn slot(number: NonZeroU32) -> &'static Slot {
    let (block, at) = place(number);
    &BLOCKS[block].get().expect("made before its numbers")[at]
}

/// Block and place in it of a number: the blocks double in size.
#[inline]
fn place(number: NonZeroU32) -> (usize, usize) {
    let number = number.get() as usize + FIRST_BLOCK - 1;
    let block = (number / FIRST_BLOCK).ilog2() as usize;
    (block, number - (FIRST_BLOCK << block))
}

fn hash_of(bytes: &[u8]) -> u64 {
    FxBuildHasher.hash_one(bytes)
}

/// Names of the first block.
const FIRST_BLOCK: usize = 1 << 12;

static TABLE: LazyLock<RwLock<Table>> = LazyLock::new(Default::default);
/// The names by number.
static BLOCKS: [OnceLock<Box<[Slot]>>; 21] = [const { OnceLock::new() }; 21];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_places_of_their_own() {
        let place = |number| super::place(NonZeroU32::new(number).unwrap());
        let last = FIRST_BLOCK as u32;
        assert_eq!([1, 2, last].map(place), [(0, 0), (0, 1), (0, FIRST_BLOCK - 1)]);
        assert_eq!([last + 1, 3 * last].map(place), [(1, 0), (1, 2 * FIRST_BLOCK - 1)]);
        assert!(place(u32::MAX).0 < BLOCKS.len());
    }
}
