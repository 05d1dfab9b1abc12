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
        let server = |group: &Group| self.shared.entries.geometry.region_server(group.to);
        self.write_ahead(&groups);
        // From the moment in which tablets close, threads wait for this one.
        let hurry = Hurry::begin();
        let mut moved = 0;
        let mut jobs = Vec::new();
        for (group, handed) in groups.iter().zip(self.hand_to_agents(&groups, world)) {
            match handed {
                Ok(number) => jobs.push((number, server(group))),
                Err(Lost) => self.leave_in_place(group),
            }
        }
        groups.retain(|group| jobs.iter().any(|(_, s)| *s == server(group)));
        let mut freed = Vec::new();
        while !groups.is_empty() {
            let (place, outcome) = self.agents.await_evacuated(&jobs);
            let (group, (_, server)) = (groups.remove(place), jobs.remove(place));
            match outcome {
                Outcome::Evacuated(evacuated) if self.share(&group, server, &evacuated).is_ok() => {
                    moved += u64::from(evacuated.objects);
                    freed.extend(self.take_from_agent(&group, evacuated));
                }
                _ => self.leave_in_place(&group),
            }
        }
        drop(hurry);
        // Giving memory back takes longer than the rest together, so it comes when nobody waits for a tablet any more.
        freed.into_iter().for_each(|region| self.free_region(region));
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
        let top = group.agent_start();
        let freed = self.finish(group, Evacuated { top, objects: 0, tablets: Vec::new() });
        freed.into_iter().for_each(|region| self.free_region(region));
        left.len() as u64
    }

    /// What an agent has written is on the mirror too, before anybody relies on it.
    fn share(&self, group: &Group, server: usize, evacuated: &Evacuated) -> Result<(), Lost> {
        let start = group.agent_start();
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
        // Whatever brought pages of these back meanwhile may have brought what the agent did.
        self.pager().invalidate(self.rest_of_to(group));
        self.pager().invalidate_all(&self.tablet_pages(group));
        self.shared.walks.allow(group.to);
        let by_vm = group.moved();
        let to = self.core.regions.region(group.to);
        to.set_top(by_vm.top - region);
        let tablets = by_vm.tablets.into_iter().collect();
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
        for region in groups.iter().flat_map(|g| &g.from) {
            // Nobody writes there since the pause, so once is enough.
            self.pager().write_back(geometry.region_pages(*region));
        }
        // These are still in use: little is left to be written when nobody may use them.
        for group in groups {
            self.pager().write_back(self.rest_of_to(group));
            self.pager().write_back_all(&self.tablet_pages(group));
        }
    }

    /// Where the agent will write. Memory that was touched before it was needed is dirty, though there is nothing
    /// in it.
    fn rest_of_to(&self, group: &Group) -> PageRange {
        let geometry = &self.shared.entries.geometry;
        let (start, region) = (group.agent_start(), geometry.region_offset(group.to));
        PageRange::of_bytes(start, region + geometry.region_bytes() - start)
    }

    fn tablet_pages(&self, group: &Group) -> Vec<PageRange> {
        let geometry = &self.shared.entries.geometry;
        group.tablets.iter().map(|tablet| geometry.tablet_pages(*tablet)).collect()
    }

    /// Waiting -> at agent, for at most one group of each server. Returns the numbers of the agents' jobs.
    ///
    /// From the end of the handshake until the groups are done this thread must not ask for a pause
    /// or handshake ([`Gate`](super::gate::Gate)).
    fn hand_to_agents(&self, groups: &[Arc<Group>], world: &World) -> Vec<Result<u32, Lost>> {
        let gate = &self.shared.evacuations.gate;
        groups.iter().for_each(|g| gate.close(&g.tablets));
        self.handshake(world, &|_| ());
        groups.iter().for_each(|g| gate.depart(&g.tablets));
        // All groups before the first agent begins: on a machine with few processors it would take this thread's.
        let all_tablets = groups.iter().flat_map(|g| self.tablet_pages(g));
        self.pager().evict_all(&all_tablets.collect::<Vec<_>>());
        for group in groups {
            self.pager().write_back(self.rest_of_to(group));
            self.assert_flushed(group);
        }
        let hand = |group: &Arc<Group>| {
            self.agents.evacuate(Evacuation {
                group: group.number,
                from: group.from.clone(),
                to: group.to,
                start: group.agent_start(),
                tablets: group.tablets.clone(),
            })
        };
        groups.iter().map(hand).collect()
    }

    /// The agent has the newest version of all that it will read, and nothing here will overwrite
    /// what it writes.
    fn assert_flushed(&self, group: &Group) {
        let geometry = &self.shared.entries.geometry;
        let from = group.from.iter().map(|r| geometry.region_pages(*r));
        for range in from.chain(self.tablet_pages(group)).chain([self.rest_of_to(group)]) {
            let dirty = self.pager().dirty_pages(range);
            assert!(dirty.is_empty(), "group {} leaves dirty pages {dirty:?}", group.number);
        }
    }

    /// At agent -> done. Returns the regions to be freed.
    fn take_from_agent(&self, group: &Group, evacuated: Evacuated) -> Vec<RegionId> {
        let geometry = &self.shared.entries.geometry;
        let (start, top) = (group.agent_start(), evacuated.top);
        assert!(top >= start && top <= geometry.region_offset(group.to) + geometry.region_bytes());
        if top > start {
            self.pager().invalidate(PageRange::of_bytes(start, top - start));
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
        let by_vm = group.moved();
        let end = if top > group.agent_start() { top } else { by_vm.top };
        let to = self.core.regions.region(group.to);
        to.set_top(end - geometry.region_offset(group.to));
        let mut state = self.allocator.lock();
        for region in &group.from {
            state.tablets[region.index()].clear();
        }
        let mut serving = by_vm.tablets;
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
