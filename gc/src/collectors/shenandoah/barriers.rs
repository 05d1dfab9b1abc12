//! The barriers: registers hold addresses, and slots do in one of the forms of [`SlotForm`].
//!
//! ```text
//! load   address = slot
//!        phase is FORWARDING?                                   (from here on in a stub)
//!          in the heap (null is not) and its region is moving?
//!            -> move(address, slot): the new address, which the slot then holds too
//! store  phase is TRACING? the slot is not null? -> log(old)     (from the second on in a stub)
//!        slot = address
//! ```
//!
//! A compare-and-exchange first has the slot healed while the phase is FORWARDING. In that phase no thread stores an
//! old address (mutators have none, array copies resolve references before they store them, clones afterwards), so a
//! slot that was healed once has none, and the exchange compares new addresses.
//!
//! Under [MemLiner](crate::collectors::memliner) all accesses to slots of objects but initial stores and array copies
//! report the object while marking. A load tests the phase once for both, so outside of cycles that costs nothing.
//! With its epochs, words in slots have stamps: array copies and updates of an old address to a new one keep the
//! stamp, loads and stores give it that of now.

use super::Shared;
use super::thread::{FORWARDING, ShenandoahThread, TRACING, WORD_PHASE};
use crate::barrier::barrier_asm::{BarrierAsm, Condition, SlowPath, Stub};
use crate::barrier::barriers::{Barriers, Keeping, Slot, copy_words};
use crate::barrier::bump;
use crate::barrier::eval::Eval;
use crate::barrier::slot_form::SlotForm;
use crate::collectors::memliner::barrier::TELLING;
use crate::collectors::memliner::{self, AddressCodec};
use crate::object::codec::SlotCodec;
use crate::object::{KlassId, ObjectRef};
use crate::threads::mutator::Mutator;
use crate::threads::thread_data::ThreadData;
use crate::tracing::scan::for_every_slot;
use std::marker::PhantomData;
use std::sync::Arc;

/// The codec and the barriers. With `TELLS`, objects that threads touch while marking are reported to MemLiner.
pub struct ShenandoahBarriers<const TELLS: bool, F> {
    /// Threads allocate from their buffers without asking.
    has_buffers: bool,
    shared: Arc<Shared>,
    base: u64,
    heap_bytes: u64,
    region_shift: u8,
    /// Address of a word of 32 bits for each region: whether it is moving.
    is_from: u64,
    form: PhantomData<F>,
}

impl<const TELLS: bool, F: SlotForm> ShenandoahBarriers<TELLS, F> {
    pub fn new(shared: Arc<Shared>) -> ShenandoahBarriers<TELLS, F> {
        let geometry = shared.core.geometry;
        ShenandoahBarriers {
            has_buffers: !shared.core.options.zeal(),
            base: geometry.base as u64,
            heap_bytes: geometry.heap_bytes() as u64,
            region_shift: geometry.region_shift as u8,
            is_from: shared.forwarding.flags(),
            shared,
            form: PhantomData,
        }
    }

    /// When slots may hold addresses that objects have left.
    #[inline(always)]
    fn is_forwarding<A: BarrierAsm + ?Sized>(&self, a: &mut A) -> Condition<A::Value> {
        let phase = a.thread_word(WORD_PHASE);
        a.has_bits(phase, FORWARDING)
    }

    #[inline(always)]
    fn is_tracing<A: BarrierAsm + ?Sized>(&self, a: &mut A) -> Condition<A::Value> {
        let phase = a.thread_word(WORD_PHASE);
        a.has_bits(phase, TRACING)
    }

    /// Tells MemLiner of the object of a slot.
    #[inline(always)]
    fn touch<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>) {
        if TELLS {
            memliner::barrier::touch(a, slot, TOUCH);
        }
    }

    /// The action if the thread is telling.
    #[inline(always)]
    fn tell<A: BarrierAsm + ?Sized>(&self, a: &mut A, object: A::Value) -> A::Value {
        a.call(memliner::barrier::TOUCHED, &[object])
    }

    /// Under MemLiner's epochs, after `word` was read: the slot gets the stamp of now, if it still has that word.
    #[inline(always)]
    fn restamp<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>, word: A::Value) {
        if F::HAS_STAMPS {
            let old = F::decode(a, word);
            memliner::barrier::restamp(a, slot, word, old, |_, _| None);
        }
    }

    /// The address of the object whose address, perhaps an old one, is in `word`. `slot` yields the address of the slot
    /// that held it, or 0.
    #[inline(always)]
    fn resolve<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        word: A::Value,
        slot: impl FnOnce(&mut A) -> A::Value,
    ) -> A::Value {
        let old = F::decode(a, word);
        let condition = self.is_forwarding(a);
        a.when(condition, old, |a| {
            let slot = slot(a);
            a.call_stub(RESOLVE, &[word, slot])
        })
    }

    /// The action of `resolve` while the phase is FORWARDING.
    #[inline(always)]
    fn forward<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        word: A::Value,
        slot: A::Value,
    ) -> A::Value {
        let old = F::decode(a, word);
        let (base, size) = (a.constant(self.base), a.constant(self.heap_bytes));
        let distance = a.sub(old, base);
        let is_object = Condition::Below(distance, size);
        a.select(
            is_object,
            |a| {
                let region = a.shift_right(distance, self.region_shift);
                let table = a.constant(self.is_from);
                let flag = a.table_word(table, region);
                let zero = a.constant(0);
                let is_moving = Condition::NotEqual(flag, zero);
                a.when(is_moving, old, |a| a.call(MOVE, &[word, slot]))
            },
            |_| old,
        )
    }
}

impl<const TELLS: bool, F: SlotForm> Barriers for ShenandoahBarriers<TELLS, F> {
    const SLOT_BYTES: usize = F::SLOT_BYTES;

    #[inline(always)]
    fn decode<A: BarrierAsm + ?Sized>(&self, a: &mut A, word: A::Value) -> A::Value {
        self.resolve(a, word, |a| a.constant(0))
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

    const STUBS: u8 = 3;

    #[inline(always)]
    fn stub<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        stub: Stub,
        [x, y, z]: [A::Value; 3],
    ) -> A::Value {
        match stub {
            RESOLVE => self.forward(a, x, y),
            TOUCH => self.tell(a, x),
            LOADED => {
                let old = F::decode(a, x);
                let phase = a.thread_word(WORD_PHASE);
                let is_telling = a.has_bits(phase, TELLING);
                let tell = |a: &mut A| {
                    self.tell(a, z);
                    old
                };
                a.select(is_telling, tell, |a| self.forward(a, x, y))
            }
            _ => unreachable!("{stub:?}"),
        }
    }

    #[inline(always)]
    fn overwrites<A: BarrierAsm + ?Sized>(&self, a: &mut A, holder: A::Value) {
        if TELLS {
            memliner::barrier::while_telling(a, |a| self.tell(a, holder));
        }
    }

    fn slow_path(&self, m: &Mutator, id: u8, arguments: [u64; 3]) -> u64 {
        let object = self.shared.codec.decode(arguments[0]);
        let (shared, copies) = (&self.shared, &ShenandoahThread::of(m).copies);
        match id {
            id if id == MOVE.id => {
                let new = shared.resolve(object, copies);
                if arguments[1] != 0 {
                    let stamp = match F::HAS_STAMPS {
                        true => m.words[memliner::barrier::WORD_STAMP].get(),
                        false => 0,
                    };
                    let word = AddressCodec::new(shared.core.slot_width, stamp).encode(new);
                    shared.codec.replace(arguments[1] as usize, arguments[0], word);
                }
                new.address() as u64
            }
            id if id == HEAL.id => {
                shared.heal(arguments[0], copies);
                0
            }
            id if id == LOG.id => {
                if !shared.marking.is_live(object) {
                    shared.logged.push(&ShenandoahThread::of(m).logged, object);
                }
                0
            }
            id if id == memliner::barrier::TOUCHED.id => {
                let object = ObjectRef::from_address(arguments[0] as usize);
                let touched = &ShenandoahThread::of(m).touched;
                if let (Some(lined), Some(queue)) = (&shared.marking.lined, touched) {
                    lined.memliner.touched(m, queue, object, &shared.marking);
                }
                0
            }
            id => memliner::barrier::slow_path(m, id, arguments),
        }
    }

    #[inline(always)]
    fn load<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>) -> A::Value {
        let word = slot.load(a);
        let Some(holder) = slot.object().filter(|_| TELLS) else {
            let object = self.resolve(a, word, |a| slot.address(a));
            self.restamp(a, slot, word);
            return object;
        };
        // One of the two, or usually none.
        let phase = a.thread_word(WORD_PHASE);
        let is_special = a.has_bits(phase, TELLING | FORWARDING);
        let old = F::decode(a, word);
        let object = a.when(is_special, old, |a| {
            let address = slot.address(a);
            a.call_stub(LOADED, &[word, address, holder])
        });
        self.restamp(a, slot, word);
        object
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
        self.decode(a, held)
    }

    /// With the stamp that the slot has: a copy is no use of the reference.
    #[inline(always)]
    fn load_word<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>) -> A::Value {
        let word = slot.load(a);
        let object = self.resolve(a, word, |a| slot.address(a));
        if !F::HAS_STAMPS {
            return F::encode(a, object);
        }
        let old = F::decode(a, word);
        let stamp = a.sub(word, old);
        a.or(object, stamp)
    }

    #[inline(always)]
    fn load_weak<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>) -> A::Value {
        let word = slot.load(a);
        self.keep(a, |_| word);
        self.touch(a, slot);
        self.resolve(a, word, |a| slot.address(a))
    }

    #[inline(always)]
    fn refers_to(&self, m: &Mutator, slot: Slot<u64>, object: u64) -> bool {
        let a = &mut Eval { barriers: self, m };
        let word = slot.load(a);
        self.resolve(a, word, |a| slot.address(a)) == object
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
        // Kept whether the exchange takes place or not: at most one object too many.
        self.keep(a, |a| F::encode(a, expected));
        let condition = self.is_forwarding(a);
        let zero = a.constant(0);
        a.when(condition, zero, |a| {
            let address = slot.address(a);
            a.call(HEAL, &[address]);
            zero
        });
        match F::HAS_STAMPS {
            true => memliner::barrier::compare_exchange(a, slot, expected, new),
            false => {
                let (expected, new) = (F::encode(a, expected), F::encode(a, new));
                let held = slot.compare_exchange(a, expected, new);
                F::decode(a, held)
            }
        }
    }

    fn clone_contents(&self, m: &Mutator, original: u64, copy: u64, bytes: usize) {
        let a = &mut Eval { barriers: self, m };
        copy_words(a, original, copy, bytes);
        if !self.is_forwarding(a).holds() {
            return;
        }
        // No thread has seen the copy, and the walk that updates old addresses does not see it either.
        let (core, object) = (&self.shared.core, ObjectRef::from_address(copy as usize));
        let layout = core.layout_of(object);
        for_every_slot(layout, object, Self::SLOT_BYTES, core.reference_fields(), |offset| {
            self.load_word(a, Slot::of::<Self>(copy, offset as u64));
        });
    }
}

/// Word and slot, or 0 -> the object's address now, while the phase is FORWARDING.
const RESOLVE: Stub = Stub { id: 1 };
/// Object whose slot is accessed: it is reported to MemLiner.
const TOUCH: Stub = Stub { id: 2 };
/// Word, slot, and the slot's object -> the object's address now, while the thread is telling, when the slot's is
/// reported to MemLiner, or the phase is FORWARDING.
const LOADED: Stub = Stub { id: 3 };
/// The same of an object in a region that is moving; may copy it.
const MOVE: SlowPath = SlowPath { id: 0, is_leaf: true };
/// Keeps an object for this cycle.
const LOG: SlowPath = SlowPath { id: 1, is_leaf: true };
/// Slot: it holds no old address afterwards.
const HEAL: SlowPath = SlowPath { id: 2, is_leaf: true };
