//! A map, as one client uses it.

use super::entry::{Draft, Entry, Value};
use crate::PoolError;
use crate::refs::{Reader, RefClient};

/// A map of a pool, as one client has it. One thread at a time may use it, as the client. Dropping it leaves the map
/// where it is. All operations are lock-free: none waits for another client, dead or alive.
///
/// Keys have 64 KiB at most, values as much as the largest block of the heap. A value is never changed once it is
/// there: another one takes its place. Times are milliseconds of Unix time; 0 is never.
pub struct Map<'c> {
    client: &'c RefClient<'c>,
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

/// Counts over all clients that ever used the map. Exact when nobody is at work, but for hits and misses of clients
/// that were killed.
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
        let _ = (client, name, options);
        todo!()
    }

    /// The map of this name. `None`: there is none. An error if the name is another thing's.
    pub fn open(client: &'c RefClient<'_>, name: &[u8]) -> Result<Option<Map<'c>>, PoolError> {
        let _ = (client, name);
        todo!()
    }

    /// Removes all entries, and the name: clients that have the map get errors ([`PoolError::Closed`]) from then on. Its
    /// memory is freed with the last of them. False: there is no map of this name. If the caller dies, another one
    /// may continue by the same call. It takes time in proportion to the table and the entries.
    pub fn destroy(client: &RefClient<'_>, name: &[u8]) -> Result<bool, PoolError> {
        let _ = (client, name);
        todo!()
    }

    /// Copies the value of a key to the end of a buffer, and returns its version. `None`: there is none.
    pub fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<Option<u64>, PoolError> {
        let _ = (key, into);
        todo!()
    }

    /// Copies the value of a key into a buffer, as much as fits. Returns how many bytes the value has, and its version.
    pub fn get_into(&self, key: &[u8], into: &mut [u8]) -> Result<Option<(usize, u64)>, PoolError> {
        let _ = (key, into);
        todo!()
    }

    /// Looks at the entry of a key in place, without counting it. A reader that the client keeps over several calls
    /// also makes the other operations cheaper: each saves a fence. It should be renewed ([`Reader::renew`]) or dropped
    /// soon, as nothing is freed meanwhile that is replaced. The reader must be the same client's.
    pub fn peek<'r>(
        &self,
        reader: &'r Reader<'c>,
        key: &[u8],
    ) -> Result<Option<Entry<'r, 'c>>, PoolError> {
        let _ = (reader, key);
        todo!()
    }

    /// The value of a key with a counted reference: it stays, also if the entry is replaced or removed. One
    /// compare-and-swap, and another one when it is dropped.
    pub fn get_counted(&self, key: &[u8]) -> Result<Option<Value<'c>>, PoolError> {
        let _ = key;
        todo!()
    }

    /// Whether there is a value. It counts as a use, as the other look-ups.
    pub fn contains(&self, key: &[u8]) -> Result<bool, PoolError> {
        let _ = key;
        todo!()
    }

    /// Gives the key a value until a time, and returns its version, another one for each value of the pool. When it
    /// returns, the value is there, whoever dies.
    pub fn put(&self, key: &[u8], value: &[u8], until: u64) -> Result<u64, PoolError> {
        let _ = (key, value, until);
        todo!()
    }

    /// The same if the key has no value. `None`: it has one.
    pub fn put_if_absent(
        &self,
        key: &[u8],
        value: &[u8],
        until: u64,
    ) -> Result<Option<u64>, PoolError> {
        let _ = (key, value, until);
        todo!()
    }

    /// The same if the key has the value of this version.
    pub fn replace(
        &self,
        key: &[u8],
        version: u64,
        value: &[u8],
        until: u64,
    ) -> Result<Replaced, PoolError> {
        let _ = (key, version, value, until);
        todo!()
    }

    /// The same if the key has a value, whichever it is.
    pub fn replace_any(&self, key: &[u8], value: &[u8], until: u64) -> Result<Replaced, PoolError> {
        let _ = (key, value, until);
        todo!()
    }

    /// Removes the entry of a key. False: there is none.
    pub fn remove(&self, key: &[u8]) -> Result<bool, PoolError> {
        let _ = key;
        todo!()
    }

    /// Removes the entry of a key if it has the value of this version. False: it has another one, or none.
    pub fn remove_if(&self, key: &[u8], version: u64) -> Result<bool, PoolError> {
        let _ = (key, version);
        todo!()
    }

    /// Adds to a counter: a value of 8 bytes, the lowest first. It wraps. A key without a value has the value 0 before.
    /// Returns the sum. An error if the value has another size. The time of the entry stays.
    pub fn add(&self, key: &[u8], delta: u64) -> Result<u64, PoolError> {
        let _ = (key, delta);
        todo!()
    }

    /// Room for a value of this many bytes, which is written before it is there: for values that are not copied. If the
    /// client dies, or drops it, it is freed.
    pub fn draft(&self, key: &[u8], bytes: usize, until: u64) -> Result<Draft<'c>, PoolError> {
        let _ = (key, bytes, until);
        todo!()
    }

    /// Gives the key of a draft its value, as [`Map::put`]. The draft must be this map's.
    pub fn put_draft(&self, draft: Draft<'c>) -> Result<u64, PoolError> {
        let _ = draft;
        todo!()
    }

    /// Calls `visit` for the entries of a part of the table, and returns where the next part begins. `None`: it was the
    /// last one. The first part begins at 0. Entries that are there all the time come once, others once or not at all.
    /// It does not count as a use. The reader must be the same client's.
    pub fn scan<'r>(
        &self,
        reader: &'r Reader<'c>,
        from: u64,
        visit: impl FnMut(Entry<'r, 'c>),
    ) -> Result<Option<u64>, PoolError> {
        let _ = (reader, from, visit);
        todo!()
    }

    /// How many entries there are: exact when nobody is at work.
    pub fn len(&self) -> Result<u64, PoolError> {
        todo!()
    }

    /// Whether there is no entry, as [`Map::len`].
    pub fn is_empty(&self) -> Result<bool, PoolError> {
        Ok(self.len()? == 0)
    }

    /// Removes the entries that are there. Takes time in proportion to the table and the entries.
    pub fn clear(&self) -> Result<(), PoolError> {
        todo!()
    }

    /// Counts of the map. Takes time in proportion to the clients that the pool may have.
    pub fn stats(&self) -> Result<MapStats, PoolError> {
        todo!()
    }

    /// The client.
    pub fn client(&self) -> &'c RefClient<'c> {
        self.client
    }
}
