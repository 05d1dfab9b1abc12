//! Counters, and on whose account a fault goes.

use std::cell::Cell;

/// On whose account a thread's faults go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum ThreadClass {
    /// A thread of the program. The default.
    #[default]
    Mutator = 0,
    /// A thread of the collector.
    Gc = 1,
}

thread_local! {
    // Without destructor and lazy initialisation, so that the fault handler may read it.
    static CLASS: Cell<ThreadClass> = const { Cell::new(ThreadClass::Mutator) };
}

/// Sets the class of the calling thread; returns the previous one.
pub fn set_thread_class(class: ThreadClass) -> ThreadClass {
    CLASS.replace(class)
}

/// The class of the calling thread.
pub fn thread_class() -> ThreadClass {
    CLASS.get()
}

/// What a pager has done so far. Arrays are indexed by [`ThreadClass`].
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct PagerStats {
    /// Faults on pages that had to be fetched.
    pub fetch_faults: [u64; 2],
    /// Faults on pages that were never written: nothing fetched.
    pub zero_faults: [u64; 2],
    /// Faults because a clean page was written for the first time.
    pub protect_faults: [u64; 2],
    /// Faults that found the page locked by another thread and waited.
    pub waits: [u64; 2],
    /// Faults that had to make room themselves.
    pub self_evictions: [u64; 2],
    /// Pages fetched without a fault ([`crate::Pager::fetch`], pin).
    pub prefetched_pages: u64,
    /// Bytes read from servers.
    pub fetched_bytes: u64,
    /// Bytes written to servers.
    pub written_bytes: u64,
    /// Pages dropped for lack of room.
    pub evicted_pages: u64,
    /// Of these, pages that were clean and not written.
    pub evicted_clean_pages: u64,
    /// Pages that are in local memory now.
    pub resident_pages: u64,
    /// The most pages that ever were.
    pub resident_pages_max: u64,
}
