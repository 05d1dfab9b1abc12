//! A ring of words in a pool: one client sends, another one receives, and either may die at any instruction.
//!
//! ```text
//!   0       64         128        192        256
//!   +-------+----------+----------+----------+-------------------------+
//!   | sent  | received | producer | consumer | words, a power of two   |
//!   +-------+----------+----------+----------+-------------------------+
//! ```
//!
//! `sent` and `received` count words, and never go back. The words between them are the consumer's, all others are the
//! producer's. One store moves words from one to the other, any number at a time: a frame of several words is sent
//! as a whole or not at all. Zeros are an empty ring.
//!
//! An end belongs to one client. Its word has the client and the era of its lease. When the lease is over, and not
//! before the client was recovered, another client may take the end. It continues where the last one stopped: all that
//! there is to know is in the counts.
//!
//! Words may be cells of a heap. The producer allocates a block into a word that is its own, and sends the word; the
//! consumer frees the block from the word, and releases it. A producer that dies between the two leaves a block in a
//! word that was not sent, which the next producer finds, and sends or frees. A consumer that dies between the two
//! leaves an empty word. So each block is freed once, whoever dies.
//!
//! Counts that come out of shared memory are checked: both ends together never have more words than the ring.

use crate::PoolError;
use crate::crash::crash_point;
use crate::flaw::flawed;
use crate::sync::{AtomicU64, Ordering};

#[cfg(not(loom))]
mod ends;

#[cfg(not(loom))]
pub use ends::{Consumer, Producer, Ring};

/// The counts and words of a ring. What each end may do is for its holder alone.
#[derive(Clone, Copy)]
struct Words<'a> {
    sent: &'a AtomicU64,
    received: &'a AtomicU64,
    words: &'a [AtomicU64],
    #[cfg(test)]
    flaw: Option<crate::flaw::Flaw>,
}

impl<'a> Words<'a> {
    /// The word at this count of words.
    fn word(&self, count: u64) -> &'a AtomicU64 {
        &self.words[self.place(count)]
    }

    fn place(&self, count: u64) -> usize {
        (count & (self.words.len() as u64 - 1)) as usize
    }

    /// For the producer: how many words are its own. Acquire: the consumer is done with them.
    fn room(&self, sent: u64) -> Result<u64, PoolError> {
        let received = self.received.load(Ordering::Acquire);
        let full = sent.checked_sub(received).filter(|full| *full <= self.words.len() as u64);
        let full = full.ok_or_else(|| damaged(received))?;
        Ok(self.words.len() as u64 - full)
    }

    /// For the producer: the words up to this count are the consumer's. Release: they were written before.
    fn send(&self, sent: u64) {
        self.sent.store(sent, Ordering::Release);
        crash_point!("ring.sent");
    }

    /// For the consumer: how many words are its own. Acquire: they were written before.
    fn ready(&self, received: u64) -> Result<u64, PoolError> {
        let sent = self.sent.load(Ordering::Acquire);
        let ready = sent.checked_sub(received).filter(|ready| *ready <= self.words.len() as u64);
        ready.ok_or_else(|| damaged(sent))
    }

    /// For the consumer: the words up to this count are the producer's. Release: they were read before.
    fn release(&self, received: u64) {
        self.received.store(received, Ordering::Release);
        crash_point!("ring.received");
    }

    /// For the producer: writes the word at this count, which is its own.
    fn put(&self, count: u64, value: u64) {
        if flawed!(self, EarlySend) {
            self.send(count + 1);
        }
        self.word(count).store(value, Ordering::Release);
        crash_point!("ring.put");
    }
}

fn damaged(found: u64) -> PoolError {
    PoolError::Damaged { what: "the count of a ring", client: 0, found }
}

#[cfg(loom)]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;
#[cfg(all(test, not(loom)))]
mod torture;
