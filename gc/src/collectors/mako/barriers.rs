//! Mako's barriers (algorithm 1): slots hold entry indices, registers hold addresses.
//!
//! ```text
//! load   index = slot
//!        entries is EVACUATING? -> resolve(index)                (out of line)
//!        place = entries[index]; address = 8 * place
//! store  phase is TRACING? and the slot is not null? -> log(old) (out of line)
//!        slot = entry index in the value's header
//! ```
//!
//! A heap that found no room below 32 GiB has places that count from its base: then null is tested
//! for, and the base added.
//!
//! The phase is tested before the entry is read, because reading an entry of a tablet that is at an
//! agent would bring its page back. The phase is the thread's own and changes only when the thread
//! is at a safepoint or handshake, so no change can come between test and use. The word that has the
//! phase's bit is the table's address otherwise, so that finding the table costs nothing.

use super::thread::{EVACUATING, MakoThread, TRACING, WORD_ENTRIES, WORD_PHASE, WORD_TABLE};
use super::{SLOT_BYTES, Shared};
use crate::barrier_asm::{BarrierAsm, Condition, SlowPath};
use crate::barriers::{Barriers, Keeping};
use crate::bump::{bump, write_header};
use crate::heap_core::HeapCore;
use crate::hit::{EntryIndex, HitGeometry};
use crate::mutator::{Mutator, ThreadField};
use crate::object::{COLLECTOR_OFFSET, KlassId};
use crate::thread_data::ThreadData;
use std::sync::Arc;

/// The codec and the barriers.
pub struct MakoBarriers {
    /// Threads allocate from their buffers without asking.
    allocates: bool,
    shared: Arc<Shared>,
    /// Address of entry 0.
    entries: u64,
    places: Places,
}

impl MakoBarriers {
    pub fn new(shared: Arc<Shared>) -> MakoBarriers {
        let entries = shared.entries.base() as u64;
        let places = Places::new(&shared.core, &shared.entries.geometry);
        let allocates = !shared.core.options.zeal();
        MakoBarriers { allocates, shared, entries, places }
    }

    /// Takes memory and an entry from the thread's buffers: the object, or 0 if one has too little. Where there is
    /// memory there is an entry ([`EntryBuffer`](super::entry_buffer::EntryBuffer)).
    #[inline(always)]
    pub fn take<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        klass: KlassId,
        bytes: A::Value,
        length: Option<A::Value>,
    ) -> A::Value {
        bump(a, bytes, |a, object| {
            let (at, zero) = (a.thread_word(WORD_ENTRIES), a.constant(0));
            let entry = a.load32(at, zero);
            let index_bytes = a.constant(size_of::<u32>() as u64);
            let next = a.add(at, index_bytes);
            a.set_thread_field(ThreadField::word(WORD_ENTRIES), next);
            self.introduce(a, object, entry, klass, length);
        })
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
        let place = self.places.of(a, object);
        let entries = a.constant(self.entries);
        let at = a.shift_left(entry, 2);
        a.store32(entries, at, place);
    }
}

impl Barriers for MakoBarriers {
    const SLOT_BYTES: usize = SLOT_BYTES;

    /// The plain address of an entry index.
    #[inline(always)]
    fn decode<A: BarrierAsm + ?Sized>(&self, a: &mut A, index: A::Value) -> A::Value {
        self.places.decode(a, index, |a, entries| {
            let at = a.shift_left(index, 2);
            a.load32(entries, at)
        })
    }

    /// The entry index of a plain address.
    #[inline(always)]
    fn encode<A: BarrierAsm + ?Sized>(&self, a: &mut A, object: A::Value) -> A::Value {
        self.places.encode(a, object, |a, _| {
            let offset = a.constant(COLLECTOR_OFFSET as u64);
            a.load32(object, offset)
        })
    }

    /// While tracing, SATB.
    #[inline(always)]
    fn keeps<A: BarrierAsm + ?Sized>(&self, a: &mut A) -> Option<Keeping<A::Value>> {
        Some(log_while_tracing(a))
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
            return self.shared.evacuations.resolve(&self.shared, m, entry).address() as u64;
        }
        assert_eq!(id, LOG.id, "slow path {id}");
        self.shared.logged.push(&MakoThread::of(m).logged, entry);
        0
    }
}

/// Between addresses and places, as entries hold them: the address that place 0 would mean.
#[derive(Clone, Copy)]
pub struct Places(pub u64);

impl Places {
    pub fn new(core: &HeapCore, geometry: &HitGeometry) -> Places {
        Places((core.geometry.base - geometry.origin_bytes()) as u64)
    }

    /// The place of an object.
    #[inline(always)]
    pub fn of<A: BarrierAsm + ?Sized>(self, a: &mut A, object: A::Value) -> A::Value {
        let places = a.constant(self.0);
        let distance = a.sub(object, places);
        a.shift_right(distance, 3)
    }

    /// The address that an encoded word means, whose place `place` finds, in the table whose address it gets, unless
    /// objects are being evacuated. Where places are addresses, null needs no test: its place is 0 ([`Entries`] keeps
    /// entry 0 so).
    ///
    /// [`Entries`]: super::entries::Entries
    #[inline(always)]
    pub fn decode<A: BarrierAsm + ?Sized>(
        self,
        a: &mut A,
        word: A::Value,
        place: impl FnOnce(&mut A, A::Value) -> A::Value,
    ) -> A::Value {
        let zero = a.constant(0);
        let is_null = Condition::Equal(word, zero);
        let entries = a.thread_word(WORD_TABLE);
        let is_evacuating = a.has_bits(entries, EVACUATING);
        let object = a.branch(
            is_evacuating,
            true,
            |a| a.select(is_null, |_| zero, |a| a.call(RESOLVE, [word, zero, zero])),
            |a| {
                if self.0 == 0 {
                    let place = place(a, entries);
                    return a.shift_left(place, 3);
                }
                let address = |a: &mut A| {
                    let place = place(a, entries);
                    let distance = a.shift_left(place, 3);
                    let places = a.constant(self.0);
                    a.add(places, distance)
                };
                a.select(is_null, |_| zero, address)
            },
        );
        a.note_word(object, word);
        object
    }

    /// The encoded word of an address, which `word` finds unless it is null.
    #[inline(always)]
    pub fn encode<A: BarrierAsm + ?Sized>(
        self,
        a: &mut A,
        object: A::Value,
        word: impl FnOnce(&mut A, Places) -> A::Value,
    ) -> A::Value {
        if let Some(word) = a.noted_word(object) {
            return word;
        }
        let zero = a.constant(0);
        a.select(Condition::Equal(object, zero), |_| zero, |a| word(a, self))
    }
}

/// SATB: overwritten references are logged while the thread's phase says that agents trace.
#[inline(always)]
pub fn log_while_tracing<A: BarrierAsm + ?Sized>(a: &mut A) -> Keeping<A::Value> {
    let phase = a.thread_word(WORD_PHASE);
    Keeping { condition: a.has_bits(phase, TRACING), path: LOG }
}

/// Entry index -> address while regions are being evacuated; may wait for one group of regions.
const RESOLVE: SlowPath = SlowPath { id: 0, is_leaf: false };
/// Keeps the object of an entry index for this cycle.
const LOG: SlowPath = SlowPath { id: 1, is_leaf: true };
