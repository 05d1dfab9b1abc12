//! The tables of the two papers beside ours: Mako's section 3.5 and MemLiner's section 4.6.
//!
//! The papers ran other programs, on other machines, with heaps of 16 and 32 GiB and RDMA. What can be compared is
//! who wins and by how many times, not milliseconds.

use crate::gc_bench::compare::number;
use crate::gc_bench::report::board::{Board, application_s, collecting_s};
use crate::gc_bench::report::html::{escape, table, words};
use crate::gc_bench::row::Row;

/// The section's HTML.
pub fn section(board: &Board) -> String {
    let mut text = String::from(
        "<p class=\"quiet\">The papers' programs, heaps (16 and 32 GiB), machines and networks are others: compare who \
         wins and by how many times, not milliseconds. A dash: these rows do not tell.</p>\n",
    );
    text += "<h3>Mako: throughput as a multiple of Shenandoah's (section 3.5.1)</h3>\n";
    text += &throughput(board);
    text += "<h3>Mako: pauses at 25 % local memory, milliseconds (table 3.3)</h3>\n";
    text += "<p class=\"quiet\">Ours: stops as the VM reports them, of all right runs of the program that stands for \
             the paper's one; the average, the longest, the sum per run.</p>\n";
    text += &pauses(board);
    text += "<h3>Mako: what the indirection table costs (tables 3.4 to 3.6)</h3>\n";
    text += &overhead(board);
    text += "<h3>MemLiner: how many times faster than the collector that it is built on (table 4.2)</h3>\n";
    text += &speedups(board);
    text += "<h3>MemLiner: pages fetched less than without it (sections 4.6.2, 4.6.3)</h3>\n";
    text += &swap_ins(board);
    text += "<h3>MemLiner: how many times slower than with all memory local (section 4.6.2)</h3>\n";
    text += &slowdowns(board);
    text
}

/// How many times the time of `base` is that of `new`, at a share of local memory each.
fn times(board: &Board, base: (&str, u32), new: (&str, u32), figure: Figure) -> Option<f64> {
    let (base, new) = (board.ours(base.0, base.1)?, board.ours(new.0, new.1)?);
    match figure {
        None => board.ratio(base, new).map(|mean| mean.mean),
        Some(figure) => board.mean_of(base, new, |row, _| figure(row)).map(|mean| mean.mean),
    }
}

/// `None`: the one by which the workload is compared.
type Figure = Option<fn(&Row) -> Option<f64>>;

fn throughput(board: &Board) -> String {
    let mut lines = vec![words(&["local memory", "paper", "ours"])];
    for (share, paper) in [(50, 1.75), (25, 2.57), (13, 4.10)] {
        let ours = times(board, ("shenandoah", share), ("mako", share), None);
        lines.push(vec![format!("{share} %"), factor(Some(paper)), factor(ours)]);
    }
    table(&lines)
}

fn pauses(board: &Board) -> String {
    let mut head = words(&["", "collector"]);
    head.extend(PROGRAMS.iter().map(|(name, ours)| format!("{name}<br>{}", ours[0])));
    let mut lines = vec![head];
    for (what, rows) in PAUSES {
        for (collector, paper) in rows {
            let mut line = vec![what.to_string(), format!("{collector}, paper")];
            line.extend(paper.iter().map(|ms| ms.map_or("-".to_string(), number)));
            lines.push(line);
            let mut line = vec![what.to_string(), format!("{collector}, ours")];
            for (_, ours) in PROGRAMS {
                let found =
                    ours.iter().find_map(|workload| stops(board, workload, collector, what));
                line.push(found.unwrap_or("-".to_string()));
            }
            lines.push(line);
        }
    }
    table(&lines)
}

/// With a link to the rows.
fn stops(board: &Board, workload: &str, collector: &str, what: &str) -> Option<String> {
    let contender = board.ours(collector, 25)?;
    let workload = board.workloads.iter().position(|name| name == workload)?;
    let cell = board.cell(workload, contender);
    let all: Vec<_> = cell.right().filter_map(|row| row.pauses.collecting).collect();
    let runs = all.len() as f64;
    let (count, total) = all.iter().fold((0, 0.0), |(count, total), lengths| {
        (count + lengths.count, total + lengths.total_ms)
    });
    if count == 0 {
        return None;
    }
    let value = match what {
        AVERAGE => total / count as f64,
        LONGEST => all.iter().map(|lengths| lengths.max_ms).fold(0.0, f64::max),
        _ => total / runs,
    };
    Some(format!("<a href=\"#c{workload}-{contender}\">{}</a>", number(value)))
}

fn overhead(board: &Board) -> String {
    let mut head = words(&["", ""]);
    head.extend(PROGRAMS.iter().map(|(name, _)| escape(name)));
    let mut lines = vec![head];
    for (what, paper) in OVERHEADS {
        let mut line = vec![what.to_string(), "paper".to_string()];
        line.extend(paper.iter().map(|percent| format!("{percent:.2} %")));
        lines.push(line);
    }
    let with_table = board.place("mako 100%");
    let without = board.place("mako 100% -XX:-UseHIT");
    let ours = with_table.zip(without).and_then(|(new, base)| board.ratio(new, base));
    let ours = match ours {
        Some(mean) => format!(
            "{:.1} % of time, over {} workloads (these rows: Mako with its table against <code>-XX:-UseHIT</code>)",
            (mean.mean - 1.0) * 100.0,
            mean.workloads
        ),
        None => "not in these rows: <code>make bench-hit</code> measures it".to_string(),
    };
    table(&lines) + "<p>Ours, table and entries together: " + &ours + "</p>\n"
}

fn speedups(board: &Board) -> String {
    let mut lines =
        vec![words(&["built on", "local memory", "", "application", "collecting", "all"])];
    for (base, share, paper) in SPEEDUPS {
        let liner = format!("memliner-{base}");
        let mut line = vec![base.to_string(), format!("{share} %"), "paper".to_string()];
        line.extend(paper.iter().map(|times| factor(Some(*times))));
        lines.push(line);
        let mut line = vec![base.to_string(), format!("{share} %"), "ours".to_string()];
        let figures: [Figure; 3] = [Some(application_s), Some(collecting_s), None];
        for figure in figures {
            line.push(factor(times(board, (base, share), (liner.as_str(), share), figure)));
        }
        lines.push(line);
    }
    table(&lines)
}

fn swap_ins(board: &Board) -> String {
    let mut lines = vec![words(&["built on", "local memory", "", "on demand", "all pages"])];
    let faults: fn(&Row) -> Option<f64> =
        |row| row.far.map(|far| (far.program_faults + far.collector_faults) as f64);
    let bytes: fn(&Row) -> Option<f64> = |row| row.far.map(|far| far.fetched_bytes as f64);
    for (base, share, paper) in SWAP_INS {
        let liner = format!("memliner-{base}");
        let percent = |times: Option<f64>| match times {
            Some(times) => format!("-{:.0} %", (1.0 - 1.0 / times) * 100.0),
            None => "-".to_string(),
        };
        let mut line = vec![base.to_string(), format!("{share} %"), "paper".to_string()];
        line.extend(paper.iter().map(|less| format!("-{less} %")));
        lines.push(line);
        let mut line = vec![base.to_string(), format!("{share} %"), "ours".to_string()];
        for figure in [faults, bytes] {
            line.push(percent(times(board, (base, share), (liner.as_str(), share), Some(figure))));
        }
        lines.push(line);
    }
    table(&lines)
}

fn slowdowns(board: &Board) -> String {
    let mut lines = vec![words(&["collector", "local memory", "paper", "ours"])];
    for (collector, share, paper) in SLOWDOWNS {
        let ours = times(board, (collector, share), ("g1", 100), None);
        let (name, share) = (collector.to_string(), format!("{share} %"));
        lines.push(vec![name, share, factor(Some(paper)), factor(ours)]);
    }
    table(&lines)
}

fn factor(times: Option<f64>) -> String {
    times.map_or("-".to_string(), |times| format!("{times:.2}×"))
}

/// The papers' programs in the order of their tables, and those of ours that stand for them, the best one first.
const PROGRAMS: [(&str, &[&str]); 7] = [
    ("DTS", &["market"]),
    ("DTB", &["market"]),
    ("DH2", &["h2", "tables"]),
    ("CII", &["columns-insert"]),
    ("CUI", &["columns-update"]),
    ("SPR", &["spark-pagerank", "dataset-pagerank"]),
    ("STC", &["spark-closure", "dataset-closure"]),
];

const AVERAGE: &str = "average";
const LONGEST: &str = "longest";
const SUM: &str = "sum";

type OfCollectors = [(&'static str, [Option<f64>; 7]); 3];

/// Table 3.3. Semeru crashed in STC: its average and longest are those before.
const PAUSES: [(&str, OfCollectors); 3] = [
    (
        AVERAGE,
        [
            (
                "mako",
                [
                    Some(6.06),
                    Some(5.54),
                    Some(10.37),
                    Some(4.63),
                    Some(5.34),
                    Some(10.13),
                    Some(9.90),
                ],
            ),
            (
                "shenandoah",
                [
                    Some(7.24),
                    Some(3.67),
                    Some(1.40),
                    Some(8.24),
                    Some(5.48),
                    Some(15.40),
                    Some(26.28),
                ],
            ),
            (
                "semeru",
                [
                    Some(113.10),
                    Some(345.13),
                    Some(1627.95),
                    Some(1699.54),
                    Some(2463.27),
                    Some(1303.0),
                    Some(701.82),
                ],
            ),
        ],
    ),
    (
        LONGEST,
        [
            (
                "mako",
                [
                    Some(15.34),
                    Some(13.78),
                    Some(21.11),
                    Some(11.84),
                    Some(13.55),
                    Some(37.74),
                    Some(69.48),
                ],
            ),
            (
                "shenandoah",
                [
                    Some(86.22),
                    Some(21.03),
                    Some(8.81),
                    Some(74.97),
                    Some(118.91),
                    Some(78.21),
                    Some(183.73),
                ],
            ),
            (
                "semeru",
                [
                    Some(190.52),
                    Some(502.78),
                    Some(3266.01),
                    Some(4323.3),
                    Some(3599.7),
                    Some(5988.406),
                    Some(3066.45),
                ],
            ),
        ],
    ),
    (
        SUM,
        [
            (
                "mako",
                [
                    Some(181.78),
                    Some(183.249),
                    Some(66.99),
                    Some(333.31),
                    Some(272.45),
                    Some(658.38),
                    Some(1544.71),
                ],
            ),
            (
                "shenandoah",
                [
                    Some(188.12),
                    Some(117.27),
                    Some(33.61),
                    Some(1639.21),
                    Some(1614.33),
                    Some(1524.07),
                    Some(5519.67),
                ],
            ),
            (
                "semeru",
                [
                    Some(2374.96),
                    Some(4486.61),
                    Some(11395.59),
                    Some(79877.97),
                    Some(86214.51),
                    Some(56028.832),
                    None,
                ],
            ),
        ],
    ),
];

/// Tables 3.4, 3.5 and 3.6, percent.
const OVERHEADS: [(&str, [f64; 7]); 3] = [
    ("translating addresses: time", [9.41, 16.19, 21.73, 9.69, 6.18, 7.23, 8.81]),
    ("allocating entries: time", [3.53, 2.41, 1.33, 0.71, 0.83, 1.48, 2.34]),
    ("memory", [8.64, 14.33, 14.35, 13.62, 14.66, 14.78, 25.61]),
];

/// Table 4.2.
const SPEEDUPS: [(&str, u32, [f64; 3]); 4] = [
    ("g1", 25, [1.45, 1.65, 1.48]),
    ("g1", 13, [1.46, 1.79, 1.51]),
    ("shenandoah", 25, [1.88, 15.33, 2.16]),
    ("shenandoah", 13, [1.60, 6.20, 1.80]),
];

/// Percent less. Of G1 the paper gives one figure for both shares.
const SWAP_INS: [(&str, u32, [u32; 2]); 4] = [
    ("g1", 25, [81, 56]),
    ("g1", 13, [81, 56]),
    ("shenandoah", 25, [82, 56]),
    ("shenandoah", 13, [79, 22]),
];

const SLOWDOWNS: [(&str, u32, f64); 4] =
    [("g1", 25, 2.17), ("g1", 13, 3.73), ("memliner-g1", 25, 1.47), ("memliner-g1", 13, 2.48)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc_bench::manifest::tests::example;
    use crate::gc_bench::row::tests::row;
    use crate::gc_bench::trace::Lengths;

    #[test]
    fn ours_stand_beside_the_papers() {
        let mut rows = Vec::new();
        for (contender, seconds) in
            [("mako 25%", 2.0), ("shenandoah 25%", 6.0), ("g1 100%", 1.0), ("g1 25%", 3.0)]
        {
            let mut one = row("market", contender, 0, seconds);
            let lengths = Lengths { count: 4, total_ms: 50.0, max_ms: 33.25, ..Lengths::default() };
            one.pauses.collecting = Some(lengths);
            rows.push(one);
        }
        let board = Board::new(&rows, &example());
        let text = section(&board);
        assert!(text.contains("<td>25 %</td><td>2.57×</td><td>3.00×</td>"), "{text}");
        assert!(text.contains("<td>13 %</td><td>4.10×</td><td>-</td>"));
        assert!(text.contains("<td>g1</td><td>25 %</td><td>2.17×</td><td>3.00×</td>"));
        let place = board.place("mako 25%").unwrap();
        for value in ["12.50", "33.25", "50.00"] {
            assert!(text.contains(&format!("<a href=\"#c0-{place}\">{value}</a>")), "{value}");
        }
    }
}
