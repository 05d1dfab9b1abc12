//! One cycle: PTP, concurrent tracing, PEP, concurrent evacuation, reclamation.
//!
//! Where a lost memory server is survived ([`Lost`]), a cycle that loses one before the pre-evacuation pause has
//! decided is given up and redone: nothing is freed yet, so nothing must be undone but the threads'
//! phase. After that only evacuation ([`round`]) needs agents: objects of a group that have not come back from a lost
//! one stay where they are.

mod round;
mod warm;

use super::allocation::Spare;
use super::control::Order;
use super::entries::entry_of;
use super::evacuation::Group;
use super::held;
use super::policy::{self, Candidate};
use super::references::{self, Pending};
use super::remote::{Found, Lost};
use super::snapshot::Snapshot;
use super::snapshot_roots::Held;
use super::thread::{self, EVACUATING, MakoThread, TRACING};
use super::to_region::ToRegion;
use super::{Mako, Nursery, SLOT_BYTES};
use crate::agent::LARGE_BYTES;
use crate::core::{inspection, verify};
use crate::hit::{EntryIndex, TABLET_ENTRIES};
use crate::memory::region::RegionUse;
use crate::object::codec::read_word;
use crate::object::geometry::RegionId;
use crate::object::log::LogLevel;
use crate::options::MakoOptions;
use crate::threads::mutator::{Mutator, WorldStopped};
use crate::threads::steps::Steps;
use crate::threads::thread_data::ThreadData;
use crate::tracing::holders::Holders;
use crate::tracing::scan::for_every_slot;
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use swap::{Activity, PageRange, Pager, during};

/// Whether mutators run beside the cycle.
enum World<'w> {
    Running,
    /// A full cycle: the same steps in one pause.
    Stopped(&'w WorldStopped),
}

/// The decision of the pre-evacuation pause.
struct Decision {
    /// Dead regions; of large objects that are dead, the first one.
    dead: Vec<RegionId>,
    groups: Vec<Planned>,
    pending: Pending,
}

/// A group before it has a to-region.
struct Planned {
    server: usize,
    from: Vec<RegionId>,
    live_bytes: usize,
    /// It may be left as it is if memory is short.
    is_for_order: bool,
}

impl Mako {
    /// Runs one cycle, on the collector's thread.
    pub(super) fn run(&self, order: Order) {
        let start = Instant::now();
        let used_before = self.core.regions.used_bytes();
        let classes_before = self.core.binding().class_bytes();
        let pages_before = self.core.pages_fetched();
        self.is_running.store(true, Ordering::SeqCst);
        loop {
            // With the program running: a lost server may be replaced first.
            self.agents.meet(|| self.control.is_stopping());
            let done = if order.is_full {
                let stop = |world: &WorldStopped| {
                    let done = self.run_in(&World::Stopped(world));
                    let used = self.core.regions.used_bytes();
                    let free = self.core.geometry.heap_bytes() - used;
                    self.free_after_full.store(free, Ordering::Relaxed);
                    done
                };
                let (done, times) = self.core.safepoints.stop_world(None, stop);
                let pages = self.core.pages_fetched() - pages_before;
                self.core.record_pause(("Pause Full", "Mako full collection"), times, pages);
                done
            } else {
                self.allocator.pacer.begin(self.allocator.free_bytes());
                self.run_in(&World::Running)
            };
            // Each further attempt is another server lost.
            match done {
                Ok(()) => break,
                Err(Lost) => self.core.stats.count("cycles_redone", 1),
            }
            self.core.options.log.line(
                LogLevel::Info,
                "gc",
                || "Cycle abandoned: a memory server is lost",
            );
        }
        let used = self.core.regions.used_bytes();
        self.free_bytes.store(self.core.geometry.heap_bytes() - used, Ordering::Relaxed);
        self.is_running.store(false, Ordering::SeqCst);
        self.nursery.iter().for_each(Nursery::limit_eden);
        self.core.end_cycle();
        self.core.binding().cycle_finished();
        let time = start.elapsed();
        let number = self.core.stats.record_cycle(
            0,
            order.cause.title(),
            time,
            (used_before, used),
            Default::default(),
        );
        self.core.log_classes(number, classes_before);
        let mib = |bytes: usize| bytes >> 20;
        self.core.options.log.line(LogLevel::Info, "gc", || {
            format!(
                "GC({number}) {} ({}) {}M->{}M({}M) {:.3}ms",
                if order.is_full { "Pause Full" } else { "Concurrent Cycle" },
                order.cause.title(),
                mib(used_before),
                mib(used),
                mib(self.core.geometry.heap_bytes()),
                time.as_secs_f64() * 1e3
            )
        });
    }

    fn run_in(&self, world: &World) -> Result<(), Lost> {
        let mut snapshot = None;
        let traced = self.trace(world, &mut snapshot);
        let (mut decision, groups) = match traced {
            Ok(traced) => traced,
            Err(Lost) => {
                self.give_up(world, snapshot);
                return Err(Lost);
            }
        };
        let snapshot = snapshot.expect("tracing took one");
        let freed = decision.dead.iter().map(|region| self.free_dead(*region)).sum::<usize>();
        self.allocator.pacer.end();
        let moved = match world {
            World::Running => {
                self.evacuate(groups, &snapshot)
                    + self.evacuate_rest(&mut decision.groups, &snapshot)
            }
            World::Stopped(w) => self.evacuate_all(w, &decision, &snapshot),
        };
        self.shared.phase.store(0, Ordering::SeqCst);
        self.handshake(world, &|m| thread::set_phase(m, 0));
        if self.shared.touches.has_noted() {
            self.shared.touches.end(snapshot.tablets().iter().map(|tablet| tablet.id));
        }
        let reclaimed = self.reclaim(snapshot);
        if self.core.inspections.wants_snapshot() {
            // Most of what it would write in the pause.
            self.pager().write_back_all(&self.everything());
        }
        if self.core.options.verify_heap || self.core.inspections.is_asked() {
            self.pause(world, "Pause Inspect", |w| {
                self.verify(w, "after the cycle");
                inspection::serve(&self.core, w, self, SLOT_BYTES);
            });
        }
        self.count(&decision, freed, moved, reclaimed);
        Ok(())
    }

    /// From the flush to the end of the pre-evacuation pause. Leaves the snapshot in `snapshot` as soon as servers may
    /// have a part of it.
    fn trace(
        &self,
        world: &World,
        snapshot: &mut Option<Snapshot>,
    ) -> Result<(Decision, Vec<Arc<Group>>), Lost> {
        let _tracing = during(Activity::Tracing);
        let hurry = matches!(world, World::Stopped(_));
        let touches = self.shared.touches.has_noted().then_some(&self.shared.touches);
        self.agents.begin_tracing(self.soft_limit_ms(hurry), touches.is_some())?;
        let writes_through = self.agents.servers_trace() && self.options().write_through;
        if writes_through {
            // Most dirty pages are written before the pause. Objects that are made after it live through the cycle, so
            // little work should be left for it.
            self.pager().write_back_all(&self.everything());
        }
        let (held, holders) = self.pause(world, "Pause PTP", |w| self.pre_tracing_pause(w, hurry));
        let before = self.last_snapshot.lock().take();
        let lock = || self.allocator.lock();
        let snapshot = snapshot.insert(Snapshot::take(&self.shared.entries, lock, before));
        held.not_in_snapshot.iter().for_each(|entry| snapshot.exclude(*entry));
        self.agents.write_snapshot(snapshot)?;
        snapshot.set_written();
        if writes_through {
            // References that are overwritten meanwhile are logged, so agents may find the old or the new one. Pages
            // that are written again so soon are left to their writers.
            self.settle_objects(self.core.geometry.all_regions());
            let pages = self.pager().write_through_all(&self.everything());
            self.core.stats.count("written_through_pages", pages as u64);
        }
        self.agents.send_layouts()?;
        // Since the pause threads note nothing.
        if let Some(touches) = touches {
            self.agents.write_touches(snapshot, touches)?;
            self.core.options.log.line(LogLevel::Info, "gc,touch", || {
                let words = snapshot.tablets().iter().flat_map(|t| touches.of(t.id));
                let objects: u32 = words.map(u64::count_ones).sum();
                format!("Touched objects: {objects}")
            });
        }
        self.agents.send_roots(&held.roots())?;
        self.agents.await_end_of_tracing(hurry)?;
        for _ in 0..HAND_OVERS_MAX {
            held::trace(&self.shared, &self.agents, &holders, hurry, held::ROUNDS_MAX)?;
            self.handshake(world, &|m| self.shared.logged.hand_over(&MakoThread::of(m).logged));
            let logged = self.shared.logged.take();
            if logged.is_empty() {
                break;
            }
            self.agents.send_roots(&logged)?;
            self.agents.await_end_of_tracing(hurry)?;
        }
        held::trace(&self.shared, &self.agents, &holders, hurry, held::ROUNDS_MAX)?;
        // No thread waits for it at this point, and mostly it is final.
        let found = self.agents.take_found(snapshot)?;
        self.pause(world, "Pause PEP", |w| {
            let mut decision = self.pre_evacuation_pause(w, snapshot, found, &holders, hurry)?;
            let groups = match world {
                World::Running => self.begin_groups(w, &mut decision.groups, decision.dead.len()),
                World::Stopped(_) => Vec::new(),
            };
            Ok((decision, groups))
        })
    }

    /// Ends a cycle that has not decided anything yet.
    fn give_up(&self, world: &World, snapshot: Option<Snapshot>) {
        self.agents.give_up_cycle();
        self.allocator.pacer.interrupt();
        self.shared.phase.store(0, Ordering::SeqCst);
        self.handshake(world, &|m| {
            thread::set_phase(m, 0);
            self.shared.logged.hand_over(&MakoThread::of(m).logged);
        });
        self.allocator.lock().pending.end();
        // The next snapshot includes the objects that these have kept.
        self.shared.logged.take();
        if snapshot.is_some() {
            *self.last_snapshot.lock() = snapshot;
        }
    }

    /// Soft references with at least this timestamp are kept: the emptier the heap, the older ones.
    fn soft_limit_ms(&self, is_full: bool) -> i64 {
        if is_full {
            return i64::MAX;
        }
        let free = self.free_bytes.load(Ordering::Relaxed);
        let kept_ms = (free >> 20) as u64 * self.core.options.soft_ref_ms_per_mb;
        (self.core.soft_clock_ms() as i64).saturating_sub_unsigned(kept_ms)
    }

    /// Takes the roots (section 3.4.2), and begins the snapshot of allocation bits. Writes dirty pages if nothing
    /// else does.
    fn pre_tracing_pause(&self, world: &WorldStopped, is_full: bool) -> (Held, Holders) {
        let mut steps = Steps::begin(&self.core.options.log, "Pause PTP");
        let young = self.collect_young(world, None);
        self.verify_young();
        steps.end("Promote Young");
        let mut state = self.retire_all(world);
        self.verify(world, "before the cycle");
        self.allocator.note_free_ends();
        state.begin_cycle();
        if self.agents.servers_trace() && !self.options().write_through {
            self.settle_objects(self.core.geometry.all_regions());
            let flushed = self.pager().write_back_all(&self.everything());
            self.core.stats.count("ptp_flushed_pages", flushed as u64);
        }
        steps.end("Retire Buffers");
        let mut held = Held::default();
        let holders = self.begin_holders(is_full, &young);
        let binding = self.core.binding();
        binding.visit_thread_roots(world, &mut |root| {
            if !self.shared.is_young(*root) {
                held.by_threads.push(*root);
            }
        });
        let mut visit_word = |word: u64| {
            let entry = EntryIndex(word as u32);
            if !self.shared.names_young(entry) {
                held.in_slots.push(entry);
            }
        };
        let mut visit_slot =
            |slot: &crate::object::RootSlot| visit_word(slot.word().load(Ordering::Relaxed));
        self.core.visit_marking_slots(world, &holders, &mut visit_slot);
        visit_slot(binding.pending_list());
        let fields = self.core.reference_fields();
        for object in young {
            for_every_slot(self.core.layout_of(object), object, SLOT_BYTES, fields, |at| {
                visit_word(read_word(object, at, SLOT_BYTES));
            });
        }
        if let Some(table) = &self.shared.young {
            held.not_in_snapshot = table.early.lock().entries();
        }
        steps.end("Roots");
        assert!(self.shared.logged.take().is_empty(), "references logged outside of tracing");
        self.set_phase(world.mutators(), TRACING);
        (held, holders)
    }

    /// Completes the marks, processes references, frees nothing yet, chooses the regions to evacuate.
    fn pre_evacuation_pause(
        &self,
        world: &WorldStopped,
        snapshot: &mut Snapshot,
        mut found: Found,
        holders: &Holders,
        is_full: bool,
    ) -> Result<Decision, Lost> {
        let mut steps = Steps::begin(&self.core.options.log, "Pause PEP");
        let all_are_old = self.collect_young(world, None).is_empty();
        steps.end("Promote Young");
        world.mutators().for_each(|m| self.shared.logged.hand_over(&MakoThread::of(m).logged));
        let mut state = self.retire_all(world);
        let logged = self.shared.logged.take();
        self.core.stats.count("pep_logged", logged.len() as u64);
        if !logged.is_empty() {
            self.agents.send_roots(&logged)?;
            self.agents.await_end_of_tracing(true)?;
            steps.end("Trace Logged");
        }
        let has_held = self.complete_held(world, holders)?;
        steps.end("Trace Held");
        if !logged.is_empty() || has_held {
            self.agents.find_more(snapshot, &mut found)?;
            steps.end("Read Marks");
        }
        let Mako { shared, agents, .. } = self;
        let pending = references::process(shared, agents, world, snapshot, &mut found, holders)?;
        self.core.unload(world, holders);
        steps.end("References");
        let Found { live, jumps, .. } = found;
        self.agents.share_marks(snapshot)?;
        let everything = is_full || self.core.options.zeal();
        let options = self.options();
        let region_bytes = self.core.geometry.region_bytes();
        let mut dead = Vec::new();
        let mut candidates = vec![Vec::new(); self.agents.count()];
        for (id, region) in self.core.regions.iter() {
            let live_bytes = live[id.index()] as usize;
            if state.is_new[id.index()] || region.is_pinned() {
                continue;
            }
            region.set_live_bytes(live_bytes);
            match region.usage() {
                RegionUse::Objects | RegionUse::HumongousStart if live_bytes == 0 => dead.push(id),
                RegionUse::Objects if all_are_old => {
                    // With the world stopped the gain of the order does not justify the time.
                    let is_ordered =
                        everything || policy::is_ordered(options, jumps[id.index()], live_bytes);
                    let candidate = Candidate { region: id, live_bytes, is_ordered };
                    if everything || candidate.is_worth_moving(options, region_bytes) {
                        let server = self.shared.entries.geometry.region_server(id);
                        candidates[server].push(candidate);
                    }
                }
                _ => {}
            }
        }
        state.close_regions(dead.iter().copied());
        self.forget_slots_of(&dead);
        steps.end("Close Dead");
        let mut groups = Vec::new();
        for (server, candidates) in candidates.into_iter().enumerate() {
            for group in policy::group(options, candidates, region_bytes) {
                let from = group.iter().map(|c| c.region).collect();
                let live_bytes = group.iter().map(|c| c.live_bytes).sum();
                let is_for_order = policy::is_for_order_only(options, &group, region_bytes);
                groups.push(Planned { server, from, live_bytes, is_for_order });
            }
        }
        self.core.options.log.line(LogLevel::Info, "gc,cset", || {
            let from: usize = groups.iter().map(|g| g.from.len()).sum();
            let new = state.is_new.iter().filter(|is_new| **is_new).count();
            let is_for_order = |group: &&Planned| group.is_for_order;
            format!(
                "{} MB live; {} regions dead, {new} new, {from} in {} groups, {} for locality only",
                live.iter().sum::<u64>() >> 20,
                dead.len(),
                groups.len(),
                groups.iter().filter(is_for_order).count()
            )
        });
        steps.end("Choose Groups");
        Ok(Decision { dead, groups, pending })
    }

    /// After a minor collection that left nothing young, unless `planned` is empty. Gives groups their to-regions, as
    /// long as there are free ones, and moves the objects of
    /// these groups that threads hold. The others stay in `planned`. `dead` more regions will be free after the
    /// pause.
    fn begin_groups(
        &self,
        world: &WorldStopped,
        planned: &mut Vec<Planned>,
        dead: usize,
    ) -> Vec<Arc<Group>> {
        let mut steps = Steps::begin(&self.core.options.log, "Pause PEP");
        let evacuations = &self.shared.evacuations;
        evacuations.reset();
        let mut state = self.retire_all(world);
        let mut groups = Vec::new();
        let mut taken = vec![0; self.agents.count()];
        let free = self.shared.free_by_server();
        let held = self.hold_large(world, planned, dead);
        planned.retain_mut(|planned| {
            // Since the groups were planned, these may have changed.
            let is_pinned = |r: &RegionId| self.core.regions.region(*r).is_pinned();
            let stays = |r: &RegionId| state.is_new[r.index()] || is_pinned(r) || held.contains(r);
            planned.from.retain(|region| !stays(region));
            // Half of the free regions stay for mutators, which continue to allocate.
            if taken[planned.server] > free[planned.server] / 2 || planned.from.is_empty() {
                return !planned.from.is_empty();
            }
            let Some(to) = state.take_to_region(&self.shared, planned.server) else { return true };
            taken[planned.server] += 1;
            let group = self.make_group(&mut state, groups.len() as u32, planned, to);
            evacuations.begin(group.clone());
            groups.push(group);
            false
        });
        state.close_regions(groups.iter().flat_map(|group| group.from.iter().copied()));
        drop(state);
        self.core.options.log.line(LogLevel::Info, "gc,cset", || {
            format!("{} groups begin, {} wait for free regions", groups.len(), planned.len())
        });
        self.set_phase(world.mutators(), if groups.is_empty() { 0 } else { EVACUATING });
        steps.end("Begin Groups");
        self.core.binding().visit_thread_roots(world, &mut |root| {
            if !root.is_null() && evacuations.contains(self.core.geometry.region_of(*root)) {
                *root = evacuations.moved(&self.shared, entry_of(*root));
            }
        });
        steps.end("Move Roots");
        groups
    }

    /// Regions of groups in which threads hold large objects: these would be copied in this pause. They wait for
    /// another cycle, unless memory is short.
    fn hold_large(
        &self,
        world: &WorldStopped,
        planned: &[Planned],
        dead: usize,
    ) -> BTreeSet<RegionId> {
        let mut held = BTreeSet::new();
        let free = self.core.regions.free_count() + dead;
        if policy::is_short(self.core.geometry.regions, free) || self.core.options.zeal() {
            return held;
        }
        let from: HashSet<_> = planned.iter().flat_map(|group| group.from.iter()).collect();
        self.core.binding().visit_thread_roots(world, &mut |root| {
            if root.is_null() || !from.contains(&self.core.geometry.region_of(*root)) {
                return;
            }
            let bytes = self.core.layout_of(*root).object_bytes(*root, SLOT_BYTES);
            if bytes >= LARGE_BYTES {
                held.insert(self.core.geometry.region_of(*root));
            }
        });
        held
    }

    fn make_group(
        &self,
        state: &mut super::allocation::State,
        number: u32,
        planned: &Planned,
        to: RegionId,
    ) -> Arc<Group> {
        let from = &planned.from;
        let tablets = state.close_tablets_of(from);
        let start = self.shared.entries.geometry.region_offset(to);
        Arc::new(Group {
            number,
            job: self.agents.next_job(),
            from: from.clone(),
            to,
            tablets,
            live_bytes: planned.live_bytes,
            to_region: ToRegion::new(start..start + self.core.geometry.region_bytes()),
        })
    }

    /// Concurrent evacuation, in rounds of one group for each server (algorithm 3). Returns objects
    /// moved by agents, or by this thread in their place.
    fn evacuate(&self, groups: Vec<Arc<Group>>, snapshot: &Snapshot) -> u64 {
        let _moving = during(Activity::Evacuation);
        let geometry = &self.shared.entries.geometry;
        let mut queues = vec![VecDeque::new(); self.agents.count()];
        for group in &groups {
            queues[geometry.region_server(group.to)].push_back(group.clone());
        }
        self.core.stats.count("evacuated_groups", groups.len() as u64);
        let mut moved = 0;
        loop {
            let round: Vec<_> = queues.iter_mut().filter_map(VecDeque::pop_front).collect();
            if round.is_empty() {
                return moved;
            }
            moved += self.evacuate_round(round, &World::Running, snapshot);
        }
    }

    /// Groups that found no free region before may find those that others have freed; each time in
    /// another pre-evacuation pause, since objects that threads hold must be moved first.
    fn evacuate_rest(&self, planned: &mut Vec<Planned>, snapshot: &Snapshot) -> u64 {
        let mut moved = 0;
        loop {
            let regions = &self.core.regions;
            if policy::is_short(self.core.geometry.regions, regions.free_count()) {
                planned.retain(|group| !group.is_for_order);
            }
            if planned.is_empty() {
                break;
            }
            let groups = self.pause(&World::Running, "Pause PEP", |w| {
                // There are new ones since the last pause.
                if !self.collect_young(w, None).is_empty() {
                    planned.clear();
                }
                self.begin_groups(w, planned, 0)
            });
            if groups.is_empty() {
                break;
            }
            moved += self.evacuate(groups, snapshot);
        }
        moved
    }

    /// The same with the world stopped: a group gets its to-region when its turn comes, so one free
    /// region on each server is enough, and agents move everything; threads' references are looked
    /// up again at the end.
    fn evacuate_all(&self, world: &WorldStopped, decision: &Decision, snapshot: &Snapshot) -> u64 {
        if decision.groups.is_empty() {
            return 0;
        }
        let _moving = during(Activity::Evacuation);
        let mut held = Vec::new();
        let binding = self.core.binding();
        binding.visit_thread_roots(world, &mut |root| {
            let is_young = self.shared.is_young(*root);
            held.push(if is_young { EntryIndex::NULL } else { entry_of(*root) });
        });
        self.shared.evacuations.reset();
        let mut moved = 0;
        let mut begun = 0;
        for planned in &decision.groups {
            let mut state = self.lock_to_close();
            // A humongous object may have taken the server's last one.
            let Some(to) = state.take_to_region(&self.shared, planned.server) else { continue };
            let group = self.make_group(&mut state, begun, planned, to);
            state.close_regions(group.from.iter().copied());
            drop(state);
            begun += 1;
            self.core.stats.count("evacuated_groups", 1);
            self.shared.evacuations.begin(group.clone());
            moved += self.evacuate_round(vec![group], &World::Stopped(world), snapshot);
        }
        let mut entries = held.into_iter();
        binding.visit_thread_roots(world, &mut |root| {
            let entry = entries.next().expect("roots are the same while the world is stopped");
            if !entry.is_null() {
                *root = self.shared.entries.object(entry);
            }
        });
        moved
    }

    /// Frees a region in which nothing lives, or all regions of a dead humongous object. Returns
    /// how many.
    fn free_dead(&self, first: RegionId) -> usize {
        let region = self.core.regions.region(first);
        let count = match region.usage() {
            RegionUse::HumongousStart => region.top().div_ceil(self.core.geometry.region_bytes()),
            _ => {
                self.allocator.lock().tablets[first.index()].clear();
                1
            }
        };
        (0..count as u32).for_each(|i| self.free_region(RegionId(first.0 + i)));
        count
    }

    fn free_region(&self, region: RegionId) {
        self.core.discard_region(region);
        self.core.regions.free(region, true);
        self.control.note_freed();
    }

    /// Young objects that are only in slots of these dead regions need not live.
    fn forget_slots_of(&self, dead: &[RegionId]) {
        let Some(table) = &self.shared.young else { return };
        let mut is_freed = vec![false; self.core.geometry.regions];
        for first in dead {
            let bytes = self.core.regions.region(*first).top();
            let count = bytes.div_ceil(self.core.geometry.region_bytes()).max(1);
            is_freed[first.index()..first.index() + count].fill(true);
        }
        table.forget(|region| is_freed[region.index()]);
    }

    /// Gives dead entries, empty tablets and the free ends of regions back to allocation.
    fn reclaim(&self, snapshot: Snapshot) -> usize {
        let reclaimed = snapshot.reclaim(&self.shared.entries);
        // Beside the program, and without the lock that it needs for entries: it only takes more meanwhile.
        let entries = &self.shared.entries;
        let tablets = self.allocator.lock().used().to_vec();
        let used: Vec<_> = tablets.into_iter().map(|t| (entries.tablet(t).used(), t)).collect();
        let (empty, used): (Vec<_>, Vec<_>) = used.into_iter().partition(|(used, _)| *used == 0);
        let empty: Vec<_> = empty.into_iter().map(|(_, tablet)| tablet).collect();
        let freed = self.allocator.lock().free_tablets(&empty, |t| entries.tablet(t).used() == 0);
        if !freed.is_empty() {
            let regions = self.core.geometry.regions;
            for first in (0..regions).step_by(REGIONS_TOGETHER) {
                let some = first..regions.min(first + REGIONS_TOGETHER);
                self.allocator.lock().forget_freed(some);
            }
        }
        let pages = freed.iter().map(|t| entries.geometry.tablet_pages(*t));
        self.pager().discard_all(&pages.collect::<Vec<_>>());
        let spare = Spare::choose(&entries.geometry, used);
        let mut state = self.allocator.lock();
        state.pool(&freed);
        let least = state.least_room(&self.shared);
        let has_room = |top: usize| self.core.geometry.region_bytes() - top >= least;
        let open =
            self.core.regions.iter().filter(|(_, region)| {
                region.usage() == RegionUse::Objects && has_room(region.top())
            });
        let open = open.map(|(id, _)| id).collect();
        state.reopen(open);
        state.share_tablets(spare);
        state.end_cycle();
        self.shared.preloader.ask();
        *self.last_snapshot.lock() = Some(snapshot);
        reclaimed
    }

    fn verify(&self, world: &WorldStopped, when: &'static str) {
        if self.core.options.verify_heap {
            verify::verify(&self.core, world, self, SLOT_BYTES, when);
        }
    }

    /// That entries and old objects belong to each other, and that every slot of an old object that names a young one
    /// is remembered. World stopped, after a minor collection, and not during a cycle: there entries of dead objects
    /// may name memory that is free.
    pub(super) fn verify_young(&self) {
        let Some(table) = self.shared.young.as_ref().filter(|_| self.core.options.verify_heap)
        else {
            return;
        };
        let entries = &self.shared.entries;
        let remembered: HashSet<usize> = table.remembered().into_iter().collect();
        let mut early = table.early.lock();
        early.retire(&self.shared);
        let early: HashSet<_> = early.entries().into_iter().collect();
        let (used, fields) = (self.allocator.lock().used().to_vec(), self.core.reference_fields());
        let all = used.iter().flat_map(|id| {
            let bits = entries.tablet(*id);
            (0..TABLET_ENTRIES).filter(|n| bits.is_allocated(*n)).map(|n| id.entry(n))
        });
        for entry in all.filter(|entry| !entry.is_null() && !early.contains(entry)) {
            let object = entries.object(entry);
            assert_eq!(entry_of(object), entry, "{object:?} of {entry:?}");
            assert!(!table.has(object.address()), "{entry:?} names {object:?}, which is young");
            for_every_slot(self.core.layout_of(object), object, SLOT_BYTES, fields, |at| {
                let word = EntryIndex(read_word(object, at, SLOT_BYTES) as u32);
                let slot = object.address() + at;
                assert!(!word.is_young() || table.is_named_by(word.0), "{word:?} in a slot");
                assert!(
                    !word.is_young() || remembered.contains(&slot),
                    "slot {at} of {object:?} {:?} names a young object and is not remembered",
                    object.klass()
                );
            });
        }
    }

    pub(super) fn retire_all(
        &self,
        world: &WorldStopped,
    ) -> parking_lot::MutexGuard<'_, super::allocation::State> {
        world.mutators().for_each(|m| self.retire(m));
        if let Some(table) = &self.shared.young {
            table.early.lock().retire(&self.shared);
        }
        self.lock_to_close()
    }

    /// The state, for a caller that may close tablets.
    fn lock_to_close(&self) -> parking_lot::MutexGuard<'_, super::allocation::State> {
        let _still = self.shared.preloader.keep_still();
        self.allocator.lock()
    }

    fn set_phase<'a>(&self, mutators: impl Iterator<Item = &'a Mutator>, phase: u64) {
        self.shared.phase.store(phase, Ordering::SeqCst);
        mutators.for_each(|m| thread::set_phase(m, phase));
    }

    fn pause<R>(&self, world: &World, name: &'static str, f: impl FnOnce(&WorldStopped) -> R) -> R {
        match world {
            World::Stopped(world) => f(world),
            World::Running => {
                let pages = self.core.pages_fetched();
                let (result, times) = self.core.safepoints.stop_world(None, f);
                let pages = self.core.pages_fetched() - pages;
                self.core.record_pause((name, name), times, pages);
                self.core.options.log.line(LogLevel::Info, "gc,phases", || {
                    format!("{name} {:.3}ms", times.stopped.as_secs_f64() * 1e3)
                });
                result
            }
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

    fn pager(&self) -> &Pager {
        self.shared.pager()
    }

    fn options(&self) -> &MakoOptions {
        &self.core.options.mako
    }

    /// Lets servers know that untouched pages of these regions' objects are zero: large arrays have such. Before dirty
    /// pages are written, since a thread that touches one meanwhile makes it dirty.
    fn settle_objects(&self, regions: impl Iterator<Item = RegionId>) {
        let geometry = &self.shared.entries.geometry;
        // Up to the tops, which are 0 where there are no objects, or only the rest of one.
        let pages = |id| {
            PageRange::of_bytes(geometry.region_offset(id), self.core.regions.region(id).top())
        };
        self.pager().settle(&regions.map(pages).collect::<Vec<_>>());
    }

    /// All pages with entries, and with regions that agents look at: not those that are young now.
    fn everything(&self) -> Vec<PageRange> {
        let geometry = &self.shared.entries.geometry;
        let mut ranges = Vec::new();
        let mut from = 0;
        for (id, region) in self.core.regions.iter() {
            if region.usage() == RegionUse::Young {
                let at = geometry.region_offset(id);
                ranges.push(PageRange::of_bytes(from, at - from));
                from = at + geometry.region_bytes();
            }
        }
        ranges.push(PageRange::of_bytes(from, geometry.paged_bytes() - from));
        ranges
    }

    fn count(&self, decision: &Decision, freed: usize, moved: u64, reclaimed: usize) {
        let count = |name, amount| self.core.stats.count(name, amount);
        count("dead_regions", freed as u64);
        count("evacuated_objects", moved);
        count("reclaimed_entries", reclaimed as u64);
        let tablets = self.allocator.lock().used().len();
        let tablet_bytes = self.shared.entries.geometry.tablet_bytes();
        self.core.stats.set("entry_bytes_used", (tablets * tablet_bytes) as u64);
        count("soft_references_cleared", decision.pending.soft);
        count("weak_references_cleared", decision.pending.weak);
        count("final_references_enqueued", decision.pending.finals);
        count("phantom_references_cleared", decision.pending.phantom);
    }
}

/// Regions whose tablets are looked at before the allocator's lock is given back.
const REGIONS_TOGETHER: usize = 64;
/// Concurrent rounds of taking over logged references before the pre-evacuation pause.
const HAND_OVERS_MAX: usize = 3;
