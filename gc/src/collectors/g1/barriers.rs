//! G1's barriers: slots hold addresses.
//!
//! ```text
//! load   address = slot
//! store  phase is TRACING? and the slot is not null? -> log(old)   (out of line)
//!        slot = value
//!        card of the slot is CLEAN?                                (else done: young, or dirty already)
//!          value is null, or in the slot's region? -> done         (out of line, as all that follows)
//!          card = DIRTY
//! ```
//!
//! Nobody but a pause reads the cards that mutators dirty, and no pause begins inside a barrier: so neither a
//! fence nor an order between slot and card is needed, and a card is never enqueued anywhere. The usual store
//! is one of a young object, or one to a card that is dirty: an addition, a shift, and a test of one byte.
//!
//! A new object's stores have the barrier too: a pause may have made it old before they are done, and
//! humongous objects are old from the start.

use super::cards::{CARD_SHIFT, CLEAN, DIRTY};
use super::tables::Tables;
use super::thread::{TRACING, WORD_PHASE};
use crate::barrier_asm::{BarrierAsm, Condition, SlowPath};
use crate::barriers::{Barriers, Keeping, Slot};
use crate::bump;
use crate::mutator::Mutator;
use crate::object::{KlassId, ObjectRef};
use std::sync::Arc;

/// The codec and the barriers.
pub struct G1Barriers {
    /// Threads have buffers.
    has_buffers: bool,
    /// As `CardTable::origin`.
    cards: u64,
    region_shift: u8,
    tables: Arc<Tables>,
}

impl G1Barriers {
    pub fn new(tables: Arc<Tables>) -> G1Barriers {
        G1Barriers {
            has_buffers: !tables.core.options.zeal(),
            cards: tables.cards.origin(),
            region_shift: tables.geometry().region_shift as u8,
            tables,
        }
    }

    /// After `value` was stored.
    #[inline(always)]
    fn mark_card<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>, value: A::Value) {
        let address = slot.address(a);
        let number = a.shift_right(address, CARD_SHIFT as u8);
        let cards = a.constant(self.cards);
        let (zero, clean) = (a.constant(0), a.constant(u64::from(CLEAN)));
        let state = a.load8(cards, number);
        a.when(Condition::Equal(state, clean), zero, |a| {
            a.when(Condition::NotEqual(value, zero), zero, |a| {
                let here = a.shift_right(address, self.region_shift);
                let there = a.shift_right(value, self.region_shift);
                a.when(Condition::NotEqual(here, there), zero, |a| {
                    let dirty = a.constant(u64::from(DIRTY));
                    a.store8(cards, number, dirty);
                    zero
                })
            })
        });
    }
}

impl Barriers for G1Barriers {
    const SLOT_BYTES: usize = 8;

    #[inline(always)]
    fn decode<A: BarrierAsm + ?Sized>(&self, _a: &mut A, word: A::Value) -> A::Value {
        word
    }

    #[inline(always)]
    fn encode<A: BarrierAsm + ?Sized>(&self, _a: &mut A, object: A::Value) -> A::Value {
        object
    }

    /// While marking, SATB.
    #[inline(always)]
    fn keeps<A: BarrierAsm + ?Sized>(&self, a: &mut A) -> Option<Keeping<A::Value>> {
        let phase = a.thread_word(WORD_PHASE);
        let tracing = a.constant(TRACING);
        let (test, zero) = (a.and(phase, tracing), a.constant(0));
        Some(Keeping { condition: Condition::NotEqual(test, zero), path: LOG })
    }

    #[inline(always)]
    fn allocate<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        klass: KlassId,
        bytes: A::Value,
        length: Option<A::Value>,
    ) -> Option<A::Value> {
        self.has_buffers.then(|| bump::allocate(a, klass, bytes, length))
    }

    fn slow_path(&self, m: &Mutator, id: u8, arguments: [u64; 3]) -> u64 {
        assert_eq!(id, LOG.id, "slow path {id}");
        let object = ObjectRef::from_address(arguments[0] as usize);
        if self.tables.is_white(object) {
            self.tables.logged.push(m, object);
        }
        0
    }

    #[inline(always)]
    fn store_initial<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        slot: Slot<A::Value>,
        value: A::Value,
    ) {
        slot.store(a, value);
        self.mark_card(a, slot, value);
    }

    #[inline(always)]
    fn compare_exchange<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        slot: Slot<A::Value>,
        expected: A::Value,
        new: A::Value,
    ) -> A::Value {
        self.keep(a, |_| expected);
        let held = slot.compare_exchange(a, expected, new);
        // Marked whether the exchange takes place or not: at most one card too many.
        self.mark_card(a, slot, new);
        held
    }

    #[inline(always)]
    fn swap<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        slot: Slot<A::Value>,
        value: A::Value,
    ) -> A::Value {
        let held = slot.swap(a, value);
        self.keep(a, |_| held);
        self.mark_card(a, slot, value);
        held
    }

    /// All clean cards, whatever was written: to look costs as much in the pause as here.
    fn wrote_range(&self, object: u64, offset: usize, bytes: usize) {
        let address = object as usize + offset;
        if bytes > 0 && !self.tables.cards.is(address, super::cards::YOUNG) {
            self.tables.cards.dirty_clean(address, bytes);
        }
    }
}

/// Keeps the object at an address for this marking.
const LOG: SlowPath = SlowPath { id: 0, is_leaf: true };
