//! A map, as one client uses it.

use super::change::{Outcome, Want};
use super::entry::{Draft, Entry, New, Value, Words};
use super::hash::Hash;
use super::table::{
    BYTES, Bucket, CAPACITY, Content, ENTRIES, EVICTIONS, EVICTS, EXPIRATIONS, HITS, MISSES, SEED,
    Table,
};
use crate::PoolError;
use crate::refs::{Reader, Ref, RefClient};
use crate::sync::{AtomicU64, own, put};
use std::cell::Cell;

/// A map of a pool, as one client has it. One thread at a time may use it, as the client. Dropping it leaves the map
/// where it is. All operations are lock-free: none waits for another client, dead or alive.
///
/// Keys have 64 KiB at most, values as much as the largest block of the heap. A value is never changed once it is
/// there: another one takes its place. Times are milliseconds of Unix time; 0 is never.
pub struct Map<'c> {
    pub(super) client: &'c RefClient<'c>,
    pub(super) table: Table<'c>,
    pub(super) words: Words<'c>,
    /// The client's own.
    pub(super) tally: &'c [AtomicU64],
    /// How many bytes the client may add before it looks at the capacity.
    pub(super) room: Cell<u64>,
    /// How many clients there were when it got that.
    pub(super) sharers: Cell<u64>,
    /// Keeps the table.
    reference: Ref<'c>,
    seed: u64,
    pub(super) capacity: u64,
    pub(super) evicts: bool,
}

/// How a map is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MapOptions {
    /// How many entries are expected. The table has a fixed size: with four times as many, operations take about twice
    /// as long, and so on.
    pub entries: u64,
    /// Bytes that entries may take, as blocks of the heap. Above it entries are evicted that were not used for long.
    /// `u64::MAX`: as much as there is.
    pub capacity: u64,
    /// Whether entries are evicted if the capacity, or the heap, is used up. Otherwise that is an error of `put`.
    pub evicts: bool,
}

/// What became of a value that was to replace the one that was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Replaced {
    /// The new value is there, with this version.
    Stored(u64),
    /// Another value is there, with this version.
    Changed(u64),
    /// No value is there.
    Absent,
}

/// Counts over all clients that ever used the map. Entries and bytes are exact when nobody is at work, and the dead are
/// recovered: they change with the bucket. The others are written by themselves, after what they count: for each client
/// that was killed a hit, a miss, and the eviction or expiration that it was at, may be missing, and all evictions of a
/// bucket that went as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MapStats {
    /// Entries that are there, expired ones that nobody has removed included.
    pub entries: u64,
    /// Bytes of their blocks in the heap.
    pub bytes: u64,
    /// Bytes that entries may take.
    pub capacity: u64,
    /// Places of the table.
    pub buckets: u64,
    /// Look-ups that found a value.
    pub hits: u64,
    /// Look-ups that found none.
    pub misses: u64,
    /// Entries that were removed to make room.
    pub evictions: u64,
    /// Entries that were removed as their time was over.
    pub expirations: u64,
}

impl<'c> Map<'c> {
    /// Bytes of a key at most.
    pub const KEY_MAX: usize = 64 << 10;

    /// The map of this name, which is made if there is none. If several clients make it at a time, all get the same
    /// one. An error if the name is another thing's, or if there is no room for the table. It takes time in proportion
    /// to `entries`.
    pub fn create(
        client: &'c RefClient<'_>,
        name: &[u8],
        options: &MapOptions,
    ) -> Result<Map<'c>, PoolError> {
        // The lifetime of the client's own parts.
        let client: &'c RefClient<'c> = client;
        loop {
            let found = match client.named(name)? {
                Some(found) => found,
                None => {
                    let MapOptions { entries, capacity, evicts } = *options;
                    let table = Table::make(client, entries, capacity, evicts)?;
                    client.name(name, &table)?
                }
            };
            let map = Map::of(found)?;
            if map.table.open().is_ok() {
                return Ok(map);
            }
            // Who destroyed it was killed, or is not yet done.
            map.close(name)?;
        }
    }

    /// The map of this name. `None`: there is none, or one that is being destroyed. An error if the name is another
    /// thing's.
    pub fn open(client: &'c RefClient<'_>, name: &[u8]) -> Result<Option<Map<'c>>, PoolError> {
        let map = Map::by_name(client, name)?;
        Ok(map.filter(|map| map.table.open().is_ok()))
    }

    /// The map of this name, also if it is being destroyed.
    fn by_name(client: &'c RefClient<'_>, name: &[u8]) -> Result<Option<Map<'c>>, PoolError> {
        let client: &'c RefClient<'c> = client;
        client.named(name)?.map(Map::of).transpose()
    }

    fn of(reference: Ref<'c>) -> Result<Map<'c>, PoolError> {
        let (client, table) = (reference.client(), Table::of(&reference)?);
        table.enter(client.id());
        let [seed, capacity, evicts] = [SEED, CAPACITY, EVICTS].map(|n| own(&table.head[n]));
        let (tally, evicts, words) = (table.tally(client.id()), evicts != 0, Words::of(client));
        let [room, sharers] = [0; 2].map(Cell::new);
        Ok(Map { client, table, words, tally, room, sharers, reference, seed, capacity, evicts })
    }

    /// Where its table is, the same in all processes. No other map is there while any client has this one.
    pub fn object(&self) -> u64 {
        self.reference.object()
    }

    /// Removes all entries, and the name: clients that have the map get errors ([`PoolError::Closed`]) from then on.
    /// Its memory is freed with the last of them. False: there is no map of this name. One store decides that it is
    /// destroyed. If the caller dies after it, or gets an error, the next call of this, or of [`Map::create`], does the
    /// rest. It takes time in proportion to the table and the entries.
    pub fn destroy(client: &RefClient<'_>, name: &[u8]) -> Result<bool, PoolError> {
        let Some(map) = Map::by_name(client, name)? else { return Ok(false) };
        map.table.begin_closing();
        map.close(name)?;
        Ok(true)
    }

    /// Finishes the destruction of the map, which has begun. Several clients may do that at a time.
    fn close(&self, name: &[u8]) -> Result<(), PoolError> {
        self.close_buckets()?;
        self.client.forget(name, &self.reference).map(|_| ())
    }

    /// Copies the value of a key to the end of a buffer, and returns its version. `None`: there is none.
    pub fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<Option<u64>, PoolError> {
        let reader = self.client.read()?;
        let Some(entry) = self.look_up(&reader, key)? else { return Ok(None) };
        entry.value().append_to(into);
        Ok(Some(entry.version()))
    }

    /// Copies the value of a key into a buffer, as much as fits. Returns how many bytes the value has, and its version.
    pub fn get_into(&self, key: &[u8], into: &mut [u8]) -> Result<Option<(usize, u64)>, PoolError> {
        let reader = self.client.read()?;
        let Some(entry) = self.look_up(&reader, key)? else { return Ok(None) };
        let value = entry.value();
        value.copy_to(0, into);
        Ok(Some((value.len(), entry.version())))
    }

    /// Looks at the entry of a key in place, without counting it. A reader that the client keeps over several calls
    /// also makes the other operations cheaper: each saves a fence. It should be renewed ([`Reader::renew`]) or dropped
    /// soon, as nothing is freed meanwhile that is replaced, and a full heap is an error then. The reader must be the
    /// same client's.
    pub fn peek<'r>(
        &self,
        reader: &'r Reader<'c>,
        key: &[u8],
    ) -> Result<Option<Entry<'r, 'c>>, PoolError> {
        reader.check(self.client)?;
        self.look_up(reader, key)
    }

    /// The value of a key with a counted reference: it stays, also if the entry is replaced or removed. One
    /// compare-and-swap, and another one when it is dropped.
    pub fn get_counted(&self, key: &[u8]) -> Result<Option<Value<'c>>, PoolError> {
        let reader = self.client.read()?;
        match self.look_up(&reader, key)? {
            // The reader keeps the table's reference to it.
            Some(entry) => entry.share(),
            None => Ok(None),
        }
    }

    /// Whether there is a value. It counts as a use, as the other look-ups.
    pub fn contains(&self, key: &[u8]) -> Result<bool, PoolError> {
        let reader = self.client.read()?;
        Ok(self.look_up(&reader, key)?.is_some())
    }

    /// Gives the key a value until a time, and returns its version, another one for each value of the pool. When it
    /// returns, the value is there, also if clients die.
    pub fn put(&self, key: &[u8], value: &[u8], until: u64) -> Result<u64, PoolError> {
        match self.store(key, value, until, Want::Put)? {
            Outcome::Done(version) => Ok(version),
            Outcome::Refused(_) => unreachable!("a put is not refused"),
        }
    }

    /// The same if the key has no value. `None`: it has one.
    pub fn put_if_absent(
        &self,
        key: &[u8],
        value: &[u8],
        until: u64,
    ) -> Result<Option<u64>, PoolError> {
        match self.store(key, value, until, Want::Absent)? {
            Outcome::Done(version) => Ok(Some(version)),
            Outcome::Refused(_) => Ok(None),
        }
    }

    /// The same if the key has the value of this version.
    pub fn replace(
        &self,
        key: &[u8],
        version: u64,
        value: &[u8],
        until: u64,
    ) -> Result<Replaced, PoolError> {
        self.store(key, value, until, Want::Version(version)).map(Outcome::replaced)
    }

    /// The same for a caller that has just seen the version: a value that is refused is made in vain.
    pub(crate) fn replace_likely(
        &self,
        key: &[u8],
        version: u64,
        value: &[u8],
    ) -> Result<Replaced, PoolError> {
        let hash = self.hash(key)?;
        let new = self.make(key, value.len(), 0)?;
        new.write(value);
        let outcome = self.change((key, hash), Some(new.reference), Want::Version(version))?;
        Ok(outcome.replaced())
    }

    /// The same if the key has a value, whichever it is.
    pub fn replace_any(&self, key: &[u8], value: &[u8], until: u64) -> Result<Replaced, PoolError> {
        self.store(key, value, until, Want::Any).map(Outcome::replaced)
    }

    /// Removes the entry of a key. False: there is none.
    pub fn remove(&self, key: &[u8]) -> Result<bool, PoolError> {
        let outcome = self.change((key, self.hash(key)?), None, Want::Any)?;
        Ok(matches!(outcome, Outcome::Done(_)))
    }

    /// Removes the entry of a key if it has the value of this version. False: it has another one, or none.
    pub fn remove_if(&self, key: &[u8], version: u64) -> Result<bool, PoolError> {
        let outcome = self.change((key, self.hash(key)?), None, Want::Version(version))?;
        Ok(matches!(outcome, Outcome::Done(_)))
    }

    /// Adds to a counter: a value of 8 bytes, the lowest first. It wraps. A key without a value has the value 0 before.
    /// Returns the sum. An error if the value has another size. The time of the entry stays.
    pub fn add(&self, key: &[u8], delta: u64) -> Result<u64, PoolError> {
        loop {
            let (before, until, want) = {
                let reader = self.client.read()?;
                match self.look_up(&reader, key)? {
                    None => (0, 0, Want::Absent),
                    Some(entry) => {
                        let (value, mut bytes) = (entry.value(), [0; 8]);
                        if value.len() != bytes.len() {
                            return Err(PoolError::NotACounter { bytes: value.len() as u64 });
                        }
                        value.copy_to(0, &mut bytes);
                        let before = u64::from_le_bytes(bytes);
                        (before, entry.until(), Want::Version(entry.version()))
                    }
                }
            };
            let sum = before.wrapping_add(delta);
            if let Outcome::Done(_) = self.store(key, &sum.to_le_bytes(), until, want)? {
                return Ok(sum);
            }
        }
    }

    /// Room for a value of this many bytes, which is written before it is there: for values that are not copied. If the
    /// client dies, or drops it, it is freed.
    pub fn draft(&self, key: &[u8], bytes: usize, until: u64) -> Result<Draft<'c>, PoolError> {
        self.hash(key)?;
        let new = self.make(key, bytes, until)?;
        Ok(Draft::of(new, key, self.reference.object()))
    }

    /// Gives the key of a draft its value, as [`Map::put`]. The draft must be this map's.
    pub fn put_draft(&self, draft: Draft<'c>) -> Result<u64, PoolError> {
        let (key, object) = (draft.key, draft.reference.object());
        if draft.table != self.reference.object()
            || !std::ptr::eq(draft.reference.client(), self.client)
        {
            return Err(PoolError::Kind { object });
        }
        match self.change((&key, self.hash(&key)?), Some(draft.reference), Want::Put)? {
            Outcome::Done(version) => Ok(version),
            Outcome::Refused(_) => unreachable!("a put is not refused"),
        }
    }

    /// Calls `visit` for the entries of a part of the table, and returns where the next part begins. `None`: it was the
    /// last one. The first part begins at 0. Entries that are there all the time come once, others once or not at all.
    /// It does not count as a use. The reader must be the same client's.
    pub fn scan<'r>(
        &self,
        reader: &'r Reader<'c>,
        from: u64,
        mut visit: impl FnMut(Entry<'r, 'c>),
    ) -> Result<Option<u64>, PoolError> {
        reader.check(self.client)?;
        self.table.open()?;
        let count = self.table.buckets.len() as u64;
        let end = from.saturating_add(PART).min(count);
        for n in from..end {
            let content = self.content(reader.value(&self.table.buckets[n as usize])?)?;
            for item in 0..content.len() {
                let entry = Entry::at(reader, self.words, Bucket::at(content.item(item)))?;
                if !entry.is_over() {
                    visit(entry);
                }
            }
        }
        Ok((end < count).then_some(end))
    }

    /// How many entries there are: exact when nobody is at work.
    pub fn len(&self) -> Result<u64, PoolError> {
        self.table.open()?;
        Ok(self.table.sum(ENTRIES))
    }

    /// Whether there is no entry, as [`Map::len`].
    pub fn is_empty(&self) -> Result<bool, PoolError> {
        Ok(self.len()? == 0)
    }

    /// Removes the entries that are there. Takes time in proportion to the table and the entries.
    pub fn clear(&self) -> Result<(), PoolError> {
        self.table.open()?;
        (0..self.table.buckets.len()).try_for_each(|n| self.empty(n))
    }

    /// Counts of the map. Takes time in proportion to the clients that the pool may have.
    pub fn stats(&self) -> Result<MapStats, PoolError> {
        self.table.open()?;
        let sum = |of| self.table.sum(of);
        Ok(MapStats {
            entries: sum(ENTRIES),
            bytes: sum(BYTES),
            capacity: self.capacity,
            buckets: self.table.buckets.len() as u64,
            hits: sum(HITS),
            misses: sum(MISSES),
            evictions: sum(EVICTIONS),
            expirations: sum(EXPIRATIONS),
        })
    }

    /// Whether entries are evicted.
    pub(crate) fn evicts(&self) -> bool {
        self.evicts
    }

    /// The client.
    pub fn client(&self) -> &'c RefClient<'c> {
        self.client
    }

    /// The hash of a key that is looked for. An error if the map was destroyed.
    #[inline]
    pub(super) fn hash(&self, key: &[u8]) -> Result<Hash, PoolError> {
        if key.len() > Map::KEY_MAX {
            return Err(PoolError::Key { bytes: key.len() as u64, max: Map::KEY_MAX as u64 });
        }
        self.table.open()?;
        Ok(Hash::of(self.seed, key))
    }

    #[inline(always)]
    pub(super) fn content(&self, value: u64) -> Result<Content<'c>, PoolError> {
        Bucket::content(value, self.words)
    }

    /// The entry of a key in a bucket, and its number there. The reader loaded the bucket.
    #[inline(always)]
    pub(super) fn find<'r>(
        &self,
        reader: &'r Reader<'c>,
        content: &Content,
        (key, hash): (&[u8], Hash),
    ) -> Result<Option<(usize, Entry<'r, 'c>)>, PoolError> {
        match content {
            Content::None => Ok(None),
            Content::One(item) => Ok(self.is_it(reader, *item, key, hash)?.map(|entry| (0, entry))),
            Content::Many(_, items) => {
                for (n, item) in items.iter().enumerate() {
                    if let Some(entry) = self.is_it(reader, own(item), key, hash)? {
                        return Ok(Some((n, entry)));
                    }
                }
                Ok(None)
            }
        }
    }

    /// The entry of one place of a bucket, if it has the key.
    #[inline(always)]
    fn is_it<'r>(
        &self,
        reader: &'r Reader<'c>,
        item: u64,
        key: &[u8],
        hash: Hash,
    ) -> Result<Option<Entry<'r, 'c>>, PoolError> {
        if Bucket::tag(item) != hash.tag() {
            return Ok(None);
        }
        let entry = Entry::at(reader, self.words, Bucket::at(item))?;
        Ok(entry.key().is(key).then_some(entry))
    }

    /// A look-up that is counted, and is a use of the entry.
    #[inline(always)]
    fn look_up<'r>(
        &self,
        reader: &'r Reader<'c>,
        key: &[u8],
    ) -> Result<Option<Entry<'r, 'c>>, PoolError> {
        let hash = self.hash(key)?;
        let bucket = &self.table.buckets[hash.place(self.table.buckets.len())];
        let content = self.content(reader.value(bucket)?)?;
        let found = self.find(reader, &content, (key, hash))?;
        let Some((_, entry)) = found.filter(|(_, entry)| !entry.is_over()) else {
            self.count(MISSES);
            return Ok(None);
        };
        self.count(HITS);
        entry.set_used();
        Ok(Some(entry))
    }

    /// Only the client writes its tally.
    #[inline(always)]
    pub(super) fn count(&self, of: usize) {
        put(&self.tally[of], own(&self.tally[of]) + 1);
    }

    #[inline]
    fn store(
        &self,
        key: &[u8],
        value: &[u8],
        until: u64,
        want: Want,
    ) -> Result<Outcome, PoolError> {
        let hash = self.hash(key)?;
        if want != Want::Put {
            // An entry that is refused is not made.
            let version = self.version_of(key, hash)?;
            if !want.allows(version) {
                return Ok(Outcome::Refused(version));
            }
        }
        let new = self.make(key, value.len(), until)?;
        new.write(value);
        self.change((key, hash), Some(new.reference), want)
    }

    fn version_of(&self, key: &[u8], hash: Hash) -> Result<Option<u64>, PoolError> {
        let reader = self.client.read()?;
        let bucket = &self.table.buckets[hash.place(self.table.buckets.len())];
        let content = self.content(reader.value(bucket)?)?;
        let found = self.find(&reader, &content, (key, hash))?;
        Ok(found.filter(|(_, entry)| !entry.is_over()).map(|(_, entry)| entry.version()))
    }

    /// A new entry, for which there is room.
    #[inline(always)]
    fn make(&self, key: &[u8], value: usize, until: u64) -> Result<New<'c>, PoolError> {
        self.reserve(key.len(), value)?;
        match New::make((self.client, self.words), key, value, until) {
            Err(PoolError::NoMemory { bytes }) => {
                self.make_room(bytes, || New::make((self.client, self.words), key, value, until))
            }
            made => made,
        }
    }
}

/// Buckets of a part of a scan.
const PART: u64 = 64;
