//! How large eden is, and when objects are old.

use crate::options::MakoOptions;
use std::time::Duration;

/// The decisions from pause to pause. Only touched in pauses.
pub struct Policy {
    /// Bytes that eden would like to have: pauses should meet the target.
    wish: f64,
    /// The most bytes that eden may have, so that it stays in local memory.
    most: usize,
    region_bytes: usize,
    target: Duration,
    age_max: u32,
    pub tenuring_age: u32,
}

impl Policy {
    /// Eden takes up to `most` bytes.
    pub fn new(options: &MakoOptions, age_max: u32, most: usize, region_bytes: usize) -> Policy {
        let most = most.max(EDEN_MIN);
        Policy {
            wish: (4 * EDEN_MIN).min(most) as f64,
            most,
            region_bytes,
            target: options.minor_pause_target,
            age_max,
            tenuring_age: age_max,
        }
    }

    /// Learns from a minor collection that was asked for since eden was full, `eden_bytes`. `ages` are the bytes of
    /// survivors, `promoted_bytes` those of the others that live.
    pub fn learn(
        &mut self,
        took: Duration,
        eden_bytes: usize,
        ages: &[usize],
        promoted_bytes: usize,
    ) {
        let ratio = self.target.as_secs_f64() / took.as_secs_f64().max(1e-6);
        // Half way at most, since one pause says little.
        self.wish = (self.wish * ratio.clamp(0.5, 1.5)).clamp(EDEN_MIN as f64, self.most as f64);
        let lives = ages.iter().sum::<usize>() + promoted_bytes;
        if lives * 100 > eden_bytes * DENSE_PERCENT {
            // Most of it would be copied twice for little garbage.
            self.tenuring_age = 0;
            return;
        }
        let room = eden_bytes / SURVIVOR_SHARE;
        let mut sum = 0;
        let is_over = |bytes: &usize| {
            sum += bytes;
            sum > room
        };
        let age = ages.iter().position(is_over).unwrap_or(ages.len());
        self.tenuring_age = (age as u32).clamp(1, self.age_max.max(1));
    }

    /// Regions for eden, beside `survivors` regions of survivors, where `free` others may be taken.
    pub fn eden(&self, free: usize, survivors: usize) -> usize {
        // All of them must find room in an old cycle.
        let most = (free + survivors).saturating_sub(room_for(0)) * 2 / 5;
        (self.wish as usize).div_ceil(self.region_bytes).min(most.saturating_sub(survivors))
    }

    /// Bytes for eden, which has this many regions.
    pub fn eden_bytes(&self, regions: usize) -> usize {
        (self.wish as usize).min(regions * self.region_bytes)
    }
}

/// Each pause has a cost that does not depend on eden.
const EDEN_MIN: usize = 1 << 20;

/// Regions that suffice to promote the objects of `young` regions to: ends of regions stay free.
pub fn room_for(young: usize) -> usize {
    young + young.div_ceil(2) + 1
}

/// Survivors should take at most this part of eden.
const SURVIVOR_SHARE: usize = 8;
/// With more of the young bytes alive, objects are promoted at once.
const DENSE_PERCENT: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eden_follows_the_pauses_and_what_is_free() {
        let mut options = crate::options::HeapOptions::default().mako;
        options.minor_pause_target = Duration::from_millis(4);
        let mut policy = Policy::new(&options, 15, 100 << 20, 1 << 20);
        let edens = [1000, 11, 10, 2, 0].map(|free| policy.eden(free, 0));
        assert_eq!((edens, policy.eden(10, 1)), ([4, 4, 3, 0, 0], 3));
        (0..200).for_each(|free| {
            let eden = policy.eden(free, 0);
            assert!(eden == 0 || eden + room_for(eden) <= free, "{eden} of {free}");
        });
        (0..10).for_each(|_| policy.learn(Duration::from_millis(1), 25 << 20, &[0; 16], 1 << 20));
        assert_eq!((policy.eden(1000, 0), policy.tenuring_age), (100, 15));
        let ages = [0, 1 << 22, 1 << 24, 0];
        (0..20).for_each(|_| policy.learn(Duration::from_millis(40), 100 << 20, &ages, 0));
        assert_eq!((policy.eden(1000, 0), policy.tenuring_age), (1, 2));
        policy.learn(Duration::from_millis(40), 1 << 20, &[0; 16], 1 << 19);
        assert_eq!(policy.tenuring_age, 0);
    }
}
