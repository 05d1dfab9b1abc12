//! Pauses: young, mixed and full ones.

use super::evacuation::{Evacuation, Order, Outcome};
use super::policy::Policy;
use super::remembered::RememberedSets;
use super::tables::{Kind, Tables};
use super::{G1, retained, verify};
use crate::collectors::memliner::AddressCodec;
use crate::collectors::serial::full::{Done, FullCollection, Placed};
use crate::core::inspection;
use crate::core::outcome::CollectCause;
use crate::core::stats::YoungBytes;
use crate::memory::region::RegionUse;
use crate::object::ObjectRef;
use crate::object::geometry::{Geometry, RegionId};
use crate::object::log::LogLevel;
use crate::threads::binding::ClassBytes;
use crate::threads::mutator::{Mutator, WorldStopped};
use crate::tracing::references::COUNTERS;
use std::sync::atomic::Ordering;
use std::time::Instant;
use swap::{Activity, ThreadClass, during, set_thread_class};

/// The regions that a pause collects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Young regions, and old ones that were chosen.
    Young,
    /// Everything, compacting.
    Full,
}

/// A pause that is under way.
struct Pause {
    title: String,
    number: u64,
    start: Instant,
    used_before: usize,
    young_before: YoungBytes,
    classes_before: Option<ClassBytes>,
    cause: &'static str,
}

impl G1 {
    /// Stops the world and collects, if `wanted` still says so then. Returns the result of `wanted`.
    pub(super) fn pause(
        &self,
        m: Option<&Mutator>,
        cause: CollectCause,
        scope: Scope,
        wanted: &dyn Fn() -> bool,
    ) -> bool {
        let class = set_thread_class(ThreadClass::Gc);
        let fetched = self.core.pages_fetched();
        let (name, times) = self.core.safepoints.stop_world(m, |world| {
            wanted().then(|| {
                let name = self.marking.gate.closed(|| match scope {
                    Scope::Young => self.collect_young(world, cause),
                    Scope::Full => self.collect_full(world, cause),
                });
                self.pauses.fetch_add(1, Ordering::Relaxed);
                name
            })
        });
        set_thread_class(class);
        if let Some(name) = name {
            let fetched = self.core.pages_fetched() - fetched;
            let operation = match scope {
                Scope::Young => "G1CollectForAllocation",
                Scope::Full => "G1CollectFull",
            };
            self.core.record_pause((name, operation), times, fetched);
        }
        name.is_some()
    }

    /// Young regions and, if a marking has found sparse ones, old ones. Returns the pause's name.
    fn collect_young(&self, world: &WorldStopped, cause: CollectCause) -> &'static str {
        let (core, tables) = (&*self.core, &*self.tables);
        let mut policy = self.policy.lock();
        let is_zeal = cause == CollectCause::Zeal;
        let is_time = match cause {
            CollectCause::Zeal => self.pauses.load(Ordering::Relaxed) % ZEAL_PERIOD == 1,
            CollectCause::ClassMemory | CollectCause::WhiteBoxMarking => true,
            _ => policy.is_time_to_mark(tables),
        };
        let marks = is_time && self.marking.may_begin();
        let young_bytes = self.young_bytes();
        let old = match marks || self.marking.is_active() {
            true => Vec::new(),
            false if is_zeal => self.any_old(),
            false => policy.choose_old(tables, young_bytes),
        };
        let (name, what) = match (marks, old.is_empty()) {
            (true, _) => ("Pause Young (Concurrent Start)", "Concurrent Start"),
            (_, false) => ("Pause Young (Mixed)", "Mixed"),
            _ => ("Pause Young (Normal)", "Normal"),
        };
        let pause = self.begin(world, format!("Pause Young ({what})"), cause);
        let is_minor = old.is_empty();
        let _moving =
            during(if is_minor { Activity::MinorCollection } else { Activity::Evacuation });
        let marks = marks.then(|| self.marking.begin(tables, world));
        let moving = self.choose(&old);
        self.merge_remembered(&old);
        self.survivors.begin(tables);
        self.olds.begin(tables);
        let order = Order {
            marks: marks.clone(),
            tenuring_age: policy.tenuring_age,
            free_bytes: self.free_bytes.load(Ordering::Relaxed),
        };
        let evacuating = Instant::now();
        let to = [&self.survivors, &self.olds];
        let mut outcome = match tables.codec() {
            AddressCodec::Narrow(codec) => {
                Evacuation::new(tables, codec, &order, to).run(world, &self.workers)
            }
            AddressCodec::Wide(codec) => {
                Evacuation::new(tables, codec, &order, to).run(world, &self.workers)
            }
        };
        self.log_phase(pause.number, "Evacuate Collection Set", evacuating);
        let freeing = Instant::now();
        self.free_moved(&moving, &policy);
        if marks.is_some() {
            self.marking.hand_over(std::mem::take(&mut outcome.grey));
        }
        self.log_phase(pause.number, "Free Collection Set", freeing);
        self.count(&outcome, old.len());
        policy.learn(&outcome, young_bytes, pause.start.elapsed());
        policy.note_end(tables);
        policy.size_eden(tables);
        self.limit_eden(&policy);
        core.stats.set("eden_regions", policy.eden_regions as u64);
        drop(policy);
        self.finish(world, pause, 0);
        name
    }

    /// The last resort, by one thread; see [`FullCollection`]. All live objects are old afterwards.
    fn collect_full(&self, world: &WorldStopped, cause: CollectCause) -> &'static str {
        let (core, tables) = (&*self.core, &*self.tables);
        let pause = self.begin(world, "Pause Full".into(), cause);
        self.marking.abort(tables, world);
        tables.remembered.clear_all();
        let used: Vec<_> =
            core.regions.iter().filter(|(_, r)| r.usage() != RegionUse::Free).collect();
        let mut books = Books { geometry: *tables.geometry(), tables };
        let free = self.free_bytes.load(Ordering::Relaxed);
        let (marks, prefix) = (tables.marks(), &mut self.prefix.lock());
        let Done { open, moved_bytes } =
            match tables.codec() {
                AddressCodec::Narrow(codec) => FullCollection::new(core, codec, marks, cause)
                    .run(world, free, prefix, &mut books),
                AddressCodec::Wide(codec) => FullCollection::new(core, codec, marks, cause)
                    .run(world, free, prefix, &mut books),
            };
        // The marks are those of a marking that may begin at any time.
        used.iter().for_each(|(id, _)| tables.marks().clear_region(*id));
        for (id, region) in core.regions.iter() {
            match region.usage() {
                RegionUse::Objects => tables.begin(id, Kind::Old),
                RegionUse::HumongousStart | RegionUse::HumongousRest => {
                    tables.begin(id, Kind::Humongous);
                }
                RegionUse::Free | RegionUse::Reserved | RegionUse::Young => {}
            }
        }
        self.survivors.reset(Vec::new());
        self.olds.reset(open);
        core.stats.count("moved_bytes", moved_bytes as u64);
        let mut policy = self.policy.lock();
        policy.forget(tables);
        policy.note_end(tables);
        policy.size_eden(tables);
        match cause {
            CollectCause::LastDitch => self.allocator.set_limit_regions(core.geometry.regions),
            _ => self.limit_eden(&policy),
        }
        drop(policy);
        // Not after young pauses, which leave dead referents in old regions.
        inspection::serve(core, world, self, core.slot_width.bytes());
        self.finish(world, pause, 1);
        "Pause Full"
    }

    fn begin(&self, world: &WorldStopped, what: String, cause: CollectCause) -> Pause {
        let (core, start) = (&*self.core, Instant::now());
        let number = core.stats.cycles();
        let cause = match cause {
            CollectCause::AllocationFailure => self.variant.allocation_cause,
            other => other.title(),
        };
        let title = format!("GC({number}) {what} ({cause})");
        core.options.log.line(LogLevel::Info, "gc,start", || title.as_str());
        world.mutators().for_each(|m| {
            self.allocator.retire(m);
            self.tables.refresh(m);
        });
        self.allocator.reset(Vec::new());
        self.verify(world, "before the pause");
        let (used_before, young_before) = (core.regions.used_bytes(), self.tables.young_bytes());
        let classes_before = core.binding().class_bytes();
        Pause { title, number, start, used_before, young_before, classes_before, cause }
    }

    fn finish(&self, world: &WorldStopped, pause: Pause, bean: usize) {
        let core = &*self.core;
        let used = core.regions.used_bytes();
        self.free_bytes.store(core.geometry.heap_bytes() - used, Ordering::Relaxed);
        self.verify(world, "after the pause");
        core.end_cycle();
        let time = pause.start.elapsed();
        let young = (pause.young_before, self.tables.young_bytes());
        core.stats.record_cycle(bean, pause.cause, time, (pause.used_before, used), young);
        core.binding().cycle_finished();
        core.log_classes(pause.number, pause.classes_before);
        core.options.log.line(LogLevel::Info, "gc", || {
            let (before, after) = (pause.used_before >> 20, used >> 20);
            let (all, ms) = (self.committed_bytes() >> 20, time.as_secs_f64() * 1e3);
            format!("{} {before}M->{after}M({all}M) {ms:.3}ms", pause.title)
        });
    }

    /// All young regions, and these old ones, will move.
    fn choose(&self, old: &[RegionId]) -> Vec<RegionId> {
        let tables = &*self.tables;
        let young = tables.in_use().filter(|(_, kind)| kind.is_young()).map(|(id, _)| id);
        let moving: Vec<_> = young.chain(old.iter().copied()).collect();
        moving.iter().for_each(|id| tables.set_moves(*id, true));
        moving
    }

    /// Under zeal: every other old region, as long as there is room.
    fn any_old(&self) -> Vec<RegionId> {
        let (tables, parity) = (&*self.tables, self.pauses.load(Ordering::Relaxed) as u32 % 2);
        let old = tables.in_use().filter(|(id, kind)| {
            *kind == Kind::Old && id.0 % 2 == parity && !self.core.regions.region(*id).is_pinned()
        });
        old.map(|(id, _)| id).take(self.core.regions.free_count() / 2).collect()
    }

    /// Dirties the cards on which references to these regions may be; references that are found on them are noted
    /// anew.
    fn merge_remembered(&self, old: &[RegionId]) {
        let (core, tables) = (&*self.core, &*self.tables);
        let granule_bytes = tables.remembered.granule_bytes();
        for id in old {
            tables.remembered.forget_entrances(*id);
            tables.remembered.for_each(*id, |source, granule| {
                let region = core.regions.region(source);
                let is_old = match region.usage() {
                    RegionUse::Objects => tables.kind(source) == Kind::Old && !tables.moves(source),
                    RegionUse::HumongousStart | RegionUse::HumongousRest => true,
                    RegionUse::Free | RegionUse::Reserved | RegionUse::Young => false,
                };
                // The set may be older than the present use of the region.
                if is_old {
                    tables.cards.dirty_clean(granule, granule_bytes);
                }
            });
        }
    }

    /// Frees the regions that moved, apart from those in which something was left.
    fn free_moved(&self, moving: &[RegionId], policy: &Policy) {
        let (core, tables) = (&*self.core, &*self.tables);
        let mut kept = match core.has_spare_memory() {
            true => policy
                .capacity_regions(tables)
                .saturating_sub(core.geometry.regions - core.regions.free_count() - moving.len())
                .saturating_sub(core.regions.dirty_free_regions().len()),
            false => 0,
        };
        for id in moving {
            if tables.retains(*id) || core.regions.region(*id).is_pinned() {
                retained::settle(tables, *id);
                continue;
            }
            tables.set_moves(*id, false);
            if !tables.kind(*id).is_young() {
                tables.remembered.clear_source(*id);
            }
            tables.remembered.clear(*id);
            match kept > 0 {
                true => core.free_with_memory(*id),
                false => core.free_region(*id),
            }
            kept = kept.saturating_sub(1);
        }
    }

    /// Frees an old region, or all regions of a humongous object, that a marking found dead; returns how many.
    pub(super) fn free_dead(&self, first: RegionId) -> usize {
        let region = self.core.regions.region(first);
        let count = match region.usage() {
            RegionUse::HumongousStart => region.top().div_ceil(self.core.geometry.region_bytes()),
            _ => 1,
        };
        for id in (first.0..first.0 + count as u32).map(RegionId) {
            self.tables.remembered.clear_source(id);
            self.tables.remembered.clear(id);
            self.olds.forget(id);
            self.core.free_region(id);
        }
        count
    }

    /// Gives eden its regions, in addition to those in use.
    pub(super) fn limit_eden(&self, policy: &Policy) {
        let used = self.core.geometry.regions - self.core.regions.free_count();
        self.allocator.set_limit_regions(used + policy.eden_regions);
    }

    fn young_bytes(&self) -> usize {
        let young = self.tables.in_use().filter(|(_, kind)| kind.is_young());
        young.map(|(id, _)| self.core.regions.region(id).top()).sum()
    }

    pub(super) fn verify(&self, world: &WorldStopped, when: &'static str) {
        if self.core.options.verify_heap {
            crate::core::verify::verify(
                &self.core,
                world,
                self,
                self.core.slot_width.bytes(),
                when,
            );
            verify::verify(&self.tables, when);
        }
    }

    /// In a pause that needs no buffers retired otherwise.
    pub(super) fn verify_retired(&self, world: &WorldStopped, when: &'static str) {
        if self.core.options.verify_heap {
            world.mutators().for_each(|m| self.allocator.retire(m));
            self.verify(world, when);
        }
    }

    pub(super) fn committed_bytes(&self) -> usize {
        self.core.regions.committed_count() * self.core.geometry.region_bytes()
    }

    fn count(&self, outcome: &Outcome, old_regions: usize) {
        let count = |name, amount| self.core.stats.count(name, amount);
        count("copied_bytes", outcome.copied_bytes as u64);
        count("promoted_bytes", outcome.promoted_bytes as u64);
        count("cards_scanned", outcome.cards_scanned as u64);
        count("objects_left_in_place", outcome.retained as u64);
        count("old_regions_evacuated", old_regions as u64);
        self.count_references(outcome.references);
    }

    pub(super) fn count_references(&self, counts: [u64; 4]) {
        for (name, amount) in COUNTERS.iter().zip(counts) {
            self.core.stats.count(name, amount);
        }
    }

    fn log_phase(&self, number: u64, name: &str, since: Instant) {
        self.core.options.log.line(LogLevel::Info, "gc,phases", || {
            format!("GC({number})   {name}: {:.1}ms", since.elapsed().as_secs_f64() * 1e3)
        });
    }
}

/// Keeps the books anew while everything gets its place: all regions will be old.
struct Books<'a> {
    geometry: Geometry,
    tables: &'a Tables,
}

impl Books<'_> {
    fn remembered(&self) -> &RememberedSets {
        &self.tables.remembered
    }
}

impl Placed for Books<'_> {
    #[inline]
    fn object(&mut self, address: usize, bytes: usize) {
        // Nothing is kept of humongous ones.
        if bytes <= self.geometry.region_bytes() {
            self.tables.starts.note(address, bytes);
        }
    }

    #[inline]
    fn slot(&mut self, address: usize, target: ObjectRef) {
        let to = self.geometry.region_of(target);
        if self.geometry.region_at(address) != to {
            self.remembered().add(address, target);
        }
    }
}

/// Under zeal one pause in this many is full, and the next one begins a marking.
pub(super) const ZEAL_PERIOD: u64 = 8;
