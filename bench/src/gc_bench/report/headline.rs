//! The ranking of the contenders, with factors: a summary for ten seconds.

use std::fmt::Write;

use crate::gc_bench::compare::number;
use crate::gc_bench::report::board::{Board, Mean, collector, is_peer, longest_ms, share};
use crate::gc_bench::report::html::{escape, link, of_contender, table};
use crate::gc_bench::row::Verdict;

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
    let all: Vec<Ranking> = shares.iter().filter_map(|share| Ranking::of(board, *share)).collect();
    if let Some(least) = all.first() {
        let _ = writeln!(text, "<p>{}</p>", least.sentence(board));
        text += &grid(board, &all);
    }
    if let Some(sentence) = against_peer(board) {
        let _ = writeln!(text, "<p>{sentence}</p>");
    }
    let right = board.rows().iter().filter(|row| row.verdict == Verdict::Right).count();
    let (all, failed) = (board.rows().len(), board.rows().len() - right);
    let _ = match failed {
        0 => writeln!(text, "<p>All {all} runs ended with the expected result.</p>"),
        _ => writeln!(
            text,
            "<p><a class=\"bad\" href=\"#failed\">{failed} of {all} runs did not end with the expected result.</a></p>",
        ),
    };
    let unfair = board.rows().iter().filter(|row| row.is_unfair()).count();
    if unfair > 0 {
        let _ = writeln!(
            text,
            "<p><a class=\"bad\" href=\"#unfair\">{unfair} runs were unfair</a>: they had more memory than their \
             share. The numbers exclude them.</p>",
        );
    }
    let like: Option<&str> =
        board.rows().iter().map(|row| row.as_resident_as.as_str()).find(|peer| !peer.is_empty());
    if let Some(like) = like {
        let _ = writeln!(
            text,
            "<p>Ours with less than 100 % local memory had as much of it as {} had of its heap resident, at each \
             share and in each round.</p>",
            escape(collector(like))
        );
    }
    text + "</div>\n"
}

/// Ours at one share of local memory.
struct Ranking {
    share: u32,
    /// Places of contenders with their times as multiples of the first one's, the fastest one first.
    order: Vec<(usize, Option<Mean>)>,
    /// The same with the longest wait of each, milliseconds.
    waits: Vec<(usize, Option<f64>)>,
    /// The same with the number of workloads that others completed and it did not. A contender with more of them
    /// stands behind those with fewer: its mean is over other workloads than theirs.
    missing: Vec<(usize, usize)>,
}

impl Ranking {
    /// `None` where there are fewer than two to compare.
    fn of(board: &Board, of: u32) -> Option<Ranking> {
        let is_of_share = |at: &usize| {
            board.is_plain(&board.contenders[*at]) && share(&board.contenders[*at]) == Some(of)
        };
        let mut ours: Vec<usize> = (0..board.contenders.len()).filter(is_of_share).collect();
        let missing: Vec<_> = ours.iter().map(|at| (*at, board.missing(*at, &ours))).collect();
        let missing_of =
            |of: usize| missing.iter().find(|(at, _)| *at == of).map_or(0, |one| one.1);
        // All are measured against one of them, then sorted.
        let base = *ours.iter().min_by_key(|at| missing_of(**at))?;
        let mean = |at: usize| board.ratio(at, base).map_or(f64::INFINITY, |mean| mean.mean);
        ours.sort_by(|a, b| {
            (missing_of(*a).cmp(&missing_of(*b))).then(mean(*a).total_cmp(&mean(*b)))
        });
        let best = ours[0];
        let order: Vec<_> = ours.iter().map(|at| (*at, board.ratio(*at, best))).collect();
        let waits = ours.iter().map(|at| (*at, wait_ms(board, *at))).collect();
        let compared = order.iter().filter(|(_, mean)| mean.is_some()).count();
        (compared > 1).then_some(Ranking { share: of, order, waits, missing })
    }

    fn sentence(&self, board: &Board) -> String {
        let name = |at: usize| format!("<b>{}</b>", escape(collector(&board.contenders[at])));
        let verb = match self.order[1].1 {
            Some(mean) if mean.is_repeated && mean.interval.low > 1.0 => "is the fastest",
            _ => "is ahead, but not significantly",
        };
        let winner = name(self.order[0].0);
        let mut text = format!("At {} % local memory {winner} {verb}", self.share);
        if let (next, Some(mean)) = self.order[1] {
            let _ = write!(text, ": {}, second, takes {}", name(next), takes(mean, next));
        }
        let waits = self.waits.iter().filter_map(|(at, ms)| Some(((*ms)?, *at)));
        if let Some((ms, at)) = waits.min_by(|a, b| a.0.total_cmp(&b.0)) {
            let (who, ms) = (name(at), link(&of_contender(at), &number(ms)));
            let _ = write!(text, ". The longest wait is shortest under {who}: {ms} ms");
        }
        text + "."
    }

    /// The figures of a contender: its time, and its wait.
    fn cell(&self, at: usize) -> String {
        let Some((_, Some(mean))) = self.order.iter().find(|(place, _)| *place == at) else {
            return "-".to_string();
        };
        let missing = self.missing.iter().find(|(place, _)| *place == at).map_or(0, |one| one.1);
        let is_as_good = mean.is_repeated && mean.interval.low <= 1.0 && missing == 0;
        let is_best = self.order[0].0 == at || is_as_good;
        let time = match is_best {
            true => format!("<b class=\"best\">{:.2}×</b>", mean.mean),
            false => format!("{:.2}×", mean.mean),
        };
        let time = link(&of_contender(at), &time);
        let wait = self.waits.iter().find(|(place, _)| *place == at).and_then(|(_, ms)| *ms);
        let wait =
            wait.map_or(String::new(), |ms| format!("<br><span class=\"quiet\">{ms:.0} ms</span>"));
        let failed = match missing {
            0 => String::new(),
            _ => format!("<br><span class=\"bad\">{missing} missing</span>"),
        };
        time + &wait + &failed
    }
}

/// A line for each collector, a column for each share of local memory.
fn grid(board: &Board, all: &[Ranking]) -> String {
    let mut head = vec!["local".to_string()];
    head.extend(all.iter().map(|ranking| format!("{} %", ranking.share)));
    let mut lines = vec![head];
    let mut named: Vec<&str> = Vec::new();
    for (at, _) in all.iter().flat_map(|ranking| &ranking.order) {
        let name = collector(&board.contenders[*at]);
        if !named.contains(&name) {
            named.push(name);
        }
    }
    for name in named {
        let mut line = vec![format!("<b>{}</b>", escape(name))];
        line.extend(all.iter().map(|ranking| {
            let place = board.ours(name, ranking.share);
            place.map_or("-".to_string(), |at| ranking.cell(at))
        }));
        lines.push(line);
    }
    table(&lines)
        + "<p class=\"quiet\">Times as multiples of the fastest one's at that share of local memory, over all \
           workloads that both completed; bold: the fastest, and those that do not differ from it significantly \
           (a test that needs five runs). Below: the longest wait of a program, the median over workloads; missing: \
           workloads that others completed and it did not.</p>\n"
}

/// `contender` is whose runs the mean is of.
fn takes(mean: Mean, contender: usize) -> String {
    let plural = if mean.workloads == 1 { "" } else { "s" };
    let confidence = match mean.is_repeated {
        true => format!("95 %: {}", mean.confidence()),
        false => "fewer than five runs each: not significant".to_string(),
    };
    let times = link(&of_contender(contender), &format!("{:.2} times", mean.mean));
    format!("{times} as long ({confidence}; {} workload{plural})", mean.workloads)
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
        takes(mean, best)
    ))
}

/// The median over workloads of the longest wait.
fn wait_ms(board: &Board, contender: usize) -> Option<f64> {
    let values: Vec<f64> = (0..board.workloads.len())
        .filter_map(|workload| board.cell(workload, contender).median(longest_ms))
        .collect();
    (!values.is_empty()).then(|| crate::gc_bench::evidence::median(&values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc_bench::manifest::tests::example;
    use crate::gc_bench::row::tests::row;

    fn cells(text: &str, name: &str) -> Vec<String> {
        let line = text.lines().find(|line| line.contains(&format!("<b>{name}</b></td>")));
        let line = line.unwrap_or_else(|| panic!("no line of {name} in {text}"));
        let cell = |cell: &str| {
            let html = cell.split("</td>").next().unwrap();
            html.split_once('>')
                .filter(|_| html.starts_with("<a "))
                .map_or(html, |(_, rest)| rest)
                .into()
        };
        line.split("<td>").skip(2).map(cell).collect()
    }

    #[test]
    fn the_winner_stands_first_and_who_is_as_good_is_bold_too() {
        let mut rows = Vec::new();
        for (name, seconds) in [("g1", 3.0), ("mako", 2.0), ("serial", 2.01)] {
            for run in 0..6 {
                let spread = 1.0 + f64::from(run) / 20.0;
                rows.push(row("a", &format!("{name} 25%"), run as usize, seconds * spread));
                rows.push(row("a", &format!("{name} 100%"), run as usize, 6.0 - seconds));
            }
        }
        let text = section(&Board::new(&rows, &example()));
        assert!(text.contains("At 25 % local memory <b>mako</b> is ahead, but not significantly"));
        assert!(text.find("<b>mako</b></td>") < text.find("<b>g1</b></td>"), "{text}");
        let bold = |factor: &str| format!("<b class=\"best\">{factor}×</b></a>");
        let plain = |factor: &str| format!("{factor}×</a>");
        assert_eq!(cells(&text, "mako"), [bold("1.00"), plain("1.33")]);
        assert_eq!(
            cells(&text, "serial")[0],
            bold("1.00"),
            "1.005 times as long, not significantly"
        );
        assert_eq!(cells(&text, "g1"), [plain("1.50"), bold("1.00")]);
    }

    #[test]
    fn who_fails_does_not_win_with_the_rest() {
        let mut rows = Vec::new();
        for (name, seconds) in [("g1", 3.0), ("mako", 1.0)] {
            for workload in ["a", "b", "c"] {
                rows.extend((0..6).map(|run| row(workload, &format!("{name} 25%"), run, seconds)));
            }
        }
        let fails = |row: &&mut crate::gc_bench::row::Row| {
            row.contender.starts_with("mako") && row.workload != "b"
        };
        rows.iter_mut().filter(fails).for_each(|row| row.verdict = Verdict::Failed);
        let text = section(&Board::new(&rows, &example()));
        assert!(text.contains("At 25 % local memory <b>g1</b>"), "{text}");
        assert!(cells(&text, "mako")[0].ends_with(">2 missing</span>"), "{text}");
    }
}
