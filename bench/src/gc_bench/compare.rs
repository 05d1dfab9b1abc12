//! Two sets of rows against each other: `gc-bench compare`, and contenders that were measured twice.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::gc_bench::contender::AGAIN;
use crate::gc_bench::evidence::{self, LEVEL, Ratio, Significance};
use crate::gc_bench::manifest::{Manifest, Size, WALL};
use crate::gc_bench::row::Row;
use crate::gc_bench::table::aligned;

/// A workload on a contender, in both sets.
#[derive(Clone, Debug)]
pub struct Pair {
    pub workload: String,
    pub size: Size,
    pub contender: String,
    pub metric: String,
    pub base: Vec<f64>,
    pub new: Vec<f64>,
    pub ratio: Ratio,
}

/// The change that a pair shows, in terms of speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Slower,
    Faster,
    None,
    TooFewRuns,
}

impl Pair {
    pub fn change(&self) -> Change {
        let more_is_better = is_more_better(&self.metric);
        match self.ratio.significance {
            Significance::None => Change::None,
            Significance::TooFewRuns => Change::TooFewRuns,
            Significance::Larger if more_is_better => Change::Faster,
            Significance::Smaller if !more_is_better => Change::Faster,
            _ => Change::Slower,
        }
    }
}

/// Whether the figure is a rate; all others are times.
pub fn is_more_better(metric: &str) -> bool {
    metric.ends_with("_per_s")
}

type Key = (String, Size, String);

/// The pairs that both sets have right runs of.
pub fn pairs(base: &[Row], new: &[Row], manifest: &Manifest) -> Vec<Pair> {
    let base = figures(base.iter().collect(), manifest);
    let mut new = figures(new.iter().collect(), manifest);
    let both = base.into_iter().filter_map(|(key, base)| Some((new.remove(&key)?, key, base)));
    both.map(|(new, key, base)| pair(key, base, new, manifest)).collect()
}

/// One contender on one workload with runs that were not right, and how many of each set.
#[derive(Debug, PartialEq)]
pub struct Broken {
    pub workload: String,
    pub size: Size,
    pub contender: String,
    pub base: usize,
    pub new: usize,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Broken { workload, size, contender, base, new } = self;
        let word = if new > base { "BROKEN" } else { "broken" };
        write!(f, "{word}: {workload} {size} {contender}: {base} runs were not right, then {new}")
    }
}

/// All that both sets have run, and of which some runs were not right.
pub fn broken(base: &[Row], new: &[Row]) -> Vec<Broken> {
    let key = |row: &Row| (row.workload.clone(), row.size, row.contender.clone());
    let bad = |rows: &[Row]| {
        let mut counts: BTreeMap<Key, usize> = BTreeMap::new();
        for row in rows {
            *counts.entry(key(row)).or_default() += usize::from(row.verdict.is_broken());
        }
        counts
    };
    let mut new = bad(new);
    let both = bad(base).into_iter().filter_map(|(key, base)| Some((new.remove(&key)?, key, base)));
    let broken = both.map(|(new, (workload, size, contender), base)| Broken {
        workload,
        size,
        contender,
        base,
        new,
    });
    broken.filter(|one| one.base + one.new > 0).collect()
}

/// Contenders that were measured twice.
pub fn again(rows: &[Row], manifest: &Manifest) -> Vec<Pair> {
    let (second, first): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| row.contender.ends_with(AGAIN));
    let mut first = figures(first, manifest);
    let mut found = Vec::new();
    for ((workload, size, contender), new) in figures(second, manifest) {
        let key = (workload, size, contender.trim_end_matches(AGAIN).to_string());
        if let Some(base) = first.remove(&key) {
            found.push(pair(key, base, new, manifest));
        }
    }
    found
}

/// A line for each pair, and the mean over all.
pub fn render(pairs: &[Pair]) -> String {
    let head =
        ["workload", "size", "contender", "figure", "first", "second", "ratio", "95 %", "p", ""];
    let mut lines = vec![head.map(str::to_string).to_vec()];
    for pair in pairs {
        let Ratio { ratio, interval, p, .. } = pair.ratio;
        lines.push(vec![
            pair.workload.clone(),
            pair.size.to_string(),
            pair.contender.clone(),
            pair.metric.clone(),
            number(evidence::median(&pair.base)),
            number(evidence::median(&pair.new)),
            format!("{ratio:.3}"),
            format!("{:.3}-{:.3}", interval.low, interval.high),
            format!("{p:.4}"),
            match pair.change() {
                Change::Slower => "SLOWER",
                Change::Faster => "faster",
                Change::None => "",
                Change::TooFewRuns => "too few runs",
            }
            .to_string(),
        ]);
    }
    let mut text = aligned(&lines);
    let _ = writeln!(text, "{}", summary(pairs));
    text
}

/// In one sentence.
pub fn summary(pairs: &[Pair]) -> String {
    let count = |change| pairs.iter().filter(|pair| pair.change() == change).count();
    let by_chance = LEVEL * (pairs.len() - count(Change::TooFewRuns)) as f64;
    format!(
        "of {} comparisons {} slower, {} faster, {} without a significant difference, {} with too few runs for a test; \
         were all equal, {by_chance:.1} would look different",
        pairs.len(),
        count(Change::Slower),
        count(Change::Faster),
        count(Change::None),
        count(Change::TooFewRuns),
    )
}

/// With as many digits as help.
pub fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn pair(key: Key, base: Vec<f64>, new: Vec<f64>, manifest: &Manifest) -> Pair {
    let (workload, size, contender) = key;
    let (metric, ratio) = (metric(&workload, manifest), evidence::ratio(&new, &base));
    Pair { workload, size, contender, metric, base, new, ratio }
}

fn figures(rows: Vec<&Row>, manifest: &Manifest) -> BTreeMap<Key, Vec<f64>> {
    let mut found: BTreeMap<Key, Vec<f64>> = BTreeMap::new();
    for row in rows {
        if let Some(value) = row.figure(&metric(&row.workload, manifest)) {
            let key = (row.workload.clone(), row.size, row.contender.clone());
            found.entry(key).or_default().push(value);
        }
    }
    found
}

/// By which figure a workload is compared; one that is not in the manifest any more, by its time.
pub fn metric(workload: &str, manifest: &Manifest) -> String {
    manifest.find(workload).map_or(WALL.to_string(), |found| found.metric.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc_bench::manifest::tests::example;
    use crate::gc_bench::row::Verdict;
    use crate::gc_bench::row::tests::row;

    /// Ten runs on each of 20 workloads with a spread of 4 %; number 7 is slower by `factor`.
    fn rows(seed: u64, factor: f64, suffix: &str) -> Vec<Row> {
        let mut rng = crate::harness::rng::Rng::new(seed);
        let mut rows = Vec::new();
        for run in 0..10 {
            for workload in 0..20 {
                let noise = 1.0 + (rng.below(801) as f64 - 400.0) / 10_000.0;
                let slower = if workload == 7 { factor } else { 1.0 };
                let name = format!("mako 25%{suffix}");
                rows.push(row(&format!("w{workload}"), &name, run, 2.0 * noise * slower));
            }
        }
        rows
    }

    #[test]
    fn the_same_twice_is_the_same_and_a_tenth_more_is_found() {
        let manifest = example();
        let equal = pairs(&rows(1, 1.0, ""), &rows(2, 1.0, ""), &manifest);
        assert_eq!(equal.len(), 20);
        let different = equal.iter().filter(|pair| pair.change() != Change::None).count();
        assert!(different <= 1, "{}", render(&equal));
        let planted = pairs(&rows(1, 1.0, ""), &rows(3, 1.1, ""), &manifest);
        let slower: Vec<&str> = planted
            .iter()
            .filter(|pair| pair.change() == Change::Slower)
            .map(|pair| pair.workload.as_str())
            .collect();
        assert_eq!(slower, ["w7"], "{}", render(&planted));
    }

    #[test]
    fn runs_that_break_are_told() {
        let (base, mut new) = (rows(1, 1.0, ""), rows(2, 1.0, ""));
        assert_eq!(broken(&base, &new), []);
        let of_one = new.iter_mut().filter(|row| row.workload == "w3");
        of_one.for_each(|row| row.verdict = Verdict::Failed);
        let found = broken(&base, &new);
        assert_eq!((found.len(), found[0].base, found[0].new), (1, 0, 10));
        assert!(found[0].to_string().starts_with("BROKEN: w3 "), "{}", found[0]);
        assert!(broken(&new, &base)[0].to_string().starts_with("broken: w3 "));
    }

    #[test]
    fn a_contender_measured_again_is_compared_with_itself() {
        let mut both = rows(4, 1.0, "");
        both.extend(rows(5, 1.0, AGAIN));
        let found = again(&both, &example());
        assert_eq!(found.len(), 20);
        assert!(found.iter().all(|pair| pair.contender == "mako 25%"));
        assert!(summary(&found).contains("of 20 comparisons"), "{}", summary(&found));
    }

    #[test]
    fn failed_runs_and_few_ones_prove_nothing() {
        let mut new = rows(6, 3.0, "");
        new.retain(|row| row.workload == "w7");
        for row in &mut new {
            row.verdict = if row.run < 6 { Verdict::TimedOut } else { Verdict::Right };
        }
        let found = pairs(&rows(1, 1.0, ""), &new, &example());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].new.len(), found[0].change()), (4, Change::TooFewRuns));
    }

    #[test]
    fn a_rate_that_falls_is_slower() {
        let all = pairs(&rows(1, 1.0, ""), &rows(1, 1.5, ""), &example());
        let mut pair = all.into_iter().find(|pair| pair.workload == "w7").unwrap();
        assert_eq!((pair.workload.as_str(), pair.change()), ("w7", Change::Slower));
        pair.metric = "operations_per_s".to_string();
        assert_eq!(pair.change(), Change::Faster);
    }
}
