//! The timeline of one run: a file beside the rows, the same for every VM.
//!
//! There are two kinds of pauses, and both are kept. *Late wake-ups* are seen by a thread inside the program and have
//! any cause (`Probe.java`); they are defined alike for all VMs. *Stops* are reported by the VM itself: safepoints.

use std::collections::BTreeMap;
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
    /// The same stops by the names that the VM gives them, for [`pauses`](Trace::pauses); only our VM has names.
    #[serde(skip)]
    pub named: BTreeMap<String, Vec<Span>>,
    /// Waits of single threads of the program for the collector, by what they waited for: `pause`, `cycle`, `region`,
    /// `pacer`. Only our VM reports them.
    #[serde(default)]
    pub waits: Option<BTreeMap<String, Vec<Span>>>,
    /// How many waits the VM counted and did not keep.
    #[serde(default)]
    pub waits_left_out: u64,
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
    /// `None` in rows of old.
    #[serde(default)]
    pub p95_ms: Option<f64>,
    pub p99_ms: f64,
    pub max_ms: f64,
}

/// The summary of the pauses in a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pauses {
    pub late: Option<Lengths>,
    pub stops: Option<Lengths>,
    pub collecting: Option<Lengths>,
    /// Stops by name, such as `Pause PTP`.
    #[serde(default)]
    pub named: BTreeMap<String, Lengths>,
    /// Waits of any kind.
    pub blocked: Option<Lengths>,
    /// The same by what threads waited for.
    #[serde(default)]
    pub waits: BTreeMap<String, Lengths>,
    /// Waits that none of these has.
    #[serde(default)]
    pub waits_left_out: u64,
}

impl Trace {
    pub fn read(path: &Path) -> io::Result<Trace> {
        let text = std::fs::read_to_string(path)?;
        let wrong = |error| io::Error::other(format!("{}: {error}", path.display()));
        serde_json::from_str(&text).map_err(wrong)
    }

    /// Of each list with too many pauses the longest ones are kept.
    pub fn write(&mut self, path: &Path) -> io::Result<()> {
        let stops = [&mut self.late, &mut self.stops, &mut self.collecting].into_iter().flatten();
        let waits = self.waits.iter_mut().flat_map(BTreeMap::values_mut);
        stops.chain(waits).for_each(|spans| keep_longest(spans, SPANS_MAX));
        std::fs::write(path, serde_json::to_string(self)?)
    }

    pub fn pauses(&self) -> Pauses {
        let lengths = |spans: &Option<Vec<Span>>| spans.as_ref().map(Lengths::of);
        let by_name = |spans: &BTreeMap<String, Vec<Span>>| {
            spans.iter().map(|(name, spans)| (name.clone(), Lengths::of(spans))).collect()
        };
        let of_any_kind = |waits: &BTreeMap<_, Vec<Span>>| Lengths::of(waits.values().flatten());
        Pauses {
            late: lengths(&self.late),
            stops: lengths(&self.stops),
            collecting: lengths(&self.collecting),
            named: by_name(&self.named),
            blocked: self.waits.as_ref().map(of_any_kind),
            waits: self.waits.as_ref().map(by_name).unwrap_or_default(),
            waits_left_out: self.waits_left_out,
        }
    }
}

impl Lengths {
    pub fn of<'a>(spans: impl IntoIterator<Item = &'a Span>) -> Lengths {
        let mut sorted: Vec<f64> = spans.into_iter().map(|span| span.ms).collect();
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
            p95_ms: Some(at(0.95)),
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
        assert_eq!(lengths.p95_ms, Some(95.0));
        assert_eq!(Lengths::of(&[]), Lengths { p95_ms: Some(0.0), ..Lengths::default() });
        assert_eq!(Lengths::of(&spans[..1]).p50_ms, 100.0);
    }

    #[test]
    fn waits_of_any_kind_are_all_of_them() {
        let span = |ms: f64| Span { at_ms: 0.0, ms };
        let waits = [("region", vec![span(1.0), span(2.0)]), ("cycle", vec![span(40.0)])];
        let waits = waits.map(|(name, spans)| (name.to_string(), spans));
        let trace = Trace { waits: Some(waits.into()), waits_left_out: 7, ..Trace::default() };
        let pauses = trace.pauses();
        let any = pauses.blocked.unwrap();
        assert_eq!((any.count, any.total_ms, any.max_ms, any.p50_ms), (3, 43.0, 40.0, 2.0));
        assert_eq!((pauses.waits["region"].count, pauses.waits["region"].max_ms), (2, 2.0));
        assert_eq!((pauses.waits.len(), pauses.waits_left_out), (2, 7));
        assert_eq!(Trace::default().pauses(), Pauses::default());
    }
}
