//! What the collector keeps for each thread; under MemLiner also the queue of touched objects.

use super::copies::CopyBuffer;
use crate::collectors::memliner::TouchedQueue;
use crate::mutator::Mutator;
use crate::object::ObjectRef;
use parking_lot::Mutex;
use std::cell::RefCell;
use std::sync::Arc;

/// The thread's phase: 0, [`TRACING`] or [`FORWARDING`]. Changes in pauses and handshakes only.
pub const WORD_PHASE: usize = 0;

/// Overwritten references are logged.
pub const TRACING: u64 = 1;
/// Slots may hold addresses that their objects have left or are about to leave.
pub const FORWARDING: u64 = 2;

/// The part of a thread that compiled code does not touch. Own thread, or a pause or handshake on its behalf.
#[derive(Default)]
pub struct ThreadData {
    /// Overwritten and otherwise kept references since the last hand-over.
    logged: RefCell<Vec<ObjectRef>>,
    /// Where the thread copies objects to that it meets before the collector does.
    pub copies: CopyBuffer,
    /// Under MemLiner.
    pub touched: Option<Arc<TouchedQueue>>,
}

/// Makes the data of an attaching thread.
pub fn attach(m: &Mutator, phase: u64, touched: Option<Arc<TouchedQueue>>) {
    m.words.iter().for_each(|word| word.set(0));
    m.words[WORD_PHASE].set(phase);
    let data = ThreadData { touched, ..ThreadData::default() };
    m.collector_data.set(Box::into_raw(Box::new(data)).cast());
}

/// Undoes [`attach`]; returns the queue.
pub fn detach(m: &Mutator) -> Option<Arc<TouchedQueue>> {
    let data = m.collector_data.replace(std::ptr::null_mut()).cast::<ThreadData>();
    assert!(!data.is_null(), "a thread detached that was not attached");
    // SAFETY: made by Box::into_raw in `attach`, and taken out of the thread above.
    unsafe { Box::from_raw(data) }.touched
}

#[inline]
pub fn data(m: &Mutator) -> &ThreadData {
    // SAFETY: set in `attach` and removed in `detach`; in between it stays in place.
    unsafe { &*m.collector_data.get().cast::<ThreadData>() }
}

/// References that were in the snapshot and that marking may have missed (SATB).
#[derive(Default)]
pub struct Logged {
    handed_over: Mutex<Vec<ObjectRef>>,
}

impl Logged {
    /// Notes a reference on its own thread.
    pub fn push(&self, m: &Mutator, object: ObjectRef) {
        let mut logged = data(m).logged.borrow_mut();
        logged.push(object);
        if logged.len() >= LOGGED_MAX {
            self.handed_over.lock().append(&mut logged);
        }
    }

    /// Takes over what a thread has; by the thread, or on its behalf.
    pub fn hand_over(&self, m: &Mutator) {
        self.handed_over.lock().append(&mut data(m).logged.borrow_mut());
    }

    /// Everything handed over so far.
    pub fn take(&self) -> Vec<ObjectRef> {
        std::mem::take(&mut *self.handed_over.lock())
    }
}

const LOGGED_MAX: usize = 1024;
