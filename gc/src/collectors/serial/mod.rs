//! Serial: stops the world, marks, slides live objects together. The yardstick of correctness.
//!
//! Slots hold addresses, as the codec says: whole ones, eighths of them, or for another collector that compacts so
//! ([`Serial::over`]) its own. One thread, the one that asked, does everything in one pause:
//!
//! 1. **Mark** ([`mark`]). From roots through slots; references by
//!    [`References`](crate::tracing::references::References). The bitmap ends up with a bit for *every word* of
//!    every live object, not only the first.
//! 2. **Plan** ([`policy`], [`plan`]). Which regions move: not pinned ones, not those that are nearly all live,
//!    humongous ones only in the last cycle before an `OutOfMemoryError` (upwards, to make free regions adjacent).
//!    Then the new addresses of each moving region's objects: the live words of a region, in order, fill one or two
//!    target regions. With the number of live words before each bitmap word, a new address is a popcount
//!    (`Plan::forward`): no forwarding words, no pass to install them, no limit on the heap.
//! 3. **Slide** ([`compact`]). Regions in ascending order; each live object is moved, then its slots are forwarded.
//!    Except for marking this is the only pass that touches objects, which matters when they are remote.
//! 4. Free regions, give memory back, empty the dead memory.
//!
//! No extra space is needed: targets are taken in ascending order from all regions that are free or move, and an
//! object does not straddle regions, so the target position never overtakes the source: by induction it is in the
//! same region at a lower or equal offset (then the object fits, as it did before) or in a lower region.
//! Under zeal the targets are the free regions only, if there are enough, so that everything really moves.

mod compact;
mod cycle;
pub(super) mod full;
mod mark;
pub(super) mod plan;
mod policy;

use crate::barrier::plain_barriers::plain_barriers;
use crate::core::allocator::RegionAllocator;
use crate::core::collector::{AllocRequest, Collector, CollectorParts, CollectorPlan};
use crate::core::heap_core::HeapCore;
use crate::core::outcome::{AllocFailure, CollectCause};
use crate::memory::error::HeapError;
use crate::memory::mark_bitmap::MarkBitmap;
use crate::memory::zeroed::Zeroed;
use crate::object::ObjectRef;
use crate::object::codec::{NarrowCodec, PlainCodec, SlotCodec, SlotWidth};
use crate::threads::mutator::Mutator;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Serial needs nothing but regions.
pub struct SerialPlan;

impl CollectorPlan for SerialPlan {
    fn build(self: Box<Self>, core: Arc<HeapCore>) -> Result<CollectorParts, HeapError> {
        let barriers = plain_barriers(core.slot_width, !core.options.zeal(), ());
        let collector: Arc<dyn Collector> = match core.slot_width {
            SlotWidth::Narrow => Arc::new(Serial::over(core, NarrowCodec, "Serial")),
            SlotWidth::Wide => Arc::new(Serial::over(core, PlainCodec, "Serial")),
        };
        Ok(CollectorParts { barriers, collector })
    }
}

/// The collector. Its tables are only touched in pauses.
pub(super) struct Serial<C> {
    core: Arc<HeapCore>,
    codec: C,
    title: &'static str,
    allocator: RegionAllocator,
    bitmap: MarkBitmap,
    /// Live words of a region before each bitmap word.
    prefix: Mutex<Zeroed<u32>>,
    /// The bytes that the last cycle left free; for the soft reference policy. Relaxed.
    free_bytes: AtomicUsize,
}

impl<C: SlotCodec> Collector for Serial<C> {
    fn metadata(&self) -> Vec<(&'static str, usize)> {
        let mut all = vec![("mark_bits", self.bitmap.resident_bytes())];
        // A collection has it while it lasts.
        all.extend(self.prefix.try_lock().map(|prefix| ("live_before", prefix.resident_bytes())));
        all
    }

    fn detached(&self, m: &Mutator) {
        self.allocator.retire(m);
    }

    fn allocate(&self, m: &Mutator, request: AllocRequest) -> Result<ObjectRef, AllocFailure> {
        let mut cause = CollectCause::AllocationFailure;
        loop {
            let seen = self.core.stats.cycles();
            if let Some(object) = self.allocator.allocate(m, request) {
                return Ok(object);
            }
            // Another thread's cycle may have made room; only one of ours says that there is none.
            if !self.cycle(Some(m), cause, &|| self.core.stats.cycles() == seen) {
                continue;
            }
            if let Some(object) = self.allocator.allocate(m, request) {
                return Ok(object);
            }
            if cause == CollectCause::LastDitch {
                return Err(AllocFailure::HeapFull);
            }
            // The limit may have been in the way: it makes room for a large object, then it is dropped, until the
            // next ordinary cycle.
            let used = self.core.regions.used_bytes();
            self.allocator.set_limit(policy::limit_bytes(&self.core, used + request.bytes));
            if let Some(object) = self.allocator.allocate(m, request) {
                return Ok(object);
            }
            self.allocator.set_limit(self.core.geometry.heap_bytes());
            cause = CollectCause::LastDitch;
        }
    }

    fn collect(&self, m: Option<&Mutator>, cause: CollectCause) {
        self.cycle(m, cause, &|| true);
    }

    fn decode(&self, word: u64) -> ObjectRef {
        self.codec.decode(word)
    }

    fn pin(&self, object: ObjectRef) {
        self.core.region_of(object).pin();
    }

    fn unpin(&self, object: ObjectRef) {
        self.core.region_of(object).unpin();
    }

    fn beans(&self) -> &'static [&'static str] {
        &["MarkSweepCompact"]
    }

    fn pool(&self) -> &'static str {
        "Tenured Gen"
    }

    fn title(&self) -> &'static str {
        self.title
    }
}

impl<C: SlotCodec> Serial<C> {
    /// The collector of a heap whose slots are encoded by `codec`; `title` is its name in the log. Barriers need not
    /// report anything to it.
    pub fn over(core: Arc<HeapCore>, codec: C, title: &'static str) -> Serial<C> {
        let allocator = RegionAllocator::new(core.clone());
        allocator.set_limit(policy::limit_bytes(&core, 0));
        Serial {
            allocator,
            codec,
            title,
            bitmap: MarkBitmap::new(&core.geometry),
            prefix: Mutex::new(plan::prefix_table(&core.geometry)),
            free_bytes: AtomicUsize::new(core.geometry.heap_bytes()),
            core,
        }
    }

    /// Where mutators allocate.
    pub(in crate::collectors) fn allocator(&self) -> &RegionAllocator {
        &self.allocator
    }

    fn set_free_bytes(&self, bytes: usize) {
        self.free_bytes.store(bytes, Ordering::Relaxed);
    }
}
