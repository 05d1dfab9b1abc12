//! Which objects the program touches (not of the paper).
//!
//! Where a program waits for pages most of the time, each fetched page should be full of objects that it uses. So from
//! some time after a cycle on, if it waits much, loads go through a stub that notes the entry of each reference
//! in a bit. Agents get these bits when the next cycle begins, and move touched and untouched objects apart from
//! each other (`agent/trace_order.rs`): a map that is read, say, no longer lies between records that are not.
//!
//! Hotness by load barriers follows Yang, Österlund and Wrigstad in HotSpot's ZGC ("Improving program locality in
//! the GC using hotness", PLDI'20).

use crate::barrier::barrier_asm::{BarrierAsm, Condition};
use crate::hit::{HitGeometry, TABLET_WORDS, TabletId};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use swap::{PAGE_BYTES, Reservation, SwapError};

/// The bits of one heap, 1 for each entry: ordinary memory, of which only used pages count.
pub struct Touches {
    bits: Reservation,
    /// Threads note, or have noted and no cycle has ended since. The collector's thread alone changes it.
    has_noted: AtomicBool,
}

impl Touches {
    pub fn new(geometry: &HitGeometry) -> Result<Touches, SwapError> {
        let bits = Reservation::new(geometry.tablets() * TABLET_WORDS * 8, PAGE_BYTES)?;
        Ok(Touches { bits, has_noted: AtomicBool::new(false) })
    }

    /// How much memory they take now. Slow, for figures.
    pub fn resident_bytes(&self) -> usize {
        self.bits.resident_bytes()
    }

    /// The collector's thread, before it has threads note.
    pub fn begin(&self) {
        self.has_noted.store(true, Ordering::Relaxed);
    }

    /// Whether the next cycle has touches to send to agents.
    pub fn has_noted(&self) -> bool {
        self.has_noted.load(Ordering::Relaxed)
    }

    /// The touches noted in a tablet. Those that a thread notes meanwhile may be missing.
    pub fn of(&self, tablet: TabletId) -> [u64; TABLET_WORDS] {
        let bytes = self.bytes(tablet);
        std::array::from_fn(|word| {
            u64::from_le_bytes(std::array::from_fn(|i| bytes[word * 8 + i].load(Ordering::Relaxed)))
        })
    }

    /// The collector's thread, when no thread notes any more: forgets the touches noted in these tablets, which must
    /// be all that were in use meanwhile.
    pub fn end(&self, tablets: impl Iterator<Item = TabletId>) {
        for tablet in tablets {
            // Untouched pages stay without memory.
            let noted = self.bytes(tablet).iter().filter(|byte| byte.load(Ordering::Relaxed) != 0);
            noted.for_each(|byte| byte.store(0, Ordering::Relaxed));
        }
        self.has_noted.store(false, Ordering::Relaxed);
    }

    fn bytes(&self, tablet: TabletId) -> &[AtomicU8; TABLET_WORDS * 8] {
        let at = tablet.0 as usize * TABLET_WORDS * 8;
        assert!(at < self.bits.bytes(), "{tablet:?}");
        // SAFETY: inside the reservation, which lives as long as this and is zero to begin with; its bytes are only
        // accessed atomically.
        unsafe { &*((self.bits.base() + at) as *const [AtomicU8; TABLET_WORDS * 8]) }
    }

    /// The address of the first entry's byte, as [`note`] takes it.
    pub fn address(&self) -> u64 {
        self.bits.base() as u64
    }
}

/// Notes that the object of an entry is touched, in the bits at `touches`. Two threads that note neighbours at the same
/// time may forget one of them.
#[inline(always)]
pub fn note<A: BarrierAsm + ?Sized>(a: &mut A, touches: u64, index: A::Value) -> A::Value {
    let seven = a.constant(7);
    let (bit, at) = (a.and(index, seven), a.shift_right(index, 3));
    let (masks, touches) = (a.constant(MASKS.as_ptr() as u64), a.constant(touches));
    let (mask, before) = (a.load8(masks, bit), a.load8(touches, at));
    let noted = a.or(before, mask);
    // A thread that only reads does not take the cache line from the others.
    a.select(
        Condition::Equal(before, noted),
        |_| noted,
        |a| {
            a.store8(touches, at, noted);
            noted
        },
    )
}

static MASKS: [u8; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
