//! What a client is about to change, so that others can finish it.

use crate::PoolError;
use crate::crash::crash_point;
use crate::sync::{AtomicU64, Ordering};

use super::word::ERA_MAX;
use std::sync::atomic::compiler_fence;

/// A change as its client announced it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// Where the word is: an offset in the pool, in bytes.
    pub target: u64,
    /// What finishing the change needs. The pool does not look at it.
    pub operation: [u64; 5],
}

/// The intent of one client, in a cache line of its own:
///
/// ```text
///   0          8               16         24                     64
///   +----------+---------------+----------+----------------------+
///   | era      | acknowledged  | target   | operation, 5 words   |
///   +----------+---------------+----------+----------------------+
/// ```
///
/// `era` counts the client's changes, over all leases of the identity. A change is open while `era` is above
/// `acknowledged`; only while none is open the other words are written. Only the client writes, and its recoverer
/// after it.
#[repr(C, align(64))]
#[derive(Default)]
pub(crate) struct Intent {
    era: AtomicU64,
    acknowledged: AtomicU64,
    target: AtomicU64,
    operation: [AtomicU64; 5],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Intent>() == 64 && std::mem::offset_of!(Intent, operation) == 24);

// SAFETY: atomic words.
#[cfg(not(loom))]
unsafe impl crate::segment::Shared for Intent {}

/// What a client left open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Open {
    pub era: u64,
    pub change: Change,
}

/// The intents of all clients.
#[derive(Clone, Copy)]
pub(super) struct Intents<'a> {
    /// By identity; the first is unused.
    pub all: &'a [Intent],
}

impl Intents<'_> {
    /// Announces the next change of the client, and returns its era. An error if one is open.
    pub fn announce(&self, client: u16, change: &Change) -> Result<u64, PoolError> {
        let intent = &self.all[usize::from(client)];
        let last = intent.era.load(Ordering::Relaxed);
        if last != intent.acknowledged.load(Ordering::Relaxed) {
            return Err(PoolError::Unfinished { client });
        }
        if last >= ERA_MAX {
            return Err(PoolError::EraExhausted { client });
        }
        let era = last + 1;
        // A client may be killed between any two instructions: the compiler must not write a word of this change
        // before the last one was acknowledged.
        compiler_fence(Ordering::SeqCst);
        intent.target.store(change.target, Ordering::Relaxed);
        for (word, value) in intent.operation.iter().zip(change.operation) {
            word.store(value, Ordering::Relaxed);
        }
        crash_point!("detect.recorded");
        intent.era.store(era, Ordering::Release);
        crash_point!("detect.announced");
        Ok(era)
    }

    /// The change with this era is finished, or never happened.
    pub fn acknowledge(&self, client: u16, era: u64) {
        self.all[usize::from(client)].acknowledged.store(era, Ordering::Release);
    }

    /// How many changes were announced, over all leases of the identity.
    pub fn announced(&self, client: u16) -> u64 {
        self.all[usize::from(client)].era.load(Ordering::Relaxed)
    }

    /// What a client that is dead left open.
    pub fn open(&self, client: u16) -> Option<Open> {
        let intent = &self.all[usize::from(client)];
        let era = intent.era.load(Ordering::Acquire);
        if intent.acknowledged.load(Ordering::Acquire) >= era {
            return None;
        }
        let operation = intent.operation.each_ref().map(|word| word.load(Ordering::Relaxed));
        let target = intent.target.load(Ordering::Relaxed);
        Some(Open { era, change: Change { target, operation } })
    }

    /// For tests: as after that many changes.
    #[cfg(all(test, not(loom)))]
    pub fn skip_to(&self, client: u16, era: u64) {
        self.all[usize::from(client)].era.store(era, Ordering::Relaxed);
        self.acknowledge(client, era);
    }
}
