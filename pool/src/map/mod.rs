//! A map from byte strings to byte strings, which many processes use at once.
//!
//! 1. **Find.** The hash of a key names a *bucket*, a shared cell of `refs`. It has nothing, an *entry*, or a *node*
//!    that lists several entries. An entry is a counted object with the key and the value. A reader that looks at a
//!    bucket keeps what it had from being freed.
//! 2. **Change.** A client makes a new entry, and a new node if there are others, and exchanges the bucket. The old
//!    ones become the client's own by the same change, and its tally says how much there is (`change`).
//! 3. **Evict.** If the tallies of all clients together are above the capacity, or if the heap is full, a hand passes
//!    the buckets, and entries are removed that nobody has looked up since it was there (`evict`).
//!
//! Invariants:
//!
//! * Entries and nodes are never changed, but for the mark of those that were looked up.
//! * A key is in one bucket, once: all changes of a bucket are changes of one word.
//! * An entry in a bucket has the one reference of the bucket, and a node that of the word that names it. Entries do
//!   not gain or lose a reference when a node is exchanged for another one. A node that is taken out with all its
//!   entries has their references from then on.
//! * The sum of the tallies is what the buckets have, but for changes that are open.
//!
//! There is nothing to recover here: all of it is recovered with the shared cells, also by managers.

mod change;
mod client;
mod entry;
mod evict;
mod hash;
mod table;

pub use client::{Map, MapOptions, MapStats, Replaced};
pub use entry::{Bytes, Draft, Entry, Value};

#[cfg(test)]
mod closing;
#[cfg(test)]
mod limits;
#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
mod torture;
#[cfg(test)]
pub(crate) mod usage;
