//! Contenders with another network to their memory servers than the others: what the delays of the network cost.

use crate::gc_bench::report::board::Board;
use crate::gc_bench::report::html::{escape, link, of_contender, table, words};

/// A table with a line for each contender that was measured with two networks; "" if there is none.
pub fn section(board: &Board) -> String {
    let mut lines = vec![words(&["contender", "time", "95 %", "workloads"])];
    for (place, name) in board.contenders.iter().enumerate() {
        let Some(base) = same_with_common_network(board, name) else { continue };
        let Some(mean) = board.ratio(base, place) else { continue };
        lines.push(vec![
            escape(&board.contenders[base]),
            link(&of_contender(place), &format!("{:.2}×", mean.mean)),
            mean.confidence(),
            mean.workloads.to_string(),
        ]);
    }
    match lines.len() {
        1 => String::new(),
        _ => format!(
            "<h3>Cost of the network</h3>\n<p class=\"quiet\">{NOTE}</p>\n{}",
            table(&lines)
        ),
    }
}

/// The contender that differs from this one by the network only.
fn same_with_common_network(board: &Board, name: &str) -> Option<usize> {
    if !board.has_own_network(name) {
        return None;
    }
    let is_same = |other: &&String| {
        !board.has_own_network(other)
            && Board::without_network(other).eq(Board::without_network(name))
    };
    board.place(board.contenders.iter().find(is_same)?)
}

const NOTE: &str = "Time with the network of most rows, as a multiple of that with the contender's own one, which is \
    no network if it was measured with <code>--far undelayed</code>: geometric means over workloads.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc_bench::manifest::tests::example;
    use crate::gc_bench::row::tests::row;

    #[test]
    fn two_networks_are_compared() {
        let own = "-XX:FarLatency=0s -XX:FarBandwidth=0";
        let rows = [
            ("mako 25% -Xint".to_string(), 3.0),
            (format!("mako 25% -Xint {own}"), 2.0),
            ("mako 13% -Xint".to_string(), 9.0),
            (format!("g1 25% -Xint {own}"), 1.0),
        ]
        .map(|(contender, seconds)| row("a", &contender, 0, seconds));
        let text = section(&Board::new(&rows, &example()));
        assert!(text.contains("<td>mako 25% -Xint</td>") && text.contains(">1.50×</a>"), "{text}");
        assert_eq!(text.matches("<tr>").count(), 2, "{text}");
        assert_eq!(section(&Board::new(&rows[2..3], &example())), "");
    }
}
