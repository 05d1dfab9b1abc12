//! A round of evacuation: a group of each server goes to its agent and comes back (algorithm 3 of section 3.4.3), or is
//! evacuated here.

use super::World;
use crate::agent::Evacuated;
use crate::agent::protocol::Evacuation;
use crate::collectors::mako::Mako;
use crate::collectors::mako::evacuation::Group;
use crate::collectors::mako::remote::{Lost, Outcome};
use crate::collectors::mako::snapshot::Snapshot;
use crate::geometry::RegionId;
use crate::region::RegionUse;
use std::collections::BTreeMap;
use std::sync::Arc;
use swap::{Hurry, PAGE_BYTES, PageRange};

impl Mako {
    /// Takes groups, at most one of each server, to their agents and back. Returns objects moved there.
    pub(super) fn evacuate_round(
        &self,
        mut groups: Vec<Arc<Group>>,
        world: &World,
        snapshot: &Snapshot,
    ) -> u64 {
        if !self.options().offload_evacuation {
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
        let mut coming_back = Vec::new();
        // From the moment in which tablets close, threads wait for this one.
        let hurry = Hurry::begin();
        let mut moved = 0;
        let handed = self.hand_to_agents(&groups, world);
        let mut handed = handed.into_iter();
        groups.retain(|group| match handed.next() {
            Some(Ok(())) => true,
            _ => {
                self.leave_in_place(group);
                false
            }
        });
        let mut jobs: Vec<_> = groups.iter().map(|group| self.job_and_server(group)).collect();
        let mut freed = Vec::new();
        while !groups.is_empty() {
            let (place, outcome) = self.agents.await_job(&jobs);
            let (group, (_, server)) = (groups.remove(place), jobs.remove(place));
            match outcome {
                Outcome::Evacuated(evacuated) if self.share(&group, server, &evacuated).is_ok() => {
                    moved += u64::from(evacuated.objects);
                    freed.extend(self.take_from_agent(&group, evacuated));
                    coming_back.extend(warm.remove(&group.number).map(|warm| (group, warm)));
                }
                _ => self.leave_in_place(&group),
            }
        }
        drop(hurry);
        // Giving memory back takes longer than the rest together, so it comes when nobody waits for a tablet any more.
        freed.into_iter().for_each(|region| self.free_region(region));
        coming_back.into_iter().for_each(|(group, warm)| self.bring_back(&group, warm));
        moved
    }

    /// Waiting -> done, without an agent: this thread moves what lives in a group, as mutators do that meet an object.
    /// Returns how many there were.
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
        // Who read an entry before its object moved is past the barrier now, and has moved the object or found it
        // moved.
        self.handshake(world, &|_| ());
        let top = group.to_region.agents().start;
        let freed = self.finish(group, Evacuated { top, objects: 0, tablets: Vec::new() });
        freed.into_iter().for_each(|region| self.free_region(region));
        left.len() as u64
    }

    /// Waiting -> copying -> copied, for groups whose to-regions are shared for it. Nobody waits for it, unless the
    /// VM's part of a to-region is full.
    fn copy_ahead(&self, groups: &[Arc<Group>]) {
        let mut copying: Vec<_> = groups.iter().filter(|g| g.to_region.is_copying()).collect();
        copying.retain(|group| {
            let begun = self.agents.copy_ahead(self.evacuation(group));
            // Whose agent is lost is found out when it is to be evacuated.
            begun.inspect_err(|Lost| group.to_region.copied()).is_ok()
        });
        let mut jobs: Vec<_> = copying.iter().map(|group| self.job_and_server(group)).collect();
        while !copying.is_empty() {
            let (place, _copied_or_lost) = self.agents.await_job(&jobs);
            jobs.remove(place);
            copying.remove(place).to_region.copied();
        }
    }

    /// What agents are told of a group.
    fn evacuation(&self, group: &Group) -> Evacuation {
        let (agents, from, tablets) =
            (group.to_region.agents(), group.from.clone(), group.tablets.clone());
        let (start, end) = (agents.start, agents.end);
        Evacuation { group: group.job, from, to: group.to, start, end, tablets }
    }

    fn job_and_server(&self, group: &Group) -> (u32, usize) {
        (group.job, self.shared.entries.geometry.region_server(group.to))
    }

    /// What an agent has written is on the mirror too, before anybody relies on it.
    fn share(&self, group: &Group, server: usize, evacuated: &Evacuated) -> Result<(), Lost> {
        let start = group.to_region.agents().start;
        let end = evacuated.top.next_multiple_of(PAGE_BYTES).max(start);
        let written = PageRange::of_bytes(start, end - start);
        let mut written = vec![written];
        written.extend(self.tablet_pages(group));
        self.agents.share(server, &written)
    }

    /// At agent -> given up: the agent is gone, and so is what it did. What it should have moved stays where it is, as
    /// the mirror has it.
    fn leave_in_place(&self, group: &Group) {
        self.core.stats.count("groups_left_in_place", 1);
        let region = self.shared.entries.geometry.region_offset(group.to);
        // Whatever brought pages of these back meanwhile may have brought what the agent did. Nothing lives there.
        self.pager().discard(self.agents_pages(group));
        self.pager().invalidate_all(&self.tablet_pages(group));
        self.shared.walks.allow(group.to);
        let by_vm = group.to_region.lock();
        let to = self.core.regions.region(group.to);
        to.set_top(by_vm.end() - region);
        let tablets = by_vm.tablets.iter().copied().collect();
        drop(by_vm);
        self.allocator.lock().tablets[group.to.index()].replace(tablets);
        self.shared.evacuations.release(group);
        if to.top() == 0 {
            self.free_region(group.to);
        } else {
            to.set_usage(RegionUse::Objects);
        }
    }

    /// Writes what the agents will read, as long as nobody waits for it.
    fn write_ahead(&self, groups: &[Arc<Group>]) {
        let geometry = &self.shared.entries.geometry;
        // Nobody writes there since the pause, so once is enough.
        let from = groups.iter().flat_map(|g| g.from.iter().copied());
        self.settle_objects(from.clone());
        self.pager()
            .write_back_all(&from.map(|region| geometry.region_pages(region)).collect::<Vec<_>>());
        // These are still in use: little is left to be written when nobody may use them.
        for group in groups {
            self.pager().write_back(self.agents_pages(group));
            self.pager().write_back_all(&self.tablet_pages(group));
        }
    }

    /// Where the agent writes. Memory that was touched before it was needed is dirty, though there is nothing
    /// in it.
    fn agents_pages(&self, group: &Group) -> PageRange {
        let agents = group.to_region.agents();
        PageRange::of_bytes(agents.start, agents.len())
    }

    fn tablet_pages(&self, group: &Group) -> Vec<PageRange> {
        let geometry = &self.shared.entries.geometry;
        group.tablets.iter().map(|tablet| geometry.tablet_pages(*tablet)).collect()
    }

    /// Waiting or copied -> at agent, for at most one group of each server.
    ///
    /// From the end of the handshake until the groups are done this thread must not ask for a pause
    /// or handshake ([`Gate`](super::gate::Gate)).
    fn hand_to_agents(&self, groups: &[Arc<Group>], world: &World) -> Vec<Result<(), Lost>> {
        let gate = &self.shared.evacuations.gate;
        groups.iter().for_each(|g| gate.close(&g.tablets));
        self.handshake(world, &|_| ());
        groups.iter().for_each(|g| gate.depart(&g.tablets));
        // All groups before the first agent begins: on a machine with few processors it would take this thread's.
        let all_tablets = groups.iter().flat_map(|g| self.tablet_pages(g));
        self.pager().evict_all(&all_tablets.collect::<Vec<_>>());
        for group in groups {
            self.pager().write_back(self.agents_pages(group));
            self.assert_flushed(group);
        }
        let hand = |group: &Arc<Group>| {
            let copied = group.to_region.has_copies();
            self.core.stats.count("groups_copied_ahead", copied.into());
            self.core.stats.count("groups_copied_in_vain", group.to_region.is_void().into());
            self.agents.evacuate(self.evacuation(group), copied)
        };
        groups.iter().map(hand).collect()
    }

    /// The agent has the newest version of all that it will read, and nothing here will overwrite
    /// what it writes.
    fn assert_flushed(&self, group: &Group) {
        let geometry = &self.shared.entries.geometry;
        let from = group.from.iter().map(|r| geometry.region_pages(*r));
        for range in from.chain(self.tablet_pages(group)).chain([self.agents_pages(group)]) {
            let dirty = self.pager().dirty_pages(range);
            assert!(dirty.is_empty(), "group {} leaves dirty pages {dirty:?}", group.number);
        }
    }

    /// At agent -> done. Returns the regions to be freed.
    fn take_from_agent(&self, group: &Group, evacuated: Evacuated) -> Vec<RegionId> {
        let (agents, top) = (group.to_region.agents(), evacuated.top);
        assert!(top >= agents.start && top <= agents.end, "{top:#x} is not in {agents:#x?}");
        if top > agents.start {
            self.pager().invalidate(PageRange::of_bytes(agents.start, top - agents.start));
        }
        // Whatever brought a page of these back meanwhile brought an old one.
        self.pager().invalidate_all(&self.tablet_pages(group));
        self.finish(group, evacuated)
    }

    /// All that lives in a group has been moved, to begin with by the VM, and then as `evacuated` says: its tablets
    /// open. Returns its from-regions, and the to-region if it is empty: they are to be freed.
    fn finish(&self, group: &Group, Evacuated { top, tablets, .. }: Evacuated) -> Vec<RegionId> {
        let geometry = &self.shared.entries.geometry;
        self.shared.walks.allow(group.to);
        let by_agent = if top > group.to_region.agents().start { top } else { 0 };
        let by_vm = group.to_region.lock();
        let to = self.core.regions.region(group.to);
        to.set_top(by_vm.end().max(by_agent) - geometry.region_offset(group.to));
        let mut serving = by_vm.tablets.clone();
        drop(by_vm);
        let mut state = self.allocator.lock();
        for region in &group.from {
            state.tablets[region.index()].clear();
        }
        serving.extend(tablets);
        state.tablets[group.to.index()].replace(serving.into_iter().collect());
        drop(state);
        self.shared.evacuations.release(group);
        let mut freed = group.from.clone();
        match to.top() {
            0 => freed.push(group.to),
            _ => to.set_usage(RegionUse::Objects),
        }
        freed
    }
}

/// Groups are copied ahead that leave so little of a to-region to mutators, at most, for what they move meanwhile.
const COPY_SPARE_SHARE: usize = 64;
