//! When a cycle begins, and which regions it evacuates together.

use super::MakoOptions;
use crate::geometry::RegionId;
use swap::PAGE_BYTES;

/// A region that may be evacuated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub region: RegionId,
    pub live_bytes: usize,
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
    free < least && taken * 16 >= regions
}

/// Puts regions of one server into groups, each of which fits one region. The regions with the
/// least alive come first, so the first groups gain the most. If they are to be copied ahead, several regions fit only
/// if that leaves mutators something for what they move meanwhile.
///
/// A group of several regions frees all of them but one. A group of one frees the part of a region
/// behind what lives; it is worth the work when the region is sparse.
pub fn group(
    options: &MakoOptions,
    mut candidates: Vec<Candidate>,
    region_bytes: usize,
) -> Vec<Vec<Candidate>> {
    candidates.sort_by_key(|c| (c.live_bytes, c.region));
    // What the VM moves and what the agent moves do not share a page.
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
    groups.retain(|g| g.len() > 1 || is_sparse(options, g[0].live_bytes, region_bytes));
    groups
}

/// Whether a region has enough garbage to be a candidate.
pub fn is_sparse(options: &MakoOptions, live_bytes: usize, region_bytes: usize) -> bool {
    live_bytes <= region_bytes * options.live_percent / 100
}

/// What part of a to-region is left to mutators while a group is copied ahead.
const SPARE_SHARE: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_fit_and_gain() {
        let kib = |live: &[usize]| -> Vec<Candidate> {
            let regions = live.iter().enumerate();
            regions
                .map(|(i, l)| Candidate { region: RegionId(i as u32), live_bytes: l << 10 })
                .collect()
        };
        let options = MakoOptions::default();
        let groups = group(&options, kib(&[250, 10, 100, 120, 200, 30]), 256 << 10);
        let sizes =
            |g: &Vec<Candidate>| -> Vec<usize> { g.iter().map(|c| c.live_bytes >> 10).collect() };
        let sizes: Vec<_> = groups.iter().map(sizes).collect();
        assert_eq!(sizes, [vec![10, 30, 100], vec![120]]);
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
