//! The tables and figures of the two papers, each with three columns: the paper's figure, ours from rows with a
//! preset of the paper's configuration, and ours from rows without one.
//!
//! The papers ran other programs, on other machines, with heaps of 16 and 32 GiB and RDMA. The order of the
//! collectors and the factors between them can be compared, not milliseconds.

mod figures;
mod mako;
mod memliner;

use crate::gc_bench::compare::is_more_better;
use crate::gc_bench::evidence;
use crate::gc_bench::report::board::{Board, Side};
use crate::gc_bench::report::html::{link, of_contender, table, words};
use crate::gc_bench::report::papers::figures::{SOURCES, TABLE};
use crate::gc_bench::row::Row;

/// The section's HTML.
pub fn section(board: &Board) -> String {
    let note = format!("<p class=\"quiet\">{NOTE}</p>\n");
    note + &index() + &mako::tables(board) + &memliner::tables(board)
}

/// All tables and figures, and the place of each in the report.
fn index() -> String {
    let mut lines = vec![words(&["", "page", "content", "in this report"])];
    for source in &SOURCES {
        let place = match source.place {
            TABLE => link(&id_of(source.name), TABLE),
            picture => format!("picture {picture} of each workload"),
        };
        let page = source.page.to_string();
        lines.push(vec![source.name.to_string(), page, source.content.to_string(), place]);
    }
    format!(
        "<details><summary>All tables and figures of the papers</summary>\n{}</details>\n",
        table(&lines)
    )
}

/// The title of a table, for the things of the papers that it shows.
fn title(names: &[&str], text: &str) -> String {
    let anchors: String =
        names.iter().map(|name| format!("<span id=\"{}\"></span>", id_of(name))).collect();
    format!("<h3>{anchors}{text} ({})</h3>\n", names.join(", "))
}

/// The id of the place that shows something of the papers.
fn id_of(name: &str) -> String {
    format!("p-{}", name.replace([' ', '.'], "-"))
}

/// A contender's collector, share of local memory, and further options.
#[derive(Clone, Copy)]
struct Who<'a> {
    collector: &'a str,
    share: u32,
    more: &'a [&'a str],
}

impl<'a> Who<'a> {
    /// Without further options.
    fn new(collector: &'a str, share: u32) -> Who<'a> {
        Who { collector, share, more: &[] }
    }

    fn with(self, more: &'a [&'a str]) -> Who<'a> {
        Who { more, ..self }
    }

    /// With all memory local.
    fn local(self) -> Who<'a> {
        Who { share: 100, ..self }
    }

    fn place(self, board: &Board, side: Side) -> Option<usize> {
        board.with(side, self.collector, self.share, self.more)
    }
}

/// A figure of ours, and the contender whose runs it is of.
#[derive(Clone, Copy)]
struct Ours {
    value: f64,
    contender: usize,
}

impl Ours {
    /// With a link to the contender's runs.
    fn text(self, text: impl Fn(f64) -> String) -> String {
        link(&of_contender(self.contender), &text(self.value))
    }
}

/// The text of a figure, if there is one.
fn or_none(ours: Option<Ours>, text: impl Fn(f64) -> String) -> String {
    ours.map_or(NONE.to_string(), |ours| ours.text(text))
}

/// How rows are compared; `None`: by the figure of the workload, which is mostly the time.
type Figure = Option<fn(&Row) -> Option<f64>>;

/// How many times the figure of `base` is that of `new`, by the geometric mean over workloads; the link is to `new`.
fn ratio(board: &Board, side: Side, (base, new): (Who, Who), figure: Figure) -> Option<Ours> {
    let (base, new) = (base.place(board, side)?, new.place(board, side)?);
    let mean = match figure {
        None => board.ratio(base, new)?,
        Some(figure) => board.mean_of(base, new, |row, _| figure(row))?,
    };
    Some(Ours { value: mean.mean, contender: new })
}

/// The same of one workload's own figure.
fn ratio_in(board: &Board, names: &[&str], base: usize, new: usize) -> Option<Ours> {
    let of = |name: &&str| {
        let place = board.workloads.iter().position(|known| known == name)?;
        let metric = &board.metrics[place];
        let median = |contender| board.cell(place, contender).median(|row| row.figure(metric));
        let (base, new) = (median(base)?, median(new)?);
        let times = if is_more_better(metric) { new / base } else { base / new };
        times.is_finite().then_some(Ours { value: times, contender: 0 })
    };
    names.iter().find_map(of).map(|ours| Ours { contender: new, ..ours })
}

/// The median over workloads of the medians of a figure.
fn median(board: &Board, side: Side, who: Who, figure: fn(&Row) -> Option<f64>) -> Option<Ours> {
    let contender = who.place(board, side)?;
    let all: Vec<f64> = (0..board.workloads.len())
        .filter_map(|workload| board.cell(workload, contender).median(figure))
        .collect();
    (!all.is_empty()).then(|| Ours { value: evidence::median(&all), contender })
}

/// The median of a figure in the first of these workloads that has it.
fn median_in(
    board: &Board,
    contender: usize,
    names: &[&str],
    figure: fn(&Row) -> Option<f64>,
) -> Option<Ours> {
    let of = |name: &&str| {
        let place = board.workloads.iter().position(|known| known == name)?;
        board.cell(place, contender).median(figure)
    };
    names.iter().find_map(of).map(|value| Ours { value, contender })
}

/// The right rows of a contender, of all workloads.
fn rows_of<'a>(board: &Board<'a>, contender: usize) -> Vec<&'a Row> {
    let workloads = 0..board.workloads.len();
    workloads
        .flat_map(|workload| board.cell(workload, contender).right().collect::<Vec<_>>())
        .collect()
}

/// A head with these columns in front of the three.
fn head(columns: &[&str]) -> Vec<String> {
    let mut head = words(columns);
    head.push("paper".to_string());
    head.extend(Side::ALL.map(|side| side.name().to_string()));
    head
}

/// A line with these columns in front of the three.
fn line(columns: &[&str], paper: &str, ours: impl Fn(Side) -> String) -> Vec<String> {
    let mut line = words(columns);
    line.push(paper.to_string());
    line.extend(Side::ALL.map(ours));
    line
}

/// A ratio beside its ceiling: the same ratio if the second of the two had all of its memory local.
fn with_ceiling(board: &Board, side: Side, (base, new): (Who, Who), figure: Figure) -> String {
    let Some(ours) = ratio(board, side, (base, new), figure) else { return NONE.to_string() };
    let ceiling = ratio(board, side, (base, new.local()), figure);
    let ceiling = ceiling.map_or("not measured".to_string(), |ceiling| ceiling.text(factor));
    format!("{} <span class=\"quiet\">ceiling {ceiling}</span>", ours.text(factor))
}

fn factor(times: f64) -> String {
    format!("{times:.2}×")
}

/// Of a share.
fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// How much more the second is, of how many times the first is the second.
fn more(times: f64) -> String {
    format!("{:+.1} %", (1.0 / times - 1.0) * 100.0)
}

/// For a figure that no row has.
const NONE: &str = "<span class=\"quiet\">not measured</span>";

const NOTE: &str = "The papers' programs, heaps (16 and 32 GiB), machines and networks differ: compare ratios, not \
    milliseconds. A dash: the paper has no figure. As in the paper: rows with the preset of a paper's configuration \
    (<code>-XX:+MakoAsInPaper</code>, <code>-XX:+MemLinerAsInPaper</code>, <code>-XX:+BaselineAsInPaper</code> for the \
    others). Ours: rows without. Ceiling: the ratio if the collector that is compared had all of its memory local, so \
    that it had no page fault; no better paging exceeds it.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc_bench::manifest::tests::example;
    use crate::gc_bench::row::tests::row;

    #[test]
    fn everything_in_the_index_is_somewhere() {
        let rows = [row("a", "mako 25%", 0, 1.0)];
        let text = section(&Board::new(&rows, &example()));
        for source in SOURCES.iter().filter(|source| source.place == TABLE) {
            let id = format!("id=\"{}\"", id_of(source.name));
            assert_eq!(text.matches(&id).count(), 1, "{}", source.name);
        }
        assert_eq!(id_of("table 3.1"), "p-table-3-1");
    }

    #[test]
    fn a_ratio_stands_beside_its_ceiling() {
        let rows = [("g1 25%", 6.0), ("mako 25%", 3.0), ("mako 100%", 2.0)]
            .map(|(contender, seconds)| row("a", contender, 0, seconds));
        let pair = (Who::new("g1", 25), Who::new("mako", 25));
        let board = Board::new(&rows, &example());
        let text = with_ceiling(&board, Side::Ours, pair, None);
        assert!(text.contains(">2.00×</a>") && text.contains("ceiling <a"), "{text}");
        assert!(text.contains(">3.00×</a>"), "{text}");
        assert_eq!(with_ceiling(&board, Side::AsInPaper, pair, None), NONE);
        let board = Board::new(&rows[..2], &example());
        assert!(with_ceiling(&board, Side::Ours, pair, None).contains("ceiling not measured"));
    }
}
