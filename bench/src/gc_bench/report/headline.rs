//! Who won, and by how much: what is read in ten seconds.

use std::fmt::Write;

use crate::gc_bench::compare::number;
use crate::gc_bench::report::board::{Board, Mean, collector, is_peer, longest_ms, share};
use crate::gc_bench::report::html::escape;

pub fn section(board: &Board) -> String {
    let mut text = String::from("<div class=\"headline\">\n");
    let mut shares: Vec<u32> = board
        .contenders
        .iter()
        .filter(|name| board.is_plain(name))
        .filter_map(|name| share(name))
        .collect();
    shares.sort();
    shares.dedup();
    for share in &shares {
        if let Some(sentence) = at_share(board, *share) {
            let _ = writeln!(text, "<p>{sentence}</p>");
        }
    }
    if let Some(sentence) = against_peer(board) {
        let _ = writeln!(text, "<p>{sentence}</p>");
    }
    let failed = board.rows().len()
        - board
            .rows()
            .iter()
            .filter(|row| row.verdict == crate::gc_bench::row::Verdict::Right)
            .count();
    let _ = match failed {
        0 => writeln!(text, "<p>All {} runs ended with the right result.</p>", board.rows().len()),
        _ => writeln!(
            text,
            "<p><a class=\"bad\" href=\"#failed\">{failed} of {} runs did not end with the right result.</a></p>",
            board.rows().len()
        ),
    };
    text + "</div>\n"
}

/// Ours at one share of local memory, the fastest one first.
fn at_share(board: &Board, of: u32) -> Option<String> {
    let mut ours: Vec<usize> = (0..board.contenders.len())
        .filter(|at| {
            board.is_plain(&board.contenders[*at]) && share(&board.contenders[*at]) == Some(of)
        })
        .collect();
    if ours.len() < 2 {
        return None;
    }
    // All are measured against one of them, then sorted.
    let base = ours[0];
    let mean = |at: usize| board.ratio(at, base).map_or(f64::INFINITY, |mean| mean.mean);
    ours.sort_by(|a, b| mean(*a).total_cmp(&mean(*b)));
    let best = ours[0];
    let name = |at: usize| format!("<b>{}</b>", escape(collector(&board.contenders[at])));
    let mut others = Vec::new();
    for other in &ours[1..] {
        if let Some(mean) = board.ratio(*other, best) {
            others.push(format!("{} takes {}", name(*other), takes(mean)));
        }
    }
    if others.is_empty() {
        return None;
    }
    let verb = match board.ratio(ours[1], best) {
        Some(mean) if mean.is_repeated && mean.interval.low > 1.0 => "is the fastest",
        _ => "is ahead, but by no more than chance",
    };
    let mut text = format!("At {of} % local memory {} {verb}: {}.", name(best), others.join(", "));
    let waits: Vec<(f64, usize)> =
        ours.iter().filter_map(|at| Some((wait_ms(board, *at)?, *at))).collect();
    let shortest = waits.iter().min_by(|a, b| a.0.total_cmp(&b.0));
    let longest = waits.iter().max_by(|a, b| a.0.total_cmp(&b.0));
    if let (Some((short, winner)), Some((long, loser))) = (shortest, longest)
        && winner != loser
    {
        let _ = write!(
            text,
            " {} makes a program wait the least: {} ms at worst, {} up to {} ms (medians over workloads).",
            name(*winner),
            number(*short),
            name(*loser),
            number(*long)
        );
    }
    Some(text)
}

fn takes(mean: Mean) -> String {
    let plural = if mean.workloads == 1 { "" } else { "s" };
    let confidence = match mean.is_repeated {
        true => format!("95 %: {}", mean.confidence()),
        false => "one run each: may be chance".to_string(),
    };
    format!("{:.2} times as long ({confidence}; {} workload{plural})", mean.mean, mean.workloads)
}

/// The fastest of ours with most local memory, against the first peer, which has all of its memory.
fn against_peer(board: &Board) -> Option<String> {
    let peer = board.contenders.iter().position(|name| is_peer(name))?;
    let most = board
        .contenders
        .iter()
        .filter(|name| board.is_plain(name))
        .filter_map(|name| share(name))
        .max()?;
    let ours = (0..board.contenders.len()).filter(|at| {
        board.is_plain(&board.contenders[*at]) && share(&board.contenders[*at]) == Some(most)
    });
    let (mean, best) = ours
        .filter_map(|at| Some((board.ratio(at, peer)?, at)))
        .min_by(|a, b| a.0.mean.total_cmp(&b.0.mean))?;
    Some(format!(
        "Beside <b>{}</b>, {} takes {}.",
        escape(&board.contenders[peer]),
        escape(&board.contenders[best]),
        takes(mean)
    ))
}

/// The median over workloads of the longest wait.
fn wait_ms(board: &Board, contender: usize) -> Option<f64> {
    let values: Vec<f64> = (0..board.workloads.len())
        .filter_map(|workload| board.cell(workload, contender).median(longest_ms))
        .collect();
    (!values.is_empty()).then(|| crate::gc_bench::evidence::median(&values))
}
