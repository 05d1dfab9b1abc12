//! The two ends of a ring in a pool.

use super::Words;
use crate::PoolError;
use crate::crash::{crash_point, is_dead};
use crate::pool::{Client, Pool};
use crate::segment::prefetch;
use crate::sync::{AtomicU64, Ordering};

/// A ring in the data of a pool. Any thread may have it.
#[derive(Clone, Copy)]
pub struct Ring<'a> {
    pool: &'a Pool,
    words: Words<'a>,
    /// Who has the ends.
    producer: &'a AtomicU64,
    consumer: &'a AtomicU64,
    /// Where the ring is, and its first word.
    at: u64,
    words_at: u64,
}

/// The end that sends. Dropping it lets another client have it.
pub struct Producer<'a> {
    ring: Ring<'a>,
    holder: u64,
    sent: u64,
    /// Words that were free when it last looked.
    room: u64,
}

/// The end that receives. Dropping it lets another client have it.
pub struct Consumer<'a> {
    ring: Ring<'a>,
    holder: u64,
    received: u64,
    /// Words that were there when it last looked.
    ready: u64,
}

const HEADER_BYTES: u64 = 256;
const SENT_AT: u64 = 0;
const RECEIVED_AT: u64 = 64;
const LINE_WORDS: usize = 8;
/// Bits of a client in the word of an end; above it is the era of the lease.
const CLIENT_BITS: u32 = 10;

impl<'a> Ring<'a> {
    /// Bytes of a ring with this many words.
    pub const fn bytes(words: usize) -> u64 {
        HEADER_BYTES + words as u64 * 8
    }

    /// The ring at an offset in the data of the pool, which the caller keeps for it alone. All processes name the same
    /// number of words, a power of two. Before it was used it is zero.
    pub fn new(pool: &'a Pool, at: u64, words: usize) -> Result<Ring<'a>, PoolError> {
        let bytes = Ring::bytes(words);
        if !words.is_power_of_two() || !at.is_multiple_of(64) {
            return Err(PoolError::Range { offset: at, bytes });
        }
        let all = pool.atomics(at, (bytes / 8) as usize)?;
        let (header, slots) = all.split_at((HEADER_BYTES / 8) as usize);
        let [sent, received, producer, consumer] = [0, 1, 2, 3].map(|n| &header[n * LINE_WORDS]);
        let words = Words {
            sent,
            received,
            words: slots,
            #[cfg(test)]
            flaw: None,
        };
        Ok(Ring { pool, words, producer, consumer, at, words_at: at + HEADER_BYTES })
    }

    /// Makes the client the producer. `None`: another client is, or one that is dead and was not recovered. The caller
    /// drops the end before the client: afterwards another client may have it. Panics if the client is another pool's.
    pub fn producer(&self, client: &Client) -> Option<Producer<'a>> {
        let holder = self.take(self.producer, client)?;
        let sent = self.words.sent.load(Ordering::Acquire);
        Some(Producer { ring: *self, holder, sent, room: 0 })
    }

    /// Makes the client the consumer, as for [`Ring::producer`].
    pub fn consumer(&self, client: &Client) -> Option<Consumer<'a>> {
        let holder = self.take(self.consumer, client)?;
        let received = self.words.received.load(Ordering::Acquire);
        Some(Consumer { ring: *self, holder, received, ready: 0 })
    }

    fn take(&self, end: &AtomicU64, client: &Client) -> Option<u64> {
        let [own, other] = [self.pool, client.pool()].map(|pool| pool.segment().name());
        assert_eq!(own, other, "the ring is in one pool, and the client in another one");
        let (id, era) = (client.id(), client.lease_era());
        let own = era << CLIENT_BITS | u64::from(id);
        let seen = end.load(Ordering::Acquire);
        let other = (seen & ((1 << CLIENT_BITS) - 1)) as u16;
        if seen != 0 && !self.pool.table().is_over(other, seen >> CLIENT_BITS) {
            return None;
        }
        // Acquire: what the last holder wrote is seen.
        let taken = end.compare_exchange(seen, own, Ordering::AcqRel, Ordering::Acquire);
        crash_point!("ring.taken");
        taken.is_ok().then_some(own)
    }

    fn slot(&self, count: u64) -> u64 {
        self.words_at + 8 * self.words.place(count) as u64
    }
}

impl Producer<'_> {
    /// How many words it may write. It looks at the other end only if it knows of fewer than `wanted`. Does not block.
    pub fn room(&mut self, wanted: u64) -> Result<u64, PoolError> {
        if self.room < wanted {
            self.room = self.ring.words.room(self.sent)?;
        }
        Ok(self.room)
    }

    /// Words that were ever sent, by all producers.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Where the `n`-th word is that it may write: a cell. What a producer that died has written may be in it.
    /// Panics if there is no room for it.
    pub fn slot(&self, n: u64) -> u64 {
        assert!(n < self.room, "word {n} of {}", self.room);
        self.ring.slot(self.sent + n)
    }

    /// Writes that word.
    pub fn put(&mut self, n: u64, value: u64) {
        assert!(n < self.room, "word {n} of {}", self.room);
        self.ring.words.put(self.sent + n, value);
    }

    /// Sends the first `count` words that it may write: all of them, or none if the client dies before.
    pub fn send(&mut self, count: u64) {
        assert!(count <= self.room, "{count} words of {}", self.room);
        (self.sent, self.room) = (self.sent + count, self.room - count);
        self.ring.words.send(self.sent);
    }

    /// The first word that it may write, and the count, are written soon: their lines come while the caller goes on.
    /// For a producer that the other end waits for; from one that is behind, these lines would be taken too early.
    #[inline]
    pub(crate) fn prepare(&self) {
        prefetch::to_write(self.ring.words.word(self.sent));
        prefetch::to_write(self.ring.words.sent);
    }

    /// Where the count of sent words is. The holder may write it, and say so by [`Producer::has_sent`].
    pub(crate) fn count_at(&self) -> u64 {
        self.ring.at + SENT_AT
    }

    /// The holder itself has counted these words.
    pub(crate) fn has_sent(&mut self, count: u64) {
        assert!(count <= self.room, "{count} words of {}", self.room);
        (self.sent, self.room) = (self.sent + count, self.room - count);
    }
}

impl Consumer<'_> {
    /// How many words are there. It looks at the other end only if it knows of fewer than `wanted`. Does not block.
    pub fn ready(&mut self, wanted: u64) -> Result<u64, PoolError> {
        if self.ready < wanted {
            self.ready = self.ring.words.ready(self.received)?;
            if self.ready == 0 {
                // So it does not come after the count, but together with it.
                prefetch::to_read(self.ring.words.word(self.received));
            }
        }
        Ok(self.ready)
    }

    /// Words that were ever received, by all consumers.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Where the `n`-th word is that is there: a cell. Panics if it is not there.
    pub fn slot(&self, n: u64) -> u64 {
        assert!(n < self.ready, "word {n} of {}", self.ready);
        self.ring.slot(self.received + n)
    }

    /// That word.
    pub fn get(&self, n: u64) -> u64 {
        assert!(n < self.ready, "word {n} of {}", self.ready);
        self.ring.words.word(self.received + n).load(Ordering::Acquire)
    }

    /// Gives the first `count` words to the producer.
    pub fn release(&mut self, count: u64) {
        assert!(count <= self.ready, "{count} words of {}", self.ready);
        (self.received, self.ready) = (self.received + count, self.ready - count);
        self.ring.words.release(self.received);
    }

    /// Where the count of received words is. The holder may write it, and say so by [`Consumer::has_received`].
    pub(crate) fn count_at(&self) -> u64 {
        self.ring.at + RECEIVED_AT
    }

    /// The holder itself has counted these words.
    pub(crate) fn has_received(&mut self, count: u64) {
        assert!(count <= self.ready, "{count} words of {}", self.ready);
        (self.received, self.ready) = (self.received + count, self.ready - count);
    }
}

/// If the end is another client's, the lease of this one is over.
fn leave(end: &AtomicU64, holder: u64) {
    if is_dead() {
        return;
    }
    let _ = end.compare_exchange(holder, 0, Ordering::AcqRel, Ordering::Acquire);
    crash_point!("ring.left");
}

impl Drop for Producer<'_> {
    fn drop(&mut self) {
        leave(self.ring.producer, self.holder);
    }
}

impl Drop for Consumer<'_> {
    fn drop(&mut self) {
        leave(self.ring.consumer, self.holder);
    }
}
