//! How large eden is, and when objects are old.

use crate::options::MakoOptions;
use std::time::Duration;

/// The decisions from pause to pause. Only touched in pauses.
///
/// Pauses should meet a target, so eden follows their lengths. That has two stable points where what lives at a time
/// takes longer to copy than the target: a small eden in which nearly everything still lives, and a large one of which
/// only a part does. The small one has pauses as wished and the program hardly runs. So where minor collections take
/// more than their share of the time, eden grows beyond the target for a while, and stays large if collecting a byte of
/// it has become cheaper by that.
pub struct Policy {
    /// Bytes that eden would like to have.
    wish: f64,
    /// The most bytes that eden may have, so that it stays in local memory.
    most: usize,
    region_bytes: usize,
    target: Duration,
    /// The most that minor collections should take of the time.
    share_max: f64,
    /// What they have taken of late.
    share: f64,
    /// Seconds for each byte of eden of late; 0: not known.
    cost: f64,
    growth: Growth,
    /// Collections before eden may grow beyond the target again; doubled each time that it did not help.
    patience: u32,
    age_max: u32,
    pub tenuring_age: u32,
}

/// Whether eden is larger than the target allows.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Growth {
    /// No. Collections before it may become so.
    Within { wait: u32 },
    /// It grows, from this size and cost for each byte.
    Trying { bytes: f64, cost: f64 },
    /// It pays.
    Beyond,
}

/// A minor collection that was asked for since eden was full.
pub struct Collected<'a> {
    pub took: Duration,
    /// Since the one before ended, this one included.
    pub since_last: Duration,
    pub eden_bytes: usize,
    /// Bytes of survivors by age.
    pub ages: &'a [usize],
    /// Bytes of the others that live.
    pub promoted_bytes: usize,
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
            share_max: options.minor_time_percent as f64 / 100.0,
            share: 0.0,
            cost: 0.0,
            growth: Growth::Within { wait: PATIENCE_MIN },
            patience: PATIENCE_MIN,
            age_max,
            tenuring_age: age_max,
        }
    }

    pub fn learn(&mut self, last: &Collected) {
        let took = last.took.as_secs_f64().max(1e-6);
        let share = took / last.since_last.as_secs_f64().max(took);
        self.share += (share - self.share) / 4.0;
        let cost = took / last.eden_bytes.max(1) as f64;
        self.cost = if self.cost == 0.0 { cost } else { self.cost + (cost - self.cost) / 4.0 };
        self.grow(took);
        self.wish = self.wish.clamp(EDEN_MIN as f64, self.most as f64);
        self.tenuring_age = self.age_that_fits(last);
    }

    fn grow(&mut self, took: f64) {
        // Half way at most, since one pause says little.
        let target = self.target.as_secs_f64();
        let within = (target / took).clamp(0.5, 1.5);
        let beyond = (target * BEYOND_MAX / took).clamp(0.5, 1.5);
        match self.growth {
            Growth::Within { wait: 0 } if self.share > self.share_max && within < 1.5 => {
                self.growth = Growth::Trying { bytes: self.wish, cost: self.cost };
                self.cost = 0.0;
                self.wish *= beyond;
            }
            Growth::Within { wait } => {
                self.growth = Growth::Within { wait: wait.saturating_sub(1) };
                self.wish *= within;
            }
            Growth::Trying { cost, .. } if self.cost < cost * CHEAPER => {
                self.patience = PATIENCE_MIN;
                self.growth = Growth::Beyond;
            }
            Growth::Trying { .. } if beyond > 1.0 && self.wish < self.most as f64 => {
                // The next one is that of one size, not an average of all on the way.
                self.cost = 0.0;
                self.wish *= beyond;
            }
            Growth::Trying { bytes, .. } => {
                self.patience = (2 * self.patience).min(PATIENCE_MAX);
                self.growth = Growth::Within { wait: self.patience };
                self.wish = bytes;
            }
            Growth::Beyond if within >= 1.0 => self.growth = Growth::Within { wait: PATIENCE_MIN },
            Growth::Beyond if self.share > self.share_max || beyond < 1.0 => self.wish *= beyond,
            Growth::Beyond if self.share < self.share_max / 2.0 => self.wish *= within.max(0.9),
            Growth::Beyond => (),
        }
    }

    /// The highest age at which survivors fill at most their part of eden; 0 if all should be promoted.
    fn age_that_fits(&self, last: &Collected) -> u32 {
        let lives = last.ages.iter().sum::<usize>() + last.promoted_bytes;
        if lives * 100 > last.eden_bytes * DENSE_PERCENT {
            // Most of it would be copied twice for little garbage.
            return 0;
        }
        let room = last.eden_bytes / SURVIVOR_SHARE;
        let mut sum = 0;
        let is_over = |bytes: &usize| {
            sum += bytes;
            sum > room
        };
        let age = last.ages.iter().position(is_over).unwrap_or(last.ages.len());
        (age as u32).clamp(1, self.age_max.max(1))
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

/// Pauses may take this many times the target where eden grows beyond it.
const BEYOND_MAX: f64 = 10.0;
/// A larger eden pays if collecting a byte takes less than this part of what it took.
const CHEAPER: f64 = 0.7;
const PATIENCE_MIN: u32 = 16;
const PATIENCE_MAX: u32 = 1024;
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
        let collected = |took, eden_bytes, ages, promoted_bytes| Collected {
            took: Duration::from_millis(took),
            since_last: Duration::from_secs(1),
            eden_bytes,
            ages,
            promoted_bytes,
        };
        (0..10).for_each(|_| policy.learn(&collected(1, 25 << 20, &[0; 16], 1 << 20)));
        assert_eq!((policy.eden(1000, 0), policy.tenuring_age), (100, 15));
        let ages = [0, 1 << 22, 1 << 24, 0];
        (0..20).for_each(|_| policy.learn(&collected(40, 100 << 20, &ages, 0)));
        assert_eq!((policy.eden(1000, 0), policy.tenuring_age), (1, 2));
        policy.learn(&collected(40, 1 << 20, &[0; 16], 1 << 19));
        assert_eq!(policy.tenuring_age, 0);
    }

    /// The lengths of 400 pauses in milliseconds, if a pause takes `pause` of eden's bytes, and a program allocates 1
    /// GB a second; and eden at the end.
    fn run(pause: impl Fn(f64) -> f64) -> (Vec<f64>, f64) {
        let options = crate::options::HeapOptions::default().mako;
        let mut policy = Policy::new(&options, 15, 1 << 30, 1 << 20);
        let pauses = (0..400).map(|_| {
            let (eden, took) = (policy.wish, pause(policy.wish));
            policy.learn(&Collected {
                took: Duration::from_secs_f64(took),
                since_last: Duration::from_secs_f64(took + eden / 1e9),
                eden_bytes: eden as usize,
                ages: &[],
                promoted_bytes: 0,
            });
            took * 1e3
        });
        (pauses.collect(), policy.wish)
    }

    #[test]
    fn eden_grows_beyond_the_target_where_that_saves_time() {
        // 8 MB live at any time, and each MB takes 2 ms to copy.
        let (pauses, eden) = run(|eden| 2e-9 * eden.min(8e6) + 1e-4);
        assert!(eden > 60e6, "{eden}");
        assert!(pauses[100..].iter().all(|ms| (15.0..20.0).contains(ms)), "{pauses:?}");
        // All of eden lives, whatever its size: most pauses keep to the target.
        let (mut pauses, eden) = run(|eden| 2e-9 * eden + 1e-4);
        assert!(eden < 2e6, "{eden}");
        pauses.sort_by(f64::total_cmp);
        assert!(pauses[360] < 4.0 && pauses[399] < 31.0, "{pauses:?}");
        // Little lives: the share is small at the target.
        let (pauses, _) = run(|eden| 2e-11 * eden + 1e-4);
        assert!(pauses.iter().all(|ms| *ms < 4.5), "{pauses:?}");
    }
}
