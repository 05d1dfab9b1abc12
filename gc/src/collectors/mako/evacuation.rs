//! The regions that are being evacuated, and the actions of a mutator that meets one (algorithms 1 and 3).
//!
//! A *group* is several from-regions of one server and the to-region that takes their live objects.
//! Its life:
//!
//! ```text
//! waiting    from the pre-evacuation pause on. A thread that loads a reference to an object in a from-region
//!            moves the object at once, to the VM's part of the to-region, under the group's lock.
//! copying    the same, while the agent copies the rest to its part of the to-region ([`ToRegion`]).
//!            Nothing names the copies. With `-XX:-MakoCopyAhead` this is omitted.
//! at agent   the group's tablets are away ([`Gate`]), a part after the other if they were copied: others are still
//!            closing, or open again. A thread that meets an index of a tablet that is away waits,
//!            whatever the entry holds; no thread reads or writes an entry of it. The agent has entries
//!            that still name an original name its copy, or moves the rest, behind the VM's part.
//! done       the from-regions belong to no group, the tablets are open.
//! ```

use super::gate::Gate;
use super::group_table::GroupTable;
use super::to_region::{Room, ToRegion};
use super::{SLOT_BYTES, Shared};
use crate::hit::{EntryIndex, TabletId};
use crate::object::ObjectRef;
use crate::object::geometry::RegionId;
use crate::threads::blocked::WaitFor;
use crate::threads::mutator::Mutator;
use parking_lot::RwLock;
use rdma::PeerId;
use std::sync::Arc;
use swap::PageRange;

/// The evacuations of one cycle.
pub struct Evacuations {
    table: GroupTable,
    pub gate: Gate,
    /// By number. Changes in pauses only, when no thread is inside a barrier.
    groups: RwLock<Vec<Arc<Group>>>,
}

/// Regions that are evacuated together.
pub struct Group {
    pub number: u32,
    /// Its name in messages to agents: no other group of the VM has it.
    pub job: u32,
    pub from: Vec<RegionId>,
    pub to: RegionId,
    /// The tablets with the entries of the objects in `from`.
    pub tablets: Vec<TabletId>,
    /// Live bytes in `from`, at most.
    pub live_bytes: usize,
    pub to_region: ToRegion,
}

impl Evacuations {
    pub fn new(regions: usize, tablets: usize) -> Evacuations {
        Evacuations {
            table: GroupTable::new(regions),
            gate: Gate::new(tablets),
            groups: RwLock::new(Vec::new()),
        }
    }

    /// Address of a word of 32 bits for each region, acquire: 0 unless [`contains`](Evacuations::contains) says so.
    pub fn groups_of_regions(&self) -> u64 {
        self.table.address()
    }

    /// Begins a group: from now on its objects are moved by the threads that meet them. World stopped.
    pub fn begin(&self, group: Arc<Group>) {
        let mut groups = self.groups.write();
        assert_eq!(groups.len(), group.number as usize, "groups are begun in order");
        for region in &group.from {
            self.table.begin(*region, group.number);
        }
        groups.push(group);
    }

    /// Forgets all groups, which are done. The next cycle's pre-evacuation pause.
    pub fn reset(&self) {
        self.groups.write().clear();
    }

    /// The group is done: its entries may be read again.
    pub fn release(&self, group: &Group) {
        group.from.iter().for_each(|region| self.table.end(*region));
        self.gate.release(&group.tablets);
    }

    /// Whether a region is waiting to be evacuated or being so.
    pub fn contains(&self, region: RegionId) -> bool {
        self.table.of(region).is_some()
    }

    /// The slow path of the load barrier: the object of an entry, moved if it must be.
    pub fn resolve(&self, shared: &Shared, m: &Mutator, entry: EntryIndex) -> ObjectRef {
        let tablet = entry.tablet();
        loop {
            let look = || self.unless_moving(shared, entry).ok().map(Ok);
            let used = self.gate.try_use(tablet, look, || self.try_move(shared, entry));
            let wait = || match &used {
                Some(Ok(_)) => {}
                Some(Err(group)) => group.to_region.wait(),
                None => self.gate.wait(tablet),
            };
            if let Some(Ok(object)) = used {
                return object;
            }
            shared.core.safepoints.wait_in_barrier(m, WaitFor::Region, wait);
        }
    }

    /// The object of an entry whose tablet is not at an agent, moved if its region is to be
    /// evacuated, and while no agent copies anything.
    pub fn moved(&self, shared: &Shared, entry: EntryIndex) -> ObjectRef {
        let moved = self.try_move(shared, entry);
        moved.unwrap_or_else(|group| panic!("group {} is being copied", group.number))
    }

    /// The same; the group, if there is no room for the object until the agent has copied.
    fn try_move(&self, shared: &Shared, entry: EntryIndex) -> Result<ObjectRef, Arc<Group>> {
        let object = self.unless_moving(shared, entry);
        object.or_else(|number| self.move_object(shared, entry, number))
    }

    /// The object of an entry, or else the group that it is to be moved with.
    fn unless_moving(&self, shared: &Shared, entry: EntryIndex) -> Result<ObjectRef, u32> {
        let entries = &shared.entries;
        let offset = self.table.unless_moving(|| {
            let offset = entries.offset(entry);
            (entries.geometry.region_of(offset), offset)
        })?;
        Ok(ObjectRef::from_address(entries.address(offset)))
    }

    /// MOVE of algorithm 1, once for each object: a second thread finds the entry changed.
    #[cold]
    fn move_object(
        &self,
        shared: &Shared,
        entry: EntryIndex,
        number: u32,
    ) -> Result<ObjectRef, Arc<Group>> {
        let entries = &shared.entries;
        let groups = self.groups.read();
        let group = &groups[number as usize];
        let mut share = group.to_region.lock();
        let from = entries.offset(entry);
        let region = entries.geometry.region_of(from);
        if self.table.of(region) != Some(number) {
            return Ok(ObjectRef::from_address(entries.address(from)));
        }
        let old = entries.address(from);
        let object = ObjectRef::from_address(old);
        let bytes = shared.core.layout_of(object).object_bytes(object, SLOT_BYTES);
        let to = match share.take(bytes) {
            Room::At(to) => to,
            Room::Later => return Err(group.clone()),
            Room::Never => {
                let server = PeerId::Server(entries.geometry.region_server(group.to) as u16);
                let lie =
                    format_args!("{server} counted fewer live bytes in group {number} than it has");
                base::die(lie);
            }
        };
        for at in (0..bytes).step_by(PIECE_BYTES) {
            let piece = PIECE_BYTES.min(bytes - at);
            if bytes > PIECE_BYTES {
                // Otherwise each page of both would be a fault.
                shared.pager().fetch(PageRange::of_bytes(from + at, piece));
                shared.pager().populate(PageRange::of_bytes(to + at, piece));
            }
            // SAFETY: the object lies in a region that is not written any more (plain addresses into it
            // do not exist after the pause), its copy in memory that only the holder of the lock
            // writes.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    (old + at) as *const u64,
                    entries.address(to + at) as *mut u64,
                    piece / 8,
                )
            }
        }
        share.tablets.insert(entry.tablet());
        entries.set(entry, to);
        Ok(ObjectRef::from_address(entries.address(to)))
    }
}

/// Objects larger than this are copied in such pieces, whose pages are fetched together.
const PIECE_BYTES: usize = 64 << 10;
