//! The memory of a map: a counted object.

use super::entry::Words;
use super::hash::TAG_BITS;
use crate::PoolError;
use crate::crash::crash_point;
use crate::detect::Word;
use crate::refs::{Ref, RefClient};
use crate::sync::{AtomicU64, Ordering, own, put};
use std::hash::{BuildHasher, Hasher, RandomState};

/// The parts of a table:
///
/// ```text
///   0        64       128                    256
///   +--------+--------+----------------------+--------------------------------------------+
///   | head   | hand   | tallies, by identity | buckets: words of `detect`                 |
///   +--------+--------+----------------------+--------------------------------------------+
///
///   head: kind | seed | buckets | capacity | evicts | identities | highest identity | closing
///   tally: bytes | entries | hits | misses | evictions | expirations
/// ```
///
/// They begin at the first multiple of 64 in the object's data. A tally is written by the client with that identity:
/// how much it has added to the map, less what it has removed. `hand` counts the buckets that were looked at by those
/// that evict. The rest of the head is never changed, but for the highest identity that used the map, and `closing`:
/// once it is not 0, the map is destroyed, and whoever finds it by its name finishes that.
pub(super) struct Table<'c> {
    pub head: &'c [AtomicU64],
    pub hand: &'c AtomicU64,
    pub tallies: &'c [AtomicU64],
    pub tallies_at: u64,
    pub buckets: &'c [Word],
    pub buckets_at: u64,
}

/// Words of the head.
pub(super) const SEED: usize = 1;
const BUCKETS: usize = 2;
pub(super) const CAPACITY: usize = 3;
pub(super) const EVICTS: usize = 4;
const ROWS: usize = 5;
pub(super) const HIGHEST: usize = 6;
const CLOSING: usize = 7;

/// Words of a tally.
pub(super) const BYTES: usize = 0;
pub(super) const ENTRIES: usize = 1;
pub(super) const HITS: usize = 2;
pub(super) const MISSES: usize = 3;
pub(super) const EVICTIONS: usize = 4;
pub(super) const EXPIRATIONS: usize = 5;
pub(super) const TALLY: usize = 8;

/// What a head begins with.
const KIND: u64 = u64::from_le_bytes(*b"fh map 1");

const LINE: u64 = 64;
const WORD: u64 = size_of::<Word>() as u64;

/// The value of a bucket: an entry, or a *node* that has several.
///
/// ```text
///   63     62               48 47                                      0
///   +------+------------------+----------------------------------------+
///   | 0    | tag of the key   | entry                                  |
///   +------+------------------+----------------------------------------+
///   | 1    | how many         | node: as many words of the first form  |
///   +------+------------------+----------------------------------------+
/// ```
///
/// 0: none. [`CLOSED`]: the map was destroyed. A node is a counted object, and never changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bucket(u64);

pub(super) const EMPTY: u64 = 0;
pub(super) const CLOSED: u64 = 1;

const OFFSET_BITS: u32 = 48;
const NODE: u64 = 1 << 63;

/// Entries of a bucket at most.
pub(super) const NODE_MAX: usize = (1 << TAG_BITS) - 1;

const _: () = assert!(OFFSET_BITS + TAG_BITS == 63);

/// What a bucket has. Loads of it are protected by the reader that loaded the bucket.
pub(super) enum Content<'c> {
    None,
    One(u64),
    Many(u64, &'c [AtomicU64]),
}

impl Bucket {
    /// One entry.
    #[inline(always)]
    pub(super) fn entry(tag: u64, at: u64) -> u64 {
        tag << OFFSET_BITS | at
    }

    pub(super) fn node(count: usize, at: u64) -> u64 {
        NODE | (count as u64) << OFFSET_BITS | at
    }

    #[inline(always)]
    pub(super) fn tag(item: u64) -> u64 {
        item >> OFFSET_BITS & NODE_MAX as u64
    }

    #[inline(always)]
    pub(super) fn at(item: u64) -> u64 {
        item & ((1 << OFFSET_BITS) - 1)
    }

    /// What is behind a value. An error if the map was destroyed.
    #[inline(always)]
    pub(super) fn content<'c>(value: u64, words: Words<'c>) -> Result<Content<'c>, PoolError> {
        match value {
            EMPTY => Ok(Content::None),
            CLOSED => Err(PoolError::Closed),
            one if one & NODE == 0 => Ok(Content::One(one)),
            node => {
                let (at, count) = (Bucket::at(node), Bucket::tag(node));
                Ok(Content::Many(at, words.some(at, count as usize)?))
            }
        }
    }
}

impl Content<'_> {
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        match self {
            Content::None => 0,
            Content::One(_) => 1,
            Content::Many(_, items) => items.len(),
        }
    }

    /// The n-th entry.
    #[inline(always)]
    pub(super) fn item(&self, n: usize) -> u64 {
        match self {
            Content::None => unreachable!("an empty bucket has no entry"),
            Content::One(item) => *item,
            Content::Many(_, items) => own(&items[n]),
        }
    }

    /// Its node; 0: none.
    pub(super) fn node(&self) -> u64 {
        if let Content::Many(at, _) = self { *at } else { 0 }
    }
}

impl<'c> Table<'c> {
    /// Makes a table for this many entries. Takes time in proportion to them.
    pub(super) fn make(
        client: &'c RefClient<'c>,
        entries: u64,
        capacity: u64,
        evicts: bool,
    ) -> Result<Ref<'c>, PoolError> {
        let pool = client.heap().pool();
        let rows = pool.clients() as u64 + 1;
        let no_memory = PoolError::NoMemory { bytes: u64::MAX };
        // Half as many entries as buckets: most have one place for themselves.
        let buckets = entries.max(8).checked_mul(2).filter(|count| *count < 1 << 40);
        let buckets = buckets.ok_or(no_memory)?;
        let bytes = 2 * LINE + LINE * (rows + 1) + WORD * buckets;
        // An offset must fit into a bucket.
        if pool.segment().bytes() > 1 << OFFSET_BITS {
            return Err(PoolError::NoMemory { bytes });
        }
        let table = client.alloc(bytes, 0)?;
        for word in table.data()? {
            word.store(0, Ordering::Relaxed);
        }
        let at = (table.object() + Ref::DATA_AT).next_multiple_of(LINE);
        let seed = RandomState::new().build_hasher().finish();
        let head = [KIND, seed, buckets, capacity, evicts.into(), rows, 0, 0];
        for (word, value) in pool.atomics(at, head.len())?.iter().zip(head) {
            word.store(value, Ordering::Relaxed);
        }
        Ok(table)
    }

    /// The table that an object is. An error if it is none.
    pub(super) fn of(table: &Ref<'c>) -> Result<Table<'c>, PoolError> {
        let (pool, object) = (table.client().heap().pool(), table.object());
        let wrong = PoolError::Kind { object };
        let data = object + Ref::DATA_AT;
        let end = data + 8 * table.data()?.len() as u64;
        let at = data.next_multiple_of(LINE);
        if table.embedded()? != 0 || at + 2 * LINE > end {
            return Err(wrong);
        }
        let head = pool.atomics(at, TALLY)?;
        let [kind, count, rows] = [0, BUCKETS, ROWS].map(|n| own(&head[n]));
        let tallies_at = at + 2 * LINE;
        let buckets_at = tallies_at + rows.saturating_mul(LINE).min(end);
        let is_table = kind == KIND && rows == pool.clients() as u64 + 1 && count > 0;
        if !is_table || buckets_at.saturating_add(count.saturating_mul(WORD)) > end {
            return Err(wrong);
        }
        Ok(Table {
            head,
            hand: &pool.atomics(at + LINE, 1)?[0],
            tallies: pool.atomics(tallies_at, rows as usize * TALLY)?,
            tallies_at,
            buckets: pool.words(buckets_at, count as usize)?,
            buckets_at,
        })
    }

    /// The tally of a client.
    pub(super) fn tally(&self, id: u16) -> &'c [AtomicU64] {
        &self.tallies[usize::from(id) * TALLY..][..TALLY]
    }

    pub(super) fn tally_at(&self, id: u16) -> u64 {
        self.tallies_at + u64::from(id) * LINE
    }

    /// The client with this identity uses the map.
    pub(super) fn enter(&self, id: u16) {
        if own(&self.head[HIGHEST]) < id.into() {
            self.head[HIGHEST].fetch_max(id.into(), Ordering::AcqRel);
        }
    }

    /// The map is destroyed from now on. One store.
    pub(super) fn begin_closing(&self) {
        put(&self.head[CLOSING], 1);
        crash_point!("map.closing");
    }

    /// An error if the map was destroyed, also if that is not finished.
    #[inline(always)]
    pub(super) fn open(&self) -> Result<(), PoolError> {
        if self.head[CLOSING].load(Ordering::Acquire) == 0 {
            Ok(())
        } else {
            Err(PoolError::Closed)
        }
    }

    /// What all clients together count.
    pub(super) fn sum(&self, of: usize) -> u64 {
        let highest = own(&self.head[HIGHEST]).min(self.tallies.len() as u64 / TALLY as u64 - 1);
        let tallies = (1..=highest as usize).map(|id| own(&self.tallies[id * TALLY + of]));
        // What one client has added, another one may have removed.
        let sum = tallies.fold(0, u64::wrapping_add);
        if sum > u64::MAX / 2 { 0 } else { sum }
    }

    /// Where a bucket is.
    #[inline(always)]
    pub(super) fn bucket_at(&self, n: usize) -> u64 {
        self.buckets_at + WORD * n as u64
    }
}
