//! G1's barriers: slots hold addresses, in one of the forms of [`SlotForm`].
//!
//! ```text
//! load   address = slot
//! store  phase is TRACING? the slot is not null? -> log(old)       (from the second on in a stub)
//!        slot = value
//!        card of the slot is CLEAN?                                (else done: young, or dirty already)
//!          value is null, or in the slot's region? -> done         (out of line, as all that follows)
//!          card = DIRTY
//! ```
//!
//! Only pauses read the cards that mutators dirty, and no pause begins inside a barrier: so neither a
//! fence nor an order between slot and card is needed, and a card is never enqueued anywhere. The usual store
//! is one of a young object, or one to a card that is dirty: an addition, a shift, and a test of one byte.
//!
//! A new object's stores have the barrier too: a pause may have made it old before they are done, and
//! humongous objects are old from the start.
//!
//! Under [MemLiner](crate::collectors::memliner) all accesses to slots of objects but initial stores and array copies
//! report the object while marking.

use super::cards::{CARD_SHIFT, CLEAN, DIRTY, YOUNG};
use super::tables::Tables;
use super::thread::{G1Thread, TRACING, WORD_PHASE};
use crate::barrier::barrier_asm::{BarrierAsm, Condition, SlowPath, Stub};
use crate::barrier::barriers::{Barriers, Keeping, Slot};
use crate::barrier::bump;
use crate::barrier::eval::Eval;
use crate::barrier::slot_form::SlotForm;
use crate::collectors::memliner;
use crate::object::codec::SlotCodec;
use crate::object::{KlassId, ObjectRef};
use crate::threads::mutator::Mutator;
use crate::threads::thread_data::ThreadData;
use std::marker::PhantomData;
use std::sync::Arc;

/// The codec and the barriers. With `TELLS`, objects that threads touch while marking are reported to MemLiner.
pub struct G1Barriers<const TELLS: bool, F> {
    /// Threads have buffers.
    has_buffers: bool,
    /// As `CardTable::origin`.
    cards: u64,
    region_shift: u8,
    tables: Arc<Tables>,
    form: PhantomData<F>,
}

impl<const TELLS: bool, F: SlotForm> G1Barriers<TELLS, F> {
    pub fn new(tables: Arc<Tables>) -> G1Barriers<TELLS, F> {
        G1Barriers {
            has_buffers: !tables.core.options.zeal(),
            cards: tables.cards.origin(),
            region_shift: tables.geometry().region_shift as u8,
            tables,
            form: PhantomData,
        }
    }

    #[inline(always)]
    fn is_tracing<A: BarrierAsm + ?Sized>(&self, a: &mut A) -> Condition<A::Value> {
        let phase = a.thread_word(WORD_PHASE);
        a.has_bits(phase, TRACING)
    }

    #[inline(always)]
    fn is_old<A: BarrierAsm + ?Sized>(&self, a: &mut A, object: A::Value) -> Condition<A::Value> {
        let number = a.shift_right(object, CARD_SHIFT as u8);
        let (cards, young) = (a.constant(self.cards), a.constant(u64::from(YOUNG)));
        let state = a.load8(cards, number);
        Condition::NotEqual(state, young)
    }

    /// Under MemLiner's epochs, after `word` was read, which means `object`: the slot gets the stamp of now.
    #[inline(always)]
    fn restamp<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        slot: Slot<A::Value>,
        word: A::Value,
        object: A::Value,
    ) {
        if F::HAS_STAMPS {
            let is_old = |a: &mut A, object| Some(self.is_old(a, object));
            memliner::barrier::restamp(a, slot, word, object, is_old);
        }
    }

    /// Tells MemLiner of the object of a slot.
    #[inline(always)]
    fn touch<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>) {
        if TELLS {
            memliner::barrier::touch(a, slot, TOUCH);
        }
    }

    /// For a thread that is telling. Reports the object unless it is young: young objects are not traced.
    #[inline(always)]
    fn tell<A: BarrierAsm + ?Sized>(&self, a: &mut A, object: A::Value) -> A::Value {
        let zero = a.constant(0);
        let is_old = self.is_old(a, object);
        a.when(is_old, zero, |a| a.call(memliner::barrier::TOUCHED, &[object]))
    }
}

impl<const TELLS: bool, F: SlotForm> Barriers for G1Barriers<TELLS, F> {
    const SLOT_BYTES: usize = F::SLOT_BYTES;

    #[inline(always)]
    fn decode<A: BarrierAsm + ?Sized>(&self, a: &mut A, word: A::Value) -> A::Value {
        F::decode(a, word)
    }

    #[inline(always)]
    fn encode<A: BarrierAsm + ?Sized>(&self, a: &mut A, object: A::Value) -> A::Value {
        F::encode(a, object)
    }

    /// While marking, SATB.
    #[inline(always)]
    fn keeps<A: BarrierAsm + ?Sized>(&self, a: &mut A) -> Option<Keeping<A::Value>> {
        Some(Keeping { condition: self.is_tracing(a), path: LOG })
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

    const STUBS: u8 = 1;

    #[inline(always)]
    fn stub<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        stub: Stub,
        [object, ..]: [A::Value; 3],
    ) -> A::Value {
        assert_eq!(stub, TOUCH);
        self.tell(a, object)
    }

    #[inline(always)]
    fn overwrites<A: BarrierAsm + ?Sized>(&self, a: &mut A, holder: A::Value) {
        if TELLS {
            memliner::barrier::while_telling(a, |a| self.tell(a, holder));
        }
    }

    fn slow_path(&self, m: &Mutator, id: u8, arguments: [u64; 3]) -> u64 {
        match id {
            id if id == LOG.id => {
                let object = self.tables.codec().decode(arguments[0]);
                if self.tables.is_white(object) {
                    self.tables.logged.push(&G1Thread::of(m).logged, object);
                }
            }
            id if id == memliner::barrier::TOUCHED.id => {
                let object = ObjectRef::from_address(arguments[0] as usize);
                if let (Some(lined), Some(queue)) = (&self.tables.lined, &G1Thread::of(m).touched) {
                    lined.memliner.touched(m, queue, object, &*self.tables);
                }
            }
            id => return memliner::barrier::slow_path(m, id, arguments),
        }
        0
    }

    #[inline(always)]
    fn load<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>) -> A::Value {
        let word = slot.load(a);
        let object = self.decode(a, word);
        self.touch(a, slot);
        self.restamp(a, slot, word, object);
        object
    }

    #[inline(always)]
    fn load_weak<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>) -> A::Value {
        let word = slot.load(a);
        self.keep(a, |_| word);
        self.touch(a, slot);
        self.decode(a, word)
    }

    /// Marks the card.
    #[inline(always)]
    fn wrote<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>, value: A::Value) {
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

    #[inline(always)]
    fn compare_exchange<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        slot: Slot<A::Value>,
        expected: A::Value,
        new: A::Value,
    ) -> A::Value {
        self.touch(a, slot);
        self.keep(a, |a| F::encode(a, expected));
        let held = match F::HAS_STAMPS {
            true => memliner::barrier::compare_exchange(a, slot, expected, new),
            false => {
                let (expected, new) = (F::encode(a, expected), F::encode(a, new));
                let held = slot.compare_exchange(a, expected, new);
                F::decode(a, held)
            }
        };
        // Marked whether the exchange takes place or not: at most one card too many.
        self.wrote(a, slot, new);
        held
    }

    #[inline(always)]
    fn swap<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        slot: Slot<A::Value>,
        value: A::Value,
    ) -> A::Value {
        self.touch(a, slot);
        let word = self.encode(a, value);
        let held = slot.swap(a, word);
        self.keep(a, |_| held);
        self.wrote(a, slot, value);
        self.decode(a, held)
    }

    #[inline(always)]
    fn refers_to(&self, m: &Mutator, slot: Slot<u64>, object: u64) -> bool {
        let a = &mut Eval { barriers: self, m };
        let word = slot.load(a);
        self.decode(a, word) == object
    }

    /// All clean cards, whichever words were written: looking costs as much in the pause as in the barrier.
    fn wrote_range(&self, _m: &Mutator, object: u64, offset: usize, bytes: usize) {
        let address = object as usize + offset;
        if bytes > 0 && !self.tables.cards.is(address, super::cards::YOUNG) {
            self.tables.cards.dirty_clean(address, bytes);
        }
    }
}

/// Object whose slot is accessed: it is reported to MemLiner.
const TOUCH: Stub = Stub { id: 1 };
/// Keeps the object at an address for this marking.
const LOG: SlowPath = SlowPath { id: 0, is_leaf: true };
