//! The additional state of marking that is aligned with the program: [`memliner`](crate::collectors::memliner).

use super::marking::Marking;
use crate::collectors::memliner::{Marks, MemLiner};
use crate::core::heap_core::HeapCore;
use crate::memory::mark_bitmap::MarkBitmap;
use crate::object::ObjectRef;
use crate::object::geometry::RegionId;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// See the module text.
pub struct Lined {
    pub memliner: MemLiner,
    /// Objects of the snapshot that wait, unmarked, to be traced: each is in one queue, or was in one and is marked.
    /// Clear between cycles.
    waiting: MarkBitmap,
}

impl Lined {
    pub fn new(core: &Arc<HeapCore>) -> Lined {
        Lined { memliner: MemLiner::new(core.clone()), waiting: MarkBitmap::new(&core.geometry) }
    }

    /// Notes that an object waits; true for the tracer in whose queue it is to wait.
    #[inline]
    pub fn postpone(&self, object: ObjectRef) -> bool {
        self.waiting.mark(object)
    }

    /// How much memory the bits take now. Slow, for figures.
    pub fn bits_bytes(&self) -> usize {
        self.waiting.resident_bytes()
    }

    /// Forgets the objects that waited in a region. No thread marks any more.
    pub fn clear_region(&self, region: RegionId) {
        self.waiting.clear_region(region);
    }

    /// Panics if something is left of an earlier cycle. World stopped, no thread marks.
    pub fn check(&self, regions: impl Iterator<Item = RegionId>) {
        for id in regions {
            let words = self.waiting.region_words(id);
            let is_clear = words.iter().all(|word| word.load(Ordering::Relaxed) == 0);
            assert!(is_clear, "objects of {id:?} wait for the cycle that is over");
        }
    }
}

impl Marks for Marking {
    #[inline]
    fn is_white(&self, object: ObjectRef) -> bool {
        !self.is_live(object)
    }

    #[inline]
    fn claim(&self, object: ObjectRef) -> bool {
        self.bitmap.mark(object)
    }

    #[inline]
    fn postpone(&self, object: ObjectRef) -> bool {
        self.lined.as_ref().expect("only what is aligned is postponed").postpone(object)
    }
}
