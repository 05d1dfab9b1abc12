//! Epsilon: allocates and never collects (JEP 318). The smallest collector, to copy from.

use crate::allocator::RegionAllocator;
use crate::collector::{AllocRequest, Collector, CollectorParts, CollectorPlan};
use crate::evaluated::Evaluated;
use crate::heap::{AllocFailure, CollectCause, HeapError};
use crate::heap_core::HeapCore;
use crate::mutator::Mutator;
use crate::object::ObjectRef;
use crate::plain_barriers::PlainBarriers;
use std::sync::Arc;

/// Epsilon needs nothing but regions.
pub struct Plan;

impl CollectorPlan for Plan {
    fn build(self: Box<Self>, core: Arc<HeapCore>) -> Result<CollectorParts, HeapError> {
        let barriers = Box::new(Evaluated(PlainBarriers::new(&core.options)));
        let collector = Arc::new(Epsilon { allocator: RegionAllocator::new(core) });
        Ok(CollectorParts { barriers, collector })
    }
}

struct Epsilon {
    allocator: RegionAllocator,
}

impl Collector for Epsilon {
    fn detached(&self, m: &Mutator) {
        self.allocator.retire(m);
    }

    fn allocate(&self, m: &Mutator, request: AllocRequest) -> Result<ObjectRef, AllocFailure> {
        self.allocator.allocate(m, request).ok_or(AllocFailure::HeapFull)
    }

    fn collect(&self, _m: Option<&Mutator>, _cause: CollectCause) {}

    fn decode(&self, word: u64) -> ObjectRef {
        ObjectRef::from_address(word as usize)
    }

    fn pin(&self, _object: ObjectRef) {}

    fn unpin(&self, _object: ObjectRef) {}

    fn beans(&self) -> &'static [&'static str] {
        &["Epsilon Heap"]
    }

    fn title(&self) -> &'static str {
        "Epsilon"
    }
}
