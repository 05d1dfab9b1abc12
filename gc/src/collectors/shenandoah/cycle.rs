//! One cycle, stage by stage, beside the program or in a pause. See the essay in the parent module.

use super::Shenandoah;
use super::control::{Order, Point};
use super::copies::CopyBuffer;
use super::evacuation::CollectionSet;
use super::forward::Forward;
use super::marking::Run;
use super::pacer::Phase;
use super::policy::{self, Candidate, Ending, Wish};
use super::thread::{FORWARDING, ShenandoahThread, TRACING, WORD_PHASE};
use super::update::Update;
use crate::core::outcome::CollectCause;
use crate::core::{inspection, verify};
use crate::memory::region::RegionUse;
use crate::object::codec::SlotCodec;
use crate::object::geometry::RegionId;
use crate::object::log::LogLevel;
use crate::object::{ObjectRef, RootSlot};
use crate::threads::mutator::{Mutator, WorldStopped};
use crate::threads::thread_data::ThreadData;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Whether mutators run beside the cycle.
pub(super) enum World<'w> {
    Running,
    /// A degenerated cycle: the rest is done in one pause.
    Stopped(&'w WorldStopped),
}

/// The next step of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    InitMark,
    Mark,
    Evacuate,
    Update,
    Release,
    Over,
}

/// The state that one stage leaves for the next.
pub(super) struct Cycle {
    pub number: u64,
    pub cause: CollectCause,
    set: CollectionSet,
    update: Update,
    /// The memory of the set's regions has been given back.
    is_discarded: bool,
    /// When the present stage began, and bytes in use then.
    pub since: (Instant, usize),
}

impl Shenandoah {
    /// Runs one cycle, on the collector's thread. If the heap is dropped it may be left unfinished.
    pub(super) fn run(&self, order: Order) {
        if order.is_full {
            return self.run_full(order.cause);
        }
        let start = Instant::now();
        let used_before = self.core.regions.used_bytes();
        let classes_before = self.core.binding().class_bytes();
        let mut cycle = Cycle {
            number: self.core.stats.cycles(),
            cause: order.cause,
            set: CollectionSet::default(),
            update: Update::default(),
            is_discarded: false,
            since: (start, used_before),
        };
        let (mut stage, mut ending) = (Stage::InitMark, Ending::Concurrent);
        self.trigger.begin(self.core.allocated_bytes.load(Ordering::Relaxed));
        while stage != Stage::Over && !self.control.is_stopping() {
            if !self.control.is_hurried() {
                stage = self.advance(stage, &mut cycle, &World::Running);
                continue;
            }
            let pages = self.core.pages_fetched();
            self.shared.pacer.interrupt();
            let ((), times) = self.core.safepoints.stop_world(None, |world| {
                while stage != Stage::Over {
                    stage = self.advance(stage, &mut cycle, &World::Stopped(world));
                }
                ending = Ending::Degenerated;
                self.set_limit(order.cause);
                if !self.trigger.is_enough(self.available_bytes()) {
                    ending = Ending::Full;
                    self.compactor.collect_stopped(world, order.cause);
                    self.set_limit(order.cause);
                    self.core.stats.count("full_cycles", 1);
                }
            });
            self.core.stats.count("degenerated_cycles", 1);
            self.note_pause("Pause Degenerated GC", &cycle, times, pages);
        }
        if stage == Stage::Over {
            self.finish(order.cause, start, used_before);
            self.note_end(start, ending);
            self.core.log_classes(cycle.number, classes_before);
            self.log_cycle(&cycle, start, used_before);
        }
    }

    /// Stops the world and compacts.
    fn run_full(&self, cause: CollectCause) {
        let (start, pages) = (Instant::now(), self.core.pages_fetched());
        self.shared.pacer.interrupt();
        let ((), times) = self.core.safepoints.stop_world(None, |world| {
            self.compactor.collect_stopped(world, cause);
            self.set_limit(cause);
            self.free_after_full.store(self.available_bytes(), Ordering::Relaxed);
        });
        let pages = self.core.pages_fetched() - pages;
        self.core.record_pause(("Pause Full", "Shenandoah full collection"), times, pages);
        self.core.stats.count("full_cycles", 1);
        self.note_end(start, Ending::Full);
    }

    /// Carries out a stage; the stage that comes next, or the same if it was interrupted.
    fn advance(&self, stage: Stage, cycle: &mut Cycle, world: &World) -> Stage {
        self.sleep_if_zealous(world);
        match stage {
            Stage::InitMark => {
                self.pause(world, "Pause Init Mark", cycle, |w, _| self.init_mark(w));
                let work = self.expected_live_bytes();
                self.begin_stage(cycle, Point::Marking, Phase::Mark, work);
                Stage::Mark
            }
            Stage::Mark => self.mark(cycle, world),
            Stage::Evacuate => self.evacuate(cycle, world),
            Stage::Update => self.update(cycle, world),
            Stage::Release => {
                self.release(cycle, world);
                Stage::Over
            }
            Stage::Over => unreachable!("a cycle that is over goes nowhere"),
        }
    }

    /// A concurrent stage begins, with an estimate of its work.
    fn begin_stage(&self, cycle: &mut Cycle, point: Point, phase: Phase, work_bytes: usize) {
        cycle.since = (Instant::now(), self.core.regions.used_bytes());
        // Copying and updating gain memory only at the end: nothing is free of tax.
        let tax_min = if phase == Phase::Mark { 0.0 } else { 1.0 };
        let mut free = self.available_bytes();
        if phase == Phase::Mark {
            // The bytes that the last cycle would have copied, had there been room, beyond the reserve for copies.
            let reserve = self.reserved_regions() * self.core.geometry.region_bytes();
            let copies = self.copied_bytes.load(Ordering::Relaxed).saturating_sub(reserve);
            free -= copies.min(free / 2);
        }
        self.shared.pacer.begin(phase, work_bytes, free, tax_min);
        self.control.reach(point);
    }

    /// The bytes that marking is expected to find: those that lived the last time, and a share of the new ones.
    fn expected_live_bytes(&self) -> usize {
        let used = self.core.regions.used_bytes();
        let (lived, left) = (&self.live_bytes, &self.used_bytes);
        let (lived, left) = (lived.load(Ordering::Relaxed), left.load(Ordering::Relaxed));
        (lived + used.saturating_sub(left) / NEW_LIVE_SHARE).min(used)
    }

    fn init_mark(&self, world: &WorldStopped) {
        self.retire_all(world);
        self.verify(world, "before the cycle");
        let free = self.free_bytes.load(Ordering::Relaxed);
        let holders = Arc::new(self.core.holders_beside_program());
        self.shared.marking.begin(self.core.references(free, false), holders.clone());
        assert!(self.shared.logged.take().is_empty(), "references logged outside of marking");
        let mut roots = Vec::new();
        let binding = self.core.binding();
        binding.visit_thread_roots(world, &mut |root| roots.push(*root));
        let codec = self.shared.codec;
        self.core.visit_marking_slots(world, &holders, &mut |slot| {
            roots.push(codec.read_root(slot));
        });
        roots.push(codec.read_root(binding.pending_list()));
        self.shared.marking.mark_all(roots);
        self.set_phase(world, TRACING);
    }

    fn mark(&self, cycle: &mut Cycle, world: &World) -> Stage {
        let (marking, stop) = (&self.shared.marking, self.stopper(world));
        for _ in 0..HAND_OVERS_MAX {
            let is_beside_program = matches!(world, World::Running);
            let run = Run { threads: self.threads(world), is_beside_program, stop: &stop };
            if !marking.close_held(&run, HELD_ROUNDS_MAX) {
                return Stage::Mark;
            }
            self.handshake(world, &|m| {
                self.shared.logged.hand_over(&ShenandoahThread::of(m).logged)
            });
            let logged = self.shared.logged.take();
            if logged.is_empty() {
                break;
            }
            marking.mark_all(logged);
        }
        self.shared.pacer.end();
        self.log_stage("Concurrent marking", cycle, world);
        let dead = self
            .pause(world, "Pause Final Mark", cycle, |w, cycle| self.final_mark(w, cycle, world));
        cycle.since = (Instant::now(), self.core.regions.used_bytes());
        self.free_all(&dead, cycle.cause);
        self.log_stage("Concurrent cleanup", cycle, world);
        if cycle.set.regions.is_empty() {
            return Stage::Release;
        }
        let work = self.used_bytes_of(&cycle.set.regions);
        self.begin_stage(cycle, Point::Evacuating, Phase::Evacuate, work);
        Stage::Evacuate
    }

    /// Completes the marks, processes references, unloads classes, chooses the regions to evacuate and begins that.
    /// Returns the regions in which nothing lives.
    fn final_mark(&self, world: &WorldStopped, cycle: &mut Cycle, around: &World) -> Vec<RegionId> {
        let (shared, threads) = (&self.shared, self.core.options.parallel_threads());
        world.mutators().for_each(|m| shared.logged.hand_over(&ShenandoahThread::of(m).logged));
        shared.marking.mark_all(shared.logged.take());
        let holders = shared.marking.holders();
        self.core.note_holders_in_use(world, &holders);
        shared.marking.close_held(&Run::in_pause(threads), usize::MAX);
        shared.marking.forget_touched();
        if self.core.options.verify_heap {
            shared.check_marks(world);
        }
        shared.marking.process_references(threads);
        self.core.binding().visit_weak_slots(world, &mut |slot| {
            if !shared.marking.is_live(shared.codec.read_root(slot)) {
                shared.codec.write_root(slot, ObjectRef::NULL);
            }
        });
        self.core.unload(world, &holders);
        let (dead, candidates) = self.sort_regions();
        self.allocator().close(|id| dead.binary_search(&id).is_ok());
        // Mutators continue to allocate beside the cycle, so half of the regions that they may use stay theirs.
        let (free, reserved) = (self.core.regions.free_count(), self.reserved_regions());
        let room = match around {
            World::Running => (free.saturating_sub(reserved) / 2 + reserved).min(free),
            World::Stopped(_) => free,
        };
        let room = room * self.core.geometry.region_bytes();
        let candidates = self.worth_it(candidates, self.used_bytes_of(&dead));
        let wished = candidates.iter().map(|c| c.live_bytes).sum();
        self.copied_bytes.store(policy::with_waste(wished), Ordering::Relaxed);
        cycle.set = policy::choose(&candidates, room);
        if cycle.set.regions.is_empty() {
            self.set_phase(world, 0);
        } else {
            self.begin_evacuation(world, &cycle.set);
        }
        self.core.options.log.line(LogLevel::Info, "gc,cset", || {
            let (count, live) = (cycle.set.regions.len(), cycle.set.live_bytes >> 10);
            let dead = dead.len();
            format!("GC({}) {dead} regions dead, {count} to evacuate, {live}K live", cycle.number)
        });
        dead
    }

    /// Regions in which nothing lives, and those that have garbage too. Notes the live bytes.
    fn sort_regions(&self) -> (Vec<RegionId>, Vec<Candidate>) {
        let marking = &self.shared.marking;
        let (mut dead, mut candidates, mut all_live) = (Vec::new(), Vec::new(), 0);
        for (id, region) in self.core.regions.iter() {
            let (live_bytes, traced_bytes) = (marking.live_bytes(id), marking.traced_bytes(id));
            region.set_live_bytes(live_bytes);
            all_live += live_bytes;
            if traced_bytes == 0 || region.top() > traced_bytes {
                // New objects in it are alive and not marked.
                continue;
            }
            let garbage_bytes = traced_bytes.saturating_sub(live_bytes);
            match region.usage() {
                _ if region.is_pinned() => {}
                RegionUse::Objects | RegionUse::HumongousStart if live_bytes == 0 => dead.push(id),
                RegionUse::Objects if garbage_bytes > 0 || self.core.options.zeal() => {
                    candidates.push(Candidate { region: id, live_bytes, garbage_bytes });
                }
                _ => {}
            }
        }
        self.live_bytes.store(all_live, Ordering::Relaxed);
        (dead, candidates)
    }

    /// The candidates that are sparse enough to be emptied, where `dead_bytes` are gained without that.
    fn worth_it(&self, candidates: Vec<Candidate>, dead_bytes: usize) -> Vec<Candidate> {
        let (options, heap_bytes) = (self.core.options.shenandoah, self.core.geometry.heap_bytes());
        if self.core.options.zeal() {
            return Wish { garbage_bytes: 0, gain_bytes: usize::MAX }.select(candidates);
        }
        let garbage = candidates.iter().map(|c| c.garbage_bytes).sum::<usize>() + dead_bytes;
        if dead_bytes > garbage / 100 * options.immediate_percent {
            return Vec::new();
        }
        let percent = options.min_free_percent + options.spike_percent + options.reserve_percent;
        let (target, free) = (heap_bytes / 100 * percent, self.available_bytes() + dead_bytes);
        let wish = Wish {
            garbage_bytes: self.core.geometry.region_bytes() * options.garbage_percent / 100,
            gain_bytes: target.saturating_sub(free),
        };
        wish.select(candidates)
    }

    fn used_bytes_of(&self, regions: &[RegionId]) -> usize {
        regions.iter().map(|id| self.core.regions.region(*id).top()).sum()
    }

    fn begin_evacuation(&self, world: &WorldStopped, set: &CollectionSet) {
        let region_bytes = self.core.geometry.region_bytes();
        // The rest of a region may be too small for an object, so one more.
        let wish = policy::with_waste(set.live_bytes).div_ceil(region_bytes) + 1;
        self.allocator().set_limit(self.core.geometry.heap_bytes());
        // Under zeal sometimes too few, so that objects have to stay.
        let is_short = self.core.options.zeal() && self.core.stats.cycles() % 4 == 3;
        let wish = if is_short { wish / 2 } else { wish };
        self.shared.to_space.reserve(wish.min(self.core.regions.free_count()));
        set.regions
            .iter()
            .for_each(|id| self.shared.kept[id.index()].store(false, Ordering::Relaxed));
        self.shared.forwarding.begin(&set.regions);
        self.allocator().close(|id| self.shared.forwarding.is_from(id));
        let buffer = CopyBuffer::default();
        self.core.binding().visit_thread_roots(world, &mut |root| {
            if !root.is_null() {
                *root = self.shared.resolve(*root, &buffer);
            }
        });
        self.shared.to_space.retire(&buffer);
        self.core.stats.count("evacuated_regions", set.regions.len() as u64);
        self.core.stats.count("evacuated_bytes", set.live_bytes as u64);
        self.set_phase(world, FORWARDING);
    }

    fn evacuate(&self, cycle: &mut Cycle, world: &World) -> Stage {
        let stop = self.stopper(world);
        if !self.shared.evacuate(&cycle.set, self.threads(world), &stop) {
            return Stage::Evacuate;
        }
        self.shared.pacer.end();
        self.log_stage("Concurrent evacuation", cycle, world);
        self.pause(world, "Pause Init Update Refs", cycle, |w, cycle| self.init_update(w, cycle));
        self.begin_stage(cycle, Point::Updating, Phase::Update, cycle.update.bytes());
        Stage::Update
    }

    fn init_update(&self, world: &WorldStopped, cycle: &mut Cycle) {
        self.retire_all(world);
        world.mutators().for_each(|m| self.shared.to_space.retire(&ShenandoahThread::of(m).copies));
        self.shared.to_space.close();
        for id in cycle.set.regions.iter().filter(|id| !self.shared.is_kept(**id)) {
            let region = self.core.regions.region(*id);
            region.set_usage(RegionUse::Reserved);
            region.set_top(0);
        }
        let binding = self.core.binding();
        let mut update = |slot: &RootSlot| self.shared.update_root(slot);
        binding.visit_strong_slots(world, &mut update);
        binding.visit_weak_slots(world, &mut update);
        update(binding.pending_list());
        cycle.update = self.shared.begin_update();
    }

    fn update(&self, cycle: &mut Cycle, world: &World) -> Stage {
        if !self.shared.forwarding.is_in_headers()
            && !std::mem::replace(&mut cycle.is_discarded, true)
        {
            // These have not been read since the pause: everything has been copied.
            self.emptied(cycle).for_each(|id| self.discard(id, cycle.cause));
        }
        let stop = self.stopper(world);
        if !self.shared.update(&cycle.update, self.threads(world), &stop) {
            return Stage::Update;
        }
        self.shared.pacer.end();
        self.log_stage("Concurrent update references", cycle, world);
        Stage::Release
    }

    fn release(&self, cycle: &mut Cycle, world: &World) {
        let start = Instant::now();
        self.shared.phase.store(0, Ordering::SeqCst);
        self.handshake(world, &|m| {
            m.words[WORD_PHASE].set(0);
            self.shared.refresh(m);
        });
        if self.shared.forwarding.is_in_headers() {
            self.emptied(cycle).for_each(|id| self.discard(id, cycle.cause));
            self.clear_forwards_of_kept(cycle);
        }
        self.shared.forwarding.end(&cycle.set.regions);
        if self.core.options.verify_heap || self.core.inspections.is_asked() {
            self.pause(world, "Pause Inspect", cycle, |w, _| {
                self.retire_all(w);
                self.verify(w, "after the cycle");
                inspection::serve(&self.core, w, self, self.core.slot_width.bytes());
            });
        }
        for id in self.emptied(cycle) {
            self.core.regions.free(id, self.core.regions.region(id).is_clean());
        }
        let kept = cycle.set.regions.len() - self.emptied(cycle).count();
        self.core.stats.count("regions_without_room_for_copies", kept as u64);
        self.shared.marking.end();
        self.allocator().reopen(|| self.open_regions().collect());
        cycle.since.0 = start;
        self.log_stage("Concurrent final update references", cycle, world);
    }

    /// Objects that stay where they are have the words in their headers for the next cycle.
    fn clear_forwards_of_kept(&self, cycle: &Cycle) {
        for id in cycle.set.regions.iter().filter(|id| self.shared.is_kept(**id)) {
            let objects = self.shared.marked_objects(*id);
            objects.for_each(|object| {
                Forward::of_header(object, self.shared.forwarding.place(object)).clear()
            });
        }
    }

    /// The regions of the set from which everything was copied.
    fn emptied<'a>(&'a self, cycle: &'a Cycle) -> impl Iterator<Item = RegionId> + 'a {
        cycle.set.regions.iter().copied().filter(|id| !self.shared.is_kept(*id))
    }

    /// The effects of the end of a cycle on the rest of the heap.
    fn finish(&self, cause: CollectCause, start: Instant, used_before: usize) {
        let used = self.core.regions.used_bytes();
        self.set_limit(cause);
        if cause.is_user_requested() && !self.core.options.zeal() {
            self.core.trim(0);
        }
        self.core.end_cycle();
        self.core.binding().cycle_finished();
        let used = (used_before, used);
        self.core.stats.record_cycle(0, cause.title(), start.elapsed(), used, Default::default());
    }

    fn note_end(&self, start: Instant, ending: Ending) {
        let used = self.core.regions.used_bytes();
        self.used_bytes.store(used, Ordering::Relaxed);
        let free = self.core.geometry.heap_bytes() - used;
        self.free_bytes.store(free, Ordering::Relaxed);
        self.trigger.end(ending, start.elapsed());
    }

    /// The reserve is for mutators too before the heap is given up.
    fn set_limit(&self, cause: CollectCause) {
        self.allocator().set_limit(match cause {
            CollectCause::LastDitch => self.core.geometry.heap_bytes(),
            _ => self.limit_bytes(),
        });
    }

    /// Frees regions in which nothing lives, with all that dead humongous objects have.
    fn free_all(&self, dead: &[RegionId], cause: CollectCause) {
        let region_bytes = self.core.geometry.region_bytes();
        let mut count = 0;
        for first in dead {
            let region = self.core.regions.region(*first);
            let regions = match region.usage() {
                RegionUse::HumongousStart => region.top().div_ceil(region_bytes),
                _ => 1,
            };
            count += regions;
            for id in (first.0..first.0 + regions as u32).map(RegionId) {
                self.discard(id, cause);
                self.shared.marking.forget(id);
                self.core.regions.free(id, self.core.regions.region(id).is_clean());
            }
        }
        self.core.stats.count("dead_regions", count as u64);
    }

    /// Empties a region that is not used. Memory allocated in it must be zero: pages that are given back are zero when
    /// they are used again. In local memory they are kept instead, and zeroed when they are used, unless the program
    /// asked for a collection.
    fn discard(&self, id: RegionId, cause: CollectCause) {
        let core = &self.core;
        let region = core.regions.region(id);
        if core.options.zeal() {
            core.poison(core.geometry.region_start(id), core.geometry.region_bytes());
            region.set_clean(false);
        } else if core.space.pager().is_some() || cause.is_user_requested() {
            core.discard_region(id);
            region.set_clean(true);
        } else {
            region.set_clean(false);
        }
    }

    fn retire_all(&self, world: &WorldStopped) {
        world.mutators().for_each(|m| self.allocator().retire(m));
    }

    fn verify(&self, world: &WorldStopped, when: &'static str) {
        if self.core.options.verify_heap {
            verify::verify(&self.core, world, self, self.core.slot_width.bytes(), when);
        }
    }

    fn set_phase(&self, world: &WorldStopped, phase: u64) {
        self.shared.phase.store(phase, Ordering::SeqCst);
        world.mutators().for_each(|m| {
            m.words[WORD_PHASE].set(phase);
            self.shared.refresh(m);
        });
    }

    fn threads(&self, world: &World) -> usize {
        match world {
            World::Running => self.core.options.concurrent_threads(),
            World::Stopped(_) => self.core.options.parallel_threads(),
        }
    }

    /// The predicate that says whether a concurrent stage should be left.
    fn stopper(&self, world: &World) -> impl Fn() -> bool + Sync {
        let is_concurrent = matches!(world, World::Running);
        let control = &self.control;
        move || is_concurrent && (control.is_hurried() || control.is_stopping())
    }

    /// So that mutators meet every phase.
    fn sleep_if_zealous(&self, world: &World) {
        if self.core.options.zeal() && matches!(world, World::Running) {
            std::thread::sleep(ZEAL_SLEEP);
        }
    }

    fn handshake(&self, world: &World, action: &dyn Fn(&Mutator)) {
        match world {
            World::Stopped(world) => world.mutators().for_each(action),
            World::Running => {
                self.core.safepoints.handshake(None, action);
            }
        }
    }
}

/// Of the bytes allocated between two cycles, one part in this many is expected to live.
const NEW_LIVE_SHARE: usize = 4;
/// Concurrent rounds of tracing what holders hold that were found by the last one.
const HELD_ROUNDS_MAX: usize = 16;
/// Concurrent rounds of taking over logged references before the pause that ends marking.
const HAND_OVERS_MAX: usize = 3;
const ZEAL_SLEEP: Duration = Duration::from_micros(100);
