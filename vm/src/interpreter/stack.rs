//! The Java stack of one thread.

/// Memory for frames, with a limit that raises `StackOverflowError`.
pub struct JavaStack {
    _base: usize,
}

impl JavaStack {
    /// Reserves `bytes` of address space.
    pub fn new(_bytes: usize) -> JavaStack {
        JavaStack { _base: 0 }
    }
}
