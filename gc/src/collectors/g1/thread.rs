//! What the collector keeps for each thread: its phase, and references that the running marking must be told of.

use crate::mutator::Mutator;
use crate::object::ObjectRef;
use parking_lot::Mutex;
use std::cell::RefCell;

/// The thread's phase: 0 or [`TRACING`]. Changes in pauses only.
pub const WORD_PHASE: usize = 0;
/// Overwritten references are logged.
pub const TRACING: u64 = 1;

/// Own thread, or a pause or handshake on its behalf.
type ThreadData = RefCell<Vec<ObjectRef>>;

/// Makes the data of an attaching thread.
pub fn attach(m: &Mutator, phase: u64) {
    m.words.iter().for_each(|word| word.set(0));
    m.words[WORD_PHASE].set(phase);
    m.collector_data.set(Box::into_raw(Box::new(ThreadData::default())).cast());
}

/// Undoes [`attach`].
pub fn detach(m: &Mutator) {
    let data = m.collector_data.replace(std::ptr::null_mut()).cast::<ThreadData>();
    assert!(!data.is_null(), "a thread detached that was not attached");
    // SAFETY: made by Box::into_raw in `attach`, and taken out of the thread above.
    drop(unsafe { Box::from_raw(data) });
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
        let mut logged = data(m).borrow_mut();
        logged.push(object);
        if logged.len() >= LOGGED_MAX {
            self.handed_over.lock().append(&mut logged);
        }
    }

    /// Takes over what a thread has; by the thread, or on its behalf.
    pub fn hand_over(&self, m: &Mutator) {
        self.handed_over.lock().append(&mut data(m).borrow_mut());
    }

    /// Everything handed over so far.
    pub fn take(&self) -> Vec<ObjectRef> {
        std::mem::take(&mut *self.handed_over.lock())
    }
}

const LOGGED_MAX: usize = 1024;
