//! Mako's tables and figures.

use base::units::parse_bytes;

use crate::gc_bench::compare::number;
use crate::gc_bench::counters::FreeEnds;
use crate::gc_bench::evidence;
use crate::gc_bench::report::board::{Board, REGION_SIZE, Side};
use crate::gc_bench::report::html::{link, of_cell, of_contender, table, words};
use crate::gc_bench::report::papers::figures::{
    ALLOCATION, AVERAGE, LONGEST, NINETIETH, PAUSE_KINDS, PAUSES, PROGRAMS, REGION_SIZES,
    TABLE_MEMORY, THROUGHPUT, TRANSLATION,
};
use crate::gc_bench::report::papers::{
    NONE, Ours, Who, factor, head, line, median, median_in, more, or_none, percent, ratio_in,
    rows_of, title, with_ceiling,
};
use crate::gc_bench::row::Row;
use crate::gc_bench::trace::Lengths;

pub fn tables(board: &Board) -> String {
    [
        title(&["figure 3.4"], "Mako: throughput as a multiple of others'"),
        throughput(board),
        title(&["table 3.1"], "Mako: kinds of pauses at 25 % local memory"),
        pause_kinds(board),
        title(&["table 3.3"], "Mako: pauses at 25 % local memory, milliseconds"),
        pauses(board),
        title(&["table 3.4", "table 3.5", "table 3.6"], "Mako: cost of the indirection table"),
        overhead(board),
        title(&["figure 3.8", "figure 3.9"], "Mako: sizes of regions"),
        region_sizes(board),
    ]
    .concat()
}

fn throughput(board: &Board) -> String {
    let mut lines = vec![head(&["over", "local memory"])];
    for (share, paper) in THROUGHPUT {
        let pair = (Who::new("shenandoah", share), Who::new("mako", share));
        let share = format!("{share} %");
        let ours = |side| with_ceiling(board, side, pair, None);
        lines.push(line(&["Shenandoah", &share], &factor(paper), ours));
    }
    for (share, _) in THROUGHPUT {
        let pair = (Who::new("semeru", share), Who::new("mako", share));
        let share = format!("{share} %");
        let ours = |side| with_ceiling(board, side, pair, None);
        lines.push(line(&["Semeru", &share], "about the same, slightly less", ours));
    }
    table(&lines)
}

/// Of all programs together.
fn pause_kinds(board: &Board) -> String {
    let mut lines = vec![head(&["", "threads"])];
    type Kind = fn(&Row) -> Option<Lengths>;
    let ptp: Kind = |row| row.pauses.named.get("Pause PTP").copied();
    let pep: Kind = |row| row.pauses.named.get("Pause PEP").copied();
    let region: Kind = |row| row.pauses.waits.get("region").copied();
    for ((what, paper), (threads, kind)) in
        PAUSE_KINDS.into_iter().zip([("all", ptp), ("all", pep), ("single ones", region)])
    {
        lines.push(line(&[what, threads], paper, |side| kind_of_pause(board, side, kind)));
    }
    let others: [(&str, &str, Kind); 5] = [
        ("minor collection", "all", |row| row.pauses.named.get("Pause Young").copied()),
        ("full collection", "all", |row| row.pauses.named.get("Pause Full").copied()),
        ("wait for a cycle", "single ones", |row| row.pauses.waits.get("cycle").copied()),
        ("wait for the pacer", "single ones", |row| row.pauses.waits.get("pacer").copied()),
        ("waits of any kind, stops included", "single ones", |row| row.pauses.blocked),
    ];
    for (what, threads, kind) in others {
        lines.push(line(&[what, threads], "-", |side| kind_of_pause(board, side, kind)));
    }
    table(&lines)
        + "<p class=\"quiet\">Ours, of all right runs of all programs, milliseconds: the average, the 95th percentile \
           (median of runs), the longest, and their number. The paper has no minor collections and no pacer.</p>\n"
}

fn kind_of_pause(board: &Board, side: Side, kind: fn(&Row) -> Option<Lengths>) -> String {
    let Some(contender) = Who::new("mako", 25).place(board, side) else { return NONE.to_string() };
    let rows = rows_of(board, contender);
    if rows.iter().all(|row| row.pauses.blocked.is_none()) {
        return NONE.to_string();
    }
    let all: Vec<Lengths> = rows.into_iter().filter_map(kind).collect();
    let Some(sum) = Sum::of(&all) else { return "none".to_string() };
    let p95: Vec<f64> = all.iter().filter_map(|lengths| lengths.p95_ms).collect();
    let p95 = if p95.is_empty() { "-".to_string() } else { number(evidence::median(&p95)) };
    let (average, longest) = (number(sum.average()), number(sum.longest_ms));
    let text = format!("{average} / {p95} / {longest}, {}", sum.count);
    link(&of_contender(contender), &text)
}

/// Pauses of several runs.
struct Sum {
    count: usize,
    total_ms: f64,
    longest_ms: f64,
}

impl Sum {
    /// `None` without any.
    fn of(all: &[Lengths]) -> Option<Sum> {
        let sum = Sum {
            count: all.iter().map(|lengths| lengths.count).sum(),
            total_ms: all.iter().map(|lengths| lengths.total_ms).sum(),
            longest_ms: all.iter().map(|lengths| lengths.max_ms).fold(0.0, f64::max),
        };
        (sum.count > 0).then_some(sum)
    }

    fn average(&self) -> f64 {
        self.total_ms / self.count as f64
    }
}

fn pauses(board: &Board) -> String {
    let mut lines = vec![words(&["", "collector"])];
    lines[0].extend(programs(board));
    for (what, collector, paper) in PAUSES {
        let mut of_paper = vec![what.to_string(), format!("{collector}, paper")];
        of_paper.extend(paper.map(str::to_string));
        lines.push(of_paper);
        for side in Side::ALL {
            let mut of_ours = vec![what.to_string(), format!("{collector}, {}", side.name())];
            let contender = Who::new(collector, 25).place(board, side);
            of_ours.extend(PROGRAMS.iter().map(|(_, ours)| {
                let found = |name: &&str| stops_and_waits(board, name, contender?, what);
                ours.iter().find_map(found).unwrap_or(NONE.to_string())
            }));
            lines.push(of_ours);
        }
    }
    table(&lines)
        + "<p class=\"quiet\">Ours: stops as the VM reports them, and behind the stroke waits of single threads of any \
           kind, stops included, of all right runs of the program that stands for the paper's one: the average, the \
           90th percentile (median of runs), the longest, the sum per run (of waits over all threads).</p>\n"
}

/// The papers' programs, and the program of ours that stands for each in this report.
fn programs(board: &Board) -> impl Iterator<Item = String> {
    PROGRAMS.iter().map(|(name, ours)| {
        let here = ours.iter().find(|name| board.workloads.iter().any(|here| here == *name));
        format!("{name}<br>{}", here.unwrap_or(&ours[0]))
    })
}

/// With a link to the rows; `None` without stops.
fn stops_and_waits(board: &Board, workload: &str, contender: usize, what: &str) -> Option<String> {
    let workload = board.workloads.iter().position(|name| name == workload)?;
    let cell = board.cell(workload, contender);
    let text = |kind: fn(&Row) -> Option<Lengths>| {
        let all: Vec<Lengths> = cell.right().filter_map(kind).collect();
        let sum = Sum::of(&all)?;
        Some(number(match what {
            AVERAGE => sum.average(),
            NINETIETH => {
                let of_runs: Vec<f64> = all.iter().map(|lengths| lengths.p90_ms).collect();
                evidence::median(&of_runs)
            }
            LONGEST => sum.longest_ms,
            _ => sum.total_ms / all.len() as f64,
        }))
    };
    let stops = link(&of_cell(workload, contender), &text(|row| row.pauses.collecting)?);
    let waits = text(|row| row.pauses.blocked);
    Some(waits.map_or(stops.clone(), |waits| format!("{stops} / {waits}")))
}

/// The cost of the table: a line of the paper, if it has one, and one of each kind of rows.
fn overhead(board: &Board) -> String {
    let mut lines = vec![words(&["", ""])];
    lines[0].extend(programs(board));
    lines[0].push("all".to_string());
    let mut add =
        |what: &str, paper: Option<[&str; 7]>, ours: &dyn Fn(Side, Names<'_>) -> String| {
            if let Some(paper) = paper {
                let mut line = words(&[what, "paper"]);
                line.extend(paper.map(|percent| format!("{percent} %")));
                line.push("-".to_string());
                lines.push(line);
            }
            for side in Side::ALL {
                let mut line = words(&[what, side.name()]);
                line.extend(PROGRAMS.iter().map(|(_, names)| ours(side, Some(*names))));
                line.push(ours(side, None));
                lines.push(line);
            }
        };
    let time = |base: &'static [&str], new: &'static [&str]| {
        move |side, names: Names<'_>| table_time(board, side, (base, new), names)
    };
    let memory = |share: fn(&Row) -> Option<f64>| {
        move |side, names: Names<'_>| table_memory(board, side, share, names)
    };
    add("translating addresses: time", Some(TRANSLATION), &time(&[NO_TRANSLATION], &[]));
    add("allocating entries: time", Some(ALLOCATION), &time(&[NO_TABLE], &[NO_TRANSLATION]));
    add("both: time", None, &time(&[NO_TABLE], &[]));
    add("memory", Some(TABLE_MEMORY), &memory(|row| row.table_share));
    add("servers' memory", None, &memory(|row| row.server_table_share));
    table(&lines) + OVERHEAD_NOTE
}

/// The workloads that stand for a program; `None`: all of them.
type Names<'a> = Option<&'a [&'a str]>;

fn table_time(board: &Board, side: Side, (base, new): (&[&str], &[&str]), names: Names) -> String {
    let same = with_same_options(board, side);
    let place = |options: &[&str]| {
        let options: Vec<&str> = same.iter().chain(options).copied().collect();
        Who::new("mako", 100).with(&options).place(board, side)
    };
    let (Some(base), Some(new)) = (place(base), place(new)) else { return NONE.to_string() };
    let times = match names {
        Some(names) => ratio_in(board, names, base, new),
        None => board.ratio(base, new).map(|mean| Ours { value: mean.mean, contender: new }),
    };
    or_none(times, more)
}

/// The further options of the three contenders that show the cost of the table: nothing, or such as `-Xmx4g`.
fn with_same_options<'a>(board: &'a Board, side: Side) -> Vec<&'a str> {
    let all = board.of_side(side, "mako", 100);
    let mut others = all.into_iter().filter_map(|(_, mut further)| {
        let at = further.iter().position(|option| *option == NO_TABLE)?;
        further.remove(at);
        let with_half: Vec<&str> = further.iter().copied().chain([NO_TRANSLATION]).collect();
        board.with(side, "mako", 100, &with_half)?;
        Some(further)
    });
    others.next().unwrap_or_default()
}

/// The share of the heap that Mako's tables take, in the first of the workloads that measured it, or the median of
/// all.
fn table_memory(board: &Board, side: Side, share: fn(&Row) -> Option<f64>, names: Names) -> String {
    let whos = [25, 100].map(|local| Who::new("mako", local));
    let Some(who) = whos.into_iter().find(|who| who.place(board, side).is_some()) else {
        return NONE.to_string();
    };
    let found = match names {
        Some(names) => who.place(board, side).and_then(|at| median_in(board, at, names, share)),
        None => median(board, side, who, share),
    };
    or_none(found, percent)
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
        "free space of a region, KB (3.8)",
        "of the used heap (3.9)",
        "workloads",
    ])];
    for (megabytes, seconds, pause) in REGION_SIZES {
        let time = factor(seconds / REGION_SIZES[1].1);
        let size = format!("{megabytes} MB");
        lines.push(words(&["paper", &size, "25 %", &time, pause, "-", "-", "-", "SPR"]));
    }
    for side in Side::ALL {
        let mut sized = Vec::new();
        for share in (1..=100).rev() {
            let of_share = OfSize::of(board, side, share);
            // Beside the size in the middle at the same share, as the paper's 16 MB.
            let Some(middle) = of_share.get(of_share.len() / 2).copied() else { continue };
            sized.extend(of_share.iter().filter_map(|one| one.line(board, side, middle)));
        }
        if sized.is_empty() {
            lines.push(words(&[side.name(), NONE, "", "", "", "", "", "", ""]));
        }
        lines.extend(sized);
    }
    table(&lines)
        + "<p class=\"quiet\">Options such as <code>--also 'mako -XX:RegionSize=8m'</code> make such rows. Time: a \
           multiple of that of the size in the middle. Ours, free space: behind the last object of each region with \
           objects, averages over the beginnings of cycles. It is not wasted: later objects go there.</p>\n"
}

/// Rows with one size of regions.
#[derive(Clone, Copy)]
struct OfSize {
    bytes: usize,
    share: u32,
    contender: usize,
}

impl OfSize {
    /// Those with no other further option, by size.
    fn of(board: &Board, side: Side, share: u32) -> Vec<OfSize> {
        let size = |further: &[&str]| match further {
            [only] => only.strip_prefix(REGION_SIZE).and_then(parse_bytes),
            _ => None,
        };
        let all = board.of_side(side, "mako", share).into_iter();
        let sized = all.filter_map(|(contender, further)| {
            Some(OfSize { bytes: size(&further)?, share, contender })
        });
        let mut sized: Vec<OfSize> = sized.collect();
        sized.sort_by_key(|one| one.bytes);
        sized
    }

    fn line(self, board: &Board, side: Side, middle: OfSize) -> Option<Vec<String>> {
        let mean = board.ratio(self.contender, middle.contender)?;
        let rows = rows_of(board, self.contender);
        let lengths: Vec<Lengths> = rows.iter().filter_map(|row| row.pauses.collecting).collect();
        let sum = Sum::of(&lengths);
        let ends: Vec<FreeEnds> = rows.iter().filter_map(|row| row.free_ends).collect();
        let total = |of: fn(&FreeEnds) -> u64| ends.iter().map(of).sum::<u64>() as f64;
        let (free, regions) = (total(|ends| ends.free_bytes), total(|ends| ends.regions));
        let of_ends = |value: String| if ends.is_empty() { NONE.to_string() } else { value };
        Some(vec![
            side.name().to_string(),
            format!("{} MB", number(self.bytes as f64 / (1 << 20) as f64)),
            format!("{} %", self.share),
            link(&of_contender(self.contender), &format!("{:.3}×", mean.mean)),
            sum.as_ref().map_or(NONE.to_string(), |sum| number(sum.average())),
            sum.map_or(NONE.to_string(), |sum| number(sum.longest_ms)),
            of_ends(number(free / regions / 1024.0)),
            of_ends(percent(free / total(|ends| ends.used_bytes))),
            mean.workloads.to_string(),
        ])
    }
}

/// Options of Mako for ablations of its table, in whole and in part.
const NO_TABLE: &str = "-XX:-UseHIT";
const NO_TRANSLATION: &str = "-XX:-UseHITTranslation";

const OVERHEAD_NOTE: &str = "<p class=\"quiet\">Ours, time: Mako with all memory local against itself with \
    <code>-XX:-UseHITTranslation</code>, that one against <code>-XX:-UseHIT</code>, and the first against the last. \
    Neither of the two collects as Mako does, so it is exact only in a heap that is never collected, as that of \
    <code>make bench-hit</code> and of <code>gc-bench run --also 'mako@100 -Xmx4g' --also 'mako@100 -Xmx4g \
    -XX:-UseHIT' --also 'mako@100 -Xmx4g -XX:-UseHITTranslation'</code>. Memory: tablets in use after the last \
    collection, as a part of the heap's size. Servers' memory: all tables of the agents then, with the servers' copies \
    of the tablets. \"All\": the geometric mean (of memory the median) over the workloads here.</p>\n";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc_bench::manifest::tests::example;
    use crate::gc_bench::row::tests::row;
    use crate::gc_bench::trace::{Span, Trace};

    /// The cells of the lines that begin with these.
    fn lines<'a>(text: &'a str, start: &[&str]) -> Vec<Vec<&'a str>> {
        let cells = |line: &'a str| -> Vec<&'a str> {
            line.split("<td>").skip(1).map(|cell| cell.split("</td>").next().unwrap()).collect()
        };
        text.lines().map(cells).filter(|cells| cells.starts_with(start)).collect()
    }

    #[test]
    fn both_kinds_of_rows_stand_beside_the_papers() {
        let rows = [
            ("mako 25%", 2.0),
            ("mako 100%", 1.5),
            ("shenandoah 25%", 6.0),
            ("mako 25% -XX:+MakoAsInPaper", 4.0),
            ("shenandoah 25% -XX:+BaselineAsInPaper", 10.0),
        ]
        .map(|(contender, seconds)| row("market", contender, 0, seconds));
        let text = throughput(&Board::new(&rows, &example()));
        let line = &lines(&text, &["Shenandoah", "25 %"])[0];
        assert_eq!(line[2], "2.57×");
        assert!(line[3].contains(">2.50×</a>") && line[3].contains("ceiling not measured"));
        assert!(line[4].contains(">3.00×</a>") && line[4].contains(">4.00×</a>"), "{line:?}");
        assert_eq!(lines(&text, &["Shenandoah", "13 %"])[0][3..], [NONE, NONE]);
    }

    #[test]
    fn pauses_are_told_apart_by_kind() {
        let span = |ms: f64| Span { at_ms: 0.0, ms };
        let map = |lists: &[(&str, &[f64])]| {
            let list = |(name, list): &(&str, &[f64])| {
                (name.to_string(), list.iter().map(|ms| span(*ms)).collect())
            };
            lists.iter().map(list).collect()
        };
        let trace = Trace {
            collecting: Some([2.0, 4.0, 9.0].map(span).to_vec()),
            named: map(&[("Pause PTP", &[2.0, 4.0]), ("Pause PEP", &[9.0])]),
            waits: Some(map(&[("pause", &[2.0]), ("region", &[1.0, 5.0])])),
            ..Trace::default()
        };
        let mut one = row("market", "mako 25%", 0, 1.0);
        one.pauses = trace.pauses();
        let rows = [one];
        let board = Board::new(&rows, &example());
        let text = pause_kinds(&board);
        let ours = |what: &str| {
            let line = &lines(&text, &[what])[0];
            assert_eq!(line[3], NONE);
            line[4].replace("<a href=\"#k0\">", "").replace("</a>", "")
        };
        assert_eq!(ours("pre-tracing pause"), "3.00 / 4.00 / 4.00, 2");
        assert_eq!(ours("pre-evacuation pause"), "9.00 / 9.00 / 9.00, 1");
        assert_eq!(ours("wait for a region"), "3.00 / 5.00 / 5.00, 2");
        assert_eq!(ours("wait for the pacer"), "none");
        assert_eq!(ours("waits of any kind, stops included"), "2.67 / 5.00 / 5.00, 3");
        let text = pauses(&board);
        let cells = |what: &str| lines(&text, &[what, "mako, ours"])[0][2].to_string();
        assert_eq!(cells(LONGEST), "<a href=\"#c0-0\">9.00</a> / 5.00");
        assert_eq!(cells(AVERAGE), "<a href=\"#c0-0\">5.00</a> / 2.67");
        assert_eq!(lines(&text, &[LONGEST, "mako, paper"])[0][2], "15.34");
    }

    #[test]
    fn the_cost_of_the_table_is_made_of_three_kinds_of_rows() {
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
        for (what, value) in [
            ("translating addresses: time", "+10.0 %"),
            ("allocating entries: time", "+20.0 %"),
            ("both: time", "+32.0 %"),
            ("memory", "12.5 %"),
            ("servers' memory", "25.0 %"),
        ] {
            let line = lines(&text, &[what, "ours"])[0].join("|");
            // One of the seven programs, and all.
            assert_eq!(line.matches(value).count(), 2, "{line}");
            assert_eq!(line.matches("not measured").count(), 6, "{line}");
            let as_in_paper = lines(&text, &[what, "as in the paper"])[0].join("|");
            assert_eq!(as_in_paper.matches("not measured").count(), 8, "{as_in_paper}");
        }
        assert!(text.contains("CII<br>columns-insert") && text.contains("SPR<br>spark-pagerank"));
        for one in &mut rows {
            let at = one.contender.find('%').unwrap() + 1;
            one.contender.insert_str(at, " -XX:+MakoAsInPaper -Xmx4g");
        }
        rows.push(row("columns-insert", "mako 100%", 0, 9.0));
        let text = overhead(&Board::new(&rows, &example()));
        let line = lines(&text, &["both: time", "as in the paper"])[0].join("|");
        assert!(line.contains("+32.0 %"), "in a heap of their own: {line}");
        rows.pop();
        rows[0].workload = "dataset-pagerank".to_string();
        let text = overhead(&Board::new(&rows, &example()));
        assert!(text.contains("SPR<br>dataset-pagerank"), "the one that was run");
        let nothing = overhead(&Board::new(&rows[..2], &example()));
        assert_eq!(lines(&nothing, &["both: time", "ours"])[0][2..], [NONE; 8]);
    }

    #[test]
    fn region_sizes_are_a_curve() {
        let mut rows = Vec::new();
        for (size, seconds, ms) in [("2m", 3.0, 1.5), ("512k", 4.0, 0.5), ("1m", 2.0, 1.0)] {
            let mut one = row("a", &format!("mako 25% -XX:RegionSize={size}"), 0, seconds);
            let lengths =
                Lengths { count: 4, total_ms: 4.0 * ms, max_ms: 9.0, ..Lengths::default() };
            one.pauses.collecting = Some(lengths);
            let kilobytes = (64.0 * ms) as u64;
            one.free_ends =
                Some(FreeEnds { regions: 10, free_bytes: kilobytes * 10240, used_bytes: 10 << 20 });
            rows.push(one);
        }
        rows.push(row("a", "mako 25%", 0, 1.0));
        let text = region_sizes(&Board::new(&rows, &example()));
        let ours = lines(&text, &["ours"]);
        assert_eq!(ours.len(), 3, "{text}");
        assert_eq!(ours[0][1], "0.500 MB");
        assert!(ours[0][3].contains("2.000×"), "{text}");
        assert_eq!(ours[0][4..], ["0.500", "9.00", "32.00", "3.1 %", "1"]);
        assert!(ours[1][3].contains("1.000×") && ours[2][3].contains("1.500×"));
        assert_eq!(ours[2][4..7], ["1.50", "9.00", "96.00"]);
        assert_eq!(lines(&text, &["as in the paper"])[0][1], NONE);
        let none = region_sizes(&Board::new(&rows[3..], &example()));
        assert_eq!(lines(&none, &["ours"])[0][1], NONE);
    }
}
