//! How large eden is, and when objects are old.

use crate::options::MakoOptions;
use std::time::Duration;

/// The decisions from pause to pause. Only touched in pauses.
///
/// Pauses should meet a target, so eden follows their lengths. That has two stable points where what lives at a time
/// takes longer to copy than the target: a small eden in which nearly everything still lives, and a large one of which
/// only a part does. The small one has pauses as wished and the program hardly runs. So where minor collections take
/// more than their share of the time, eden grows beyond the target for a while, and stays large if less of it lives by
/// that. Bytes decide, not times: these are as long as other processes let them be.
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
    /// The part of eden that has lived of late; `None`: not known.
    lives: Option<f64>,
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
    /// It grows, from this size, of which this part lived.
    Trying { bytes: f64, lived: f64 },
    /// It pays: of an eden within the target this part lived.
    Beyond { lived: f64 },
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

impl Collected<'_> {
    /// Bytes that live.
    fn lives(&self) -> usize {
        self.ages.iter().sum::<usize>() + self.promoted_bytes
    }
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
            lives: None,
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
        let lives = last.lives() as f64 / last.eden_bytes.max(1) as f64;
        let lives = self.lives.map_or(lives, |before| before + (lives - before) / 4.0);
        self.lives = Some(lives);
        self.grow(took, lives);
        self.wish = self.wish.clamp(EDEN_MIN as f64, self.most as f64);
        self.tenuring_age = self.age_that_fits(last);
    }

    /// The last pause took `took` seconds; of late the part `lives` of eden has lived.
    fn grow(&mut self, took: f64, lives: f64) {
        // Half way at most, since one pause says little.
        let target = self.target.as_secs_f64();
        let within = (target / took).clamp(0.5, 1.5);
        let beyond = (target * BEYOND_MAX / took).clamp(0.5, 1.5);
        match self.growth {
            Growth::Within { wait: 0 } if self.share > self.share_max && within < 1.5 => {
                self.growth = Growth::Trying { bytes: self.wish, lived: lives };
                self.lives = None;
                self.wish *= beyond;
            }
            Growth::Within { wait } => {
                self.growth = Growth::Within { wait: wait.saturating_sub(1) };
                self.wish *= within;
            }
            Growth::Trying { lived, .. } if lives < lived * PAYS => {
                self.patience = PATIENCE_MIN;
                self.growth = Growth::Beyond { lived };
            }
            Growth::Trying { .. } if beyond > 1.0 && self.wish < self.most as f64 => {
                // The next one is that of one size, not an average of all on the way.
                self.lives = None;
                self.wish *= beyond;
            }
            Growth::Trying { bytes, .. } => {
                self.patience = (2 * self.patience).min(PATIENCE_MAX);
                self.growth = Growth::Within { wait: self.patience };
                self.wish = bytes;
            }
            Growth::Beyond { lived } if within >= 1.0 || lives >= lived * PAYS => {
                self.growth = Growth::Within { wait: PATIENCE_MIN };
            }
            Growth::Beyond { .. } if self.share > self.share_max || beyond < 1.0 => {
                self.wish *= beyond;
            }
            Growth::Beyond { .. } if self.share < self.share_max / 2.0 => {
                self.wish *= within.max(0.9);
            }
            Growth::Beyond { .. } => (),
        }
    }

    /// The highest age at which survivors fill at most their part of eden; 0 if all should be promoted.
    fn age_that_fits(&self, last: &Collected) -> u32 {
        if last.lives() * 100 > last.eden_bytes * DENSE_PERCENT {
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
/// A larger eden pays if less of it lives than this part of what lived of the small one.
const PAYS: f64 = 0.7;
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

    /// The lengths of 400 pauses in milliseconds, and eden at the end, if `lives` of eden's bytes live in the `n`-th
    /// pause, each MB of which takes `ms(n)` milliseconds, and a program allocates 1 GB a second.
    fn run(lives: impl Fn(f64, usize) -> f64, ms: impl Fn(usize) -> f64) -> (Vec<f64>, f64) {
        let options = crate::options::HeapOptions::default().mako;
        let mut policy = Policy::new(&options, 15, 1 << 30, 1 << 20);
        let pauses = (0..400).map(|n| {
            let (eden, lives) = (policy.wish, lives(policy.wish, n));
            let took = lives * ms(n) * 1e-9 + 1e-4;
            policy.learn(&Collected {
                took: Duration::from_secs_f64(took),
                since_last: Duration::from_secs_f64(took + eden / 1e9),
                eden_bytes: eden as usize,
                ages: &[],
                promoted_bytes: lives as usize,
            });
            took * 1e3
        });
        (pauses.collect(), policy.wish)
    }

    #[test]
    fn eden_grows_beyond_the_target_where_that_saves_time() {
        let steady = |_| 2.0;
        // 8 MB live at any time.
        let (pauses, eden) = run(|eden, _| eden.min(8e6), steady);
        assert!(eden > 60e6, "{eden}");
        assert!(pauses[100..].iter().all(|ms| (15.0..20.0).contains(ms)), "{pauses:?}");
        // All of eden lives, whatever its size: most pauses keep to the target.
        let (mut pauses, eden) = run(|eden, _| eden, steady);
        assert!(eden < 2e6, "{eden}");
        pauses.sort_by(f64::total_cmp);
        assert!(pauses[360] < 4.0 && pauses[399] < 31.0, "{pauses:?}");
        // Little lives: the share is small at the target.
        let (pauses, _) = run(|eden, _| eden / 100.0, steady);
        assert!(pauses.iter().all(|ms| *ms < 4.5), "{pauses:?}");
    }

    #[test]
    fn eden_is_small_again_when_all_of_it_lives() {
        let (pauses, eden) = run(|eden, n| if n < 200 { eden.min(8e6) } else { eden }, |_| 2.0);
        assert!(pauses[150] > 15.0 && eden < 2e6, "{eden}: {pauses:?}");
        // The attempts to grow are rare.
        let long = pauses[220..].iter().filter(|ms| **ms > 4.0).count();
        assert!(long < 30, "{long}: {pauses:?}");
    }

    #[test]
    fn other_processes_do_not_make_a_larger_eden_look_better() {
        // When eden is small, every pause takes five times as long as later.
        let (pauses, eden) = run(|eden, _| eden, |n| if n < 21 { 10.0 } else { 2.0 });
        assert!(eden < 2e6, "{eden}");
        let long = pauses[50..].iter().filter(|ms| **ms > 4.0).count();
        assert!(long < 30, "{long}: {pauses:?}");
    }
}
