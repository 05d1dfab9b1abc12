//! The tables of the two papers beside ours: Mako's section 3.5 and MemLiner's section 4.6.
//!
//! The papers ran other programs, on other machines, with heaps of 16 and 32 GiB and RDMA. The order of the
//! collectors and the factors between them can be compared, not milliseconds.

use base::units::parse_bytes;

use crate::gc_bench::compare::{is_more_better, number};
use crate::gc_bench::evidence;
use crate::gc_bench::report::board::{Board, application_s, collecting_s, collector, share};
use crate::gc_bench::report::html::{link, of_cell, of_contender, table, words};
use crate::gc_bench::row::Row;

/// The section's HTML.
pub fn section(board: &Board) -> String {
    let mut text = String::from(
        "<p class=\"quiet\">The papers' programs, heaps (16 and 32 GiB), machines and networks differ: compare \
         ratios, not milliseconds. A dash: the paper has no figure.</p>\n",
    );
    text += "<h3>Mako: throughput as a multiple of Shenandoah's (section 3.5.1)</h3>\n";
    text += &throughput(board);
    text += "<h3>Mako: pauses at 25 % local memory, milliseconds (table 3.3, section 3.5.2)</h3>\n";
    text += "<p class=\"quiet\">Ours: stops as the VM reports them, of all right runs of the program that stands for \
             the paper's one; the average, the 90th percentile (median of runs), the longest, the sum per run.</p>\n";
    text += &pauses(board);
    text += "<h3>Mako: cost of the indirection table (tables 3.4 to 3.6)</h3>\n";
    text += &overhead(board);
    text += "<h3>Mako: sizes of regions (section 3.5.5)</h3>\n";
    text += &region_sizes(board);
    text += "<h3>MemLiner: speedup over the collector that it extends (table 4.2)</h3>\n";
    text += &speedups(board);
    text += "<h3>MemLiner: reduction of fetched pages (sections 4.6.2, 4.6.3)</h3>\n";
    text += &swap_ins(board);
    text += "<h3>MemLiner: effect on a prefetcher (section 4.6.4: G1, 25 %, Leap)</h3>\n";
    text += &prefetching(board);
    text += "<h3>MemLiner: slowdown against all memory local (section 4.6.2)</h3>\n";
    text += &slowdowns(board);
    text
}

/// How many times the time of `base` is that of `new`, at a share of local memory each.
fn times(board: &Board, base: (&str, u32), new: (&str, u32), figure: Figure) -> Option<Times> {
    let (base, new) = (board.ours(base.0, base.1)?, board.ours(new.0, new.1)?);
    let mean = match figure {
        None => board.ratio(base, new)?,
        Some(figure) => board.mean_of(base, new, |row, _| figure(row))?,
    };
    Some(Times { mean: mean.mean, new })
}

/// A figure of ours, and the contender whose runs it is of.
struct Times {
    mean: f64,
    new: usize,
}

/// With a link to the contender's runs.
fn of_ours(times: Option<Times>, text: impl Fn(f64) -> String) -> String {
    times.map_or(NONE.to_string(), |times| link(&of_contender(times.new), &text(times.mean)))
}

/// `None`: the one by which the workload is compared.
type Figure = Option<fn(&Row) -> Option<f64>>;

fn throughput(board: &Board) -> String {
    let mut lines =
        vec![words(&["local memory", "paper", "ours", "as a multiple of Semeru's, ours"])];
    for (share, paper) in [(50, 1.75), (25, 2.57), (13, 4.10)] {
        let ours = times(board, ("shenandoah", share), ("mako", share), None);
        let semeru = times(board, ("semeru", share), ("mako", share), None);
        let share = format!("{share} %");
        lines.push(vec![share, factor(paper), of_ours(ours, factor), of_ours(semeru, factor)]);
    }
    table(&lines)
        + "<p class=\"quiet\">The paper says of Semeru: on a par with it, slightly less.</p>\n"
}

fn pauses(board: &Board) -> String {
    let mut head = words(&["", "collector"]);
    head.extend(programs(board));
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
                line.push(found.unwrap_or(NONE.to_string()));
            }
            lines.push(line);
        }
    }
    table(&lines)
}

/// The papers' programs, and the program of ours that stands for each in this report.
fn programs(board: &Board) -> impl Iterator<Item = String> {
    PROGRAMS.iter().map(|(name, ours)| {
        let here = ours.iter().find(|name| board.workloads.iter().any(|here| here == *name));
        format!("{name}<br>{}", here.unwrap_or(&ours[0]))
    })
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
        NINETIETH => {
            let of_runs: Vec<f64> = all.iter().map(|lengths| lengths.p90_ms).collect();
            evidence::median(&of_runs)
        }
        LONGEST => all.iter().map(|lengths| lengths.max_ms).fold(0.0, f64::max),
        _ => total / runs,
    };
    Some(link(&of_cell(workload, contender), &number(value)))
}

fn overhead(board: &Board) -> String {
    let mut head = words(&["", ""]);
    head.extend(programs(board));
    head.push("all".to_string());
    let mut lines = vec![head];
    let besides = with_same_options(board);
    let without = |option| board.variant("mako", 100, format!("{besides} {option}").trim_start());
    let plain = match besides {
        "" => board.ours("mako", 100),
        more => board.variant("mako", 100, more),
    };
    let pairs = [
        (plain, without(NO_TRANSLATION)),
        (without(NO_TRANSLATION), without(NO_TABLE)),
        (plain, without(NO_TABLE)),
    ];
    for (place, (what, paper)) in OVERHEADS.iter().enumerate() {
        if let Some(paper) = paper {
            let mut line = vec![what.to_string(), "paper".to_string()];
            line.extend(paper.iter().map(|percent| format!("{percent:.2} %")));
            line.push("-".to_string());
            lines.push(line);
        }
        let mut line = vec![what.to_string(), "ours".to_string()];
        let Some(pair) = pairs.get(place) else {
            let share = MEMORY_SHARES[place - pairs.len()];
            line.extend(PROGRAMS.iter().map(|(_, ours)| table_memory(board, share, Some(ours))));
            line.push(table_memory(board, share, None));
            lines.push(line);
            continue;
        };
        let percent = |of: &dyn Fn(usize, usize) -> Option<f64>| match pair {
            (Some(new), Some(base)) => {
                let times = of(*new, *base).map(|mean| Times { mean, new: *new });
                of_ours(times, |times| format!("{:+.1} %", (times - 1.0) * 100.0))
            }
            _ => NONE.to_string(),
        };
        line.extend(PROGRAMS.iter().map(|(_, ours)| {
            percent(&|new, base| ours.iter().find_map(|name| ratio_in(board, name, new, base)))
        }));
        line.push(percent(&|new, base| board.ratio(new, base).map(|mean| mean.mean)));
        lines.push(line);
    }
    table(&lines)
        + "<p class=\"quiet\">Ours, time: Mako with all memory local against itself with \
           <code>-XX:-UseHITTranslation</code>, that one against <code>-XX:-UseHIT</code>, and the first against the \
           last. Neither of the two collects as Mako does, so it is exact only in a heap that is never collected, as \
           that of <code>make bench-hit</code> and of <code>gc-bench run --also 'mako@100 -Xmx4g' --also 'mako@100 \
           -Xmx4g -XX:-UseHIT' --also 'mako@100 -Xmx4g -XX:-UseHITTranslation'</code>. Memory: tablets in \
           use after the last collection, as a part of the heap's size. Servers' memory: all tables of the agents \
           then, with the servers' copies of the tablets. \"All\": the geometric mean (of memory the \
           median) over the workloads here.</p>\n"
}

/// The further options of the three contenders that show the cost of the table: nothing, or such as `-Xmx4g`.
fn with_same_options<'a>(board: &'a Board) -> &'a str {
    let extras = board.extras("mako", 100);
    let is_complete = |besides: &&&str| {
        let with = |option: &str| extras.contains(&format!("{besides} {option}").trim_start());
        with(NO_TABLE) && with(NO_TRANSLATION)
    };
    extras.iter().find(is_complete).copied().unwrap_or("")
}

/// How many times the time of `base` the contender `new` takes on one workload.
fn ratio_in(board: &Board, workload: &str, new: usize, base: usize) -> Option<f64> {
    let place = board.workloads.iter().position(|name| name == workload)?;
    let metric = &board.metrics[place];
    let median = |contender| board.cell(place, contender).median(|row| row.figure(metric));
    let (new, base) = (median(new)?, median(base)?);
    let times = if is_more_better(metric) { base / new } else { new / base };
    times.is_finite().then_some(times)
}

/// The share of the heap that Mako's tables take, in the first of the workloads that measured it, or the median of
/// all.
fn table_memory(
    board: &Board,
    share: fn(&Row) -> Option<f64>,
    workloads: Option<&[&str]>,
) -> String {
    let Some(contender) = board.ours("mako", 25).or(board.ours("mako", 100)) else {
        return NONE.to_string();
    };
    let of = |place: usize| board.cell(place, contender).median(share);
    let place = |workload: &&str| board.workloads.iter().position(|name| name == workload);
    let share = match workloads {
        Some(names) => names.iter().filter_map(place).find_map(of),
        None => {
            let all: Vec<f64> = (0..board.workloads.len()).filter_map(of).collect();
            (!all.is_empty()).then(|| evidence::median(&all))
        }
    };
    of_ours(share.map(|mean| Times { mean, new: contender }), |share| {
        format!("{:.1} %", 100.0 * share)
    })
}

/// The curve that rows with `-XX:RegionSize` make.
fn region_sizes(board: &Board) -> String {
    let mut lines = vec![words(&[
        "",
        "regions",
        "local memory",
        "time",
        "average pause, ms",
        "longest, ms",
        "workloads",
    ])];
    for (megabytes, seconds, pause) in REGION_SIZES {
        let time = format!("{:.3}×", seconds / REGION_SIZES[1].1);
        let pause = number(pause);
        let line = ["paper", &format!("{megabytes} MB"), "25 %", &time, &pause, "-", "SPR"];
        lines.push(words(&line));
    }
    let mut sized: Vec<(usize, u32, usize)> = Vec::new();
    for (place, name) in board.contenders.iter().enumerate() {
        let size = name.split(' ').find_map(|word| parse_bytes(word.strip_prefix(REGION_SIZE)?));
        if let (Some(size), Some(share), "mako") = (size, share(name), collector(name)) {
            sized.push((size, share, place));
        }
    }
    sized.sort_by_key(|(size, share, _)| (*share, *size));
    for (size, share, place) in &sized {
        // Beside the size in the middle at the same share, as the paper's 16 MB.
        let same: Vec<_> = sized.iter().filter(|other| other.1 == *share).collect();
        let Some(mean) = board.ratio(*place, same[same.len() / 2].2) else { continue };
        let all: Vec<_> = (0..board.workloads.len())
            .flat_map(|workload| board.cell(workload, *place).right().collect::<Vec<&Row>>())
            .filter_map(|row| row.pauses.collecting)
            .collect();
        let count: usize = all.iter().map(|lengths| lengths.count).sum();
        let total: f64 = all.iter().map(|lengths| lengths.total_ms).sum();
        let longest = all.iter().map(|lengths| lengths.max_ms).fold(0.0, f64::max);
        lines.push(vec![
            "ours".to_string(),
            format!("{} MB", number(*size as f64 / (1 << 20) as f64)),
            format!("{share} %"),
            link(&of_contender(*place), &format!("{:.3}×", mean.mean)),
            if count > 0 { number(total / count as f64) } else { NONE.to_string() },
            number(longest),
            mean.workloads.to_string(),
        ]);
    }
    let mut text = table(&lines);
    if sized.is_empty() {
        text += "<p>Ours: not measured; options such as <code>--also 'mako -XX:RegionSize=8m'</code> measure it.</p>\n";
    }
    text
}

fn prefetching(board: &Board) -> String {
    let coverage: fn(&Row) -> Option<f64> = |row| row.far?.prefetch_coverage;
    let accuracy: fn(&Row) -> Option<f64> = |row| row.far?.prefetch_accuracy;
    let mut lines = vec![words(&["", "paper", "ours"])];
    for (what, paper, figure) in [("coverage", 1.5, coverage), ("accuracy", 1.7, accuracy)] {
        let ours = times(board, ("memliner-g1", 25), ("g1", 25), Some(figure));
        lines.push(vec![what.to_string(), factor(paper), of_ours(ours, factor)]);
    }
    table(&lines)
        + "<p class=\"quiet\">Ours with the prefetcher of these rows, which is Leap only with \
           <code>-XX:Prefetcher=leap</code>.</p>\n"
}

fn speedups(board: &Board) -> String {
    let mut lines =
        vec![words(&["built on", "local memory", "", "application", "collecting", "all"])];
    for (base, share, paper) in SPEEDUPS {
        let liner = format!("memliner-{base}");
        let mut line = vec![base.to_string(), format!("{share} %"), "paper".to_string()];
        line.extend(paper.iter().map(|times| factor(*times)));
        lines.push(line);
        let mut line = vec![base.to_string(), format!("{share} %"), "ours".to_string()];
        let figures: [Figure; 3] = [Some(application_s), Some(collecting_s), None];
        for figure in figures {
            let ours = times(board, (base, share), (liner.as_str(), share), figure);
            line.push(of_ours(ours, factor));
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
        let percent = |times: f64| format!("{:+.0} %", (1.0 / times - 1.0) * 100.0);
        let mut line = vec![base.to_string(), format!("{share} %"), "paper".to_string()];
        line.extend(paper.iter().map(|less| format!("-{less} %")));
        lines.push(line);
        let mut line = vec![base.to_string(), format!("{share} %"), "ours".to_string()];
        for figure in [faults, bytes] {
            let ours = times(board, (base, share), (liner.as_str(), share), Some(figure));
            line.push(of_ours(ours, percent));
        }
        lines.push(line);
    }
    table(&lines)
}

fn slowdowns(board: &Board) -> String {
    let mut lines = vec![words(&["collector", "local memory", "paper", "ours"])];
    for (collector, share, paper) in SLOWDOWNS {
        let place = board.ours(collector, share);
        let ours = times(board, (collector, share), ("g1", 100), None)
            .map(|times| Times { new: place.unwrap_or(times.new), ..times });
        let (name, share) = (collector.to_string(), format!("{share} %"));
        lines.push(vec![name, share, factor(paper), of_ours(ours, factor)]);
    }
    table(&lines)
}

fn factor(times: f64) -> String {
    format!("{times:.2}×")
}

/// For a figure that no row has.
const NONE: &str = "<span class=\"quiet\">not measured</span>";

/// Options of Mako for ablations of its table, in whole and in part.
const NO_TABLE: &str = "-XX:-UseHIT";
const NO_TRANSLATION: &str = "-XX:-UseHITTranslation";

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
const NINETIETH: &str = "90 %";
const LONGEST: &str = "longest";
const SUM: &str = "sum";

type OfCollectors = [(&'static str, [Option<f64>; 7]); 3];

/// Table 3.3. Semeru crashed in STC: its average and longest are those before the crash.
const PAUSES: [(&str, OfCollectors); 4] = [
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
        NINETIETH,
        [
            ("mako", [None, Some(11.0), None, None, None, Some(18.0), None]),
            ("shenandoah", [None, Some(14.0), None, None, None, Some(42.0), None]),
            ("semeru", [None; 7]),
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
const OVERHEADS: [(&str, Option<[f64; 7]>); 5] = [
    ("translating addresses: time", Some([9.41, 16.19, 21.73, 9.69, 6.18, 7.23, 8.81])),
    ("allocating entries: time", Some([3.53, 2.41, 1.33, 0.71, 0.83, 1.48, 2.34])),
    ("both: time", None),
    ("memory", Some([8.64, 14.33, 14.35, 13.62, 14.66, 14.78, 25.61])),
    ("servers' memory", None),
];

/// Ours of the last lines of these.
const MEMORY_SHARES: [fn(&Row) -> Option<f64>; 2] =
    [|row| row.table_share, |row| row.server_table_share];

/// Section 3.5.5: megabytes, seconds of SPR at 25 % local memory, milliseconds of an average pause.
const REGION_SIZES: [(u32, f64, f64); 3] =
    [(8, 281.59, 8.13), (16, 272.71, 10.1), (32, 270.99, 15.32)];

/// The option of our VM, as rows' names have it.
const REGION_SIZE: &str = "-XX:RegionSize=";

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
        let place = |contender| board.place(contender).unwrap();
        let ours = |contender| format!("<a href=\"#k{}\">3.00×</a>", place(contender));
        let beside = format!("<td>25 %</td><td>2.57×</td><td>{}</td>", ours("mako 25%"));
        assert!(text.contains(&beside), "{text}");
        assert!(text.contains(
            "<td>13 %</td><td>4.10×</td><td><span class=\"quiet\">not measured</span></td>"
        ));
        let slower = format!("<td>g1</td><td>25 %</td><td>2.17×</td><td>{}</td>", ours("g1 25%"));
        assert!(text.contains(&slower), "{text}");
        let place = place("mako 25%");
        for value in ["12.50", "33.25", "50.00"] {
            assert!(text.contains(&format!("<a href=\"#c0-{place}\">{value}</a>")), "{value}");
        }
    }

    #[test]
    fn what_the_table_costs_is_made_of_three_kinds_of_rows() {
        let mut rows = Vec::new();
        for (option, seconds) in
            [("", 1.32), (" -XX:-UseHITTranslation", 1.2), (" -XX:-UseHIT", 1.0)]
        {
            for workload in ["columns-insert", "study-rate"] {
                let mut one = row(workload, &format!("mako 100%{option}"), 0, seconds);
                one.table_share = option.is_empty().then_some(0.125);
                one.server_table_share = option.is_empty().then_some(0.25);
                rows.push(one);
            }
        }
        let text = overhead(&Board::new(&rows, &example()));
        let ours = |what: &str| {
            let line = text.lines().find(|line| line.contains(&format!("<td>{what}</td><td>ours")));
            line.unwrap_or_else(|| panic!("no {what} in {text}")).to_string()
        };
        for (what, value) in [
            ("translating addresses: time", "+10.0 %"),
            ("allocating entries: time", "+20.0 %"),
            ("both: time", "+32.0 %"),
            ("memory", "12.5 %"),
            ("servers' memory", "25.0 %"),
        ] {
            let line = ours(what);
            // One of the seven programs, and all.
            assert_eq!(line.matches(value).count(), 2, "{line}");
            assert_eq!(line.matches("not measured").count(), 6, "{line}");
        }
        assert!(text.contains("CII<br>columns-insert") && text.contains("SPR<br>spark-pagerank"));
        for one in &mut rows {
            let at = one.contender.find('%').unwrap() + 1;
            one.contender.insert_str(at, " -Xmx4g");
        }
        rows.push(row("columns-insert", "mako 100%", 0, 9.0));
        let text = overhead(&Board::new(&rows, &example()));
        assert!(text.contains("+32.0 %"), "in a heap of their own: {text}");
        rows.pop();
        rows[0].workload = "dataset-pagerank".to_string();
        let text = overhead(&Board::new(&rows, &example()));
        assert!(text.contains("SPR<br>dataset-pagerank"), "the one that was run");
        let nothing = overhead(&Board::new(&rows[..2], &example()));
        assert_eq!(nothing.matches("not measured").count(), 3 * 8 + 2 * 6, "{nothing}");
    }

    #[test]
    fn region_sizes_are_a_curve() {
        let mut rows = Vec::new();
        for (size, seconds, ms) in [("2m", 3.0, 1.5), ("512k", 4.0, 0.5), ("1m", 2.0, 1.0)] {
            let mut one = row("a", &format!("mako 25% -XX:RegionSize={size}"), 0, seconds);
            let lengths =
                Lengths { count: 4, total_ms: 4.0 * ms, max_ms: 9.0, ..Lengths::default() };
            one.pauses.collecting = Some(lengths);
            rows.push(one);
        }
        rows.push(row("a", "mako 25%", 0, 1.0));
        let text = region_sizes(&Board::new(&rows, &example()));
        let ours: Vec<&str> = text.lines().filter(|line| line.contains("<td>ours")).collect();
        assert_eq!(ours.len(), 3, "{text}");
        assert!(ours[0].contains("0.500 MB") && ours[0].contains("2.000×"), "{text}");
        assert!(
            ours[1].contains("1.000×") && ours[2].contains("1.500×") && ours[2].contains("1.50<")
        );
        let none = region_sizes(&Board::new(&rows[3..], &example()));
        assert!(none.contains("not measured"), "{none}");
    }
}
