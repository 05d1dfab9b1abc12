//! The table of inflated monitors. Inflated headers name monitors by index, or, where objects have entries, a map leads
//! from these to indices. Each monitor names its object by a weak slot, which the collector empties when the
//! object dies: then the monitor is free for another. When there are many, those whose locks are idle are retired.

use super::inflated::Inflated;
use super::lock_word::{HASH_MAX, LockState, value, with_value};
use gc::object::RootSlot;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// The inflated lock of one object, and the value of its header.
#[derive(Default)]
pub struct Monitor {
    pub lock: Inflated,
    /// What the header's value would be without the monitor: the object's entry, or its identity hash, which is set
    /// once by compare-and-set, 0 = none yet.
    pub value: AtomicU32,
    /// Weak.
    pub object: RootSlot,
    /// `object` has been set: empty means dead from now on.
    is_used: AtomicBool,
}

/// All monitors of a VM.
pub struct MonitorTable {
    chunks: Box<[AtomicPtr<[Monitor; CHUNK]>]>,
    free: Mutex<Free>,
    /// There are many monitors: idle ones should be retired.
    is_crowded: AtomicBool,
    /// From entries to indices, if objects have entries; sharded by entry.
    by_entry: OnceLock<Box<[Shard; SHARDS]>>,
}

type Shard = Mutex<HashMap<u32, u32>>;

struct Free {
    /// Monitors below this index exist.
    end: u32,
    indices: Vec<u32>,
    /// Retired monitors that a thread still looks at.
    lingering: Vec<u32>,
    /// Monitors in use at which it is time to retire idle ones.
    limit: usize,
}

impl MonitorTable {
    /// Monitors are found by the entries of their objects; before the first one is made.
    pub fn find_by_entry(&self) {
        let shards = || Box::new(std::array::from_fn(|_| Shard::default()));
        assert!(self.by_entry.set(shards()).is_ok(), "monitors are found by entry already");
    }

    /// Whether monitors are found by the entries of their objects.
    #[inline]
    pub fn are_by_entry(&self) -> bool {
        self.by_entry.get().is_some()
    }

    fn shard(&self, entry: u32) -> Option<&Shard> {
        Some(&self.by_entry.get()?[entry as usize % SHARDS])
    }

    /// The index of the monitor of an inflated object, which has this entry, or whose header has this value.
    #[inline]
    pub fn index(&self, key: u32) -> u32 {
        match self.shard(key) {
            // It is there: inflation adds it with the header, and it stays until no thread has read that header.
            Some(shard) => *shard.lock().get(&key).expect("an inflated object has a monitor"),
            None => key,
        }
    }

    /// Inflates a header, which then has the monitor of this index; false if it is not `from` any more. From now on the
    /// monitor is free when its slot is empty, and may be retired.
    pub fn publish(&self, header: &AtomicU64, from: u64, index: u32) -> bool {
        let to = LockState::Inflated.set(from);
        let replace =
            |to| header.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        let own = self.get(index).value.load(Ordering::Relaxed);
        let is_done = match self.shard(own) {
            Some(shard) => {
                let mut shard = shard.lock();
                let is_done = replace(to);
                if is_done {
                    // An entry whose object has died may still have its monitor here.
                    shard.insert(own, index);
                }
                is_done
            }
            None => replace(with_value(to, index)),
        };
        if is_done {
            self.get(index).is_used.store(true, Ordering::Release);
        }
        is_done
    }

    /// Takes a retired monitor from its object, which gets its value back if that was the monitor's index. Threads that
    /// have read the header before still find the monitor, until [`free_retired`](Self::free_retired).
    pub fn deflate(&self, header: &AtomicU64, index: u32) {
        let own = self.get(index).value.load(Ordering::Acquire);
        let change = |old| {
            let free = LockState::Free.set(old);
            match LockState::of(old) {
                LockState::Inflated if self.are_by_entry() => Some(free),
                LockState::Inflated if value(old) == index => Some(with_value(free, own)),
                _ => None,
            }
        };
        let old = header.fetch_update(Ordering::AcqRel, Ordering::Acquire, change);
        assert!(old.is_ok(), "header {old:x?} of retired monitor {index}");
    }

    /// The map forgets a monitor whose object has died.
    fn forget(&self, index: u32) {
        let own = self.get(index).value.load(Ordering::Relaxed);
        if let Some(shard) = self.shard(own) {
            let mut shard = shard.lock();
            // The entry may be another object's by now, with a monitor of its own.
            if shard.get(&own) == Some(&index) {
                shard.remove(&own);
            }
        }
    }

    /// The monitor of an index.
    #[inline]
    pub fn get(&self, index: u32) -> &Monitor {
        let chunk = self.chunks[index as usize / CHUNK].load(Ordering::Acquire);
        // SAFETY: an index of a header was given out by `take`, after its chunk was published; chunks
        // live as long as the table.
        unsafe { &(&*chunk)[index as usize % CHUNK] }
    }

    /// A monitor that no other thread uses. Follow with `publish` or `give_back`.
    pub fn take(&self) -> u32 {
        let mut free = self.free.lock();
        if free.used() + 1 >= free.limit {
            self.is_crowded.store(true, Ordering::Relaxed);
        }
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

    /// The monitor was not needed. `empty` empties its slot, while no [`sweep`](Self::sweep) can run: it would
    /// take the empty slot for the death of an object, and the monitor would be free twice.
    pub fn give_back(&self, index: u32, empty: impl FnOnce(&RootSlot)) {
        let mut free = self.free.lock();
        let monitor = self.get(index);
        empty(&monitor.object);
        monitor.is_used.store(false, Ordering::Relaxed);
        free.indices.push(index);
    }

    /// Whether idle monitors should be retired.
    #[inline]
    pub fn is_crowded(&self) -> bool {
        self.is_crowded.load(Ordering::Relaxed)
    }

    /// Whether the caller should retire idle monitors: true for one thread at a time.
    pub fn take_crowded(&self) -> bool {
        self.is_crowded() && self.is_crowded.swap(false, Ordering::Relaxed)
    }

    /// Retires the monitors whose locks are idle; returns them, and how many were in use. They stay as they are until
    /// [`free_retired`](Self::free_retired). Any thread.
    pub fn retire(&self) -> (Vec<u32>, usize) {
        let (end, used) = {
            let free = self.free.lock();
            (free.end, free.used())
        };
        let retire = |index: &u32| {
            // So that a sweep does not free it at the same time.
            let _free = self.free.lock();
            let monitor = self.get(*index);
            monitor.is_used.load(Ordering::Acquire) && monitor.lock.try_retire()
        };
        ((0..end).filter(retire).collect(), used)
    }

    /// Frees retired monitors, after every thread has passed a safepoint; those that a thread still looks at, next
    /// time. Returns how many it freed. `empty` empties a slot.
    pub fn free_retired(&self, retired: Vec<u32>, empty: impl Fn(&RootSlot)) -> usize {
        let mut free = self.free.lock();
        let lingering = std::mem::take(&mut free.lingering);
        let is_pinned = |index: &u32| self.get(*index).lock.is_pinned();
        let (lingering, freed): (Vec<u32>, Vec<u32>) =
            lingering.into_iter().chain(retired).partition(is_pinned);
        for index in &freed {
            let monitor = self.get(*index);
            self.forget(*index);
            monitor.is_used.store(false, Ordering::Relaxed);
            empty(&monitor.object);
        }
        free.lingering = lingering;
        free.indices.extend(&freed);
        free.limit = LIMIT_MIN.max(2 * free.used());
        freed.len()
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
    /// alive. Whoever has retired a monitor frees it.
    pub fn sweep(&self) {
        let mut free = self.free.lock();
        for index in 0..free.end {
            let monitor = self.get(index);
            let is_dead = monitor.is_used.load(Ordering::Acquire) && monitor.object.is_null();
            if is_dead && !monitor.lock.is_retired() {
                self.forget(index);
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
            free: Mutex::new(Free {
                end: 0,
                indices: Vec::new(),
                lingering: Vec::new(),
                limit: LIMIT_MIN,
            }),
            is_crowded: AtomicBool::new(false),
            by_entry: OnceLock::new(),
        }
    }
}

impl Free {
    fn used(&self) -> usize {
        self.end as usize - self.indices.len()
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

/// Fewer monitors than this are left as they are.
const LIMIT_MIN: usize = 1024;
const SHARDS: usize = 64;
const CHUNK: usize = 4096;
const CHUNKS: usize = 16384;
const MAX: usize = CHUNK * CHUNKS - 1;
const _: () = assert!(MAX <= HASH_MAX as usize);

#[cfg(test)]
mod tests {
    use super::*;

    /// An object gets the monitor.
    fn publish(table: &MonitorTable, index: u32) {
        table.get(index).object.word().store(64, Ordering::Relaxed);
        assert!(table.publish(&AtomicU64::new(0), 0, index));
    }

    #[test]
    fn monitors_of_dead_objects_are_used_again() {
        let table = MonitorTable::default();
        let taken: Vec<u32> = (0..CHUNK as u32 + 1).map(|_| table.take()).collect();
        assert_eq!(taken.last(), Some(&(CHUNK as u32)));
        publish(&table, 5);
        // Taken but not yet used: must survive.
        table.sweep();
        assert_eq!(table.take(), CHUNK as u32 + 1);
        table.get(5).object.word().store(0, Ordering::Relaxed);
        table.sweep();
        assert_eq!(table.take(), 5);
    }

    #[test]
    fn idle_monitors_are_retired_when_there_are_many() {
        let table = MonitorTable::default();
        let take = || {
            let index = table.take();
            table.get(index).lock.begin(0, 0);
            publish(&table, index);
        };
        let empty = |slot: &RootSlot| slot.word().store(0, Ordering::Relaxed);
        (1..LIMIT_MIN).for_each(|_| take());
        assert!(!table.is_crowded());
        take();
        assert!(table.take_crowded() && !table.take_crowded());
        // One is owned, another has a thread that is about to enter.
        assert!(table.get(3).lock.try_enter(1));
        table.get(4).lock.pin();
        let (retired, used) = table.retire();
        assert_eq!((retired.len(), used), (LIMIT_MIN - 2, LIMIT_MIN));
        assert!(!table.get(5).lock.try_enter(1), "retired");
        // A thread that comes too late pins it nevertheless.
        table.get(6).lock.pin();
        assert_eq!(table.free_retired(retired, empty), LIMIT_MIN - 3);
        assert!(table.get(7).object.is_null() && !table.get(6).object.is_null());
        assert!(!table.get(6).lock.enter(1));
        (0..LIMIT_MIN - 3).for_each(|_| take());
        assert!(table.take_crowded(), "the least limit again");
        let (retired, _) = table.retire();
        assert_eq!(table.free_retired(retired, empty), LIMIT_MIN - 2, "with the one that lingered");
    }

    #[test]
    fn headers_with_entries_keep_them() {
        let table = MonitorTable::default();
        table.find_by_entry();
        let header = AtomicU64::new(with_value(0, 700));
        let use_entry = |header: &AtomicU64| {
            let index = table.take();
            table.get(index).value.store(700, Ordering::Relaxed);
            table.get(index).object.word().store(64, Ordering::Relaxed);
            table.get(index).lock.begin(0, 0);
            let old = header.load(Ordering::Relaxed);
            assert!(table.publish(header, old, index));
            assert!(!table.publish(header, old, index), "it is inflated by now");
            index
        };
        let first = use_entry(&header);
        let inflated = header.load(Ordering::Relaxed);
        assert_eq!((LockState::of(inflated), value(inflated)), (LockState::Inflated, 700));
        assert_eq!(table.index(700), first);
        // The object dies, and another has its entry before the sweep.
        table.get(first).object.word().store(0, Ordering::Relaxed);
        let header = AtomicU64::new(with_value(0, 700));
        let second = use_entry(&header);
        table.sweep();
        assert_eq!(table.index(700), second);
        // Its monitor is retired.
        assert_eq!(table.retire().0, [second]);
        table.deflate(&header, second);
        assert_eq!(header.load(Ordering::Relaxed), with_value(0, 700));
        assert_eq!(table.index(700), second, "for a thread that has read the header before");
        let third = use_entry(&header);
        assert_eq!(table.index(700), third);
        assert_eq!(table.free_retired(vec![second], |_| ()), 1);
        assert_eq!(table.index(700), third);
    }
}
