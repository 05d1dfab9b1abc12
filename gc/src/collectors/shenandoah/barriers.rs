//! The barriers: slots and registers hold addresses.
//!
//! ```text
//! load   address = slot
//!        phase is FORWARDING?                                   (out of line from here on)
//!          in the heap (null is not) and its region is moving?
//!            -> resolve(address, slot): the new address, which the slot then holds too
//! store  phase is TRACING and the slot is not null? -> log(old) (out of line)
//!        slot = address
//! ```
//!
//! A compare-and-exchange first has the slot healed while the phase is FORWARDING. In that phase nobody stores an old
//! address (mutators have none, array copies resolve what they copy, clones what they copied), so a slot that was
//! healed once has none, and the exchange compares what it should.

use super::Shared;
use super::thread::{self, FORWARDING, TRACING, WORD_PHASE};
use crate::barrier_asm::{BarrierAsm, Condition, SlowPath};
use crate::barriers::{Barriers, Keeping, Slot, copy_words};
use crate::bump;
use crate::codec::{PlainCodec, SlotCodec};
use crate::eval::Eval;
use crate::mutator::Mutator;
use crate::object::{KlassId, ObjectRef};
use crate::scan::for_every_slot;
use std::sync::Arc;

/// The codec and the barriers.
pub struct ShenandoahBarriers {
    /// Threads allocate from their buffers without asking.
    has_buffers: bool,
    shared: Arc<Shared>,
    base: u64,
    heap_bytes: u64,
    region_shift: u8,
    /// Address of a word of 32 bits for each region: whether it is moving.
    is_from: u64,
}

impl ShenandoahBarriers {
    pub fn new(shared: Arc<Shared>) -> ShenandoahBarriers {
        let geometry = shared.core.geometry;
        ShenandoahBarriers {
            has_buffers: !shared.core.options.zeal(),
            base: geometry.base as u64,
            heap_bytes: geometry.heap_bytes() as u64,
            region_shift: geometry.region_shift as u8,
            is_from: shared.forwarding.flags(),
            shared,
        }
    }

    /// When slots may hold addresses that objects have left.
    #[inline(always)]
    fn is_forwarding<A: BarrierAsm + ?Sized>(&self, a: &mut A) -> Condition<A::Value> {
        let phase = a.thread_word(WORD_PHASE);
        let forwarding = a.constant(FORWARDING);
        let (test, zero) = (a.and(phase, forwarding), a.constant(0));
        Condition::NotEqual(test, zero)
    }

    /// The address of the object whose address, perhaps an old one, is `word`. `slot` yields the address of the slot
    /// that held it, or 0.
    #[inline(always)]
    fn resolve<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        word: A::Value,
        slot: impl FnOnce(&mut A) -> A::Value,
    ) -> A::Value {
        let condition = self.is_forwarding(a);
        a.when(condition, word, |a| {
            let (base, size) = (a.constant(self.base), a.constant(self.heap_bytes));
            let distance = a.sub(word, base);
            let is_object = Condition::Below(distance, size);
            a.select(
                is_object,
                |a| {
                    let region = a.shift_right(distance, self.region_shift);
                    let (table, at) = (a.constant(self.is_from), a.shift_left(region, 2));
                    let flag = a.load32(table, at);
                    let zero = a.constant(0);
                    a.when(Condition::NotEqual(flag, zero), word, |a| {
                        let slot = slot(a);
                        a.call(RESOLVE, [word, slot, zero])
                    })
                },
                |_| word,
            )
        })
    }
}

impl Barriers for ShenandoahBarriers {
    const SLOT_BYTES: usize = PlainCodec::SLOT_BYTES;

    #[inline(always)]
    fn decode<A: BarrierAsm + ?Sized>(&self, a: &mut A, word: A::Value) -> A::Value {
        self.resolve(a, word, |a| a.constant(0))
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
        let object = ObjectRef::from_address(arguments[0] as usize);
        let (shared, copies) = (&self.shared, &thread::data(m).copies);
        match id {
            id if id == RESOLVE.id => {
                let new = shared.resolve(object, copies).address() as u64;
                if arguments[1] != 0 {
                    shared.heal_word(arguments[1], arguments[0], new);
                }
                new
            }
            id if id == HEAL.id => {
                shared.heal(arguments[0], copies);
                0
            }
            id if id == LOG.id => {
                if !shared.marking.is_live(object) {
                    shared.logged.push(m, object);
                }
                0
            }
            id => unreachable!("slow path {id}"),
        }
    }

    #[inline(always)]
    fn load<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>) -> A::Value {
        let word = slot.load(a);
        self.resolve(a, word, |a| slot.address(a))
    }

    #[inline(always)]
    fn load_word<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>) -> A::Value {
        self.load(a, slot)
    }

    #[inline(always)]
    fn load_weak<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>) -> A::Value {
        let word = slot.load(a);
        self.keep(a, |_| word);
        self.resolve(a, word, |a| slot.address(a))
    }

    #[inline(always)]
    fn refers_to(&self, m: &Mutator, slot: Slot<u64>, object: u64) -> bool {
        self.load(&mut Eval { barriers: self, m }, slot) == object
    }

    #[inline(always)]
    fn compare_exchange<A: BarrierAsm + ?Sized>(
        &self,
        a: &mut A,
        slot: Slot<A::Value>,
        expected: A::Value,
        new: A::Value,
    ) -> A::Value {
        // Kept whether the exchange takes place or not: at most one object too many.
        self.keep(a, |_| expected);
        let condition = self.is_forwarding(a);
        let zero = a.constant(0);
        a.when(condition, zero, |a| {
            let address = slot.address(a);
            a.call(HEAL, [address, zero, zero]);
            zero
        });
        slot.compare_exchange(a, expected, new)
    }

    fn clone_contents(&self, m: &Mutator, original: u64, copy: u64, bytes: usize) {
        let a = &mut Eval { barriers: self, m };
        copy_words(a, original, copy, bytes);
        if !self.is_forwarding(a).holds() {
            return;
        }
        // Nobody has seen the copy, and whoever walks the heap for old addresses does not see it either.
        let (core, object) = (&self.shared.core, ObjectRef::from_address(copy as usize));
        let layout = core.layout_of(object);
        for_every_slot(layout, object, Self::SLOT_BYTES, core.reference_fields(), |offset| {
            self.load(a, Slot::of::<Self>(copy, offset as u64));
        });
    }
}

/// Address and slot -> the object's address now; may copy the object.
const RESOLVE: SlowPath = SlowPath { id: 0, is_leaf: true };
/// Keeps an object for this cycle.
const LOG: SlowPath = SlowPath { id: 1, is_leaf: true };
/// Slot: it holds no old address afterwards.
const HEAL: SlowPath = SlowPath { id: 2, is_leaf: true };
