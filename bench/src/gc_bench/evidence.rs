//! Statistical evidence: confidence intervals of medians and of their ratios, and whether a difference is more than
//! chance.
//!
//! Nothing is assumed of the distribution of times, which is skewed and has outliers:
//! * An interval is a percentile bootstrap: the measurements are drawn anew from themselves, with replacement, and the
//!   middle 95 % of the medians are the interval. Draws come from a seed, so a report made again is the same report.
//! * A difference is called significant if two things hold: the two-sided rank test of Mann and Whitney would give such
//!   ranks to equals in fewer than one of 100 comparisons, and the interval of the ratio does not hold 1. The test
//!   alone is exact for few runs, where a bootstrap of medians is too sure of itself; the interval alone says how much.
//! * With fewer than five runs on each side the test cannot reach that level for any measurements; then nothing is
//!   claimed.

use crate::harness::rng::Rng;
use crate::harness::sample::geomean;

/// Where the true value lies with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// How one sample's median compares with another's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub ratio: f64,
    pub interval: Interval,
    /// The probability of ranks at least as uneven, were both the same.
    pub p: f64,
    pub significance: Significance,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Significance {
    /// The first is smaller than the second.
    Smaller,
    Larger,
    /// The difference may be chance.
    None,
    TooFewRuns,
}

/// The middle value, of an even number the mean of the middle two; NaN if there is none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    median_of(&mut sorted)
}

/// Of the median of `values`. One value alone says nothing of its spread: its interval is a point.
pub fn of_median(values: &[f64]) -> Interval {
    let mut rng = Rng::new(SEED);
    let mut drawn = Vec::new();
    percentiles((0..DRAWS).map(|_| draw(values, &mut drawn, &mut rng)).collect())
}

/// Compares `new` with `base`; neither may be empty.
pub fn ratio(new: &[f64], base: &[f64]) -> Ratio {
    assert!(!new.is_empty() && !base.is_empty(), "nothing to compare");
    let ratio = median(new) / median(base);
    let interval = of_geomean(&[(new, base)]);
    let p = rank_test(new, base);
    let significance = match () {
        () if new.len().min(base.len()) < RUNS_MIN => Significance::TooFewRuns,
        () if p < LEVEL && interval.high < 1.0 => Significance::Smaller,
        () if p < LEVEL && interval.low > 1.0 => Significance::Larger,
        () => Significance::None,
    };
    Ratio { ratio, interval, p, significance }
}

/// Of the geometric mean of the ratios of medians, over pairs of samples that are not empty. Each sample is drawn anew
/// by itself: the interval says how sure the runs are, not what other workloads would give.
pub fn of_geomean(pairs: &[(&[f64], &[f64])]) -> Interval {
    let mut rng = Rng::new(SEED);
    let mut drawn = Vec::new();
    let mut ratios = Vec::new();
    let mut means = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        ratios.clear();
        for (new, base) in pairs {
            let new = draw(new, &mut drawn, &mut rng);
            ratios.push(new / draw(base, &mut drawn, &mut rng));
        }
        means.extend(geomean(&ratios));
    }
    percentiles(means)
}

/// The two-sided probability of the test of Mann and Whitney: exact where no two values are equal and both samples
/// are small, else by the normal distribution with corrections for ties and continuity.
pub fn rank_test(a: &[f64], b: &[f64]) -> f64 {
    let (n, m) = (a.len(), b.len());
    if n == 0 || m == 0 {
        return 1.0;
    }
    let mut all: Vec<(f64, bool)> = a.iter().map(|value| (*value, true)).collect();
    all.extend(b.iter().map(|value| (*value, false)));
    all.sort_by(|x, y| x.0.total_cmp(&y.0));
    let (mut ranks_of_a, mut ties) = (0.0, 0.0);
    let mut at = 0;
    while at < all.len() {
        let same = all[at..].iter().take_while(|(value, _)| *value == all[at].0).count();
        let rank = at as f64 + (same as f64 + 1.0) / 2.0;
        ranks_of_a += rank * all[at..at + same].iter().filter(|(_, of_a)| *of_a).count() as f64;
        ties += (same * (same * same - 1)) as f64;
        at += same;
    }
    let u = ranks_of_a - (n * (n + 1)) as f64 / 2.0;
    let small = u.min((n * m) as f64 - u);
    if ties == 0.0 && n.max(m) <= EXACT_MAX {
        return (2.0 * at_most(small as usize, n, m)).min(1.0);
    }
    let (n, m) = (n as f64, m as f64);
    let all = n + m;
    let variance = n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let z = ((n * m / 2.0 - small - 0.5) / variance.sqrt()).max(0.0);
    (2.0 * upper_tail(z)).min(1.0)
}

/// The probability that the statistic of equals is at most `u`: of all ways to mix `n` and `m` values, those with
/// at most `u` inversions.
fn at_most(u: usize, n: usize, m: usize) -> f64 {
    // ways[k][j]: how many of the sequences of k values of the one and some of the other have j inversions.
    let limit = n * m;
    let mut ways = vec![vec![0.0_f64; limit + 1]; n + 1];
    ways.iter_mut().for_each(|of_k| of_k[0] = 1.0);
    for _ in 0..m {
        // One more of the others stands behind k of the first kind, for which ways[k] counts k inversions more each.
        let mut next = vec![vec![0.0_f64; limit + 1]; n + 1];
        next[0][0] = 1.0;
        for k in 1..=n {
            for j in 0..=limit {
                let behind = if j >= k { ways[k][j - k] } else { 0.0 };
                next[k][j] = next[k - 1][j] + behind;
            }
        }
        ways = next;
    }
    let total: f64 = ways[n].iter().sum();
    ways[n][..=u.min(limit)].iter().sum::<f64>() / total
}

/// The probability that a standard normal variable exceeds `z`, `z` not negative: Zelen and Severo's polynomial, whose
/// error is below 1e-7.
fn upper_tail(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let terms = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let polynomial = terms.iter().rev().fold(0.0, |sum, term| (sum + term) * t);
    (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * polynomial
}

/// The median of as many values, drawn from `values`.
fn draw(values: &[f64], drawn: &mut Vec<f64>, rng: &mut Rng) -> f64 {
    drawn.clear();
    drawn.extend((0..values.len()).map(|_| values[rng.below(values.len())]));
    median_of(drawn)
}

fn median_of(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    }
}

fn percentiles(mut values: Vec<f64>) -> Interval {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = (share * (values.len().max(1) - 1) as f64).round() as usize;
        values.get(place).copied().unwrap_or(f64::NAN)
    };
    Interval { low: at(0.025), high: at(0.975) }
}

/// A difference is significant if equals would show it in fewer comparisons than this share.
pub const LEVEL: f64 = 0.01;
/// With fewer runs on one side no ranks are so rare.
pub const RUNS_MIN: usize = 5;
const DRAWS: usize = 2000;
const SEED: u64 = 0x5eed;
const EXACT_MAX: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    /// Times as they are measured: around `middle` with a spread of some percent, and now and then a slow one.
    fn times(rng: &mut Rng, runs: usize, middle: f64, spread: f64) -> Vec<f64> {
        let mut uniform = || rng.below(1 << 30) as f64 / (1 << 30) as f64;
        let time = |_| {
            let sum: f64 = (0..12).map(|_| uniform()).sum();
            let slow = if uniform() < 0.05 { 1.3 } else { 1.0 };
            middle * (spread * (sum - 6.0)).exp() * slow
        };
        (0..runs).map(time).collect()
    }

    #[test]
    fn equals_rarely_look_different() {
        let mut rng = Rng::new(11);
        let mut wrong = 0;
        for _ in 0..2000 {
            let (a, b) = (times(&mut rng, 10, 3.0, 0.04), times(&mut rng, 10, 3.0, 0.04));
            wrong += usize::from(
                rank_test(&a, &b) < LEVEL && ratio(&a, &b).significance != Significance::None,
            );
        }
        assert!(wrong <= 30, "{wrong} of 2000 comparisons of equals: more than 1.5 %");
    }

    /// Of 20 workloads 19 or more must be seen as equal, in nearly every session.
    #[test]
    fn a_session_of_equals_has_at_most_one_difference() {
        let mut rng = Rng::new(12);
        let mut bad = 0;
        for _ in 0..50 {
            let different = (0..20).filter(|_| {
                let (a, b) = (times(&mut rng, 10, 1.0, 0.05), times(&mut rng, 10, 1.0, 0.05));
                ratio(&a, &b).significance != Significance::None
            });
            bad += usize::from(different.count() > 1);
        }
        assert!(bad <= 2, "{bad} of 50 sessions");
    }

    #[test]
    fn a_tenth_is_found() {
        let mut rng = Rng::new(13);
        let mut found = 0;
        for _ in 0..200 {
            let (slow, base) = (times(&mut rng, 10, 1.1, 0.03), times(&mut rng, 10, 1.0, 0.03));
            let ratio = ratio(&slow, &base);
            found += usize::from(ratio.significance == Significance::Larger);
            assert!(ratio.significance != Significance::Smaller);
        }
        assert!(found >= 180, "{found} of 200");
    }

    #[test]
    fn an_interval_holds_the_truth_as_often_as_it_says() {
        let mut rng = Rng::new(14);
        let held = (0..400).filter(|_| {
            let interval = of_median(&times(&mut rng, 15, 2.0, 0.05));
            interval.low <= 2.0 * 1.003 && interval.high >= 2.0 * 0.997
        });
        let held = held.count();
        assert!((368..=400).contains(&held), "{held} of 400");
    }

    /// Values from the tables of the exact distribution.
    #[test]
    fn ranks_have_their_exact_probabilities() {
        let low: Vec<f64> = (0..5).map(f64::from).collect();
        let high: Vec<f64> = (10..15).map(f64::from).collect();
        assert!((rank_test(&low, &high) - 2.0 / 252.0).abs() < 1e-12);
        assert!((rank_test(&high[..4], &low[..4]) - 2.0 / 70.0).abs() < 1e-12);
        // Mixed, U = 2 of 9: 4 of the 20 ways have at most 2 inversions.
        let (a, b) = ([1.0, 2.0, 5.0], [3.0, 4.0, 6.0]);
        assert!((rank_test(&a, &b) - 8.0 / 20.0).abs() < 1e-12);
        assert_eq!(rank_test(&[1.0; 8], &[1.0; 8]), 1.0);
        // With ties: near the exact one.
        let tied = [0.0, 1.0, 2.0, 3.0, 4.0, 4.0];
        assert!((rank_test(&tied, &[10.0, 11.0, 12.0, 13.0, 14.0, 15.0]) - 0.005).abs() < 0.003);
        assert!((upper_tail(1.959_964) - 0.025).abs() < 1e-6);
    }

    #[test]
    fn few_runs_prove_nothing() {
        assert_eq!(ratio(&[2.0; 4], &[1.0; 4]).significance, Significance::TooFewRuns);
        let (slow, fast) = ([2.0, 2.1, 2.2, 2.3, 2.4], [1.0, 1.1, 1.2, 1.3, 1.4]);
        assert_eq!(ratio(&slow, &fast).significance, Significance::Larger);
        assert_eq!(ratio(&fast, &slow).significance, Significance::Smaller);
        assert_eq!(ratio(&[2.0], &[1.0]).interval, Interval { low: 2.0, high: 2.0 });
    }

    #[test]
    fn a_mean_of_ratios_lies_in_its_interval() {
        let pairs: [(&[f64], &[f64]); 2] = [(&[2.0, 2.2, 1.9], &[1.0, 1.1, 1.0]), (&[1.0], &[2.0])];
        let interval = of_geomean(&pairs);
        assert!(interval.low < 1.0 && interval.high > 1.0, "{interval:?}");
        assert_eq!(of_geomean(&pairs), interval, "a report made again is the same");
    }
}
