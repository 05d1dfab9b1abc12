//! What a client has: its lists of slabs, and what it is doing.

use super::class::CLASSES_MAX;
use crate::sync::AtomicU64;

/// One more than the number of a slab, or than the place of a block: its distance from the beginning of its slab, in
/// words of 8 bytes. 0: none.
pub(super) type Link = u32;

/// One client's part of a heap. Only the client writes, and its recoverer after it:
///
/// ```text
///   0        8       16       24       64
///   +--------+-------+--------+--------+-----------------------------+
///   | step   | cell  | empty  | unused | sized, one list for a class |
///   +--------+-------+--------+--------+-----------------------------+
/// ```
///
/// `step` says what the client is doing ([`Step`]); `cell` is the word to which the step writes its block. `empty` is
/// the list of slabs without a class.
#[repr(C, align(64))]
pub(crate) struct Holding {
    pub step: AtomicU64,
    pub cell: AtomicU64,
    pub empty: AtomicU64,
    unused: [AtomicU64; 5],
    pub sized: [AtomicU64; LISTS],
}

// A model has two classes.
const LISTS: usize = if cfg!(loom) { 2 } else { CLASSES_MAX };

#[cfg(not(loom))]
const _: () = {
    assert!(size_of::<Holding>() == 64 + 8 * CLASSES_MAX);
    assert!(std::mem::offset_of!(Holding, sized) == 64);
};

// SAFETY: atomic words.
#[cfg(not(loom))]
unsafe impl crate::segment::Shared for Holding {}

impl Default for Holding {
    fn default() -> Holding {
        Holding {
            step: AtomicU64::new(0),
            cell: AtomicU64::new(0),
            empty: AtomicU64::new(0),
            unused: std::array::from_fn(|_| AtomicU64::new(0)),
            sized: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

/// What a client does now, and what is left of it if it dies. Each is idempotent. Blocks are named by their place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Nothing.
    Idle,
    /// It gets a block of a slab that it owns. Taken back, unless the cell has the block.
    Alloc { slab: u32, block: u32 },
    /// It frees a block, and clears the cell that has it.
    Free { slab: u32, block: u32 },
    /// It has taken a slab out of a list of the heap, and is about to own it.
    Hand { slab: u32 },
    /// It gives a class to a slab of its list of empty ones.
    Take { slab: u32, class: u32 },
    /// It puts a slab without used blocks into its list of empty ones.
    Retire { slab: u32 },
    /// It gives a slab to the heap.
    Release { slab: u32 },
}

/// As one word:
///
/// ```text
///   63    60 59     52 51        32 31                   0
///   +-------+---------+------------+---------------------+
///   | kind  | class   | block      | slab                |
///   +-------+---------+------------+---------------------+
/// ```
impl Step {
    #[inline(always)]
    pub(super) fn bits(self) -> u64 {
        let pack = |kind: u64, slab: u32, block: u32, class: u32| {
            kind << 60 | u64::from(class) << 52 | u64::from(block) << 32 | u64::from(slab)
        };
        match self {
            Step::Idle => 0,
            Step::Alloc { slab, block } => pack(1, slab, block, 0),
            Step::Free { slab, block } => pack(2, slab, block, 0),
            Step::Hand { slab } => pack(3, slab, 0, 0),
            Step::Take { slab, class } => pack(4, slab, 0, class),
            Step::Retire { slab } => pack(5, slab, 0, 0),
            Step::Release { slab } => pack(6, slab, 0, 0),
        }
    }

    /// `None`: no client writes this.
    pub(super) fn from_bits(bits: u64) -> Option<Step> {
        let (slab, block, class) =
            (bits as u32, (bits >> 32) as u32 & 0xf_ffff, (bits >> 52) as u32 & 0xff);
        let step = match bits >> 60 {
            0 => Step::Idle,
            1 => Step::Alloc { slab, block },
            2 => Step::Free { slab, block },
            3 => Step::Hand { slab },
            4 => Step::Take { slab, class },
            5 => Step::Retire { slab },
            6 => Step::Release { slab },
            _ => return None,
        };
        (step.bits() == bits).then_some(step)
    }
}

/// The beginning of a list of slabs, as one word. Under the detectable words of a heap as well as in a [`Holding`]:
///
/// ```text
///   63               32 31                0
///   +------------------+------------------+
///   | count            | first            |
///   +------------------+------------------+
/// ```
///
/// In a holding the count may be wrong after a crash: it is a hint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct List(u64);

// The words of a model have 16 bits of value.
#[cfg(not(loom))]
const COUNT: u32 = 32;
#[cfg(loom)]
const COUNT: u32 = 8;

impl List {
    pub(super) fn new(count: u32, first: Link) -> List {
        List(u64::from(count) << COUNT | u64::from(first))
    }

    #[inline(always)]
    pub(super) fn from_bits(bits: u64) -> List {
        List(bits)
    }

    pub(super) fn bits(self) -> u64 {
        self.0
    }

    #[inline(always)]
    pub(super) fn first(self) -> Link {
        (self.0 & ((1 << COUNT) - 1)) as Link
    }

    pub(super) fn count(self) -> u32 {
        (self.0 >> COUNT) as u32
    }

    pub(super) fn pushed(self, slab: u32) -> List {
        List::new(self.count() + 1, slab + 1)
    }

    /// One less, which begins with `first`.
    pub(super) fn popped(self, first: Link) -> List {
        List::new(self.count().saturating_sub(1), first)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn steps_come_back() {
        let (slab, block) = (u32::MAX, 4095);
        for step in [
            Step::Idle,
            Step::Alloc { slab, block },
            Step::Free { slab: 0, block },
            Step::Hand { slab },
            Step::Take { slab, class: 36 },
            Step::Retire { slab: 7 },
            Step::Release { slab },
        ] {
            assert_eq!(Step::from_bits(step.bits()), Some(step));
        }
        for wrong in [1, 7 << 60, 3 << 60 | 1 << 52] {
            assert_eq!(Step::from_bits(wrong), None);
        }
    }
}
