//! Sticky: Epsilon with one barrier and one cycle, which marks, frees whole regions, and leaves its marks to the next.
//!
//! **Idea.** Most objects die young. A mark that is not cleared after a cycle says that its object is old (the sticky
//! mark bits of Demers and others, 1990): an object without a mark was made since. The next cycle takes all old
//! objects for alive and looks for live ones among the young only. Nothing moves, and a region may hold both. Old
//! garbage is found by a *full* cycle, which is the same but begins without marks, so that all objects are young.
//!
//! **Barrier.** Old objects that refer to young ones must be found without reading all old objects. So each store to an
//! object dirties the object's *card*, one byte for 512 bytes of heap: a shift, and a store of one byte. It is the card
//! of the header, not of the slot, so that the mark bitmap says which old objects are on a dirty card.
//!
//! **Phases** of a cycle, all in one pause:
//!
//! 1. Clear all marks if the cycle is full: one is asked for, or the last one left less than a quarter of the heap.
//! 2. Clean the cards. Mark the referents of roots and of old objects on dirty cards, their referents, and so on.
//!    Then treat soft, weak, final and phantom references.
//! 3. Free the regions without marks.
//!
//! **Invariants** between a cycle and the first store after it: (1) Each slot of a marked object, the referent of a
//! reference object included, holds null or a marked object. (2) All cards are clean, and free regions have no marks.
//!
//! **Why nothing that lives is freed.** Freed objects are not marked. Take an object that is reachable when a cycle
//! begins, and the first unmarked object on a path to it. A root refers to that, and the cycle visits it; or a marked
//! object does. The latter referred to no unmarked object after the last cycle (1), so it was written to since; the
//! barrier dirtied its card, which was clean (2), and the cycle scans it. Either way the unmarked object is marked and
//! scanned, and so in turn is the rest of the path. In the end all that is reachable is marked, and all that is marked
//! has been scanned: (1) holds again. No barrier reaches a safepoint, so no pause lies between a store and its card.
//!
//! **Limits.** One live object keeps its region from being freed: scattered ones fill the heap sooner than with Serial.

use gc::barrier::plain_barriers::{AfterStore, plain_barriers};
use gc::barrier::{barrier_asm::BarrierAsm, barriers::Slot};
use gc::core::collector::{AllocRequest, Collector, CollectorParts, CollectorPlan};
use gc::core::outcome::{AllocFailure, CollectCause};
use gc::core::{allocator::RegionAllocator, heap_core::HeapCore, inspection, verify};
use gc::memory::{error::HeapError, mark_bitmap::MarkBitmap, region::RegionUse, zeroed::Zeroed};
use gc::object::codec::{SlotCodec, SlotWidth};
use gc::object::{ObjectRef, geometry::RegionId, layout::ReferenceKind, log::LogLevel};
use gc::threads::mutator::{Mutator, WorldStopped};
use gc::tracing::references::{Discovered, References, Referent};
use gc::tracing::{mark_stack::MarkStack, scan};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::time::Instant;

pub struct StickyPlan;

impl CollectorPlan for StickyPlan {
    fn build(self: Box<Self>, core: Arc<HeapCore>) -> Result<CollectorParts, HeapError> {
        let bytes = Arc::new(Zeroed::new(core.geometry.heap_bytes() >> CARD_SHIFT));
        let cards = Cards { base: core.geometry.base, bytes };
        let barriers = plain_barriers(core.slot_width, !core.options.zeal(), cards.clone());
        let collector = Arc::new(Sticky {
            allocator: RegionAllocator::new(core.clone()),
            codec: core.slot_width,
            marks: MarkBitmap::new(&core.geometry),
            cards,
            is_short: AtomicBool::new(false),
            core,
        });
        Ok(CollectorParts { barriers, collector })
    }
}

/// A byte for each card of the heap. Mutators dirty cards, cycles clean them.
#[derive(Clone)]
struct Cards {
    base: usize,
    bytes: Arc<Zeroed<AtomicU8>>,
}

const CARD_SHIFT: u8 = 9;
const CARD_BYTES: usize = 1 << CARD_SHIFT;
const CLEAN: u8 = 0;
const DIRTY: u8 = 1;

impl Cards {
    fn card(&self, address: usize) -> &AtomicU8 {
        &self.bytes[(address - self.base) >> CARD_SHIFT]
    }

    /// Where the card of address 0 would be: barriers need not subtract the base.
    fn origin(&self) -> u64 {
        (self.bytes.as_ptr() as u64).wrapping_sub((self.base >> CARD_SHIFT) as u64)
    }
}

/// The barrier. Epsilon has `()` in its place.
impl AfterStore for Cards {
    /// Of stores, exchanges and swaps, written once: the interpreter runs it, the compiler emits it. Also of the first
    /// stores to a new object, which may have become old since it was allocated.
    #[inline(always)]
    fn wrote<A: BarrierAsm + ?Sized>(&self, a: &mut A, slot: Slot<A::Value>, _value: A::Value) {
        if let Some(object) = slot.object() {
            let (origin, dirty) = (a.constant(self.origin()), a.constant(DIRTY.into()));
            let number = a.shift_right(object, CARD_SHIFT);
            a.store8(origin, number, dirty);
        }
    }

    /// Of array copies and clones, which are not emitted.
    fn wrote_range(&self, object: u64, _offset: usize, _bytes: usize) {
        self.card(object as usize).store(DIRTY, Relaxed);
    }
}

/// The collector. Marks change in pauses only.
struct Sticky {
    core: Arc<HeapCore>,
    allocator: RegionAllocator,
    codec: SlotWidth,
    /// The first words of old objects.
    marks: MarkBitmap,
    cards: Cards,
    /// The last cycle left less than a quarter of the heap: the next one is full.
    is_short: AtomicBool,
}

impl Collector for Sticky {
    fn detached(&self, m: &Mutator) {
        self.allocator.retire(m);
    }

    fn allocate(&self, m: &Mutator, request: AllocRequest) -> Result<ObjectRef, AllocFailure> {
        for cause in [CollectCause::AllocationFailure, CollectCause::LastDitch] {
            loop {
                let seen = self.core.stats.cycles();
                if let Some(object) = self.allocator.allocate(m, request) {
                    return Ok(object);
                }
                // Another thread's cycle may have made room; only one of ours says that there is none.
                if self.cycle(Some(m), cause, &|| self.core.stats.cycles() == seen) {
                    break;
                }
            }
        }
        self.allocator.allocate(m, request).ok_or(AllocFailure::HeapFull)
    }

    fn collect(&self, m: Option<&Mutator>, cause: CollectCause) {
        self.cycle(m, cause, &|| true);
    }

    fn decode(&self, word: u64) -> ObjectRef {
        self.codec.decode(word)
    }

    // Nothing moves.
    fn pin(&self, _object: ObjectRef) {}

    fn unpin(&self, _object: ObjectRef) {}

    fn card(&self, address: usize) -> Option<&AtomicU8> {
        Some(self.cards.card(address))
    }

    fn beans(&self) -> &'static [&'static str] {
        &["Sticky"]
    }

    fn title(&self) -> &'static str {
        "Sticky"
    }
}

impl Sticky {
    /// Stops the world and collects, if `wanted` still says so then. Returns the result of `wanted`.
    fn cycle(&self, m: Option<&Mutator>, cause: CollectCause, wanted: &dyn Fn() -> bool) -> bool {
        let (core, fetched) = (&*self.core, self.core.pages_fetched());
        let (done, times) = core
            .safepoints
            .stop_world(m, |world| wanted().then(|| self.collect_stopped(world, cause)).is_some());
        if done {
            core.stats.record_pause("Pause Sticky", times, core.pages_fetched() - fetched);
        }
        done
    }

    fn collect_stopped(&self, world: &WorldStopped, cause: CollectCause) {
        let (core, start) = (&*self.core, Instant::now());
        let before = core.regions.used_bytes();
        world.mutators().for_each(|m| self.allocator.retire(m));
        self.verify(world, "before the cycle");
        let is_last = cause == CollectCause::LastDitch;
        let is_full = cause.is_user_requested() || is_last || self.is_short.load(Relaxed);
        if is_full {
            core.geometry.all_regions().for_each(|id| self.marks.clear_region(id));
        }
        let references = core.references(self.allocator.available_bytes(), is_last);
        Marking { sticky: self, stack: MarkStack::new(core.zones()), references }.run(world);
        self.sweep();
        let is_short = self.allocator.available_bytes() < core.geometry.heap_bytes() / 4;
        self.is_short.store(is_short, Relaxed);
        self.verify(world, "after the cycle");
        inspection::serve(core, world, self, self.codec.slot_bytes());
        core.end_cycle();
        let (time, used) = (start.elapsed(), core.regions.used_bytes());
        core.stats.record_cycle(0, cause.title(), time, (before, used), Default::default());
        core.stats.count("full_cycles", is_full.into());
        core.binding().cycle_finished();
        core.options.log.line(LogLevel::Info, "gc", || {
            format!("{} cycle, {}K->{}K", cause.title(), before >> 10, used >> 10)
        });
    }

    fn verify(&self, world: &WorldStopped, when: &'static str) {
        if self.core.options.verify_heap {
            verify::verify(&self.core, world, self, self.codec.slot_bytes(), when);
        }
    }

    /// Frees the regions without marks.
    fn sweep(&self) {
        let core = &*self.core;
        let is_used = |usage| matches!(usage, RegionUse::Objects | RegionUse::HumongousStart);
        let used = core.regions.iter().filter(|(_, region)| is_used(region.usage()));
        for (first, region) in used.filter(|(id, _)| self.marks.is_clear(*id)) {
            // A humongous object has several regions, and its mark in the first.
            let count = region.top().div_ceil(core.geometry.region_bytes());
            (first.0..).take(count).for_each(|id| core.free_region(RegionId(id)));
        }
        // Allocation continues in the present region if that is not free now.
        self.allocator.close(|id| core.regions.region(id).usage() == RegionUse::Free);
    }
}

/// The marking of one cycle.
struct Marking<'a> {
    sticky: &'a Sticky,
    /// Marked objects that are to be scanned.
    stack: MarkStack,
    references: References,
}

impl Marking<'_> {
    fn run(mut self, world: &WorldStopped) {
        let Sticky { core, codec, marks, .. } = self.sticky;
        let binding = core.binding();
        self.clean_cards();
        binding.visit_thread_roots(world, &mut |root| self.mark(*root));
        binding.visit_strong_slots(world, &mut |slot| self.mark(codec.read_root(slot)));
        self.mark(codec.read_root(binding.pending_list()));
        self.drain();
        let keeps = |d: Discovered| marks.is_marked(codec.read(d.reference, d.at));
        self.references.clear_dead(codec, ReferenceKind::Soft, keeps);
        self.references.clear_dead(codec, ReferenceKind::Weak, keeps);
        for d in self.references.revive_final(codec, keeps) {
            self.mark(codec.read(d.reference, d.at));
        }
        self.drain();
        self.references.clear_dead(codec, ReferenceKind::Phantom, keeps);
        binding.visit_weak_slots(world, &mut |slot| {
            let object = codec.read_root(slot);
            if !object.is_null() && !marks.is_marked(object) {
                codec.write_root(slot, ObjectRef::NULL);
            }
        });
        self.references.enqueue(codec, binding.pending_list(), |_, _, _| ());
    }

    /// Notes the old objects on dirty cards. Nothing young is marked yet.
    fn clean_cards(&mut self) {
        let Sticky { core, marks, cards, .. } = self.sticky;
        for (id, region) in core.regions.iter() {
            let start = core.geometry.region_start(id);
            let end = start + region.top().min(core.geometry.region_bytes());
            for from in (start..end).step_by(CARD_BYTES) {
                if cards.card(from).load(Relaxed) == DIRTY {
                    cards.card(from).store(CLEAN, Relaxed);
                    let next = |at| marks.next_marked(at, from + CARD_BYTES);
                    let all = std::iter::successors(next(from), |at| next(at + 8));
                    self.stack.push_all(all.map(ObjectRef::from_address));
                }
            }
        }
    }

    fn mark(&mut self, object: ObjectRef) {
        if !object.is_null() && self.sticky.marks.mark_alone(object) {
            self.stack.push(object);
        }
    }

    fn drain(&mut self) {
        while let Some(object) = self.stack.pop() {
            let Sticky { core, codec, marks, .. } = self.sticky;
            let (layout, slot_bytes) = (core.layout_of(object), codec.slot_bytes());
            scan::for_each_slot(layout, object, slot_bytes, |at| self.mark(codec.read(object, at)));
            let kind = scan::reference_kind(layout);
            if kind != ReferenceKind::Strong {
                let fields = *self.references.fields();
                self.mark(codec.read(object, fields.discovered as usize));
                let found = self.references.found(codec, object, kind, |o| marks.is_marked(o));
                if found == Referent::Strong {
                    self.mark(codec.read(object, fields.referent as usize));
                }
            }
        }
    }
}
