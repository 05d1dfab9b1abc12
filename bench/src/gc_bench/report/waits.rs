//! Pauses of two kinds side by side: stops of all threads, and the waits of single threads for the collector.
//!
//! A collector that stops the program rarely may let its threads wait instead: for a region that is being evacuated,
//! for the end of a cycle, for the pacer. The second kind holds them all, stops included, as each thread saw them.

use crate::gc_bench::compare::number;
use crate::gc_bench::report::board::{Board, Cell};
use crate::gc_bench::report::html::{escape, link, of_cell, table, words};
use crate::gc_bench::row::Row;
use crate::gc_bench::trace::Lengths;

/// A folded table with a line for each workload on each contender that counts waits; "" if there is none.
pub fn section(board: &Board) -> String {
    let mut head = words(&["workload", "contender"]);
    head.extend(FIGURES.map(|(name, _)| format!("stops: {name}")));
    head.extend(FIGURES.map(|(name, _)| format!("waits: {name}")));
    head.extend(KINDS.map(|kind| format!("for a {kind}: number, 95 %, longest")));
    head.push("not kept".to_string());
    let mut lines = vec![head];
    for (workload, name) in board.workloads.iter().enumerate() {
        for (contender, contender_name) in board.contenders.iter().enumerate() {
            let cell = board.cell(workload, contender);
            if cell.right().all(|row| row.pauses.blocked.is_none()) {
                continue;
            }
            let mut line = vec![
                format!("<a href=\"#w-{0}\">{0}</a>", escape(name)),
                link(&of_cell(workload, contender), &escape(contender_name)),
            ];
            line.extend(figures(&cell, |row| row.pauses.collecting));
            line.extend(figures(&cell, |row| row.pauses.blocked));
            line.extend(KINDS.map(|kind| of_kind(&cell, kind)));
            line.push(or_dash(cell.median(|row| Some(row.pauses.waits_left_out as f64)), |left| {
                format!("{left:.0}")
            }));
            lines.push(line);
        }
    }
    match lines.len() {
        1 => String::new(),
        _ => format!(
            "<details><summary>Waits of any kind</summary>\n<p class=\"quiet\">{NOTE}</p>\n{}</details>\n",
            table(&lines)
        ),
    }
}

/// Medians of runs.
fn figures(cell: &Cell, lengths: fn(&Row) -> Option<Lengths>) -> [String; FIGURES.len()] {
    FIGURES.map(|(name, figure)| {
        let median = cell.median(|row| figure(&lengths(row)?));
        or_dash(median, |value| match name {
            NUMBER => format!("{value:.0}"),
            _ => number(value),
        })
    })
}

/// Waits of one kind: medians of runs; a run without such waits counts with zeros.
fn of_kind(cell: &Cell, kind: &str) -> String {
    let median = |figure: fn(&Lengths) -> Option<f64>| {
        cell.median(|row| {
            row.pauses.blocked?;
            let none = Lengths { p95_ms: Some(0.0), ..Lengths::default() };
            figure(row.pauses.waits.get(kind).unwrap_or(&none))
        })
    };
    let count = median(|lengths| Some(lengths.count as f64));
    match (count, median(|lengths| lengths.p95_ms), median(|lengths| Some(lengths.max_ms))) {
        (Some(0.0), ..) => "none".to_string(),
        (Some(count), Some(p95), Some(longest)) => {
            format!("{count:.0}, {}, {}", number(p95), number(longest))
        }
        _ => "-".to_string(),
    }
}

fn or_dash(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map_or("-".to_string(), text)
}

type Figure = (&'static str, fn(&Lengths) -> Option<f64>);

const NUMBER: &str = "number";

const FIGURES: [Figure; 6] = [
    (NUMBER, |lengths| Some(lengths.count as f64)),
    ("50 %", |lengths| Some(lengths.p50_ms)),
    ("90 %", |lengths| Some(lengths.p90_ms)),
    ("95 %", |lengths| lengths.p95_ms),
    ("99 %", |lengths| Some(lengths.p99_ms)),
    ("longest", |lengths| Some(lengths.max_ms)),
];

/// As our VM names them.
const KINDS: [&str; 4] = ["pause", "cycle", "region", "pacer"];

const NOTE: &str = "Milliseconds, medians of runs. Stops: all threads stand still. Waits: single threads of the \
    program wait for the collector, for the end of a pause or of a cycle, for a region under evacuation, or for the \
    pacer; only our VM counts them. A stop is one, and as many waits as threads met it. Percentiles are of the waits \
    that the VM kept, the first 100,000 of a run; the last column counts the others.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc_bench::manifest::tests::example;
    use crate::gc_bench::row::tests::row;
    use crate::gc_bench::trace::{Span, Trace};

    #[test]
    fn stops_and_waits_stand_side_by_side() {
        let mut rows = Vec::new();
        for (contender, factor) in [("mako 25%", 1.0), ("g1 25%", 3.0)] {
            let span = |ms: f64| Span { at_ms: 0.0, ms: ms * factor };
            let waits = [("pause", vec![span(2.0)]), ("region", vec![span(1.0), span(8.0)])];
            let trace = Trace {
                collecting: Some(vec![span(2.0), span(4.0)]),
                waits: Some(waits.map(|(name, spans)| (name.to_string(), spans)).into()),
                waits_left_out: 5,
                ..Trace::default()
            };
            let mut one = row("a", contender, 0, 1.0);
            one.pauses = trace.pauses();
            rows.push(one);
        }
        rows.push(row("a", "hotspot-g1", 0, 1.0));
        let text = section(&Board::new(&rows, &example()));
        let lines: Vec<Vec<&str>> = text
            .lines()
            .filter(|line| line.contains("<td>"))
            .map(|line| line.split("<td>").skip(1).map(|cell| &cell[..cell.len() - 5]).collect())
            .collect();
        assert_eq!(lines.len(), 2, "one of them counts no waits: {text}");
        let mako = lines.iter().find(|line| line[1].contains("mako")).unwrap();
        let cells = "2|2.00|4.00|4.00|4.00|4.00|3|2.00|8.00|8.00|8.00|8.00|1, 2.00, 2.00|none|2, 8.00, 8.00|none";
        assert_eq!(mako[2..18].join("|"), cells);
        assert!(mako[18].starts_with('5'), "{mako:?}");
        assert_eq!(section(&Board::new(&rows[2..], &example())), "");
    }
}
