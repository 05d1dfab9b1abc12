//! Mako's data of each thread.

use super::entry_buffer::EntryBuffer;
use super::young::table::RememberedLog;
use crate::barrier::satb::Log;
use crate::hit::EntryIndex;
use crate::object::geometry::RegionId;
use crate::threads::mutator::Mutator;
use crate::threads::thread_data::ThreadData;
use std::cell::Cell;

/// The thread's phase: a combination of [`TRACING`], [`EVACUATING`] and [`NOTING`]. Changes in pauses and
/// handshakes only.
pub const WORD_PHASE: usize = 0;
/// Address of the next index in the thread's [`EntryBuffer`]. Its memory buffer is where all
/// collectors have it (`Mutator::tlab_top`).
pub const WORD_ENTRIES: usize = 1;
/// Address of entry 0, and in its low bits [`RESOLVING`] if the phase is one in which references are resolved out of
/// line: while it is not, translating a reference needs neither another test of the phase nor another load of the
/// address.
pub const WORD_TABLE: usize = 2;

/// Overwritten references are logged.
pub const TRACING: u64 = 1;
/// Entries may name objects that must be moved or waited for before use.
pub const EVACUATING: u64 = 2;
/// It is noted which objects are touched. 4 means something else in the same word under MemLiner.
pub const NOTING: u64 = 8;

/// Of [`WORD_TABLE`]: the phase has [`EVACUATING`] or [`NOTING`].
pub const RESOLVING: u64 = 1;

/// The part of a thread that compiled code does not touch. Own thread, or a pause or handshake on
/// its behalf.
pub struct MakoThread {
    /// References that the snapshot must keep and tracing may have missed (section 3.4.2).
    pub logged: Log<EntryIndex>,
    /// The region of the allocation buffer.
    pub region: Cell<Option<RegionId>>,
    /// Where the allocation buffer really ends; its fast path ends where its entries no longer suffice.
    pub memory_end: Cell<usize>,
    pub entries: EntryBuffer,
    /// Slots of old objects that have got young references, with a nursery.
    pub remembered: RememberedLog,
}

// SAFETY: the only data of Mako's threads.
unsafe impl ThreadData for MakoThread {}

/// Makes the data of an attaching thread. `table` is the address of entry 0, of a page's alignment; any if there is no
/// table that is read. `entry_buffer` is the capacity of its buffer of entries.
pub fn attach(m: &Mutator, phase: u64, table: u64, entry_buffer: usize) {
    assert_eq!(table & RESOLVING, 0, "a table at {table:#x}");
    m.words.iter().for_each(|word| word.set(0));
    m.words[WORD_TABLE].set(table);
    set_phase(m, phase);
    let entries = EntryBuffer::new(m, entry_buffer);
    let (region, memory_end) = (Cell::new(None), Cell::new(0));
    let remembered = RememberedLog::default();
    MakoThread { logged: Log::default(), region, memory_end, entries, remembered }.attach(m);
}

/// Own thread, or a pause or handshake on its behalf.
pub fn set_phase(m: &Mutator, phase: u64) {
    m.words[WORD_PHASE].set(phase);
    let table = m.words[WORD_TABLE].get() & !RESOLVING;
    let resolving = if phase & (EVACUATING | NOTING) == 0 { 0 } else { RESOLVING };
    m.words[WORD_TABLE].set(table | resolving);
}
