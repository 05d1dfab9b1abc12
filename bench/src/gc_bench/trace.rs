//! The timeline of one run: a file beside the rows, the same for every VM.
//!
//! There are two kinds of pauses, and both are kept. *Late wake-ups* are seen by a thread inside the program and have
//! any cause (`Probe.java`); they are defined alike for all VMs. *Stops* are reported by the VM itself: safepoints.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Times in milliseconds since the process was started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// When a thread of the program should have woken up, and how much later it did; `None` without a probe.
    pub late: Option<Vec<Span>>,
    /// From the request to stop until all threads were released.
    pub stops: Option<Vec<Span>>,
    /// Of the stops, those for collecting.
    pub collecting: Option<Vec<Span>>,
    /// Waits inside of barriers and allocations, by thread; only our VM reports them.
    pub blocked: Option<Vec<Span>>,
    /// Of the waits, those for a region under evacuation.
    #[serde(default)]
    pub region_waits: Option<Vec<Span>>,
    pub footprint: Vec<Footprint>,
    /// Bytes resident in the process.
    pub resident: Vec<(f64, u64)>,
    /// A sample of the faults that fetched a page, from all of the run; only our VM reports them.
    #[serde(default)]
    pub faults: Vec<Fault>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Span {
    pub at_ms: f64,
    pub ms: f64,
}

/// A thread waited for a page.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    pub at_ms: f64,
    /// From the start of the far space.
    pub page: u64,
    /// Whose thread it was.
    pub is_collectors: bool,
}

/// Bytes of the heap in use before and after a collection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Footprint {
    pub at_ms: f64,
    pub before_bytes: u64,
    pub after_bytes: u64,
}

/// How long pauses were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lengths {
    pub count: usize,
    pub total_ms: f64,
    pub p50_ms: f64,
    pub p90_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
}

/// The summary of the pauses in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pauses {
    pub late: Option<Lengths>,
    pub stops: Option<Lengths>,
    pub collecting: Option<Lengths>,
    pub blocked: Option<Lengths>,
    #[serde(default)]
    pub region_waits: Option<Lengths>,
}

impl Trace {
    pub fn read(path: &Path) -> io::Result<Trace> {
        let text = std::fs::read_to_string(path)?;
        let wrong = |error| io::Error::other(format!("{}: {error}", path.display()));
        serde_json::from_str(&text).map_err(wrong)
    }

    /// Of each list with too many pauses the longest ones are kept.
    pub fn write(&mut self, path: &Path) -> io::Result<()> {
        let waits = [&mut self.blocked, &mut self.region_waits];
        let stops = [&mut self.late, &mut self.stops, &mut self.collecting];
        for list in stops.into_iter().chain(waits) {
            list.as_mut().into_iter().for_each(|spans| keep_longest(spans, SPANS_MAX));
        }
        std::fs::write(path, serde_json::to_string(self)?)
    }

    pub fn pauses(&self) -> Pauses {
        let lengths = |spans: &Option<Vec<Span>>| spans.as_ref().map(|spans| Lengths::of(spans));
        Pauses {
            late: lengths(&self.late),
            stops: lengths(&self.stops),
            collecting: lengths(&self.collecting),
            blocked: lengths(&self.blocked),
            region_waits: lengths(&self.region_waits),
        }
    }
}

impl Lengths {
    pub fn of(spans: &[Span]) -> Lengths {
        let mut sorted: Vec<f64> = spans.iter().map(|span| span.ms).collect();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (share * sorted.len() as f64).ceil() as usize;
            sorted.get(place.max(1) - 1).copied().unwrap_or(0.0)
        };
        Lengths {
            count: sorted.len(),
            total_ms: sorted.iter().fold(0.0, |sum, ms| sum + ms),
            p50_ms: at(0.5),
            p90_ms: at(0.9),
            p99_ms: at(0.99),
            max_ms: at(1.0),
        }
    }
}

/// Their order stays as it is.
fn keep_longest(spans: &mut Vec<Span>, count: usize) {
    if spans.len() > count {
        let mut lengths: Vec<f64> = spans.iter().map(|span| span.ms).collect();
        lengths.sort_by(|a, b| b.total_cmp(a));
        let least = lengths[count];
        spans.retain(|span| span.ms > least);
    }
}

/// In a file, of each kind.
const SPANS_MAX: usize = 20_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_the_longest_are_kept_in_their_order() {
        let span = |ms: u32| Span { at_ms: 0.0, ms: f64::from(ms) };
        let mut spans: Vec<Span> = [5, 1, 9, 3, 7].map(span).to_vec();
        keep_longest(&mut spans, 3);
        assert_eq!(spans, [5, 9, 7].map(span));
        keep_longest(&mut spans, 3);
        assert_eq!(spans.len(), 3);
    }

    #[test]
    fn lengths_have_quantiles_that_were_measured() {
        let spans: Vec<Span> =
            (1..=100).rev().map(|ms| Span { at_ms: 0.0, ms: f64::from(ms) }).collect();
        let lengths = Lengths::of(&spans);
        assert_eq!((lengths.p50_ms, lengths.p90_ms, lengths.p99_ms), (50.0, 90.0, 99.0));
        assert_eq!((lengths.max_ms, lengths.total_ms, lengths.count), (100.0, 5050.0, 100));
        assert_eq!(Lengths::of(&[]), Lengths::default());
        assert_eq!(Lengths::of(&spans[..1]).p50_ms, 100.0);
    }
}
