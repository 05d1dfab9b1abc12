//! Room for new entries: what was not used for long is removed.
//!
//! A hand goes round the buckets (CLOCK). An entry that was looked up since the hand was there stays, and is marked as
//! not used; another one is removed. So a look-up writes at most one bit, and only if it is not set. New entries are
//! not marked: those that are never looked up leave first.
//!
//! How much there is, is the sum of what all clients have added and removed. It is looked at after some bytes only, so
//! the map may have a little more than its capacity: a sixty-fourth, which all clients divide. Those that look at the
//! sum at the same time may add one entry each beyond that.

use super::client::Map;
use super::entry::{Entry, data_bytes, no_memory};
use super::table::{BYTES, Bucket, EMPTY, EVICTIONS, EXPIRATIONS, HIGHEST};
use crate::PoolError;
use crate::alloc::size_of_block;
use crate::refs::Ref;
use crate::sync::{Ordering, own};

/// Buckets that the hand passes at a time: those of a cache line.
const STEP: u64 = 4;

/// Bytes that are removed at a time, above those that are needed, at least and at most.
const BATCH: [u64; 2] = [4 << 10, 64 << 10];

/// How often the sum is looked at after entries were removed.
const ROUNDS: u32 = 16;

impl Map<'_> {
    /// Makes sure that an entry may be added: others are removed, perhaps.
    #[inline(always)]
    pub(super) fn reserve(&self, key: usize, value: usize) -> Result<(), PoolError> {
        let data = data_bytes(key, value).ok_or_else(|| no_memory(value))?;
        let bytes = size_of_block(Ref::DATA_AT + data).1;
        if self.take_room(bytes) { Ok(()) } else { self.refill(bytes) }
    }

    /// The same for an entry that is about to be added, with what the node of its bucket is to have more than now. A
    /// map that does not evict has it all the same: the next entry is refused.
    #[cold]
    pub(super) fn reserve_node(&self, bytes: u64) -> Result<(), PoolError> {
        if self.evicts {
            return self.refill(bytes);
        }
        self.room.set(0);
        Ok(())
    }

    /// False: there is less room, or it was divided among fewer clients than there are.
    #[inline(always)]
    pub(super) fn take_room(&self, bytes: u64) -> bool {
        let rest = self.room.get().checked_sub(bytes);
        let rest = rest.filter(|_| self.sharers.get() == self.clients());
        rest.inspect(|rest| self.room.set(*rest)).is_some()
    }

    /// Bytes were removed.
    #[inline]
    pub(super) fn gain(&self, bytes: u64) {
        if bytes != 0 {
            self.set_room(self.room.get().saturating_add(bytes));
        }
    }

    /// How many clients divide what the map may have above its capacity.
    #[inline(always)]
    fn clients(&self) -> u64 {
        own(&self.table.head[HIGHEST]).max(1)
    }

    /// The client has this much room, but not more than its share.
    #[inline]
    fn set_room(&self, bytes: u64) {
        let clients = self.clients();
        self.sharers.set(clients);
        self.room.set(bytes.min(self.capacity / 64 / clients));
    }

    #[cold]
    fn refill(&self, bytes: u64) -> Result<(), PoolError> {
        let no_memory = Err(PoolError::NoMemory { bytes });
        if bytes > self.capacity {
            return no_memory;
        }
        let batch = (self.capacity / 1024).clamp(BATCH[0], BATCH[1]);
        let mut has_evicted = false;
        for _ in 0..ROUNDS {
            let sum = self.table.sum(BYTES);
            if let Some(rest) = self.capacity.saturating_sub(sum).checked_sub(bytes) {
                // What others do not know of is a half at most; but if it was made for this client, it has it.
                let half = ((rest + bytes) / 2 / self.clients()).saturating_sub(bytes);
                self.set_room(if has_evicted { rest.min(batch) } else { half });
                return Ok(());
            }
            if !self.evicts {
                return no_memory;
            }
            // Others may take what is removed, so there is another look.
            let above = sum.saturating_add(bytes) - self.capacity;
            match self.evict(above.saturating_add(batch), None)? {
                // Nothing is there. Some have not yet counted what they removed, or were killed before.
                0 => {
                    self.set_room(0);
                    return Ok(());
                }
                _ => has_evicted = true,
            }
        }
        no_memory
    }

    /// The heap is full: removes entries, more each time, until what is needed can be made. `bytes` are those of its
    /// block, with the header. An error if nothing is left of that size, or if most of what was removed is kept for
    /// readers: the process of one is not scheduled, perhaps, and more would not help.
    #[cold]
    pub(super) fn make_room<T>(
        &self,
        bytes: u64,
        make: impl Fn() -> Result<T, PoolError>,
    ) -> Result<T, PoolError> {
        let kind = size_of_block(bytes).0;
        let mut wanted = (4 * bytes).max(BATCH[1]);
        let (enough, mut evicted, mut kept_before) = (2 * wanted, 0, None);
        loop {
            self.client.reclaim()?;
            match make() {
                Err(PoolError::NoMemory { .. }) if self.evicts => {}
                made => return made,
            }
            if evicted == 0 || evicted >= enough {
                let kept = self.client.kept_bytes()?;
                let before = *kept_before.get_or_insert(kept);
                if evicted > 0 && kept.saturating_sub(before) >= evicted / 2 {
                    return Err(PoolError::NoMemory { bytes });
                }
            }
            match self.evict(wanted, Some(kind))? {
                0 => return Err(PoolError::NoMemory { bytes }),
                more => evicted += more,
            }
            wanted = wanted.saturating_mul(2);
        }
    }

    /// Removes entries of this many bytes, or all that there are; with a kind, only those whose blocks are of it.
    /// Returns how many bytes it has removed.
    fn evict(&self, wanted: u64, kind: Option<usize>) -> Result<u64, PoolError> {
        match self.evict_of(wanted, kind, false)? {
            // Entries whose buckets need another node, for which there is no memory.
            0 => self.evict_of(wanted, kind, true),
            evicted => Ok(evicted),
        }
    }

    /// The same. It passes each bucket twice at most without removing one. With `whole`, the entry takes the others of
    /// its bucket with it if there is no memory for a node without it.
    fn evict_of(&self, wanted: u64, kind: Option<usize>, whole: bool) -> Result<u64, PoolError> {
        let count = self.table.buckets.len() as u64;
        let (mut evicted, mut passed) = (0, 0);
        while evicted < wanted && passed < 2 * count + STEP {
            let start = self.table.hand.fetch_add(STEP, Ordering::Relaxed);
            let before = evicted;
            for n in 0..STEP {
                let bucket = (start.wrapping_add(n) % count) as usize;
                evicted += self.evict_from(bucket, kind, whole)?;
            }
            passed = if evicted > before { 0 } else { passed + STEP };
        }
        Ok(evicted)
    }

    /// Removes the first entry of a bucket that was not used, or whose time is over. Returns its bytes.
    fn evict_from(
        &self,
        bucket: usize,
        kind: Option<usize>,
        whole: bool,
    ) -> Result<u64, PoolError> {
        let reader = self.client.read()?;
        let seen = reader.marked(&self.table.buckets[bucket])?;
        let content = self.content(seen.value)?;
        for n in 0..content.len() {
            let entry = Entry::at(&reader, self.words, Bucket::at(content.item(n)))?;
            let (bytes, is_over) = (entry.block_bytes(), entry.is_over());
            if kind.is_some_and(|kind| size_of_block(bytes).0 != kind) {
                continue;
            }
            if entry.is_used() && !is_over {
                entry.clear_used();
                continue;
            }
            return match self.take(&reader, bucket, seen, &content, (n, &entry)) {
                Ok(true) => {
                    drop(reader);
                    self.count(if is_over { EXPIRATIONS } else { EVICTIONS });
                    self.client.unlinked(bytes)?;
                    Ok(bytes)
                }
                Err(PoolError::NoMemory { .. }) if whole => {
                    let taken = self.take_all(&reader, bucket, seen, EMPTY)?;
                    drop(reader);
                    let Some(bytes) = taken else { return Ok(0) };
                    (0..content.len()).for_each(|_| self.count(EVICTIONS));
                    self.client.unlinked(bytes)?;
                    Ok(bytes)
                }
                Ok(false) | Err(PoolError::NoMemory { .. }) => Ok(0),
                Err(error) => Err(error),
            };
        }
        Ok(0)
    }
}
