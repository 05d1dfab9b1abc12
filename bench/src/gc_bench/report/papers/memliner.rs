//! MemLiner's tables and figures.

use crate::gc_bench::compare::number;
use crate::gc_bench::manifest::WALL;
use crate::gc_bench::report::board::{Board, application_s, collecting_s, share};
use crate::gc_bench::report::html::table;
use crate::gc_bench::report::papers::figures::{
    BARRIERS, FAULT_RATE, LEAP_PREFETCHING, LEAP_SWAP_INS, LEAP_TIME, LONGEST_FULL, PREFETCHED,
    QUEUES, SLOWDOWNS, SPEEDUPS, SWAP_INS, TURNING_POINT, WITHOUT_TRACING,
};
use crate::gc_bench::report::papers::{
    Figure, NONE, Ours, Who, factor, head, line, median, median_in, more, or_none, percent, ratio,
    ratio_in, rows_of, title, with_ceiling,
};
use crate::gc_bench::row::Row;

pub fn tables(board: &Board) -> String {
    [
        title(&["figure 4.2", "figure 4.3"], "MemLiner: G1 without concurrent tracing, at 25 %"),
        without_tracing(board),
        title(&["section 4.4"], "MemLiner: cost of its barriers with all memory local"),
        barriers(board),
        title(
            &["table 4.2", "figure 4.6", "figure 4.8"],
            "MemLiner: speedup over the collector that it extends",
        ),
        speedups(board),
        title(&["section 4.6.2"], "MemLiner: fetched pages, and slowdown against all memory local"),
        swap_ins(board),
        slowdowns(board),
        title(&["figure 4.7"], "MemLiner: speedup over G1 by share of local memory"),
        by_share(board),
        title(&["figure 4.9"], "MemLiner: with Leap, and against Semeru, at 25 %"),
        others(board),
        title(&["section 4.6.5"], "MemLiner: queues and epochs at 25 %"),
        queues(board),
    ]
    .concat()
}

fn without_tracing(board: &Board) -> String {
    let with = Who::new("g1", 25);
    let without = with.with(&NO_TRACING);
    let mut lines = vec![head(&["G1"])];
    for ((what, paper), who) in PREFETCHED.into_iter().zip([with, without]) {
        let what = format!("faults that prefetching avoids, {what} concurrent tracing");
        let ours = |side| or_none(median(board, side, who, coverage), percent);
        lines.push(line(&[&what], paper, ours));
    }
    let rates: Figure = Some(|row| Some(row.far?.program_faults as f64 / row.figure(WALL)?));
    let ours = |side| or_none(ratio(board, side, (with, without), rates), factor);
    lines.push(line(
        &["rate of the program's faults, with over without"],
        &factor(FAULT_RATE),
        ours,
    ));
    let figures: [(&str, Figure); 2] = [
        ("time, without over with", None),
        ("sum of pauses, without over with", Some(collecting_s)),
    ];
    for ((what, figure), paper) in figures.into_iter().zip(WITHOUT_TRACING) {
        let ours = |side| or_none(ratio(board, side, (without, with), figure), factor);
        lines.push(line(&[what], &factor(paper), ours));
    }
    let longest = |side| {
        let contender = without.place(board, side)?;
        let full = |row: &Row| row.pauses.named.get("Pause Full").map(|lengths| lengths.max_ms);
        let all = rows_of(board, contender).into_iter().filter_map(full);
        Some(Ours { value: all.reduce(f64::max)?, contender })
    };
    let ours = |side| match without.place(board, side) {
        Some(_) => longest(side)
            .map_or("none".to_string(), |ours| ours.text(|ms| format!("{} s", number(ms / 1e3)))),
        None => NONE.to_string(),
    };
    lines.push(line(&["longest full collection, without"], LONGEST_FULL, ours));
    table(&lines)
        + "<p class=\"quiet\">Ours without concurrent tracing: G1 with <code>-XX:InitiatingHeapOccupancyPercent=100 \
           -XX:-G1UseAdaptiveIHOP</code>. The paper's prefetcher is Linux's, its program Spark LR (times and pauses: \
           several programs); ours are all.</p>\n"
}

fn barriers(board: &Board) -> String {
    let mut lines = vec![head(&["built on"])];
    for (base, paper) in BARRIERS {
        let liner = format!("memliner-{base}");
        let pair = (Who::new(base, 100), Who::new(&liner, 100));
        let ours = |side| or_none(ratio(board, side, pair, None), more);
        lines.push(line(&[base], &format!("{paper:+.0} %"), ours));
    }
    table(&lines)
}

fn speedups(board: &Board) -> String {
    let mut lines = vec![head(&["built on", "local memory", ""])];
    let figures: [(&str, Figure); 3] =
        [("application", Some(application_s)), ("collecting", Some(collecting_s)), ("all", None)];
    for (base, share, paper) in SPEEDUPS {
        let liner = format!("memliner-{base}");
        let pair = (Who::new(base, share), Who::new(&liner, share));
        for ((what, figure), paper) in figures.into_iter().zip(paper) {
            let ours = |side| match figure {
                None => with_ceiling(board, side, pair, None),
                Some(_) => or_none(ratio(board, side, pair, figure), factor),
            };
            lines.push(line(&[base, &format!("{share} %"), what], &factor(paper), ours));
        }
    }
    table(&lines)
}

fn swap_ins(board: &Board) -> String {
    let mut lines = vec![head(&["built on", "local memory", "fetched pages"])];
    for (base, share, paper) in SWAP_INS {
        let liner = format!("memliner-{base}");
        let pair = (Who::new(base, share), Who::new(&liner, share));
        for ((what, figure), less) in FETCHES.into_iter().zip(paper) {
            let ours = |side| or_none(ratio(board, side, pair, Some(figure)), more);
            lines.push(line(&[base, &format!("{share} %"), what], &format!("-{less} %"), ours));
        }
    }
    table(&lines)
}

fn slowdowns(board: &Board) -> String {
    let mut lines = vec![head(&["time of", "local memory"])];
    for (collector, share, paper) in SLOWDOWNS {
        let ours = |side| {
            let who = Who::new(collector, share);
            // The link leads to the slower one.
            let times = ratio(board, side, (who, Who::new("g1", 100)), None);
            let contender = who.place(board, side);
            or_none(
                times.zip(contender).map(|(times, contender)| Ours { contender, ..times }),
                factor,
            )
        };
        lines.push(line(&[collector, &format!("{share} %")], &factor(paper), ours));
    }
    table(&lines) + "<p class=\"quiet\">Multiples of G1's time with all memory local.</p>\n"
}

/// At all shares that were measured.
fn by_share(board: &Board) -> String {
    let mut shares: Vec<u32> = board.contenders.iter().filter_map(|name| share(name)).collect();
    shares.push(TURNING_POINT);
    shares.sort_unstable();
    shares.dedup();
    let mut lines = vec![head(&["local memory"])];
    for share in shares.into_iter().rev() {
        let pair = (Who::new("g1", share), Who::new("memliner-g1", share));
        let paper = if share >= TURNING_POINT { "about 1" } else { "-" };
        let ours = |side| or_none(ratio(board, side, pair, None), factor);
        lines.push(line(&[&format!("{share} %")], paper, ours));
    }
    table(&lines)
        + "<p class=\"quiet\">The paper's programs here are SKM and STC; ours are all.</p>\n"
}

fn others(board: &Board) -> String {
    let leap = ["-XX:Prefetcher=leap"];
    let (base, liner) = (Who::new("g1", 25), Who::new("memliner-g1", 25));
    let pair = (base.with(&leap), liner.with(&leap));
    let mut lines = vec![head(&["over", "", "with"])];
    let ours = |side| with_ceiling(board, side, pair, None);
    lines.push(line(&["G1", "time (4.9a)", "Leap"], &factor(LEAP_TIME), ours));
    for ((what, figure), less) in FETCHES.into_iter().zip(LEAP_SWAP_INS) {
        let what = format!("fetched pages, {what} (4.9a)");
        let ours = |side| or_none(ratio(board, side, pair, Some(figure)), more);
        lines.push(line(&["G1", &what, "Leap"], &format!("-{less} %"), ours));
    }
    for ((what, figure), paper) in PREFETCHING.into_iter().zip(LEAP_PREFETCHING) {
        let ours = |side| or_none(ratio(board, side, (pair.1, pair.0), Some(figure)), factor);
        lines.push(line(&["G1", what, "Leap"], &factor(paper), ours));
    }
    let pair = (Who::new("semeru", 25), liner);
    let ours = |side| or_none(ratio(board, side, pair, None), factor);
    let paper = "comparable on Semeru's swap system, much faster on MemLiner's; no figure";
    lines.push(line(&["Semeru", "time (4.9c)", "default prefetcher"], paper, ours));
    table(&lines)
        + "<p class=\"quiet\">Time, coverage and accuracy: MemLiner's as multiples of the other's, where more is \
           better. Rows with <code>-XX:Prefetcher=leap</code> count as with Leap.</p>\n"
}

fn queues(board: &Board) -> String {
    let liner = Who::new("memliner-g1", 25);
    let off = liner.with(&["-XX:MemLinerEstimator=none"]);
    let mut lines = vec![head(&["", ""])];
    for (program, names, paper, _) in QUEUES {
        let ours = |side| {
            let at = liner.place(board, side);
            let traced: fn(&Row) -> Option<f64> = |row| row.traced.map(|one| one.queue_share());
            or_none(at.and_then(|at| median_in(board, at, names, traced)), percent)
        };
        lines.push(line(&["objects traced from queues", program], paper, ours));
    }
    for (program, names, _, paper) in QUEUES {
        let ours = |side| {
            let pair = liner.place(board, side).zip(off.place(board, side));
            or_none(pair.and_then(|(on, off)| ratio_in(board, names, on, off)), more)
        };
        lines.push(line(&["time without estimation", program], paper, ours));
    }
    table(&lines)
        + "<p class=\"quiet\">MemLiner on G1. Without estimation: <code>-XX:MemLinerEstimator=none</code>, which takes \
           every object for resident. As in the paper epochs estimate; without a preset the pager is asked.</p>\n"
}

fn coverage(row: &Row) -> Option<f64> {
    row.far?.prefetch_coverage
}

type Fetches = (&'static str, fn(&Row) -> Option<f64>);

/// Fetched pages as the paper tells them apart.
const FETCHES: [Fetches; 2] = [
    ("on demand", |row| row.far.map(|far| (far.program_faults + far.collector_faults) as f64)),
    ("all", |row| row.far.map(|far| far.fetched_bytes as f64)),
];

const PREFETCHING: [Fetches; 2] =
    [("coverage (4.9b)", coverage), ("accuracy (4.9b)", |row| row.far?.prefetch_accuracy)];

/// G1 begins no marking with these.
const NO_TRACING: [&str; 2] = ["-XX:InitiatingHeapOccupancyPercent=100", "-XX:-G1UseAdaptiveIHOP"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc_bench::counters::{Far, Traced};
    use crate::gc_bench::manifest::tests::example;
    use crate::gc_bench::row::tests::row;
    use crate::gc_bench::trace::Lengths;

    fn run(workload: &str, contender: &str, seconds: f64, faults: u64) -> Row {
        let mut row = row(workload, contender, 0, seconds);
        let lengths = Lengths { count: 1, total_ms: seconds * 100.0, ..Lengths::default() };
        row.pauses.collecting = Some(lengths);
        row.far = Some(Far {
            program_faults: faults,
            fetched_bytes: 2 * faults,
            prefetch_coverage: Some(0.25 * seconds),
            prefetch_accuracy: Some(0.5),
            ..Far::default()
        });
        row
    }

    /// The texts of paper, as in the paper, and ours, without links.
    fn cells(text: &str, start: &[&str]) -> [String; 3] {
        let start: String = start.iter().map(|cell| format!("<td>{cell}</td>")).collect();
        let line = text.lines().find(|line| line.contains(&format!("<tr>{start}")));
        let line = line.unwrap_or_else(|| panic!("no {start} in {text}"));
        let rest = &line[line.find(&start).unwrap() + start.len()..];
        let mut cells = rest.split("<td>").skip(1).map(|cell| {
            let cell = cell.split("</td>").next().unwrap();
            cell.split('<')
                .map(|part| part.split_once('>').map_or(part, |(_, rest)| rest))
                .collect()
        });
        std::array::from_fn(|_| cells.next().unwrap())
    }

    #[test]
    fn figures_are_beside_the_papers() {
        let paper = " -XX:+MemLinerAsInPaper";
        let mut rows = vec![
            run("dataset-kmeans", "g1 25% -XX:+BaselineAsInPaper", 3.0, 300),
            run("dataset-kmeans", &format!("memliner-g1 25%{paper}"), 2.0, 100),
            run(
                "dataset-kmeans",
                &format!("memliner-g1 25%{paper} -XX:MemLinerEstimator=none"),
                3.0,
                9,
            ),
            run("dataset-kmeans", "g1 100%", 1.0, 0),
            run("dataset-kmeans", "g1 25%", 4.0, 100),
            run("dataset-kmeans", "memliner-g1 25%", 2.0, 50),
            run("dataset-kmeans", "memliner-g1 100%", 1.25, 0),
            run("dataset-kmeans", "semeru 25%", 1.0, 10),
        ];
        rows[1].traced = Some(Traced { from_queues: 1, others: 3 });
        let board = Board::new(&rows, &example());
        let text = tables(&board);
        let none = "not measured";
        assert_eq!(
            cells(&text, &["g1", "25 %", "all"]),
            ["1.48×", "1.50× ceiling not measured", "2.00× ceiling 3.20×"]
        );
        assert_eq!(cells(&text, &["g1", "25 %", "collecting"]), ["1.65×", "1.50×", "2.00×"]);
        assert_eq!(cells(&text, &["g1", "25 %", "on demand"]), ["-81 %", "-66.7 %", "-50.0 %"]);
        assert_eq!(cells(&text, &["memliner-g1", "25 %"]), ["1.47×", none, "2.00×"]);
        assert_eq!(cells(&text, &["25 %"]), ["-", "1.50×", "2.00×"]);
        assert_eq!(cells(&text, &["50 %"]), ["about 1", none, none]);
        assert_eq!(cells(&text, &["g1"]), ["+5 %", none, "+25.0 %"], "barriers");
        assert_eq!(cells(&text, &["objects traced from queues", "SKM"]), ["42 %", "25.0 %", none]);
        assert_eq!(cells(&text, &["time without estimation", "SKM"]), ["+8.8 %", "+50.0 %", none]);
        let [_, as_in_paper, ours] = cells(&text, &["Semeru", "time (4.9c)", "default prefetcher"]);
        assert_eq!((as_in_paper.as_str(), ours.as_str()), (none, "0.50×"));
        assert_eq!(cells(&text, &["G1", "coverage (4.9b)", "Leap"]), ["1.50×", none, none]);
    }

    #[test]
    fn concurrent_tracing_can_be_off() {
        let off = "g1 25% -XX:-G1UseAdaptiveIHOP -XX:InitiatingHeapOccupancyPercent=100";
        let mut rows = vec![run("a", "g1 25%", 2.0, 600), run("a", off, 3.0, 300)];
        let lengths = Lengths { count: 1, max_ms: 1500.0, ..Lengths::default() };
        rows[1].pauses.named.insert("Pause Full".to_string(), lengths);
        let text = without_tracing(&Board::new(&rows, &example()));
        let ours = |what: &str| cells(&text, &[what])[2].clone();
        assert_eq!(ours("faults that prefetching avoids, with concurrent tracing"), "50.0 %");
        assert_eq!(ours("faults that prefetching avoids, without concurrent tracing"), "75.0 %");
        assert_eq!(ours("rate of the program's faults, with over without"), "3.00×");
        assert_eq!(ours("time, without over with"), "1.50×");
        assert_eq!(ours("sum of pauses, without over with"), "1.50×");
        assert_eq!(ours("longest full collection, without"), "1.50 s");
        let text = without_tracing(&Board::new(&rows[..1], &example()));
        assert_eq!(cells(&text, &["longest full collection, without"])[2], "not measured");
    }

    #[test]
    fn rows_with_leap_count_as_such() {
        let leap = " -XX:Prefetcher=leap";
        let rows = [
            run("a", &format!("g1 25%{leap}"), 2.0, 100),
            run("a", &format!("memliner-g1 25%{leap}"), 1.0, 20),
            run("a", "g1 25%", 8.0, 100),
        ];
        let text = others(&Board::new(&rows, &example()));
        let ours = |what: &str| cells(&text, &["G1", what, "Leap"])[2].clone();
        assert_eq!(ours("time (4.9a)"), "2.00× ceiling not measured");
        assert_eq!(ours("fetched pages, on demand (4.9a)"), "-80.0 %");
        assert_eq!(ours("coverage (4.9b)"), "0.50×");
        // A series that has it in common.
        let text = others(&Board::new(&rows[..2], &example()));
        assert_eq!(cells(&text, &["G1", "time (4.9a)", "Leap"])[2], "2.00× ceiling not measured");
    }
}
