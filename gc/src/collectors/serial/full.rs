//! One compaction of the whole heap, world stopped, over any codec: Serial's collection, and the last resort of
//! others.

use super::compact::Compaction;
use super::mark::Marker;
use super::plan::Plan;
use super::policy;
use crate::core::heap_core::HeapCore;
use crate::core::outcome::CollectCause;
use crate::memory::mark_bitmap::MarkBitmap;
use crate::memory::region::RegionUse;
use crate::object::codec::SlotCodec;
use crate::object::geometry::RegionId;
use crate::object::log::LogLevel;
use crate::object::{ObjectRef, RootSlot};
use crate::threads::mutator::WorldStopped;
use std::time::Instant;
use swap::{Activity, PAGE_BYTES, during};

/// Called when everything has its final place. The regions that objects are in may have another use
/// until the collection is over.
pub(in crate::collectors) trait Placed {
    /// An object or filler of `bytes`, which will be at `address`.
    fn object(&mut self, _address: usize, _bytes: usize) {}

    /// The slot that will be at `address` holds an object that will be at `target`, not null.
    fn slot(&mut self, _address: usize, _target: ObjectRef) {}
}

impl Placed for () {}

/// See the module text. All allocation buffers are retired.
pub(in crate::collectors) struct FullCollection<'a, C> {
    core: &'a HeapCore,
    codec: C,
    /// Cleared and filled by the collection.
    bitmap: &'a MarkBitmap,
    cause: CollectCause,
}

/// The result of a collection.
pub(in crate::collectors) struct Done {
    /// Regions with room behind their tops, best first.
    pub open: Vec<RegionId>,
    pub moved_bytes: usize,
}

impl<'a, C: SlotCodec> FullCollection<'a, C> {
    pub fn new(
        core: &'a HeapCore,
        codec: C,
        bitmap: &'a MarkBitmap,
        cause: CollectCause,
    ) -> FullCollection<'a, C> {
        FullCollection { core, codec, bitmap, cause }
    }

    /// `free_bytes` are those that the last cycle left free, `prefix` a [`prefix_table`](super::plan::prefix_table).
    pub fn run(
        &self,
        world: &WorldStopped,
        free_bytes: usize,
        prefix: &mut [u32],
        placed: &mut impl Placed,
    ) -> Done {
        let (core, start) = (self.core, Instant::now());
        // Those of a cycle that this collection ends.
        core.strings.take();
        {
            let _tracing = during(Activity::Tracing);
            self.mark(world, free_bytes);
        }
        self.log_phase("Phase 1: Mark live objects", start);
        let planned = Instant::now();
        let mut plan = Plan::new(core, self.codec.slot_bytes(), self.bitmap, prefix, |id| {
            policy::moves(core, core.regions.region(id), self.cause)
        });
        if policy::moves_humongous(self.cause) {
            plan.place_humongous();
        }
        self.log_phase("Phase 2: Compute new object addresses", planned);
        let moving = Instant::now();
        let _moving = during(Activity::Evacuation);
        self.forward_roots(world, &plan);
        let mut compaction = Compaction::new(core, self.codec, &plan, placed);
        compaction.run();
        let moved_bytes = compaction.moved_bytes;
        self.log_phase("Phase 3: Move objects", moving);
        let finishing = Instant::now();
        let open = self.finish_regions(&plan);
        self.log_phase("Phase 4: Free regions", finishing);
        Done { open, moved_bytes }
    }

    /// Marks everything that lives, clears references, empties weak slots, unloads classes.
    fn mark(&self, world: &WorldStopped, free: usize) {
        let (core, codec) = (self.core, self.codec);
        for (id, region) in core.regions.iter() {
            if region.usage() != RegionUse::Free {
                self.bitmap.clear_region(id);
            }
        }
        let references = core.references(free, self.cause.clears_soft_references());
        let binding = core.binding();
        let mut marker = Marker::new(core, codec, self.bitmap, references, core.holders());
        binding.visit_thread_roots(world, &mut |root| marker.mark(*root));
        let mut roots = Vec::new();
        core.visit_marking_slots(world, &marker.holders, &mut |slot| {
            roots.push(codec.read_root(slot));
        });
        roots.into_iter().for_each(|object| marker.mark(object));
        marker.mark(codec.read_root(binding.pending_list()));
        marker.drain();
        marker.process_references();
        binding.visit_weak_slots(world, &mut |slot| {
            let object = codec.read_root(slot);
            if !object.is_null() && !self.bitmap.is_marked(object) {
                codec.write_root(slot, ObjectRef::NULL);
            }
        });
        core.unload(world, &marker.holders);
        marker.references.enqueue(&codec, binding.pending_list(), |_, _, _| ());
        for (name, count) in COUNTERS.iter().zip(marker.references.counts) {
            core.stats.count(name, count);
        }
    }

    fn forward_roots(&self, world: &WorldStopped, plan: &Plan<'_>) {
        let (binding, codec) = (self.core.binding(), self.codec);
        let forward = |object: ObjectRef| match object.is_null() {
            true => object,
            false => plan.forward(object),
        };
        let forward_slot = |slot: &RootSlot| {
            codec.write_root(slot, forward(codec.read_root(slot)));
        };
        binding.visit_thread_roots(world, &mut |root| *root = forward(*root));
        let pending = binding.pending_list();
        binding.visit_strong_slots(world, &mut |slot| {
            // Forwarding it twice would be wrong, so it does not matter whether the VM counts it in.
            if !std::ptr::eq(slot, pending) {
                forward_slot(slot);
            }
        });
        binding.visit_weak_slots(world, &mut |slot| forward_slot(slot));
        forward_slot(pending);
    }

    /// Sets the tops of target regions, frees empty regions, and returns the regions with room.
    fn finish_regions(&self, plan: &Plan<'_>) -> Vec<RegionId> {
        let core = self.core;
        let targets: std::collections::BTreeMap<_, _> = plan.targets.iter().copied().collect();
        let live: usize = core.regions.iter().map(|(_, region)| region.live_bytes()).sum();
        let kept_at_most = policy::regions_kept(core, live, self.cause);
        let mut kept = kept_at_most;
        let mut open = Vec::new();
        for (id, region) in core.regions.iter() {
            if let Some(used) = targets.get(&id) {
                self.finish_target(id, *used);
            } else if self.is_dead(id, plan) {
                self.free(id, &mut kept);
                continue;
            }
            let room = core.geometry.region_bytes().saturating_sub(region.top());
            if region.usage() == RegionUse::Objects && room >= core.geometry.region_bytes() / 16 {
                open.push(id);
            }
        }
        plan.humongous.iter().for_each(|(from, to)| self.move_humongous(*from, *to));
        if !core.options.zeal() {
            // Memory kept by earlier collections counts, too.
            core.trim(kept_at_most);
        }
        open
    }

    /// Moves one humongous object to regions that are free by now, apart from its own.
    fn move_humongous(&self, from: RegionId, to: RegionId) {
        let core = self.core;
        let bytes = core.regions.region(from).top();
        let count = bytes.div_ceil(core.geometry.region_bytes());
        let old = from.0..from.0 + count as u32;
        old.clone().for_each(|id| core.regions.free(RegionId(id), false));
        core.regions.take_humongous_at(to, count, bytes);
        let (source, target) = (core.geometry.region_start(from), core.geometry.region_start(to));
        // SAFETY: both runs of regions are ours; they may overlap.
        unsafe { std::ptr::copy(source as *const u8, target as *mut u8, bytes) }
        core.regions.region(to).set_live_bytes(bytes);
        for id in old.map(RegionId) {
            if core.regions.region(id).usage() == RegionUse::Free {
                if core.options.zeal() {
                    core.poison(core.geometry.region_start(id), core.geometry.region_bytes());
                } else {
                    core.discard_region(id);
                    core.regions.region(id).set_clean(true);
                }
            }
        }
    }

    fn is_dead(&self, id: RegionId, plan: &Plan<'_>) -> bool {
        let region = self.core.regions.region(id);
        match region.usage() {
            RegionUse::Objects => plan.is_moving(id) || (region.top() == 0 && !region.is_pinned()),
            RegionUse::HumongousStart => region.live_bytes() == 0 && !region.is_pinned(),
            _ => false,
        }
    }

    fn finish_target(&self, id: RegionId, used: usize) {
        let core = self.core;
        let region = core.regions.region(id);
        if region.usage() == RegionUse::Free {
            core.regions.take_where(RegionUse::Objects, |free| free == id);
        }
        let old_top = region.top();
        region.set_top(used);
        region.set_live_bytes(used);
        if old_top <= used {
            return;
        }
        let start = core.geometry.region_start(id);
        if core.options.zeal() {
            core.poison(start + used, old_top - used);
            region.set_clean(false);
        } else if core.space.pager().is_some() {
            self.discard_tail(id, used, old_top);
        } else {
            region.set_clean(false);
        }
    }

    /// Makes the rest of a region zero without touching pages that may be remote.
    fn discard_tail(&self, id: RegionId, used: usize, old_top: usize) {
        let core = self.core;
        let start = core.geometry.region_start(id);
        let page = used.next_multiple_of(PAGE_BYTES);
        // SAFETY: nothing lives between `used` and the old top.
        unsafe {
            std::ptr::write_bytes((start + used) as *mut u8, 0, page.min(old_top) - used);
        }
        let end = core.geometry.region_bytes();
        if page < end {
            core.space.discard(core.geometry.offset(start) + page, end - page);
        }
    }

    /// Frees a region, or all regions of a dead humongous object.
    fn free(&self, id: RegionId, kept: &mut usize) {
        let core = self.core;
        let count = match core.regions.region(id).usage() {
            RegionUse::HumongousStart => {
                core.regions.region(id).top().div_ceil(core.geometry.region_bytes())
            }
            _ => 1,
        };
        for id in (0..count as u32).map(|i| RegionId(id.0 + i)) {
            if *kept > 0 && count == 1 && !core.options.zeal() {
                *kept -= 1;
                core.free_with_memory(id);
            } else {
                core.free_region(id);
            }
        }
    }

    fn log_phase(&self, name: &str, since: Instant) {
        self.core.options.log.line(LogLevel::Info, "gc,phases", || {
            let number = self.core.stats.cycles();
            format!("GC({number}) {name} {:.3}ms", since.elapsed().as_secs_f64() * 1e3)
        });
    }
}

const COUNTERS: [&str; 4] = ["soft_cleared", "weak_cleared", "final_revived", "phantom_cleared"];
