//! String deduplication (JEP 192), `-XX:+UseStringDeduplication`: a daemon thread gives strings that collectors have
//! found (`gc/src/core/strings.rs`) the character arrays of equal strings. No Java code sees the difference, since
//! arrays of strings are never written.
//!
//! The arrays are in a table by their contents. Its slots are weak: an array lives as long as a string has it.

use super::start::start_daemon;
use crate::machine::JavaThread;
use crate::runtime::JResult;
use crate::runtime::headers::array_base;
use crate::runtime::weak_table::WeakTable;
use gc::object::{ObjectRef, RootSlot};
use parking_lot::{Condvar, Mutex};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};

/// Strings to look at, and arrays that have been seen.
pub struct Deduplication {
    /// Weak.
    found: Mutex<Vec<RootSlot>>,
    changed: Condvar,
    /// With a secret: a program's users may choose its strings.
    hasher: RandomState,
    /// By hash of the contents; sharded by it, so that nobody waits long for the thread.
    shards: Box<[Mutex<WeakTable<u64>>; SHARDS]>,
    /// A collection may have emptied slots.
    is_stale: AtomicBool,
}

/// Starts the thread if the options want it. A safepoint.
pub fn start(t: &JavaThread) -> JResult<()> {
    if !t.vm.options.heap.deduplicates_strings {
        return Ok(());
    }
    t.vm.heap.look_for_strings(t.vm.known.classes.string().id);
    start_daemon(t, "StringDedup", run)
}

fn run(t: &JavaThread) -> JResult<()> {
    let deduplication = &t.vm.threads.deduplication;
    loop {
        t.safely(|| deduplication.wait());
        if deduplication.is_stale.swap(false, Ordering::Relaxed) {
            t.safely(|| deduplication.drop_emptied());
        }
        deduplication.treat_next(t);
    }
}

impl Deduplication {
    /// Strings that a collection has found. Does not block for long.
    pub fn add(&self, slots: Vec<RootSlot>) {
        self.found.lock().extend(slots);
        self.changed.notify_all();
    }

    /// A collection is over. Does not block.
    pub fn note_collection(&self) {
        self.is_stale.store(true, Ordering::Relaxed);
    }

    /// Every weak slot, for the collector.
    pub fn visit_weak(&self, visit: &mut dyn FnMut(&RootSlot)) {
        self.found.lock().iter().filter(|slot| !slot.is_null()).for_each(&mut *visit);
        self.shards.iter().for_each(|shard| shard.lock().visit(visit));
    }

    fn wait(&self) {
        let mut found = self.found.lock();
        while found.is_empty() {
            self.changed.wait(&mut found);
        }
    }

    fn drop_emptied(&self) {
        self.shards.iter().for_each(|shard| shard.lock().drop_emptied());
    }

    /// No safepoint.
    fn treat_next(&self, t: &JavaThread) {
        let Some(string) = self.take(t) else { return };
        let at = t.vm.known.fields.string_value();
        let array = t.load_ref(string, at);
        if array.is_null() {
            return;
        }
        let equal = self.equal(t, array);
        if equal != array {
            t.store_ref(string, at, equal);
            let stats = &t.vm.heap.core().stats;
            stats.count("strings_deduplicated", 1);
            stats.count("strings_deduplicated_bytes", array.array_length() as u64);
        }
    }

    /// The next string that lives. No safepoint.
    fn take(&self, t: &JavaThread) -> Option<ObjectRef> {
        let mut found = self.found.lock();
        loop {
            let string = t.barriers().load_weak_root(&t.mutator, &found.pop()?);
            if !string.is_null() && t.klass_of(string) == t.vm.known.classes.string() {
                return Some(string);
            }
        }
    }

    /// The first array that had these contents; this one from now on, if none had. No safepoint.
    fn equal(&self, t: &JavaThread, array: ObjectRef) -> ObjectRef {
        let hash = self.hasher.hash_one(contents(array));
        let mut shard = self.shards[hash as usize % SHARDS].lock();
        for slot in shard.bucket(&hash) {
            let known = t.barriers().load_weak_root(&t.mutator, slot);
            if !known.is_null() && (known == array || contents(known) == contents(array)) {
                return known;
            }
        }
        t.store_root(shard.add(hash), array);
        array
    }
}

impl Default for Deduplication {
    fn default() -> Deduplication {
        Deduplication {
            found: Mutex::default(),
            changed: Condvar::new(),
            hasher: RandomState::new(),
            shards: Box::new(std::array::from_fn(|_| Mutex::default())),
            is_stale: AtomicBool::new(false),
        }
    }
}

/// The characters of a string. The slice is dropped before the next safepoint.
fn contents<'a>(array: ObjectRef) -> &'a [u8] {
    let first = (array.address() + array_base(1)) as *const u8;
    // SAFETY: the elements of a live `byte[]`; the caller reaches no safepoint while it has the slice, and nobody
    // writes the array of a string.
    unsafe { std::slice::from_raw_parts(first, array.array_length()) }
}

const SHARDS: usize = 64;
