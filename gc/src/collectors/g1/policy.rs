//! Decisions: how large the young generation is, when objects are old, when marking begins, which old regions move.
//!
//! Pauses are predicted by one formula, with a cost for each byte that is copied, each card that is scanned and the
//! pause as such; the ratio of actual pauses to it is learned as one factor. So the same formula serves on a slow
//! machine, with more workers, and over far memory.

use super::evacuation::{AGES, Outcome};
use super::occupancy::Occupancy;
use super::tables::{Kind, Tables};
use crate::object::geometry::RegionId;
use crate::options::G1Options;
use std::sync::Arc;
use std::time::{Duration, Instant};
use swap::{PAGE_BYTES, Pager};

/// The estimates and decisions from pause to pause. Only touched in pauses.
pub struct Policy {
    options: G1Options,
    /// Between two markings old regions grow by at least this percentage of the heap.
    growth_percent: usize,
    region_bytes: usize,
    regions: usize,
    /// The duration of pauses, relative to the formula.
    slowness: Average,
    /// Bytes copied of each young byte.
    survival: Average,
    /// Cards scanned in a young pause.
    cards: Average,
    /// Old regions that are sparse enough to be moved, the best last.
    candidates: Vec<RegionId>,
    /// As many at least move in each mixed pause.
    candidates_per_pause: usize,
    occupancy: Occupancy,
    /// Old and humongous regions when the last marking had ended.
    old_after_marking: usize,
    pub tenuring_age: u32,
    /// Regions that eden may take until the next pause.
    pub eden_regions: usize,
}

/// A region's part in choosing candidates.
#[derive(Clone, Copy, Debug)]
pub struct Judged {
    pub region: RegionId,
    pub live_bytes: usize,
}

impl Policy {
    pub fn new(tables: &Tables, options: G1Options, growth_percent: usize) -> Policy {
        let geometry = tables.geometry();
        let mut policy = Policy {
            options,
            growth_percent,
            region_bytes: geometry.region_bytes(),
            regions: geometry.regions,
            slowness: Average::of(2.0),
            survival: Average::of(0.5),
            cards: Average::of(0.0),
            candidates: Vec::new(),
            candidates_per_pause: 0,
            occupancy: Occupancy::new(options, geometry.heap_bytes()),
            old_after_marking: 0,
            tenuring_age: options.tenuring_age_max,
            eden_regions: 1,
        };
        policy.size_eden(tables);
        policy
    }

    /// Learns from a young or mixed pause, in which `young_bytes` young bytes were collected.
    pub fn learn(&mut self, outcome: &Outcome, young_bytes: usize, took: Duration) {
        let us = took.as_secs_f64() * 1e6;
        self.slowness
            .add(us / formula_us(outcome.copied_bytes as f64, outcome.cards_scanned as f64));
        self.cards.add(outcome.cards_scanned as f64);
        if young_bytes > 0 {
            self.survival.add((outcome.copied_bytes as f64 / young_bytes as f64).min(1.0));
        }
        self.tenuring_age = self.age_that_fits(&outcome.ages);
    }

    /// A pause ends.
    pub fn note_end(&mut self, tables: &Tables) {
        let old = self.old_regions(tables) * self.region_bytes;
        self.occupancy.note_pause(Instant::now(), old);
    }

    /// A marking has ended.
    pub fn note_marking(&mut self, time: Duration) {
        self.occupancy.note_marking(time);
    }

    /// Sizes eden for the time until the next pause.
    pub fn size_eden(&mut self, tables: &Tables) {
        let free = tables.core.regions.free_count();
        let used = self.regions - free;
        let capacity = self.capacity_regions(tables);
        let share = |percent: usize| capacity * percent / 100;
        let reserve = (self.regions * self.options.reserve_percent).div_ceil(100);
        let most = share(self.options.young_percent_max)
            .min(capacity.saturating_sub(used))
            .min(free.saturating_sub(reserve))
            .min(self.local_regions(tables))
            .max(1);
        let least = share(self.options.young_percent_min).clamp(1, most);
        let target_us = self.options.pause_target_ms as f64 * 1e3;
        let fits = |n: &usize| self.young_us(n * self.region_bytes) <= target_us;
        let wish = (least..=most).rev().find(fits).unwrap_or(least);
        self.eden_regions = wish.min(free);
    }

    /// Regions that eden may take of local memory: it should not be evicted to memory servers.
    fn local_regions(&self, tables: &Tables) -> usize {
        let percent = self.options.local_eden_percent;
        let pager = tables.core.space.pager().filter(|_| percent > 0);
        // Without far memory, or with room for all of it, there is no such limit.
        let is_far = |pager: &&Arc<Pager>| pager.budget_pages() * PAGE_BYTES < pager.far_bytes();
        let budget = pager.filter(is_far).map(|pager| pager.budget_pages() * PAGE_BYTES);
        budget.map_or(self.regions, |bytes| bytes * percent / 100 / self.region_bytes)
    }

    /// Regions that the heap may have now: it grows with the live bytes, as long as nothing forces it.
    pub fn capacity_regions(&self, tables: &Tables) -> usize {
        let options = &tables.core.options;
        let used = tables.core.regions.used_bytes() as u64;
        let grown = (used * u64::from(options.growth_percent) / 100) as usize;
        let bytes = grown.max(options.initial_bytes).max(CAPACITY_BYTES_MIN);
        bytes.div_ceil(self.region_bytes).min(self.regions)
    }

    /// Whether old and humongous regions take enough of the heap for a marking.
    pub fn is_time_to_mark(&self, tables: &Tables) -> bool {
        if !self.candidates.is_empty() {
            return false;
        }
        let (old, bytes) = (self.old_regions(tables), self.region_bytes);
        let young = self.eden_regions + self.eden_regions / SURVIVOR_RATIO;
        let capacity = self.capacity_regions(tables) * bytes;
        old * bytes > self.occupancy.threshold_bytes(capacity, young * bytes)
            && old * 100 > self.old_after_marking * 100 + self.regions * self.growth_percent
    }

    /// Regions that are neither free nor young.
    fn old_regions(&self, tables: &Tables) -> usize {
        let young = tables.in_use().filter(|(_, kind)| kind.is_young()).count();
        self.regions - tables.core.regions.free_count() - young
    }

    /// A marking has ended: which old regions will be moved.
    pub fn set_candidates(&mut self, tables: &Tables, mut judged: Vec<Judged>) {
        self.old_after_marking = self.old_regions(tables);
        let live_max = self.region_bytes / 100 * self.options.live_percent_max;
        judged.retain(|j| j.live_bytes <= live_max);
        judged.sort_by_key(|j| (j.live_bytes, j.region));
        let mut gain: usize = judged.iter().map(|j| self.region_bytes - j.live_bytes).sum();
        // The last ones are left alone as long as the memory that they would free is waste that the heap can bear.
        let waste = self.regions * self.region_bytes / 100 * self.options.waste_percent;
        if gain < waste {
            judged.clear();
        }
        let mut spared = 0;
        while let Some(last) = judged.last() {
            let gives = self.region_bytes - last.live_bytes;
            if spared + gives > waste {
                break;
            }
            (spared, gain) = (spared + gives, gain - gives);
            judged.pop();
        }
        self.candidates = judged.into_iter().rev().map(|j| j.region).collect();
        self.candidates_per_pause =
            self.candidates.len().div_ceil(self.options.mixed_pauses.max(1));
    }

    /// A full collection has moved everything.
    pub fn forget(&mut self, tables: &Tables) {
        self.candidates.clear();
        self.old_after_marking = self.old_regions(tables);
    }

    /// The old regions that move in the pause that begins, in addition to `young_bytes` young bytes.
    pub fn choose_old(&mut self, tables: &Tables, young_bytes: usize) -> Vec<RegionId> {
        let most = (self.regions * self.options.old_percent_max).div_ceil(100);
        // They must find room.
        let mut room = tables.core.regions.free_count() * self.region_bytes / 2;
        let target_us = self.options.pause_target_ms as f64 * 1e3;
        let (mut us, mut chosen) = (self.young_us(young_bytes), Vec::new());
        while chosen.len() < most
            && let Some(region) = self.candidates.pop()
        {
            let described = tables.core.regions.region(region);
            let is_usable = described.usage() == crate::memory::region::RegionUse::Objects
                && tables.kind(region) == Kind::Old
                && !described.is_pinned();
            if !is_usable {
                continue;
            }
            let live = described.live_bytes();
            us += self.old_us(tables, region);
            if (chosen.len() >= self.candidates_per_pause && us > target_us) || live > room {
                self.candidates.push(region);
                break;
            }
            room -= live;
            chosen.push(region);
        }
        chosen
    }

    fn young_us(&self, young_bytes: usize) -> f64 {
        let copied = young_bytes as f64 * self.survival.value();
        self.slowness.value() * formula_us(copied, self.cards.value())
    }

    fn old_us(&self, tables: &Tables, region: RegionId) -> f64 {
        let granules = tables.remembered.granules(region);
        let cards = granules * tables.remembered.granule_bytes() / super::cards::CARD_BYTES;
        let live = tables.core.regions.region(region).live_bytes();
        let us = formula_us(live as f64, cards as f64) - formula_us(0.0, 0.0);
        self.slowness.value() * us
    }

    /// The highest age at which survivors fill at most half of the room meant for them.
    fn age_that_fits(&self, ages: &[usize; AGES]) -> u32 {
        let room = self.eden_regions * self.region_bytes / SURVIVOR_RATIO / 2;
        let mut sum = 0;
        let full = (1..AGES).find(|age| {
            sum += ages[*age];
            sum > room
        });
        let age = full.unwrap_or(AGES - 1) as u32;
        age.min(self.options.tenuring_age_max)
    }
}

fn formula_us(copied_bytes: f64, cards: f64) -> f64 {
    300.0 + copied_bytes / 500.0 + cards * 0.3
}

/// Gives the last value a weight of a third, or of two if it was worse than expected: the target is a limit.
pub struct Average(f64);

impl Average {
    pub fn of(value: f64) -> Average {
        Average(value)
    }

    pub fn add(&mut self, value: f64) {
        let weight = if value > self.0 { 2.0 } else { 1.0 };
        self.0 += (value - self.0) * weight / 3.0;
    }

    pub fn value(&self) -> f64 {
        self.0
    }
}

/// Room for survivors, a part of eden.
const SURVIVOR_RATIO: usize = 8;
/// Collecting a smaller heap does not pay.
const CAPACITY_BYTES_MIN: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_worse_than_expected_counts_more() {
        let mut average = Average::of(1.0);
        average.add(4.0);
        assert_eq!(average.value(), 3.0);
        average.add(0.0);
        assert_eq!(average.value(), 2.0);
    }
}
