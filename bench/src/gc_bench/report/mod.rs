//! Rows as one page, `report.html`, that needs nothing but itself, and its pictures as files beside it.
//!
//! From short to long: the ranking (the headline), the factors (one table), each workload with pictures, the papers'
//! tables with ours in them, how reliable the numbers are, and every row. Each number leads to the rows that it is
//! made of. Everything is computed from the rows alone, so the page can be made again, also on another machine.

pub mod board;
pub mod charts;
mod fault_places;
mod headline;
mod html;
mod ledger;
mod networks;
mod overhead;
mod papers;
mod pictures;
mod waits;

use std::io;
use std::path::{Path, PathBuf};

use crate::gc_bench::compare::{self, number};
use crate::gc_bench::counters::Cycles;
use crate::gc_bench::manifest::{Manifest, phase_metric};
use crate::gc_bench::report::board::{Board, Cell, collecting_s, longest_ms};
use crate::gc_bench::report::html::{escape, table, words};
use crate::gc_bench::row::Row;

/// Makes page and pictures of the rows of `folder`; returns where the page is.
pub fn write(folder: &Path, rows: &[Row], manifest: &Manifest) -> io::Result<PathBuf> {
    if rows.is_empty() {
        return Err(io::Error::other(format!("{}: no rows to report", folder.display())));
    }
    let board = Board::new(rows, manifest);
    let pictures = pictures::of(&board, manifest, folder)?;
    let mut body = head(rows);
    body += &headline::section(&board);
    body += "<h2>Measurements</h2>\n";
    body += &overview(&board);
    body += &by_workload(&board);
    body += &pauses_by_workload(&board);
    body += &waits::section(&board);
    body += &cycles(&board);
    body += &latencies(&board);
    body += &phases(&board, manifest);
    body += "<h2>Each workload</h2>\n";
    for (index, (workload, pictures)) in board.workloads.iter().zip(&pictures).enumerate() {
        let about = manifest.find(workload).map_or(String::new(), |found| found.about.clone());
        body += &format!("<details open id=\"w-{0}\"><summary>{0}</summary>\n", escape(workload));
        body += &format!("<p class=\"quiet\">{}</p><div class=\"cards\">\n", escape(&about));
        for picture in pictures {
            let svg = charts::for_page(&picture.svg);
            let (title, note) = (escape(&picture.title), escape(&picture.note));
            body += &format!(
                "<div class=\"card\"><h3>{title}</h3>{svg}<p class=\"quiet\">{note}</p></div>\n"
            );
        }
        body += "</div>\n";
        body += &fault_places::of_workload(&board, index);
        body += "</details>\n";
    }
    body += "<h2>Lower bounds of overhead</h2>\n";
    body += &overhead::section(&board);
    body += &networks::section(&board);
    body += "<h2>Comparison with the papers</h2>\n";
    body += &papers::section(&board);
    body += "<h2>Validity</h2>\n";
    body += &ledger::trust(&board, manifest);
    body += "<h2>Rows</h2>\n";
    body += &ledger::rows(&board);
    let path = folder.join("report.html");
    std::fs::write(&path, html::page("Farheap: collectors compared", &body))?;
    Ok(path)
}

/// Writes all pictures as SVG files into the folder `pictures` beside the page, and returns their number.
pub fn write_pictures(folder: &Path, rows: &[Row], manifest: &Manifest) -> io::Result<usize> {
    let board = Board::new(rows, manifest);
    let place = folder.join("pictures");
    std::fs::create_dir_all(&place)?;
    let mut count = 0;
    for (workload, pictures) in board.workloads.iter().zip(pictures::of(&board, manifest, folder)?)
    {
        for picture in pictures {
            let path = place.join(format!("{workload}-{}.svg", picture.name));
            std::fs::write(path, charts::for_file(&picture.svg))?;
            count += 1;
        }
    }
    Ok(count)
}

fn head(rows: &[Row]) -> String {
    let (first, machine) = (&rows[0], &rows[0].machine);
    let mut sizes: Vec<String> = rows.iter().map(|row| row.size.to_string()).collect();
    sizes.sort();
    sizes.dedup();
    let mut networks: Vec<&str> =
        rows.iter().map(|row| row.far_memory.as_str()).filter(|far| !far.is_empty()).collect();
    networks.sort();
    networks.dedup();
    let far = match networks.is_empty() {
        true => "All memory is local.".to_string(),
        false => format!("Remote memory: {}.", escape(&networks.join("; "))),
    };
    let pin = match first.pin.as_str() {
        "" => "not pinned".to_string(),
        pin => format!("program and servers on cores {pin}"),
    };
    format!(
        "<h1>Farheap: collectors compared</h1>\n<p class=\"quiet\">{} runs at size {}; {} cores ({}), {} GiB, \
         Linux {}; {pin}; JDK {}; commit {}; seed {}. Every run is a fresh process; its result was compared with \
         HotSpot's or the manifest's. {far}</p>\n",
        rows.len(),
        sizes.join(", "),
        machine.cores,
        escape(&machine.processor),
        machine.memory_bytes >> 30,
        escape(&machine.kernel),
        escape(&first.jdk),
        escape(if first.commit.is_empty() { "unknown" } else { &first.commit }),
        first.seed,
    )
}

/// A line for each contender, over all workloads.
fn overview(board: &Board) -> String {
    let base = 0;
    let mut lines = vec![words(&[
        "contender",
        "time",
        "95 %",
        "workloads",
        "fastest in",
        "longest wait, ms",
        "collecting, % of time",
        "failed",
    ])];
    let fastest: Vec<Option<usize>> =
        (0..board.workloads.len()).map(|workload| fastest(board, workload)).collect();
    for contender in 0..board.contenders.len() {
        let mean = board.ratio(contender, base);
        let cells: Vec<_> =
            (0..board.workloads.len()).map(|workload| board.cell(workload, contender)).collect();
        let medians = |figure: fn(&Row) -> Option<f64>| {
            let values: Vec<f64> = cells.iter().filter_map(|cell| cell.median(figure)).collect();
            (!values.is_empty()).then(|| crate::gc_bench::evidence::median(&values))
        };
        let share = medians(|row| Some(100.0 * collecting_s(row)? / row.wall_s));
        let failed: usize = cells.iter().map(Cell::failures).sum();
        let all: usize = cells.iter().map(|cell| cell.rows.len()).sum();
        let or_dash = |text: Option<String>| text.unwrap_or("-".to_string());
        lines.push(vec![
            escape(&board.contenders[contender]),
            or_dash(mean.map(|mean| {
                html::link(&html::of_contender(contender), &format!("{:.2}×", mean.mean))
            })),
            match mean {
                Some(mean) if contender != base => mean.confidence(),
                _ => "-".to_string(),
            },
            or_dash(mean.map(|mean| mean.workloads.to_string())),
            fastest.iter().filter(|place| **place == Some(contender)).count().to_string(),
            or_dash(medians(longest_ms).map(number)),
            or_dash(share.map(|share| format!("{share:.1}"))),
            match failed {
                0 => "0".to_string(),
                _ => format!("<a class=\"bad\" href=\"#failed\">{failed} of {all}</a>"),
            },
        ]);
    }
    let note = format!(
        "<p class=\"quiet\">Times are multiples of {}'s: geometric means over the workloads that both completed. The \
         longest wait is the median over workloads of the longest time in which a thread of the program made no \
         progress, whatever the cause. Other VMs have all of their memory local, unless their names have \
         shares.</p>\n",
        escape(&board.contenders[base])
    );
    table(&lines) + &note
}

/// A line for each workload: medians, and the multiple of the first contender's.
fn by_workload(board: &Board) -> String {
    let mut head = words(&["workload"]);
    head.extend(board.contenders.iter().map(|name| escape(name)));
    let mut lines = vec![head];
    for (workload, metric) in board.metrics.iter().enumerate() {
        let name = escape(&board.workloads[workload]);
        let mut line = vec![format!(
            "<a href=\"#w-{name}\">{name}</a><br><span class=\"quiet\">{}</span>",
            escape(metric)
        )];
        let best = fastest(board, workload);
        let base = board.cell(workload, 0).median(|row| row.figure(metric));
        for contender in 0..board.contenders.len() {
            let cell = board.cell(workload, contender);
            let mut text = match cell.median(|row| row.figure(metric)) {
                Some(median) => number(median),
                None if cell.rows.is_empty() => "-".to_string(),
                None if cell.unfair() > 0 => "<span class=\"bad\">unfair</span>".to_string(),
                None => "<span class=\"bad\">failed</span>".to_string(),
            };
            if let (Some(median), Some(base)) = (cell.median(|row| row.figure(metric)), base)
                && contender > 0
                && base > 0.0
            {
                text += &format!(" <span class=\"quiet\">{:.2}×</span>", median / base);
            }
            if cell.failures() > 0 && cell.right().count() > 0 {
                text += &format!(" <span class=\"bad\">-{}</span>", cell.failures());
            }
            let class = if best == Some(contender) { " class=\"best\"" } else { "" };
            if !cell.rows.is_empty() {
                text = format!("<a{class} href=\"#c{workload}-{contender}\">{text}</a>");
            }
            line.push(text);
        }
        lines.push(line);
    }
    table(&lines)
}

/// A line for each workload: how long it was stopped for collecting.
fn pauses_by_workload(board: &Board) -> String {
    let cell = |cell: &Cell| {
        let (p90, longest) = (
            cell.median(|row| Some(row.pauses.collecting?.p90_ms))?,
            cell.median(|row| Some(row.pauses.collecting?.max_ms))?,
        );
        Some(format!("{} / {}", number(p90), number(longest)))
    };
    folded(
        board,
        "Pauses of each workload",
        "Milliseconds in which all threads were stopped for collecting, as the VM itself reports them: the 90th \
         percentile of a run and its longest, medians of runs.",
        |_| true,
        cell,
    )
}

/// A line for each workload: collections, and those that stopped the program for long.
fn cycles(board: &Board) -> String {
    let cell = |cell: &Cell| {
        let of = |figure: fn(&Cycles) -> u64| {
            cell.median(|row| row.cycles.as_ref().map(|cycles| figure(cycles) as f64))
        };
        let counts = [of(|c| c.all)?, of(|c| c.degenerated)?, of(|c| c.full)?];
        Some(counts.map(|count| format!("{count:.0}")).join(" / "))
    };
    folded(
        board,
        "Collections of each workload",
        "All collections, those that began beside the program and ended in a pause (degenerated), and those of the \
         whole heap in one pause (full): medians of runs, as the VM itself counts them.",
        |_| true,
        cell,
    )
}

/// A line for each workload that serves requests.
fn latencies(board: &Board) -> String {
    let at = |row: &Row, end: &str| {
        let found = row.metrics.iter().find(|(name, _)| name.ends_with(end));
        found.map(|(_, us)| us / 1e3)
    };
    let cell = |cell: &Cell| {
        let of = |end: &str| cell.median(|row| at(row, end));
        let (p50, p99, longest) = (of("_p50_us")?, of("_p99_us")?, of("_max_us")?);
        Some(format!("{} / {} / {}", number(p50), number(p99), number(longest)))
    };
    let serves = |workload: usize| {
        (0..board.contenders.len()).any(|at| cell(&board.cell(workload, at)).is_some())
    };
    folded(
        board,
        "Latencies of programs that serve requests",
        "Milliseconds, the median, the 99th percentile and the longest, medians of runs. Where requests come at a rate \
         (`-paced`), they count from the intended start of a request; otherwise from the actual one.",
        serves,
        cell,
    )
}

/// A line for each workload: the breakdown of its time.
fn phases(board: &Board, manifest: &Manifest) -> String {
    let text = |workload: &str, cell: &Cell| {
        let phases = &manifest.find(workload).ok()?.phases;
        let seconds = |phase: &String| {
            let median = cell.median(|row| row.figure(&phase_metric(phase)))?;
            Some(format!("{} {}", escape(phase), number(median)))
        };
        let texts: Option<Vec<String>> = phases.iter().map(seconds).collect();
        texts.map(|texts| texts.join("<br>"))
    };
    folded(
        board,
        "Phases of each workload",
        "Seconds of each part of the program's work, medians of runs, as the program itself measures them.",
        |_| true,
        |cell| text(&cell.rows.first()?.workload, cell),
    )
}

/// A folded table with a line for each workload that is chosen; nothing if there is none.
fn folded(
    board: &Board,
    title: &str,
    note: &str,
    is_chosen: impl Fn(usize) -> bool,
    text: impl Fn(&Cell) -> Option<String>,
) -> String {
    let mut head = words(&["workload"]);
    head.extend(board.contenders.iter().map(|name| escape(name)));
    let mut lines = vec![head];
    for (workload, name) in board.workloads.iter().enumerate().filter(|(at, _)| is_chosen(*at)) {
        let mut line = vec![format!("<a href=\"#w-{0}\">{0}</a>", escape(name))];
        for contender in 0..board.contenders.len() {
            line.push(match text(&board.cell(workload, contender)) {
                Some(found) => format!("<a href=\"#c{workload}-{contender}\">{found}</a>"),
                None => "-".to_string(),
            });
        }
        lines.push(line);
    }
    if lines.len() == 1 {
        return String::new();
    }
    let (title, note, table) = (escape(title), escape(note), table(&lines));
    format!(
        "<details><summary>{title}</summary>\n<p class=\"quiet\">{note}</p>\n{table}</details>\n"
    )
}

/// The contender with the best median.
fn fastest(board: &Board, workload: usize) -> Option<usize> {
    let metric = &board.metrics[workload];
    let more_is_better = compare::is_more_better(metric);
    let of = |contender: &usize| board.cell(workload, *contender).median(|row| row.figure(metric));
    (0..board.contenders.len()).filter(|at| of(at).is_some()).min_by(|a, b| {
        let (a, b) = (of(a), of(b));
        let order = a.partial_cmp(&b).unwrap_or(std::cmp::Ordering::Equal);
        if more_is_better { order.reverse() } else { order }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc_bench::manifest::tests::example;
    use crate::gc_bench::row::Verdict;
    use crate::gc_bench::row::tests::row;
    use crate::gc_bench::trace::{Fault, Footprint, Span, Trace};
    use crate::harness::scratch::Scratch;

    /// Two workloads, four contenders, five runs each, one of which failed.
    fn rows(folder: &Path) -> Vec<Row> {
        std::fs::create_dir_all(folder.join("traces")).unwrap();
        let mut rows = Vec::new();
        let contenders =
            [("hotspot-g1", 1.0), ("serial 100%", 2.0), ("serial 25%", 4.0), ("mako 25%", 3.0)];
        for workload in ["a", "b<i>"] {
            for (contender, seconds) in contenders {
                for run in 0..5 {
                    let mut row =
                        row(workload, contender, run, seconds * (1.0 + run as f64 / 100.0));
                    let span = |at_ms: f64| Span { at_ms, ms: 5.0 * seconds };
                    let mut trace = Trace {
                        late: Some(vec![span(100.0), span(500.0)]),
                        stops: Some(vec![span(100.0)]),
                        collecting: Some(vec![span(100.0)]),
                        footprint: vec![Footprint {
                            at_ms: 100.0,
                            before_bytes: 9 << 20,
                            after_bytes: 3 << 20,
                        }],
                        faults: [1, 2]
                            .map(|page| Fault { at_ms: 50.0, page, is_collectors: page == 1 })
                            .into(),
                        named: [("Pause Full".to_string(), vec![span(100.0)])].into(),
                        waits: Some([("region".to_string(), vec![span(200.0)])].into()),
                        ..Trace::default()
                    };
                    row.cycles = Some(Cycles { all: 9, degenerated: 2, full: 1 });
                    row.far_memory = "2 memory servers <i>".to_string();
                    row.pauses = trace.pauses();
                    row.trace = format!("traces/{}-{run}.json", rows.len());
                    trace.write(&folder.join(&row.trace)).unwrap();
                    rows.push(row);
                }
            }
        }
        rows[7].verdict = Verdict::TimedOut;
        rows[7].note = "<hung>".to_string();
        rows
    }

    #[test]
    fn a_page_needs_nothing_but_itself_and_all_its_links_lead_somewhere() {
        let scratch = Scratch::new("report").unwrap();
        let rows = rows(scratch.path());
        let path = write(scratch.path(), &rows, &example()).unwrap();
        let page = std::fs::read_to_string(&path).unwrap();
        for foreign in ["<link", "src=", "@import", "url("] {
            assert!(!page.contains(foreign), "the page loads something: {foreign}");
        }
        assert!(!page.contains("<i>") && !page.contains("<hung>"), "text became a tag");
        let mut links = 0;
        for link in page.split("href=\"#").skip(1) {
            let id = link.split('"').next().unwrap();
            assert!(page.contains(&format!("id=\"{id}\"")), "nothing has the id {id}");
            links += 1;
        }
        assert!(links > 10);
        assert!(page.contains("At 25 % local memory"), "no headline");
        assert!(page.contains("load 0.510"), "the median of a phase");
        assert!(page.contains(">9 / 2 / 1</a>"), "collections");
        assert!(page.contains("for a region: number, 95 %, longest"), "waits of any kind");
        assert!(page.contains("<h3>25 % local memory</h3>"), "lower bounds of overhead");
        assert!(page.contains("Remote memory: 2 memory servers &lt;i&gt;."), "the network");
        assert_eq!(page, {
            write(scratch.path(), &rows, &example()).unwrap();
            std::fs::read_to_string(&path).unwrap()
        });
        assert!(write(scratch.path(), &[], &example()).is_err());
    }

    #[test]
    fn pictures_come_as_files_too() {
        let scratch = Scratch::new("report").unwrap();
        let mut rows = rows(scratch.path());
        rows.retain(|row| row.workload == "a");
        // A name that is no file's.
        for row in rows.iter_mut().filter(|row| row.contender == "mako 25%") {
            row.contender = "mako 25% -Xlog:gc:/tmp/log".into();
        }
        let count = write_pictures(scratch.path(), &rows, &example()).unwrap();
        let files = std::fs::read_dir(scratch.path().join("pictures")).unwrap();
        let names: Vec<_> = files.map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(names.len(), count);
        assert!(count >= 4 && names.iter().any(|n| n.contains("addresses-mako")), "{names:?}");
    }
}
