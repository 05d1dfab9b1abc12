//! What the collector keeps for each thread: its phase, references that the running marking must be told of, and the
//! queue of touched objects under MemLiner.

use crate::collectors::memliner::TouchedQueue;
use crate::mutator::Mutator;
use crate::object::ObjectRef;
use parking_lot::Mutex;
use std::cell::RefCell;
use std::sync::Arc;

/// The thread's phase: 0 or [`TRACING`]. Changes in pauses only.
pub const WORD_PHASE: usize = 0;
/// Overwritten references are logged.
pub const TRACING: u64 = 1;

struct ThreadData {
    /// Own thread, or a pause or handshake on its behalf.
    logged: RefCell<Vec<ObjectRef>>,
    touched: Option<Arc<TouchedQueue>>,
}

/// Makes the data of an attaching thread.
pub fn attach(m: &Mutator, phase: u64, touched: Option<Arc<TouchedQueue>>) {
    m.words.iter().for_each(|word| word.set(0));
    m.words[WORD_PHASE].set(phase);
    let data = ThreadData { logged: RefCell::default(), touched };
    m.collector_data.set(Box::into_raw(Box::new(data)).cast());
}

/// Undoes [`attach`]; returns the queue.
pub fn detach(m: &Mutator) -> Option<Arc<TouchedQueue>> {
    let data = m.collector_data.replace(std::ptr::null_mut()).cast::<ThreadData>();
    assert!(!data.is_null(), "a thread detached that was not attached");
    // SAFETY: made by Box::into_raw in `attach`, and taken out of the thread above.
    unsafe { Box::from_raw(data) }.touched
}

/// The thread's queue of touched objects.
#[inline]
pub fn touched(m: &Mutator) -> Option<&TouchedQueue> {
    data(m).touched.as_deref()
}

fn data(m: &Mutator) -> &ThreadData {
    // SAFETY: set in `attach` and removed in `detach`; in between it stays in place.
    unsafe { &*m.collector_data.get().cast::<ThreadData>() }
}

/// Old objects of the snapshot that lost a reference (or were read from a weak place) and were not marked then. They
/// stay where they are until the marking ends, so plain addresses do.
#[derive(Default)]
pub struct Logged {
    handed_over: Mutex<Vec<ObjectRef>>,
}

impl Logged {
    /// Notes an object on its own thread.
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
