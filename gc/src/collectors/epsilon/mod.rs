//! Epsilon: allocates and never collects (JEP 318). The smallest collector; `gc/examples/sticky/` adds one barrier
//! and one cycle to it.

use crate::barrier::plain_barriers::plain_barriers;
use crate::core::allocator::RegionAllocator;
use crate::core::collector::{AllocRequest, Collector, CollectorParts, CollectorPlan};
use crate::core::heap_core::HeapCore;
use crate::core::inspection;
use crate::core::outcome::{AllocFailure, CollectCause};
use crate::memory::error::HeapError;
use crate::object::ObjectRef;
use crate::object::codec::SlotCodec;
use crate::threads::mutator::Mutator;
use std::sync::Arc;

/// Epsilon needs nothing but regions.
pub struct Plan;

impl CollectorPlan for Plan {
    fn build(self: Box<Self>, core: Arc<HeapCore>) -> Result<CollectorParts, HeapError> {
        let barriers = plain_barriers(core.slot_width, !core.options.zeal(), ());
        let collector = Arc::new(Epsilon { allocator: RegionAllocator::new(core.clone()), core });
        Ok(CollectorParts { barriers, collector })
    }
}

struct Epsilon {
    allocator: RegionAllocator,
    core: Arc<HeapCore>,
}

impl Collector for Epsilon {
    fn detached(&self, m: &Mutator) {
        self.allocator.retire(m);
    }

    fn allocate(&self, m: &Mutator, request: AllocRequest) -> Result<ObjectRef, AllocFailure> {
        self.allocator.allocate(m, request).ok_or(AllocFailure::HeapFull)
    }

    /// Collects nothing, but says what is there.
    fn collect(&self, m: Option<&Mutator>, _cause: CollectCause) {
        inspection::stop_and_serve(&self.core, m, self, self.core.slot_width.bytes());
    }

    fn decode(&self, word: u64) -> ObjectRef {
        self.core.slot_width.decode(word)
    }

    fn pin(&self, _object: ObjectRef) {}

    fn unpin(&self, _object: ObjectRef) {}

    fn beans(&self) -> &'static [&'static str] {
        &["Epsilon Heap"]
    }

    fn pool(&self) -> &'static str {
        "Epsilon Heap"
    }

    fn title(&self) -> &'static str {
        "Epsilon"
    }
}
