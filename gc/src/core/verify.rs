//! Checking the whole heap: before and after each cycle with `verify_heap`, world stopped.
//!
//! 1. Regions are walked from object to object: known classes, sane sizes, ends that meet the tops.
//! 2. Everything reachable from roots is visited: each slot decodes to null or to the start of an object found in
//!    step 1, which the collector does not take for dead; no slot outside the heap is visited twice (a
//!    collector would forward it twice); no class of it is unloaded.
//!
//! A failure panics with the finding and its place: the heap cannot be trusted any more.

use crate::core::collector::Collector;
use crate::core::heap_core::HeapCore;
use crate::memory::mark_bitmap::MarkBitmap;
use crate::memory::region::RegionUse;
use crate::object::codec::read_word;
use crate::object::geometry::RegionId;
use crate::object::{OBJECT_BYTES_MIN, ObjectRef};
use crate::threads::mutator::WorldStopped;
use crate::tracing::scan::for_every_slot;
use std::collections::HashSet;

/// The result of a verification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    pub objects: usize,
    pub reachable: usize,
    pub reachable_bytes: usize,
}

/// Checks everything, or panics. All allocation buffers must be retired. `when` is for the message.
pub fn verify(
    core: &HeapCore,
    world: &WorldStopped,
    collector: &dyn Collector,
    slot_bytes: usize,
    when: &'static str,
) -> Verified {
    let mut verifier = Verifier {
        core,
        collector,
        slot_bytes,
        when,
        starts: MarkBitmap::new(&core.geometry),
        reached: MarkBitmap::new(&core.geometry),
        stack: Vec::new(),
        seen: Verified::default(),
    };
    for (id, region) in core.regions.iter() {
        match region.usage() {
            RegionUse::Objects | RegionUse::HumongousStart if collector.is_walkable(id) => {
                verifier.walk(id);
            }
            _ => {}
        }
    }
    verifier.visit_roots(world);
    verifier.close();
    verifier.seen
}

struct Verifier<'a> {
    core: &'a HeapCore,
    collector: &'a dyn Collector,
    slot_bytes: usize,
    when: &'static str,
    starts: MarkBitmap,
    reached: MarkBitmap,
    stack: Vec<ObjectRef>,
    seen: Verified,
}

impl Verifier<'_> {
    fn walk(&mut self, id: RegionId) {
        let start = self.core.geometry.region_start(id);
        let top = start + self.core.regions.region(id).top();
        let mut at = start;
        while at < top {
            let object = ObjectRef::from_address(at);
            let bytes = self.size(object, &|| format!("walking {id:?} from {start:#x}"));
            assert!(
                at + bytes <= top,
                "{}: {object:?} of {bytes} reaches over {top:#x}",
                self.when
            );
            self.starts.mark_alone(object);
            self.seen.objects += 1;
            at += bytes;
        }
    }

    /// The size of an object whose header must be sound.
    fn size(&self, object: ObjectRef, context: &dyn Fn() -> String) -> usize {
        let klass = object.klass();
        let Some(layout) = self.core.layouts.find(klass) else {
            panic!("{}: {object:?} has unknown {klass:?}; {}", self.when, context());
        };
        let bytes = layout.object_bytes(object, self.slot_bytes);
        let sane =
            bytes >= OBJECT_BYTES_MIN && bytes % 8 == 0 && bytes <= self.core.geometry.heap_bytes();
        assert!(sane, "{}: {object:?} of {klass:?} has {bytes} bytes; {}", self.when, context());
        bytes
    }

    fn visit_roots(&mut self, world: &WorldStopped) {
        let binding = self.core.binding().clone();
        let mut words = HashSet::new();
        let mut once = |word: usize, what: &str, when: &str| {
            assert!(words.insert(word), "{when}: {what} {word:#x} is visited twice");
        };
        // The words of threads may be visited in copies, so their addresses say nothing.
        binding.visit_thread_roots(world, &mut |root| {
            self.reach(*root, &|| "thread root".to_string());
        });
        let pending = binding.pending_list();
        let mut slot = |slot: &crate::object::RootSlot, what: &str| {
            let at = &raw const *slot as usize;
            if !std::ptr::eq(slot, pending) {
                once(at, what, self.when);
            }
            let word = slot.word().load(std::sync::atomic::Ordering::Relaxed);
            let object = self.collector.decode(word);
            self.reach(object, &|| format!("{what} at {at:#x} holding {word:#x}"));
        };
        binding.visit_strong_slots(world, &mut |s| slot(s, "strong slot"));
        binding.visit_weak_slots(world, &mut |s| slot(s, "weak slot"));
        slot(pending, "pending list");
    }

    fn close(&mut self) {
        while let Some(object) = self.stack.pop() {
            let layout = self.core.layout_of(object);
            let fields = self.core.reference_fields();
            for_every_slot(layout, object, self.slot_bytes, fields, |offset| {
                let word = read_word(object, offset, self.slot_bytes);
                let value = self.collector.decode(word);
                self.reach(value, &|| {
                    format!("slot {offset} of {object:?} {:?} holding {word:#x}", object.klass())
                });
            });
        }
    }

    fn reach(&mut self, object: ObjectRef, context: &dyn Fn() -> String) {
        if object.is_null() {
            return;
        }
        let (geometry, when) = (&self.core.geometry, self.when);
        let address = object.address();
        let inside = geometry.contains(address) && address.is_multiple_of(8);
        assert!(inside, "{when}: {object:?} is no object of the heap; {}", context());
        let id = geometry.region_of(object);
        let usage = self.core.regions.region(id).usage();
        let usable =
            matches!(usage, RegionUse::Objects | RegionUse::Young | RegionUse::HumongousStart);
        assert!(usable, "{when}: {object:?} lies in {id:?}, which is {usage:?}; {}", context());
        let is_start = !self.collector.is_walkable(id) || self.starts.is_marked(object);
        assert!(is_start, "{when}: {object:?} is not where an object starts; {}", context());
        let is_dead = self.collector.is_known_dead(object);
        assert!(!is_dead, "{when}: {object:?} was found dead; {}", context());
        if self.reached.mark_alone(object) {
            let klass = object.klass();
            let is_retired = self.core.layouts.is_retired(klass);
            assert!(!is_retired, "{when}: {klass:?} of {object:?} is unloaded; {}", context());
            self.seen.reachable += 1;
            self.seen.reachable_bytes += self.size(object, context);
            self.stack.push(object);
        }
    }
}
