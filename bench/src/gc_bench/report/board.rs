//! Rows in the order of a report: a cell for each workload on each contender.

use crate::gc_bench::compare::{is_more_better, metric};
use crate::gc_bench::contender::{AGAIN, FAR_BANDWIDTH, FAR_LATENCY};
use crate::gc_bench::evidence::{self, Interval, RUNS_MIN};
use crate::gc_bench::manifest::{Manifest, WALL};
use crate::gc_bench::report::charts::shade;
use crate::gc_bench::row::{Row, Verdict};
use crate::gc_bench::trace::{Lengths, Pauses};

pub struct Board<'a> {
    /// In the order of the manifest; workloads that it does not list any more come last.
    pub workloads: Vec<String>,
    /// By which figure each is compared.
    pub metrics: Vec<String>,
    /// Peers first, then ours by collector and falling share of local memory.
    pub contenders: Vec<String>,
    /// The options that ours have in common, as their names end with them: the headline compares the contenders with
    /// these.
    common: String,
    rows: Vec<&'a Row>,
}

impl<'a> Board<'a> {
    pub fn new(rows: &'a [Row], manifest: &Manifest) -> Board<'a> {
        let mut workloads: Vec<String> =
            manifest.workloads.iter().map(|workload| workload.name.clone()).collect();
        workloads.retain(|name| rows.iter().any(|row| row.workload == *name));
        let mut contenders: Vec<String> = Vec::new();
        for row in rows {
            if !workloads.contains(&row.workload) {
                workloads.push(row.workload.clone());
            }
            if !contenders.contains(&row.contender) {
                contenders.push(row.contender.clone());
            }
        }
        contenders.sort_by_key(|name| {
            let share = share(name).unwrap_or(100);
            (!is_peer(name), collector(name).to_string(), 1000 - share.min(1000), name.clone())
        });
        let metrics = workloads.iter().map(|workload| metric(workload, manifest)).collect();
        let ours = contenders.iter().filter(|name| !is_peer(name) && !name.ends_with(AGAIN));
        let common = shared_words(ours.map(|name| options(name)));
        Board { workloads, metrics, contenders, common, rows: rows.iter().collect() }
    }

    /// Whether it is one of ours with nothing but a collector, a share, and the options that all of ours have.
    pub fn is_plain(&self, contender: &str) -> bool {
        !is_peer(contender) && !contender.ends_with(AGAIN) && options(contender) == self.common
    }

    /// The place of such a one.
    pub fn ours(&self, collector: &str, share: u32) -> Option<usize> {
        let space = if self.common.is_empty() { "" } else { " " };
        self.place(&format!("{collector} {share}%{space}{}", self.common))
    }

    /// The contenders of a collector at a share of local memory of one kind of rows, and the further options of each,
    /// in the order of words: those that neither all of ours have nor are presets.
    pub fn of_side(&self, side: Side, collector: &str, share: u32) -> Vec<(usize, Vec<&str>)> {
        let mut found = Vec::new();
        for (place, name) in self.contenders.iter().enumerate() {
            let is_it = self::collector(name) == collector && self::share(name) == Some(share);
            let words: Vec<&str> = options(name).split_whitespace().collect();
            let is_as_in_paper = words.iter().any(|word| PRESETS.contains(word));
            if is_it && !name.ends_with(AGAIN) && is_as_in_paper == (side == Side::AsInPaper) {
                let is_further = |word: &&str| !PRESETS.contains(word) && !self.is_common(word);
                let mut further: Vec<&str> = words.into_iter().filter(is_further).collect();
                further.sort_unstable();
                found.push((place, further));
            }
        }
        found
    }

    /// The place of the one with just these further options. Rows as in the paper may have another size of regions: the
    /// paper's does not fit into small heaps.
    pub fn with(&self, side: Side, collector: &str, share: u32, more: &[&str]) -> Option<usize> {
        let mut more: Vec<&str> =
            more.iter().copied().filter(|word| !self.is_common(word)).collect();
        more.sort_unstable();
        let all = self.of_side(side, collector, share);
        let exact = all.iter().find(|(_, further)| *further == more);
        let is_size = |word: &&str| side == Side::AsInPaper && word.starts_with(REGION_SIZE);
        let similar = || {
            all.iter().find(|(_, further)| further.iter().filter(|word| !is_size(word)).eq(&more))
        };
        exact.or_else(similar).map(|(place, _)| *place)
    }

    /// Whether the network to its memory servers is not that of most of ours.
    pub fn has_own_network(&self, contender: &str) -> bool {
        let mut words = contender.split_whitespace();
        words.any(|word| is_of_network(word) && !self.is_common(word))
    }

    /// The words of a contender's name but those that choose a network.
    pub fn without_network(contender: &str) -> impl Iterator<Item = &str> {
        contender.split_whitespace().filter(|word| !is_of_network(word))
    }

    /// Whether all of ours have this option.
    fn is_common(&self, option: &str) -> bool {
        self.common.split_whitespace().any(|word| word == option)
    }

    /// Its place in the palette: a hue for each collector and its options, paler with more local memory.
    pub fn color(&self, contender: usize) -> usize {
        let kind = |name: &'_ String| (collector(name).to_string(), options(name).to_string());
        let kinds: Vec<(String, String)> = self.contenders.iter().map(kind).collect();
        let mut hues: Vec<&(String, String)> = Vec::new();
        for kind in &kinds {
            if !hues.contains(&kind) {
                hues.push(kind);
            }
        }
        let hue = hues.iter().position(|known| **known == kinds[contender]).unwrap_or(0);
        let tint = kinds[contender + 1..].iter().filter(|kind| **kind == kinds[contender]).count();
        shade(hue, tint)
    }

    pub fn cell(&self, workload: usize, contender: usize) -> Cell<'a> {
        let (workload, contender) = (&self.workloads[workload], &self.contenders[contender]);
        let of_cell = |row: &&Row| row.workload == *workload && row.contender == *contender;
        Cell { rows: self.rows.iter().copied().filter(of_cell).collect() }
    }

    pub fn place(&self, contender: &str) -> Option<usize> {
        self.contenders.iter().position(|name| name == contender)
    }

    /// How many times the time of `base` the contender `new` takes, by the geometric mean over the workloads that
    /// both have right runs of.
    pub fn ratio(&self, new: usize, base: usize) -> Option<Mean> {
        self.mean_of(new, base, |row, metric| {
            let value = row.figure(metric)?;
            Some(if is_more_better(metric) { 1.0 / value } else { value })
        })
    }

    /// The same of another figure, which must be greater than 0 to count.
    pub fn mean_of(
        &self,
        new: usize,
        base: usize,
        figure: impl Fn(&Row, &str) -> Option<f64>,
    ) -> Option<Mean> {
        let values = |workload: usize, contender: usize| {
            let metric = &self.metrics[workload];
            let cell = self.cell(workload, contender);
            let found = cell.right().filter_map(|row| figure(row, metric));
            found.filter(|value| *value > 0.0).collect::<Vec<f64>>()
        };
        let pairs: Vec<(Vec<f64>, Vec<f64>)> = (0..self.workloads.len())
            .map(|workload| (values(workload, new), values(workload, base)))
            .filter(|(new, base)| !new.is_empty() && !base.is_empty())
            .collect();
        if pairs.is_empty() {
            return None;
        }
        let pairs: Vec<(&[f64], &[f64])> =
            pairs.iter().map(|(new, base)| (new.as_slice(), base.as_slice())).collect();
        let ratios: Vec<f64> = pairs
            .iter()
            .map(|(new, base)| evidence::median(new) / evidence::median(base))
            .collect();
        let mean = crate::harness::sample::geomean(&ratios)?;
        let enough = |runs: &[f64]| runs.len() >= RUNS_MIN;
        let is_repeated = pairs.iter().all(|(new, base)| enough(new) && enough(base));
        let interval = evidence::of_geomean(&pairs);
        Some(Mean { mean, interval, workloads: ratios.len(), is_repeated })
    }

    /// On how many workloads that one of `others` has right runs of `contender` has none.
    pub fn missing(&self, contender: usize, others: &[usize]) -> usize {
        let has = |workload: usize, at: usize| self.cell(workload, at).right().next().is_some();
        let is_missing = |workload: &usize| {
            !has(*workload, contender) && others.iter().any(|other| has(*workload, *other))
        };
        (0..self.workloads.len()).filter(is_missing).count()
    }

    pub fn rows(&self) -> &[&'a Row] {
        &self.rows
    }
}

/// A geometric mean of ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    pub mean: f64,
    pub interval: Interval,
    /// Over how many.
    pub workloads: usize,
    /// Whether each sample had as many runs as it takes to prove something; else the interval is too narrow.
    pub is_repeated: bool,
}

impl Mean {
    /// `1.10-1.25`, or what is missing for that.
    pub fn confidence(&self) -> String {
        match self.is_repeated {
            true => format!("{:.2}-{:.2}", self.interval.low, self.interval.high),
            false => "few runs".to_string(),
        }
    }
}

/// The runs of a workload on a contender.
pub struct Cell<'a> {
    pub rows: Vec<&'a Row>,
}

impl<'a> Cell<'a> {
    /// Those whose figures count: right ones that had no more memory than they should.
    pub fn right(&self) -> impl Iterator<Item = &'a Row> {
        self.rows.iter().copied().filter(|row| row.counts())
    }

    pub fn figures(&self, metric: &str) -> Vec<f64> {
        self.right().filter_map(|row| row.figure(metric)).collect()
    }

    pub fn median(&self, figure: impl Fn(&Row) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.right().filter_map(figure).collect();
        (!values.is_empty()).then(|| evidence::median(&values))
    }

    /// The right run with the median time: figures of a single run are those of this one.
    pub fn typical(&self) -> Option<&'a Row> {
        let mut right: Vec<&Row> = self.right().collect();
        right.sort_by(|a, b| a.wall_s.total_cmp(&b.wall_s));
        right.get(right.len().saturating_sub(1) / 2).copied()
    }

    pub fn failures(&self) -> usize {
        self.rows.iter().filter(|row| row.verdict != Verdict::Right).count()
    }

    /// Right runs that had more memory than they should.
    pub fn unfair(&self) -> usize {
        self.rows.len() - self.failures() - self.right().count()
    }
}

/// The longest time without progress: seen from inside where there was a probe, else the longest stop.
pub fn longest_ms(row: &Row) -> Option<f64> {
    let Pauses { late, stops, .. } = row.pauses;
    late.or(stops).map(|lengths: Lengths| lengths.max_ms)
}

pub fn is_peer(contender: &str) -> bool {
    contender.starts_with("hotspot")
}

/// The kinds of rows that stand beside a paper's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// With a preset of a paper's configuration.
    AsInPaper,
    /// Without.
    Ours,
}

impl Side {
    pub const ALL: [Side; 2] = [Side::AsInPaper, Side::Ours];

    pub fn name(self) -> &'static str {
        match self {
            Side::AsInPaper => "as in the paper",
            Side::Ours => "ours",
        }
    }
}

/// The options of our VM that make a configuration of a paper.
const PRESETS: [&str; 3] =
    ["-XX:+MakoAsInPaper", "-XX:+MemLinerAsInPaper", "-XX:+BaselineAsInPaper"];

/// The option of our VM, as rows' names have it.
pub const REGION_SIZE: &str = "-XX:RegionSize=";

fn is_of_network(option: &str) -> bool {
    option.starts_with(FAR_LATENCY) || option.starts_with(FAR_BANDWIDTH)
}

/// The first word: `mako` of `mako 25%`.
pub fn collector(contender: &str) -> &str {
    contender.split(' ').next().unwrap_or(contender)
}

/// The percentage of local memory in a contender's name.
pub fn share(contender: &str) -> Option<u32> {
    contender.split(' ').find_map(|word| word.strip_suffix('%')?.parse().ok())
}

/// The part of a name after collector and share.
fn options(contender: &str) -> &str {
    contender.splitn(3, ' ').nth(2).unwrap_or("")
}

/// The words with which all of them begin.
fn shared_words<'a>(mut all: impl Iterator<Item = &'a str>) -> String {
    let mut shared: Vec<&str> = all.next().unwrap_or("").split_whitespace().collect();
    for other in all {
        let same = shared.iter().zip(other.split_whitespace()).take_while(|(a, b)| *a == b).count();
        shared.truncate(same);
    }
    shared.join(" ")
}

/// Time spent stopped for collecting, in seconds.
pub fn collecting_s(row: &Row) -> Option<f64> {
    row.pauses.collecting.map(|lengths| lengths.total_ms / 1e3)
}

/// The rest of a run.
pub fn application_s(row: &Row) -> Option<f64> {
    Some((row.figure(WALL)? - collecting_s(row)?).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc_bench::manifest::tests::example;
    use crate::gc_bench::report::charts::{hex, palette};
    use crate::gc_bench::row::tests::{beyond, row};

    #[test]
    fn contenders_stand_in_order_and_ratios_are_means() {
        let mut rows = Vec::new();
        for (workload, factor) in [("a", 2.0), ("z", 8.0)] {
            rows.push(row(workload, "mako 25%", 0, factor));
            rows.push(row(workload, "mako 100%", 0, 1.0));
            rows.push(row(workload, "hotspot-g1", 0, 0.5));
        }
        let mut failed = row("b", "mako 25%", 0, 99.0);
        failed.verdict = Verdict::TimedOut;
        rows.push(failed);
        let board = Board::new(&rows, &example());
        assert_eq!(board.contenders, ["hotspot-g1", "mako 100%", "mako 25%"]);
        assert_eq!(board.workloads, ["a", "z", "b"]);
        let mean = board.ratio(2, 1).unwrap();
        assert!((mean.mean - 4.0).abs() < 1e-9, "{mean:?}");
        assert_eq!((mean.workloads, mean.confidence().as_str()), (2, "few runs"));
        assert_eq!(board.cell(2, 2).failures(), 1);
        assert!(board.cell(2, 2).typical().is_none());
    }

    #[test]
    fn no_ratio_rests_on_unfair_runs() {
        let mut rows =
            [1.0, 2.0].map(|wall_s| beyond(if wall_s == 1.0 { 0.5 } else { 0.0 }, wall_s));
        rows[1].run = 1;
        let mut rows = rows.to_vec();
        rows.push(row("a", "mako 25%", 0, 4.0));
        let board = Board::new(&rows, &example());
        let (peer, ours) =
            (board.place(&rows[0].contender).unwrap(), board.place("mako 25%").unwrap());
        assert_eq!(board.ratio(ours, peer).unwrap().mean, 2.0, "to the fair one only");
        let cell = board.cell(0, peer);
        assert_eq!((cell.unfair(), cell.failures(), cell.right().count()), (1, 0, 1));
        let only = [rows[0].clone(), rows[2].clone()];
        let board = Board::new(&only, &example());
        assert!(board.ratio(ours, peer).is_none());
    }

    #[test]
    fn colours_tell_collectors_and_shares_apart() {
        let ours = ["mako 100%", "mako 50%", "mako 25%", "serial 25%", "g1 25%"];
        let mut names = vec!["hotspot-g1", "mako 25% -XX:-UseHIT"];
        names.extend(ours);
        let rows: Vec<Row> = names.iter().map(|name| row("a", name, 0, 1.0)).collect();
        let board = Board::new(&rows, &example());
        let mut colors: Vec<String> =
            (0..board.contenders.len()).map(|at| hex(palette(board.color(at)))).collect();
        let of = |name| hex(palette(board.color(board.place(name).unwrap())));
        assert_eq!(of("g1 25%"), hex(palette(1)), "the least local memory has the full colour");
        assert_ne!(of("mako 25%"), of("mako 50%"));
        assert_eq!(of("mako 25% -XX:-UseHIT"), hex(palette(3)), "others have a hue of their own");
        colors.sort();
        colors.dedup();
        assert_eq!(colors.len(), 7, "{colors:?}");
    }

    #[test]
    fn names_tell_collector_and_share() {
        assert_eq!((collector("mako 25% -Xint"), share("mako 25% -Xint")), ("mako", Some(25)));
        assert_eq!(share("mako 64m"), None);
    }

    #[test]
    fn options_that_all_have_are_no_difference() {
        let rows = ["hotspot-g1", "mako 25% -Xint", "serial 25% -Xint", "mako 25% -Xint again"]
            .map(|contender| row("a", contender, 0, 1.0));
        let board = Board::new(&rows, &example());
        assert!(board.is_plain("mako 25% -Xint") && !board.is_plain("mako 25% -Xint again"));
        assert!(!board.is_plain("hotspot-g1") && !board.is_plain("mako 25%"));
        assert_eq!(board.ours("serial", 25), board.place("serial 25% -Xint"));
        let rows = ["mako 25% -Xint -XX:-UseHIT", "serial 25% -Xint"]
            .map(|contender| row("a", contender, 0, 1.0));
        let board = Board::new(&rows, &example());
        assert!(
            board.is_plain("serial 25% -Xint") && !board.is_plain("mako 25% -Xint -XX:-UseHIT")
        );
        let with = |more: &[&str]| board.with(Side::Ours, "mako", 25, more);
        assert_eq!(with(&["-XX:-UseHIT"]), Some(0));
        assert_eq!((with(&["-Xint", "-XX:-UseHIT"]), with(&[])), (Some(0), None));
        assert_eq!(board.of_side(Side::Ours, "mako", 25), [(0, vec!["-XX:-UseHIT"])]);
        assert!(board.of_side(Side::Ours, "serial", 2).is_empty());
    }

    #[test]
    fn rows_as_in_the_paper_are_told_from_ours() {
        let names = [
            "mako 25%",
            "mako 25% -XX:+MakoAsInPaper -XX:RegionSize=1m",
            "mako 25% -XX:+MakoAsInPaper -XX:RegionSize=1m -XX:-MakoWriteThrough",
            "mako 25% -XX:RegionSize=2m",
            "mako 25% -XX:FarLatency=0s -XX:FarBandwidth=0",
        ];
        let rows = names.map(|contender| row("a", contender, 0, 1.0));
        let board = Board::new(&rows, &example());
        let name = |side, more: &[&str]| {
            board.with(side, "mako", 25, more).map(|place| board.contenders[place].as_str())
        };
        assert_eq!(name(Side::Ours, &[]), Some(names[0]));
        assert_eq!(name(Side::AsInPaper, &[]), Some(names[1]));
        assert_eq!(name(Side::AsInPaper, &["-XX:-MakoWriteThrough"]), Some(names[2]));
        assert_eq!(name(Side::AsInPaper, &["-XX:RegionSize=4m"]), None);
        assert_eq!(name(Side::Ours, &["-XX:RegionSize=2m"]), Some(names[3]));
        assert_eq!(name(Side::Ours, &["-XX:-MakoWriteThrough"]), None);
        assert_eq!(
            names.map(|name| board.has_own_network(name)),
            [false, false, false, false, true]
        );
        // A series of such rows alone has the preset in common.
        let board = Board::new(&rows[1..2], &example());
        assert_eq!(board.with(Side::AsInPaper, "mako", 25, &[]), Some(0));
        assert_eq!(board.with(Side::Ours, "mako", 25, &[]), None);
        assert!(board.is_plain(names[1]));
    }
}
