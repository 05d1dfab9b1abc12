//! The first page of a segment.

use crate::PoolError;
use crate::sync::{AtomicU64, Ordering};

/// What a program must have in common with the one that made the segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    /// The sizes of all structures, as one number.
    pub layout: u64,
    /// How many identities there are.
    pub clients: u64,
    /// In which namespace of process numbers.
    pub namespace: u64,
}

/// The header's words, each of 8 bytes, little-endian:
///
/// ```text
///   0        8         16       24      32        40          48     64      88     4096
///   +--------+---------+--------+-------+---------+-----------+------+-------+------+
///   | magic  | version | layout | bytes | clients | namespace | zero | marks | zero |
///   +--------+---------+--------+-------+---------+-----------+------+-------+------+
/// ```
///
/// The magic word is written last. Nothing but the marks changes afterwards.
pub(crate) struct Header<'a> {
    words: &'a [AtomicU64],
}

/// Bytes before the structures of a pool.
pub(crate) const HEADER_BYTES: u64 = 4096;

pub(super) const WORDS: usize = 6;

/// Where the marks are: words in which those that use the pool say what it has.
pub(super) const MARKS_AT: u64 = 64;
pub(super) const MARKS: usize = 3;

const _: () = assert!(WORDS * 8 <= MARKS_AT as usize);
const _: () = assert!(MARKS_AT + 8 * MARKS as u64 <= HEADER_BYTES);

const MAGIC: u64 = u64::from_le_bytes(*b"farpool\0");

const VERSION: u64 = 2;

impl Header<'_> {
    pub(super) fn new(words: &[AtomicU64]) -> Header<'_> {
        assert_eq!(words.len(), WORDS);
        Header { words }
    }

    pub(super) fn is_stamped(&self) -> bool {
        self.words[0].load(Ordering::Acquire) == MAGIC
    }

    pub(super) fn stamp(&self, stamp: &Stamp, bytes: u64) {
        let values = [VERSION, stamp.layout, bytes, stamp.clients, stamp.namespace];
        for (word, value) in self.words[1..].iter().zip(values) {
            word.store(value, Ordering::Relaxed);
        }
        self.words[0].store(MAGIC, Ordering::Release);
    }

    /// The stamp of a segment whose file has `bytes`.
    pub(super) fn check(&self, bytes: u64) -> Result<Stamp, PoolError> {
        let found = self.words[0].load(Ordering::Acquire);
        if found != MAGIC {
            return Err(PoolError::NotAPool { found });
        }
        let [version, layout, header, clients, namespace] =
            [1, 2, 3, 4, 5].map(|n| self.words[n].load(Ordering::Relaxed));
        if version != VERSION {
            return Err(PoolError::Version { found: version, supported: VERSION });
        }
        if header != bytes {
            return Err(PoolError::Size { header, file: bytes });
        }
        Ok(Stamp { layout, clients, namespace })
    }
}
