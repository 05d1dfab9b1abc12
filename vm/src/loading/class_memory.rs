//! `-XX:MaxMetaspaceSize`: how much the classes of a program may take.

use super::out_of_memory;
use crate::machine::{JavaThread, Vm};
use crate::runtime::{JResult, Klass};
use gc::core::outcome::CollectCause;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The memory of the classes that loaders other than the boot loader have defined, bytes: their class files, from which
/// code and constants are made, and their descriptions; an estimate. Any thread.
#[derive(Default)]
pub struct ClassMemory {
    /// Every defining thread adds. Relaxed: it guards nothing else.
    used: AtomicUsize,
    /// Bytes from which on a collection is to look for classes that can go. 0: as the options say. Relaxed, too.
    threshold: AtomicUsize,
    /// A thread has such a collection done.
    is_collecting: AtomicBool,
}

/// Counts one more class of a loader other than the boot loader: the bytes to give back when it goes. Throws
/// `OutOfMemoryError: Metaspace`. A safepoint, and it may collect.
pub fn reserve(t: &JavaThread, file_bytes: usize) -> JResult<usize> {
    let (memory, max_bytes) = (&t.vm.class_memory, t.vm.options.max_class_bytes);
    if memory.used_bytes() + estimate(file_bytes) > memory.threshold(t.vm) {
        collect(t);
    }
    let take = || match t.vm.heap.layouts().room() > ROOM_MIN {
        true => memory.take(file_bytes, max_bytes),
        false => None,
    };
    if let Some(counted) = take() {
        return Ok(counted);
    }
    // One cycle may have begun before the classes were dropped.
    for cause in [CollectCause::ClassMemory, CollectCause::LastDitch] {
        t.vm.heap.collect(&t.mutator, cause);
        if let Some(counted) = take() {
            return Ok(counted);
        }
    }
    Err(out_of_memory::throw(t, "Metaspace"))
}

/// Has a collection done for the sake of classes, unless another thread does.
fn collect(t: &JavaThread) {
    let memory = &t.vm.class_memory;
    if memory.is_collecting.swap(true, Ordering::Relaxed) {
        return;
    }
    t.vm.heap.collect(&t.mutator, CollectCause::ClassMemory);
    // Some collectors only begin a marking.
    memory.set_threshold(t.vm);
    memory.is_collecting.store(false, Ordering::Relaxed);
}

impl ClassMemory {
    fn threshold(&self, vm: &Vm) -> usize {
        match self.threshold.load(Ordering::Relaxed) {
            0 => vm.options.class_bytes_until_collection,
            set => set,
        }
    }

    /// From now on as much is free until the next collection as HotSpot's MinMetaspaceFreeRatio says.
    pub fn set_threshold(&self, vm: &Vm) {
        let next = self.used_bytes() / (100 - FREE_PERCENT) * 100;
        let next = next.max(vm.options.class_bytes_until_collection);
        self.threshold.store(next, Ordering::Relaxed);
    }

    /// Counts one more class, if there is room for it: the bytes to [`give_back`](Self::give_back) when it goes.
    pub fn take(&self, file_bytes: usize, max_bytes: usize) -> Option<usize> {
        let more = estimate(file_bytes);
        let add = |used: usize| used.checked_add(more).filter(|used| *used <= max_bytes);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).ok()?;
        Some(more)
    }

    /// Classes are gone for which this was counted.
    pub fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes of the classes that were counted.
    pub fn used_bytes(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

/// Of what classes may take until the next collection, this share is free after one.
const FREE_PERCENT: usize = 40;

/// What a class takes that was made of this many bytes: names are shared, code is kept twice, once rewritten.
fn estimate(file_bytes: usize) -> usize {
    file_bytes.saturating_mul(2).saturating_add(size_of::<Klass>() + MEMBERS_BYTES)
}

/// Ids of classes that are left for array types, and for the threads that define classes at the same time.
const ROOM_MIN: usize = 1 << 12;
/// Methods, fields, constants and tables of a small class.
const MEMBERS_BYTES: usize = 1536;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_counted_up_to_the_limit() {
        let (memory, one) = (ClassMemory::default(), estimate(1000));
        let take = |bytes, max| memory.take(bytes, max).is_some();
        assert!(take(1000, 2 * one) && take(1000, 2 * one));
        assert!(!take(0, 2 * one) && take(1000, 3 * one));
        memory.give_back(one);
        assert!(take(1000, 3 * one) && !take(0, 3 * one));
        assert!(take(1000, usize::MAX) && !take(usize::MAX / 2, usize::MAX));
    }
}
