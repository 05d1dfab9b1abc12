//! Everything about the heap that can be chosen at start-up.

/// Which collector runs. The test matrix is read from [`CollectorKind::ALL`]; nobody lists collectors twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CollectorKind {
    Epsilon,
}

impl CollectorKind {
    pub const ALL: &[CollectorKind] = &[CollectorKind::Epsilon];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            CollectorKind::Epsilon => "epsilon",
        }
    }
}

/// Options of one heap.
#[derive(Clone, Debug)]
pub struct HeapOptions {
    pub collector: CollectorKind,
    /// `-Xmx`, bytes.
    pub max_bytes: usize,
}
