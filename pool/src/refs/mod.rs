//! Counted objects: memory that is freed when its last reference is gone, also if clients die.
//!
//! An object is a block of a heap with a header, *embedded references* to other objects, and data. References are cells
//! in shared memory: *roots* of one client, words of rings, persistent roots, and embedded ones. A reference has one
//! writer at a time, the data any number. The terms and the idea are those of CXL-SHM (SOSP 2023), sections 4.3 and 5:
//! the count and the era of the client that changed it last change by one compare-and-swap, so recovery knows of each
//! count whether a dead client has changed it. That is `detect`; its matrix of notes is the paper's matrix of eras.
//!
//! 1. **Allocate.** The header is written, with a count of 1, before the heap stores the block in an empty root.
//! 2. **Attach.** One change of the count; when it has taken place, the cell gets the object.
//! 3. **Release.** The client's *step*, its redo log, names the cell and the object. The cell is cleared. Then the
//!    count changes. The last release leaves the object in the client's list of dying ones.
//! 4. **Change** of a reference from A to B: the count of B changes; then the step says that A is to be released, and
//!    the cell gets B; then A is released. Two eras, two compare-and-swaps, one store that can be repeated.
//! 5. **Move** of a reference between a root and a word of a ring: a step, and no count.
//! 6. **Die.** A dying object belongs to one client. If no reader looks at it, what it refers to is released, and its
//!    block is freed. The list is in the objects, so it takes no memory and no stack.
//!
//! ```text
//!             alloc                    attach, release               last release
//!   (none) ----------> private, 1 ---------------------> shared, n ----------------> dying ------> freed
//!                          |                                                         |   ^           ^
//!                          +---- release: no atomic instruction                      v   |           |
//!                          |                                                  kept, as a reader      |
//!                          |                                                  looks at it            |
//!                          +-------------------------------------------------------------------------+
//! ```
//!
//! A *private* object is one whose count was never changed. Only one cell ever had it, and no embedded one: it is freed
//! without a look at others.
//!
//! Readers look at objects that they do not count, by hazard eras: a clock, in whose eras objects are born and die. A
//! reader announces the eras of its loads. An object stays while a reader is in an era of its life.
//!
//! Invariants:
//!
//! * A count is the number of cells that have the object, but for the operation that a client has open.
//! * A cell is cleared before its count falls, and filled after its count has grown. So an object whose count is 0 is
//!   in no cell, and readers that begin then do not find it.
//! * A step is closed before the change that completes it is acknowledged: a count that fell does not fall again.
//! * A dying object is in the list of one client, or is its current one. Nobody else writes its header.
//! * All that a client has begun is in its holding: recovery needs no look at other objects.
//!
//! References that form a cycle are never freed: objects should refer to older ones, or to those of a lower rank.

mod dying;
mod header;
mod holder;
mod holding;
mod shared;
mod spare;

#[cfg(not(loom))]
mod channel;
#[cfg(not(loom))]
mod client;
#[cfg(not(loom))]
mod memory;
#[cfg(not(loom))]
mod message;
#[cfg(not(loom))]
mod names;
#[cfg(not(loom))]
mod reader;
#[cfg(not(loom))]
mod reference;
#[cfg(not(loom))]
mod roots;

#[cfg(not(loom))]
pub use channel::{RefReceiver, RefSender};
#[cfg(not(loom))]
pub(crate) use client::RefsRedo;
#[cfg(not(loom))]
pub use client::{RefClient, Refs};
#[cfg(not(loom))]
pub use message::Message;
#[cfg(not(loom))]
pub use reader::{Peek, Reader};
#[cfg(not(loom))]
pub use reference::Ref;

#[cfg(all(test, not(loom)))]
pub(crate) mod audit;
#[cfg(loom)]
mod model;
#[cfg(all(test, not(loom)))]
pub(crate) mod tests;
#[cfg(all(test, not(loom)))]
pub(crate) mod torture;
#[cfg(all(test, not(loom)))]
mod usage;
