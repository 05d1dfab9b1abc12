//! Histograms: how many objects of each class are reachable, and how many bytes they have.

use crate::core::inspection::{Inspector, Objects, StoppedHeap};
use crate::object::{KlassId, ObjectRef};

/// The reachable objects of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassCount {
    pub klass: KlassId,
    pub objects: usize,
    pub bytes: usize,
}

/// Counts the objects of each class.
#[derive(Default)]
pub(crate) struct Counter {
    /// By class id.
    counts: Vec<ClassCount>,
}

impl Counter {
    /// The classes with objects, in the order of ids.
    pub fn into_counts(self) -> Vec<ClassCount> {
        self.counts.into_iter().filter(|count| count.objects > 0).collect()
    }
}

impl Inspector for Counter {
    fn begin(&mut self, heap: &StoppedHeap<'_>) {
        let none = |id| ClassCount { klass: KlassId(id), objects: 0, bytes: 0 };
        self.counts = (0..heap.klass_count()).map(none).collect();
    }

    fn object(&mut self, objects: &Objects<'_>, object: ObjectRef) {
        let count = &mut self.counts[object.klass().0 as usize];
        count.objects += 1;
        count.bytes += objects.object_bytes(object);
    }
}
