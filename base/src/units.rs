//! Amounts as command lines write them.

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
