//! The barriers of generational Mako: those of Mako for old objects, and
//!
//! ```text
//! load   index = slot
//!        index has the sign?     base + 8 * (index without it)       young: no entry, no phase
//!        otherwise as Mako does
//! store  phase is TRACING? as Mako does
//!        slot = the word that the value was loaded by, if the compiled code still has that; else
//!               the value of its header: an index, or the place of a young object, with the sign. A young object
//!               with an entry (EARLY) has that there: its place is made of its address.
//!        that has the sign, and the value of the holder's header has not? remember(slot)   (out of line)
//!        The value of the holder's header has the sign? Then none of this but the store.
//! ```
//!
//! Null is an index like any other. What is made of a header changes in pauses only: a young object may get an entry at
//! any time, but its word and its region are the same as before.
//!
//! `-XX:-MakoYoungWords`: whether a region is young is in a table of a byte for each region, which is in the CPU's
//! cache. It changes in pauses, and when an empty region is taken.

use crate::barrier::barrier_asm::{BarrierAsm, Condition, SlowPath, Stub};
use crate::barrier::barriers::{Barriers, Keeping, Slot};
use crate::barrier::bump::{bump, write_length};
use crate::collectors::mako::barriers::MakoBarriers;
use crate::collectors::mako::thread::MakoThread;
use crate::collectors::mako::{SLOT_BYTES, Shared};
use crate::hit::{EntryIndex, YOUNG, YOUNG_BASE};
use crate::object::layout::KlassLayout;
use crate::object::{EARLY, KlassId, OBJECT_ALIGNMENT, ObjectRef, VALUE_OFFSET};
use crate::threads::mutator::Mutator;
use crate::threads::thread_data::ThreadData;
use crate::tracing::scan::for_every_slot;
use std::sync::Arc;

/// The codec and the barriers.
pub struct YoungBarriers {
    old: MakoBarriers,
    shared: Arc<Shared>,
    /// Threads have buffers.
    has_buffers: bool,
    /// Stores read headers.
    reads_headers: bool,
    base: u64,
    region_shift: u8,
    /// Address of the byte of the first region, 0 for one that is not young.
    states: u64,
}

impl YoungBarriers {
    pub fn new(shared: Arc<Shared>) -> YoungBarriers {
        let table = shared.young.as_ref().expect("the heap has a nursery");
        YoungBarriers {
            has_buffers: !shared.core.options.zeal(),
            reads_headers: shared.core.options.mako.young_words,
            base: shared.core.geometry.base as u64,
            region_shift: shared.core.geometry.region_shift as u8,
            states: table.states(),
            old: MakoBarriers::new(shared.clone()),
            shared,
        }
    }

    /// The word that names a young object.
    #[inline(always)]
    fn young_word<A: BarrierAsm + ?Sized>(&self, a: &mut A, object: A::Value) -> A::Value {
        if self.base == YOUNG_BASE as u64 {
            return a.shift_right(object, PLACE_SHIFT);
        }
        let base = a.constant(self.base);
        let distance = a.sub(object, base);
        let place = a.shift_right(distance, PLACE_SHIFT);
        let sign = a.constant(YOUNG.into());
        a.or(place, sign)
    }

    /// When an object is young, by the table of regions.
    #[inline(always)]
    fn is_young<A: BarrierAsm + ?Sized>(&self, a: &mut A, object: A::Value) -> Condition<A::Value> {
        let base = a.constant(self.base);
        let distance = a.sub(object, base);
        let region = a.shift_right(distance, self.region_shift);
        let (states, zero) = (a.constant(self.states), a.constant(0));
        let state = a.load8(states, region);
        Condition::NotEqual(state, zero)
    }

    /// After `word` was stored to a slot of an object, or might have been.
    #[inline(always)]
    fn remember<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>, word: A::Value) {
        let Some(holder) = slot.object() else { return };
        let zero = a.constant(0);
        let remember = |a: &mut A| call_remember(a, slot);
        if self.reads_headers {
            // The sign of the word, if it has it, is above all values of old objects: one rare branch for both tests.
            // That a holder with an entry is young is found out by the slow path.
            let sign = a.constant(YOUNG.into());
            let (sign, value) = (a.and(word, sign), value_of(a, holder));
            a.when(Condition::Below(value, sign), zero, remember);
            return;
        }
        let names_young = Condition::Sign32(word);
        a.select(
            names_young,
            |a| {
                let is_young = self.is_young(a, holder);
                a.select(is_young, |_| zero, remember)
            },
            |_| zero,
        );
    }

    fn remember_word(&self, m: &Mutator, slot: usize) {
        let table = self.shared.young.as_ref().expect("the heap has a nursery");
        // SAFETY: a slot of a live object, which the thread that runs has just written.
        let word = unsafe { &*(slot as *const std::sync::atomic::AtomicU32) };
        if EntryIndex(word.load(std::sync::atomic::Ordering::Relaxed)).is_young() {
            table.remember(&MakoThread::of(m).remembered, slot);
        }
    }
}

impl Barriers for YoungBarriers {
    const SLOT_BYTES: usize = SLOT_BYTES;

    fn entry_max(&self) -> u32 {
        YOUNG - 1
    }

    #[inline(always)]
    fn decode<A: BarrierAsm + ?Sized>(&self, a: &mut A, word: A::Value) -> A::Value {
        let is_young = Condition::Sign32(word);
        let object = a.select(
            is_young,
            |a| {
                let bytes = a.shift_left(word, PLACE_SHIFT);
                // The sign moves with the place.
                let zero = self.base.wrapping_sub(YOUNG_BASE as u64);
                if zero == 0 {
                    return bytes;
                }
                let zero = a.constant(zero);
                a.add(zero, bytes)
            },
            |a| self.old.decode_entry(a, word),
        );
        a.note_word(object, word);
        object
    }

    #[inline(always)]
    fn encode<A: BarrierAsm + ?Sized>(&self, a: &mut A, object: A::Value) -> A::Value {
        if let Some(word) = a.noted_word(object) {
            return word;
        }
        let zero = a.constant(0);
        a.select(
            Condition::Equal(object, zero),
            |_| zero,
            |a| {
                if self.reads_headers {
                    let at = a.constant(0);
                    let header = a.load64(object, at);
                    let is_early = a.has_bits(header, EARLY.into());
                    return a.branch(
                        is_early,
                        true,
                        |a| self.young_word(a, object),
                        |a| a.shift_right(header, 32),
                    );
                }
                let is_young = self.is_young(a, object);
                let word = |a: &mut A| self.young_word(a, object);
                a.select(is_young, word, |a| value_of(a, object))
            },
        )
    }

    /// While tracing, SATB.
    #[inline(always)]
    fn keeps<A: BarrierAsm + ?Sized>(&self, a: &mut A) -> Option<Keeping<A::Value>> {
        self.old.keeps(a)
    }

    #[inline(always)]
    fn allocate<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        klass: KlassId,
        bytes: A::Value,
        length: Option<A::Value>,
    ) -> Option<A::Value> {
        self.has_buffers.then(|| {
            bump(a, bytes, |a, object| {
                // Both halves at once: base and sign are in the constant.
                let place = a.shift_left(object, 32 - PLACE_SHIFT);
                let zero = u64::from(YOUNG).wrapping_sub(self.base / OBJECT_ALIGNMENT as u64) << 32;
                let rest = a.constant(zero | u64::from(klass.header()));
                let (header, at) = (a.add(place, rest), a.constant(0));
                a.store64(object, at, header);
                write_length(a, object, length);
            })
        })
    }

    const STUBS: u8 = MakoBarriers::STUBS;

    #[inline(always)]
    fn stub<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        stub: Stub,
        arguments: [A::Value; 3],
    ) -> A::Value {
        self.old.stub(a, stub, arguments)
    }

    fn slow_path(&self, m: &Mutator, id: u8, arguments: [u64; 3]) -> u64 {
        if id == REMEMBER.id {
            self.remember_word(m, arguments[0] as usize);
            return 0;
        }
        // What young objects refer to is found in the pauses of the cycle.
        let is_kept = !EntryIndex(arguments[0] as u32).is_young();
        if is_kept { self.old.slow_path(m, id, arguments) } else { 0 }
    }

    /// Of a young holder nothing is reported and no slot is remembered: the snapshot of a cycle that traces has no
    /// young object, or has what it refers to for roots.
    #[inline(always)]
    fn store<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>, value: A::Value) {
        let Some(holder) = slot.object().filter(|_| self.reads_headers) else {
            self.report_overwritten(a, slot);
            return self.store_initial(a, slot, value);
        };
        let word = self.encode(a, value);
        let holders = value_of(a, holder);
        let zero = a.constant(0);
        a.select(
            Condition::Sign32(holders),
            |a| {
                slot.store(a, word);
                zero
            },
            |a| {
                self.report_overwritten(a, slot);
                slot.store(a, word);
                a.when(Condition::Sign32(word), zero, |a| call_remember(a, slot))
            },
        );
    }

    /// Remembers the slot.
    #[inline(always)]
    fn wrote_word<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        slot: Slot<A::Value>,
        _value: A::Value,
        word: A::Value,
    ) {
        self.remember(a, slot, word);
    }

    fn wrote_range(&self, m: &Mutator, object: u64, offset: usize, bytes: usize) {
        let table = self.shared.young.as_ref().expect("the heap has a nursery");
        let address = object as usize;
        if table.has(address) {
            return;
        }
        let (core, object) = (&self.shared.core, ObjectRef::from_address(address));
        match core.layout_of(object) {
            KlassLayout::PrimitiveArray { .. } => {}
            KlassLayout::ObjectArray { base } => {
                let written = offset..offset + bytes;
                let first = written.start.max(*base as usize);
                let slots = (first..written.end).step_by(SLOT_BYTES);
                slots.for_each(|at| self.remember_word(m, address + at));
            }
            layout => for_every_slot(layout, object, SLOT_BYTES, core.reference_fields(), |at| {
                self.remember_word(m, address + at);
            }),
        }
    }
}

/// The value of an object's header.
#[inline(always)]
fn value_of<A: BarrierAsm + ?Sized>(a: &mut A, object: A::Value) -> A::Value {
    let offset = a.constant(VALUE_OFFSET as u64);
    a.load32(object, offset)
}

/// Calls the slow path that remembers a slot, and yields 0.
#[inline(always)]
fn call_remember<A: BarrierAsm + ?Sized>(a: &mut A, slot: Slot<A::Value>) -> A::Value {
    let address = slot.address(a);
    a.call(REMEMBER, &[address]);
    a.constant(0)
}

const PLACE_SHIFT: u8 = OBJECT_ALIGNMENT.trailing_zeros() as u8;

/// Remembers the slot at an address.
const REMEMBER: SlowPath = SlowPath { id: 2, is_leaf: true };
