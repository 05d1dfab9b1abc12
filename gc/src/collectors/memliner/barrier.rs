//! The part of MemLiner in read and write barriers: while marking, an object whose slot is accessed is reported.
//!
//! ```text
//! phase has TELLING?                                            (from here on in a stub)
//!   the collector does not trace the object? -> done
//!   touched(object): pushed, unless it is marked or the last one that was pushed;
//!                    with no room in the queue, or much in vain: phase loses TELLING
//! ```
//!
//! [`refresh`] gives the phase its TELLING back.
//!
//! Under the epoch estimator, slots hold stamped references ([`stamps`](super::stamps)):
//!
//! ```text
//! load   object = address bits of slot
//!        stamp of slot is not that of the thread?               (out of line from here on)
//!          object is null, or the slot's object is young (where there are such)? -> done
//!          slot = object, stamped; if it still holds what was read
//! store  slot = value, stamped, if it is not null
//! ```
//!
//! These are the paper's optimisations 1 to 3 (section 4.4). That the object is the last one is a test of our own:
//! loops over arrays and the fields of one object push it once.
//!
use super::TouchedQueue;
use super::stamps::{ADDRESS_MASK, StampedCodec};
use crate::barrier::barrier_asm::{BarrierAsm, Condition, SlowPath, Stub};
use crate::barrier::barriers::Slot;
use crate::barrier::slot_form::SlotForm;
use crate::object::ObjectRef;
use crate::object::codec::SlotCodec;
use crate::threads::mutator::{COLLECTOR_WORDS, Mutator};
use std::sync::atomic::{AtomicU64, Ordering};

/// The thread's phase: the collector's bits, of which MemLiner looks at [`TRACING`], and [`TELLING`].
pub const WORD_PHASE: usize = 0;
/// The collector's: marking is on.
pub const TRACING: u64 = 1;
/// The thread reports the objects that it touches. Only together with [`TRACING`].
pub const TELLING: u64 = 1 << 2;

/// The object that the thread reported last. Only compared: it may have moved since.
pub const WORD_LAST: usize = COLLECTOR_WORDS - 1;

/// Takes the object.
pub const TOUCHED: SlowPath = SlowPath { id: 0xa0, is_leaf: true };

/// Reports the object of `slot`, unless that is a root, by a stub if the thread is telling.
#[inline(always)]
pub fn touch<A: BarrierAsm + ?Sized>(a: &mut A, slot: Slot<A::Value>, stub: Stub) {
    let Some(object) = slot.object() else { return };
    let zero = a.constant(0);
    while_telling(a, |a| {
        a.call_stub(stub, &[object]);
        zero
    });
}

/// If the thread is telling.
#[inline(always)]
pub fn while_telling<A: BarrierAsm + ?Sized>(
    a: &mut A,
    then: impl FnOnce(&mut A) -> A::Value,
) -> A::Value {
    let (phase, zero) = (a.thread_word(WORD_PHASE), a.constant(0));
    let is_telling = a.has_bits(phase, TELLING);
    a.when(is_telling, zero, then)
}

/// Calls a slow path where the condition holds, if there is one; otherwise `usual`.
#[inline(always)]
fn guarded<A: BarrierAsm + ?Sized>(
    a: &mut A,
    condition: Option<Condition<A::Value>>,
    usual: A::Value,
    call: impl FnOnce(&mut A) -> A::Value,
) -> A::Value {
    match condition {
        Some(condition) => a.when(condition, usual, call),
        None => call(a),
    }
}

/// The stamp that the thread gives to references: its epoch, as the collector last set it.
pub const WORD_STAMP: usize = COLLECTOR_WORDS - 2;

/// Gives the stamp of now to the slot at an address, if it still holds a word.
pub const RESTAMP: SlowPath = SlowPath { id: 0xa1, is_leaf: true };
/// Exchanges the reference in the slot at an address, with any stamp.
pub const EXCHANGE: SlowPath = SlowPath { id: 0xa2, is_leaf: true };

/// The plain address in a stamped word.
#[inline(always)]
fn strip<A: BarrierAsm + ?Sized>(a: &mut A, word: A::Value) -> A::Value {
    let mask = a.constant(ADDRESS_MASK);
    a.and(word, mask)
}

/// The stamped word of a plain address.
#[inline(always)]
fn stamp<A: BarrierAsm + ?Sized>(a: &mut A, object: A::Value) -> A::Value {
    let (zero, now) = (a.constant(0), a.thread_word(WORD_STAMP));
    let stamped = a.or(object, now);
    a.select(Condition::Equal(object, zero), |_| zero, |_| stamped)
}

/// Eight bytes: an address and the stamp of when it was used last.
pub struct StampedForm;

impl SlotForm for StampedForm {
    const SLOT_BYTES: usize = 8;
    const HAS_STAMPS: bool = true;

    #[inline(always)]
    fn decode<A: BarrierAsm + ?Sized>(a: &mut A, word: A::Value) -> A::Value {
        strip(a, word)
    }

    #[inline(always)]
    fn encode<A: BarrierAsm + ?Sized>(a: &mut A, object: A::Value) -> A::Value {
        stamp(a, object)
    }
}

/// After `word` was read, which means `object`. `is_traced` yields a condition that holds for objects whose references
/// are to be stamped, of the slot's object; `None`: those of all.
#[inline(always)]
pub fn restamp<A: BarrierAsm + ?Sized>(
    a: &mut A,
    slot: Slot<A::Value>,
    word: A::Value,
    object: A::Value,
    is_traced: impl FnOnce(&mut A, A::Value) -> Option<Condition<A::Value>>,
) {
    let Some(holder) = slot.object() else { return };
    let (now, zero) = (a.thread_word(WORD_STAMP), a.constant(0));
    let held = a.sub(word, object);
    a.when(Condition::NotEqual(held, now), zero, |a| {
        a.select(
            Condition::NotEqual(object, zero),
            |a| {
                let condition = is_traced(a, holder);
                guarded(a, condition, zero, |a| {
                    let address = slot.address(a);
                    a.call(RESTAMP, &[address, word])
                })
            },
            |_| zero,
        )
    });
}

/// The previous reference of the slot, a plain address; the exchange took place exactly if that is `expected`.
#[inline(always)]
pub fn compare_exchange<A: BarrierAsm + ?Sized>(
    a: &mut A,
    slot: Slot<A::Value>,
    expected: A::Value,
    new: A::Value,
) -> A::Value {
    let address = slot.address(a);
    a.call(EXCHANGE, &[address, expected, new])
}

/// Carries out [`RESTAMP`] and [`EXCHANGE`].
pub fn slow_path(m: &Mutator, id: u8, [address, word, new]: [u64; 3]) -> u64 {
    // SAFETY: the address of a slot of a live object, computed by the barrier that calls; slots are accessed
    // atomically.
    let slot = unsafe { &*(address as usize as *const AtomicU64) };
    let stamp = m.words[WORD_STAMP].get();
    match id {
        id if id == RESTAMP.id => {
            let stamped = word & ADDRESS_MASK | stamp;
            // A thread that has stored another reference meanwhile has stamped it.
            _ = slot.compare_exchange(word, stamped, Ordering::AcqRel, Ordering::Relaxed);
            m.words[WORD_RESTAMPED].update(|count| count + 1);
            0
        }
        id if id == EXCHANGE.id => {
            let codec = StampedCodec { stamp };
            let new = codec.encode(ObjectRef::from_address(new as usize));
            let mut held = slot.load(Ordering::SeqCst);
            while held & ADDRESS_MASK == word {
                match slot.compare_exchange(held, new, Ordering::SeqCst, Ordering::SeqCst) {
                    Ok(_) => return word,
                    // Perhaps another stamp.
                    Err(other) => held = other,
                }
            }
            held & ADDRESS_MASK
        }
        id => unreachable!("slow path {id}"),
    }
}

/// From now on, has the thread report the objects that it touches, if its collector is tracing and it may have
/// something to report. On the thread itself, outside of barriers, or in a pause or handshake.
pub fn refresh(m: &Mutator, queue: &TouchedQueue) {
    let phase = &m.words[WORD_PHASE];
    if phase.get() & TRACING != 0 && !queue.is_full() {
        phase.update(|phase| phase | TELLING);
    }
}

/// How many slots the thread has given new stamps since this was last read.
pub const WORD_RESTAMPED: usize = COLLECTOR_WORDS - 3;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::collectors::memliner::stamps::stamp_bits;
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    fn address(slot: &AtomicU64) -> u64 {
        std::ptr::from_ref(slot).expose_provenance() as u64
    }

    #[test]
    fn threads_tell_while_there_is_tracing_and_room() {
        let (m, queue) = (Mutator::new(), TouchedQueue::new(1, false));
        let refreshed = |phase| {
            m.words[WORD_PHASE].set(phase);
            refresh(&m, &queue);
            m.words[WORD_PHASE].get()
        };
        let other = 2;
        assert_eq!([0, other, TRACING].map(refreshed), [0, other, TRACING | TELLING]);
        queue.push(1);
        assert_eq!(refreshed(TRACING), TRACING);
        queue.clear();
        assert_eq!(refreshed(TRACING), TRACING | TELLING);
    }

    #[test]
    fn a_new_stamp_is_for_the_word_that_was_read() {
        let m = Mutator::new();
        m.words[WORD_STAMP].set(stamp_bits(5));
        let slot = AtomicU64::new(64 | stamp_bits(3));
        let restamp = |word| slow_path(&m, RESTAMP.id, [address(&slot), word, 0]);
        // Something else was stored since.
        restamp(72 | stamp_bits(3));
        assert_eq!(slot.load(Ordering::Relaxed), 64 | stamp_bits(3));
        restamp(64 | stamp_bits(3));
        assert_eq!(slot.load(Ordering::Relaxed), 64 | stamp_bits(5));
    }

    /// One thread stores, and must find the stored word when the other one, which gives the slot one stamp after the
    /// other, is done with the words that it had read before.
    #[test]
    fn a_new_stamp_undoes_no_store() {
        let (slot, stamped, is_over) =
            (AtomicU64::new(8), AtomicU64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let m = Mutator::new();
                let mut epoch: u64 = 0;
                while !is_over.load(Ordering::Relaxed) {
                    epoch += 1;
                    m.words[WORD_STAMP].set(stamp_bits((1 + epoch % 15) as u8));
                    let word = slot.load(Ordering::Acquire);
                    slow_path(&m, RESTAMP.id, [address(&slot), word, 0]);
                    stamped.store(epoch, Ordering::Release);
                }
            });
            let start = Instant::now();
            let mut round = 0;
            while round < 20 || start.elapsed() < Duration::from_millis(200) {
                round += 1;
                slot.store(round * 8, Ordering::Release);
                let before = stamped.load(Ordering::Acquire);
                while stamped.load(Ordering::Acquire) < before + 2 {
                    std::thread::yield_now();
                }
                let held = slot.load(Ordering::Acquire) & ADDRESS_MASK;
                if held != round * 8 {
                    is_over.store(true, Ordering::Relaxed);
                }
                assert_eq!(held, round * 8, "a store was undone");
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn an_exchange_compares_addresses_and_not_stamps() {
        let m = Mutator::new();
        m.words[WORD_STAMP].set(stamp_bits(5));
        let slot = AtomicU64::new(64 | stamp_bits(3));
        let exchange = |old, new| slow_path(&m, EXCHANGE.id, [address(&slot), old, new]);
        assert_eq!(exchange(72, 80), 64);
        assert_eq!(slot.load(Ordering::Relaxed), 64 | stamp_bits(3));
        assert_eq!(exchange(64, 80), 64);
        assert_eq!(slot.load(Ordering::Relaxed), 80 | stamp_bits(5));
        assert_eq!((exchange(80, 0), slot.load(Ordering::Relaxed)), (80, 0));
    }
}
