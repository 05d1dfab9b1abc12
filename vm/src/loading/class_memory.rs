//! `-XX:MaxMetaspaceSize`: how much the classes of a program may take.

use crate::runtime::Klass;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The memory of the classes that loaders other than the boot loader have defined, bytes: their class files, from which
/// code and constants are made, and their descriptions. Any thread.
#[derive(Default)]
pub struct ClassMemory {
    /// Every defining thread adds. Relaxed: it guards nothing else.
    used: AtomicUsize,
}

impl ClassMemory {
    /// Counts one more class, if there is room for it: the bytes to [`give_back`](Self::give_back) when it goes.
    pub fn take(&self, file_bytes: usize, max_bytes: usize) -> Option<usize> {
        let more = file_bytes.saturating_add(size_of::<Klass>());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_counted_up_to_the_limit() {
        let (memory, one) = (ClassMemory::default(), 1000 + size_of::<Klass>());
        let take = |bytes, max| memory.take(bytes, max).is_some();
        assert!(take(1000, 2 * one) && take(1000, 2 * one));
        assert!(!take(0, 2 * one) && take(1000, 3 * one));
        memory.give_back(one);
        assert!(take(1000, 3 * one) && !take(0, 3 * one));
        assert!(take(1000, usize::MAX) && !take(usize::MAX - one, usize::MAX));
    }
}
