//! Lower bounds of what contenders cost (Cai, Blackburn, Bond, Maas: "Distilling the real cost of production garbage
//! collectors", ISPASS 2022).
//!
//! No VM runs a program without any cost of its collector, so the real overhead is unknown. But what is left of a run
//! without the part that is plainly the collector's is at least what the program itself takes. The smallest such rest
//! among all contenders is the nearest known to an ideal run, and the cost of a contender over it is a lower bound of
//! its overhead. Contenders are compared at the same share of local memory, as an ideal run has page faults too.

use std::ops::Range;

use crate::gc_bench::contender::AGAIN;
use crate::gc_bench::manifest::WALL;
use crate::gc_bench::report::board::{Board, collecting_s, share};
use crate::gc_bench::report::html::{escape, link, of_cell, of_contender, table, words};
use crate::gc_bench::row::Row;
use crate::gc_bench::watch;
use crate::harness::sample::geomean;

/// Tables for each share of local memory with more than one contender.
pub fn section(board: &Board) -> String {
    let mut shares: Vec<u32> = board.contenders.iter().map(|name| local_share(name)).collect();
    shares.sort();
    shares.dedup();
    let mut text = format!("<p class=\"quiet\">{NOTE}</p>\n");
    for share in shares {
        let group = Group::of(board, share);
        if group.contenders.len() < 2 {
            continue;
        }
        text += &format!("<h3>{share} % local memory</h3>\n{}", group.summary());
        for cost in &COSTS {
            text += &group.by_workload(cost);
        }
    }
    text
}

/// A cost of a run, and the part of it that is plainly the collector's.
struct Cost {
    name: &'static str,
    whole: fn(&Row) -> Option<f64>,
    collectors: fn(&Row) -> Option<f64>,
}

const COSTS: [Cost; 3] = [
    Cost { name: "time", whole: |row| row.figure(WALL), collectors: collecting_s },
    Cost {
        name: "CPU time",
        whole: |row| row.counts().then_some(row.resources.program_s + row.resources.servers_s),
        collectors: |row| Some(watch::collector_s(&row.resources.threads_s)),
    },
    Cost {
        name: "bytes fetched",
        whole: |row| Some(row.far.filter(|_| row.counts())?.fetched_bytes as f64),
        // Pages that the collector fetches may be those that the program uses next.
        collectors: |_| None,
    },
];

/// The contenders at one share of local memory.
struct Group<'a> {
    board: &'a Board<'a>,
    contenders: Vec<usize>,
}

impl<'a> Group<'a> {
    fn of(board: &'a Board<'a>, share: u32) -> Group<'a> {
        let is_of_it = |at: &usize| {
            let name = &board.contenders[*at];
            local_share(name) == share && !name.ends_with(AGAIN) && !board.has_own_network(name)
        };
        Group { board, contenders: (0..board.contenders.len()).filter(is_of_it).collect() }
    }

    /// The smallest rest of any contender on a workload.
    fn ideal(&self, workload: usize, cost: &Cost) -> Option<f64> {
        let rest = |row: &Row| Some((cost.whole)(row)? - (cost.collectors)(row).unwrap_or(0.0));
        let rests = self.contenders.iter().filter_map(|contender| {
            self.board.cell(workload, *contender).median(rest).filter(|rest| *rest > 0.0)
        });
        rests.min_by(f64::total_cmp)
    }

    fn factor(&self, workload: usize, contender: usize, cost: &Cost) -> Option<f64> {
        let whole = self.board.cell(workload, contender).median(cost.whole)?;
        Some(whole / self.ideal(workload, cost)?).filter(|factor| *factor > 0.0)
    }

    fn workloads(&self) -> Range<usize> {
        0..self.board.workloads.len()
    }

    /// The geometric mean over the workloads that have this cost, and their number.
    fn mean(&self, contender: usize, cost: &Cost) -> Option<(f64, usize)> {
        let factors: Vec<f64> =
            self.workloads().filter_map(|at| self.factor(at, contender, cost)).collect();
        Some((geomean(&factors)?, factors.len()))
    }

    /// A line for each contender, a column for each cost.
    fn summary(&self) -> String {
        let mut head = words(&["contender"]);
        head.extend(COSTS.iter().map(|cost| cost.name.to_string()));
        head.push("workloads".to_string());
        let mut lines = vec![head];
        for contender in &self.contenders {
            let means: Vec<_> = COSTS.iter().map(|cost| self.mean(*contender, cost)).collect();
            let name = escape(&self.board.contenders[*contender]);
            let mut line = vec![link(&of_contender(*contender), &name)];
            line.extend(means.iter().map(|mean| or_dash(mean.map(|(mean, _)| mean))));
            line.push(means[0].map_or("0".to_string(), |(_, workloads)| workloads.to_string()));
            lines.push(line);
        }
        table(&lines)
    }

    /// A folded table with a line for each contender and a column for each workload; "" if no run has the cost.
    fn by_workload(&self, cost: &Cost) -> String {
        let has_it = |at: &usize| self.ideal(*at, cost).is_some();
        let workloads: Vec<usize> = self.workloads().filter(has_it).collect();
        if workloads.is_empty() {
            return String::new();
        }
        let mut lines = vec![words(&["contender"])];
        lines[0].extend(workloads.iter().map(|at| escape(&self.board.workloads[*at])));
        lines[0].push("geometric mean".to_string());
        for contender in &self.contenders {
            let mut line = vec![escape(&self.board.contenders[*contender])];
            line.extend(workloads.iter().map(|at| {
                let factor = self.factor(*at, *contender, cost);
                factor.map_or("-".to_string(), |factor| {
                    link(&of_cell(*at, *contender), &format!("{factor:.2}"))
                })
            }));
            line.push(or_dash(self.mean(*contender, cost).map(|(mean, _)| mean)));
            lines.push(line);
        }
        format!("<details><summary>{}</summary>\n{}</details>\n", cost.name, table(&lines))
    }
}

/// A contender without a share in its name has all of its memory local.
fn local_share(contender: &str) -> u32 {
    share(contender).unwrap_or(100)
}

fn or_dash(factor: Option<f64>) -> String {
    factor.map_or("-".to_string(), |factor| format!("{factor:.2}"))
}

const NOTE: &str = "The cost of each contender over the smallest cost of any contender at that share of local memory, \
    without the part that is plainly the collector's: of time the stops for collecting, of CPU time that of the \
    collector's threads. No contender's overhead is less than this; 1.00 would be a collector without cost. Geometric \
    means over workloads, medians of runs. CPU time is the program's and the servers' together, bytes fetched are \
    pages from remote memory.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc_bench::counters::Far;
    use crate::gc_bench::manifest::tests::example;
    use crate::gc_bench::row::Verdict;
    use crate::gc_bench::row::tests::row;
    use crate::gc_bench::trace::Lengths;

    /// Seconds in all and stopped, CPU seconds in all and of the collector, pages.
    fn run(workload: &str, contender: &str, costs: [f64; 5]) -> Row {
        let mut row = row(workload, contender, 0, costs[0]);
        let lengths = Lengths { total_ms: costs[1] * 1e3, ..Lengths::default() };
        row.pauses.collecting = Some(lengths);
        row.resources.program_s = costs[2];
        row.resources.threads_s.insert("Mako".to_string(), costs[3]);
        row.far = Some(Far { fetched_bytes: costs[4] as u64 * 4096, ..Far::default() });
        row
    }

    fn cells(text: &str, contender: &str) -> Vec<String> {
        let line = text.lines().find(|line| line.contains(&format!(">{contender}</a></td>")));
        let line = line.unwrap_or_else(|| panic!("no {contender} in {text}"));
        line.split("<td>").skip(2).map(|cell| cell.split('<').next().unwrap().into()).collect()
    }

    #[test]
    fn costs_are_above_the_best_rest_of_any_contender() {
        let mut rows = vec![
            run("a", "g1 25%", [5.0, 1.0, 8.0, 2.0, 100.0]),
            run("a", "mako 25%", [6.0, 0.0, 9.0, 6.0, 50.0]),
            run("b", "g1 25%", [2.0, 1.0, 2.0, 1.0, 10.0]),
            run("b", "mako 25%", [4.0, 0.0, 4.0, 3.0, 40.0]),
            run("a", "hotspot-g1", [1.0, 0.5, 1.0, 0.5, 1.0]),
        ];
        let text = section(&Board::new(&rows, &example()));
        // Over 4 s and 1 s; over 3 s and 1 s of CPU time; over 50 and 10 pages.
        let mean = |a: f64, b: f64| format!("{:.2}", (a * b).sqrt());
        let g1 = [mean(5.0 / 4.0, 2.0), mean(8.0 / 3.0, 2.0), mean(2.0, 1.0), "2".to_string()];
        assert_eq!(cells(&text, "g1 25%"), g1);
        let mako = [mean(6.0 / 4.0, 4.0), mean(3.0, 4.0), mean(1.0, 4.0), "2".to_string()];
        assert_eq!(cells(&text, "mako 25%"), mako);
        assert!(!text.contains("100 %"), "one contender alone has no bound: {text}");
        rows[2].verdict = Verdict::Failed;
        let text = section(&Board::new(&rows, &example()));
        assert_eq!(cells(&text, "g1 25%")[3], "1");
        assert_eq!(cells(&text, "mako 25%")[0], mean(6.0 / 4.0, 1.0), "{text}");
    }
}
