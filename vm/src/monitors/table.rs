//! The table of inflated monitors. Lock words name monitors by index; each names its object by a weak slot,
//! which the collector empties when the object dies: then the monitor is free for another.

use super::inflated::Inflated;
use super::lock_word::HASH_MAX;
use gc::object::RootSlot;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// The inflated lock and hash of one object.
#[derive(Default)]
pub struct Monitor {
    pub lock: Inflated,
    /// Identity hash, 0 = none yet. Set once by compare-and-set.
    pub hash: AtomicU32,
    /// Weak.
    pub object: RootSlot,
    /// `object` has been set: empty means dead from now on.
    is_used: AtomicBool,
}

/// All monitors of a VM.
pub struct MonitorTable {
    chunks: Box<[AtomicPtr<[Monitor; CHUNK]>]>,
    free: Mutex<Free>,
}

#[derive(Default)]
struct Free {
    /// Monitors below this index exist.
    end: u32,
    indices: Vec<u32>,
}

impl MonitorTable {
    /// The monitor of an inflated lock word.
    #[inline]
    pub fn get(&self, index: u32) -> &Monitor {
        let chunk = self.chunks[index as usize / CHUNK].load(Ordering::Acquire);
        // SAFETY: an index in a lock word was given out by `take`, after its chunk was published; chunks
        // live as long as the table.
        unsafe { &(&*chunk)[index as usize % CHUNK] }
    }

    /// A monitor that no other thread uses. Follow with `use_for` or `give_back`.
    pub fn take(&self) -> u32 {
        let mut free = self.free.lock();
        if let Some(index) = free.indices.pop() {
            return index;
        }
        let index = free.end;
        assert!(index as usize <= MAX, "more than {MAX} contended monitors");
        if (index as usize).is_multiple_of(CHUNK) {
            let chunk: Box<[Monitor]> = (0..CHUNK).map(|_| Monitor::default()).collect();
            let chunk = Box::into_raw(chunk).cast::<[Monitor; CHUNK]>();
            self.chunks[index as usize / CHUNK].store(chunk, Ordering::Release);
        }
        free.end += 1;
        index
    }

    /// From now on the monitor is free when its slot is empty.
    pub fn use_for_object(&self, index: u32) {
        self.get(index).is_used.store(true, Ordering::Release);
    }

    /// The monitor was not needed. `empty` empties its slot, while no [`sweep`](Self::sweep) can run: it would
    /// take the empty slot for the death of an object, and the monitor would be free twice.
    pub fn give_back(&self, index: u32, empty: impl FnOnce(&RootSlot)) {
        let mut free = self.free.lock();
        let monitor = self.get(index);
        empty(&monitor.object);
        monitor.is_used.store(false, Ordering::Relaxed);
        free.indices.push(index);
    }

    /// Weak slots, for the collector.
    pub fn visit(&self, visit: &mut dyn FnMut(&RootSlot)) {
        let end = self.free.lock().end;
        (0..end)
            .map(|index| &self.get(index).object)
            .filter(|slot| !slot.is_null())
            .for_each(visit);
    }

    /// Makes a thread leave every monitor here that it owns. Called by that thread.
    pub fn leave_all(&self, owner: u32) {
        let end = self.free.lock().end;
        for index in 0..end {
            let lock = &self.get(index).lock;
            while lock.is_owned_by(owner) {
                lock.exit(owner);
            }
        }
    }

    /// Frees the monitors of dead objects. No thread is in them: a thread that enters or waits keeps the object
    /// alive.
    pub fn sweep(&self) {
        let mut free = self.free.lock();
        for index in 0..free.end {
            let monitor = self.get(index);
            if monitor.is_used.load(Ordering::Acquire) && monitor.object.is_null() {
                monitor.is_used.store(false, Ordering::Relaxed);
                free.indices.push(index);
            }
        }
    }
}

impl Default for MonitorTable {
    fn default() -> Self {
        MonitorTable {
            chunks: (0..CHUNKS).map(|_| AtomicPtr::default()).collect(),
            free: Mutex::default(),
        }
    }
}

impl Drop for MonitorTable {
    fn drop(&mut self) {
        for chunk in &*self.chunks {
            let chunk = chunk.load(Ordering::Relaxed);
            if !chunk.is_null() {
                // SAFETY: `take` made it from a box of a slice of this length.
                drop(unsafe { Box::from_raw(chunk as *mut [Monitor]) });
            }
        }
    }
}

const CHUNK: usize = 4096;
const CHUNKS: usize = 16384;
const MAX: usize = CHUNK * CHUNKS - 1;
const _: () = assert!(MAX <= HASH_MAX as usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monitors_of_dead_objects_are_used_again() {
        let table = MonitorTable::default();
        let taken: Vec<u32> = (0..CHUNK as u32 + 1).map(|_| table.take()).collect();
        assert_eq!(taken.last(), Some(&(CHUNK as u32)));
        table.get(5).object.word().store(64, Ordering::Relaxed);
        table.use_for_object(5);
        // Taken but not yet used: must survive.
        table.sweep();
        assert_eq!(table.take(), CHUNK as u32 + 1);
        table.get(5).object.word().store(0, Ordering::Relaxed);
        table.sweep();
        assert_eq!(table.take(), 5);
    }
}
