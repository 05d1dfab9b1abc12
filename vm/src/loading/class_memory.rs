//! How much classes take, and `-XX:MaxMetaspaceSize`: how much those of a program may take.

use super::out_of_memory;
use crate::machine::{JavaThread, Vm};
use crate::runtime::{JResult, Klass};
use gc::core::outcome::CollectCause;
use gc::threads::binding::ClassBytes;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The memory of the classes that loaders other than the boot loader have defined, bytes: their class files, from which
/// code and constants are made, and their descriptions; an estimate. Any thread.
#[derive(Default)]
pub struct ClassMemory {
    /// Every defining thread adds. Relaxed: it guards nothing else.
    used: AtomicUsize,
    /// The same of the classes of the boot loader, which have no limit. Relaxed, as are all of these.
    boot: AtomicUsize,
    /// For how many classes bytes were counted, of all loaders.
    classes: AtomicUsize,
    /// Bytes from which on a collection is to look for classes that can go. 0: as the options say.
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
        self.classes.fetch_add(1, Ordering::Relaxed);
        Some(more)
    }

    /// Counts one more class of the boot loader. Returns the bytes.
    pub fn add_boot(&self, file_bytes: usize) -> usize {
        let more = estimate(file_bytes);
        self.boot.fetch_add(more, Ordering::Relaxed);
        self.classes.fetch_add(1, Ordering::Relaxed);
        more
    }

    /// As many classes are gone, for which these bytes were counted: hidden ones of the boot loader, or others.
    pub fn give_back(&self, bytes: usize, classes: usize, are_boot: bool) {
        let counter = if are_boot { &self.boot } else { &self.used };
        counter.fetch_sub(bytes, Ordering::Relaxed);
        self.classes.fetch_sub(classes, Ordering::Relaxed);
    }

    /// What the classes of all loaders take, the boot loader's too.
    pub fn of_all_loaders(&self) -> ClassBytes {
        let all = self.used_bytes() + self.boot.load(Ordering::Relaxed);
        let descriptions = self.classes.load(Ordering::Relaxed) * size_of::<Klass>();
        ClassBytes { descriptions, others: all.saturating_sub(descriptions) }
    }

    /// Bytes of the classes of other loaders than the boot loader.
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
        memory.give_back(one, 1, false);
        assert!(take(1000, 3 * one) && !take(0, 3 * one));
        assert!(take(1000, usize::MAX) && !take(usize::MAX / 2, usize::MAX));
    }

    #[test]
    fn classes_of_the_boot_loader_are_counted_beside_the_limit() {
        let (memory, one) = (ClassMemory::default(), estimate(1000));
        memory.add_boot(1000);
        assert_eq!(memory.used_bytes(), 0);
        let taken = memory.take(1000, one).expect("there is room for one");
        let both =
            ClassBytes { descriptions: 2 * size_of::<Klass>(), others: 2 * (2000 + MEMBERS_BYTES) };
        assert_eq!(memory.of_all_loaders(), both);
        memory.give_back(taken, 1, false);
        assert_eq!(memory.of_all_loaders().descriptions, size_of::<Klass>());
        // Hidden classes of the boot loader go.
        memory.give_back(one, 1, true);
        assert_eq!(memory.of_all_loaders(), ClassBytes::default());
    }
}
