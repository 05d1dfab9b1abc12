//! What a client has, and what it is doing.

use crate::sync::{AtomicU64, own};

/// One client's part of the layer. Only the client writes, and its recoverer after it; the line of `lower` is read by
/// all:
///
/// ```text
///   0        8       16       24      32      40      48       56       64
///   +--------+-------+--------+-------+-------+-------+--------+--------+
///   | step   | object| from   | to    | place | value | unused          |
///   +--------+-------+--------+-------+-------+-------+--------+--------+
///   | dying  | kept  | current| pages | next  | serial| unused          |
///   +--------+-------+--------+-------+-------+-------+-----------------+
///   | lower  | upper | unused                                            |
///   +--------+-------+--------+---------------+-------+-------+----------+
///   | unlinked | aged | retired | inner | unused                         |
///   +----------+------+---------+-------------+-------+-------+----------+
///   | roots          | olds                   | rest  | tally | counts   |
///   +----------------+------------------------+-------+-------+----------+
///   | spares, one list for each small class of blocks                    |
///   +--------------------------------------------------------------------+
/// ```
///
/// `step` is the client's redo log: what it does ([`RELEASE`], [`MOVE`], [`TAKE`]), with its operands behind it.
/// `dying` and `kept` are lists of objects without a reference, `current` is the one that is being freed. `pages` is
/// the list of pages that have the client's roots, and `next` its rest while a page is freed. `lower` and `upper` are
/// the eras of the clock between which the client looks at objects that it does not count; `lower` is 0 while it does
/// not.
///
/// `unlinked` and `aged` are lists of objects that shared cells had; the latter ones were unlinked in the era `retired`
/// at the latest. What belongs to a change of a shared cell is `inner`, and begins with `roots`
/// ([`Swap`](super::shared::Swap)).
/// `spares` are objects that the client uses again. `serial` numbers what the holders of the identity make for shared
/// cells.
#[repr(C, align(64))]
#[derive(Default)]
pub(crate) struct Holding {
    pub step: AtomicU64,
    pub object: AtomicU64,
    pub from: AtomicU64,
    pub to: AtomicU64,
    pub place: AtomicU64,
    pub value: AtomicU64,
    unused: [AtomicU64; 2],
    pub dying: AtomicU64,
    pub kept: AtomicU64,
    pub current: AtomicU64,
    pub pages: AtomicU64,
    pub next: AtomicU64,
    pub serial: AtomicU64,
    unused_too: [AtomicU64; 2],
    pub lower: AtomicU64,
    pub upper: AtomicU64,
    unused_line: [AtomicU64; 6],
    pub unlinked: AtomicU64,
    pub aged: AtomicU64,
    pub retired: AtomicU64,
    pub inner: AtomicU64,
    unused_last: [AtomicU64; 4],
    pub roots: [AtomicU64; 2],
    pub olds: [AtomicU64; 2],
    pub rest: AtomicU64,
    pub tally: AtomicU64,
    pub counts: [AtomicU64; 2],
    pub spares: [AtomicU64; SPARES],
}

impl Holding {
    /// Whether there are objects that readers may look at.
    #[inline]
    pub(super) fn keeps(&self) -> bool {
        own(&self.kept) | own(&self.unlinked) | own(&self.aged) != 0
    }
}

/// Small classes of blocks.
#[cfg(not(loom))]
pub(super) const SPARES: usize = 24;
#[cfg(loom)]
pub(super) const SPARES: usize = 8;

/// Bytes of a holding.
pub(super) const HOLDING_BYTES: u64 = 320 + 8 * SPARES as u64;

/// Where `current` and `pages` are in it: cells of the heap.
pub(super) const CURRENT_AT: u64 = 80;
pub(super) const PAGES_AT: u64 = 88;

#[cfg(not(loom))]
const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<Holding>() as u64 == HOLDING_BYTES && offset_of!(Holding, dying) == 64);
    assert!(offset_of!(Holding, current) as u64 == CURRENT_AT);
    assert!(offset_of!(Holding, pages) as u64 == PAGES_AT && offset_of!(Holding, lower) == 128);
    assert!(offset_of!(Holding, unlinked) == 192 && offset_of!(Holding, roots) == 256);
};

// SAFETY: atomic words.
#[cfg(not(loom))]
unsafe impl crate::segment::Shared for Holding {}

/// The client does nothing.
pub(super) const IDLE: u64 = 0;
/// It releases the reference to `object` in the cell `from`, if that is not 0.
pub(super) const RELEASE: u64 = 1;
/// It moves the spare `object` of the class `place` into the root `to`.
pub(super) const TAKE: u64 = 3;
/// It moves the reference to `object` from a cell to another one, and then writes `value` into `place`, if that is not
/// 0.
pub(super) const MOVE: u64 = 2;
