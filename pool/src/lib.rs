//! Memory that several processes share, and that stays whole whoever of them dies, at any instruction.
//!
//! From the bottom: `segment` is the memory, `identity` says which processes change it, `detect` is the one way in
//! which a word is changed by several of them, `recover` finishes what the dead began, `pool` puts them together,
//! `alloc` hands out blocks of its data, a `ring` passes words from one client to another, `refs` counts references
//! to objects, a `map` finds values by keys, and a `transaction` changes several of them; a `manager` recovers the
//! dead in all of them. The crate knows bytes and processes of one machine, no messages and no types.
//!
//! ```text
//!   0         4096
//!   +---------+---------+---------+-----------------+--------------------------------+
//!   | header  | slots   | intents | notes           | data                           |
//!   +---------+---------+---------+-----------------+--------------------------------+
//!             identity  detect    detect            of those that use the pool
//! ```
//!
//! Clients trust each other: one that writes where it must not can damage the pool. What is read from it is checked
//! nevertheless, and a damaged pool is an error.

#![deny(unsafe_op_in_unsafe_fn)]
// Models use neither memory nor processes of the system.
#![cfg_attr(loom, allow(dead_code, unused_imports))]

#[cfg(not(target_arch = "x86_64"))]
compile_error!("words of a pool are changed by cmpxchg16b: there is no version for other machines");

mod alloc;
mod crash;
mod detect;
mod error;
mod flaw;
mod identity;
#[cfg(not(loom))]
mod manager;
#[cfg(not(loom))]
mod map;
#[cfg(not(loom))]
mod pool;
#[cfg(all(test, not(loom)))]
mod private_caches;
mod recover;
mod refs;
mod ring;
#[cfg(not(loom))]
mod segment;
#[cfg(all(test, not(loom)))]
mod stories;
mod sync;
#[cfg(all(test, not(loom)))]
mod test_folder;
#[cfg(not(loom))]
mod transaction;

#[cfg(not(loom))]
pub use alloc::{Allocator, Coherence, Flushes, Fresh, Heap, HugeUse};
pub use detect::{Change, Marked, Tag, Word};
pub use error::PoolError;
#[cfg(not(loom))]
pub use manager::Manager;
#[cfg(not(loom))]
pub use map::{Bytes, Draft, Entry, Map, MapOptions, MapStats, Replaced, Value};
#[cfg(not(loom))]
pub use pool::{Client, Done, Pool};
pub use recover::{Recovered, Redo};
#[cfg(not(loom))]
pub use refs::{Message, Peek, Reader, Ref, RefClient, RefReceiver, RefSender, Refs};
#[cfg(not(loom))]
pub use ring::{Consumer, Producer, Ring};
#[cfg(not(loom))]
pub use segment::{Backing, Segment};
#[cfg(not(loom))]
pub use transaction::{Transaction, Transactions};
