//! The collector's data of each thread; under MemLiner also the queue of touched objects.

use super::copies::CopyBuffer;
use crate::barrier::satb::Log;
use crate::collectors::memliner::{TouchedQueue, barrier};
use crate::object::ObjectRef;
use crate::threads::mutator::Mutator;
use crate::threads::thread_data::ThreadData;
use std::sync::Arc;

/// The thread's phase: 0, [`TRACING`] or [`FORWARDING`], which changes in pauses and handshakes only; and
/// [`barrier::TELLING`] of MemLiner.
pub const WORD_PHASE: usize = barrier::WORD_PHASE;

/// Overwritten references are logged.
pub const TRACING: u64 = barrier::TRACING;
/// Slots may hold addresses that their objects have left or are about to leave.
pub const FORWARDING: u64 = 2;

/// The part of a thread that compiled code does not touch. Own thread, or a pause or handshake on its behalf.
#[derive(Default)]
pub struct ShenandoahThread {
    /// References that were in the snapshot and that marking may have missed.
    pub logged: Log<ObjectRef>,
    /// Where the thread copies objects to that it meets before the collector does.
    pub copies: CopyBuffer,
    /// Under MemLiner.
    pub touched: Option<Arc<TouchedQueue>>,
}

// SAFETY: the only data of Shenandoah's threads, and MemLiner's on it.
unsafe impl ThreadData for ShenandoahThread {}

/// Makes the data of an attaching thread.
pub fn attach(m: &Mutator, phase: u64, touched: Option<Arc<TouchedQueue>>) {
    m.words.iter().for_each(|word| word.set(0));
    m.words[WORD_PHASE].set(phase);
    ShenandoahThread { touched, ..ShenandoahThread::default() }.attach(m);
}
