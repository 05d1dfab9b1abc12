//! The data behind the numbers: every row, and the reasons to doubt it.

use std::fmt::Write;

use crate::gc_bench::compare::{self, number};
use crate::gc_bench::evidence;
use crate::gc_bench::manifest::{Manifest, WALL};
use crate::gc_bench::noise::LOUD_SHARE;
use crate::gc_bench::report::board::Board;
use crate::gc_bench::report::html::{escape, link, of_cell, of_contender, table, words};
use crate::gc_bench::row::{Row, Verdict};
use crate::gc_bench::watch;
use crate::kernel_swap::relief::UNFAIR_SHARE;

/// Noise, drift, contenders measured twice, and how numbers are made.
pub fn trust(board: &Board, manifest: &Manifest) -> String {
    let rows = board.rows();
    let mut text = String::new();
    let loud = rows.iter().filter(|row| row.noise.is_loud(row.wall_s, row.machine.cores)).count();
    let _ = writeln!(
        text,
        "<p>{} In {loud} of {} runs other processes took more than {:.0} % of the machine's CPU time. Load \
         average before runs: {} in the median. Stolen by the hypervisor: {} s in all.</p>",
        if loud * 10 > rows.len() { "<b class=\"bad\">The machine was not quiet.</b>" } else { "" },
        rows.len(),
        LOUD_SHARE * 100.0,
        number(evidence::median(
            &rows.iter().map(|row| row.noise.load_before).collect::<Vec<f64>>()
        )),
        number(rows.iter().map(|row| row.noise.steal_s).sum())
    );
    if let Some((drift, significant)) = drift(board) {
        let _ = writeln!(
            text,
            "<p>Drift: the second half of the runs took {:.1} % {} than the first half{}.</p>",
            (drift - 1.0).abs() * 100.0,
            if drift >= 1.0 { "longer" } else { "less" },
            if significant {
                ", <b class=\"bad\">significantly: the machine changed during the series</b>"
            } else {
                ""
            }
        );
    }
    let owned: Vec<Row> = rows.iter().map(|row| (*row).clone()).collect();
    let again = compare::again(&owned, manifest);
    if !again.is_empty() {
        let _ = writeln!(text, "<p>The same measured twice: {}.</p>", compare::summary(&again));
    }
    let few = board
        .workloads
        .iter()
        .enumerate()
        .any(|(at, _)| board.cell(at, 0).rows.len() < evidence::RUNS_MIN);
    text += "<p class=\"quiet\">Numbers are medians of runs. Intervals hold the true value with 95 % confidence \
             (percentile bootstrap, 2,000 draws from a seed). No warm-up is excluded: a run is a process from \
             its start to its end, compiling included, unless a workload's own figure says otherwise. All contenders \
             have the same heap size.";
    if few {
        text += " <b>With fewer than five runs of a kind no single difference is significant.</b>";
    }
    text + "</p>\n"
}

/// How many times as long the later runs of all cells took, and whether that is more than chance.
fn drift(board: &Board) -> Option<(f64, bool)> {
    let mut halves: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
    for workload in 0..board.workloads.len() {
        for contender in 0..board.contenders.len() {
            let values = board.cell(workload, contender).figures(WALL);
            if values.len() >= 4 {
                let (first, second) = values.split_at(values.len() / 2);
                halves.push((second.to_vec(), first.to_vec()));
            }
        }
    }
    if halves.is_empty() {
        return None;
    }
    let ratios: Vec<f64> = halves
        .iter()
        .map(|(second, first)| evidence::median(second) / evidence::median(first))
        .collect();
    let pairs: Vec<(&[f64], &[f64])> =
        halves.iter().map(|(second, first)| (second.as_slice(), first.as_slice())).collect();
    let interval = evidence::of_geomean(&pairs);
    let mean = crate::harness::sample::geomean(&ratios)?;
    Some((mean, interval.low > 1.0 + DRIFT || interval.high < 1.0 - DRIFT))
}

/// Folded tables, one for each workload on each contender.
pub fn rows(board: &Board) -> String {
    let failed: Vec<&Row> =
        board.rows().iter().copied().filter(|row| row.verdict != Verdict::Right).collect();
    let mut text = String::from("<details id=\"failed\"");
    if !failed.is_empty() {
        text += " open";
    }
    let _ =
        writeln!(text, "><summary>Runs without the expected result: {}</summary>", failed.len());
    let mut lines = vec![words(&["workload", "contender", "run", "what", "end", "reason"])];
    for row in failed {
        lines.push(vec![
            escape(&row.workload),
            escape(&row.contender),
            row.run.to_string(),
            format!("{:?}", row.verdict),
            escape(&row.end),
            escape(&row.note),
        ]);
    }
    text += &table(&lines);
    text += "</details>\n";
    text += &unfair(board);
    for contender in 0..board.contenders.len() {
        text += &of_all_workloads(board, contender);
    }
    for (workload, name) in board.workloads.iter().enumerate() {
        let _ = writeln!(text, "<details><summary>{}</summary>", escape(name));
        for (contender, contender_name) in board.contenders.iter().enumerate() {
            let cell = board.cell(workload, contender);
            let Some(first) = cell.rows.first() else { continue };
            let _ = writeln!(
                text,
                "<h3 id=\"{}\">{} on {}</h3>",
                of_cell(workload, contender),
                escape(name),
                escape(contender_name)
            );
            text += &cell_table(&cell.rows, &board.metrics[workload]);
            text += COLUMNS;
            let command: Vec<String> = first.command.iter().map(|word| escape(word)).collect();
            let _ = writeln!(text, "<p><code>{}</code></p>", command.join(" "));
        }
        text += "</details>\n";
    }
    text
}

/// A folded table of the runs that had more memory than they should; nothing if there are none.
fn unfair(board: &Board) -> String {
    let unfair: Vec<&Row> = board.rows().iter().copied().filter(|row| row.is_unfair()).collect();
    if unfair.is_empty() {
        return String::new();
    }
    let head = ["workload", "contender", "run", "tries", "beyond its limit, % of byte-seconds"];
    let mut lines = vec![words(&head)];
    for row in &unfair {
        lines.push(vec![
            escape(&row.workload),
            escape(&row.contender),
            row.run.to_string(),
            row.tries.to_string(),
            match row.relieved.all_byte_s > 0.0 {
                true => number(100.0 * row.relieved.beyond_share()),
                false => "not counted".to_string(),
            },
        ]);
    }
    format!(
        "<details id=\"unfair\" open><summary>Unfair runs: {}</summary>\n<p class=\"quiet\">The kernel found nothing \
         to swap out, and they got more memory than their share instead of being killed. A run with more than \
         {:.0} % of its byte-seconds beyond its limit, in each try, is excluded from all numbers.</p>\n{}</details>\n",
        unfair.len(),
        100.0 * UNFAIR_SHARE,
        table(&lines)
    )
}

/// A folded table of a contender's figures: means over workloads are made of this, and each line leads to its runs.
fn of_all_workloads(board: &Board, contender: usize) -> String {
    let mut lines = vec![words(&["workload", "figure", "median", "all runs", "right"])];
    for (workload, name) in board.workloads.iter().enumerate() {
        let cell = board.cell(workload, contender);
        if cell.rows.is_empty() {
            continue;
        }
        let metric = &board.metrics[workload];
        let median = cell.median(|row| row.figure(metric));
        let all: Vec<String> = cell.figures(metric).into_iter().map(number).collect();
        lines.push(vec![
            link(&of_cell(workload, contender), &escape(name)),
            escape(metric),
            median.map_or("-".to_string(), number),
            all.join(" "),
            format!("{} of {}", cell.right().count(), cell.rows.len()),
        ]);
    }
    format!(
        "<details id=\"{}\"><summary>{}</summary>\n{}</details>\n",
        of_contender(contender),
        escape(&board.contenders[contender]),
        table(&lines)
    )
}

fn cell_table(rows: &[&Row], metric: &str) -> String {
    let mut head = words(&["run", "result", "wall, s"]);
    if metric != WALL {
        head.push(escape(metric));
    }
    let more = [
        "program CPU, s",
        "collector threads' CPU, s",
        "servers CPU, s",
        "peak, MB",
        "servers' peak, MB",
        "longest wait, ms",
        "longest stop, ms",
        "stops",
        "stopped, ms",
        "waits",
        "waits: 95 %, ms",
        "longest, ms",
        "collections",
        "degenerated",
        "full",
        "program faults",
        "collector faults",
        "faults of unknown threads",
        "fetched, MB",
        "written, MB",
        "prefetch coverage",
        "accuracy",
        "beyond its limit, ms",
        "beyond its limit, % of byte-seconds",
        "tries",
        "resident heap, MB",
        "resident in all, MB",
        "local memory, MB",
        "tables, MB",
        "tables, % of the heap used",
        "servers' tables, MB",
        "servers' tables, % of the heap used",
        "traced from queues, %",
        "others' CPU, s",
    ];
    head.extend(words(&more));
    let mut lines = vec![head];
    let optional = |value: Option<f64>| value.map_or("-".to_string(), number);
    let count = |count: Option<u64>| count.map_or("-".to_string(), |count| count.to_string());
    for row in rows {
        let unfair = if row.is_unfair() { ", unfair" } else { "" };
        let result = format!("{:?}{unfair}", row.verdict);
        let mut line = vec![row.run.to_string(), result, number(row.wall_s)];
        if metric != WALL {
            line.push(optional(row.figure(metric)));
        }
        let megabytes = |bytes: u64| (bytes >> 20).to_string();
        let average = |bytes: u64| match row.resident.samples {
            0 => "-".to_string(),
            _ => megabytes(bytes),
        };
        let far = |figure: fn(&crate::gc_bench::counters::Far) -> String| {
            row.far.as_ref().map_or("-".to_string(), figure)
        };
        line.extend([
            number(row.resources.program_s),
            number(watch::collector_s(&row.resources.threads_s)),
            number(row.resources.servers_s),
            megabytes(row.resources.peak_bytes),
            megabytes(row.resources.servers_peak_bytes),
            optional(row.pauses.late.map(|lengths| lengths.max_ms)),
            optional(row.pauses.stops.map(|lengths| lengths.max_ms)),
            row.pauses.stops.map_or("-".to_string(), |lengths| lengths.count.to_string()),
            optional(row.pauses.stops.map(|lengths| lengths.total_ms)),
            count(row.pauses.blocked.map(|lengths| lengths.count as u64)),
            optional(row.pauses.blocked.and_then(|lengths| lengths.p95_ms)),
            optional(row.pauses.blocked.map(|lengths| lengths.max_ms)),
            count(row.cycles.map(|cycles| cycles.all)),
            count(row.cycles.map(|cycles| cycles.degenerated)),
            count(row.cycles.map(|cycles| cycles.full)),
            far(|far| told_apart(far, far.program_faults)),
            far(|far| told_apart(far, far.collector_faults)),
            far(|far| far.other_faults.to_string()),
            far(|far| (far.fetched_bytes >> 20).to_string()),
            far(|far| (far.written_bytes >> 20).to_string()),
            optional(row.far.and_then(|far| far.prefetch_coverage)),
            optional(row.far.and_then(|far| far.prefetch_accuracy)),
            match row.relieved.times {
                0 => "-".to_string(),
                _ => row.relieved.time.as_millis().to_string(),
            },
            match row.relieved.all_byte_s > 0.0 {
                true => number(100.0 * row.relieved.beyond_share()),
                false => "-".to_string(),
            },
            row.tries.to_string(),
            average(row.resident.heap_bytes),
            average(row.resident.all_bytes),
            match (row.local_bytes, row.far) {
                (0, None) => "-".to_string(),
                (0, Some(far)) => megabytes(far.budget_bytes),
                (bytes, _) => megabytes(bytes),
            },
            far(|far| match far.metadata_percent {
                Some(_) => number(far.metadata_bytes as f64 / f64::from(1 << 20)),
                None => "-".to_string(),
            }),
            optional(row.far.and_then(|far| far.metadata_percent)),
            far(|far| match far.server_metadata_bytes {
                0 => "-".to_string(),
                bytes => number(bytes as f64 / f64::from(1 << 20)),
            }),
            match row.far.filter(|far| far.server_metadata_bytes > 0) {
                Some(far) => optional(far.server_metadata_percent),
                None => "-".to_string(),
            },
            optional(row.traced.map(|traced| 100.0 * traced.queue_share())),
            number(row.noise.others_s),
        ]);
        lines.push(line);
    }
    table(&lines)
}

/// Peers' faults are counted, but not by thread.
fn told_apart(far: &crate::gc_bench::counters::Far, faults: u64) -> String {
    match far.other_faults {
        0 => faults.to_string(),
        _ => "-".to_string(),
    }
}

/// The note below each table of runs.
const COLUMNS: &str = "<p class=\"quiet\">Fetched, of all contenders: whole pages of 4 KiB from remote memory, by \
    faults and by readahead, used or not. Of ours and under far-run only the heap is remote; under the kernel's \
    swap all of the process but pages of files. Resident heap and in all: a peer's resident memory, time averages \
    of samples, shared memory once. Tables: memory of collector and pager at the end in addition to local memory, \
    without the servers' tables. Those are of the last cycle that agents traced, of all servers together. Waits: of \
    single threads for the collector, stops included. Traced from queues: of the objects that MemLiner's tracers \
    scanned, without roots.</p>\n";

/// A smaller value gets no warning.
const DRIFT: f64 = 0.02;
