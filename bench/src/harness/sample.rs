//! Repeated measurements of one thing: median, spread, geometric mean.

/// Milliseconds of the same work, measured again and again.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Sample {
    values: Vec<f64>,
}

impl Sample {
    pub fn add(&mut self, value: f64) {
        self.values.push(value);
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The middle value; of an even number, the mean of the two middle ones. NaN if there is none.
    pub fn median(&self) -> f64 {
        let sorted = self.sorted();
        let middle = sorted.len() / 2;
        match sorted.len() {
            0 => f64::NAN,
            n if n % 2 == 1 => sorted[middle],
            _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
        }
    }

    /// The middle half lies between these two: the spread, untouched by one slow moment.
    pub fn quartiles(&self) -> (f64, f64) {
        let sorted = self.sorted();
        match sorted.len() {
            0 => (f64::NAN, f64::NAN),
            n => (sorted[n / 4], sorted[n - 1 - n / 4]),
        }
    }

    fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }
}

impl std::fmt::Display for Sample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_empty() {
            return f.pad("-");
        }
        let ((low, high), median) = (self.quartiles(), self.median());
        let digits = usize::from(median < 99.95);
        f.pad(&format!("{median:.digits$} ({low:.digits$}-{high:.digits$})"))
    }
}

/// The geometric mean; `None` of nothing.
pub fn geomean(values: &[f64]) -> Option<f64> {
    let logarithms: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (logarithms / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample { values: values.to_vec() }
    }

    #[test]
    fn one_slow_moment_changes_neither_median_nor_quartiles() {
        let calm = sample(&[10.0, 11.0, 9.0, 10.0, 10.0, 12.0, 10.0, 9.5]);
        let mut noisy = calm.clone();
        noisy.add(500.0);
        assert_eq!(calm.median(), 10.0);
        assert_eq!(noisy.median(), 10.0);
        assert!(noisy.quartiles().1 < 13.0);
        assert_eq!(noisy.to_string(), "10.0 (10.0-11.0)");
    }

    #[test]
    fn of_an_even_number_the_median_is_between_the_middle_two() {
        assert_eq!(sample(&[4.0, 1.0, 3.0, 2.0]).median(), 2.5);
        assert!(sample(&[]).median().is_nan());
        assert_eq!(sample(&[]).to_string(), "-");
    }

    #[test]
    fn ratios_multiply() {
        assert!((geomean(&[2.0, 0.5, 8.0, 0.125]).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(geomean(&[]), None);
    }
}
