//! Where everything lies in the far space.
//!
//! ```text
//! 0         entries_at  alloc_bits_at     mark_bits_at  touch_bits_at  live_bytes_at  jumps_at       far_bytes
//! +---------+-----------+-----------------+-------------+--------------+--------------+--------------+
//! | regions | entries   | allocation bits | mark bits   | touched bits | live bytes   | jumps        |
//! |         | 4 or 8 B  | 1 bit per entry | the same    | the same     | 8 B / region | 8 B / region |
//! +---------+-----------+-----------------+-------------+--------------+--------------+--------------+
//! '------ paged --------'-- read and written one-sidedly, not paged ---------------------------------'
//! ```
//!
//! Each server owns a contiguous share of the regions and of the tablets, so that large objects
//! find neighbouring regions on one server. In the last five areas each server uses its own
//! segment only.

use super::{TABLET_ENTRIES, TABLET_SHIFT, TABLET_WORDS};
use crate::object::geometry::RegionId;
use crate::object::{OBJECT_ALIGNMENT, OBJECT_BYTES_MIN};
use std::ops::Range;
use swap::{PAGE_BYTES, Page, PageRange};

/// Number of a tablet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TabletId(pub u32);

/// Number of an entry: the encoded reference of Mako. 0 is null.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(transparent)]
pub struct EntryIndex(pub u32);

impl EntryIndex {
    pub const NULL: EntryIndex = EntryIndex(0);

    #[inline]
    pub fn is_null(self) -> bool {
        self.0 == 0
    }

    /// Whether a slot that holds this word names no entry, but the place of a young object (generational Mako).
    #[inline]
    pub fn is_young(self) -> bool {
        self.0 & YOUNG != 0
    }

    #[inline]
    pub fn tablet(self) -> TabletId {
        TabletId(self.0 >> TABLET_SHIFT)
    }

    /// Number within its tablet.
    #[inline]
    pub fn in_tablet(self) -> usize {
        self.0 as usize % TABLET_ENTRIES
    }
}

impl TabletId {
    /// The entry with number `n` of this tablet.
    #[inline]
    pub fn entry(self, n: usize) -> EntryIndex {
        debug_assert!(n < TABLET_ENTRIES);
        EntryIndex(self.0 << TABLET_SHIFT | n as u32)
    }
}

/// The bit of words that name young objects: tables of heaps with young objects have fewer entries.
pub const YOUNG: u32 = 1 << 31;
/// The base of a heap in which the word that names a young object is an eighth of its address.
pub const YOUNG_BASE: usize = YOUNG as usize * OBJECT_ALIGNMENT;

/// The width of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryWidth {
    /// Four bytes, which hold places up to 2^32: in units of 8 bytes, as objects are aligned.
    Narrow,
    /// Eight bytes, which hold addresses.
    Wide,
}

impl EntryWidth {
    /// Bytes of an entry.
    #[inline]
    pub fn bytes(self) -> usize {
        1 << self.shift()
    }

    /// The logarithm of that.
    #[inline]
    pub fn shift(self) -> u8 {
        match self {
            EntryWidth::Narrow => 2,
            EntryWidth::Wide => 3,
        }
    }

    /// The logarithm of a place's unit in bytes.
    #[inline]
    pub fn place_shift(self) -> u8 {
        match self {
            EntryWidth::Narrow => 3,
            EntryWidth::Wide => 0,
        }
    }
}

/// The sizes that VM and agents agree on. All offsets are bytes in the far space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HitGeometry {
    region_shift: u32,
    servers: u32,
    regions: u32,
    regions_per_server: u32,
    tablets_per_server: u32,
    width: EntryWidth,
    /// The place of heap offset 0, see [`place`](Self::place).
    origin: u64,
    /// Follows from the others, as does the next one: agents need both for every reference.
    paged_bytes: usize,
    /// Bytes of a bit for each entry, whole pages.
    bits_bytes: usize,
}

/// The parts of a geometry, as they are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HitParts {
    /// The logarithm of a region's bytes, servers, regions, tablets of each server, bytes of an entry.
    pub sizes: [u32; 5],
    pub origin: u64,
}

impl HitGeometry {
    /// For `regions` regions of `1 << region_shift` bytes on `servers` servers, with twice as many
    /// entries as the smallest objects would need, if slots are wide enough to name that many. An error is a message
    /// for the command line.
    pub fn new(
        regions: usize,
        region_shift: u32,
        servers: usize,
        width: EntryWidth,
    ) -> Result<HitGeometry, String> {
        let per_server = regions.div_ceil(servers.max(1)) << region_shift;
        let wish = 2 * per_server / OBJECT_BYTES_MIN / TABLET_ENTRIES;
        let limit = (u32::MAX as usize >> TABLET_SHIFT) / servers.max(1);
        let tablets = wish.min(limit) as u32;
        let sizes = [region_shift, servers as u32, regions as u32, tablets, width.bytes() as u32];
        let parts = HitParts { sizes, origin: 1 << (3 - width.place_shift()) };
        HitGeometry::from_parts(parts).ok_or_else(|| {
            format!(
                "Mako cannot manage {regions} regions of {} bytes on {servers} servers: \
                 at most {REGIONS_MAX} regions and {} bytes in all, and a region for each server",
                1usize << region_shift,
                heap_bytes_max(width),
            )
        })
    }

    /// From numbers that a peer sent; `None` when no heap has them.
    pub fn from_parts(parts: HitParts) -> Option<HitGeometry> {
        let HitParts { sizes, origin } = parts;
        let [region_shift, servers, regions, tablets_per_server, entry_bytes] = sizes;
        let width = match entry_bytes {
            4 => EntryWidth::Narrow,
            8 => EntryWidth::Wide,
            _ => return None,
        };
        if !(16..=30).contains(&region_shift) || !(1..=1024).contains(&servers) {
            return None;
        }
        // Rounded up: the last server may have fewer.
        let regions_per_server = regions.div_ceil(servers);
        let heap = u64::from(regions) << region_shift;
        let tablets = u64::from(tablets_per_server) * u64::from(servers);
        let bits_bytes = (tablets as usize * TABLET_WORDS * 8).next_multiple_of(PAGE_BYTES);
        let geometry = HitGeometry {
            region_shift,
            servers,
            regions,
            regions_per_server,
            tablets_per_server,
            width,
            origin,
            paged_bytes: heap as usize + ((tablets as usize * TABLET_ENTRIES) << width.shift()),
            bits_bytes,
        };
        let sound = tablets > 0
            && tablets << TABLET_SHIFT <= 1 << 32
            && (servers..=REGIONS_MAX).contains(&regions)
            && heap <= heap_bytes_max(width)
            // The last object begins at least 16 bytes before the end.
            && origin > 0
            && match width {
                EntryWidth::Narrow => origin <= (1 << 32) + 1 - heap / 8,
                EntryWidth::Wide => origin <= ADDRESSES_MAX - heap && origin.is_multiple_of(8),
            }
            // Rounding up the shares must not leave the last server without regions.
            && geometry.regions_per_server() * (servers as usize - 1) < regions as usize;
        sound.then_some(geometry)
    }

    /// The argument of [`from_parts`](Self::from_parts).
    pub fn parts(&self) -> HitParts {
        let HitGeometry { region_shift, servers, regions, tablets_per_server, .. } = *self;
        let entry_bytes = self.width.bytes() as u32;
        let sizes = [region_shift, servers, regions, tablets_per_server, entry_bytes];
        HitParts { sizes, origin: self.origin }
    }

    /// The same for a heap at this address. A place is an address in wide entries, an eighth of one in narrow entries
    /// if the heap lies below 32 GiB, and otherwise counts from the heap's base.
    pub fn based(self, base: usize) -> HitGeometry {
        let is_low = base.is_multiple_of(8) && base + self.heap_bytes() <= ADDRESS_LIMIT;
        let origin = match self.width {
            EntryWidth::Wide => base as u64,
            EntryWidth::Narrow if is_low => (base / 8) as u64,
            EntryWidth::Narrow => 1,
        };
        HitGeometry { origin, ..self }
    }

    /// The contents of an entry for an object at this heap offset: the offset in units of the entry's width, moved so
    /// that no place is 0, which is a free entry's.
    #[inline]
    pub fn place(&self, offset: usize) -> u64 {
        debug_assert!(offset.is_multiple_of(8) && offset < self.heap_bytes());
        (offset as u64 >> self.width.place_shift()) + self.origin
    }

    /// The heap offset that an entry names, a multiple of 8; `None` for a free entry and for a word that is no place.
    #[inline]
    pub fn offset_of(&self, place: u64) -> Option<usize> {
        let distance = place.checked_sub(self.origin)?;
        match self.width {
            EntryWidth::Narrow => Some(distance as usize * 8),
            EntryWidth::Wide => distance.is_multiple_of(8).then_some(distance as usize),
        }
    }

    /// Distance from place 0 to heap offset 0, in bytes.
    pub fn origin_bytes(&self) -> usize {
        (self.origin << self.width.place_shift()) as usize
    }

    #[inline]
    pub fn width(&self) -> EntryWidth {
        self.width
    }

    /// Bytes of a tablet's entries in the far space, whole pages.
    #[inline]
    pub fn tablet_bytes(&self) -> usize {
        TABLET_ENTRIES << self.width.shift()
    }

    pub fn servers(&self) -> usize {
        self.servers as usize
    }

    pub fn region_bytes(&self) -> usize {
        1 << self.region_shift
    }

    /// Number of regions, on all servers.
    pub fn regions(&self) -> usize {
        self.regions as usize
    }

    /// Regions of each server but the last, which may have fewer.
    #[inline]
    pub fn regions_per_server(&self) -> usize {
        self.regions_per_server as usize
    }

    /// Number of tablets, on all servers.
    #[inline]
    pub fn tablets(&self) -> usize {
        (self.servers * self.tablets_per_server) as usize
    }

    pub fn tablets_per_server(&self) -> usize {
        self.tablets_per_server as usize
    }

    /// Bytes of all regions.
    pub fn heap_bytes(&self) -> usize {
        self.regions() << self.region_shift
    }

    /// The region of a heap offset, which must be inside the heap.
    #[inline]
    pub fn region_of(&self, offset: usize) -> RegionId {
        debug_assert!(offset < self.heap_bytes(), "heap offset {offset:#x}");
        RegionId((offset >> self.region_shift) as u32)
    }

    #[inline]
    pub fn region_offset(&self, region: RegionId) -> usize {
        (region.0 as usize) << self.region_shift
    }

    pub fn region_pages(&self, region: RegionId) -> PageRange {
        PageRange::of_bytes(self.region_offset(region), self.region_bytes())
    }

    pub fn region_server(&self, region: RegionId) -> usize {
        region.index() / self.regions_per_server()
    }

    /// The heap offsets that a server owns.
    pub fn offsets_of(&self, server: usize) -> Range<usize> {
        let share = self.regions_per_server() << self.region_shift;
        let start = (server * share).min(self.heap_bytes());
        start..(start + share).min(self.heap_bytes())
    }

    #[inline]
    pub fn tablet_server(&self, tablet: TabletId) -> usize {
        (tablet.0 / self.tablets_per_server) as usize
    }

    #[inline]
    pub fn entries_at(&self) -> usize {
        self.heap_bytes()
    }

    #[inline]
    pub fn entry_offset(&self, entry: EntryIndex) -> usize {
        self.entries_at() + ((entry.0 as usize) << self.width.shift())
    }

    pub fn tablet_pages(&self, tablet: TabletId) -> PageRange {
        PageRange::of_bytes(self.entry_offset(tablet.entry(0)), self.tablet_bytes())
    }

    /// Bytes that the VM maps: regions and entries.
    #[inline]
    pub fn paged_bytes(&self) -> usize {
        self.paged_bytes
    }

    /// The server that owns a page of the paged part; 0 for others. Async-signal-safe.
    pub fn page_server(&self, page: Page) -> usize {
        let offset = page.offset();
        let server = if offset < self.entries_at() {
            offset / (self.regions_per_server() << self.region_shift)
        } else if offset < self.paged_bytes() {
            (offset - self.entries_at()) / (self.tablets_per_server as usize * self.tablet_bytes())
        } else {
            0
        };
        debug_assert!(server < self.servers());
        server
    }

    #[inline]
    pub fn alloc_bits_at(&self) -> usize {
        self.paged_bytes()
    }

    /// Where the allocation bits of a tablet begin; `TABLET_WORDS` words.
    #[inline]
    pub fn alloc_bits_offset(&self, tablet: TabletId) -> usize {
        self.alloc_bits_at() + tablet.0 as usize * TABLET_WORDS * 8
    }

    #[inline]
    pub fn mark_bits_at(&self) -> usize {
        self.alloc_bits_at() + self.bits_bytes
    }

    /// Where the mark bits of a tablet begin; `TABLET_WORDS` words.
    #[inline]
    pub fn mark_bits_offset(&self, tablet: TabletId) -> usize {
        self.mark_bits_at() + tablet.0 as usize * TABLET_WORDS * 8
    }

    pub fn touch_bits_at(&self) -> usize {
        self.mark_bits_at() + self.bits_bytes
    }

    /// Where it stands which objects of a tablet's entries the program has touched; `TABLET_WORDS` words.
    #[inline]
    pub fn touch_bits_offset(&self, tablet: TabletId) -> usize {
        self.touch_bits_at() + tablet.0 as usize * TABLET_WORDS * 8
    }

    pub fn live_bytes_at(&self) -> usize {
        self.touch_bits_at() + self.bits_bytes
    }

    /// Where the live bytes of a region are counted, one word.
    pub fn live_bytes_offset(&self, region: RegionId) -> usize {
        self.live_bytes_at() + region.0 as usize * 8
    }

    pub fn jumps_at(&self) -> usize {
        self.live_bytes_at() + (self.regions() * 8).next_multiple_of(PAGE_BYTES)
    }

    /// Where it is counted how often tracing jumped from one place of a region to another, one word.
    pub fn jumps_offset(&self, region: RegionId) -> usize {
        self.jumps_at() + region.0 as usize * 8
    }

    /// Length of the far space, and thus of a server's segment.
    pub fn far_bytes(&self) -> usize {
        self.jumps_at() + (self.regions() * 8).next_multiple_of(PAGE_BYTES)
    }
}

/// Narrow entries hold 32 bits of an offset in units of 8 bytes.
fn heap_bytes_max(width: EntryWidth) -> u64 {
    match width {
        EntryWidth::Narrow => 8 << 32,
        EntryWidth::Wide => 1 << 46,
    }
}

/// The largest number of regions that fits a message.
const REGIONS_MAX: u32 = 1 << 22;
/// Behind all addresses that a process may have.
const ADDRESSES_MAX: u64 = 1 << 56;
/// Below, an eighth of an address fits an entry.
pub const ADDRESS_LIMIT: usize = 8 << 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_do_not_overlap_and_every_page_has_the_owner_of_its_contents() {
        for (regions, shift, servers, width) in [
            (16, 16, 1, EntryWidth::Narrow),
            (20, 18, 2, EntryWidth::Wide),
            (100, 20, 3, EntryWidth::Narrow),
        ] {
            let g = HitGeometry::new(regions, shift, servers, width).unwrap();
            assert!(g.heap_bytes() == regions << shift && g.paged_bytes() == g.alloc_bits_at());
            let areas = [g.mark_bits_at(), g.touch_bits_at(), g.live_bytes_at(), g.jumps_at()];
            assert!(areas.is_sorted_by(|a, b| a < b), "{areas:?}");
            assert!(g.jumps_offset(RegionId(regions as u32)) <= g.far_bytes());
            for region in (0..g.regions() as u32).map(RegionId) {
                let server = g.region_server(region);
                assert!(g.region_pages(region).pages().all(|p| g.page_server(p) == server));
            }
            for tablet in (0..g.tablets() as u32).map(TabletId) {
                let server = g.tablet_server(tablet);
                assert!(g.tablet_pages(tablet).pages().all(|p| g.page_server(p) == server));
            }
            assert_eq!(HitGeometry::from_parts(g.parts()), Some(g));
        }
    }

    #[test]
    fn the_largest_heap_fits_the_index() {
        for (regions, width) in [(2048, EntryWidth::Narrow), (1 << 18, EntryWidth::Wide)] {
            let g = HitGeometry::new(regions, 24, 2, width).unwrap();
            assert!((g.tablets() as u64) << TABLET_SHIFT <= 1 << 32);
            assert_eq!(HitGeometry::from_parts(g.parts()), Some(g));
        }
        assert!(HitGeometry::new(2049, 24, 2, EntryWidth::Narrow).is_err());
        assert!(HitGeometry::new((1 << 22) + 1, 20, 2, EntryWidth::Wide).is_err());
    }

    #[test]
    fn places_are_found_again_and_low_ones_are_addresses() {
        let heap = 16 << 20;
        for base in [0x7f00_0000_0000, 1 << 30, ADDRESS_LIMIT - heap, ADDRESS_LIMIT] {
            for width in [EntryWidth::Narrow, EntryWidth::Wide] {
                let g = HitGeometry::new(16, 20, 2, width).unwrap().based(base);
                assert_eq!(HitGeometry::from_parts(g.parts()), Some(g));
                for offset in [0, 8, heap - 16] {
                    assert_ne!(g.place(offset), 0);
                    assert_eq!(g.offset_of(g.place(offset)), Some(offset));
                    let is_low = base + heap <= ADDRESS_LIMIT;
                    let address = (g.place(offset) as usize) << width.place_shift();
                    assert_eq!(address == base + offset, is_low || width == EntryWidth::Wide);
                }
                assert_eq!(g.offset_of(0), None);
            }
        }
    }

    #[test]
    fn numbers_of_a_hostile_peer_are_refused() {
        let hostile = [
            ([0; 5], 0),
            ([15, 1, 1, 1, 4], 1),
            ([20, 1, u32::MAX, 1, 4], 1),
            ([20, 1, u32::MAX, 1, 8], 1),
            ([20, 2, 2, u32::MAX, 4], 1),
            ([20, 1, 1, 1, 5], 1),
            ([20, 1, 1, 1, 4], 0),
            ([20, 1, 1, 1, 4], u32::MAX.into()),
            ([20, 1, 1, 1, 8], 0),
            ([20, 1, 1, 1, 8], 12),
            ([20, 1, 1, 1, 8], u64::MAX - 7),
        ];
        for (sizes, origin) in hostile {
            assert_eq!(HitGeometry::from_parts(HitParts { sizes, origin }), None);
        }
    }
}
