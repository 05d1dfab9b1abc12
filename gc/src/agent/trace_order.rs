//! In which order tracing came by the objects of each region.
//!
//! Tracing goes depth first, each object's slots in their order: it meets objects in the same order as a program that
//! walks a list or an array's elements. The order in which objects were allocated is another one as
//! soon as a program sorts them into buckets: then each page has some of every bucket, and is fetched
//! for each of them. So evacuation moves objects in the order of tracing (not of the paper).
//!
//! Objects that the program has touched lately come first, if they are known ([`MoveOrder::TouchedFirst`]): then the
//! pages that it needs have little else in them.
//!
//! How far the objects of a region are from that order is counted too: how often tracing, when it comes back to the
//! region, comes to another place than its last ones there, and how many pages touched objects are on, beyond
//! those that they would fill. From that the policy that chooses regions can decide which ones should be moved though
//! hardly anything in them is garbage.
//!
//! [`MoveOrder::TouchedFirst`]: super::protocol::MoveOrder

use crate::hit::EntryIndex;
use swap::PAGE_BYTES;

/// The objects of one server's regions, 4 bytes for each, and 8 for each [`TICK`] in each region that it met.
pub struct TraceOrder {
    /// It matters which objects are touched.
    pub touched_first: bool,
    /// `None` where tracing has not come.
    regions: Vec<Option<Box<Region>>>,
    /// The number of a part's places that count, see [`Part::come`].
    places: usize,
    /// Objects noted so far.
    count: u64,
}

#[derive(Clone, Default)]
struct Region {
    touched: Part,
    rest: Part,
    holds_large: bool,
    /// Bits of pages with touched objects.
    touched_pages: Vec<u64>,
}

/// The touched objects of a region, or the others.
#[derive(Clone, Default)]
struct Part {
    /// Pages in which the last ones lie, in a ring.
    pages: [u32; PLACES_MAX],
    /// Where the oldest of these is.
    next: usize,
    jumps: u64,
    bytes: usize,
    entries: Vec<EntryIndex>,
    /// Ticks in which there are entries, and the first one's place.
    ticks: Vec<(u32, u32)>,
}

impl TraceOrder {
    /// For `regions` regions of `region_bytes` bytes.
    pub fn new(regions: usize, region_bytes: usize, touched_first: bool) -> TraceOrder {
        // In small regions no page would be distant from all of many places.
        let places = (region_bytes / PAGE_BYTES / PLACE_PAGES).clamp(1, PLACES_MAX);
        TraceOrder { touched_first, regions: vec![None; regions], places, count: 0 }
    }

    /// The object of `entry` is the next one: `bytes` bytes from `at` on, counted from the start of its region.
    #[inline]
    pub fn note(
        &mut self,
        region: usize,
        entry: EntryIndex,
        at: usize,
        bytes: usize,
        is_touched: bool,
    ) {
        let tick = (self.count / TICK) as u32;
        self.count += 1;
        let region = self.regions[region].get_or_insert_default();
        region.holds_large |= bytes >= LARGE_BYTES;
        if is_touched {
            region.touch(at, bytes);
        }
        let part = if is_touched { &mut region.touched } else { &mut region.rest };
        let page = at / PAGE_BYTES;
        part.come(page as u32, self.places);
        part.bytes += bytes;
        if part.ticks.last().is_none_or(|(last, _)| *last != tick) {
            part.ticks.push((tick, part.entries.len() as u32));
        }
        part.entries.push(entry);
    }

    /// How often tracing jumped within a region; each page that touched objects would need less if they lay together
    /// counts as [`SPARED_PAGE_JUMPS`]. None count where a large object lies: the gain in order does not justify that
    /// a thread waits until it is copied.
    pub fn jumps(&self, region: usize) -> u64 {
        let Some(region) = &self.regions[region] else { return 0 };
        let Region { touched, rest, touched_pages, holds_large } = &**region;
        if *holds_large {
            return 0;
        }
        let pages: u32 = touched_pages.iter().map(|word| word.count_ones()).sum();
        let spared = (pages as usize).saturating_sub(touched.bytes.div_ceil(PAGE_BYTES));
        touched.jumps + rest.jumps + SPARED_PAGE_JUMPS * spared as u64
    }

    /// Memory of all that is kept of regions.
    pub fn bytes(&self) -> usize {
        let of_part = |part: &Part| {
            part.entries.capacity() * size_of::<EntryIndex>()
                + part.ticks.capacity() * size_of::<(u32, u32)>()
        };
        let of_region = |region: &Region| {
            size_of::<Region>()
                + of_part(&region.touched)
                + of_part(&region.rest)
                + region.touched_pages.capacity() * size_of::<u64>()
        };
        let regions = self.regions.iter().flatten().map(|region| of_region(region));
        self.regions.capacity() * size_of::<Option<Box<Region>>>() + regions.sum::<usize>()
    }

    /// Takes out the objects of these regions, in their order, the touched ones first: of one tick those of the first
    /// region first.
    pub fn take(&mut self, regions: impl Iterator<Item = usize>) -> Vec<EntryIndex> {
        let (mut touched, mut rest) = (Vec::new(), Vec::new());
        for at in regions {
            let region = std::mem::take(&mut self.regions[at]).unwrap_or_default();
            touched.push(region.touched);
            rest.push(region.rest);
        }
        let mut entries = merged(&touched);
        entries.append(&mut merged(&rest));
        entries
    }
}

impl Region {
    /// There is a touched object.
    fn touch(&mut self, at: usize, bytes: usize) {
        for page in at / PAGE_BYTES..(at + bytes).div_ceil(PAGE_BYTES) {
            if self.touched_pages.len() <= page / 64 {
                self.touched_pages.resize(page / 64 + 1, 0);
            }
            self.touched_pages[page / 64] |= 1 << (page % 64);
        }
    }
}

impl Part {
    /// The next object is in this page, which is a jump if it is near to none of the last `places` places. More than
    /// one counts since tracing continues with another object while it waits for memory: it is at several places at a
    /// time.
    #[inline]
    fn come(&mut self, page: u32, places: usize) {
        let pages = &mut self.pages[..places];
        let is_near = |near, place: &u32| near | (place.abs_diff(page) <= NEAR_PAGES);
        self.jumps += u64::from(!pages.iter().fold(false, is_near));
        pages[self.next] = page;
        self.next = (self.next + 1) % places;
    }
}

/// The objects of these parts by tick, of one tick those of the first part first.
fn merged(parts: &[Part]) -> Vec<EntryIndex> {
    let mut runs = Vec::new();
    for (at, Part { entries, ticks, .. }) in parts.iter().enumerate() {
        let ends = ticks.iter().skip(1).map(|(_, start)| *start).chain([entries.len() as u32]);
        let ticks = ticks.iter().zip(ends);
        runs.extend(ticks.map(|((tick, start), end)| (*tick, at, *start as usize..end as usize)));
    }
    runs.sort_by_key(|(tick, at, _)| (*tick, *at));
    runs.into_iter().flat_map(|(_, at, run)| &parts[at].entries[run]).copied().collect()
}

/// Objects that are traced one after the other: the finest step in which regions are put in order.
const TICK: u64 = 256;

/// Pages within this distance are reached without a jump: objects that are read together need not lie in one page to
/// be resident together.
const NEAR_PAGES: u32 = 2;

/// At most this many objects are on their way through the tracer.
pub const PLACES_MAX: usize = 24;

/// A region has one place per this many pages.
const PLACE_PAGES: usize = 16;

/// A region a quarter of whose pages could be spared counts as much out of order as one with a jump for each page.
const SPARED_PAGE_JUMPS: u64 = 4;

/// From this size on copying an object takes longer, a good part of a millisecond, than a thread should wait for
/// without need.
pub const LARGE_BYTES: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_come_out_in_the_order_of_ticks_once() {
        let mut order = TraceOrder::new(3, 1 << 20, false);
        let tick = TICK as u32;
        for i in 0..4 * tick {
            // The first tick is in region 2, the third one in 1; the others alternate between both.
            let region = [2, 1 + i % 2, 1, 1 + i % 2][(i / tick) as usize];
            order.note(region as usize, EntryIndex(i), 0, 16, false);
        }
        order.note(0, EntryIndex(9999), 0, 16, false);
        let alternating =
            |at: u32| (0..2).flat_map(move |odd| (at..at + tick).skip(odd).step_by(2));
        let expected = (0..tick).chain(alternating(tick)).chain(2 * tick..3 * tick);
        let expected: Vec<u32> = expected.chain(alternating(3 * tick)).collect();
        let taken: Vec<u32> = order.take([1, 2].into_iter()).iter().map(|entry| entry.0).collect();
        assert_eq!(taken, expected);
        assert_eq!(order.take([1, 2, 0].into_iter()), [EntryIndex(9999)]);
    }

    #[test]
    fn what_was_touched_comes_first_of_all_regions() {
        let mut order = TraceOrder::new(2, 1 << 20, true);
        let tick = TICK as u32;
        let is_touched = |i: u32| i.is_multiple_of(3);
        // The second region is met first.
        for i in 0..2 * tick {
            order.note(1 - (i / tick) as usize, EntryIndex(i), 0, 16, is_touched(i));
        }
        let expected = (0..2 * tick)
            .filter(|i| is_touched(*i))
            .chain((0..2 * tick).filter(|i| !is_touched(*i)));
        let taken: Vec<u32> = order.take([0, 1].into_iter()).iter().map(|entry| entry.0).collect();
        assert_eq!(taken, expected.collect::<Vec<_>>());
    }

    #[test]
    fn jumps_are_counted_within_a_region() {
        let mut order = TraceOrder::new(2, 1 << 20, true);
        for (region, page) in [(0, 2), (1, 40), (0, 4), (1, 42), (0, 2), (0, 7), (1, 39), (0, 7)] {
            order.note(region, EntryIndex(1), page * PAGE_BYTES, 16, false);
        }
        assert_eq!([order.jumps(0), order.jumps(1)], [1, 1]);
        assert_eq!(TraceOrder::new(1, 1 << 20, true).jumps(0), 0, "no object was visited");
    }

    #[test]
    fn who_goes_on_at_several_places_in_turn_does_not_jump() {
        let jumps = |count: usize, step: usize| {
            let mut order = TraceOrder::new(1, 1 << 20, false);
            for i in 0..16 * count {
                let page = i % count * 256 / count + i / count * step;
                order.note(0, EntryIndex(1), page % 256 * PAGE_BYTES, 16, false);
            }
            order.jumps(0)
        };
        // As many as count in a region of a MB; the first is at the start, where tracing begins.
        assert_eq!([jumps(1, 1), jumps(16, 1)], [0, 15]);
        assert!(jumps(17, 1) > 16 * 15 && jumps(1, 37) > 10, "{} {}", jumps(17, 1), jumps(1, 37));
    }

    #[test]
    fn jumps_do_not_count_where_a_large_object_lies() {
        let mut order = TraceOrder::new(2, 1 << 20, false);
        for (region, bytes) in [(0, LARGE_BYTES - 8), (1, LARGE_BYTES)] {
            order.note(region, EntryIndex(1), 40 * PAGE_BYTES, bytes, false);
            order.note(region, EntryIndex(2), 0, 16, false);
        }
        assert_eq!([order.jumps(0), order.jumps(1)], [1, 0]);
    }

    #[test]
    fn touched_objects_jump_among_themselves_and_are_best_in_few_pages() {
        let mut order = TraceOrder::new(2, 1 << 20, true);
        for i in 0..10 {
            order.note(0, EntryIndex(1), i * 16, 16, true);
            order.note(0, EntryIndex(2), (5 + i) * PAGE_BYTES, 16, false);
        }
        // Only to the first of the others.
        assert_eq!(order.jumps(0), 1);
        for page in 0..10 {
            order.note(1, EntryIndex(1), page * PAGE_BYTES, PAGE_BYTES / 4, true);
        }
        // Ten pages, and three would do.
        assert_eq!(order.jumps(1), 7 * SPARED_PAGE_JUMPS);
        order.note(1, EntryIndex(1), 10 * PAGE_BYTES, 2 * PAGE_BYTES, true);
        assert_eq!(order.jumps(1), 7 * SPARED_PAGE_JUMPS, "a large one fills its pages");
    }
}
