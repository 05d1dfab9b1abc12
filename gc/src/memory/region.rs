//! The table of regions: the use of each, how full it is, which are free. Ordinary memory, never paged.

use crate::object::geometry::{Geometry, RegionId};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicUsize, Ordering};

/// The use of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RegionUse {
    Free,
    /// Ordinary objects, one after the other, from the start to `top`.
    Objects,
    /// The first region of a humongous object, alone in its regions.
    HumongousStart,
    /// The others.
    HumongousRest,
    /// Taken by the collector for its own purposes (Mako: a to-region that holds nothing yet).
    Reserved,
    /// As `Objects`, of generational Mako: young ones.
    Young,
}

/// One region. The collector that runs changes these; the fields are atomic so that any thread may read them.
pub struct Region {
    /// A [`RegionUse`]. Written with the table's lock held or the world stopped.
    usage: AtomicU8,
    /// Bytes from the region's start up to which objects (or allocation buffers) reach. A humongous object counts
    /// in full in its first region (`top` exceeds the region then), zero in the others.
    top: AtomicUsize,
    /// Bytes of live objects found by the last marking.
    live_bytes: AtomicUsize,
    /// Objects pinned in the region (JNI critical sections).
    pins: AtomicU32,
    /// Everything from `top` on is known to be zero.
    clean: AtomicBool,
    /// It was used, and memory servers have not given back the memory that they have for it.
    served: AtomicBool,
}

impl Region {
    fn new() -> Region {
        Region {
            usage: AtomicU8::new(RegionUse::Free as u8),
            top: AtomicUsize::new(0),
            live_bytes: AtomicUsize::new(0),
            pins: AtomicU32::new(0),
            clean: AtomicBool::new(true),
            served: AtomicBool::new(false),
        }
    }

    #[inline]
    pub fn usage(&self) -> RegionUse {
        match self.usage.load(Ordering::Acquire) {
            0 => RegionUse::Free,
            1 => RegionUse::Objects,
            2 => RegionUse::HumongousStart,
            3 => RegionUse::HumongousRest,
            4 => RegionUse::Reserved,
            5 => RegionUse::Young,
            other => unreachable!("region usage {other}"),
        }
    }

    /// Changes the use of a region that is not free to one that is not free.
    pub fn set_usage(&self, usage: RegionUse) {
        assert!(usage != RegionUse::Free && self.usage() != RegionUse::Free, "use free and take");
        self.usage.store(usage as u8, Ordering::Release);
    }

    #[inline]
    pub fn top(&self) -> usize {
        self.top.load(Ordering::Acquire)
    }

    pub fn set_top(&self, top: usize) {
        self.top.store(top, Ordering::Release);
    }

    pub fn live_bytes(&self) -> usize {
        self.live_bytes.load(Ordering::Relaxed)
    }

    pub fn set_live_bytes(&self, bytes: usize) {
        self.live_bytes.store(bytes, Ordering::Relaxed);
    }

    pub fn pin(&self) {
        self.pins.fetch_add(1, Ordering::SeqCst);
    }

    pub fn unpin(&self) {
        let before = self.pins.fetch_sub(1, Ordering::SeqCst);
        assert!(before > 0, "unpin without pin");
    }

    pub fn is_pinned(&self) -> bool {
        self.pins.load(Ordering::SeqCst) != 0
    }

    /// Whether everything from `top` on is known to be zero.
    pub fn is_clean(&self) -> bool {
        self.clean.load(Ordering::Acquire)
    }

    pub fn set_clean(&self, clean: bool) {
        self.clean.store(clean, Ordering::Release);
    }

    /// Whether memory servers may have memory for it though it is free.
    pub fn is_served(&self) -> bool {
        self.served.load(Ordering::Relaxed)
    }

    pub fn set_served(&self, served: bool) {
        self.served.store(served, Ordering::Relaxed);
    }
}

/// All regions of a heap, and the set of free ones.
pub struct RegionTable {
    regions: Box<[Region]>,
    free: Mutex<BTreeSet<RegionId>>,
    commit: Commit,
}

/// Has the memory of adjacent regions committed, from the first one on; false if the system refuses.
pub type Commit = Box<dyn Fn(RegionId, usize) -> bool + Send + Sync>;

impl RegionTable {
    pub fn new(geometry: &Geometry, commit: Commit) -> RegionTable {
        RegionTable {
            regions: geometry.all_regions().map(|_| Region::new()).collect(),
            free: Mutex::new(geometry.all_regions().collect()),
            commit,
        }
    }

    #[inline]
    pub fn region(&self, id: RegionId) -> &Region {
        &self.regions[id.index()]
    }

    /// All regions with their ids, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (RegionId, &Region)> {
        self.regions.iter().enumerate().map(|(i, region)| (RegionId(i as u32), region))
    }

    /// Has a region's memory committed before the region is taken; false if the system refuses.
    pub fn commit(&self, id: RegionId) -> bool {
        (self.commit)(id, 1)
    }

    /// Takes the lowest free region that `accept` accepts. `None` if there is none, or the system has no memory for it;
    /// so it is with all that take regions.
    pub fn take_where(
        &self,
        usage: RegionUse,
        accept: impl Fn(RegionId) -> bool,
    ) -> Option<RegionId> {
        let mut free = self.free.lock();
        let id = free.iter().copied().find(|id| accept(*id) && self.commit(*id))?;
        free.remove(&id);
        self.begin(id, usage);
        Some(id)
    }

    /// Takes the lowest free region.
    pub fn take(&self, usage: RegionUse) -> Option<RegionId> {
        self.take_where(usage, |_| true)
    }

    /// Takes `count` adjacent free regions for one humongous object of `bytes`; the highest that are free, so
    /// that they hinder the others less.
    pub fn take_humongous(&self, count: usize, bytes: usize) -> Option<RegionId> {
        self.take_humongous_where(count, bytes, |_, _| true)
    }

    /// As [`take_humongous`](Self::take_humongous); `accept` is asked for the first and the last region.
    pub fn take_humongous_where(
        &self,
        count: usize,
        bytes: usize,
        accept: impl Fn(RegionId, RegionId) -> bool,
    ) -> Option<RegionId> {
        let mut free = self.free.lock();
        let mut run = 0;
        let mut previous = None;
        let first = free.iter().rev().find(|id| {
            let adjacent = previous == Some(id.0 + 1);
            run = if adjacent { run + 1 } else { 1 };
            previous = Some(id.0);
            run >= count && accept(**id, RegionId(id.0 + count as u32 - 1))
        });
        let first = *first?;
        if !(self.commit)(first, count) {
            return None;
        }
        self.begin_humongous(&mut free, first, count, bytes);
        Some(first)
    }

    /// The same at a place where `count` regions are free. Ends the process if the system has no memory for it.
    pub fn take_humongous_at(&self, first: RegionId, count: usize, bytes: usize) {
        if !(self.commit)(first, count) {
            base::die(format_args!("there is no memory to move an object of {bytes} bytes to"));
        }
        self.begin_humongous(&mut self.free.lock(), first, count, bytes);
    }

    fn begin_humongous(
        &self,
        free: &mut BTreeSet<RegionId>,
        first: RegionId,
        count: usize,
        bytes: usize,
    ) {
        for i in 0..count as u32 {
            let id = RegionId(first.0 + i);
            assert!(free.remove(&id), "{id:?} is not free");
            let usage = if i == 0 { RegionUse::HumongousStart } else { RegionUse::HumongousRest };
            self.begin(id, usage);
        }
        self.region(first).set_top(bytes);
    }

    /// Gives a region back. The caller has discarded its memory or says with `clean` = false that it has not.
    pub fn free(&self, id: RegionId, clean: bool) {
        let region = self.region(id);
        assert!(region.usage() != RegionUse::Free, "{id:?} freed twice");
        assert!(!region.is_pinned(), "{id:?} freed while pinned");
        region.set_top(0);
        region.set_live_bytes(0);
        region.set_clean(clean);
        region.usage.store(RegionUse::Free as u8, Ordering::Release);
        self.free.lock().insert(id);
    }

    pub fn free_count(&self) -> usize {
        self.free.lock().len()
    }

    /// Free regions, highest first.
    pub fn free_regions(&self) -> Vec<RegionId> {
        self.free.lock().iter().rev().copied().collect()
    }

    /// Free regions whose memory was not given back, highest first.
    pub fn dirty_free_regions(&self) -> Vec<RegionId> {
        let mut dirty = self.free_regions();
        dirty.retain(|id| !self.region(*id).is_clean());
        dirty
    }

    /// Bytes up to the tops of all regions.
    pub fn used_bytes(&self) -> usize {
        self.regions.iter().map(Region::top).sum()
    }

    /// Regions that are not free, or free with memory that was not given back.
    pub fn committed_count(&self) -> usize {
        self.regions.iter().filter(|r| r.usage() != RegionUse::Free || !r.is_clean()).count()
    }

    fn begin(&self, id: RegionId, usage: RegionUse) {
        let region = self.region(id);
        assert_eq!(region.usage(), RegionUse::Free, "{id:?} was in the free set");
        assert_eq!(region.top(), 0, "{id:?} is free but not empty");
        region.usage.store(usage as u8, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_that_the_system_refuses_stays_free() {
        let geometry = Geometry::choose(8 << 18, Some(1 << 18)).unwrap();
        let low = |first: RegionId, count| first.0 as usize + count <= 3;
        let table = RegionTable::new(&geometry, Box::new(low));
        assert!(table.take_humongous(2, 300_000).is_none());
        let taken = std::iter::from_fn(|| table.take(RegionUse::Objects));
        assert_eq!(taken.collect::<Vec<_>>(), [RegionId(0), RegionId(1), RegionId(2)]);
        assert_eq!(table.free_count(), 5);
    }

    #[test]
    fn humongous_objects_get_adjacent_regions_or_none() {
        let geometry = Geometry::choose(8 << 18, Some(1 << 18)).unwrap();
        let table = RegionTable::new(&geometry, Box::new(|_, _| true));
        let low = table.take(RegionUse::Objects).unwrap();
        assert_eq!(low, RegionId(0));
        let humongous = table.take_humongous(3, 700_000).unwrap();
        assert_eq!(humongous, RegionId(5));
        assert_eq!(table.region(RegionId(6)).usage(), RegionUse::HumongousRest);
        assert_eq!(table.free_count(), 4);
        assert!(table.take_humongous(5, 5 << 18).is_none());
        table.region(low).set_top(64);
        table.free(low, false);
        assert_eq!(table.committed_count(), 4);
        assert!(table.take_humongous(5, 5 << 18).is_some());
        assert_eq!(table.free_count(), 0);
    }
}
