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
    /// Whether there is room for one more class; if so, it is counted.
    pub fn take(&self, file_bytes: usize, max_bytes: usize) -> bool {
        let more = file_bytes.saturating_add(size_of::<Klass>());
        let add = |used: usize| used.checked_add(more).filter(|used| *used <= max_bytes);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
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
        assert!(memory.take(1000, 2 * one) && memory.take(1000, 2 * one));
        assert!(!memory.take(0, 2 * one) && memory.take(1000, 3 * one));
        assert!(memory.take(1000, usize::MAX) && !memory.take(usize::MAX - one, usize::MAX));
    }
}
