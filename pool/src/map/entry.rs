//! Entries: a key and a value, which never change.

use crate::PoolError;
use crate::refs::{Reader, Ref, RefClient};
use crate::sync::{AtomicU64, Ordering, own};
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes in a pool that nobody changes while they can be looked at.
#[derive(Clone, Copy)]
pub struct Bytes<'r> {
    words: &'r [AtomicU64],
    len: usize,
}

/// An entry that a reader looks at. It may have been replaced or removed meanwhile; its memory is whole.
#[derive(Clone, Copy)]
pub struct Entry<'r, 'c> {
    reader: &'r Reader<'c>,
    at: u64,
    words: &'r [AtomicU64],
}

/// An entry with a counted reference, which keeps it: a value that was replaced or removed stays until its last `Value`
/// is dropped. May be sent to other clients as the reference that it is.
#[derive(Clone)]
pub struct Value<'c> {
    reference: Ref<'c>,
    words: &'c [AtomicU64],
}

/// An entry that nobody else knows.
pub struct Draft<'c> {
    pub(super) reference: Ref<'c>,
    pub(super) key: Vec<u8>,
    /// Where the table is.
    pub(super) table: u64,
    words: &'c [AtomicU64],
}

/// What the data of an entry begins with:
///
/// ```text
///   0         8         16       24
///   +---------+---------+--------+------------------+------------------+
///   | lengths | version | until  | key              | value            |
///   +---------+---------+--------+------------------+------------------+
///
///   63     62        58 57          40 39                              0
///   +------+-----------+--------------+--------------------------------+
///   | used | kind      | of the key   | of the value                   |
///   +------+-----------+--------------+--------------------------------+
/// ```
///
/// Key and value begin at words of 8 bytes. `used` is set by look-ups, and
/// cleared by those that look for an entry to evict; everything else is never changed.
#[derive(Clone, Copy)]
struct Lengths(u64);

const WORDS: usize = 3;
const VALUE_BITS: u32 = 40;
const KEY_BITS: u32 = 18;
const KIND: u64 = 0b1010;
const USED: u64 = 1 << 63;

impl Lengths {
    #[inline(always)]
    fn new(key: usize, value: usize) -> Option<Lengths> {
        let is_possible = key < 1 << KEY_BITS && (value as u64) < 1 << VALUE_BITS;
        is_possible.then_some(Lengths(KIND << 58 | (key as u64) << VALUE_BITS | value as u64))
    }

    #[inline(always)]
    fn key(self) -> usize {
        (self.0 >> VALUE_BITS) as usize & ((1 << KEY_BITS) - 1)
    }

    #[inline(always)]
    fn value(self) -> usize {
        (self.0 & ((1 << VALUE_BITS) - 1)) as usize
    }

    /// Words of the entry's data.
    #[inline(always)]
    fn words(self) -> usize {
        WORDS + self.key().div_ceil(8) + self.value().div_ceil(8)
    }

    fn is_of_entry(self) -> bool {
        self.0 >> 58 & 0xf == KIND
    }
}

impl<'r> Bytes<'r> {
    /// How many.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where they are in this process, 8-byte aligned.
    pub fn as_ptr(&self) -> *const u8 {
        self.words.as_ptr().cast()
    }

    /// Copies them, from this one on, as many as fit. Returns how many.
    #[inline]
    pub fn copy_to(&self, from: usize, into: &mut [u8]) -> usize {
        let count = self.len.saturating_sub(from).min(into.len());
        let mut rest = &mut into[..count];
        let mut word = from / 8;
        let skipped = from % 8;
        if skipped != 0 && count != 0 {
            let bytes = own(&self.words[word]).to_le_bytes();
            let (head, tail) = rest.split_at_mut(count.min(8 - skipped));
            head.copy_from_slice(&bytes[skipped..skipped + head.len()]);
            (rest, word) = (tail, word + 1);
        }
        let (whole, last) = rest.as_chunks_mut::<8>();
        if !whole.is_empty() {
            let from = &self.words[word..word + whole.len()];
            for n in 0..whole.len() {
                whole[n] = own(&from[n]).to_le_bytes();
            }
            word += whole.len();
        }
        if !last.is_empty() {
            last.copy_from_slice(&own(&self.words[word]).to_le_bytes()[..last.len()]);
        }
        count
    }

    /// Copies them to the end of a buffer.
    pub fn append_to(&self, into: &mut Vec<u8>) {
        let before = into.len();
        into.resize(before + self.len, 0);
        self.copy_to(0, &mut into[before..]);
    }

    /// A copy.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut copy = Vec::new();
        self.append_to(&mut copy);
        copy
    }

    /// Whether they are these.
    #[inline(always)]
    pub fn is(&self, other: &[u8]) -> bool {
        if self.len != other.len() {
            return false;
        }
        let (whole, rest) = other.as_chunks::<8>();
        let words = &self.words[..whole.len()];
        for n in 0..whole.len() {
            if own(&words[n]) != u64::from_le_bytes(whole[n]) {
                return false;
            }
        }
        rest.is_empty() || own(&self.words[whole.len()]).to_le_bytes()[..rest.len()] == *rest
    }
}

/// The words in the data of a pool, from an offset on: where entries and nodes are found.
#[derive(Clone, Copy)]
pub(super) struct Words<'c> {
    words: &'c [AtomicU64],
    base: u64,
}

impl<'c> Words<'c> {
    pub(super) fn of(client: &RefClient<'c>) -> Words<'c> {
        let (words, base) = client.words();
        Words { words, base }
    }

    /// The data of the object at an offset, and all that is behind it.
    #[inline(always)]
    fn data(&self, object: u64) -> Option<&'c [AtomicU64]> {
        let distance = (object + Ref::DATA_AT).wrapping_sub(self.base);
        let is_word = distance.is_multiple_of(8);
        is_word.then(|| self.words.get((distance / 8) as usize..)).flatten()
    }

    /// The first words of the data of the object at an offset.
    #[inline(always)]
    pub(super) fn some(&self, object: u64, count: usize) -> Result<&'c [AtomicU64], PoolError> {
        let words = self.data(object).and_then(|data| data.get(..count));
        words.ok_or_else(|| wrong(object))
    }

    /// The words of the entry whose object is at an offset.
    #[inline(always)]
    fn entry(&self, object: u64) -> Result<&'c [AtomicU64], PoolError> {
        if let Some(data) = self.data(object)
            && let Some(first) = data.first()
            && let lengths = Lengths(own(first))
            && lengths.is_of_entry()
            && let Some(words) = data.get(..lengths.words())
        {
            return Ok(words);
        }
        Err(wrong(object))
    }
}

#[cold]
fn wrong(object: u64) -> PoolError {
    PoolError::Kind { object }
}

#[inline(always)]
fn parts(words: &[AtomicU64]) -> (Bytes<'_>, Bytes<'_>) {
    let lengths = Lengths(own(&words[0]));
    let (key, value) = words[WORDS..].split_at(lengths.key().div_ceil(8));
    (Bytes { words: key, len: lengths.key() }, Bytes { words: value, len: lengths.value() })
}

impl<'r, 'c> Entry<'r, 'c> {
    /// The entry at an offset that the reader found in the table.
    #[inline(always)]
    pub(super) fn at(
        reader: &'r Reader<'c>,
        words: Words<'c>,
        at: u64,
    ) -> Result<Entry<'r, 'c>, PoolError> {
        Ok(Entry { reader, at, words: words.entry(at)? })
    }

    /// The key.
    #[inline(always)]
    pub fn key(&self) -> Bytes<'r> {
        parts(self.words).0
    }

    /// The value.
    #[inline(always)]
    pub fn value(&self) -> Bytes<'r> {
        parts(self.words).1
    }

    /// The version of the value: another one for each value of the pool.
    #[inline]
    pub fn version(&self) -> u64 {
        own(&self.words[1])
    }

    /// When it expires, milliseconds of Unix time. 0: never.
    #[inline]
    pub fn until(&self) -> u64 {
        own(&self.words[2])
    }

    /// Counts the entry. `None`: it was removed, and its last reference is gone.
    pub fn share(&self) -> Result<Option<Value<'c>>, PoolError> {
        let reference = self.reader.client().attach(self.at)?;
        reference.map(Value::of).transpose()
    }

    /// Where its object is.
    pub(super) fn offset(&self) -> u64 {
        self.at
    }

    /// Bytes of its block.
    #[inline(always)]
    pub(super) fn block_bytes(&self) -> u64 {
        crate::alloc::size_of_block(Ref::DATA_AT + 8 * self.words.len() as u64).1
    }

    /// Whether its time is over.
    #[inline(always)]
    pub(super) fn is_over(&self) -> bool {
        let until = self.until();
        until != 0 && until <= now()
    }

    /// Whether it was looked up since its mark was cleared.
    pub(super) fn is_used(&self) -> bool {
        own(&self.words[0]) & USED != 0
    }

    /// Marks it as used. Writes only if it is not marked.
    #[inline(always)]
    pub(super) fn set_used(&self) {
        let lengths = own(&self.words[0]);
        if lengths & USED == 0 {
            self.words[0].store(lengths | USED, Ordering::Relaxed);
        }
    }

    pub(super) fn clear_used(&self) {
        self.words[0].store(own(&self.words[0]) & !USED, Ordering::Relaxed);
    }
}

/// Milliseconds of Unix time.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

impl<'c> Value<'c> {
    /// The key.
    pub fn key(&self) -> Bytes<'_> {
        parts(self.words).0
    }

    /// The bytes.
    pub fn bytes(&self) -> Bytes<'_> {
        parts(self.words).1
    }

    /// The version: another one for each value of the pool.
    pub fn version(&self) -> u64 {
        own(&self.words[1])
    }

    /// When it expires, milliseconds of Unix time. 0: never.
    pub fn until(&self) -> u64 {
        own(&self.words[2])
    }

    /// The reference: it may be sent through a ring. Another client makes a value of it again by [`Value::of`].
    pub fn into_ref(self) -> Ref<'c> {
        self.reference
    }

    /// The entry that a reference refers to, which came from [`Value::into_ref`]. An error if it cannot be one.
    pub fn of(reference: Ref<'c>) -> Result<Value<'c>, PoolError> {
        let object = reference.object();
        if reference.embedded()? != 0 || reference.data()?.len() < WORDS {
            return Err(PoolError::Kind { object });
        }
        let words = Words::of(reference.client()).entry(object)?;
        if words.len() > reference.data()?.len() {
            return Err(PoolError::Kind { object });
        }
        Ok(Value { reference, words })
    }
}

impl<'c> Draft<'c> {
    /// Bytes of the value.
    pub fn len(&self) -> usize {
        parts(self.words).1.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes a part of the value. Panics if the part is not within it.
    pub fn write(&mut self, at: usize, bytes: &[u8]) {
        let value = parts(self.words).1;
        let is_within = at.checked_add(bytes.len()).is_some_and(|end| end <= value.len);
        assert!(is_within, "{} bytes at {at} of a value of {}", bytes.len(), value.len);
        write(value.words, at, bytes);
    }

    /// Where the value is in this process, 8-byte aligned: to be written before the draft is put. It is undefined at
    /// first.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        parts(self.words).1.as_ptr().cast_mut()
    }

    pub(super) fn of(new: New<'c>, key: &[u8], table: u64) -> Draft<'c> {
        Draft { reference: new.reference, key: key.to_vec(), table, words: new.words }
    }
}

#[cold]
pub(super) fn no_memory(value: usize) -> PoolError {
    PoolError::NoMemory { bytes: value as u64 }
}

/// A new entry, whose value is not written.
pub(super) struct New<'c> {
    pub reference: Ref<'c>,
    words: &'c [AtomicU64],
}

/// Bytes of the data of an entry. `None`: it cannot be so long.
#[inline(always)]
pub(super) fn data_bytes(key: usize, value: usize) -> Option<u64> {
    Lengths::new(key, value).map(|lengths| 8 * lengths.words() as u64)
}

impl<'c> New<'c> {
    #[inline(always)]
    pub(super) fn make(
        (client, words): (&'c RefClient<'c>, Words<'c>),
        key: &[u8],
        value: usize,
        until: u64,
    ) -> Result<New<'c>, PoolError> {
        let lengths = Lengths::new(key.len(), value);
        let lengths = lengths.ok_or_else(|| no_memory(value))?;
        let count = lengths.words();
        let reference = client.alloc_open(8 * count as u64, 0)?;
        let words = words.some(reference.object(), count)?;
        words[0].store(lengths.0, Ordering::Relaxed);
        words[1].store(client.next_serial(), Ordering::Relaxed);
        words[2].store(until, Ordering::Relaxed);
        write(&words[WORDS..], 0, key);
        Ok(New { reference, words })
    }

    #[inline]
    pub(super) fn write(&self, value: &[u8]) {
        write(parts(self.words).1.words, 0, value);
    }
}

/// Writes bytes, and nothing beside them.
#[inline(always)]
fn write(words: &[AtomicU64], at: usize, bytes: &[u8]) {
    let mut word = at / 8;
    let mut rest = bytes;
    let skipped = at % 8;
    if skipped != 0 && !rest.is_empty() {
        let (head, tail) = rest.split_at(rest.len().min(8 - skipped));
        let mut whole = own(&words[word]).to_le_bytes();
        whole[skipped..skipped + head.len()].copy_from_slice(head);
        words[word].store(u64::from_le_bytes(whole), Ordering::Relaxed);
        (rest, word) = (tail, word + 1);
    }
    let (whole, last) = rest.as_chunks::<8>();
    if !whole.is_empty() {
        let to = &words[word..word + whole.len()];
        for n in 0..whole.len() {
            to[n].store(u64::from_le_bytes(whole[n]), Ordering::Relaxed);
        }
        word += whole.len();
    }
    if !last.is_empty() {
        let mut whole = own(&words[word]).to_le_bytes();
        whole[..last.len()].copy_from_slice(last);
        words[word].store(u64::from_le_bytes(whole), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_and_read_in_parts() {
        let words: Vec<AtomicU64> = (0..5).map(|_| AtomicU64::new(u64::MAX)).collect();
        let text: Vec<u8> = (1..=37).collect();
        for cut in 0..=text.len() {
            words.iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
            write(&words, cut, &text[cut..]);
            write(&words, 0, &text[..cut]);
            let bytes = Bytes { words: &words, len: text.len() };
            assert!(bytes.is(&text), "{cut}: {:?}", bytes.to_vec());
            let mut copy = vec![0; 50];
            assert_eq!(bytes.copy_to(cut, &mut copy), text.len() - cut);
            assert_eq!(copy[..text.len() - cut], text[cut..]);
            let mut few = [0; 3];
            let count = bytes.copy_to(cut, &mut few);
            assert_eq!(few[..count], text[cut..(cut + 3).min(text.len())]);
        }
        let bytes = Bytes { words: &words, len: text.len() };
        assert_eq!(bytes.copy_to(100, &mut [0; 3]), 0);
        let mut other = text.clone();
        other[36] = 0;
        assert!(!bytes.is(&other) && !bytes.is(&text[..36]));
        other[36] = text[36];
        other[3] = 0;
        assert!(!bytes.is(&other));
    }

    #[test]
    fn lengths_come_back() {
        for (key, value) in [(0, 0), (65_536, (1 << VALUE_BITS) - 1), (7, 1 << 20)] {
            let lengths = Lengths::new(key, value).unwrap();
            assert_eq!((lengths.key(), lengths.value()), (key, value));
            assert!(lengths.is_of_entry() && Lengths(lengths.0 | USED).value() == value);
        }
        assert!(Lengths::new(1 << KEY_BITS, 0).is_none() && Lengths::new(0, 1 << 40).is_none());
        assert!(!Lengths(0).is_of_entry() && !Lengths(u64::MAX).is_of_entry());
    }
}
