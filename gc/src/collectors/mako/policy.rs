//! When a cycle begins, and which regions it evacuates together.

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
pub fn is_time(regions: usize, free: usize, taken: usize, taken_meanwhile: usize) -> bool {
    let least = (taken_meanwhile * 3 / 2).clamp(regions / 4, regions / 2);
    free < least && taken * 16 >= regions
}

/// Puts regions of one server into groups, each of which fits one region. The regions with the
/// least alive come first, so the first groups gain the most.
///
/// A group of several regions frees all of them but one. A group of one frees the part of a region
/// behind what lives; it is worth the work when that is at least a quarter.
pub fn group(mut candidates: Vec<Candidate>, region_bytes: usize) -> Vec<Vec<Candidate>> {
    candidates.sort_by_key(|c| (c.live_bytes, c.region));
    // What the VM moves and what the agent moves do not share a page.
    let capacity = region_bytes - PAGE_BYTES;
    let mut groups: Vec<Vec<Candidate>> = Vec::new();
    let mut room = 0;
    for candidate in candidates.into_iter().filter(|c| c.live_bytes <= capacity) {
        match groups.last_mut() {
            Some(group) if candidate.live_bytes <= room && group.len() < GROUP_MAX => {
                room -= candidate.live_bytes;
                group.push(candidate);
            }
            _ => {
                room = capacity - candidate.live_bytes;
                groups.push(vec![candidate]);
            }
        }
    }
    groups.retain(|g| g.len() > 1 || g[0].live_bytes <= region_bytes / 4 * 3);
    groups
}

/// Whether a region has enough garbage to be a candidate.
pub fn is_sparse(live_bytes: usize, region_bytes: usize) -> bool {
    live_bytes <= region_bytes / 4 * 3
}

/// Regions of one group: bounds the number of tablets that are taken from mutators at a time.
const GROUP_MAX: usize = 64;

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
        let groups = group(kib(&[250, 10, 100, 120, 200, 30]), 256 << 10);
        let sizes =
            |g: &Vec<Candidate>| -> Vec<usize> { g.iter().map(|c| c.live_bytes >> 10).collect() };
        let sizes: Vec<_> = groups.iter().map(sizes).collect();
        assert_eq!(sizes, [vec![10, 30, 100], vec![120]]);
    }

    #[test]
    fn cycles_begin_when_memory_runs_low_and_not_one_after_the_other() {
        assert!(!is_time(64, 16, 40, 0));
        assert!(is_time(64, 15, 40, 0));
        assert!(!is_time(64, 15, 3, 0));
        assert!(is_time(64, 23, 40, 16));
        assert!(!is_time(64, 33, 40, 60));
    }
}
