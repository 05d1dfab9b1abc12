//! Amounts as command lines write them.

use std::time::Duration;

/// A size as on the `java` command line: digits and an optional k, m, g or t.
pub fn parse_bytes(text: &str) -> Option<usize> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 10),
        b'm' | b'M' => (&text[..text.len() - 1], 20),
        b'g' | b'G' => (&text[..text.len() - 1], 30),
        b't' | b'T' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    digits.parse::<usize>().ok()?.checked_mul(1 << shift)
}

/// Bytes per second: `40gbit`, `100mbit`, or as sizes are written.
pub fn parse_bandwidth(text: &str) -> Option<u64> {
    let bits = |digits: &str, unit: u64| digits.parse::<u64>().ok()?.checked_mul(unit / 8);
    if let Some(digits) = text.strip_suffix("gbit") {
        return bits(digits, 1_000_000_000);
    }
    if let Some(digits) = text.strip_suffix("mbit") {
        return bits(digits, 1_000_000);
    }
    parse_bytes(text).map(|bytes| bytes as u64)
}

/// A time, to the nearest nanosecond: a decimal number with `ns`, `us`, `ms` or `s`, such as `5us` or `1.5ms`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let unit_s = match &text[digits..] {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(text[..digits].parse::<f64>().ok()? * unit_s).ok()
}

/// A share in per cent: a decimal number with `%`, such as `25%` or `12.5%`. Its range is for the caller to check.
pub fn parse_percent(text: &str) -> Option<f64> {
    text.strip_suffix('%')?.parse().ok().filter(|percent: &f64| percent.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_rates() {
        assert_eq!(parse_bytes("64m"), Some(64 << 20));
        assert_eq!(parse_bytes("3G"), Some(3 << 30));
        assert_eq!(parse_bytes("12"), Some(12));
        for wrong in ["", "m", "-1m", "1x", "99999999999g"] {
            assert_eq!(parse_bytes(wrong), None, "{wrong}");
        }
        assert_eq!(parse_bandwidth("40gbit"), Some(5_000_000_000));
        assert_eq!(parse_bandwidth("1m"), Some(1 << 20));
        assert_eq!(parse_bandwidth("fast"), None);
    }

    #[test]
    fn times() {
        assert_eq!(parse_duration("5us"), Some(Duration::from_micros(5)));
        assert_eq!(parse_duration("300ns"), Some(Duration::from_nanos(300)));
        assert_eq!(parse_duration("1.5ms"), Some(Duration::from_micros(1500)));
        assert_eq!(parse_duration("2s"), Some(Duration::from_secs(2)));
        for wrong in ["", "5", "us", ".us", "-1us", "1.2.3us", "1m", "NaNs", "infs"] {
            assert_eq!(parse_duration(wrong), None, "{wrong}");
        }
        assert_eq!(parse_duration(&format!("{}s", "9".repeat(30))), None);
    }

    #[test]
    fn shares() {
        assert_eq!(parse_percent("25%"), Some(25.0));
        assert_eq!(parse_percent("12.5%"), Some(12.5));
        for wrong in ["", "25", "%", "NaN%", "inf%", "x%"] {
            assert_eq!(parse_percent(wrong), None, "{wrong}");
        }
    }
}
