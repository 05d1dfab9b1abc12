//! The collector's data of each thread: its phase, references that must be reported to the running marking, and the
//! queue of touched objects under MemLiner.

use crate::barrier::satb::Log;
use crate::collectors::memliner::{TouchedQueue, barrier};
use crate::object::ObjectRef;
use crate::threads::mutator::Mutator;
use crate::threads::thread_data::ThreadData;
use std::sync::Arc;

/// The thread's phase: 0 or [`TRACING`], which changes in pauses only; and [`barrier::TELLING`] of MemLiner.
pub const WORD_PHASE: usize = barrier::WORD_PHASE;
/// Overwritten references are logged.
pub const TRACING: u64 = barrier::TRACING;

/// The part of a thread that compiled code does not touch. Own thread, or a pause or handshake on its behalf.
pub struct G1Thread {
    /// Old objects of the snapshot that lost a reference (or were read from a weak place) and were not marked then.
    /// They stay where they are until the marking ends, so plain addresses do.
    pub logged: Log<ObjectRef>,
    /// Under MemLiner.
    pub touched: Option<Arc<TouchedQueue>>,
}

// SAFETY: the only data of G1's threads, MemLiner's on it and Semeru's.
unsafe impl ThreadData for G1Thread {}

/// Makes the data of an attaching thread.
pub fn attach(m: &Mutator, phase: u64, touched: Option<Arc<TouchedQueue>>) {
    m.words.iter().for_each(|word| word.set(0));
    m.words[WORD_PHASE].set(phase);
    G1Thread { logged: Log::default(), touched }.attach(m);
}
