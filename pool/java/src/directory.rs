//! What the module keeps at the beginning of a pool: who made it, the layer of counted objects, and channels by name.
//!
//! ```text
//!   0       64                 names                 rings
//!   +-------+------------------+---------------------+----------------------+
//!   | stamp | counted objects  | names of channels   | rings, one for each  |
//!   +-------+------------------+---------------------+----------------------+
//! ```
//!
//! A name has its place for good. It is claimed by a compare-and-swap of its hash, and the text is written then. All
//! that look for the name write the same text until it is complete, so the death of the first one does not matter. Two
//! names of one hash are refused.

use crate::failure::{Failure, Reason};
use crate::shared::CLIENTS;
use pool::{Pool, PoolError, Refs, Ring};
use std::sync::atomic::{AtomicU64, Ordering};

/// The channels of a pool. Any thread may use it.
pub struct Directory<'a> {
    pool: &'a Pool,
}

/// The place of one channel.
///
/// ```text
///   0      8          16       64               128            192               448     512
///   +------+----------+--------+----------------+--------------+-----------------+--------+
///   | hash | is whole | length | receiver waits | sender waits | name            | unused |
///   +------+----------+--------+----------------+--------------+-----------------+--------+
/// ```
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    pool: &'a Pool,
    /// From 0 on.
    number: usize,
    words: &'a [AtomicU64],
}

/// Channels that a pool can have.
pub const CHANNELS: usize = 256;
/// Bytes of a channel's name at most.
pub const NAME_MAX: usize = 255;
/// Messages that a channel can have on their way.
pub const RING: usize = 1024;

/// Changes with the layout.
const STAMP: u64 = u64::from_le_bytes(*b"farpool1");
const NAMES_AT: u64 = (Directory::REFS_AT + Refs::bytes(CLIENTS)).next_multiple_of(4096);
const ENTRY_BYTES: u64 = 512;
const ENTRY_WORDS: usize = ENTRY_BYTES as usize / 8;
const IS_WHOLE: usize = 1;
const LENGTH: usize = 2;
const RECEIVER_WAITS: usize = 8;
const SENDER_WAITS: usize = 16;
const NAME: usize = 24;
const RINGS_AT: u64 = (NAMES_AT + CHANNELS as u64 * ENTRY_BYTES).next_multiple_of(4096);
const RING_BYTES: u64 = Ring::bytes(RING).next_multiple_of(64);

/// Bytes in front of the heap.
pub const RESERVED: u64 = (RINGS_AT + CHANNELS as u64 * RING_BYTES).next_multiple_of(4096);

const _: () = assert!(NAME * 8 + NAME_MAX.next_multiple_of(8) <= ENTRY_BYTES as usize);

impl<'a> Directory<'a> {
    /// Where the layer of counted objects is in the data of the pool.
    pub const REFS_AT: u64 = 64;

    /// Stamps the pool, or checks that it has the stamp.
    pub fn new(pool: &'a Pool) -> Result<Directory<'a>, Failure> {
        let stamp = &pool.atomics(pool.data(), 1)?[0];
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        match stamp.compare_exchange(0, STAMP, success, failure) {
            Ok(_) | Err(STAMP) => Ok(Directory { pool }),
            Err(_) => {
                Err(Failure::Pool(Reason::NotAPool, "a pool of another version or program".into()))
            }
        }
    }

    /// The least length of a pool, in bytes.
    pub fn bytes_min() -> Result<u64, PoolError> {
        Ok(Pool::data_of(CLIENTS)? + RESERVED + HEAP_MIN)
    }

    /// The place of a channel, which is made if there is none. Lock-free.
    pub fn channel(&self, name: &str) -> Result<Entry<'a>, Failure> {
        if name.is_empty() || name.len() > NAME_MAX {
            let text = format!("a name has 1 to {NAME_MAX} bytes, and not {}", name.len());
            return Err(Failure::Argument(text));
        }
        let hash = hash(name);
        for n in 0..CHANNELS {
            let number = (hash as usize).wrapping_add(n) % CHANNELS;
            let entry = Directory::entry(self.pool, number)?;
            let word = &entry.words[0];
            let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
            let found = match word.load(Ordering::Acquire) {
                0 => word.compare_exchange(0, hash, success, failure).map_or_else(|f| f, |_| hash),
                found => found,
            };
            if found == hash {
                entry.complete(name)?;
                return Ok(entry);
            }
        }
        let text = format!("the pool has the names of {CHANNELS} channels already");
        Err(Failure::Pool(Reason::Names, text))
    }

    /// The place with this number, from 0 on.
    pub fn entry(pool: &'a Pool, number: usize) -> Result<Entry<'a>, PoolError> {
        let at = pool.data() + NAMES_AT + number as u64 * ENTRY_BYTES;
        let words = pool.atomics(at, ENTRY_WORDS)?;
        Ok(Entry { pool, number, words })
    }
}

/// What the heap needs for its structures, and to be of any use.
const HEAP_MIN: u64 = 32 << 20;

impl<'a> Entry<'a> {
    /// Writes the name, or checks it.
    fn complete(&self, name: &str) -> Result<(), Failure> {
        let text = self.words[NAME..].iter();
        let wanted = name.as_bytes().chunks(8).map(|chunk| {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(bytes)
        });
        let is_whole = &self.words[IS_WHOLE];
        if is_whole.load(Ordering::Acquire) == 0 {
            self.words[LENGTH].store(name.len() as u64, Ordering::Relaxed);
            for (word, wanted) in text.clone().zip(wanted.clone()) {
                word.store(wanted, Ordering::Relaxed);
            }
            is_whole.store(1, Ordering::Release);
        }
        let is_this = self.words[LENGTH].load(Ordering::Relaxed) == name.len() as u64
            && text.zip(wanted).all(|(word, wanted)| word.load(Ordering::Relaxed) == wanted);
        if is_this { Ok(()) } else { Err(same_hash(name)) }
    }

    /// From 0 on.
    pub fn number(&self) -> usize {
        self.number
    }

    pub fn ring(&self) -> Result<Ring<'a>, PoolError> {
        Ring::new(self.pool, self.ring_at(), RING)
    }

    /// Messages that were ever sent and received.
    pub fn counts(&self) -> Result<[&'a AtomicU64; 2], PoolError> {
        let words = self.pool.atomics(self.ring_at(), 16)?;
        Ok([&words[0], &words[8]])
    }

    /// Not 0 while the receiver perhaps sleeps, and the sender.
    pub fn waits(&self) -> [&'a AtomicU64; 2] {
        [&self.words[RECEIVER_WAITS], &self.words[SENDER_WAITS]]
    }

    fn ring_at(&self) -> u64 {
        self.pool.data() + RINGS_AT + self.number as u64 * RING_BYTES
    }
}

fn same_hash(name: &str) -> Failure {
    Failure::Pool(
        Reason::Names,
        format!("the name {name:?} clashes with another one: choose a third"),
    )
}

/// Never 0. The same in all versions: it is in pools (FNV-1a).
fn hash(name: &str) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    name.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pool::Backing;

    fn pool() -> Pool {
        let bytes = Directory::bytes_min().unwrap();
        Pool::create(&Backing::Memory { bytes }, CLIENTS).unwrap()
    }

    #[test]
    fn a_name_keeps_its_place() {
        let pool = pool();
        let directory = Directory::new(&pool).unwrap();
        let names: Vec<String> = (0..CHANNELS).map(|n| format!("channel {n}")).collect();
        let place = |name: &String| directory.channel(name).unwrap().number();
        let first: Vec<_> = names.iter().map(place).collect();
        let again: Vec<_> = names.iter().rev().map(place).rev().collect();
        assert_eq!(first, again);
        let mut places = first.clone();
        places.sort();
        assert_eq!(places, (0..CHANNELS).collect::<Vec<_>>());
        let full = directory.channel("one more").err();
        assert!(matches!(full, Some(Failure::Pool(Reason::Names, _))), "{full:?}");
    }

    #[test]
    fn names_are_whole_whoever_dies() {
        let pool = pool();
        let directory = Directory::new(&pool).unwrap();
        // The first one died after its claim.
        let name = "a name of some length";
        let entry = Directory::entry(&pool, hash(name) as usize % CHANNELS).unwrap();
        entry.words[0].store(hash(name), Ordering::Relaxed);
        assert_eq!(directory.channel(name).unwrap().number(), entry.number());
        // Another name of that hash.
        entry.words[NAME].store(7, Ordering::Relaxed);
        assert!(directory.channel(name).is_err());
    }

    #[test]
    fn impossible_names_are_refused() {
        let pool = pool();
        let directory = Directory::new(&pool).unwrap();
        for wrong in ["", &"x".repeat(NAME_MAX + 1)] {
            assert!(matches!(directory.channel(wrong), Err(Failure::Argument(_))));
        }
        assert!(directory.channel(&"x".repeat(NAME_MAX)).is_ok());
    }

    #[test]
    fn other_stamps_are_refused() {
        let pool = pool();
        pool.atomics(pool.data(), 1).unwrap()[0].store(5, Ordering::Relaxed);
        assert!(matches!(Directory::new(&pool), Err(Failure::Pool(Reason::NotAPool, _))));
    }
}
