//! The part of a thread that collectors and compiled code know.
//!
//! A thread is *running* (it may hold plain addresses and touch the heap) or *safe* (in native code, blocked,
//! parked: it touches no heap word, and the words that it holds are roots). A running thread polls; a pause
//! begins when every thread is safe or stopped at a poll, and a safe thread that wants to run again waits
//! until the pause ends.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering};

/// Proof that every mutator is stopped. Only the safepoint machinery makes one, for the length of a call.
pub struct WorldStopped {
    _not_public: PhantomData<*const ()>,
}

impl WorldStopped {
    pub(crate) fn new() -> WorldStopped {
        WorldStopped { _not_public: PhantomData }
    }
}

/// One per attached thread; the VM embeds it first in its own thread structure and never moves it while it
/// is attached. `repr(C)`: compiled code reads fields by offset.
#[repr(C)]
pub struct Mutator {
    /// Non-zero when the thread must call [`Heap::safepoint`](crate::heap::Heap::safepoint). Set by whoever
    /// asks for a pause or handshake, cleared by the safepoint machinery; relaxed, the slow path orders.
    poll: AtomicU32,
    /// Running or safe. Written by its own thread; read by whoever stops the world.
    pub(crate) state: AtomicU32,
    /// Next free byte and end of the thread-local allocation buffer; own thread, or any with the world stopped.
    pub(crate) tlab_top: Cell<usize>,
    pub(crate) tlab_end: Cell<usize>,
    /// Bytes allocated by this thread in finished buffers.
    pub(crate) allocated_bytes: Cell<u64>,
}

// SAFETY: the cells are touched by the owning thread, or by the collector while the world is stopped.
unsafe impl Sync for Mutator {}

impl Mutator {
    pub fn new() -> Mutator {
        Mutator {
            poll: AtomicU32::new(0),
            state: AtomicU32::new(SAFE),
            tlab_top: Cell::new(0),
            tlab_end: Cell::new(0),
            allocated_bytes: Cell::new(0),
        }
    }

    /// Whether the thread must call `Heap::safepoint` now. The poll of interpreter and compiled code.
    #[inline]
    pub fn poll_requested(&self) -> bool {
        self.poll.load(Ordering::Relaxed) != 0
    }

    /// Running, as opposed to safe. For assertions.
    #[inline]
    pub fn is_running(&self) -> bool {
        self.state.load(Ordering::Relaxed) == RUNNING
    }
}

impl Default for Mutator {
    fn default() -> Self {
        Mutator::new()
    }
}

pub(crate) const RUNNING: u32 = 0;
pub(crate) const SAFE: u32 = 1;
