//! Where everything lies in the far space of a heap whose regions are traced one by one (Semeru).
//!
//! ```text
//! 0         roots_at            marks_at            live_bytes_at   far_bytes
//! +---------+-------------------+-------------------+---------------+
//! | regions | roots             | marks             | live bytes    |
//! |         | 1 bit per 8 bytes | 1 bit per 8 bytes | 8 B / region  |
//! +---------+-------------------+-------------------+---------------+
//! '- paged -'--- read and written one-sidedly, not paged ------------'
//! ```
//!
//! In the last three areas each server uses its own segment only, and in it the parts of its own regions. Slots hold
//! addresses of the VM's, so a map has the heap's base, and says how wide they are.

use crate::object::codec::{NARROW_LIMIT, SlotWidth};
use crate::object::geometry::server_of_region;
use crate::object::geometry::{Geometry, RegionId};
use swap::PAGE_BYTES;

/// The sizes that VM and agents agree on. All offsets are bytes in the far space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegionMap {
    base: u64,
    region_shift: u32,
    regions: u32,
    servers: u32,
    slot_width: SlotWidth,
}

impl RegionMap {
    pub fn new(geometry: &Geometry, servers: usize, width: SlotWidth) -> Option<RegionMap> {
        let slot_bytes = width.bytes() as u32;
        let sizes = [geometry.region_shift, geometry.regions as u32, servers as u32, slot_bytes];
        RegionMap::from_parts(geometry.base as u64, sizes)
    }

    /// From numbers that a peer sent; `None` when no heap has them.
    pub fn from_parts(base: u64, sizes: [u32; 4]) -> Option<RegionMap> {
        let [region_shift, regions, servers, slot_bytes] = sizes;
        let slot_width = [SlotWidth::Narrow, SlotWidth::Wide]
            .into_iter()
            .find(|width| width.bytes() == slot_bytes as usize)?;
        let is_sound = (16..=30).contains(&region_shift)
            && (1..=1024).contains(&servers)
            && regions > 0
            && u64::from(regions) << region_shift <= HEAP_BYTES_MAX
            && base.is_multiple_of(8)
            && base <= ADDRESS_MAX;
        let reaches = || base + (u64::from(regions) << region_shift) <= NARROW_LIMIT as u64;
        let is_sound = is_sound && (slot_width == SlotWidth::Wide || reaches());
        is_sound.then_some(RegionMap { base, region_shift, regions, servers, slot_width })
    }

    /// The arguments of [`from_parts`](Self::from_parts).
    pub fn parts(&self) -> (u64, [u32; 4]) {
        let slot_bytes = self.slot_width.bytes() as u32;
        (self.base, [self.region_shift, self.regions, self.servers, slot_bytes])
    }

    /// How slots hold addresses.
    #[inline]
    pub fn slot_width(&self) -> SlotWidth {
        self.slot_width
    }

    pub fn servers(&self) -> usize {
        self.servers as usize
    }

    pub fn regions(&self) -> usize {
        self.regions as usize
    }

    pub fn region_bytes(&self) -> usize {
        1 << self.region_shift
    }

    pub fn heap_bytes(&self) -> usize {
        self.regions() << self.region_shift
    }

    /// The server that holds a region.
    #[inline]
    pub fn server(&self, region: RegionId) -> usize {
        server_of_region(region, self.servers())
    }

    #[inline]
    pub fn region_of(&self, offset: usize) -> RegionId {
        RegionId((offset >> self.region_shift) as u32)
    }

    pub fn region_offset(&self, region: RegionId) -> usize {
        region.index() << self.region_shift
    }

    /// The heap offset that a slot refers to; `None` for an address outside of the heap.
    #[inline]
    pub fn offset_of(&self, address: u64) -> Option<usize> {
        let offset = address.wrapping_sub(self.base);
        (offset < self.heap_bytes() as u64).then_some(offset as usize)
    }

    /// Bytes of the bits of one region; a bit stands for eight bytes of it, the lowest first.
    pub fn bits_bytes(&self) -> usize {
        self.region_bytes() / 64
    }

    /// The bits of the objects that tracing a region begins with.
    pub fn roots_offset(&self, region: RegionId) -> usize {
        self.roots_at() + region.index() * self.bits_bytes()
    }

    /// The bits of the objects that tracing a region has found.
    pub fn marks_offset(&self, region: RegionId) -> usize {
        self.marks_at() + region.index() * self.bits_bytes()
    }

    /// Bytes of marked objects of a region.
    pub fn live_bytes_offset(&self, region: RegionId) -> usize {
        self.live_bytes_at() + 8 * region.index()
    }

    pub fn roots_at(&self) -> usize {
        self.heap_bytes()
    }

    pub fn marks_at(&self) -> usize {
        self.roots_at() + (self.regions() * self.bits_bytes()).next_multiple_of(PAGE_BYTES)
    }

    pub fn live_bytes_at(&self) -> usize {
        self.marks_at() + (self.regions() * self.bits_bytes()).next_multiple_of(PAGE_BYTES)
    }

    pub fn far_bytes(&self) -> usize {
        self.live_bytes_at() + (8 * self.regions()).next_multiple_of(PAGE_BYTES)
    }
}

/// No machine has more; so sums of offsets cannot overflow.
const HEAP_BYTES_MAX: u64 = 1 << 46;
const ADDRESS_MAX: u64 = 1 << 56;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_lie_side_by_side() {
        let map = RegionMap::from_parts(1 << 32, [16, 5, 2, 8]).unwrap();
        assert_eq!(map.roots_offset(RegionId(0)), 5 << 16);
        assert_eq!(map.roots_offset(RegionId(1)), (5 << 16) + 1024);
        assert_eq!(map.marks_offset(RegionId(0)), (5 << 16) + 8192);
        assert_eq!(map.live_bytes_offset(RegionId(0)), (5 << 16) + 16384);
        assert_eq!(map.far_bytes(), (5 << 16) + 16384 + 4096);
        assert_eq!(map.offset_of((1 << 32) + 8), Some(8));
        assert_eq!(map.offset_of((1 << 32) - 8), None);
        assert_eq!(map.offset_of((1 << 32) + (5 << 16)), None);
        assert_eq!(map.server(RegionId(3)), 1);
    }

    #[test]
    fn sizes_that_no_heap_has_are_refused() {
        for sizes in
            [[15, 5, 2], [31, 5, 2], [16, 0, 1], [16, 5, 0], [16, 5, 1025], [30, u32::MAX, 1]]
        {
            let [shift, regions, servers] = sizes;
            assert_eq!(
                RegionMap::from_parts(1 << 32, [shift, regions, servers, 8]),
                None,
                "{sizes:?}"
            );
        }
        assert_eq!(RegionMap::from_parts(1 << 32 | 4, [16, 5, 2, 8]), None);
        assert_eq!(RegionMap::from_parts(1 << 32, [16, 5, 2, 6]), None);
        // A narrow slot reaches 32 GiB.
        assert!(RegionMap::from_parts((32 << 30) - (5 << 16), [16, 5, 2, 4]).is_some());
        assert_eq!(RegionMap::from_parts((32 << 30) - (4 << 16), [16, 5, 2, 4]), None);
        assert_eq!(RegionMap::from_parts(u64::MAX - 7, [16, 5, 2, 8]), None);
    }
}
