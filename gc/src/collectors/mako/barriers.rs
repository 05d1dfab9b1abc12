//! Mako's barriers (algorithm 1): slots hold entry indices, registers hold addresses.
//!
//! ```text
//! load   index = slot; null? -> null
//!        phase is EVACUATING? -> resolve(index)                  (out of line)
//!        entry = entries[index]; address = heap base - 8 + 8 * entry
//! store  phase is TRACING? and the slot is not null? -> log(old) (out of line)
//!        slot = entry index in the value's header
//! ```
//!
//! The phase is tested before the entry is read, because reading an entry of a tablet that is at an
//! agent would bring its page back. The phase is the thread's own and changes only when the thread
//! is at a safepoint or handshake, so no change can come between test and use.

use super::entries::entry_of;
use super::thread::{EVACUATING, TRACING, WORD_ENTRIES, WORD_FREE, WORD_PHASE};
use super::{SLOT_BYTES, Shared};
use crate::barrier_asm::{BarrierAsm, Condition, SlowPath};
use crate::barriers::Barriers;
use crate::bump::{bump, write_header};
use crate::hit::EntryIndex;
use crate::mutator::{Mutator, ThreadField};
use crate::object::{ARRAY_BASE, COLLECTOR_OFFSET, HEADER_BYTES, KlassId, ObjectRef, RootSlot};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The codec and the barriers.
pub struct MakoBarriers {
    /// Threads allocate from their buffers without asking.
    allocates: bool,
    shared: Arc<Shared>,
    /// Address of entry 0.
    entries: u64,
    /// Address that an entry holding 0 would mean.
    places: u64,
}

impl MakoBarriers {
    pub fn new(shared: Arc<Shared>) -> MakoBarriers {
        let entries = shared.entries.base() as u64;
        let places = shared.core.geometry.base as u64 - 8;
        let allocates = !shared.core.options.zeal();
        MakoBarriers { allocates, shared, entries, places }
    }

    /// Takes memory and an entry from the thread's buffers: the object, or 0 if one has too little.
    #[inline(always)]
    pub fn take<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        klass: KlassId,
        bytes: A::Value,
        length: Option<A::Value>,
    ) -> A::Value {
        let free = a.thread_word(WORD_FREE);
        let zero = a.constant(0);
        a.branch(
            Condition::Equal(free, zero),
            true,
            |_| zero,
            |a| {
                bump(a, bytes, |a, object| {
                    let (base, bit) = (a.thread_word(WORD_ENTRIES), a.trailing_zeros(free));
                    let entry = a.add(base, bit);
                    let one = a.constant(1);
                    let others = a.sub(free, one);
                    let rest = a.and(free, others);
                    a.set_thread_field(ThreadField::word(WORD_FREE), rest);
                    self.introduce(a, object, entry, klass, length);
                })
            },
        )
    }

    /// Writes the header of a new object, then makes the entry name it.
    #[inline(always)]
    pub fn introduce<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        object: A::Value,
        entry: A::Value,
        klass: KlassId,
        length: Option<A::Value>,
    ) {
        write_header(a, object, klass, length);
        let at = a.constant(COLLECTOR_OFFSET as u64);
        a.store32(object, at, entry);
        let (places, entries) = (a.constant(self.places), a.constant(self.entries));
        let distance = a.sub(object, places);
        let place = a.shift_right(distance, 3);
        let at = a.shift_left(entry, 2);
        a.store32(entries, at, place);
    }

    /// The plain address of an entry index.
    #[inline(always)]
    fn decode<A: BarrierAsm + ?Sized>(&self, a: &mut A, index: A::Value) -> A::Value {
        let zero = a.constant(0);
        a.select(
            Condition::Equal(index, zero),
            |a| a.constant(0),
            |a| {
                let phase = a.thread_word(WORD_PHASE);
                let evacuating = a.constant(EVACUATING);
                let test = a.and(phase, evacuating);
                let zero = a.constant(0);
                a.branch(
                    Condition::NotEqual(test, zero),
                    true,
                    |a| a.call(RESOLVE, [index, zero, zero]),
                    |a| {
                        let entries = a.constant(self.entries);
                        let at = a.shift_left(index, 2);
                        let entry = a.load32(entries, at);
                        let place = a.shift_left(entry, 3);
                        let places = a.constant(self.places);
                        a.add(places, place)
                    },
                )
            },
        )
    }

    /// The entry index of a plain address.
    #[inline(always)]
    fn encode<A: BarrierAsm + ?Sized>(&self, a: &mut A, object: A::Value) -> A::Value {
        let zero = a.constant(0);
        a.select(
            Condition::Equal(object, zero),
            |a| a.constant(0),
            |a| {
                let offset = a.constant(COLLECTOR_OFFSET as u64);
                a.load32(object, offset)
            },
        )
    }

    /// While tracing: keeps the object of an index for this cycle.
    #[inline(always)]
    fn keep<A: BarrierAsm + ?Sized>(&self, a: &mut A, index: impl FnOnce(&mut A) -> A::Value) {
        let phase = a.thread_word(WORD_PHASE);
        let tracing = a.constant(TRACING);
        let test = a.and(phase, tracing);
        let zero = a.constant(0);
        a.when(Condition::NotEqual(test, zero), zero, |a| {
            let index = index(a);
            let zero = a.constant(0);
            a.when(Condition::NotEqual(index, zero), zero, |a| {
                let zero = a.constant(0);
                a.call(LOG, [index, zero, zero])
            })
        });
    }

    #[inline]
    fn is_tracing(&self, m: &Mutator) -> bool {
        m.words[WORD_PHASE].get() & TRACING != 0
    }

    fn log(&self, m: &Mutator, entry: EntryIndex) {
        if !entry.is_null() {
            self.shared.logged.push(m, entry);
        }
    }

    fn load_encoded(&self, m: &Mutator, entry: EntryIndex) -> ObjectRef {
        if entry.is_null() {
            ObjectRef::NULL
        } else if m.words[WORD_PHASE].get() & EVACUATING != 0 {
            self.resolve(m, entry)
        } else {
            self.shared.entries.object(entry)
        }
    }

    fn resolve(&self, m: &Mutator, entry: EntryIndex) -> ObjectRef {
        self.shared.evacuations.resolve(&self.shared, m, entry)
    }
}

#[inline]
fn slot(object: ObjectRef, offset: usize) -> &'static AtomicU32 {
    debug_assert!(!object.is_null() && offset.is_multiple_of(4));
    // SAFETY: the caller names a slot inside a live object (contract of BarrierSet).
    unsafe { &*((object.address() + offset) as *const AtomicU32) }
}

#[inline]
fn word(object: ObjectRef, offset: usize) -> &'static AtomicU64 {
    debug_assert!(!object.is_null() && offset.is_multiple_of(8));
    // SAFETY: the caller names an aligned word inside a live object.
    unsafe { &*((object.address() + offset) as *const AtomicU64) }
}

impl Barriers for MakoBarriers {
    const SLOT_BYTES: usize = SLOT_BYTES;

    #[inline(always)]
    fn load<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        object: A::Value,
        offset: A::Value,
    ) -> A::Value {
        let index = a.load32(object, offset);
        self.decode(a, index)
    }

    #[inline(always)]
    fn store<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        object: A::Value,
        offset: A::Value,
        value: A::Value,
    ) {
        self.keep(a, |a| a.load32(object, offset));
        let index = self.encode(a, value);
        a.store32(object, offset, index)
    }

    #[inline(always)]
    fn store_initial<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        object: A::Value,
        offset: A::Value,
        value: A::Value,
    ) {
        let index = self.encode(a, value);
        a.store32(object, offset, index)
    }

    #[inline(always)]
    fn compare_exchange<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        object: A::Value,
        offset: A::Value,
        expected: A::Value,
        new: A::Value,
    ) -> A::Value {
        let expected = self.encode(a, expected);
        let new = self.encode(a, new);
        // Kept whether the exchange takes place or not: at most one object more for the snapshot.
        self.keep(a, |_| expected);
        let held = a.compare_exchange32(object, offset, expected, new);
        self.decode(a, held)
    }

    #[inline(always)]
    fn swap<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        object: A::Value,
        offset: A::Value,
        value: A::Value,
    ) -> A::Value {
        let index = self.encode(a, value);
        let held = a.swap32(object, offset, index);
        self.keep(a, |_| held);
        self.decode(a, held)
    }

    #[inline(always)]
    fn load_referent<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        reference: A::Value,
        offset: A::Value,
    ) -> A::Value {
        let index = a.load32(reference, offset);
        self.keep(a, |_| index);
        self.decode(a, index)
    }

    #[inline(always)]
    fn load_root<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: A::Value) -> A::Value {
        let zero = a.constant(0);
        let index = a.load64(slot, zero);
        self.decode(a, index)
    }

    #[inline(always)]
    fn allocate<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        klass: KlassId,
        bytes: A::Value,
        length: Option<A::Value>,
    ) -> Option<A::Value> {
        self.allocates.then(|| self.take(a, klass, bytes, length))
    }

    fn slow_path(&self, m: &Mutator, id: u8, arguments: [u64; 3]) -> u64 {
        let entry = EntryIndex(arguments[0] as u32);
        if id == RESOLVE.id {
            return self.resolve(m, entry).address() as u64;
        }
        assert_eq!(id, LOG.id, "slow path {id}");
        self.shared.logged.push(m, entry);
        0
    }

    fn referent_is(&self, _m: &Mutator, r: ObjectRef, offset: usize, other: ObjectRef) -> bool {
        slot(r, offset).load(Ordering::Acquire) == entry_of(other).0
    }

    fn clear_referent(&self, _m: &Mutator, reference: ObjectRef, offset: usize) {
        slot(reference, offset).store(0, Ordering::Release)
    }

    /// Copies indices: nothing is decoded.
    fn copy_array(
        &self,
        m: &Mutator,
        from: ObjectRef,
        from_index: usize,
        to: ObjectRef,
        to_index: usize,
        length: usize,
    ) {
        let source = |i: usize| slot(from, ARRAY_BASE + 4 * (from_index + i));
        let target = |i: usize| slot(to, ARRAY_BASE + 4 * (to_index + i));
        if self.is_tracing(m) {
            (0..length).for_each(|i| self.log(m, EntryIndex(target(i).load(Ordering::Acquire))));
        }
        let copy = |i: usize| target(i).store(source(i).load(Ordering::Acquire), Ordering::Release);
        if from == to && from_index < to_index {
            (0..length).rev().for_each(copy)
        } else {
            (0..length).for_each(copy)
        }
    }

    fn clone_contents(&self, _m: &Mutator, original: ObjectRef, copy: ObjectRef, bytes: usize) {
        // Bytes 12 to 16 are a field or the array length, which is the same already; from 16 on
        // whole words, so that no long of the original is seen half written.
        let first = slot(original, HEADER_BYTES).load(Ordering::Acquire);
        slot(copy, HEADER_BYTES).store(first, Ordering::Relaxed);
        for offset in (HEADER_BYTES + 4..bytes).step_by(8) {
            let both = word(original, offset).load(Ordering::Acquire);
            word(copy, offset).store(both, Ordering::Relaxed);
        }
    }

    /// The snapshot has all strong slots as roots, so what is overwritten needs no log.
    fn store_root(&self, _m: &Mutator, slot: &RootSlot, value: ObjectRef) {
        slot.word().store(u64::from(entry_of(value).0), Ordering::Release)
    }

    fn load_weak_root(&self, m: &Mutator, slot: &RootSlot) -> ObjectRef {
        let entry = EntryIndex(slot.word().load(Ordering::Acquire) as u32);
        if self.is_tracing(m) {
            self.log(m, entry);
        }
        self.load_encoded(m, entry)
    }
}

/// Entry index -> address while regions are being evacuated; may wait for one group of regions.
const RESOLVE: SlowPath = SlowPath { id: 0, is_leaf: false };
/// Keeps the object of an entry index for this cycle.
const LOG: SlowPath = SlowPath { id: 1, is_leaf: true };
