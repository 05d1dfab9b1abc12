//! When a cycle begins, and which regions it evacuates together.

use crate::object::geometry::RegionId;
use crate::options::MakoOptions;
use swap::PAGE_BYTES;

/// A region that may be evacuated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub region: RegionId,
    pub live_bytes: usize,
    /// Its objects lie in the order of tracing, or that does not matter now.
    pub is_ordered: bool,
}

impl Candidate {
    /// Whether the region has enough garbage to justify the work, or is to be put in order.
    pub fn is_worth_moving(&self, options: &MakoOptions, region_bytes: usize) -> bool {
        let percent = match self.is_ordered {
            true => options.live_percent,
            false => options.live_percent.max(options.unordered_live_percent),
        };
        self.live_bytes <= region_bytes * percent / 100
    }
}

/// Whether it is time for a cycle: `taken` regions were taken since the last one, `free` of
/// `regions` are left.
/// `taken_meanwhile` were taken during the last one: as many may be taken during the next, and
/// half as many again.
pub fn is_time(
    options: &MakoOptions,
    regions: usize,
    free: usize,
    taken: usize,
    taken_meanwhile: usize,
) -> bool {
    let usual = regions * options.min_free_percent / 100;
    let least = (taken_meanwhile * 3 / 2).clamp(usual, usual.max(regions / 2));
    free < least && has_grown(regions, taken)
}

/// Whether so little is free that a cycle should only do work that frees more.
pub fn is_short(regions: usize, free: usize) -> bool {
    free * 8 < regions
}

/// Whether enough was allocated that another cycle finds something to do.
fn has_grown(regions: usize, taken: usize) -> bool {
    taken * 16 >= regions
}

/// Puts regions of one server into groups, each of which fits one region. The regions with the
/// least alive come first, so the first groups gain the most. If they are to be copied ahead, several regions fit only
/// if that leaves mutators something for objects that they move meanwhile.
///
/// A group of several regions frees all of them but one. A group of one frees the part of a region
/// behind the live objects, if any: see [`Candidate::is_worth_moving`].
pub fn group(
    options: &MakoOptions,
    mut candidates: Vec<Candidate>,
    region_bytes: usize,
) -> Vec<Vec<Candidate>> {
    candidates.sort_by_key(|c| (c.live_bytes, c.region));
    // Objects that the VM moves and objects that the agent moves do not share a page.
    let capacity = region_bytes - PAGE_BYTES;
    let spare = if options.copy_ahead { region_bytes / SPARE_SHARE } else { 0 };
    let mut groups: Vec<Vec<Candidate>> = Vec::new();
    let mut room = 0;
    for candidate in candidates.into_iter().filter(|c| c.live_bytes <= capacity) {
        match groups.last_mut() {
            Some(group) if candidate.live_bytes <= room && group.len() < options.group_regions => {
                room -= candidate.live_bytes;
                group.push(candidate);
            }
            _ => {
                room = (capacity - spare).saturating_sub(candidate.live_bytes);
                groups.push(vec![candidate]);
            }
        }
    }
    groups.retain(|g| g.len() > 1 || g[0].is_worth_moving(options, region_bytes));
    groups
}

/// Whether tracing, when it came back to a region, mostly continued where it had left it.
pub fn is_ordered(options: &MakoOptions, jumps: u64, live_bytes: usize) -> bool {
    let pages = live_bytes.div_ceil(PAGE_BYTES) as u64;
    options.jumps_per_page == 0 || jumps <= pages * options.jumps_per_page as u64
}

/// Whether a group is evacuated for the order of its objects alone: that can wait for another cycle.
pub fn is_for_order_only(options: &MakoOptions, group: &[Candidate], region_bytes: usize) -> bool {
    let as_if_ordered = |c: &Candidate| Candidate { is_ordered: true, ..*c };
    matches!(group, [only] if !as_if_ordered(only).is_worth_moving(options, region_bytes))
}

/// The part of a to-region (one in N) that is left to mutators while a group is copied ahead.
const SPARE_SHARE: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_fit_and_gain() {
        let kib = |live: &[usize]| -> Vec<Candidate> {
            let regions = live.iter().enumerate();
            regions
                .map(|(i, l)| {
                    let (region, live_bytes) = (RegionId(i as u32), l << 10);
                    Candidate { region, live_bytes, is_ordered: true }
                })
                .collect()
        };
        let options = MakoOptions::default();
        let groups = group(&options, kib(&[250, 10, 100, 120, 200, 30]), 256 << 10);
        let sizes =
            |g: &Vec<Candidate>| -> Vec<usize> { g.iter().map(|c| c.live_bytes >> 10).collect() };
        let sizes: Vec<_> = groups.iter().map(sizes).collect();
        assert_eq!(sizes, [vec![10, 30, 100], vec![120]]);
        let unordered = |live| Candidate { is_ordered: false, ..kib(&[live])[0] };
        let planned = [unordered(250), unordered(10), unordered(251)].to_vec();
        let groups = group(&options, planned.clone(), 256 << 10);
        let sizes = groups.iter().map(|g| g[0].live_bytes >> 10).collect::<Vec<_>>();
        assert_eq!((groups.len(), sizes), (2, vec![10, 250]));
        let is_for_order = |g: &Vec<Candidate>| is_for_order_only(&options, g, 256 << 10);
        assert_eq!(groups.iter().map(is_for_order).collect::<Vec<_>>(), [false, true]);
        assert!(is_ordered(&options, 4, 3 * 4096 + 1) && !is_ordered(&options, 5, 4 * 4096));
        assert!(is_ordered(&MakoOptions { jumps_per_page: 0, ..options }, 9, 0));
        let alone = MakoOptions { group_regions: 1, live_percent: 40, ..options };
        let groups = group(&alone, kib(&[250, 10, 100, 120, 200, 30]), 256 << 10);
        assert_eq!(groups.iter().map(|g| g.len()).collect::<Vec<_>>(), [1, 1, 1]);
    }

    #[test]
    fn cycles_begin_when_memory_runs_low_and_not_one_after_the_other() {
        let is_time = |min_free_percent, free, taken, taken_meanwhile| {
            let options = MakoOptions { min_free_percent, ..MakoOptions::default() };
            is_time(&options, 64, free, taken, taken_meanwhile)
        };
        assert!(!is_time(25, 16, 40, 0));
        assert!(is_time(25, 15, 40, 0));
        assert!(!is_time(25, 15, 3, 0));
        assert!(is_time(25, 23, 40, 16));
        assert!(!is_time(25, 33, 40, 60));
        assert!(is_time(75, 47, 40, 0) && !is_time(75, 48, 40, 0));
    }
}
