//! Which share of its time a program had for itself, at worst, by the size of the window that one looks through.
//!
//! The *minimum mutator utilization* of a window size is the least share of any window of that size that lies in the
//! run (Cheng and Blelloch); *bounded* (Sachindran and others) is the least of all windows of that size or larger,
//! which makes the curve rise: it distinguishes many short pauses in a row from few.

use crate::gc_bench::trace::Span;

/// Bounded minimum utilization for each of `windows_ms`, which must rise, over a run of `total_ms`.
pub fn bounded(pauses: &[Span], total_ms: f64, windows_ms: &[f64]) -> Vec<f64> {
    let pauses = joined(pauses, total_ms);
    let mut values: Vec<f64> =
        windows_ms.iter().map(|window| minimum(&pauses, total_ms, window.min(total_ms))).collect();
    let mut least = minimum(&pauses, total_ms, total_ms);
    for value in values.iter_mut().rev() {
        least = least.min(*value);
        *value = least;
    }
    values
}

/// The worst window begins where a pause begins, or ends where one ends.
fn minimum(pauses: &[(f64, f64)], total_ms: f64, window: f64) -> f64 {
    if window <= 0.0 {
        return if pauses.is_empty() { 1.0 } else { 0.0 };
    }
    // paused[i]: the sum of the pauses before the i-th.
    let mut paused = vec![0.0];
    for (start, end) in pauses {
        paused.push(paused[paused.len() - 1] + end - start);
    }
    let before = |time: f64| {
        let at = pauses.partition_point(|(start, _)| *start < time);
        match at {
            0 => 0.0,
            _ => paused[at - 1] + (time.min(pauses[at - 1].1) - pauses[at - 1].0),
        }
    };
    let last = (total_ms - window).max(0.0);
    let starts = pauses.iter().flat_map(|(start, end)| [*start, end - window]);
    let worst = starts
        .chain([0.0, last])
        .map(|start| start.clamp(0.0, last))
        .map(|start| before(start + window) - before(start))
        .fold(0.0, f64::max);
    (1.0 - worst / window).clamp(0.0, 1.0)
}

/// Pauses as starts and ends in order, without overlaps, inside of the run.
fn joined(pauses: &[Span], total_ms: f64) -> Vec<(f64, f64)> {
    let mut sorted: Vec<(f64, f64)> = pauses
        .iter()
        .map(|span| (span.at_ms.clamp(0.0, total_ms), (span.at_ms + span.ms).clamp(0.0, total_ms)))
        .filter(|(start, end)| end > start)
        .collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut joined: Vec<(f64, f64)> = Vec::new();
    for (start, end) in sorted {
        match joined.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(pauses: &[(f64, f64)]) -> Vec<Span> {
        pauses.iter().map(|(at_ms, ms)| Span { at_ms: *at_ms, ms: *ms }).collect()
    }

    #[test]
    fn one_pause_leaves_the_rest_of_a_window() {
        let values = bounded(&spans(&[(50.0, 10.0)]), 100.0, &[5.0, 10.0, 20.0, 100.0]);
        assert_eq!(values, [0.0, 0.0, 0.5, 0.9]);
    }

    #[test]
    fn pauses_in_a_row_are_worse_than_apart() {
        let near = bounded(&spans(&[(10.0, 5.0), (16.0, 5.0)]), 1000.0, &[11.0, 100.0]);
        let far = bounded(&spans(&[(10.0, 5.0), (516.0, 5.0)]), 1000.0, &[11.0, 100.0]);
        assert!((near[0] - 1.0 / 11.0).abs() < 1e-9 && (far[0] - 6.0 / 11.0).abs() < 1e-9);
        assert!(near[1] < far[1]);
    }

    #[test]
    fn a_larger_window_is_never_worse_and_overlaps_count_once() {
        let pauses = spans(&[(0.0, 3.0), (2.0, 3.0), (90.0, 20.0), (40.0, 1.0)]);
        let windows: Vec<f64> = (1..100).map(f64::from).collect();
        let values = bounded(&pauses, 100.0, &windows);
        assert!(values.windows(2).all(|pair| pair[0] <= pair[1]));
        assert!((bounded(&pauses, 100.0, &[100.0])[0] - 0.84).abs() < 1e-9);
        assert_eq!(bounded(&[], 100.0, &[1.0]), [1.0]);
    }
}
