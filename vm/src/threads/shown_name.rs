//! The name of a thread outside of the heap, for reports of crashes.

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicU8, Ordering};

/// The first bytes of a thread's name. The thread itself writes it; any thread reads it, and may see two names mixed.
/// Async-signal-safe.
pub struct ShownName([AtomicU8; BYTES]);

impl ShownName {
    pub fn new() -> ShownName {
        ShownName([const { AtomicU8::new(0) }; BYTES])
    }

    /// A longer name is cut.
    pub fn set(&self, name: &str) {
        let bytes = name.bytes().filter(|byte| *byte != 0).chain(std::iter::repeat(0));
        for (to, from) in self.0.iter().zip(bytes) {
            to.store(from, Ordering::Relaxed);
        }
    }
}

impl Default for ShownName {
    fn default() -> Self {
        ShownName::new()
    }
}

impl fmt::Display for ShownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.each_ref().map(|byte| byte.load(Ordering::Relaxed));
        let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(BYTES);
        for chunk in bytes[..length].utf8_chunks() {
            f.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                f.write_char('?')?;
            }
        }
        Ok(())
    }
}

const BYTES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_replace_each_other_and_are_cut() {
        let name = ShownName::new();
        assert_eq!(name.to_string(), "");
        name.set(&"x".repeat(100));
        assert_eq!(name.to_string(), "x".repeat(BYTES));
        name.set("main");
        assert_eq!(name.to_string(), "main");
        name.set(&format!("{}\u{e9}", "y".repeat(BYTES - 1)));
        assert_eq!(name.to_string(), format!("{}?", "y".repeat(BYTES - 1)));
    }
}
