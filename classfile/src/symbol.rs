//! Interned names: one immutable byte string per distinct name, compared by address.
//!
//! Class, method and field names and descriptors, in the class file's modified UTF-8 (JVMS 4.4.7),
//! which may hold unpaired surrogates and so is not a Rust `str`. The table is process-wide and only
//! grows; it holds no heap state, so several VMs may share it. Any thread; never blocks for long.

use parking_lot::RwLock;
use rustc_hash::FxHashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

/// An interned name. Copy, pointer-sized equality and hash.
#[derive(Clone, Copy)]
pub struct Symbol(&'static [u8]);

impl Symbol {
    /// The symbol of these modified UTF-8 bytes.
    pub fn intern(bytes: &[u8]) -> Symbol {
        if let Some(&known) = TABLE.read().get(bytes) {
            return Symbol(known);
        }
        let mut table = TABLE.write();
        if let Some(&known) = table.get(bytes) {
            return Symbol(known);
        }
        // An empty boxed slice has no address of its own; every symbol must have one.
        let mut owned = Vec::with_capacity(bytes.len() + 1);
        owned.extend_from_slice(bytes);
        owned.push(0);
        let stored: &'static [u8] = &owned.leak()[..bytes.len()];
        table.insert(stored);
        Symbol(stored)
    }

    /// The symbol of an ASCII (or any UTF-8 without NUL and without supplementary characters) name.
    pub fn of(name: &str) -> Symbol {
        Symbol::intern(name.as_bytes())
    }

    /// Modified UTF-8 bytes.
    #[inline]
    pub fn bytes(self) -> &'static [u8] {
        self.0
    }

    /// The same bytes, followed in memory by a NUL, for C callers. Lives for ever.
    pub fn c_ptr(self) -> *const std::ffi::c_char {
        self.0.as_ptr().cast()
    }

    /// For messages: invalid UTF-8 is replaced.
    pub fn text(self) -> std::borrow::Cow<'static, str> {
        String::from_utf8_lossy(self.0)
    }
}

impl PartialEq for Symbol {
    #[inline]
    fn eq(&self, other: &Symbol) -> bool {
        std::ptr::eq(self.0.as_ptr(), other.0.as_ptr())
    }
}

impl Eq for Symbol {}

impl Hash for Symbol {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.0.as_ptr() as usize).hash(state);
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.text())
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.text())
    }
}

static TABLE: LazyLock<RwLock<FxHashSet<&'static [u8]>>> = LazyLock::new(Default::default);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_one_symbol() {
        assert_eq!(Symbol::of("java/lang/Object"), Symbol::intern(b"java/lang/Object"));
        assert_ne!(Symbol::of("a"), Symbol::of("b"));
        assert_eq!(Symbol::of("").bytes(), b"");
        assert_eq!(Symbol::of(""), Symbol::of(""));
        assert_ne!(Symbol::of(""), Symbol::of("a"));
    }
}
