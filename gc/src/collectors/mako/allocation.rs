//! Allocation: memory from regions, entries from tablets (section 3.3, "Entry Assignment").
//!
//! A thread allocates from its buffer of memory and its buffer of entries, both of one server,
//! without a lock. A refill of either takes the lock and notes which tablet serves which region:
//! the cycle must know which tablets to take from mutators when a region is handed to an agent. Usually
//! a tablet serves one region, and a region that inherited tablets in an evacuation uses their free
//! entries up before it gets new ones.
//!
//! Memory need not be walkable: the objects of a region are found through its tablets.

use super::barriers::MakoBarriers;
use super::pacer::Pacer;
use super::snapshot::Pending;
use super::thread::{self, MakoThread};
use super::young::{YoungTable, room_for};
use super::{Shared, policy};
use crate::barrier::eval::Eval;
use crate::core::collector::AllocRequest;
use crate::hit::{EntryClaim, EntryIndex, HitGeometry, TabletId};
use crate::memory::region::RegionUse;
use crate::object::geometry::RegionId;
use crate::object::layout::KlassLayout;
use crate::object::{OBJECT_BYTES_MIN, ObjectRef};
use crate::threads::mutator::Mutator;
use crate::threads::thread_data::ThreadData;
use parking_lot::{Mutex, MutexGuard};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use swap::PageRange;

/// Hands out regions, tablets and pieces of both.
pub struct Allocator {
    shared: Arc<Shared>,
    /// Has the way in which objects are made of buffers.
    barriers: MakoBarriers,
    state: Mutex<State>,
    /// Memory runs low: set by the thread that takes a region, cleared by the one that asks for a cycle.
    /// Relaxed, a hint.
    pub is_low: AtomicBool,
    pub pacer: Pacer,
}

/// The state that the lock protects.
pub struct State {
    geometry: HitGeometry,
    /// By region: the tablets that hold entries of its objects.
    pub tablets: Vec<Supply>,
    servers: Vec<Server>,
    /// Regions with room behind their tops.
    open: Vec<RegionId>,
    /// Where buffers come from now.
    current: Option<RegionId>,
    next_server: usize,
    /// By region: something was allocated in it since the last snapshot, so nothing is known about
    /// it.
    pub is_new: Vec<bool>,
    /// By tablet: no entry of it may be handed out, since it is handed to an agent in this cycle.
    is_closed: Vec<bool>,
    /// By tablet: not in a server's pool.
    is_used: Vec<bool>,
    /// Those that are.
    used: Vec<TabletId>,
    /// By tablet: the last group that has it; and how many groups there were.
    grouped: Vec<u32>,
    groups: u32,
    /// Bits that the snapshot which is being taken has not yet.
    pub pending: Pending,
    /// Tablets that were taken from which entries are about to be used. The thread that takes one empties this.
    late: Vec<TabletId>,
    /// Regions taken since the last cycle ended.
    taken: usize,
    /// Regions taken during the last cycle.
    taken_meanwhile: usize,
    taken_at_begin: usize,
}

/// A list of tablets and how far it is used up.
#[derive(Default, Clone)]
pub struct Supply {
    pub list: Vec<TabletId>,
    position: usize,
    word: usize,
}

struct Server {
    /// Tablets without entries; the lowest is the last.
    pool: Vec<TabletId>,
    /// Tablets that were mostly free when the last cycle ended, the fullest last.
    sparse: Vec<TabletId>,
    /// Others that had free entries then.
    roomy: Vec<TabletId>,
    /// Tablets for humongous objects, and for young ones that need entries.
    humongous: Supply,
}

impl Allocator {
    pub fn new(shared: Arc<Shared>) -> Allocator {
        let geometry = shared.entries.geometry;
        let per_server = geometry.tablets_per_server() as u32;
        let server = |s: u32| Server {
            pool: (s * per_server..(s + 1) * per_server).rev().map(TabletId).collect(),
            sparse: Vec::new(),
            roomy: Vec::new(),
            humongous: Supply::default(),
        };
        let state = State {
            geometry,
            tablets: vec![Supply::default(); geometry.regions()],
            servers: (0..geometry.servers() as u32).map(server).collect(),
            open: Vec::new(),
            current: None,
            next_server: 0,
            is_new: vec![false; geometry.regions()],
            is_closed: vec![false; geometry.tablets()],
            is_used: vec![false; geometry.tablets()],
            used: Vec::new(),
            grouped: vec![0; geometry.tablets()],
            groups: 0,
            pending: Pending::new(geometry.tablets()),
            late: Vec::new(),
            taken: 0,
            // Nothing is known before the first cycle: it begins early.
            taken_meanwhile: geometry.regions(),
            taken_at_begin: 0,
        };
        let barriers = MakoBarriers::new(shared.clone());
        let pacer = Pacer::new(shared.core.options.mako.pacing_delay_max);
        Allocator {
            shared,
            barriers,
            state: Mutex::new(state),
            is_low: AtomicBool::new(false),
            pacer,
        }
    }

    /// As [`thread::attach`].
    pub fn attach(&self, m: &Mutator, phase: u64, table: u64) {
        thread::attach(m, phase, table, self.shared.core.options.mako.entry_buffer);
    }

    /// Allocates an object if there is memory; reaches no safepoint.
    pub fn allocate(&self, m: &Mutator, request: AllocRequest) -> Option<ObjectRef> {
        let AllocRequest { klass, bytes, length } = request;
        assert!(bytes >= OBJECT_BYTES_MIN && bytes.is_multiple_of(8), "object of {bytes} bytes");
        let (barriers, length) = (&self.barriers, length.map(u64::from));
        let a = &mut Eval { barriers, m };
        let (address, entry) = loop {
            let object = barriers.take(a, klass, bytes as u64, length);
            if object != 0 {
                return Some(ObjectRef::from_address(object as usize));
            }
            if !self.needs_memory(m, bytes) {
                self.refill_entries(m, bytes)?;
            } else if bytes > self.shared.core.geometry.humongous_bytes() {
                break self.allocate_humongous(request)?;
            } else if bytes > self.buffer_bytes() / 4 {
                break self.allocate_beside(bytes)?;
            } else {
                self.refill_memory(m, bytes)?;
            }
        };
        m.allocated_bytes.set(m.allocated_bytes.get() + bytes as u64);
        barriers.introduce(a, address as u64, u64::from(entry.0), klass, length);
        Some(ObjectRef::from_address(address))
    }

    /// Takes the buffers from a thread. By the thread, or with the world stopped.
    pub fn retire(&self, m: &Mutator) {
        self.retire_entries(m);
        m.set_buffer(0, 0);
        MakoThread::of(m).memory_end.set(0);
        MakoThread::of(m).region.set(None);
    }

    /// The state, for the cycle.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn buffer_bytes(&self) -> usize {
        (self.shared.core.geometry.region_bytes() / 16).min(BUFFER_BYTES_MAX)
    }

    fn retire_entries(&self, m: &Mutator) {
        let buffer = &MakoThread::of(m).entries;
        let give_back =
            |claim: EntryClaim| self.shared.entries.tablet(claim.tablet()).retire(&claim);
        let mut open: Option<EntryClaim> = None;
        for entry in buffer.entries(m) {
            if !open.as_mut().is_some_and(|claim| claim.add(entry)) {
                open.replace(EntryClaim::of(entry)).into_iter().for_each(give_back);
            }
        }
        open.into_iter().for_each(give_back);
        buffer.clear(m);
    }

    fn refill_memory(&self, m: &Mutator, least: usize) -> Option<()> {
        let mut state = self.state.lock();
        let chunk = state.chunk(&self.shared, least, self.buffer_bytes(), None, RESERVE);
        self.look_ahead(&state);
        let (region, start, length) = chunk?;
        self.note_allocated(length);
        self.pacer.pay(length);
        let data = MakoThread::of(m);
        let server = state.geometry.region_server(region);
        let mut last = None;
        for tablet in data.entries.entries(m).map(EntryIndex::tablet) {
            if last.replace(tablet) == Some(tablet) {
                continue;
            }
            if state.geometry.tablet_server(tablet) != server {
                self.retire_entries(m);
                break;
            }
            state.tablets[region.index()].note(tablet);
        }
        drop(state);
        let offset = self.shared.core.geometry.offset(start);
        self.shared.pager().populate(PageRange::of_bytes(offset, length));
        data.region.set(Some(region));
        data.memory_end.set(start + length);
        // To be extended as far as there are entries.
        m.set_buffer(start, start);
        Some(())
    }

    /// Lets the thread use its memory as far as there are entries, and at least for one object of `bytes`, for which
    /// it has memory and which it makes next.
    fn refill_entries(&self, m: &Mutator, bytes: usize) -> Option<()> {
        let data = MakoThread::of(m);
        let buffer = &data.entries;
        if buffer.is_low(m) {
            let region = data.region.get().expect("a thread with memory has a region");
            let mut state = self.state.lock();
            buffer.compact(m);
            while buffer.has_room() {
                let claim = state.claim_at_hand(&self.shared, region);
                let Some(claim) = claim.or_else(|| match buffer.count(m) < ENTRIES_LOW {
                    true => state.claim(&self.shared, region),
                    false => None,
                }) else {
                    break;
                };
                buffer.add(claim);
            }
            self.bring_late(state);
            if buffer.count(m) == 0 {
                return None;
            }
        }
        let end = m.tlab_top.get() + buffer.limit(m, bytes);
        m.tlab_end.set(end.min(data.memory_end.get()));
        Some(())
    }

    /// An object that would waste the rest of the thread's buffer, or that is old from the start.
    fn allocate_beside(&self, bytes: usize) -> Option<(usize, EntryIndex)> {
        let mut state = self.state.lock();
        let young = self.shared.young.as_ref().filter(|table| table.count() > 0);
        let has_room = state.current.is_some_and(|id| room(&self.shared, id) >= bytes);
        if !has_room && young.is_some_and(|table| !self.leaves_room(table, 1)) {
            return None;
        }
        let chunk = state.chunk(&self.shared, bytes, bytes, None, RESERVE);
        self.look_ahead(&state);
        let (region, start, length) = chunk?;
        self.note_allocated(length);
        self.pacer.pay(length);
        let claim = state.claim(&self.shared, region);
        self.bring_late(state);
        Some((start, self.take_one(claim?)))
    }

    /// Whether young objects still find room in old regions when `regions` more are taken.
    fn leaves_room(&self, table: &YoungTable, regions: usize) -> bool {
        self.shared.takable_regions() >= regions + room_for(table.count())
    }

    /// Regions of its own. An object with references must lie on one server, whose agent traces all
    /// of it.
    fn allocate_humongous(&self, request: AllocRequest) -> Option<(usize, EntryIndex)> {
        let core = &self.shared.core;
        let count = request.bytes.div_ceil(core.geometry.region_bytes());
        let mut state = self.state.lock();
        let is_primitive =
            matches!(core.layouts.layout(request.klass), KlassLayout::PrimitiveArray { .. });
        let geometry = state.geometry;
        let on_one = |a, b| geometry.region_server(a) == geometry.region_server(b);
        let on_several = |_, _| is_primitive;
        // As many regions of each server stay free as mutators leave to evacuation.
        let free = self.shared.free_by_server();
        if let Some(table) = &self.shared.young
            && !self.leaves_room(table, count)
        {
            return None;
        }
        let leaves_reserve = |first: RegionId, last: RegionId| {
            let servers = geometry.region_server(first)..=geometry.region_server(last);
            servers.into_iter().all(|server| {
                let (begin, count) =
                    (server * geometry.regions_per_server(), geometry.regions_per_server());
                let taken = (last.index() + 1).min(begin + count) - first.index().max(begin);
                free[server] >= RESERVE + taken
            })
        };
        let take = |accept: &dyn Fn(RegionId, RegionId) -> bool| {
            let accept = |first, last| accept(first, last) && leaves_reserve(first, last);
            core.regions.take_humongous_where(count, request.bytes, accept)
        };
        let first = take(&on_one).or_else(|| take(&on_several))?;
        let server = geometry.region_server(first);
        let Some(claim) = state.claim_humongous(&self.shared, server) else {
            (0..count as u32).for_each(|i| core.regions.free(RegionId(first.0 + i), true));
            return None;
        };
        state.is_new[first.index()] = true;
        core.zero_dirty(first, count);
        state.taken += count;
        self.pacer.pay(count * core.geometry.region_bytes());
        self.look_ahead(&state);
        self.bring_late(state);
        self.note_allocated(request.bytes);
        Some((core.geometry.region_start(first), self.take_one(claim)))
    }

    /// An object that is old from the start: it is too large for the nursery, or that has no region for it. By a thread
    /// without buffers of this allocator; reaches no safepoint. What young objects there are can still be promoted
    /// afterwards.
    pub fn allocate_old(&self, m: &Mutator, request: AllocRequest) -> Option<ObjectRef> {
        let is_large = request.bytes > self.shared.core.geometry.humongous_bytes();
        let (address, entry) = match is_large {
            true => self.allocate_humongous(request)?,
            false => self.allocate_small_old(request.bytes)?,
        };
        m.allocated_bytes.set(m.allocated_bytes.get() + request.bytes as u64);
        let (barriers, length) = (&self.barriers, request.length.map(u64::from));
        let a = &mut Eval { barriers, m };
        barriers.introduce(a, address as u64, u64::from(entry.0), request.klass, length);
        Some(ObjectRef::from_address(address))
    }

    fn allocate_small_old(&self, bytes: usize) -> Option<(usize, EntryIndex)> {
        let (address, entry) = self.allocate_beside(bytes)?;
        self.shared.core.zero(address, bytes);
        Some((address, entry))
    }

    /// Entries for objects of a region, in a minor collection.
    pub fn claim_for(&self, region: RegionId) -> Option<EntryClaim> {
        let mut state = self.state.lock();
        let claim = state.claim(&self.shared, region);
        self.bring_late(state);
        claim
    }

    /// Entries for objects that have no region yet. By a running thread.
    pub fn claim_early(&self) -> Option<EntryClaim> {
        let mut state = self.state.lock();
        let servers = state.servers.len();
        let claim = (0..servers).find_map(|i| {
            let server = (state.next_server + i) % servers;
            state.claim_humongous(&self.shared, server)
        });
        self.bring_late(state);
        claim
    }

    fn note_allocated(&self, bytes: usize) {
        self.shared.core.allocated_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// The bytes that threads may take: regions, and the rest of those that are open.
    pub fn free_bytes(&self) -> usize {
        let state = self.state.lock();
        let free = self.shared.takable_regions() * self.shared.core.geometry.region_bytes();
        let rest = |region: &RegionId| room(&self.shared, *region);
        free + state.open.iter().chain(&state.current).map(rest).sum::<usize>()
    }

    /// Counts the free memory at the ends of regions: figures 3.8 and 3.9 of the paper. World stopped.
    pub fn note_free_ends(&self) {
        let core = &self.shared.core;
        let (regions, stats) = (&core.regions, &core.stats);
        let has_objects = |id: &RegionId| regions.region(*id).usage() == RegionUse::Objects;
        let (count, used) = (core.geometry.all_regions().filter(has_objects))
            .fold((0, 0), |(count, used), id| (count + 1, used + regions.region(id).top()));
        let free = count * core.geometry.region_bytes() - used;
        stats.count("regions_seen", count as u64);
        stats.count("free_end_bytes", free as u64);
        stats.count("used_bytes_seen", core.regions.used_bytes() as u64);
    }

    /// Whether an object of `bytes` bytes takes another piece of memory than the thread has.
    pub fn needs_memory(&self, m: &Mutator, bytes: usize) -> bool {
        bytes > MakoThread::of(m).memory_end.get().saturating_sub(m.tlab_top.get())
    }

    /// Releases the lock, then fetches the entries of tablets that were taken. By a mutator, which holds up the pause
    /// that could close them.
    fn bring_late(&self, mut state: MutexGuard<'_, State>) {
        if state.late.is_empty() {
            return;
        }
        let late = std::mem::take(&mut state.late);
        drop(state);
        for tablet in late {
            let pages = self.shared.bring(tablet);
            self.shared.core.stats.count("entry_pages_late", pages as u64);
        }
    }

    /// After memory was taken: whether it is time for a cycle.
    pub fn look_ahead(&self, state: &State) {
        let regions = &self.shared.core.regions;
        let (all, free) = (state.geometry.regions(), regions.free_count());
        let options = &self.shared.core.options.mako;
        if policy::is_time(options, all, free, state.taken, state.taken_meanwhile) {
            self.is_low.store(true, Ordering::Relaxed);
        }
    }

    fn take_one(&self, mut claim: EntryClaim) -> EntryIndex {
        let entry = claim.take().expect("a claim is not empty");
        if !claim.is_empty() {
            self.shared.entries.tablet(claim.tablet()).retire(&claim);
        }
        entry
    }
}

impl State {
    /// A snapshot is taken: objects that are allocated from now on are new. World stopped, all buffers
    /// retired.
    pub fn begin_cycle(&mut self) {
        self.pending.begin();
        self.is_new.fill(false);
        self.taken_at_begin = self.taken;
        self.current = None;
    }

    pub fn geometry(&self) -> &HitGeometry {
        &self.geometry
    }

    /// The tablets that are not in a server's pool.
    pub fn used(&self) -> &[TabletId] {
        &self.used
    }

    /// Nothing is allocated in these regions until the cycle is over. World stopped, all buffers retired.
    pub fn close_regions(&mut self, regions: impl Iterator<Item = RegionId>) {
        let mut is_closed = vec![false; self.geometry.regions()];
        regions.for_each(|region| is_closed[region.index()] = true);
        self.open.retain(|region| !is_closed[region.index()]);
        self.current.take_if(|region| is_closed[region.index()]);
    }

    /// Returns the tablets that serve these regions, in order. No entry of them is handed out until the cycle is over.
    /// World stopped, all buffers retired.
    pub fn close_tablets_of(&mut self, regions: &[RegionId]) -> Vec<TabletId> {
        self.groups = self.groups.wrapping_add(1);
        let mut tablets = Vec::new();
        for tablet in regions.iter().flat_map(|region| &self.tablets[region.index()].list) {
            let group = &mut self.grouped[tablet.0 as usize];
            if std::mem::replace(group, self.groups) != self.groups {
                self.is_closed[tablet.0 as usize] = true;
                tablets.push(*tablet);
            }
        }
        tablets.sort_unstable();
        tablets
    }

    /// Regions whose rest may be used again.
    pub fn reopen(&mut self, regions: Vec<RegionId>) {
        self.open = regions;
        self.open.retain(|r| Some(*r) != self.current);
    }

    /// The cycle is over: tablets are open again and entries have come back everywhere.
    pub fn end_cycle(&mut self) {
        self.is_closed.fill(false);
        for supply in &mut self.tablets {
            supply.rewind();
        }
        self.rewind_early();
        self.taken_meanwhile = self.taken - self.taken_at_begin;
        self.taken = 0;
    }

    /// Entries of objects without a region have come back.
    pub fn rewind_early(&mut self) {
        self.servers.iter_mut().for_each(|server| server.humongous.rewind());
    }

    /// Takes those of `candidates` out of use that have no entry in use, and returns them. Their entries are not
    /// handed out from now on; [`forget_freed`](Self::forget_freed) and [`pool`](Self::pool) must follow before the
    /// cycle ends.
    pub fn free_tablets(
        &mut self,
        candidates: &[TabletId],
        is_free: impl Fn(TabletId) -> bool,
    ) -> Vec<TabletId> {
        let is_freed = |t: &TabletId| self.is_used[t.0 as usize] && is_free(*t);
        let freed: Vec<_> = candidates.iter().copied().filter(is_freed).collect();
        for tablet in &freed {
            self.is_used[tablet.0 as usize] = false;
            self.is_closed[tablet.0 as usize] = true;
        }
        if !freed.is_empty() {
            let is_used = &self.is_used;
            self.used.retain(|t| is_used[t.0 as usize]);
        }
        freed
    }

    /// Strikes tablets that are not in use off the lists of some regions.
    pub fn forget_freed(&mut self, regions: Range<usize>) {
        let is_used = &self.is_used;
        for supply in &mut self.tablets[regions] {
            supply.list.retain(|t| is_used[t.0 as usize]);
        }
    }

    /// Puts tablets that are not in use back into their servers' pools, when their pages have been discarded and all
    /// lists of regions have been seen to.
    pub fn pool(&mut self, tablets: &[TabletId]) {
        if !tablets.is_empty() {
            for server in &mut self.servers {
                server.humongous.list.retain(|t| self.is_used[t.0 as usize]);
            }
        }
        for tablet in tablets.iter().rev() {
            self.servers[self.geometry.tablet_server(*tablet)].pool.push(*tablet);
        }
    }

    /// Notes which tablets new regions share, so that entries do not spread over more and more memory: an entry never
    /// moves, so a tablet with few living entries stays as it is.
    pub fn share_tablets(&mut self, spare: Vec<Spare>) {
        for (server, Spare { sparse, roomy }) in self.servers.iter_mut().zip(spare) {
            (server.sparse, server.roomy) = (sparse, roomy);
        }
    }

    /// A region of a server for the collector, without leaving a reserve.
    pub fn take_to_region(&mut self, shared: &Shared, server: usize) -> Option<RegionId> {
        let on_server = |id| self.geometry.region_server(id) == server;
        let region = shared.core.regions.take_where(RegionUse::Reserved, on_server)?;
        self.is_new[region.index()] = true;
        shared.walks.bar(region);
        Some(region)
    }

    /// Memory of `least` to `wish` bytes, of one server if `on` names it: region, address, length. `reserve` regions of
    /// each server stay free. Zeroed, but where objects are only promoted to.
    pub fn chunk(
        &mut self,
        shared: &Shared,
        least: usize,
        wish: usize,
        on: Option<usize>,
        reserve: usize,
    ) -> Option<(RegionId, usize, usize)> {
        let (core, geometry) = (&shared.core, self.geometry);
        let room = |id| room(shared, id);
        let is_there = |id: RegionId| on.is_none_or(|server| geometry.region_server(id) == server);
        if self.current.is_none_or(|id| room(id) < least || !is_there(id)) {
            let least_room = self.least_room(shared);
            if let Some(old) = self.current.take_if(|old| room(*old) >= least_room) {
                self.open.push(old);
            }
            let fitting = self.open.iter().rposition(|id| room(*id) >= least && is_there(*id));
            let next = fitting.map(|i| self.open.swap_remove(i));
            self.current = Some(next.or_else(|| self.take_region(shared, on, reserve))?);
        }
        let id = self.current.expect("chosen above");
        let region = core.regions.region(id);
        let top = region.top();
        let length = wish.max(least).min(core.geometry.region_bytes() - top);
        region.set_top(top + length);
        self.is_new[id.index()] = true;
        Some((id, core.geometry.region_start(id) + top, length))
    }

    /// Regions taken since the last cycle ended.
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// Regions with less room than this are not opened again.
    pub fn least_room(&self, shared: &Shared) -> usize {
        shared.core.geometry.region_bytes() / 8
    }

    /// A free region of the next server that has more than `reserve`, or of the one that `on` names.
    fn take_region(
        &mut self,
        shared: &Shared,
        on: Option<usize>,
        reserve: usize,
    ) -> Option<RegionId> {
        let regions = &shared.core.regions;
        let free = shared.free_by_server();
        for _ in 0..free.len() {
            let server = self.next_server;
            self.next_server = (server + 1) % free.len();
            if free[server] <= reserve || on.is_some_and(|on| on != server) {
                continue;
            }
            let on_server = |id| self.geometry.region_server(id) == server;
            if let Some(region) = regions.take_where(RegionUse::Objects, on_server) {
                self.taken += 1;
                return Some(region);
            }
        }
        None
    }

    /// Free entries for objects in a region.
    fn claim(&mut self, shared: &Shared, region: RegionId) -> Option<EntryClaim> {
        let server = self.geometry.region_server(region);
        let mut supply = std::mem::take(&mut self.tablets[region.index()]);
        let claim = self.claim_from(shared, server, &mut supply);
        self.tablets[region.index()] = supply;
        claim
    }

    /// As `claim`, of tablets that serve the region already.
    fn claim_at_hand(&mut self, shared: &Shared, region: RegionId) -> Option<EntryClaim> {
        self.tablets[region.index()].claim(shared, &self.is_closed, &mut self.pending)
    }

    fn claim_humongous(&mut self, shared: &Shared, server: usize) -> Option<EntryClaim> {
        let mut supply = std::mem::take(&mut self.servers[server].humongous);
        let claim = self.claim_from(shared, server, &mut supply);
        self.servers[server].humongous = supply;
        claim
    }

    fn claim_from(
        &mut self,
        shared: &Shared,
        server: usize,
        supply: &mut Supply,
    ) -> Option<EntryClaim> {
        loop {
            let claim = supply.claim(shared, &self.is_closed, &mut self.pending);
            if claim.is_some() {
                return claim;
            }
            let tablet = self.take_tablet(shared, server, &supply.list)?;
            if shared.core.options.mako.entry_preload {
                self.late.push(tablet);
                if self.next_tablet(server).is_some_and(|next| shared.is_far(next)) {
                    shared.preloader.ask();
                }
            }
            supply.list.push(tablet);
        }
    }

    /// The tablet of a server that is taken next, unless it serves the region already that needs one.
    pub fn next_tablet(&self, server: usize) -> Option<TabletId> {
        let Server { sparse, pool, .. } = &self.servers[server];
        let next = sparse.iter().rev().find(|tablet| self.is_usable(**tablet));
        next.or(pool.last()).copied()
    }

    /// Whether entries of a used tablet may be handed out.
    fn is_usable(&self, tablet: TabletId) -> bool {
        self.is_used[tablet.0 as usize] && !self.is_closed[tablet.0 as usize]
    }

    /// A sparse tablet, an unused one, or else another one that had free entries when the last cycle ended.
    fn take_tablet(
        &mut self,
        shared: &Shared,
        server: usize,
        have: &[TabletId],
    ) -> Option<TabletId> {
        while let Some(tablet) = self.servers[server].sparse.pop() {
            if self.is_usable(tablet) && !have.contains(&tablet) {
                return Some(tablet);
            }
        }
        let is_committed = |tablet: &mut TabletId| {
            let pages = self.geometry.tablet_pages(*tablet);
            shared.core.space.commit(pages.start.offset(), self.geometry.tablet_bytes())
        };
        if let Some(tablet) = self.servers[server].pool.pop_if(is_committed) {
            self.is_used[tablet.0 as usize] = true;
            self.used.push(tablet);
            return Some(tablet);
        }
        while let Some(tablet) = self.servers[server].roomy.pop() {
            if self.is_usable(tablet) && !have.contains(&tablet) {
                return Some(tablet);
            }
        }
        None
    }
}

/// The tablets of one server that new regions share, the first to be taken last.
#[derive(Clone, Default)]
pub struct Spare {
    /// Mostly free ones. The fullest come first, so that the emptiest have time to become free.
    sparse: Vec<TabletId>,
    /// Others with free entries.
    roomy: Vec<TabletId>,
}

impl Spare {
    /// By server, of tablets and how many of their entries are in use.
    pub fn choose(geometry: &HitGeometry, mut tablets: Vec<(usize, TabletId)>) -> Vec<Spare> {
        let mut spare = vec![Spare::default(); geometry.servers()];
        tablets.sort_unstable();
        for (used, tablet) in tablets {
            let Spare { sparse, roomy } = &mut spare[geometry.tablet_server(tablet)];
            if used <= TABLET_USED_SPARSE {
                sparse.push(tablet);
            } else if used < TABLET_USED_MAX {
                roomy.push(tablet);
            }
        }
        // The emptiest of these first.
        spare.iter_mut().for_each(|spare| spare.roomy.reverse());
        spare
    }
}

impl Supply {
    /// The next free entries of its tablets.
    fn claim(
        &mut self,
        shared: &Shared,
        is_closed: &[bool],
        pending: &mut Pending,
    ) -> Option<EntryClaim> {
        while let Some(&id) = self.list.get(self.position) {
            if !is_closed[id.0 as usize] {
                let tablet = shared.entries.tablet(id);
                pending.save(id, tablet);
                if let Some((claim, word)) = tablet.claim(id, self.word) {
                    self.word = word;
                    return Some(claim);
                }
            }
            self.position += 1;
            self.word = 0;
        }
        None
    }

    /// Notes that a tablet serves this region.
    pub fn note(&mut self, tablet: TabletId) {
        if !self.list.contains(&tablet) {
            // In front of the part that is used up, where `claim_from` does not look any more.
            self.list.insert(0, tablet);
            self.position += 1;
        }
    }

    /// The region is free.
    pub fn clear(&mut self) {
        *self = Supply::default();
    }

    /// The region has the objects that these tablets name.
    pub fn replace(&mut self, tablets: Vec<TabletId>) {
        *self = Supply { list: tablets, ..Supply::default() };
    }

    fn rewind(&mut self) {
        self.position = 0;
        self.word = 0;
    }
}

/// Bytes behind the top of a region.
pub fn room(shared: &Shared, region: RegionId) -> usize {
    shared.core.geometry.region_bytes() - shared.core.regions.region(region).top()
}

const BUFFER_BYTES_MAX: usize = 64 << 10;
/// With fewer entries a thread gets those of another tablet.
const ENTRIES_LOW: usize = 64;
/// Free regions of each server that mutators leave to evacuation.
pub const RESERVE: usize = 1;
/// A tablet with at most this many entries in use is shared before an unused one is taken.
const TABLET_USED_SPARSE: usize = crate::hit::TABLET_ENTRIES / 2;
/// A shared tablet should have at least 1/16 of its entries free to be considered.
const TABLET_USED_MAX: usize = crate::hit::TABLET_ENTRIES * 15 / 16;
