//! In which order tracing came by the objects of each region.
//!
//! Tracing goes depth first, each object's slots in their order: what it meets one after the other is what a program
//! that walks a list or an array's elements meets. The order in which objects were allocated is another one as
//! soon as a program sorts them into buckets: then each page has some of every bucket, and is brought
//! for each of them. So evacuation moves objects in the order of tracing (not of the paper).
//!
//! How far the objects of a region are from that order is counted too: how often tracing, when it comes back to the
//! region, comes to another place than the one that it left. Whoever chooses regions can tell from that which ones are
//! worth being moved though hardly anything in them is garbage.

use crate::hit::EntryIndex;

/// The objects of one server's regions, 4 bytes for each, and 8 for each [`TICK`] in each region that it met.
pub struct TraceOrder {
    regions: Vec<Region>,
    /// Objects noted so far.
    count: u64,
}

#[derive(Clone, Default)]
struct Region {
    /// Page in which the last one lies.
    page: usize,
    jumps: u64,
    entries: Vec<EntryIndex>,
    /// Ticks in which there are entries, and the first one's place.
    ticks: Vec<(u32, u32)>,
}

impl TraceOrder {
    pub fn new(regions: usize) -> TraceOrder {
        TraceOrder { regions: vec![Region::default(); regions], count: 0 }
    }

    /// The object of `entry`, in this region and page, is the next one.
    #[inline]
    pub fn note(&mut self, region: usize, page: usize, entry: EntryIndex) {
        let tick = (self.count / TICK) as u32;
        self.count += 1;
        let region = &mut self.regions[region];
        region.jumps += u64::from(page.abs_diff(region.page) > NEAR_PAGES);
        region.page = page;
        if region.ticks.last().is_none_or(|(last, _)| *last != tick) {
            region.ticks.push((tick, region.entries.len() as u32));
        }
        region.entries.push(entry);
    }

    /// How often tracing jumped within a region.
    pub fn jumps(&self, region: usize) -> u64 {
        self.regions[region].jumps
    }

    /// Takes out the objects of these regions, in their order: of one tick those of the first region first.
    pub fn take(&mut self, regions: impl Iterator<Item = usize>) -> Vec<EntryIndex> {
        let taken: Vec<Region> = regions.map(|at| std::mem::take(&mut self.regions[at])).collect();
        let mut runs = Vec::new();
        for (region, Region { entries, ticks, .. }) in taken.iter().enumerate() {
            let ends = ticks.iter().skip(1).map(|(_, start)| *start).chain([entries.len() as u32]);
            runs.extend(
                ticks
                    .iter()
                    .zip(ends)
                    .map(|((tick, start), end)| (*tick, region, *start as usize..end as usize)),
            );
        }
        runs.sort_by_key(|(tick, region, _)| (*tick, *region));
        runs.into_iter().flat_map(|(_, region, run)| &taken[region].entries[run]).copied().collect()
    }
}

/// Objects that are traced one after the other: the finest step in which regions are put in order.
const TICK: u64 = 256;

/// Pages so far away are reached without a jump: what is read together need not lie in one page to be here together.
const NEAR_PAGES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_come_out_in_the_order_of_ticks_once() {
        let mut order = TraceOrder::new(3);
        let tick = TICK as u32;
        for i in 0..4 * tick {
            // The first tick is in region 2, the third one in 1; the others alternate between both.
            let region = [2, 1 + i % 2, 1, 1 + i % 2][(i / tick) as usize];
            order.note(region as usize, 0, EntryIndex(i));
        }
        order.note(0, 0, EntryIndex(9999));
        let alternating =
            |at: u32| (0..2).flat_map(move |odd| (at..at + tick).skip(odd).step_by(2));
        let expected = (0..tick).chain(alternating(tick)).chain(2 * tick..3 * tick);
        let expected: Vec<u32> = expected.chain(alternating(3 * tick)).collect();
        let taken: Vec<u32> = order.take([1, 2].into_iter()).iter().map(|entry| entry.0).collect();
        assert_eq!(taken, expected);
        assert_eq!(order.take([1, 2, 0].into_iter()), [EntryIndex(9999)]);
    }

    #[test]
    fn jumps_are_counted_within_a_region() {
        let mut order = TraceOrder::new(2);
        for (region, page) in [(0, 3), (1, 40), (0, 7), (1, 44), (0, 3), (0, 8), (1, 39), (0, 8)] {
            order.note(region, page, EntryIndex(1));
        }
        assert_eq!([order.jumps(0), order.jumps(1)], [1, 2]);
    }
}
