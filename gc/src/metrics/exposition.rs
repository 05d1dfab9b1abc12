//! The text format of Prometheus, version 0.0.4.

use std::fmt::{Display, Write};

/// The type of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// The current value.
    Gauge,
    /// Counts by limits.
    Histogram,
}

/// A page of figures, in the order in which they are written. Names are those of Prometheus' conventions: base
/// units, `_total` behind counters.
#[derive(Default)]
pub struct Exposition {
    text: String,
}

impl Exposition {
    pub fn new() -> Exposition {
        Exposition::default()
    }

    /// Begins a family: all its values follow.
    pub fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
    }

    /// One value of the family begun last.
    pub fn value(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels = written(labels);
        self.line(format_args!("{name}{labels} {value}"));
    }

    /// A family of one value.
    pub fn single(&mut self, name: &str, kind: Kind, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.value(name, &[], value);
    }

    /// One histogram of the family begun last: of each bucket its limit, `None` for the last one, and how many are in
    /// it and in no earlier one. Limits and `sum` are in the family's unit.
    pub fn histogram(
        &mut self,
        name: &str,
        labels: &[(&str, &str)],
        buckets: impl IntoIterator<Item = (Option<f64>, u64)>,
        sum: f64,
    ) {
        let mut count = 0;
        for (limit, more) in buckets {
            count += more;
            let limit = limit.map_or("+Inf".to_string(), |limit| limit.to_string());
            let labels = written(&[labels, &[("le", limit.as_str())]].concat());
            self.line(format_args!("{name}_bucket{labels} {count}"));
        }
        let labels = written(labels);
        self.line(format_args!("{name}_sum{labels} {sum}\n{name}_count{labels} {count}"));
    }

    /// The page.
    pub fn finish(self) -> String {
        self.text
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.text, "{line}").expect("a string takes everything");
    }
}

fn written(labels: &[(&str, &str)]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let pairs = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_histograms() {
        let mut page = Exposition::new();
        page.single("a_bytes", Kind::Gauge, "What\nis \\ there.", 17);
        page.family("b_total", Kind::Counter, "Two.");
        page.value("b_total", &[("name", "say \"x\"\n")], 1);
        page.family("c_seconds", Kind::Histogram, "Three.");
        let buckets = [(Some(0.5), 2), (Some(1.0), 0), (None, 1)];
        page.histogram("c_seconds", &[("k", "v")], buckets, 7.25);
        let expected = r#"# HELP a_bytes What\nis \\ there.
# TYPE a_bytes gauge
a_bytes 17
# HELP b_total Two.
# TYPE b_total counter
b_total{name="say \"x\"\n"} 1
# HELP c_seconds Three.
# TYPE c_seconds histogram
c_seconds_bucket{k="v",le="0.5"} 2
c_seconds_bucket{k="v",le="1"} 2
c_seconds_bucket{k="v",le="+Inf"} 3
c_seconds_sum{k="v"} 7.25
c_seconds_count{k="v"} 3
"#;
        assert_eq!(page.finish(), expected);
    }
}
