//! What Mako keeps for each thread.

use super::entry_buffer::EntryBuffer;
use crate::geometry::RegionId;
use crate::hit::EntryIndex;
use crate::mutator::Mutator;
use parking_lot::Mutex;
use std::cell::{Cell, RefCell};

/// The thread's phase: a combination of [`TRACING`] and [`EVACUATING`]. Changes in pauses and
/// handshakes only.
pub const WORD_PHASE: usize = 0;
/// Address of the next index in the thread's [`EntryBuffer`]. Its memory buffer is where all
/// collectors have it (`Mutator::tlab_top`).
pub const WORD_ENTRIES: usize = 1;
/// Address of entry 0, and in its low bits [`EVACUATING`] if the phase has it: while it has not, who translates a
/// reference needs neither a test of the phase besides nor the address from elsewhere.
pub const WORD_TABLE: usize = 2;

/// Overwritten references are logged.
pub const TRACING: u64 = 1;
/// Entries may name objects that must be moved or waited for before use.
pub const EVACUATING: u64 = 2;

/// The part of a thread that compiled code does not touch. Own thread, or a pause or handshake on
/// its behalf.
pub struct ThreadData {
    /// Overwritten and otherwise kept references since the last hand-over.
    pub logged: RefCell<Vec<EntryIndex>>,
    /// The region of the allocation buffer.
    pub region: Cell<Option<RegionId>>,
    /// Where the allocation buffer really ends; its fast path goes no further than its entries
    /// suffice.
    pub memory_end: Cell<usize>,
    pub entries: EntryBuffer,
}

/// Makes the data of an attaching thread. `table` is the address of entry 0, of a page's alignment; any if there is no
/// table that is read. `entry_buffer` is the capacity of its buffer of entries.
pub fn attach(m: &Mutator, phase: u64, table: u64, entry_buffer: usize) {
    assert_eq!(table & (TRACING | EVACUATING), 0, "a table at {table:#x}");
    m.words.iter().for_each(|word| word.set(0));
    m.words[WORD_TABLE].set(table);
    set_phase(m, phase);
    let data = ThreadData {
        logged: RefCell::default(),
        region: Cell::new(None),
        memory_end: Cell::new(0),
        entries: EntryBuffer::new(m, entry_buffer),
    };
    m.collector_data.set(Box::into_raw(Box::new(data)).cast());
}

/// Own thread, or a pause or handshake on its behalf.
pub fn set_phase(m: &Mutator, phase: u64) {
    m.words[WORD_PHASE].set(phase);
    let table = m.words[WORD_TABLE].get() & !EVACUATING;
    m.words[WORD_TABLE].set(table | phase & EVACUATING);
}

/// Undoes [`attach`].
pub fn detach(m: &Mutator) {
    let data = m.collector_data.replace(std::ptr::null_mut()).cast::<ThreadData>();
    assert!(!data.is_null(), "a thread detached that was not attached");
    // SAFETY: made by Box::into_raw in `attach`, and taken out of the thread above.
    drop(unsafe { Box::from_raw(data) });
}

#[inline]
pub fn data(m: &Mutator) -> &ThreadData {
    // SAFETY: set in `attach` and removed in `detach`; in between it stays in place.
    unsafe { &*m.collector_data.get().cast::<ThreadData>() }
}

/// References that the snapshot must keep and tracing may have missed (SATB, section 3.4.2).
pub struct Logged {
    handed_over: Mutex<Vec<EntryIndex>>,
    /// How many a thread keeps.
    buffer: usize,
}

impl Logged {
    /// Threads keep up to `buffer` of them before they hand them over.
    pub fn new(buffer: usize) -> Logged {
        Logged { handed_over: Mutex::default(), buffer }
    }

    /// Notes a reference on its own thread.
    #[inline]
    pub fn push(&self, m: &Mutator, entry: EntryIndex) {
        let mut logged = data(m).logged.borrow_mut();
        logged.push(entry);
        if logged.len() >= self.buffer {
            self.handed_over.lock().append(&mut logged);
        }
    }

    /// Takes over what a thread has; by the thread, or on its behalf.
    pub fn hand_over(&self, m: &Mutator) {
        self.handed_over.lock().append(&mut data(m).logged.borrow_mut());
    }

    /// Everything handed over so far.
    pub fn take(&self) -> Vec<EntryIndex> {
        std::mem::take(&mut *self.handed_over.lock())
    }
}
