//! The pictures of each workload.

use std::error::Error;
use std::io;
use std::path::Path;

use base::units::parse_bytes;

use crate::gc_bench::compare::number;
use crate::gc_bench::evidence;
use crate::gc_bench::manifest::Manifest;
use crate::gc_bench::report::board::{Board, application_s, collecting_s, share};
use crate::gc_bench::report::charts::{self, Axes, Bar, Cloud, Line};
use crate::gc_bench::row::{self, Row};
use crate::gc_bench::trace::{Span, Trace};
use crate::gc_bench::utilization;

pub struct Picture {
    /// For a file's name.
    pub name: String,
    pub title: String,
    pub svg: String,
    pub note: String,
}

/// Of each workload of the board, in its order. Traces are read from `folder`.
pub fn of(board: &Board, manifest: &Manifest, folder: &Path) -> io::Result<Vec<Vec<Picture>>> {
    let draw = |workload| {
        of_workload(board, manifest, folder, workload)
            .map_err(|error| io::Error::other(format!("{}: {error}", board.workloads[workload])))
    };
    (0..board.workloads.len()).map(draw).collect()
}

fn of_workload(
    board: &Board,
    manifest: &Manifest,
    folder: &Path,
    workload: usize,
) -> Result<Vec<Picture>, Box<dyn Error>> {
    let mut pictures = vec![times(board, workload)?];
    pictures.extend(split(board, workload)?);
    let mut seen = seen(board, folder, workload);
    let left_out = thin_out(&mut seen);
    let mut drawn = Vec::new();
    drawn.extend(waits_by_length(&seen)?);
    drawn.extend(distribution(&seen)?);
    drawn.extend(utilization(&seen)?);
    drawn.extend(footprint(&seen, heap_bytes(board, manifest, workload))?);
    for mut picture in drawn {
        picture.note += &left_out;
        pictures.push(picture);
    }
    pictures.extend(faults(board, workload)?);
    pictures.extend(fault_addresses(&seen)?);
    Ok(pictures)
}

fn times(board: &Board, workload: usize) -> Result<Picture, Box<dyn Error>> {
    let metric = &board.metrics[workload];
    let mut bars = Vec::new();
    for (contender, name) in board.contenders.iter().enumerate() {
        let cell = board.cell(workload, contender);
        if cell.rows.is_empty() {
            continue;
        }
        let values = cell.figures(metric);
        let label = name.clone();
        bars.push(match values.is_empty() {
            true => Bar { label, parts: Vec::new(), interval: None, text: "failed".to_string() },
            false => {
                let median = evidence::median(&values);
                let interval = (values.len() > 1).then(|| evidence::of_median(&values));
                let interval = interval.map(|interval| (interval.low, interval.high));
                Bar {
                    label,
                    parts: vec![(median, board.color(contender))],
                    interval,
                    text: number(median),
                }
            }
        });
    }
    let better = if crate::gc_bench::compare::is_more_better(metric) { "more" } else { "less" };
    let note = format!("{metric}, medians with 95 % intervals; {better} is better");
    let svg = charts::bars(&bars, metric)?;
    Ok(Picture { name: "time".to_string(), title: "Time".to_string(), svg, note })
}

/// Time in which the program ran, and time in which it was stopped for collecting.
fn split(board: &Board, workload: usize) -> Result<Option<Picture>, Box<dyn Error>> {
    let mut bars = Vec::new();
    for (contender, label) in board.contenders.iter().enumerate() {
        let cell = board.cell(workload, contender);
        let (running, stopped) = (cell.median(application_s), cell.median(collecting_s));
        if let (Some(running), Some(stopped)) = (running, stopped) {
            let parts = vec![(running, RUNNING), (stopped, STOPPED)];
            let text = format!("{:.1} %", 100.0 * stopped / (running + stopped));
            bars.push(Bar { label: label.clone(), parts, interval: None, text });
        }
    }
    let svg = charts::bars(&bars, "seconds")?;
    let note = "Left: the program runs; right: all threads are stopped for collecting, and the share of that time."
        .to_string();
    let title = "Stopped for collecting".to_string();
    Ok((!bars.is_empty()).then_some(Picture { name: "stopped".to_string(), title, svg, note }))
}

/// A contender with the traces of its right runs.
struct Seen<'a> {
    label: &'a str,
    color: usize,
    traces: Vec<Trace>,
    /// The place of the typical run among them, and the run.
    typical: usize,
    run: &'a Row,
    /// That all runs with traces took.
    minutes: f64,
}

fn seen<'a>(board: &'a Board, folder: &Path, workload: usize) -> Vec<Seen<'a>> {
    let mut found = Vec::new();
    for (contender, label) in board.contenders.iter().enumerate() {
        let cell = board.cell(workload, contender);
        let Some(run) = cell.typical() else { continue };
        let with_trace = cell.right().filter(|row| !row.trace.is_empty());
        let read: Vec<(&Row, Trace)> = with_trace
            .filter_map(|row| Some((row, Trace::read(&folder.join(&row.trace)).ok()?)))
            .collect();
        let Some(typical) = read.iter().position(|(row, _)| row.run == run.run) else {
            continue;
        };
        let minutes = read.iter().map(|(row, _)| row.wall_s).sum::<f64>() / 60.0;
        let traces = read.into_iter().map(|(_, trace)| trace).collect();
        found.push(Seen { label, color: board.color(contender), traces, typical, run, minutes });
    }
    found
}

/// The pauses that a thread inside of the program saw, or if there was none, those that the VM logged.
fn waits(trace: &Trace) -> Option<&Vec<Span>> {
    trace.late.as_ref().or(trace.stops.as_ref())
}

/// How often a thread had to wait longer: the many short waits of a busy machine do not hide the few long ones.
fn waits_by_length(seen: &[Seen]) -> Result<Option<Picture>, Box<dyn Error>> {
    let mut lines = Vec::new();
    let (mut most, mut highest, mut lowest) = (SHORTEST_MS * 2.0, 0.0_f64, 0.0_f64);
    for one in seen {
        let traces = one.traces.iter().filter_map(waits);
        let lengths = sorted(traces.flatten().filter(|span| span.ms >= SHORTEST_MS));
        let minutes = one.minutes;
        if lengths.is_empty() || minutes <= 0.0 {
            continue;
        }
        let rate = |at: usize| ((lengths.len() - at) as f64 / minutes).log10();
        most = most.max(lengths[lengths.len() - 1]);
        highest = highest.max(rate(0));
        lowest = lowest.min(rate(lengths.len() - 1));
        let points = thinned(lengths.len()).map(|at| (lengths[at], rate(at))).collect();
        lines.push(Line { label: one.label.to_string(), color: one.color, points });
    }
    if lines.is_empty() {
        return Ok(None);
    }
    let axes = Axes {
        x: "milliseconds",
        y: "longer waits in a minute",
        logarithmic: true,
        y_exponents: true,
        x_range: (SHORTEST_MS, most * 1.1),
        y_range: (lowest, highest + 0.1),
    };
    let svg = charts::lines(&lines, &axes)?;
    let note = "How often a thread of the program made no progress for longer than this, whatever the cause, in all \
                runs; further left and lower is better.";
    let title = "Waits".to_string();
    Ok(Some(Picture { name: "waits".to_string(), title, svg, note: note.to_string() }))
}

/// The cumulative distribution of the VM's own stops for collecting.
fn distribution(seen: &[Seen]) -> Result<Option<Picture>, Box<dyn Error>> {
    let mut lines = Vec::new();
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    for one in seen {
        let stops = one.traces.iter().filter_map(|trace| trace.collecting.as_ref());
        let lengths = sorted(stops.flatten().filter(|span| span.ms > 0.0));
        if lengths.is_empty() {
            continue;
        }
        let count = lengths.len();
        least = least.min(lengths[0]);
        most = most.max(lengths[count - 1]);
        let share = |at: usize| (at + 1) as f64 / count as f64;
        let mut points = vec![(lengths[0], 0.0)];
        points.extend(thinned(count).map(|at| (lengths[at], share(at))));
        lines.push(Line { label: one.label.to_string(), color: one.color, points });
    }
    if lines.is_empty() {
        return Ok(None);
    }
    let axes = Axes {
        x: "milliseconds",
        y: "share that is shorter",
        logarithmic: true,
        y_exponents: false,
        x_range: (least * 0.9, (most * 1.1).max(least * 2.0)),
        y_range: (0.0, 1.0),
    };
    let svg = charts::lines(&lines, &axes)?;
    let note = "Stops of all threads for collecting as the VM itself reports them, in all runs; further left is \
                better.";
    let title = "Pauses".to_string();
    Ok(Some(Picture { name: "pauses".to_string(), title, svg, note: note.to_string() }))
}

fn sorted<'a>(spans: impl Iterator<Item = &'a Span>) -> Vec<f64> {
    let mut lengths: Vec<f64> = spans.map(|span| span.ms).collect();
    lengths.sort_by(f64::total_cmp);
    lengths
}

/// Places of a sorted list to draw: of the short ones some, of the longest ones each.
fn thinned(count: usize) -> impl Iterator<Item = usize> {
    let step = (count / POINTS).max(1);
    (0..count).filter(move |at| at % step == 0 || at + POINTS / 4 >= count)
}

fn utilization(seen: &[Seen]) -> Result<Option<Picture>, Box<dyn Error>> {
    let mut lines = Vec::new();
    let mut end = 10.0_f64;
    for one in seen {
        let Some(spans) = waits(&one.traces[one.typical]) else { continue };
        let total_ms = one.run.wall_s * 1e3;
        end = end.max(total_ms);
        let windows: Vec<f64> =
            (0..=WINDOWS).map(|at| (total_ms).powf(at as f64 / WINDOWS as f64)).collect();
        let shares = utilization::bounded(spans, total_ms, &windows);
        let points = windows.into_iter().zip(shares).collect();
        lines.push(Line { label: one.label.to_string(), color: one.color, points });
    }
    if lines.is_empty() {
        return Ok(None);
    }
    let axes = Axes {
        x: "window, milliseconds",
        y: "share for the program",
        logarithmic: true,
        y_exponents: false,
        x_range: (1.0, end),
        y_range: (0.0, 1.0),
    };
    let svg = charts::lines(&lines, &axes)?;
    let note = "Bounded minimum mutator utilization of the typical run: in any window of that length or longer, the \
                program had at least this share; higher is better.";
    let title = "Utilization by the program".to_string();
    Ok(Some(Picture { name: "utilization".to_string(), title, svg, note: note.to_string() }))
}

fn footprint(seen: &[Seen], heap: Option<f64>) -> Result<Option<Picture>, Box<dyn Error>> {
    let mut lines = Vec::new();
    let (mut end, mut most) = (0.0_f64, heap.unwrap_or(1.0));
    for one in seen {
        let mut points = vec![(0.0, 0.0)];
        for at in &one.traces[one.typical].footprint {
            let seconds = at.at_ms / 1e3;
            let (before, after) = (at.before_bytes as f64 / MIB, at.after_bytes as f64 / MIB);
            points.extend([(seconds, before), (seconds, after)]);
            most = most.max(before);
        }
        if points.len() > 1 {
            end = end.max(points[points.len() - 1].0);
            lines.push(Line { label: one.label.to_string(), color: one.color, points });
        }
    }
    if lines.is_empty() || end <= 0.0 {
        return Ok(None);
    }
    let axes = Axes {
        x: "seconds",
        y: "MB in use",
        logarithmic: false,
        y_exponents: false,
        x_range: (0.0, end * 1.02),
        y_range: (0.0, most * 1.05),
    };
    let svg = charts::lines(&lines, &axes)?;
    let note = "The heap before and after each collection of the typical run; the axis ends at the heap's size.";
    let title = "Footprint".to_string();
    Ok(Some(Picture { name: "footprint".to_string(), title, svg, note: note.to_string() }))
}

fn faults(board: &Board, workload: usize) -> Result<Option<Picture>, Box<dyn Error>> {
    let mut bars = Vec::new();
    for (contender, label) in board.contenders.iter().enumerate() {
        let cell = board.cell(workload, contender);
        let program = cell.median(|row| row.far.map(|far| far.program_faults as f64));
        let collector = cell.median(|row| row.far.map(|far| far.collector_faults as f64));
        if let (Some(program), Some(collector)) = (program, collector) {
            let other =
                cell.median(|row| row.far.map(|far| far.other_faults as f64)).unwrap_or(0.0);
            if program + collector + other == 0.0 {
                continue;
            }
            let parts = vec![(program, RUNNING), (collector, STOPPED), (other, UNKNOWN)];
            let text = charts::short(program + collector + other);
            bars.push(Bar { label: label.clone(), parts, interval: None, text });
        }
    }
    let svg = charts::bars(&bars, "faults that fetch a page")?;
    let note =
        "Blue: of the program's threads; orange: of the collector's; grey: unknown.".to_string();
    let title = "Faults".to_string();
    Ok((!bars.is_empty()).then_some(Picture { name: "faults".to_string(), title, svg, note }))
}

/// Of too many lines, only those with the least local memory and those of other VMs are left; returns what to say of
/// that.
fn thin_out(seen: &mut Vec<Seen>) -> String {
    let least = seen.iter().filter_map(|one| share(one.label)).min();
    let Some(least) = least.filter(|_| seen.len() > LINES_MAX) else { return String::new() };
    seen.retain(|one| share(one.label).is_none_or(|share| share == least));
    format!(" Drawn: {least} % local memory, and other VMs.")
}

/// The MemLiner paper's figure 4.2, for each contender with the least local memory of its kind.
fn fault_addresses(seen: &[Seen]) -> Result<Vec<Picture>, Box<dyn Error>> {
    let has_faults = |one: &&Seen| !one.traces[one.typical].faults.is_empty();
    let with_faults = || seen.iter().filter(has_faults);
    let Some(least) = with_faults().filter_map(|one| share(one.label)).min() else {
        return Ok(Vec::new());
    };
    let chosen: Vec<&Seen> = with_faults().filter(|one| share(one.label) == Some(least)).collect();
    // One scale for all, so that pictures can be compared.
    let faults = chosen.iter().flat_map(|one| &one.traces[one.typical].faults);
    let highest = faults.map(|fault| fault.page).max().unwrap_or(0) as f64 * PAGE_MIB;
    let mut pictures = Vec::new();
    for one in chosen {
        let faults = &one.traces[one.typical].faults;
        let cloud = |label: &str, is_collectors, color| {
            let of_it = faults.iter().filter(|fault| fault.is_collectors == is_collectors);
            let points: Vec<(f64, f64)> =
                of_it.map(|fault| (fault.at_ms / 1e3, fault.page as f64 * PAGE_MIB)).collect();
            let share = 100.0 * points.len() as f64 / faults.len() as f64;
            Cloud { label: format!("{label} {share:.0} %"), color, points }
        };
        let clouds = [cloud("program", false, RUNNING), cloud("collector", true, STOPPED)];
        let axes = Axes {
            x: "seconds",
            y: "MB from the start",
            logarithmic: false,
            y_exponents: false,
            x_range: (0.0, one.run.wall_s),
            y_range: (0.0, highest * 1.02 + PAGE_MIB),
        };
        let all = one.run.far.map_or(0, |far| far.program_faults + far.collector_faults);
        pictures.push(Picture {
            name: format!("addresses-{}", row::file_name(one.label)),
            title: format!("Addresses of faults: {}", one.label),
            svg: charts::clouds(&clouds, &axes)?,
            note: format!(
                "Places in remote memory where threads waited for a page, by time: {} faults of {all}, from all of the \
                 typical run. Two colours side by side in one place are the interference of the MemLiner paper's \
                 figure 4.2. Above the heap lie a collector's own tables, such as Mako's.",
                faults.len()
            ),
        });
    }
    Ok(pictures)
}

fn heap_bytes(board: &Board, manifest: &Manifest, workload: usize) -> Option<f64> {
    let name = &board.workloads[workload];
    let size = board.rows().iter().find(|row| row.workload == *name)?.size;
    let heap = &manifest.find(name).ok()?.sizing(size).ok()?.heap;
    Some(parse_bytes(heap)? as f64 / MIB)
}

/// Places in the palette for what the program does and what the collector does.
const RUNNING: usize = 0;
const STOPPED: usize = 1;
/// And for threads that are not distinguished.
const UNKNOWN: usize = 9;
/// More lines than these cannot be distinguished.
const LINES_MAX: usize = 8;
const POINTS: usize = 120;
const WINDOWS: usize = 60;
/// Waits below this are ordinary on a busy machine.
const SHORTEST_MS: f64 = 0.5;
const MIB: f64 = 1024.0 * 1024.0;
const PAGE_MIB: f64 = 4096.0 / MIB;
