//! Where the heap lies and how it is cut into regions.

use crate::object::ObjectRef;

/// Number of a region; region `i` is bytes `i << region_shift ..` of the object space.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RegionId(pub u32);

impl RegionId {
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Sizes of one heap; the base address is known once the space is reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Address of the first object byte; 0 before the space is reserved. Aligned to a region.
    pub base: usize,
    /// log2 of the bytes of a region.
    pub region_shift: u32,
    pub regions: usize,
}

impl Geometry {
    /// The geometry for a heap of at least `max_bytes`.
    pub fn choose(max_bytes: usize, region_bytes: Option<usize>) -> Result<Geometry, String> {
        let wish = (max_bytes / REGIONS_WISHED).next_power_of_two();
        let region = region_bytes.unwrap_or(wish.clamp(REGION_BYTES_LEAST, REGION_BYTES_DEFAULT));
        if !region.is_power_of_two() || !(REGION_BYTES_MIN..=REGION_BYTES_MAX).contains(&region) {
            return Err(format!(
                "Invalid region size: {region} bytes, not a power of two from 64k to 1g"
            ));
        }
        let regions = max_bytes.div_ceil(region).max(2);
        if u32::try_from(regions).is_err() {
            return Err(format!(
                "Too many regions of {region} bytes: {regions}, at most {}",
                u32::MAX
            ));
        }
        Ok(Geometry { base: 0, region_shift: region.trailing_zeros(), regions })
    }

    #[inline]
    pub fn region_bytes(&self) -> usize {
        1 << self.region_shift
    }

    /// Bytes of the object space.
    #[inline]
    pub fn heap_bytes(&self) -> usize {
        self.regions << self.region_shift
    }

    /// Whether `address` lies in the object space.
    #[inline]
    pub fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.base) < self.heap_bytes()
    }

    #[inline]
    pub fn region_of(&self, object: ObjectRef) -> RegionId {
        self.region_at(object.address())
    }

    #[inline]
    pub fn region_at(&self, address: usize) -> RegionId {
        debug_assert!(self.contains(address), "{address:#x} outside the heap");
        RegionId(((address - self.base) >> self.region_shift) as u32)
    }

    /// Address of a region's first byte.
    #[inline]
    pub fn region_start(&self, region: RegionId) -> usize {
        debug_assert!(region.index() < self.regions);
        self.base + (region.index() << self.region_shift)
    }

    /// Offset of an address in the object space.
    #[inline]
    pub fn offset(&self, address: usize) -> usize {
        debug_assert!(address >= self.base && address <= self.base + self.heap_bytes());
        address - self.base
    }

    /// Objects larger than this get regions of their own.
    #[inline]
    pub fn humongous_bytes(&self) -> usize {
        self.region_bytes() / 2
    }

    pub fn all_regions(&self) -> impl DoubleEndedIterator<Item = RegionId> + use<> {
        (0..self.regions as u32).map(RegionId)
    }
}

/// Which server a region lives on when there are `servers`.
#[inline]
pub fn server_of_region(region: RegionId, servers: usize) -> usize {
    region.index() % servers
}

/// Mako's default, for heaps of 1 GiB and more.
const REGION_BYTES_DEFAULT: usize = 16 << 20;
/// The region size to which small heaps are scaled down.
const REGION_BYTES_LEAST: usize = 256 << 10;
const REGION_BYTES_MIN: usize = 64 << 10;
const REGION_BYTES_MAX: usize = 1 << 30;
/// The number of regions that even small heaps should have.
const REGIONS_WISHED: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_scale_with_the_heap() {
        let bytes = |max| Geometry::choose(max, None).map(|g| (g.region_bytes(), g.regions));
        assert_eq!(bytes(4 << 30), Ok((16 << 20, 256)));
        assert_eq!(bytes(64 << 20), Ok((1 << 20, 64)));
        assert_eq!(bytes(1 << 20), Ok((256 << 10, 4)));
        assert!(Geometry::choose(1 << 30, Some(3 << 20)).is_err());
    }
}
