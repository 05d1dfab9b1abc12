//! Which group a region is evacuated with.

use crate::object::geometry::RegionId;
use crate::object::sync::{AtomicU32, Ordering};

/// For each region the number of its group, if it has one.
pub struct GroupTable {
    /// By region: the number of its group plus one, 0 for none. Written by the cycle: set in the pre-evacuation pause,
    /// cleared before the last of the group's tablets are released. Read by barriers, acquire.
    groups: Box<[AtomicU32]>,
}

impl GroupTable {
    pub fn new(regions: usize) -> GroupTable {
        GroupTable { groups: (0..regions).map(|_| AtomicU32::new(0)).collect() }
    }

    /// Address of the table, a word of 32 bits for each region, acquire: 0 unless it has a group.
    pub fn address(&self) -> u64 {
        self.groups.as_ptr() as u64
    }

    /// The region belongs to group `number` from now on. World stopped.
    pub fn begin(&self, region: RegionId, number: u32) {
        let before = self.groups[region.index()].swap(number + 1, Ordering::Release);
        assert_eq!(before, 0, "{region:?} is in two groups");
    }

    /// The group is done.
    pub fn end(&self, region: RegionId) {
        self.groups[region.index()].store(0, Ordering::Release);
    }

    /// The number of its group. Any thread.
    pub fn of(&self, region: RegionId) -> Option<u32> {
        self.groups[region.index()].load(Ordering::Acquire).checked_sub(1)
    }

    /// The result of `entry`, which reads an entry, unless the region that it names has a group: then that group's
    /// number. Any thread. The entry comes first: it counts only if its region is not being evacuated after that.
    #[inline]
    pub fn unless_moving<R>(&self, entry: impl FnOnce() -> (RegionId, R)) -> Result<R, u32> {
        let (region, read) = entry();
        match self.of(region) {
            None => Ok(read),
            Some(number) => Err(number),
        }
    }
}
