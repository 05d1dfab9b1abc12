//! Mako's barriers (algorithm 1): slots hold entry indices, registers hold addresses.
//!
//! ```text
//! load   index = slot
//!        entries is RESOLVING?                                  (from here on in a stub)
//!          phase is NOTING? -> touched[index] = 1; 8 * entries[index]       (touches.rs)
//!          tablet is open, and its entry names no object in a from-region? the address
//!          else -> move(index), which moves the object or waits for its group
//!        place = entries[index]; address = 8 * place
//! store  phase is TRACING? and the slot is not null? -> log(old) (out of line)
//!        slot = entry index in the value's header
//! ```
//!
//! A heap that found no room below 32 GiB though it would have fitted has places that count from its base: then null is
//! tested for, and the base added. Wide entries hold addresses as they are.
//!
//! The phase is tested before the entry is read, because reading an entry of a tablet that is at an
//! agent would fetch its page again. The phase is the thread's own and changes only when the thread
//! is at a safepoint or handshake, so no change can come between test and use. The word that has the
//! phase's bit is the table's address otherwise, so that finding the table costs nothing.

use super::thread::{MakoThread, NOTING, RESOLVING, TRACING, WORD_ENTRIES, WORD_PHASE, WORD_TABLE};
use super::{SLOT_BYTES, Shared, touches};
use crate::barrier::barrier_asm::{BarrierAsm, Condition, SlowPath, Stub};
use crate::barrier::barriers::{Barriers, Keeping};
use crate::barrier::bump::{bump, write_header};
use crate::core::heap_core::HeapCore;
use crate::hit::{EntryIndex, EntryWidth, HitGeometry, TABLET_SHIFT};
use crate::object::{KlassId, ObjectRef, VALUE_OFFSET};
use crate::threads::mutator::{Mutator, ThreadField};
use crate::threads::thread_data::ThreadData;
use std::sync::Arc;

/// The codec and the barriers.
pub struct MakoBarriers {
    /// Threads allocate from their buffers without asking.
    allocates: bool,
    shared: Arc<Shared>,
    /// Address of entry 0.
    entries: u64,
    /// Addresses of a word of 32 bits for each tablet, and for each region: 0 if nothing is special about it.
    gate_states: u64,
    groups: u64,
    base: u64,
    region_shift: u8,
    places: Places,
    /// Address of the first entry's byte in the table of touches.
    touches: u64,
}

impl MakoBarriers {
    pub fn new(shared: Arc<Shared>) -> MakoBarriers {
        let entries = shared.entries.base() as u64;
        let places = Places::new(&shared.core, &shared.entries.geometry);
        MakoBarriers {
            allocates: !shared.core.options.zeal(),
            entries,
            gate_states: shared.evacuations.gate.states(),
            groups: shared.evacuations.groups_of_regions(),
            base: shared.core.geometry.base as u64,
            region_shift: shared.core.geometry.region_shift as u8,
            places,
            touches: shared.touches.address(),
            shared,
        }
    }

    /// The plain address of an entry index that is not null, while threads note which objects are touched or objects
    /// are being evacuated, never both. For most references no slow path is needed then.
    #[inline(always)]
    fn resolve<A: BarrierAsm + ?Sized>(&self, a: &mut A, index: A::Value) -> A::Value {
        let phase = a.thread_word(WORD_PHASE);
        let is_noting = a.has_bits(phase, NOTING);
        a.select(
            is_noting,
            |a| {
                touches::note(a, self.touches, index);
                self.look_up(a, index)
            },
            |a| self.resolve_moving(a, index),
        )
    }

    /// The same while objects are being evacuated.
    #[inline(always)]
    fn resolve_moving<A: BarrierAsm + ?Sized>(&self, a: &mut A, index: A::Value) -> A::Value {
        let zero = a.constant(0);
        let tablet = a.shift_right(index, TABLET_SHIFT as u8);
        let states = a.constant(self.gate_states);
        let state = a.table_word(states, tablet);
        let is_open = Condition::Equal(state, zero);
        let settled = a.select(
            is_open,
            |a| {
                let object = self.look_up(a, index);
                let base = a.constant(self.base);
                let distance = a.sub(object, base);
                let region = a.shift_right(distance, self.region_shift);
                let groups = a.constant(self.groups);
                let group = a.table_word(groups, region);
                a.select(Condition::Equal(group, zero), |_| object, |_| zero)
            },
            |_| zero,
        );
        let is_settled = Condition::NotEqual(settled, zero);
        a.select(is_settled, |_| settled, |a| a.call(MOVE, &[index]))
    }

    /// The plain address of an entry index, made fit for use.
    #[inline(always)]
    pub fn decode_entry<A: BarrierAsm + ?Sized>(&self, a: &mut A, index: A::Value) -> A::Value {
        let place = |a: &mut A, entries| self.places.entry(a, entries, index);
        self.places.decode(a, index, place, |a| a.call_stub(RESOLVE, &[index]))
    }

    /// The address of the object that an entry names.
    #[inline(always)]
    fn look_up<A: BarrierAsm + ?Sized>(&self, a: &mut A, index: A::Value) -> A::Value {
        let entries = a.constant(self.entries);
        let place = self.places.entry(a, entries, index);
        self.places.address(a, place)
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
        let at = a.constant(VALUE_OFFSET as u64);
        a.store32(object, at, entry);
        let place = self.places.of(a, object);
        let entries = a.constant(self.entries);
        let at = a.shift_left(entry, self.places.width.shift());
        match self.places.width {
            EntryWidth::Narrow => a.store32(entries, at, place),
            EntryWidth::Wide => a.store64(entries, at, place),
        }
    }
}

impl Barriers for MakoBarriers {
    const SLOT_BYTES: usize = SLOT_BYTES;

    fn entry_max(&self) -> u32 {
        u32::MAX
    }

    /// The plain address of an entry index.
    #[inline(always)]
    fn decode<A: BarrierAsm + ?Sized>(&self, a: &mut A, index: A::Value) -> A::Value {
        let object = self.decode_entry(a, index);
        a.note_word(object, index);
        object
    }

    /// The entry index of a plain address.
    #[inline(always)]
    fn encode<A: BarrierAsm + ?Sized>(&self, a: &mut A, object: A::Value) -> A::Value {
        self.places.encode(a, object, |a, _| {
            let offset = a.constant(VALUE_OFFSET as u64);
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

    const STUBS: u8 = 1;

    #[inline(always)]
    fn stub<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        stub: Stub,
        [index, ..]: [A::Value; 3],
    ) -> A::Value {
        assert_eq!(stub, RESOLVE);
        self.resolve(a, index)
    }

    fn slow_path(&self, m: &Mutator, id: u8, arguments: [u64; 3]) -> u64 {
        let entry = EntryIndex(arguments[0] as u32);
        if id == MOVE.id {
            return self.shared.evacuations.resolve(&self.shared, m, entry).address() as u64;
        }
        assert_eq!(id, LOG.id, "slow path {id}");
        self.shared.logged.push(&MakoThread::of(m).logged, entry);
        0
    }
}

/// Between addresses and places, as entries hold them.
#[derive(Clone, Copy)]
pub struct Places {
    width: EntryWidth,
    /// The address that place 0 would mean.
    zero: u64,
}

impl Places {
    pub fn new(core: &HeapCore, geometry: &HitGeometry) -> Places {
        let zero = (core.geometry.base - geometry.origin_bytes()) as u64;
        Places { width: geometry.width(), zero }
    }

    /// The address of the object that a place names; null's for 0.
    pub fn object(self, place: u64) -> ObjectRef {
        let address = self.zero + (place << self.width.place_shift());
        ObjectRef::from_address(if place == 0 { 0 } else { address as usize })
    }

    /// The place of an object, or of null.
    pub fn place(self, object: ObjectRef) -> u64 {
        match object.is_null() {
            true => 0,
            false => (object.address() as u64 - self.zero) >> self.width.place_shift(),
        }
    }

    /// The place in entry `index` of a table.
    #[inline(always)]
    fn entry<A: BarrierAsm + ?Sized>(
        self,
        a: &mut A,
        entries: A::Value,
        index: A::Value,
    ) -> A::Value {
        match self.width {
            EntryWidth::Narrow => a.table_word(entries, index),
            EntryWidth::Wide => a.table_long(entries, index),
        }
    }

    /// The place of an object.
    #[inline(always)]
    pub fn of<A: BarrierAsm + ?Sized>(self, a: &mut A, object: A::Value) -> A::Value {
        if self.width == EntryWidth::Wide {
            return object;
        }
        let zero = a.constant(self.zero);
        let distance = a.sub(object, zero);
        a.shift_right(distance, self.width.place_shift())
    }

    /// The address of a place that is not null's.
    #[inline(always)]
    fn address<A: BarrierAsm + ?Sized>(self, a: &mut A, place: A::Value) -> A::Value {
        if self.width == EntryWidth::Wide {
            return place;
        }
        let distance = a.shift_left(place, self.width.place_shift());
        if self.zero == 0 {
            return distance;
        }
        let zero = a.constant(self.zero);
        a.add(zero, distance)
    }

    /// The address that an encoded word means, whose place `place` finds, in the table whose address it gets, unless
    /// references are resolved out of line: then `resolve` finds it, if it is not null. Where places are addresses,
    /// null needs no test: its place is 0 ([`Entries`] keeps entry 0 so).
    ///
    /// [`Entries`]: super::entries::Entries
    #[inline(always)]
    pub fn decode<A: BarrierAsm + ?Sized>(
        self,
        a: &mut A,
        word: A::Value,
        place: impl FnOnce(&mut A, A::Value) -> A::Value,
        resolve: impl FnOnce(&mut A) -> A::Value,
    ) -> A::Value {
        let zero = a.constant(0);
        let is_null = Condition::Equal(word, zero);
        let entries = a.thread_word(WORD_TABLE);
        let is_resolving = a.has_bits(entries, RESOLVING);
        a.branch(
            is_resolving,
            true,
            |a| a.select(is_null, |_| zero, resolve),
            |a| {
                let address = |a: &mut A| {
                    let place = place(a, entries);
                    self.address(a, place)
                };
                if self.zero == 0 { address(a) } else { a.select(is_null, |_| zero, address) }
            },
        )
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

/// Entry index -> address while regions are being evacuated, or threads note the objects that they touch.
const RESOLVE: Stub = Stub { id: 1 };
/// The same of an object that may have to be moved; may wait for one group of regions.
pub const MOVE: SlowPath = SlowPath { id: 0, is_leaf: false };
/// Keeps the object of an entry index for this cycle.
const LOG: SlowPath = SlowPath { id: 1, is_leaf: true };
