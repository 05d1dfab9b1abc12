//! A round of evacuation: a group of each server is handed to its agent and comes back (algorithm 3 of section
//! 3.4.3), or is evacuated in the VM.

use super::World;
use crate::agent::Evacuated;
use crate::agent::protocol::Evacuation;
use crate::collectors::mako::Mako;
use crate::collectors::mako::evacuation::Group;
use crate::collectors::mako::remote::{Lost, Outcome};
use crate::collectors::mako::snapshot::Snapshot;
use crate::hit::TabletId;
use crate::memory::region::RegionUse;
use crate::object::geometry::RegionId;
use base::die;
use rdma::PeerId;
use std::collections::BTreeMap;
use std::sync::Arc;
use swap::{PAGE_BYTES, PageRange, RaisedPriority};

impl Mako {
    /// Takes groups, at most one of each server, to their agents and back. Returns the number of objects that the
    /// agents moved.
    pub(super) fn evacuate_round(
        &self,
        groups: Vec<Arc<Group>>,
        world: &World,
        snapshot: &Snapshot,
    ) -> u64 {
        if !self.agents.servers_evacuate() {
            return groups.iter().map(|group| self.evacuate_here(group, world, snapshot)).sum();
        }
        if self.options().copy_ahead && matches!(world, World::Running) {
            let spare = self.core.geometry.region_bytes() / COPY_SPARE_SHARE;
            for group in &groups {
                group.to_region.begin_copying(group.live_bytes, spare);
            }
        }
        self.write_ahead(&groups);
        self.copy_ahead(&groups);
        let mut warm = BTreeMap::new();
        if self.options().bring_back && matches!(world, World::Running) {
            warm.extend(groups.iter().map(|group| (group.number, self.warm(group))));
        }
        // From the moment in which tablets depart, threads wait for this one.
        let raised = RaisedPriority::begin();
        let mut trips = self.close(groups, world);
        let (mut moved, mut freed, mut coming_back) = (0, Vec::new(), Vec::new());
        while !trips.is_empty() {
            let mut away = self.hand_to_agents(trips);
            trips = Vec::new();
            let mut jobs: Vec<_> = away.iter().map(|t| self.job_and_server(&t.group)).collect();
            while !away.is_empty() {
                let (place, outcome) = self.agents.await_job(&jobs);
                let (mut trip, (_, server)) = (away.remove(place), jobs.remove(place));
                match outcome {
                    Outcome::Evacuated(part) if self.share(&trip, server, &part).is_ok() => {
                        moved += u64::from(part.objects);
                        self.take_from_agent(&mut trip, part);
                    }
                    _ => {
                        self.leave_in_place(trip);
                        continue;
                    }
                }
                if trip.left.is_empty() {
                    let Trip { group, done, .. } = trip;
                    freed.extend(self.finish(&group, done));
                    coming_back.extend(warm.remove(&group.number).map(|warm| (group, warm)));
                } else {
                    trips.push(trip);
                }
            }
        }
        drop(raised);
        // Giving memory back takes longer than the rest together, so it comes when no thread waits for a tablet any
        // more.
        freed.into_iter().for_each(|region| self.free_region(region));
        coming_back.into_iter().for_each(|(group, warm)| self.bring_back(&group, warm));
        moved
    }

    /// Waiting -> done, without an agent: this thread moves the live objects of a group, as mutators do that meet an
    /// object. Returns their number.
    fn evacuate_here(&self, group: &Group, world: &World, snapshot: &Snapshot) -> u64 {
        let entries = &self.shared.entries;
        let is_of_group = |offset: usize| group.from.contains(&entries.geometry.region_of(offset));
        let mut left = Vec::new();
        for tablet in &group.tablets {
            let live = snapshot.marked(*tablet).map(|entry| (entries.offset(entry), entry));
            left.extend(live.filter(|(offset, _)| is_of_group(*offset)));
        }
        // In the order in which agents move them.
        left.sort_unstable();
        for (_, entry) in &left {
            self.shared.evacuations.moved(&self.shared, *entry);
        }
        // A thread that read an entry before its object moved is past the barrier now, and has moved the object or
        // found it moved.
        self.handshake(world, &|_| ());
        let top = group.to_region.agents().start;
        let freed = self.finish(group, nothing_at(top));
        freed.into_iter().for_each(|region| self.free_region(region));
        left.len() as u64
    }

    /// Waiting -> copying -> copied, for groups whose to-regions are shared for it. No thread waits for it, unless
    /// the VM's part of a to-region is full.
    fn copy_ahead(&self, groups: &[Arc<Group>]) {
        let mut copying: Vec<_> = groups.iter().filter(|g| g.to_region.is_copying()).collect();
        copying.retain(|group| {
            let begun = self.agents.copy_ahead(self.evacuation(group, group.tablets.clone()));
            // A lost agent is noticed when its group is to be evacuated.
            begun.inspect_err(|Lost| group.to_region.copied()).is_ok()
        });
        let mut jobs: Vec<_> = copying.iter().map(|group| self.job_and_server(group)).collect();
        while !copying.is_empty() {
            let (place, _copied_or_lost) = self.agents.await_job(&jobs);
            jobs.remove(place);
            copying.remove(place).to_region.copied();
        }
    }

    /// The request to an agent for a group, or for a part of its tablets.
    fn evacuation(&self, group: &Group, tablets: Vec<TabletId>) -> Evacuation {
        let (agents, from) = (group.to_region.agents(), group.from.clone());
        let (start, end) = (agents.start, agents.end);
        Evacuation { group: group.job, from, to: group.to, start, end, tablets }
    }

    fn job_and_server(&self, group: &Group) -> (u32, usize) {
        (group.job, self.shared.entries.geometry.region_server(group.to))
    }

    /// Makes the agent's writes visible in the VM and on the mirror, before any thread relies on them.
    fn share(&self, trip: &Trip, server: usize, part: &Evacuated) -> Result<(), Lost> {
        let start = trip.group.to_region.agents().start;
        let end = part.top.next_multiple_of(PAGE_BYTES).max(start);
        let mut written = self.pages(&trip.away);
        // Since the first part has come threads write to the copies.
        if !trip.has_begun && end > start {
            let copies = PageRange::of_bytes(start, end - start);
            // A thread that fills a new mirror meanwhile must not take them for pages that were never written.
            self.pager().invalidate(copies);
            written.push(copies);
        }
        self.agents.share(server, &written)
    }

    /// At agent -> given up: the agent is lost, and so is its work on the tablets that it has. The objects that it
    /// should have moved stay where they are, as the mirror has them. Those that came back before stay moved.
    fn leave_in_place(&self, trip: Trip) {
        let Trip { group, left, away, done, has_begun, .. } = trip;
        // No object is moved any more. The VM's versions of these are the newest.
        self.shared.evacuations.gate.depart(&left);
        self.core.stats.count("groups_left_in_place", 1);
        // Pages of these that were fetched meanwhile may contain the agent's writes. They hold no live object.
        if !has_begun {
            self.pager().discard(self.agents_pages(&group));
        }
        self.pager().invalidate_all(&self.pages(&away));
        self.arrive(&group, done);
        if self.core.regions.region(group.to).top() == 0 {
            self.free_region(group.to);
        }
    }

    /// Writes the pages that the agents will read, while no thread waits for it.
    fn write_ahead(&self, groups: &[Arc<Group>]) {
        let geometry = &self.shared.entries.geometry;
        // These have not been written since the pause, so once is enough.
        let from = groups.iter().flat_map(|g| g.from.iter().copied());
        self.settle_objects(from.clone());
        self.pager()
            .write_back_all(&from.map(|region| geometry.region_pages(region)).collect::<Vec<_>>());
        // These are still in use: little is left to be written when no mutator may use them.
        for group in groups {
            self.pager().write_back(self.agents_pages(group));
            self.pager().write_back_all(&self.pages(&group.tablets));
        }
    }

    /// Where the agent writes. Memory that was touched before it was needed is dirty, though it is empty.
    fn agents_pages(&self, group: &Group) -> PageRange {
        let agents = group.to_region.agents();
        PageRange::of_bytes(agents.start, agents.len())
    }

    fn pages(&self, tablets: &[TabletId]) -> Vec<PageRange> {
        let geometry = &self.shared.entries.geometry;
        tablets.iter().map(|tablet| geometry.tablet_pages(*tablet)).collect()
    }

    /// The tablets of groups, at most one of each server, close: from now on a thread that moves an object holds the
    /// gate's lock, until they depart.
    ///
    /// From the end of the handshake until the groups are done this thread must not ask for a pause
    /// or handshake ([`Gate`](crate::collectors::mako::gate::Gate)).
    fn close(&self, groups: Vec<Arc<Group>>, world: &World) -> Vec<Trip> {
        let gate = &self.shared.evacuations.gate;
        groups.iter().for_each(|g| gate.close(&g.tablets));
        self.handshake(world, &|_| ());
        let count = |name, counts: bool| self.core.stats.count(name, counts.into());
        let trip = |group: Arc<Group>| {
            let has_copies = group.to_region.begin_naming();
            let at_once = match self.options().away_tablets {
                1.. if has_copies => self.options().away_tablets,
                _ => usize::MAX,
            };
            count("groups_copied_ahead", has_copies);
            count("groups_copied_in_vain", group.to_region.is_void());
            let done = nothing_at(group.to_region.agents().start);
            let left = group.tablets.clone();
            Trip { group, at_once, left, away: Vec::new(), has_begun: false, done }
        };
        groups.into_iter().map(trip).collect()
    }

    /// The next tablets of groups, one of each server, are handed to their agents. Returns those for which that
    /// succeeded; the others are given up.
    fn hand_to_agents(&self, mut trips: Vec<Trip>) -> Vec<Trip> {
        for trip in &mut trips {
            let rest = trip.left.split_off(trip.at_once.min(trip.left.len()));
            trip.away = std::mem::replace(&mut trip.left, rest);
            self.shared.evacuations.gate.depart(&trip.away);
        }
        // All groups before the first agent begins: on a machine with few CPUs it would take this thread's.
        self.pager().evict_all(&trips.iter().flat_map(|t| self.pages(&t.away)).collect::<Vec<_>>());
        for trip in &trips {
            if !trip.has_begun {
                self.pager().write_back(self.agents_pages(&trip.group));
            }
            self.assert_flushed(trip);
        }
        self.core.stats.count("evacuated_parts", trips.len() as u64);
        let mut handed = Vec::new();
        for trip in trips {
            let evacuation = self.evacuation(&trip.group, trip.away.clone());
            match self.agents.evacuate(evacuation, trip.group.to_region.has_copies()) {
                Ok(()) => handed.push(trip),
                Err(Lost) => self.leave_in_place(trip),
            }
        }
        handed
    }

    /// The agent has the newest version of all that it will read, and the VM will not overwrite the agent's writes.
    fn assert_flushed(&self, trip: &Trip) {
        let (group, geometry) = (&trip.group, &self.shared.entries.geometry);
        let mut ranges = self.pages(&trip.away);
        if !trip.has_begun {
            ranges.extend(group.from.iter().map(|r| geometry.region_pages(*r)));
            ranges.push(self.agents_pages(group));
        }
        for range in ranges {
            let dirty = self.pager().dirty_pages(range);
            assert!(dirty.is_empty(), "group {} leaves dirty pages {dirty:?}", group.number);
        }
    }

    /// A part is done: its tablets open, unless it is the last one.
    fn take_from_agent(&self, trip: &mut Trip, part: Evacuated) {
        let (agents, top) = (trip.group.to_region.agents(), part.top);
        assert!(top >= agents.start && top <= agents.end, "{top:#x} is not in {agents:#x?}");
        if trip.has_begun && top != trip.done.top {
            let server = PeerId::Server(self.job_and_server(&trip.group).1 as u16);
            let (group, before) = (trip.group.number, trip.done.top);
            die(format_args!("{server} ends group {group} at {top:#x}, and before at {before:#x}"));
        }
        trip.has_begun = true;
        // A page of these that was fetched meanwhile is an old one.
        self.pager().invalidate_all(&self.pages(&trip.away));
        trip.done.top = top;
        trip.done.tablets.extend(part.tablets);
        let away = std::mem::take(&mut trip.away);
        if !trip.left.is_empty() {
            self.shared.evacuations.gate.release(&away);
            trip.group.to_region.part_named();
        }
    }

    /// All that lives in a group has been moved: its tablets open. Returns its from-regions, and the to-region if it
    /// is empty: they are to be freed.
    fn finish(&self, group: &Group, done: Evacuated) -> Vec<RegionId> {
        let mut state = self.allocator.lock();
        for region in &group.from {
            state.tablets[region.index()].clear();
        }
        drop(state);
        self.arrive(group, done);
        let mut freed = group.from.clone();
        if self.core.regions.region(group.to).top() == 0 {
            freed.push(group.to);
        }
        freed
    }

    /// The objects moved, first by the VM and then as in `done`, are all that will be: the to-region becomes a region
    /// like others, unless it is empty, and tablets open.
    fn arrive(&self, group: &Group, Evacuated { top, tablets, .. }: Evacuated) {
        let region = self.shared.entries.geometry.region_offset(group.to);
        self.shared.walks.allow(group.to);
        let by_agent = if top > group.to_region.agents().start { top } else { region };
        let by_vm = group.to_region.lock();
        let to = self.core.regions.region(group.to);
        to.set_top(by_vm.end().max(by_agent) - region);
        let mut serving = by_vm.tablets.clone();
        drop(by_vm);
        serving.extend(tablets);
        let serving = serving.into_iter().collect();
        self.allocator.lock().tablets[group.to.index()].replace(serving);
        if to.top() > 0 {
            to.set_usage(RegionUse::Objects);
        }
        self.shared.evacuations.release(group);
        group.to_region.named();
    }
}

/// A group on its way to its agent and back, a part of its tablets after the other.
struct Trip {
    group: Arc<Group>,
    /// The number of tablets that are away at a time, at most.
    at_once: usize,
    /// The tablets that have not departed, which are closing.
    left: Vec<TabletId>,
    /// Those at the agent.
    away: Vec<TabletId>,
    /// A part has come back: threads use the copies of its objects.
    has_begun: bool,
    /// The agent's results so far.
    done: Evacuated,
}

fn nothing_at(top: usize) -> Evacuated {
    Evacuated { top, objects: 0, tablets: Vec::new() }
}

/// Groups are copied ahead if at least this fraction (one in N) of a to-region is left to mutators for objects that
/// they move meanwhile.
const COPY_SPARE_SHARE: usize = 64;
