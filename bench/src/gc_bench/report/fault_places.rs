//! Where programs have most page faults, for series with `--fault-profile`.

use crate::gc_bench::fault_places::FaultPlaces;
use crate::gc_bench::report::board::Board;
use crate::gc_bench::report::html::{escape, link, of_cell, table, words};

/// A folded table of the ten places with most faults, for each contender that has a profile of this workload; "" if
/// there is none. The runs of a contender are added up.
pub fn of_workload(board: &Board, workload: usize) -> String {
    let mut lines = vec![words(&["contender", "faults, %", "faults", "touched by", "line"])];
    for (contender, name) in board.contenders.iter().enumerate() {
        let cell = board.cell(workload, contender);
        let profiles = || cell.right().filter_map(|row| row.fault_places.as_ref());
        let FaultPlaces { faults, top, .. } = FaultPlaces::sum(profiles());
        for (index, place) in top.iter().enumerate() {
            let name = match index {
                0 => link(&of_cell(workload, contender), &escape(name)),
                _ => String::new(),
            };
            lines.push(vec![
                name,
                format!("{:.1}", 100.0 * place.faults as f64 / faults as f64),
                (place.faults / profiles().count() as u64).to_string(),
                escape(&place.root),
                escape(&place.frame),
            ]);
        }
    }
    match lines.len() {
        1 => String::new(),
        _ => format!(
            "<details><summary>Places with most page faults</summary>\n<p class=\"quiet\">{NOTE}</p>\n{}</details>\n",
            table(&lines)
        ),
    }
}

const NOTE: &str = "Faults that fetched a page, by the innermost line of Java code and by what touched the page: the \
                    program, native code such as array copies, or a part of a collection. The share is of all faults; \
                    the number is that of one run, from a sample. The folder faults beside the rows has whole stacks, \
                    for flame graphs.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc_bench::manifest::tests::example;
    use crate::gc_bench::row::Row;
    use crate::gc_bench::row::tests::row;

    #[test]
    fn the_ten_places_with_most_faults_are_shown_for_each_contender() {
        let text = "program;A.main:1;<B>.b:7 96\ntracing 32\n";
        let fault_places = FaultPlaces::parse(text);
        let with =
            |run| Row { fault_places: fault_places.clone(), ..row("a", "mako 25%", run, 1.0) };
        let other = row("a", "g1 25%", 0, 1.0);
        let (rows, manifest) = ([with(0), with(1), other], example());
        let html = of_workload(&Board::new(&rows, &manifest), 0);
        for part in ["75.0", ">96<", "program", "&lt;B&gt;.b:7", "25.0", "tracing", "mako"] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("g1"), "it has no profile: {html}");
        assert_eq!(of_workload(&Board::new(&rows[2..], &manifest), 0), "");
    }
}
