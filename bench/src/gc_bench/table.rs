//! Rows as a table: a line for each workload, a column for each contender.

use std::fmt::Write;

use crate::gc_bench::manifest::{Manifest, WALL};
use crate::gc_bench::row::{Row, Verdict};
use crate::harness::sample::Sample;

/// The table of `rows`, in which workloads and contenders stand in the order of `workloads` and `contenders`. A cell
/// holds the median of the right runs, the middle half of them, and the ratio to the first contender.
pub fn render(
    rows: &[Row],
    manifest: &Manifest,
    workloads: &[String],
    contenders: &[String],
) -> String {
    let mut lines = vec![vec!["workload".to_string(), "figure".to_string()]];
    lines[0].extend_from_slice(contenders);
    for workload in workloads {
        let metric = manifest.find(workload).map_or(WALL.to_string(), |w| w.metric.clone());
        let mut line = vec![workload.clone(), metric.clone()];
        let mut base = None;
        for contender in contenders {
            let of_cell = |row: &&Row| row.workload == *workload && row.contender == *contender;
            let runs: Vec<&Row> = rows.iter().filter(of_cell).collect();
            line.push(cell(&runs, &metric, &mut base));
        }
        lines.push(line);
    }
    aligned(&lines)
}

/// Columns as wide as they need to be; the first two begin at the left.
pub fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let _ = match column {
                0 | 1 => write!(text, "{cell:width$}  "),
                _ => write!(text, "{cell:>width$}  "),
            };
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

/// `base` is the median of the line's first cell that has one.
fn cell(runs: &[&Row], metric: &str, base: &mut Option<f64>) -> String {
    if runs.is_empty() {
        return "-".to_string();
    }
    let mut sample = Sample::default();
    runs.iter().filter_map(|row| row.figure(metric)).for_each(|value| sample.add(value));
    let mut text = String::new();
    if !sample.is_empty() {
        let (low, high) = sample.quartiles();
        let median = sample.median();
        let digits = if median < 100.0 { 2 } else { 0 };
        let _ = write!(text, "{median:.digits$}");
        if sample.values().len() > 1 {
            let _ = write!(text, " ({low:.digits$}-{high:.digits$})");
        }
        match base {
            Some(base) if *base > 0.0 => {
                let _ = write!(text, " {:.2}x", median / *base);
            }
            _ => *base = Some(median),
        }
    }
    let unfair = runs.iter().filter(|row| row.is_unfair()).count();
    if unfair > 0 {
        let space = if text.is_empty() { "" } else { " " };
        let _ = write!(text, "{space}UNFAIR {unfair}/{}", runs.len());
    }
    for (verdict, name) in NAMES {
        let count = runs.iter().filter(|row| row.verdict == *verdict).count();
        if count > 0 {
            let space = if text.is_empty() { "" } else { " " };
            let _ = write!(text, "{space}{name} {count}/{}", runs.len());
        }
    }
    text
}

/// The note on runs that are not right.
const NAMES: &[(Verdict, &str)] = &[
    (Verdict::Wrong, "WRONG"),
    (Verdict::Failed, "FAILED"),
    (Verdict::TimedOut, "TIMED OUT"),
    (Verdict::NotJudged, "NOT JUDGED"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc_bench::row::tests::{beyond, row};

    #[test]
    fn a_cell_has_median_spread_and_ratio_and_counts_what_went_wrong() {
        let peers = [row("a", "hotspot", 0, 2.0), row("a", "hotspot", 1, 4.0)];
        let mut ours = [row("a", "mako 25%", 0, 6.0), row("a", "mako 25%", 1, 1.0)];
        ours[1].verdict = Verdict::TimedOut;
        let mut base = None;
        assert_eq!(cell(&peers.each_ref(), "wall_s", &mut base), "3.00 (2.00-4.00)");
        assert_eq!(cell(&ours.each_ref(), "wall_s", &mut base), "6.00 2.00x TIMED OUT 1/2");
        assert_eq!(cell(&ours.each_ref()[1..], "wall_s", &mut base), "TIMED OUT 1/1");
        assert_eq!(cell(&[], "wall_s", &mut base), "-");
        let peers = [beyond(0.5, 2.0), beyond(0.0, 4.0)];
        assert_eq!(cell(&peers.each_ref(), "wall_s", &mut None), "4.00 UNFAIR 1/2");
    }

    #[test]
    fn columns_are_as_wide_as_they_need_to_be() {
        let lines = [["a", "figure", "x"], ["long", "b", "12.50"]]
            .map(|line| line.map(str::to_string).to_vec());
        assert_eq!(aligned(&lines), "a     figure      x\nlong  b       12.50\n");
    }
}
