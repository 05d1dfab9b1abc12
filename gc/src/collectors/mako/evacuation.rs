//! Which regions are being evacuated, and what a mutator does that meets one (algorithms 1 and 3).
//!
//! A *group* is several from-regions of one server and the to-region that takes what lives in them.
//! Its life:
//!
//! ```text
//! waiting    from the pre-evacuation pause on. Who loads a reference to an object in a from-region
//!            moves the object at once, to the front part of the to-region, under the group's lock.
//! at agent   the group's tablets are away ([`Gate`]). Who meets an index of such a tablet waits,
//!            whatever the entry says; nobody reads or writes an entry of it. The agent moves the
//!            rest, behind the front part.
//! done       the from-regions belong to no group, the tablets are open.
//! ```

use super::gate::Gate;
use super::{SLOT_BYTES, Shared};
use crate::blocked::WaitFor;
use crate::geometry::RegionId;
use crate::hit::{EntryIndex, TabletId};
use crate::mutator::Mutator;
use crate::object::ObjectRef;
use parking_lot::{Mutex, RwLock};
use rdma::PeerId;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use swap::PAGE_BYTES;

/// The evacuations of one cycle.
pub struct Evacuations {
    /// For each region the number of its group plus one, 0 for none. Written by the cycle: set in
    /// the pre-evacuation pause, cleared before the group's tablets are released; read by barriers,
    /// acquire.
    group_of: Box<[AtomicU32]>,
    pub gate: Gate,
    /// By number. Changes in pauses only, when no thread is inside a barrier.
    groups: RwLock<Vec<Arc<Group>>>,
}

/// Regions that are evacuated together.
pub struct Group {
    pub number: u32,
    pub from: Vec<RegionId>,
    pub to: RegionId,
    /// The tablets with the entries of the objects in `from`.
    pub tablets: Vec<TabletId>,
    /// What was moved here by the VM; the lock makes moving exclusive.
    moved: Mutex<Moved>,
}

/// What the VM has moved to a to-region.
#[derive(Clone, Debug)]
pub struct Moved {
    /// Heap offset behind the last object.
    pub top: usize,
    /// The tablets with the entries of these objects.
    pub tablets: BTreeSet<TabletId>,
}

impl Group {
    /// `start` is the first heap offset that may be used in `to`.
    pub fn new(
        number: u32,
        from: Vec<RegionId>,
        to: RegionId,
        tablets: Vec<TabletId>,
        start: usize,
    ) -> Group {
        let moved = Moved { top: start, tablets: BTreeSet::new() };
        Group { number, from, to, tablets, moved: Mutex::new(moved) }
    }

    /// The first page boundary behind what the VM has moved: where the agent begins. No page is
    /// written by both.
    pub fn agent_start(&self) -> usize {
        self.moved.lock().top.next_multiple_of(PAGE_BYTES)
    }

    /// What the VM has moved.
    pub fn moved(&self) -> Moved {
        self.moved.lock().clone()
    }
}

impl Evacuations {
    pub fn new(regions: usize, tablets: usize) -> Evacuations {
        Evacuations {
            group_of: (0..regions).map(|_| AtomicU32::new(0)).collect(),
            gate: Gate::new(tablets),
            groups: RwLock::new(Vec::new()),
        }
    }

    /// Begins a group: from now on its objects are moved by who meets them. World stopped.
    pub fn begin(&self, group: Arc<Group>) {
        let mut groups = self.groups.write();
        assert_eq!(groups.len(), group.number as usize, "groups are begun in order");
        for region in &group.from {
            let before = self.group_of[region.index()].swap(group.number + 1, Ordering::Release);
            assert_eq!(before, 0, "{region:?} is in two groups");
        }
        groups.push(group);
    }

    /// Forgets all groups, which are done. The next cycle's pre-evacuation pause.
    pub fn reset(&self) {
        self.groups.write().clear();
    }

    /// The group is done: its entries may be read again.
    pub fn release(&self, group: &Group) {
        for region in &group.from {
            self.group_of[region.index()].store(0, Ordering::Release);
        }
        self.gate.release(&group.tablets);
    }

    /// Whether a region is waiting to be evacuated or being so.
    pub fn contains(&self, region: RegionId) -> bool {
        self.group_of[region.index()].load(Ordering::Acquire) != 0
    }

    /// The slow path of the load barrier: the object of an entry, moved if it must be.
    pub fn resolve(&self, shared: &Shared, m: &Mutator, entry: EntryIndex) -> ObjectRef {
        let tablet = entry.tablet();
        loop {
            if let Some(object) = self.gate.try_use(tablet, || self.moved(shared, entry)) {
                return object;
            }
            let wait = || self.gate.wait(tablet);
            shared.core.safepoints.wait_in_barrier(m, WaitFor::Region, wait);
        }
    }

    /// The object of an entry whose tablet is not at an agent, moved if its region is to be
    /// evacuated.
    pub fn moved(&self, shared: &Shared, entry: EntryIndex) -> ObjectRef {
        let entries = &shared.entries;
        let offset = entries.offset(entry);
        match self.group_of[entries.geometry.region_of(offset).index()].load(Ordering::Acquire) {
            0 => ObjectRef::from_address(entries.address(offset)),
            number => self.move_object(shared, entry, number - 1),
        }
    }

    /// MOVE of algorithm 1, once for each object: whoever comes second finds the entry changed.
    #[cold]
    fn move_object(&self, shared: &Shared, entry: EntryIndex, number: u32) -> ObjectRef {
        let entries = &shared.entries;
        let groups = self.groups.read();
        let group = &groups[number as usize];
        let mut moved = group.moved.lock();
        let from = entries.offset(entry);
        let region = entries.geometry.region_of(from);
        if self.group_of[region.index()].load(Ordering::Acquire) != number + 1 {
            return ObjectRef::from_address(entries.address(from));
        }
        let (old, to) = (entries.address(from), moved.top);
        let object = ObjectRef::from_address(old);
        let bytes = shared.core.layout_of(object).object_bytes(object, SLOT_BYTES);
        let limit = entries.geometry.region_offset(group.to) + entries.geometry.region_bytes();
        if bytes > limit - to {
            let server = PeerId::Server(entries.geometry.region_server(group.to) as u16);
            let lie = format_args!("{server} counted less alive in group {number} than there is");
            rdma::die(lie);
        }
        // SAFETY: the object lies in a region that nobody writes any more (plain addresses into it
        // do not exist after the pause), its copy in memory that only the holder of the lock
        // writes.
        unsafe {
            std::ptr::copy_nonoverlapping(
                old as *const u64,
                entries.address(to) as *mut u64,
                bytes / 8,
            )
        }
        moved.top = to + bytes;
        moved.tablets.insert(entry.tablet());
        entries.set(entry, to);
        ObjectRef::from_address(entries.address(to))
    }
}
