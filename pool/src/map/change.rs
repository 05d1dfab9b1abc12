//! Changes of a bucket.
//!
//! What a bucket has is one value, which changes by one compare-and-swap. So two clients that give the same key a value
//! at a time come to the same word, and no key is there twice. A bucket with several entries refers to a node, which
//! lists them; a change makes another node. Node and entry, the old ones and the new ones, change hands with the word.

use super::client::{Map, Replaced};
use super::entry::Entry;
use super::hash::Hash;
use super::table::{BYTES, Bucket, CLOSED, Content, EMPTY, ENTRIES, EXPIRATIONS, NODE_MAX};
use crate::PoolError;
use crate::alloc::size_of_block;
use crate::detect::Marked;
use crate::refs::{Reader, Ref};
use crate::sync::{Ordering, own};

/// On what a change depends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Want {
    /// Nothing.
    Put,
    /// There is no value.
    Absent,
    /// There is one.
    Any,
    /// There is the one of this version.
    Version(u64),
}

/// What became of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// The key has the value of this version, or the one of this version was removed.
    Done(u64),
    /// It has the value of this version, or none.
    Refused(Option<u64>),
}

impl Want {
    pub(super) fn allows(self, found: Option<u64>) -> bool {
        match self {
            Want::Put => true,
            Want::Absent => found.is_none(),
            Want::Any => found.is_some(),
            Want::Version(version) => found == Some(version),
        }
    }
}

impl Outcome {
    pub(super) fn replaced(self) -> Replaced {
        match self {
            Outcome::Done(version) => Replaced::Stored(version),
            Outcome::Refused(Some(version)) => Replaced::Changed(version),
            Outcome::Refused(None) => Replaced::Absent,
        }
    }
}

/// A change of a bucket: which entry it loses, and which one it gets.
struct Edit {
    lost: Option<(usize, u64)>,
    got: Option<u64>,
}

impl<'c> Map<'c> {
    /// Gives a key a new entry, or takes its entry away, if that is wanted. Lock-free: repeated if another client
    /// changed the bucket meanwhile.
    pub(super) fn change(
        &self,
        (key, hash): (&[u8], Hash),
        entry: Option<Ref<'c>>,
        want: Want,
    ) -> Result<Outcome, PoolError> {
        let is_put = entry.is_some();
        let (mut new, mut rooms, mut reserved) = ([entry, None], ROOMS, 0);
        let n = hash.place(self.table.buckets.len());
        loop {
            let reader = self.client.read()?;
            let seen = reader.marked(&self.table.buckets[n])?;
            let content = self.content(seen.value)?;
            let found = self.find(&reader, &content, (key, hash))?;
            let live = found.filter(|(_, entry)| !entry.is_over());
            let version = live.map(|(_, entry)| entry.version());
            if !want.allows(version) {
                return Ok(Outcome::Refused(version));
            }
            let added = new[0]
                .as_ref()
                .map(|new| (Entry::at(&reader, self.words, new.object()), new.object()));
            let (done, got, gained) = match added {
                Some((entry, at)) => {
                    let entry = entry?;
                    let item = Bucket::entry(hash.tag(), at);
                    (entry.version(), Some(item), entry.block_bytes())
                }
                None => (version.unwrap_or(0), None, 0),
            };
            let grows = is_put && found.is_none();
            let growth = if grows { node_growth(content.len()) } else { 0 };
            if growth > reserved {
                let more = growth - reserved;
                reserved = growth;
                if !self.take_room(more) {
                    drop(reader);
                    self.reserve_node(more + gained)?;
                    continue;
                }
            }
            let lost = found.map(|(n, entry)| (n, entry.offset()));
            let lost_bytes = found.map_or(0, |(_, entry)| entry.block_bytes());
            let edit = Edit { lost, got };
            let edited =
                self.edit(&reader, n, seen, &content, &edit, &mut new, [gained, lost_bytes]);
            match edited {
                Ok(true) => {
                    if is_put && found.is_some() && live.is_none() {
                        self.count(EXPIRATIONS);
                    }
                    drop(reader);
                    self.client.unlinked(lost_bytes)?;
                    let shrinks = !is_put && content.len() > 0;
                    let shrunk = if shrinks { node_growth(content.len() - 1) } else { 0 };
                    self.gain(lost_bytes + shrunk);
                    return Ok(Outcome::Done(done));
                }
                Ok(false) => {}
                Err(PoolError::NoMemory { bytes }) if rooms > 0 => {
                    drop(reader);
                    rooms -= 1;
                    // There is room for a node, perhaps, when it is made again. Others may be faster.
                    let data = bytes.saturating_sub(Ref::DATA_AT);
                    self.make_room(bytes, || self.client.alloc(data, 0))?.release()?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes the n-th entry away from a bucket of which the reader has seen this. False: another client was faster.
    pub(super) fn take(
        &self,
        reader: &Reader<'c>,
        bucket: usize,
        seen: Marked,
        content: &Content,
        (n, entry): (usize, &Entry),
    ) -> Result<bool, PoolError> {
        let (mut new, bytes) = ([None, None], entry.block_bytes());
        let edit = Edit { lost: Some((n, entry.offset())), got: None };
        self.edit(reader, bucket, seen, content, &edit, &mut new, [0, bytes])
    }

    /// Removes all entries of a bucket.
    pub(super) fn empty(&self, bucket: usize) -> Result<(), PoolError> {
        loop {
            let reader = self.client.read()?;
            let seen = reader.marked(&self.table.buckets[bucket])?;
            if self.content(seen.value)?.len() == 0 {
                return Ok(());
            }
            if let Some(bytes) = self.take_all(&reader, bucket, seen, EMPTY)? {
                drop(reader);
                return self.client.unlinked(bytes);
            }
        }
    }

    /// Removes all entries, and lets nobody put others.
    pub(super) fn close_buckets(&self) -> Result<(), PoolError> {
        for bucket in 0..self.table.buckets.len() {
            loop {
                let reader = self.client.read()?;
                let seen = reader.marked(&self.table.buckets[bucket])?;
                if seen.value == CLOSED {
                    break;
                }
                if let Some(bytes) = self.take_all(&reader, bucket, seen, CLOSED)? {
                    drop(reader);
                    self.client.unlinked(bytes)?;
                    break;
                }
            }
        }
        Ok(())
    }

    /// Takes all entries away from a bucket of which the reader has seen this: a node takes its entries with it, so no
    /// memory is needed. Returns their bytes. `None`: another client was faster.
    pub(super) fn take_all(
        &self,
        reader: &Reader<'c>,
        bucket: usize,
        seen: Marked,
        empty: u64,
    ) -> Result<Option<u64>, PoolError> {
        let content = self.content(seen.value)?;
        let mut bytes = 0;
        for n in 0..content.len() {
            bytes += Entry::at(reader, self.words, Bucket::at(content.item(n)))?.block_bytes();
        }
        let (old, inner) = match &content {
            Content::None => (0, 0),
            Content::One(item) => (Bucket::at(*item), 0),
            Content::Many(node, items) => {
                bytes += node_bytes(items.len());
                (*node, items.len() as u64)
            }
        };
        let (bytes_now, entries_now) = (own(&self.tally[BYTES]), own(&self.tally[ENTRIES]));
        let entries = entries_now.wrapping_sub(content.len() as u64);
        let tally = self.table.tally_at(self.client.id());
        let tally = (tally, [bytes_now.wrapping_sub(bytes), entries]);
        let cell = (self.table.bucket_at(bucket), seen, empty);
        let olds = ([old, 0], inner);
        let swapped = self.client.swap_all(cell, &mut [None, None], olds, tally)?;
        Ok(swapped.is_ok().then_some(bytes))
    }

    /// One compare-and-swap of a bucket. False: another client was faster. `bytes` are those of the entries that it
    /// gets and loses.
    #[allow(clippy::too_many_arguments, reason = "what a change is made of")]
    #[inline]
    fn edit(
        &self,
        reader: &Reader<'c>,
        bucket: usize,
        seen: Marked,
        content: &Content,
        edit: &Edit,
        new: &mut [Option<Ref<'c>>; 2],
        [gained, lost]: [u64; 2],
    ) -> Result<bool, PoolError> {
        debug_assert!(reader.check(self.client).is_ok());
        let others = (0..content.len()).filter(|n| edit.lost.is_none_or(|(lost, _)| lost != *n));
        let count =
            content.len() - usize::from(edit.lost.is_some()) + usize::from(edit.got.is_some());
        let mut items = others.map(|n| content.item(n)).chain(edit.got);
        let mut bytes = gained.wrapping_sub(lost);
        let value = match count {
            0 => EMPTY,
            1 => items.next().expect("there is one"),
            _ => {
                let node = self.node(count, items)?;
                let value = Bucket::node(count, node.object());
                bytes = bytes.wrapping_add(node_bytes(count));
                new[1] = Some(node);
                value
            }
        };
        if content.node() != 0 {
            bytes = bytes.wrapping_sub(node_bytes(content.len()));
        }
        let olds = match edit.lost {
            Some((_, entry)) => [entry, content.node()],
            None => [content.node(), 0],
        };
        let added = u64::from(edit.got.is_some()).wrapping_sub(edit.lost.is_some().into());
        let (bytes_now, entries_now) = (own(&self.tally[BYTES]), own(&self.tally[ENTRIES]));
        let counts = [bytes_now.wrapping_add(bytes), entries_now.wrapping_add(added)];
        let tally = (self.table.tally_at(self.client.id()), counts);
        let at = self.table.bucket_at(bucket);
        let swapped = self.client.swap((at, seen, value), new, olds, tally)?;
        new[1] = None;
        Ok(swapped.is_ok())
    }

    /// A new node with these entries.
    #[cold]
    pub(super) fn node(
        &self,
        count: usize,
        items: impl Iterator<Item = u64>,
    ) -> Result<Ref<'c>, PoolError> {
        if count > NODE_MAX {
            return Err(PoolError::Bucket { max: NODE_MAX as u64 });
        }
        let node = self.client.alloc_open(8 * count as u64, 0)?;
        let words = self.words.some(node.object(), count)?;
        for (word, item) in words.iter().zip(items) {
            word.store(item, Ordering::Relaxed);
        }
        Ok(node)
    }
}

/// How often a change makes room for a node in a full heap.
const ROOMS: u32 = 16;

/// Bytes of the block of a node.
fn node_bytes(count: usize) -> u64 {
    size_of_block((Ref::DATA_AT + 8 * count as u64).next_multiple_of(16)).1
}

/// How many bytes the node of a bucket with this many entries has less than that with one more.
#[inline]
fn node_growth(count: usize) -> u64 {
    let bytes = |count| if count < 2 { 0 } else { node_bytes(count) };
    bytes(count + 1) - bytes(count)
}
